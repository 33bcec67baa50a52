// SPDX-License-Identifier: Apache-2.0
// What the charts, the call graph and the list of targets compute from answers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change, FlameAnswer, GraphAnswer, Line, Target } from '../../../web/ui/api/answer.ts';
import { arrowPath, layoutGraph } from '../../../web/ui/model/callgraph.ts';
import { columnsUntil, levelOf, levelStart, seriesHeat, stepRange, totalsHeat } from '../../../web/ui/model/heat.ts';
import { narrow, neighbour, pointGroups, pointsOf } from '../../../web/ui/model/points.ts';
import { groupedBy, historyLines, isUneven } from '../../../web/ui/model/series.ts';
import {
  byError,
  byJob,
  costs,
  endpointsOf,
  failing,
  mainScrape,
  seriesSelector,
} from '../../../web/ui/model/targets.ts';
import { childrenOf, layout, nextNode } from '../../../web/ui/model/tree.ts';
import { sideB } from '../../../web/ui/state/reducer.ts';
import { requests } from '../../../web/ui/state/requests.ts';
import { initial, type State } from '../../../web/ui/state/state.ts';

import { changeQuery, changeText, toldChanges, firstTold } from '../../../web/ui/charts/markers.tsx';
import { timeTicks } from '../../../web/ui/model/time.ts';
import { anyOf } from '../../../web/ui/model/selector.ts';
import { expressionOf } from '../../../web/ui/parts/matcher.tsx';
import { groupsOf, wholeOf } from '../../../web/ui/views/groups.tsx';

const line = (job: string, timestamps: number[], values: (number | null)[]): Line => ({
  labels: { __name__: 'cpu', job, pod: `${job}-1`, zone: 'a' },
  timestamps,
  totals: { 'cpu/nanoseconds': values },
});

test('rows of a heat map are sorted by weight', () => {
  const heat = seriesHeat([line('a', [1000, 2000], [1, null]), line('b', [1000, 2000], [3, 9])], 'cpu', 1000);

  // Only the labels that tell rows apart.
  assert.deepEqual(
    heat.rows.map(r => r.title),
    ['job=b pod=b-1', 'job=a pod=a-1'],
  );
  assert.equal(heat.most, 9);
  assert.deepEqual(stepRange(heat, 0, 1), { from: '1000', to: '2999' });
});

test('levels: nothing is 0, anything is at least 1', () => {
  assert.deepEqual(
    [0, null, 1, 50, 100].map(v => levelOf(v, 100, 8)),
    [0, 0, 1, 6, 8],
  );
  assert.equal(levelOf(5, 0, 8), 0);
});

test('the scale says where each level begins, and a map ends with its range', () => {
  const levels = [1, 2, 3, 4, 5, 6, 7, 8];

  for (const level of levels) {
    const start = levelStart(level, 640, 8);
    assert.equal(levelOf(start + 1e-6, 640, 8), level);
    if (level > 1) assert.equal(levelOf(start, 640, 8), level - 1);
  }
  const heat = seriesHeat([line('a', [1000, 2000, 3000], [1, 2, 3])], 'cpu', 1000);
  assert.equal(columnsUntil(heat, 3500), 2.5, 'half of the last step is shown');
  assert.equal(columnsUntil(heat, 9000), 3);
});

test('ticks of an axis are at whole times', () => {
  assert.deepEqual(timeTicks(61e3, 400e3, 6, true), [120e3, 180e3, 240e3, 300e3, 360e3]);
  assert.deepEqual(timeTicks(0, 0, 8, true), [0]);
  const days = timeTicks(0, 40 * 86400e3, 8, true);
  assert.ok(days.length >= 5 && days.every(t => t % 86400e3 === 0), `${days}`);
});

