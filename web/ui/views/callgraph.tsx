// SPDX-License-Identifier: Apache-2.0
// The call graph: one box for each function. It is laid out in the browser, so
// that the server needs no Graphviz.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { GraphAnswer } from '../api/answer.ts';
import { arrowPath, type Drawing, layoutGraph } from '../model/callgraph.ts';
import { matcher } from '../model/search.ts';
import { useSize } from '../parts/hooks.ts';
import { FailureBox } from '../parts/notice.tsx';
import type { Context } from '../state/context.ts';
import { isDiff } from '../state/state.ts';
import { Actions, functionKeys } from './actions.tsx';

/** What one step of the zoom changes, and the limits of the zoom. */
const zoomStep = 1.4;
const leastScale = 0.1;
const mostScale = 3;

/** How heavy a box is, as a class: 0 to 4; less and more of a comparison. */
function shadeOf(value: number, total: number, compared: boolean): string {
  const share = total ? Math.abs(value / total) : 0;
  const level = Math.min(4, Math.ceil(Math.sqrt(share) * 5));

  return `box${level}${compared && value < 0 ? ' less' : ''}`;
}

/** The graph as a picture. */
function Boxes(
  props: Context & {
    data: GraphAnswer;
    drawing: Drawing;
    scale: number;
    chosen: number;
    choose: (node: number) => void;
  },
) {
  const { data, drawing, state, scale, chosen, choose } = props;
  const find = state.find ? matcher(state.find) : null;
  const compared = isDiff(state);

  return (
    <svg
      width={drawing.width * scale}
      height={drawing.height * scale}
      viewBox={`0 0 ${drawing.width} ${drawing.height}`}
    >
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="8"
          markerHeight="8"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path d="M0,0L8,4L0,8z" class="head" />
        </marker>
      </defs>
      {drawing.arrows.map((a, i) => (
        <g key={i} class={chosen === a.from || chosen === a.to ? 'arrow chosen' : 'arrow'}>
          <path
            d={arrowPath(a.points)}
            stroke-width={a.width}
            stroke-dasharray={a.dashed ? '4 3' : undefined}
            marker-end="url(#arrow)"
          />
          <text x={a.x} y={a.y + 4}>
            {a.text}
          </text>
        </g>
      ))}
      {drawing.boxes.map(b => {
        const n = data.nodes[b.node] as GraphAnswer['nodes'][number];
        return (
          <g
            key={b.node}
            class={`box ${shadeOf(n.flat, data.total, compared)}${chosen === b.node ? ' chosen' : ''}${find?.test(n.name) ? ' found' : ''}`}
            // SVG has no tabIndex: its attributes have one spelling.
            tabindex={0}
            role="button"
            aria-label={b.lines.join(' ')}
            onClick={() => choose(b.node)}
            onKeyDown={e => {
              if (e.key === 'Enter') choose(b.node);
              else functionKeys(e, props, n.name);
            }}
          >
            <title>{`${n.name}\n${n.file}`}</title>
            <rect x={b.x - b.width / 2} y={b.y - b.height / 2} width={b.width} height={b.height} rx="3" />
            {b.lines.map((line, k) => (
              <text
                key={k}
                x={b.x}
                y={b.y - b.height / 2 + 5 + (k + 1) * b.font * 1.3 - b.font * 0.35}
                font-size={b.font}
              >{`${line} `}</text>
            ))}
          </g>
        );
      })}
    </svg>
  );
}

/** Largest width and height of the map, in pixels. */
const mapSize = [180, 120] as const;

/** The whole graph, small, with the part that is on the screen; a click or a drag moves it. */
function GraphMap({
  drawing,
  shown,
  go,
}: {
  drawing: Drawing;
  shown: { x: number; y: number; width: number; height: number };
  go: (x: number, y: number) => void;
}) {
  const scale = Math.min(mapSize[0] / drawing.width, mapSize[1] / drawing.height);
  const at = (e: { offsetX: number; offsetY: number }): void => go(e.offsetX / scale, e.offsetY / scale);

  return (
    <svg
      class="graph-map"
      aria-hidden="true"
      width={drawing.width * scale}
      height={drawing.height * scale}
      viewBox={`0 0 ${drawing.width} ${drawing.height}`}
      onPointerDown={at}
      onPointerMove={e => {
        if (e.buttons) at(e);
      }}
    >
      {drawing.boxes.map(b => (
        <rect key={b.node} x={b.x - b.width / 2} y={b.y - b.height / 2} width={b.width} height={b.height} />
      ))}
      <rect class="graph-shown" {...shown} stroke-width={2 / scale} />
    </svg>
  );
}

