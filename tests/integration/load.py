# SPDX-License-Identifier: Apache-2.0
"""Clients that ask for much and take it slowly, all at once, and one who asks
for little: what test_load.py does small and soak_load.py in full."""
import gzip
import http.client
import multiprocessing
import os
import random
import socket
import threading
import time
import urllib.parse

from harness import Everprof, field, run, varint

NOW = 1700000000000


def deep(locations):
    """One sample of so many locations: its stack is as deep."""
    stack = b'\x01\x02\x03' * (locations // 3)
    strings = [b'', b'samples', b'count', b'f', b'g', b'h', b'x.go']
    out = field(1, b'\x08\x01\x10\x02')
    out += field(2, field(1, stack) + field(2, b'\x01'))
    for i in (1, 2, 3):
        out += field(4, b'\x08' + varint(i) + field(4, b'\x08' + varint(i) + b'\x10\x01'))
        out += field(5, b'\x08' + varint(i) + b'\x10' + varint(i + 2) + b'\x20\x06')
    for s in strings:
        out += field(6, s)
    return out


def wide(size, seed=1):
    """A profile of about so many bytes, in stacks that differ."""
    rng = random.Random(seed)
    names = [f'pkg/some/where{i}.function{rng.getrandbits(32):x}'.encode() for i in range(2047)]
    out = [field(1, b'\x08\x01\x10\x02')]
    for i in range(1, len(names) + 1):
        out.append(field(4, b'\x08' + varint(i) + field(4, b'\x08' + varint(i) + b'\x10\x01')))
        out.append(field(5, b'\x08' + varint(i) + b'\x10' + varint(i + 3) + b'\x20\x03'))
    for s in (b'', b'samples', b'count', b'x.go', *names):
        out.append(field(6, s))
    total = 0
    low, high = (bytes(i | 0x80 for i in range(256)), bytes(i % 15 + 1 for i in range(256)))
    while total < size:
        stack = bytearray(120)  # 60 varints of two bytes: 128 to 2047
        stack[0::2] = rng.randbytes(60).translate(low)
        stack[1::2] = rng.randbytes(60).translate(high)
        out.append(field(2, field(1, bytes(stack)) + field(2, varint(rng.randrange(1, 1000)))))
        total += len(out[-1])
    return b''.join(out)


def stored(d, profiles, *flags):
    """A server on these profiles: {(job, type): [bytes]}."""
    source = os.path.join(d, 'source')
    for (job, kind), bodies in profiles.items():
        folder = os.path.join(source, job, kind)
        os.makedirs(folder)
        for i, body in enumerate(bodies):
            with open(f'{folder}/{NOW + i * 15000}.pb.gz', 'wb') as f:
                f.write(gzip.compress(body, 1))
    data = os.path.join(d, 's', 'data')
    os.makedirs(data)
    r = run('tsdb', 'import', source, f'--storage.tsdb.path={data}')
    assert r.returncode == 0, r
    return Everprof(os.path.join(d, 's'), flags=['--storage.tsdb.retention.time=0', *flags]).ready()


def path(p, **params):
    return p + '?' + urllib.parse.urlencode(params)


MERGE = {'mode': 'merge', 'from': 0, 'to': 'now'}


class Load:
    """Threads of bad clients, until they are told to end."""

    def __init__(self, port):
        self.port, self.ending, self.threads = port, False, []
        self.answers, self.wrong, self.lock = {}, [], threading.Lock()

    def start(self, count, f, *args):
        for _ in range(count):
            t = threading.Thread(target=self.again, args=(f, *args), daemon=True)
            t.start()
            self.threads.append(t)

    def again(self, f, *args):
        while not self.ending:
            try:
                f(*args)
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.05)

    def stop(self):
        self.ending = True
        end = time.monotonic() + 10
        for t in self.threads:
            t.join(timeout=max(0, end - time.monotonic()))

    def note(self, what):
        with self.lock:
            self.answers[what] = self.answers.get(what, 0) + 1

    def slow_reader(self, target):
        """Reads a byte a second of what it asked for."""
        with socket.create_connection(('127.0.0.1', self.port), timeout=5) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(f'GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
            while not self.ending and s.recv(1):
                time.sleep(1)
        self.note('slow reader closed')

    def asker(self, kind, target, check):
        """Reads all of it, and looks whether it is complete or says that it is not."""
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=120)
        try:
            c.request('GET', target)
            r = c.getresponse()
            body = r.read()
            self.note(f'{kind} {r.status}')
            said = r.status != 200 or r.headers.get('X-Everprof-Warning')
            if not said and not check(body):
                self.wrong.append((kind, r.status, str(body[:200])))
            if r.status == 429:
                time.sleep(0.5)
        finally:
            c.close()


def run_load(port, jobs, pipe):
    """In a process of its own, which would be other machines: it has what the
    server leaves of the processors."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    load = Load(port)
    for count, kind, target in jobs:
        if kind == 'reader':
            load.start(count, load.slow_reader, target)
        else:
            load.start(count, load.asker, kind, target, CHECKS[kind])
    pipe.recv()
    load.stop()
    pipe.send((load.answers, load.wrong))


CHECKS = {'merge': gzip.decompress, 'flame': lambda b: b'"status":"success"' in b}


class Attack:
    def __init__(self, port, jobs):
        self.pipe, other = multiprocessing.Pipe()
        self.child = multiprocessing.Process(target=run_load, args=(port, jobs, other))
        self.child.start()

    def stop(self):
        self.pipe.send('stop')
        self.answers, self.wrong = self.pipe.recv()
        self.child.join()


class Small:
    """Another client, at an address of its own, who asks for little."""

    def __init__(self, e, small):
        self.e, self.small, self.slowest, self.count = e, small, 0, 0

    def ask(self):
        for target in ('/-/ready', self.small):
            began = time.monotonic()
            c = http.client.HTTPConnection('127.0.0.1', self.e.port, timeout=60, source_address=('127.0.0.2', 0))
            c.request('GET', target)
            r = c.getresponse()
            body = r.read()
            c.close()
            assert r.status == 200, (target, r.status, body[:300])
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.count += 1


def attack(d, seconds, exports, merges, flames, size, locations, flags):
    """Returns the load, the other client, and the most RssAnon in MB."""
    heap = wide(size)
    e = stored(
        d,
        {
            ('big', 'heap'): [heap, heap[:-1] + b'x', heap],
            ('deep', 'cpu'): [deep(locations)],
            ('small', 'cpu'): [deep(30)] * 20,
        },
        *flags,
    )
    everything = path('/api/v1/export', query='{job=~"big|small"}', **{'from': 0, 'to': 'now'})
    merge = path('/api/v1/query', query='heap{job="big"}', aggregate='sum', **MERGE)
    flame = path('/api/v1/query', query='cpu{job="deep"}', report='flamegraph', **MERGE)
    small = Small(e, path('/api/v1/query', query='cpu{job="small"}', report='top', **MERGE))
    small.ask()
    load = Attack(e.port, [(exports, 'reader', everything), (merges, 'merge', merge), (flames, 'flame', flame)])
    peak, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        small.ask()
        peak = max(peak, e.memory())
        time.sleep(0.2)
    return e, load, small, peak


def finish(e, load):
    """SIGTERM while they go on."""
    began = time.monotonic()
    code = e.stop(seconds=60)
    took = time.monotonic() - began
    load.stop()
    assert code == 0, (code, e.text()[-2000:])
    return took
