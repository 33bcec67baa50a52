// SPDX-License-Identifier: Apache-2.0
// The loader: how many requests run at a time, and which one is next.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { Request } from '../../../web/ui/api/client.ts';
import { Loader } from '../../../web/ui/api/loader.ts';

/** The paths that were asked for, in this order; answers never come by themselves. */
let asked: string[] = [];
let answers = new Map<string, (r: Response) => void>();

const requests = (...names: string[]): Request[] => names.map(name => ({ key: name, path: name, params: [] }));

/** Wait until promises that are settled have been handled. */
const settle = (): Promise<void> => new Promise(done => setImmediate(done));

beforeEach(() => {
  asked = [];
  answers = new Map();
  Object.assign(globalThis, {
    location: { pathname: '/' },
    fetch: (url: string, { signal }: { signal: AbortSignal }) =>
      new Promise<Response>((resolve, reject) => {
        asked.push(url);
        answers.set(url, resolve);
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      }),
  });
});

test('four requests run at a time, and the next one starts when one ends', async () => {
  const loader = new Loader(() => undefined);

  loader.want(requests('a', 'b', 'c', 'd', 'e', 'f'));
  assert.deepEqual(asked, ['/a', '/b', '/c', '/d']);
  answers.get('/b')?.(new Response('{"status":"success","data":7}'));
  await settle();
  assert.deepEqual(asked.slice(4), ['/e']);
  assert.equal(loader.get('b')?.answer?.data, 7);
});

test('a request that is cancelled makes room for the next one', async () => {
  const loader = new Loader(() => undefined);

  loader.want(requests('a', 'b', 'c', 'd', 'e', 'f', 'g'));
  loader.cancel('c');
  assert.deepEqual(asked.slice(4), ['/e']);
  loader.cancel('f');
  assert.deepEqual(asked.slice(5), [], 'it had not begun');
  loader.cancel('e');
  assert.deepEqual(asked.slice(5), ['/g']);
  await settle();
  assert.deepEqual(
    ['c', 'e', 'f'].map(key => loader.get(key)?.problem?.message),
    ['cancelled', 'cancelled', 'cancelled'],
  );
  assert.deepEqual(
    ['a', 'g'].map(key => loader.get(key)?.loading),
    [true, true],
  );
});

test('a failure of several requests is shared, and has one text', async () => {
  const loader = new Loader(() => undefined);
  const fail = (status: number, error: string): Response =>
    new Response(JSON.stringify({ status: 'error', error }), { status });

  loader.want(requests('a', 'b', 'c', 'd'));
  answers.get('/a')?.(fail(400, 'bad selector'));
  answers.get('/c')?.(fail(500, 'bad selector'));
  await settle();
  assert.deepEqual(loader.shared, []);
  answers.get('/b')?.(fail(400, 'bad selector'));
  await settle();
  assert.deepEqual(
    loader.shared.map(p => [p.status, p.message]),
    [[400, 'bad selector']],
  );
  loader.want(requests('b', 'c', 'd'));
  assert.deepEqual(loader.shared, [], 'nobody asks for a any more');
});

test('that there is nothing is no shared failure: each view says it', async () => {
  const loader = new Loader(() => undefined);

  loader.want(requests('a', 'b'));
  for (const url of ['/a', '/b']) answers.get(url)?.(new Response('{"error":"no profile"}', { status: 404 }));
  await settle();
  assert.equal(loader.get('a')?.problem?.status, 404);
  assert.deepEqual(loader.shared, []);
});
