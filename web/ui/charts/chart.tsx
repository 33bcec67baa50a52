// SPDX-License-Identifier: Apache-2.0
// Totals over time: a line for each group of series. A drag chooses the range.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { Line } from '../api/answer.ts';
import { token } from '../draw/theme.ts';
import { colorCount, dashes, lineStyles } from '../model/linestyle.ts';
import { shortName } from '../model/package.ts';
import { withLabels, withoutGroups } from '../model/selector.ts';
import {
  type ChartData,
  chartData,
  type ChartLine,
  isUnsure,
  meanOf,
  type Kind,
  unitOf,
  unsureSteps,
} from '../model/series.ts';
import { formatTime, parseTime } from '../model/time.ts';
import { formatAxis } from '../model/unit.ts';
import { shownType } from '../parts/hooks.ts';
import { type Place, Tip } from '../parts/tip.tsx';
import type { Context } from '../state/context.ts';
import type { State } from '../state/state.ts';

/** The colours of lines, from the style sheet's tokens. */
export function lineColors(): string[] {
  return Array.from({ length: colorCount }, (_, i) => token(`--line${i}`) || '#888888');
}

/**
 * How many steps a line may bridge. Of a rate, what is missing is not known: the server has filled the gaps between
 * profiles. States may come at intervals that are longer than it fills, and so does what is not asked for as a rate.
 */
function bridgedSteps(lines: Line[], kind: Kind): number {
  return kind !== 'state' && lines.some(l => l.covered) ? 1 : 4;
}

