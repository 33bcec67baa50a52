#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ours and Go's reader must judge the same bytes alike, and add up alike.

usage: compare.py GO_PROGRAM C_PROGRAM SEEDS COUNT

SEEDS is a folder of profiles; COUNT mutants of them are made: bytes flipped,
removed, doubled, spliced. Allowed differences: docs/decisions.md 9 to 11."""
import os
import random
import subprocess
import sys
import tempfile

go, ours, seeds, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
rng = random.Random(7)
inputs = [open(os.path.join(seeds, f), 'rb').read() for f in sorted(os.listdir(seeds))]
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
            b[at] = rng.choice((0, 1, 2, 0x7f, 0x80, 0xff))
        elif kind == 2:
            del b[at:at + n]
        elif kind == 3:
            b[at:at] = b[at:at + n]
        elif kind == 4:
            other = rng.choice(inputs)
            start = rng.randrange(len(other))
            b[at:at] = other[start:start + n]
        else:
            b += rng.choice(inputs)
    return bytes(b)


def judge(program, folder):
    out = subprocess.run([program, folder], capture_output=True, check=True)
    return dict(line.split('\t', 1) for line in out.stdout.decode(errors='replace').splitlines())


def allowed(a, b, body):
    if 'legacy text' in b or 'more than 256 sample types' in b:
        return True
    # zlib, which Go does not unpack; and what Go's legacy readers take.
    return body[:1] == b'\x78' or (a.startswith('ok') and b.startswith('no') and body[:1] in b'-h')


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
        if not same and not allowed(verdict, mine[name], body):
            different += 1
            print(f'{name} ({len(body)} bytes): Go {verdict[:100]} | ours {mine[name][:100]}')
print(f'{count} inputs, {accepted} accepted by Go, {different} judged differently')
sys.exit(1 if different or not accepted else 0)
