// SPDX-License-Identifier: Apache-2.0
// Explore: the query, the chart, and the views.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { assertSame, Tab } from '../browser.mjs';
import { first, last, until } from '../site.mjs';

const range = `from=${first}&to=${last}`;
const cpu = `?query=profile&${range}`;

/** Open a page of the range that has profiles. */
async function open({ browser, site }, path = cpu, options = {}) {
  const tab = await Tab.open(browser, site, options);
  await tab.go(path);
  return tab;
}

/** The flame graph that the API answers for a page's URL. */
function flame(site, params) {
  return site.api('query', {
    mode: 'merge',
    query: 'profile',
    from: first,
    to: last,
    report: 'flamegraph',
    max_nodes: 50000,
    ...params,
  });
}

async function opening(context) {
  const tab = await open(context, `?${range}`);

  await tab.param('query', 'profile');
  const answer = await flame(context.site, {});
  assert.match(await tab.text('.flame-head'), /^total \d/);
  const legend = await tab.page.locator('.legend .plain').allInnerTexts();
  assert.deepEqual([...legend].sort(), ['etcd', 'leakapp', 'node_exporter', 'prometheus']);
  const drawn = await tab.page.evaluate(() => window.everprofDrawn);
  assert.ok(drawn.boxes > 100 && drawn.boxes <= answer.name.length, `${drawn.boxes} boxes`);
  assert.ok(drawn.fills <= 27, `${drawn.fills} fills`);
  await tab.picture('explore');
  // Before the first step, the key for one step back does not leave the page.
  await tab.page.keyboard.press('u');
  await tab.page.keyboard.press('2');
  await tab.param('view', 'table');
  await tab.page.keyboard.press('u');
  await tab.param('view', null);
  await tab.ends();
}

async function typeMenu(context) {
  const tab = await open(context);
  const options = await tab.page.getByLabel('Profile type').locator('option').allInnerTexts();

  assert.ok(options.includes('CPU · profile') && options.includes('mutex contention · mutex'), options.join());
  await tab.page.getByLabel('Profile type').selectOption('heap');
  await tab.param('query', 'heap');
  const types = await tab.page.getByLabel('Sample type').locator('option').allInnerTexts();
  assert.deepEqual(types, ['alloc_objects', 'alloc_space', 'inuse_objects', 'inuse_space']);
  await tab.page.getByLabel('Sample type').selectOption('alloc_space');
  await tab.param('sample_index', 'alloc_space');
  await tab.ends();
}

async function labelValues(context) {
  const tab = await open(context);
  const counts = await context.site.api('label/job/values', { counts: 1, 'match[]': 'profile' });

  await tab.page.getByText('+ label').click();
  await tab.page.locator('.options').getByText('job').click();
  await until(
    'the values are listed',
    async () => (await tab.page.locator('.options button').count()) === counts.length,
  );
  const shown = await tab.page.locator('.options button').allInnerTexts();
  assert.deepEqual(
    shown.map(t => t.split(/\s+/)),
    counts.map(c => [c.value, String(c.series)]),
  );
  await tab.page.locator('.options').getByText('etcd').click();
  await tab.param('query', 'profile{job="etcd"}');
  // The values of another label are those that the other matchers leave.
  await tab.page.getByText('+ label').click();
  await tab.page.locator('.options').getByText('job').click();
  await until('one value is left', async () => (await tab.page.locator('.options button').count()) === 1);
  await tab.page.keyboard.press('Escape');
  assert.equal(await tab.page.getByRole('dialog').count(), 0, 'Escape closes the box');
  await tab.page.getByLabel('Remove job').click();
  await tab.param('query', 'profile');
  await tab.ends();
}

