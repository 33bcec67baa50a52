// SPDX-License-Identifier: Apache-2.0
// What the page computes from answers: units, selectors, times, trees, search.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlameAnswer } from '../../../web/ui/api/answer.ts';
import { Lettering } from '../../../web/ui/draw/text.ts';
import { fnv, packageOf, shortName } from '../../../web/ui/model/package.ts';
import { search } from '../../../web/ui/model/search.ts';
import {
  formatSelector,
  parseSelector,
  withMatcher,
  withoutGroups,
  withoutMatcher,
} from '../../../web/ui/model/selector.ts';
import { chartData, halvesOf, maxLines, meanOf, unsureSteps } from '../../../web/ui/model/series.ts';
import {
  formatTime,
  isRelative,
  parseDuration,
  parseTime,
  stepFor,
  withShownTimes,
} from '../../../web/ui/model/time.ts';
import { findHash, hashText, layout, nodeAt, pathTo } from '../../../web/ui/model/tree.ts';
import { coveredText, formatChange, formatScaled, formatShare, formatValue } from '../../../web/ui/model/unit.ts';
import { makeVisible, visible } from '../../../web/ui/model/visible.ts';
import { shellWord } from '../../../web/ui/model/command.ts';
import { historyRequest } from '../../../web/ui/state/requests.ts';
import { reduce, sideA } from '../../../web/ui/state/reducer.ts';
import { initial } from '../../../web/ui/state/state.ts';

test('values are printed as pprof prints them', () => {
  const cases: [number, string, string][] = [
    [0, 'bytes', '0'],
    [1, 'bytes', '1B'],
    [1024, 'bytes', '1kB'],
    [1536, 'bytes', '1.50kB'],
    [6941573, 'bytes', '6.62MB'],
    [-1536, 'bytes', '-1.50kB'],
    [12, 'count', '12'],
    [1234567, 'count', '1234567'],
    [999, 'nanoseconds', '999ns'],
    [1500, 'nanoseconds', '1.50us'],
    [1780000000, 'nanoseconds', '1.78s'],
    [3600e9, 'nanoseconds', '1hrs'],
    [5, 'seconds', '5s'],
    [3, 'widgets', '3'],
    [2, 'kilobytes', '2kB'],
  ];

  for (const [value, unit, want] of cases) assert.equal(formatValue(value, unit), want, `${value} ${unit}`);
});

test('the mean of a line counts a step by the part that is known', () => {
  assert.equal(meanOf({ values: [1, null, 3], covered: undefined }), 2);
  assert.equal(meanOf({ values: [1, null, 3], covered: [1, 0, 0.25] }), 1.4);
  assert.equal(meanOf({ values: [null, null], covered: [0, 0] }), null);
  assert.equal(meanOf({ values: [], covered: undefined }), null);
});

test('rates are values in a second', () => {
  assert.equal(formatScaled(5e9, { unit: 'nanoseconds', seconds: 40 }), '0.125 cores');
  assert.equal(formatScaled(-5e9, { unit: 'nanoseconds', seconds: 40 }), '-0.125 cores');
  assert.equal(formatScaled(5e8, { unit: 'nanoseconds', seconds: 100 }), '5 mcores');
  // Beside a larger value, the unit is that of both.
  assert.equal(formatScaled(5e8, { unit: 'nanoseconds', seconds: 100 }, 2e9), '0.005 cores');
  assert.equal(formatScaled(2e9, { unit: 'nanoseconds', seconds: 100 }, 5e8), '0.02 cores');
  assert.equal(formatScaled(2048, { unit: 'bytes', seconds: 2 }), '1kB/s');
  assert.equal(formatScaled(0, { unit: 'bytes', seconds: 2 }), '0');
  assert.equal(formatScaled(2048, { unit: 'bytes' }), '2kB');
  assert.equal(formatChange(4e9, 5e9, { unit: 'nanoseconds', seconds: 10 }), '+0.1 cores +25 %');
});

