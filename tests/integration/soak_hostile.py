#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostility at full size: targets that misbehave beside one good one, which misses nothing; and
clients that attack while a well-behaved one asks, which hardly notices.

MINUTES (2) of targets; ROUNDS (5) of clients, alone and attacked in turn."""
import multiprocessing
import os
import resource
import socket
import threading
import time

import hostile
from harness import Everprof, Server, Suite, heap_job, send, wait_until

MINUTES = float(os.environ.get('MINUTES', '2'))
ROUNDS = int(os.environ.get('ROUNDS', '5'))
IDLE, SLOW = 10000, 1000
FACTOR = 5  # of what a client sees alone
HEAD = b'GET /-/ready HTTP/1.1\r\nHost: localhost\r\n'
suite = Suite()


def connect(port, data):
    s = socket.create_connection(('127.0.0.1', port))
    s.sendall(data)
    s.settimeout(5)
    return s


def forever(f, *args, pause):
    while True:
        try:
            f(*args)
        except OSError:
            pass
        time.sleep(pause)


def idle(port, held):
    """One connection more that asks once and stays; the oldest of them makes room."""
    held.append(connect(port, HEAD + b'\r\n'))
    if len(held) > IDLE:
        held.pop(0).close()


def slowly(port, held):
    """A byte more on each of the connections; those that were ended come again."""
    while len(held) < SLOW:
        held.append(connect(port, b'GET /-/ready HTTP/1.1\r\nX: '))
    for i, s in enumerate(held):
        try:
            s.send(b'a')
        except OSError:
            s.close()
            held[i] = connect(port, b'GET /-/ready HTTP/1.1\r\nX: ')


def once(port, data, half_closed):
    with connect(port, data) as s:
        if half_closed:
            s.shutdown(socket.SHUT_WR)
        while s.recv(65536):
            pass


ATTACKS = (
    (HEAD + b'X: ' + b'x' * (1 << 20) + b'\r\n\r\n', False),
    (b'GET /' + b'x' * (1 << 20) + b' HTTP/1.1\r\nHost: localhost\r\n\r\n', False),
    ((HEAD + b'\r\n') * 50, True),
    (HEAD, True),
    (
        b'POST /api/v1/labels HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n' b'Content-Length: 40\r\n\r\nabcd',
        False,
    ),
    (
        b'POST /api/v1/labels HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n'
        b'Content-Length: 4\r\n\r\n0\r\n\r\n',
        False,
    ),
    (b'GET /../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n', False),
    (b'GET /%00%2e%2e%2f HTTP/1.1\r\nHost: localhost\r\n\r\n', False),
)


def attack(port, ready):
    """All of it at once, from a process of its own, which takes no CPU from the client: theirs
    would be other machines."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
    held = []
    for _ in range(IDLE):
        idle(port, held)
    for f, args, pause in [(idle, (port, held), 0.005), (slowly, (port, []), 1)] + [
        (once, (port, *a), 0.05) for a in ATTACKS
    ]:
        threading.Thread(target=forever, args=(f, *args), kwargs={'pause': pause}, daemon=True).start()
    time.sleep(2)
    ready.set()
    time.sleep(3600)


def ask(port, seconds, took):
    """As many requests as fit, each on a connection of its own, and how long each took."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        with socket.create_connection(('127.0.0.1', port)) as s:
            s.settimeout(30)
            s.sendall(b'GET /api/v1/labels HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
            answer = s.recv(65536)
        took.append(time.monotonic() - began)
        assert answer.startswith(b'HTTP/1.1 200'), answer[:100]
        time.sleep(0.002)


def p99(took):
    return sorted(took)[len(took) * 99 // 100] * 1000


@suite.test
def hostile_targets_do_not_delay_scrapes(d):
    good = Server(lambda r: send(r, hostile.PROFILE))
    bad = hostile.targets()
    e = Everprof(
        d,
        'scrape_configs:\n'
        + heap_job('good', [good.address], '1s')
        + heap_job('bad', [r.address for r in bad.values()]),
        ['--ingest.memory=128MB'],
    ).ready()
    most, end = 0, time.monotonic() + 60 * MINUTES
    while time.monotonic() < end:
        most = max(most, e.memory())
        time.sleep(0.05)
    stamps = e.range('heap{job="good"}')[0]['timestamps']
    gap = max(b - a for a, b in zip(stamps, stamps[1:]))
    print(
        f'{len(bad)} hostile targets twice a second for {MINUTES:g} min: RssAnon at most '
        f'{most:.1f} MB; {len(stamps)} profiles of the good one, {gap} ms apart at most; '
        f'{e.metric("everprof_ingest_waits_total"):.0f} bodies waited'
    )
    for t in e.targets():
        name = [n for n, r in bad.items() if r.address == t['labels']['instance']]
        assert t['health'] == ('down' if name else 'up'), t
        assert not name or t['lastError'], t
    assert len(stamps) >= 60 * MINUTES - 2 and gap < 2000
    assert most <= 64 + 128
    e.finish()


@suite.test
def attackers_do_not_block_other_clients(d):
    e = Everprof(d, 'scrape_configs: []\n').ready()
    alone, beside, most = [], [], 0
    for _ in range(ROUNDS):
        ask(e.port, 5, alone)
        ready = multiprocessing.Event()
        child = multiprocessing.Process(target=attack, args=(e.port, ready))
        child.start()
        assert ready.wait(60)
        ask(e.port, 5, beside)
        most = max(most, e.memory())
        child.kill()
        child.join()
        wait_until('calm', 60, lambda: e.get('/-/ready').status == 200)
        time.sleep(2)
    factor = p99(beside) / p99(alone)
    print(
        f'p99 {p99(alone):.2f} ms alone ({len(alone)} requests), {p99(beside):.2f} ms beside '
        f'attackers ({len(beside)}): {factor:.1f} times; RssAnon {most:.1f} MB'
    )
    e.finish()
    assert factor <= FACTOR


suite.main()
