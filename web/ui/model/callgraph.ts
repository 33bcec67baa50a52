// SPDX-License-Identifier: Apache-2.0
// The layout of a call graph: callers above what they call. The server chooses
// nodes and edges, as pprof does.
import type { GraphAnswer } from '../api/answer.ts';
import { shortName } from './package.ts';
import { formatScaled, formatShare } from './unit.ts';

export interface Box {
  node: number;
  /** The centre, and the size. */
  x: number;
  y: number;
  width: number;
  height: number;
  font: number;
  lines: string[];
}

export interface Arrow {
  from: number;
  to: number;
  points: { x: number; y: number }[];
  width: number;
  text: string;
  /** Where the text is. */
  x: number;
  y: number;
  dashed: boolean;
}

export interface Drawing {
  boxes: Box[];
  arrows: Arrow[];
  width: number;
  height: number;
}

/** Width of a letter of a monospace font, by its size. */
const advance = 0.61;
const least = 10;
const most = 20;
const longest = 48;

function cut(text: string): string {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}

/** A box is as large as the function's own share. */
function boxOf(a: GraphAnswer, i: number): Omit<Box, 'x' | 'y'> {
  const n = a.nodes[i] as GraphAnswer['nodes'][number];
  const share = a.total ? Math.sqrt(Math.abs(n.flat / a.total)) : 0;
  const font = Math.round(least + (most - least) * Math.min(1, share));
  const own = `${formatScaled(n.flat, a)} (${formatShare(n.flat, a.total)})`;
  const lines = [
    cut(shortName(n.name)),
    n.flat ? own : '',
    n.cum === n.flat ? '' : `${n.flat ? 'of ' : ''}${formatScaled(n.cum, a)} (${formatShare(n.cum, a.total)})`,
  ].filter(Boolean);

  return {
    node: i,
    font,
    lines,
    width: Math.max(...lines.map(l => l.length)) * font * advance + 16,
    height: lines.length * font * 1.3 + 10,
  };
}

/** Place all boxes and arrows. The library for that is large: it is loaded for the first call graph. */
export async function layoutGraph(a: GraphAnswer): Promise<Drawing> {
  const { Graph, layout } = await import('@dagrejs/dagre');
  const g = new Graph({ multigraph: true });
  const boxes = a.nodes.map((_, i) => boxOf(a, i));

  g.setGraph({ rankdir: 'TB', nodesep: 16, ranksep: 44, edgesep: 8, marginx: 8, marginy: 8 });
  boxes.forEach((b, i) => g.setNode(String(i), { width: b.width, height: b.height }));
  a.edges.forEach((e, i) => {
    const text = formatScaled(e.weight, a);
    g.setEdge(
      String(e.from),
      String(e.to),
      {
        width: text.length * 11 * advance,
        height: 14,
        labelpos: 'r',
        weight: 1 + Math.round((10 * Math.abs(e.weight)) / (Math.abs(a.total) || 1)),
      },
      String(i),
    );
  });
  layout(g);
  const arrows = a.edges.map((e, i): Arrow => {
    const laid = g.edge(String(e.from), String(e.to), String(i)) as {
      points: { x: number; y: number }[];
      x?: number;
      y?: number;
    };
    return {
      from: e.from,
      to: e.to,
      points: laid.points,
      dashed: e.residual,
      width: 1 + 5 * Math.sqrt(Math.abs(e.weight) / (Math.abs(a.total) || 1)),
      text: formatScaled(e.weight, a) + (e.inline ? ' (inline)' : ''),
      x: laid.x ?? 0,
      y: laid.y ?? 0,
    };
  });
  const size = g.graph() as { width?: number; height?: number };
  return {
    boxes: boxes.map((b, i) => ({
      ...b,
      ...(g.node(String(i)) as { x: number; y: number; width: number; height: number }),
    })),
    arrows,
    width: Math.ceil(size.width ?? 0) + 1,
    height: Math.ceil(size.height ?? 0) + 1,
  };
}

/** The path of an arrow: straight ends, and bends through the points. */
export function arrowPath(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points.map(p => ({ x: Math.round(p.x * 10) / 10, y: Math.round(p.y * 10) / 10 }));

  if (!first) return '';
  let path = `M${first.x},${first.y}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const a = rest[i] as { x: number; y: number };
    const b = rest[i + 1] as { x: number; y: number };
    const end = i === rest.length - 2 ? b : { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    path += `Q${a.x},${a.y} ${end.x},${end.y}`;
  }
  return rest.length === 1 ? `${path}L${rest[0]?.x},${rest[0]?.y}` : path;
}
