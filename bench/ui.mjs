// SPDX-License-Identifier: Apache-2.0
// Speed of flame graphs in a browser: the web UI beside speedscope and
// flame-chart-js, with the same profile, in the same run.
//
// usage: node bench/ui.mjs [BOXES [NAME]]   (100000, all; needs build/release/everprof)
//
// The peers come from the npm registry into build/bench-ui. Chromium runs
// without a GPU, so that drawing is done by the processor.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.env.EVERPROF ??= join(root, 'build/release/everprof');
const { bigProfile } = await import('../tests/ui/bigprofile.mjs');
const { launch } = await import('../tests/ui/browser.mjs');
const { bigAt, Site } = await import('../tests/ui/site.mjs');

const boxes = Number(process.argv[2] ?? 100000);
const only = process.argv[3] ?? '';
const rounds = 5;
const peers = join(root, 'build/bench-ui');
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json' };

function installPeers() {
  mkdirSync(peers, { recursive: true });
  if (existsSync(join(peers, 'node_modules/speedscope'))) return;
  writeFileSync(join(peers, 'package.json'), '{"private":true}');
  execFileSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', 'speedscope@1.25.0', 'flame-chart-js@3.3.0'],
    { cwd: peers, stdio: 'ignore' },
  );
}

/** A page around flame-chart-js, which takes a tree of objects. */
const chartPage = `<!doctype html><style>body{margin:0}</style><canvas id=c width=1400 height=800></canvas>
<script src="/flame-chart-js/dist/index.min.js"></script><script type=module>
const data = (await (await fetch('/graph.json')).json()).data;
const nodes = data.name.map((n, i) => ({ name: data.strings[n], start: 0, duration: data.total_of[i], type: 'x', children: [] }));
const cursor = nodes.map(() => 0);
data.parent.forEach((p, i) => { if (p < 0) return; nodes[i].start = cursor[p]; cursor[p] += nodes[i].duration; cursor[i] = nodes[i].start; nodes[p].children.push(nodes[i]); });
const { FlameChart } = window.flameChartJs;
window.chart = new FlameChart({ canvas: document.getElementById('c'), data: [nodes[0]], settings: { options: { timeUnits: 'ns' } } });
window.chart.render();
window.ready = true;
</script>`;

/** Serves the peers' files, the profile, and our answer for the profile. */
function servePeers(files) {
  const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://x').pathname;
    const body =
      files[path] ??
      (existsSync(join(peers, 'node_modules', path)) && !path.endsWith('/')
        ? readFileSync(join(peers, 'node_modules', path))
        : null);
    response.writeHead(body ? 200 : 404, { 'Content-Type': types[extname(path)] ?? 'application/octet-stream' });
    response.end(body ?? '');
  });
  return new Promise(done => server.listen(0, '127.0.0.1', () => done(server)));
}

const median = list => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))];

/** In the page: 3 s of zooming with the wheel and dragging; the intervals between frames. */
async function frames(page, selector) {
  return page.evaluate(async where => {
    const element = [...document.querySelectorAll(where)].sort(
      (a, b) => b.clientWidth * b.clientHeight - a.clientWidth * a.clientHeight,
    )[0];
    const r = element.getBoundingClientRect();
    const long = [];
    new PerformanceObserver(list => long.push(...list.getEntries())).observe({ type: 'long-animation-frame' });
    const at = (x, y) => ({
      clientX: r.left + r.width * x,
      clientY: r.top + Math.min(r.height, 600) * y,
      bubbles: true,
      cancelable: true,
      view: window,
    });
    const intervals = [];
    const end = performance.now() + 3000;
    let last = await new Promise(requestAnimationFrame);
    for (let i = 0; performance.now() < end; i++) {
      const phase = (i % 120) / 120;
      if (i % 120 < 60) {
        element.dispatchEvent(
          new WheelEvent('wheel', { ...at(0.5, 0.3), ctrlKey: true, deltaY: i % 120 < 40 ? -30 : 30 }),
        );
      } else {
        const x = 0.5 + 0.2 * Math.sin(phase * 12.6);
        if (i % 120 === 60)
          element.dispatchEvent(new PointerEvent('pointerdown', { ...at(0.5, 0.3), buttons: 1, pointerId: 1 }));
        element.dispatchEvent(new PointerEvent('pointermove', { ...at(x, 0.3), buttons: 1, pointerId: 1 }));
        element.dispatchEvent(new MouseEvent('mousemove', { ...at(x, 0.3), buttons: 1 }));
        if (i % 120 === 119) element.dispatchEvent(new PointerEvent('pointerup', { ...at(x, 0.3), pointerId: 1 }));
      }
      const now = await new Promise(requestAnimationFrame);
      intervals.push(now - last);
      last = now;
    }
    return { intervals, long: long.length };
  }, selector);
}

/** Bytes of the JavaScript heap after a collection. */
async function heap(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Runtime.getHeapUsage')).usedSize;
}

