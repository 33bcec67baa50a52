// SPDX-License-Identifier: Apache-2.0
// A box above the page with a title. Escape, a button, and a click or the focus elsewhere close it. Its first control
// has the focus when it opens, and the control that had it before when it closes.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Close on Escape, and when one leaves the box and the control that opened it, which are in one element. */
function useClosing(box: { current: HTMLElement | null }, close: () => void): void {
  const last = useRef(close);

  last.current = close;
  useLayoutEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      if (e.key !== 'Escape') return;
      // It is not meant for the page below.
      e.stopImmediatePropagation();
      e.preventDefault();
      last.current();
    };
    const onLeave = (e: Event): void => {
      if (!box.current?.parentElement?.contains(e.target as Node)) last.current();
    };
    document.addEventListener('keydown', onKey, true);
    document.addEventListener('pointerdown', onLeave, true);
    document.addEventListener('focusin', onLeave, true);
    return () => {
      document.removeEventListener('keydown', onKey, true);
      document.removeEventListener('pointerdown', onLeave, true);
      document.removeEventListener('focusin', onLeave, true);
    };
  }, []);
}

/** Move the focus into the box, and back when it closes, unless it is elsewhere by then. */
function useFocus(box: { current: HTMLElement | null }): void {
  useLayoutEffect(() => {
    const element = box.current;
    const before = document.activeElement as HTMLElement | null;

    (
      element?.querySelector<HTMLElement>('.popup-body :is(input, select, button)') ?? element?.querySelector('button')
    )?.focus({ preventScroll: true });
    return () => {
      if (element?.contains(document.activeElement) || document.activeElement === document.body)
        before?.focus({ preventScroll: true });
    };
  }, []);
}

export function Popup(props: {
  label: string;
  title?: string;
  class?: string;
  close: () => void;
  children: ComponentChildren;
}) {
  const { label, title = label, close, children } = props;
  const box = useRef<HTMLDivElement>(null);

  useClosing(box, close);
  useFocus(box);
  return (
    <div ref={box} class={`popup ${props.class ?? ''}`} role="dialog" aria-label={label}>
      <div class="popup-head">
        {title}{' '}
        <button type="button" aria-label="Close" onClick={close}>
          ×
        </button>
      </div>
      <div class="popup-body">{children}</div>
    </div>
  );
}
