// SPDX-License-Identifier: Apache-2.0
// Colours of boxes: one per package, the same in every profile. Contrast with
// the text is at least 4.5 in both themes (tests/ui/unit/palette.test.ts).
import { fnv, packageOf } from '../model/package.ts';
import type { Tree } from '../model/tree.ts';

export interface Palette {
  /** Fill colours of packages. */
  boxes: string[];
  text: string;
  dim: string;
  root: string;
  other: string;
  dust: string;
  match: string;
  /** Of a comparison: from much less to much more, the middle is the same. */
  change: string[];
  /** Of a heat map: from little to the most. */
  heat: string[];
  ground: string;
}

const hues = [18, 40, 62, 95, 140, 170, 195, 215, 240, 270, 305, 340];

function shades(light: [number, number], saturation: number): string[] {
  return hues.flatMap(h => light.map(l => `hsl(${h} ${saturation}% ${l}%)`));
}

export const light: Palette = {
  boxes: shades([80, 73], 62),
  text: '#16202b',
  dim: '#5a6673',
  root: '#dfe4ea',
  other: '#c9d0d8',
  dust: '#a9b2bc',
  match: '#7b2fbf',
  change: ['#5c9ae6', '#86b4ee', '#b0cff5', '#d6e4f7', '#dfe4ea', '#f7e3d0', '#f5c99e', '#f0ab6c', '#e88f3f'],
  heat: ['#e3ecf7', '#c3d8f0', '#9dc0e6', '#74a5da', '#4c87c9', '#2c69b0', '#194c8c', '#0b3163'],
  ground: '#ffffff',
};

export const dark: Palette = {
  boxes: shades([26, 32], 42),
  text: '#f2f5f8',
  dim: '#9aa7b5',
  root: '#2b343f',
  other: '#3b4653',
  dust: '#4d5967',
  match: '#d9a3ff',
  change: ['#2a5d9e', '#28507f', '#274463', '#263a4d', '#2b343f', '#4a3a2a', '#644426', '#7d4e22', '#96581d'],
  heat: ['#1c2836', '#22384f', '#294b6c', '#32618d', '#3f7ab0', '#5896d0', '#83b6e8', '#bcdcfb'],
  ground: '#161b22',
};

/** How much a box of a comparison changed: from -1 (gone) to 1 (new). */
export function changeOf(tree: Tree, node: number): number {
  const b = tree.answer.total_of[node] as number;
  const a = tree.answer.total_of_a?.[node] ?? 0;
  const most = Math.max(Math.abs(a), Math.abs(b));

  return most ? Math.max(-1, Math.min(1, (b - a) / most)) : 0;
}

/**
 * By node: the index of its colour in `change`. What may be noise is grey, unless `noise` is wanted, or nothing can be
 * told from noise.
 */
export function changesOf(tree: Tree, palette: Palette, noise = false): Uint8Array {
  const middle = (palette.change.length - 1) / 2;
  const { sure, few_buckets } = tree.answer;

  return Uint8Array.from({ length: tree.count }, (_, i) => {
    const c = noise || !sure || few_buckets || sure[i] ? changeOf(tree, i) : 0;
    // Small changes are seen, too: the square root spreads them.
    return Math.round(middle + Math.sign(c) * Math.sqrt(Math.abs(c)) * middle);
  });
}

/** By node: the index of its colour in `boxes`. */
export function colorsOf(tree: Tree, palette: Palette, by: 'package' | 'binary' | 'self' | 'one'): Uint8Array {
  const a = tree.answer;
  const out = new Uint8Array(tree.count);
  const known = new Map<string, number>();
  const index = (text: string): number => {
    let i = known.get(text);
    if (i === undefined) known.set(text, (i = fnv(text) % palette.boxes.length));
    return i;
  };
  // A function has its package and its file in every stack: they are looked at once.
  const file = new Int32Array(a.strings.length).fill(-1);
  const color = new Uint8Array(a.strings.length);

  for (let i = 0; i < tree.count; i++) {
    const text = a.name[i] as number;
    const binary = a.strings[a.binary[i] as number] as string;
    if (by === 'package') {
      if (file[text] !== a.file[i]) {
        file[text] = a.file[i] as number;
        color[text] = index(packageOf(tree.name(i), a.strings[a.file[i] as number] as string) || binary);
      }
      out[i] = color[text] as number;
    } else if (by === 'binary') out[i] = index(binary);
    else if (by === 'self')
      out[i] = a.total
        ? Math.min(hues.length * 2 - 1, Math.floor((Math.abs(a.self[i] as number) / Math.abs(a.total)) * 240))
        : 0;
    else out[i] = 0;
  }
  return out;
}
