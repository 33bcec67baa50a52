#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CPU time of timelines (/api/v1/query_range with a step): 100 series of 672
CPU profiles, which are 15 s apart.

usage: bench/timeline.py EVERPROF [OTHER]     two programs are asked in turn"""
import gzip
import os
import random
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from usage import arguments

BEGIN = int(time.time()) * 1000 - 86400000
SERIES, PROFILES, INTERVAL = 100, 672, 15000
REQUESTS = {
    'sums in steps of 60 s': {'step': '60s'},
    'rates in steps of 60 s, filled, by job': {'step': '60s', 'rate': 1, 'fill': '5m', 'group_by': 'job'},
    'rates in steps of 15 s, filled, by job': {'step': '15s', 'rate': 1, 'fill': '5m', 'group_by': 'job'},
    'rates in steps of 15 s': {'step': '15s', 'rate': 1},
    'rates in steps of an hour, filled': {'step': '1h', 'rate': 1, 'fill': '5m'},
}


def varint(v):
    out = b''
    while v >= 0x80:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def field(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


def profile(samples, ms):
    """A CPU profile of ten seconds with one sample, which has no stack."""
    strings = b''.join(field(6, s) for s in (b'', b'samples', b'count', b'cpu', b'nanoseconds'))
    types = field(1, b'\x08\x01\x10\x02') + field(1, b'\x08\x03\x10\x04')
    return (
        types
        + field(2, field(2, varint(samples) + varint(samples * 10000000)))
        + strings
        + b'\x48'
        + varint(ms * 1000000)
        + b'\x50'
        + varint(10000000000)
        + field(11, b'\x08\x03\x10\x04')
        + b'\x60'
        + varint(10000000)
    )


def make(folder):
    random.seed(3)
    for s in range(SERIES):
        where = f'{folder}/app{s // 10}/profile{s % 10}'
        os.makedirs(where)
        for i in range(PROFILES):
            ms = BEGIN + s * 149 + i * INTERVAL
            with open(f'{where}/{ms}.pb.gz', 'wb') as f:
                f.write(gzip.compress(profile(random.randint(1, 900), ms), 1, mtime=0))


class Server:
    def __init__(self, binary, folder, number):
        data = f'{folder}/data{number}'
        subprocess.run(
            [binary, 'tsdb', 'import', f'{folder}/profiles', f'--storage.tsdb.path={data}'],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with open(f'{folder}/empty.yaml', 'w') as f:
            f.write('scrape_configs: []\n')
        self.port = 18100 + number
        self.child = subprocess.Popen(
            [
                binary,
                'serve',
                f'--config.file={folder}/empty.yaml',
                f'--storage.tsdb.path={data}',
                f'--web.listen-address=127.0.0.1:{self.port}',
                '--web.rate-limit=0',
            ],
            stderr=subprocess.DEVNULL,
        )

    def ask(self, params):
        whole = {'query': '{job=~"app.*"}', 'from': BEGIN, 'to': BEGIN + PROFILES * INTERVAL, **params}
        urllib.request.urlopen(
            f'http://127.0.0.1:{self.port}/api/v1/query_range?{urllib.parse.urlencode(whole)}'
        ).read()

    def cost(self, params, times=20):
        """Milliseconds of CPU time for a request."""
        before = self.seconds()
        for _ in range(times):
            self.ask(params)
        return (self.seconds() - before) / times * 1000

    def seconds(self):
        with open(f'/proc/{self.child.pid}/stat') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def main():
    binaries = arguments(__doc__, 1, 2)
    with tempfile.TemporaryDirectory() as folder:
        make(f'{folder}/profiles')
        servers = [Server(binary, folder, i) for i, binary in enumerate(binaries)]
        time.sleep(3)
        for title, params in REQUESTS.items():
            costs = [[s.cost(params) for s in servers] for _ in range(7)]
            middle = [sorted(c)[len(c) // 2] for c in zip(*costs)]
            ratio = f', second ÷ first {middle[1] / middle[0]:.2f}' if len(middle) > 1 else ''
            print(f'{title}: {" and ".join(f"{m:.1f}" for m in middle)} ms{ratio}', flush=True)
        for s in servers:
            s.child.terminate()
            s.child.wait()


main()
