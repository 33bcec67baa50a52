// SPDX-License-Identifier: Apache-2.0
// The boxes of a flame graph: two canvases of the size of the viewport, one for
// the boxes, one for what follows the pointer. Click, drag, wheel and pinch
// choose the part that is shown.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { draw, type Drawn, flipRow, rowHeight, type Scene, toPixels, toValue, type Window } from '../draw/flame.ts';
import type { Palette } from '../draw/palette.ts';
import { Lettering } from '../draw/text.ts';
import { nodeAt, type Tree } from '../model/tree.ts';
import { fitCanvas, type Size, useSize } from '../parts/hooks.ts';
import type { Place } from '../parts/tip.tsx';

declare global {
  interface Window {
    /** What the last frame drew, for tests and measurements. */
    everprofDrawn?: Drawn;
  }
}

/** Values at the edges of the viewport. */
export type Span = [number, number];

/** How long a zoom takes, in milliseconds. */
const zoomMs = 120;

/** Pixels that the pointer may move in a click. */
const still = 4;

/** Rows above a box that is zoomed into, if it was scrolled out. */
const zoomedRow = 4;

/** Scroll the page until a row of an element, `y` below its upper edge, is in the window, above the line of details. */
function showInWindow(e: HTMLElement, y: number): void {
  const at = e.getBoundingClientRect().top + y;
  const below = at + 2 * rowHeight - document.documentElement.clientHeight;

  if (at < 0) scrollBy(0, at);
  else if (below > 0) scrollBy(0, below);
}

const mapHeight = 28;

export interface Colored {
  tree: Tree;
  colors: Uint8Array;
  fills: string[];
  palette: Palette;
  mark: (node: number) => string;
  matches: Uint8Array | null;
}

