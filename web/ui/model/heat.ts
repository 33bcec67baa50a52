// SPDX-License-Identifier: Apache-2.0
// Heat maps: rows of steps, each cell with a value. Of series by their totals,
// or of totals by the number of profiles.
import type { Buckets, Line } from '../api/answer.ts';
import { chartData, type Kind, typeOf, unitOf } from './series.ts';
import { formatValue } from './unit.ts';

/** Largest number of rows of series; the rest is added up. */
const maxRows = 60;

export interface HeatRow {
  title: string;
  /** Of a group of series: its labels. */
  labels: Record<string, string> | null;
  /** Of profiles by total: the bounds, both included; empty: no bound. */
  min: string;
  max: string;
  values: (number | null)[];
}

export interface Heat {
  /** Milliseconds at which the steps begin, and their length. */
  times: number[];
  step: number;
  rows: HeatRow[];
  /** The largest value of all. */
  most: number;
  type: string;
  kind: Kind;
}

function finish(heat: Omit<Heat, 'most'>): Heat {
  return {
    ...heat,
    most: heat.rows.reduce((m, r) => r.values.reduce<number>((a, v) => Math.max(a, Math.abs(v ?? 0)), m), 0),
  };
}

/** A row for each group of series, the heaviest first. */
export function seriesHeat(lines: Line[], sampleType: string, step: number): Heat {
  const data = chartData(lines, sampleType, maxRows);

  return finish({
    times: data.times.map(t => t * 1000),
    step,
    rows: data.lines.map(l => ({ title: l.title, labels: l.labels, min: '', max: '', values: l.values })),
    type: data.type,
    kind: data.kind,
  });
}

/** A row for each range of totals, the largest totals first; null: profiles have no totals of their own. */
export function totalsHeat(line: Line, sampleType: string, step: number): Heat | null {
  const type = typeOf([line], sampleType);
  const buckets: Buckets | undefined = line.buckets?.[type];
  const unit = unitOf(type);

  if (!buckets) return null;
  const last = buckets.bounds.length - 2;
  const rows = buckets.bounds.slice(0, -1).map(
    (low, i): HeatRow => ({
      title: formatValue(low, unit),
      labels: null,
      min: i === 0 ? '' : String(low),
      // The buckets are apart by whole numbers: the last value of one is just below the next.
      max: i === last ? '' : String((buckets.bounds[i + 1] as number) - 1),
      values: buckets.counts.map(c => c[i] || null),
    }),
  );
  return finish({ times: line.timestamps, step, rows: rows.reverse(), type, kind: 'state' });
}

/** The level of a value: 0 is nothing, `levels` the most. Small values are seen, too. */
export function levelOf(value: number | null, most: number, levels: number): number {
  if (!value || !most) return 0;
  return Math.max(1, Math.min(levels, Math.ceil(Math.sqrt(Math.abs(value) / most) * levels)));
}

/** The times of steps, both included: the last one ends before the next begins. */
export function stepRange(heat: Heat, from: number, to: number): { from: string; to: string } {
  return { from: String(heat.times[from]), to: String((heat.times[to] as number) + heat.step - 1) };
}

/** The least value that has a level. */
export function levelStart(level: number, most: number, levels: number): number {
  return most * ((level - 1) / levels) ** 2;
}

/** How many columns lie between the first step and a time, of which the last one may be a part. */
export function columnsUntil(heat: Heat, to: number): number {
  const first = heat.times[0] as number;

  return Math.min(heat.times.length, Math.max(1, (to - first) / heat.step));
}
