// SPDX-License-Identifier: Apache-2.0
// Bundles the web UI and writes it as C and assembler sources, which become a
// part of the program: each file plain, as gzip and as brotli.
//
// usage: node build.mjs FOLDER
//
// FOLDER gets assets_table.c (struct asset of web/pages/assets.h),
// assets_data.S, and the files that assets_data.S includes.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
/** What the page loads before its first picture. */
const atOnce = ['main.js', 'style.css', 'icon.svg'];
const types = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/**
 * The bundled files: [name without folder, content]. What is imported with
 * import() becomes a file of its own, which a browser loads when it is needed.
 */
async function bundle() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: { main: 'main.tsx', style: 'style.css' },
    bundle: true,
    splitting: true,
    chunkNames: '[name].[hash]',
    minify: true,
    write: false,
    outdir: 'out',
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
  });
  return result.outputFiles.map(f => [f.path.split('/').pop(), Buffer.from(f.contents)]);
}

/** "main.js" becomes "main.0123456789abcdef.js": a name that changes with the content. Files loaded later have one already. */
function hashed(name, content) {
  if (!atOnce.includes(name)) return name;
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  return name.replace(/\.(\w+)$/, `.${hash}.$1`);
}

function compressed(content) {
  const gzip = gzipSync(content, { level: 9 });
  gzip[9] = 255; // the operating system: unknown, so that builds are reproducible
  return {
    plain: content,
    gzip,
    brotli: brotliCompressSync(content, {
      params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
    }),
  };
}

function writeSources(files) {
  const data = ['/* Made by web/ui/build.mjs. */', '.section .rodata'];
  const rows = [];
  files.forEach(([name, content], i) => {
    const row = [];
    for (const [form, bytes] of Object.entries(compressed(content))) {
      writeFileSync(join(out, `${name}.${form}`), bytes);
      data.push(`.global asset_${i}_${form}`, `asset_${i}_${form}:`, `.incbin "${name}.${form}"`);
      row.push(`{ asset_${i}_${form}, ${bytes.length} }`);
    }
    const etag = createHash('sha256').update(content).digest('hex').slice(0, 16);
    rows.push(`\t{ "${name}", "${types[name.split('.').pop()]}", "\\"${etag}\\"",\n\t  ${row.join(', ')} },`);
  });
  data.push('.section .note.GNU-stack,"",%progbits', '');
  const symbols = files.flatMap((_, i) =>
    ['plain', 'gzip', 'brotli'].map(form => `extern const unsigned char asset_${i}_${form}[];`),
  );
  writeFileSync(join(out, 'assets_data.S'), data.join('\n'));
  writeFileSync(
    join(out, 'assets_table.c'),
    `/* Made by web/ui/build.mjs. */\n#include "web/pages/assets.h"\n\n${symbols.join('\n')}\n\n` +
      `const struct asset assets[] = {\n${rows.join('\n')}\n\t{ 0 },\n};\n`,
  );
}

mkdirSync(out, { recursive: true });
const files = (await bundle()).map(([name, content]) => [hashed(name, content), content, name]);
const icon = readFileSync(join(here, 'icon.svg'));
files.push([hashed('icon.svg', icon), icon, 'icon.svg']);
let html = readFileSync(join(here, 'index.html'), 'utf8');
for (const [name, , plain] of files) html = html.replaceAll(`assets/${plain}`, `assets/${name}`);
files.push(['index.html', Buffer.from(html), 'index.html']);
writeSources(files);
const size = files
  .filter(([, , plain]) => /\.(js|css)$/.test(plain) && atOnce.includes(plain))
  .reduce((sum, [, content]) => sum + gzipSync(content, { level: 9 }).length, 0);
writeFileSync(join(out, 'size.txt'), `${size}\n`);
