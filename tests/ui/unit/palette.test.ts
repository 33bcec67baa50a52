// SPDX-License-Identifier: Apache-2.0
// Colours: text on every box can be read, in both themes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlameAnswer } from '../../../web/ui/api/answer.ts';
import { changesOf, dark, light } from '../../../web/ui/draw/palette.ts';
import { layout } from '../../../web/ui/model/tree.ts';

/** Red, green and blue from 0 to 1, of "#rrggbb" or "hsl(h s% l%)". */
function rgb(color: string): number[] {
  const hsl = /^hsl\((\d+) (\d+)% (\d+)%\)$/.exec(color);

  if (!hsl) return [1, 3, 5].map(i => parseInt(color.slice(i, i + 2), 16) / 255);
  const [h, s, l] = [Number(hsl[1]), Number(hsl[2]) / 100, Number(hsl[3]) / 100] as const;
  return [0, 8, 4].map(n => {
    const k = (n + h / 30) % 12;
    return l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  });
}

const linear = (v: number): number => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);

/** How colours look to people without one kind of cone (Machado, Oliveira, Fernandes 2009, severity 1). */
const blindness: Record<string, number[][]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

/** CIELAB of a colour, as it looks with a kind of blindness. */
function lab(color: string, matrix: number[][]): number[] {
  const from = rgb(color).map(linear);
  const [r, g, b] = matrix.map(row =>
    Math.min(
      1,
      Math.max(
        0,
        row.reduce((sum, m, i) => sum + m * (from[i] as number), 0),
      ),
    ),
  ) as [number, number, number];
  const f = (t: number): number => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t) / 116 + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** The difference that an eye sees (CIE 1976): 2.3 is just seen. */
function difference(a: string, b: string, matrix: number[][]): number {
  const [x, y] = [lab(a, matrix), lab(b, matrix)];

  return Math.hypot(...x.map((v, i) => v - (y[i] as number)));
}

/** Contrast of two colours (WCAG 2.2). */
function contrast(a: string, b: string): number {
  const light = (c: string): number => {
    const [r, g, bl] = rgb(c).map(linear) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  };
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p) as [number, number];

  return (x + 0.05) / (y + 0.05);
}

test('text has a contrast of at least 4.5 on every box', () => {
  for (const [name, p] of Object.entries({ light, dark })) {
    for (const box of [...p.boxes, ...p.change, p.root, p.other])
      assert.ok(contrast(p.text, box) >= 4.5, `${name}: ${box}: ${contrast(p.text, box).toFixed(2)}`);
    assert.equal(p.boxes.length, 24);
  }
});

test('less and more of a comparison differ for every kind of eye', () => {
  for (const [theme, p] of Object.entries({ light, dark })) {
    for (const [kind, matrix] of Object.entries(blindness)) {
      const last = p.change.length - 1;
      for (let i = 0; i < last / 2; i++) {
        const d = difference(p.change[i] as string, p.change[last - i] as string, matrix);
        assert.ok(d >= 15 + 10 * (last / 2 - i - 1), `${theme}, ${kind}, level ${i}: ${d.toFixed(1)}`);
      }
      for (let i = 0; i < last; i++) {
        const d = difference(p.change[i] as string, p.change[i + 1] as string, matrix);
        assert.ok(d >= 2.3, `${theme}, ${kind}, levels ${i} and ${i + 1}: ${d.toFixed(1)}`);
      }
    }
  }
});

test('a heat map becomes steadily darker or lighter, which every eye sees', () => {
  for (const [theme, p] of Object.entries({ light, dark })) {
    for (const [kind, matrix] of Object.entries(blindness)) {
      const lightness = p.heat.map(c => lab(c, matrix)[0] as number);
      const sign = theme === 'light' ? -1 : 1;
      for (let i = 1; i < lightness.length; i++) {
        assert.ok(
          sign * ((lightness[i] as number) - (lightness[i - 1] as number)) >= 3,
          `${theme}, ${kind}, level ${i}`,
        );
      }
    }
  }
});

test('what may be noise is grey, unless it is to be seen', () => {
  const answer: FlameAnswer = {
    sample_type: 'cpu',
    unit: 'count',
    total: 10,
    strings: ['', 'total', 'a', 'b', 'c'],
    name: [1, 2, 3, 4],
    file: [0, 0, 0, 0],
    binary: [0, 0, 0, 0],
    parent: [-1, 0, 0, 0],
    inlined: [0, 0, 0, 0],
    self: [0, 6, 2, 2],
    total_of: [10, 6, 2, 2],
    self_a: [0, 3, 5, 2],
    total_of_a: [10, 3, 5, 2],
    left_out: { nodes: 0, weight: 0 },
  };
  const middle = (light.change.length - 1) / 2;
  const of = (more: Partial<FlameAnswer>, noise = false): number[] =>
    [...changesOf(layout({ ...answer, ...more }, 'name'), light, noise)].slice(1).map(i => Math.sign(i - middle));

  assert.deepEqual(of({}), [1, -1, 0], 'nothing is known about noise');
  assert.deepEqual(of({ sure: [0, 1, 0, 0] }), [1, 0, 0]);
  assert.deepEqual(of({ sure: [0, 1, 0, 0] }, true), [1, -1, 0]);
  assert.deepEqual(of({ sure: [0, 0, 0, 0], few_buckets: true }), [1, -1, 0], 'nothing can be told from noise');
});
