// SPDX-License-Identifier: Apache-2.0
// URLs: every state has one, and comes back from it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { initial, noSide, type State } from '../../../web/ui/state/state.ts';
import { decode, encode, pageOf, pathOf } from '../../../web/ui/state/url.ts';

/** A generator of numbers that are the same in each run. */
function random(seed: number): () => number {
  let s = seed;

  return () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 2 ** 32;
  };
}

const texts = [
  '',
  'a',
  'heap{job="a,b"}',
  'x=y&z',
  '%41',
  '+',
  ' ',
  'ü→',
  '#',
  '^(a|b)\\.\\*$',
  '/',
  '\u202e',
  '0',
  'now-1h',
  'a\nb',
];

test('a state comes back from its URL', () => {
  const next = random(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;

  for (let i = 0; i < 3000; i++) {
    const s: State = structuredClone(initial);
    s.page = pick(['explore', 'compare']);
    s.query = pick(texts);
    s.base.query = pick(texts);
    s.base.to = pick(['', '1795232201149']);
    s.normalize = pick(['', '0', '1']);
    s.from = pick(['now-1h', 'now-5m', '1795232201149']);
    s.time = pick(['', '1795232201149']);
    s.focus = Array.from({ length: Math.floor(next() * 3) }, () => pick(texts.slice(1)));
    s.under = Array.from({ length: Math.floor(next() * 3) }, () => pick(texts.slice(1)));
    s.find = pick(texts);
    s.tagfocus = pick(texts);
    s.by = pick(['job', '', 'pod,job']);
    s.view = pick(['flame', 'invert', 'table', 'graph', 'text']);
    s.beside = s.view === 'flame' ? pick(['', 'table', 'source']) : '';
    s.chart = pick(['lines', 'points', 'rows', 'weights', 'history', 'off']);
    s.span = pick(['', '1,2']);
    s.total_min = pick(['', '5']);
    s.total_outside = next() < 0.5;
    s.base.total_max = pick(['', '7']);
    s.target = pick(texts);
    s.health = pick(['', 'down']);
    s.noinlines = next() < 0.5;
    s.ignore_versions = next() < 0.5;
    s.recursion = pick(['', 'direct', 'all']);
    s.tz = pick(['local', 'utc']);
    s.rest = pick([[], [['new', 'value']], [['note', 'ü&=']]]);
    const url = encode(s);
    const path = `/${pathOf(s.page)}`;
    assert.deepEqual(decode(path, url), s, url);
    assert.equal(encode(decode(path, url)), url);
  }
});

test('defaults are left out, keys have one order', () => {
  assert.equal(encode(initial), '');
  assert.equal(encode(decode('/', 'view=table&query=heap&from=now-1h')), 'query=heap&view=table');
});

test('the sides of a comparison have the names of the API', () => {
  const s: State = {
    ...initial,
    page: 'compare',
    query: 'heap',
    from: '5',
    to: '9',
    base: { ...noSide, query: 'cpu' },
  };

  assert.equal(encode(s), 'query_a=cpu&query_b=heap&from_b=5&to_b=9');
  assert.equal(encode({ ...s, page: 'explore' }), 'query_a=cpu&query=heap&from=5&to=9');
});

test('values that are not allowed are ignored, unknown keys stay', () => {
  const s = decode('/', 'view=cube&order=up&unknown=1&query=x');

  assert.equal(s.view, 'flame');
  assert.equal(s.order, 'value');
  assert.equal(encode(s), 'query=x&unknown=1');
});

test('times that are none are ignored', () => {
  for (const bad of ['banana', '', 'NaN', '1,2', '99999999999999999999']) {
    const s = decode('/', `from=${bad}&to=${bad}&time=${bad}&from_a=${bad}&span=${bad === '1,2' ? '1' : bad}`);
    assert.equal(encode(s), '', bad);
  }
  assert.equal(encode(decode('/compare', 'from_b=banana&to_b=7')), 'to_b=7');
  assert.equal(decode('/', 'from=2026-11-21T03:36:41Z&to=-5m&span=now-1h,now').span, 'now-1h,now');
});

test('lone surrogates become the replacement character', () => {
  assert.equal(decode('/', encode({ ...initial, find: 'a\ud800' })).find, 'a\ufffd');
});

test('the page is the last segment of the path', () => {
  assert.equal(pageOf('/'), 'explore');
  assert.equal(pageOf('/targets'), 'targets');
  assert.equal(pageOf('/some/prefix/status'), 'status');
  assert.equal(pageOf('/some/prefix/'), 'explore');
});
