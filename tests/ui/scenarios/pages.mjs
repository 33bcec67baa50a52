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

  await until('the target was tried', async () => (await site.api('targets')).activeTargets.some((t) => t.health === 'down'));
  await tab.go('targets');
  assert.match(await tab.text('h2'), /^gone 0 of \d+ up/);
  assert.match(await tab.text('td.error'), /127\.0\.0\.1:1|refused|connect/i);
  await tab.page.getByLabel('Filter targets').fill('nothing like this');
  assert.equal(await tab.page.locator('section').count(), 0);
  await tab.page.getByLabel('Filter targets').fill('');
  await tab.picture('targets');
  await tab.close();
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
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'axe' });
  const run = async (expression) => {
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression, contextId: executionContextId, awaitPromise: true, returnByValue: true,
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
    for (const [name, path] of Object.entries(paths)) {
      const tab = await Tab.open(browser, site, options);
      await tab.go(path);
      assert.deepEqual(await violations(tab), [], `${name}, ${mode}`);
      const wide = await tab.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wide <= 0, `${name}, ${mode}: ${wide} pixels wider than the screen`);
      await tab.picture(`${name}-${mode}`);
      if (name === 'mistake') tab.complaints = tab.complaints.filter((c) => !c.includes('400 (Bad Request)'));
      await tab.close();
    }
  }
}

async function keyboard({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go(`?query=profile&from=${first}&to=${last}`);
  await tab.page.locator('.canvas').focus();
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

async function budget({ browser, site }) {
  const tab = await Tab.open(browser, site);
  const requests = new Set();
  let size = 0;

  tab.page.on('response', (r) => {
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
  const script = [...requests].find((r) => r.endsWith('.js'));
  const file = await fetch(site.url + script.slice(1), { headers: { 'Accept-Encoding': 'gzip' } });
  assert.match(file.headers.get('cache-control'), /immutable/);
  assert.equal((await fetch(`${site.url}assets/none.js`)).status, 404);
  const again = await fetch(site.url + script.slice(1), { headers: { 'If-None-Match': file.headers.get('etag') } });
  assert.equal(again.status, 304);
  tab.complaints = tab.complaints.filter((c) => !c.includes('404 (Not Found)'));
  await tab.close();
  console.log(`        ${requests.size} requests, ${size} bytes of JavaScript and CSS`);
}

export const pages = [
  ['targets', targets],
  ['status', status],
  ['navigation keeps the query', navigation],
  ['looks and accessibility', looks],
  ['keyboard', keyboard],
  ['budget and headers', budget],
];
