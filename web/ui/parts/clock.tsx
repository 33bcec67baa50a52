// SPDX-License-Identifier: Apache-2.0
// The time range: presets, one range back and forth, refresh.
import { useState } from 'preact/hooks';
import { formatTime, isRelative, parseTime } from '../model/time.ts';
import type { Context } from '../state/context.ts';
import { Popup } from './popup.tsx';

const presets: [string, string][] = [
  ['now-5m', 'last 5 min'],
  ['now-15m', 'last 15 min'],
  ['now-1h', 'last hour'],
  ['now-3h', 'last 3 h'],
  ['now-6h', 'last 6 h'],
  ['now-12h', 'last 12 h'],
  ['now-1d', 'last day'],
  ['now-2d', 'last 2 d'],
  ['now-7d', 'last 7 d'],
  ['now-30d', 'last 30 d'],
];

/** Two times to enter. */
function Between({ state, now, act, close }: Context & { close: () => void }) {
  const utc = state.tz === 'utc';
  const text = (t: string): string => formatTime(parseTime(t, now), utc).replace(' ', 'T');
  const [from, setFrom] = useState(text(state.from));
  const [to, setTo] = useState(text(state.to));
  const read = (t: string): number => Date.parse(utc ? `${t}Z` : t);
  const good = read(from) < read(to);
  const field = (label: string, value: string, set: (t: string) => void) => (
    <label>
      {label} <input type="datetime-local" step="1" value={value} onInput={e => set(e.currentTarget.value)} />
    </label>
  );

  return (
    <Popup class="right" label="Times" title={utc ? 'From and to, UTC' : 'From and to, local time'} close={close}>
      <form
        class="between"
        onSubmit={e => {
          e.preventDefault();
          if (!good) return;
          act({ do: 'range', from: String(read(from)), to: String(read(to)) });
          close();
        }}
      >
        {field('From', from, setFrom)}
        {field('To', to, setTo)}
        <button type="submit" disabled={!good}>
          Show
        </button>
      </form>
    </Popup>
  );
}

export function Clock(context: Context) {
  const { state, now, act, refresh } = context;
  const [open, setOpen] = useState(false);
  const from = parseTime(state.from, now);
  const to = parseTime(state.to, now);
  const preset = state.to === 'now' && presets.some(([v]) => v === state.from);
  const shift = (by: number): void =>
    act({ do: 'range', from: String(from + by * (to - from)), to: String(to + by * (to - from)) });

  return (
    <div class="clock">
      <select
        aria-label="Time range"
        value={preset ? state.from : 'other'}
        onChange={e => {
          if (e.currentTarget.value !== 'between') return act({ do: 'range', from: e.currentTarget.value, to: 'now' });
          e.currentTarget.value = preset ? state.from : 'other';
          setOpen(true);
        }}
      >
        {!preset && (
          <option value="other">
            {formatTime(from, state.tz === 'utc')} – {formatTime(to, state.tz === 'utc')}
          </option>
        )}
        {presets.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
        <option value="between">from – to …</option>
      </select>
      {open && <Between {...context} close={() => setOpen(false)} />}
      <button type="button" aria-label="One range earlier" onClick={() => shift(-1)}>
        ‹
      </button>
      <button type="button" aria-label="One range later" onClick={() => shift(1)}>
        ›
      </button>
      <button type="button" onClick={refresh}>
        {isRelative(state.to) ? 'Refresh' : 'Reload'}
      </button>
    </div>
  );
}
