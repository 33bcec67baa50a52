// SPDX-License-Identifier: Apache-2.0
// Keeps the answers that the page needs: asks for what is new, and aborts what
// nobody wants any more. An aborted request ends its query on the server, too.
import { type Answer, ask, Problem, type Request, urlOf } from './client.ts';

/** What is known of a request. */
export interface Loaded<T> {
  url: string;
  /** The last answer to a request with the same key, perhaps an older one. */
  answer: Answer<T> | null;
  /** Whether `answer` belongs to another request than the one that is wanted. */
  stale: boolean;
  loading: boolean;
  problem: Problem | null;
  /** Identifier of the running request, for /api/v1/status/queries. */
  id: string;
}

const parallel = 4;
const kept = 20;

export class Loader {
  private readonly entries = new Map<string, Loaded<unknown>>();
  private readonly running = new Map<string, AbortController>();
  private readonly cache = new Map<string, Answer<unknown>>();
  private queue: Request[] = [];
  private retries = new Map<string, number>();
  private number = 0;

  constructor(private readonly changed: () => void) {}

  get<T>(key: string): Loaded<T> | undefined {
    return this.entries.get(key) as Loaded<T> | undefined;
  }

  /** Whether the server asks for credentials. */
  get signedOut(): boolean {
    return [...this.entries.values()].some(e => e.problem?.status === 401);
  }

  /** Failures that several requests share, each once: the page shows them in one place. */
  get shared(): Problem[] {
    const all = [...this.entries.values()].flatMap(e => (e.problem && e.problem.status !== 404 ? [e.problem] : []));

    return all.filter((p, i) => all.findIndex(p.isSame) === i && all.findLastIndex(p.isSame) > i);
  }

  /** These requests are wanted now, and no others. */
  want(requests: Request[]): void {
    const keys = new Set(requests.map(r => r.key));

    for (const key of [...this.entries.keys()]) {
      if (keys.has(key)) continue;
      this.stop(key);
      this.entries.delete(key);
    }
    for (const r of requests) this.wantOne(r);
    this.startNext();
  }

  /** Ask again for everything, or for one key. */
  refresh(key?: string): void {
    this.cache.clear();
    for (const [k, e] of this.entries) {
      if (!key || k === key) e.url = '';
    }
  }

  /** End a request; its view says so. */
  cancel(key: string): void {
    const e = this.entries.get(key);

    this.stop(key);
    if (!e) return;
    e.loading = false;
    e.problem = new Problem(0, 'cancelled', 0);
    this.startNext();
    this.changed();
  }

  private stop(key: string): void {
    this.running.get(key)?.abort();
    this.running.delete(key);
    this.queue = this.queue.filter(r => r.key !== key);
    clearTimeout(this.retries.get(key));
    this.retries.delete(key);
  }

  private wantOne(r: Request): void {
    const url = urlOf(r);
    const known = this.entries.get(r.key);

    if (known?.url === url) return;
    this.stop(r.key);
    const cached = this.cache.get(url) ?? null;
    this.entries.set(r.key, {
      url,
      answer: cached ?? known?.answer ?? null,
      stale: !cached,
      loading: !cached,
      problem: null,
      id: '',
    });
    if (!cached) this.queue.push(r);
  }

  private startNext(): void {
    while (this.queue.length && this.running.size < parallel) void this.run(this.queue.shift() as Request);
  }

  private async run(r: Request): Promise<void> {
    const abort = new AbortController();
    const e = this.entries.get(r.key) as Loaded<unknown>;
    const url = e.url;

    e.id = `ui-${Date.now().toString(36)}-${(this.number++).toString(36)}`;
    this.running.set(r.key, abort);
    try {
      const answer = await ask<unknown>(r, abort.signal, e.id);
      if (abort.signal.aborted) return;
      this.keep(url, answer);
      Object.assign(e, { answer, stale: false, problem: null });
    } catch (failure) {
      if (abort.signal.aborted) return;
      if (!(failure instanceof Problem)) throw failure;
      e.problem = failure;
      this.retryLater(r, failure);
    }
    e.loading = false;
    this.running.delete(r.key);
    this.startNext();
    this.changed();
  }

  /** The server said when to come back, or cannot be reached for now. */
  private retryLater(r: Request, p: Problem): void {
    if (!p.retry) return;
    const timer = setTimeout(() => {
      const e = this.entries.get(r.key);
      if (!e) return;
      e.loading = true;
      this.queue.push(r);
      this.startNext();
      this.changed();
    }, p.retry * 1000);
    this.retries.set(r.key, timer as unknown as number);
  }

  private keep(url: string, answer: Answer<unknown>): void {
    this.cache.delete(url);
    this.cache.set(url, answer);
    if (this.cache.size > kept) this.cache.delete(this.cache.keys().next().value as string);
  }
}
