// SPDX-License-Identifier: Apache-2.0
// Changes of programs in a line below the chart, each with a comparison of
// before and after.
import { useState } from 'preact/hooks';
import type { Change } from '../api/answer.ts';
import { parseSelector, withMatcher } from '../model/selector.ts';
import { formatClock, parseTime } from '../model/time.ts';
import type { Context } from '../pages/app.tsx';
import { Popup } from '../parts/popup.tsx';

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

/** The most changes that are listed. */
const listed = 100;

function Marker({ change: c, state, now, act, close }: Context & { change: Change; close?: () => void }) {
  const show = (): void => {
    close?.();
    act({ do: 'set', values: { page: 'compare', query: changeQuery(state.query, c), query_a: '', ...around(c.time, parseTime(state.from, now), parseTime(state.to, now)) } });
  };

  return (
    <>
      <span class="marker-text" title={changeText(c)}><span class="dim">{formatClock(c.time, state.tz === 'utc')}</span> {changeText(c)}</span>{' '}
      <button type="button" aria-label={`before/after ${changeText(c)}`} onClick={show}>before/after</button>
    </>
  );
}

/** The last change, in one line; all of them are in a box: a machine may have many, and the picture below needs the room. */
export function Markers(props: Context & { changes: Change[] }) {
  const { changes } = props;
  const [open, setOpen] = useState(false);
  const last = changes[changes.length - 1];
  const key = (c: Change): string => `${c.time} ${c.kind} ${c.name} ${c.jobs.join()} ${c.to.join()}`;

  if (!last) return null;
  return (
    <div class="markers">
      <ul aria-label="Changes in this time range"><li><Marker {...props} change={last} /></li></ul>
      {changes.length > 1 && (
        <span class="anchor">
          <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>all {changes.length} changes</button>
          {open && (
            <Popup label="All changes" class="right" close={() => setOpen(false)}>
              <ul class="marker-list">
                {changes.slice(-listed).reverse().map((c) => <li key={key(c)}><Marker {...props} change={c} close={() => setOpen(false)} /></li>)}
                {changes.length > listed && <li class="dim">{changes.length - listed} earlier ones</li>}
              </ul>
            </Popup>
          )}
        </span>
      )}
    </div>
  );
}
