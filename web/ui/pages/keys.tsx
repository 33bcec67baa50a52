// SPDX-License-Identifier: Apache-2.0
// The list of all keys, and the switch that turns letters off.
import { useEffect, useRef, useState } from 'preact/hooks';
import { lettersOn, switchLetters, usePageKeys } from '../parts/hooks.ts';
import type { Context } from '../state/context.ts';
import { functionActions } from '../views/actions.tsx';
import { views } from '../views/views.tsx';

const all: [string, string][] = [
  [views.map((_, i) => i + 1).join(' '), views.map(([, title]) => title.toLowerCase()).join(', ')],
  ['/', 'find functions'],
  ['[ ]', 'the profile before, the profile after'],
  ['h w t', 'heat map of series; profiles by their total; the heaviest functions over time'],
  ['b', 'compare with the time range before'],
  ['y c e', 'copy a link; copy as curl; export'],
  ['u', 'one step back'],
  ['?', 'this list'],
  ['arrows', 'in the flame graph: move to the caller, a callee, the box beside'],
  ['Enter + − 0 Escape', 'zoom in; out; show everything'],
  ['n N', 'the next, the previous match of the search'],
  ['F', 'only this box and what is below it (under)'],
  ...functionActions.map(([key, title, help]): [string, string] => [key, title ? `${title}: ${help}` : help]),
];

export function Keys({ act, state }: Context) {
  const [open, setOpen] = useState(false);
  const [letters, setLetters] = useState(lettersOn());
  const dialog = useRef<HTMLDialogElement>(null);
  const profiles = ['explore', 'compare', 'adhoc'].includes(state.page);

  usePageKeys({
    '?': () => setOpen(true),
    '/': () => document.querySelector<HTMLInputElement>('input[type=search]')?.focus(),
    // Before the first step of this page is what the browser showed before.
    u: () => history.state && history.back(),
    ...(profiles
      ? Object.fromEntries(views.map(([view], i) => [String(i + 1), () => act({ do: 'set', values: { view } })]))
      : {}),
  });
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <>
      <button type="button" aria-label="? Keys" onClick={() => setOpen(true)}>
        ?
      </button>
      <dialog ref={dialog} aria-label="Keys" onClose={() => setOpen(false)}>
        <table>
          <tbody>
            {all.map(([keys, text]) => (
              <tr key={keys}>
                <th scope="row">{keys}</th>
                <td>{text}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <p>
          <label>
            <input
              type="checkbox"
              checked={letters}
              onChange={e => {
                switchLetters(e.currentTarget.checked);
                setLetters(e.currentTarget.checked);
              }}
            />{' '}
            letters are keys (turn this off if you use speech recognition)
          </label>
        </p>
        <button type="button" onClick={() => setOpen(false)}>
          Close
        </button>
      </dialog>
    </>
  );
}
