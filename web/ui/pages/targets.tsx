// SPDX-License-Identifier: Apache-2.0
// Targets by job: down first, with the error of the last scrape, what profiling
// costs, and a profile on demand; and the service discoveries that found them.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Discovery, Target, Targets } from '../api/answer.ts';
import { base, fetchPath } from '../api/client.ts';
import { byError, byJob, costs, failing, type Health, seriesSelector } from '../model/targets.ts';
import { formatClock } from '../model/time.ts';
import { formatShare } from '../model/unit.ts';
import { Frame, retryOf } from '../parts/notice.tsx';
import { friendlyName } from '../parts/query.tsx';
import type { Context } from './app.tsx';

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

/** The button, and how long the profile takes. */
function ProfileNow({ target, act }: Context & { target: Target }) {
  const [began, setBegan] = useState(0);
  const [seconds, setSeconds] = useState(0);
  const [failure, setFailure] = useState('');
  const abort = useRef<AbortController | null>(null);
  const start = (): void => {
    abort.current = new AbortController();
    setBegan(Date.now());
    setFailure('');
    profileNow(target, abort.current.signal)
      .then(({ query, time }) => act({ do: 'set', values: { page: 'explore', query, time, from: String(Number(time) - 3600e3), to: time, chart: 'points', span: '', sample_index: '', zoom: '' } }))
      .catch((e: Error) => e.name !== 'AbortError' && setFailure(e.message))
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
        profiling, {seconds} s <button type="button" onClick={() => abort.current?.abort()}>Cancel</button>
      </span>
    );
  return (
    <>
      <button type="button" aria-label={`Profile now: ${target.labels.instance ?? ''} ${target.labels.__name__ ?? ''}`} onClick={start}>Profile now</button>
      {failure && <span class="failure" role="alert"> {failure}</span>}
    </>
  );
}

function Row(props: Context & { target: Target }) {
  const { target } = props;
  const last = Date.parse(target.lastScrape);

  return (
    <tr>
      <td class={`health ${target.health}`}>{target.health}</td>
      <td>{target.labels.instance}</td>
      <td>{target.labels.__name__}</td>
      <td class="number">{last > 0 ? formatClock(last, props.state.tz === 'utc') : 'never'}</td>
      <td class="number">{target.lastScrapeDuration.toFixed(2)} s</td>
      <td class="error">{target.lastError}</td>
      <td><ProfileNow {...props} /></td>
    </tr>
  );
}

/** What profiling costs: how long a scrape takes, and which part of the time that is. */
function Costs({ targets }: { targets: Target[] }) {
  return (
    <details>
      <summary>Cost by type</summary>
      <table class="pairs">
        <thead><tr><th>Type</th><th class="number">Targets</th><th class="number">A scrape takes</th><th class="number">Part of the time</th></tr></thead>
        <tbody>
          {costs(targets).map((c) => (
            <tr key={c.type}><td>{friendlyName(c.type)}</td><td class="number">{c.targets}</td><td class="number">{c.seconds.toFixed(2)} s</td><td class="number">{formatShare(c.share, 1)}</td></tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function Job(props: Context & { job: string; targets: Target[] }) {
  const { targets } = props;
  const [all, setAll] = useState(false);
  const errors = byError(targets);
  const up = targets.filter((t) => t.health === 'up').length;

  return (
    <section>
      <h2>{props.job} <span class="dim">{up} of {targets.length} up</span></h2>
      {errors.length > 0 && targets.length > 5 && (
        <ul class="errors">{errors.slice(0, 5).map((e) => <li key={e.text}><b>{e.count}</b> × {e.text}</li>)}</ul>
      )}
      <Costs targets={targets} />
      <table>
        <thead><tr><th>State</th><th>Instance</th><th>Type</th><th class="number">Last scrape</th><th class="number">Took</th><th>Error</th><th><span class="unseen">Actions</span></th></tr></thead>
        <tbody>{(all ? targets : targets.slice(0, fewRows)).map((t) => <Row {...props} key={seriesSelector(t.labels)} target={t} />)}</tbody>
      </table>
      {!all && targets.length > fewRows && <button type="button" onClick={() => setAll(true)}>Show all {targets.length}</button>}
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
        <thead><tr><th>Job</th><th>Address</th><th>Reason</th></tr></thead>
        <tbody>
          {data.droppedTargets.slice(0, 500).map((t, i) => (
            <tr key={i}><td>{t.scrapePool}</td><td>{t.discoveredLabels.__address__}</td><td>{t.reason}</td></tr>
          ))}
        </tbody>
      </table>
      {count > Math.min(500, data.droppedTargets.length) && <p class="dim">{Math.min(500, data.droppedTargets.length)} of {count} are listed.</p>}
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
        <thead><tr><th>Job</th><th>Discovery</th><th>Source</th><th class="number">Failed at</th><th>Error</th><th class="number">Targets kept</th></tr></thead>
        <tbody>
          {failed.map((d, i) => (
            <tr key={i}>
              <td><DiscoveryJob of={d} /></td><td>{d.discovery}, line {d.configLine}</td><td>{d.source}</td>
              <td class="number">{formatClock(Date.parse(d.lastErrorTime), state.tz === 'utc')}</td><td class="error">{d.lastError}</td><td class="number">{d.targets}</td>
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
      <summary>{list.length} service {list.length === 1 ? 'discovery' : 'discoveries'}</summary>
      <table>
        <thead><tr><th>Job</th><th>Discovery</th><th>State</th><th class="number">Targets before relabelling</th></tr></thead>
        <tbody>
          {list.slice(0, 500).map((d, i) => (
            <tr key={i}><td><DiscoveryJob of={d} /></td><td>{d.discovery}, line {d.configLine}</td><td>{found[d.health]}</td><td class="number">{d.targets}</td></tr>
          ))}
        </tbody>
      </table>
      {list.length > 500 && <p class="dim">500 of {list.length} are listed.</p>}
    </details>
  );
}

const states: ['' | Health, string][] = [['', 'all'], ['down', 'down'], ['up', 'up'], ['unknown', 'not scraped yet']];

function List(props: Context & { data: Targets }) {
  const { data, state, act } = props;
  const jobs = byJob(data.activeTargets, { text: state.target, health: state.health });
  const count = (h: string): number => data.activeTargets.filter((t) => !h || t.health === h).length;

  return (
    <div class="targets">
      <div class="bar">
        <input type="search" aria-label="Filter targets" placeholder="filter" value={state.target} onInput={(e) => act({ do: 'set', values: { target: e.currentTarget.value } }, 'typing')} />
        <div class="tabs" role="group" aria-label="State">
          {states.map(([health, title]) => (
            <button key={health} type="button" aria-pressed={state.health === health} onClick={() => act({ do: 'set', values: { health } })}>{count(health)} {title}</button>
          ))}
        </div>
        <button type="button" onClick={retryOf(props)}>Refresh</button>
      </div>
      <FailingDiscoveries {...props} list={data.discoveries} />
      {data.activeTargets.length === 0 && <p class="empty">No targets. Either the configuration has none, or its service discoveries found none.</p>}
      {data.activeTargets.length > 0 && jobs.length === 0 && <p class="empty">No target matches the filter.</p>}
      {jobs.map(([job, targets]) => <Job {...props} key={job} job={job} targets={targets} />)}
      <Dropped data={data} />
      <Discoveries list={data.discoveries} />
    </div>
  );
}

export function TargetsPage(context: Context) {
  return (
    <Frame<Targets> {...context} of="targets">
      {(data) => <List {...context} data={data} />}
    </Frame>
  );
}
