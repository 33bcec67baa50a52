// SPDX-License-Identifier: Apache-2.0
// Compare: B, the profiles of the query, and A, the base: at first the range
// before. A drag over either chart chooses its range.
import { useEffect, useMemo } from 'preact/hooks';
import type { CompareAnswer, FlameAnswer, Line } from '../api/answer.ts';
import { profilesBetween } from '../api/client.ts';
import { Chart } from '../charts/chart.tsx';
import { renamedByVersion } from '../model/compared.ts';
import { chartData, halvesOf, isUneven } from '../model/series.ts';
import { formatTime, isRelative, parseTime } from '../model/time.ts';
import { Clock } from '../parts/clock.tsx';
import { FileOf } from '../parts/file.tsx';
import { comparedBy, shownKind, shownType, shownUnit } from '../parts/hooks.ts';
import { Frame } from '../parts/notice.tsx';
import { Query, SelectorText, useFirstType } from '../parts/query.tsx';
import type { Context } from '../state/context.ts';
import { hasBase, noBase, sideA, sideB } from '../state/reducer.ts';
import { isSingle, viewKey } from '../state/requests.ts';
import { noSide, type Side as Profiles } from '../state/state.ts';
import { totalText } from '../views/chips.tsx';
import { Views } from '../views/views.tsx';

/** What one side is: its range, or one profile, and totals if they are limited. */
function sideText(side: Profiles, now: number, utc: boolean, unit: string): string {
  const time = (t: string): string => formatTime(parseTime(t, now), utc);
  const what = side.time ? `the profile of ${time(side.time)}` : `${time(side.from)} – ${time(side.to)}`;

  return side.total_min || side.total_max ? `${what}, ${totalText(side, unit)}` : what;
}

/** The largest value of both charts, so that their heights can be compared. */
function mostOf(context: Context): number {
  const type = shownType(context);
  const all = (['lines', 'lines_a'] as const).flatMap(
    key => chartData(context.loader.get<Line[]>(key)?.answer?.data ?? [], type).lines,
  );

  return 1.05 * all.reduce((most, l) => l.values.reduce<number>((m, v) => Math.max(m, v ?? 0), most), 0);
}

function Side(
  props: Context & {
    title: string;
    lines: 'lines' | 'lines_a';
    range: 'range' | 'range_of_base';
    side: Profiles;
    most: number;
  },
) {
  const { now, state, lines, side } = props;

  return (
    <section class="side" aria-label={props.title}>
      <div class="bar">
        <b>{props.title}</b>
        <span>{sideText(side, now, state.tz === 'utc', shownUnit(props))}</span>
      </div>
      <Frame<Line[]> {...props} of={lines}>
        {data =>
          data.length ? (
            <Chart {...props} lines={data} times={[parseTime(side.from, now), parseTime(side.to, now)]} />
          ) : (
            <p class="empty">
              Nothing matches <code>{side.query}</code> in this time range.
            </p>
          )
        }
      </Frame>
    </section>
  );
}

/**
 * A warning if the sides differ in their numbers of profiles: a value that adds
 * up with each profile then says more about the numbers than about the program.
 */
function Uneven(context: Context) {
  const { state, act, loader } = context;
  const loaded = loader.get<unknown>(viewKey(state));
  const count = (name: string): number => Number(loaded?.answer?.headers.get(name) ?? 0);
  const a = count('X-Everprof-Profiles-A');
  const b = count('X-Everprof-Profiles') - a;

  if (comparedBy(context) !== 'value' || loaded?.stale || shownKind(context) === 'state' || !isUneven(a, b))
    return null;
  return (
    <div class="notice warn line" role="status">
      A has {a} profiles and B has {b}: by value, the difference is also that of their numbers.
      <button type="button" onClick={() => act({ do: 'set', values: { normalize: '1' } })}>
        Compare shares
      </button>
    </div>
  );
}

/** So many functions with other names are no accident. */
const leastRenamed = 10;

/** Whether the answer has both sides of functions or boxes; texts are answers, too. */
function isCompared(data: FlameAnswer | CompareAnswer | string | undefined): data is FlameAnswer | CompareAnswer {
  return typeof data === 'object' && ('alpha' in data || ('name' in data && data.total_of_a !== undefined));
}

