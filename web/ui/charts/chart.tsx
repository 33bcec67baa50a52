// SPDX-License-Identifier: Apache-2.0
// Totals over time: a line for each group of series. A drag chooses the range.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { Line } from '../api/answer.ts';
import { token } from '../draw/theme.ts';
import { withLabels } from '../model/selector.ts';
import { chartData, type Kind, unitOf } from '../model/series.ts';
import { colorCount, dashes, lineStyles } from '../model/linestyle.ts';
import { formatTime, parseTime } from '../model/time.ts';
import { formatAxis } from '../model/unit.ts';
import type { Context } from '../pages/app.tsx';
import type { State } from '../state/state.ts';
import { shownType } from '../parts/hooks.ts';

const height = 150;

/** The colours of lines, from the style sheet's tokens. */
export function lineColors(): string[] {
  return Array.from({ length: colorCount }, (_, i) => token(`--line${i}`) || '#888888');
}

/**
 * How many steps a line may bridge. Of a rate, what is missing is not known: the server has filled the gaps between
 * profiles. States may come at intervals that are longer than it fills, and so does what is not asked for as a rate.
 */
function bridgedSteps(lines: Line[], kind: Kind): number {
  return kind !== 'state' && lines.some((l) => l.covered) ? 1 : 4;
}

/** The gaps of a line that are wider than the steps that it may bridge, in pixels. */
function wideGaps(u: uPlot, bridged: number, [from, to]: [number, number], gaps: [number, number][]): [number, number][] {
  const step = u.bbox.width / Math.max(1, to - from);

  return gaps.filter(([a, b]) => b - a > bridged * step);
}

/** The points that no line reaches, which would not be seen otherwise. */
function lonePoints(values: (number | null)[], bridged: number): number[] {
  const known = values.flatMap((v, i) => (v === null ? [] : [i]));

  return known.filter((i, k) => i - (known[k - 1] ?? -Infinity) > bridged && (known[k + 1] ?? Infinity) - i > bridged);
}

/** A rate of a time per second is a number: of cores, if it is CPU time. */
export function axisText(value: number, data: { type: string; kind: Kind }): string {
  const [name, unit = ''] = data.type.split('/');

  if (data.kind === 'state') return formatAxis(value, unit);
  if (unit === 'nanoseconds') return `${formatAxis(value / 1e9, 'count')}${name === 'cpu' ? ' cores' : ' s/s'}`;
  return `${formatAxis(value, unit)}/s`;
}

/** Texts of the time axis: the clock, with the date at the first line and where it changes. */
function timeTexts(seconds: number[], step: number, utc: boolean): string[] {
  let day = '';

  return seconds.map((t) => {
    const [date = '', clock = ''] = formatTime(t * 1000, utc).split(' ');
    const first = date === day ? '' : `\n${date.slice(5)}`;
    day = date;
    return (step >= 86400 ? date.slice(5) : clock.slice(0, step < 60 ? 8 : 5)) + (step >= 86400 ? '' : first);
  });
}

/** Distances of grid lines for bytes, so that the texts are whole numbers. */
const powers = Array.from({ length: 60 }, (_, i) => 2 ** i);

/** What all charts have in common. A drag calls `drag` with the ends of a range. */
export function plotOptions(
  state: State, [from, to]: [number, number], unit: string, text: (value: number) => string, drag: (from: number, to: number) => void, most = 0,
): Omit<uPlot.Options, 'width' | 'series'> {
  const stroke = token('--dim');
  const grid = { stroke: token('--line'), width: 1 };

  return {
    height,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false } },
    ...(state.tz === 'utc' ? { tzDate: (ts: number) => uPlot.tzDate(new Date(ts * 1000), 'Etc/UTC') } : {}),
    scales: { y: { range: (_, low, high) => [Math.min(0, low), most || high * 1.05 || 1] }, x: { time: true, range: [from / 1000, Math.max(to, from + 1000) / 1000] } },
    axes: [
      { stroke, grid, ticks: grid, space: 70, values: (_, splits, __, ___, step) => timeTexts(splits, step, state.tz === 'utc') },
      { stroke, grid, ticks: grid, size: 96, space: 24, values: (_, values) => values.map(text), ...(unit === 'bytes' ? { incrs: powers } : {}) },
    ],
    hooks: {
      setSelect: [
        (u) => {
          if (u.select.width < 3) return;
          const from = Math.round(u.posToVal(u.select.left, 'x') * 1000);
          const to = Math.round(u.posToVal(u.select.left + u.select.width, 'x') * 1000);
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          drag(from, to);
        },
      ],
    },
  };
}

/** A plot in an element. It is created again when its inputs or the theme change. */
export function usePlot(place: { current: HTMLDivElement | null }, make: () => [Omit<uPlot.Options, 'width'>, uPlot.AlignedData], inputs: unknown[]): void {
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let plot: uPlot | null = null;
    const remake = (): void => {
      const [options, data] = make();
      plot?.destroy();
      plot = new uPlot({ ...options, width: element.clientWidth }, data, element);
    };
    remake();
    const observer = new ResizeObserver(() => {
      if (plot && plot.width !== element.clientWidth) plot.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    addEventListener('themechange', remake);
    return () => {
      observer.disconnect();
      removeEventListener('themechange', remake);
      plot?.destroy();
    };
  }, inputs);
}

