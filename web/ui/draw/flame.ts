// SPDX-License-Identifier: Apache-2.0
// Draws the part of a flame graph that is visible, on a canvas of the size of
// the viewport. Boxes narrower than half a pixel are drawn together as grey
// runs, so that a row costs at most two steps per pixel, however many nodes it
// has.
import { firstVisible, type Tree } from '../model/tree.ts';
import type { Palette } from './palette.ts';
import type { Lettering } from './text.ts';

export const rowHeight = 20;

/** Rows lower than this have no names. */
const smallest = 12;

export interface Window {
  /** The values at the left and the right edge. */
  from: number;
  to: number;
  /** The first row that is drawn, with a fraction; rows above it are scrolled out. */
  top: number;
  width: number;
  height: number;
  ratio: number;
  /** Height of a row; rows without room for letters have none. */
  row: number;
  /** The outermost frame is the lowest row: of callers, which grow upwards. */
  upwards: boolean;
}

/** What was drawn: tests count it. */
export interface Drawn {
  boxes: number;
  runs: number;
  fills: number;
  texts: number;
  /** How long it took, in milliseconds. */
  ms: number;
}

/** A box of the frame, in device pixels, to be drawn with its colour. */
interface Box {
  node: number;
  left: number;
  right: number;
  top: number;
}

export interface Scene {
  tree: Tree;
  /** By node: the index of its colour in `fills`. */
  colors: Uint8Array;
  fills: string[];
  /** By index of a name: whether it matches the search; null: no search. */
  matches: Uint8Array | null;
  palette: Palette;
  lettering: Lettering;
  /** What is before a name: "+" or "−" for boxes that only one side has. */
  mark: (node: number) => string;
  font: string;
}

/** Pixels of a value. */
export function toPixels(w: Window, value: number): number {
  return ((value - w.from) / (w.to - w.from)) * w.width;
}

/** The value at a pixel. */
export function toValue(w: Window, px: number): number {
  return w.from + (px / w.width) * (w.to - w.from);
}

/** The row of a depth from above, or the depth of a row: this is its own inverse. */
export function flipRow(tree: Tree, upwards: boolean, depth: number): number {
  return upwards ? tree.rows.length - 1 - depth : depth;
}

/** Collect the boxes of one row. What is narrower than half a pixel becomes a grey run. */
function collectRow(scene: Scene, w: Window, at: number, boxes: Box[][], runs: Box[], matched: Box[]): void {
  const { tree, colors, matches } = scene;
  const row = tree.rows[flipRow(tree, w.upwards, at)];

  if (!row) return;
  const scale = (w.width * w.ratio) / (w.to - w.from);
  const top = Math.round((at - w.top) * w.row * w.ratio);
  const limit = w.width * w.ratio;
  let run: Box | null = null;
  let k = firstVisible(tree, row, w.from);
  while (k < row.length) {
    const node = row[k] as number;
    const x = tree.x[node] as number;
    const left = Math.round((x - w.from) * scale);
    if (left >= limit) break;
    const end = (x + (tree.weights[node] as number) - w.from) * scale;
    const right = Math.round(end);
    if (end - (x - w.from) * scale >= w.ratio / 2 && right > left) {
      const box = { node, left: Math.max(left, 0), right: Math.min(right, limit), top };
      (
        boxes[
          isOther(tree, node) ? scene.fills.length : node === 0 ? scene.fills.length + 1 : (colors[node] as number)
        ] as Box[]
      ).push(box);
      if (matches !== null && matches[tree.answer.name[node] as number] === 1) matched.push(box);
      k++;
      continue;
    }
    // Go on at the first box that ends behind the next half pixel.
    const next = w.from + ((Math.floor((end * 2) / w.ratio) + 1) * w.ratio) / 2 / scale;
    const behind = Math.max(k + 1, firstVisible(tree, row, next, k));
    const last = row[behind - 1] as number;
    const runEnd = Math.min(
      Math.round(((tree.x[last] as number) + (tree.weights[last] as number) - w.from) * scale),
      limit,
    );
    const piece = { node, left: Math.max(left, 0), right: Math.max(runEnd, left + 1), top };
    if (matches !== null && anyMatch(scene, row, k, behind)) matched.push(piece);
    // Runs that touch are drawn at once.
    if (run && run.right >= piece.left) run.right = Math.max(run.right, piece.right);
    else runs.push((run = { ...piece }));
    k = behind;
  }
}

