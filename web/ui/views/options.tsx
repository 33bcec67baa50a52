// SPDX-License-Identifier: Apache-2.0
// The choices that are rarely needed: filters that have no button elsewhere,
// and how boxes are ordered and coloured.
import { useState } from 'preact/hooks';
import type { Context } from '../pages/app.tsx';
import type { State } from '../state/state.ts';
import { labelNames } from '../charts/upper.tsx';

type TextKey = 'focus' | 'ignore' | 'hide' | 'show' | 'show_from' | 'prune_from' | 'tagfocus' | 'tagignore';

const lists: readonly TextKey[] = ['focus', 'ignore', 'hide', 'show'];

const texts: [TextKey, string][] = [
  ['focus', 'keep stacks with a function that matches'],
  ['ignore', 'drop stacks with a function that matches'],
  ['hide', 'hide frames that match'],
  ['show', 'show only frames that match'],
  ['show_from', 'begin at the outermost match'],
  ['prune_from', 'drop what a match calls'],
  ['tagfocus', 'keep samples with a label: key=value'],
  ['tagignore', 'drop samples with a label: key=value'],
];

const selects: [keyof State, string, [string, string][]][] = [
  ['order', 'Order', [['value', 'heaviest first'], ['name', 'by name']]],
  ['color', 'Colour', [['package', 'by package'], ['binary', 'by binary'], ['self', 'by own value'], ['one', 'one colour']]],
  ['recursion', 'Recursion', [['', 'as it is'], ['direct', 'direct calls once'], ['all', 'once']]],
  ['granularity', 'Frames', [['', 'functions'], ['filefunctions', 'functions and files'], ['files', 'files'], ['lines', 'lines'], ['addresses', 'addresses']]],
  ['aggregate', 'Merge', [['', 'as the kind of value needs'], ['sum', 'sum'], ['mean', 'mean'], ['delta', 'last − first'], ['last', 'last profile']]],
];

/** A regular expression that becomes a filter when it is sent. */
function Filter({ name, help, state, act }: Context & { name: TextKey; help: string }) {
  const many = lists.includes(name);
  const [text, setText] = useState(many ? '' : (state[name] as string));
  const send = (e: Event): void => {
    e.preventDefault();
    if (!many) return act({ do: 'set', values: { [name]: text } });
    if (text) act({ do: 'add', filter: name as 'focus', value: text });
    setText('');
  };

  return (
    <form onSubmit={send}>
      <label>{name} <input value={text} placeholder={help} spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} /></label>
      <button type="submit">{many ? 'Add' : 'Set'}</button>
    </form>
  );
}

export function Options(context: Context) {
  const { state, act, loader } = context;
  const [open, setOpen] = useState(false);
  const labels = labelNames(loader);
  const choices: typeof selects = [
    ...selects,
    ['group_by', 'Group by', [['', 'nothing'], ...[...new Set([...labels, state.group_by])].filter(Boolean).map((n): [string, string] => [n, n])]],
  ];

  return (
    <span class="share">
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>Options</button>
      {open && (
        <div class="popup right options-box" role="dialog" aria-label="Options" onKeyDown={(e) => e.key === 'Escape' && setOpen(false)}>
          <div class="popup-head">Options <button type="button" aria-label="Close" onClick={() => setOpen(false)}>×</button></div>
          {choices.map(([key, title, values]) => (
            <label key={key}>
              {title}{' '}
              <select value={String(state[key])} onChange={(e) => act({ do: 'set', values: { [key]: e.currentTarget.value } })}>
                {values.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
              </select>
            </label>
          ))}
          <label><input type="checkbox" checked={state.noinlines} onChange={(e) => act({ do: 'set', values: { noinlines: e.currentTarget.checked } })} /> inlined functions count for their caller</label>
          {texts.map(([name, help]) => <Filter key={name} {...context} name={name} help={help} />)}
        </div>
      )}
    </span>
  );
}
