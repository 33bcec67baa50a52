// SPDX-License-Identifier: Apache-2.0
// Explore: what the fleet did over time, and what the profiles of a range say.
import { useEffect } from 'preact/hooks';
import type { Change, FlameAnswer, HistoryAnswer, Line, ProfileType, SourceAnswer, TopAnswer } from '../api/answer.ts';
import { Chart } from '../parts/chart.tsx';
import { Chips } from '../parts/chips.tsx';
import { Clock } from '../parts/clock.tsx';
import { Flame } from '../parts/flame.tsx';
import { History } from '../parts/history.tsx';
import { Markers } from '../parts/markers.tsx';
import { Frame, ProblemBox } from '../parts/notice.tsx';
import { Query } from '../parts/query.tsx';
import { Share } from '../parts/share.tsx';
import { Sandwich } from '../parts/sandwich.tsx';
import { Source } from '../parts/source.tsx';
import { Table } from '../parts/table.tsx';
import type { View } from '../state/state.ts';
import type { Context } from './app.tsx';

const views: [View, string][] = [['flame', 'Flame graph'], ['table', 'Table'], ['invert', 'Inverted'], ['sandwich', 'Sandwich'], ['source', 'Source']];

/** The report that a view shows. */
export function reportOf(view: View): string {
  return view === 'table' ? 'top' : view === 'source' ? 'source' : 'flamegraph';
}

/** The type that the page opens with: CPU, if there is any. */
export function firstType(types: ProfileType[]): string {
  const names = types.map((t) => t.name);

  return ['profile', 'process_cpu'].find((n) => names.includes(n)) ?? names[0] ?? '';
}

export function ViewBar(context: Context) {
  const { state, act } = context;

  return (
    <div class="viewbar">
      <Chips {...context} />
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
      <Share {...context} />
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

/** The lower half: the report that the view shows. */
function ReportView(props: Context & { retry: () => void }) {
  const { state, loader } = props;
  const report = reportOf(state.view);

  if ((state.view === 'source' || state.view === 'sandwich') && !state.fn)
    return <p class="empty">Choose a function: click a box of the flame graph, then "{state.view}".</p>;
  return (
    <Frame<FlameAnswer & TopAnswer & SourceAnswer> key={report} loaded={loader.get(report)} retry={props.retry} cancel={() => loader.cancel(report)}>
      {(data) =>
        state.view === 'table' ? <Table {...props} data={data} />
        : state.view === 'source' ? <Source {...props} data={data} />
        : state.view === 'sandwich' ? <Sandwich {...props} data={data} />
        : <Flame {...props} data={data} />
      }
    </Frame>
  );
}

export function Explore(context: Context) {
  const { state, loader, act, refresh } = context;
  const types = loader.get<ProfileType[]>('types')?.answer?.data;
  const report = reportOf(state.view);
  const changes = loader.get<Change[]>('changes')?.answer?.data ?? [];
  const history = state.chart === 'history' && state.fn !== '';
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
          {history ? (
            <Frame<HistoryAnswer> key="history" loaded={loader.get('history')} retry={retry('history')} cancel={() => loader.cancel('history')}>
              {(data) => (
                <>
                  <button type="button" onClick={() => act({ do: 'set', values: { chart: 'lines' } })}>Back to totals</button>
                  <History {...context} data={data} />
                </>
              )}
            </Frame>
          ) : (
            <Frame<Line[]> key="lines" loaded={loader.get('lines')} retry={retry('lines')} cancel={() => loader.cancel('lines')}>
              {(lines) => (lines.length ? <Chart {...context} lines={lines} marks={changes.map((c) => c.time)} /> : <p class="empty">No profiles of {state.query} in this time range.</p>)}
            </Frame>
          )}
          {!history && <Markers {...context} changes={changes} />}
          <ViewBar {...context} />
          <ReportView {...context} retry={retry(report)} />
        </>
      )}
    </div>
  );
}
