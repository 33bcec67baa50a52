#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The receiver of remote write, asked by a client that was made from the page
of the wire format alone, and by broken and hostile ones."""
import concurrent.futures
import os
import random
import socket
import subprocess
import time

from harness import ROOT, SLOW, Everprof, Server, Suite, field, heap_job, packed, profile, send, varint, wait_until
from users import basic, bearer, hashed, rewrite
from write_client import label, push, request, sample, snappy, write

suite = Suite()
RECEIVE = ['--web.enable-remote-write-receiver']
HEAP = {'__name__': 'heap', 'job': 'app', 'instance': 'a:1'}


def now_ms():
    return int(time.time() * 1000)


def start(d, *flags):
    return Everprof(d, flags=[*RECEIVE, *flags]).ready()


def stored(e):
    """{(labels, ms)} of all that queries show."""
    return {(tuple(sorted(s['labels'].items())), ms) for s in e.range('{__name__=~".+"}') for ms in s['timestamps']}


def zstd(d, data, *flags):
    path = f'{d}/body'
    with open(path, 'wb') as f:
        f.write(data)
    return subprocess.run(['zstd', '-q', '-c', *flags, path], capture_output=True, check=True).stdout


@suite.test
def stores_what_a_hand_made_client_sends(d):
    e = start(d)
    at = now_ms()
    plain, gz = profile('plain', 1, 3000), packed(profile('gz', 2, 3000))
    answer = push(e, (HEAP, [(plain, at), (gz, at + 1)]), ({'__name__': 'profile', 'job': 'b'}, [(profile('c'), at)]))
    assert answer.status == 204 and answer.body == b'', (answer.status, answer.body)
    assert answer.headers['X-Everprof-Samples-Written'] == '3'
    # zstd, and the same again: a retry changes nothing.
    message = request((HEAP, [(plain, at), (gz, at + 1), (profile('d'), at + 2)]))
    for _ in range(2):
        answer = write(e, zstd(d, message), Content_Encoding='zstd')
        assert answer.status == 204, answer.body
    assert e.metric('everprof_tsdb_duplicate_samples_total') == 5
    assert e.metric('everprof_tsdb_head_samples_appended_total') == 4
    assert e.metric('everprof_remote_write_samples_stored_total') == 9
    e.finish()
    e = start(d)  # what was acknowledged is durable
    assert e.raw(HEAP, at).body == plain
    assert e.raw(HEAP, at + 1).body == profile('gz', 2, 3000)
    assert e.raw(HEAP, at + 2).body == profile('d')
    assert len(stored(e)) == 4


@suite.test
def follows_the_worked_example_of_the_page(d):
    text = open(f'{ROOT}/docs/format/remote-write.md').read()
    example = text.split('## Worked example')[1]
    message, body = (bytes.fromhex(''.join(part.split('```')[0].split())) for part in example.split('```hex\n')[1:3])
    e = start(d, '--storage.tsdb.retention.time=0')
    assert snappy(message) == body and len(message) == 94
    answer = write(e, body)
    assert answer.status == 204, answer.body
    ((labels, ms),) = stored(e)
    assert dict(labels) == {'__name__': 'heap', 'job': 'app'} and ms == 1795232204000
    assert e.raw(dict(labels), ms).status == 200


@suite.test
def is_off_without_its_flag(d):
    e = Everprof(d).ready()
    answer = push(e, (HEAP, [(profile('a'), now_ms())]))
    assert answer.status == 404 and 'enable-remote-write-receiver' in answer.json()['error']
    assert not stored(e)


@suite.test
def malformed_requests_change_nothing(d):
    e = start(d, '--scrape.max-profile-size=1MB')
    at = now_ms()
    good = request((HEAP, [(profile('a'), at)]))
    bad = {  # name: (status, body, headers)
        'empty body': (400, b'', {}),
        'garbage': (400, b'\xff' * 100, {}),
        'no protobuf in the snappy block': (400, snappy(b'\xff' * 40), {}),
        'a truncated message': (400, snappy(good[:-3]), {}),
        'a good series before a truncated one': (400, snappy(good + good[:-3]), {}),
        'a snappy block cut short': (400, snappy(good)[:-3], {}),
        'a snappy block with more than it declares': (400, varint(10) + snappy(good)[len(varint(len(good))) :], {}),
        'a snappy block that declares 4 GB': (413, varint(2**32 - 1) + b'\0\0', {}),
        'bytes after the snappy block': (400, snappy(good) + b'\0x', {}),
        'a series as a varint': (400, snappy(b'\x08\x01'), {}),
        'a timestamp as bytes': (
            400,
            snappy(field(1, label('__name__', 'a') + field(2, field(1, b'x') + field(2, b'y')))),
            {},
        ),
        'a group': (400, snappy(b'\x0b\x0c'), {}),
        'a tenant': (400, snappy(good + field(2, b't')), {}),
        'zstd that is cut short': (400, zstd(d, good)[:-3], {'Content_Encoding': 'zstd'}),
        'two zstd frames': (400, zstd(d, good) * 2, {'Content_Encoding': 'zstd'}),
        'zstd without a size': (
            400,
            subprocess.run(['zstd', '-q', '-c'], input=good, capture_output=True, check=True).stdout,
            {'Content_Encoding': 'zstd'},
        ),
        'a bomb': (413, zstd(d, bytes(64 << 20)), {'Content_Encoding': 'zstd'}),
        'no encoding': (415, snappy(good), {'Content_Encoding': None}),
        'gzip': (415, packed(good), {'Content_Encoding': 'gzip'}),
        'a form': (415, snappy(good), {'Content_Type': 'application/x-www-form-urlencoded'}),
        'JSON': (415, b'{}', {'Content_Type': 'application/json'}),
        'another message': (
            415,
            snappy(good),
            {'Content_Type': 'application/x-protobuf;proto=io.prometheus.write.v2.Request'},
        ),
        'a body above the limit': (413, bytes(4 << 20), {}),
    }
    for name, (status, body, headers) in bad.items():
        answer = write(e, body, **headers)
        if name == 'empty body':  # snappy needs a length
            assert answer.status == 400, (name, answer.status, answer.body)
        assert answer.status == status, (name, answer.status, answer.body)
        assert answer.json()['error'], name
    for method in ('GET', 'HEAD', 'DELETE'):
        assert e.get('/api/v1/write', method=method).status == 405, method
    assert not stored(e) and e.metric('everprof_tsdb_head_samples_appended_total') == 0
    # An empty message is no mistake, and neither are unknown fields.
    assert write(e, snappy(b'')).status == 204
    unknown = field(9, b'x') + b'\x50\x07' + good + b'\x59' + bytes(8) + b'\x5d' + bytes(4)
    assert write(e, snappy(unknown)).status == 204
    assert len(stored(e)) == 1


@suite.test
def a_clock_that_may_be_wrong_refuses_nothing_for_good(d):
    e = start(d)
    for at in (now_ms() + 3600000, 1000):
        answer = push(e, (HEAP, [(profile('early or late'), at)]))
        assert answer.status == 503 and '--clock.steady-for' in answer.json()['error'], answer.body
    assert not stored(e)


@suite.test
def good_profiles_of_a_mixed_request_are_stored(d):
    e = start(d, '--scrape.max-profile-size=64KB', '--clock.steady-for=0s')
    at = now_ms()
    conflict = ({**HEAP, 'n': 'c'}, [(profile('first'), at)])
    assert push(e, conflict).status == 204
    answer = push(
        e,
        (HEAP, [(profile('a'), at), (b'not a profile', at + 1), (profile('b'), at + 2)]),
        ({'job': 'without a type'}, [(profile('c'), at), (profile('c'), at + 1)]),
        ({**HEAP, '__tenant__': 'x'}, [(profile('d'), at)]),
        ({**HEAP, 'n': 'f'}, [(profile('future'), at + 3600000)]),
        ({**HEAP, 'n': 'o'}, [(profile('too old'), 1000)]),
        ({**HEAP, 'n': 'l'}, [(profile('large', 1, 70000), at)]),
        ({**HEAP, 'n': 'c'}, [(profile('second'), at)]),
        ({**HEAP, 'n': 'z'}, [(profile('z'), at)]),
    )
    assert answer.status == 400, answer.body
    error = answer.json()['error']
    assert '8 of 11 profiles were refused' in error, error
    assert 'instance="a:1"' in error and '__name__' in error, error
    assert answer.headers['X-Everprof-Samples-Written'] == '3'
    assert stored(e) == {
        (tuple(sorted(labels.items())), ms)
        for labels, ms in ((HEAP, at), (HEAP, at + 2), ({**HEAP, 'n': 'c'}, at), ({**HEAP, 'n': 'z'}, at))
    }
    assert e.raw({**HEAP, 'n': 'c'}, at).body == profile('first')
    assert e.metric('everprof_remote_write_conflicts_total') == 1
    assert e.metric('everprof_remote_write_samples_refused_total') == 8
    # Labels twice; names that are not UTF-8.
    for labels in (label('__name__', 'a') * 2, label('__name__', 'a') + field(1, field(1, b'\xff') + field(2, b'v'))):
        body = snappy(field(1, labels + sample(profile('x'), at)))
        assert write(e, body).status == 400


@suite.test
def a_profile_of_60_mb_passes_and_a_larger_one_is_named(d):
    e = start(d)
    at = now_ms()
    large = profile('large', 1, 60 << 20)
    before = e.memory()
    assert push(e, (HEAP, [(large, at)])).status == 204
    assert e.raw(HEAP, at).body == large
    # One byte above --scrape.max-profile-size: the others of the request stay.
    size = (64 << 20) - len(profile('over', 1, 64 << 20)) + (64 << 20) + 1
    over = profile('over', 1, size)
    assert len(over) == (64 << 20) + 1
    answer = push(e, ({**HEAP, 'n': '1'}, [(over, at)]), ({**HEAP, 'n': '2'}, [(profile('s'), at)]))
    assert answer.status == 400 and 'n="1"' in answer.json()['error'], answer.body
    assert len(stored(e)) == 2
    # The memory is given back; sanitizers keep freed memory.
    wait_until('memory', 30, lambda: SLOW != 1 or e.memory() < before + 40)


@suite.test
def only_senders_with_the_scope_may_write(d):
    os.makedirs(d, exist_ok=True)
    rewrite(
        f'{d}/web.yml',
        f'basic_auth_users:\n  agent: {hashed("secret-of-agent")}\n'
        '  reader: ' + hashed('secret-of-reader') + '\n'
        'basic_auth_scopes: {agent: [write], reader: [read]}\n'
        'bearer_tokens:\n- {name: a, token: write-token-0123456789, scopes: [write]}\n'
        '- {name: r, token: read-token-0123456789, scopes: [read]}\n',
    )
    e = Everprof(d, flags=[*RECEIVE, f'--web.config.file={d}/web.yml'])
    wait_until('ready', 30, lambda: 'everprof is ready' in e.text(), 0.02)
    at = now_ms()

    def status(headers, ms, size=0):
        return push(e, (HEAP, [(profile('a', 1, size), ms)]), **headers).status

    assert status({}, at) == 401
    assert status(basic('agent', 'wrong'), at) == 401
    assert status(bearer('read-token-0123456789'), at) == 403
    assert status(basic('reader', 'secret-of-reader'), at) == 403
    # The password is hashed before the large body is read: two sizes.
    assert status(basic('agent', 'secret-of-agent'), at) == 204
    assert status(basic('agent', 'secret-of-agent'), at + 1, 12 << 20) == 204
    assert status(bearer('write-token-0123456789'), at + 2, 12 << 20) == 204
    answer = e.get('/metrics', headers=bearer('read-token-0123456789'))
    assert b'everprof_tsdb_head_samples_appended_total 3' in answer.body
    # A stranger is refused before a large body is read.
    with socket.create_connection(('127.0.0.1', e.port)) as s:
        s.sendall(b'POST /api/v1/write HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n')
        assert b' 401 ' in s.recv(4096)


def announced(e, length, begin=b''):
    """A connection that announces a body and has sent its beginning, unless it was refused."""
    s = socket.create_connection(('127.0.0.1', e.port))
    s.sendall(
        b'POST /api/v1/write HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n'
        b'Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n\r\n' % length
    )
    try:
        s.sendall(begin)
    except OSError:
        pass
    return s


def scraped(e):
    return e.metric('everprof_target_scrapes_total', '{outcome="success"}')


@suite.test
def lengths_that_no_number_can_hold_are_too_large(d):
    """Content-Length up to 2^64: refused before the body, not read and dropped."""
    e = start(d)
    for length in 2**40, 2**63 - 1, 2**63, 2**64 - 2:
        with socket.create_connection(('127.0.0.1', e.port)) as s:
            s.settimeout(30)
            s.sendall(
                b'POST /api/v1/write HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n'
                b'Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n\r\nx' % length
            )
            answer = s.recv(4096)
        assert b' 413 ' in answer, (length, answer)


def last_byte_sent(upload):
    """Sends the byte that an announced body still lacks, and returns the answer, if one came."""
    upload.settimeout(30)
    try:
        upload.sendall(b'x')
        return upload.recv(4096)
    except (BrokenPipeError, ConnectionResetError):
        return b''  # dropped long ago, so that the connection is closed


@suite.test
def unfinished_bodies_do_not_stop_others(d):
    """Senders that announce bodies or send parts of them, an honest one, and a target."""
    target = Server(lambda r: send(r, profile('t', 1, 400000)))
    e = Everprof(
        d,
        'scrape_configs:\n' + heap_job('t', [target.address], '1s', '1s'),
        flags=[*RECEIVE, '--ingest.memory=16MB', '--scrape.max-profile-size=4MB'],
    ).ready()
    at = now_ms()
    # Bodies that are only announced hold no memory.
    slow = [announced(e, n) for n in [3000000] * 20 + [200000] * 60]
    assert push(e, (HEAP, [(profile('l', 1, 3500000), at)])).status == 204
    # Parts of large and of small bodies; those beyond the memory are dropped.
    slow += [announced(e, n, b'x' * (n - 1)) for n in [3000000] * 20 + [200000] * 60]
    before = scraped(e)
    wait_until('scrapes go on', 30, lambda: scraped(e) >= before + 3)
    # The bodies are 72 MB together, so some were dropped, and their senders hear why. Which ones
    # depends on the order in which the server's threads read them.
    answers = [last_byte_sent(s) for s in slow[-80:]]
    dropped = [a for a in answers if b' 429 ' in a]
    assert dropped and all(b'Retry-After: 5' in a for a in dropped), answers
    assert all(b' 400 ' in a for a in answers if a and a not in dropped), answers
    for s in slow:
        s.close()
    wait_until(
        'memory is free', 30, lambda: push(e, ({**HEAP, 'n': 'l'}, [(profile('l', 1, 3500000), at)])).status == 204, 0.2
    )
    wait_until('nothing is held', 30, lambda: e.metric('everprof_ingest_memory_bytes') == 0)
    target.stop()
    e.finish()


@suite.test
def new_connections_do_not_end_uploads(d):
    e = start(d, '--web.max-connections=20')
    body = snappy(request((HEAP, [(profile('u', 1, 50000), now_ms())])))
    step = len(body) // 8 + 1
    upload = announced(e, len(body))
    assert e.get('/-/ready').status == 200, 'the headers of the upload have been read'
    idle = []
    for at in range(0, len(body), step):
        upload.sendall(body[at : at + step])
        idle += [socket.create_connection(('127.0.0.1', e.port)) for _ in range(50)]
        # An answer shows that the server has seen all of them.
        assert e.get('/-/ready').status == 200
    upload.settimeout(30)
    answer = upload.recv(4096)
    assert answer.startswith(b'HTTP/1.1 204 '), answer
    for s in idle + [upload]:
        s.close()
    e.finish()


@suite.test
def many_senders_at_once_lose_nothing(d):
    e = start(d, '--ingest.memory=16MB', '--scrape.max-profile-size=4MB')
    at = now_ms() - 60000

    def agent(number):
        labels = {'__name__': 'heap', 'job': 'app', 'instance': f'{number}'}
        for i in range(20):
            body = [(profile(f'{number}-{i}', i, random.Random(i).randrange(200000)), at + i)]
            while push(e, (labels, body)).status == 429:
                time.sleep(0.05)
        return {(tuple(sorted(labels.items())), at + i) for i in range(20)}

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        sent = set().union(*pool.map(agent, range(16)))
    assert stored(e) == sent
    assert e.metric('everprof_ingest_memory_bytes') == 0


@suite.test
def requests_that_end_in_the_middle_leave_nothing_behind(d):
    e = start(d)
    for _ in range(50):
        with socket.create_connection(('127.0.0.1', e.port)) as s:
            s.sendall(
                b'POST /api/v1/write HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n'
                b'Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n\r\n' + os.urandom(1000)
            )
    wait_until('memory', 30, lambda: e.metric('everprof_ingest_memory_bytes') == 0)
    assert push(e, (HEAP, [(profile('a'), now_ms())])).status == 204


suite.main()
