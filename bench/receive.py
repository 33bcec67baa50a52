#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CPU time that two builds of everprof take to receive small requests of remote
write. Both run at the same time and get the same requests, a hundred in turn, so that
other work on the machine slows both.

usage: bench/receive.py BEFORE AFTER FOLDER [REQUESTS] [PROFILES]
       FOLDER: has profiles of one type, *.pb.gz
       REQUESTS: how many, in place of 6000
       PROFILES: in each request, 1 unless told"""
import glob
import gzip
import os
import sys
import tempfile
import time

from usage import arguments

before, after, folder, *counts = arguments(__doc__, 3, 5)
requests, profiles = [int(n) for n in counts] + [6000, 1][len(counts) :]
os.environ['EVERPROF'] = before
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tests/integration'))
import harness  # noqa: E402
from write_client import request, snappy, write  # noqa: E402

SERIES = 60
TURN = 100  # requests
FLAGS = ('--web.enable-remote-write-receiver', '--storage.tsdb.retention.time=0')


def body(number, values, begin):
    """The request with a number: the next profiles of as many series."""
    all_series = []
    for i in range(number * profiles, (number + 1) * profiles):
        labels = {'__name__': 'memory', 'job': f'j{i % SERIES}', 'instance': 'x:1'}
        all_series.append((labels, [(values[i * 7 % len(values)], begin + i // SERIES * 1000)]))
    return snappy(request(*all_series))


def main():
    files = sorted(glob.glob(f'{folder}/**/*.pb.gz', recursive=True))[:240]
    if not files:
        sys.exit(f'{folder} has no files *.pb.gz')
    values = [gzip.decompress(open(f, 'rb').read()) for f in files]
    begin = int(time.time() * 1000) - 3 * 3600 * 1000
    with tempfile.TemporaryDirectory(prefix='everprof-') as d:
        servers = []
        for name, harness.BINARY in ('before', before), ('after', after):
            servers.append(harness.Everprof(f'{d}/{name}', flags=FLAGS).ready())
        started = [sum(harness.cpu_seconds(e.child.pid)) for e in servers]
        order = list(servers)
        for first in range(0, requests, TURN):
            bodies = [body(n, values, begin) for n in range(first, min(first + TURN, requests))]
            for e in order:
                for one in bodies:
                    assert write(e, one).status == 204
            order.reverse()
        used = [sum(harness.cpu_seconds(e.child.pid)) - s for e, s in zip(servers, started)]
    print(
        f'{requests} requests of {profiles} profiles of {sum(map(len, values)) // len(values)} bytes: before '
        f'{1000 * used[0] / requests:.2f} CPU ms each, after {1000 * used[1] / requests:.2f}: {used[1] / used[0]:.3f} times'
    )


if __name__ == '__main__':
    try:
        main()
    finally:
        harness.Process.stop_all()
