// SPDX-License-Identifier: Apache-2.0
// Values with their units, as pprof prints them (internal/measurement of
// github.com/google/pprof: Scale and Label), so that a number on the page is
// the number that `go tool pprof` prints.

interface Unit {
  name: string;
  aliases: string[];
  factor: number;
}

interface Kind {
  fallback: string;
  units: Unit[];
}

const bytes: Kind = {
  fallback: 'B',
  units: [
    { name: 'B', aliases: ['b', 'byte'], factor: 1 },
    { name: 'kB', aliases: ['kb', 'kbyte', 'kilobyte'], factor: 2 ** 10 },
    { name: 'MB', aliases: ['mb', 'mbyte', 'megabyte'], factor: 2 ** 20 },
    { name: 'GB', aliases: ['gb', 'gbyte', 'gigabyte'], factor: 2 ** 30 },
    { name: 'TB', aliases: ['tb', 'tbyte', 'terabyte'], factor: 2 ** 40 },
    { name: 'PB', aliases: ['pb', 'pbyte', 'petabyte'], factor: 2 ** 50 },
  ],
};

const times: Kind = {
  fallback: 's',
  units: [
    { name: 'ns', aliases: ['ns', 'nanosecond'], factor: 1 },
    { name: 'us', aliases: ['μs', 'us', 'microsecond'], factor: 1e3 },
    { name: 'ms', aliases: ['ms', 'millisecond'], factor: 1e6 },
    { name: 's', aliases: ['s', 'sec', 'second'], factor: 1e9 },
    { name: 'hrs', aliases: ['hour', 'hr'], factor: 3600e9 },
  ],
};

const kinds = [bytes, times];

function find(kind: Kind, unit: string): Unit | undefined {
  const plain = unit.toLowerCase();
  const single = plain.length > 2 ? plain.replace(/s$/, '') : plain;

  return kind.units.find(u => u.aliases.includes(single) || u.aliases.includes(plain));
}

/** Two decimals as "%.2f" prints them, without a ".00" at the end. */
function digits(value: number): string {
  return value.toFixed(2).replace(/\.00$/, '');
}

/** "12.40s", "6.62MB", "1204": a value of this unit, in the unit that suits it. */
export function formatValue(value: number, unit: string): string {
  const kind = kinds.find(k => find(k, unit));
  const from = kind && find(kind, unit);

  if (value === 0) return '0';
  if (value < 0) return `-${formatValue(-value, unit)}`;
  if (!kind || !from) return digits(value);
  const base = value * from.factor;
  const target = kind.units.findLast(u => base >= u.factor);
  const fallback = kind.units.find(u => u.name === kind.fallback) as Unit;
  const text = digits(base / (target ?? fallback).factor);
  return text === '0' ? '0' : text + (target ?? fallback).name;
}

/** The unit of the values of an answer. */
export interface Scale {
  unit: string;
  /** Divided by this time, the values are those of one series in a second. */
  seconds?: number;
}

/** "0.125 cores", "2.5 mcores" (thousandths), "6.62MB/s": a value in a second. Two of them beside each other have one unit. */
export function formatRate(value: number, unit: string, beside = 0): string {
  const cores = value / 1e9;
  const largest = Math.max(Math.abs(value), Math.abs(beside)) / 1e9;

  if (unit === 'nanoseconds')
    return cores && largest < 0.01
      ? `${Number((1000 * cores).toPrecision(3))} mcores`
      : `${Number(cores.toPrecision(3))} cores`;
  return formatValue(value, unit) + (value ? '/s' : '');
}

/** ", profiled for 200s of 300s": scraped profiles are of a part of the range, and so are their sums. Seconds; 0: not known. */
export function coveredText(covered: number, range: number): string {
  const text = (seconds: number): string => formatValue(seconds, 'seconds');

  return covered && covered < 0.95 * range ? `, profiled for ${text(covered)} of ${text(range)}` : '';
}

/** A value of an answer: a rate, if the answer has the time for that. `beside` is the value that it is compared with. */
export function formatScaled(value: number, { unit, seconds }: Scale, beside = 0): string {
  return seconds ? formatRate(value / seconds, unit, beside / seconds) : formatValue(value, unit);
}

/** "12.34%", "0.21%", "100%": as pprof's Percentage. */
export function formatShare(value: number, total: number): string {
  const share = total ? Math.abs(value / total) * 100 : 0;

  if (share >= 99.95 && share <= 100.05) return '100%';
  if (share >= 1) return `${share.toFixed(2)}%`;
  if (share === 0) return '0%';
  // As C's %.2g: without zeros at the end, with an exponent when it is tiny.
  if (share < 1e-4)
    return `${share
      .toExponential(1)
      .replace(/\.0e/, 'e')
      .replace(/e-(\d)$/, 'e-0$1')}%`;
  return `${Number(share.toPrecision(2))}%`;
}

/** A short text for axes: at most three digits and the unit. */
export function formatAxis(value: number, unit: string): string {
  if (unit === 'count') return String(Number(value.toPrecision(3)));
  const text = formatValue(value, unit);
  const m = /^(-?[\d.]+)(.*)$/.exec(text);

  return m ? `${Number(Number(m[1]).toPrecision(3))}${m[2] ? ` ${m[2]}` : ''}` : text;
}

/** "+1.20s +12 %", "−3MB −100 %", "+4 new": the difference of two values. */
export function formatChange(a: number, b: number, scale: Scale): string {
  const value = b < a ? `−${formatScaled(a - b, scale)}` : `+${formatScaled(b - a, scale)}`;

  // Shares are scaled, and then differ in the last digits.
  if (Math.abs(b - a) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b))) return '0';
  if (!a) return `${value} new`;
  const percent = ((b - a) / Math.abs(a)) * 100;
  return `${value} ${percent < 0 ? '−' : '+'}${Math.abs(percent) < 10 ? Math.abs(percent).toPrecision(2) : Math.abs(percent).toFixed(0)} %`;
}