test('bounds of totals are whole numbers that do not overlap', () => {
  const buckets = {
    'cpu/nanoseconds': {
      bounds: [10, 20, 40, 80],
      counts: [
        [1, 0, 2],
        [0, 0, 1],
      ],
    },
  };
  const heat = totalsHeat({ ...line('a', [1000, 2000], [1, 1]), buckets }, '', 1000);

  assert.deepEqual(
    heat?.rows.map(r => [r.min, r.max]),
    [
      ['40', ''],
      ['20', '39'],
      ['', '19'],
    ],
  );
  assert.deepEqual(
    heat?.rows.map(r => r.values),
    [
      [2, 1],
      [null, null],
      [1, null],
    ],
  );
  assert.equal(totalsHeat(line('a', [1000], [1]), '', 1000), null, 'counters have no buckets');
});

test('points are in the order of time, and have neighbours', () => {
  const points = pointsOf([line('a', [1000, 3000], [1, 3]), line('b', [2000, 3000], [2, null])], 'cpu/nanoseconds');

  assert.deepEqual(
    points.map(p => [p.ms, p.series, p.value]),
    [
      [1000, 0, 1],
      [2000, 1, 2],
      [3000, 0, 3],
      [3000, 1, 0],
    ],
  );
  assert.equal(neighbour(points, 3000, -1)?.ms, 2000);
  assert.equal(neighbour(points, 1000, 1)?.ms, 2000);
  assert.equal(neighbour(points, 3000, 1), undefined);
  assert.equal(neighbour(points, 1000, -1), undefined);
});

test('a series is told apart by the labels that differ', () => {
  const lines = [line('a', [], []), line('b', [], [])];

  assert.equal(narrow('cpu{zone="a"}', lines, 1), 'cpu{zone="a",job="b",pod="b-1"}');
  assert.equal(narrow('cpu', lines.slice(0, 1), 0), 'cpu');
  // A label that only the other series has.
  const { pod: _, ...without } = (lines[1] as Line).labels;
  assert.equal(narrow('cpu', [lines[0] as Line, { labels: without }], 1), 'cpu{job="b",pod=""}');
  assert.equal(narrow('cpu{job=~"a|b"}', lines, 0), 'cpu{job="a",pod="a-1"}');
});

function target(health: Target['health'], address: string, type: string, lastError = ''): Target {
  return {
    labels: { __name__: type, instance: address, job: 'j' },
    discoveredLabels: {},
    scrapePool: 'j',
    scrapeUrl: `http://${address}/debug/pprof/${type}`,
    lastError,
    lastScrape: '',
    lastScrapeDuration: type === 'profile' ? 10 : 0.1,
    health,
    scrapeInterval: '15s',
  };
}

test('targets: down first, equal errors together', () => {
  const all = [
    target('up', 'a:1', 'heap'),
    target('down', 'b:2', 'heap', 'connect to b:2 after 31 ms: refused'),
    target('down', 'c:3', 'heap', 'connect to c:3 after 4 ms: refused'),
    target('down', 'd:4', 'heap', 'HTTP status 404'),
  ];

  const endpoints = endpointsOf(all);
  assert.deepEqual(
    byJob(endpoints, { text: '', health: '' })[0]?.[1].map(t => t.health),
    ['down', 'down', 'down', 'up'],
  );
  assert.deepEqual(byJob(endpoints, { text: 'B:2', health: '' })[0]?.[1].length, 1);
  assert.deepEqual(byJob(endpoints, { text: '', health: 'unknown' }), []);
  assert.deepEqual(
    byError(all).map(e => e.count),
    [2, 1],
  );
});

test('a target is one row with all its types, as bad as the worst of them', () => {
  const endpoints = endpointsOf([
    target('up', 'a:1', 'mutex'),
    target('up', 'b:2', 'heap'),
    target('down', 'a:1', 'heap', 'refused'),
    target('up', 'a:1', 'profile'),
  ]);

  assert.deepEqual(
    endpoints.map(e => [e.labels.instance, e.health]),
    [
      ['a:1', 'down'],
      ['b:2', 'up'],
    ],
  );
  assert.deepEqual(
    endpoints[0]?.scrapes.map(t => t.labels.__name__),
    ['heap', 'mutex', 'profile'],
  );
  assert.deepEqual(
    endpoints.map(e => mainScrape(e).labels.__name__),
    ['profile', 'heap'],
  );
  // Targets of other jobs are others, even if all their labels are the same.
  assert.equal(
    endpointsOf([target('up', 'a:1', 'heap'), { ...target('up', 'a:1', 'heap'), scrapePool: 'k' }]).length,
    2,
  );
});

