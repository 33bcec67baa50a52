// SPDX-License-Identifier: Apache-2.0
// The context: what every part of the page gets.
import type { Loader } from '../api/loader.ts';
import type { Action } from './reducer.ts';
import type { State } from './state.ts';

/** What every part of the page gets. */
export interface Context {
  state: State;
  loader: Loader;
  /** The time that "now" means until the next refresh. */
  now: number;
  /** `as`: whether the action is one letter of many, or the page itself chose it; such states are no steps of the history. */
  act: (a: Action, as?: 'typing' | 'default') => void;
  refresh: () => void;
}
