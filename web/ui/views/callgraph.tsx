// SPDX-License-Identifier: Apache-2.0
// The call graph: one box for each function. It is laid out in the browser, so
// that the server needs no Graphviz.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { GraphAnswer } from '../api/answer.ts';
import { arrowPath, layoutGraph } from '../model/callgraph.ts';
import { matcher } from '../model/search.ts';
import type { Context } from '../pages/app.tsx';
import { Actions, functionKeys } from './actions.tsx';

const scales = [0.25, 0.35, 0.5, 0.7, 1, 1.4, 2];

/** The scale at first: the smallest with letters that can be read. */
const readable = 3;

/** How heavy a box is, as a class: 0 to 4; less and more of a comparison. */
function shadeOf(value: number, total: number, compared: boolean): string {
  const share = total ? Math.abs(value / total) : 0;
  const level = Math.min(4, Math.ceil(Math.sqrt(share) * 5));

  return `box${level}${compared && value < 0 ? ' less' : ''}`;
}

export function CallGraph(props: Context & { data: GraphAnswer }) {
  const { data, state } = props;
  const drawing = useMemo(() => layoutGraph(data), [data]);
  const place = useRef<HTMLDivElement>(null);
  const [scale, setScale] = useState(readable);
  const [chosen, setChosen] = useState(-1);
  const find = state.find ? matcher(state.find) : null;
  const compared = state.page === 'compare';
  const name = data.nodes[chosen]?.name;
  const factor = scales[scale] as number;

  useEffect(() => setChosen(-1), [data]);
  // Large graphs begin at the function with the largest total.
  useEffect(() => {
    const first = data.nodes.reduce((best, n, i) => (Math.abs(n.cum) > Math.abs(data.nodes[best]?.cum ?? 0) ? i : best), 0);
    const box = drawing.boxes[first];
    const element = place.current;
    if (box && element) element.scrollTo(box.x * factor - element.clientWidth / 2, box.y * factor - element.clientHeight / 3);
  }, [drawing, factor]);
  return (
    <div class="callgraph">
      <div class="flame-head">
        <b>{data.nodes.length} functions</b>
        <button type="button" aria-label="Smaller" disabled={scale === 0} onClick={() => setScale(scale - 1)}>−</button>
        <button type="button" aria-label="Larger" disabled={scale === scales.length - 1} onClick={() => setScale(scale + 1)}>+</button>
        {name && <Actions {...props} name={name} />}
      </div>
      <div class="graph" ref={place} tabIndex={0} role="group" aria-label="Call graph">
        <svg width={drawing.width * factor} height={drawing.height * factor} viewBox={`0 0 ${drawing.width} ${drawing.height}`}>
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">
              <path d="M0,0L8,4L0,8z" class="head" />
            </marker>
          </defs>
          {drawing.arrows.map((a, i) => (
            <g key={i} class={chosen === a.from || chosen === a.to ? 'arrow chosen' : 'arrow'}>
              <path d={arrowPath(a.points)} stroke-width={a.width} stroke-dasharray={a.dashed ? '4 3' : undefined} marker-end="url(#arrow)" />
              <text x={a.x} y={a.y + 4}>{a.text}</text>
            </g>
          ))}
          {drawing.boxes.map((b) => {
            const n = data.nodes[b.node] as GraphAnswer['nodes'][number];
            return (
              <g
                key={b.node}
                class={`box ${shadeOf(n.flat, data.total, compared)}${chosen === b.node ? ' chosen' : ''}${find?.test(n.name) ? ' found' : ''}`}
                // SVG has no tabIndex: its attributes have one spelling.
                tabindex={0}
                role="button"
                aria-label={b.lines.join(' ')}
                onClick={() => setChosen(b.node)}
                onKeyDown={(e) => {
                  if (e.key === 'Enter') setChosen(b.node);
                  else functionKeys(e, props, n.name);
                }}
              >
                <rect x={b.x - b.width / 2} y={b.y - b.height / 2} width={b.width} height={b.height} rx="3" />
                {b.lines.map((line, k) => (
                  <text key={k} x={b.x} y={b.y - b.height / 2 + 5 + (k + 1) * b.font * 1.3 - b.font * 0.35} font-size={b.font}>{`${line} `}</text>
                ))}
              </g>
            );
          })}
        </svg>
      </div>
      <div class="detail" role="status">{name ?? '\u00a0'} <span class="dim">{data.nodes[chosen]?.file}</span></div>
    </div>
  );
}