test('service discoveries that fail pass the filter of targets', () => {
  const one = {
    scrapePool: 'shop',
    discovery: 'dns_sd_configs',
    configLine: 3,
    targets: 0,
    source: 'shop.example',
    lastErrorTime: '',
  };
  const all = [
    { ...one, health: 'down' as const, lastError: 'SERVFAIL' },
    { ...one, health: 'up' as const, lastError: '' },
  ];

  assert.deepEqual(failing(all, { text: '', health: '' }), [all[0]]);
  assert.deepEqual(failing(all, { text: 'servfail', health: 'down' }), [all[0]]);
  assert.deepEqual(failing(all, { text: '', health: 'up' }), []);
  assert.deepEqual(failing(all, { text: 'other', health: '' }), []);
});

test('the cost of a type is its part of the time', () => {
  const all = costs([target('up', 'a:1', 'profile'), target('up', 'a:1', 'heap'), target('unknown', 'b:1', 'heap')]);

  assert.deepEqual(
    all.map(c => [c.type, c.targets, Math.round(c.share * 1000)]),
    [
      ['profile', 1, 667],
      ['heap', 1, 7],
    ],
  );
});

test('the selector of a series has all its labels', () => {
  assert.equal(seriesSelector({ __name__: 'heap', job: 'a"b', 'k8s.pod': 'x' }), 'heap{job="a\\"b","k8s.pod"="x"}');
});

test('a call graph has a place for everything', async () => {
  const nodes = ['main', 'a', 'b'].map((name, i) => ({ name, file: '', flat: i * 10, cum: 30 - i }));
  const edge = (from: number, to: number) => ({ from, to, weight: 10, inline: false, residual: from === to });
  const graph: GraphAnswer = {
    sample_type: 'cpu',
    unit: 'count',
    total: 30,
    nodes,
    edges: [edge(0, 1), edge(1, 2), edge(2, 2), edge(2, 0)],
  };
  const d = await layoutGraph(graph);

  assert.equal(d.boxes.length, 3);
  for (const b of d.boxes) {
    assert.ok(
      b.x - b.width / 2 >= 0 &&
        b.x + b.width / 2 <= d.width &&
        b.y - b.height / 2 >= 0 &&
        b.y + b.height / 2 <= d.height,
    );
  }
  assert.ok((d.boxes[0]?.y ?? 0) < (d.boxes[1]?.y ?? 0), 'callers are above what they call');
  for (const a of d.arrows) assert.match(arrowPath(a.points), /^M[\d.,-]+([QL][\d.,\s-]+)+$/);
  assert.deepEqual((await layoutGraph({ ...graph, nodes: [], edges: [] })).boxes, []);
});

test('children, and the next match around the end', () => {
  const answer = {
    sample_type: 'cpu',
    unit: 'count',
    total: 10,
    strings: ['', 'total', 'a', 'b', 'c'],
    name: [1, 2, 3, 4, 2],
    file: [0, 0, 0, 0, 0],
    binary: [0, 0, 0, 0, 0],
    parent: [-1, 0, 1, 1, 0],
    inlined: [0, 0, 0, 0, 0],
    self: [0, 1, 2, 3, 4],
    total_of: [10, 6, 2, 3, 4],
    left_out: { nodes: 0, weight: 0 },
  };
  const tree = layout(answer, 'value');

  assert.deepEqual(childrenOf(tree, 0), [1, 4]);
  assert.deepEqual(childrenOf(tree, 1), [3, 2]);
  assert.deepEqual(childrenOf(tree, 4), []);
  const isA = (i: number): boolean => tree.name(i) === 'a';
  assert.equal(nextNode(tree, 0, 1, isA), 1);
  assert.equal(nextNode(tree, 1, 1, isA), 4);
  assert.equal(nextNode(tree, 4, 1, isA), 1);
  assert.equal(nextNode(tree, 1, -1, isA), 4);
  assert.equal(
    nextNode(tree, 0, 1, () => false),
    -1,
  );
});

