// SPDX-License-Identifier: Apache-2.0
// Changes of programs: one beside the charts' names, and all of them in a box.
// Each has a comparison of before and after, and the last profile before.
import { useState } from 'preact/hooks';
import type { Change } from '../api/answer.ts';
import { anyOf, matchedLabels, withMatcher } from '../model/selector.ts';
import { formatClock, parseTime } from '../model/time.ts';
import { Popup } from '../parts/popup.tsx';
import type { Context } from '../state/context.ts';
import { noSide, type State } from '../state/state.ts';

/** Build IDs are long; their beginnings tell them apart. */
function shortBuild(id: string): string {
  return id.length > 12 ? `${id.slice(0, 12)}…` : id;
}

/** What is not known of a change, for who wonders. */
function changeHint(c: Change): string {
  return c.kind === 'restart'
    ? '\nIts counters began again: the program was started anew. No label and no new build ID tells of a new version; profiles without a build ID cannot tell.'
    : '';
}

/** What changed: the label that tells it from others, and its values. Programs of a machine have one job. */
function changed(c: Change): { name: 'exe' | 'job'; values: string[] } {
  return c.programs.length ? { name: 'exe', values: c.programs } : { name: 'job', values: c.jobs };
}

/** More instances than these are not named beside the chart. */
const mostNamed = 3;

/** "a: version v1 → v2" or "a: restart of 10.0.0.7:6060" or "a, b: restart (5 series)". */
export function changeText(c: Change): string {
  const { name, values: all } = changed(c);
  const what =
    all.length > 3 ? `${all.length} ${name === 'exe' ? 'programs' : 'jobs'}` : all.filter(Boolean).join(', ');
  const { instances } = c;
  const where = instances.length && instances.length <= mostNamed ? ` of ${instances.join(', ')}` : '';
  const series = where || c.series === 1 ? '' : ` (${c.series} series)`;
  const values = (list: string[]): string => list.map(c.kind === 'build_id' ? shortBuild : String).join(', ');
  const names = { label: c.name, build_id: 'build', restart: 'restart' };
  const change = c.to.length ? ` ${c.from.length ? `${values(c.from)} → ` : ''}${values(c.to)}` : '';

  return `${what && `${what}: `}${names[c.kind]}${where}${change}${series}`;
}

/** The ranges before and after a time: as long as both fit into the range. */
export function around(at: number, from: number, to: number): Pick<State, 'from' | 'to' | 'base'> {
  const length = Math.max(1, Math.min(at - from, to - at));

  return {
    base: { ...noSide, from: String(at - length), to: String(at - 1) },
    from: String(at),
    to: String(at + length),
  };
}

/** More jobs or programs than these are not listed in a query. */
const mostListed = 20;

/** The query with one of these values of a label, unless it has chosen some already. */
function withAnyOf(query: string, name: string, values: string[]): string {
  const names = matchedLabels(query);
  const [first = ''] = values;

  if (names.includes(name) || !values.every(Boolean) || !first || values.length > mostListed) return query;
  return withMatcher(
    query,
    values.length === 1 ? { name, op: '=', value: first } : { name, op: '=~', value: anyOf(values) },
  );
}

/** The query for a change: of the jobs or programs that it is about, and of the instances that restarted. */
export function changeQuery(query: string, c: Change): string {
  const { name, values } = changed(c);

  return withAnyOf(withAnyOf(query, name, values), 'instance', c.instances);
}

/** A text that is different for each change of an answer. */
export function changeKey(c: Change): string {
  return `${c.time} ${c.kind} ${c.name} ${c.jobs.join()} ${c.programs.join()} ${c.to.join()}`;
}

/** The change that is named beside the chart at first: the last new version or build, or else the last restart. */
export function firstTold(changes: Change[]): Change | undefined {
  return changes.findLast(c => c.kind !== 'restart') ?? changes[changes.length - 1];
}

/** What must have happened together to be one change: the same jobs or programs, within this time. */
const together = 60e3;

/** The changes that the page shows: without the builds that come with a new value of a label, which says the same. */
export function toldChanges(changes: Change[]): Change[] {
  const versions = changes.filter(c => c.kind === 'label');
  const isNamed = (c: Change): boolean =>
    versions.some(
      v =>
        Math.abs(v.time - c.time) <= together &&
        c.jobs.every(j => v.jobs.includes(j)) &&
        c.programs.every(p => v.programs.includes(p)),
    );

  return changes.filter(c => c.kind !== 'build_id' || !isNamed(c));
}

/** The most changes that are listed. */
const listed = 100;

function Marker({
  change: c,
  state,
  now,
  act,
  close,
  step,
}: Context & { change: Change; close?: () => void; step: (from: State, by: -1) => void }) {
  const query = changeQuery(state.query, c);
  const text = changeText(c);
  const show = (): void => {
    close?.();
    act({
      do: 'set',
      values: {
        page: 'compare',
        query,
        ...around(c.time, parseTime(state.from, now), parseTime(state.to, now)),
      },
    });
  };
  const before = (): void => {
    close?.();
    step({ ...state, query, time: String(c.time) }, -1);
  };

  return (
    <>
      <span class="marker-text" title={text + changeHint(c)}>
        <span class="dim">{formatClock(c.time, state.tz === 'utc')}</span> {text}
      </span>
      <span class="marker-actions">
        <button
          type="button"
          aria-label={`before/after ${text}`}
          title="Compare the profiles before with those after"
          onClick={show}
        >
          before/after
        </button>
        <button type="button" aria-label={`last before ${text}`} title="Open the last profile before" onClick={before}>
          last before
        </button>
      </span>
    </>
  );
}

/** One change, in one line; all of them are in a box: a machine may have many, and the picture below needs the room. */
export function Markers(
  props: Context & {
    changes: Change[];
    /** The change that is named beside the chart. */
    told: Change | undefined;
    /** Why changes may be missing. */
    warnings: string[];
    step: (from: State, by: -1) => void;
  },
) {
  const { changes, told, warnings } = props;
  const [open, setOpen] = useState(false);
  const missing = warnings.length > 0 && (
    <span class="dim" title={warnings.join('\n')}>
      some changes may be missing
    </span>
  );

  if (!told) return <span class="space">{missing}</span>;
  return (
    <div class="markers">
      <ul aria-label="Changes in this time range">
        <li>
          <Marker {...props} change={told} />
        </li>
      </ul>
      {changes.length > 1 && (
        <span class="anchor">
          <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
            all {changes.length} changes
          </button>
          {open && (
            <Popup label="All changes" class="right" close={() => setOpen(false)}>
              <ul class="marker-list">
                {changes
                  .slice(-listed)
                  .reverse()
                  .map(c => (
                    <li key={changeKey(c)}>
                      <Marker {...props} change={c} close={() => setOpen(false)} />
                    </li>
                  ))}
                {changes.length > listed && <li class="dim">{changes.length - listed} earlier ones</li>}
              </ul>
            </Popup>
          )}
        </span>
      )}
      {missing}
    </div>
  );
}
