#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Pyroscope's server takes for the profiles of a busy fleet, beside everprof
and go tool pprof: CPU time to take a profile, bytes on disk, and the CPU time of a
merge as pprof and as a flame graph. Each program gets the same files; servers are
asked in turn, warm, and the best of five counts.

usage: bench/pyroscope.py PYROSCOPE FOLDER [EVERPROF]
       PYROSCOPE: a binary of github.com/grafana/pyroscope/cmd/pyroscope
       FOLDER: of bench/busy_fleet.py"""
import glob
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from usage import arguments

# Type of everprof, name and type ID of Pyroscope, and the sample type that is asked for.
TYPES = {
    'profile': ('process_cpu', 'process_cpu:cpu:nanoseconds:cpu:nanoseconds', 'cpu'),
    'heap': ('memory', 'memory:inuse_space:bytes:space:bytes', 'inuse_space'),
    'goroutine': ('goroutines', 'goroutines:goroutine:count:goroutine:count', 'goroutine'),
}
ADDRESSES = (
    'ingester.lifecycler.addr',
    'compactor.ring.instance-addr',
    'distributor.ring.instance-addr',
    'query-scheduler.ring.instance-addr',
    'store-gateway.sharding-ring.instance-addr',
    'overrides-exporter.ring.instance-addr',
    'query-frontend.instance-addr',
)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def field(number, body):
    """A field of protocol buffers: bytes, or a number."""

    def varint(v):
        out = b''
        while v > 127:
            out, v = out + bytes([v & 127 | 128]), v >> 7
        return out + bytes([v])

    if isinstance(body, int):
        return varint(number << 3) + varint(body)
    body = body.encode() if isinstance(body, str) else body
    return varint(number << 3 | 2) + varint(len(body)) + body


class Server:
    """A program that listens, and its CPU time."""

    def __init__(self, words, url, ready, folder):
        self.url = url
        words[0] = os.path.abspath(words[0])
        self.child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                urllib.request.urlopen(url + ready).read()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f'{words[0]} does not become ready')

    def cpu(self):
        return (
            sum(
                int(open(f'/proc/{self.child.pid}/task/{t}/schedstat').read().split()[0])
                for t in os.listdir(f'/proc/{self.child.pid}/task')
            )
            / 1e6
        )

    def ask(self, path, body=None, **headers):
        return urllib.request.urlopen(urllib.request.Request(self.url + path, body, headers), timeout=300).read()

    def cost(self, ask):
        """(CPU ms, bytes of the answer) of one request"""
        size = len(ask())
        figures = []
        for _ in range(5):
            before = self.cpu()
            ask()
            time.sleep(0.2)  # a collection of garbage may follow
            figures.append(self.cpu() - before)
        return min(figures), size

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        self.child.wait()


def pyroscope(binary, d):
    http, grpc, gossip = free_port(), free_port(), free_port()
    with open(f'{d}/pyroscope.yml', 'w') as f:
        f.write(
            f'''target: all
server: {{http_listen_address: 127.0.0.1, http_listen_port: {http}, grpc_listen_address: 127.0.0.1, grpc_listen_port: {grpc}}}
pyroscopedb: {{data_path: {d}/pyroscope}}
storage: {{backend: filesystem, filesystem: {{dir: {d}/bucket}}}}
memberlist: {{bind_addr: [127.0.0.1], bind_port: {gossip}, advertise_addr: 127.0.0.1}}
self_profiling: {{disable_push: true}}
limits: {{ingestion_rate_mb: 1000, ingestion_burst_size_mb: 1000, reject_older_than: 0, max_query_lookback: 0}}
analytics: {{reporting_enabled: false}}
'''
        )
    words = [binary, f'-config.file={d}/pyroscope.yml', *(f'-{a}=127.0.0.1' for a in ADDRESSES)]
    return Server(words, f'http://127.0.0.1:{http}', '/ready', d)


def push(server, job, kind, path):
    """Push a file as the SDKs do."""
    labels = {'__name__': TYPES[kind][0], 'service_name': job, '__delta__': 'false'}
    with open(path, 'rb') as f:
        series = b''.join(field(1, field(1, k) + field(2, v)) for k, v in labels.items())
        series += field(2, field(1, f.read()))
    server.ask('/push.v1.PusherService/Push', field(1, series), **{'Content-Type': 'application/proto'})


def merged(server, kind, times, method):
    body = field(1, TYPES[kind][1]) + field(2, '{}') + field(3, times[0]) + field(4, times[-1])
    return lambda: server.ask(f'/querier.v1.QuerierService/{method}', body, **{'Content-Type': 'application/proto'})


def everprof_asked(server, kind, times, report):
    params = urllib.parse.urlencode(
        {
            'query': kind,
            'mode': 'merge',
            'from': times[0],
            'to': times[-1],
            'report': report,
            'sample_index': TYPES[kind][2],
        }
    )
    return lambda: server.ask(f'/api/v1/query?{params}')


def pprof_cost(files, d):
    """CPU seconds of go tool pprof -proto on these files, start-up subtracted"""
    pprof = sorted(glob.glob('/usr/lib/go-*/pkg/tool/*/pprof'))[0]

    def once(inputs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [pprof, '-proto', f'-output={d}/out.pb.gz', *inputs],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={'HOME': d, 'PPROF_TMPDIR': d},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once(files) for _ in range(3)) - min(once(files[:1]) for _ in range(3))


def size_of(*folders):
    """Bytes on disk, without the space that everprof reserves for the case of a full disk."""
    return sum(
        os.path.getsize(os.path.join(d, f))
        for folder in folders
        for d, _, names in os.walk(folder)
        for f in names
        if f != 'ballast'
    )


def main():
    binary, folder, *everprof = arguments(__doc__, 2, 3)
    everprof = everprof[0] if everprof else 'build/release/everprof'
    files = {kind: sorted(glob.glob(f'{folder}/*/{kind}/*.pb.gz'), key=os.path.basename) for kind in TYPES}
    count = sum(map(len, files.values()))
    gz = sum(os.path.getsize(f) for found in files.values() for f in found)
    print(f'{count} profiles, {gz / 1e6:.1f} MB as scraped')
    with tempfile.TemporaryDirectory() as d:
        theirs = pyroscope(binary, d)
        time.sleep(2)
        before, refused = theirs.cpu(), 0
        for kind, found in files.items():
            for path in found:
                try:
                    push(theirs, path.split('/')[-3], kind, path)
                except urllib.error.HTTPError as e:
                    refused += 1
                    print(path, e.code, e.read()[:200])
        print(
            f'Pyroscope takes {1000 * count / (theirs.cpu() - before):.0f} profiles in a CPU second, {refused} refused'
        )
        # What it has in memory is written when it stops.
        theirs.stop()
        print(f'Pyroscope: {size_of(f"{d}/pyroscope", f"{d}/bucket") / 1e6:.1f} MB on disk')
        theirs = pyroscope(binary, d)
        for kind, found in files.items():
            for path in found:
                job = path.split('/')[-3]
                os.makedirs(f'{d}/in/{job}/{kind}', exist_ok=True)
                shutil.copy(path, f'{d}/in/{job}/{kind}/')
        subprocess.run(
            [everprof, 'tsdb', 'import', f'{d}/in', f'--storage.tsdb.path={d}/data'],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        print(f'everprof: {size_of(f"{d}/data") / 1e6:.1f} MB on disk')
        with open(f'{d}/everprof.yml', 'w') as f:
            f.write('scrape_configs: []\n')
        port = free_port()
        ours = Server(
            [
                everprof,
                'serve',
                f'--config.file={d}/everprof.yml',
                f'--storage.tsdb.path={d}/data',
                '--storage.tsdb.retention.time=0',
                f'--web.listen-address=127.0.0.1:{port}',
            ],
            f'http://127.0.0.1:{port}',
            '/-/ready',
            d,
        )
        for kind, found in files.items():
            times = [int(os.path.basename(f).split('.')[0]) for f in found]
            times = [min(times) - 60000, max(times) + 60000]
            raw = pprof_cost(found, d)
            print(f'{kind}, {len(found)} profiles: go tool pprof -proto {1000 * raw:.0f} ms')
            for method, report in (('SelectMergeProfile', 'proto'), ('SelectMergeStacktraces', 'flamegraph')):
                a, a_size = theirs.cost(merged(theirs, kind, times, method))
                b, b_size = ours.cost(everprof_asked(ours, kind, times, report))
                print(
                    f'  {report}: Pyroscope {a:.0f} ms, {a_size} bytes; everprof {b:.1f} ms, {b_size} bytes: {a / b:.1f} times'
                )
        theirs.stop()
        ours.stop()


if __name__ == '__main__':
    main()
