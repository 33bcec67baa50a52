// SPDX-License-Identifier: Apache-2.0
// Targets by job: down first, with the error of the last scrape.
import { useState } from 'preact/hooks';
import type { Target, Targets } from '../api/answer.ts';
import { formatClock } from '../model/time.ts';
import { Frame } from '../parts/notice.tsx';
import type { Context } from './app.tsx';

const rank = { down: 0, unknown: 1, up: 2 };

/** Targets by job, jobs with targets that are down first. */
export function byJob(targets: Target[], find: string): [string, Target[]][] {
  const jobs = new Map<string, Target[]>();
  const low = find.toLowerCase();

  for (const t of targets) {
    if (low && !`${t.scrapeUrl} ${t.lastError} ${Object.values(t.labels).join(' ')}`.toLowerCase().includes(low)) continue;
    const list = jobs.get(t.scrapePool) ?? [];
    list.push(t);
    jobs.set(t.scrapePool, list);
  }
  for (const list of jobs.values()) list.sort((a, b) => rank[a.health] - rank[b.health] || (a.scrapeUrl < b.scrapeUrl ? -1 : 1));
  const worst = (list: Target[]): number => rank[(list[0] as Target).health];
  return [...jobs].sort((a, b) => worst(a[1]) - worst(b[1]) || (a[0] < b[0] ? -1 : 1));
}

function Row({ target, utc }: { target: Target; utc: boolean }) {
  const last = Date.parse(target.lastScrape);

  return (
    <tr>
      <td class={`health ${target.health}`}>{target.health}</td>
      <td>{target.labels.instance}</td>
      <td>{target.labels.__name__}</td>
      <td class="number">{last > 0 ? formatClock(last, utc) : 'never'}</td>
      <td class="number">{target.lastScrapeDuration.toFixed(2)} s</td>
      <td class="error">{target.lastError}</td>
    </tr>
  );
}

/** Targets that relabelling dropped, with the reason. */
function Dropped({ data }: { data: Targets }) {
  if (!data.droppedTargets.length) return null;
  return (
    <details>
      <summary>{data.droppedTargets.length} dropped targets</summary>
      <table>
        <thead><tr><th>Job</th><th>Address</th><th>Reason</th></tr></thead>
        <tbody>
          {data.droppedTargets.map((t, i) => (
            <tr key={i}><td>{t.scrapePool}</td><td>{t.discoveredLabels.__address__}</td><td>{t.reason}</td></tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

export function TargetsPage({ state, loader, act }: Context) {
  const [find, setFind] = useState('');
  const retry = (): void => {
    loader.refresh();
    act({ do: 'set', values: {} });
  };

  return (
    <Frame<Targets> loaded={loader.get('targets')} retry={retry} cancel={() => loader.cancel('targets')}>
      {(data) => {
        const count = (h: string): number => data.activeTargets.filter((t) => t.health === h).length;
        const dropped = Object.values(data.droppedTargetCounts).reduce((a, b) => a + b, 0);
        return (
          <div class="targets">
            <div class="bar">
              <input type="search" aria-label="Filter targets" placeholder="filter" value={find} onInput={(e) => setFind(e.currentTarget.value)} />
              <span role="status">{count('down')} down, {count('up')} up, {count('unknown')} not scraped yet, {dropped} dropped</span>
              <button type="button" onClick={retry}>Refresh</button>
            </div>
            {data.activeTargets.length === 0 && <p class="empty">The configuration has no targets.</p>}
            {byJob(data.activeTargets, find).map(([job, targets]) => (
              <section key={job}>
                <h2>{job} <span class="dim">{targets.filter((t) => t.health === 'up').length} of {targets.length} up</span></h2>
                <table>
                  <thead><tr><th>State</th><th>Instance</th><th>Type</th><th class="number">Last scrape</th><th class="number">Took</th><th>Error</th></tr></thead>
                  <tbody>{targets.map((t) => <Row key={t.scrapeUrl + (t.labels.__name__ ?? '')} target={t} utc={state.tz === 'utc'} />)}</tbody>
                </table>
              </section>
            ))}
            <Dropped data={data} />
          </div>
        );
      }}
    </Frame>
  );
}