/** The requests of a state: key and parameters. */
function asked(values: Partial<State>): Record<string, string> {
  const state: State = { ...initial, query: 'cpu', from: '1000000', to: '4600000', ...values };

  return Object.fromEntries(
    requests(state, 5000000).map(r => [r.key, decodeURIComponent(new URLSearchParams(r.params).toString())]),
  );
}

test('each chart asks for what it shows', () => {
  assert.match(asked({}).lines ?? '', /step=15s&rate=1&fill=auto&group_by=job/);
  assert.match(asked({ chart: 'points' }).points ?? '', /totals=1&max_profiles=20000/);
  assert.match(asked({ chart: 'weights' }).weights ?? '', /step=30s&buckets=16/);
  assert.match(asked({ chart: 'rows' }).lines ?? '', /step=30s/);
  assert.match(asked({ chart: 'history' }).history ?? '', /top=5/);
  assert.match(asked({ chart: 'history', fn: 'main.f' }).history ?? '', /function=main.f/);
  assert.deepEqual(Object.keys(asked({ chart: 'off' })), ['types', 'labels', 'flamegraph', 'session']);
});

test('a wider chart shows all profiles, the view those that are chosen', () => {
  const r = asked({ chart: 'weights', span: '1000000,8200000', total_min: '5' });

  assert.match(r.weights ?? '', /from=1000000&to=8200000/);
  assert.doesNotMatch(r.weights ?? '', /total_min/);
  assert.match(r.flamegraph ?? '', /from=1000000&to=4600000&total_min=5/);
  assert.match(asked({ total_min: '5', sample_index: 'cpu' }).lines ?? '', /total_min=5&sample_index=cpu/);
});

test('both sides of a comparison have their limits', () => {
  const s: State = { ...initial, query: 'cpu', from: '1', to: '2', total_min: '5' };
  const r = asked({
    page: 'compare',
    from: '1',
    to: '2',
    total_min: '5',
    base: { ...sideB(s), total_outside: true },
  });

  assert.match(
    r.flamegraph ?? '',
    /query_a=cpu&mode_a=merge&from_a=1&to_a=2&total_min_a=5&total_outside_a=1&query_b=cpu&mode_b=merge&from_b=1&to_b=2&total_min_b=5/,
  );
  assert.match(asked({ page: 'compare', time: '77' }).flamegraph ?? '', /query_b=cpu&time_b=77/);
});

test('a change says of which job, and from what to what', () => {
  const change: Change = {
    time: 0,
    kind: 'label',
    name: 'version',
    jobs: ['api'],
    programs: [],
    instances: [],
    from: ['1.0'],
    to: ['1.1', '1.2'],
    series: 3,
  };
  const cases: [Partial<Change>, string][] = [
    [{}, 'api: version 1.0 → 1.1, 1.2 (3 series)'],
    [{ from: [], series: 1, jobs: ['a', 'b'] }, 'a, b: version 1.1, 1.2'],
    [{ jobs: ['a', 'b', 'c', 'd'], kind: 'restart', name: '', from: [], to: [] }, '4 jobs: restart (3 series)'],
    [
      { jobs: [''], kind: 'build_id', name: '', from: ['0123456789abcdef'], to: ['b2'] },
      'build 0123456789ab… → b2 (3 series)',
    ],
    [{ kind: 'restart', instances: ['api-1', 'api-2'], from: [], to: [] }, 'api: restart of api-1, api-2'],
    [{ kind: 'restart', instances: ['1', '2', '3', '4'], from: [], to: [] }, 'api: restart (3 series)'],
    [{ jobs: ['ebpf'], programs: ['app', 'db'] }, 'app, db: version 1.0 → 1.1, 1.2 (3 series)'],
    [{ jobs: ['ebpf'], programs: ['a', 'b', 'c', 'd'] }, '4 programs: version 1.0 → 1.1, 1.2 (3 series)'],
  ];

  for (const [values, want] of cases) assert.equal(changeText({ ...change, ...values }), want);
});

