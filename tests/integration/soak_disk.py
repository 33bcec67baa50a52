#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small loopback file system that fills up, while profiles are scraped,
flushed, sealed, compacted, deleted and removed for their size: no crash, what
is listed can be read, and it goes on when there is room. Needs root."""
import os
import random
import signal
import subprocess
import time

from harness import Everprof, Process, Server, Suite, packed, profile, run, send, wait_until

suite = Suite()
SECONDS = float(os.environ.get('EVERPROF_SECONDS', '60'))
FLAGS = ['--storage.tsdb.wal-budget=8MB', '--storage.tsdb.max-series=13', '--web.enable-admin-api']


def mounted(d, fn):
    image, mount = os.path.join(d, 'image'), os.path.join(d, 'mount')
    os.makedirs(mount)
    with open(image, 'wb') as f:
        f.truncate(64 << 20)
    subprocess.run(['mkfs.ext4', '-q', '-F', image], check=True)
    subprocess.run(['mount', '-o', 'loop', image, mount], check=True)
    try:
        fn(mount)
    finally:
        Process.stop_all()
        subprocess.run(['umount', '-l', mount], check=True)


def targets():
    rng = random.Random(1)

    def answer(r):
        body = profile(rng.randbytes(20000).hex(), rng.randrange(1000))
        send(r, packed(body))

    servers = [Server(answer) for _ in range(2)]
    config = 'scrape_configs:\n' + ''.join(
        f'- job_name: t{i}\n  scrape_interval: 100ms\n  profiling_config: {{pprof_config: '
        f'{{profile: {{seconds: 0}}}}}}\n'
        f'  static_configs: [{{targets: ["{t.address}"]}}]\n'
        for i, t in enumerate(servers)
    )
    return servers, config


def all_readable(e):
    """How many are listed; all of the oldest and newest, and some others, read."""
    count = 0
    for s in e.range('{job=~".+"}'):
        ms = s['timestamps']
        count += len(ms)
        for t in {ms[0], ms[-1], *random.sample(ms, min(5, len(ms)))}:
            status = e.raw(s['labels'], t).status
            # 404: removed for its size since the list was made.
            assert status in (200, 404), (s['labels'], t, status)
    return count


def stored(e):
    return e.metric('everprof_tsdb_head_samples_appended_total')


def fill(path):
    with open(path, 'wb', buffering=0) as f:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    f.write(b'x' * size)
            except OSError:
                pass


@suite.test
def retention_by_size_keeps_space_free(d):
    servers, config = targets()

    def go(mount):
        e = Everprof(mount, config, FLAGS + ['--storage.tsdb.retention.size=24MB']).ready()
        end = time.monotonic() + SECONDS
        before = 0
        while time.monotonic() < end:
            time.sleep(5)
            now = stored(e)
            assert now > before, (now, before)
            before = now
            all_readable(e)
        print(f'{before:.0f} profiles stored, ' f'{e.metric("everprof_tsdb_size_retentions_total"):.0f} removals')
        e.stop(signal.SIGKILL)
        e = Everprof(mount, config, FLAGS + ['--storage.tsdb.retention.size=24MB']).ready()
        all_readable(e)
        e.finish()
        assert run('tsdb', 'verify', e.data).returncode == 0

    mounted(d, go)
    for s in servers:
        s.stop()


@suite.test
def disk_filled_by_other_programs(d):
    servers, config = targets()
    rng = random.Random(2)

    def go(mount):
        filler = os.path.join(mount, 'filler')
        flags = FLAGS + ['--storage.tsdb.retention.size=0']
        e = Everprof(mount, config, flags).ready()
        for round in range(6):
            time.sleep(rng.uniform(0.5, 4))
            fill(filler)
            wait_until('full', 15, lambda: all(t['health'] == 'down' for t in e.targets()))
            count = all_readable(e)
            e.get(
                '/api/v1/admin/tsdb/delete_series',
                method='POST',
                data=b'',
                **{'match[]': '{__name__="allocs"}', 'to': 1},
            )
            if round % 2:
                e.stop(signal.SIGKILL)
                e = Everprof(mount, config, flags).ready()
                assert all_readable(e) >= count
            os.unlink(filler)
            wait_until('room again', 60, lambda: all(t['health'] == 'up' for t in e.targets()))
            assert all_readable(e) > count
            # It must not fill by itself: nothing is removed here.
            if round == 2:
                e.get(
                    '/api/v1/admin/tsdb/delete_series',
                    method='POST',
                    data=b'',
                    **{'match[]': '{job=~".+"}', 'to': 'now'},
                )
                e.get('/api/v1/admin/tsdb/clean_tombstones', method='POST', data=b'')
        e.finish()
        r = run('tsdb', 'verify', e.data)
        assert r.returncode == 0, r

    mounted(d, go)
    for s in servers:
        s.stop()


suite.main()