/** The span that is on its way to a target; without motion it is there at once. What the pointer moves is not delayed. */
function useMotion(target: Span, byPointer: boolean): Span {
  const [shown, setShown] = useState(target);
  const from = useRef(target);

  useEffect(() => {
    const begin = from.current;
    const began = performance.now();
    let frame = 0;
    const step = (now: number): void => {
      const t = Math.min(1, (now - began) / zoomMs);
      const eased = 1 - (1 - t) ** 3;
      const at: Span = [begin[0] + (target[0] - begin[0]) * eased, begin[1] + (target[1] - begin[1]) * eased];
      from.current = at;
      setShown(at);
      if (t < 1) frame = requestAnimationFrame(step);
    };
    if (
      byPointer ||
      matchMedia('(prefers-reduced-motion: reduce)').matches ||
      (begin[0] === target[0] && begin[1] === target[1])
    ) {
      from.current = target;
      setShown(target);
    } else frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [target[0], target[1], byPointer]);
  return byPointer ? target : shown;
}

/** Draw boxes whenever they or the part that is shown change. */
function useBoxes(
  canvas: { current: HTMLCanvasElement | null },
  scene: Colored,
  view: Omit<Window, keyof Size>,
  size: Size,
  done?: (d: Drawn) => void,
): void {
  const { tree, colors, palette, matches } = scene;
  const font = `${12 * size.ratio}px ui-monospace, monospace`;
  const lettering = useMemo(() => {
    const ctx = canvas.current?.getContext('2d');
    return ctx ? new Lettering(ctx, font) : null;
  }, [font, size.width]);

  // Not useEffect(), which waits for a frame that shows the old picture.
  useLayoutEffect(() => {
    const ctx = fitCanvas(canvas.current, size);
    if (!ctx) return;
    const full: Scene = { ...scene, font, lettering: lettering ?? new Lettering(ctx, font) };
    const drawn = draw(ctx, full, { ...view, ...size });
    done?.(drawn);
  }, [tree, colors, palette, matches, view.from, view.to, view.top, size.width, size.height, size.ratio]);
}

/** The whole graph, small, with the part that is shown. A drag moves it. */
function Minimap({
  scene,
  shown,
  whole,
  choose,
}: {
  scene: Colored;
  shown: Span;
  whole: Span;
  choose: (s: Span) => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(place);
  const row = Math.max(1, Math.min(4, Math.floor(mapHeight / scene.tree.rows.length)));
  const length = whole[1] - whole[0];
  const share = (v: number): string => `${((v - whole[0]) / length) * 100}%`;
  const moveTo = (e: PointerEvent): void => {
    const r = (e.currentTarget as HTMLElement).getBoundingClientRect();
    const width = shown[1] - shown[0];
    const middle = whole[0] + ((e.clientX - r.left) / r.width) * length;
    const from = Math.min(whole[1] - width, Math.max(whole[0], middle - width / 2));
    choose([from, from + width]);
  };

  useBoxes(canvas, scene, { from: whole[0], to: whole[1], top: 0, row, upwards: false }, size);
  return (
    <div
      class="minimap"
      ref={place}
      aria-hidden="true"
      onPointerDown={e => {
        e.currentTarget.setPointerCapture(e.pointerId);
        moveTo(e);
      }}
      onPointerMove={e => e.buttons && moveTo(e)}
    >
      <canvas ref={canvas} />
      {shown[1] - shown[0] < length && (
        <span
          class="minimap-shown"
          style={{ left: share(shown[0]), width: `${((shown[1] - shown[0]) / length) * 100}%` }}
        />
      )}
    </div>
  );
}

export function FlameCanvas(props: {
  scene: Colored;
  /** The node that is as wide as the viewport. */
  zoom: number;
  /** Changes whenever that node is chosen, even if it is the same again. */
  zooms: number;
  /** The node with the focus; `ring` says whether it is shown. */
  focused: number;
  ring: boolean;
  height: number;
  hover: number;
  /** The node at the pointer, or -1, and where the pointer is. */
  setHover: (node: number, at: Place) => void;
  click: (node: number) => void;
  map: boolean;
  /** The outermost frame is the lowest row. */
  upwards: boolean;
}) {
  const { scene, zoom, focused, hover, upwards } = props;
  const { tree, palette } = scene;
  const place = useRef<HTMLDivElement>(null);
  const boxes = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const [top, setTop] = useState(0);
  const [free, setFree] = useState<Span | null>(null);
  const drag = useRef<{ x: number; y: number; span: Span; top: number; moved: boolean } | null>(null);
  const pinch = useRef(new Map<number, number>());
  const size = useSize(place);
  const whole: Span = [tree.x[0] as number, (tree.x[0] as number) + ((tree.weights[0] as number) || 1)];
  const zoomed: Span = [tree.x[zoom] as number, (tree.x[zoom] as number) + ((tree.weights[zoom] as number) || 1)];
  const [from, to] = useMotion(free ?? zoomed, free !== null);
  const view: Window = { from, to, top, row: rowHeight, upwards, ...size };
  const mostTop = Math.max(0, tree.rows.length - Math.floor(size.height / rowHeight));

  // Another part or other data: what the pointer chose is over.
  useEffect(() => setFree(null), [zoom, props.zooms, tree]);
  useEffect(() => setTop(t => (upwards ? mostTop : Math.min(t, mostTop))), [mostTop]);
  useEffect(() => {
    // The focused box comes into the viewport, and into the window.
    const row = flipRow(tree, upwards, tree.depth[focused] as number);
    const rows = Math.floor(size.height / rowHeight);
    if (!props.ring || rows <= 0) return;
    const next = Math.min(Math.max(top, row - rows + 1), row);
    setTop(next);
    showInWindow(place.current as HTMLElement, (row - next) * rowHeight);
  }, [focused, props.ring]);
  useEffect(() => {
    // A link or a key may zoom into a box that is scrolled out; a click cannot.
    const row = flipRow(tree, upwards, tree.depth[zoom] as number);
    const rows = Math.floor(size.height / rowHeight);
    if (rows > 0) setTop(t => (row >= t && row < t + rows ? t : Math.min(mostTop, Math.max(0, row - zoomedRow))));
  }, [zoom, props.zooms, tree, size.height]);
  useBoxes(boxes, scene, view, size, d => (window.everprofDrawn = d));
  useEffect(() => {
    const ctx = fitCanvas(over.current, size);
    if (!ctx) return;
    ctx.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    ctx.clearRect(0, 0, size.width, size.height);
    for (const [node, width] of [
      [hover, 1],
      [props.ring ? focused : -1, 2],
    ] as const) {
      if (node < 0 || node >= tree.count) continue;
      const left = Math.max(0, toPixels(view, tree.x[node] as number));
      const right = Math.min(size.width, toPixels(view, (tree.x[node] as number) + (tree.weights[node] as number)));
      ctx.strokeStyle = palette.text;
      ctx.lineWidth = width;
      ctx.strokeRect(
        left + 0.5,
        (flipRow(tree, upwards, tree.depth[node] as number) - top) * rowHeight + 0.5,
        Math.max(1, right - left - 1),
        rowHeight - 1,
      );
    }
  }, [hover, focused, props.ring, tree, palette, from, to, top, size.width, size.height, size.ratio]);

  const clamp = (a: number, b: number): Span => {
    const width = Math.min(b - a, whole[1] - whole[0]);
    const begin = Math.min(Math.max(a, whole[0]), whole[1] - width);
    return [begin, begin + width];
  };
  const scaleAt = (px: number, factor: number): void => {
    const at = toValue(view, px);
    const least = (whole[1] - whole[0]) * 1e-7;
    const width = Math.max(least, (to - from) * factor);
    const share = px / size.width;
    setFree(clamp(at - width * share, at + width * (1 - share)));
  };
  const local = (e: MouseEvent): [number, number] => {
    const r = (place.current as HTMLElement).getBoundingClientRect();
    return [e.clientX - r.left, e.clientY - r.top];
  };
  const at = (e: MouseEvent): number => {
    const [x, y] = local(e);
    return nodeAt(tree, flipRow(tree, upwards, Math.floor(y / rowHeight + top)), toValue(view, x));
  };
  const move = (e: PointerEvent): void => {
    const known = pinch.current.get(e.pointerId);
    if (pinch.current.size === 2 && known !== undefined) {
      const other = [...pinch.current].find(([id]) => id !== e.pointerId)?.[1] ?? 0;
      const [x] = local(e);
      scaleAt((x + other) / 2, Math.abs(known - other) / Math.max(1, Math.abs(x - other)));
      pinch.current.set(e.pointerId, x);
      return;
    }
    const d = drag.current;
    if (!d || !e.buttons) return props.setHover(at(e), { x: e.clientX, y: e.clientY });
    const [x, y] = local(e);
    if (!d.moved && Math.hypot(x - d.x, y - d.y) < still) return;
    d.moved = true;
    props.setHover(-1, { x: 0, y: 0 });
    const shift = ((d.x - x) / size.width) * (d.span[1] - d.span[0]);
    setFree(clamp(d.span[0] + shift, d.span[1] + shift));
    setTop(Math.min(mostTop, Math.max(0, d.top + (d.y - y) / rowHeight)));
  };
  return (
    <>
      {props.map && <Minimap scene={scene} shown={[from, to]} whole={whole} choose={setFree} />}
      <div
        class="canvas"
        ref={place}
        style={{ '--rows': `${props.height}px` }}
        onPointerDown={e => {
          const [x, y] = local(e);
          if (e.pointerType === 'touch') pinch.current.set(e.pointerId, x);
          drag.current = { x, y, span: [from, to], top, moved: false };
        }}
        onPointerMove={move}
        onPointerUp={e => {
          const clicked = drag.current && !drag.current.moved && pinch.current.size < 2;
          drag.current = null;
          pinch.current.delete(e.pointerId);
          if (clicked && e.button === 0) props.click(at(e));
        }}
        onPointerCancel={e => {
          drag.current = null;
          pinch.current.delete(e.pointerId);
        }}
        onPointerLeave={e => {
          props.setHover(-1, { x: 0, y: 0 });
          if (!e.buttons) drag.current = null;
        }}
        onWheel={e => {
          props.setHover(-1, { x: 0, y: 0 });
          if (e.ctrlKey) {
            e.preventDefault();
            return scaleAt(local(e)[0], Math.exp(e.deltaY / 300));
          }
          const next = Math.min(mostTop, Math.max(0, top + e.deltaY / rowHeight));
          if (next !== top) {
            e.preventDefault();
            setTop(next);
          }
        }}
      >
        <canvas ref={boxes} aria-hidden="true" />
        <canvas ref={over} aria-hidden="true" />
      </div>
    </>
  );
}
