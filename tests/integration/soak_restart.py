#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ready in under a second with 2 GB of sealed WAL segments.

usage: soak_restart.py CORPUS"""
import glob
import os
import signal
import subprocess
import sys
import time

from harness import Everprof, Suite, run

corpus = sys.argv.pop(1)
suite = Suite()
WANT = 2 << 30


@suite.test
def restart_with_a_full_wal(d):
    data = os.path.join(d, 'data')
    subprocess.run(
        [os.environ['EVERPROF'], 'bench', 'storage', corpus, f'--fill={data}', f'--bytes={WANT}'], check=True
    )
    size = sum(os.path.getsize(p) for p in glob.glob(data + '/wal/*'))
    times = []
    for _ in range(5):
        began = time.monotonic()
        e = Everprof(d, '', ['--storage.tsdb.wal-budget=4GB']).ready()
        times.append(time.monotonic() - began)
        listed = sum(len(s['timestamps']) for s in e.range('{job=~".+"}'))
        e.stop(signal.SIGKILL)
    print(
        f'{size / 2**30:.2f} GiB of segments, {listed} profiles, ready after '
        + ', '.join(f'{t:.2f}' for t in sorted(times))
        + ' s'
    )
    assert size >= WANT and sorted(times)[2] < 1


@suite.test
def restart_with_the_corpus(d):
    r = run('tsdb', 'import', corpus, f'--storage.tsdb.path={d}/data')
    assert r.returncode == 0, r
    began = time.monotonic()
    Everprof(d).ready()
    took = time.monotonic() - began
    print(f'ready after {took:.2f} s')
    assert took < 1


suite.main()
