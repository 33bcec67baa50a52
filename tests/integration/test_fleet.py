#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fleet that is not friendly: a hundred hostile targets beside one good one."""
import gzip
import os
import socket
import struct
import threading
import time

from harness import SLOW, Everprof, Server, Suite, packed, profile, send, wait_until

suite = Suite()
OFF = ''.join(f'      {t}: {{enabled: false}}\n'
              for t in ('allocs', 'block', 'goroutine', 'mutex', 'profile', 'threadcreate'))
PROFILE = packed(profile('good', size=3000))


def job(name, targets, interval='500ms', timeout='1s', more=''):
    listed = ', '.join(f'"{t}"' for t in targets)
    return (f'- job_name: {name}\n  scrape_interval: {interval}\n  scrape_timeout: {timeout}\n'
            f'{more}  profiling_config:\n    pprof_config:\n{OFF}'
            f'  static_configs: [{{targets: [{listed}]}}]\n')


class Raw:
    """A target that speaks by itself: speak(socket) after the request came."""
    def __init__(self, speak):
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=128)
        self.address = '127.0.0.1:%d' % self.listener.getsockname()[1]
        self.speak = speak
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(s,), daemon=True).start()

    def one(self, s):
        try:
            with s:
                s.recv(65536)
                self.speak(s)
        except OSError:
            pass

    def stop(self):
        self.listener.close()


def answer(body, head=b'HTTP/1.1 200 OK', headers=b''):
    return head + b'\r\nContent-Length: %d\r\n' % len(body) + headers + b'\r\n' + body


def says(data):
    return lambda s: s.sendall(data)


def nested(depth):
    body = profile('nested')
    for _ in range(depth):
        body = gzip.compress(body)
    return body


def slowly(data, pause):
    def speak(s):
        for i in range(len(data)):
            s.sendall(data[i:i + 1])
            time.sleep(pause)
    return speak


def forever(head, piece, pause=0.0):
    def speak(s):
        s.sendall(head)
        while True:
            s.sendall(piece)
            time.sleep(pause)
    return speak


def reset(s):
    s.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc')
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


BOMB = gzip.compress(b'\0' * (256 << 20), 9)
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
CASES = {
    'html': (says(answer(b'<html><body>hello</body></html>')), 'this is HTML or XML'),
    'truncated gzip': (says(answer(PROFILE[:50])), 'damaged or cut short'),
    'nested gzip': (says(answer(nested(3))), 'not a profile'),
    'bomb': (says(answer(BOMB)), 'larger than 67108864 bytes'),
    'bombs in a row': (says(answer(BOMB * 4)), 'larger than 67108864 bytes'),
    'garbage': (says(answer(bytes(range(256)) * 40)), 'not a profile'),
    'no body': (says(answer(b'')), 'no data'),
    'endless headers': (forever(b'HTTP/1.1 200 OK\r\n', b'X-A: ' + b'b' * 1000 + b'\r\n'),
                        'headers are larger than 65536 bytes'),
    'endless body': (forever(b'HTTP/1.1 200 OK\r\n\r\n', b'x' * 65536), ''),
    'endless chunks': (forever(CHUNKED, b'10000\r\n' + b'y' * 65536 + b'\r\n'), ''),
    'a byte at a time': (slowly(answer(PROFILE), 0.3), 'no complete answer within'),
    'a slow flood': (forever(b'HTTP/1.1 200 OK\r\n\r\n', b'z' * 65536, 0.01), ''),
    'silence': (lambda s: time.sleep(30), 'no complete answer within'),
    'reset': (reset, ''),
    'too short': (says(answer(PROFILE)[:-10]), ''),
    'length too small': (says(answer(PROFILE).replace(
        b'Content-Length: ', b'Content-Length: 1\r\nX: ')), 'not a profile'),
    'length of nothing': (says(b'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc'), ''),
    'bad chunks': (says(CHUNKED + b'zz\r\nabc\r\n'), ''),
    'no HTTP': (says(b'SSH-2.0-OpenSSH_9.2\r\n'), ''),
    'nothing at all': (lambda s: None, 'Empty reply'),
    'redirects in a circle': (says(b'HTTP/1.1 302 Found\r\nLocation: /debug/pprof/heap\r\n'
                                   b'Content-Length: 0\r\n\r\n'), 'stopped after 10 redirects'),
    'redirect to a file': (says(b'HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n'
                                b'Content-Length: 0\r\n\r\n'), 'redirected to file'),
    'HTTP 0.9': (says(b'hello there, this is what HTTP once was\n'), ''),
}
STATUSES = [s for s in range(201, 600) if s // 100 != 1 and s not in
            (204, 205, 304, 301, 302, 303, 307, 308)][::8]


def memory(e):
    with open(f'/proc/{e.child.pid}/status') as f:
        return int(f.read().split('RssAnon:')[1].split()[0]) / 1024


