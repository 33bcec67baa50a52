#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles of OpenTelemetry's protocol over gRPC: by a client of gRPC, and by frames of HTTP/2 that no client of gRPC
would send."""
import gzip
import os
import socket
import ssl
import threading
import time

import http2  # runs the test again with Debian's Python if need be
import grpc
from certs import Authority
from harness import SLOW, Everprof, Suite, field, free_port, wait_until
from http2 import CHECK, EXPORT, Http2, code, frame, message, request_headers
from otlp_encoder import Dictionary, profile, request, resource, sample
from users import basic, bearer, hashed
from write_client import fields

suite = Suite()
AT = 1795232205  # seconds
TOKEN, READ = 'write-token-0123456789', 'read-token-0123456789'
FLAGS = ('--storage.tsdb.retention.time=0', '--web.rate-limit=0')


def start(d, flags=(), config='', web=''):
    port = free_port()
    more = []
    os.makedirs(d, exist_ok=True)
    if web:
        with open(f'{d}/web.yml', 'w') as f:
            f.write(web)
        more = [f'--web.config.file={d}/web.yml']
    e = Everprof(d, config, [f'--otlp.grpc.listen-address=127.0.0.1:{port}', *FLAGS, *more, *flags])
    line = f'msg="OTLP over gRPC is ready" port={port}'
    wait_until('ready', 30, lambda: line in e.text() or e.child.poll() is not None, 0.02)
    assert e.child.poll() is None, e.text()
    e.grpc = port
    return e


def body(service='shop', value=7, at=AT, broken=0, size=0):
    """A request with a profile of a program, and some that are refused."""
    d = Dictionary()
    place = d.location([('main.work', 'main.go', 7)], 0x2000, d.mapping('/bin/shop', '0123abcd'))
    stack = d.stack([place])
    made = [
        profile(d, '1.10', ('samples', 'count'), [sample('1.10', s, (value,))], at * 10**9, 10**9)
        for s in [stack] + [999] * broken
    ]
    out = request(d, [resource(d, {'service.name': service}, [p]) for p in made])
    return out + (field(15, os.urandom(size)) if size else b'')


def caller(channel, path=EXPORT):
    return channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)


def outcome(call, sent, **options):
    """The code and the text of a call that fails."""
    try:
        return 0, call(sent, timeout=30 * SLOW, **options)
    except grpc.RpcError as e:
        return e.code().value[0], e.details()


def stored(e, outcome='stored'):
    return e.metric(f'everprof_push_profiles_{outcome}_total', 'otlp_grpc')


@suite.test
def a_client_of_grpc_sends_profiles(d):
    e = start(d)
    with grpc.insecure_channel(f'127.0.0.1:{e.grpc}') as channel:
        assert outcome(caller(channel), body()) == (0, b'')
        assert outcome(caller(channel, CHECK), b'') == (0, b'\x08\x01')
        asked = field(1, b'opentelemetry.proto.collector.profiles.v1development.ProfilesService')
        assert outcome(caller(channel, CHECK), asked) == (0, b'\x08\x01')
        assert outcome(caller(channel, CHECK), field(1, b'other'))[0] == 5
        # Two of three are refused: it is not an error, and the third is stored.
        answer = outcome(caller(channel), body('part', broken=2))
        [(number, partial)] = fields(answer[1])
        assert answer[0] == 0 and number == 1 and dict(fields(partial))[1] == 2, answer
        assert b'2 of 3' in dict(fields(partial))[2], answer
        for sent, path, want, why in (
            (b'\xff' * 9, EXPORT, 3, 'malformed'),
            (field(1, b''), EXPORT, 3, 'no dictionary'),
            (b'', '/a.B/C', 12, 'unknown method /a.B/C'),
            (b'', '/grpc.health.v1.Health/Watch', 12, 'unknown method'),
        ):
            got = outcome(caller(channel, path), sent)
            assert got[0] == want and why in got[1], (path, got)
    with grpc.insecure_channel(f'127.0.0.1:{e.grpc}', compression=grpc.Compression.Gzip) as channel:
        assert outcome(caller(channel), body('packed')) == (0, b'')
    series = e.get('/api/v1/series', **{'match[]': '{service_name!=""}', 'from': 0, 'to': 'now'}).data()
    assert sorted(s['service_name'] for s in series) == ['packed', 'part', 'shop'], series
    assert stored(e) == 3 and stored(e, 'refused') == 2, (stored(e), stored(e, 'refused'))
    senders = e.get('/api/v1/senders').data()
    assert senders['enabled'] and {s['protocol'] for s in senders['senders']} == {'otlp_grpc'}, senders
    assert all('grpc-python' in s['userAgent'] for s in senders['senders']), senders
    assert e.metric('everprof_grpc_requests_total', '"NOT_FOUND"') == 1
    e.finish()


@suite.test
def it_is_the_same_profile_as_over_http(d):
    e = start(d, ['--web.enable-push-receiver'])
    c = Http2(e.grpc)
    headers, _ = c.call(body('one'))
    assert code(headers) == 0, headers
    headers, _ = c.call(gzip.compress(body('two')), more=[('grpc-encoding', 'gzip')], compressed=1)
    assert code(headers) == 0, headers
    kind = {'Content-Type': 'application/x-protobuf'}
    assert e.get('/v1development/profiles', data=body('three'), method='POST', headers=kind).status == 200
    raw = [
        e.get('/api/v1/query', query=f'{{service_name="{s}"}}', time=AT * 1000, report='raw').body
        for s in ('one', 'two', 'three')
    ]
    assert raw[0] == raw[1] == raw[2] and len(raw[0]) > 50, raw
    c.close()
    e.finish()


@suite.test
def large_messages_come_as_their_memory_is_there(d):
    e = start(d)
    before = e.memory()
    c = Http2(e.grpc)
    for size in (0, 16000, 16384, 70000, 300000, 3000000, 20000000):
        headers, data = c.call(body(f's{size}', size=size))
        assert code(headers) == 0 and data == message(b''), (size, headers)
    # A connection sends nothing before it is told so, but for the first bytes.
    assert c.settings[4] == 16384 and c.settings[3] == 16, c.settings
    # What is announced takes no memory: only what comes does.
    many = [Http2(e.grpc) for _ in range(8)]
    for one in many:
        for _ in range(16):
            stream = one.begin()
            one.send(frame(http2.DATA, 0, stream, b'\0' + (60 << 20).to_bytes(4, 'big')))
    wait_until('connections', 10, lambda: e.metric('everprof_grpc_connections') == 9)
    assert e.memory() < before + 60 * (1 if SLOW == 1 else 8), (before, e.memory())
    headers, _ = Http2(e.grpc).call(body('other'))
    assert code(headers) == 0, headers
    for one in many:
        one.close()
    wait_until('their end', 10, lambda: e.metric('everprof_grpc_connections') == 1)
    # Many at once, which need more memory together than one client may have, do not wait for one another.
    crowd = Http2(e.grpc)
    codes = crowd.calls_together([body(f"c{i}", size=2000000) for i in range(16)])
    assert codes == [0] * 16, codes
    stream = c.begin()
    c.send(frame(http2.DATA, 0, stream, b'\0' + b'\xff' * 4))
    headers, _ = c.answer(stream)
    assert code(headers) == 3 and '--scrape.max-profile-size' in headers['grpc-message'], headers
    e.finish()


@suite.test
def small_messages_wait_for_memory(d):
    e = start(d)
    # One address may have 12 MB: some of these get the memory of more than they have sent, and the last ones get none.
    hogs = [Http2(e.grpc) for _ in range(14)]
    for hog in hogs:
        for _ in range(16):
            stream = hog.begin()
            hog.send(frame(http2.DATA, 0, stream, message(bytes(300000))[:16384]))
    held = wait_until(
        'the memory is in use', 30, lambda: (e.metric('everprof_ingest_memory_bytes') or 0) > 11.9 * (1 << 20)
    )
    assert held
    c = Http2(e.grpc)
    stream = c.begin()
    c.send(frame(http2.DATA, http2.END_STREAM, stream, message(body('small'))))
    assert code(Http2(e.grpc).call(b'', CHECK)[0]) == 0, 'health needs no memory'
    for hog in hogs:
        hog.close()
    headers, _ = c.answer(stream)
    assert code(headers) == 0, headers
    e.finish()


@suite.test
def what_is_no_call_gets_a_clear_error(d):
    e = start(d)
    c = Http2(e.grpc)
    sent = body()
    for options, status, number, why in (
        ({'kind': 'application/json'}, '415', 3, 'application/grpc'),
        ({'kind': 'application/grpc+json'}, '415', 3, 'application/grpc'),
        ({'kind': 'application/grpc+proto'}, '200', 0, ''),
        ({'method': 'GET'}, '405', 3, 'POST'),
        ({'more': [('grpc-timeout', '5x')]}, '200', 3, 'invalid header grpc-timeout'),
        ({'more': [('grpc-timeout', '50S')]}, '200', 0, ''),
        ({'more': [('authorization', 'Bearer a'), ('authorization', 'Bearer b')]}, '200', 3, 'more than one'),
        ({'compressed': 1}, '200', 3, 'grpc-encoding'),
        ({'compressed': 1, 'more': [('grpc-encoding', 'br')]}, '200', 12, 'gzip, zstd or identity'),
        ({'compressed': 1, 'more': [('grpc-encoding', 'gzip')]}, '200', 3, 'gzip'),
        ({'compressed': 2}, '200', 3, 'flags'),
        ({'authority': 'evil.example'}, '200', 7, '--web.allowed-hosts'),
        ({'authority': '127.0.0.1:4317'}, '200', 0, ''),
        ({'authority': None, 'more': [('host', 'evil.example')]}, '200', 7, '--web.allowed-hosts'),
        ({'authority': None, 'more': [('host', 'localhost')]}, '200', 0, ''),
        ({'more': [('x', 'y' * 200)] * 72}, '200', 3, 'more than 16 KiB'),
        ({'path': '/100%\u00e9'}, '200', 12, 'unknown method /100%\u00e9'),
    ):
        headers, _ = c.call(sent, **options)
        assert headers[':status'] == status and code(headers) == number, (options, headers)
        assert why in headers.get('grpc-message', ''), (options, headers)
    for data in (b'', b'\0\0\0', message(sent)[:-1], message(sent) + b'x', message(sent) * 2):
        stream = c.begin()
        c.send(frame(http2.DATA, http2.END_STREAM, stream, data))
        headers, _ = c.answer(stream)
        assert code(headers) == 3, (data[:9], headers)
    stream = c.begin(end=True)
    assert code(c.answer(stream)[0]) == 3
    # Trailers of a request say nothing, and end it.
    stream = c.begin()
    c.send(frame(http2.DATA, 0, stream, message(sent)))
    c.send(frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, stream, http2.block([('a', 'b')])))
    assert code(c.answer(stream)[0]) == 0
    # Another answer of the same connection.
    assert code(c.call(sent)[0]) == 0
    # Headers that come in two parts are those of one request.
    for pause in (0, 0.3):
        stream = c.next
        c.next += 2
        whole = http2.opening(stream)
        c.send(whole[:40])
        time.sleep(pause)
        c.send(whole[40:] + frame(http2.DATA, http2.END_STREAM, stream, message(sent)))
        assert code(c.answer(stream)[0]) == 0
    # Trailers that name a large header again and again end the connection.
    bomb = Http2(e.grpc)
    stream = bomb.begin()
    bomb.send(frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, stream, http2.BOMB))
    while bomb.take():
        pass
    assert e.metric('everprof_grpc_floods_total') == 1
    c.close()

    with socket.create_connection(('127.0.0.1', e.grpc), timeout=30) as s:
        s.sendall(b'POST /v1development/profiles HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n')
        answer = b''.join(iter(lambda: s.recv(4096), b''))
    assert answer.startswith(b'HTTP/1.1 505 ') and b'--web.listen-address' in answer, answer
    with socket.create_connection(('127.0.0.1', e.grpc), timeout=30) as s:
        s.sendall(b'\x16\x03\x01nonsense' * 9)
        while s.recv(4096):
            pass
    e.finish()


@suite.test
def credentials_and_scopes_decide(d):
    web = (
        f'basic_auth_users:\n  u: {hashed("pw", 9)}\nbearer_tokens:\n- {{name: sdk, token: {TOKEN}, scopes: [write]}}\n'
        f'- {{name: reader, token: {READ}, scopes: [read]}}\n'
    )
    e = start(d, web=web)
    # A password that is not known yet, in many requests at once.
    first = Http2(e.grpc)
    streams = [
        first.begin(request_headers(more=[('authorization', basic('u', 'pw')['Authorization'])])) for _ in range(12)
    ]
    for stream in streams:
        first.send(frame(http2.DATA, http2.END_STREAM, stream, message(body())))
    assert [code(first.answer(stream)[0]) for stream in streams] == [0] * 12
    # Headers that come in two parts do not skip the credentials.
    whole = http2.opening(first.next)
    first.send(whole[:40])
    time.sleep(0.3)
    first.send(whole[40:] + frame(http2.DATA, http2.END_STREAM, first.next, message(body())))
    assert code(first.answer(first.next)[0]) == 16
    first.close()
    c = Http2(e.grpc)
    for value, number in (
        (None, 16),
        ('Bearer wrong', 16),
        (bearer(TOKEN)['Authorization'], 0),
        (bearer(READ)['Authorization'], 7),
        (basic('u', 'pw')['Authorization'], 0),
        (basic('u', 'pw')['Authorization'], 0),
        (basic('u', 'no')['Authorization'], 16),
        (basic('v', 'pw')['Authorization'], 16),
        ('Basic !!!', 16),
    ):
        headers, _ = c.call(body(), more=[('authorization', value)] if value else ())
        assert code(headers) == number, (value, headers)
    # A large message of somebody whose password has to be verified first.
    headers, _ = Http2(e.grpc).call(body(size=900000), more=[('authorization', basic('u', 'pw')['Authorization'])])
    assert code(headers) == 0, headers
    assert code(c.call(b'', CHECK)[0]) == 0, 'health needs no credentials'
    assert code(c.call(b'', '/x/y')[0]) == 16, 'strangers learn nothing'
    senders = e.get('/api/v1/senders', headers=bearer(READ)).data()['senders']
    assert any(s['refused'] and 'authentication is required' in s['lastError'] for s in senders), senders
    assert {s['user'] for s in senders if s['stored']} == {'sdk', 'u'}, senders
    # Guesses do not lock out others, and end in a number, also if their message comes meanwhile.
    guesses = [Http2(e.grpc) for _ in range(6)]
    streams = []
    for i, g in enumerate(guesses):
        own = [
            g.begin(request_headers(more=[('authorization', basic('u', f'{i}{k}')['Authorization'])])) for k in range(8)
        ]
        for stream in own:
            g.send(frame(http2.DATA, 0, stream, message(body())[:-1]))
        streams.append(own)
    headers, _ = c.call(body(), more=[('authorization', bearer(TOKEN)['Authorization'])])
    assert code(headers) == 0, headers
    codes = [code(g.answer(s)[0]) for g, own in zip(guesses, streams) for s in own]
    assert set(codes) == {16}, codes
    for g in guesses:
        g.close()
    c.close()
    code_of_end = e.stop()
    assert code_of_end == 0 and 'Sanitizer' not in e.text(), e.text()[-3000:]


@suite.test
def tls_and_client_certificates(d):
    ca, other = Authority(d), Authority(d, 'other')
    server, good, stranger = ca.sign('server', 'IP:127.0.0.1,DNS:localhost'), ca.sign('good'), other.sign('stranger')
    base = f'tls_server_config:\n  cert_file: {server[0]}\n  key_file: {server[1]}\n'
    trust = f'  client_ca_file: {ca.cert}\n  client_auth_type: RequireAndVerifyClientCert\n'

    def read(path):
        with open(path, 'rb') as f:
            return f.read()

    def asked(e, client=None, authority=ca):
        key, chain = (read(client[1]), read(client[0])) if client else (None, None)
        credentials = grpc.ssl_channel_credentials(read(authority.cert), key, chain)
        with grpc.secure_channel(f'localhost:{e.grpc}', credentials) as channel:
            return outcome(caller(channel), body())

    e = start(f'{d}/a', web=base)
    assert asked(e) == (0, b'')
    assert asked(e, authority=other)[0] == 14
    # Without TLS, without HTTP/2, with old TLS: nothing is answered.
    assert Http2(e.grpc).call(body())[0] is None
    old = ssl.TLSVersion.TLSv1_1
    for protocols, newest, works in (
        (['h2'], None, True),
        (['http/1.1'], None, False),
        (None, None, False),
        (['h2'], old, False),
    ):
        context = ssl.create_default_context(cafile=ca.cert)
        if newest:
            context.minimum_version = context.maximum_version = newest
        if protocols:
            context.set_alpn_protocols(protocols)
        try:
            headers, _ = Http2(e.grpc, context=context).call(body(size=100000))
        except (OSError, AssertionError):
            headers = None
        assert (headers is not None) == works, (protocols, headers)
    # The certificate may change while everprof runs.
    again = ca.sign('again', 'DNS:localhost')
    for old, new in zip(server, again):
        os.replace(new, old)
    wait_until('the new certificate', 20, lambda: 'web configuration loaded' in e.text())
    assert asked(e) == (0, b'')
    assert e.stop() == 0 and 'Sanitizer' not in e.text()
    server = ca.sign('server', 'IP:127.0.0.1,DNS:localhost')
    e = start(f'{d}/b', web=base + trust)
    assert asked(e, good) == (0, b'')
    for client in (None, stranger):
        got = asked(e, client)
        assert got[0] == 7 and 'certificate' in got[1], got
    assert e.stop() == 0 and 'Sanitizer' not in e.text()


@suite.test
def cancelled_and_late_requests_leave_nothing(d):
    e = start(d)
    c = Http2(e.grpc)
    sent = message(body())
    for i in range(50):
        stream = c.begin()
        c.send(frame(http2.DATA, http2.END_STREAM if i % 2 else 0, stream, sent))
        c.send(frame(http2.RST_STREAM, 0, stream, b'\0\0\0\x08'))
        assert code(c.call(body())[0]) == 0
    with grpc.insecure_channel(f'127.0.0.1:{e.grpc}') as channel:
        for i in range(100):
            pending = caller(channel).future(body(), timeout=30 * SLOW)
            if i % 2:
                pending.cancel()
            else:
                pending.result()
    # The deadline of a request that does not come.
    stream = c.begin(request_headers(more=[('grpc-timeout', '300m')]))
    c.send(frame(http2.DATA, 0, stream, sent[:9]))
    headers, _ = c.answer(stream)
    assert code(headers) == 4 and 'its own grpc-timeout' in headers['grpc-message'], headers
    wait_until('the end', 10, lambda: e.metric('everprof_grpc_connections') == 1)
    assert stored(e) >= 100, stored(e)
    c.close()
    wait_until('the end', 10, lambda: e.metric('everprof_grpc_connections') == 0)
    e.finish()


@suite.test
def floods_end_their_connection(d):
    e = start(d)
    good = Http2(e.grpc)
    assert code(good.call(body())[0]) == 0
    before = e.memory()
    counted = 0
    for name, flood in http2.FLOODS.items():
        if name == 'zero window':
            continue
        assert http2.flood(e.grpc, flood, 400000), name
        assert code(good.call(body())[0]) == 0, name
        # nghttp2 ends those that send too many pieces of headers.
        counted += name != 'continuation'
        assert e.metric('everprof_grpc_floods_total') == counted, name
    assert e.memory() < before + 32 * (1 if SLOW == 1 else 8), (before, e.memory())
    wait_until('the end', 10, lambda: e.metric('everprof_grpc_connections') == 1)
    e.finish()


@suite.test
def clients_that_read_nothing_are_waited_for_without_memory(d):
    e = start(d, ['--web.max-connections=200'])
    before = e.memory()
    # No window for answers: they are kept, but only 16 of a connection.
    closed = [Http2(e.grpc, settings=[(4, 0)]) for _ in range(40)]
    for c in closed:
        for _ in range(24):
            stream = c.begin()
            c.send(frame(http2.DATA, http2.END_STREAM, stream, message(b'')))
    good = Http2(e.grpc)
    for _ in range(20):
        assert code(good.call(body())[0]) == 0
    assert e.memory() < before + 32 * (1 if SLOW == 1 else 8), (before, e.memory())
    # One that gets its window takes its answer.
    closed[0].send(frame(http2.SETTINGS, 0, 0, b'\0\4\0\0\xff\xff'))
    assert code(closed[0].answer(1)[0]) == 0
    for c in closed:
        c.close()
    good.close()
    wait_until('the end', 20, lambda: e.metric('everprof_grpc_connections') == 0)
    # Too many connections: the newcomers of one client do not end what others do.
    crowd = [Http2(e.grpc) for _ in range(300)]
    assert code(Http2(e.grpc).call(body())[0]) == 0
    assert e.metric('everprof_grpc_connections') <= 200
    for c in crowd:
        c.close()
    e.finish()


@suite.test
def a_shutdown_answers_what_has_begun(d):
    e = start(d)
    got = {}
    with grpc.insecure_channel(f'127.0.0.1:{e.grpc}') as channel:

        def send(worker):
            for n in range(100000):
                service = f's{worker}-{n}'
                got[service] = outcome(caller(channel), body(service, size=200000))[0]
                if got[service]:
                    return

        threads = [threading.Thread(target=send, args=(worker,)) for worker in range(4)]
        for t in threads:
            t.start()
        wait_until('some are stored', 30, lambda: (stored(e) or 0) > 8)
        idle = Http2(e.grpc)
        assert code(idle.call(b'', CHECK)[0]) == 0
        started = time.monotonic()
        assert e.stop() == 0
        assert time.monotonic() - started < 20 * SLOW
        for t in threads:
            t.join()
    while idle.take():
        pass
    assert idle.goaway == 0, 'clients are told to go'
    assert set(got.values()) == {0, 14}, got
    e = start(d)
    series = e.get('/api/v1/series', **{'match[]': '{service_name!=""}', 'from': 0, 'to': 'now'}).data()
    kept = {s['service_name'] for s in series}
    lost = {service for service, number in got.items() if not number} - kept
    assert not lost and len(kept) > 8, lost
    e.finish()


@suite.test
def a_shutdown_does_not_wait_for_what_is_not_complete(d):
    e = start(d)
    silent = socket.create_connection(('127.0.0.1', e.grpc), timeout=30)
    half = Http2(e.grpc)
    stream = half.begin()
    half.send(frame(http2.DATA, 0, stream, message(body(size=9000))[:-1]))
    wait_until('it has come', 10, lambda: (e.metric('everprof_ingest_memory_bytes') or 0) > 9000)
    started = time.monotonic()
    assert e.stop() == 0
    assert time.monotonic() - started < 5 * SLOW
    headers, _ = half.answer(stream)
    assert code(headers) == 14 and 'shutting down' in headers['grpc-message'], headers
    silent.close()


@suite.test
def addresses_are_checked_before_anything_starts(d):
    for address, why in (
        ('4317', 'invalid --otlp.grpc.listen-address=4317: expected host:port'),
        ('127.0.0.1:99999', 'is above 65535'),
        ('nowhere.invalid:1', 'cannot resolve --otlp.grpc.listen-address'),
    ):
        e = Everprof(f'{d}/x', flags=[f'--otlp.grpc.listen-address={address}'])
        assert e.child.wait(timeout=60 * SLOW) != 0 and why in e.text(), e.text()
        assert not os.path.exists(e.data)
    port = free_port()
    e = Everprof(f'{d}/x', port=port, flags=[f'--otlp.grpc.listen-address=127.0.0.1:{port}'])
    assert e.child.wait(timeout=60 * SLOW) != 0 and 'cannot listen on --otlp.grpc.listen-address' in e.text(), e.text()
    assert not os.path.exists(e.data)
    e = start(f'{d}/y')
    other = Everprof(f'{d}/z', flags=[f'--otlp.grpc.listen-address=127.0.0.1:{e.grpc}'])
    assert other.child.wait(timeout=60 * SLOW) != 0
    assert 'cannot listen on --otlp.grpc.listen-address' in other.text(), other.text()
    e.finish()


suite.main()
