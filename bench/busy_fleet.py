#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fill a folder with the profiles of a busy fleet, for everprof-bench storage
and the scripts beside this one.

Eleven Go programs of Debian 12 run in two instances each and are kept busy
with requests. Each instance is killed and started again once, and nats-server
is replaced by a second version in the middle, as in a deployment. Every 15 s
each instance is asked for seven types of profiles.

usage: bench/busy_fleet.py FOLDER [MINUTES]      for 20 minutes unless told

The profiles are written to FOLDER/<program>-<instance>/<type>/<unix ms>.pb.gz.
The programs are downloaded with apt-get and unpacked into FOLDER.programs,
without installing them, and work there; the second version is built from the Go module proxy.
Needs apt-get, dpkg and Debian's go. It takes 1 GB of memory and two cores."""
import base64
import http.client
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

from usage import arguments

PACKAGES = (
    'prometheus etcd-server prometheus-node-exporter mtail '
    'prometheus-pushgateway prometheus-blackbox-exporter caddy victoria-metrics '
    'influxdb nats-server'
).split()
SECOND_NATS = 'github.com/nats-io/nats-server/v2@v2.9.25'
INSTANCES = 2
INTERVAL = 15
TYPES = {
    'heap': 'heap',
    'allocs': 'allocs',
    'goroutine': 'goroutine',
    'block': 'block',
    'mutex': 'mutex',
    'threadcreate': 'threadcreate',
    'profile': 'profile?seconds=10',
}

FAILURES = (OSError, http.client.HTTPException)  # of what is being restarted

stopping = threading.Event()
errors = {}


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def request(url, body=None, method=None, timeout=10, **headers):
    r = urllib.request.Request(url, body, headers, method=method)
    with urllib.request.urlopen(r, timeout=timeout) as answer:
        return answer.read()


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)
    return path


