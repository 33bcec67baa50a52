// SPDX-License-Identifier: Apache-2.0
// Runs the unit tests of the web UI: bundles each file and gives it to node's
// own test runner.
//
// usage: node tests/ui/unit/run.mjs FOLDER   (a folder for the bundles)
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, '../../../web/ui/package.json'));
const out = process.argv[2];
const tests = readdirSync(here).filter(f => f.endsWith('.test.ts'));

await require('esbuild').build({
  entryPoints: tests.map(f => join(here, f)),
  bundle: true,
  platform: 'node',
  format: 'esm',
  outdir: out,
  outExtension: { '.js': '.mjs' },
  logLevel: 'warning',
});
const { status } = spawnSync(process.execPath, ['--test', ...tests.map(f => join(out, f.replace(/ts$/, 'mjs')))], {
  stdio: 'inherit',
});
process.exit(status ?? 1);
