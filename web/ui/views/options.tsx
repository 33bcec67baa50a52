// SPDX-License-Identifier: Apache-2.0
// The choices that are rarely needed: filters that have no button elsewhere,
// and how boxes are ordered and coloured.
import { useState } from 'preact/hooks';
import { labelNames } from '../parts/hooks.ts';
import { Popup } from '../parts/popup.tsx';
import type { Context } from '../state/context.ts';
import { type ListFilter, listFilters } from '../state/reducer.ts';
import type { State } from '../state/state.ts';

type TextKey = ListFilter | 'show_from' | 'prune_from' | 'tagfocus' | 'tagignore';

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
  [
    'order',
    'Order',
    [
      ['value', 'heaviest first'],
      ['name', 'by name'],
    ],
  ],
  [
    'color',
    'Colour',
    [
      ['package', 'by package'],
      ['binary', 'by binary'],
      ['self', 'by own value'],
      ['one', 'one colour'],
    ],
  ],
  [
    'recursion',
    'Recursion',
    [
      ['', 'as it is'],
      ['direct', 'direct calls once'],
      ['all', 'once'],
    ],
  ],
  [
    'granularity',
    'Frames',
    [
      ['', 'functions'],
      ['filefunctions', 'functions and files'],
      ['files', 'files'],
      ['lines', 'lines'],
      ['addresses', 'addresses'],
    ],
  ],
  [
    'aggregate',
    'Merge',
    [
      ['', 'as the kind of value needs'],
      ['sum', 'sum'],
      ['mean', 'mean'],
      ['delta', 'last − first'],
      ['last', 'last profile'],
    ],
  ],
];

/** A regular expression that becomes a filter when it is sent. */
function Filter({ name, help, state, act }: Context & { name: TextKey; help: string }) {
  const list = listFilters.find(f => f === name);
  const [text, setText] = useState(list ? '' : (state[name] as string));
  const send = (e: Event): void => {
    e.preventDefault();
    if (!list) return act({ do: 'set', values: { [name]: text } });
    if (text) act({ do: 'add', filter: list, value: text });
    setText('');
  };

  return (
    <form onSubmit={send}>
      <label>
        {name}{' '}
        <input value={text} placeholder={help} spellcheck={false} onInput={e => setText(e.currentTarget.value)} />
      </label>
      <button type="submit">{list ? 'Add' : 'Set'}</button>
    </form>
  );
}

export function Options(context: Context) {
  const { state, act, loader } = context;
  const [open, setOpen] = useState(false);
  const labels = labelNames(loader);
  const choices: typeof selects = [
    ...selects,
    [
      'group_by',
      'Group by',
      [
        ['', 'nothing'],
        ...[...new Set([...labels, state.group_by])].filter(Boolean).map((n): [string, string] => [n, n]),
      ],
    ],
  ];

  return (
    <span class="share">
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        Options
      </button>
      {open && (
        <Popup label="Options" class="right options-box" close={() => setOpen(false)}>
          {choices.map(([key, title, values]) => (
            <label key={key}>
              {title}{' '}
              <select
                value={String(state[key])}
                onChange={e => act({ do: 'set', values: { [key]: e.currentTarget.value } })}
              >
                {values.map(([value, text]) => (
                  <option key={value} value={value}>
                    {text}
                  </option>
                ))}
              </select>
            </label>
          ))}
          <label>
            <input
              type="checkbox"
              checked={state.noinlines}
              onChange={e => act({ do: 'set', values: { noinlines: e.currentTarget.checked } })}
            />{' '}
            inlined functions count for their caller
          </label>
          <label>
            <input
              type="checkbox"
              checked={state.ignore_versions}
              onChange={e => act({ do: 'set', values: { ignore_versions: e.currentTarget.checked } })}
            />{' '}
            names without the versions of Go modules (/v2)
          </label>
          {texts.map(([name, help]) => (
            <Filter key={name} {...context} name={name} help={help} />
          ))}
        </Popup>
      )}
    </span>
  );
}
