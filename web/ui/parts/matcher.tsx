// SPDX-License-Identifier: Apache-2.0
// The box that adds a matcher to the query: first a label is chosen, then a value. A text finds values among all that
// the server has, or is a regular expression itself.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ask } from '../api/client.ts';
import { anyOf, withMatcher } from '../model/selector.ts';
import type { Context } from '../state/context.ts';
import { Popup } from './popup.tsx';

/** How many names or values are listed. */
const listed = 200;

interface Count {
  value: string;
  series: number;
}

/**
 * Names or values with their number of series, as the other matchers leave them; one more than are listed, if there are
 * more. Null: they are not known yet.
 */
function useCounts(path: string, match: string, contains: string): Count[] | null {
  const [counts, setCounts] = useState<{ of: string; data: Count[] }>({ of: '', data: [] });
  const of = [path, match, contains].join(' ');

  useEffect(() => {
    const abort = new AbortController();
    const params: [string, string][] = [
      ['counts', '1'],
      ['limit', String(listed + 1)],
    ];
    if (match) params.push(['match[]', match]);
    if (contains) params.push(['contains', contains]);
    ask<Count[]>({ key: path, path, params }, abort.signal, '')
      .then(a => setCounts({ of, data: a.data }))
      .catch(() => undefined); // The list is a help; the field works without it.
    return () => abort.abort();
  }, [of]);
  return counts.of === of ? counts.data : null;
}

/** The regular expression that finds a text anywhere in a value, as the list does; what looks like one is one already. */
export function expressionOf(text: string): string {
  return /[\\^$|?*+()[\]{}]/.test(text) ? text : `(?i).*${text.replaceAll('.', '\\.')}.*`;
}

function Picker({ state, act, close }: Context & { close: () => void }) {
  const [name, setName] = useState('');
  const [text, setText] = useState('');
  const [sent, setSent] = useState(false);
  // Values that are chosen together, in the order of their choice.
  const [several, setSeveral] = useState<string[]>([]);
  const field = useRef<HTMLInputElement>(null);
  const found = useCounts(
    name ? `api/v1/label/${encodeURIComponent(name)}/values` : 'api/v1/labels',
    state.query,
    text,
  );
  const items = (found ?? []).filter(n => name || n.value !== '__name__');
  const choose = (op: '=' | '=~', value: string): void => {
    act({ do: 'set', values: { query: withMatcher(state.query, { name, op, value }) } });
    close();
  };
  const take = (value: string): void => {
    setText('');
    if (name) choose('=', value);
    else setName(value);
  };

  // The values take the place of the labels, and their field that of the other one.
  useLayoutEffect(() => field.current?.focus(), [name]);
  // Enter waits for the list that belongs to the text.
  useEffect(() => {
    if (!sent || !found) return;
    setSent(false);
    if (items[0]) take(items[0].value);
    else if (name && text) choose('=~', expressionOf(text));
  }, [sent, found]);

  return (
    <Popup label="Add a matcher" title={name || 'Label'} close={close}>
      <form
        class="pick"
        onSubmit={e => {
          e.preventDefault();
          setSent(true);
        }}
      >
        <input
          key={name}
          ref={field}
          aria-label={name ? 'Find values' : 'Find labels'}
          placeholder={name ? 'find values, or a regular expression' : 'find labels'}
          value={text}
          spellcheck={false}
          onInput={e => {
            setSent(false);
            setText(e.currentTarget.value);
          }}
        />
      </form>
      <ul class="options">
        {name && text && (
          <li>
            <button type="button" onClick={() => choose('=~', expressionOf(text))}>
              <span>
                {name} =~ "{expressionOf(text)}"
              </span>
            </button>
          </li>
        )}
        {several.length > 0 && (
          <li>
            <button type="button" onClick={() => choose('=~', anyOf(several))}>
              <span>
                {name} =~ "{anyOf(several)}"
              </span>
            </button>
          </li>
        )}
        {items.slice(0, listed).map(item => (
          <li key={item.value}>
            {name && (
              <input
                type="checkbox"
                aria-label={`also ${item.value}`}
                checked={several.includes(item.value)}
                onChange={e =>
                  setSeveral(e.currentTarget.checked ? [...several, item.value] : several.filter(v => v !== item.value))
                }
              />
            )}
            <button type="button" onClick={() => take(item.value)}>
              <span>{item.value}</span> <span class="dim">{item.series}</span>
            </button>
          </li>
        ))}
        {items.length > listed && <li class="dim">the first {listed}; type to find others</li>}
        {found && !items.length && text && <li class="dim">none has “{text}” in it</li>}
      </ul>
    </Popup>
  );
}

export function AddMatcher(context: Context) {
  const [open, setOpen] = useState(false);

  return (
    <span class="anchor">
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        + label
      </button>
      {open && <Picker {...context} close={() => setOpen(false)} />}
    </span>
  );
}