/** Draw a dashed line at each time. */
function drawMarks(u: uPlot, times: number[]): void {
  u.ctx.save();
  u.ctx.strokeStyle = token('--mark');
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const ms of times) {
    const x = Math.round(u.valToPos(ms / 1000, 'x', true));
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
  }
  u.ctx.restore();
}

/** Shade the part of a wider chart from which the profiles below come. */
function drawChosen(u: uPlot, range: [number, number]): void {
  const [left, right] = range.map((ms) => u.valToPos(ms / 1000, 'x', true)) as [number, number];

  u.ctx.save();
  u.ctx.globalAlpha = 0.15;
  u.ctx.fillStyle = token('--mark');
  u.ctx.fillRect(left, u.bbox.top, right - left, u.bbox.height);
  u.ctx.restore();
}

/**
 * The names of lines with their colours, and their values at the pointer, for which there is room all the time, so that
 * nothing moves below. A click chooses the line, where that is possible.
 */
export function Legend({ titles, styles, choose, values }: { titles: string[]; styles: number[]; choose?: (i: number) => (() => void) | null; values?: string[] }) {

  return (
    <ul class="legend">
      {titles.map((title, i) => {
        const onClick = choose?.(i);
        return (
          <li key={title}>
            <span class={`swatch line${(styles[i] ?? 0) % colorCount} dash${Math.floor((styles[i] ?? 0) / colorCount)}`} aria-hidden="true" />
            {onClick ? <button type="button" class="plain" onClick={onClick} title={`Only ${title}`}>{title}</button> : title}
            {values && <span class="legend-value">{values[i]}</span>}
          </li>
        );
      })}
    </ul>
  );
}

export function Chart(props: Context & {
  lines: Line[];
  times: [number, number];
  range?: 'range' | 'range_a';
  marks?: number[];
  /** The largest value of the axis; without it, that of the lines. */
  most?: number;
  /** What a click on a name does; without it, the group of series is chosen. */
  choose?: (i: number) => (() => void) | null;
}) {
  const { lines, state, act, now, range = 'range', marks = [], times } = props;
  const place = useRef<HTMLDivElement>(null);
  const sampleType = shownType(props);
  const data = useMemo(() => chartData(lines, sampleType), [lines, sampleType]);
  const chosen: [number, number] | null = state.span ? [parseTime(state.from, now), parseTime(state.to, now)] : null;
  const styles = useMemo(() => lineStyles(data.lines.map((l) => l.title)), [data]);
  const [at, setAt] = useState<number | null>(null);
  const choose = props.choose ?? ((i: number): (() => void) | null => {
    const labels = data.lines[i]?.labels ?? {};
    if (range !== 'range' || !state.by || !Object.keys(labels).length) return null;
    return () => act({ do: 'set', values: { query: withLabels(state.query, labels) } });
  });

  usePlot(
    place,
    () => {
      const strokes = lineColors();
      const bridged = bridgedSteps(lines, data.kind);
      const options = plotOptions(state, times, unitOf(data.type), (v) => axisText(v, data), (from, to) => act({ do: range, from: String(from), to: String(to) }), props.most);
      const series = data.lines.map((l, i) => ({
        label: l.title,
        stroke: strokes[(styles[i] as number) % colorCount] as string,
        dash: dashes[Math.floor((styles[i] as number) / colorCount)],
        width: 1.5,
        gaps: (u: uPlot, _series: number, from: number, to: number, gaps: [number, number][]) => wideGaps(u, bridged, [from, to], gaps),
        points: { size: 5, filter: () => lonePoints(l.values, bridged) },
      }));
      const draw = [(u: uPlot) => drawMarks(u, marks), ...(chosen ? [(u: uPlot) => drawChosen(u, chosen)] : [])];
      return [
        { ...options, series: [{}, ...series], hooks: { ...options.hooks, draw, setCursor: [(u) => setAt(u.cursor.idx ?? null)] } },
        [data.times, ...data.lines.map((l) => l.values)] as uPlot.AlignedData,
      ];
    },
    [lines, sampleType, state.tz, state.query, marks.join(), chosen?.join(), times.join(), props.most],
  );
  return (
    <div class="chart">
      <div ref={place} role="img" aria-label={`${data.type} of ${data.lines.length} groups over time`} />
      <div class="legend-time dim">{at === null ? 'drag to choose a time range' : formatTime((data.times[at] ?? 0) * 1000, state.tz === 'utc')}</div>
      <Legend
        titles={data.lines.map((l) => l.title)}
        styles={styles}
        choose={choose}
        values={data.lines.map((l) => (at === null ? '' : l.values[at] === null || l.values[at] === undefined ? '–' : axisText(l.values[at] as number, data)))}
      />
    </div>
  );
}