test('shares are printed as pprof prints them', () => {
  const cases: [number, number, string][] = [
    [1, 1, '100%'],
    [9996, 10000, '100%'],
    [9994, 10000, '99.94%'],
    [1, 8, '12.50%'],
    [1, 1000, '0.1%'],
    [123, 100000, '0.12%'],
    [-1, 8, '12.50%'],
    [0, 5, '0%'],
    [5, 0, '0%'],
    [1, 10000000, '1e-05%'],
    [123, 1e9, '1.2e-05%'],
  ];

  for (const [value, total, want] of cases) assert.equal(formatShare(value, total), want, `${value} of ${total}`);
});

test('changes have their sign, and say what is new', () => {
  const cases: [number, number, string][] = [
    [0, 0, '0'],
    [5, 5, '0'],
    [0, 5, '+5 new'],
    [5, 0, '−5 −100 %'],
    [200, 225, '+25 +13 %'],
    [1000, 1001, '+1 +0.10 %'],
    [100, 350, '+250 +250 %'],
  ];

  for (const [a, b, want] of cases) assert.equal(formatChange(a, b, { unit: 'count' }), want);
});

test('the base of a comparison is the range before, until it is chosen', () => {
  const s = { ...initial, query: 'heap', from: '1000', to: '1500' };

  const rest = { time: '', total_min: '', total_max: '', total_outside: false, adhoc: '' };
  assert.deepEqual(sideA(s, 0), { query: 'heap', from: '500', to: '999', ...rest });
  assert.deepEqual(sideA({ ...s, from: 'now-1s', to: 'now' }, 5000), {
    query: 'heap',
    from: '3000',
    to: '3999',
    ...rest,
  });
  const swapped = reduce(s, { do: 'swap', now: 0 });
  assert.deepEqual([swapped.from, swapped.to, swapped.base.from, swapped.base.to], ['500', '999', '1000', '1500']);
  const back = reduce(swapped, { do: 'swap', now: 0 });
  assert.deepEqual(
    [back.query, back.from, back.to, back.base.query, back.base.from, back.base.to],
    ['heap', '1000', '1500', 'heap', '500', '999'],
  );
});

test('texts are one word of a shell', () => {
  assert.equal(shellWord('http://a:1/b?c=d'), "'http://a:1/b?c=d'");
  assert.equal(shellWord('plain-1.2/x=y'), 'plain-1.2/x=y');
  assert.equal(shellWord("it's"), "'it'\\''s'");
});

test('the steps of a history are whole', () => {
  const r = historyRequest(
    { ...initial, query: 'cpu', fn: 'f', from: '1000000', to: '4601000', focus: ['x'], group_by: 'job' },
    0,
  );
  const params = new Map(r.params);

  assert.equal(params.get('step'), '120s');
  assert.equal((Number(params.get('to')) - Number(params.get('from'))) % 120000, 0);
  assert.ok(Number(params.get('from')) <= 1000000);
  assert.equal(params.get('focus'), 'x');
  assert.ok(!params.has('group_by'));
});

test('selectors are split and joined', () => {
  const cases: [string, string | null][] = [
    ['heap', 'heap'],
    ['heap{}', 'heap'],
    [' heap { job = "a" , env=~"x|y" } ', 'heap{job="a",env=~"x|y"}'],
    ['{__name__="heap",job!="a"}', 'heap{job!="a"}'],
    ['{"my heap","a.b"="c"}', '{"my heap","a.b"="c"}'],
    ["heap{job='a\"b'}", 'heap{job="a\\"b"}'],
    ['heap{job=`a\\b`}', 'heap{job="a\\\\b"}'],
    ['heap{job="\\u00e4"}', null],
    ['heap{job}', null],
    ['heap{job=}', null],
    ['', null],
    ['heap{job="a"', null],
    ['heap{job="a" env="b"}', null],
  ];

  for (const [text, want] of cases) {
    const s = parseSelector(text);
    assert.equal(s && formatSelector(s), want, text);
  }
});

test('matchers are added, replaced and removed', () => {
  assert.equal(withMatcher('heap', { name: 'job', op: '=', value: 'a' }), 'heap{job="a"}');
  assert.equal(withMatcher('heap{job="b",x="1"}', { name: 'job', op: '=', value: 'a' }), 'heap{x="1",job="a"}');
  assert.equal(withMatcher('heap{', { name: 'job', op: '=', value: 'a' }), 'heap{', 'what is not understood stays');
  assert.equal(withoutMatcher('heap{job="b",x="1"}', 0), 'heap{x="1"}');
});