/** Whether a run of dust has a match. */
function anyMatch(scene: Scene, row: Uint32Array, from: number, to: number): boolean {
  for (let k = from; k < to; k++) {
    if ((scene.matches as Uint8Array)[scene.tree.answer.name[row[k] as number] as number] === 1) return true;
  }
  return false;
}

export function isOther(tree: Tree, node: number): boolean {
  return node > 0 && tree.answer.file[node] === 0 && tree.answer.binary[node] === 0 && tree.name(node) === '(other)';
}

/** Draw all visible rows. */
export function draw(ctx: CanvasRenderingContext2D, scene: Scene, w: Window): Drawn {
  const { palette, tree } = scene;
  const boxes: Box[][] = Array.from({ length: scene.fills.length + 2 }, () => []);
  const runs: Box[] = [];
  const matched: Box[] = [];
  const began = performance.now();
  const drawn: Drawn = { boxes: 0, runs: 0, fills: 0, texts: 0, ms: 0 };
  const small = w.row < smallest;
  const gap = small ? 0 : Math.max(1, Math.round(w.ratio));
  const height = Math.max(1, Math.round(w.row * w.ratio) - gap);
  const mark = Math.min(height, small ? height : 2 * gap);

  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.fillStyle = palette.ground;
  ctx.fillRect(0, 0, w.width * w.ratio, w.height * w.ratio);
  const first = Math.max(0, Math.floor(w.top));
  const last = Math.min(tree.rows.length - 1, Math.ceil(w.top + w.height / w.row));
  for (let at = first; at <= last; at++) collectRow(scene, w, at, boxes, runs, matched);
  const fills = [...scene.fills, palette.other, palette.root];
  boxes.forEach((list, color) => {
    if (!list.length) return;
    ctx.fillStyle = fills[color] as string;
    drawn.fills++;
    for (const b of list)
      ctx.fillRect(b.left, b.top, Math.max(1, b.right - b.left - (b.right - b.left > 3 * gap ? gap : 0)), height);
    drawn.boxes += list.length;
  });
  if (runs.length) {
    ctx.fillStyle = palette.dust;
    drawn.fills++;
    for (const b of runs) ctx.fillRect(b.left, b.top, Math.max(1, b.right - b.left), height);
    drawn.runs = runs.length;
  }
  if (matched.length) {
    ctx.fillStyle = palette.match;
    drawn.fills++;
    for (const b of matched) frame(ctx, b, height, mark);
  }
  if (!small) drawn.texts = letter(ctx, scene, w, boxes, height);
  drawn.ms = performance.now() - began;
  return drawn;
}

/** Frame a box; one that is too narrow for it gets its lower edge. */
function frame(ctx: CanvasRenderingContext2D, b: Box, height: number, mark: number): void {
  const width = Math.max(1, b.right - b.left);

  ctx.fillRect(b.left, b.top + height - mark, width, mark);
  if (width < 6 * mark || height < 6 * mark) return;
  ctx.fillRect(b.left, b.top, width, mark);
  ctx.fillRect(b.left, b.top, mark, height);
  ctx.fillRect(b.right - 2 * mark, b.top, mark, height);
}

/** Write the names into the boxes that have room for them. */
function letter(ctx: CanvasRenderingContext2D, scene: Scene, w: Window, boxes: Box[][], height: number): number {
  const padding = 4 * w.ratio;
  let count = 0;

  ctx.font = scene.font;
  ctx.textBaseline = 'middle';
  ctx.fillStyle = scene.palette.text;
  for (const list of boxes) {
    for (const b of list) {
      const room = b.right - b.left - 2 * padding;
      if (room < 2 * padding) continue;
      const text = scene.lettering.fit(scene.mark(b.node) + scene.tree.name(b.node), room);
      if (!text) continue;
      ctx.fillText(text, b.left + padding, b.top + height / 2 + w.ratio / 2);
      count++;
    }
  }
  return count;
}
