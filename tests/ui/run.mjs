// SPDX-License-Identifier: Apache-2.0
// Runs the scenarios of the web UI in Chromium over a real everprof.
//
// usage: EVERPROF=BINARY node tests/ui/run.mjs [PART OF A NAME]
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { launch } from './browser.mjs';
import { compare } from './scenarios/compare.mjs';
import { explore } from './scenarios/explore.mjs';
import { failures } from './scenarios/failures.mjs';
import { pages } from './scenarios/pages.mjs';
import { root, Site } from './site.mjs';

const wanted = process.argv[2] ?? '';
const site = new Site();
const config = `scrape_configs:
- job_name: gone
  scrape_interval: 1s
  static_configs: [{targets: ['127.0.0.1:1']}]
`;

/** A program of which a new version was deployed in the middle of the range. */
function importShop(to) {
  const folder = join(to.folder, 'files');
  mkdirSync(folder);
  execFileSync('tar', ['-xf', join(root, 'testdata/profiles.tar'), '-C', folder, 'leakapp/heap']);
  readdirSync(join(folder, 'leakapp/heap'))
    .sort()
    .forEach((file, i) => {
      const labels = `heap{job="shop",instance="shop-${i < 3 ? 1 : 2}",version="${i < 3 ? '1.0' : '1.1'}"}`;
      to.importProfiles(join(folder, 'leakapp/heap', file), `--labels=${labels}`);
    });
}

let passed = 0;
let failed = 0;

site.importProfiles(join(root, 'testdata/profiles.tar'));
importShop(site);
await site.start(config);
const browser = await launch();
for (const [name, scenario] of [...explore, ...compare, ...pages, ...failures]) {
  if (!name.includes(wanted)) continue;
  const began = Date.now();
  try {
    await scenario({ site, browser });
    passed++;
    console.log(`passed  ${name} (${Date.now() - began} ms)`);
  } catch (e) {
    failed++;
    console.log(`FAILED  ${name}\n${e.stack}`);
  }
}
await browser.close();
await site.stop();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
