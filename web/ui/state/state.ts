// SPDX-License-Identifier: Apache-2.0
// The state of the page: everything that its URL says, and nothing else. Data
// from the server is not part of it.

export type Page = 'explore' | 'compare' | 'targets' | 'status';
export type Chart = 'lines' | 'history' | 'off';
export type View = 'flame' | 'invert' | 'table' | 'sandwich' | 'source';

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
}

export interface State extends Filters {
  page: Page;
  /** Selector; empty: the page chooses one when it knows the profile types. */
  query: string;
  /** Ends of the time range, as the API takes them: "now-1h" or milliseconds. */
  from: string;
  to: string;
  /** One profile instead of a range: its time in milliseconds, or empty. */
  time: string;
  /** Compare: the base, with which the profiles above are compared. Empty: the same selector, the range before. */
  query_a: string;
  from_a: string;
  to_a: string;
  /** Compare: by share of the total instead of by value. */
  normalize: boolean;
  sample_index: string;
  aggregate: string;
  group_by: string;
  /** Labels by which the lines of the chart are grouped. */
  by: string;
  chart: Chart;
  view: View;
  /** The function of the views sandwich, source and history: its whole name. */
  fn: string;
  /** Hash of the path of the box that is zoomed into, or empty. */
  zoom: string;
  find: string;
  order: 'value' | 'name';
  color: 'package' | 'binary' | 'self' | 'one';
  sort: string;
  tz: 'local' | 'utc';
  /** Parameters of the URL that this version does not know. */
  rest: [string, string][];
}

export const initial: State = {
  page: 'explore',
  query: '',
  from: 'now-1h',
  to: 'now',
  time: '',
  query_a: '',
  from_a: '',
  to_a: '',
  normalize: false,
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
  group_by: '',
  by: 'job',
  chart: 'lines',
  view: 'flame',
  fn: '',
  zoom: '',
  find: '',
  order: 'value',
  color: 'package',
  sort: '-flat',
  tz: 'local',
  rest: [],
};
