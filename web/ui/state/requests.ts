// SPDX-License-Identifier: Apache-2.0
// Which requests a state needs. The parameters have the names of the API, so
// that every view is one path away from curl and go tool pprof.
import type { Request } from '../api/client.ts';
import { parseTime, stepFor } from '../model/time.ts';
import { exactly, sideA } from './reducer.ts';
import type { State } from './state.ts';

/** Number of steps of the chart. */
export const chartSteps = 240;

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
  if (s.group_by) out.push(['group_by', s.group_by]);
  return out;
}

/** Which profiles: one, or all of a range. `now` makes relative times absolute. */
export function whatParams(s: State, now: number): Params {
  const out: Params = [['query', s.query]];

  if (s.time) out.push(['time', s.time]);
  else out.push(['mode', 'merge'], ['from', String(parseTime(s.from, now))], ['to', String(parseTime(s.to, now))]);
  if (s.sample_index) out.push(['sample_index', s.sample_index]);
  if (s.aggregate) out.push(['aggregate', s.aggregate]);
  return out;
}

/** Both sides of a comparison. */
function bothParams(s: State, now: number): Params {
  const a = sideA(s, now);
  const out: Params = [
    ['mode', 'diff'],
    ['query_a', a.query], ['mode_a', 'merge'], ['from_a', String(parseTime(a.from, now))], ['to_a', String(parseTime(a.to, now))],
    ['query_b', s.query], ['mode_b', 'merge'], ['from_b', String(parseTime(s.from, now))], ['to_b', String(parseTime(s.to, now))],
  ];

  if (s.normalize) out.push(['normalize', '1']);
  if (s.sample_index) out.push(['sample_index', s.sample_index]);
  if (s.aggregate) out.push(['aggregate', s.aggregate]);
  return out;
}

/** A report on the profiles of the state. */
export function reportRequest(s: State, now: number, report: string, extra: Params): Request {
  return { key: report, path: 'api/v1/query', params: [...(s.page === 'compare' ? bothParams(s, now) : whatParams(s, now)), ...filterParams(s), ['report', report], ...extra] };
}

/** Totals over time. */
function lineRequest(s: State, key: string, side: { query: string; from: string; to: string }, now: number): Request {
  const from = parseTime(side.from, now);
  const to = parseTime(side.to, now);
  const params: Params = [
    ['query', side.query], ['from', String(from)], ['to', String(to)],
    ['step', `${stepFor(to - from, chartSteps)}s`], ['rate', '1'],
  ];

  if (s.by) params.push(['group_by', s.by]);
  return { key, path: 'api/v1/query_range', params };
}

/** Number of steps of a function's history: each is a merge. */
export const historySteps = 48;

/** A function over time, with the filters of the view. */
export function historyRequest(s: State, now: number): Request {
  const to = parseTime(s.to, now);
  const span = to - parseTime(s.from, now);
  const step = stepFor(span, historySteps);
  // Whole steps: a shorter one at the end would look like a drop.
  const from = to - Math.max(1, Math.ceil(span / 1000 / step)) * step * 1000;
  const params: Params = [['query', s.query], ['from', String(from)], ['to', String(to)], ['step', `${step}s`], ['function', s.fn]];

  if (s.sample_index) params.push(['sample_index', s.sample_index]);
  if (s.aggregate) params.push(['aggregate', s.aggregate]);
  return { key: 'history', path: 'api/v1/history', params: [...params, ...filterParams(s).filter(([k]) => k !== 'group_by')] };
}

/** When programs changed: marked on the chart. */
function changesRequest(s: State, now: number): Request {
  const from = parseTime(s.from, now);
  const to = parseTime(s.to, now);

  return {
    key: 'changes',
    path: 'api/v1/changes',
    params: [['query', s.query], ['from', String(from)], ['to', String(to)], ['step', `${stepFor(to - from, chartSteps)}s`]],
  };
}

/** The requests of the page, all of which it can show at once. */
export function requests(s: State, now: number): Request[] {
  if (s.page === 'targets') return [{ key: 'targets', path: 'api/v1/targets', params: [] }];
  if (s.page === 'status') {
    return ['tsdb', 'buildinfo', 'runtimeinfo', 'flags', 'config', 'queries'].map((name) => ({
      key: name,
      path: `api/v1/status/${name}`,
      params: [],
    }));
  }
  const out: Request[] = [{ key: 'types', path: 'api/v1/profile_types', params: [] }];
  if (!s.query) return out;
  if (s.chart === 'history' && s.page === 'explore' && s.fn) out.push(historyRequest(s, now));
  else if (s.chart !== 'off') out.push(lineRequest(s, 'lines', s, now));
  if (s.page === 'compare') out.push(lineRequest(s, 'lines_a', sideA(s, now), now));
  if (s.page === 'explore' && s.chart === 'lines') out.push(changesRequest(s, now));
  if (s.view === 'table') out.push(reportRequest(s, now, 'top', [['trim', 'false']]));
  else if (s.view === 'sandwich' && !s.fn) return out;
  else if (s.view === 'source') {
    if (s.fn) out.push(reportRequest(s, now, 'source', [['format', 'json'], ['symbol', exactly(s.fn)]]));
  }
  else {
    const extra: Params = [['max_nodes', String(maxNodes)]];
    if (s.view === 'invert') extra.push(['invert', 'true']);
    if (s.view === 'sandwich') extra.push(['pivot', exactly(s.fn)]);
    out.push(reportRequest(s, now, 'flamegraph', extra));
  }
  return out;
}
