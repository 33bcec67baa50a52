// SPDX-License-Identifier: Apache-2.0
// The upper half of Explore: what is shown over time, and how.
import { useState } from 'preact/hooks';
import type { Change, HistoryAnswer, Line } from '../api/answer.ts';
import { profilesBetween } from '../api/client.ts';
import { narrow, neighbour, pointsOf } from '../model/points.ts';
import { parseTime } from '../model/time.ts';
import { allHave, labelNames, usePageKeys } from '../parts/hooks.ts';
import { FailureBox, Frame } from '../parts/notice.tsx';
import type { Context } from '../state/context.ts';
import { noBase } from '../state/reducer.ts';
import { chartRange, chosenParams } from '../state/requests.ts';
import type { Chart as Kind, State } from '../state/state.ts';
import { Chart } from './chart.tsx';
import { History } from './history.tsx';
import { changeKey, changeText, firstTold, Markers, toldChanges } from './markers.tsx';
import { Points } from './points.tsx';
import { Rows } from './rows.tsx';
import { Weights } from './weights.tsx';

const kinds: [Kind, string, string][] = [
  ['lines', 'Lines', 'A line for each group of series'],
  ['points', 'Points', 'A point for each profile'],
  ['rows', 'Heat map', 'A heat map with a row for each group of series (h)'],
  ['weights', 'By total', 'A heat map of profiles by their total (w)'],
  ['history', 'Functions', 'Functions over time (t)'],
  ['off', 'Off', 'No chart'],
];

/** Another chart. Rows are for finding an instance among others. */
function withChart({ state, loader }: Context, chart: Kind): Partial<State> {
  return {
    chart,
    ...(chart === 'rows' && state.by === 'job' && allHave(loader, 'instance') ? { by: 'instance' } : {}),
  };
}

function Group({ state, loader, act }: Context) {
  const names = labelNames(loader);
  const known = state.by === '' || names.includes(state.by);

  return (
    <label>
      by{' '}
      <select
        aria-label="Group series by"
        value={state.by}
        onChange={e => act({ do: 'set', values: { by: e.currentTarget.value } })}
      >
        {!known && <option value={state.by}>{state.by}</option>}
        {names.map(n => (
          <option key={n} value={n}>
            {n}
          </option>
        ))}
        <option value="">each series</option>
      </select>
    </label>
  );
}

/** The changes that the page tells, in the order of time. */
function changesOf({ state, loader }: Context): Change[] {
  if (state.chart !== 'lines' && state.chart !== 'rows') return [];
  return toldChanges(loader.get<Change[]>('changes')?.answer?.data ?? []);
}

function Picture(props: Context & { changes: Change[]; told: Change | undefined; tell: (c: Change) => void }) {
  const { state, changes, told, tell } = props;
  const key = state.chart === 'rows' ? 'lines' : state.chart;
  const none = <p class="empty">No profiles in this time range.</p>;

  if (state.chart === 'off') return null;
  if (state.chart === 'history')
    return (
      <Frame<HistoryAnswer> {...props} key={key} of={key}>
        {data => <History {...props} data={data} />}
      </Frame>
    );
  return (
    <Frame<Line[]> {...props} key={key} of={key}>
      {lines =>
        !lines.length ? (
          none
        ) : state.chart === 'points' ? (
          <Points {...props} lines={lines} />
        ) : state.chart === 'rows' ? (
          <Rows {...props} lines={lines} />
        ) : state.chart === 'weights' ? (
          <Weights {...props} line={lines[0] as Line} />
        ) : (
          <Chart
            {...props}
            lines={lines}
            times={chartRange(state, props.now)}
            marks={changes.map(c => ({ ms: c.time, text: changeText(c), chosen: c === told, choose: () => tell(c) }))}
          />
        )
      }
    </Frame>
  );
}

/** How far the next profile is looked for at first, and then farther: a range may have millions. */
const windows = [5, 60, 24 * 60, Infinity].map(minutes => minutes * 60e3);

/** Show the profile before or after the one that is shown, or the last or the first, of those that the page shows. */
async function stepProfile({ state, now, act }: Context, step: -1 | 1): Promise<void> {
  const [from, to] = [parseTime(state.from, now), parseTime(state.to, now)];
  const at = state.time ? parseTime(state.time, now) : step < 0 ? to + 1 : from - 1;

  for (const w of windows) {
    const [a, b] = step < 0 ? [Math.max(from, at - w), at - 1] : [at + 1, Math.min(to, at + w)];
    if (b < a) return;
    const data = await profilesBetween(state.query, a, b, new AbortController().signal, chosenParams(state));
    const p = neighbour(pointsOf(data, ''), at, step);
    if (p) return act({ do: 'set', values: { time: String(p.ms), query: narrow(state.query, data, p.series) } });
  }
}

export function Upper(context: Context) {
  const { state, act } = context;
  const [failure, setFailure] = useState('');
  const [told, setTold] = useState('');
  const changes = changesOf(context);
  const change = changes.find(c => changeKey(c) === told) ?? firstTold(changes);
  const stepFrom = (from: State, by: -1 | 1): void => {
    setFailure('');
    stepProfile({ ...context, state: from }, by).catch((e: Error) => setFailure(e.message));
  };
  const step = (by: -1 | 1) => () => stepFrom(state, by);

  usePageKeys({
    '[': step(-1),
    ']': step(1),
    h: () => act({ do: 'set', values: withChart(context, 'rows') }),
    w: () => act({ do: 'set', values: withChart(context, 'weights') }),
    t: () => act({ do: 'set', values: { chart: 'history', fn: '' } }),
    b: () => act({ do: 'set', values: { page: 'compare', ...noBase } }),
  });
  return (
    <section class="upper" aria-label="Over time">
      <div class="bar small">
        <Group {...context} />
        <div class="tabs" role="group" aria-label="Chart">
          {kinds.map(([kind, title, help]) => (
            <button
              key={kind}
              type="button"
              title={help}
              aria-pressed={state.chart === kind}
              onClick={() => act({ do: 'set', values: withChart(context, kind) })}
            >
              {title}
            </button>
          ))}
        </div>
        {state.chart === 'history' && <span>{state.fn || 'the five heaviest functions'}</span>}
        {state.chart === 'history' && state.fn && (
          <button type="button" onClick={() => act({ do: 'set', values: { fn: '' } })}>
            the five heaviest
          </button>
        )}
        <Markers
          {...context}
          changes={changes}
          told={change}
          warnings={context.loader.get('changes')?.answer?.warnings ?? []}
          step={stepFrom}
        />
        <button
          type="button"
          title="Compare with the time range before (b)"
          onClick={() => act({ do: 'set', values: { page: 'compare', ...noBase } })}
        >
          Compare with before
        </button>
        <span class="dim">one profile</span>
        <button type="button" aria-label="The profile before" title="The profile before ([)" onClick={step(-1)}>
          [
        </button>
        <button type="button" aria-label="The profile after" title="The profile after (])" onClick={step(1)}>
          ]
        </button>
      </div>
      {failure && <FailureBox text={failure} utc={state.tz === 'utc'} />}
      <Picture {...context} changes={changes} told={change} tell={c => setTold(changeKey(c))} />
    </section>
  );
}