/** Open a page and wait for its picture: milliseconds from the last byte of the profile to the frame that shows it. */
async function open(browser, url, data, isReady, route) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(`{
    const look = () => {
      if (!window.shownAt && ${isReady}) {
        window.shownAt = -1;
        requestAnimationFrame(() => setTimeout(() => (window.shownAt = performance.now()), 0));
      }
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }`);
  if (route) await route(page);
  await page.goto(url);
  await page.waitForFunction(() => window.shownAt > 0, undefined, { timeout: 120000 });
  const paint = await page.evaluate(part => {
    const entry = performance
      .getEntriesByType('resource')
      .filter(e => e.name.includes(part))
      .at(-1);
    return window.shownAt - entry.responseEnd;
  }, data);
  return { page, paint };
}

async function measure(browser, name, url, data, isReady, selector, options = {}) {
  if (!name.includes(only)) return;
  const paints = [];
  const intervals = [];
  let long = 0;
  let used = 0;
  let extra = '';

  for (let i = 0; i < rounds; i++) {
    const { page, paint } = await open(browser, url, data, isReady, options.route);
    paints.push(paint);
    const seen = options.before ? await options.before(page) : undefined;
    used = await heap(page);
    const f = await frames(page, selector);
    intervals.push(...f.intervals);
    long += f.long;
    if (options.after) extra = await options.after(page, seen);
    await page.context().close();
  }
  const slow = intervals.filter(ms => ms > 20).length;
  console.log(
    `${name.padEnd(16)} first picture ${median(paints).toFixed(0)} ms, frames: median ${median(intervals).toFixed(1)} ms, p95 ${quantile(intervals, 0.95).toFixed(1)} ms, ` +
      `${(1000 / (intervals.reduce((a, b) => a + b) / intervals.length)).toFixed(0)} a second, ${slow} of ${intervals.length} above 20 ms, ${long} long, heap ${(used / 1e6).toFixed(1)} MB${extra}`,
  );
}

/** draw() of the whole graph, again and again: the first time, it is compiled. */
async function drawNumbers(page) {
  return page.evaluate(async () => {
    const all = [];
    for (let i = 0; i < 9; i++) {
      document
        .querySelector('.canvas')
        .dispatchEvent(new WheelEvent('wheel', { deltaY: i % 2 ? -20 : 20, bubbles: true, cancelable: true }));
      await new Promise(requestAnimationFrame);
      await new Promise(done => setTimeout(done, 50));
      all.push(window.everprofDrawn);
    }
    return all.sort((a, b) => a.ms - b.ms)[4];
  });
}

/** draw() alone and the search, of the web UI. */
async function ownNumbers(page, drawn) {
  const times = await page.evaluate(async () => {
    const times = [];
    for (const text of ['Method12', '/pkg1[0-9]\\.\\(\\*Type2/', 'nothing at all', 'Type7']) {
      const input = document.querySelector('input[type=search]');
      const before = window.everprofDrawn;
      const began = performance.now();
      input.value = text;
      input.dispatchEvent(new Event('input', { bubbles: true }));
      while (window.everprofDrawn === before) await new Promise(done => setTimeout(done, 0));
      times.push(performance.now() - began);
      await new Promise(done => setTimeout(done, 100));
    }
    return times;
  });
  return `\n${''.padEnd(16)} draw() of all ${drawn.ms.toFixed(1)} ms for ${drawn.boxes} boxes and ${drawn.runs} runs with ${drawn.fills} colours; from a search text to the picture ${median(times).toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)} ms`;
}

installPeers();
const site = new Site();
const profile = bigProfile(boxes);
const folder = join(site.folder, 'big/big/profile');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, `${bigAt}.pb.gz`), profile);
site.importProfiles(join(site.folder, 'big'));
await site.start();
const graphUrl = `${site.url}api/v1/query?query=profile&mode=merge&from=${bigAt}&to=${bigAt}&report=flamegraph&max_nodes=0`;
const graph = Buffer.from(await (await fetch(graphUrl)).arrayBuffer());
const server = await servePeers({
  '/profile.pb.gz': profile,
  '/graph.json': graph,
  '/chart.html': Buffer.from(chartPage),
});
const peer = `http://127.0.0.1:${server.address().port}`;
const browser = await launch();
console.log(
  `${JSON.parse(graph).data.name.length} boxes; the profile has ${profile.length} bytes, our answer ${graph.length}; ${rounds} rounds; ${browser.version()}`,
);
// The page asks for 50 000 boxes; here all of them are sent.
const all = page =>
  page.route('**/*max_nodes=50000*', r =>
    r.continue({ url: r.request().url().replace('max_nodes=50000', 'max_nodes=0') }),
  );
const ui = `${site.url}?query=profile&from=${bigAt}&to=${bigAt}&chart=off`;
await measure(
  browser,
  'everprof',
  ui,
  'report=flamegraph',
  '(window.everprofDrawn && document.querySelector(".flame-head"))',
  '.canvas',
  { route: all, before: drawNumbers, after: ownNumbers },
);
await measure(
  browser,
  'speedscope',
  `${peer}/speedscope/dist/release/index.html#profileURL=${encodeURIComponent(`${peer}/profile.pb.gz`)}`,
  'profile.pb.gz',
  'document.body && document.querySelectorAll("canvas").length > 1 && /shop|profile/.test(document.title + document.body.innerText)',
  'canvas',
  {
    before: async page => {
      await page.keyboard.press('2');
      await page.waitForTimeout(500);
    },
  },
);
await measure(browser, 'flame-chart-js', `${peer}/chart.html`, 'graph.json', 'window.ready', 'canvas');
await browser.close();
server.close();
await site.stop();
