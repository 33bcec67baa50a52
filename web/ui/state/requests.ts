// SPDX-License-Identifier: Apache-2.0
// Decides which requests to the API a state of the page needs, the number of
// steps of charts included. The parameters have the names of the API, so that
// every view is one path away from curl and go tool pprof.
import type { Request } from '../api/client.ts';
import { parseTime, stepFor } from '../model/time.ts';
import { exactly, sideA, sideB } from './reducer.ts';
import { isDiff, type Side, type State, type View } from './state.ts';

/** Number of steps of the chart, and of a heat map. */
const chartSteps = 240;
const heatSteps = 120;

/** Number of totals that a heat map tells apart. */
const heatBuckets = 16;

/** Largest number of profiles that are shown as points. */
export const maxPoints = 20000;

/** Largest number of nodes of a flame graph that is asked for. */
export const maxNodes = 50000;

type Params = [string, string][];

/** The filters, as parameters. */
function filterParams(s: State): Params {
  const out: Params = [];
  const lists = ['focus', 'ignore', 'hide', 'show', 'under'] as const;
  const texts = ['show_from', 'prune_from', 'tagfocus', 'tagignore', 'recursion', 'granularity'] as const;

  for (const key of lists) for (const v of s[key]) out.push([key, v]);
  for (const key of texts) if (s[key]) out.push([key, s[key]]);
  if (s.noinlines) out.push(['noinlines', 'true']);
  if (s.ignore_versions) out.push(['ignore_versions', 'true']);
  if (s.group_by) out.push(['group_by', s.group_by]);
  return out;
}

/** Only profiles with some totals. */
function totalParams(side: Side, suffix: string): Params {
  const out: Params = [];

  if (side.total_min) out.push([`total_min${suffix}`, side.total_min]);
  if (side.total_max) out.push([`total_max${suffix}`, side.total_max]);
  if (side.total_outside) out.push([`total_outside${suffix}`, '1']);
  return out;
}

/** Which profiles of the range the page shows. */
export function chosenParams(s: State): Params {
  const out = totalParams(sideB(s), '');

  return out.length && s.sample_index ? [...out, ['sample_index', s.sample_index]] : out;
}

/** Which profiles: one, or all of a range. `now` makes relative times absolute. */
function sideParams(side: Side, suffix: string, now: number): Params {
  if (side.adhoc) return [[`adhoc${suffix}`, side.adhoc]];
  const range: Params = [
    [`mode${suffix}`, 'merge'],
    [`from${suffix}`, String(parseTime(side.from, now))],
    [`to${suffix}`, String(parseTime(side.to, now))],
  ];

  return [
    [`query${suffix}`, side.query],
    ...(side.time ? ([[`time${suffix}`, side.time]] as Params) : range),
    ...totalParams(side, suffix),
  ];
}

/** Whether a side is a single profile, which has no rate and no error bars. */
export function isSingle(s: State): boolean {
  return [s.time, s.base.time, s.adhoc, s.base.adhoc].some(Boolean);
}

/** How the sides are scaled, if somebody chose it. */
export function askedScale(s: State): State['normalize'] {
  return s.normalize === 'rate' && isSingle(s) ? '' : s.normalize;
}

/** The profiles of the page: those of one side, or a comparison of two. */
export function whatParams(s: State, now: number): Params {
  const out: Params = isDiff(s)
    ? [['mode', 'diff'], ...sideParams(sideA(s, now), '_a', now), ...sideParams(sideB(s), '_b', now)]
    : sideParams(sideB(s), '', now);

  if (isDiff(s) && s.normalize !== '0') out.push(['normalize', askedScale(s) || 'auto']);
  if (s.sample_index) out.push(['sample_index', s.sample_index]);
  if (s.aggregate) out.push(['aggregate', s.aggregate]);
  return out;
}

/** A report on the profiles of the state. */
export function reportRequest(s: State, now: number, report: string, extra: Params): Request {
  return {
    key: report,
    path: 'api/v1/query',
    params: [...whatParams(s, now), ...filterParams(s), ['report', report], ...extra],
  };
}

/** The range of the chart: that of the profiles, or more. */
export function chartRange(s: State, now: number): [number, number] {
  const [from, to] = s.span ? (s.span.split(',') as [string, string]) : [s.from, s.to];

  return [parseTime(from, now), parseTime(to ?? '', now)];
}

/** Steps of the chart, in seconds. */
export function chartStep(s: State, range: [number, number]): number {
  return stepFor(range[1] - range[0], s.chart === 'rows' || s.chart === 'weights' ? heatSteps : chartSteps);
}

