// SPDX-License-Identifier: Apache-2.0
// What a comparison with error bars says, in words and numbers.
import type { CompareAnswer, ComparedRow, ComparedValue, FlameAnswer } from '../api/answer.ts';
import { withoutVersion } from './package.ts';
import { matcher } from './search.ts';
import { formatRate, formatShare, formatValue } from './unit.ts';

/** A value in the unit of what is compared; `beside` is the value on the other side. */
export function comparedText(
  value: number,
  { by, kind, unit }: Pick<CompareAnswer, 'by' | 'kind' | 'unit'>,
  beside = 0,
): string {
  const perSecond = by === 'rate' || (by === 'level' && kind === 'counter');

  if (by === 'share') return formatShare(value, 1);
  return perSecond ? formatRate(value, unit, beside) : formatValue(value, unit);
}

/** "+41 %", "−3.2 %", "new", "gone": a change in percent of the base. */
export function changeText({ a, b, delta }: ComparedValue): string {
  const percent = Math.abs((100 * delta) / a);

  if (!a) return b ? 'new' : '0';
  if (!b) return 'gone';
  return `${delta < 0 ? '−' : '+'}${percent < 10 ? percent.toPrecision(2) : percent.toFixed(0)} %`;
}

/** A part of the base in percent; "" if it is not known. */
export function partText(part: number | undefined, { a }: ComparedValue): string {
  const percent = (100 * (part ?? NaN)) / a;

  return Number.isFinite(percent) ? `${percent < 10 ? percent.toPrecision(2) : percent.toFixed(0)} %` : '';
}

/**
 * Where the bar of a change begins and ends, and where the measured change is: parts of the base, at most `most` away
 * from 0. null: nothing is known, or there is no base.
 */
export function barOf(
  { a, delta, interval, tested }: ComparedValue,
  most: number,
): { from: number; to: number; at: number } | null {
  const within = (v: number): number => Math.max(-most, Math.min(most, v / a));

  if (!tested || !a || interval === undefined) return null;
  return { from: within(delta - interval), to: within(delta + interval), at: within(delta) };
}

/** Ends of the axis of bars, as parts of the base. */
const axes = [0.05, 0.1, 0.2, 0.5, 1];

/** The shortest axis on which nine of ten bars have room. */
export function barAxis(rows: ComparedRow[], cum: boolean): number {
  const ends = rows
    .map(r => valueOf(r, cum))
    .filter(v => v.tested && v.a && v.interval !== undefined)
    .map(v => (Math.abs(v.delta) + (v.interval ?? 0)) / v.a)
    .sort((x, y) => x - y);
  const wanted = ends[Math.floor(0.9 * ends.length)] ?? 1;

  return axes.find(a => a >= wanted) ?? 1;
}

/** The row's value with or without callees. */
export function valueOf(row: ComparedRow, cum: boolean): ComparedValue {
  return cum ? row.cum : row.flat;
}

/** The functions that only one side has: those of A are gone, those of B new. */
function oneSided(data: FlameAnswer | CompareAnswer): { gone: string[]; fresh: string[] } {
  const list: { name: string; a: number; b: number }[] =
    'rows' in data
      ? data.rows.map(r => ({ name: r.name, a: r.cum.a, b: r.cum.b }))
      : data.name.map((n, i) => ({
          name: data.strings[n] as string,
          a: data.total_of_a?.[i] ?? 0,
          b: data.total_of[i] as number,
        }));

  return { gone: list.filter(f => !f.b).map(f => f.name), fresh: list.filter(f => !f.a).map(f => f.name) };
}

/** So many functions are the same but for the version of their module. */
export function renamedByVersion(data: FlameAnswer | CompareAnswer): number {
  const { gone, fresh } = oneSided(data);
  const added = new Set(fresh);
  const names = new Set([...added].map(withoutVersion));
  const renamed = new Set(gone.filter(name => !added.has(name) && names.has(withoutVersion(name))));

  return renamed.size;
}

/** Rows with a value that match: what is sure first, then what is tested, the largest change first. */
export function comparedRows(rows: ComparedRow[], find: string, cum: boolean): ComparedRow[] {
  const m = find ? matcher(find) : null;
  const rank = (v: ComparedValue): number => (v.sure ? 2 : v.tested ? 1 : 0);
  const weight = (v: ComparedValue): number => Math.abs(v.delta) / (v.sure || !v.interval ? 1 : v.interval);

  return rows
    .filter(r => (valueOf(r, cum).a || valueOf(r, cum).b) && (!m || m.test(r.name)))
    .sort((x, y) => rank(valueOf(y, cum)) - rank(valueOf(x, cum)) || weight(valueOf(y, cum)) - weight(valueOf(x, cum)));
}

/** Why nothing, or less than it seems, can be said; "" if there is no reason. */
export function doubtText(
  data: Partial<Pick<CompareAnswer, 'few_buckets' | 'drift' | 'bursty' | 'few_instances'>>,
): string {
  if (data.few_buckets) return 'These ranges are too short to tell a change from noise: take longer ones.';
  if (data.drift)
    return 'These values are a state, such as memory in use, which drifts even if no program changes: a difference says nothing about the program.';
  if (data.bursty) return 'Take longer time ranges: the load changes so slowly that these do not average it out.';
  if (data.few_instances) return 'Few series are on a side: the machines may differ, not the programs.';
  return '';
}

/** "Total 0.142 cores → 0.161 cores, +13 % ± 6.8 %: noise": what changed altogether; "" by share, of which there is no total. */
export function totalText(data: CompareAnswer): string {
  const v = data.total;
  const interval = v && partText(v.interval, v);

  if (!v) return '';
  return `Total ${comparedText(v.a, data, v.b)} → ${comparedText(v.b, data, v.a)}, ${changeText(v)}${interval && ` ± ${interval}`}${!v.tested || data.few_buckets ? '' : v.sure ? ': more than noise.' : ': noise.'}`;
}

/** "3 functions changed by more than noise: 1 by its own values, 3 with callees." */
export function verdictText(data: CompareAnswer): string {
  const count = (is: (r: ComparedRow) => boolean | undefined): number => data.rows.filter(is).length;
  const sure = count(r => r.flat.sure || r.cum.sure);

  if (data.few_buckets) return '';
  if (!sure) return 'No function changed by more than noise.';
  return `${sure} ${sure === 1 ? 'function' : 'functions'} changed by more than noise: ${count(r => r.flat.sure)} by own values, ${count(r => r.cum.sure)} with callees.`;
}
