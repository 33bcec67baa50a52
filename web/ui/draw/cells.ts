// SPDX-License-Identifier: Apache-2.0
// Draws a heat map: a rectangle for each cell with a value, level by level, so
// that a frame changes the colour a few times only.
import { type Heat, levelOf } from '../model/heat.ts';

/** Pixels of a row. */
export const heatRow = 14;

/** Draw the cells of so many columns; returns the number of cells that were drawn. */
export function drawHeat(
  ctx: CanvasRenderingContext2D,
  heat: Heat,
  levels: string[],
  width: number,
  columns: number,
  ratio: number,
): number {
  const cells: [number, number][][] = levels.map(() => []);
  const column = (i: number): number => Math.round((i * width * ratio) / columns);
  const row = (i: number): number => Math.round(i * heatRow * ratio);
  let count = 0;

  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  heat.rows.forEach((r, y) =>
    r.values.forEach((v, x) => {
      const level = levelOf(v, heat.most, levels.length);
      if (level) (cells[level - 1] as [number, number][]).push([x, y]);
    }),
  );
  cells.forEach((list, level) => {
    ctx.fillStyle = levels[level] as string;
    for (const [x, y] of list)
      ctx.fillRect(column(x), row(y), Math.max(1, column(x + 1) - column(x)), row(y + 1) - row(y) - Math.round(ratio));
    count += list.length;
  });
  return count;
}