/** Totals over time: `extra` says of what. */
function rangeRequest(s: State, key: string, side: Side, range: [number, number], extra: Params): Request {
  const params: Params = [
    ['query', side.query],
    ['from', String(range[0])],
    ['to', String(range[1])],
  ];

  // The chart of a wider range shows all of it; the chosen part is marked.
  if (!s.span) params.push(...totalParams(side, ''));
  if (s.sample_index && params.some(([k]) => k.startsWith('total_'))) params.push(['sample_index', s.sample_index]);
  return { key, path: 'api/v1/query_range', params: [...params, ...extra] };
}

/** A line for each group of series. */
function lineRequest(s: State, key: string, side: Side, range: [number, number]): Request {
  const extra: Params = [
    ['step', `${chartStep(s, range)}s`],
    ['rate', '1'],
    ['fill', 'auto'],
  ];

  if (s.by) extra.push(['group_by', s.by]);
  return rangeRequest(s, key, side, range, extra);
}

/** What the upper half of the page Explore shows. */
function chartRequests(s: State, now: number): Request[] {
  const range = chartRange(s, now);
  const side = sideB(s);

  if (s.chart === 'off') return [];
  if (s.chart === 'history') return [historyRequest(s, now)];
  if (s.chart === 'points')
    return [
      rangeRequest(s, 'points', side, range, [
        ['totals', '1'],
        ['max_profiles', String(maxPoints)],
      ]),
    ];
  if (s.chart === 'weights') {
    const extra: Params = [
      ['step', `${chartStep(s, range)}s`],
      ['buckets', String(heatBuckets)],
      ['group_by', '__name__'],
    ];
    return [rangeRequest(s, 'weights', side, range, extra)];
  }
  return [lineRequest(s, 'lines', side, range), changesRequest(s, range)];
}

/** Number of steps of a function's history: each is a merge. */
export const historySteps = 48;

/** The shortest step of a history, in seconds, unless the range is short itself. */
const leastHistoryStep = 60;

/** A function over time, with the filters of the view. */
export function historyRequest(s: State, now: number): Request {
  const to = parseTime(s.to, now);
  const span = to - parseTime(s.from, now);
  // Shorter steps would have profiles of some series only.
  const step = Math.max(stepFor(span, historySteps), Math.min(leastHistoryStep, stepFor(span, 5)));
  // Whole steps: a shorter one at the end would look like a drop.
  const from = to - Math.max(1, Math.ceil(span / 1000 / step)) * step * 1000;
  const params: Params = [
    ['query', s.query],
    ['from', String(from)],
    ['to', String(to)],
    ['step', `${step}s`],
  ];

  params.push(s.fn ? ['function', s.fn] : ['top', '5']);
  if (s.sample_index) params.push(['sample_index', s.sample_index]);
  if (s.aggregate) params.push(['aggregate', s.aggregate]);
  return {
    key: 'history',
    path: 'api/v1/history',
    params: [...params, ...filterParams(s).filter(([k]) => k !== 'group_by')],
  };
}

/** Filters that leave out stacks, so that what is left of a group is a part of it. */
const narrowing = ['focus', 'ignore', 'under', 'tagfocus', 'tagignore'] as const;

/** Whether filters leave a part of the stacks. */
export function isNarrowed(s: State): boolean {
  return narrowing.some(key => s[key].length > 0);
}

/** The whole of each group, if the filters leave a part: then the table of groups has both. */
function wholeRequests(s: State, now: number): Request[] {
  const range = [parseTime(s.from, now), parseTime(s.to, now)] as const;
  const step = `${Math.floor((range[1] - range[0]) / 1000) + 1}s`;

  if (!s.group_by || s.time || !isNarrowed(s)) return [];
  const chosen = chosenParams(s);
  const params: Params = [
    ['query', s.query],
    ['from', String(range[0])],
    ['to', String(range[1])],
    ...chosen,
    ['step', step],
    ['group_by', s.group_by],
  ];
  return [{ key: 'whole', path: 'api/v1/query_range', params }];
}

/** When programs changed: marked on the chart. */
function changesRequest(s: State, range: [number, number]): Request {
  // The same for all charts, which have steps of their own.
  const step = stepFor(range[1] - range[0], chartSteps);
  const params: Params = [
    ['query', s.query],
    ['from', String(range[0])],
    ['to', String(range[1])],
    ['step', `${step}s`],
  ];

  return { key: 'changes', path: 'api/v1/changes', params };
}

/** Views that show one function, and nothing without one. */
function needsFunction(view: View): boolean {
  return view === 'sandwich' || view === 'source';
}

/** Whether the view shows a list of functions to choose from. */
export function isChoosing(s: State): boolean {
  return needsFunction(s.view) && !s.fn;
}

/** The key of the view's request. Views of one report share it: the old picture stays until the new one is there. */
export function viewKey(s: State): string {
  return isChoosing(s) ? 'choose' : reportOf(s);
}