test('times are those of the API', () => {
  assert.equal(parseDuration('1h30m'), 5400e3);
  assert.ok(Number.isNaN(parseDuration('1x')) && Number.isNaN(parseDuration('')));
  assert.equal(parseTime('now-5m', 1000000), 700000);
  assert.equal(parseTime('1795232201149', 0), 1795232201149);
  for (const [text, want] of [
    ['now', 5],
    ['-1s', -995],
    ['now+1s', 1005],
    ['-7', -7],
    ['00:01', 60e3],
    ['1970-01-02', 86400e3],
  ] as const)
    assert.equal(parseTime(text, 5), want, text);
  for (const text of ['2026-11-21T03:36:41.149Z', '2026-11-21 03:36:41.149', '2026-11-20T22:36:41.149-05:00'])
    assert.equal(parseTime(text, 0), 1795232201149, text);
  for (const text of [
    'yesterday',
    'banana',
    '',
    'now-1x',
    'now-',
    '99999999999999999999',
    'now-99999999999w',
    '2026-13-41',
    '25:61',
  ])
    assert.ok(Number.isNaN(parseTime(text, 0)), text);
  for (const [text, moves] of [
    ['now', true],
    ['now-1h', true],
    ['-1h', true],
    ['5', false],
    ['2026-11-21', false],
  ] as const)
    assert.equal(isRelative(text), moves, text);
  assert.equal(formatTime(1795232201149, true), '2026-11-21 03:36:41');
  assert.equal(stepFor(3600e3, 240), 15);
  assert.equal(stepFor(30 * 86400e3, 240), 14400);
  assert.equal(stepFor(365 * 86400e3, 240), 2 * 86400);
});

/** total → a(7) → [b(4), a(2)], c(3). */
const answer: FlameAnswer = {
  sample_type: 'cpu',
  unit: 'nanoseconds',
  total: 10,
  strings: ['', 'total', 'a', 'b', 'c'],
  name: [1, 2, 2, 3, 4],
  file: [0, 0, 0, 0, 0],
  binary: [0, 0, 0, 0, 0],
  parent: [-1, 0, 1, 1, 0],
  inlined: [0, 0, 0, 0, 0],
  self: [0, 1, 2, 4, 3],
  total_of: [10, 7, 2, 4, 3],
  left_out: { nodes: 0, weight: 0 },
};

test('children are side by side, heaviest first or by name', () => {
  const heavy = layout(answer, 'value');
  assert.deepEqual([...heavy.x], [0, 0, 4, 0, 7]);
  assert.deepEqual(
    heavy.rows.map(r => [...r]),
    [[0], [1, 4], [3, 2]],
  );
  const named = layout(answer, 'name');
  assert.deepEqual([...named.x], [0, 0, 0, 2, 7]);
  assert.deepEqual(pathTo(heavy, 3), ['a', 'b']);
});

test('the box at a place is found', () => {
  const tree = layout(answer, 'value');

  assert.equal(nodeAt(tree, 0, 9.9), 0);
  assert.equal(nodeAt(tree, 1, 6.9), 1);
  assert.equal(nodeAt(tree, 1, 7), 4);
  assert.equal(nodeAt(tree, 2, 3.9), 3);
  assert.equal(nodeAt(tree, 2, 6.5), -1, 'own time of a');
  assert.equal(nodeAt(tree, 9, 0), -1);
});

test('a path has one hash, whatever else is in the profile', () => {
  const tree = layout(answer, 'value');
  const other = layout({ ...answer, parent: [-1, 0, 1, 1, 0], total_of: [20, 17, 1, 15, 3] }, 'name');

  for (let i = 1; i < tree.count; i++) {
    const text = hashText(tree.hash[i] as number);
    assert.equal(text.length, 8);
    assert.equal(findHash(other, text), i);
  }
  assert.equal(findHash(tree, 'zzzzzzzz'), -1);
});

