// SPDX-License-Identifier: Apache-2.0
// Changes of programs as a list below the chart, each with a comparison of
// before and after.
import type { Change } from '../api/answer.ts';
import { parseSelector, withMatcher } from '../model/selector.ts';
import { formatClock, parseTime } from '../model/time.ts';
import type { Context } from '../pages/app.tsx';

/** Build IDs are long; their beginnings tell them apart. */
function shortBuild(id: string): string {
  return id.length > 12 ? `${id.slice(0, 12)}…` : id;
}

/** "a: version v1 → v2" or "a, b: restart (3 series)". */
export function changeText(c: Change): string {
  const jobs = c.jobs.length > 3 ? `${c.jobs.length} jobs` : c.jobs.filter((j) => j).join(', ');
  const series = c.series === 1 ? '' : ` (${c.series} series)`;
  const values = (list: string[]): string => list.map(c.kind === 'build_id' ? shortBuild : String).join(', ');
  const names = { label: c.name, build_id: 'build', restart: 'restart' };
  const change = c.to.length ? ` ${c.from.length ? `${values(c.from)} → ` : ''}${values(c.to)}` : '';

  return `${jobs && `${jobs}: `}${names[c.kind]}${change}${series}`;
}

/** The ranges before and after a time: as long as both fit into the range. */
export function around(at: number, from: number, to: number): { from_a: string; to_a: string; from: string; to: string } {
  const length = Math.max(1, Math.min(at - from, to - at));

  return { from_a: String(at - length), to_a: String(at - 1), from: String(at), to: String(at + length) };
}

/** The query for a change: of the job that it is about, unless it is about several. */
export function changeQuery(query: string, c: Change): string {
  const names = parseSelector(query)?.matchers.map((m) => m.name) ?? [];

  return c.jobs.length === 1 && c.jobs[0] && !names.includes('job') ? withMatcher(query, { name: 'job', op: '=', value: c.jobs[0] }) : query;
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
            onClick={() => act({ do: 'set', values: { page: 'compare', query: changeQuery(state.query, c), query_a: '', ...around(c.time, from, to) } })}
          >
            before/after
          </button>
        </li>
      ))}
      {changes.length > 12 && <li class="dim">{changes.length - 12} more</li>}
    </ul>
  );
}
