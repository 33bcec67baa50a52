#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the whole binary under scrape load: everything that had been
listed is there after the next start, byte for byte.

What was listed is recorded in a file, and compared by a process of its own
(check_ledger.py). EVERPROF_KILLS sets how many kills (5)."""
import json
import os
import random
import signal
import subprocess
import sys
import time

from harness import Everprof, Server, Suite, packed, profile, send, wait_until

suite = Suite()
KILLS = int(os.environ.get('EVERPROF_KILLS', '5'))
HERE = os.path.dirname(os.path.abspath(__file__))


@suite.test
def what_was_listed_survives_kill_9(d):
    served = {}
    rng = random.Random(int(os.environ.get('EVERPROF_SEED', '1')))

    def answer(r):
        n = len(served)
        body = profile(f'{r.path} {n}', n, rng.randrange(20000))
        served[n] = True
        send(r, packed(body))
    targets = [Server(answer) for _ in range(4)]
    config = 'scrape_configs:\n' + ''.join(
        f'- job_name: t{i}\n  scrape_interval: 100ms\n  profiling_config: {{pprof_config: '
        f'{{profile: {{seconds: 0}}}}}}\n'
        f'  static_configs: [{{targets: ["{t.address}"]}}]\n' for i, t in enumerate(targets))
    ledger = os.path.join(d, 'ledger.jsonl')
    open(ledger, 'w').close()
    known = set()
    slowest = 0
    for kill in range(KILLS):
        began = time.monotonic()
        e = Everprof(d, config, ['--storage.tsdb.wal-budget=8MB']).ready()
        slowest = max(slowest, time.monotonic() - began)
        subprocess.run([sys.executable, os.path.join(HERE, 'check_ledger.py'), e.url, ledger],
                       check=True)
        wait_until('fresh profiles', 10, lambda: e.range('{job=~".+"}', 'now-2s'))
        time.sleep(rng.uniform(0, 2.5))
        with open(ledger, 'a') as f:
            import hashlib
            for s in e.range('{job=~".+"}'):
                fresh = [ms for ms in s['timestamps']
                         if (json.dumps(s['labels']), ms) not in known]
                for ms in fresh:
                    known.add((json.dumps(s['labels']), ms))
                for ms in fresh:
                    # The bytes of some, the presence of all.
                    sha = None
                    if rng.random() < 0.2:
                        sha = hashlib.sha256(e.raw(s['labels'], ms).body).hexdigest()
                    f.write(json.dumps([s['labels'], ms, sha]) + '\n')
        e.stop(signal.SIGKILL)
    e = Everprof(d, config, ['--storage.tsdb.wal-budget=8MB']).ready()
    subprocess.run([sys.executable, os.path.join(HERE, 'check_ledger.py'), e.url, ledger],
                   check=True)
    assert e.stop() == 0
    print(f'{KILLS} kills, {len(known)} profiles listed, slowest start {slowest:.2f} s')
    for t in targets:
        t.stop()


suite.main()