/** Labels and values are found by a part of them, or by a regular expression. */
async function foundValues(context) {
  const tab = await open(context);
  const listed = () => tab.page.locator('.popup .options button').allInnerTexts();

  await tab.page.getByText('+ label').click();
  // Letters are no keys of the page here.
  await tab.page.keyboard.type('jo');
  await until('one label is found', async () => (await listed()).length === 1);
  await tab.page.keyboard.press('Enter');
  await until('the values are listed', async () => (await listed()).length > 1);
  await tab.page.keyboard.type('ETC');
  await until('one value is found', async () => (await listed()).length === 2);
  assert.match((await listed())[0], /^job =~ "\(\?i\)\.\*ETC\.\*"/);
  await tab.page.keyboard.press('Enter');
  await tab.param('query', 'profile{job="etcd"}');
  await tab.page.getByLabel('Remove job').click();
  await tab.page.getByText('+ label').click();
  await tab.page.locator('.popup .options').getByText('job').click();
  await tab.page.keyboard.type('etcd|prom.*');
  // Enter waits for the list.
  await tab.page.keyboard.press('Enter');
  await tab.param('query', 'profile{job=~"etcd|prom.*"}');
  await tab.ends();
}

async function wrongSelector(context) {
  const tab = await open(context);

  await tab.page.getByLabel('Selector').fill('profile{job=}');
  await tab.page.keyboard.press('Enter');
  await tab.param('query', 'profile{job=}');
  assert.match(await tab.text('.notice.bad'), /1:13: parse error/);
  tab.complaints = tab.complaints.filter(c => !c.includes('400 (Bad Request)'));
  await tab.page.getByLabel('Selector').fill('profile{job="etcd"}');
  await tab.page.keyboard.press('Enter');
  await tab.param('query', 'profile{job="etcd"}');
  assert.equal(await tab.page.locator('.notice.bad').count(), 0);
  await tab.ends();
}

async function drag(context) {
  const tab = await open(context);
  const plot = await tab.page.locator('.u-over').boundingBox();
  const at = share => Math.round(plot.x + plot.width * share);
  const [from, to] = [at(0.25), at(0.6)];

  await tab.page.mouse.move(from, plot.y + 40);
  await tab.page.mouse.down();
  await tab.page.mouse.move(to, plot.y + 50, { steps: 5 });
  await tab.page.mouse.up();
  await until('the range changed', () => tab.params().get('from') !== String(first));
  await tab.settled();
  // The axis begins at the first step and ends at the last one.
  const pixel = (last - first) / plot.width;
  const expected = x => first + ((x - plot.x) / plot.width) * (last - first);
  assert.ok(Math.abs(Number(tab.params().get('from')) - expected(from)) < 12 * pixel, tab.page.url());
  assert.ok(Math.abs(Number(tab.params().get('to')) - expected(to)) < 12 * pixel, tab.page.url());
  await tab.page.goBack();
  await tab.param('from', String(first));
  await tab.ends();
}

async function relativeRange(context) {
  const tab = await open(context, '?query=profile');

  assert.equal(tab.params().get('from'), null);
  assert.match(await tab.text('.views'), /no profile matches this selector.*The nearest profile is \d+ \w+ earlier/);
  tab.complaints = tab.complaints.filter(c => !c.includes('404 (Not Found)'));
  await tab.page.getByLabel('Time range').selectOption('now-15m');
  await tab.param('from', 'now-15m');
  assert.equal(tab.params().get('to'), null);
  await tab.page.getByLabel('One range earlier').click();
  await until('the range is absolute', () => /^\d{13}$/.test(tab.params().get('from') ?? ''));
  assert.equal(Number(tab.params().get('to')) - Number(tab.params().get('from')), 15 * 60000);
  // Two times, entered; the browser of the tests is in UTC.
  await tab.page.getByLabel('Time range').selectOption('between');
  await tab.page.getByLabel('From', { exact: true }).fill(new Date(first).toISOString().slice(0, 19));
  await tab.page.getByLabel('To', { exact: true }).fill(new Date(first - 60000).toISOString().slice(0, 19));
  assert.ok(
    await tab.page.getByRole('button', { name: 'Show', exact: true }).isDisabled(),
    'the end is before the beginning',
  );
  await tab.page.getByLabel('To', { exact: true }).fill(new Date(last).toISOString().slice(0, 19));
  await tab.picture('between');
  await tab.page.getByRole('button', { name: 'Show', exact: true }).click();
  await tab.param('from', String(first - (first % 1000)));
  assert.equal(tab.params().get('to'), String(last - (last % 1000)));
  await tab.settled();
  assert.equal(await tab.page.getByRole('dialog').count(), 0);
  await tab.page.context().close();
}

