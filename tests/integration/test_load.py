#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many who ask for much at once: memory stays within its limits, others are
answered, and what is not complete says so."""
import socket
import time

from harness import Suite, wait_until
from load import MERGE, attack, deep, finish, path, stored, wide

suite = Suite()


@suite.test
def limits_hold_under_load(d):
    limits = 96 + 16
    e, load, small, peak = attack(
        d, 8, 20, 20, 8, 1 << 20, 100000, ['--query.memory=96MB', '--ingest.memory=16MB', '--query.timeout=5s']
    )
    sanitized = e.memory('VmPeak') > 1 << 20
    finish(e, load)
    assert not load.wrong, load.wrong[:3]
    assert small.count >= 4 and load.answers, load.answers
    assert sanitized or peak < 1.5 * limits + 16, peak
    print(f'RssAnon {peak:.0f} MB, limits {limits} MB; {small.count} small ones; {load.answers}')


@suite.test
def only_slow_clients_are_disconnected(d):
    e = stored(d, {('big', 'heap'): [wide(20 << 20)]}, '--web.slow-client-rate=1MB')
    target = path('/api/v1/query', query='heap', report='raw', time=1700000000000)
    with socket.create_connection(('127.0.0.1', e.port), timeout=10) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(f'GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
        assert s.recv(15) == b'HTTP/1.1 200 OK'
        wait_until(
            'its memory is given back',
            90,
            lambda: e.get('/api/v1/query', query='heap', report='raw', time=1700000000000).status == 200
            and e.get('/metrics').body.count(b'\n')
            and closed(s),
        )


def closed(s):
    """Whether the other end has closed, though not all was read."""
    import struct

    info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)
    return struct.unpack('B', info[:1])[0] != 1  # TCP_ESTABLISHED


@suite.test
def deep_stacks_respect_the_query_timeout(d):
    e = stored(d, {('deep', 'cpu'): [deep(9000000)]}, '--query.timeout=1s', '--query.memory=2GB')
    for report in ('flamegraph', 'top', 'folded', 'traces', 'speedscope', 'dot', 'tree'):
        a = e.get('/api/v1/query', query='cpu', report=report, max_nodes=0, **MERGE)
        assert a.status in (200, 429, 503), (report, a.status, a.body[:200])
    began = time.monotonic()
    e.finish()
    print(f'stopped after {time.monotonic() - began:.1f} s')


@suite.test
def query_memory_is_released(d):
    e = stored(d, {('big', 'heap'): [wide(5 << 20)]}, '--query.memory=64MB')
    raw = path('/api/v1/query', query='heap', report='raw', time=1700000000000)
    held = []
    for _ in range(6):  # each of them has 5 MB on its way, not fifteen
        s = socket.create_connection(('127.0.0.1', e.port), timeout=10)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(f'GET {raw} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
        assert s.recv(15) == b'HTTP/1.1 200 OK', len(held)
        held.append(s)
    for s in held:
        s.close()


suite.main()
