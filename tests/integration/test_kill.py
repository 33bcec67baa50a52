#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the whole binary under scrape load, while ranges are sealed early,
blocks compacted, and old profiles removed: everything that had been listed is
there after the next start, byte for byte.

What was listed is recorded in a file, and compared by a process of its own
(check_ledger.py). EVERPROF_KILLS sets how many kills (5)."""
import json
import os
import random
import signal
import subprocess
import sys
import time

from harness import Everprof, Server, Suite, packed, profile, run, send, wait_until

suite = Suite()
KILLS = int(os.environ.get('EVERPROF_KILLS', '5'))
# One series fewer than there are: ranges are sealed all the time.
FLAGS = [
    '--storage.tsdb.wal-budget=8MB',
    '--storage.tsdb.max-series=26',
    '--storage.tsdb.retention.time=1h',
    '--clock.steady-for=0s',
]
HERE = os.path.dirname(os.path.abspath(__file__))


def import_old(d, kill):
    """Profiles of three hours ago, which the next server removes."""
    folder = os.path.join(d, f'old{kill}', 'job', 'heap')
    os.makedirs(folder)
    now = int(time.time() * 1000)
    for i in range(20):
        with open(os.path.join(folder, f'{now - 5 * 3600000 + i}.pb.gz'), 'wb') as f:
            f.write(packed(profile(f'old {kill} {i}')))
    r = run('tsdb', 'import', os.path.join(d, f'old{kill}'), f'--storage.tsdb.path={os.path.join(d, "data")}')
    assert r.returncode == 0, r


@suite.test
def listed_profiles_survive_sigkill(d):
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
        f'  static_configs: [{{targets: ["{t.address}"]}}]\n'
        for i, t in enumerate(targets)
    )
    ledger = os.path.join(d, 'ledger.jsonl')
    open(ledger, 'w').close()
    known = set()
    slowest = 0
    sealed = compacted = removed = 0
    for kill in range(KILLS):
        import_old(d, kill)
        began = time.monotonic()
        e = Everprof(d, config, FLAGS).ready()
        slowest = max(slowest, time.monotonic() - began)
        subprocess.run([sys.executable, os.path.join(HERE, 'check_ledger.py'), e.url, ledger], check=True)
        wait_until('fresh profiles', 10, lambda: e.range('{job=~".+"}', 'now-2s'))
        time.sleep(rng.uniform(0, 2.5))
        with open(ledger, 'a') as f:
            import hashlib

            for s in e.range('{job=~"t.+"}'):
                fresh = [ms for ms in s['timestamps'] if (json.dumps(s['labels']), ms) not in known]
                for ms in fresh:
                    known.add((json.dumps(s['labels']), ms))
                for ms in fresh:
                    # The bytes of some, the presence of all.
                    sha = None
                    if rng.random() < 0.2:
                        sha = hashlib.sha256(e.raw(s['labels'], ms).body).hexdigest()
                    f.write(json.dumps([s['labels'], ms, sha]) + '\n')
        sealed += e.metric('everprof_tsdb_seals_total')
        compacted += e.metric('everprof_tsdb_compactions_total')
        removed += e.metric('everprof_tsdb_time_retentions_total')
        e.stop(signal.SIGKILL)
    e = Everprof(d, config, FLAGS).ready()
    subprocess.run([sys.executable, os.path.join(HERE, 'check_ledger.py'), e.url, ledger, 'all'], check=True)
    assert e.stop() == 0
    assert run('tsdb', 'verify', e.data).returncode == 0
    assert sealed and compacted and removed, (sealed, compacted, removed)
    print(f'{sealed:.0f} seals, {compacted:.0f} compactions, {removed:.0f} removals')
    print(f'{KILLS} kills, {len(known)} profiles listed, slowest start {slowest:.2f} s')
    for t in targets:
        t.stop()


suite.main()