class Instance:
    """One running copy of a program. Subclasses say how it is started and
    what keeps it busy."""

    binary = ''
    pause = 0.02  # seconds between requests of the load

    def __init__(self, programs, folder, number):
        self.name = f'{type(self).__name__.lower()}-{number}'
        self.programs = programs
        self.folder = folder
        self.home = os.path.join(programs, 'homes', self.name)
        self.port = free_port()
        self.pprof = self.port
        self.child = None
        os.makedirs(self.home, exist_ok=True)

    @property
    def url(self):
        return f'http://127.0.0.1:{self.port}'

    def command(self):
        return [os.path.join(self.programs, self.binary), *self.flags()]

    def start(self):
        with open(os.path.join(self.home, 'log'), 'ab') as log:
            self.child = subprocess.Popen(
                self.command(), stdout=log, stderr=log, cwd=self.home, env={**os.environ, 'HOME': self.home}
            )

    def stop(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def restart(self):
        self.stop()
        self.start()

    def keep_busy(self):
        for n in itertools.count():
            if stopping.wait(self.pause):
                return
            try:
                self.work(n)
            except FAILURES:
                stopping.wait(0.5)  # it is starting

    def profile(self, kind):
        path = TYPES[kind]
        body = request(f'http://127.0.0.1:{self.pprof}/debug/pprof/{path}', timeout=40)
        to = os.path.join(self.folder, self.name, kind)
        os.makedirs(to, exist_ok=True)
        with open(os.path.join(to, f'{time.time_ns() // 1000000}.pb.gz'), 'wb') as f:
            f.write(body)

    def collect(self, kind):
        """Ask for one type until the end, at a moment of its own."""
        due = time.monotonic() + random.random() * INTERVAL
        while not stopping.wait(max(0, due - time.monotonic())):
            due += INTERVAL
            try:
                self.profile(kind)
            except FAILURES as e:
                errors[self.name] = errors.get(self.name, 0) + 1
                write(os.path.join(self.home, f'error-{kind}'), str(e))


class Prometheus(Instance):
    binary = 'usr/bin/prometheus'
    pause = 0.2
    targets = []

    def flags(self):
        targets = json.dumps([f'127.0.0.1:{p}' for p in self.targets])
        config = write(
            f'{self.home}/prometheus.yml',
            'global: {scrape_interval: 2s}\n'
            f'scrape_configs: [{{job_name: all, static_configs: [{{targets: {targets}}}]}}]\n',
        )
        return [
            f'--config.file={config}',
            f'--storage.tsdb.path={self.home}/data',
            f'--web.listen-address=127.0.0.1:{self.port}',
        ]

    def work(self, n):
        query = (
            'rate(process_cpu_seconds_total[1m])',
            'sum by (instance) (go_goroutines)',
            'histogram_quantile(0.9,rate(go_gc_duration_seconds[1m]))',
            'count({__name__=~".%2B"}) by (__name__)',
        )[n % 4]
        now = int(time.time())
        request(
            f'{self.url}/api/v1/query_range?query={query.replace(" ", "%20")}' f'&start={now - 600}&end={now}&step=15'
        )


class Etcd(Instance):
    binary = 'usr/bin/etcd'

    def flags(self):
        peer = f'http://127.0.0.1:{free_port()}'
        return [
            '--enable-pprof',
            f'--data-dir={self.home}/data',
            f'--listen-client-urls={self.url}',
            f'--advertise-client-urls={self.url}',
            f'--listen-peer-urls={peer}',
            f'--initial-advertise-peer-urls={peer}',
            f'--initial-cluster=default={peer}',
            '--unsafe-no-fsync',
        ]

    def start(self):
        subprocess.run(['rm', '-rf', f'{self.home}/data'], check=True)  # its peer URL changes
        super().start()

    def work(self, n):
        key = base64.b64encode(b'key %d' % random.randrange(5000)).decode()
        if n % 3:
            request(f'{self.url}/v3/kv/range', json.dumps({'key': key}).encode())
        else:
            value = base64.b64encode(os.urandom(random.randrange(2000))).decode()
            request(f'{self.url}/v3/kv/put', json.dumps({'key': key, 'value': value}).encode())


class NodeExporter(Instance):
    binary = 'usr/bin/prometheus-node-exporter'
    pause = 0.3

    def flags(self):
        return [f'--web.listen-address=127.0.0.1:{self.port}']

    def work(self, n):
        request(f'{self.url}/metrics')


class Mtail(Instance):
    binary = 'usr/bin/mtail'

    def flags(self):
        os.makedirs(f'{self.home}/programs', exist_ok=True)
        write(
            f'{self.home}/programs/web.mtail',
            'counter requests by method, code\ncounter bytes by path\n'
            '/^(?P<method>\\w+) (?P<path>\\S+) (?P<code>\\d+) (?P<size>\\d+)$/ {\n'
            '  requests[$method][$code]++\n  bytes[$path] += $size\n}\n',
        )
        write(f'{self.home}/web.log', '')
        return [
            '--progs',
            f'{self.home}/programs',
            '--logs',
            f'{self.home}/web.log',
            '--address',
            '127.0.0.1',
            '--port',
            str(self.port),
        ]

    def work(self, n):
        with open(f'{self.home}/web.log', 'a') as f:
            for _ in range(50):
                f.write(
                    f'{random.choice(("GET", "POST"))} /p{random.randrange(300)} '
                    f'{random.choice((200, 404, 500))} {random.randrange(9999)}\n'
                )
        if n % 50 == 0:
            request(f'{self.url}/metrics')


class Pushgateway(Instance):
    binary = 'usr/bin/prometheus-pushgateway'

    def flags(self):
        return [f'--web.listen-address=127.0.0.1:{self.port}']

    def work(self, n):
        text = ''.join(f'm{i}{{x="{i % 7}"}} {random.random()}\n' for i in range(40))
        request(f'{self.url}/metrics/job/j{random.randrange(60)}', text.encode(), 'PUT')
        if n % 50 == 0:
            request(f'{self.url}/metrics')


class Blackbox(Instance):
    binary = 'usr/bin/prometheus-blackbox-exporter'
    pause = 0.05

    def flags(self):
        config = write(f'{self.home}/config.yml', 'modules: {http: {prober: http, timeout: 5s}}\n')
        return [f'--config.file={config}', f'--web.listen-address=127.0.0.1:{self.port}']

    def work(self, n):
        request(f'{self.url}/probe?module=http&target=127.0.0.1:{random.choice(Prometheus.targets)}/metrics')


class Caddy(Instance):
    binary = 'usr/bin/caddy'

    def flags(self):
        self.pprof = free_port()
        for i in range(50):
            write(f'{self.home}/{i}.html', f'<p>{i}</p>' * random.randrange(3000))
        site = {
            'listen': [f'127.0.0.1:{self.port}'],
            'automatic_https': {'disable': True},
            'routes': [
                {
                    'handle': [
                        {'handler': 'encode', 'encodings': {'gzip': {}}},
                        {'handler': 'file_server', 'root': self.home, 'browse': {}},
                    ]
                }
            ],
        }
        config = write(
            f'{self.home}/config.json',
            json.dumps({'admin': {'listen': f'127.0.0.1:{self.pprof}'}, 'apps': {'http': {'servers': {'s': site}}}}),
        )
        return ['run', '--config', config]

    def work(self, n):
        page = f'{random.randrange(50)}.html' if n % 10 else ''
        request(f'{self.url}/{page}', **{'Accept-Encoding': 'gzip'})


class VictoriaMetrics(Instance):
    binary = 'usr/bin/victoria-metrics'
    pause = 0.05

    def flags(self):
        return [
            f'-storageDataPath={self.home}/data',
            f'-httpListenAddr=127.0.0.1:{self.port}',
            '-memory.allowedBytes=128MB',
        ]

    def work(self, n):
        text = ''.join(f'v{i}{{host="h{random.randrange(50)}"}} {random.random()}\n' for i in range(50))
        request(f'{self.url}/api/v1/import/prometheus', text.encode())
        if n % 5 == 0:
            request(f'{self.url}/api/v1/query_range?query=sum(v{n % 50})by(host)&start=-10m&step=15s')


class VMAgent(Instance):
    binary = 'usr/bin/vmagent'
    pause = 1
    remote = 0

    def flags(self):
        targets = json.dumps([f'127.0.0.1:{p}' for p in Prometheus.targets])
        config = write(
            f'{self.home}/scrape.yml',
            'global: {scrape_interval: 3s}\n'
            f'scrape_configs: [{{job_name: all, static_configs: [{{targets: {targets}}}]}}]\n',
        )
        return [
            f'-promscrape.config={config}',
            f'-remoteWrite.tmpDataPath={self.home}/data',
            f'-remoteWrite.url=http://127.0.0.1:{self.remote}/api/v1/write',
            f'-httpListenAddr=127.0.0.1:{self.port}',
        ]

    def work(self, n):
        request(f'{self.url}/metrics')


class InfluxDB(Instance):
    binary = 'usr/bin/influxd'
    pause = 0.05

    def flags(self):
        config = write(
            f'{self.home}/influx.conf',
            'reporting-disabled = true\n'
            f'bind-address = "127.0.0.1:{free_port()}"\n'
            f'[meta]\ndir = "{self.home}/meta"\n'
            f'[data]\ndir = "{self.home}/data"\nwal-dir = "{self.home}/wal"\n'
            f'[http]\nbind-address = "127.0.0.1:{self.port}"\nlog-enabled = false\n',
        )
        return ['-config', config]

    def work(self, n):
        if n % 100 == 0:
            request(f'{self.url}/query?q=CREATE+DATABASE+d', b'')
        lines = '\n'.join(f'cpu,host=h{random.randrange(50)} value={random.random()}' for _ in range(40))
        request(f'{self.url}/write?db=d', lines.encode())
        if n % 5 == 0:
            request(f'{self.url}/query?db=d&q=SELECT+mean(value)+FROM+cpu+GROUP+BY+host')


class Nats(Instance):
    binary = 'usr/sbin/nats-server'
    pause = 0.02

    def flags(self):
        self.pprof = self.pprof if self.pprof != self.port else free_port()
        return ['-a', '127.0.0.1', '-p', str(self.port), '-js', '-sd', f'{self.home}/data', '-profile', str(self.pprof)]

    def upgrade(self):
        """The second version takes over, as in a deployment."""
        self.binary = 'second/nats-server'
        self.restart()

    def work(self, n):
        with socket.create_connection(('127.0.0.1', self.port), timeout=5) as s:
            s.sendall(b'CONNECT {"verbose":false}\r\nSUB work.* 1\r\n')
            for _ in range(200):
                body = os.urandom(random.randrange(400))
                s.sendall(b'PUB work.%d %d\r\n%s\r\n' % (random.randrange(9), len(body), body))
            s.sendall(b'PING\r\n')
            answer = b''
            while b'PONG' not in answer:
                piece = s.recv(65536)
                if not piece:
                    raise ConnectionError('the connection was closed')
                answer = answer[-3:] + piece


PROGRAMS = (
    NodeExporter,
    Etcd,
    Mtail,
    Pushgateway,
    Caddy,
    VictoriaMetrics,
    InfluxDB,
    Nats,
    VMAgent,
    Blackbox,
    Prometheus,
)


def fetch_programs(folder):
    os.makedirs(f'{folder}/second', exist_ok=True)
    subprocess.run(['apt-get', 'download', '-q', *PACKAGES], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    for name in os.listdir(folder):
        if name.endswith('.deb'):
            subprocess.run(['dpkg', '-x', name, '.'], cwd=folder, check=True)
    go = '/usr/lib/go-1.19/bin/go'
    subprocess.run(
        [go if os.path.exists(go) else 'go', 'install', SECOND_NATS],
        check=True,
        env={**os.environ, 'GOBIN': f'{folder}/second', 'GOFLAGS': '-modcacherw', 'GOTOOLCHAIN': 'local'},
    )


def plan(instances, seconds):
    """[(when, what)]: a restart of each instance, and the second version."""
    events = [(random.uniform(0.15, 0.85) * seconds, i.restart) for i in instances]
    events += [(seconds / 2, i.upgrade) for i in instances if isinstance(i, Nats)]
    return sorted(events, key=lambda e: e[0])


def main(folder, minutes):
    folder = os.path.abspath(folder)
    programs = f'{folder}.programs'
    print('fetching the programs', flush=True)
    fetch_programs(programs)
    instances = [kind(programs, folder, n) for kind in PROGRAMS for n in range(INSTANCES)]
    Prometheus.targets = [
        i.port for i in instances if isinstance(i, (NodeExporter, Pushgateway, Mtail, Etcd, InfluxDB))
    ]
    VMAgent.remote = next(i.port for i in instances if isinstance(i, VictoriaMetrics))
    try:
        run(instances, minutes)
    finally:
        stopping.set()
        for i in instances:
            if i.child:
                i.stop()
    files = [os.path.join(d, f) for d, _, names in os.walk(folder) for f in names]
    size = sum(os.path.getsize(f) for f in files)
    print(f'{len(files)} profiles, {size / 1e6:.1f} MB; ' f'{sum(errors.values())} requests failed: {errors or "none"}')


def run(instances, minutes):
    for i in instances:
        i.start()
    time.sleep(5)
    threads = [threading.Thread(target=i.keep_busy, daemon=True) for i in instances]
    threads += [threading.Thread(target=i.collect, args=(t,), daemon=True) for i in instances for t in TYPES]
    for t in threads:
        t.start()
    print(f'{len(instances)} instances of {len(PROGRAMS)} programs run for {minutes:g} minutes', flush=True)
    start = time.monotonic()
    for when, what in plan(instances, minutes * 60):
        time.sleep(max(0, start + when - time.monotonic()))
        what()
    time.sleep(max(0, start + minutes * 60 - time.monotonic()))
    stopping.set()
    for t in threads:
        t.join(60)


if __name__ == '__main__':
    folder, *minutes = arguments(__doc__, 1, 2)
    main(folder, float(minutes[0]) if minutes else 20)
