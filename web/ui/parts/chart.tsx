// SPDX-License-Identifier: Apache-2.0
// Totals over time: a line for each group of series. A drag chooses the range.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Line } from '../api/answer.ts';
import { type ChartData, chartData } from '../model/series.ts';
import { formatAxis } from '../model/unit.ts';
import type { Context } from '../pages/app.tsx';

const height = 150;

/** The colours of lines, from the style sheet's tokens. */
function colors(): string[] {
  const style = getComputedStyle(document.documentElement);

  return Array.from({ length: 8 }, (_, i) => style.getPropertyValue(`--line${i}`).trim() || '#888888');
}

/** Profiles come at intervals of their own: gaps of a few steps are none. */
const bridged = 4;

/** The gaps of a line that are wider than a few steps, in pixels. */
function wideGaps(u: uPlot, from: number, to: number, gaps: [number, number][]): [number, number][] {
  const step = u.bbox.width / Math.max(1, to - from);

  return gaps.filter(([a, b]) => b - a > bridged * step);
}

/** The points that no line reaches, which would not be seen otherwise. */
function lonePoints(values: (number | null)[]): number[] {
  const known = values.flatMap((v, i) => (v === null ? [] : [i]));

  return known.filter((i, k) => i - (known[k - 1] ?? -Infinity) > bridged && (known[k + 1] ?? Infinity) - i > bridged);
}

/** A rate of a time per second is a number of cores. */
export function axisText(value: number, data: ChartData): string {
  const unit = data.type.split('/')[1] ?? '';

  if (data.kind === 'state') return formatAxis(value, unit);
  if (unit === 'nanoseconds') return formatAxis(value / 1e9, 'count');
  return `${formatAxis(value, unit)}/s`;
}

function options(data: ChartData, width: number, utc: boolean, marks: number[], drag: (from: number, to: number) => void): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const text = style.getPropertyValue('--dim').trim();
  const grid = { stroke: style.getPropertyValue('--line').trim(), width: 1 };
  const strokes = colors();

  return {
    width,
    height,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false } },
    ...(utc ? { tzDate: (ts: number) => uPlot.tzDate(new Date(ts * 1000), 'Etc/UTC') } : {}),
    scales: { x: { time: true } },
    axes: [
      { stroke: text, grid, ticks: grid },
      { stroke: text, grid, ticks: grid, size: 76, values: (_, values) => values.map((v) => axisText(v, data)) },
    ],
    series: [
      {},
      ...data.lines.map((l, i) => ({
        label: l.title,
        stroke: strokes[i % strokes.length] as string,
        width: 1.5,
        gaps: (u: uPlot, _series: number, from: number, to: number, gaps: [number, number][]) => wideGaps(u, from, to, gaps),
        points: { size: 5, filter: () => lonePoints(l.values) },
      })),
    ],
    hooks: {
      draw: [(u) => drawMarks(u, marks)],
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

/** Draw a dashed line at each time. */
function drawMarks(u: uPlot, times: number[]): void {
  u.ctx.save();
  u.ctx.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--mark').trim();
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

export function Chart({ lines, state, act, range = 'range', marks = [] }: Context & { lines: Line[]; range?: 'range' | 'range_a'; marks?: number[] }) {
  const place = useRef<HTMLDivElement>(null);
  const sampleType = state.sample_index;
  const data = chartData(lines, sampleType);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let plot: uPlot | null = null;
    const make = (): void => {
      plot?.destroy();
      plot = new uPlot(
        options(data, element.clientWidth, state.tz === 'utc', marks, (from, to) => act({ do: range, from: String(from), to: String(to) })),
        [data.times, ...data.lines.map((l) => l.values)] as uPlot.AlignedData,
        element,
      );
    };
    make();
    const observer = new ResizeObserver(() => {
      if (plot && plot.width !== element.clientWidth) plot.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    addEventListener('themechange', make);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', make);
    return () => {
      observer.disconnect();
      removeEventListener('themechange', make);
      matchMedia('(prefers-color-scheme: dark)').removeEventListener('change', make);
      plot?.destroy();
    };
  }, [lines, sampleType, state.tz, marks.join()]);
  return (
    <div class="chart">
      <div ref={place} role="img" aria-label={`${data.type} of ${data.lines.length} groups over time`} />
      <ul class="legend">
        {data.lines.map((l, i) => (
          <li key={l.title}><span class={`swatch line${i % 8}`} aria-hidden="true" />{l.title}</li>
        ))}
      </ul>
    </div>
  );
}
