// SPDX-License-Identifier: Apache-2.0
// The table of groups of a flame graph that is grouped by a label: the total of
// each group, which is a box next to the root.
import type { FlameAnswer, Line } from '../api/answer.ts';
import { withMatcher } from '../model/selector.ts';
import { kindOf, typeOf } from '../model/series.ts';
import { formatChange, formatScaled, formatShare } from '../model/unit.ts';
import type { Context } from '../state/context.ts';

export interface Group {
  /** Value of the label, "" if it is absent; undefined: groups that are too small to be listed. */
  value: string | undefined;
  total: number;
  /** In A, of a comparison. */
  before: number | undefined;
}

/** What the server calls the value of series that lack the label. */
const unknown = '<unknown>';

/** The groups of an answer, largest first. The file of their boxes is the name of the label. */
export function groupsOf(answer: FlameAnswer, label: string): Group[] {
  const out: Group[] = [];

  answer.parent.forEach((parent, i) => {
    if (parent !== 0) return;
    const isGroup = answer.strings[answer.file[i] as number] === label;
    const name = answer.strings[answer.name[i] as number];
    const value = name === unknown ? '' : name;
    out.push({
      value: isGroup ? value : undefined,
      total: answer.total_of[i] as number,
      before: answer.total_of_a?.[i],
    });
  });
  const size = (g: Group): number => Math.max(g.total, g.before ?? 0);
  return out.sort((a, b) => size(b) - size(a));
}

/**
 * The whole total of a group, of which filters leave a part; null if it is not known, or if totals of several profiles
 * do not add up.
 */
export function wholeOf(lines: Line[], sampleType: string, label: string, value: string | undefined): number | null {
  const line = lines.find(l => value !== undefined && (l.labels[label] ?? '') === value);

  return kindOf(lines, sampleType) === 'flow' ? (line?.totals[typeOf(lines, sampleType)]?.[0] ?? null) : null;
}

export function Groups(props: Context & { data: FlameAnswer }) {
  const { data, state, act } = props;
  const label = state.group_by;
  const groups = groupsOf(data, label);
  /* What a filter leaves of the total is all that the groups have. */
  const sum = groups.reduce((a, g) => a + g.total, 0);
  const compared = data.total_of_a !== undefined;
  const whole = props.loader.get<Line[]>('whole')?.answer?.data ?? [];
  const wholes = new Map(groups.map(g => [g, wholeOf(whole, state.sample_index || data.sample_type, label, g.value)]));
  const hasWholes = [...wholes.values()].some(Boolean);
  const own = (g: Group): string => {
    const all = wholes.get(g);
    return all ? formatShare(g.total, all) : '';
  };

  return (
    <div class="groups" tabIndex={0} role="region" aria-label={`By ${label}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">{label}</th>
            {compared && (
              <th scope="col" class="number">
                A
              </th>
            )}
            <th scope="col" class="number">
              {compared ? 'B' : 'Total'}
            </th>
            <th scope="col" class="number">
              {compared ? 'B−A' : 'Share'}
            </th>
            {hasWholes && (
              <th scope="col" class="number" title={`Of all that each ${label} has, without the filters`}>
                of its own
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {groups.map(g => (
            <tr key={g.value ?? ''}>
              <th scope="row">
                {g.value === undefined ? (
                  <span class="dim">others, too small</span>
                ) : (
                  <button
                    type="button"
                    title={`only ${label}="${g.value}"`}
                    onClick={() =>
                      act({
                        do: 'set',
                        values: {
                          query: withMatcher(state.query, { name: label, op: '=', value: g.value as string }),
                          group_by: '',
                          zoom: '',
                        },
                      })
                    }
                  >
                    {g.value || `(no ${label})`}
                  </button>
                )}
              </th>
              {compared && <td class="number">{formatScaled(g.before ?? 0, data)}</td>}
              <td class="number">{formatScaled(g.total, data)}</td>
              <td class="number">
                {compared ? formatChange(g.before ?? 0, g.total, data) : formatShare(g.total, sum)}
              </td>
              {hasWholes && <td class="number">{own(g)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
