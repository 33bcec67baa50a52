// SPDX-License-Identifier: Apache-2.0
// How the lines of charts look: a colour and, if there are more lines than
// colours, dashes. A line looks the same in all charts for as long as the page is
// open, whatever other lines are beside it.
import { fnv } from './package.ts';

/** Number of colours: the tokens --line0 to --line7. */
export const colorCount = 8;

/** Lengths of dashes and gaps, in pixels: the first lines are solid. */
export const dashes: readonly number[][] = [[], [8, 4], [2, 3]];

/** Titles that are remembered, at most. */
const knownMax = 10000;

/** The look of each title, in the order in which they were first seen. */
const known = new Map<string, { style: number; age: number }>();

/** Forget all looks: for tests. */
export function forgetStyles(): void {
  known.clear();
}

/** The first free look: of the title's own colour if possible, and solid if possible. */
function freeStyle(title: string, used: Set<number>, kinds: number): number {
  const home = fnv(title) % colorCount;

  for (let kind = 0; kind < kinds; kind++) {
    for (let i = 0; i < colorCount; i++) {
      const style = kind * colorCount + ((home + i) % colorCount);
      if (!used.has(style)) return style;
    }
  }
  return home;
}

/**
 * The look of each line: the number of its colour, plus colorCount for each kind of
 * dashes. `kinds` is 1 for what cannot be dashed, such as points.
 */
export function lineStyles(titles: string[], kinds = dashes.length): number[] {
  const used = new Set<number>();
  const out = new Map<string, number>();

  if (known.size > knownMax) known.clear();
  // If two titles had the same look in different charts, the older one keeps it.
  const ageOf = (title: string): number => known.get(title)?.age ?? Infinity;
  const sorted = [...titles].sort().sort((a, b) => ageOf(a) - ageOf(b) || 0);
  for (const title of sorted) {
    const style = known.get(title)?.style;
    const look = style === undefined || kinds > 1 ? style : style % colorCount;
    if (look === undefined || used.has(look)) continue;
    used.add(look);
    out.set(title, look);
  }
  for (const title of sorted) {
    if (out.has(title)) continue;
    const style = freeStyle(title, used, kinds);
    used.add(style);
    out.set(title, style);
    if (!known.has(title)) known.set(title, { style, age: known.size });
  }
  return titles.map(t => out.get(t) ?? 0);
}
