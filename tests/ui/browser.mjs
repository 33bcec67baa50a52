// SPDX-License-Identifier: Apache-2.0
// Chromium, and what every scenario checks: no message on the console, no
// request to another server, and the same pixels after a reload.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pictureDifference } from './png.mjs';
import { root, until } from './site.mjs';

const require = createRequire(join(root, 'web/ui/package.json'));
const { chromium } = require('playwright-core');
const pictures = process.env.EVERPROF_PICTURES;

export async function launch() {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none', '--hide-scrollbars'],
  });
}

/** Two screenshots show the same. */
export function assertSame(before, after, what) {
  const difference = pictureDifference(before, after);

  if (difference && pictures) {
    mkdirSync(pictures, { recursive: true });
    writeFileSync(join(pictures, 'before.png'), before);
    writeFileSync(join(pictures, 'after.png'), after);
  }
  assert.equal(difference, '', what);
}

/** A page of the site in a browser context of its own. */
export class Tab {
  constructor(site, page) {
    this.site = site;
    this.page = page;
    this.complaints = [];
    page.on('console', m => this.complaints.push(`${m.type()}: ${m.text()}`));
    page.on('pageerror', e => this.complaints.push(`error: ${e.stack}`));
    page.on('dialog', d => this.complaints.push(`dialog: ${d.message()}`));
    page.on('request', r => {
      if (!r.url().startsWith(site.url) && !r.url().startsWith('blob:')) this.complaints.push(`request: ${r.url()}`);
    });
  }

  static async open(browser, site, options = {}) {
    const context = await browser.newContext({
      viewport: { width: 1400, height: 900 },
      timezoneId: 'UTC',
      reducedMotion: 'reduce',
      ...options,
    });
    return new Tab(site, await context.newPage());
  }

  async go(path) {
    await this.page.goto(this.site.url + path);
    await this.settled();
  }

  /** Wait until every view shows the answer to its request. */
  async settled() {
    await this.page.waitForFunction(
      () => document.querySelector('main')?.children.length && !document.querySelector('[data-state="loading"]'),
      undefined,
      { timeout: 60000 },
    );
    // Two frames: what the answers changed is on the screen.
    await this.page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  params() {
    return new URL(this.page.url()).searchParams;
  }

  /** Wait until a parameter of the URL has a value; null: it is not there. */
  async param(name, value) {
    await until(`${name}=${value} in ${this.page.url()}`, () => this.params().get(name) === value);
    await this.settled();
  }

  async text(selector) {
    return (await this.page.locator(selector).first().innerText()).replace(/\s+/g, ' ').trim();
  }

  /** The page without pointer and focus. */
  async still() {
    await this.page.mouse.move(0, 0);
    await this.page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
    await this.page.evaluate(() => scrollTo(0, 0));
    await this.settled();
    return this.page.screenshot();
  }

  /** Save a picture for people to look at. */
  async picture(name) {
    if (!pictures) return;
    mkdirSync(pictures, { recursive: true });
    writeFileSync(join(pictures, `${name}.png`), await this.still());
  }

  /** Save a text for people to read. */
  async record(name, text) {
    if (!pictures) return;
    mkdirSync(pictures, { recursive: true });
    writeFileSync(join(pictures, name), text);
  }

  /** Point at a part of the flame graph, in rows and shares of its width. */
  async flamePoint(row, share) {
    const box = await this.page.locator('.canvas').boundingBox();
    return [box.x + box.width * share, box.y + row * 20 + 10];
  }

  async clickFlame(row, share) {
    await this.page.mouse.click(...(await this.flamePoint(row, share)));
    await this.settled();
  }

  /** End of a scenario: a reload from the URL gives the same picture. */
  async ends() {
    const before = await this.still();
    await this.page.goto(this.page.url());
    await this.settled();
    assertSame(before, await this.still(), `${this.page.url()} after a reload`);
    await this.close();
  }

  /** Complaints that contain `expected` are expected; they may come until the end. */
  async close(expected = '') {
    await this.page.context().close();
    assert.deepEqual(
      this.complaints.filter(c => !expected || !c.includes(expected)),
      [],
    );
  }
}
