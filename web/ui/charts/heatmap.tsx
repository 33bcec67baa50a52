// SPDX-License-Identifier: Apache-2.0
// A heat map with its axes and the selection of cells. A click or a drag
// chooses cells; so do the arrow keys with Enter.
import { useEffect, useRef, useState } from 'preact/hooks';
import { drawHeat, heatRow } from '../draw/cells.ts';
import type { Heat } from '../model/heat.ts';
import { formatTime } from '../model/time.ts';
import { fitCanvas, usePalette, useSize } from '../parts/hooks.ts';

/** Cells from one corner to the other, both included. */
export interface Cells {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

function between(a: { x: number; y: number }, b: { x: number; y: number }): Cells {
  return { x0: Math.min(a.x, b.x), x1: Math.max(a.x, b.x), y0: Math.min(a.y, b.y), y1: Math.max(a.y, b.y) };
}

const ticks = 5;

export function HeatMap(props: {
  heat: Heat;
  label: string;
  utc: boolean;
  /** The cells that are marked, if any. */
  chosen: Cells | null;
  /** What the line below says of cells. */
  describe: (cells: Cells) => string;
  pick: (cells: Cells) => void;
}) {
  const { heat, chosen, pick } = props;
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(place);
  const palette = usePalette();
  const [cursor, setCursor] = useState<{ x: number; y: number } | null>(null);
  const [begun, setBegun] = useState<{ x: number; y: number } | null>(null);
  const columns = heat.times.length;
  const marked = cursor && begun ? between(begun, cursor) : chosen;
  const said = marked ?? (cursor ? between(cursor, cursor) : null);

  useEffect(() => {
    const ctx = fitCanvas(canvas.current, size);
    if (ctx) drawHeat(ctx, heat, palette.heat, size.width, size.ratio);
  }, [heat, palette, size.width, size.height, size.ratio]);

  // Who came here with a key goes on with keys.
  useEffect(() => {
    if (document.activeElement === document.body) place.current?.focus({ preventScroll: true });
  }, []);

  const cell = (e: PointerEvent): { x: number; y: number } => {
    const r = (e.currentTarget as HTMLElement).getBoundingClientRect();
    const inside = (v: number, n: number): number => Math.min(n - 1, Math.max(0, Math.floor(v)));
    return { x: inside(((e.clientX - r.left) / r.width) * columns, columns), y: inside((e.clientY - r.top) / heatRow, heat.rows.length) };
  };
  const onKey = (e: KeyboardEvent): void => {
    const at = cursor ?? { x: columns - 1, y: 0 };
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-columns, 0], End: [columns, 0],
    };
    const m = moves[e.key];
    if (m) {
      // With Shift, the cells from here on are marked.
      setBegun(e.shiftKey ? (begun ?? at) : null);
      setCursor({ x: Math.min(columns - 1, Math.max(0, at.x + m[0])), y: Math.min(heat.rows.length - 1, Math.max(0, at.y + m[1])) });
    } else if (e.key === 'Enter') {
      pick(between(begun ?? at, at));
      setBegun(null);
    } else return;
    e.preventDefault();
  };
  const rectangle = (c: Cells): Record<string, string> => ({
    left: `${(c.x0 / columns) * 100}%`,
    width: `${((c.x1 - c.x0 + 1) / columns) * 100}%`,
    top: `${c.y0 * heatRow}px`,
    height: `${(c.y1 - c.y0 + 1) * heatRow}px`,
  });
  return (
    <div class="heat">
      <ol class="heat-titles" aria-hidden="true">{heat.rows.map((r, i) => <li key={i} title={r.title}>{r.title}</li>)}</ol>
      <div
        class="heat-cells"
        ref={place}
        style={{ height: `${heat.rows.length * heatRow}px` }}
        tabIndex={0}
        role="application"
        aria-label={`${props.label}. Arrow keys move, with Shift they mark, Enter chooses.`}
        onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); const c = cell(e); setBegun(c); setCursor(c); }}
        onPointerMove={(e) => setCursor(cell(e))}
        onPointerUp={(e) => { if (begun) pick(between(begun, cell(e))); setBegun(null); }}
        onPointerLeave={() => !begun && setCursor(null)}
        onKeyDown={onKey}
      >
        <canvas ref={canvas} aria-hidden="true" />
        {cursor && !begun && <span class="heat-cursor" style={rectangle(between(cursor, cursor))} />}
        {marked && <span class="heat-chosen" style={rectangle(marked)} />}
      </div>
      <ol class="heat-times" aria-hidden="true">
        {Array.from({ length: ticks }, (_, i) => <li key={i}>{formatTime(heat.times[Math.floor((i * (columns - 1)) / (ticks - 1))] as number, props.utc)}</li>)}
      </ol>
      <div class="detail" role="status">{said ? props.describe(said) : '\u00a0'}</div>
    </div>
  );
}
