// SPDX-License-Identifier: Apache-2.0
// Files: what somebody brings to look at, alone, compared, and compared with stored profiles.
import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tab } from '../browser.mjs';
import { last, root, until } from '../site.mjs';

/** A file as the browser gives it to the page. */
function file(name, text) {
  return { name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) };
}

const before = file('before.folded', 'main;work;sum 60\nmain;idle 40\n');
const after = file('after.folded', 'main;work;sum 30\nmain;work;more 20\nmain;idle 50\n');

/** The field into which files are chosen; dropping them does the same. */
function input(tab, text) {
  return tab.page.locator('label.choose', { hasText: text }).locator('input');
}

const recording = gunzipSync(readFileSync(join(root, 'testdata/jfr/java-17.jfr.gz')));

async function two({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go('adhoc');
  await input(tab, 'Choose files').setInputFiles([before, after]);
  await until('both files are shown', async () => tab.params().get('adhoc_b') && tab.params().get('adhoc_a'));
  await tab.settled();
  const ids = { a: tab.params().get('adhoc_a'), b: tab.params().get('adhoc_b') };
  assert.deepEqual(await tab.page.locator('.file-name').allInnerTexts(), ['before.folded', 'after.folded']);
  const answer = await site.api('query', { mode: 'diff', adhoc_a: ids.a, adhoc_b: ids.b, report: 'flamegraph' });
  assert.deepEqual([answer.total_of_a[0], answer.total_of[0] ?? answer.total], [100, 100]);
  // Samples count for a time, which may differ: shares are compared unless values are asked for.
  assert.equal(await tab.page.getByRole('button', { name: 'by share' }).getAttribute('aria-pressed'), 'true');
  await tab.picture('files');
  await tab.page.getByRole('tab', { name: 'Table' }).click();
  await tab.settled();
  const row = tab.page.locator('.rows .row', { hasText: 'more' });
  assert.deepEqual((await row.locator('[role=cell]').allInnerTexts()).slice(0, 2), ['0', '20']);
  await tab.page.getByRole('button', { name: 'by value' }).click();
  await tab.param('normalize', '0');
  await tab.page.getByRole('button', { name: 'Swap A and B' }).click();
  await tab.param('adhoc_b', ids.a);
  assert.equal(tab.params().get('adhoc_a'), ids.b);
  await tab.page.getByRole('button', { name: 'Only B' }).click();
  await tab.param('adhoc_a', null);
  await tab.param('adhoc', ids.a);
  await tab.settled();
  assert.equal(await tab.page.locator('.file-name').innerText(), 'before.folded');
  // The address alone shows the same to somebody else.
  await tab.go(`adhoc?adhoc_a=${ids.a}&adhoc_b=${ids.b}`);
  assert.match(await tab.text('.flame-head b'), /^total 100, to which B is scaled$/);
  await tab.ends();
}

async function parts({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go('adhoc');
  await input(tab, 'Choose files').setInputFiles([file('shop.jfr', recording)]);
  await until('the file is shown', async () => tab.params().get('adhoc'));
  await tab.settled();
  const id = tab.params().get('adhoc');
  const known = await site.api(`adhoc/${id}`);
  assert.ok(known.parts.length > 1);
  for (const [i, part] of known.parts.entries()) {
    if (!i) continue;
    await tab.page.getByLabel('Profile of the file').selectOption(part.name);
    await tab.param('adhoc', `${id}/${i}`);
    await tab.settled();
    const answer = await site.api('query', { adhoc: `${id}/${i}`, report: 'flamegraph' });
    assert.equal(answer.sample_type, part.defaultSampleType);
    assert.ok((await tab.text('.flame-head')).startsWith('total'));
  }
  // Its own list has it, and a link to it can be made to last.
  await tab.page.getByRole('button', { name: 'Keep 30d' }).click();
  await until('it is kept', async () => (await site.api(`adhoc/${id}`)).kept);
  await tab.go('adhoc');
  const row = tab.page.locator('tr', { hasText: 'shop.jfr' });
  assert.match(await row.innerText(), /, kept/);
  await row.getByRole('button', { name: 'shop.jfr' }).click();
  await tab.param('adhoc', id);
  await tab.settled();
  await tab.page.getByRole('button', { name: 'Remove file' }).click();
  await tab.page.getByRole('button', { name: 'Remove it for everybody' }).click();
  await tab.param('adhoc', null);
  await until('it is gone', async () => !(await site.api('adhoc')).some(f => f.id === id));
  await tab.ends();
}

async function sides({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go('adhoc');
  await input(tab, 'Choose files').setInputFiles([file('shop.jfr', recording)]);
  await until('the file is shown', async () => tab.params().get('adhoc'));
  const id = tab.params().get('adhoc');
  // Two of its profiles can be compared: choosing one leaves the other.
  await tab.go(`adhoc?adhoc_b=${id}&adhoc_a=${id}/1`);
  await tab.settled();
  await tab.page.getByLabel('Profile of the file').last().selectOption('1');
  await tab.param('adhoc_b', `${id}/1`);
  await tab.page.getByLabel('Profile of the file').first().selectOption('0');
  await tab.param('adhoc_a', `${id}/0`);
  await tab.settled();
  assert.equal(tab.params().get('adhoc_b'), `${id}/1`);
  // Profiles of different types have no difference.
  await tab.close('400');
}

async function stored({ browser, site }) {
  const tab = await Tab.open(browser, site);
  const url = `${site.url}api/v1/query?query=profile&time=${last}&report=raw`;
  const profile = Buffer.from(await (await fetch(url)).arrayBuffer());

  await tab.go('adhoc');
  await input(tab, 'Choose files').setInputFiles([file('old.pb', profile)]);
  await until('the file is shown', async () => tab.params().get('adhoc'));
  await tab.settled();
  const id = tab.params().get('adhoc');
  await tab.page.getByRole('button', { name: 'Compare with stored profiles' }).click();
  await tab.param('adhoc_a', id);
  assert.match(tab.page.url(), /\/compare\?/);
  await tab.go(`compare?query_b=profile&time_b=${last}&adhoc_a=${id}`);
  // The file is the stored profile: nothing differs.
  const answer = await site.api('query', {
    mode: 'diff',
    adhoc_a: id,
    query_b: 'profile',
    time_b: last,
    report: 'flamegraph',
  });
  assert.ok(answer.total_of.length > 10);
  assert.deepEqual(answer.total_of, answer.total_of_a);
  assert.equal(await tab.page.locator('.side .file-name').innerText(), 'old.pb');
  // Nothing is stored of the last hour, which the page showed first.
  await tab.close('404');
}

async function refused({ browser, site }) {
  const tab = await Tab.open(browser, site);

  await tab.go('adhoc');
  await input(tab, 'Choose files').setInputFiles([file('notes.txt', 'nothing of this kind\n')]);
  await until('why it is not shown', async () => (await tab.page.locator('.notice.bad').count()) === 1);
  assert.match(await tab.text('.notice.bad'), /^notes.txt: the file has none of the formats pprof, JFR, perf script/);
  await tab.go('adhoc?adhoc=AAAAAAAAAAAAAAAAAAAAAA');
  await until('that it is gone', async () => (await tab.page.locator('.notice.bad').count()) > 0);
  assert.match(await tab.text('.notice.bad'), /its time was over/);
  await tab.close('40');
}

export const adhoc = [
  ['two files', two],
  ['a recording with several profiles', parts],
  ['two profiles of a recording', sides],
  ['against stored profiles', stored],
  ['a file that is none', refused],
];
