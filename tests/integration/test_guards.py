#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that are not friendly: framing, slowness, numbers; and one that is."""
import re
import resource
import socket
import time

from harness import SLOW, Everprof, Suite, wait_until

suite = Suite()
CONFIG = 'scrape_configs: []\n'
LINE, HOST, CLOSE = b'GET /-/ready HTTP/1.1\r\n', b'Host: localhost\r\n', b'Connection: close\r\n'


def answers(e, data, wait=10):
    """Statuses of all answers until the connection ends, and whether it did."""
    with socket.create_connection(('127.0.0.1', e.port)) as s:
        s.settimeout(wait * SLOW)
        out, closed = b'', True
        try:
            s.sendall(data)
            while True:
                piece = s.recv(65536)
                if not piece:
                    break
                out += piece
        except TimeoutError:
            closed = False
        except OSError:
            pass
    return [int(status) for status in re.findall(rb'HTTP/1\.1 (\d{3}) ', out)], closed


POST = b'POST /api/v1/labels HTTP/1.1\r\n' + HOST


def form(body, kind=b''):
    return POST + CLOSE + kind + b'Content-Length: %d\r\n\r\n' % len(body) + body


SMUGGLED = b'GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n'
CASES = {
    'plain': (LINE + HOST + CLOSE + b'\r\n', [200]),
    'HTTP 1.0': (b'GET /-/ready HTTP/1.0\r\n\r\n', [200]),
    'empty lines first': (b'\r\n\r\n' + LINE + HOST + CLOSE + b'\r\n', [200]),
    'spaces around a value': (LINE + HOST + b'X:   a  \r\n' + CLOSE + b'\r\n', [200]),
    'no value': (LINE + HOST + b'X:\r\n' + CLOSE + b'\r\n', [200]),
    'a tab in a value': (LINE + HOST + b'X: a\tb\r\n' + CLOSE + b'\r\n', [200]),
    'LF alone everywhere': (LINE.replace(b'\r', b'') + b'Host: localhost\n\n' + SMUGGLED, [400]),
    'LF alone in the first line': (LINE.replace(b'\r', b'') + HOST + b'\r\n' + SMUGGLED, [400]),
    'LF alone in a header': (LINE + b'Host: localhost\nX: y\r\n\r\n' + SMUGGLED, [400]),
    'LF alone, and the end': (LINE + HOST + b'X: y\n\n' + SMUGGLED, [400]),
    'LF alone at the end': (LINE + HOST + b'X: y\r\n\n' + SMUGGLED, [400]),
    'LF alone before the end': (LINE + HOST + b'X: y\n\r\n' + SMUGGLED, [400]),
    'LF alone, the rest later': (LINE + HOST + b'X: y\n\n', [400]),
    'CR alone': (LINE + HOST + b'X: a\rY: b\r\n\r\n' + SMUGGLED, [400]),
    'a folded header': (LINE + HOST + b'X: a\r\n b\r\n\r\n' + SMUGGLED, [400]),
    'a folded length': (POST + b'Content-Length:\r\n 4\r\n\r\nabcd' + SMUGGLED, [400]),
    'a space before the colon': (LINE + HOST + b'X : y\r\n\r\n' + SMUGGLED, [400]),
    'a space before a length': (POST + b'Content-Length : 4\r\n\r\nabcd' + SMUGGLED, [400]),
    'two hosts': (LINE + HOST + HOST + b'\r\n' + SMUGGLED, [400]),
    'no host': (LINE + b'\r\n' + SMUGGLED, [400]),
    'two lengths': (POST + b'Content-Length: 4\r\nContent-Length: 40\r\n\r\nabcd' + SMUGGLED, [400]),
    'one length twice': (POST + b'Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd' + SMUGGLED, [400]),
    'a list of lengths': (POST + b'Content-Length: 4, 4\r\n\r\nabcd' + SMUGGLED, [400]),
    'a length with a sign': (POST + b'Content-Length: +4\r\n\r\nabcd' + SMUGGLED, [400]),
    'a huge length': (POST + b'Content-Length: 99999999999999999999\r\n\r\nabcd', [413]),
    'length and chunks': (
        POST + b'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n' b'0\r\n\r\n' + SMUGGLED,
        [400],
    ),
    'chunks and length': (
        POST + b'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n' b'0\r\n\r\n' + SMUGGLED,
        [400],
    ),
    'chunks': (POST + b'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n' + SMUGGLED, [400]),
    'chunks of another kind': (POST + b'Transfer-Encoding: xchunked\r\n\r\n' + SMUGGLED, [400]),
    'a NUL in a header': (LINE + HOST + b'X: a\0b\r\n\r\n' + SMUGGLED, [400]),
    'a NUL in the path': (b'GET /-/ready%00x HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [400]),
    'a NUL in a parameter': (b'GET /api/v1/labels?a=%00 HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [400]),
    'a bare NUL in the path': (b'GET /-/ready\0x HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [400]),
    'a bare NUL in a parameter': (b'GET /api/v1/labels?a=\0 HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [400]),
    'a percent sign': (b'GET /-/ready?a=%2500 HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [200]),
    'a broken escape': (b'GET /api/v1/labels?a=%zz HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [400]),
    'a broken escape in the path': (b'GET /-/ready%1 HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [400]),
    'a form': (form(b'start=0&x=%2500%25'), [200]),
    'a NUL in a form': (form(b'start=0&x=%00'), [400]),
    'a bare NUL in a form': (form(b'start=0&x=\0'), [400]),
    'a broken escape in a form': (form(b'start=0&st%zzart=1'), [400]),
    'a form of a known type': (
        form(b'start=0', b'Content-Type: Application/X-WWW-Form-URLencoded; ' b'charset=utf-8\r\n'),
        [200],
    ),
    'a body of another type': (form(b'{}', b'Content-Type: application/json\r\n'), [400]),
    'another type, but no body': (form(b'', b'Content-Type: application/json\r\n'), [200]),
    'a path upwards': (b'GET /-/../-/ready HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [404]),
    'a path to the disk': (b'GET /../../../etc/passwd HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [404]),
    'the same, encoded': (b'GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [404]),
    'an absolute target': (b'GET http://x/-/ready HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [404]),
    'a megabyte of header': (LINE + HOST + b'X: ' + b'a' * (1 << 20) + b'\r\n\r\n', [431]),
    'a megabyte of headers': (LINE + HOST + b'X: ab\r\n' * 150000 + b'\r\n', [431]),
    'a megabyte of path': (b'GET /' + b'a' * (1 << 20) + b' HTTP/1.1\r\n' + HOST + b'\r\n', [414]),
    'no HTTP': (b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + b'\0' * 60 + b'\r\n\r\n', []),
    'a method of its own': (b'BREW /-/ready HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n', [405]),
    'three in a row': (2 * (LINE + HOST + b'\r\n') + LINE + HOST + CLOSE + b'\r\n', [200, 200, 200]),
    'two in a row, the second odd': (
        LINE + HOST + b'\r\n' + LINE + b'Host: localhost\nX: y\r\n\r\n' + SMUGGLED,
        [200, 400],
    ),
}


# Bodies in chunks, as they should be, and as proxies and servers have read them differently.
INGEST = b'POST /ingest?name=a&format=pprof HTTP/1.1\r\n' + HOST
CHUNKS = (
    b'5\r\nhello\r\n0\r\n\r\n',
    b'5;a=b\r\nhello\r\n0\r\nHost: x\r\n\r\n',
    b'0\r\n\r\n',
    b'5\nhello\n0\n\n',
    b'5\r\nhello\r\n0\r\nX: y\n\n',
    b'5;\nxx\r\n4c\r\n0\r\n\r\n',
    b'05 \r\nhello\r\n00\r\n\r\n',
    b' 5\r\nhello\r\n0\r\n\r\n',
    b'+5\r\nhello\r\n0\r\n\r\n',
    b'-1\r\nhello\r\n0\r\n\r\n',
    b'0x5\r\nhello\r\n0\r\n\r\n',
    b'5\r\nhelloX\r\n0\r\n\r\n',
    b'5\r\nhello0\r\n\r\n',
    b'10000000000000005\r\nhello\r\n0\r\n\r\n',
    b'\r\n\r\n',
    b'5' + b';a' * 20000 + b'\r\nhello\r\n0\r\n\r\n',
    b'5\r\nhello\r\n0\r\n' + b'X: y\r\n' * 20000 + b'\r\n',
)


# Of these, libmicrohttpd 1.0 closes the connection without an answer.
CLOSED_BY_1_0 = ('empty lines first', 'a bare NUL in the path', 'a bare NUL in a parameter')


@suite.test
def nothing_behind_a_chunked_body_is_a_request(d):
    """Only the paths that take profiles accept such bodies; the answer ends the connection."""
    e = Everprof(d, CONFIG, flags=['--web.enable-push-receiver']).ready()
    for chunks in CHUNKS:
        got, closed = answers(e, INGEST + b'Transfer-Encoding: chunked\r\n\r\n' + chunks + SMUGGLED)
        # Some heads of its own refusals libmicrohttpd sends twice, and closes.
        assert closed and len(set(got)) <= 1 and 200 not in got, (chunks[:50], got, closed)
    assert answers(e, INGEST + b'Transfer-Encoding: chunked\r\n\r\n' + CHUNKS[0])[0] == [422]
    for odd in (b'chunked\r\nTransfer-Encoding: chunked', b'gzip, chunked', b'chunked\r\nContent-Length: 5'):
        got, closed = answers(e, INGEST + b'Transfer-Encoding: ' + odd + b'\r\n\r\n' + CHUNKS[0] + SMUGGLED)
        assert closed and set(got) == {400}, (odd, got, closed)
    assert e.get('/-/healthy').status == 200
    e.finish()


@suite.test
def request_smuggling_is_refused(d):
    e = Everprof(d, CONFIG).ready()
    for name, (data, want) in CASES.items():
        got, closed = answers(e, data)
        if name in CLOSED_BY_1_0 and not got:
            assert closed, name
        elif name == 'no HTTP':
            assert closed and got in ([], [400]), (name, got, closed)
        elif want[0] in (413, 414, 431):
            assert closed and set(got) <= set(want), (name, got, closed)
        else:
            # Some heads of its own refusals libmicrohttpd sends twice, and closes.
            assert got[: len(want)] == want and set(got) == set(want) and closed, (name, got, closed)
    # A body that stops, and a client that says no more but listens.
    assert answers(e, POST + b'Content-Length: 10\r\n\r\nabc', 1)[0] == []
    with socket.create_connection(('127.0.0.1', e.port)) as s:
        s.sendall(LINE + HOST + CLOSE + b'\r\n')
        s.shutdown(socket.SHUT_WR)
        s.settimeout(10)
        assert s.recv(100).startswith(b'HTTP/1.1 200')


@suite.test
def malformed_requests_leak_no_memory(d):
    """libmicrohttpd forgets to tell the end of what it refuses twice."""
    e = Everprof(d, CONFIG).ready()
    kinds = (
        LINE + HOST + b'Content-Length: x\r\nCookie: ' + b'a=b;' * 5000 + b'\r\n\r\n',
        b'GET /-/ready?' + b'a&' * 1000 + b' HTTP/1.1\r\n' + HOST + b'\r\n',
    )
    for data in kinds:
        assert answers(e, data)[1], data[:30]
    before = e.memory()
    for _ in range(3000):
        for data in kinds:
            answers(e, data)
    assert SLOW != 1 or e.memory() < before + 2, (before, e.memory())
    e.finish()


@suite.test
def url_parameters_are_limited(d):
    e = Everprof(d, CONFIG).ready()

    def get(n):
        return answers(e, b'GET /-/ready?' + b'&'.join([b'a=b'] * n) + b' HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n')

    assert get(450) == ([200], True)
    began = time.monotonic()
    assert [get(n) for n in (451, 480, 490, 500, 1000, 5000)] == [([], True)] * 6
    assert time.monotonic() - began < 5 * SLOW, 'at once'
    e.finish()


def ask(e, n):
    """Seconds of n requests, each on a connection of its own, sorted."""
    took = []
    for _ in range(n):
        began = time.monotonic()
        assert answers(e, LINE + HOST + CLOSE + b'\r\n')[0] == [200]
        took.append(time.monotonic() - began)
    return sorted(took)


def many(n):
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(20000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    return n


@suite.test
def slowloris_requests_are_ended(d):
    e = Everprof(d, CONFIG, ['--web.read-timeout=2s', '--web.max-connections=1200']).ready()
    slow = []
    for _ in range(many(1000)):
        s = socket.create_connection(('127.0.0.1', e.port))
        s.sendall(b'GET /-/ready HTTP/1.1\r\nX: ')
        slow.append(s)
    for _ in range(10):
        for s in slow:
            try:
                s.send(b'a')
            except OSError:
                pass
        assert answers(e, LINE + HOST + CLOSE + b'\r\n')[0] == [200]
        time.sleep(0.4)

    def over():
        ended = 0
        for s in slow:
            s.settimeout(0)
            try:
                ended += s.recv(10) == b''
            except BlockingIOError:
                pass
            except OSError:
                ended += 1
        return ended == len(slow)

    wait_until('all of them ended', 20, over, 0.5)
    for s in slow:
        s.close()


@suite.test
def idle_connections_are_closed_for_new_ones(d):
    e = Everprof(d, CONFIG, ['--web.max-connections=50']).ready()
    idle = []
    for _ in range(300):
        s = socket.create_connection(('127.0.0.1', e.port))
        s.sendall(LINE + HOST + b'\r\n')
        s.settimeout(10 * SLOW)
        assert s.recv(1000).startswith(b'HTTP/1.1 200')
        idle.append(s)
    # The first are gone, the last are there.
    for s in idle[:240]:
        try:
            assert s.recv(10) == b''
        except ConnectionError:
            pass
    s = idle[-1]
    s.sendall(LINE + HOST + b'\r\n')
    assert s.recv(1000).startswith(b'HTTP/1.1 200')
    for s in idle:
        s.close()


@suite.test
def requests_per_client_are_rate_limited(d):
    e = Everprof(d, CONFIG, ['--web.rate-limit=20']).ready()
    statuses = [answers(e, LINE + HOST + CLOSE + b'\r\n')[0][0] for _ in range(100)]
    assert statuses.count(200) >= 20 and statuses.count(429) >= 20, statuses
    wait_until('it goes on', 10, lambda: answers(e, LINE + HOST + CLOSE + b'\r\n')[0] == [200], 0.2)


@suite.test
def unfinished_bodies_hold_no_memory(d):
    e = Everprof(d, CONFIG).ready()
    before, held = e.memory(), []
    for _ in range(200):
        s = socket.create_connection(('127.0.0.1', e.port))
        s.sendall(POST + b'Content-Length: 1000000\r\n\r\n' + b'a' * 999990)
        held.append(s)
    large = POST + CLOSE + b'Content-Length: 200000\r\n\r\na=' + b'b' * 199998
    wait_until('no room', 30, lambda: answers(e, large)[0] == [429])
    if SLOW == 1:
        assert e.memory() - before < 100, e.memory()
    for s in held:
        s.close()
    wait_until('room again', 30, lambda: answers(e, large)[0] == [200])


@suite.test
def responses_in_progress_finish_before_shutdown(d):
    addresses = ', '.join(f'"127.0.0.1:{p}"' for p in range(10000, 13000))
    e = Everprof(
        d,
        'scrape_configs:\n- job_name: many\n  scrape_interval: 1d\n' f'  static_configs:\n  - targets: [{addresses}]\n',
    ).ready()

    def request():
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(30 * SLOW)
        s.connect(('127.0.0.1', e.port))
        s.sendall(b'GET /api/v1/targets HTTP/1.1\r\n' + HOST + CLOSE + b'\r\n')
        return s, s.recv(1000)

    reader, begin = request()
    stuck, _ = request()
    began = time.monotonic()
    e.child.terminate()
    wait_until('stopping', 10, lambda: 'msg="shutting down"' in e.text())
    pieces = [begin]
    while pieces[-1]:
        pieces.append(reader.recv(65536))
    answer = b''.join(pieces)
    head, _, body = answer.partition(b'\r\n\r\n')
    length = int(head.lower().partition(b'content-length:')[2].split()[0])
    assert length == len(body) > 4 << 20, (length, len(body), head)
    # Who takes nothing of his answer keeps it waiting, but not for long.
    e.finish()
    assert 5 < time.monotonic() - began < 30 * SLOW
    stuck.close()


def status_for(e, host, headers=b''):
    ask = b'GET /api/v1/labels HTTP/1.1\r\nHost: %s\r\n%s' % (host, headers) + CLOSE + b'\r\n'
    return answers(e, ask)[0]


@suite.test
def dns_rebinding_is_refused(d):
    e = Everprof(d, CONFIG).ready()
    for host in (
        b'localhost',
        b'LOCALHOST:%d' % e.port,
        b'127.0.0.1',
        b'127.0.0.1:80',
        b'[::1]:%d' % e.port,
        b'10.0.0.7',
        b'localhost.',
    ):
        assert status_for(e, host) == [200], host
    for host in (
        b'evil.example',
        b'evil.example:%d' % e.port,
        b'127.0.0.1.evil.example',
        b'localhost.evil.example',
        b'127.1',
        b'0x7f000001',
        b'x' * 300,
    ):
        assert status_for(e, host) == [403], host
    e.finish()
    e = Everprof(f'{d}/named', CONFIG, ['--web.allowed-hosts=profiles.example,p']).ready()
    for host, status in (
        (b'profiles.example', 200),
        (b'P:80', 200),
        (b'localhost', 200),
        (b'x.profiles.example', 403),
        (b'evil.example', 403),
    ):
        assert status_for(e, host) == [status], host


@suite.test
def origin_includes_the_scheme(d):
    e = Everprof(d, CONFIG, ['--web.enable-lifecycle']).ready()
    host = f'127.0.0.1:{e.port}'
    for origin, proxied, status in (
        (f'http://{host}', '', 200),
        (f'https://{host}', '', 403),
        (f'https://{host}', 'https', 200),
        (f'http://{host}', 'https', 403),
    ):
        headers = {'Origin': origin, **({'X-Forwarded-Proto': proxied} if proxied else {})}
        answer = e.get('/-/reload', headers=headers, method='POST')
        assert answer.status == status, (origin, proxied, answer.status)


suite.main()
