// SPDX-License-Identifier: Apache-2.0
// The URL of a state, and the state of a URL. Defaults are left out and keys
// have one order, so that one state has one URL. Unknown keys are kept.
import { parseTime } from '../model/time.ts';
import { initial, type Page, type State, type View } from './state.ts';

/** `beside` is the second value of the key "view". */
type Key = Exclude<keyof State, 'page' | 'rest' | 'beside'>;

/** All keys, in the order in which they stand in a URL. */
const keys: Key[] = [
  'query_a',
  'from_a',
  'to_a',
  'time_a',
  'total_min_a',
  'total_max_a',
  'total_outside_a',
  'query',
  'from',
  'to',
  'time',
  'total_min',
  'total_max',
  'total_outside',
  'normalize',
  'sample_index',
  'aggregate',
  'focus',
  'ignore',
  'hide',
  'show',
  'show_from',
  'prune_from',
  'tagfocus',
  'tagignore',
  'granularity',
  'noinlines',
  'ignore_versions',
  'recursion',
  'under',
  'group_by',
  'by',
  'chart',
  'span',
  'view',
  'text',
  'fn',
  'zoom',
  'find',
  'order',
  'color',
  'noise',
  'sort',
  'tz',
  'target',
  'health',
];

/** Values that keys with a fixed set of values may have. */
const choices: Partial<Record<Key, readonly string[]>> = {
  normalize: ['', '0', '1', 'rate'],
  chart: ['lines', 'points', 'rows', 'weights', 'history', 'off'],
  view: ['flame', 'table', 'invert', 'sandwich', 'source', 'graph', 'text'],
  text: ['tree', 'traces'],
  order: ['value', 'name'],
  color: ['package', 'binary', 'self', 'one'],
  recursion: ['', 'direct', 'all'],
  tz: ['local', 'utc'],
  health: ['', 'up', 'down', 'unknown'],
};

/** Keys whose values are times, or two of them. */
const times: readonly Key[] = ['from', 'to', 'time', 'from_a', 'to_a', 'time_a', 'span'];

/** Keys whose empty value differs from their default, and must be written. */
const emptyCounts: readonly Key[] = ['by'];

const paths: Record<Page, string> = { explore: '', compare: 'compare', targets: 'targets', status: 'status' };

/** On the page Compare, these keys are those of side B, as in the API. */
const sideB: readonly Key[] = ['query', 'from', 'to', 'time', 'total_min', 'total_max', 'total_outside'];

/** The path of a page, relative to the folder of the server's pages. */
export function pathOf(page: Page): string {
  return paths[page];
}

/** The page of a path, whatever is before its last segment. */
export function pageOf(path: string): Page {
  const last = path.slice(path.lastIndexOf('/') + 1);

  return (Object.keys(paths) as Page[]).find(p => paths[p] === last) ?? 'explore';
}

/** Escape what a query string cannot have, and keep what people can read. */
function escapeValue(text: string): string {
  // encodeURIComponent() throws on a lone surrogate.
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd')).replace(
    /%(20|2C|2F|3A|7B|7D|22|28|29|24|40|2A|3D|7E)/g,
    (all, hex: string) =>
      hex === '20' ? '+' : hex === '22' || hex === '7B' || hex === '7D' ? all : String.fromCharCode(parseInt(hex, 16)),
  );
}

/** The query string of a state, without "?"; "" if everything is default. */
export function encode(s: State): string {
  const out: string[] = [];

  for (const key of keys) {
    const value = s[key];
    const values = Array.isArray(value) ? value : [value === true ? '1' : value === false ? '' : String(value)];
    if (key === 'view' && s.beside) values[0] += `,${s.beside}`;
    for (const v of values) {
      const name = s.page === 'compare' && sideB.includes(key) ? `${key}_b` : key;
      if (v !== initial[key] && (v !== '' || emptyCounts.includes(key))) out.push(`${name}=${escapeValue(v)}`);
    }
  }
  for (const [key, value] of s.rest) out.push(`${escapeValue(key)}=${escapeValue(value)}`);
  return out.join('&');
}

/** The views of "flame" or "flame,table"; the default in place of what is unknown. */
function decodeViews(text: string): Pick<State, 'view' | 'beside'> {
  const [view, beside] = text.split(',').map(v => choices.view?.find(known => known === v) as View | undefined);

  return { view: view ?? initial.view, beside: beside && beside !== view ? beside : '' };
}

/** Whether a key may have a value. */
function isAllowed(key: Key, value: string): boolean {
  const ends = value.split(',');

  if (times.includes(key))
    return value === ''
      ? initial[key] === ''
      : ends.length === (key === 'span' ? 2 : 1) && ends.every(t => !Number.isNaN(parseTime(t, 0)));
  return choices[key]?.includes(value) ?? true;
}

/** The state of a path and a query string. Values that are not allowed are ignored. */
export function decode(path: string, search: string): State {
  const s: State = structuredClone(initial);
  const target = s as unknown as Record<string, unknown>;

  s.page = pageOf(path);
  for (const [name, value] of new URLSearchParams(search)) {
    const ofB = s.page === 'compare' && name.endsWith('_b') && sideB.includes(name.slice(0, -2) as Key);
    const key = (ofB ? name.slice(0, -2) : name) as Key;
    if (key === 'view') Object.assign(s, decodeViews(value));
    else if (!keys.includes(key)) s.rest.push([name, value]);
    else if (Array.isArray(initial[key])) (target[key] as string[]).push(value);
    else if (typeof initial[key] === 'boolean') target[key] = value !== '' && value !== '0' && value !== 'false';
    else if (isAllowed(key, value)) target[key] = value;
  }
  return s;
}