/** The gaps of a line that are wider than the steps that it may bridge, in pixels. */
function wideGaps(
  u: uPlot,
  bridged: number,
  [from, to]: [number, number],
  gaps: [number, number][],
): [number, number][] {
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

/** Texts of the time axis: the clock, or the date where it changes. */
function timeTexts(seconds: number[], step: number, utc: boolean): string[] {
  let day = '';

  return seconds.map((t, i) => {
    const [date = '', clock = ''] = formatTime(t * 1000, utc).split(' ');
    const isNew = i > 0 && date !== day;
    day = date;
    return step >= 86400 || isNew ? date.slice(5) : clock.slice(0, step < 60 ? 8 : 5);
  });
}

/** Distances of grid lines for bytes, so that the texts are whole numbers. */
const powers = Array.from({ length: 60 }, (_, i) => 2 ** i);

/** What all charts have in common. A drag calls `drag` with the ends of a range. */
export function plotOptions(
  state: State,
  [from, to]: [number, number],
  unit: string,
  text: (value: number) => string,
  drag: (from: number, to: number) => void,
  most = 0,
): Omit<uPlot.Options, 'width' | 'height' | 'series'> {
  const stroke = token('--dim');
  const grid = { stroke: token('--line'), width: 1 };

  return {
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false } },
    ...(state.tz === 'utc' ? { tzDate: (ts: number) => uPlot.tzDate(new Date(ts * 1000), 'Etc/UTC') } : {}),
    scales: {
      y: { range: (_, low, high) => [Math.min(0, low), most || high * 1.05 || 1] },
      x: { time: true, range: [from / 1000, Math.max(to, from + 1000) / 1000] },
    },
    axes: [
      {
        stroke,
        grid,
        ticks: grid,
        space: 70,
        size: 24,
        values: (_, splits, __, ___, step) => timeTexts(splits, step, state.tz === 'utc'),
      },
      {
        stroke,
        grid,
        ticks: grid,
        size: 96,
        space: 18,
        values: (_, values) => values.map(text),
        ...(unit === 'bytes' ? { incrs: powers } : {}),
      },
    ],
    hooks: {
      setSelect: [
        u => {
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

/** A plot that fills an element, whose height the reader can change. It is created again when its inputs or the theme change. */
export function usePlot(
  place: { current: HTMLDivElement | null },
  make: () => [Omit<uPlot.Options, 'width' | 'height'>, uPlot.AlignedData],
  inputs: unknown[],
): void {
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let plot: uPlot | null = null;
    const sizeOf = (): { width: number; height: number } => ({
      width: element.clientWidth,
      height: element.clientHeight,
    });
    const remake = (): void => {
      const [options, data] = make();
      plot?.destroy();
      plot = new uPlot({ ...options, ...sizeOf() }, data, element);
    };
    remake();
    const observer = new ResizeObserver(() => {
      const size = sizeOf();
      if (plot && (plot.width !== size.width || plot.height !== size.height)) plot.setSize(size);
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

/** A line within so many pixels of the pointer is meant. */
const reach = 24;

/** What the pointer is at; null: it is not over the plot. */
function pointedOf(u: uPlot, near: number): Pointed | null {
  const { idx, left = -1, top = -1 } = u.cursor;
  const r = u.over.getBoundingClientRect();

  if (idx === null || idx === undefined || left < 0 || top < 0) return null;
  return { step: idx, at: { x: r.left + left, y: r.top + top }, near };
}

/** A mark within so many pixels of the pointer is meant. */
const markReach = 6;

/** The mark at the pointer. */
function markAt(u: uPlot, marks: Mark[]): Mark | undefined {
  const distance = (m: Mark): number => Math.abs(u.valToPos(m.ms / 1000, 'x') - (u.cursor.left ?? -Infinity));

  return marks.filter(m => distance(m) <= markReach).sort((a, b) => distance(a) - distance(b))[0];
}

/** Draw a dashed line at each mark; a whole one at the chosen mark. */
function drawMarks(u: uPlot, marks: Mark[]): void {
  const dash = 4 * devicePixelRatio;

  u.ctx.save();
  u.ctx.strokeStyle = token('--mark');
  for (const m of marks) {
    const x = Math.round(u.valToPos(m.ms / 1000, 'x', true));
    u.ctx.lineWidth = (m.chosen ? 2 : 1) * devicePixelRatio;
    u.ctx.setLineDash(m.chosen ? [] : [dash, dash]);
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
  }
  u.ctx.restore();
}

/** How pale a line is where a part of the time is not known, as the last digits of its colour. */
const pale = '55';

/** The colour of a line, which is pale where a part of the time is not known. */
function strokeOf(u: uPlot, color: string, times: number[], line: ChartLine): string | CanvasGradient {
  const runs = unsureSteps(line);
  const { left, width } = u.bbox;
  const [begin = 0, next = begin] = times;
  const half = (next - begin) / 2;
  const at = (time: number): number => Math.max(0, Math.min(1, (u.valToPos(time, 'x', true) - left) / width));

  if (!runs.length || !(width > 0)) return color;
  const gradient = u.ctx.createLinearGradient(left, 0, left + width, 0);
  gradient.addColorStop(0, color);
  for (const [first, last] of runs) {
    const [from, to] = [at((times[first] ?? 0) - half), at((times[last] ?? 0) + half)];
    gradient.addColorStop(from, color);
    gradient.addColorStop(from, color + pale);
    gradient.addColorStop(to, color + pale);
    gradient.addColorStop(to, color);
  }
  return gradient;
}

/** Shade the part of a wider chart from which the profiles below come. */
function drawChosen(u: uPlot, range: [number, number]): void {
  const [left, right] = range.map(ms => u.valToPos(ms / 1000, 'x', true)) as [number, number];

  u.ctx.save();
  u.ctx.globalAlpha = 0.15;
  u.ctx.fillStyle = token('--mark');
  u.ctx.fillRect(left, u.bbox.top, right - left, u.bbox.height);
  u.ctx.restore();
}

/** The swatch of a line: its colour, and its dashes. */
function Swatch({ style = 0 }: { style: number | undefined }) {
  return <span class={`swatch line${style % colorCount} dash${Math.floor(style / colorCount)}`} aria-hidden="true" />;
}

/** The names of lines with their colours, beside the plot. A click chooses the line, where that is possible. */
export function Legend(props: {
  titles: string[];
  styles: number[];
  /** The titles are functions, whose packages are left out. */
  ofFunctions?: boolean;
  choose?: (i: number) => (() => void) | null;
  values?: string[];
}) {
  const { titles, styles, choose, values } = props;
  const short = props.ofFunctions ? shortName : String;

  return (
    // What can be scrolled must be reached by keys.
    <ul class="legend" tabIndex={titles.some((_, i) => choose?.(i)) ? -1 : 0}>
      {titles.map((title, i) => {
        const onClick = choose?.(i);
        return (
          <li key={title} title={title}>
            <Swatch style={styles[i]} />
            {onClick ? (
              <button type="button" class="plain" onClick={onClick} title={`Only ${title}`}>
                {short(title)}
              </button>
            ) : (
              <span class="plain">{short(title)}</span>
            )}
            {values && (
              <span class="dim" title="the mean of the time that was profiled">
                {values[i]}
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** Where the pointer is: at a step of the chart, at a place of the window, and near a line, or near none (-1). */
interface Pointed {
  step: number;
  at: Place;
  near: number;
}

/** The most lines whose values are listed at the pointer. */
const listed = 12;

/** "62 % known": how much of a step is known, if it is not nearly all. */
function knownPart(line: ChartLine, step: number): string {
  return isUnsure(line, step) ? `${Math.round(100 * (line.covered?.[step] ?? 0))} % known` : '';
}

/** The values of the lines at the pointer, the largest first; the nearest line is always among them. */
function ValuesTip({
  pointed,
  data,
  styles,
  marks,
  utc,
}: {
  pointed: Pointed;
  data: ChartData;
  styles: number[];
  marks: Mark[];
  utc: boolean;
}) {
  const { step, near } = pointed;
  const known = data.lines
    .map((l, i) => ({ i, title: l.title, value: l.values[step], part: knownPart(l, step) }))
    .filter(l => l.value !== null && l.value !== undefined);
  const sorted = known.sort((a, b) => (b.value as number) - (a.value as number));
  const shown = sorted.filter((l, k) => k < listed || l.i === near);
  const sum = known.reduce((a, l) => a + (l.value as number), 0);
  const [begin = 0, end = Infinity] = [data.times[step], data.times[step + 1]];

  return (
    <Tip at={pointed.at}>
      <div class="dim">{formatTime(begin * 1000, utc)}</div>
      {marks
        .filter(m => m.ms >= begin * 1000 && m.ms < end * 1000)
        .slice(0, 3)
        .map(m => (
          <div key={m.text} class="tip-mark">
            {m.text}
          </div>
        ))}
      <table>
        <tbody>
          {shown.map(l => (
            <tr key={l.i} class={l.i === near ? 'near' : ''}>
              <td>
                <Swatch style={styles[l.i]} />
                {l.title}
              </td>
              <td class="number">
                {axisText(l.value as number, data)}
                {l.part && <span class="dim"> {l.part}</span>}
              </td>
            </tr>
          ))}
          {known.length > 1 && (
            <tr class="sum">
              <td>all together</td>
              <td class="number">{axisText(sum, data)}</td>
            </tr>
          )}
        </tbody>
      </table>
      {!shown.length && <div>nothing is known</div>}
      {sorted.length > shown.length && <div class="dim">and {sorted.length - shown.length} more</div>}
    </Tip>
  );
}

function meanText(line: ChartLine, data: ChartData): string {
  const mean = meanOf(line);

  return mean === null ? '' : axisText(mean, data);
}

/** A change that is marked on the chart; a click on it calls `choose`. */
export interface Mark {
  ms: number;
  text: string;
  chosen: boolean;
  choose: () => void;
}

export function Chart(
  props: Context & {
    lines: Line[];
    times: [number, number];
    range?: 'range' | 'range_of_base';
    marks?: Mark[];
    /** The largest value of the axis; without it, that of the lines. */
    most?: number;
    /** What a click on a name does; without it, the group of series is chosen. */
    choose?: (i: number) => (() => void) | null;
    ofFunctions?: boolean;
  },
) {
  const { lines, state, act, now, range = 'range', marks = [], times } = props;
  const place = useRef<HTMLDivElement>(null);
  const sampleType = shownType(props);
  const data = useMemo(() => chartData(lines, sampleType), [lines, sampleType]);
  const chosen: [number, number] | null = state.span ? [parseTime(state.from, now), parseTime(state.to, now)] : null;
  const styles = useMemo(() => lineStyles(data.lines.map(l => l.title)), [data]);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const nearest = useRef(-1);
  const choose =
    props.choose ??
    ((i: number): (() => void) | null => {
      const labels = data.lines[i]?.labels;
      // The last line may be all groups that have no line of their own.
      const query = labels
        ? Object.keys(labels).length && withLabels(state.query, labels)
        : withoutGroups(
            state.query,
            data.lines.map(l => l.labels).filter(l => l !== null),
          );
      if (range !== 'range' || !state.by || !query) return null;
      return () => act({ do: 'set', values: { query } });
    });

  usePlot(place, () => {
    const strokes = lineColors();
    const bridged = bridgedSteps(lines, data.kind);
    const options = plotOptions(
      state,
      times,
      unitOf(data.type),
      v => axisText(v, data),
      (from, to) => act({ do: range, from: String(from), to: String(to) }),
      props.most,
    );
    const series = data.lines.map((l, i) => ({
      label: l.title,
      stroke: (u: uPlot) => strokeOf(u, strokes[(styles[i] as number) % colorCount] as string, data.times, l),
      dash: dashes[Math.floor((styles[i] as number) / colorCount)],
      width: 1.5,
      gaps: (u: uPlot, _series: number, from: number, to: number, gaps: [number, number][]) =>
        wideGaps(u, bridged, [from, to], gaps),
      points: { size: 5, filter: () => lonePoints(l.values, bridged) },
    }));
    const draw = [(u: uPlot) => drawMarks(u, marks), ...(chosen ? [(u: uPlot) => drawChosen(u, chosen)] : [])];
    return [
      {
        ...options,
        series: [{}, ...series],
        cursor: { ...options.cursor, focus: { prox: reach } },
        focus: { alpha: 0.25 },
        hooks: {
          ...options.hooks,
          draw,
          // The first series of a plot is the time.
          setSeries: [(_, i) => (nearest.current = (i ?? 0) - 1)],
          setCursor: [
            u => {
              u.over.style.cursor = markAt(u, marks) ? 'pointer' : '';
              setPointed(pointedOf(u, nearest.current));
            },
          ],
          ready: [u => u.over.addEventListener('click', () => markAt(u, marks)?.choose())],
        },
      },
      [data.times, ...data.lines.map(l => l.values)] as uPlot.AlignedData,
    ];
  }, [
    lines,
    sampleType,
    state.tz,
    state.query,
    marks.map(m => `${m.ms} ${m.chosen}`).join(),
    chosen?.join(),
    times.join(),
    props.most,
  ]);
  return (
    <div class="chart">
      <div
        class="plot"
        ref={place}
        role="img"
        aria-label={`${data.type} of ${data.lines.length} groups over time. A drag chooses times.`}
      />
      <Legend
        titles={data.lines.map(l => l.title)}
        styles={styles}
        choose={choose}
        ofFunctions={props.ofFunctions ?? false}
        values={data.lines.map(l => meanText(l, data))}
      />
      {pointed && <ValuesTip pointed={pointed} data={data} styles={styles} marks={marks} utc={state.tz === 'utc'} />}
    </div>
  );
}
