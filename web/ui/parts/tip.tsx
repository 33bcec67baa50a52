// SPDX-License-Identifier: Apache-2.0
// A box of text beside the pointer. It moves nothing on the page, and the
// pointer does not reach it; what it says is elsewhere for those who use no pointer.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** A place in the window, in pixels. */
export interface Place {
  x: number;
  y: number;
}

/** How far from the pointer the box is, in pixels. */
const distance = 14;

/** Whether something was scrolled since the pointer was at a place, so that it is at something else now. */
function useScrolled({ x, y }: Place): boolean {
  const [scrolled, setScrolled] = useState(false);

  useEffect(() => {
    const onScroll = (): void => setScrolled(true);
    const events = ['scroll', 'wheel'] as const;
    setScrolled(false);
    for (const e of events) addEventListener(e, onScroll, { capture: true, passive: true });
    return () => {
      for (const e of events) removeEventListener(e, onScroll, { capture: true });
    };
  }, [x, y]);
  return scrolled;
}

/**
 * The box is on the side of the pointer that has more room. It is moved by a transform, which browsers do not count as a
 * shift of the layout.
 */
export function Tip({ at, children }: { at: Place; children: ComponentChildren }) {
  const { clientWidth, clientHeight } = document.documentElement;
  const scrolled = useScrolled(at);
  const along = (place: number, size: number): string =>
    place > size / 2 ? `calc(${place - distance}px - 100%)` : `${place + distance}px`;

  if (scrolled) return null;
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
