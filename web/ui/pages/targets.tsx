// SPDX-License-Identifier: Apache-2.0
// Targets by job: down first, with the error of the last scrape, what profiling
// costs, and a profile on demand; the machine that eBPF profiles; and the
// service discoveries that found the targets.
import { type ComponentChildren, Fragment } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Collector, Discovery, Target, Targets } from '../api/answer.ts';
import { base, fetchPath } from '../api/client.ts';
import {
  byError,
  byJob,
  costs,
  type Endpoint,
  endpointsOf,
  failing,
  type Health,
  machines,
  mainScrape,
  seriesSelector,
} from '../model/targets.ts';
import { formatClock } from '../model/time.ts';
import { formatShare } from '../model/unit.ts';
import { Frame, retryOf } from '../parts/notice.tsx';
import { friendlyName, shortType } from '../parts/query.tsx';
import type { Context } from '../state/context.ts';
import { unfiltered } from '../state/state.ts';

/** Rows of a job that are shown at first. */
const fewRows = 50;

/** Scrape a target now. Returns the labels and the time of the profile. */
async function profileNow(t: Target, signal: AbortSignal): Promise<{ query: string; time: string }> {
  const params = new URLSearchParams({ query: seriesSelector(t.labels), report: 'meta' });
  const response = await fetchPath(`${base()}api/v1/targets/profile?${params}`, { method: 'POST', signal });
  await response.text(); // or the browser counts the request as aborted
  const labels = response.headers.get('X-Everprof-Labels');
  return {
    query: labels ? seriesSelector(JSON.parse(labels) as Record<string, string>) : seriesSelector(t.labels),
    time: response.headers.get('X-Everprof-Timestamp') ?? '',
  };
}

/** The button, and how long the profile takes. `failed` is told why there is none. */
function ProfileNow({ target, act, failed }: Context & { target: Target; failed: (why: string) => void }) {
  const [began, setBegan] = useState(0);
  const [seconds, setSeconds] = useState(0);
  const abort = useRef<AbortController | null>(null);
  const type = target.labels.__name__ ?? '';
  const start = (): void => {
    abort.current = new AbortController();
    setBegan(Date.now());
    setSeconds(0);
    failed('');
    profileNow(target, abort.current.signal)
      .then(({ query, time }) =>
        act({
          do: 'set',
          values: {
            ...unfiltered,
            page: 'explore',
            query,
            time,
            from: String(Number(time) - 3600e3),
            to: time,
            chart: 'points',
          },
        }),
      )
      .catch((e: Error) => e.name !== 'AbortError' && failed(e.message))
      .finally(() => setBegan(0));
  };

  useEffect(() => {
    if (!began) return;
    const timer = setInterval(() => setSeconds(Math.floor((Date.now() - began) / 1000)), 500);
    return () => clearInterval(timer);
  }, [began]);
  useEffect(() => () => abort.current?.abort(), []);
  if (began)
    return (
      <span role="status">
        profiling, {seconds} s{' '}
        <button type="button" onClick={() => abort.current?.abort()}>
          Cancel
        </button>
      </span>
    );
  return (
    <button
      type="button"
      aria-label={`Profile now: ${target.labels.instance ?? ''} ${type}`}
      title={`Fetch a profile of the type ${type}, store it and show it`}
      onClick={start}
    >
      Profile now
    </button>
  );
}

/** When a target was scraped last. */
function lastText(t: Target, utc: boolean): string {
  const last = Date.parse(t.lastScrape);

  return last > 0 ? formatClock(last, utc) : 'never';
}

/** A row below that of a target, for what needs its whole width. */
function Below({ children }: { children: ComponentChildren }) {
  return (
    <tr class="below">
      <td colSpan={5}>{children}</td>
    </tr>
  );
}

