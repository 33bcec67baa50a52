// SPDX-License-Identifier: Apache-2.0
// The chart of single profiles: a point for each profile at its time and total.
// A click opens one profile; a drag chooses a range.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { Line } from '../api/answer.ts';
import { lineStyles } from '../model/linestyle.ts';
import { narrow, type Point, pointGroup, pointGroups, pointsOf } from '../model/points.ts';
import { withLabels, withoutGroups } from '../model/selector.ts';
import { titleOf, typeOf, unitOf } from '../model/series.ts';
import { formatTime } from '../model/time.ts';
import { formatAxis } from '../model/unit.ts';
import { shownType } from '../parts/hooks.ts';
import { type Place, Tip } from '../parts/tip.tsx';
import type { Context } from '../state/context.ts';
import { chartRange } from '../state/requests.ts';
import { Legend, lineColors, plotOptions, usePlot } from './chart.tsx';

/** Points nearer than this to the pointer are meant, in pixels. */
const reach = 14;

/** Most groups with a colour of their own. */
const maxGroups = 7;

export function Points(props: Context & { lines: Line[] }) {
  const { lines, state, act } = props;
  const place = useRef<HTMLDivElement>(null);
  const type = typeOf(lines, shownType(props));
  const times = chartRange(state, props.now);
  const unit = unitOf(type);
  const points = useMemo(() => pointsOf(lines, type), [lines, type]);
  const groups = useMemo(() => pointGroups(lines, state.by, type), [lines, state.by, type]);
  const shown = groups.slice(0, maxGroups);
  const titles = groups.length > maxGroups ? [...shown, `${groups.length - maxGroups} more`] : shown;
  const styles = lineStyles(titles, 1);
  const [pointed, setPointed] = useState<{ point: Point; at: Place } | null>(null);
  // Groups by several labels have no selector of their own.
  const choose = (i: number): (() => void) | null => {
    const [name, more] = (state.by || ',').split(',');
    const group = (value: string): Record<string, string> => ({ [name as string]: value });
    if (!name || more !== undefined) return null;
    const title = shown[i];
    const query =
      title === undefined ? withoutGroups(state.query, shown.map(group)) : withLabels(state.query, group(title));
    return () => act({ do: 'set', values: { query } });
  };
  const open = (p: Point): void =>
    act({ do: 'set', values: { time: String(p.ms), query: narrow(state.query, lines, p.series), zoom: '' } });

  usePlot(place, () => {
    const colors = styles.map(n => lineColors()[n]);
    const columns = titles.map(() => points.map((): number | null => null));
    const groupAt = lines.map(l => {
      const i = shown.indexOf(pointGroup(l, state.by));
      return i < 0 ? shown.length : i;
    });
    points.forEach((p, i) => ((columns[groupAt[p.series] as number] as (number | null)[])[i] = p.value));
    const options = plotOptions(
      state,
      times,
      unit,
      v => formatAxis(v, unit),
      (from, to) => act({ do: 'range', from: String(from), to: String(to) }),
    );
    return [
      {
        ...options,
        series: [
          {},
          ...titles.map((label, i) => ({
            label,
            stroke: colors[i] as string,
            paths: () => null,
            points: { show: true, size: 6, fill: colors[i] as string },
          })),
        ],
        hooks: {
          ...options.hooks,
          setCursor: [u => setPointed(pointAt(u, points))],
          draw: [
            (u: uPlot) =>
              ringAt(
                u,
                points.find(p => String(p.ms) === state.time),
              ),
          ],
          ready: [(u: uPlot) => openOnClick(u, points, open)],
        },
      },
      [points.map(p => p.ms / 1000), ...columns] as uPlot.AlignedData,
    ];
  }, [lines, type, state.tz, state.by, state.time, state.query, times.join()]);
  useEffect(() => {
    if (!state.time) return;
    place.current?.scrollIntoView({ block: 'nearest' });
  }, [state.time]);
  return (
    <div class="chart">
      <div
        class="plot"
        ref={place}
        role="img"
        aria-label={`${type} of ${points.length} profiles of ${lines.length} series`}
      />
      <Legend titles={titles} styles={styles} choose={choose} />
      {pointed && (
        <Tip at={pointed.at}>
          <div class="dim">{formatTime(pointed.point.ms, state.tz === 'utc')}</div>
          <div>
            <b>{formatAxis(pointed.point.value, unit)}</b> {titleOf(lines[pointed.point.series]?.labels ?? {})}
          </div>
          <div class="dim">click to open this profile</div>
        </Tip>
      )}
    </div>
  );
}

/** Mark the profile that is shown. */
function ringAt(u: uPlot, p: Point | undefined): void {
  if (!p) return;
  u.ctx.save();
  u.ctx.strokeStyle = lineColors()[0] as string;
  u.ctx.lineWidth = 2 * devicePixelRatio;
  u.ctx.beginPath();
  u.ctx.arc(u.valToPos(p.ms / 1000, 'x', true), u.valToPos(p.value, 'y', true), 7 * devicePixelRatio, 0, 2 * Math.PI);
  u.ctx.stroke();
  u.ctx.restore();
}

/** The point that is nearest to the pointer, if one is near, and where the pointer is. */
function pointAt(u: uPlot, points: Point[]): { point: Point; at: Place } | null {
  const { left = -1, top = -1 } = u.cursor;
  const r = u.over.getBoundingClientRect();
  let best: Point | undefined;
  let least = reach * reach;

  for (const p of points) {
    const d = (u.valToPos(p.ms / 1000, 'x') - left) ** 2 + (u.valToPos(p.value, 'y') - top) ** 2;
    if (d < least) [best, least] = [p, d];
  }
  return best && left >= 0 ? { point: best, at: { x: r.left + left, y: r.top + top } } : null;
}

function openOnClick(u: uPlot, points: Point[], open: (p: Point) => void): void {
  u.over.addEventListener('click', () => {
    const at = pointAt(u, points);
    if (at) open(at.point);
  });
}
