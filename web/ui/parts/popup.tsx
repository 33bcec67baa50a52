// SPDX-License-Identifier: Apache-2.0
// A box above the page with a title: Escape and a button close it.
import type { ComponentChildren } from 'preact';

export function Popup(props: { label: string; title?: string; class?: string; close: () => void; children: ComponentChildren }) {
  const { label, title = label, close, children } = props;

  return (
    <div class={`popup ${props.class ?? ''}`} role="dialog" aria-label={label} onKeyDown={(e) => e.key === 'Escape' && close()}>
      <div class="popup-head">{title} <button type="button" aria-label="Close" onClick={close}>×</button></div>
      {children}
    </div>
  );
}