/** The scrapes of a target, one for each type. */
function Scrapes(props: Context & { of: Endpoint; failed: (why: string) => void }) {
  const utc = props.state.tz === 'utc';

  return (
    <table>
      <thead>
        <tr>
          <th>Type</th>
          <th>State</th>
          <th class="number">Last scrape</th>
          <th class="number">Took</th>
          <th>Error</th>
          <th>
            <span class="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {props.of.scrapes.map(t => (
          <tr key={seriesSelector(t.labels)}>
            <td>{friendlyName(t.labels.__name__ ?? '')}</td>
            <td class={`health ${t.health}`}>{t.health}</td>
            <td class="number">{lastText(t, utc)}</td>
            <td class="number">{t.lastScrapeDuration.toFixed(2)} s</td>
            <td class="error">{t.lastError}</td>
            <td>
              <ProfileNow {...props} target={t} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The type of a scrape, as it is shown. */
function typeName(t: Target): string {
  return shortType(t.labels.__name__ ?? '');
}

function Row(props: Context & { of: Endpoint }) {
  const { of: e, state } = props;
  const [open, setOpen] = useState(false);
  const [failure, setFailure] = useState('');
  const newest = e.scrapes.reduce((a, t) => (Date.parse(t.lastScrape) > Date.parse(a.lastScrape) ? t : a));
  const { instance = '', job: _, ...others } = e.labels;

  return (
    <>
      <tr>
        <td class={`health ${e.health}`}>{e.health}</td>
        <td>
          {instance}{' '}
          <span class="dim">
            {Object.entries(others)
              .map(([k, v]) => `${k}=${v}`)
              .join(' ')}
          </span>
        </td>
        <td>
          <button
            type="button"
            class="types"
            aria-expanded={open}
            aria-label={`${e.scrapes.map(typeName).join(' ')}: types of ${instance}`}
            onClick={() => setOpen(!open)}
          >
            {e.scrapes.map(t => (
              <Fragment key={typeName(t)}>
                <span class={`type ${t.health}`} title={`${t.health}, took ${t.lastScrapeDuration.toFixed(2)} s`}>
                  {typeName(t)}
                </span>{' '}
              </Fragment>
            ))}
          </button>
        </td>
        <td class="number">{lastText(newest, state.tz === 'utc')}</td>
        <td>
          <ProfileNow {...props} target={mainScrape(e)} failed={setFailure} />
        </td>
      </tr>
      {failure && (
        <Below>
          <span class="failure" role="alert">
            {failure}
          </span>
        </Below>
      )}
      {!open && e.health === 'down' && (
        <Below>
          <ul class="errors">
            {byError(e.scrapes).map(x => (
              <li key={x.text}>
                {x.count > 1 && <b>{x.count} × </b>}
                {x.text}
              </li>
            ))}
          </ul>
        </Below>
      )}
      {open && (
        <Below>
          <Scrapes {...props} of={e} failed={setFailure} />
        </Below>
      )}
    </>
  );
}

/** The machine on which the server runs, as a target. */
function Machine({ act, of: c }: Context & { of: Collector }) {
  const show = (): void =>
    act({
      do: 'set',
      values: {
        ...unfiltered,
        page: 'explore',
        query: seriesSelector({ __name__: 'process_cpu', node: c.node }),
        by: 'exe',
        from: 'now-1h',
        to: 'now',
      },
    });

  return (
    <section>
      <h2>
        ebpf <span class="dim">all processes of a machine</span>
      </h2>
      <table class="targets-table">
        <thead>
          <tr>
            <th>State</th>
            <th>Node</th>
            <th>What</th>
            <th class="number">Profiles stored</th>
            <th>
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <td class={`health ${c.health}`}>{c.health}</td>
            <td>{c.node}</td>
            <td>
              {c.samplingFrequency > 0 && `${c.samplingFrequency} CPU samples a second, `}a profile of each program
              every {c.interval}; now {c.processes} processes in {c.series} series
            </td>
            <td class="number">
              {c.profiles}
              {c.profilesFailed > 0 && <span class="failure">, {c.profilesFailed} refused</span>}
            </td>
            <td>
              <button type="button" onClick={show}>
                Show profiles
              </button>
            </td>
          </tr>
          {c.lastError && (
            <Below>
              <span class="failure">{c.lastError}</span>
            </Below>
          )}
        </tbody>
      </table>
    </section>
  );
}

/** What profiling costs: how long a scrape takes, and which part of the time that is. */
function Costs({ targets }: { targets: Target[] }) {
  return (
    <details>
      <summary>Cost by type</summary>
      <table class="pairs">
        <thead>
          <tr>
            <th>Type</th>
            <th class="number">Targets</th>
            <th class="number">A scrape takes</th>
            <th class="number">Part of the time</th>
          </tr>
        </thead>
        <tbody>
          {costs(targets).map(c => (
            <tr key={c.type}>
              <td>{friendlyName(c.type)}</td>
              <td class="number">{c.targets}</td>
              <td class="number">{c.seconds.toFixed(2)} s</td>
              <td class="number">{formatShare(c.share, 1)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function Job(props: Context & { job: string; endpoints: Endpoint[] }) {
  const { endpoints } = props;
  const [all, setAll] = useState(false);
  const scrapes = endpoints.flatMap(e => e.scrapes);
  const errors = byError(scrapes);
  const up = endpoints.filter(e => e.health === 'up').length;

  return (
    <section>
      <h2>
        {props.job}{' '}
        <span class="dim">
          {up} of {endpoints.length} up
        </span>
      </h2>
      {errors.length > 0 && endpoints.length > 5 && (
        <ul class="errors">
          {errors.slice(0, 5).map(e => (
            <li key={e.text}>
              <b>{e.count}</b> × {e.text}
            </li>
          ))}
        </ul>
      )}
      <Costs targets={scrapes} />
      <table class="targets-table">
        <thead>
          <tr>
            <th>State</th>
            <th>Instance</th>
            <th>Types</th>
            <th class="number">Last scrape</th>
            <th>
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {(all ? endpoints : endpoints.slice(0, fewRows)).map(e => (
            <Row {...props} key={JSON.stringify(e.labels)} of={e} />
          ))}
        </tbody>
      </table>
      {!all && endpoints.length > fewRows && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {endpoints.length}
        </button>
      )}
    </section>
  );
}

/** Targets that relabelling dropped, with the reason. */
function Dropped({ data }: { data: Targets }) {
  const count = Object.values(data.droppedTargetCounts).reduce((a, b) => a + b, 0);

  if (!count) return null;
  return (
    <details>
      <summary>{count} dropped targets</summary>
      <table>
        <thead>
          <tr>
            <th>Job</th>
            <th>Address</th>
            <th>Reason</th>
          </tr>
        </thead>
        <tbody>
          {data.droppedTargets.slice(0, 500).map((t, i) => (
            <tr key={i}>
              <td>{t.scrapePool}</td>
              <td>{t.discoveredLabels.__address__}</td>
              <td>{t.reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {count > Math.min(500, data.droppedTargets.length) && (
        <p class="dim">
          {Math.min(500, data.droppedTargets.length)} of {count} are listed.
        </p>
      )}
    </details>
  );
}

/** The job of a service discovery. */
function DiscoveryJob({ of }: { of: Discovery }) {
  return <>{of.scrapePool || 'section ebpf'}</>;
}

/** Service discoveries that fail, with the reason. */
function FailingDiscoveries({ state, list }: Context & { list: Discovery[] }) {
  const failed = failing(list, { text: state.target, health: state.health });

  if (!failed.length) return null;
  return (
    <section>
      <h2>Failing service discoveries</h2>
      <table>
        <thead>
          <tr>
            <th>Job</th>
            <th>Discovery</th>
            <th>Source</th>
            <th class="number">Failed at</th>
            <th>Error</th>
            <th class="number">Targets kept</th>
          </tr>
        </thead>
        <tbody>
          {failed.map((d, i) => (
            <tr key={i}>
              <td>
                <DiscoveryJob of={d} />
              </td>
              <td>
                {d.discovery}, line {d.configLine}
              </td>
              <td>{d.source}</td>
              <td class="number">{formatClock(Date.parse(d.lastErrorTime), state.tz === 'utc')}</td>
              <td class="error">{d.lastError}</td>
              <td class="number">{d.targets}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const found: Record<Discovery['health'], string> = { up: 'found', down: 'fails', unknown: 'has not answered yet' };

/** All service discoveries, with how many targets they found. */
function Discoveries({ list }: { list: Discovery[] }) {
  if (!list.length) return null;
  return (
    <details>
      <summary>
        {list.length} service {list.length === 1 ? 'discovery' : 'discoveries'}
      </summary>
      <table>
        <thead>
          <tr>
            <th>Job</th>
            <th>Discovery</th>
            <th>State</th>
            <th class="number">Targets before relabelling</th>
          </tr>
        </thead>
        <tbody>
          {list.slice(0, 500).map((d, i) => (
            <tr key={i}>
              <td>
                <DiscoveryJob of={d} />
              </td>
              <td>
                {d.discovery}, line {d.configLine}
              </td>
              <td>{found[d.health]}</td>
              <td class="number">{d.targets}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {list.length > 500 && <p class="dim">500 of {list.length} are listed.</p>}
    </details>
  );
}

const states: ['' | Health, string][] = [
  ['', 'all'],
  ['down', 'down'],
  ['up', 'up'],
  ['unknown', 'not scraped yet'],
];

function List(props: Context & { data: Targets }) {
  const { data, state, act } = props;
  const endpoints = useMemo(() => endpointsOf(data.activeTargets), [data]);
  const filter = { text: state.target, health: state.health };
  const jobs = byJob(endpoints, filter);
  const collectors = machines(data.collectors, filter);
  const count = (h: string): number => [...endpoints, ...data.collectors].filter(t => !h || t.health === h).length;
  const none = endpoints.length + data.collectors.length === 0;

  return (
    <div class="targets">
      <div class="bar">
        <input
          type="search"
          aria-label="Filter targets"
          placeholder="filter"
          value={state.target}
          onInput={e => act({ do: 'set', values: { target: e.currentTarget.value } }, 'typing')}
        />
        <div class="tabs" role="group" aria-label="State">
          {states.map(([health, title]) => (
            <button
              key={health}
              type="button"
              aria-pressed={state.health === health}
              onClick={() => act({ do: 'set', values: { health } })}
            >
              {count(health)} {title}
            </button>
          ))}
        </div>
        <button type="button" onClick={retryOf(props)}>
          Refresh
        </button>
      </div>
      <FailingDiscoveries {...props} list={data.discoveries} />
      {none && (
        <p class="empty">No targets. Either the configuration has none, or its service discoveries found none.</p>
      )}
      {!none && jobs.length + collectors.length === 0 && <p class="empty">No target matches the filter.</p>}
      {collectors.map(c => (
        <Machine {...props} key={c.node} of={c} />
      ))}
      {jobs.map(([job, list]) => (
        <Job {...props} key={job} job={job} endpoints={list} />
      ))}
      <Dropped data={data} />
      <Discoveries list={data.discoveries} />
    </div>
  );
}

export function TargetsPage(context: Context) {
  return (
    <Frame<Targets> {...context} of="targets">
      {data => <List {...context} data={data} />}
    </Frame>
  );
}
