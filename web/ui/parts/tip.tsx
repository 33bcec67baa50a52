// SPDX-License-Identifier: Apache-2.0
// A box of text beside the pointer. It moves nothing on the page, and the
// pointer does not reach it; what it says is elsewhere for those who use no pointer.
import type { ComponentChildren } from 'preact';

/** A place in the window, in pixels. */
export interface Place {
  x: number;
  y: number;
}

/** How far from the pointer the box is, in pixels. */
const distance = 14;

/**
 * The box is on the side of the pointer that has more room. It is moved by a transform, which browsers do not count as a
 * shift of the layout.
 */
export function Tip({ at, children }: { at: Place; children: ComponentChildren }) {
  const { clientWidth, clientHeight } = document.documentElement;
  const along = (place: number, size: number): string =>
    place > size / 2 ? `calc(${place - distance}px - 100%)` : `${place + distance}px`;

  return (
    <div
      class="tip"
      aria-hidden="true"
      style={{ transform: `translate(${along(at.x, clientWidth)}, ${along(at.y, clientHeight)})` }}
    >
      {children}
    </div>
  );
}
