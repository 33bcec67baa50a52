// SPDX-License-Identifier: Apache-2.0
// Single profiles: their times and totals, and what tells their series apart.
import type { Line } from '../api/answer.ts';
import { formatSelector, type Matcher, parseSelector } from './selector.ts';
import { titleOf } from './series.ts';

export interface Point {
  ms: number;
  value: number;
  /** Number of its series in the answer. */
  series: number;
}

/** The profiles of all series, in the order of time. */
export function pointsOf(lines: Line[], type: string): Point[] {
  const out: Point[] = [];

  lines.forEach((l, series) => {
    l.timestamps.forEach((ms, i) => out.push({ ms, series, value: l.totals?.[type]?.[i] ?? 0 }));
  });
  return out.sort((a, b) => a.ms - b.ms || a.series - b.series);
}

/** The selector of one series among those that it matches: its labels that differ. */
export function narrow(query: string, lines: { labels: Record<string, string> }[], series: number): string {
  const s = parseSelector(query);
  const own = lines[series]?.labels ?? {};

  if (!s || lines.length < 2) return query;
  const names = [...new Set(lines.flatMap(l => Object.keys(l.labels)))].sort();
  const added = names
    .filter(n => n !== '__name__' && lines.some(l => (l.labels[n] ?? '') !== (own[n] ?? '')))
    .map((name): Matcher => ({ name, op: '=', value: own[name] ?? '' }));
  const others = s.matchers.filter(m => !added.some(x => x.name === m.name));
  return formatSelector({ type: s.type, matchers: [...others, ...added] });
}

/** The profile before or after a time; undefined: there is none. */
export function neighbour(points: Point[], ms: number, step: -1 | 1): Point | undefined {
  return step < 0 ? points.findLast(p => p.ms < ms) : points.find(p => p.ms > ms);
}

/** The groups of series by a label's values, the heaviest first. */
export function pointGroups(lines: Line[], by: string, type: string): string[] {
  const weights = new Map<string, number>();

  for (const l of lines) {
    const title = pointGroup(l, by);
    const weight = (l.totals?.[type] ?? []).reduce((sum: number, v) => sum + (v ?? 0), 0);
    weights.set(title, (weights.get(title) ?? 0) + weight);
  }
  return [...weights].sort((a, b) => b[1] - a[1]).map(([title]) => title);
}

/** The group of a series. */
export function pointGroup(l: Line, by: string): string {
  const names = by ? by.split(',') : Object.keys(l.labels).filter(n => n !== '__name__');

  return titleOf(Object.fromEntries(names.map(n => [n, l.labels[n] ?? ''])));
}