async function clickZooms(context) {
  const tab = await open(context);
  const before = await tab.still();

  await tab.clickFlame(2, 0.1);
  await until('zoom is in the URL', () => tab.params().get('zoom')?.length === 8);
  assert.ok(!before.equals(await tab.still()), 'the picture changed');
  await tab.page.locator('.flame-tree').focus();
  await tab.page.keyboard.press('Escape');
  await tab.param('zoom', null);
  assertSame(before, await tab.still(), 'Escape shows everything again');
  await tab.page.goBack();
  await until('Back zooms again', () => tab.params().get('zoom'));
  await tab.ends();
}

async function zoomSurvives(context) {
  const tab = await open(context, `?query=profile{job="prometheus"}&${range}`);

  // A function that other jobs do not have.
  let row = 0;
  do await tab.page.mouse.move(...(await tab.flamePoint(++row, 0.02)));
  while (!(await tab.text('.detail b')).startsWith('github.com/prometheus/prometheus'));
  const name = await tab.text('.detail b');
  await tab.clickFlame(row, 0.02);
  await until('zoom is in the URL', () => tab.params().get('zoom'));
  const url = new URL(tab.page.url());
  url.searchParams.set('to', String(last - 60000));
  await tab.page.goto(url.href);
  await tab.settled();
  assert.equal(await tab.page.getByText('is not in these profiles').count(), 0);
  await tab.page.mouse.move(...(await tab.flamePoint(row, 0.9)));
  assert.equal(await tab.text('.detail b'), name);
  url.searchParams.set('query', 'profile{job="leakapp"}');
  await tab.page.goto(url.href);
  await tab.settled();
  assert.equal(await tab.page.getByText('is not in these profiles').count(), 1);
  await tab.ends();
}

async function find(context) {
  const tab = await open(context);
  const share = async text => {
    await tab.page.getByLabel('Find functions').fill(text);
    await tab.param('find', text);
    return tab.text('.flame-head');
  };
  const focused = async focus => {
    const all = await flame(context.site, {});
    const some = await flame(context.site, { focus });
    const percent = (100 * some.total_of[0]) / all.total;
    return percent >= 1 ? percent.toFixed(2) : String(Number(percent.toPrecision(2)));
  };

  // A search for names only: the profiles of the range have no such files.
  assert.ok((await share('mallocgc')).includes(` ${await focused('mallocgc')}% of the total`));
  assert.ok((await share('/^runtime\\.gc/')).includes(` ${await focused('^runtime\\.gc')}% of the total`));
  await tab.page.getByLabel('Find functions').fill('/(/');
  await tab.param('find', '/(/');
  assert.match(await tab.text('.notice.bad'), /regular expression/i);
  await tab.page.getByLabel('Find functions').fill('mallocgc');
  await tab.param('find', 'mallocgc');
  await tab.picture('explore-find');
  await tab.ends();
}

async function filters(context) {
  const tab = await open(context);
  const total = params => flame(context.site, params).then(a => a.total_of[0]);
  const boxes = (await flame(context.site, {})).name.length;

  for (const [key, filter] of [
    ['f', 'focus'],
    ['i', 'ignore'],
    ['m', 'hide'],
    ['p', 'prune_from'],
  ]) {
    await tab.clickFlame(1, 0.1);
    await tab.page.keyboard.press(key);
    await until(`${filter} is in the URL`, () => tab.params().get(filter));
    await tab.settled();
    const value = tab.params().get(filter);
    const got = await tab.page.locator('.flame-tree').getAttribute('aria-label');
    const answer = await flame(context.site, { [filter]: value });
    assert.ok(got.includes(` ${answer.name.length} boxes`), got);
    assert.ok(answer.name.length < boxes, filter);
    await tab.page.getByLabel(`Remove the filter ${filter} ${value}`).click();
    await tab.param(filter, null);
    await tab.page.locator('.flame-tree').focus();
    await tab.page.keyboard.press('Escape');
    await tab.param('zoom', null);
  }
  // One box and what is below it: the number is that of the box.
  await tab.clickFlame(2, 0.1);
  const path = [];
  for (const row of [1, 2]) {
    await tab.page.mouse.move(...(await tab.flamePoint(row, 0.5)));
    path.push(await tab.text('.detail b'));
  }
  await tab.page.keyboard.press('Shift+F');
  await until('under is in the URL', () => tab.params().getAll('under').length === 2);
  await tab.settled();
  assert.deepEqual(tab.params().getAll('under'), path);
  assert.ok((await total({ under: path })) > 0);
  await tab.page.getByLabel(/Remove the filter under/).click();
  await tab.param('under', null);
  await tab.page.locator('.flame-tree').focus();
  await tab.page.keyboard.press('r');
  await tab.param('recursion', 'direct');
  await tab.page.keyboard.press('u');
  await tab.param('recursion', null);
  await tab.page.getByText('hide runtime').click();
  await until('the runtime is hidden', () => tab.params().get('hide'));
  await tab.ends();
}

