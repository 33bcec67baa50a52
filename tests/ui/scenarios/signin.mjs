// SPDX-License-Identifier: Apache-2.0
// Signing in and out, on a server with users.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tab } from '../browser.mjs';
import { first, last, root, Site, until } from '../site.mjs';

/** The password of ann is "secret"; a bcrypt hash of the lowest cost. */
const users = `basic_auth_users:
  ann: $2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW
bearer_tokens:
- {name: ci, token: 0123456789abcdef}
`;

const quiet = tab => (tab.complaints = tab.complaints.filter(c => !c.includes('401 (Unauthorized)')));

async function open(browser, site, path) {
  const tab = await Tab.open(browser, site);
  await tab.page.goto(site.url + path);
  await until('the form is shown', async () => (await tab.page.locator('.signin').count()) === 1);
  return tab;
}

async function signIn({ browser }) {
  const site = new Site();
  site.importProfiles(join(root, 'testdata/profiles.tar'));
  writeFileSync(join(site.folder, 'web.yml'), users);
  await site.start(undefined, `--web.config.file=${join(site.folder, 'web.yml')}`);
  const tab = await open(browser, site, `?query=profile&from=${first}&to=${last}`);
  assert.equal(await tab.page.locator('.canvas').count(), 0, 'nothing is shown before');
  await tab.picture('signin');
  await tab.page.getByLabel('User').fill('ann');
  await tab.page.getByLabel('Password').fill('wrong');
  await tab.page.keyboard.press('Enter');
  await until('it is refused', async () => (await tab.page.locator('.notice.bad').count()) === 1);
  assert.match(await tab.text('.notice.bad'), /User or password is wrong/);
  await tab.page.getByLabel('Password').fill('secret');
  await tab.page.keyboard.press('Enter');
  await until('the profiles are shown', async () => (await tab.page.locator('.canvas').count()) === 1);
  assert.equal(tab.params().get('query'), 'profile', 'the page that was asked for');
  const [cookie] = await tab.page.context().cookies();
  assert.match(cookie.name, /^everprof_session_\d+$/);
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Strict', '/']);
  assert.equal(await tab.page.evaluate(() => document.cookie), '', 'scripts do not see it');
  await until('the user is named', async () => (await tab.text('header')).includes('ann'));
  // The session lasts; the password is nowhere.
  await tab.page.reload();
  await tab.settled();
  assert.equal(await tab.page.locator('.signin').count(), 0);
  assert.ok(
    !(await tab.page.evaluate(() => JSON.stringify(localStorage) + JSON.stringify(sessionStorage))).includes('secret'),
  );
  assert.ok(!site.log().includes('secret'));
  // A copied cookie is worth nothing after signing out.
  await tab.page.getByRole('button', { name: 'Sign out' }).click();
  await until('the form is back', async () => (await tab.page.locator('.signin').count()) === 1);
  const answer = await fetch(`${site.url}api/v1/labels`, { headers: { Cookie: `${cookie.name}=${cookie.value}` } });
  assert.equal(answer.status, 401);
  // A token signs in, too, with its own scope.
  await tab.page.getByRole('button', { name: 'With a token' }).click();
  await tab.page.getByLabel('Token').fill('0123456789abcdef');
  await tab.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await until('the profiles are shown', async () => (await tab.page.locator('.canvas').count()) === 1);
  await until('the token is named', async () => (await tab.text('header')).includes('ci'));
  quiet(tab);
  await tab.close();
  await site.stop();
}

export const signing = [['sign in and out', signIn]];
