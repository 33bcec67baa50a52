// SPDX-License-Identifier: Apache-2.0
// A range without profiles: what was looked at, and where profiles are.
import { useEffect, useState } from 'preact/hooks';
import type { Line } from '../api/answer.ts';
import { profilesBetween } from '../api/client.ts';
import { formatTime, parseTime, withShownTimes } from '../model/time.ts';
import type { Context } from '../state/context.ts';
import { sideA, sideB } from '../state/reducer.ts';

const hour = 3600e3;

/** The part of a range that is left free beside its first or last profile. */
const edge = 0.02;

/** How far profiles are looked for, before and after the range. */
const windows = [hour, 6 * hour, 24 * hour, 7 * 24 * hour, 30 * 24 * hour, 365 * 24 * hour];

/** The time of the last profile of a selector before a range, or of the first one after it; NaN: none is near. */
async function nearest(query: string, from: number, to: number, now: number, signal: AbortSignal): Promise<number> {
  const times = async (a: number, b: number): Promise<number[]> => {
    if (b < a) return [];
    return (await profilesBetween(query, a, b, signal)).flatMap(l => l.timestamps);
  };

  for (const w of windows) {
    const before = await times(from - w, from);
    if (before.length) return before.reduce((a, b) => Math.max(a, b));
    const after = await times(to, Math.min(to + w, now));
    if (after.length) return after.reduce((a, b) => Math.min(a, b));
  }
  return NaN;
}

/** "14 min", "3 d". */
function distance(ms: number): string {
  const units: [number, string][] = [
    [24 * hour, 'd'],
    [hour, 'h'],
    [60e3, 'min'],
    [1000, 's'],
  ];
  const [size, name] = units.find(([u]) => ms >= 2 * u) ?? [1000, 's'];

  return `${Math.round(ms / size)} ${name}`;
}

/** Nothing is in this range, of a comparison in that of one side: where the nearest profiles are. */
export function Nothing({ state, now, act, loader, message }: Context & { message: string }) {
  const [found, setFound] = useState<number | null>(null);
  const ofA = state.page === 'compare' && loader.get<Line[]>('lines_a')?.answer?.data.length === 0;
  const side = ofA ? sideA(state, now) : sideB(state);
  const from = parseTime(side.from, now);
  const to = parseTime(side.to, now);
  const utc = state.tz === 'utc';

  useEffect(() => {
    const abort = new AbortController();
    setFound(null);
    nearest(side.query, from, to, now, abort.signal)
      .then(setFound)
      .catch(() => !abort.signal.aborted && setFound(from)); // A help, not the answer.
    return () => abort.abort();
  }, [side.query, from, to]);
  const go = (ms: number) => (): void => {
    // What is found ends the range if it is earlier, and else begins it: most of what is near is on that side.
    const length = to - from;
    const margin = Math.round(length * edge);
    const begin = ms < from ? ms + margin - length : ms - margin;
    const range = { from: String(begin), to: String(begin + length) };
    act({ do: ofA ? 'range_of_base' : 'range', ...range });
  };
  const inRange = found !== null && found >= from && found <= to;
  return (
    <div class="empty" role="status" data-state={found === null ? 'loading' : 'ready'}>
      <p>{withShownTimes(message, utc)}</p>
      {found !== null && !inRange && !Number.isNaN(found) && (
        <p>
          The nearest profile is {distance(found < from ? from - found : found - to)}{' '}
          {found < from ? 'earlier' : 'later'}, at {formatTime(found, utc)}.{' '}
          <button type="button" onClick={go(found)}>
            Go there
          </button>
        </p>
      )}
      {Number.isNaN(found) && (
        <p>
          No profiles match this selector within a year. The page <a href="targets">Targets</a> shows what is scraped.
        </p>
      )}
    </div>
  );
}
