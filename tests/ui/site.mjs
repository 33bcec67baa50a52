// SPDX-License-Identifier: Apache-2.0
// A real everprof over imported profiles, for tests in a browser.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const binary = process.env.EVERPROF;
const slow = Number(process.env.EVERPROF_SLOW ?? 1);

/** The times of the oldest and the newest profile of testdata/profiles.tar. */
export const first = 1795232201149;
export const last = 1795233402998;

/** The time of the profile with very many stacks, apart from the others. */
export const bigAt = 1795300000000;

/** Wait for a condition; fails after some seconds. */
export async function until(what, condition, seconds = 30) {
  const end = Date.now() + seconds * slow * 1000;

  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${what}`);
    await new Promise(done => setTimeout(done, 20));
  }
}

function freePort() {
  return new Promise(done => {
    const s = createServer();
    s.listen(0, '127.0.0.1', () => {
      const { port } = s.address();
      s.close(() => done(port));
    });
  });
}

/** A program that everprof scrapes: it answers every request with the same profile. */
export class Program {
  constructor(profile) {
    this.requests = 0;
    this.server = createHttpServer((_, response) => {
      this.requests++;
      response.end(profile);
    });
  }

  /** Listen; returns host:port. */
  start() {
    return new Promise(done =>
      this.server.listen(0, '127.0.0.1', () => done(`127.0.0.1:${this.server.address().port}`)),
    );
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

export class Site {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'everprof-ui-'));
    this.data = join(this.folder, 'data');
  }

  /** Import profiles: a tar, a folder or a file. */
  importProfiles(source, ...flags) {
    execFileSync(binary, ['tsdb', 'import', source, `--storage.tsdb.path=${this.data}`, ...flags], { stdio: 'ignore' });
  }

  configure(config) {
    writeFileSync(join(this.folder, 'everprof.yaml'), config);
  }

  async start(config = 'scrape_configs: []\n', ...flags) {
    this.port ??= await freePort();
    this.configure(config);
    const log = openSync(join(this.folder, 'log'), 'a');
    this.child = spawn(
      binary,
      [
        'serve',
        `--config.file=${join(this.folder, 'everprof.yaml')}`,
        `--storage.tsdb.path=${this.data}`,
        `--web.listen-address=127.0.0.1:${this.port}`,
        '--storage.tsdb.retention.time=0',
        '--web.rate-limit=0',
        ...flags,
      ],
      { stdio: ['ignore', log, log] },
    );
    this.exited = new Promise(done => this.child.on('exit', done));
    await until('everprof is ready', async () => {
      if (this.child.exitCode !== null) throw new Error(this.log());
      // 401: the server is there, and has users.
      return [200, 401].includes((await fetch(`${this.url}-/ready`).catch(() => null))?.status);
    });
  }

  get url() {
    return `http://127.0.0.1:${this.port}/`;
  }

  log() {
    return readFileSync(join(this.folder, 'log'), 'utf8');
  }

  /** The data of an answer of the API. */
  async api(path, params = {}) {
    const list = Object.entries(params).flatMap(([k, v]) => [v].flat().map(x => [k, String(x)]));
    const response = await fetch(`${this.url}api/v1/${path}?${new URLSearchParams(list)}`);
    const body = await response.json();

    if (!response.ok) throw new Error(body.error);
    return body.data;
  }

  async kill(signal = 'SIGKILL') {
    this.child.kill(signal);
    await this.exited;
  }

  async stop() {
    if (this.child?.exitCode === null && !this.child.signalCode) await this.kill('SIGTERM');
    const log = this.log();
    rmSync(this.folder, { recursive: true, force: true });
    if (/ERROR: (Address|Leak)Sanitizer|runtime error:|WARNING: ThreadSanitizer/.test(log)) throw new Error(log);
  }
}
