// SPDX-License-Identifier: Apache-2.0
// Explore: what the fleet did over time, and what the profiles of a range say.
import { useEffect } from 'preact/hooks';
import type { FlameAnswer, Line, ProfileType, TopAnswer } from '../api/answer.ts';
import { Chart } from '../parts/chart.tsx';
import { Chips } from '../parts/chips.tsx';
import { Clock } from '../parts/clock.tsx';
import { Flame } from '../parts/flame.tsx';
import { Frame, ProblemBox } from '../parts/notice.tsx';
import { Query } from '../parts/query.tsx';
import { Table } from '../parts/table.tsx';
import type { View } from '../state/state.ts';
import type { Context } from './app.tsx';

const views: [View, string][] = [['flame', 'Flame graph'], ['table', 'Table'], ['invert', 'Inverted']];

/** The type that the page opens with: CPU, if there is any. */
export function firstType(types: ProfileType[]): string {
  const names = types.map((t) => t.name);

  return ['profile', 'process_cpu'].find((n) => names.includes(n)) ?? names[0] ?? '';
}

export function ViewBar({ state, act }: Context) {
  return (
    <div class="viewbar">
      <Chips {...({ state, act } as Context)} />
      <span class="space" />
      <input
        type="search"
        aria-label="Find functions"
        placeholder="find, or /regex/"
        value={state.find}
        onInput={(e) => act({ do: 'set', values: { find: e.currentTarget.value } }, true)}
      />
      <div class="tabs" role="tablist" aria-label="Views">
        {views.map(([view, title]) => (
          <button key={view} type="button" role="tab" aria-selected={state.view === view} onClick={() => act({ do: 'set', values: { view } })}>{title}</button>
        ))}
      </div>
    </div>
  );
}

function Empty({ loader }: Context) {
  const types = loader.get<ProfileType[]>('types');

  if (types?.problem) return <ProblemBox problem={types.problem} retry={() => location.reload()} />;
  if (types?.answer && !types.answer.data.length)
    return (
      <p class="empty">
        Nothing is stored yet. The page <a href="targets">Targets</a> shows what is scraped, and what went wrong.
      </p>
    );
  return null;
}

export function Explore(context: Context) {
  const { state, loader, act, refresh } = context;
  const types = loader.get<ProfileType[]>('types')?.answer?.data;
  const report = state.view === 'table' ? 'top' : 'flamegraph';
  const retry = (key: string) => () => {
    loader.refresh(key);
    act({ do: 'set', values: {} });
  };

  useEffect(() => {
    const type = types && !state.query ? firstType(types) : '';
    if (type) act({ do: 'set', values: { query: type } }, true);
  }, [types, state.query]);
  return (
    <div class="explore">
      <div class="bar">
        <Query {...context} />
        <Clock {...context} refresh={refresh} />
      </div>
      <Empty {...context} />
      {state.query && (
        <>
          <Frame<Line[]> loaded={loader.get('lines')} retry={retry('lines')} cancel={() => loader.cancel('lines')}>
            {(lines) => (lines.length ? <Chart {...context} lines={lines} /> : <p class="empty">No profiles of {state.query} in this time range.</p>)}
          </Frame>
          <ViewBar {...context} />
          <Frame<FlameAnswer & TopAnswer> loaded={loader.get(report)} retry={retry(report)} cancel={() => loader.cancel(report)}>
            {(data) => (state.view === 'table' ? <Table {...context} data={data} /> : <Flame {...context} data={data} />)}
          </Frame>
        </>
      )}
    </div>
  );
}
