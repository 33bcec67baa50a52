// SPDX-License-Identifier: Apache-2.0
// The looks of lines: different ones, and the same ones in all charts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { colorCount, dashes, forgetStyles, lineStyles } from '../../../web/ui/model/linestyle.ts';

const titles = Array.from({ length: 40 }, (_, i) => `program-${i}`);

test('lines look different, and are solid as long as there are colours', () => {
  for (let n = 1; n <= colorCount * dashes.length; n++) {
    forgetStyles();
    const styles = lineStyles(titles.slice(0, n));
    assert.equal(new Set(styles).size, n);
    if (n <= colorCount) assert.ok(styles.every(s => s < colorCount));
  }
  assert.ok(lineStyles(titles).every(s => s >= 0 && s < colorCount * dashes.length));
});

test('a line looks the same, whatever is beside it', () => {
  forgetStyles();
  const styles = lineStyles(titles.slice(0, 20));
  for (let i = 0; i < 20; i++) {
    assert.deepEqual(lineStyles([titles[i] as string]), [styles[i]]);
    assert.deepEqual(lineStyles([titles[i] as string, 'another']).slice(0, 1), [styles[i]]);
  }
  assert.deepEqual(lineStyles([...titles.slice(0, 20)].reverse()), [...styles].reverse());
});

test('points have colours alone', () => {
  forgetStyles();
  const styles = lineStyles(titles.slice(0, 20));
  for (let i = 0; i < 20; i++)
    assert.deepEqual(lineStyles([titles[i] as string], 1), [(styles[i] as number) % colorCount]);
  assert.equal(new Set(lineStyles(titles.slice(0, 8), 1)).size, 8);
});