/** The views that are shown, one or two side by side: the state of each, and the key of its request. */
export function shownViews(s: State): { state: State; key: string }[] {
  const second = s.beside && { ...s, view: s.beside };
  const first = { state: s, key: viewKey(s) };

  return second ? [first, { state: second, key: `beside ${viewKey(second)}` }] : [first];
}

/** Whether changes are told from noise: of two ranges, unless sums are asked for. */
export function hasErrorBars(s: State): boolean {
  return isDiff(s) && s.normalize !== '0' && !isSingle(s);
}

/** The parameter "by" of a comparison with error bars, if the URL says by what the sides are compared. */
function byParams(s: State): Params {
  return s.normalize ? [['by', s.normalize === 'rate' ? 'rate' : 'share']] : [];
}

/** The report that a view shows. */
function reportOf(s: State): string {
  if (s.view === 'table' && hasErrorBars(s)) return 'compare';
  const reports: Partial<Record<View, string>> = { table: 'top', source: 'source', graph: 'graph', text: s.text };

  return reports[s.view] ?? 'flamegraph';
}

/** What a view shows. */
export function viewRequest(s: State, now: number, key = viewKey(s)): Request {
  const make = (extra: Params, report = reportOf(s)): Request => ({ ...reportRequest(s, now, report, extra), key });
  const bars: Params = hasErrorBars(s) ? [['errors', '1'], ...byParams(s)] : [];
  const nodes: Params = [['max_nodes', String(maxNodes)], ...bars];

  if (isChoosing(s)) return make([['nodecount', '25']], 'top');
  switch (s.view) {
    case 'table':
      return make(hasErrorBars(s) ? byParams(s) : [['trim', 'false']]);
    case 'source':
      return make([
        ['format', 'json'],
        ['symbol', exactly(s.fn)],
      ]);
    case 'graph':
      return make([]);
    case 'text':
      return { ...make([]), plain: true };
    case 'invert':
      return make([...nodes, ['invert', 'true']]);
    case 'sandwich':
      return make([...nodes, ['pivot', exactly(s.fn)]]);
    case 'flame':
      return make(nodes);
  }
}

/** What the lower half of the page shows. */
function viewsRequests(s: State, now: number): Request[] {
  return shownViews(s).map(({ state, key }) => viewRequest(state, now, key));
}

/** What is known of an uploaded file. */
function fileRequest(key: string, adhoc: string): Request {
  return { key, path: `api/v1/adhoc/${adhoc.split('/')[0]}`, params: [] };
}

/** The requests of the page Files: the list of all, or what is known of those that are shown, and the views. */
function fileRequests(s: State, now: number): Request[] {
  const out: Request[] = [];

  if (!s.adhoc) return [{ key: 'files', path: 'api/v1/adhoc', params: [] }];
  if (s.base.adhoc) out.push(fileRequest('file_a', s.base.adhoc));
  // Which stored profiles are like the file.
  out.push({ key: 'types', path: 'api/v1/profile_types', params: [] });
  return [...out, fileRequest('file', s.adhoc), ...viewsRequests(s, now)];
}

/** The requests of the page, all of which it can show at once. */
export function requests(s: State, now: number): Request[] {
  return [...pageRequests(s, now), { key: 'session', path: 'api/v1/session', params: [] }];
}

function pageRequests(s: State, now: number): Request[] {
  if (s.page === 'adhoc') return fileRequests(s, now);
  if (s.page === 'targets') return [{ key: 'targets', path: 'api/v1/targets', params: [] }];
  if (s.page === 'status') {
    return ['tsdb', 'buildinfo', 'runtimeinfo', 'flags', 'config', 'queries'].map(name => ({
      key: name,
      path: `api/v1/status/${name}`,
      params: [],
    }));
  }
  const out: Request[] = [{ key: 'types', path: 'api/v1/profile_types', params: [] }];
  if (!s.query) return out;
  if (s.page === 'explore') {
    out.push({
      key: 'labels',
      path: 'api/v1/labels',
      params: [
        ['counts', '1'],
        ['match[]', s.query],
        ['limit', '100'],
      ],
    });
    return [...out, ...chartRequests(s, now), ...wholeRequests(s, now), ...viewsRequests(s, now)];
  }
  const both = (['lines_a', 'lines'] as const).flatMap((key, i) => {
    const side = i ? sideB(s) : sideA(s, now);
    if (side.adhoc) return [fileRequest('file_a', side.adhoc)];
    return [lineRequest(s, key, side, [parseTime(side.from, now), parseTime(side.to, now)])];
  });
  return [...out, ...both, ...viewsRequests(s, now)];
}
