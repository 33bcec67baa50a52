// SPDX-License-Identifier: Apache-2.0
// The chart: points, heat maps, one profile after the other.
import assert from 'node:assert/strict';
import { Tab } from '../browser.mjs';
import { first, last, until } from '../site.mjs';

const range = `from=${first}&to=${last}`;

async function open({ browser, site }, path) {
  const tab = await Tab.open(browser, site);
  await tab.go(path);
  return tab;
}

/** The profiles of a range: [time, labels], in the order of time. */
async function profiles(site, query) {
  const lines = await site.api('query_range', { query, from: first, to: last });
  return lines.flatMap(l => l.timestamps.map(ms => [ms, l.labels])).sort((a, b) => a[0] - b[0]);
}

async function points(context) {
  const tab = await open(context, `?query=heap{job!="shop"}&${range}&chart=points`);
  const all = await profiles(context.site, 'heap{job!="shop"}');
  const plot = await tab.page.locator('.u-over').boundingBox();
  const answer = tab.page.waitForResponse(r => r.url().includes('api/v1/query?') && r.url().includes('time='));

  // The last point: a click near the right edge, wherever its value is.
  for (let y = 2; y < plot.height && !tab.params().get('time'); y += 8)
    await tab.page.mouse.click(plot.x + plot.width - 2, plot.y + y);
  await until('one profile is chosen', () => tab.params().get('time'));
  const headers = (await answer).headers();
  await tab.settled();
  assert.equal(headers['x-everprof-timestamp'], tab.params().get('time'));
  const [, labels] = all.find(([ms]) => String(ms) === tab.params().get('time'));
  assert.equal(JSON.parse(headers['x-everprof-labels']).job, labels.job);
  assert.match(tab.params().get('query'), new RegExp(`job="${labels.job}"`));
  assert.match(await tab.text('.origin'), /^profile of 2026-/);
  await tab.picture('point');
  await tab.page.getByLabel(/Remove the filter one profile/).click();
  await tab.param('time', null);
  await tab.ends();
}

async function steps(context) {
  const tab = await open(context, `?query=heap{job="etcd"}&${range}`);
  const times = (await profiles(context.site, 'heap{job="etcd"}')).map(([ms]) => String(ms));

  await tab.page.keyboard.press('[');
  await tab.param('time', times.at(-1));
  await tab.page.keyboard.press('[');
  await tab.param('time', times.at(-2));
  await tab.page.keyboard.press(']');
  await tab.param('time', times.at(-1));
  // There is none after the last one.
  await tab.page.keyboard.press(']');
  await tab.page.goBack();
  await tab.param('time', times.at(-2));
  await tab.ends();
}

async function rows(context) {
  const tab = await open(context, `?query=profile&${range}&chart=rows&by=job`);
  const lines = await context.site.api('query_range', {
    query: 'profile',
    from: first,
    to: last,
    step: '15s',
    group_by: 'job',
    rate: 1,
  });
  const cells = await tab.page.locator('.heat-cells').boundingBox();

  assert.equal(await tab.page.locator('.heat-titles li').count(), lines.length);
  const hot = await tab.text('.heat-titles li');
  await tab.picture('rows');
  await tab.page.mouse.click(cells.x + 3, cells.y + 5);
  assert.match(await tab.text('.heat [role=status]'), new RegExp(`^${hot}: [\\d.]+ cores, from 2026-`));
  assert.equal(await tab.text('.heat-menu b'), hot);
  // The scale says what the colours mean: the darkest is the largest value.
  assert.match(await tab.text('.heat-scale li:nth-child(2)'), /^[\d.]+ cores/);
  await tab.page.getByRole('button', { name: 'Against the rest' }).click();
  await tab.param('query_b', `profile{job="${hot}"}`);
  assert.equal(tab.params().get('query_a'), `profile{job!="${hot}"}`);
  assert.equal(tab.params().get('from_a'), tab.params().get('from_b'));
  assert.equal(tab.params().get('to_a'), tab.params().get('to_b'));
  assert.equal(tab.params().get('normalize'), '1');
  await tab.page.goBack();
  await tab.param('chart', 'rows');
  // A click on the title is for the whole range.
  await tab.page.locator('.heat-titles li').first().click();
  await tab.page.getByRole('button', { name: 'Against the rest' }).click();
  await tab.param('query_a', `profile{job!="${hot}"}`);
  assert.equal(tab.params().get('from_b'), String(first));
  assert.ok(Number(tab.params().get('to_b')) >= last);
  await tab.page.goBack();
  await tab.param('chart', 'rows');
  // The same by keys.
  await tab.page.locator('.heat-cells').focus();
  for (const key of ['ArrowDown', 'ArrowUp', 'Home', 'Enter']) await tab.page.keyboard.press(key);
  await tab.page.getByRole('button', { name: 'Open', exact: true }).click();
  await tab.param('query', `profile{job="${hot}"}`);
  await tab.ends();
}

