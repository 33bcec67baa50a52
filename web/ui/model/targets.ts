// SPDX-License-Identifier: Apache-2.0
// Targets by job: which are down and why, and what profiling costs them; and
// which service discoveries fail.
import type { Collector, Discovery, Target } from '../api/answer.ts';
import { formatSelector } from './selector.ts';
import { parseDuration } from './time.ts';

export type Health = Target['health'];

const rank: Record<Health, number> = { down: 0, unknown: 1, up: 2 };

/** What of the targets is shown. */
export interface Filter {
  text: string;
  health: '' | Health;
}

/** A target, from which profiles of several types are fetched: one scrape each. */
export interface Endpoint {
  /** The labels that its scrapes have in common. */
  labels: Record<string, string>;
  job: string;
  /** Of the scrape that is worst. */
  health: Health;
  /** The scrapes, those that fail first. */
  scrapes: Target[];
}

/** The targets, each with all its scrapes. */
export function endpointsOf(targets: Target[]): Endpoint[] {
  const all = new Map<string, Endpoint>();

  for (const t of targets) {
    const { __name__: _, ...labels } = t.labels;
    const key = JSON.stringify([t.scrapePool, Object.entries(labels).sort()]);
    const e = all.get(key) ?? { labels, job: t.scrapePool, health: t.health, scrapes: [] };
    e.scrapes.push(t);
    if (rank[t.health] < rank[e.health]) e.health = t.health;
    all.set(key, e);
  }
  for (const e of all.values())
    e.scrapes.sort(
      (a, b) => rank[a.health] - rank[b.health] || ((a.labels.__name__ ?? '') < (b.labels.__name__ ?? '') ? -1 : 1),
    );
  return [...all.values()];
}

/** Whether one of these texts has the text of the filter in it, in any case. */
function hasText(f: Filter, ...texts: string[]): boolean {
  return texts.join(' ').toLowerCase().includes(f.text.toLowerCase());
}

function matches(e: Endpoint, f: Filter): boolean {
  return (
    (!f.health || e.health === f.health) &&
    e.scrapes.some(t => hasText(f, t.scrapeUrl, t.lastError, t.scrapePool, ...Object.values(t.labels)))
  );
}

/** Targets by job, jobs with targets that are down first; in a job those that are down. */
export function byJob(endpoints: Endpoint[], filter: Filter): [string, Endpoint[]][] {
  const jobs = new Map<string, Endpoint[]>();
  const url = (e: Endpoint): string => e.scrapes[0]?.scrapeUrl ?? '';

  for (const e of endpoints) {
    if (!matches(e, filter)) continue;
    const list = jobs.get(e.job) ?? [];
    list.push(e);
    jobs.set(e.job, list);
  }
  for (const list of jobs.values()) list.sort((a, b) => rank[a.health] - rank[b.health] || (url(a) < url(b) ? -1 : 1));
  const worst = (list: Endpoint[]): number => rank[(list[0] as Endpoint).health];
  return [...jobs].sort((a, b) => worst(a[1]) - worst(b[1]) || (a[0] < b[0] ? -1 : 1));
}

/** The scrape that "Profile now" means: of CPU time, if there is one. */
export function mainScrape(e: Endpoint): Target {
  return e.scrapes.find(t => t.labels.__name__ === 'profile') ?? (e.scrapes[0] as Target);
}

/** The service discoveries that fail; they count as targets that are down. */
export function failing(list: Discovery[], filter: Filter): Discovery[] {
  return list.filter(
    d =>
      d.health === 'down' &&
      (!filter.health || filter.health === 'down') &&
      hasText(filter, d.scrapePool, d.discovery, d.source, d.lastError),
  );
}

/** The machines that eBPF profiles. */
export function machines(list: Collector[], filter: Filter): Collector[] {
  return list.filter(
    c => (!filter.health || c.health === filter.health) && hasText(filter, 'ebpf', c.node, c.lastError),
  );
}

/** The errors of targets, equal ones together; addresses and numbers do not tell them apart. */
export function byError(targets: Target[]): { text: string; count: number }[] {
  const groups = new Map<string, { text: string; count: number }>();

  for (const t of targets) {
    if (!t.lastError) continue;
    const key = t.lastError
      .replaceAll(t.scrapeUrl, '…')
      .replaceAll(t.labels.instance ?? '\0', '…')
      .replace(/\d+/g, '#');
    const group = groups.get(key) ?? { text: t.lastError, count: 0 };
    group.count++;
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

export interface Cost {
  type: string;
  targets: number;
  /** Mean seconds of a scrape. */
  seconds: number;
  /** The part of the time in which a target is being profiled. */
  share: number;
}

/** What each type of profile costs the targets of a job. */
export function costs(targets: Target[]): Cost[] {
  const sums = new Map<string, { n: number; seconds: number; share: number }>();

  for (const t of targets) {
    if (t.health === 'unknown') continue;
    const type = t.labels.__name__ ?? '';
    const sum = sums.get(type) ?? { n: 0, seconds: 0, share: 0 };
    sum.n++;
    sum.seconds += t.lastScrapeDuration;
    sum.share += (1000 * t.lastScrapeDuration) / (parseDuration(t.scrapeInterval) || 1);
    sums.set(type, sum);
  }
  return [...sums]
    .map(([type, s]) => ({ type, targets: s.n, seconds: s.seconds / s.n, share: Math.min(1, s.share / s.n) }))
    .sort((a, b) => b.share - a.share);
}

/** The selector of one series; no other target of a job has the same, while the server hides parameters of URLs. */
export function seriesSelector(labels: Record<string, string>): string {
  const { __name__: type = '', ...rest } = labels;

  return formatSelector({ type, matchers: Object.entries(rest).map(([name, value]) => ({ name, op: '=', value })) });
}
