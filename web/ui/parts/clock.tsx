// SPDX-License-Identifier: Apache-2.0
// The time range: presets, one range back and forth, refresh.
import { formatTime, isRelative, parseTime } from '../model/time.ts';
import type { Context } from '../pages/app.tsx';

const presets: [string, string][] = [
  ['now-5m', 'last 5 min'], ['now-15m', 'last 15 min'], ['now-1h', 'last hour'], ['now-3h', 'last 3 h'], ['now-6h', 'last 6 h'],
  ['now-12h', 'last 12 h'], ['now-1d', 'last day'], ['now-2d', 'last 2 d'], ['now-7d', 'last 7 d'], ['now-30d', 'last 30 d'],
];

export function Clock({ state, now, act, refresh }: Context) {
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
        onChange={(e) => act({ do: 'range', from: e.currentTarget.value, to: 'now' })}
      >
        {!preset && <option value="other">{formatTime(from, state.tz === 'utc')} – {formatTime(to, state.tz === 'utc')}</option>}
        {presets.map(([value, title]) => <option key={value} value={value}>{title}</option>)}
      </select>
      <button type="button" aria-label="One range earlier" onClick={() => shift(-1)}>‹</button>
      <button type="button" aria-label="One range later" onClick={() => shift(1)}>›</button>
      <button type="button" onClick={refresh}>{isRelative(state.to) ? 'Refresh' : 'Reload'}</button>
    </div>
  );
}