test('hashes of many paths do not collide', () => {
  const count = 50000;
  const big: FlameAnswer = {
    ...answer,
    strings: ['', ...Array.from({ length: count }, (_, i) => `pkg${i % 97}.Function${i}`)],
    name: Array.from({ length: count }, (_, i) => i + 1),
    parent: Array.from({ length: count }, (_, i) => (i ? (i - 1) >> 1 : -1)),
    file: Array(count).fill(0),
    binary: Array(count).fill(0),
    inlined: Array(count).fill(0),
    self: Array(count).fill(1),
    total_of: Array(count).fill(1),
  };

  assert.equal(new Set(layout(big, 'name').hash).size, count);
});

test('nested matches count once', () => {
  const found = search(answer, 'A');

  assert.deepEqual([found.nodes, found.weight, found.self], [2, 7, 3], 'the root is no function');
  const exact = search(answer, '/^a$/');
  assert.deepEqual([exact.nodes, exact.weight, exact.self], [2, 7, 3]);
  assert.match(search(answer, '/(/').error, /regular expression/i);
  assert.equal(search(answer, '').nodes, 0);
});

test('a search that takes too long ends, and says how far it came', () => {
  let ms = 0;
  const strings = Array.from({ length: 100 }, (_, i) => `f${i}`);
  const found = search({ ...answer, strings }, 'f', 1, () => (ms += 10));

  assert.equal(found.error, 'The expression is too slow: only 30 of 100 names were searched.');
  assert.equal(found.names.filter(v => v === 1).length, 30);
});

test('times in texts of the server are shown as all other times', () => {
  const text = 'no profile from 2026-11-21T03:36:41.149Z to 2026-11-21T04:00:00Z, nor on 2026-11-22';

  assert.equal(
    withShownTimes(text, true),
    'no profile from 2026-11-21 03:36:41 to 2026-11-21 04:00:00, nor on 2026-11-22',
  );
});

test('what is in quotes and what is no time stays as the server wrote it', () => {
  for (const text of [
    'no series has job="2026-11-21T03:36:41Z"',
    '{a="\\"2026-11-21T03:36:41Z"}',
    'at 2026-13-41T03:36:41Z',
  ])
    assert.equal(withShownTimes(text, true), text);
  assert.equal(withShownTimes('{a="x"} at 2026-11-21T03:36:41Z, "', true), '{a="x"} at 2026-11-21 03:36:41, "');
});

test('attributes that people read or hear show such characters, too', () => {
  const node = { type: 'a', props: { title: 'a\u202eevil', 'aria-label': 'x', href: '/a\u202eevil', children: 1 } };
  const text = { type: null, props: 'a\u202eevil' };

  makeVisible(node);
  makeVisible(text);
  assert.deepEqual(node.props, { title: 'a\\u202eevil', 'aria-label': 'x', href: '/a\u202eevil', children: 1 });
  assert.equal(text.props, 'a\\u202eevil');
});

test('characters that change the order of others are shown as escapes', () => {
  assert.equal(visible('a\u202eevil'), 'a\\u202eevil');
  assert.equal(visible('\u2066x\u2069\u200f\u061c'), '\\u2066x\\u2069\\u200f\\u061c');
  for (const text of ['', 'main.main', 'größe→', 'שלום', 'a\nb\t']) assert.equal(visible(text), text);
});

test('the text of a box has no such characters, and its width is that of what is drawn', () => {
  const ctx = {
    font: '',
    measureText: (text: string) => ({ width: text.length * 10 }),
  } as unknown as CanvasRenderingContext2D;
  const lettering = new Lettering(ctx, 'x');

  assert.equal(lettering.fit('a\u202eevil', 200), 'a\\u202eevil');
  assert.equal(lettering.fit('a\u202eevil', 100), 'a\\u202eev…');
  assert.equal(lettering.fit('x/a.b', 40), 'a.b');
});

test('the groups that have no line of their own have a selector', () => {
  const of = (...values: string[]): Record<string, string>[] => values.map(job => ({ job }));

  assert.equal(withoutGroups('cpu{env="x"}', of('a', 'b.c')), 'cpu{env="x",job!~"a|b\\\\.c"}');
  assert.equal(withoutGroups('cpu', [{ job: 'a', pod: 'b' }]), '');
  assert.equal(withoutGroups('cpu', []), '');
});

