// SPDX-License-Identifier: Apache-2.0
// What people do, and the state that follows.
import { parseTime } from '../model/time.ts';
import type { State } from './state.ts';

/** Filters that are lists: chips above the view. */
export type ListFilter = 'focus' | 'ignore' | 'hide' | 'show';

export type Action =
  | { do: 'set'; values: Partial<State> }
  | { do: 'add'; filter: ListFilter; value: string }
  | { do: 'drop'; filter: ListFilter; value: string }
  | { do: 'range'; from: string; to: string }
  | { do: 'range_a'; from: string; to: string }
  | { do: 'swap'; now: number };

/** The state after an action. */
export function reduce(s: State, a: Action): State {
  switch (a.do) {
    case 'set':
      return { ...s, ...a.values };
    case 'add':
      return s[a.filter].includes(a.value) ? s : { ...s, [a.filter]: [...s[a.filter], a.value] };
    case 'drop':
      return { ...s, [a.filter]: s[a.filter].filter((v) => v !== a.value) };
    case 'range':
      return { ...s, from: a.from, to: a.to, time: '' };
    case 'range_a':
      return { ...s, from_a: a.from, to_a: a.to };
    case 'swap': {
      const base = sideA(s, a.now);
      return { ...s, ...base, query_a: s.query, from_a: s.from, to_a: s.to };
    }
  }
}

/** The base of a comparison: what is given, or the same selector and the range before. */
export function sideA(s: State, now: number): { query: string; from: string; to: string } {
  const from = parseTime(s.from, now);
  const to = parseTime(s.to, now);

  // Both ends belong to a range: a profile at the border is one of B alone.
  return { query: s.query_a || s.query, from: s.from_a || String(from - (to - from)), to: s.to_a || String(from - 1) };
}

/** A regular expression that matches just this name. */
export function exactly(name: string): string {
  return `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}
