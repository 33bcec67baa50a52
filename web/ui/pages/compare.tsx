// SPDX-License-Identifier: Apache-2.0
// Compare: B, the profiles of the query, and A, the base: at first the range
// before. A drag over either chart chooses its range.
import { useEffect } from 'preact/hooks';
import type { FlameAnswer, Line, ProfileType, SourceAnswer, TopAnswer } from '../api/answer.ts';
import { formatTime, parseTime } from '../model/time.ts';
import { Chart } from '../parts/chart.tsx';
import { Clock } from '../parts/clock.tsx';
import { DiffTable } from '../parts/difftable.tsx';
import { Flame } from '../parts/flame.tsx';
import { Frame } from '../parts/notice.tsx';
import { Query, SelectorText } from '../parts/query.tsx';
import { Sandwich } from '../parts/sandwich.tsx';
import { Source } from '../parts/source.tsx';
import { sideA } from '../state/reducer.ts';
import type { Context } from './app.tsx';
import { firstType, reportOf, ViewBar } from './explore.tsx';

function Side(props: Context & { title: string; lines: 'lines' | 'lines_a'; range: 'range' | 'range_a'; query: string; from: string; to: string }) {
  const { loader, act, now, state, lines } = props;
  const utc = state.tz === 'utc';

  return (
    <section class="side" aria-label={props.title}>
      <div class="bar">
        <b>{props.title}</b>
        <span>{formatTime(parseTime(props.from, now), utc)} – {formatTime(parseTime(props.to, now), utc)}</span>
      </div>
      <Frame<Line[]>
        loaded={loader.get(lines)}
        retry={() => { loader.refresh(lines); act({ do: 'set', values: {} }); }}
        cancel={() => loader.cancel(lines)}
      >
        {(data) => (data.length ? <Chart {...props} lines={data} /> : <p class="empty">No profiles of {props.query} in this time range.</p>)}
      </Frame>
    </section>
  );
}

export function Compare(context: Context) {
  const { state, loader, act, refresh, now } = context;
  const types = loader.get<ProfileType[]>('types')?.answer?.data;
  const report = reportOf(state.view);
  const a = sideA(state, now);
  const set = (values: Partial<typeof state>) => () => act({ do: 'set', values });

  useEffect(() => {
    const type = types && !state.query ? firstType(types) : '';
    if (type) act({ do: 'set', values: { query: type } }, true);
  }, [types, state.query]);
  if (!state.query) return null;
  return (
    <div class="compare">
      <div class="bar">
        <Query {...context} />
        <Clock {...context} refresh={refresh} />
      </div>
      <div class="sides">
        <Side {...context} title="A, the base" lines="lines_a" range="range_a" {...a} />
        <Side {...context} title="B" lines="lines" range="range" query={state.query} from={state.from} to={state.to} />
      </div>
      <div class="viewbar">
        <button type="button" onClick={() => act({ do: 'swap', now })}>Swap A and B</button>
        <button type="button" onClick={set({ query_a: '', from_a: '', to_a: '' })} disabled={!state.query_a && !state.from_a && !state.to_a}>A is the range before B</button>
        <div class="tabs" role="group" aria-label="Compare by">
          <button type="button" aria-pressed={!state.normalize} onClick={set({ normalize: false })}>by value</button>
          <button type="button" aria-pressed={state.normalize} onClick={set({ normalize: true })}>by share of the total</button>
        </div>
        <span class="selector-label">A:</span>
        <SelectorText value={a.query} label="Selector of A" change={(query_a) => act({ do: 'set', values: { query_a: query_a === state.query ? '' : query_a } })} />
      </div>
      <ViewBar {...context} />
      <Frame<FlameAnswer & TopAnswer & SourceAnswer>
        key={report}
        loaded={loader.get(report)}
        retry={() => { loader.refresh(report); act({ do: 'set', values: {} }); }}
        cancel={() => loader.cancel(report)}
      >
        {(data) =>
          state.view === 'table' ? <DiffTable {...context} data={data} />
          : state.view === 'source' ? <Source {...context} data={data} />
          : state.view === 'sandwich' ? <Sandwich {...context} data={data} />
          : <Flame {...context} data={data} />
        }
      </Frame>
    </div>
  );
}
