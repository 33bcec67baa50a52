// SPDX-License-Identifier: Apache-2.0
// Graphs: order, groups, recursion, very many boxes, the call graph, texts.
import assert from 'node:assert/strict';
import { assertSame, Tab } from '../browser.mjs';
import { bigAt, first, last, until } from '../site.mjs';

const range = `from=${first}&to=${last}`;
const cpu = `?query=profile{job!="big"}&${range}`;
const big = `?query=profile{job="big"}&from=${bigAt}&to=${bigAt}`;

async function open({ browser, site }, path, options = {}) {
  const tab = await Tab.open(browser, site, options);
  await tab.go(path);
  return tab;
}

function flame(site, params) {
  return site.api('query', {
    mode: 'merge',
    query: 'profile{job!="big"}',
    from: first,
    to: last,
    report: 'flamegraph',
    max_nodes: 50000,
    ...params,
  });
}

/** The names of the boxes of a row, from left to right, as the pointer finds them. */
async function rowNames(tab, row) {
  const box = await tab.page.locator('.canvas').boundingBox();
  const names = [];

  for (let x = 3; x < box.width; x += 8) {
    await tab.page.mouse.move(box.x + x, box.y + row * 20 + 10);
    const name = await tab.text('.detail b');
    if (names.at(-1) !== name) names.push(name);
  }
  return names;
}

async function order(context) {
  const tab = await open(context, cpu);
  const a = await flame(context.site, {});
  const children = a.name.map((_, i) => i).filter(i => a.parent[i] === 0);
  const name = i => a.strings[a.name[i]];
  const byValue = [...children].sort((x, y) => a.total_of[y] - a.total_of[x]).map(name);

  assert.deepEqual((await rowNames(tab, 1)).slice(0, 3), byValue.slice(0, 3));
  await tab.page.getByRole('button', { name: 'Options' }).click();
  await tab.picture('options');
  await tab.page.getByLabel('Order').selectOption('name');
  await tab.param('order', 'name');
  const wide = children.filter(i => a.total_of[i] > a.total / 100).map(name);
  const shown = (await rowNames(tab, 1)).filter(n => wide.includes(n));
  assert.deepEqual(shown, [...shown].sort());
  await tab.page.getByLabel('Colour').selectOption('self');
  await tab.param('color', 'self');
  await tab.page.getByRole('dialog').getByLabel('Close').click();
  await tab.ends();
}

async function groups(context) {
  const tab = await open(context, cpu);
  const a = await flame(context.site, { group_by: 'job' });
  const wanted = a.name
    .map((_, i) => i)
    .filter(i => a.parent[i] === 0)
    .map(i => a.strings[a.name[i]]);

  await tab.page.getByRole('button', { name: 'Options' }).click();
  await tab.page.getByLabel(/^Group by/).selectOption('job');
  await tab.param('group_by', 'job');
  await tab.page.getByRole('dialog').getByLabel('Close').click();
  assert.deepEqual((await rowNames(tab, 1)).sort(), wanted.sort());
  // What each costs, as numbers.
  const rows = await tab.page
    .locator('.groups tbody tr')
    .evaluateAll(all => all.map(r => [...r.children].map(c => c.textContent)));
  assert.deepEqual(rows.map(r => r[0]).sort(), wanted.sort());
  await tab.picture('groups');
  // With a filter, the share of each group's own total, which is another order.
  await tab.go(`${cpu}&group_by=job&focus=runtime`);
  await until('there are shares of the whole', async () => (await tab.page.locator('.groups thead th').count()) === 4);
  const left = await flame(context.site, { group_by: 'job', focus: 'runtime' });
  for (const [name, , , own] of await tab.page
    .locator('.groups tbody tr')
    .evaluateAll(all => all.map(r => [...r.children].map(c => c.textContent)))) {
    const of = f => f.total_of[f.name.findIndex((n, i) => f.parent[i] === 0 && f.strings[n] === name)];
    assert.ok(Math.abs(parseFloat(own) - (100 * of(left)) / of(a)) < 0.06, `${name}: ${own}, ${of(left)} of ${of(a)}`);
  }
  await tab.go(`${cpu}&group_by=job`);
  await tab.page.locator('.groups').getByRole('button', { name: rows[0][0] }).click();
  await tab.param('query', `profile{job!="big",job="${rows[0][0]}"}`);
  await until('only that group is shown', async () => (await tab.text('.flame-head b')) === `total ${rows[0][1]}`);
  await tab.ends();
}