async function table(context) {
  const tab = await open(context, `${cpu}&view=table`);
  const top = await context.site.api('query', {
    mode: 'merge',
    query: 'profile',
    from: first,
    to: last,
    report: 'top',
    trim: 'false',
  });
  const names = () => tab.page.locator('.rows .name').allInnerTexts();

  assert.equal((await names())[0], top.rows[0].name);
  assert.equal(await tab.page.getByRole('table').getAttribute('aria-rowcount'), String(top.rows.length + 1));
  await tab.page.getByRole('columnheader', { name: 'Total' }).getByRole('button').click();
  await tab.param('sort', '-cum');
  const heaviest = [...top.rows].sort((a, b) => Math.abs(b.cum) - Math.abs(a.cum))[0];
  assert.equal((await names())[0], heaviest.name);
  await tab.page.getByLabel('Find functions').fill('mallocgc');
  await tab.param('find', 'mallocgc');
  assert.ok((await names()).every(n => n.includes('mallocgc')));
  await tab.picture('table');
  await tab.ends();
}

async function inverted(context) {
  const tab = await open(context);

  await tab.page.getByRole('tab', { name: 'Inverted' }).click();
  await tab.param('view', 'invert');
  const a = await flame(context.site, { invert: 'true' });
  await tab.page.mouse.move(...(await tab.flamePoint(1, 0.001)));
  // The first box of an inverted graph is the function with the largest own weight.
  const children = a.name.map((_, i) => i).filter(i => a.parent[i] === 0);
  const heaviest = children.reduce((x, y) => (a.total_of[y] > a.total_of[x] ? y : x));
  assert.equal(await tab.text('.detail b'), a.strings[a.name[heaviest]]);
  await tab.ends();
}

async function backThrice(context) {
  const tab = await open(context);
  const pictures = [await tab.still()];

  await tab.page.getByRole('tab', { name: 'Table' }).click();
  await tab.param('view', 'table');
  pictures.push(await tab.still());
  await tab.page.getByLabel('Profile type').selectOption('heap');
  await tab.param('query', 'heap');
  pictures.push(await tab.still());
  await tab.page.getByText('hide runtime').click();
  await until('the runtime is hidden', () => tab.params().get('hide'));
  for (let i = 2; i >= 0; i--) {
    await tab.page.goBack();
    await tab.settled();
    assertSame(pictures[i], await tab.still(), `picture ${i}`);
  }
  await tab.ends();
}

