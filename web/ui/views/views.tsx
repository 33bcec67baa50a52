// SPDX-License-Identifier: Apache-2.0
// The lower half of Explore and Compare: the views of the profiles.
import { useState } from 'preact/hooks';
import type { CompareAnswer, FlameAnswer, GraphAnswer, SourceAnswer, TopAnswer } from '../api/answer.ts';
import type { Kind } from '../model/series.ts';
import { formatTime, parseTime } from '../model/time.ts';
import { coveredText, formatScaled } from '../model/unit.ts';
import { shownKind } from '../parts/hooks.ts';
import { Nothing } from '../parts/nearest.tsx';
import { Frame } from '../parts/notice.tsx';
import type { Context } from '../state/context.ts';
import { hasErrorBars, isChoosing, shownViews, viewKey } from '../state/requests.ts';
import { isDiff, type View } from '../state/state.ts';
import { CallGraph } from './callgraph.tsx';
import { ChangeTable } from './changetable.tsx';
import { Chips, HideRuntime } from './chips.tsx';
import { DiffTable } from './difftable.tsx';
import { Flame } from './flame.tsx';
import { Options } from './options.tsx';
import type { Picking } from './rowlist.tsx';
import { Sandwich } from './sandwich.tsx';
import { Share } from './share.tsx';
import { Source } from './source.tsx';
import { Table } from './table.tsx';
import { Text } from './text.tsx';

/** All views, in the order of their keys: 1, 2, … */
export const views: [View, string][] = [
  ['flame', 'Flame graph'],
  ['table', 'Table'],
  ['invert', 'Inverted'],
  ['sandwich', 'Sandwich'],
  ['source', 'Source'],
  ['graph', 'Call graph'],
  ['text', 'Text'],
];

/** "240 profiles of 4 series"; of a comparison, how many each side has. */
function countText(profiles: number, ofA: string, series: string): string {
  if (ofA) return `A: ${ofA}, B: ${profiles - Number(ofA)} profiles`;
  return `${profiles} ${profiles === 1 ? 'profile' : 'profiles'} of ${series} series`;
}

/** How profiles become one, unless an option says it. */
const merged: Record<Kind, string> = {
  flow: '',
  state: ', the mean of each added up',
  counter: ', the increase of each added up',
};

/** By what the values of B are multiplied, if they are; all views show the product. */
function scaledText(how: string, factor: number): string {
  if (how !== 'total' || !factor || factor === 1) return '';
  return `B is scaled to the total of A: × ${Number(factor.toPrecision(3))}`;
}

/** What the view is made of: "240 profiles of 4 series", or the time of one profile. */
function Origin(context: Context) {
  const { state, loader, now } = context;
  const loaded = loader.get(viewKey(state));
  const get = (name: string): string => loaded?.answer?.headers.get(name) ?? '';
  const profiles = get('X-Everprof-Profiles');
  const time = get('X-Everprof-Timestamp');

  if (loaded?.stale || (!profiles && !time)) return null;
  const scaled = scaledText(get('X-Everprof-Normalize'), Number(get('X-Everprof-Factor')));
  if (state.page === 'adhoc') return scaled ? <span class="dim origin">{scaled}</span> : null;
  const ofA = get('X-Everprof-Profiles-A');
  const range = (parseTime(state.to, now) - parseTime(state.from, now)) / 1000;
  const covered = ofA ? '' : coveredText(Number(get('X-Everprof-Covered-Seconds')), range);
  const text = time
    ? `profile of ${formatTime(Number(time), state.tz === 'utc')}`
    : countText(Number(profiles), ofA, get('X-Everprof-Series')) +
      (state.aggregate || ofA ? '' : merged[shownKind(context)]) +
      covered +
      (scaled && `; ${scaled}`);
  return (
    <span class="dim origin" title={text}>
      {text}
    </span>
  );
}

function ViewBar(context: Context) {
  const { state, act } = context;

  return (
    <>
      <div class="viewbar">
        <Origin {...context} />
        <span class="space" />
        <input
          type="search"
          aria-label="Find functions"
          placeholder="find, or /regex/"
          value={state.find}
          onInput={e => act({ do: 'set', values: { find: e.currentTarget.value } }, 'typing')}
        />
        <div class="tabs" role="tablist" aria-label="Views">
          {views.map(([view, title]) => (
            <button
              key={view}
              type="button"
              role="tab"
              aria-selected={state.view === view}
              onClick={() => act({ do: 'set', values: { view } })}
            >
              {title}
            </button>
          ))}
        </div>
        <select
          aria-label="Second view, beside the first"
          value={state.beside}
          onChange={e => act({ do: 'set', values: { beside: e.currentTarget.value as View | '' } })}
        >
          <option value="">one view</option>
          {views
            .filter(([view]) => view !== state.view)
            .map(([view, title]) => (
              <option key={view} value={view}>
                + {title}
              </option>
            ))}
        </select>
        <HideRuntime {...context} />
        <Options {...context} />
        <Share {...context} />
      </div>
      <Chips {...context} />
    </>
  );
}

type Data = FlameAnswer & TopAnswer & CompareAnswer & SourceAnswer & GraphAnswer & string;

function ViewOf(props: Context & Picking & { data: Data }) {
  switch (props.state.view) {
    case 'table':
      if (hasErrorBars(props.state)) return <ChangeTable {...props} />;
      return isDiff(props.state) ? <DiffTable {...props} /> : <Table {...props} />;
    case 'source':
      return <Source {...props} />;
    case 'sandwich':
      return <Sandwich {...props} />;
    case 'graph':
      return <CallGraph {...props} />;
    case 'text':
      return <Text {...props} />;
    default:
      return <Flame {...props} />;
  }
}

/** A view of one function without a function: the functions to choose from. */
function Choose(props: Context & { of: string }) {
  const { act, state } = props;

  return (
    <Frame<TopAnswer> {...props}>
      {data => (
        <div class="table">
          <p>Choose a function:</p>
          <ul class="options">
            {data.rows.map(r => (
              <li key={r.name}>
                <button type="button" onClick={() => act({ do: 'set', values: { fn: r.name } })}>
                  <span>{r.name}</span>{' '}
                  <span class="dim">
                    self {formatScaled(r.flat, data)}, total {formatScaled(r.cum, data)}
                  </span>
                </button>
              </li>
            ))}
          </ul>
          {data.rows.length === 0 && <p class="empty">There is none for {state.view}.</p>}
        </div>
      )}
    </Frame>
  );
}

/** One view with its states; `of`: the key of its request. */
function Pane(context: Context & Picking & { of: string }) {
  if (isChoosing(context.state)) return <Choose {...context} />;
  // Another range does not help if a file is gone.
  const none =
    context.state.page === 'adhoc' ? undefined : (message: string) => <Nothing {...context} message={message} />;
  return (
    <Frame<Data> {...context} key={context.of} none={none}>
      {data => <ViewOf {...context} data={data} />}
    </Frame>
  );
}

export function Views(context: Context) {
  const shown = shownViews(context.state);
  const [picked, pick] = useState('');

  return (
    <section class="views" aria-label="Profiles">
      <ViewBar {...context} />
      <div class={shown.length > 1 ? 'panes sides' : 'panes'}>
        {shown.map(({ state, key }, i) => (
          <div key={i} class="pane">
            <Pane {...context} state={state} of={key} picked={picked} pick={pick} />
          </div>
        ))}
      </div>
    </section>
  );
}
