// SPDX-License-Identifier: Apache-2.0
// Times as the API takes them, and as people read them.

const units: Record<string, number> = { ms: 1, s: 1000, m: 60e3, h: 3600e3, d: 86400e3, w: 604800e3 };

/** Milliseconds of "90s" or "1h30m"; NaN for other texts. */
export function parseDuration(text: string): number {
  let rest = text;
  let sum = 0;

  while (rest) {
    const m = /^(\d+)(ms|[smhdw])/.exec(rest);
    if (!m) return NaN;
    sum += Number(m[1]) * (units[m[2] as string] as number);
    rest = rest.slice(m[0].length);
  }
  return text ? sum : NaN;
}

/** Largest distance from the epoch that a Date can have, in milliseconds. */
const farthest = 8.64e15;

/** Milliseconds of a date or a clock time of today in UTC, or of RFC 3339. */
function parseDate(text: string, now: number): number {
  const clock = /^\d\d:\d\d(:\d\d)?$/.test(text);
  const m = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?(Z|[+-]\d\d:\d\d)?$/.exec(
    clock ? `${new Date(now).toISOString().slice(0, 10)}T${text}` : text,
  );

  return m ? Date.parse(`${m[1]}T${m[2] ?? '00:00'}${m[3] ?? 'Z'}`) : NaN;
}

/** Milliseconds since the epoch of a time in one of the forms that the API takes; NaN for other texts. */
export function parseTime(text: string, now: number): number {
  const m = /^(?:now)?(?:([+-])(.*[a-z]))?$/.exec(text);
  const ms = /^-?\d+$/.test(text)
    ? Number(text)
    : m && text
      ? now + (m[2] ? (m[1] === '-' ? -1 : 1) * parseDuration(m[2]) : 0)
      : parseDate(text, now);

  return Math.abs(ms) <= farthest ? ms : NaN;
}

/** Whether a time moves with the clock. */
export function isRelative(text: string): boolean {
  return parseTime(text, 0) !== parseTime(text, 1);
}

const pad = (n: number, width = 2): string => String(n).padStart(width, '0');

/** "2026-11-23 09:41:05", in UTC or in the browser's time zone. */
export function formatTime(ms: number, utc: boolean): string {
  const d = new Date(utc ? ms : ms - new Date(ms).getTimezoneOffset() * 60e3);

  return `${d.getUTCFullYear()}-${pad(d.getUTCMonth() + 1)}-${pad(d.getUTCDate())} ${formatClock(ms, utc)}`;
}

/**
 * A text of the server, whose times are in UTC, with times as the page shows
 * them. What is in quotes, such as the value of a label, is not a time.
 */
export function withShownTimes(text: string, utc: boolean): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, found => {
    const ms = found.startsWith('"') ? NaN : Date.parse(found);

    return Number.isNaN(ms) ? found : formatTime(ms, utc);
  });
}

/** "09:41:05". */
export function formatClock(ms: number, utc: boolean): string {
  const d = new Date(utc ? ms : ms - new Date(ms).getTimezoneOffset() * 60e3);

  return `${pad(d.getUTCHours())}:${pad(d.getUTCMinutes())}:${pad(d.getUTCSeconds())}`;
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

/** A step in seconds that divides a range into at most `max` steps. */
export function stepFor(spanMs: number, max: number): number {
  const least = spanMs / 1000 / max;

  return steps.find(s => s >= least) ?? Math.ceil(least / 86400) * 86400;
}

/** Whole times between two, at most about `most` of them, for an axis. */
export function timeTicks(from: number, to: number, most: number, utc: boolean): number[] {
  const step = stepFor(to - from, most) * 1000;
  const offset = utc ? 0 : new Date(from).getTimezoneOffset() * 60e3;
  const first = Math.ceil((from - offset) / step) * step + offset;

  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, i) => first + i * step);
}
