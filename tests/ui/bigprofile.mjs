// SPDX-License-Identifier: Apache-2.0
// Makes a profile with many different stacks: the number of boxes of its flame
// graph is known. The format is profile.proto of github.com/google/pprof.
import { gzipSync } from 'node:zlib';

function varint(value) {
  const out = [];
  let v = BigInt(value);

  do {
    out.push(Number(v & 127n) | (v > 127n ? 128 : 0));
    v >>= 7n;
  } while (v);
  return out;
}

const number = (field, value) => [...varint(field * 8), ...varint(value)];

function bytes(field, content) {
  return Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(content.length)]), Buffer.from(content)]);
}

/** A generator of numbers from 0 to 1, the same in each run. */
function random(seed) {
  let s = seed;

  return () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 2 ** 32;
  };
}

/**
 * A tree of calls with `boxes` nodes, as [parent, function] of each node. Depth
 * and number of callees are those of real programs: mostly few, sometimes many.
 */
function callTree(boxes, functions) {
  const next = random(11);
  const parent = [-1];
  const depth = [0];
  const fn = [0];
  const used = new Set();

  while (parent.length < boxes) {
    // Recent nodes are likelier parents, so that the tree becomes deep.
    const p = Math.min(parent.length - 1, Math.floor(parent.length * (1 - next() ** 3)));
    const f = 1 + Math.floor(functions * next() ** 2);
    if (depth[p] >= 60 || used.has(p * functions * 2 + f)) continue;
    used.add(p * functions * 2 + f);
    depth.push(depth[p] + 1);
    parent.push(p);
    fn.push(f);
  }
  return { parent, fn };
}

/** A gzipped CPU profile with a box for each of `boxes` paths; each has a value of its own. */
export function bigProfile(boxes, functions = 9000, at = 1795232300000) {
  const { parent, fn } = callTree(boxes, functions);
  const next = random(5);
  const texts = ['', 'cpu', 'nanoseconds', '/srv/shop'];
  const out = [
    bytes(1, [...number(1, 1), ...number(2, 2)]),
    bytes(3, [...number(1, 1), ...number(2, 4096), ...number(3, 1 << 30), ...number(5, 3), ...number(7, 1)]),
  ];

  for (let i = 1; i < boxes; i++) {
    const stack = [];
    for (let n = i; n > 0; n = parent[n]) stack.push(...varint(fn[n]));
    out.push(bytes(2, Buffer.concat([bytes(1, stack), bytes(2, varint(1 + Math.floor(1e6 * next() ** 8)))])));
  }
  for (let f = 1; f <= functions; f++) {
    texts.push(`example.com/shop/pkg${f % 240}.(*Type${f % 31}).Method${f}`);
    out.push(
      bytes(
        4,
        Buffer.concat([
          Buffer.from([...number(1, f), ...number(2, 1), ...number(3, 4096 + 16 * f)]),
          bytes(4, [...number(1, f), ...number(2, 10)]),
        ]),
      ),
    );
    out.push(
      bytes(5, [...number(1, f), ...number(2, texts.length - 1), ...number(3, texts.length - 1), ...number(4, 3)]),
    );
  }
  for (const t of texts) out.push(bytes(6, Buffer.from(t)));
  out.push(Buffer.from([...number(9, BigInt(at) * 1000000n), ...number(10, 10000000000n)]));
  return gzipSync(Buffer.concat(out));
}