test('a build that comes with a new version is known by the version', () => {
  const change = (kind: Change['kind'], time: number, jobs: string[]): Change => ({
    time,
    kind,
    name: '',
    jobs,
    programs: [],
    instances: [],
    from: [],
    to: ['x'],
    series: 1,
  });
  const version = change('label', 100e3, ['api']);
  const others = [
    change('build_id', 300e3, ['api']),
    change('build_id', 100e3, ['db']),
    change('restart', 100e3, ['api']),
  ];

  assert.deepEqual(toldChanges([version, change('build_id', 90e3, ['api']), ...others]), [version, ...others]);
});

test('the last new version is told first, and restarts if there is none', () => {
  const change = (kind: Change['kind'], time: number): Change => ({
    time,
    kind,
    name: '',
    jobs: ['a'],
    programs: [],
    instances: [],
    from: [],
    to: [],
    series: 1,
  });
  const [old, build, first, second] = [
    change('label', 1),
    change('build_id', 2),
    change('restart', 3),
    change('restart', 4),
  ];

  assert.equal(firstTold([old, build, first, second]), build);
  assert.equal(firstTold([first, second]), second);
  assert.equal(firstTold([]), undefined);
});

test('a comparison of before and after is of the jobs that changed', () => {
  const of = (query: string, jobs: string[], programs: string[] = [], instances: string[] = []): string =>
    changeQuery(query, { kind: 'restart', time: 0, name: '', jobs, programs, instances, from: [], to: [], series: 1 });

  assert.equal(of('cpu', ['a']), 'cpu{job="a"}');
  assert.equal(of('cpu', ['nats-0', 'nats.1']), 'cpu{job=~"nats-0|nats\\\\.1"}');
  assert.equal(of('cpu{job="x"}', ['a', 'b']), 'cpu{job="x"}');
  assert.equal(of('cpu', ['a', '']), 'cpu', 'series without a job');
  assert.equal(of('cpu', ['a'], [], ['x']), 'cpu{job="a",instance="x"}');
  assert.equal(of('cpu{instance="y"}', ['a'], [], ['x', 'y']), 'cpu{instance="y",job="a"}');
  assert.equal(of('cpu{job="ebpf"}', ['ebpf'], ['app']), 'cpu{job="ebpf",exe="app"}');
  assert.equal(
    of(
      'cpu',
      Array.from({ length: 21 }, (_, i) => `j${i}`),
    ),
    'cpu',
  );
});

test('flame graphs of two ranges have error bars, unless values are compared', () => {
  const flame = (values: Partial<State>): string =>
    asked({ page: 'compare', from: '1000', to: '2000', ...values }).flamegraph ?? '';

  assert.match(flame({}), /normalize=auto.*&errors=1$/);
  assert.match(flame({ normalize: '1' }), /errors=1&by=share$/);
  assert.doesNotMatch(flame({ normalize: '0' }), /errors/);
  assert.doesNotMatch(flame({ time: '1500' }), /errors/);
  assert.doesNotMatch(asked({}).flamegraph ?? '', /errors/);
});

test('the history of CPU time is a number of cores', () => {
  const f = (name: string) => ({
    name,
    file: '',
    labels: {},
    flat: [2e9, null, 6e9],
    cum: [4e9, null, 8e9],
    seconds: [10, null, null],
  });
  const answer = {
    sample_type: 'cpu',
    unit: 'nanoseconds',
    timestamps: [0, 1, 2],
    total: [1, null, 1],
    profiles: [1, 0, 1],
    functions: [f('f')],
  };
  const lines = historyLines(answer);

  // Where the time is not known, nothing is.
  assert.deepEqual(
    lines.map(l => [l.labels.value, l.totals['cpu/nanoseconds']]),
    [
      ['f with callees', [4e8, null, null]],
      ['f self', [2e8, null, null]],
    ],
  );
  assert.equal(lines[0]?.kinds?.['cpu/nanoseconds'], 'flow');
  const heap = historyLines({
    ...answer,
    functions: [{ ...f('f'), seconds: [null, null, null] }, f('g')].map(x => ({ ...x, seconds: [null, null, null] })),
  });
  assert.deepEqual(
    heap.map(l => [l.labels.value, l.totals['cpu/nanoseconds'], l.kinds?.['cpu/nanoseconds']]),
    [
      ['f', [2e9, null, 6e9], 'state'],
      ['g', [2e9, null, 6e9], 'state'],
    ],
  );
});

