// SPDX-License-Identifier: Apache-2.0
// The query: profile type, sample type, matchers, and the selector as text.
import { useEffect, useState } from 'preact/hooks';
import type { ProfileType } from '../api/answer.ts';
import { formatSelector, parseSelector, withoutMatcher } from '../model/selector.ts';
import { groupedBy } from '../model/series.ts';
import type { Context } from '../state/context.ts';
import { shownType } from './hooks.ts';
import { AddMatcher } from './matcher.tsx';

/** The names that people know, for the names of Go's endpoints. */
const friendly: Record<string, string> = {
  profile: 'CPU',
  process_cpu: 'CPU of machines (eBPF)',
  fgprof: 'wall clock (fgprof)',
  heap: 'heap',
  allocs: 'allocations',
  goroutine: 'goroutines',
  mutex: 'mutex contention',
  block: 'blocking',
  threadcreate: 'threads created',
};

export function friendlyName(type: string): string {
  return friendly[type] && friendly[type] !== type ? `${friendly[type]} · ${type}` : type;
}

/** The shortest name that people know. */
export function shortType(type: string): string {
  return (friendly[type] ?? type).split(' ')[0] as string;
}

/** A selector as text: sent when it is complete, with Enter or when the field is left. */
export function SelectorText({
  value,
  label,
  change,
}: {
  value: string;
  label: string;
  change: (text: string) => void;
}) {
  const [text, setText] = useState(value);

  useEffect(() => setText(value), [value]);
  const send = (): void => {
    if (text !== value) change(text);
  };
  return (
    <form
      class="selector"
      onSubmit={e => {
        e.preventDefault();
        send();
      }}
    >
      <input
        aria-label={label}
        value={text}
        spellcheck={false}
        onInput={e => setText(e.currentTarget.value)}
        onBlur={send}
      />
    </form>
  );
}

/** The type that the page opens with: CPU, if there is any, and that of all programs of machines first. */
export function firstType(types: ProfileType[]): string {
  const names = types.map(t => t.name);

  return ['process_cpu', 'profile'].find(n => names.includes(n)) ?? names[0] ?? '';
}

/** A page without a query gets one as soon as the types are known. */
export function useFirstType({ state, loader, act }: Context): void {
  const types = loader.get<ProfileType[]>('types')?.answer?.data;

  useEffect(() => {
    const type = types && !state.query ? firstType(types) : '';
    if (type) act({ do: 'set', values: { query: type, by: groupedBy(type, state.by) } }, 'default');
  }, [types, state.query]);
}

/** The choice of the sample type, if there is one. */
export function SampleTypes(props: Context & { of: Omit<ProfileType, 'name'> }) {
  const { act, of } = props;

  if (of.sampleTypes.length < 2) return null;
  return (
    <select
      aria-label="Sample type"
      value={shownType(props) || of.defaultSampleType}
      onChange={e => act({ do: 'set', values: { sample_index: e.currentTarget.value } })}
    >
      {of.sampleTypes.map(s => (
        <option key={s.type} value={s.type}>
          {s.type}
        </option>
      ))}
    </select>
  );
}

export function Query(context: Context) {
  const { state, act, loader } = context;
  const types = loader.get<ProfileType[]>('types')?.answer?.data ?? [];
  const selector = parseSelector(state.query);
  const type = types.find(t => t.name === selector?.type);

  return (
    <div class="query">
      <select
        aria-label="Profile type"
        value={selector?.type ?? ''}
        onChange={e => {
          const query = formatSelector({ type: e.currentTarget.value, matchers: selector?.matchers ?? [] });
          act({
            do: 'set',
            values: {
              query,
              by: groupedBy(e.currentTarget.value, state.by),
              sample_index: '',
              zoom: '',
              under: [],
              time: '',
              total_min: '',
              total_max: '',
              total_outside: false,
              span: '',
            },
          });
        }}
      >
        {!type && <option value={selector?.type ?? ''}>{selector?.type ?? '…'}</option>}
        {types.map(t => (
          <option key={t.name} value={t.name}>
            {friendlyName(t.name)}
          </option>
        ))}
      </select>
      {type && <SampleTypes {...context} of={type} />}
      {selector?.matchers.map((m, i) => (
        <span class="chip" key={`${m.name}${m.op}${m.value}`}>
          {m.name}
          {m.op}"{m.value}"
          <button
            type="button"
            aria-label={`Remove ${m.name}`}
            onClick={() => act({ do: 'set', values: { query: withoutMatcher(state.query, i) } })}
          >
            ×
          </button>
        </span>
      ))}
      {selector && <AddMatcher {...context} />}
      <SelectorText value={state.query} label="Selector" change={query => act({ do: 'set', values: { query } })} />
    </div>
  );
}
