// SPDX-License-Identifier: Apache-2.0
// Changes of programs as a list below the chart, each with a comparison of
// before and after.
import type { Change } from '../api/answer.ts';
import { formatClock, parseTime } from '../model/time.ts';
import type { Context } from '../pages/app.tsx';

/** "version v1 → v2" or "restart". */
export function changeText(c: Change): string {
  const series = c.series === 1 ? '' : ` (${c.series} series)`;

  if (c.kind === 'restart') return `restart${series}`;
  return `${c.name} ${c.from.length ? `${c.from.join(', ')} → ` : ''}${c.to.join(', ')}${series}`;
}

/** The ranges before and after a time: as long as both fit into the range. */
export function around(at: number, from: number, to: number): { from_a: string; to_a: string; from: string; to: string } {
  const length = Math.max(1, Math.min(at - from, to - at));

  return { from_a: String(at - length), to_a: String(at - 1), from: String(at), to: String(at + length) };
}

export function Markers({ changes, state, now, act }: Context & { changes: Change[] }) {
  if (!changes.length) return null;
  const from = parseTime(state.from, now);
  const to = parseTime(state.to, now);
  return (
    <ul class="markers" aria-label="Changes in this time range">
      {changes.slice(0, 12).map((c) => (
        <li key={`${c.time} ${c.kind} ${c.name}`}>
          <span class="dim">{formatClock(c.time, state.tz === 'utc')}</span> {changeText(c)}{' '}
          <button
            type="button"
            aria-label={`before/after ${changeText(c)}`}
            onClick={() => act({ do: 'set', values: { page: 'compare', query_a: '', ...around(c.time, from, to) } })}
          >
            before/after
          </button>
        </li>
      ))}
      {changes.length > 12 && <li class="dim">{changes.length - 12} more</li>}
    </ul>
  );
}
