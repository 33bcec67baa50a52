// SPDX-License-Identifier: Apache-2.0
// Targets and Status; every page in both themes and on a phone.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tab } from '../browser.mjs';
import { first, last, root, until } from '../site.mjs';

const require = createRequire(join(root, 'web/ui/package.json'));
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

async function targets({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await until(
    'the targets were tried',
    async () => (await site.api('targets')).activeTargets.filter(t => t.health === 'down').length === 7,
  );
  await tab.go('targets');
  // Service discoveries that fail come first.
  await until('the discovery has failed', async () => (await site.api('targets')).discoveries[0].health === 'down');
  await tab.page.getByRole('button', { name: 'Refresh' }).click();
  await tab.page.getByRole('heading', { name: 'Failing service discoveries' }).waitFor();
  assert.match(
    await tab.text('section tbody tr'),
    /^lost\s*http_sd_configs, line \d+\s*http:\/\/127\.0\.0\.1:1\/targets.*connect.*0$/i,
  );
  await tab.page.getByText('1 service discovery').click();
  assert.match(await tab.text('.targets > details tbody tr'), /^lost\s*http_sd_configs, line \d+\s*fails\s*0$/);
  await tab.page.getByText('1 service discovery').click();
  // Jobs with targets that are down come first. A target is one row with all its types, and equal errors are one line.
  assert.match(await tab.text('section:nth-of-type(2) h2'), /^gone 0 of 1 up/);
  assert.equal(await tab.page.locator('section:nth-of-type(2) .type.down').count(), 7);
  assert.match(await tab.text('.errors li'), /^7 × .*connect/i);
  await tab.page.getByRole('button', { name: /: types of 127.0.0.1:1$/ }).click();
  assert.equal(await tab.page.locator('.below tbody tr').count(), 7);
  assert.match(await tab.text('td.error'), /127\.0\.0\.1:1|refused|connect/i);
  await tab.page.getByRole('button', { name: /: types of 127.0.0.1:1$/ }).click();
  await tab.page.getByText('Cost by type').first().click();
  await tab.picture('targets');
  // It is due once a day, which may be now.
  const { health } = (await site.api('targets')).activeTargets.find(t => t.labels.job === 'live');
  await tab.page.getByRole('button', { name: health === 'unknown' ? '1 not scraped yet' : '1 up' }).click();
  await tab.param('health', health);
  assert.match(await tab.text('h2'), health === 'unknown' ? /^live 0 of 1 up/ : /^live 1 of 1 up/);
  await tab.page.getByLabel('Filter targets').fill('nothing like this');
  await tab.param('target', 'nothing like this');
  assert.equal(await tab.page.locator('section').count(), 0);
  await tab.ends();
}

async function profileNow({ browser, site, program }) {
  const tab = await Tab.open(browser, site);
  const before = program.requests;

  await tab.go('targets?target=live');
  await tab.page.getByRole('button', { name: 'Profile now' }).click();
  await until('the profile is shown', () => tab.params().get('time'));
  await tab.settled();
  assert.equal(program.requests, before + 1);
  const query = tab.params().get('query');
  const times = (
    await site.api('query_range', { query, from: tab.params().get('from'), to: tab.params().get('to') })
  )[0].timestamps;
  assert.ok(times.includes(Number(tab.params().get('time'))), `${times} has the new profile`);
  assert.match(query, /^heap\{.*job="live"/);
  assert.match(await tab.text('.origin'), /^profile of/);
  await tab.ends();
  // A target that is down: the error is beside its button.
  const down = await Tab.open(browser, site);
  await down.go('targets?health=down&target=heap');
  await down.page.getByRole('button', { name: 'Profile now' }).click();
  const width = async () => (await down.page.locator('.targets-table tbody tr').first().boundingBox()).width;
  const narrow = await width();
  await until('the error is shown', async () => (await down.page.locator('.failure').count()) === 1);
  assert.match(await down.text('.failure'), /127\.0\.0\.1 port 1.*connect/i);
  assert.equal(await width(), narrow, 'the error has a row of its own');
  down.complaints = down.complaints.filter(c => !c.includes('503'));
  await down.close();
}

async function reloadFails({ browser, site }) {
  const tab = await Tab.open(browser, site);
  const good = readFileSync(join(site.folder, 'everprof.yaml'), 'utf8');
  const state = () => site.api('status/runtimeinfo');

  site.configure(`${good}\nno_such_key: 1\n`);
  site.child.kill('SIGHUP');
  await until('the reload failed', async () => !(await state()).reloadConfigSuccess);
  await tab.go('status');
  assert.match(await tab.text('.notice.bad'), /reload of the configuration failed.*no_such_key/);
  site.configure(good);
  site.child.kill('SIGHUP');
  await until('the reload succeeded', async () => (await state()).reloadConfigSuccess);
  await tab.go('status');
  assert.equal(await tab.page.locator('.notice.bad').count(), 0);
  await tab.close();
}

/** Zoom of the browser and screens with small pixels: the flame graph is as sharp as the text. */
async function scales({ browser, site }) {
  for (const [name, options] of [
    ['zoomed', { viewport: { width: 700, height: 450 }, deviceScaleFactor: 2 }],
    ['dense', { deviceScaleFactor: 2 }],
  ]) {
    const tab = await Tab.open(browser, site, options);
    // Without the chart: Chromium does not always draw the same letter in uPlot's axes on such screens.
    await tab.go(`?query=profile{job!="big"}&from=${first}&to=${last}&chart=off`);
    const [shown, pixels] = await tab.page.evaluate(() => {
      const c = document.querySelector('.canvas canvas');
      return [c.getBoundingClientRect().width, c.width];
    });
    assert.ok(Math.abs(pixels - 2 * shown) <= 2, `${pixels} pixels for ${shown}`);
    const wide = await tab.page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    assert.ok(wide <= 0, `${name}: ${wide} pixels wider than the screen`);
    await tab.picture(name);
    await tab.ends();
  }
}

async function status({ browser, site }) {
  const tab = await Tab.open(browser, site);
  const tsdb = await site.api('status/tsdb');

  await tab.go('status');
  const text = await tab.text('.status');
  assert.ok(text.includes(`profiles in blocks ${tsdb.blockStats.numSamples}`), text.slice(0, 500));
  assert.ok(text.includes('job_name: gone'));
  assert.ok(text.includes('retention.time'));
  await tab.picture('status');
  await tab.close();
}

async function navigation({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go(`?query=heap&from=${first}&to=${last}&view=table`);
  await tab.page.getByRole('link', { name: 'Targets' }).click();
  await tab.settled();
  assert.equal(new URL(tab.page.url()).pathname, '/targets');
  await tab.page.getByRole('link', { name: 'Explore' }).click();
  await tab.param('query', 'heap');
  assert.equal(tab.params().get('view'), 'table');
  await tab.ends();
}

/** axe runs in a world of its own: the page's policy allows no other scripts. */
async function violations(tab) {
  const session = await tab.page.context().newCDPSession(tab.page);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
    worldName: 'axe',
  });
  const run = async expression => {
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression,
      contextId: executionContextId,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  await run(`${axe};0`);
  return run('axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" | ")}`))');
}

async function looks({ browser, site }) {
  const paths = {
    explore: `?query=profile&from=${first}&to=${last}`,
    table: `?query=heap&from=${first}&to=${last}&view=table`,
    compare: `compare?query_b=profile&from_b=${first + 400000}&to_b=${last}`,
    changes: `compare?query_b=profile&from_b=${first + 400000}&to_b=${last}&view=table`,
    ...Object.fromEntries(
      ['points', 'rows', 'weights', 'history'].map(c => [
        `chart-${c}`,
        `?query=profile&from=${first}&to=${last}&chart=${c}&view=text`,
      ]),
    ),
    ...Object.fromEntries(
      ['invert', 'sandwich', 'source', 'graph', 'flame,table'].map(v => [
        `view-${v}`,
        `?query=profile&from=${first}&to=${last}&chart=off&view=${v}&fn=main.words`,
      ]),
    ),
    choose: `?query=profile&from=${first}&to=${last}&chart=off&view=sandwich`,
    nothing: '?query=profile&from=now-5m&chart=off',
    targets: 'targets',
    status: 'status',
    mistake: `?query=profile{&from=${first}&to=${last}`,
  };
  const modes = {
    light: { colorScheme: 'light' },
    dark: { colorScheme: 'dark' },
    phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 },
  };

  for (const [mode, options] of Object.entries(modes)) {
    const tab = await Tab.open(browser, site, options);
    for (const [name, path] of Object.entries(paths)) {
      await tab.go(path);
      assert.deepEqual(await violations(tab), [], `${name}, ${mode}`);
      const wide = await tab.page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(wide <= 0, `${name}, ${mode}: ${wide} pixels wider than the screen`);
      await tab.picture(`${name}-${mode}`);
      tab.complaints = tab.complaints.filter(
        c =>
          !(name === 'mistake' && c.includes('400 (Bad Request)')) &&
          !(name === 'nothing' && c.includes('404 (Not Found)')),
      );
    }
    await tab.close();
  }
}

/** What axe finds in the boxes that open above the page. */
async function popups({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go(`?query=profile&from=${first}&to=${last}`);
  for (const name of ['Options', 'Export', '+ label']) {
    await tab.page.getByRole('button', { name, exact: true }).click();
    await tab.page.getByRole('dialog').waitFor();
    assert.deepEqual(await violations(tab), [], name);
    await tab.page.getByRole('dialog').getByLabel('Close').click();
    const focused = await tab.page.evaluate(() => document.activeElement.textContent);
    assert.equal(focused, name, 'the control that opened the box has the focus again');
  }
  // Each closes with Escape, wherever the focus is, and when another one opens.
  for (const name of ['Options', 'Export', '+ label']) {
    await tab.page.getByRole('button', { name, exact: true }).click();
    await tab.page.getByRole('dialog').waitFor();
    assert.equal(await tab.page.getByRole('dialog').count(), 1, name);
  }
  await tab.page.evaluate(() => document.activeElement.blur());
  await tab.page.keyboard.press('Escape');
  assert.equal(await tab.page.getByRole('dialog').count(), 0);
  await tab.close();
}

/** The order in which Tab reaches what has the focus: that of the page, and nothing twice. */
async function focusOrder({ browser, site }) {
  const tab = await Tab.open(browser, site);
  const order = [];

  await tab.go(`?query=profile&from=${first}&to=${last}`);
  for (let i = 0; i < 200; i++) {
    await tab.page.keyboard.press('Tab');
    const label = await tab.page.evaluate(() => {
      const e = document.activeElement;
      return e === document.body || !e
        ? ''
        : `${e.tagName.toLowerCase()} ${e.getAttribute('aria-label') ?? e.textContent.trim()}`;
    });
    if (!label) break;
    order.push(label);
  }
  await tab.record('focus-order.txt', `${order.join('\n')}\n`);
  const expected = [
    'a Explore',
    'a Status',
    'select Profile type',
    'input Selector',
    'select Time range',
    'select Group series by',
    'button Lines',
    'button The profile after',
    'input Find functions',
    'button Flame graph',
    'select Second view, beside the first',
    'button Options',
    'button Export',
    /^div Flame graph, \d+ boxes/,
  ];
  const places = expected.map(want =>
    order.findIndex(label => (want instanceof RegExp ? want.test(label) : label === want)),
  );
  assert.ok(!places.includes(-1), `${expected[places.indexOf(-1)]} is not among: ${order.join(', ')}`);
  assert.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
    order.join(', '),
  );
  assert.equal(new Set(order).size, order.length, order.join(', '));
  await tab.close();
}

async function keyboard({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go(`?query=profile&from=${first}&to=${last}`);
  await tab.page.locator('.flame-tree').focus();
  await tab.page.keyboard.press('ArrowDown');
  const name = await tab.text('.detail b');
  assert.notEqual(name, 'total');
  await tab.page.keyboard.press('ArrowRight');
  assert.notEqual(await tab.text('.detail b'), name);
  await tab.page.keyboard.press('ArrowLeft');
  assert.equal(await tab.text('.detail b'), name);
  await tab.page.keyboard.press('Enter');
  await until('Enter zooms', () => tab.params().get('zoom'));
  await tab.page.keyboard.press('2');
  await tab.param('view', 'table');
  await tab.page.keyboard.press('/');
  await tab.page.keyboard.type('2u?');
  await tab.param('find', '2u?');
  await tab.page.evaluate(() => document.activeElement.blur());
  await tab.page.keyboard.press('?');
  assert.ok((await tab.text('dialog')).includes('find functions'));
  assert.deepEqual(await violations(tab), []);
  await tab.page.keyboard.press('Escape');
  await tab.ends();
}

/** Press Tab until an element has the focus, unless it has it already; fails if there is none. */
async function tabTo(tab, name) {
  for (let i = 0; i < 60; i++) {
    const label = await tab.page.evaluate(
      () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '',
    );
    if (name.test(label)) return;
    await tab.page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${name}`);
}

/** Three tasks without a pointer: an incident, a regression after a deployment, an odd instance. */
async function keyboardTasks({ browser, site }) {
  const tab = await Tab.open(browser, site);
  const press = async (...keys) => {
    for (const key of keys) await tab.page.keyboard.press(key);
  };

  await tab.go(`?query=profile{job!="big"}&from=${first}&to=${last}`);
  await press('h');
  await tab.param('chart', 'rows');
  await press('Home', 'Shift+ArrowRight', 'Shift+ArrowRight', 'Enter');
  await tabTo(tab, /^Open$/);
  await press('Enter');
  await tab.param('chart', null);
  assert.equal(Number(tab.params().get('to')) - Number(tab.params().get('from')) + 1, 3 * 15000, 'three steps');
  assert.match(tab.params().get('query'), /job="\w+"/);
  await tab.go(`?query=heap{job="shop"}&from=${first}&to=${last}`);
  await tabTo(tab, /^before\/after .*version/);
  await press('Enter');
  await until('both sides are compared', () => tab.params().get('from_a'));
  await tab.settled();
  assert.match(await tab.text('.flame-head b'), / → /);
  await tab.go(`?query=heap{job="shop"}&from=${first}&to=${last}`);
  await press('h');
  await tab.param('by', 'instance');
  await press('Home', 'Shift+End', 'Enter');
  await tabTo(tab, /^Against the rest$/);
  await press('Enter');
  await until('the rest is compared', () => /instance!="shop-\d"/.test(tab.params().get('query_a') ?? ''));
  await tab.settled();
  assert.match(await tab.text('.flame-head b'), /to which B is scaled/);
  await tab.ends();
}

async function budget({ browser, site }) {
  const tab = await Tab.open(browser, site);
  const requests = new Set();
  let size = 0;

  tab.page.on('response', r => {
    const { pathname } = new URL(r.url());
    if (!pathname.startsWith('/api/')) requests.add(pathname);
    if (/\.(js|css)$/.test(pathname)) size += Number(r.headers()['content-length']);
  });
  await tab.go('');
  assert.ok(requests.size <= 4, [...requests].join());
  assert.ok(size > 10000 && size <= 90 * 1024, `${size} bytes of JavaScript and CSS`);
  const page = await fetch(site.url);
  assert.match(page.headers.get('content-security-policy'), /default-src 'none'.*trusted-types 'none'/);
  assert.equal(page.headers.get('cache-control'), 'no-cache');
  const script = [...requests].find(r => r.endsWith('.js'));
  let gzip = 0;
  for (const path of [...requests].filter(r => /\.(js|css)$/.test(r))) {
    const answer = await fetch(site.url + path.slice(1), { headers: { 'Accept-Encoding': 'gzip' } });
    assert.equal(answer.headers.get('content-encoding'), 'gzip');
    gzip += Number(answer.headers.get('content-length'));
  }
  assert.ok(gzip > 10000 && gzip <= 90 * 1024, `${gzip} bytes of JavaScript and CSS by gzip`);
  const file = await fetch(site.url + script.slice(1), { headers: { 'Accept-Encoding': 'gzip' } });
  assert.match(file.headers.get('cache-control'), /immutable/);
  assert.equal((await fetch(`${site.url}assets/none.js`)).status, 404);
  const again = await fetch(site.url + script.slice(1), { headers: { 'If-None-Match': file.headers.get('etag') } });
  assert.equal(again.status, 304);
  await tab.close('404 (Not Found)');
  console.log(`        ${requests.size} requests, ${size} bytes of JavaScript and CSS, ${gzip} by gzip`);
}

/** Pages that the server renders have the navigation of the UI. */
async function plainPages({ browser, site }) {
  const tab = await Tab.open(browser, site);
  const links = () => tab.page.locator('header a').evaluateAll(all => all.map(a => [a.innerText, a.pathname]));

  await tab.go('status');
  const ofUi = await links();
  assert.equal(ofUi.length, 5);
  for (const path of ['nowhere', 'remote_write', 'senders', 'report?query=profile']) {
    await tab.page.goto(site.url + path);
    assert.deepEqual(await links(), ofUi, path);
  }
  await tab.page.goto(`${site.url}nowhere`);
  assert.match(await tab.text('section'), /path not found/);
  await tab.page.getByRole('link', { name: 'Status' }).click();
  await tab.settled();
  await tab.page.getByRole('link', { name: 'Remote write' }).click();
  assert.equal(new URL(tab.page.url()).pathname, '/remote_write');
  await tab.close('404');
}

/** On paper: the profiles and what they are, and no controls. */
async function print({ browser, site }) {
  const tab = await Tab.open(browser, site, { colorScheme: 'dark' });
  const theme = () => tab.page.evaluate(() => document.documentElement.dataset.theme);

  await tab.go(`?query=profile{job="prometheus"}&from=${first}&to=${last}`);
  await tab.page.emulateMedia({ media: 'print' });
  for (const role of ['button', 'tab', 'link', 'searchbox'])
    assert.deepEqual(
      await tab.page
        .getByRole(role)
        .filter({ visible: true })
        .allInnerTexts()
        .then(all => all.filter(t => !t.includes('prometheus'))),
      [],
      role,
    );
  for (const place of ['.chart .u-over', '.canvas canvas', '.flame-head b', '.legend', '.origin'])
    assert.ok(await tab.page.locator(place).first().isVisible(), place);
  assert.equal(await tab.page.getByLabel('Selector', { exact: true }).inputValue(), 'profile{job="prometheus"}');
  assert.ok(await tab.page.getByLabel('Selector', { exact: true }).isVisible());
  assert.ok(await tab.page.getByLabel('Time range').isVisible());
  assert.equal(await theme(), 'dark');
  await tab.page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.equal(await theme(), 'light');
  await tab.picture('print');
  await tab.page.evaluate(() => dispatchEvent(new Event('afterprint')));
  assert.equal(await theme(), 'dark');
  await tab.close();
}

export const pages = [
  ['targets', targets],
  ['profile now', profileNow],
  ['a reload that fails', reloadFails],
  ['screens with small pixels', scales],
  ['status', status],
  ['navigation keeps the query', navigation],
  ['looks and accessibility', looks],
  ['popups', popups],
  ['focus order', focusOrder],
  ['keyboard', keyboard],
  ['tasks by keyboard alone', keyboardTasks],
  ['budget and headers', budget],
  ['pages of the server', plainPages],
  ['on paper', print],
];
