// SPDX-License-Identifier: Apache-2.0
// The picture of the README: an hour of a small fleet, with a deployment and a
// spike. docs/explore.png is a copy of what this writes; ./dev ui picture makes
// it anew.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Tab } from '../browser.mjs';
import { root, Site } from '../site.mjs';

const begin = 1795230000000;
const minutes = 60;

/** Which of a job's real profiles stands at a minute: they differ, and some minutes are heavier. */
function choice(job, minute, count) {
  const noise = ((minute * 7919 + job.length * 104729) % 97) / 97;

  return Math.floor(count * noise);
}

/** Lay out profiles of a job as files of a version. */
function fill(site, job, version, from, to) {
  const files = readdirSync(join(site.folder, 'real', job, 'profile')).sort();
  const folder = join(site.folder, `${job}-${version}`);

  mkdirSync(folder);
  for (let m = from; m < to; m++) {
    const file = files[choice(job, m, files.length)];
    copyFileSync(
      join(site.folder, 'real', job, 'profile', file),
      join(folder, `${begin + m * 60000 + job.length * 1000}.pb.gz`),
    );
  }
  site.importProfiles(folder, `--labels=profile{job="${job}",instance="${job}-1",version="${version}"}`);
}

async function picture({ browser }) {
  const site = new Site();

  mkdirSync(join(site.folder, 'real'));
  execFileSync('tar', ['-xf', join(root, 'testdata/profiles.tar'), '-C', join(site.folder, 'real')]);
  fill(site, 'prometheus', '2.45.0', 0, 36);
  fill(site, 'prometheus', '2.46.0', 36, minutes);
  fill(site, 'etcd', '3.5.9', 0, minutes);
  fill(site, 'node_exporter', '1.6.1', 0, minutes);
  await site.start();
  const tab = await Tab.open(browser, site, { viewport: { width: 1280, height: 800 } });
  await tab.go(`?query=profile&from=${begin}&to=${begin + minutes * 60000}&tz=utc`);
  assert.equal(await tab.page.locator('.markers li').count(), 1, 'the deployment is marked');
  await tab.picture('readme');
  await tab.ends();
  await site.stop();
}

export const readme = [['the picture of the README', picture]];
