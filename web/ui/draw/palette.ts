// SPDX-License-Identifier: Apache-2.0
// Colours of boxes: one per package, the same in every profile. Contrast with
// the text is at least 4.5 in both themes (tests/ui/palette.test.mjs).
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
  ground: string;
  edge: string;
}

const hues = [18, 40, 62, 95, 140, 170, 195, 215, 240, 270, 305, 340];

function shades(light: [number, number], saturation: number): string[] {
  return hues.flatMap((h) => light.map((l) => `hsl(${h} ${saturation}% ${l}%)`));
}

export const light: Palette = {
  boxes: shades([80, 73], 62),
  text: '#16202b',
  dim: '#5a6673',
  root: '#dfe4ea',
  other: '#c9d0d8',
  dust: '#a9b2bc',
  match: '#7b2fbf',
  ground: '#ffffff',
  edge: '#ffffff',
};

export const dark: Palette = {
  boxes: shades([26, 32], 42),
  text: '#f2f5f8',
  dim: '#9aa7b5',
  root: '#2b343f',
  other: '#3b4653',
  dust: '#4d5967',
  match: '#d9a3ff',
  ground: '#161b22',
  edge: '#161b22',
};

/** By index of a name: the index of its colour in `boxes`. */
export function colorsOf(tree: Tree, palette: Palette, by: 'package' | 'binary' | 'self' | 'one'): Uint8Array {
  const a = tree.answer;
  const out = new Uint8Array(tree.count);
  const known = new Map<string, number>();
  const index = (text: string): number => {
    let i = known.get(text);
    if (i === undefined) known.set(text, (i = fnv(text) % palette.boxes.length));
    return i;
  };

  for (let i = 0; i < tree.count; i++) {
    const file = a.strings[a.file[i] as number] as string;
    const binary = a.strings[a.binary[i] as number] as string;
    if (by === 'package') out[i] = index(packageOf(tree.name(i), file) || binary);
    else if (by === 'binary') out[i] = index(binary);
    else if (by === 'self') out[i] = a.total ? Math.min(hues.length * 2 - 1, Math.floor((Math.abs(a.self[i] as number) / Math.abs(a.total)) * 240)) : 0;
    else out[i] = 0;
  }
  return out;
}
