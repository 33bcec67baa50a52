// SPDX-License-Identifier: Apache-2.0
// A flame graph as columns, as the API sends it, and its layout. There is one
// number per node and no objects, so that 100 000 nodes are no burden.
import type { FlameAnswer } from '../api/answer.ts';

export interface Tree {
  answer: FlameAnswer;
  count: number;
  /** By node: its left edge, in the unit of the values, from the root's. */
  x: Float64Array;
  depth: Uint16Array | Uint32Array;
  /** By depth: the nodes of this row, from left to right. */
  rows: Uint32Array[];
  /** By node: a hash of the names from the root (two halves of 20 bits). */
  hash: Float64Array;
  /** By node: what its box is as wide as. */
  weights: Float64Array;
  name(i: number): string;
}

/**
 * What a box is as wide as; in a comparison, the mean of its two sides. The
 * larger of them would not do: children would be wider together than their parent.
 */
function weightOf(a: FlameAnswer, i: number): number {
  const b = Math.abs(a.total_of[i] as number);

  return a.total_of_a ? (b + Math.abs(a.total_of_a[i] as number)) / 2 : b;
}

/** A hash of a text: two halves of 20 bits. */
function hashOf(text: string): number {
  let a = 0x811c9dc5;
  let b = 0x9dc5;

  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    a = Math.imul(a ^ c, 0x01000193);
    b = Math.imul(b ^ (c + 0x5bd1), 0x85ebca6b);
    b ^= b >>> 13;
  }
  return ((b >>> 0) % 0x100000) * 0x100000 + (((a ^ (a >>> 20)) >>> 0) % 0x100000);
}

/** The hash of a path: from that of its parent, and that of the name of its last node. */
function mix(parent: number, name: number): number {
  const low = parent % 0x100000;
  const high = Math.floor(parent / 0x100000);
  let a = Math.imul(low ^ 0x9e3779b9, 0x85ebca6b) ^ name % 0x100000;
  let b = Math.imul(high ^ 0x7f4a7c15, 0xc2b2ae35) ^ Math.floor(name / 0x100000);

  a = Math.imul(a ^ (a >>> 15) ^ high, 0x2c1b3c6d);
  b = Math.imul(b ^ (b >>> 13) ^ low, 0x297a2d39);
  return (((b ^ (b >>> 16)) >>> 0) % 0x100000) * 0x100000 + (((a ^ (a >>> 12)) >>> 0) % 0x100000);
}

/** The eight characters of a hash in the URL. */
export function hashText(hash: number): string {
  return hash.toString(36).padStart(8, '0');
}

