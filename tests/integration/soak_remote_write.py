#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Remote write from a real agent to a real central instance, while both are
killed, the network fails, the receiver answers badly, and disks fill up. After
each, the central instance has exactly what the agent has acknowledged, each
profile once; write_ledger.py, a program of its own, keeps the record and compares.

EVERPROF_KILLS sets how many kills (100), EVERPROF_MB the size of the outage (500).
Needs root for network namespaces and loop devices; without it these tests fail."""
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

from bad_network import BadNetwork
from harness import BINARY, Everprof, Process, Suite, wait_until
from remote_nodes import RECEIVE, Agent, Node

suite = Suite()
KILLS = int(os.environ.get('EVERPROF_KILLS', '100'))
OUTAGE = float(os.environ.get('EVERPROF_MB', '500')) * 1e6
HERE = os.path.dirname(os.path.abspath(__file__))
LEDGER = [sys.executable, os.path.join(HERE, 'write_ledger.py')]
CHANCE = random.Random(int(os.environ.get('EVERPROF_SEED', '1')))


class WritableAgent(Agent):
    """An agent that also receives, and whose data may be elsewhere."""

    def __init__(self, d, url, data=None, wrap=(), address='127.0.0.1'):
        self.data, self.wrap, self.address = data or f'{d}/data', list(wrap), address
        super().__init__(
            d,
            f'global: {{external_labels: {{agent: a1}}}}\nremote_write:\n'
            f'- url: {url}/api/v1/write\n  name: c\n  remote_timeout: 2s\n'
            '  queue_config: {batch_send_deadline: 100ms, max_backoff: 500ms, '
            'capacity: 500, max_samples_per_send: 100, shards: 2}\n',
            address,
        )

    def start(self):
        Process.__init__(
            self,
            [
                *self.wrap,
                BINARY,
                'agent',
                f'--config.file={self.d}/everprof.yaml',
                f'--storage.agent.path={self.data}',
                *RECEIVE,
                f'--web.listen-address={self.address}:{self.port}',
            ],
            f'{self.d}/log',
        )
        wait_until('the agent', 60, self.is_ready)

    def kill(self):
        self.stop(signal.SIGKILL)

    def start_again(self):
        self.start()

    def total(self, name):
        return self.metric(f'everprof_remote_storage_{name}') or 0

    def drained(self):
        return self.total('backlog_bytes') == 0 and self.total('samples_pending') == 0


@contextlib.contextmanager
def load(d, agent, size=2000):
    """The program that keeps the record, while the block runs."""
    p = subprocess.Popen([*agent.wrap, *LEDGER, 'load', agent.url, f'{d}/ledger', str(size)])
    try:
        yield
    finally:
        p.terminate()
        assert p.wait(60) == 0


def check(d, agent, central, seconds=300):
    wait_until('the backlog is sent', seconds, agent.drained, 0.2)
    subprocess.run([*LEDGER, 'compare', f'{d}/ledger', central.data], check=True)
    assert agent.stop() == 0 and 'Sanitizer' not in agent.text()
    assert central.stop() == 0 and 'Sanitizer' not in central.text()


def kill_each(d, victims):
    """Kills at random times. Returns agent, central, and the largest count in flight."""
    c = Node(f'{d}/c')
    a = WritableAgent(f'{d}/a', c.url)
    flight = 0
    with load(d, a):
        for i in range(KILLS):
            time.sleep(CHANCE.uniform(0, 0.5))
            flight = max(flight, a.total('samples_pending'))
            for victim in [(a, c)['ac'.index(name)] for name in victims]:
                victim.kill()
            time.sleep(CHANCE.uniform(0, 0.2))
            for victim in [(a, c)['ac'.index(name)] for name in reversed(victims)]:
                victim.start_again()
    return a, c, flight


@suite.test
def the_central_instance_is_killed(d):
    a, c, _ = kill_each(d, 'c')
    check(d, a, c)


@suite.test
def the_agent_is_killed(d):
    a, c, flight = kill_each(d, 'a')
    wait_until('the backlog is sent', 120, a.drained, 0.2)
    arrived = sum(line.startswith('A') for line in open(f'{d}/ledger'))
    resent = c.metric('everprof_remote_write_samples_stored_total') - arrived
    print(f'{resent:.0f} samples were sent again after {KILLS} kills; at most {flight:.0f} were in flight')
    assert resent <= KILLS * max(flight, 1200), resent
    check(d, a, c)


@suite.test
def both_are_killed(d):
    a, c, _ = kill_each(d, 'ac')
    check(d, a, c)


@suite.test
def the_central_instance_is_down_for_long(d):
    c = Node(f'{d}/c')
    a = WritableAgent(f'{d}/a', c.url)
    with load(d, a, 60000):
        wait_until('a sample', 60, lambda: a.total('samples_total') > 0)
        c.kill()
        wait_until('half of the backlog', 600, lambda: a.total('backlog_bytes') > OUTAGE / 2, 0.5)
        a.kill()
        a.start_again()
        wait_until('the backlog', 600, lambda: a.total('backlog_bytes') > OUTAGE, 0.5)
    began, memory = time.monotonic(), 0
    size = a.total('backlog_bytes')
    c.start_again()
    while not a.drained():
        memory = max(memory, Everprof.memory(a))
        time.sleep(0.1)
        assert time.monotonic() - began < 600
    print(f'{size / 1e6:.0f} MB drained in {time.monotonic() - began:.1f} s; RssAnon at most {memory:.1f} MiB')
    assert memory < 64
    check(d, a, c)


@contextlib.contextmanager
def bad_network():
    network = BadNetwork()
    try:
        yield network
    finally:
        Process.stop_all()
        network.stop()


@suite.test
def the_network_delays_drops_and_breaks(d):
    with bad_network() as network:
        c = Node(f'{d}/c', address=network.ours)
        a = WritableAgent(f'{d}/a', c.url, wrap=network.enter(), address=network.theirs)
        with load(d, a):
            for _ in range(max(KILLS // 10, 3)):
                network.set(0.05, 0.05, 0.05)  # late, out of order, some lost
                time.sleep(CHANCE.uniform(1, 3))
                network.set(loss=1)
                time.sleep(CHANCE.uniform(1, 4))
                network.set(loss=0.3)
                time.sleep(CHANCE.uniform(1, 2))
                network.link('down')
                time.sleep(CHANCE.uniform(0.2, 1))
                network.link('up')
            network.set()
        wait_until('the agent answers', 60, a.is_ready)
        print(
            f'{network.passed} packets passed, {network.lost} were lost; '
            f'{a.total("samples_retried_total"):.0f} samples were sent again'
        )
        assert network.lost > 100 and a.total('samples_retried_total') > 0
        check(d, a, c)


class BadProxy:
    """Passes requests on to a port, or answers them badly, by chance."""

    ANSWERS = [
        b'HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n',
        b'HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n',
        b'HTTP/1.1 429 Slow down\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n',
        b'HTTP/1.1 415 No zstd\r\nContent-Length: 0\r\n\r\n',
        b'garbage\r\n\r\n',
        b'HTTP/1.1 204',
        b'',
    ]

    def __init__(self, port):
        self.to, self.bad, self.counts = port, True, {}
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.url = f'http://127.0.0.1:{self.listener.getsockname()[1]}'
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            s, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def read_request(self, s):
        data = b''
        while b'\r\n\r\n' not in data:
            data += s.recv(65536) or self.end()
        head, rest = data.split(b'\r\n\r\n', 1)
        length = int(
            next(line.split(b':')[1] for line in head.split(b'\r\n') if line.lower().startswith(b'content-length'))
        )
        if b'100-continue' in head:
            s.sendall(b'HTTP/1.1 100 Continue\r\n\r\n')
        while len(rest) < length:
            rest += s.recv(1 << 20) or self.end()
        return head, rest

    def end(self):
        raise ConnectionError

    def forward(self, head, body, cut):
        """The answer of the server; `cut`: only a part of the request is sent."""
        with socket.create_connection(('127.0.0.1', self.to), 10) as s:
            lines = [line for line in head.split(b'\r\n') if not line.lower().startswith((b'connection', b'expect'))]
            message = b'\r\n'.join(lines) + b'\r\nConnection: close\r\n\r\n' + body
            s.sendall(message[: len(message) // 2] if cut else message)
            if cut:
                self.end()
            answer = b''
            while piece := s.recv(65536):
                answer += piece
            return answer

    def serve(self, s):
        with s, contextlib.suppress(OSError, StopIteration):
            head, body = self.read_request(s)
            kind = CHANCE.choice(['pass', 'answer', 'cut', 'lose', 'never', 'slow']) if self.bad else 'pass'
            self.count(kind)
            if kind == 'answer':
                s.sendall(CHANCE.choice(self.ANSWERS))
                return
            if kind == 'never':
                time.sleep(3)
                return
            answer = self.forward(head, body, kind == 'cut')
            if kind == 'slow':
                time.sleep(1)
            if kind != 'lose':  # stored, and the sender does not learn it
                s.sendall(answer)


@suite.test
def the_receiver_answers_badly(d):
    c = Node(f'{d}/c')
    proxy = BadProxy(c.port)
    a = WritableAgent(f'{d}/a', proxy.url)
    with load(d, a):
        wait_until('enough requests', 600, lambda: sum(proxy.counts.values()) > 4 * KILLS, 0.5)
    proxy.bad = False
    print(proxy.counts, f'{a.total("samples_retried_total"):.0f} samples were sent again')
    assert len(proxy.counts) == 6, proxy.counts
    check(d, a, c)


@contextlib.contextmanager
def small_disk(d, megabytes=48):
    image, mount = f'{d}/image', f'{d}/mount'
    os.makedirs(mount)
    with open(image, 'wb') as f:
        f.truncate(megabytes << 20)
    subprocess.run(['mkfs.ext4', '-q', '-F', image], check=True)
    subprocess.run(['mount', '-o', 'loop', image, mount], check=True)
    try:
        yield mount
    finally:
        Process.stop_all()
        subprocess.run(['umount', '-l', mount], check=True)


def fill(path):
    with open(path, 'wb', buffering=0) as f, contextlib.suppress(OSError):
        while True:
            f.write(b'x' * 65536)


@suite.test
def the_disk_of_the_central_instance_is_full(d):
    with small_disk(d) as mount:
        c = Node(f'{mount}/c')
        a = WritableAgent(f'{d}/a', c.url)
        with load(d, a):
            for _ in range(3):
                time.sleep(1)
                before = a.total('samples_retried_total')
                fill(f'{mount}/filler')
                wait_until('retries', 120, lambda: a.total('samples_retried_total') > before + 100)
                os.unlink(f'{mount}/filler')
                sent = a.total('samples_total')
                wait_until('it goes on', 120, lambda: a.total('samples_total') > sent + 100)
        check(d, a, c)


@suite.test
def the_disk_of_the_agent_is_full(d):
    c = Node(f'{d}/c')
    with small_disk(d) as mount:
        a = WritableAgent(f'{d}/a', c.url, data=f'{mount}/data')
        with load(d, a):
            for _ in range(3):
                time.sleep(1)
                fill(f'{mount}/filler')
                time.sleep(3)
                os.unlink(f'{mount}/filler')
                sent = a.total('samples_total')
                wait_until('it goes on', 120, lambda: a.total('samples_total') > sent + 100)
        check(d, a, c)


suite.main()
