// SPDX-License-Identifier: Apache-2.0
// Keys of the whole page, and the list of all keys.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Context } from '../pages/app.tsx';
import type { View } from '../state/state.ts';

/** The views, in the order of the keys 1 to 5. */
const views: View[] = ['flame', 'table', 'invert', 'sandwich', 'source'];

const all: [string, string][] = [
  ['1 2 3 4 5', 'flame graph, table, inverted, sandwich, source'],
  ['/', 'find functions'],
  ['u', 'one step back'],
  ['?', 'this list'],
  ['arrows', 'in the flame graph: move to the caller, a callee, the box beside'],
  ['Enter, Escape', 'zoom in; show everything'],
  ['f i m', 'focus on the function; ignore it; hide its frames'],
  ['F', 'only this box and what is below it (under)'],
  ['p', 'drop what the function calls (prune_from)'],
  ['r', 'show recursive calls once; all; as they are'],
  ['s o t', 'sandwich; source; over time'],
];

/** Whether a key is meant for a field, or for the browser. */
function isForField(e: KeyboardEvent): boolean {
  const t = e.target;

  return e.ctrlKey || e.metaKey || e.altKey || t instanceof HTMLInputElement || t instanceof HTMLSelectElement || t instanceof HTMLTextAreaElement;
}

export function Keys({ act, state }: Context) {
  const [open, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);

  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      if (isForField(e) || e.defaultPrevented) return;
      const view = /^Digit[1-5]$/.test(e.code) && !e.shiftKey ? views[Number(e.code.slice(5)) - 1] : undefined;
      if (view && (state.page === 'explore' || state.page === 'compare')) act({ do: 'set', values: { view } });
      else if (e.key === '/') document.querySelector<HTMLInputElement>('input[type=search]')?.focus();
      else if (e.key === 'u') history.back();
      else if (e.key === '?') setOpen(true);
      else return;
      e.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [state.page]);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <>
      <button type="button" aria-label="? Keys" onClick={() => setOpen(true)}>?</button>
      <dialog ref={dialog} aria-label="Keys" onClose={() => setOpen(false)}>
        <table>
          <tbody>
            {all.map(([keys, text]) => (
              <tr key={keys}><th scope="row">{keys}</th><td>{text}</td></tr>
            ))}
          </tbody>
        </table>
        <button type="button" onClick={() => setOpen(false)}>Close</button>
      </dialog>
    </>
  );
}