/** The graph with its boxes placed, which takes a moment; or why that is not possible. */
function useDrawing(data: GraphAnswer): [Drawing | null, string] {
  const [made, setMade] = useState<{ of: GraphAnswer; drawing: Drawing } | null>(null);
  const [failure, setFailure] = useState('');

  useEffect(() => {
    let current = true;
    setFailure('');
    layoutGraph(data)
      .then(drawing => current && setMade({ of: data, drawing }))
      .catch(
        () =>
          current &&
          setFailure(
            'The part of the page that places the boxes cannot be loaded. If the server was upgraded, reload the page.',
          ),
      );
    return () => {
      current = false;
    };
  }, [data]);
  return [made?.of === data ? made.drawing : null, failure];
}

export function CallGraph(props: Context & { data: GraphAnswer }) {
  const { data, state } = props;
  const [drawing, failure] = useDrawing(data);
  const place = useRef<HTMLDivElement>(null);
  const size = useSize(place);
  // 0: as large as fits. What is in the middle stays there when the scale changes.
  const [chosenScale, setScale] = useState(0);
  const middle = useRef<[number, number] | null>(null);
  const [chosen, setChosen] = useState(-1);
  const fitted = drawing ? Math.min(1, (size.width - 2) / drawing.width, (size.height - 2) / drawing.height) : 1;
  const scale = chosenScale || Math.max(leastScale, fitted);
  const name = data.nodes[chosen]?.name;
  const drag = useRef<{ x: number; y: number } | null>(null);
  const [scrolled, setScrolled] = useState({ x: 0, y: 0 });
  const whole = drawing && drawing.width * scale <= size.width && drawing.height * scale <= size.height;
  const go = (x: number, y: number): void =>
    place.current?.scrollTo(x * scale - size.width / 2, y * scale - size.height / 2);
  const zoomBy = (factor: number): void => {
    const e = place.current;
    if (e) middle.current = [(e.scrollLeft + e.clientWidth / 2) / scale, (e.scrollTop + e.clientHeight / 2) / scale];
    setScale(Math.min(mostScale, Math.max(leastScale, scale * factor)));
  };

  // What was in the middle is forgotten with the scale that somebody chose.
  const fit = (): void => {
    middle.current = null;
    place.current?.scrollTo(0, 0);
    setScale(0);
  };

  useEffect(() => {
    setChosen(-1);
    fit();
  }, [data]);
  useLayoutEffect(() => {
    const [e, at] = [place.current, middle.current];
    if (e && at) e.scrollTo(at[0] * scale - e.clientWidth / 2, at[1] * scale - e.clientHeight / 2);
  }, [scale]);
  return (
    <div class="callgraph" data-state={drawing ? 'ready' : failure ? 'failed' : 'loading'}>
      {failure && <FailureBox text={failure} utc={state.tz === 'utc'} />}
      <div class="flame-head">
        <b>{data.nodes.length} functions</b>
        <button type="button" aria-label="Smaller" disabled={scale <= leastScale} onClick={() => zoomBy(1 / zoomStep)}>
          −
        </button>
        <button type="button" aria-label="Larger" disabled={scale >= mostScale} onClick={() => zoomBy(zoomStep)}>
          +
        </button>
        <button type="button" disabled={!chosenScale} onClick={fit}>
          Fit
        </button>
        {name && <Actions {...props} name={name} />}
      </div>
      <div
        class="graph"
        ref={place}
        tabIndex={0}
        role="group"
        aria-label="Call graph"
        onPointerDown={e => {
          if (e.pointerType === 'mouse') drag.current = { x: e.clientX, y: e.clientY };
        }}
        onPointerMove={e => {
          const d = drag.current;
          if (!d || !e.buttons) return void (drag.current = null);
          e.currentTarget.scrollBy(d.x - e.clientX, d.y - e.clientY);
          drag.current = { x: e.clientX, y: e.clientY };
        }}
        onScroll={e => setScrolled({ x: e.currentTarget.scrollLeft, y: e.currentTarget.scrollTop })}
        onWheel={e => {
          if (!e.ctrlKey) return;
          e.preventDefault();
          zoomBy(Math.exp(-e.deltaY / 300));
        }}
      >
        {drawing && <Boxes {...props} drawing={drawing} scale={scale} chosen={chosen} choose={setChosen} />}
      </div>
      {drawing && !whole && (
        <GraphMap
          drawing={drawing}
          shown={{
            x: scrolled.x / scale,
            y: scrolled.y / scale,
            width: size.width / scale,
            height: size.height / scale,
          }}
          go={go}
        />
      )}
      <div class="detail" role="status">
        {name ?? '\u00a0'} <span class="dim">{data.nodes[chosen]?.file}</span>
      </div>
    </div>
  );
}