async function weights(context) {
  const tab = await open(context, `?query=profile&${range}`);

  await tab.page.keyboard.press('w');
  await tab.param('chart', 'weights');
  const answer = await context.site.api('query_range', {
    query: 'profile',
    from: first,
    to: last,
    step: '15s',
    buckets: 16,
    group_by: '__name__',
  });
  const { bounds } = answer[0].buckets['cpu/nanoseconds'];
  const cells = await tab.page.locator('.heat-cells').boundingBox();
  // The upper half of the totals, over the whole range.
  await tab.page.mouse.move(cells.x + 2, cells.y + 2);
  await tab.page.mouse.down();
  await tab.page.mouse.move(cells.x + cells.width - 2, cells.y + cells.height / 2 - 2, { steps: 4 });
  await tab.page.mouse.up();
  await tab.param('total_min', String(bounds[8]));
  assert.equal(tab.params().get('total_max'), null);
  const band = { query: 'profile', from: tab.params().get('from'), to: tab.params().get('to'), total_min: bounds[8] };
  const inside = (await context.site.api('query_range', band)).flatMap(l => l.timestamps).length;
  assert.match(await tab.text('.origin'), new RegExp(`^${inside} profiles of`));
  assert.ok(inside > 0 && inside < 19, `${inside} profiles`);
  await tab.picture('weights');
  await tab.page.getByRole('button', { name: 'Against the rest' }).click();
  await tab.param('total_outside_a', '1');
  assert.equal(tab.params().get('total_min_a'), String(bounds[8]));
  assert.equal(tab.params().get('total_min_b'), String(bounds[8]));
  const diff = await context.site.api('query', {
    mode: 'diff',
    query_a: 'profile',
    from_a: band.from,
    to_a: band.to,
    total_min_a: bounds[8],
    total_outside_a: 1,
    query_b: 'profile',
    from_b: band.from,
    to_b: band.to,
    total_min_b: bounds[8],
    normalize: 1,
    report: 'top',
    trim: 'false',
  });
  await tab.page.getByRole('tab', { name: 'Table' }).click();
  await tab.param('view', 'table');
  const changed = diff.rows.filter(r => r.flat).length;
  assert.equal(await tab.page.getByRole('table').getAttribute('aria-rowcount'), String(changed + 1));
  await tab.ends();
}

/** One profile after the other, of those that were chosen by their total, and in the chosen time. */
async function chosenSteps(context) {
  const query = 'profile{job="prometheus"}';
  const [series] = await context.site.api('query_range', { query, from: first, to: last, totals: 1 });
  const totals = series.totals['cpu/nanoseconds'];
  const least = Math.min(...totals.slice(0, -1));
  // The chart is of a longer time than the profiles below, and one of these has a smaller total than the others.
  const to = series.timestamps.at(-2);
  const times = series.timestamps.filter((ms, i) => ms <= to && totals[i] > least).map(String);
  const tab = await open(
    context,
    `?query=${query}&from=${first}&to=${to}&span=${first},${last}&total_min=${least + 1}`,
  );

  assert.ok(times.length >= 2 && times.length < totals.length - 1, `${times} of ${totals}`);
  for (const time of times) {
    await tab.page.getByLabel('The profile after').click();
    await tab.param('time', time);
    await tab.settled();
    assert.match(await tab.text('.origin'), /^profile of/);
    assert.equal(await tab.page.locator('.notice').count(), 0);
  }
  // There is none after the last one.
  await tab.page.getByLabel('The profile after').click();
  await tab.settled();
  assert.equal(tab.params().get('time'), times.at(-1));
  await tab.ends();
}

async function countersHaveNoWeights(context) {
  const tab = await open(context, `?query=heap&${range}&chart=weights&sample_index=alloc_space`);

  assert.match(await tab.text('.upper .empty'), /counts from the start of the program/);
  await tab.ends();
}

async function tooManyPoints(context) {
  const tab = await Tab.open(context.browser, context.site);

  // The limit is the server's answer: the page shows it, and the profiles stay.
  await tab.page.route('**/api/v1/query_range?*max_profiles=20000*', route =>
    route.continue({ url: route.request().url().replace('max_profiles=20000', 'max_profiles=3') }),
  );
  await tab.go(`?query=profile&${range}&chart=points`);
  assert.match(await tab.text('.notice.bad'), /more than 3 profiles.*shorter range/);
  assert.ok((await tab.text('.flame-head')).startsWith('total'));
  tab.complaints = tab.complaints.filter(c => !c.includes('400 (Bad Request)'));
  await tab.close();
}

export const charts = [
  ['points', points],
  ['one profile after the other', steps],
  ['one chosen profile after the other', chosenSteps],
  ['rows of series', rows],
  ['profiles by their total', weights],
  ['counters have no weights', countersHaveNoWeights],
  ['too many points', tooManyPoints],
];