test('series of machines are grouped by program, unless something else was chosen', () => {
  const cases = [
    ['process_cpu', 'job', 'exe'],
    ['process_cpu', 'node', 'node'],
    ['profile', 'exe', 'job'],
    ['profile', 'job', 'job'],
    ['heap', '', ''],
  ];

  assert.deepEqual(
    cases.map(([type, by]) => groupedBy(type as string, by as string)),
    cases.map(c => c[2]),
  );
});

test('values that are chosen together are matched literally', () => {
  assert.equal(anyOf(['a.b', 'c|d', 'e']), 'a\\.b|c\\|d|e');
});

test('a text that is no regular expression finds values that have it in them', () => {
  const texts = ['api', 'a-b.c:9', 'a|b', 'web-.*'];

  assert.deepEqual(texts.map(expressionOf), ['(?i).*api.*', '(?i).*a-b\\.c:9.*', 'a|b', 'web-.*']);
});

test('the heaviest groups of points have colours of their own', () => {
  const lines = [line('many', [1, 2, 3], [1, 1, 1]), line('heavy', [1], [50]), line('none', [1], [null])];

  assert.deepEqual(pointGroups(lines, 'job', 'cpu/nanoseconds'), ['heavy', 'many', 'none']);
});

test('groups are the boxes next to the root, largest first', () => {
  const answer: FlameAnswer = {
    sample_type: 'cpu',
    unit: 'nanoseconds',
    total: 10,
    strings: ['', 'total', 'job', 'a', '<unknown>', '(other)', 'f', 'f.go'],
    name: [1, 3, 6, 4, 5],
    file: [0, 2, 7, 2, 0],
    binary: [0, 0, 0, 0, 0],
    parent: [-1, 0, 1, 0, 0],
    inlined: [0, 0, 0, 0, 0],
    self: [0, 0, 2, 5, 3],
    total_of: [10, 2, 2, 5, 3],
    left_out: { nodes: 1, weight: 3 },
  };

  assert.deepEqual(
    groupsOf(answer, 'job').map(g => [g.value, g.total]),
    [
      ['', 5],
      [undefined, 3],
      ['a', 2],
    ],
  );
  const line = (job: string | undefined, total: number, kind: 'flow' | 'state') => ({
    labels: job === undefined ? {} : { job },
    timestamps: [0],
    totals: { 'cpu/nanoseconds': [total] },
    kinds: { 'cpu/nanoseconds': kind },
  });
  const lines = [line('a', 8, 'flow'), line(undefined, 20, 'flow')];
  assert.deepEqual(
    ['a', '', 'b', undefined].map(value => wholeOf(lines, 'cpu', 'job', value)),
    [8, 20, null, null],
  );
  assert.equal(wholeOf([line('a', 8, 'state')], 'cpu', 'job', 'a'), null);
  const compared = groupsOf({ ...answer, total_of_a: [20, 9, 9, 1, 0] }, 'job');
  assert.deepEqual(
    compared.map(g => [g.value, g.before, g.total]),
    [
      ['a', 9, 2],
      ['', 1, 5],
      [undefined, 0, 3],
    ],
  );
});

test('numbers of profiles that differ by more than a tenth are uneven', () => {
  assert.deepEqual(
    [
      [10, 10],
      [9, 10],
      [8, 10],
      [10, 20],
      [0, 5],
      [1, 1],
    ].map(([a, b]) => isUneven(a as number, b as number)),
    [false, false, true, true, false, false],
  );
});
