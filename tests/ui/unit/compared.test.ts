// SPDX-License-Identifier: Apache-2.0
// What the table of a comparison with error bars says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CompareAnswer, ComparedRow, ComparedValue } from '../../../web/ui/api/answer.ts';
import {
  barAxis,
  barOf,
  changeText,
  comparedRows,
  comparedText,
  doubtText,
  partText,
  renamedByVersion,
  totalText,
  verdictText,
} from '../../../web/ui/model/compared.ts';
import { withoutVersion } from '../../../web/ui/model/package.ts';

function value(a: number, b: number, more: Partial<ComparedValue> = {}): ComparedValue {
  return { a, b, delta: b - a, tested: false, ...more };
}

function row(name: string, flat: ComparedValue): ComparedRow {
  return { name, file: '', flat, cum: flat };
}

const answer: CompareAnswer = {
  sample_type: 'cpu',
  unit: 'nanoseconds',
  kind: 'flow',
  by: 'share',
  alpha: 0.01,
  profiles: [1, 1],
  instances: [3, 3],
  buckets: [20, 20],
  bucket_seconds: 30,
  few_buckets: false,
  bursty: false,
  drift: false,
  few_instances: false,
  tested: 2,
  few: 0,
  rows: [],
};

test('changes are percents of the base', () => {
  assert.equal(changeText(value(2, 3)), '+50 %');
  assert.equal(changeText(value(100, 99)), '−1.0 %');
  assert.equal(changeText(value(0, 3)), 'new');
  assert.equal(changeText(value(3, 0)), 'gone');
  assert.equal(changeText(value(0, 0)), '0');
  assert.equal(partText(0.5, value(2, 3)), '25 %');
  assert.equal(partText(undefined, value(2, 3)), '');
  assert.equal(partText(1, value(0, 3)), '');
});

test('functions whose module has another version are found again', () => {
  const rows = (names: [string, number, number][]): ComparedRow[] =>
    names.map(([name, a, b]) => row(name, value(a, b)));

  assert.equal(
    withoutVersion('github.com/nats-io/nats-server/v2/server.(*client).readLoop'),
    'github.com/nats-io/nats-server/server.(*client).readLoop',
  );
  assert.equal(withoutVersion('f[x.io/a/v12.T,x.io/b/v3/c.U]'), 'f[x.io/a.T,x.io/b/c.U]');
  for (const name of ['k8s.io/api/core/v1.F', 'x.io/v2ray/core.F', 'x.io/a/v2', 'com/example/v2/Foo.bar', '/v2/x'])
    assert.equal(withoutVersion(name), name);
  assert.equal(
    renamedByVersion({
      ...answer,
      rows: rows([
        ['x.io/a.F', 1, 0],
        ['x.io/a/v2.F', 0, 1],
        ['x.io/a.G', 1, 0],
        ['x.io/b.F', 0, 1],
        ['x.io/c/v2.F', 1, 1],
      ]),
    }),
    1,
  );
});

test('bars are intervals around the change, in parts of the base', () => {
  assert.deepEqual(barOf(value(100, 110, { tested: true, interval: 4 }), 0.5), { from: 0.06, to: 0.14, at: 0.1 });
  assert.deepEqual(barOf(value(100, 190, { tested: true, interval: 20 }), 1), { from: 0.7, to: 1, at: 0.9 });
  assert.equal(barOf(value(0, 3, { tested: true, interval: 1 }), 1), null);
  assert.equal(barOf(value(2, 3), 1), null);
});

test('nine of ten bars have room on the axis', () => {
  const tested = (delta: number): ComparedRow => row('f', value(100, 100 + delta, { tested: true, interval: 2 }));
  const steady = Array.from({ length: 19 }, () => tested(5));

  assert.equal(barAxis([...steady, tested(900)], false), 0.1);
  assert.equal(barAxis([tested(-30)], false), 0.5);
  assert.equal(barAxis([row('few', value(1, 2))], false), 1);
});

test('values have the unit of what is compared', () => {
  assert.equal(comparedText(0.25, answer), '25.00%');
  assert.equal(comparedText(5e8, { ...answer, by: 'rate' }), '0.5 cores');
  assert.equal(comparedText(2048, { by: 'level', kind: 'counter', unit: 'bytes' }), '2kB/s');
  assert.equal(comparedText(2048, { by: 'level', kind: 'state', unit: 'bytes' }), '2kB');
});

test('what is sure comes first, then what is tested', () => {
  const rows = [
    row('untested', value(0, 9)),
    row('noise', value(5, 6, { tested: true, interval: 2 })),
    row('nearly', value(5, 6, { tested: true, interval: 1 })),
    row('small', value(5, 6, { tested: true, interval: 0.1, sure: true })),
    row('large', value(5, 1, { tested: true, interval: 0.1, sure: true })),
    row('empty', value(0, 0)),
  ];

  assert.deepEqual(
    comparedRows(rows, '', false).map(r => r.name),
    ['large', 'small', 'nearly', 'noise', 'untested'],
  );
  assert.deepEqual(
    comparedRows(rows, 'no', true).map(r => r.name),
    ['noise'],
  );
  assert.equal(
    verdictText({ ...answer, rows }),
    '2 functions changed by more than noise: 2 by own values, 2 with callees.',
  );
  assert.equal(verdictText({ ...answer, rows: rows.slice(0, 3) }), 'No function changed by more than noise.');
});

test('the total has a verdict, unless shares are compared or the ranges are too short', () => {
  const by = { ...answer, by: 'rate' as const };
  const total = value(142e6, 160e6, { tested: true, interval: 10e6, sure: true });

  assert.equal(totalText(answer), '');
  assert.equal(totalText({ ...by, total }), 'Total 0.142 cores → 0.16 cores, +13 % ± 7.0 %: more than noise.');
  assert.equal(
    totalText({ ...by, total: { ...total, sure: false } }),
    'Total 0.142 cores → 0.16 cores, +13 % ± 7.0 %: noise.',
  );
  assert.equal(totalText({ ...by, total, few_buckets: true }), 'Total 0.142 cores → 0.16 cores, +13 % ± 7.0 %');
  assert.equal(verdictText({ ...by, few_buckets: true }), '');
});

test('one doubt is told, the gravest', () => {
  assert.equal(doubtText(answer), '');
  assert.match(doubtText({ ...answer, few_instances: true }), /machines/);
  assert.match(doubtText({ ...answer, few_instances: true, bursty: true }), /load/);
  assert.match(doubtText({ ...answer, bursty: true, drift: true }), /drift/);
  assert.match(doubtText({ ...answer, drift: true, few_buckets: true }), /too short/);
});