async function recursion(context) {
  const tab = await open(context, `${cpu}&find=pdqsort`);
  const top = async params => (await flame(context.site, params)).total_of[0];
  const share = (100 * (await top({ focus: 'pdqsort' }))) / (await top({}));

  // The function calls itself: each stack counts once.
  const nested = await flame(context.site, { focus: 'pdqsort' });
  const added = nested.name.reduce(
    (sum, n, i) => sum + (nested.strings[n].includes('pdqsort') ? nested.total_of[i] : 0),
    0,
  );
  assert.ok(added > nested.total_of[0], 'these stacks are recursive');
  assert.ok(
    (await tab.text('.flame-head')).includes(` ${share.toFixed(2)}% of the total`),
    await tab.text('.flame-head'),
  );
  const boxes = (await flame(context.site, {})).name.length;
  const direct = (await flame(context.site, { recursion: 'direct' })).name.length;
  assert.ok(direct < boxes, `${direct} of ${boxes} boxes`);
  await tab.page.locator('.flame-tree').focus();
  await tab.page.keyboard.press('r');
  await tab.param('recursion', 'direct');
  assert.ok((await tab.page.locator('.flame-tree').getAttribute('aria-label')).includes(`${direct} boxes`));
  // From match to match.
  await tab.page.locator('.flame-tree').focus();
  for (const key of ['n', 'n', 'Shift+N']) {
    await tab.page.keyboard.press(key);
    assert.match(await tab.text('.detail b'), /pdqsort/);
  }
  await tab.ends();
}

async function manyBoxes(context) {
  const tab = await open(context, big);
  const request = { mode: 'merge', query: 'profile{job="big"}', from: bigAt, to: bigAt, report: 'flamegraph' };
  const cut = await context.site.api('query', { ...request, max_nodes: 50000 });

  assert.ok(cut.left_out.nodes > 1000, `${cut.left_out.nodes} boxes are left out`);
  assert.match(await tab.text('.flame-head'), new RegExp(`${cut.left_out.nodes} smaller boxes are in \\(other\\)`));
  const drawn = await tab.page.evaluate(() => window.everprofDrawn);
  // A row costs at most two steps per pixel, however many boxes it has.
  assert.ok(
    drawn.boxes + drawn.runs <= 2 * 1400 * 60 && drawn.boxes + drawn.runs < cut.name.length,
    JSON.stringify(drawn),
  );
  assert.ok(drawn.fills <= 27, `${drawn.fills} fills`);
  await tab.picture('many-boxes');
  // Boxes too small to be seen are found, and marked.
  const small = cut.name.reduce(
    (best, n, i) => (cut.total_of[i] < cut.total_of[best] && cut.strings[n].startsWith('example') ? i : best),
    1,
  );
  const name = cut.strings[cut.name[small]];
  const before = await tab.still();
  await tab.page.getByLabel('Find functions').fill(name);
  await tab.param('find', name);
  const found = cut.name.filter(n => cut.strings[n].toLowerCase().includes(name.toLowerCase())).length;
  assert.match(await tab.text('.flame-head'), new RegExp(` ${found} boxes match`));
  assert.ok(!before.equals(await tab.still()));
  await tab.page.getByLabel('Find functions').fill('');
  await tab.param('find', null);
  // (other) opens: what is in it is asked for.
  const other = cut.name.findIndex(n => cut.strings[n] === '(other)');
  const path = [];
  for (let i = cut.parent[other]; i > 0; i = cut.parent[i]) path.unshift(cut.strings[cut.name[i]]);
  await tab.page.locator('.flame-tree').focus();
  await tab.page.keyboard.press('/');
  await tab.page.getByLabel('Find functions').fill('(other)');
  await tab.param('find', '(other)');
  await tab.page.locator('.flame-tree').focus();
  await tab.page.keyboard.press('n');
  assert.equal(await tab.text('.detail b'), '(other)');
  await tab.page.keyboard.press('Enter');
  await until('the box opened', () => tab.params().get('under'));
  await tab.settled();
  const opened = await context.site.api('query', { ...request, max_nodes: 50000, under: tab.params().getAll('under') });
  assert.ok((await tab.page.locator('.flame-tree').getAttribute('aria-label')).includes(`${opened.name.length} boxes`));
  await tab.ends();
}

async function panning(context) {
  const tab = await open(context, cpu);
  const whole = await tab.still();
  const box = await tab.page.locator('.canvas').boundingBox();
  const middle = [box.x + box.width / 2, box.y + 30];

  await tab.page.mouse.move(...middle);
  const name = await tab.text('.detail b');
  await tab.page.keyboard.down('Control');
  for (let i = 0; i < 4; i++) await tab.page.mouse.wheel(0, -120);
  await tab.page.keyboard.up('Control');
  await until('the part that is shown is marked', async () => (await tab.page.locator('.minimap-shown').count()) === 1);
  // What was below the pointer stays there.
  await tab.page.mouse.move(middle[0] + 1, middle[1]);
  assert.equal(await tab.text('.detail b'), name);
  const zoomed = await tab.still();
  await tab.page.mouse.move(...middle);
  await tab.page.mouse.down();
  await tab.page.mouse.move(middle[0] - 200, middle[1], { steps: 4 });
  await tab.page.mouse.up();
  assert.ok(!zoomed.equals(await tab.still()), 'the drag moved the picture');
  assert.equal(tab.params().get('zoom'), null, 'a drag is no click');
  await tab.page.locator('.flame-tree').focus();
  await tab.page.keyboard.press('0');
  await until('everything is shown', async () => (await tab.page.locator('.minimap-shown').count()) === 0);
  assertSame(whole, await tab.still(), 'the whole graph again');
  await tab.ends();
}

