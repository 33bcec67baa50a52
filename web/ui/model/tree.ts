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
  name(i: number): string;
}

/** What a box of a diff is as wide as: the larger of its two sides. */
export function weight(a: FlameAnswer, i: number): number {
  const b = Math.abs(a.total_of[i] as number);
  const base = a.total_of_a ? Math.abs(a.total_of_a[i] as number) : 0;

  return Math.max(b, base);
}

/** The hash of a path: that of its parent, and the name of the node. */
function mix(parent: number, text: string): number {
  let a = (parent % 0x100000) ^ 0x9dc5;
  let b = Math.floor(parent / 0x100000) ^ 0x811c;

  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    a = Math.imul(a ^ c, 0x01000193) >>> 0;
    b = Math.imul(b ^ (c + 0x5bd1), 0x85ebca6b) >>> 0;
    b ^= b >>> 13;
  }
  return ((b >>> 0) % 0x100000) * 0x100000 + ((a ^ (a >>> 20)) >>> 0) % 0x100000;
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
  const cursor = new Float64Array(count);
  const hash = new Float64Array(count);
  const inRow: number[] = [];
  const name = (i: number): string => answer.strings[answer.name[i] as number] as string;

  for (let i = 0; i < count; i++) {
    const parent = answer.parent[i] as number;
    depth[i] = parent < 0 ? 0 : (depth[parent] as number) + 1;
    hash[i] = parent < 0 ? 0 : mix(hash[parent] as number, name(i));
    inRow[depth[i] as number] = (inRow[depth[i] as number] ?? 0) + 1;
  }
  const rows = inRow.map((n) => new Uint32Array(n));
  const filled = new Uint32Array(rows.length);
  for (let i = 0; i < count; i++) {
    const d = depth[i] as number;
    (rows[d] as Uint32Array)[filled[d]!++] = i;
  }
  // A row is sorted by its parents' order first: rows from the top downwards.
  const rank = new Uint32Array(count);
  for (const row of rows) {
    const byValue = (a: number, b: number): number => weight(answer, b) - weight(answer, a);
    row.sort((a, b) => {
      const pa = rank[answer.parent[a] as number] as number;
      const pb = rank[answer.parent[b] as number] as number;
      // The columns have siblings in the order of their names.
      return pa - pb || (order === 'value' ? byValue(a, b) : 0) || a - b;
    });
    row.forEach((node, k) => (rank[node] = k));
    for (const i of row) {
      const parent = answer.parent[i] as number;
      if (parent < 0) continue;
      x[i] = cursor[parent] as number;
      cursor[parent] = (cursor[parent] as number) + weight(answer, i);
      cursor[i] = x[i] as number;
    }
  }
  return { answer, count, x, depth, rows, hash, name };
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

/** The first place in a row whose box ends right of `at`. */
export function firstVisible(tree: Tree, row: Uint32Array, at: number): number {
  let low = 0;
  let high = row.length;

  while (low < high) {
    const mid = (low + high) >> 1;
    const i = row[mid] as number;
    if ((tree.x[i] as number) + weight(tree.answer, i) <= at) low = mid + 1;
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
    else if ((tree.x[i] as number) > (tree.x[node] as number) + weight(tree.answer, node)) break;
  }
  return out;
}
