// SPDX-License-Identifier: Apache-2.0
// A heat map with its axes, the scale of its colours, and the selection of
// cells. A click or a drag chooses cells, and a click on the title of a row the
// whole row; so do the arrow keys with Enter. What can be done with them is in a
// menu beside them.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { drawHeat, heatRow } from '../draw/cells.ts';
import { columnsUntil, type Heat, levelStart } from '../model/heat.ts';
import { formatClock, formatTime, timeTicks } from '../model/time.ts';
import { fitCanvas, usePalette, useSize } from '../parts/hooks.ts';
import { Popup } from '../parts/popup.tsx';
import { type Place, Tip } from '../parts/tip.tsx';

/** Cells from one corner to the other, both included. */
export interface Cells {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

interface Cell {
  x: number;
  y: number;
}

function between(a: Cell, b: Cell): Cells {
  return { x0: Math.min(a.x, b.x), x1: Math.max(a.x, b.x), y0: Math.min(a.y, b.y), y1: Math.max(a.y, b.y) };
}

/** The colours with the values at which they begin, the largest above, under a word for what they count. */
function Scale(props: { levels: string[]; most: number; text: (value: number) => string; word: string }) {
  const { levels, most, text, word } = props;
  const rows = levels.map((color, i) => ({ color, from: text(levelStart(i + 1, most, levels.length)) })).reverse();
  // Every other row has a text, unless the one above says the same.
  const isTold = (i: number): boolean => i % 2 === 0 && rows[i]?.from !== rows[i - 2]?.from;

  return (
    <ol class="heat-scale" aria-hidden="true">
      <li>{word}</li>
      {rows.map((r, i) => (
        <li key={i}>
          {isTold(i) ? r.from : ''}
          <span class="swatch" style={{ background: r.color }} />
        </li>
      ))}
    </ol>
  );
}

function Ticks({ range: [from, to], utc }: { range: [number, number]; utc: boolean }) {
  const days = to - from > 36 * 3600e3;

  return (
    <ol class="heat-times" aria-hidden="true">
      {timeTicks(from, to, 8, utc).map(ms => (
        <li key={ms} style={{ left: `${((ms - from) / (to - from)) * 100}%` }}>
          {days ? formatTime(ms, utc).slice(5, 16) : formatClock(ms, utc).slice(0, 5)}
        </li>
      ))}
    </ol>
  );
}

/** Cells as a rectangle; a row of columns is as wide as the element. */
function rectangle(c: Cells, columns: number): Record<string, string> {
  return {
    left: `${(c.x0 / columns) * 100}%`,
    width: `${((c.x1 - c.x0 + 1) / columns) * 100}%`,
    top: `${c.y0 * heatRow}px`,
    height: `${(c.y1 - c.y0 + 1) * heatRow}px`,
  };
}

export function HeatMap(props: {
  heat: Heat;
  label: string;
  utc: boolean;
  /** The times that are shown. */
  range: [number, number];
  /** A value of the scale, and what the values are. */
  scale: (value: number) => string;
  word: string;
  /** What the titles of the rows say, such as "job": shown below them. */
  titles: string;
  /** The cells that are marked, if any. */
  chosen: Cells | null;
  /** What is said of cells at the pointer. */
  describe: (cells: Cells) => string;
  pick: (cells: Cells) => void;
  /** What can be done with the marked cells. */
  menu: ComponentChildren;
  closeMenu: () => void;
}) {
  const { heat, chosen, pick } = props;
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(place);
  const palette = usePalette();
  const [cursor, setCursor] = useState<Cell | null>(null);
  const [begun, setBegun] = useState<Cell | null>(null);
  const [at, setAt] = useState<Place | null>(null);
  const last = heat.times.length - 1;
  const columns = columnsUntil(heat, props.range[1]);
  const marked = cursor && begun ? between(begun, cursor) : chosen;
  const said = cursor && (begun ? between(begun, cursor) : between(cursor, cursor));

  useEffect(() => {
    const ctx = fitCanvas(canvas.current, size);
    if (ctx) drawHeat(ctx, heat, palette.heat, size.width, columns, size.ratio);
  }, [heat, palette, columns, size.width, size.height, size.ratio]);

  // Who came here with a key goes on with keys.
  useEffect(() => {
    if (document.activeElement === document.body) place.current?.focus({ preventScroll: true });
  }, []);

  const cell = (e: PointerEvent): Cell => {
    const r = (e.currentTarget as HTMLElement).getBoundingClientRect();
    const inside = (v: number, most: number): number => Math.min(most, Math.max(0, Math.floor(v)));
    return {
      x: inside(((e.clientX - r.left) / r.width) * columns, last),
      y: inside((e.clientY - r.top) / heatRow, heat.rows.length - 1),
    };
  };
  const onKey = (e: KeyboardEvent): void => {
    const from = cursor ?? { x: last, y: 0 };
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
      Home: [-last, 0],
      End: [last, 0],
    };
    const m = moves[e.key];
    if (m) {
      // With Shift, the cells from here on are marked.
      setBegun(e.shiftKey ? (begun ?? from) : null);
      const to = {
        x: Math.min(last, Math.max(0, from.x + m[0])),
        y: Math.min(heat.rows.length - 1, Math.max(0, from.y + m[1])),
      };
      const r = (e.currentTarget as HTMLElement).getBoundingClientRect();
      setCursor(to);
      setAt({ x: r.left + ((to.x + 1) / columns) * r.width, y: r.top + (to.y + 1) * heatRow });
    } else if (e.key === 'Enter') {
      pick(between(begun ?? from, from));
      setBegun(null);
      setAt(null);
    } else return;
    e.preventDefault();
  };
  return (
    <div class="heat">
      <Scale levels={palette.heat} most={heat.most} text={props.scale} word={props.word} />
      <div class="heat-body">
        <div
          class="heat-cells"
          ref={place}
          style={{ height: `${heat.rows.length * heatRow}px` }}
          tabIndex={0}
          role="application"
          aria-label={`${props.label}. Arrow keys move, with Shift they mark, Enter chooses.`}
          onPointerDown={e => {
            e.currentTarget.setPointerCapture(e.pointerId);
            const c = cell(e);
            setBegun(c);
            setCursor(c);
          }}
          onPointerMove={e => {
            setCursor(cell(e));
            setAt({ x: e.clientX, y: e.clientY });
          }}
          onPointerUp={e => {
            if (begun) pick(between(begun, cell(e)));
            setBegun(null);
            setAt(null);
          }}
          onPointerLeave={() => {
            setAt(null);
            if (!begun) setCursor(null);
          }}
          onKeyDown={onKey}
          onBlur={() => setAt(null)}
        >
          <canvas ref={canvas} aria-hidden="true" />
          {cursor && !begun && <span class="heat-cursor" style={rectangle(between(cursor, cursor), columns)} />}
          {marked && <span class="heat-chosen" style={rectangle(marked, columns)} />}
        </div>
        <ol class="heat-titles" aria-hidden="true">
          {heat.rows.map((r, i) => (
            <li key={i} title={r.title} onClick={() => pick({ x0: 0, x1: last, y0: i, y1: i })}>
              {r.title}
            </li>
          ))}
        </ol>
      </div>
      <Ticks range={props.range} utc={props.utc} />
      <span class="heat-word" aria-hidden="true">
        {props.titles}
      </span>
      <div class="unseen" role="status">
        {said ? props.describe(said) : ''}
      </div>
      {at && said && <Tip at={at}>{props.describe(said)}</Tip>}
      {chosen && props.menu && (
        <div class="heat-menu" style={{ '--at': String((chosen.x1 + 1) / columns) }}>
          <Popup
            class={(chosen.x1 + 1) / columns > 0.6 ? 'right' : ''}
            label="The chosen cells"
            title={props.describe(chosen)}
            close={props.closeMenu}
          >
            {props.menu}
          </Popup>
        </div>
      )}
    </div>
  );
}
