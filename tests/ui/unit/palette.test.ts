// SPDX-License-Identifier: Apache-2.0
// Colours: text on every box can be read, in both themes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dark, light } from '../../../web/ui/draw/palette.ts';

/** Red, green and blue from 0 to 1, of "#rrggbb" or "hsl(h s% l%)". */
function rgb(color: string): number[] {
  const hsl = /^hsl\((\d+) (\d+)% (\d+)%\)$/.exec(color);

  if (!hsl) return [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16) / 255);
  const [h, s, l] = [Number(hsl[1]), Number(hsl[2]) / 100, Number(hsl[3]) / 100] as const;
  return [0, 8, 4].map((n) => {
    const k = (n + h / 30) % 12;
    return l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  });
}

/** Contrast of two colours (WCAG 2.2). */
function contrast(a: string, b: string): number {
  const light = (c: string): number => {
    const [r, g, bl] = rgb(c).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  };
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p) as [number, number];

  return (x + 0.05) / (y + 0.05);
}

test('text has a contrast of at least 4.5 on every box', () => {
  for (const [name, p] of Object.entries({ light, dark })) {
    for (const box of [...p.boxes, ...p.change, p.root, p.other]) assert.ok(contrast(p.text, box) >= 4.5, `${name}: ${box}: ${contrast(p.text, box).toFixed(2)}`);
    assert.equal(p.boxes.length, 24);
  }
});
