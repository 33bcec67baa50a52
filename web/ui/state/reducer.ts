// SPDX-License-Identifier: Apache-2.0
// Actions of the user, and the state of the page that follows from each of them.
import { parseTime } from '../model/time.ts';
import { noSide, type Side, type State } from './state.ts';

/** Filters that are lists: chips above the view. */
export const listFilters = ['focus', 'ignore', 'hide', 'show'] as const;
export type ListFilter = (typeof listFilters)[number];

export type Action =
  | { do: 'set'; values: Partial<State> }
  | { do: 'add'; filter: ListFilter; value: string }
  | { do: 'drop'; filter: ListFilter; value: string }
  | { do: 'range'; from: string; to: string }
  | { do: 'range_of_base'; from: string; to: string }
  | { do: 'swap'; now: number };

/** A view is not shown beside itself. */
function withoutTwins(s: State): State {
  return s.view === s.beside ? { ...s, beside: '' } : s;
}

/** The state after an action. */
export function reduce(s: State, a: Action): State {
  switch (a.do) {
    case 'set':
      return withoutTwins({ ...s, ...a.values });
    case 'add':
      return s[a.filter].includes(a.value) ? s : { ...s, [a.filter]: [...s[a.filter], a.value] };
    case 'drop':
      return { ...s, [a.filter]: s[a.filter].filter(v => v !== a.value) };
    case 'range':
      return { ...s, from: a.from, to: a.to, time: '', span: '' };
    case 'range_of_base':
      return { ...s, base: { ...s.base, from: a.from, to: a.to, time: '' } };
    case 'swap':
      return { ...s, ...sideA(s, a.now), base: sideB(s) };
  }
}

/** Side B of a comparison; on the page Explore, the profiles that it shows. */
export function sideB(s: State): Side {
  const { query, from, to, time, total_min, total_max, total_outside, adhoc } = s;

  return { query, from, to, time, total_min, total_max, total_outside, adhoc };
}

/** The base of a comparison: what is given, or the same selector and the range before. */
export function sideA(s: State, now: number): Side {
  const from = parseTime(s.from, now);
  const to = parseTime(s.to, now);

  return {
    ...s.base,
    query: s.base.query || s.query,
    // Both ends belong to a range: a profile at the border is one of B alone.
    from: s.base.from || String(from - (to - from)),
    to: s.base.to || String(from - 1),
  };
}

/** No base: the range before. */
export const noBase: Pick<State, 'base'> = { base: noSide };

/** Whether a base is chosen. */
export function hasBase(s: State): boolean {
  return Object.values(s.base).some(Boolean);
}

/** A regular expression that matches just this name. */
export function exactly(name: string): string {
  return `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}