test('a range without one before it is compared half with half', () => {
  assert.deepEqual(halvesOf([40, 10, 30, 20]), [10, 30]);
  assert.deepEqual(halvesOf([10, 20, 30]), [10, 20]);
  for (const times of [[], [5], [5, 5]]) assert.equal(halvesOf(times), null);
});

test('packages of several languages', () => {
  const cases: [string, string, string][] = [
    ['net/http.(*conn).serve', 'server.go', 'net/http'],
    ['main.main', 'main.go', 'main'],
    ['runtime.mallocgc', '', 'runtime'],
    ['github.com/a/b.v2.F[go.shape.int]', 'x.go', 'github.com/a/b'],
    ['std::vec::Vec::push', 'vec.rs', 'std'],
    ['java.util.HashMap.get', 'HashMap.java', 'java.util'],
    ['malloc', '', ''],
    ['(other)', '', ''],
  ];

  for (const [name, file, want] of cases) assert.equal(packageOf(name, file), want, name);
  assert.equal(packageOf('operator/(Vec3, double)', 'v.cc'), '');
  assert.equal(fnv('runtime'), fnv('runtime'));
});

test('names in narrow boxes lack the path of the package, and nothing else', () => {
  const cases: [string, string][] = [
    ['github.com/a/b.(*T).Get', 'b.(*T).Get'],
    ['net/http.HandlerFunc.ServeHTTP', 'http.HandlerFunc.ServeHTTP'],
    ['gopkg.in/yaml%2ev3.(*parser).parse', 'yaml%2ev3.(*parser).parse'],
    ['a.b/c-d/e_f.G.func1', 'e_f.G.func1'],
    ['a/b.F[c/d.T]', 'b.F[c/d.T]'],
    ['java/util/HashMap$Node.get', 'HashMap$Node.get'],
    ['/usr/bin/python3.11', 'python3.11'],
  ];
  // C++, Rust, generic types of Go, Erlang, and what only looks like a path.
  const whole = [
    'sort.Slice[github.com/a/b.T]',
    'Vec3::operator/(double) const',
    'boost::filesystem::operator/',
    'operator/(Vec3, double)',
    'operator/=',
    'Foo<bar/baz>::run(int)',
    'impl Foo for a/b',
    '<a/b as c::D>::run',
    'Enum.map/2',
    'run (/srv/app/index.js:12)',
    'a/',
    '/',
    '',
  ];

  for (const [name, want] of cases) assert.equal(shortName(name), want);
  for (const name of whole) assert.equal(shortName(name), name);
});

test('the chart has the heaviest lines, and the rest as one', () => {
  const lines = Array.from({ length: maxLines + 5 }, (_, i) => ({
    labels: { job: `j${i}` },
    timestamps: [0, 1000],
    totals: { 'cpu/nanoseconds': [i, null] },
    kinds: { 'cpu/nanoseconds': 'flow' as const },
  }));
  const data = chartData(lines, 'cpu');

  assert.equal(data.lines.length, maxLines + 1);
  assert.equal(data.lines[0]?.title, `j${maxLines + 4}`);
  assert.deepEqual(data.lines.at(-1)?.values, [0 + 1 + 2 + 3 + 4, null], 'no profile of any is no value');
  assert.equal(data.lines.at(-1)?.title, '5 more');
});

test('steps of which a part is not known are runs', () => {
  const line = (values: (number | null)[], covered?: number[]) => ({ title: '', labels: null, values, covered });

  assert.deepEqual(unsureSteps(line([1, 1, 1, 1, 1], [1, 0.5, 0.89, 0.9, 0.1])), [
    [1, 2],
    [4, 4],
  ]);
  assert.deepEqual(unsureSteps(line([1, null, 1], [0.5, 0.5, 0.5])), [
    [0, 0],
    [2, 2],
  ]);
  assert.deepEqual(unsureSteps(line([1, 1])), []);
});

test('a sum says for how much of the range it is', () => {
  assert.equal(coveredText(200, 300), ', profiled for 200s of 300s');
  assert.equal(coveredText(299, 300), '');
  assert.equal(coveredText(0, 300), '', 'not known');
});
