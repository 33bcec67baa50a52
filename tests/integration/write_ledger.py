#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends profiles to an everprof and keeps a record of them; compares the record
with the data directory in which they have to arrive.

usage: write_ledger.py load URL LEDGER [BYTES]      until SIGTERM
       write_ledger.py compare LEDGER DIR
The ledger has a line for each profile: T (tried), then A (acknowledged), with
series, time in ms and sha256 of the bytes. What is tried is repeated until it is
acknowledged."""
import hashlib
import os
import random
import signal
import subprocess
import sys
import time
import types
import urllib.error
import urllib.request

from harness import BINARY, profile
from write_client import HEADERS, request, snappy

BATCH = 4  # profiles in a request


def write(url, body):
    """Whether the server has acknowledged a request."""
    message = urllib.request.Request(f'{url}/api/v1/write', data=body, headers=HEADERS, method='POST')
    try:
        with urllib.request.urlopen(message, timeout=10) as answer:
            return answer.status == 204
    except urllib.error.HTTPError as e:
        assert e.code in (429, 500, 503), (e.code, e.read())
    except OSError:
        pass
    return False


def load(url, ledger, size=2000):
    state = types.SimpleNamespace(stopped=False)
    signal.signal(signal.SIGTERM, lambda *_: setattr(state, 'stopped', True))
    chance = random.Random(os.getpid())
    begin, number = int(time.time() * 1000) - 3600 * 1000, 0
    with open(ledger, 'a', buffering=1) as f:
        while not state.stopped:
            batch, keys = [], []
            for _ in range(BATCH):
                number += 1
                job, ms = f'j{number % 7}', begin + number
                raw = profile(f'{number}-{chance.randbytes(chance.randrange(2 * size) // 2).hex()}', number)
                batch.append(({'__name__': 'heap', 'job': job}, [(raw, ms)]))
                keys.append(f'{job} {ms} {hashlib.sha256(raw).hexdigest()}')
            f.write(''.join(f'T {key}\n' for key in keys))
            body = snappy(request(*batch))
            while not write(url, body):
                if state.stopped:
                    return
                time.sleep(0.02)
            f.write(''.join(f'A {key}\n' for key in keys))


def compare(ledger, data):
    """Prints and counts the differences."""
    lines = [line.rstrip('\n').split(' ', 1) for line in open(ledger)]
    tried = {key for kind, key in lines if kind == 'T'}
    acknowledged = {key for kind, key in lines if kind == 'A'}
    there = []
    dump = subprocess.run([BINARY, 'tsdb', 'dump', data], capture_output=True, text=True, check=True)
    for line in dump.stdout.splitlines():
        labels, ms, _, _, sha = line.split('\t')
        assert 'agent="a1"' in labels, labels
        there.append(f'{labels.split("job=")[1].split(chr(34))[1]} {ms} {sha}')
    lost, strange = acknowledged - set(there), set(there) - tried
    double = len(there) - len(set(there))
    print(
        f'{len(acknowledged)} acknowledged, {len(there)} arrived, {len(lost)} lost, '
        f'{double} twice, {len(strange)} strange'
    )
    return 1 if lost or strange or double or not acknowledged else 0


if sys.argv[1] == 'load':
    load(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
else:
    sys.exit(compare(sys.argv[2], sys.argv[3]))