async function exports_(context) {
  const tab = await open(context);

  await tab.page.getByRole('button', { name: 'Export', exact: true }).click();
  const bodies = {};
  for (const title of ['pprof, for go tool pprof', 'folded stacks', 'speedscope', 'SVG']) {
    const [download] = await Promise.all([
      tab.page.waitForEvent('download'),
      tab.page.getByRole('button', { name: title }).click(),
    ]);
    bodies[title] = readFileSync(await download.path());
  }
  // The program of these profiles is too old for this one: an error, and no file.
  await tab.page.getByRole('button', { name: 'for go build -pgo' }).click();
  await until('the error is shown', async () => (await tab.page.locator('.popup .notice.bad').count()) === 1);
  tab.complaints = tab.complaints.filter(c => !c.includes('400 (Bad Request)'));
  assert.equal(bodies['pprof, for go tool pprof'].readUInt16BE(0), 0x1f8b);
  assert.ok(bodies.SVG.toString().startsWith('<svg'));
  assert.ok(JSON.parse(bodies.speedscope.toString()).profiles.length > 0);
  const folded = bodies['folded stacks'].toString().trim().split('\n');
  const total = folded.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  assert.equal(total, (await flame(context.site, {})).total);
  // The commands, run as they were copied.
  const copied = async name => {
    await tab.page.getByRole('button', { name }).click();
    const field = tab.page.getByLabel('What was copied');
    await until('it is copied', async () => (await field.inputValue()).startsWith(name.slice('Copy as '.length)));
    return field.inputValue();
  };
  const curl = await copied('Copy as curl');
  assert.deepEqual(JSON.parse(execFileSync('sh', ['-c', curl])).data, await flame(context.site, {}), curl);
  const pprof = await copied('Copy as go tool pprof');
  assert.match(pprof, /^go tool pprof 'http/);
  const top = execFileSync('sh', ['-c', pprof.replace('pprof', 'pprof -top -symbolize=none')], {
    env: { ...process.env, PPROF_TMPDIR: context.site.folder },
  });
  const ours = await fetch(
    `${context.site.url}api/v1/query?query=profile&mode=merge&from=${first}&to=${last}&report=top&format=text`,
  );
  assert.equal(top.toString().split('\n').at(-2), (await ours.text()).split('\n').at(-2));
  await tab.page.getByRole('dialog').getByLabel('Close').click();
  await tab.page.locator('.copied').getByLabel('Close').click();
  await tab.ends();
}

/** Every view's copied command gives what the page shows. */
async function commands(context) {
  const fn = 'fn=main.words';
  const views = ['flame', 'table', 'invert', `sandwich&${fn}`, `source&${fn}`, 'graph', 'text', 'text&text=traces'];
  const filtered = `${cpu}&focus=main&hide=^runtime`;
  const compared = `compare?query_b=profile&from_b=${first + 400000}&to_b=${last}&normalize=1`;
  const pages = [
    ...views.map(v => `${filtered}&view=${v}`),
    ...['flame', 'table', 'text'].map(v => `${compared}&view=${v}`),
  ];

  for (const path of pages) {
    const tab = await Tab.open(context.browser, context.site);
    const answer = tab.page.waitForResponse(r => r.url().includes('api/v1/query?'));
    await tab.go(path);
    const shown = await (await answer).text();
    await tab.page.keyboard.press('c');
    const field = tab.page.getByLabel('What was copied');
    await until('it is copied', async () => (await field.inputValue()).startsWith('curl'));
    const printed = execFileSync('sh', ['-c', await field.inputValue()], { maxBuffer: 1 << 28 }).toString();
    assert.ok(shown.length > 100 && printed === shown, `${path}: ${await field.inputValue()}`);
    await tab.close();
  }
}

/** Two views of the same profiles, side by side. */
async function twoViews(context) {
  const tab = await open(context);
  const answer = await context.site.api('query', {
    mode: 'merge',
    query: 'profile',
    from: first,
    to: last,
    report: 'top',
    trim: 'false',
  });

  await tab.page.getByLabel('Second view').selectOption('table');
  await tab.param('view', 'flame,table');
  assert.equal(await tab.page.getByRole('table').getAttribute('aria-rowcount'), String(answer.rows.length + 1));
  assert.equal(await tab.page.getByRole('tree').count(), 1);
  await tab.picture('two-views');
  // A view beside itself is one view.
  await tab.page.getByRole('tab', { name: 'Table' }).click();
  await tab.param('view', 'table');
  await tab.page.goBack();
  await tab.param('view', 'flame,table');
  // What is done in one view is seen in both.
  await tab.page.locator('.rows .row').first().click();
  await tab.page.locator('.table').getByRole('button', { name: 'ignore', exact: true }).click();
  await tab.param('ignore', `^${answer.rows[0].name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`);
  const left = await flame(context.site, { ignore: tab.params().get('ignore') });
  assert.ok((await tab.page.locator('.flame-tree').getAttribute('aria-label')).includes(` ${left.name.length} boxes`));
  await tab.page.locator('.flame-tree').focus();
  // The outermost box is no function.
  await tab.page.keyboard.press('s');
  await tab.page.keyboard.press('ArrowDown');
  await tab.page.keyboard.press('s');
  await tab.param('view', 'sandwich,table');
  await tab.ends();
}

async function links(context) {
  const tab = await open(context, '?query=profile&from=now-5m');

  await tab.page.getByRole('button', { name: 'Copy link' }).click();
  const link = new URL(await tab.page.getByLabel('What was copied').inputValue());
  assert.equal(Number(link.searchParams.get('to')) - Number(link.searchParams.get('from')), 300000);
  await tab.close('404 (Not Found)');
}

async function overTime(context) {
  const tab = await open(context);

  await tab.clickFlame(1, 0.6);
  const name = await tab.text('.detail b');
  await tab.page.getByRole('button', { name: 'over time' }).click();
  await tab.param('chart', 'history');
  assert.equal(tab.params().get('fn'), name);
  const legend = await tab.page.locator('.legend li').evaluateAll(all => all.map(l => l.title));
  assert.deepEqual(legend.sort(), [`${name} self`, `${name} with callees`]);
  // Each number of the history is that of the table of its step.
  const request = await tab.page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .map(r => r.name)
      .find(u => u.includes('api/v1/history')),
  );
  const { data } = await (await fetch(request)).json();
  const step = data.profiles.findIndex(n => n > 0);
  const from = data.timestamps[step];
  const top = await context.site.api('query', {
    mode: 'merge',
    query: 'profile',
    from,
    to: (data.timestamps[step + 1] ?? last + 1) - 1,
    report: 'top',
    trim: 'false',
  });
  const row = top.rows.find(r => r.name === name) ?? { flat: 0, cum: 0 };
  assert.deepEqual([data.functions[0].flat[step], data.functions[0].cum[step]], [row.flat, row.cum]);
  await tab.picture('history');
  await tab.page.getByRole('button', { name: 'Lines' }).click();
  await tab.param('chart', null);
  await tab.ends();
}

