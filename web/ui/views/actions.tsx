// SPDX-License-Identifier: Apache-2.0
// Actions on a function, such as focus and hide: the buttons and keys that
// every view offers for it.
import { lettersOn } from '../parts/hooks.ts';
import type { Context } from '../state/context.ts';
import { exactly } from '../state/reducer.ts';
import type { State } from '../state/state.ts';

type Does = (name: string, s: State) => Partial<State>;

function added(filter: 'focus' | 'ignore' | 'hide'): Does {
  return (name, s) => ({ [filter]: [...s[filter].filter(v => v !== exactly(name)), exactly(name)] });
}

const recursions: Record<State['recursion'], State['recursion']> = { '': 'direct', direct: 'all', all: '' };

/** Key, title (empty: only the key), explanation, what follows. */
export const functionActions: [string, string, string, Does][] = [
  ['f', 'focus', 'keep only stacks with this function', added('focus')],
  ['i', 'ignore', 'drop stacks with this function', added('ignore')],
  ['m', 'hide', 'hide its frames; their callers get their weight', added('hide')],
  ['p', 'prune', 'drop what the function calls (prune_from)', name => ({ prune_from: exactly(name) })],
  ['s', 'sandwich', 'its callers and callees over all stacks', fn => ({ view: 'sandwich', fn, zoom: '' })],
  ['o', 'source', 'its source lines', fn => ({ view: 'source', fn })],
  ['t', 'over time', 'its history in this time range', fn => ({ chart: 'history', fn })],
  [
    'l',
    'by label',
    'what it costs in each group of series',
    (name, s) => ({ ...added('focus')(name, s), view: 'flame', group_by: s.by || 'job', zoom: '' }),
  ],
  [
    'r',
    '',
    'recursive calls: as they are, direct ones once, all once',
    (_, s) => ({ recursion: recursions[s.recursion] }),
  ],
];

/** Uploaded files have no history, and no labels of series. */
const ofSeries = ['t', 'l'];

/**
 * Do what a key says to a function; without one (""), only what needs none.
 * Returns whether the key was meant.
 */
export function functionKeys(e: KeyboardEvent, { state, act }: Context, name: string): boolean {
  const row = functionActions.find(([key]) => e.code === `Key${key.toUpperCase()}`);

  if (
    !row ||
    (state.page === 'adhoc' && ofSeries.includes(row[0])) ||
    (row[1] && !name) ||
    !lettersOn() ||
    e.shiftKey ||
    e.ctrlKey ||
    e.metaKey ||
    e.altKey
  )
    return false;
  e.preventDefault();
  act({ do: 'set', values: row[3](name, state) });
  return true;
}

/** The actions as buttons. */
export function Actions({ name, state, act }: Context & { name: string }) {
  return (
    <div class="actions" role="group" aria-label={`Actions for ${name}`}>
      {functionActions.map(
        ([key, title, help, does]) =>
          title &&
          !(state.page === 'adhoc' && ofSeries.includes(key)) && (
            <button
              key={key}
              type="button"
              title={`${help} (${key})`}
              onClick={() => act({ do: 'set', values: does(name, state) })}
            >
              {title}
            </button>
          ),
      )}
    </div>
  );
}
