// SPDX-License-Identifier: Apache-2.0
// The state of the page: everything that its URL says, and nothing else. Data
// from the server is not part of it.

export type Page = 'explore' | 'compare' | 'adhoc' | 'targets' | 'status';
export type Chart = 'lines' | 'points' | 'rows' | 'weights' | 'history' | 'off';
export type View = 'flame' | 'table' | 'invert' | 'sandwich' | 'source' | 'graph' | 'text';

/** Which profiles: a selector, and a time range or one profile of it; or an uploaded file. */
export interface Side {
  /** Selector; empty: the page chooses one when it knows the profile types. */
  query: string;
  /** Ends of the time range, as the API takes them: "now-1h" or milliseconds. */
  from: string;
  to: string;
  /** One profile instead of the range: its time in milliseconds, or empty. */
  time: string;
  /** Only profiles whose total is between these two, or outside of them; empty: no limit. */
  total_min: string;
  total_max: string;
  total_outside: boolean;
  /** Files, and the base of Compare: an uploaded file, as ID/PART; or empty. */
  adhoc: string;
}

/** Filters of the API; those that are lists can be given several times. */
export interface Filters {
  focus: string[];
  ignore: string[];
  hide: string[];
  show: string[];
  show_from: string;
  prune_from: string;
  tagfocus: string;
  tagignore: string;
  under: string[];
  recursion: '' | 'direct' | 'all';
  granularity: string;
  noinlines: boolean;
  /** Names are shown without the major versions of Go modules. */
  ignore_versions: boolean;
}

/** On the page Compare the side B; Explore has no other. */
export interface State extends Filters, Side {
  page: Page;
  /** Compare: the base A, with which B is compared. Where it is empty: the same selector, the range before. */
  base: Side;
  /** Compare: by share of the total (1), by value in a second (rate) or by value (0); empty: as suits the values. */
  normalize: '' | '0' | '1' | 'rate';
  sample_index: string;
  aggregate: string;
  group_by: string;
  /** Labels by which the lines of the chart are grouped. */
  by: string;
  chart: Chart;
  /** The range of the chart, "from,to", if it shows more than the profiles below it; or empty. */
  span: string;
  view: View;
  /** A second view of the same profiles, beside the first; or empty. */
  beside: View | '';
  /** The report of the view text. */
  text: 'tree' | 'traces';
  /** The function of the views sandwich, source and history: its whole name. */
  fn: string;
  /** Hash of the path of the box that is zoomed into, or empty. */
  zoom: string;
  find: string;
  order: 'value' | 'name';
  color: 'package' | 'binary' | 'self' | 'one';
  /** Compare: whether boxes that differ by no more than noise have a colour, too. */
  noise: boolean;
  sort: string;
  tz: 'local' | 'utc';
  /** Targets: a text that they contain, and their health. */
  target: string;
  health: '' | 'up' | 'down' | 'unknown';
  /** Parameters of the URL that this version does not know. */
  rest: [string, string][];
}

/** A side of which nothing is chosen. */
export const noSide: Side = {
  query: '',
  from: '',
  to: '',
  time: '',
  total_min: '',
  total_max: '',
  total_outside: false,
  adhoc: '',
};

export const initial: State = {
  page: 'explore',
  query: '',
  from: 'now-1h',
  to: 'now',
  time: '',
  total_min: '',
  total_max: '',
  total_outside: false,
  adhoc: '',
  base: noSide,
  normalize: '',
  sample_index: '',
  aggregate: '',
  focus: [],
  ignore: [],
  hide: [],
  show: [],
  show_from: '',
  prune_from: '',
  tagfocus: '',
  tagignore: '',
  under: [],
  recursion: '',
  granularity: '',
  noinlines: false,
  ignore_versions: false,
  group_by: '',
  by: 'job',
  chart: 'lines',
  span: '',
  view: 'flame',
  beside: '',
  text: 'tree',
  fn: '',
  zoom: '',
  find: '',
  order: 'value',
  color: 'package',
  noise: false,
  sort: '-flat',
  tz: 'local',
  target: '',
  health: '',
  rest: [],
};

/** Whether two sides are compared. */
export function isDiff(s: State): boolean {
  return s.page === 'compare' || (s.page === 'adhoc' && s.base.adhoc !== '');
}

/** All profiles of a selector, without what was chosen of others: filters, functions, views of one function. */
export const unfiltered: Partial<State> = Object.fromEntries(
  (
    [
      'time',
      'total_min',
      'total_max',
      'total_outside',
      'sample_index',
      'focus',
      'ignore',
      'hide',
      'show',
      'show_from',
      'prune_from',
      'tagfocus',
      'tagignore',
      'under',
      'group_by',
      'span',
      'view',
      'beside',
      'fn',
      'zoom',
      'find',
    ] as const
  ).map(key => [key, initial[key]]),
);
