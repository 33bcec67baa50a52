#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a server with blocks of columns takes for merges and flame graphs:
CPU milliseconds of the server for each request, warm, beside the CPU of
go tool pprof -proto on the same files, start-up subtracted.

usage: bench/columns.py CORPUS [EVERPROF]      CORPUS: as of bench/merge.py"""
import glob
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from usage import arguments

from merge import best, cost, unpacked

HOUR = 3_600_000
START = 1_790_000_000_000 // (2 * HOUR) * 2 * HOUR
ROUNDS = 60


class Server:
    def __init__(self, everprof, data):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            port = s.getsockname()[1]
        self.url = f'http://127.0.0.1:{port}'
        config = f'{data}.yml'
        with open(config, 'w') as f:
            f.write('scrape_configs: []\n')
        self.child = subprocess.Popen(
            [
                everprof,
                'serve',
                f'--config.file={config}',
                f'--storage.tsdb.path={data}',
                '--storage.tsdb.retention.time=0',
                f'--web.listen-address=127.0.0.1:{port}',
                '--query.memory=1GB',
                '--query.timeout=5m',
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(100):
            try:
                urllib.request.urlopen(f'{self.url}/-/ready').read()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit('the server does not become ready')

    def cpu(self):
        total = 0
        for task in os.listdir(f'/proc/{self.child.pid}/task'):
            with open(f'/proc/{self.child.pid}/task/{task}/schedstat') as f:
                total += int(f.read().split()[0])
        return total / 1e6

    def memory(self):
        with open(f'/proc/{self.child.pid}/status') as f:
            return int(f.read().split('RssAnon:')[1].split()[0]) / 1024

    def measure(self, path, rounds=ROUNDS, **params):
        """(server CPU ms a request, bytes of the answer), the best of three"""
        url = f'{self.url}{path}?' + urllib.parse.urlencode(params)
        body = urllib.request.urlopen(url).read()
        figures = []
        for _ in range(3):
            before = self.cpu()
            for _ in range(rounds):
                urllib.request.urlopen(url).read()
            figures.append((self.cpu() - before) / rounds)
        return min(figures), len(body)

    def stop(self):
        self.child.terminate()
        self.child.wait()


def respaced(files, folder, windows, per_window):
    """Copies of a type's files, per_window of them in each of some windows, that
    are too far apart to be compacted into one block."""
    kind = files[0].split('/')[-2]
    job = files[0].split('/')[-3]
    os.makedirs(f'{folder}/{job}/{kind}', exist_ok=True)
    out = []
    for w in range(windows):
        for i in range(per_window):
            ms = START - (windows - 1 - w) * 40 * 24 * HOUR + i * (2 * HOUR // per_window)
            out.append(f'{folder}/{job}/{kind}/{ms}.pb.gz')
            shutil.copy(files[(w * per_window + i) % len(files)], out[-1])
    return out


def filled(everprof, folder, data):
    subprocess.run(
        [everprof, 'tsdb', 'import', folder, f'--storage.tsdb.path={data}'], check=True, stdout=subprocess.DEVNULL
    )


def main():
    corpus, *everprof = arguments(__doc__, 1, 2)
    everprof = everprof[0] if everprof else 'build/release/everprof'
    pprof = sorted(glob.glob('/usr/lib/go-*/pkg/tool/*/pprof'))[0]
    with tempfile.TemporaryDirectory() as d:
        env = unpacked(corpus, f'{d}/files', d)
        tiny = sorted(glob.glob(f'{d}/files/*/threadcreate/*'))[:1]
        idle = best([pprof, '-symbolize=none', '-proto', *tiny], env)[0]
        filled(everprof, f'{d}/files', f'{d}/data')
        merged = {'mode': 'merge', 'from': 0, 'to': 'now', 'aggregate': 'sum'}
        server = Server(everprof, f'{d}/data')
        print(f'{"merge, report=proto":28} {"files":>6} {"pprof s":>8} {"server ms":>9} {"x":>6}')
        for job, kind in (('prometheus', 'heap'), ('prometheus', 'profile'), ('etcd', 'goroutine')):
            files = sorted(glob.glob(f'{d}/files/{job}*/{kind}/*'))
            theirs = best([pprof, '-symbolize=none', '-proto', *files], env)[0] - idle
            ours, _ = server.measure('/api/v1/query', query=f'{kind}{{job=~"{job}.*"}}', report='proto', **merged)
            print(
                f'{job + " " + kind:28} {len(files):6} {theirs:8.3f} {ours:9.2f} ' f'{theirs * 1e3 / ours:6.0f}',
                flush=True,
            )
        print(f'\n{"warm, over HTTP":40} {"server ms":>9} {"bytes":>8}')
        del merged['aggregate']
        for name, query, report in (
            ('heaps of prometheus, flame graph', 'heap{job=~"prometheus.*"}', 'flamegraph'),
            ('heaps of prometheus, top', 'heap{job=~"prometheus.*"}', 'top'),
            ('all CPU profiles, flame graph', 'profile', 'flamegraph'),
            ('all heaps, flame graph', 'heap', 'flamegraph'),
        ):
            ms, size = server.measure('/api/v1/query', query=query, report=report, **merged)
            print(f'{name:40} {ms:9.2f} {size:8}', flush=True)
        ms, size = server.measure(
            '/api/v1/query_range', query='heap{job=~"prometheus.*"}', totals='true', **{'from': 0, 'to': 'now'}
        )
        print(f'{"totals of one type over the hour":40} {ms:9.2f} {size:8}')
        print(f'RssAnon of the server: {server.memory():.1f} MiB', flush=True)
        server.stop()

        files = sorted(glob.glob(f'{d}/files/prometheus*/heap/*'))
        many = respaced(files, f'{d}/many', 5, 2002)
        filled(everprof, f'{d}/many', f'{d}/data2')
        server = Server(everprof, f'{d}/data2')
        blocks = len(glob.glob(f'{d}/data2/*/meta.json'))
        before = server.memory()
        ours, _ = server.measure(
            '/api/v1/query', 3, query='heap', report='proto', mode='merge', aggregate='sum', **{'from': 0, 'to': 'now'}
        )
        theirs = cost([pprof, '-symbolize=none', '-proto', *many], env)[0] - idle
        print(
            f'\n{len(many)} heaps in {blocks} blocks: pprof {theirs:.2f} s, server '
            f'{ours:.1f} ms, {theirs * 1e3 / ours:.0f} x; RssAnon {before:.1f} and then '
            f'{server.memory():.1f} MiB'
        )
        server.stop()


main()
