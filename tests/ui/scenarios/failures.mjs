// SPDX-License-Identifier: Apache-2.0
// Failures of the server: each has its own text, and the page goes on.
import assert from 'node:assert/strict';
import { Tab } from '../browser.mjs';
import { bigAt, first, last, until } from '../site.mjs';

const path = `?query=profile&from=${first}&to=${last}`;

/** Answer the flame graph's request with something else, `times` times. */
async function answer(tab, times, response) {
  let left = times;

  await tab.page.route(/report=flamegraph/, route => (left-- > 0 ? route.fulfill(response) : route.continue()));
}

function json(status, error, headers = {}) {
  return {
    status,
    headers,
    contentType: 'application/json',
    body: JSON.stringify({ status: 'error', errorType: 'x', error }),
  };
}

async function statuses({ browser, site }) {
  const cases = [
    [json(403, 'this needs the scope read'), /this needs the scope read/],
    [json(422, 'cannot be merged'), /cannot be merged/],
    [json(500, 'something broke'), /something broke/],
    [
      { status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1><img src=x onerror=alert(1)>' },
      /<h1>Bad Gateway/,
    ],
    [
      { status: 200, contentType: 'application/json', body: '{"status":"success","data":{"name":[1,' },
      /cut off or is not JSON/,
    ],
  ];

  for (const [response, text] of cases) {
    const tab = await Tab.open(browser, site);
    await answer(tab, 1, response);
    await tab.go(path);
    assert.match(await tab.text('.notice.bad'), text);
    await tab.page.getByText('Try again').click();
    await until('the graph is there', async () => (await tab.page.locator('.canvas').count()) === 1);
    assert.equal(await tab.page.locator('.notice.bad').count(), 0);
    tab.complaints = tab.complaints.filter(c => !c.startsWith('error: Failed to load resource'));
    await tab.close();
  }
}

async function retryAfter({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await answer(tab, 1, json(429, 'too much memory is in use', { 'Retry-After': '1' }));
  await tab.go(path);
  assert.match(await tab.text('.notice.bad'), /too much memory is in use \(trying again in 1 s\)/);
  await until('it tries again by itself', async () => (await tab.page.locator('.canvas').count()) === 1);
  tab.complaints = tab.complaints.filter(c => !c.includes('429'));
  await tab.close();
}

/** "Cancel" ends the query on the server, too. */
async function cancel({ browser, site }) {
  const tab = await Tab.open(browser, site);
  // Deciding these takes seconds for the functions of the large profile, but for none of them more steps than one may take.
  const slow = `?query=profile{job="big"}&from=${bigAt}&to=${bigAt}&chart=off${`&focus=${encodeURIComponent('(.?){15}x')}`.repeat(8)}`;
  const running = async () =>
    (await site.api('status/queries')).filter(q => q.id.startsWith('ui-') && q.path.endsWith('/query'));
  const counted = async () =>
    Number(/^everprof_http_cancelled_total (\d+)$/m.exec(await (await fetch(`${site.url}metrics`)).text())?.[1] ?? 0);
  const before = await counted();

  await tab.page.goto(site.url + slow);
  await until('the query runs', async () => (await running()).length === 1);
  await tab.page.getByRole('button', { name: 'Cancel' }).click();
  const began = Date.now();
  await until('the query is gone', async () => (await running()).length === 0);
  console.log(`        gone after ${Date.now() - began} ms`);
  assert.equal(await counted(), before + 1);
  assert.match(await tab.text('.notice.bad'), /cancelled/);
  await tab.close();
}

async function serverGone({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go(path);
  await site.kill();
  await tab.page.getByRole('tab', { name: 'Inverted' }).click();
  await until('the page says so', async () => (await tab.page.locator('.notice.bad').count()) > 0);
  assert.match(await tab.text('.notice.bad'), /the server cannot be reached/);
  assert.equal(await tab.page.locator('.canvas').count(), 1, 'the old picture stays');
  await site.start();
  await until('the page comes back', async () => (await tab.page.locator('.notice.bad').count()) === 0);
  await tab.settled();
  tab.complaints = tab.complaints.filter(c => !c.includes('ERR_CONNECTION_REFUSED'));
  await tab.close();
}

/** The same failure of several requests is shown once. */
async function sharedFailures({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go(path);
  await tab.page.getByLabel('Selector', { exact: true }).fill('profile{job=');
  await tab.page.keyboard.press('Enter');
  await tab.param('query', 'profile{job=');
  assert.equal(await tab.page.locator('.notice.bad').count(), 1);
  assert.match(await tab.text('.notice.bad'), /expected a .*label value/);
  assert.equal(await tab.page.getByText('Try again').count(), 0, 'the same selector stays wrong');
  await tab.page.goBack();
  await tab.param('query', 'profile');
  assert.equal(await tab.page.locator('.notice.bad').count(), 0);

  await tab.page.route(/api\/v1/, route => route.abort());
  await tab.page.getByRole('button', { name: 'Reload' }).click();
  await until('the page says so', async () => (await tab.page.locator('.notice.bad').count()) > 0);
  await tab.settled();
  assert.equal(await tab.page.locator('.notice.bad').count(), 1);
  assert.match(await tab.text('.notice.bad'), /the server cannot be reached/);
  assert.equal(await tab.page.locator('.canvas').count(), 1, 'the old picture stays');
  await tab.page.unrouteAll({ behavior: 'ignoreErrors' });
  await tab.page.getByText('Try again').click();
  await until('the page comes back', async () => (await tab.page.locator('.notice.bad').count()) === 0);
  await tab.settled();
  tab.complaints = tab.complaints.filter(c => !c.startsWith('error: Failed to load resource'));
  await tab.close();
}

/** Errors have times as the page shows all others. */
async function times({ browser, site }) {
  const at = first - 365 * 86400e3;

  for (const [zone, want] of [
    ['America/New_York', '2025-11-20 22:36:41'],
    ['UTC', '2025-11-21 03:36:41'],
  ]) {
    const tab = await Tab.open(browser, site, { timezoneId: zone });
    await tab.go(`?query=profile&chart=off&time=${at}`);
    const text = await tab.text('.empty');
    assert.ok(text.includes(want), text);
    assert.doesNotMatch(text, /\dT\d/);
    await tab.close('404');
  }
}

async function progress({ browser, site }) {
  const tab = await Tab.open(browser, site);
  let release;
  let id = '';

  await tab.page.route(/report=flamegraph/, async route => {
    id = route.request().headers()['x-everprof-query'];
    await new Promise(done => (release = done));
    await route.continue();
  });
  await tab.page.route(/status\/queries/, route =>
    route.fulfill({
      contentType: 'application/json',
      body: JSON.stringify({ status: 'success', data: [{ id, done: 4120, profiles: 10010 }] }),
    }),
  );
  await tab.page.goto(site.url + path);
  await until('the progress is shown', async () => /4120 of 10010 profiles/.test(await tab.text('.progress')));
  assert.match(id, /^ui-[a-z0-9-]+$/);
  release();
  await tab.settled();
  assert.equal(await tab.page.locator('.progress').count(), 0);
  await tab.close();
}

async function cancelAndRetry({ browser, site }) {
  const tab = await Tab.open(browser, site);
  let release;

  await tab.page.route(/report=flamegraph/, async route => {
    await new Promise(done => (release = done));
    await route.continue().catch(() => undefined);
  });
  await tab.page.goto(site.url + path);
  await tab.page.locator('.views .progress button').click();
  await until('it is cancelled', async () => /cancelled/.test(await tab.text('.notice.bad')));
  release();
  await tab.page.unrouteAll({ behavior: 'ignoreErrors' });
  await tab.page.getByText('Try again').click();
  await until('the graph is there', async () => (await tab.page.locator('.canvas').count()) === 1);
  await tab.close();
}

async function hostile({ browser, site }) {
  const names = [
    '<img src=x onerror=alert(1)>',
    '"\'`',
    '\u202edlrow',
    '__proto__',
    'constructor',
    'x'.repeat(10000),
    '\ud800',
    '',
  ];
  const count = names.length + 1;
  const data = {
    sample_type: '<b>',
    unit: '<i>',
    total: 2 ** 62,
    strings: ['', ...names],
    name: [1, ...names.map((_, i) => i + 1)],
    file: Array(count).fill(1),
    binary: Array(count).fill(4),
    parent: [-1, ...names.map((_, i) => (i % 2 ? i : 0))],
    inlined: Array(count).fill(0),
    self: Array(count).fill(1),
    total_of: names.map((_, i) => 2 ** 62 - i).concat(-5),
    left_out: { nodes: 0, weight: 0 },
  };
  const tab = await Tab.open(browser, site);

  await answer(tab, 9, {
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify({ status: 'success', data, warnings: ['<script>alert(2)</script>'] }),
  });
  await tab.go(`${path}&find=${encodeURIComponent('<img')}&focus=${encodeURIComponent('<svg onload=alert(3)>')}`);
  assert.equal(await tab.text('.notice.warn'), '<script>alert(2)</script>');
  assert.equal(await tab.text('.chip-text'), 'focus <svg onload=alert(3)>');
  assert.equal(await tab.page.locator('main img, main script, main svg').count(), 0);
  await tab.page.locator('.canvas').focus();
  for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight', 'Enter']) await tab.page.keyboard.press(key);
  await tab.settled();
  await tab.close();
}

/** A name cannot change the order in which its characters are shown. */
async function reordered({ browser, site }) {
  const name = 'a\u202eevil';
  const data = {
    sample_type: 'cpu',
    unit: 'count',
    total: 3,
    strings: ['', 'total', name],
    name: [1, 2],
    file: [0, 0],
    binary: [0, 0],
    parent: [-1, 0],
    inlined: [0, 0],
    self: [0, 3],
    total_of: [3, 3],
    left_out: { nodes: 0, weight: 0 },
  };
  const tab = await Tab.open(browser, site);
  let asked = '';

  await answer(tab, 9, {
    status: 200,
    contentType: 'application/json',
    body: JSON.stringify({ status: 'success', data }),
  });
  tab.page.on('request', r => (asked = r.url().includes('report=flamegraph') ? r.url() : asked));
  await tab.go(`${path}&chart=off`);
  await tab.clickFlame(1, 0.5);
  assert.match(await tab.text('.detail'), /^a\\u202eevil /);
  assert.doesNotMatch(await tab.page.locator('body').innerText(), /\p{Bidi_Control}/u);
  await tab.page.keyboard.press('f');
  await until('the filter is asked for', () => new URL(asked).searchParams.get('focus') === `^${name}$`);
  assert.equal(await tab.text('.chip-text'), 'focus ^a\\u202eevil$');
  await tab.close();
}

export const failures = [
  ['statuses', statuses],
  ['Retry-After', retryAfter],
  ['the server goes and comes back', serverGone],
  ['one failure of several requests', sharedFailures],
  ['times of errors', times],
  ['progress', progress],
  ['cancel ends the query', cancel],
  ['cancel, and try again', cancelAndRetry],
  ['hostile names', hostile],
  ['names that change the order of characters', reordered],
];