@suite.test
def hostile_targets_harm_nobody_else(d):
    served = []

    def serve(r):
        served.append(r.path)
        send(r, PROFILE)
    good = Server(serve)
    hostile = {name: Raw(speak) for name, (speak, _) in CASES.items()}
    for status in STATUSES:
        hostile[f'HTTP {status}'] = Raw(says(answer(PROFILE, b'HTTP/1.1 %d X' % status)))
    names = {r.address: name for name, r in hostile.items()}
    more = {f'again {i}': Raw(CASES[name][0]) for i, name in enumerate(
        ['endless body', 'bomb', 'a slow flood', 'endless chunks'] * 10)}
    hostile.update(more)
    assert len(hostile) >= 100, len(hostile)
    e = Everprof(d, 'scrape_configs:\n' + job('good', [good.address], '1s', '10s') + job(
        'bad', [r.address for r in hostile.values()]), ['--ingest.memory=128MB']).ready()
    most = 0
    end = time.monotonic() + 12
    while time.monotonic() < end:
        most = max(most, memory(e))
        time.sleep(0.05)
    targets = {t['labels']['instance']: t for t in e.targets()}
    for address, name in names.items():
        t = targets[address]
        why = CASES[name][1] if name in CASES else 'server returned HTTP status ' + name[5:]
        # On a slow machine those that have no end leave no room, or no time, to others.
        assert t['health'] == 'down' and t['lastError'] and (
            SLOW != 1 or why in t['lastError'] or 'ingest.memory' in t['lastError']), (
                name, t['health'], t['lastError'])
    assert targets[good.address]['health'] == 'up', targets[good.address]
    asked = len(served)
    stamps = e.range('heap{job="good"}')[0]['timestamps']
    print(f'RssAnon at most {most:.1f} MB, {len(stamps)} profiles of the good one')
    # All that it served is there; the last one may still be on its way.
    assert 4 < asked - 1 <= len(stamps), (asked, stamps)
    if SLOW == 1:
        assert most <= 64 + 128
    assert e.range('{job="bad"}') == [], 'nothing of them is stored'
    for s in hostile.values():
        s.stop()
    good.stop()


@suite.test
def large_profiles_wait_for_each_other_and_all_come(d):
    """Thirty targets of 12 MB each at the same moment, with room for a few."""
    big = profile('big', size=12 << 20)
    server = Server(lambda r: send(r, big))
    listed = [server.address]
    config = 'scrape_configs:\n' + ''.join(
        job(f'big{i}', listed, '5s', '60s') for i in range(30))
    e = Everprof(d, config, ['--ingest.memory=32MB', '--scrape.max-profile-size=13MB']).ready()
    wait_until('all of them', 60, lambda: len(
        e.range('{job=~"big.*"}')) == 30, 0.2)
    assert all(t['health'] == 'up' for t in e.targets()), [
        t['lastError'] for t in e.targets() if t['lastError']]
    assert e.metric('everprof_ingest_waits_total') > 0
    wait_until('all given back', 20, lambda: e.metric('everprof_ingest_memory_bytes') == 0 or
               e.metric('everprof_ingest_memory_bytes') < 32 << 20, 0.05)
    server.stop()


@suite.test
def a_profile_is_there_when_somebody_wants_it(d):
    asked, hold = [], threading.Event()

    def answer(r):
        asked.append(r.path)
        if r.path.startswith('/debug/pprof/profile'):
            hold.wait(20)
        if 'bad' in r.headers['Host'] or 'seconds=7' in r.path:
            send(r, b'no', 503)
        else:
            send(r, packed(profile(r.path)))
    server = Server(answer)
    port = server.address.split(':')[1]
    cpu = OFF.replace('      profile: {enabled: false}\n', '')
    e = Everprof(d, 'scrape_configs:\n' + job('a', [f'127.0.0.1:{port}', f'127.0.0.2:{port}'],
                                              '20h', '5s').replace(OFF, cpu)).ready()

    def now(query, **params):
        return e.get('/api/v1/targets/profile', method='POST', query=query, **params)
    one = f'heap{{job="a",instance="127.0.0.1:{port}"}}'
    answer = now(one, report='raw')
    assert answer.status == 200 and answer.body == profile('/debug/pprof/heap'), answer.body
    ms = int(answer.headers['X-Everprof-Timestamp'])
    assert [s['timestamps'] for s in e.range(one)] == [[ms]], 'it is stored'
    assert now(one, report='top').json()['data']['total'] == 1, 'any report'
    for query, status, why in (('heap{job="a"}', 400, '2 targets match: one must'),
                               ('heap{job="b"}', 404, '0 targets match'), ('x{', 400, 'parse'),
                               ('', 400, 'query')):
        answer = now(query)
        assert answer.status == status and why in answer.json()['error'], (query, answer.body)
    assert e.get('/api/v1/targets/profile', query=one).status == 405

    # Seconds of one's own; one at a time of a target, four at a time in all.
    cpu = f'profile{{instance="127.0.0.1:{port}"}}'
    results = []
    threads = [threading.Thread(target=lambda: results.append(now(cpu, seconds=3).status))
               for _ in range(6)]
    for t in threads:
        t.start()
    wait_until('two refusals', 10, lambda: results.count(429) == 2)
    assert [p for p in asked if 'profile' in p] == ['/debug/pprof/profile?seconds=3'], asked
    hold.set()
    for t in threads:
        t.join()
    assert sorted(results) == [200, 200, 200, 200, 429, 429], results
    answer = now(cpu, seconds=7)
    assert answer.status != 200 and 'HTTP status 503' in answer.json()['error'], answer.body
    assert len(e.range(cpu)[0]['timestamps']) == 4
    server.stop()


suite.main()
