#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ours and Go's reader must judge the same bytes alike, and add up alike.

usage: compare.py GO_PROGRAM C_PROGRAM SEEDS... COUNT

SEEDS are folders of profiles; COUNT mutants of them are made: bytes flipped,
removed, doubled, spliced. Allowed differences: docs/decisions.md 9 to 11."""
import os
import random
import subprocess
import sys
import tempfile

go, ours, seeds, count = sys.argv[1], sys.argv[2], sys.argv[3:-1], int(sys.argv[-1])
rng = random.Random(int(os.environ.get('SEED', '7')))
paths = [os.path.join(d, f) for d in seeds for f in sorted(os.listdir(d))]
inputs = [open(p, 'rb').read() for p in paths if os.path.isfile(p)]
inputs = [b for b in inputs if b]


def mutant():
    b = bytearray(rng.choice(inputs))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(b)) if b else 0
        n = rng.choice((1, 1, 2, 8, 40))
        kind = rng.randrange(6)
        if kind == 0 and b:
            b[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and b:
            b[at] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            del b[at : at + n]
        elif kind == 3:
            b[at:at] = b[at : at + n]
        elif kind == 4:
            other = rng.choice(inputs)
            start = rng.randrange(len(other))
            b[at:at] = other[start : start + n]
        else:
            b += rng.choice(inputs)
    return bytes(b)


def judge(program, folder):
    out = subprocess.run([program, folder], capture_output=True, check=True)
    return dict(line.split('\t', 1) for line in out.stdout.decode(errors='replace').splitlines())


def allowed(b, body):
    """zlib, which Go does not unpack, and jemalloc's heaps are read by us alone;
    field 15, the URL of documentation, is one that Debian's pprof does not know."""
    url = ('string index is out of range' in b or 'wrong wire type' in b) and any(
        t in body for t in (b'\x78', b'\x79', b'\x7a', b'\x7d')
    )
    return url or 'more than 256 sample types' in b or body[:1] == b'\x78' or body.startswith(b'heap_v2/')


with tempfile.TemporaryDirectory() as d:
    for i in range(count):
        with open(os.path.join(d, f'{i:07}'), 'wb') as f:
            f.write(inputs[i] if i < len(inputs) else mutant())
    theirs, mine = judge(go, d), judge(ours, d)
    assert set(theirs) == set(mine) and len(mine) == count
    accepted = different = 0
    for name, verdict in theirs.items():
        accepted += verdict.startswith('ok')
        same = verdict == mine[name] if verdict.startswith('ok') else mine[name].startswith('no')
        body = open(os.path.join(d, name), 'rb').read()
        if not same and not allowed(mine[name], body):
            different += 1
            print(f'{name} ({len(body)} bytes): Go {verdict[:100]} | ours {mine[name][:100]}')
print(f'{count} inputs, {accepted} accepted by Go, {different} judged differently')
sys.exit(1 if different or not accepted else 0)
