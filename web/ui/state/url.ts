// SPDX-License-Identifier: Apache-2.0
// The URL of a state, and the state of a URL. Defaults are left out and keys
// have one order, so that one state has one URL. Unknown keys are kept.
import { parseTime } from '../model/time.ts';
import { initial, noSide, type Page, type Side, type State, type View } from './state.ts';

/** `beside` is the second value of the key "view"; the keys of the base are those of a side. */
type Key = Exclude<keyof State, 'page' | 'rest' | 'beside' | 'base'>;

/** The keys of a side. As in the API, those of A end with "_a", and on the page Compare those of B with "_b". */
const sideKeys: readonly (keyof Side)[] = [
  'query',
  'from',
  'to',
  'time',
  'total_min',
  'total_max',
  'total_outside',
  'adhoc',
];

/** All keys, in the order in which they stand in a URL, behind those of the base. */
const keys: readonly Key[] = [
  ...sideKeys,
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
const times: readonly Key[] = ['from', 'to', 'time', 'span'];

/** Keys whose empty value differs from their default, and must be written. */
const emptyCounts: readonly Key[] = ['by'];

const paths: Record<Page, string> = {
  explore: '',
  compare: 'compare',
  adhoc: 'adhoc',
  targets: 'targets',
  status: 'status',
};

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

/** A value as the texts that stand in a URL. */
function textsOf(value: State[Key]): string[] {
  return Array.isArray(value) ? value : [value === true ? '1' : value === false ? '' : String(value)];
}

/** Whether a key is one of a side. */
function isOfSide(key: string): key is keyof Side {
  return (sideKeys as readonly string[]).includes(key);
}

/** The query string of a state, without "?"; "" if everything is default. */
export function encode(s: State): string {
  const out: string[] = [];
  const write = (name: string, texts: string[], byDefault: unknown, emptyCounts = false): void => {
    for (const v of texts) if (v !== byDefault && (v !== '' || emptyCounts)) out.push(`${name}=${escapeValue(v)}`);
  };

  for (const key of sideKeys) write(`${key}_a`, textsOf(s.base[key]), noSide[key]);
  for (const key of keys) {
    const hasSides = s.page === 'compare' || (key === 'adhoc' && s.base.adhoc !== '');
    const name = hasSides && isOfSide(key) ? `${key}_b` : key;
    const texts = key === 'view' && s.beside ? [`${s.view},${s.beside}`] : textsOf(s[key]);
    write(name, texts, initial[key], emptyCounts.includes(key));
  }
  for (const [key, value] of s.rest) out.push(`${escapeValue(key)}=${escapeValue(value)}`);
  return out.join('&');
}

/** The views of "flame" or "flame,table"; the default in place of what is unknown. */
function decodeViews(text: string): Pick<State, 'view' | 'beside'> {
  const [view, beside] = text.split(',').map(v => choices.view?.find(known => known === v) as View | undefined);

  return { view: view ?? initial.view, beside: beside && beside !== view ? beside : '' };
}

/** Whether a key may have a value; `byDefault` is its default. */
function isAllowed(key: Key, value: string, byDefault: unknown): boolean {
  const ends = value.split(',');

  if (times.includes(key))
    return value === ''
      ? byDefault === ''
      : ends.length === (key === 'span' ? 2 : 1) && ends.every(t => !Number.isNaN(parseTime(t, 0)));
  return choices[key]?.includes(value) ?? true;
}

/** Give a key of a state, or of its base, the value of a URL, if it is allowed. */
function decodeValue(to: State | Side, defaults: State | Side, key: Key, value: string): void {
  const target = to as unknown as Record<Key, unknown>;
  const byDefault = (defaults as unknown as Record<Key, unknown>)[key];

  if (Array.isArray(byDefault)) (target[key] as string[]).push(value);
  else if (typeof byDefault === 'boolean') target[key] = value !== '' && value !== '0' && value !== 'false';
  else if (isAllowed(key, value, byDefault)) target[key] = value;
}

/** The state of a path and a query string. Values that are not allowed are ignored. */
export function decode(path: string, search: string): State {
  const s: State = structuredClone(initial);

  s.page = pageOf(path);
  for (const [name, value] of new URLSearchParams(search)) {
    const [side, end] = [name.slice(0, -2), name.slice(-2)];
    if (name === 'view') Object.assign(s, decodeViews(value));
    else if (end === '_a' && isOfSide(side)) decodeValue(s.base, noSide, side, value);
    else if (end === '_b' && isOfSide(side) && (s.page === 'compare' || side === 'adhoc'))
      decodeValue(s, initial, side, value);
    else if (keys.includes(name as Key)) decodeValue(s, initial, name as Key, value);
    else s.rest.push([name, value]);
  }
  // The other pages have no files to compare with.
  if (s.adhoc && (s.page === 'explore' || s.page === 'compare')) s.page = 'adhoc';
  // A base alone is the file that is shown.
  if (s.page === 'adhoc' && !s.adhoc) [s.adhoc, s.base] = [s.base.adhoc, noSide];
  return s;
}
