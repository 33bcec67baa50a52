// SPDX-License-Identifier: Apache-2.0
// Runs the scenarios of the web UI in Chromium over a real everprof.
//
// usage: EVERPROF=BINARY node tests/ui/run.mjs [PART OF A NAME]
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bigProfile } from './bigprofile.mjs';
import { launch } from './browser.mjs';
import { adhoc } from './scenarios/adhoc.mjs';
import { charts } from './scenarios/charts.mjs';
import { compare } from './scenarios/compare.mjs';
import { explore } from './scenarios/explore.mjs';
import { failures } from './scenarios/failures.mjs';
import { graphs } from './scenarios/graphs.mjs';
import { pages } from './scenarios/pages.mjs';
import { readme } from './scenarios/readme.mjs';
import { signing } from './scenarios/signin.mjs';
import { bigAt, Program, root, Site } from './site.mjs';

const wanted = process.argv[2] ?? '';
const site = new Site();

/** One job whose target is down, one that is scraped only on request, and one whose service discovery fails. */
function configOf(address) {
  const off = ['allocs', 'block', 'goroutine', 'mutex', 'profile', 'threadcreate']
    .map(t => `${t}: {enabled: false}`)
    .join(', ');

  return `scrape_configs:
- job_name: gone
  scrape_interval: 1s
  static_configs: [{targets: ['127.0.0.1:1']}]
- job_name: live
  scrape_interval: 1d
  static_configs: [{targets: ['${address}']}]
  profiling_config: {pprof_config: {${off}}}
- job_name: lost
  http_sd_configs: [{url: 'http://127.0.0.1:1/targets'}]
`;
}

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

/** A profile with more boxes than the page asks for. */
function importBig(to) {
  const folder = join(to.folder, 'big/big/profile');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${bigAt}.pb.gz`), bigProfile(60000));
  to.importProfiles(join(to.folder, 'big'));
}

let passed = 0;
let failed = 0;

site.importProfiles(join(root, 'testdata/profiles.tar'));
importShop(site);
importBig(site);
const folder = join(site.folder, 'files/leakapp/heap');
const program = new Program(readFileSync(join(folder, readdirSync(folder)[0])));
await site.start(configOf(await program.start()));
const browser = await launch();
for (const [name, scenario] of [
  ...explore,
  ...charts,
  ...graphs,
  ...compare,
  ...adhoc,
  ...pages,
  ...failures,
  ...signing,
  ...readme,
]) {
  if (!name.includes(wanted)) continue;
  const began = Date.now();
  try {
    await scenario({ site, browser, program });
    passed++;
    console.log(`passed  ${name} (${Date.now() - began} ms)`);
  } catch (e) {
    failed++;
    console.log(`FAILED  ${name}\n${e.stack}`);
  }
}
await browser.close();
await site.stop();
program.stop();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