/** Lay out a tree: heaviest children first, or in the order of their names. */
export function layout(answer: FlameAnswer, order: 'value' | 'name'): Tree {
  const count = answer.name.length;
  const depth = new Uint32Array(count);
  const x = new Float64Array(count);
  const hash = new Float64Array(count);
  const weights = new Float64Array(count);
  const names = new Float64Array(answer.strings.length).fill(-1);
  const inRow: number[] = [];
  const name = (i: number): string => answer.strings[answer.name[i] as number] as string;

  for (let i = 0; i < count; i++) {
    const parent = answer.parent[i] as number;
    const text = answer.name[i] as number;
    weights[i] = weightOf(answer, i);
    depth[i] = parent < 0 ? 0 : (depth[parent] as number) + 1;
    inRow[depth[i] as number] = (inRow[depth[i] as number] ?? 0) + 1;
    if (parent < 0) continue;
    if ((names[text] as number) < 0) names[text] = hashOf(name(i));
    hash[i] = mix(hash[parent] as number, names[text] as number);
  }
  const sent = inRow.map(n => new Uint32Array(n));
  const filled = new Uint32Array(sent.length);
  for (let i = 0; i < count; i++) {
    const d = depth[i] as number;
    (sent[d] as Uint32Array)[filled[d]!++] = i;
  }
  // The nodes come in depth-first order: in a row, those of one parent are together.
  const begin = new Uint32Array(count);
  const children = new Uint32Array(count);
  for (const row of sent) {
    for (let k = 0; k < row.length; k++) {
      const parent = answer.parent[row[k] as number] as number;
      if (parent >= 0 && !children[parent]!++) begin[parent] = k;
    }
  }
  const heaviest = (a: number, b: number): number => (weights[b] as number) - (weights[a] as number) || a - b;
  const rows = [sent[0] ?? new Uint32Array(0)];
  for (let d = 1; d < sent.length; d++) {
    const from = sent[d] as Uint32Array;
    const above = rows[d - 1] as Uint32Array;
    const row = new Uint32Array(from.length);
    let to = 0;
    for (let k = 0; k < above.length; k++) {
      const parent = above[k] as number;
      const n = children[parent] as number;
      if (!n) continue;
      const first = begin[parent] as number;
      // The columns have siblings in the order of their names.
      if (order === 'value' && n > 1) from.subarray(first, first + n).sort(heaviest);
      let at = x[parent] as number;
      for (let c = first; c < first + n; c++) {
        const i = from[c] as number;
        row[to++] = i;
        x[i] = at;
        at += weights[i] as number;
      }
    }
    rows.push(row);
  }
  return { answer, count, x, depth, rows, hash, weights, name };
}

/** The node with this hash, or -1. */
export function findHash(tree: Tree, text: string): number {
  for (let i = 0; i < tree.count; i++) {
    if (hashText(tree.hash[i] as number) === text) return i;
  }
  return -1;
}

/** The names from the outermost frame to a node, without the root. */
export function pathTo(tree: Tree, node: number): string[] {
  const out: string[] = [];

  for (let i = node; i > 0; i = tree.answer.parent[i] as number) out.unshift(tree.name(i));
  return out;
}

/** The first place in a row, from `from` on, whose box ends right of `at`. */
export function firstVisible(tree: Tree, row: Uint32Array, at: number, from = 0): number {
  const ends = (k: number): boolean =>
    (tree.x[row[k] as number] as number) + (tree.weights[row[k] as number] as number) <= at;
  let low = from;
  let step = 1;

  // It is mostly near: look at places that are ever farther away first.
  while (low + step < row.length && ends(low + step)) {
    low += step;
    step *= 2;
  }
  let high = Math.min(row.length, low + step);
  while (low < high) {
    const mid = (low + high) >> 1;
    if (ends(mid)) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** The node at a place of a row, or -1. */
export function nodeAt(tree: Tree, depth: number, at: number): number {
  const row = tree.rows[depth];

  if (!row) return -1;
  const i = row[firstVisible(tree, row, at)];
  return i !== undefined && (tree.x[i] as number) <= at ? i : -1;
}

/** The node before or after a node that a test accepts, around the end of the tree; -1: there is none. */
export function nextNode(tree: Tree, from: number, step: 1 | -1, test: (node: number) => boolean): number {
  for (let k = 1; k <= tree.count; k++) {
    const i = (((from + step * k) % tree.count) + tree.count) % tree.count;
    if (test(i)) return i;
  }
  return -1;
}

/** The children of a node, from left to right. */
export function childrenOf(tree: Tree, node: number): number[] {
  const row = tree.rows[(tree.depth[node] as number) + 1];
  const out: number[] = [];

  if (!row) return out;
  // Children have a place in their parent's range; those of no weight are at its edge.
  let k = firstVisible(tree, row, tree.x[node] as number);
  while (k > 0 && tree.answer.parent[row[k - 1] as number] === node) k--;
  for (; k < row.length && out.length <= row.length; k++) {
    const i = row[k] as number;
    if (tree.answer.parent[i] === node) out.push(i);
    else if ((tree.x[i] as number) > (tree.x[node] as number) + (tree.weights[node] as number)) break;
  }
  return out;
}
