#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drain the backlog of an agent to a central instance, in turn with
`zstd -1 | socat` over the same bytes and the same loopback interface.

usage: bench/remote_write.py CORPUS [EVERPROF] [MB] [RUNS] [SHARDS]
       CORPUS: folders of <type>.tar, or of folders <type> as bench/busy_fleet.py makes them
       MB: size of the backlog in decompressed profiles, 1000 unless told
       SHARDS: shards of the agent, 1 unless told

The profiles of a series follow one another in time: a corpus that is smaller
than the backlog is repeated with later times. Prints, for each run, seconds and
CPU seconds of both, the bytes on the wire, and the largest RssAnon of the agent.
Needs zstd and socat."""
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from usage import arguments

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tests/integration'))
os.environ.setdefault('EVERPROF', 'build/release/everprof')
import harness  # noqa: E402
from write_client import request, snappy, write  # noqa: E402

BATCH = 8 << 20  # bytes of profiles in a request that fills the agent


def corpus_files(corpus):
    """(series, name, bytes) of every profile."""
    for path in sorted(glob.glob(f'{corpus}/*/*.tar')):
        with tarfile.open(path) as t:
            for m in t:
                if m.isfile():
                    yield path[:-4], os.path.basename(m.name), t.extractfile(m).read()
    for path in sorted(glob.glob(f'{corpus}/*/*/*')):
        yield os.path.dirname(path), os.path.basename(path), open(path, 'rb').read()


def load_rounds(corpus):
    """Profiles in rounds of scrapes: [[(labels, gzip body)]]."""
    series = {}
    for where, name, body in corpus_files(corpus):
        if re.match(r'\d+\.pb(\.gz)?$', name):
            series.setdefault(where, []).append((int(name.split('.')[0]), body))
    rounds = []
    for where, profiles in sorted(series.items()):
        program, kind = where.rstrip('/').split('/')[-2:]
        for i, (_, body) in enumerate(sorted(profiles)):
            while len(rounds) <= i:
                rounds.append([])
            rounds[i].append(({'__name__': kind, 'job': program}, body))
    return rounds


def plan(corpus, size):
    """Yields (labels, bytes, ms, bytes in gzip) until there are `size` bytes."""
    rounds, total, n = load_rounds(corpus), 0, 0
    begin = int(time.time() * 1000) - 24 * 3600 * 1000
    while True:
        for one in rounds:
            n += 1
            for labels, body in one:
                raw = gzip.decompress(body) if body[:2] == b'\x1f\x8b' else body
                yield labels, raw, begin + n * 5000, len(body)
                total += len(raw)
                if total >= size:
                    return


def cpu_seconds(p):
    fields = open(f'/proc/{p.child.pid}/stat').read().rsplit(')')[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


class Agent(harness.Everprof):
    """An agent that sends to a port, and takes what this script sends."""

    def __init__(self, d, central_port, shards=1):
        self.data, self.port = f'{d}/data', harness.free_port()
        self.url = f'http://127.0.0.1:{self.port}'
        config = f'{d}/everprof.yaml'
        os.makedirs(d, exist_ok=True)
        with open(config, 'w') as f:
            f.write(
                f'remote_write:\n- url: http://127.0.0.1:{central_port}/api/v1/write\n'
                f'  name: central\n  queue_config: {{shards: {shards}}}\n'
            )
        harness.Process.__init__(
            self,
            [
                harness.BINARY,
                'agent',
                f'--config.file={config}',
                f'--storage.agent.path={self.data}',
                f'--web.listen-address=127.0.0.1:{self.port}',
                '--web.enable-remote-write-receiver',
            ],
            f'{d}/agent.log',
        )
        self.ready()


def fill(agent, profiles, raw_file):
    """Gives the profiles to the agent, and writes their bytes to a file.
    Returns their number, their bytes, and those as they were scraped."""
    batch, waiting, count, size, zipped = [], 0, 0, 0, 0
    with open(raw_file, 'wb') as f:
        for labels, raw, ms, packed in profiles:
            f.write(raw)
            batch.append((labels, [(raw, ms)]))
            count, size, zipped, waiting = count + 1, size + len(raw), zipped + packed, waiting + len(raw)
            if waiting >= BATCH:
                assert write(agent, snappy(request(*batch))).status == 204
                batch, waiting = [], 0
    if batch:
        assert write(agent, snappy(request(*batch))).status == 204
    return count, size, zipped


def drain(filled, d, count, shards):
    """Starts both, until everything is sent. Returns the figures of the run."""
    shutil.copytree(filled, f'{d}/agent/data')
    os.sync()  # what the copy has left to write is not a part of the drain
    central = harness.Everprof(f'{d}/central', '', ['--web.enable-remote-write-receiver'])
    central.ready()
    started, before = time.monotonic(), cpu_seconds(central)
    agent = Agent(f'{d}/agent', central.port, shards)
    memory = 0
    while agent.metric('everprof_remote_storage_samples_total') != count:
        memory = max(memory, agent.memory())
        time.sleep(0.05)
    out = {
        'seconds': time.monotonic() - started,
        'agent CPU s': cpu_seconds(agent),
        'central CPU s': cpu_seconds(central) - before,
        'RssAnon MiB': memory,
        'wire MB': agent.metric('everprof_remote_storage_bytes_total') / 1e6,
    }
    agent.finish()
    central.finish()
    shutil.rmtree(f'{d}/agent')
    shutil.rmtree(f'{d}/central')
    return out


def pipe(raw_file, received):
    """zstd -1 | socat of the same bytes."""
    port = harness.free_port()
    before = os.times()
    sink = subprocess.Popen(['socat', '-u', f'TCP-LISTEN:{port},reuseaddr', f'CREATE:{received}'])
    harness.wait_until('socat', 10, lambda: any(f':{port:04X} ' in line for line in open('/proc/net/tcp')), 0.01)
    os.sync()
    started = time.monotonic()
    subprocess.run(f'zstd -1 -c -q {raw_file} | socat -u - TCP:127.0.0.1:{port}', shell=True, check=True)
    sink.wait()
    after = os.times()
    return {
        'seconds': time.monotonic() - started,
        'wire MB': os.path.getsize(received) / 1e6,
        'CPU s': after.children_user + after.children_system - before.children_user - before.children_system,
    }


def show(name, figures):
    print(f'{name:10}', ', '.join(f'{k} {v:.1f}' for k, v in figures.items()), flush=True)


def main():
    given = arguments(__doc__, 1, 5)
    corpus, harness.BINARY, size, runs, shards = given + ['build/release/everprof', '1000', '3', '1'][len(given) - 1 :]
    size = int(float(size) * 1e6)
    ratios = []
    with tempfile.TemporaryDirectory(dir=os.environ.get('TMPDIR', '/tmp')) as d:
        agent = Agent(f'{d}/fill', harness.free_port())
        count, raw, zipped = fill(agent, plan(corpus, size), f'{d}/raw')
        agent.finish()
        print(f'{count} profiles, {raw / 1e6:.0f} MB, {zipped / 1e6:.0f} MB as scraped in gzip')
        for _ in range(int(runs)):
            theirs = pipe(f'{d}/raw', f'{d}/received')
            show('zstd|socat', theirs)
            ours = drain(f'{d}/fill/data', d, count, int(shards))
            show('everprof', ours)
            ratios.append(theirs['seconds'] / ours['seconds'])
            print(
                f'{"":10} speed of everprof: {ratios[-1]:.2f} of the pipe; '
                f'{ours["wire MB"] * 1e6 / zipped:.3f} of gzip on the wire',
                flush=True,
            )


if __name__ == '__main__':
    main()