async function sandwich(context) {
  const tab = await open(context);

  await tab.clickFlame(1, 0.6);
  const name = await tab.text('.detail b');
  await tab.page.getByRole('button', { name: 'sandwich' }).click();
  await tab.param('view', 'sandwich');
  assert.equal(tab.params().get('fn'), name);
  assert.equal(await tab.page.locator('.canvas').count(), 2);
  // The second box of both graphs is the function, with the weight of all its stacks.
  const pivot = `^${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
  const answer = await flame(context.site, { pivot });
  const top = await context.site.api('query', {
    mode: 'merge',
    query: 'profile',
    from: first,
    to: last,
    report: 'top',
    trim: 'false',
  });
  assert.equal(answer.total_of[0], top.rows.find(r => r.name === name).cum);
  assert.equal(answer.callers.total_of[0], answer.total_of[0]);
  await tab.picture('sandwich');
  await tab.ends();
}

async function markers(context) {
  const tab = await open(context, `?query=heap{job="shop"}&${range}`);
  const changes = await context.site.api('changes', { query: 'heap{job="shop"}', from: first, to: last });

  assert.deepEqual(
    changes.map(c => [c.kind, c.name, c.to]),
    [['label', 'version', ['1.1']]],
  );
  assert.match(await tab.text('.markers li'), /version .*1\.1/);
  await tab.picture('markers');
  const before = await tab.still();
  await tab.page.getByRole('button', { name: /before.after .*version/ }).click();
  await tab.param('from_b', String(changes[0].time));
  assert.equal(tab.params().get('to_a'), String(changes[0].time - 1));
  assert.match(await tab.text('.flame-head'), /^total .+ → /);
  await tab.page.goBack();
  await tab.param('query', 'heap{job="shop"}');
  assertSame(before, await tab.still(), 'Back');
  await tab.ends();
}

/** However many changes there are, they take one line: the picture below needs the room. */
async function manyMarkers(context) {
  const tab = await Tab.open(context.browser, context.site);
  const change = i => ({
    time: Number(first) + 1000 * i,
    kind: 'build_id',
    name: '',
    jobs: [`program-${i}`],
    programs: [],
    instances: [],
    from: ['a'.repeat(40)],
    to: [`${i}`.repeat(40)],
    series: 1,
  });
  const answer = { status: 'success', data: Array.from({ length: 150 }, (_, i) => change(i)) };
  const top = async () => (await tab.page.locator('.canvas').boundingBox()).y;

  await tab.go(`?query=heap{job="shop"}&${range}`);
  const alone = await top();
  await tab.page.route(/api\/v1\/changes/, route => route.fulfill({ json: answer }));
  await tab.go(`?query=heap{job="shop"}&${range}&tz=utc`);
  assert.match(await tab.text('.markers li'), /program-149: build aaaaaaaaaaaa/);
  assert.equal(await top(), alone, 'the graph is where it is with one change');
  await tab.page.getByRole('button', { name: 'all 150 changes' }).click();
  assert.equal(await tab.page.locator('.marker-list li').count(), 101);
  assert.match(await tab.page.locator('.marker-list li').last().innerText(), /^50 earlier ones/);
  // A press elsewhere closes the box.
  await tab.page.mouse.click(5, 5);
  assert.equal(await tab.page.getByRole('dialog').count(), 0);
  await tab.picture('many-changes');
  await tab.close();
}

/** A click on the mark of a change tells it beside the chart. */
async function clickedMarker(context) {
  const tab = await Tab.open(context.browser, context.site);
  const times = [0.25, 0.75].map(part => Math.round(Number(first) + part * (Number(last) - Number(first))));
  const restart = (time, i) => ({
    ...{ time, kind: 'restart', name: '', jobs: ['shop'], programs: [], from: [], to: [], series: 1 },
    instances: [instances[i]],
  });
  const instances = (await context.site.api('label/instance/values', { 'match[]': 'heap{job="shop"}' })).slice(0, 2);

  await tab.page.route(/api\/v1\/changes/, route =>
    route.fulfill({ json: { status: 'success', data: times.map(restart) } }),
  );
  await tab.go(`?query=heap&${range}`);
  const told = i => tab.page.locator('.markers li', { hasText: `shop: restart of ${instances[i]}` }).waitFor();
  await told(1);
  const box = await tab.page.locator('.chart .u-over').boundingBox();
  const at = part => tab.page.mouse.move(box.x + part * box.width, box.y + box.height / 2);
  const pointer = () => tab.page.locator('.chart .u-over').evaluate(e => e.style.cursor);
  await at(0.5);
  assert.equal(await pointer(), '');
  await at(0.25);
  assert.equal(await pointer(), 'pointer');
  await tab.page.mouse.down();
  await tab.page.mouse.up();
  await told(0);
  await tab.page.getByRole('button', { name: /before.after .*shop/ }).click();
  await tab.param('from_b', String(times[0]));
  assert.equal(tab.params().get('query_b'), `heap{job="shop",instance="${instances[0]}"}`);
  await tab.close();
}

/** What lies below the pointer stays where it is, as the browser itself measures it; values are told beside the pointer. */
async function nothingMoves(context) {
  const tab = await open(context, `?query=heap&${range}`);
  const plot = await tab.page.locator('.u-over').boundingBox();
  const canvas = await tab.page.locator('.canvas').boundingBox();

  await tab.page.evaluate(() => {
    window.shifts = [];
    new PerformanceObserver(list =>
      window.shifts.push(...list.getEntries().map(e => [e.value, ...e.sources.map(x => x.node?.className)].join(' '))),
    ).observe({ type: 'layout-shift', buffered: false });
  });
  for (const share of [0.01, 0.8, 0.5]) {
    await tab.page.mouse.move(plot.x + plot.width * share, plot.y + plot.height / 2);
    await until('the values are shown', async () => /[kM]B|nothing is known/.test(await tab.text('.tip')));
  }
  const values = (await tab.page.locator('.tip tr:not(.sum) td.number').allInnerTexts()).map(t => parseFloat(t));
  assert.ok(values.length > 1, `${values}`);
  assert.deepEqual(
    values,
    [...values].sort((a, b) => b - a),
    'the largest value is first',
  );
  await tab.page.mouse.move(canvas.x + canvas.width / 4, canvas.y + 30);
  await until('the box is told', async () => /self .* total /.test(await tab.text('.tip')));
  assert.equal(await tab.text('.tip b'), await tab.text('.flame .detail b'));
  await tab.page.mouse.move(0, 0);
  await until('nothing is told', async () => (await tab.page.locator('.tip').count()) === 0);
  await tab.clickFlame(1, 0.2);
  assert.ok(tab.params().get('zoom'));
  assert.deepEqual(await tab.page.locator('.canvas').boundingBox(), canvas, 'a box was chosen');
  assert.deepEqual(await tab.page.evaluate(() => window.shifts), []);
  await tab.close();
}

/** The flame graph has the screen: more than half of the window, whatever is above it. */
async function room(context) {
  const { site } = context;
  const sides = `from_a=${first}&to_a=${first + 600000}&from_b=${first + 600001}&to_b=${last}`;
  const views = [
    `?query=profile&${range}`,
    `?query=profile&${range}&by=`,
    `?query=heap&${range}&chart=points`,
    `?query=profile&${range}&chart=rows`,
    `?query=profile&${range}&chart=weights`,
    `?query=mutex&${range}&view=invert`,
    `?query=profile&${range}&focus=runtime&group_by=job`,
    `?query=heap{job="shop"}&${range}`,
    `compare?query_b=profile{job!="big"}&${sides}`,
    `compare?query_b=heap{job="shop"}&${sides}`,
    `compare?query_b=profile{job!="big"}&${sides}&focus=runtime&ignore_versions=true`,
  ];
  const shareOf = tab =>
    tab.page.evaluate(() => {
      const graph = document.querySelector('.canvas').getBoundingClientRect();
      const below = document.querySelector('.flame .detail').getBoundingClientRect().top;
      return (Math.min(graph.bottom, innerHeight, below) - graph.top) / innerHeight;
    });

  for (const [width, height, least] of [
    [1440, 900, 0.55],
    [390, 844, 0.4],
  ]) {
    const tab = await Tab.open(context.browser, site, { viewport: { width, height } });
    for (const path of views) {
      await tab.go(path.includes('view=') ? path : `${path}&view=flame`);
      if (!(await tab.page.locator('.canvas').count())) throw new Error(`${path} has no flame graph`);
      const share = await shareOf(tab);
      assert.ok(share >= least, `${path}: ${(100 * share).toFixed(1)} % of ${width} x ${height}`);
      assert.ok(
        (await tab.page.evaluate(() => document.documentElement.scrollWidth)) <= width,
        `${path} is wider than the window`,
      );
    }
    await tab.close();
  }
}

async function source(context) {
  const tab = await open(context, `${cpu}&view=source`);

  // Without a function, there is a list to choose from.
  assert.match(await tab.text('.views .table'), /^Choose a function/);
  const name = (await tab.page.locator('.views .options button span').first().innerText()).trim();
  await tab.page.locator('.views .options button').first().click();
  await tab.param('fn', name);
  await tab.go(`${cpu}&view=source&fn=main.words`);
  const answer = await context.site.api('query', {
    mode: 'merge',
    query: 'profile',
    from: first,
    to: last,
    report: 'source',
    format: 'json',
    symbol: '^main\\.words$',
  });
  assert.ok(answer.functions.length);
  assert.equal(await tab.page.locator('.lines tbody tr').count(), answer.functions[0].lines.length);
  assert.match(await tab.text('.source'), /not on the server: only line numbers/);
  await tab.picture('source');
  await tab.ends();
}

export const explore = [
  ['opening', opening],
  ['type menu', typeMenu],
  ['label values', labelValues],
  ['values that are found', foundValues],
  ['wrong selector', wrongSelector],
  ['drag on the chart', drag],
  ['relative range', relativeRange],
  ['a click zooms', clickZooms],
  ['zoom survives another range', zoomSurvives],
  ['find', find],
  ['filters', filters],
  ['table', table],
  ['inverted', inverted],
  ['Back, three times', backThrice],
  ['export and commands', exports_],
  ['commands of every view', commands],
  ['two views', twoViews],
  ['copied links have absolute times', links],
  ['a function over time', overTime],
  ['sandwich', sandwich],
  ['changes on the chart', markers],
  ['many changes', manyMarkers],
  ['a mark on the chart is clicked', clickedMarker],
  ['nothing moves', nothingMoves],
  ['the flame graph has the room', room],
  ['source', source],
];
