// SPDX-License-Identifier: Apache-2.0
// Compare: two ranges, two selectors, by value and by share.
import assert from 'node:assert/strict';
import { assertSame, Tab } from '../browser.mjs';
import { first, last, until } from '../site.mjs';

const middle = first + 400000;
const path = `compare?query_b=profile&from_b=${middle}&to_b=${last}&from_a=${first}&to_a=${middle - 1}`;

/** What the API says of the two sides. */
function diff(site, report, params = {}) {
  return site.api('query', {
    mode: 'diff',
    query_a: 'profile',
    from_a: first,
    to_a: middle - 1,
    query_b: 'profile',
    from_b: middle,
    to_b: last,
    report,
    ...params,
  });
}

/** The texts of a row of the table: A, B, B−A, function. */
function rowTexts(tab, i) {
  return tab.page.locator('.rows .row').nth(i).locator('[role=cell]').allInnerTexts();
}

async function sides({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go(path);
  // CPU time counts for a time, so shares are compared unless values are asked for.
  const answer = await diff(site, 'flamegraph', { max_nodes: 50000, normalize: 1 });
  assert.equal(await tab.page.locator('.compare > .notice').count(), 0);
  assert.match(await tab.text('.flame-head b'), /^total .+, to which B is scaled$/);
  const times = async (from, to) =>
    (await site.api('query_range', { query: 'profile', from, to })).flatMap(l => l.timestamps).length;
  assert.equal(
    await tab.text('.origin'),
    `A: ${await times(first, middle - 1)}, B: ${await times(middle, last)} profiles`,
  );
  // Boxes that only one side has are marked, so that colour is not all.
  assert.ok(answer.total_of_a.includes(0) && answer.total_of.includes(0));
  assert.equal(await tab.page.locator('.side').count(), 2);
  await tab.picture('compare');
  // There are more profiles in B, so values say little.
  await tab.page.getByRole('button', { name: 'by value' }).click();
  await tab.param('normalize', '0');
  await until('values are compared', async () => (await tab.page.locator('.compare > .notice').count()) === 1);
  assert.match(await tab.text('.compare > .notice'), /A has \d+ profiles and B has \d+/);
  await until('both totals are told', async () => /^total .+ → .+ [+−].+ %$/.test(await tab.text('.flame-head b')));
  await tab.page.getByRole('button', { name: 'Compare shares' }).click();
  await tab.param('normalize', '1');
  await until('the warning is gone', async () => (await tab.page.locator('.compare > .notice').count()) === 0);
  await tab.ends();
}

/** In a second, both sides have the numbers of the API divided by its time; a single profile has no rate. */
async function perSecond({ browser, site }) {
  const tab = await Tab.open(browser, site);
  const flame = await diff(site, 'flamegraph', { max_nodes: 50000, normalize: 'rate', errors: 1, by: 'rate' });
  const rate = v =>
    v && v < 1e7 ? `${Number((v / 1e6).toPrecision(3))} mcores` : `${Number((v / 1e9).toPrecision(3))} cores`;
  const cores = v => rate(v / flame.seconds);

  await tab.go(path);
  await tab.page.getByRole('button', { name: 'per second and series' }).click();
  await tab.param('normalize', 'rate');
  const [a, b] = [flame.total_of_a[0], flame.total_of[0]].map(cores);
  await until('both totals are told', async () => (await tab.text('.flame-head b')).startsWith(`total ${a} → ${b} `));
  assert.equal(await tab.page.locator('.compare > .notice').count(), 0);
  // These ranges are too short to tell changes from noise, so nothing is grey for that.
  assert.match(await tab.text('.doubt'), /^These ranges are too short/);
  assert.match(await tab.text('.change-legend'), /^less\s+more; grey: the same; /);
  assert.equal(await tab.page.getByLabel('colour noise, too').count(), 0);
  await tab.page.route(/report=flamegraph/, async route => {
    const response = await route.fetch();
    const json = await response.json();
    json.data.few_buckets = false;
    await route.fulfill({ response, json });
  });
  await tab.page.getByRole('button', { name: 'Reload' }).click();
  await until('noise is grey', async () => (await tab.text('.change-legend')).includes('grey: the same, or noise'));
  // Keys of the page work while a checkbox has the focus.
  await tab.page.getByLabel('colour noise, too').check();
  await tab.page.keyboard.press('2');
  await tab.param('view', 'table');
  const answer = await diff(site, 'compare', { by: 'rate' });
  await until('the table is there', async () => (await tab.page.locator('.rows .row').count()) > 0);
  for (let i = 0; i < 5; i++) {
    const [before, after, , , , name] = await rowTexts(tab, i);
    const row = answer.rows.find(r => r.name === name);
    for (const [text, value] of [
      [before, row.flat.a],
      [after, row.flat.b],
    ])
      assert.equal(text, rate(value));
  }
  await tab.go(`compare?query_b=profile&time_b=${last}&time_a=${first}&normalize=rate`);
  assert.equal(await tab.page.getByRole('button', { name: 'per second and series' }).isDisabled(), true);
  await tab.ends();
}

async function table({ browser, site }) {
  const tab = await Tab.open(browser, site);
  const top = await diff(site, 'top', { trim: 'false' });
  const rows = top.rows.filter(r => r.flat).sort((a, b) => Math.abs(b.flat) - Math.abs(a.flat));

  await tab.go(`${path}&view=table&normalize=0`);
  assert.equal(await tab.page.getByRole('table').getAttribute('aria-rowcount'), String(rows.length + 1));
  for (let i = 0; i < 5; i++) {
    const [a, b, change, name] = await rowTexts(tab, i);
    assert.equal(name, rows[i].name);
    assert.equal(change.startsWith('+'), rows[i].flat > 0, change);
    assert.equal(a === '0', rows[i].flat_a === 0, a);
    assert.equal(b === '0', rows[i].flat_a + rows[i].flat === 0, b);
  }
  await tab.page.getByRole('button', { name: 'by share of the total' }).click();
  await tab.param('normalize', '1');
  await errorBars(tab, await diff(site, 'compare', { by: 'share' }));
  await tab.picture('compare-table');
  await tab.ends();
}

/** The table with error bars has what the API says: what is sure first. */
async function errorBars(tab, answer) {
  const rows = answer.rows.filter(r => r.flat.a || r.flat.b);
  const share = v => (v >= 0.01 ? `${(100 * v).toFixed(2)}%` : null);

  await until('shares have error bars', async () => (await tab.page.locator('.table .head .number').count()) === 5);
  assert.equal(await tab.page.getByRole('table').getAttribute('aria-rowcount'), String(rows.length + 1));
  assert.match(
    await tab.text('.notice'),
    answer.few_buckets ? /^These ranges are too short/ : /^(No function|\d+ functions?) changed by more than noise\. /,
  );
  for (let i = 0; i < 5; i++) {
    const [a, b, change, interval, , name] = await rowTexts(tab, i);
    const row = rows.find(r => r.name === name);
    for (const [text, value] of [
      [a, row.flat.a],
      [b, row.flat.b],
    ])
      assert.equal(text, share(value) ?? text);
    if (row.flat.a && row.flat.b) assert.equal(change.startsWith('+'), row.flat.delta > 0, change);
    assert.equal(interval.startsWith('±'), row.flat.tested && row.flat.a > 0, interval);
  }
  const sure = rows.map(r => Boolean(r.flat.sure));
  const classes = await tab.page
    .locator('.rows .row [role=cell]:nth-child(3)')
    .evaluateAll(cells => cells.map(c => !c.classList.contains('dim')));
  assert.equal(classes.filter(Boolean).length, Math.min(classes.length, sure.filter(Boolean).length));
}

async function swap({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go(`${path}&view=table&normalize=0`);
  const before = await tab.still();
  const [a, b, , name] = await rowTexts(tab, 0);
  await tab.page.getByRole('button', { name: 'Swap A and B' }).click();
  await tab.param('from_b', String(first));
  assert.deepEqual(
    (await rowTexts(tab, 0)).filter((_, i) => i !== 2),
    [b, a, name],
  );
  await tab.page.goBack();
  await tab.param('from_b', String(middle));
  assertSame(before, await tab.still(), 'Back');
  await tab.ends();
}

async function fromExplore({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go(`?query=profile&from=${middle}&to=${last}`);
  await tab.page.getByRole('link', { name: 'Compare' }).click();
  await tab.param('from_b', String(middle));
  assert.equal(tab.params().get('from_a'), null, 'the base is the range before');
  // A drag over the chart of A chooses its range.
  const plot = await tab.page.locator('.side .u-over').first().boundingBox();
  await tab.page.mouse.move(plot.x + plot.width * 0.2, plot.y + 30);
  await tab.page.mouse.down();
  await tab.page.mouse.move(plot.x + plot.width * 0.8, plot.y + 30, { steps: 4 });
  await tab.page.mouse.up();
  await until('the range of A is chosen', () => tab.params().get('from_a'));
  await tab.page.getByRole('button', { name: 'A is the range before B' }).click();
  await tab.param('from_a', null);
  await tab.page.getByLabel('Selector of A').fill('profile{job="prometheus"}');
  await tab.page.keyboard.press('Enter');
  await tab.param('query_a', 'profile{job="prometheus"}');
  await tab.page.getByRole('link', { name: 'Explore' }).click();
  await tab.param('query', 'profile');
  await tab.ends();
}

/** In the first hour nothing is stored before the last hour: the page compares the halves of what there is. */
async function firstHour({ browser, site }) {
  const tab = await Tab.open(browser, site);
  const now = last + 60000;
  const times = (await site.api('query_range', { query: 'profile', from: now - 3600e3, to: now }))
    .flatMap(l => l.timestamps)
    .sort((a, b) => a - b);
  const middle = times[Math.floor(times.length / 2)];

  await tab.page.clock.setFixedTime(now);
  await tab.go('compare?query_b=profile');
  await tab.param('from_a', String(times[0]));
  assert.deepEqual(
    ['to_a', 'from_b', 'to_b'].map(key => tab.params().get(key)),
    [String(middle - 1), String(middle), null],
  );
  assert.equal(await tab.page.locator('.side .empty').count(), 0);
  const inA = times.filter(t => t < middle).length;
  assert.equal(await tab.text('.origin'), `A: ${inA}, B: ${times.length - inA} profiles`);
  // What the page chose by itself is no step of the history.
  assert.equal(await tab.page.evaluate(() => history.length), 2);
  // A range that somebody chose stays as it is.
  await tab.go(`compare?query_b=profile&from_b=${times[0]}&to_b=${last}`);
  assert.match(await tab.text('.side .empty'), /^Nothing matches profile in this time range\.$/);
  assert.equal(tab.params().get('from_a'), null);
  await tab.close('404');
}

export const compare = [
  ['both sides', sides],
  ['per second', perSecond],
  ['table of changes', table],
  ['swap', swap],
  ['from Explore', fromExplore],
  ['in the first hour', firstHour],
];
