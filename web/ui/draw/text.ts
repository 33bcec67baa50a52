// SPDX-License-Identifier: Apache-2.0
// The names in the boxes of a flame graph, shortened to the width of the box.
// The font has one width for ASCII, which is measured once; other texts are
// measured, and the last ones remembered.
import { shortName } from '../model/package.ts';
import { visible } from '../model/visible.ts';

const remembered = 2000;

export class Lettering {
  private readonly advance: number;
  private readonly widths = new Map<string, number>();

  constructor(
    private readonly ctx: CanvasRenderingContext2D,
    font: string,
  ) {
    ctx.font = font;
    this.advance = ctx.measureText('0'.repeat(100)).width / 100;
  }

  width(text: string): number {
    // eslint-disable-next-line no-control-regex
    if (/^[\x20-\x7e]*$/.test(text)) return text.length * this.advance;
    let w = this.widths.get(text);
    if (w === undefined) {
      w = this.ctx.measureText(text).width;
      if (this.widths.size >= remembered) this.widths.delete(this.widths.keys().next().value as string);
    } else this.widths.delete(text);
    this.widths.set(text, w);
    return w;
  }

  /** The longest beginning of a name that fits, without its package if need be; "" if nothing does. */
  fit(name: string, room: number): string {
    const whole = visible(name);
    if (this.width(whole) <= room) return whole;
    const short = shortName(whole);
    if (this.width(short) <= room) return short;
    const letters = Math.floor(room / this.advance) - 1;
    if (letters < 2) return '';
    const cut = [...short.slice(0, letters * 2)].slice(0, letters);
    while (cut.length > 1 && this.width(`${cut.join('')}…`) > room) cut.pop();
    return cut.length > 1 ? `${cut.join('')}…` : '';
  }
}
