// SPDX-License-Identifier: Apache-2.0
// The flame graph: two canvases of the size of the viewport, one for the boxes,
// one for what follows the pointer.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FlameAnswer } from '../api/answer.ts';
import { changesOf, colorsOf, dark, light, type Palette } from '../draw/palette.ts';
import { draw, type Drawn, isOther, rowHeight, type Scene, toPixels, toValue, type Window } from '../draw/flame.ts';
import { Lettering } from '../draw/text.ts';
import { type Found, search } from '../model/search.ts';
import { findHash, hashText, layout, nodeAt, pathTo, type Tree, weight } from '../model/tree.ts';
import { formatChange, formatShare, formatValue } from '../model/unit.ts';
import type { Context } from '../pages/app.tsx';
import { exactly } from '../state/reducer.ts';

declare global {
  interface Window {
    /** What the last frame drew, for tests and measurements. */
    everprofDrawn?: Drawn;
  }
}

function isDark(): boolean {
  const theme = document.documentElement.dataset.theme;

  return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

/** The values that the window shows when a node is zoomed into. */
function span(tree: Tree, node: number): [number, number] {
  const from = tree.x[node] as number;

  return [from, from + (weight(tree.answer, node) || 1)];
}

/** What can be done with a function; each is one key, too. */
function Actions({ name, act }: { name: string; act: Context['act'] }) {
  const add = (filter: 'focus' | 'ignore' | 'hide') => () => act({ do: 'add', filter, value: exactly(name) });

  return (
    <div class="actions" role="group" aria-label={`Actions for ${name}`}>
      <button type="button" onClick={add('focus')}>focus</button>
      <button type="button" onClick={add('ignore')}>ignore</button>
      <button type="button" onClick={add('hide')}>hide</button>
      <button type="button" onClick={() => act({ do: 'set', values: { view: 'sandwich', fn: name, zoom: '' } })}>sandwich</button>
      <button type="button" onClick={() => act({ do: 'set', values: { view: 'source', fn: name } })}>source</button>
      <button type="button" onClick={() => act({ do: 'set', values: { chart: 'history', fn: name } })}>over time</button>
    </div>
  );
}

/** Details of a node, for the line below the graph. */
function Detail({ tree, node }: { tree: Tree; node: number }) {
  const a = tree.answer;
  const self = a.self[node] as number;
  const total = a.total_of[node] as number;

  if (a.total_of_a) {
    const before = a.total_of_a[node] as number;
    return (
      <div class="detail" role="status">
        <b>{tree.name(node)}</b>{' '}
        <span>A {formatValue(before, a.unit)}</span> <span>B {formatValue(total, a.unit)}</span>{' '}
        <span>B−A {formatChange(before, total, a.unit)}</span>{' '}
        <span class="dim">{a.strings[a.file[node] as number]}</span>
      </div>
    );
  }
  return (
    <div class="detail" role="status">
      <b>{tree.name(node)}</b>{' '}
      <span>self {formatValue(self, a.unit)} {formatShare(self, a.total)}</span>{' '}
      <span>total {formatValue(total, a.unit)} {formatShare(total, a.total)}</span>{' '}
      <span class="dim">{a.strings[a.file[node] as number]}</span>
      {a.inlined[node] === 1 && <span class="dim"> inlined</span>}
    </div>
  );
}

interface Size {
  width: number;
  height: number;
  ratio: number;
}

/** The size of an element, and of its pixels. */
function useSize(element: { current: HTMLElement | null }): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0, ratio: 1 });

  useEffect(() => {
    const e = element.current;
    if (!e) return;
    const read = (): void => setSize({ width: e.clientWidth, height: e.clientHeight, ratio: devicePixelRatio });
    const observer = new ResizeObserver(read);
    observer.observe(e);
    addEventListener('resize', read);
    return () => {
      observer.disconnect();
      removeEventListener('resize', read);
    };
  }, []);
  return size;
}

/** The palette of the theme, which may change. */
function usePalette(): Palette {
  const [palette, setPalette] = useState(isDark() ? dark : light);

  useEffect(() => {
    const read = (): void => setPalette(isDark() ? dark : light);
    const media = matchMedia('(prefers-color-scheme: dark)');
    addEventListener('themechange', read);
    media.addEventListener('change', read);
    return () => {
      removeEventListener('themechange', read);
      media.removeEventListener('change', read);
    };
  }, []);
  return palette;
}