/** A way out if all functions of a module are new and gone, because its path has another version. */
function Versions({ state, act, loader }: Context) {
  const loaded = loader.get<FlameAnswer | CompareAnswer | string>(viewKey(state));
  const data = loaded?.answer?.data;
  const renamed = useMemo(() => (isCompared(data) ? renamedByVersion(data) : 0), [data]);

  if (renamed < leastRenamed || state.ignore_versions || loaded?.stale) return null;
  return (
    <div class="notice warn line" role="status">
      {renamed} functions differ only in the version of their module, such as /v2.
      <button type="button" onClick={() => act({ do: 'set', values: { ignore_versions: true } })}>
        Ignore versions
      </button>
    </div>
  );
}

/**
 * Without a chosen base, A is the range before B. In the first hour of a server,
 * nothing is stored from that time: then the page compares the two halves of
 * what is stored.
 */
function useHalves({ state, loader, now, act }: Context): void {
  const count = (key: string): number => {
    const loaded = loader.get<Line[]>(key);
    return loaded?.answer && !loaded.stale ? loaded.answer.data.length : -1;
  };
  const wanted = isRelative(state.to) && !state.time && !hasBase(state) && count('lines_a') === 0 && count('lines') > 0;

  useEffect(() => {
    if (!wanted) return;
    const abort = new AbortController();
    profilesBetween(state.query, parseTime(state.from, now), parseTime(state.to, now), abort.signal)
      .then(lines => {
        const halves = halvesOf(lines.flatMap(l => l.timestamps));
        if (!halves || abort.signal.aborted) return;
        const [first, middle] = halves;
        const base = { ...noSide, from: String(first), to: String(middle - 1) };
        act({ do: 'set', values: { base, from: String(middle) } }, 'default');
      })
      .catch(() => undefined); // Then A stays empty, and says so.
    return () => abort.abort();
  }, [wanted, state.query, state.from, state.to]);
}

export function Compare(context: Context) {
  const { state, act, now } = context;
  const a = sideA(state, now);
  const most = mostOf(context);
  const by = comparedBy(context);
  const set = (values: Partial<typeof state>) => () => act({ do: 'set', values });

  const hasRate = !isSingle(state) && shownKind(context) !== 'state';

  useFirstType(context);
  useHalves(context);
  if (!state.query) return null;
  return (
    <div class="compare">
      <div class="bar">
        <b>B:</b>
        <Query {...context} />
        <Clock {...context} />
      </div>
      <div class="sides">
        {a.adhoc ? (
          <section class="side" aria-label="A, the base">
            <b>A, the base: a file</b>
            <FileOf {...context} of="file_a" />
          </section>
        ) : (
          <Side {...context} title="A, the base" lines="lines_a" range="range_of_base" side={a} most={most} />
        )}
        <Side {...context} title="B" lines="lines" range="range" side={sideB(state)} most={most} />
      </div>
      <div class="viewbar">
        <button
          type="button"
          onClick={() => act({ do: 'swap', now })}
          disabled={a.adhoc !== ''}
          title={a.adhoc && 'A file can only be the base here.'}
        >
          Swap A and B
        </button>
        <button type="button" onClick={set(noBase)} disabled={!hasBase(state)}>
          A is the range before B
        </button>
        <div class="tabs" role="group" aria-label="Compare by">
          <button type="button" aria-pressed={by === 'share'} onClick={set({ normalize: '1' })}>
            by share of the total
          </button>
          <button
            type="button"
            aria-pressed={by === 'rate'}
            disabled={!hasRate}
            title="what one series has in a second: the mean of the series, whose number may differ"
            onClick={set({ normalize: 'rate' })}
          >
            per second and series
          </button>
          <button
            type="button"
            aria-pressed={by === 'value'}
            title="sums, as they are"
            onClick={set({ normalize: '0' })}
          >
            by value
          </button>
        </div>
        {!a.adhoc && <span class="selector-label">A:</span>}
        {!a.adhoc && (
          <SelectorText
            value={a.query}
            label="Selector of A"
            change={query =>
              act({ do: 'set', values: { base: { ...state.base, query: query === state.query ? '' : query } } })
            }
          />
        )}
      </div>
      <Uneven {...context} />
      <Versions {...context} />
      <Views {...context} />
    </div>
  );
}
