// SPDX-License-Identifier: Apache-2.0
// The filters: chips above the view, each with a button that removes it.
import { formatTime, parseTime } from '../model/time.ts';
import { formatValue } from '../model/unit.ts';
import { shownUnit } from '../parts/hooks.ts';
import type { Context } from '../state/context.ts';
import { listFilters } from '../state/reducer.ts';
import type { State } from '../state/state.ts';

const texts = [
  'show_from',
  'prune_from',
  'tagfocus',
  'tagignore',
  'granularity',
  'recursion',
  'group_by',
  'aggregate',
] as const;

/** Which totals profiles may have: "a total from 10 to 20". */
export function totalText(s: Pick<State, 'total_min' | 'total_max' | 'total_outside'>, unit: string): string {
  const value = (text: string): string => formatValue(Number(text), unit);
  const range = [s.total_min && `from ${value(s.total_min)}`, s.total_max && `to ${value(s.total_max)}`]
    .filter(Boolean)
    .join(' ');

  return `${s.total_outside ? 'a total not' : 'a total'} ${range}`;
}

/** Runtime frames that most people want to hide: a regular expression. */
export const goRuntime = '^(runtime|internal/runtime)\\.';

function Chip({ text, drop }: { text: string; drop: () => void }) {
  return (
    <span class="chip">
      <span class="chip-text">{text}</span>
      <button type="button" aria-label={`Remove the filter ${text}`} onClick={drop}>
        ×
      </button>
    </span>
  );
}

export function Chips(context: Context) {
  const { state, act, now } = context;
  const set = (values: Partial<State>) => () => act({ do: 'set', values });

  return (
    <div class="chips">
      {listFilters.flatMap(filter =>
        state[filter].map(value => (
          <Chip key={filter + value} text={`${filter} ${value}`} drop={() => act({ do: 'drop', filter, value })} />
        )),
      )}
      {texts.map(key => state[key] && <Chip key={key} text={`${key} ${state[key]}`} drop={set({ [key]: '' })} />)}
      {state.under.length > 0 && <Chip text={`under ${state.under.at(-1)}`} drop={set({ under: [] })} />}
      {(state.total_min || state.total_max) && (
        <Chip
          text={totalText(state, shownUnit(context))}
          drop={set({ total_min: '', total_max: '', total_outside: false })}
        />
      )}
      {state.time && (
        <Chip
          text={`one profile, ${formatTime(parseTime(state.time, now), state.tz === 'utc')}`}
          drop={set({ time: '' })}
        />
      )}
      {state.noinlines && <Chip text="noinlines" drop={set({ noinlines: false })} />}
      {state.ignore_versions && <Chip text="ignore_versions" drop={set({ ignore_versions: false })} />}
    </div>
  );
}

/** A filter that many want, beside the other controls. */
export function HideRuntime({ state, act }: Context) {
  if (state.hide.includes(goRuntime)) return null;
  return (
    <button
      type="button"
      title="Hide the functions of Go's runtime"
      onClick={() => act({ do: 'add', filter: 'hide', value: goRuntime })}
    >
      hide runtime
    </button>
  );
}