export function Flame(props: Context & { data: FlameAnswer; part?: boolean }) {
  const { data, state, act } = props;
  const place = useRef<HTMLDivElement>(null);
  const boxes = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const [hover, setHover] = useState(-1);
  const [focused, setFocused] = useState(0);
  const [active, setActive] = useState(false);
  const [top, setTop] = useState(0);
  const size = useSize(place);
  const palette = usePalette();
  const tree = useMemo(() => layout(data, state.order), [data, state.order]);
  const compared = data.total_of_a !== undefined;
  const colors = useMemo(
    () => (compared ? changesOf(tree, palette) : colorsOf(tree, palette, state.color)),
    [tree, palette, state.color, compared],
  );
  const found: Found = useMemo(() => search(data, state.find), [data, state.find]);
  const zoomed = useMemo(() => (state.zoom ? findHash(tree, state.zoom) : 0), [tree, state.zoom]);
  const zoom = Math.max(zoomed, 0);
  // Paths of an inverted graph or of a part do not begin at the outermost frame, where "under" begins.
  const rooted = !props.part && state.view !== 'invert';
  const [from, to] = span(tree, zoom);
  const window_: Window = { from, to, top, ...size };
  const height = Math.min(tree.rows.length * rowHeight, props.part ? 400 : 1200);

  useEffect(() => {
    const canvas = boxes.current;
    const ctx = canvas?.getContext('2d');
    if (!canvas || !ctx || !size.width) return;
    canvas.width = size.width * size.ratio;
    canvas.height = size.height * size.ratio;
    const font = `${12 * size.ratio}px ui-monospace, monospace`;
    const scene: Scene = {
      tree, colors, palette, font,
      fills: compared ? palette.change : palette.boxes,
      mark: (node) => (!compared || !node ? '' : data.total_of_a?.[node] === 0 ? '+ ' : data.total_of[node] === 0 ? '− ' : ''),
      matches: state.find ? found.names : null,
      lettering: new Lettering(ctx, font),
    };
    window.everprofDrawn = draw(ctx, scene, window_);
  }, [tree, colors, palette, found, state.find, zoom, top, size.width, size.height, size.ratio]);

  useEffect(() => {
    const canvas = over.current;
    const ctx = canvas?.getContext('2d');
    if (!canvas || !ctx || !size.width) return;
    canvas.width = size.width * size.ratio;
    canvas.height = size.height * size.ratio;
    ctx.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    for (const [node, width] of [[hover, 1], [active ? focused : -1, 2]] as const) {
      if (node < 0 || node >= tree.count) continue;
      const left = Math.max(0, toPixels(window_, tree.x[node] as number));
      const right = Math.min(size.width, toPixels(window_, (tree.x[node] as number) + weight(data, node)));
      ctx.strokeStyle = palette.text;
      ctx.lineWidth = width;
      ctx.strokeRect(left + 0.5, ((tree.depth[node] as number) - top) * rowHeight + 0.5, Math.max(1, right - left - 1), rowHeight - 1);
    }
  }, [hover, focused, active, tree, palette, zoom, top, size.width, size.height, size.ratio]);

  const at = (e: MouseEvent): number => {
    const r = (e.currentTarget as HTMLElement).getBoundingClientRect();
    return nodeAt(tree, Math.floor((e.clientY - r.top) / rowHeight + top), toValue(window_, e.clientX - r.left));
  };
  const zoomTo = (node: number): void => {
    if (node < 0) return;
    if (isOther(tree, node) && !rooted) return;
    if (isOther(tree, node)) return act({ do: 'set', values: { under: pathTo(tree, data.parent[node] as number), zoom: '' } });
    act({ do: 'set', values: { zoom: node === 0 ? '' : hashText(tree.hash[node] as number) } });
  };
  const move = (node: number): void => {
    if (node >= 0 && node < tree.count) setFocused(node);
  };
  const onKey = (e: KeyboardEvent): void => {
    const row = tree.rows[tree.depth[focused] as number] as Uint32Array;
    const k = row.indexOf(focused);
    const actions: Record<string, () => void> = {
      ArrowDown: () => move(nodeAt(tree, (tree.depth[focused] as number) + 1, tree.x[focused] as number)),
      ArrowUp: () => move(data.parent[focused] as number),
      ArrowRight: () => move(row[k + 1] ?? -1),
      ArrowLeft: () => move(row[k - 1] ?? -1),
      Enter: () => zoomTo(focused),
      Escape: () => zoomTo(0),
      KeyF: () => act({ do: 'add', filter: 'focus', value: exactly(tree.name(focused)) }),
      KeyI: () => act({ do: 'add', filter: 'ignore', value: exactly(tree.name(focused)) }),
      KeyM: () => act({ do: 'add', filter: 'hide', value: exactly(tree.name(focused)) }),
      KeyP: () => act({ do: 'set', values: { prune_from: exactly(tree.name(focused)) } }),
      KeyR: () => act({ do: 'set', values: { recursion: state.recursion === '' ? 'direct' : state.recursion === 'direct' ? 'all' : '' } }),
      KeyS: () => act({ do: 'set', values: { view: 'sandwich', fn: tree.name(focused), zoom: '' } }),
      KeyO: () => act({ do: 'set', values: { view: 'source', fn: tree.name(focused) } }),
      KeyT: () => act({ do: 'set', values: { chart: 'history', fn: tree.name(focused) } }),
    };
    const below = (): void => act({ do: 'set', values: { under: pathTo(tree, focused), zoom: '' } });
    const action = e.shiftKey ? (e.code === 'KeyF' && rooted ? below : undefined) : (actions[e.code] ?? actions[e.key]);
    if (!action || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    action();
  };
  const shown = hover >= 0 ? hover : active ? focused : zoom;
  return (
    <div class="flame">
      {/* Keys: without them preact may turn one of these elements into another, and the observer would watch the wrong one. */}
      {zoomed < 0 && !props.part && <div key="gone" class="notice warn" role="status">The box that this link zooms into is not in these profiles: everything is shown.</div>}
      {found.error && <div key="error" class="notice bad" role="alert">{found.error}</div>}
      <div key="head" class="flame-head">
        {data.total_of_a ? (
          <b>total {formatValue(data.total_of_a[0] as number, data.unit)} → {formatValue(data.total_of[0] as number, data.unit)} {formatChange(data.total_of_a[0] as number, data.total_of[0] as number, data.unit)}</b>
        ) : (
          <b>total {formatValue(data.total, data.unit)}</b>
        )}
        {state.find && !found.error && (
          <span role="status"> · {found.nodes} boxes match, {formatShare(found.weight, data.total)} of the total, {formatShare(found.self, data.total)} self</span>
        )}
        {zoom > 0 && <Actions name={tree.name(zoom)} act={act} />}
        {data.left_out.nodes > 0 && <span class="dim"> · {data.left_out.nodes} smaller boxes are folded into (other){rooted ? ': click one to open it' : '; the table has all functions'}</span>}
      </div>
      <div
        key="canvas"
        class="canvas"
        ref={place}
        style={{ height: `${height}px` }}
        tabIndex={0}
        role="application"
        aria-roledescription="flame graph"
        aria-label={`Flame graph, ${tree.count} boxes. Arrow keys move, Enter zooms. ${tree.name(focused)}, ${formatShare(data.total_of[focused] as number, data.total)}`}
        onKeyDown={onKey}
        onFocus={() => setActive(true)}
        onBlur={() => setActive(false)}
        onMouseMove={(e) => setHover(at(e))}
        onMouseLeave={() => setHover(-1)}
        onClick={(e) => { const node = at(e); move(node); zoomTo(node); }}
        onWheel={(e) => {
          const most = Math.max(0, tree.rows.length - Math.floor(size.height / rowHeight));
          const next = Math.min(most, Math.max(0, top + e.deltaY / rowHeight));
          if (next !== top) { e.preventDefault(); setTop(next); }
        }}
      >
        <canvas ref={boxes} aria-hidden="true" />
        <canvas ref={over} aria-hidden="true" />
      </div>
      <Detail key="detail" tree={tree} node={Math.max(0, Math.min(shown, tree.count - 1))} />
    </div>
  );
}