/** What does not fit has a map; a click on it moves the graph there. */
async function graphMap(tab) {
  const map = tab.page.locator('.graph-map');
  const scrolled = () =>
    tab.page
      .locator('.graph')
      .evaluate(e => [e.scrollLeft, e.scrollTop, e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]);

  assert.equal(await map.count(), 0, 'everything fits');
  for (let i = 0; i < 4; i++) await tab.page.getByRole('button', { name: 'Larger' }).click();
  const { width, height } = await map.boundingBox();
  await map.click({ position: { x: width - 2, y: height - 2 } });
  await until('the graph is at its end', async () => {
    const [x, y, mostX, mostY] = await scrolled();
    return Math.abs(x - mostX) < 2 && Math.abs(y - mostY) < 2;
  });
  await map.click({ position: { x: 2, y: 2 } });
  await until('the graph is at its begin', async () => {
    const [x, y] = await scrolled();
    return x === 0 && y === 0;
  });
  await tab.picture('callgraph-map');
  await tab.page.getByRole('button', { name: 'Fit' }).click();
  await until('everything fits again', async () => (await map.count()) === 0);
}

async function callGraph(context) {
  const tab = await open(context, `${cpu}&view=graph`);
  const graph = await context.site.api('query', {
    mode: 'merge',
    query: 'profile{job!="big"}',
    from: first,
    to: last,
    report: 'graph',
  });

  assert.equal(await tab.page.locator('.graph .box').count(), graph.nodes.length);
  assert.equal(await tab.page.locator('.graph .arrow').count(), graph.edges.length);
  await tab.picture('callgraph');
  await graphMap(tab);
  await tab.page.locator('.graph .box').first().focus();
  await tab.page.keyboard.press('Enter');
  const { name } = graph.nodes[0];
  assert.ok((await tab.text('.callgraph .detail')).startsWith(name), await tab.text('.callgraph .detail'));
  await tab.page.locator('.callgraph').getByRole('button', { name: 'focus', exact: true }).click();
  await until('focus is in the URL', () => tab.params().get('focus'));
  await tab.settled();
  const focused = await context.site.api('query', {
    mode: 'merge',
    query: 'profile{job!="big"}',
    from: first,
    to: last,
    report: 'graph',
    focus: tab.params().get('focus'),
  });
  assert.equal(await tab.page.locator('.graph .box').count(), focused.nodes.length);
  await tab.ends();
}

async function texts(context) {
  const tab = await open(context, `${cpu}&view=text`);
  const api = async report =>
    (
      await fetch(
        `${context.site.url}api/v1/query?mode=merge&query=${encodeURIComponent('profile{job!="big"}')}&from=${first}&to=${last}&report=${report}`,
      )
    ).text();

  assert.equal(await tab.page.locator('.text pre').textContent(), await api('tree'));
  await tab.page.getByRole('button', { name: 'every sample' }).click();
  await tab.param('text', 'traces');
  assert.equal(await tab.page.locator('.text pre').textContent(), await api('traces'));
  await tab.ends();
}

async function byLabel(context) {
  const tab = await open(context, `${cpu}&view=table&sort=-cum`);
  const row = tab.page.locator('.rows .row').first();
  const name = await row.locator('.name').innerText();

  await row.click();
  assert.ok((await tab.text('.table .detail')).startsWith(name));
  await tab.page.getByRole('button', { name: 'by label' }).click();
  await tab.param('group_by', 'job');
  const answer = await flame(context.site, { group_by: 'job', focus: tab.params().get('focus') });
  assert.ok((await tab.page.locator('.flame-tree').getAttribute('aria-label')).includes(`${answer.name.length} boxes`));
  await tab.page.goBack();
  await tab.param('view', 'table');
  // The same with keys; the row that was chosen still is.
  await tab.page.locator('.rows').focus();
  await tab.page.keyboard.press('ArrowDown');
  const second = await tab.page.locator('.rows .row').nth(1).locator('.name').innerText();
  assert.ok((await tab.text('.table .detail')).startsWith(second));
  await tab.page.keyboard.press('s');
  await tab.param('fn', second);
  await tab.ends();
}

export const graphs = [
  ['order and colours', order],
  ['groups in the flame graph', groups],
  ['recursion', recursion],
  ['very many boxes', manyBoxes],
  ['pan and zoom', panning],
  ['call graph', callGraph],
  ['texts', texts],
  ['a function by label', byLabel],
];
