// SPDX-License-Identifier: Apache-2.0
// What people do, and the state that follows.
import type { State } from './state.ts';

/** Filters that are lists: chips above the view. */
export type ListFilter = 'focus' | 'ignore' | 'hide' | 'show';

export type Action =
  | { do: 'set'; values: Partial<State> }
  | { do: 'add'; filter: ListFilter; value: string }
  | { do: 'drop'; filter: ListFilter; value: string }
  | { do: 'range'; from: string; to: string };

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
  }
}

/** A regular expression that matches just this name. */
export function exactly(name: string): string {
  return `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
}
