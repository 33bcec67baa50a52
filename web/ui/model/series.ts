// SPDX-License-Identifier: Apache-2.0
// Lines of the chart: the heaviest groups, and the rest added up.
import type { HistoryAnswer, Line } from '../api/answer.ts';

export const maxLines = 20;

export type Kind = 'flow' | 'counter' | 'state';

export interface ChartLine {
  title: string;
  labels: Record<string, string> | null;
  values: (number | null)[];
  /** Of rates: the share of each step that is known. */
  covered?: number[] | undefined;
}

export interface ChartData {
  /** Seconds since the epoch, as uPlot wants them. */
  times: number[];
  lines: ChartLine[];
  /** "cpu/nanoseconds": the sample type that is shown. */
  type: string;
  kind: Kind;
}

function sum(values: (number | null)[]): number {
  return values.reduce<number>((a, v) => a + Math.abs(v ?? 0), 0);
}

/** The labels that tell lines apart: those that not all have with one value. */
function differing(lines: Line[]): string[] {
  const names = [...new Set(lines.flatMap(l => Object.keys(l.labels)))];

  return names.filter(n => new Set(lines.map(l => l.labels[n] ?? '')).size > 1);
}

/** The title of a group: its label values, of many labels only the named ones. */
export function titleOf(labels: Record<string, string>, names = Object.keys(labels)): string {
  const all = Object.entries(labels);
  const entries = all.length > 1 ? all.filter(([k]) => names.includes(k)) : all;

  return entries.length === 1
    ? (entries[0] as [string, string])[1]
    : entries.map(([k, v]) => `${k}=${v}`).join(' ') || 'all';
}

/** The sample type of this name, as "cpu/nanoseconds"; without one of this name, the last of all. */
export function typeOf(lines: Line[], sampleType: string): string {
  const types = [...new Set(lines.flatMap(l => Object.keys(l.totals)))];

  return types.find(t => t.split('/')[0] === sampleType) ?? types.at(-1) ?? '';
}

/** The unit of a sample type: of "cpu/nanoseconds", "nanoseconds". */
export function unitOf(type: string): string {
  return type.split('/')[1] ?? '';
}

/** How values of a sample type add up. */
export function kindOf(lines: Line[], sampleType: string): Kind {
  const type = typeOf(lines, sampleType);

  return lines.find(l => l.kinds?.[type])?.kinds?.[type] ?? 'flow';
}

/** The heaviest lines of one sample type, and the rest as one more. */
export function chartData(lines: Line[], sampleType: string, most = maxLines): ChartData {
  const type = typeOf(lines, sampleType);
  const names = differing(lines);
  const title = (labels: Record<string, string>): string =>
    lines.length > 1 && !Object.keys(labels).length
      ? 'without the label'
      : titleOf(labels, names.length ? names : undefined);
  const shown = lines
    .filter(l => l.totals[type])
    .map(
      (l): ChartLine => ({
        title: title(l.labels),
        labels: l.labels,
        values: l.totals[type] as (number | null)[],
        covered: l.covered?.[type],
      }),
    )
    .sort((a, b) => sum(b.values) - sum(a.values));
  const rest = shown.splice(most);

  if (rest.length) {
    const add = (a: number | null, v: number | null): number | null => (v === null ? a : (a ?? 0) + v);
    const values = (rest[0] as ChartLine).values.map((_, i) =>
      rest.reduce<number | null>((a, l) => add(a, l.values[i] ?? null), null),
    );
    shown.push({ title: `${rest.length} more`, labels: null, values });
  }
  return {
    times: (lines[0]?.timestamps ?? []).map(t => t / 1000),
    lines: shown,
    type,
    kind: kindOf(lines, sampleType),
  };
}

/** Steps of which less is known are shown as less sure. */
const leastCovered = 0.9;

/** Whether a part of a step of a line is not known. */
export function isUnsure({ values, covered }: ChartLine, step: number): boolean {
  return values[step] !== null && (covered?.[step] ?? 1) < leastCovered;
}

/** The mean of what is known of a line: a step of which a part is known counts by this part. */
export function meanOf({ values, covered }: Pick<ChartLine, 'values' | 'covered'>): number | null {
  let sum = 0;
  let weight = 0;

  values.forEach((v, step) => {
    const part = covered?.[step] ?? 1;

    if (v === null) return;
    sum += v * part;
    weight += part;
  });
  return weight ? sum / weight : null;
}

/** The runs of steps [first, last] of a line of which a part is not known. */
export function unsureSteps(line: ChartLine): [number, number][] {
  const out: [number, number][] = [];

  line.values.forEach((_, i) => {
    const run = out.at(-1);
    if (!isUnsure(line, i)) return;
    if (run && run[1] === i - 1) run[1] = i;
    else out.push([i, i]);
  });
  return out;
}

/** Whether the numbers of profiles of two sides are too different to compare what adds up with each profile. */
export function isUneven(a: number, b: number): boolean {
  return a > 0 && b > 0 && Math.abs(a - b) > 0.1 * Math.max(a, b);
}

/** Two halves with equally many of these times: when the first and the second begin; null: there are not two times. */
export function halvesOf(times: number[]): [number, number] | null {
  const sorted = [...times].sort((a, b) => a - b);
  const first = sorted[0];
  const middle = sorted[Math.floor(sorted.length / 2)];

  if (first === undefined || middle === undefined || first === middle) return null;
  return [first, middle];
}

/** Values per second, if they count for a time; a step whose time is not known has none. */
function perSecond(values: (number | null)[], seconds: (number | null)[]): (number | null)[] {
  return values.map((v, i) => (v === null || !seconds[i] ? null : v / seconds[i]));
}

/** The history as lines of the chart: of one function both values, of several their own. CPU time is a number of cores. */
export function historyLines(data: HistoryAnswer): Line[] {
  const type = `${data.sample_type}/${data.unit}`;
  const one = data.functions.length === 1;
  const isRate = data.functions.some(f => f.seconds.some(s => s !== null));

  return data.functions.flatMap(f =>
    (one ? (['cum', 'flat'] as const) : (['flat'] as const)).map(
      (key): Line => ({
        labels: { value: one ? `${f.name} ${key === 'cum' ? 'with callees' : 'self'}` : f.name },
        timestamps: data.timestamps,
        totals: { [type]: isRate ? perSecond(f[key], f.seconds) : f[key] },
        kinds: { [type]: isRate ? 'flow' : 'state' },
      }),
    ),
  );
}

/** How series of a type are grouped: those of whole machines by program, unless something else was chosen. */
export function groupedBy(type: string, by: string): string {
  const ofMachine = type.startsWith('process_');

  return ofMachine && by === 'job' ? 'exe' : !ofMachine && by === 'exe' ? 'job' : by;
}
