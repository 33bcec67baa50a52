#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole binary over HTTP: scraping, storing, finding, refusing."""
import gzip
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import time

from harness import (
    BINARY,
    LEAKAPP,
    SLOW,
    Everprof,
    Process,
    Server,
    Skipped,
    Suite,
    free_port,
    packed,
    profile,
    run,
    selector,
    send,
    wait_until,
)
from programs import start_programs

suite = Suite()
GO = '/usr/bin/go'


def job(name, address, extra=''):
    return (
        f'- job_name: {name}\n  scrape_interval: 500ms\n  scrape_timeout: 1s\n{extra}'
        f'  static_configs: [{{targets: ["{address}"]}}]\n'
    )


def only(*types, seconds=None):
    """pprof_config with these types alone."""
    every = ['allocs', 'block', 'goroutine', 'heap', 'mutex', 'profile', 'threadcreate']
    lines = [f'      {t}: {{enabled: false}}\n' for t in every if t not in types]
    if seconds is not None and 'profile' in types:
        lines.append(f'      profile: {{seconds: {seconds}}}\n')
    return '  profiling_config:\n    pprof_config:\n' + ''.join(lines)


@suite.test
def profiles_are_returned_byte_for_byte(d):
    """Gzip of several members, zlib and plain; empty profiles too."""
    import zlib

    bodies = {
        'heap': packed(profile('a')[:40]) + packed(profile('a')[40:]),
        'goroutine': zlib.compress(profile('b')),
        'mutex': profile('c'),
        'block': packed(profile('none')[:6] + b'\x32\x00\x32\x01a\x32\x01b'),
    }
    raw = {
        'heap': profile('a'),
        'goroutine': profile('b'),
        'mutex': profile('c'),
        'block': profile('none')[:6] + b'\x32\x00\x32\x01a\x32\x01b',
    }
    target = Server(lambda r: send(r, bodies[r.path.rsplit('/', 1)[1].split('?')[0]]))
    e = Everprof(d, 'scrape_configs:\n' + job('t', target.address, only(*bodies))).ready()
    series = wait_until('four types', 10, lambda: (lambda s: s if len(s) == 4 else None)(e.range('{job="t"}')))
    for s in series:
        name = s['labels']['__name__']
        assert s['labels'] == {'__name__': name, 'job': 't', 'instance': target.address}
        for ms in s['timestamps']:
            answer = e.raw(s['labels'], ms)
            assert answer.body == raw[name], name
            assert answer.headers['X-Everprof-Timestamp'] == str(ms)
    for t in e.targets():
        assert t['health'] == 'up' and not t['lastError'], t
    target.stop()


@suite.test
def hostile_targets_are_down_with_a_reason(d):
    release = []

    def endless(r):
        r.send_response(200)
        r.end_headers()
        try:
            while not release:
                r.wfile.write(b'x' * 65536)
        except OSError:
            pass

    def hang(r):
        while not release:
            time.sleep(0.05)

    def endless_headers(r):
        try:
            r.wfile.write(b'HTTP/1.1 200 OK\r\n')
            while not release:
                r.wfile.write(b'X-A: ' + b'b' * 1000 + b'\r\n')
        except OSError:
            pass

    def reset(r):
        r.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\x01\0\0\0\0\0\0\0')
        r.connection.close()

    bomb = packed(b'\0' * (80 << 20))
    cases = {
        'html': (lambda r: send(r, b'<html>hello</html>', Content_Type='text/html'), 'HTML'),
        'truncated': (lambda r: send(r, packed(profile('x'))[:-9]), 'damaged or truncated'),
        'bomb': (lambda r: send(r, bomb), 'larger than'),
        'status500': (lambda r: send(r, b'oops', 500), '500 Internal Server Error'),
        'redirect': (
            lambda r: send(r, b'', 302, Location='http://127.0.0.1:1/x'),
            'redirected to http://127.0.0.1:1/x: Failed to connect',
        ),
        'endless': (endless, 'larger than'),
        'hang': (hang, 'no complete response within'),
        'headers': (endless_headers, ''),
        'reset': (reset, ''),
        'garbage': (lambda r: send(r, os.urandom(5000)), 'not a profile'),
        'nothing': (lambda r: send(r, b''), 'no data'),
        'short': (lambda r: send(r, b'abc', Content_Length='100'), ''),
        'legacy': (lambda r: send(r, b'heap profile: 1: 2 [3: 4] @ heap/2\nrubbish\n'), 'not a sample'),
    }
    servers = {name: Server(c[0]) for name, c in cases.items()}
    good = Server(lambda r: send(r, packed(profile('good'))))
    config = 'scrape_configs:\n' + ''.join(
        job(n, s.address, '  body_size_limit: 1MB\n' + only('heap')) for n, s in servers.items()
    )
    config += job('refused', f'127.0.0.1:{free_port()}', only('heap'))
    config += job('good', good.address, only('heap'))
    e = Everprof(d, config).ready()

    def all_told():
        return all(t['health'] != 'unknown' for t in e.targets())

    wait_until('every target tried', 20, all_told)
    wait_until(
        'three profiles of the good one',
        20,
        lambda: any(len(s['timestamps']) >= 3 for s in e.range('heap{job="good"}')),
    )
    health = {t['scrapePool']: t for t in e.targets()}
    for name, (_, why) in cases.items():
        t = health[name]
        assert t['health'] == 'down' and t['lastError'], t
        assert why in t['lastError'], (name, t['lastError'])
    assert health['refused']['health'] == 'down'
    assert health['good']['health'] == 'up'

    def is_on_time():
        times = e.range('heap{job="good"}')[0]['timestamps'][-3:]
        return len(times) == 3 and max(b - a for a, b in zip(times, times[1:])) < 1400 * SLOW

    # Another target would hold it up for its timeout of a second; a busy machine does so only now and then.
    wait_until('the good one is scraped in time', 60, is_on_time)
    assert [s['labels']['job'] for s in e.range('heap')] == ['good']
    release.append(True)
    for s in servers.values():
        s.stop()
    good.stop()


@suite.test
def slow_profile_type_does_not_delay_others(d):
    def answer(r):
        if 'profile' in r.path:
            assert 'seconds=2' in r.path
            time.sleep(2)
        send(r, packed(profile(r.path)))

    target = Server(answer)
    e = Everprof(d, 'scrape_configs:\n' + job('t', target.address, only('heap', 'profile', seconds=2))).ready()
    wait_until('a slow profile', 12, lambda: e.range('profile'))
    heap = e.range('heap')[0]['timestamps']
    cpu = e.range('profile')[0]['timestamps']
    assert len(heap) >= 3 * len(cpu), (heap, cpu)
    assert e.metric('everprof_target_scrapes_skipped_total') > 0
    # What each type costs the target is told, too.
    seconds = {t: e.metric('everprof_target_scrape_seconds_total', f'{{type="{t}"}}') for t in ('heap', 'profile')}
    assert seconds['profile'] >= 2 * len(cpu) and 0 < seconds['heap'] < seconds['profile'], seconds
    size = len(packed(profile('/debug/pprof/heap')))
    assert e.metric('everprof_target_scraped_bytes_total', '{type="heap"}') >= size * len(heap)
    target.stop()


def started(d, targets=1):
    count = [0]

    def answer(r):
        count[0] += 1
        send(r, packed(profile(f'{count[0]}')))

    target = Server(answer)
    e = Everprof(d, 'scrape_configs:\n' + job('t', target.address, only('heap', 'mutex'))).ready()
    wait_until('profiles', 10, lambda: len(e.range('{job="t"}')) == 2)
    return e, target


@suite.test
def the_heap_profile_of_everprof_itself(d):
    # So much memory is sampled in any case; whether little is, depends on chance.
    large = packed(profile('large', size=16 << 20))
    target = Server(lambda r: send(r, large))
    e = Everprof(d, 'scrape_configs:\n' + job('large', target.address, only('heap')))
    e.ready()
    wait_until('a scrape', 30, lambda: e.targets() and e.targets()[0]['health'] == 'up')
    answer = e.get('/debug/pprof/heap')
    assert answer.status == 200, answer.body
    with open(f'{d}/heap.pb.gz', 'wb') as f:
        f.write(answer.body)
    total, scraped = {}, {}
    for kind in ('alloc_objects', 'alloc_space', 'inuse_objects', 'inuse_space'):
        done = run('report', 'folded', '--symbolize=false', f'--sample_index={kind}', f'{d}/heap.pb.gz')
        assert done.returncode == 0 and 'mem_alloc' not in done.stdout, done
        stacks = [line.rsplit(' ', 1) for line in done.stdout.splitlines()]
        total[kind] = sum(int(n) for _, n in stacks)
        scraped[kind] = sum(int(n) for stack, n in stacks if 'fetch' in stack or 'scrape' in stack)
    # The body, which was freed after it was stored; its buffer grew by doubling, in few allocations.
    assert scraped['alloc_space'] >= 16 << 20 and 0 < scraped['alloc_objects'] < 1 << 20, scraped
    assert total['alloc_space'] - total['inuse_space'] >= 16 << 20, total
    assert b"href='heap?debug=1'" in e.get('/debug/pprof/').body
    e.finish()
    target.stop()


@suite.test
def api_responses_and_errors(d):
    e, target = started(d)
    assert e.get('/api/v1/labels').data() == ['__name__', 'instance', 'job']
    assert e.get('/api/v1/label/__name__/values').data() == ['heap', 'mutex']
    assert e.get('/api/v1/label/__name__/values', limit=1).json()['warnings']
    assert e.get('/api/v1/label/nope/values').data() == []
    assert len(e.get('/api/v1/series', **{'match[]': ['heap', '{job="t"}']}).data()) == 2
    types = e.get('/api/v1/profile_types').data()
    assert [t['name'] for t in types] == ['heap', 'mutex']
    assert types[0]['sampleTypes'] == [{'type': 'samples', 'unit': 'count'}]
    s = e.range('heap')[0]
    first = s['timestamps'][0]
    one = e.get('/api/v1/query', query='heap', time=first)
    assert one.headers['Content-Type'] == 'application/vnd.google.protobuf+gzip'
    assert one.body[:2] == b'\x1f\x8b'
    meta = e.get('/api/v1/query', query='heap', time=first, report='meta').data()
    assert meta['samples'] == 1 and meta['timestamp'] == first
    # after, before, exact
    for match, time_, status in (
        ('after', first - 1000, 200),
        ('before', first + 1, 200),
        ('exact', first, 200),
        ('exact', first + 1, 404),
        ('before', first - 1, 404),
        ('after', first - 400000, 404),
    ):
        a = e.get('/api/v1/query', query='heap', time=time_, match=match, report='raw')
        assert a.status == status, (match, a.status, a.body[:200])
    # ETag and Range
    raw = e.raw(s['labels'], first)
    part = e.get('/api/v1/query', {'Range': 'bytes=2-5'}, query='heap', time=first, report='raw')
    assert part.status == 206 and part.body == raw.body[2:6]
    same = e.get('/api/v1/query', {'If-None-Match': raw.headers['ETag']}, query='heap', time=first, report='raw')
    assert same.status == 304 and not same.body
    # Times of every kind
    for begin, end in (('now-1h', 'now'), (first, first)):
        assert e.range('heap', begin, end)
    seconds = e.get('/api/v1/query_range', query='heap', start=first / 1000, end=first / 1000)
    assert seconds.data()[0]['timestamps'] == [first]
    # A form, and compression
    form = e.get('/api/v1/query_range', data=b'query=heap&from=0&to=now')
    assert form.data()
    wide = e.get('/metrics', {'Accept-Encoding': 'gzip'})
    assert wide.headers['Content-Encoding'] == 'gzip'
    # Raw braces and quotes in the request line
    with socket.create_connection(('127.0.0.1', e.port)) as c:
        c.sendall(
            b'GET /api/v1/query_range?query=heap{job="t"}&from=0&to=now HTTP/1.1\r\n'
            b'Host: localhost\r\nConnection: close\r\n\r\n'
        )
        answer = b''
        while part_ := c.recv(65536):
            answer += part_
    assert b' 200 OK' in answer and b'"status":"success"' in answer, answer
    bad = [
        ('/api/v1/query_range', dict(query='heap{', **{'from': 0, 'to': 1}), 400, '1:6'),
        ('/api/v1/query_range', dict(query='{}', **{'from': 0, 'to': 1}), 400, 'must not match'),
        ('/api/v1/query_range', dict(query='heap', **{'from': 'x', 'to': 1}), 400, '"from"'),
        ('/api/v1/query_range', dict(query='heap', **{'from': 2, 'to': 1}), 400, 'before'),
        ('/api/v1/query_range', dict(query='heap', to=1), 400, '"from" is missing'),
        ('/api/v1/query_range', dict(**{'from': 0, 'to': 1}), 400, '"query" is missing'),
        ('/api/v1/query_range', dict(query='heap', limit=-1, **{'from': 0, 'to': 1}), 400, 'limit'),
        ('/api/v1/query', dict(query='heap', time=first, match='near'), 400, 'match'),
        ('/api/v1/query', dict(query='heap', time=first, report='x'), 400, 'report'),
        ('/api/v1/query', dict(query='nope', time=first), 404, 'no profile'),
        ('/api/v1/series', {}, 400, 'match[]'),
        ('/api/v1/nothing', {}, 404, 'path not found'),
    ]
    for path, params, status, why in bad:
        a = e.get(path, **params)
        assert a.status == status and why in a.json()['error'], (path, params, a.status, a.body)
        assert a.json()['status'] == 'error'
    assert e.get('/', method='DELETE').status == 405
    assert e.metric('everprof_tsdb_open_queriers') == 0
    for path in ('config', 'flags', 'buildinfo', 'runtimeinfo', 'tsdb'):
        assert e.get('/api/v1/status/' + path).data()
    assert 'job_name: t' in e.get('/api/v1/status/config').data()['yaml']
    assert e.get('/-/healthy').status == 200
    target.stop()


@suite.test
def unusual_requests_get_a_response(d):
    e, target = started(d)

    def ask(raw):
        with socket.create_connection(('127.0.0.1', e.port), timeout=20) as c:
            c.sendall(raw)
            c.shutdown(socket.SHUT_WR)
            answer = b''
            while part := c.recv(65536):
                answer += part
        return answer

    assert e.get('/-/healthy?' + 'a&' * 400).status == 200
    assert e.get('/api/v1/labels', method='POST', data=b'a=&' * 900).status == 200
    assert e.get('/api/v1/series?' + 'match[]=heap&' * 400).status == 200
    smuggled = b'a=bGET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n'
    for headers in (
        b'Content-Length: 3\r\nContent-Length: %d\r\n' % len(smuggled),
        b'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n',
    ):
        answer = ask(b'POST /api/v1/labels HTTP/1.1\r\nHost: localhost\r\n' + headers + b'\r\n' + smuggled)
        assert answer.count(b'HTTP/1.1 ') == 1 and b' 400 ' in answer, answer
    assert e.get('/api/v1/labels?x=%00').status == 400
    # Labels that no header can hold
    folder = os.path.join(d, 'in')
    os.makedirs(folder)
    with open(os.path.join(folder, f'{int(time.time() * 1000)}.pb'), 'wb') as f:
        f.write(profile('big'))
    e.finish()
    big = 'v' * 33000
    r = run('tsdb', 'import', folder, f'--labels=heap{{job="big",x="{big}"}}', f'--storage.tsdb.path={e.data}')
    assert r.returncode == 0, r
    e = Everprof(d).ready()
    answer = e.get('/api/v1/query', query='heap{job="big"}', time='now', match='before', report='raw')
    assert answer.body == profile('big') and not answer.headers['X-Everprof-Labels']
    target.stop()


@suite.test
def full_disk_is_survived(d):
    mount = os.path.join(d, 'small')
    os.makedirs(mount)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=16M', 'tmpfs', mount], capture_output=True).returncode:
        raise Skipped('a small tmpfs cannot be mounted here')
    try:
        full_disk(mount)
    finally:
        Process.stop_all()
        subprocess.run(['umount', '-l', mount], check=True)


def full_disk(mount):
    target = Server(lambda r: send(r, packed(profile(os.urandom(8).hex(), size=1000))))
    config = 'scrape_configs:\n' + job('t', target.address, only('heap'))
    filler = os.path.join(mount, 'filler')

    def fill():
        with open(filler, 'wb', buffering=0) as f:
            try:
                while True:
                    f.write(b'x' * 4096)
            except OSError:
                pass

    def down():
        t = e.targets()[0]
        return t['health'] == 'down' and 'No space' in t['lastError']

    e = Everprof(mount, config).ready()
    wait_until('profiles', 10, lambda: e.range('heap'))
    fill()
    wait_until('full', 20, down)
    stored = e.range('heap')[0]['timestamps']
    assert e.raw({'job': 't'}, stored[0]).status == 200
    e.stop(signal.SIGKILL)
    # A start on a full disk: what is there can be read.
    e = Everprof(mount, config).ready()
    assert set(e.range('heap')[0]['timestamps']) >= set(stored)
    # The start has freed what the last WAL segment had reserved.
    fill()
    wait_until('full again', 20, down)
    os.unlink(filler)
    wait_until('room again', 20, lambda: e.targets()[0]['health'] == 'up')
    assert set(e.range('heap')[0]['timestamps']) > set(stored)
    e.finish()
    target.stop()


@suite.test
def pages_are_the_web_ui_and_its_files_are_there(d):
    import re

    e, target = started(d)
    page = e.get('/').body.decode()
    assert e.get('/targets').body.decode() == e.get('/status').body.decode() == page
    files = re.findall(r'(?:href|src)="(assets/[^"]+)"', page)
    assert sorted(f.rsplit('.', 1)[1] for f in files) == ['css', 'js', 'svg'], files
    for file in files:
        plain = e.get('/' + file)
        packed = e.get('/' + file, headers={'Accept-Encoding': 'gzip'})
        assert packed.headers['Content-Encoding'] == 'gzip'
        assert gzip.decompress(packed.body) == plain.body and plain.body
        brotli = e.get('/' + file, headers={'Accept-Encoding': 'gzip, br;q=0.9'})
        assert brotli.headers['Content-Encoding'] == 'br' and len(brotli.body) < len(packed.body)
        assert e.get('/' + file, headers={'If-None-Match': plain.headers['ETag']}).status == 304
    assert e.get('/assets/index.html').status == 404
    assert e.get('/assets/../everprof.yaml').status == 404
    assert "default-src 'none'; script-src 'self'" in e.get('/').headers['Content-Security-Policy']
    target.stop()


@suite.test
def go_tool_pprof_reads_the_url(d):
    port = free_port()
    Process([LEAKAPP, f'127.0.0.1:{port}'], os.path.join(d, 'leakapp.log'))
    e = Everprof(
        d,
        'scrape_configs:\n- job_name: leakapp\n  scrape_interval: 2s\n'
        + only('heap', 'profile', 'goroutine', seconds=1)
        + f'  static_configs: [{{targets: ["127.0.0.1:{port}"]}}]\n',
    ).ready()
    wait_until('three types', 30, lambda: len(e.range('{job="leakapp"}')) == 3)
    for kind in ('heap', 'profile', 'goroutine'):
        out = subprocess.run(
            [GO, 'tool', 'pprof', '-top', f'{e.url}/api/v1/query?query={kind}{{job="leakapp"}}&time=now&match=before'],
            capture_output=True,
            text=True,
            env={**os.environ, 'PPROF_TMPDIR': d, 'HOME': d},
        )
        assert out.returncode == 0 and 'flat%' in out.stdout, out.stderr + out.stdout
    first = e.targets()[0]
    out = os.path.join(d, 'one.pb.gz')
    r = run('query', 'profile', 'heap', '-o', out, f'--server={e.url}')
    assert r.returncode == 0 and os.path.getsize(out) > 100, r.stderr
    assert first['health'] == 'up'


@suite.test
def command_line_queries(d):
    e, target = started(d)
    server = f'--server={e.url}'
    assert run('query', 'labels', server).stdout == '__name__\ninstance\njob\n'
    assert run('query', 'labels', 'job', server).stdout == 't\n'
    assert run('query', 'series', 'heap', server).stdout.startswith('heap{instance=')
    lines = run('query', 'range', 'heap', server).stdout.splitlines()
    assert lines and all('\t' in line for line in lines)
    r = run('query', 'range', 'heap{', server)
    assert r.returncode == 1 and 'parse error' in r.stderr, r
    r = run('query', 'profile', 'nope', '-o', os.path.join(d, 'x'), server)
    assert r.returncode == 1 and 'no profile' in r.stderr, r
    assert run('query', 'range', server).returncode == 2
    assert run('nonsense').returncode == 2
    assert run('serve', '--nonsense').returncode == 2
    assert run('--version').stdout.startswith('everprof ')
    for command in (
        'serve',
        'check config',
        'check selector',
        'query labels',
        'query series',
        'query range',
        'query profile',
        'tsdb import',
        'tsdb dump',
    ):
        r = run(*command.split(), '--help')
        assert r.returncode == 0 and 'usage: everprof ' + command in r.stdout, r
    assert run('check', 'selector', 'heap{a="b"}').returncode == 0
    r = run('check', 'selector', '--', 'heap{a=~"("}')
    assert r.returncode == 1 and '1:9' in r.stderr, r
    # dump beside the running server
    dump = run('tsdb', 'dump', e.data).stdout.splitlines()
    assert dump
    for line in dump:
        labels, ms, length, _, sha = line.split('\t')
        body = e.get('/api/v1/query', query=labels, time=ms, match='exact', report='raw').body
        assert len(body) == int(length) and hashlib.sha256(body).hexdigest() == sha
    target.stop()


@suite.test
def invalid_configuration_prevents_the_start(d):
    e = Everprof(d, 'scrape_configs:\n- job_nam: x\n  scrape_interval: soon\n')
    assert e.child.wait(timeout=30) == 1
    text = e.text()
    assert 'everprof.yaml:2:3: field job_nam not found' in text, text
    assert 'everprof.yaml:3:20: invalid duration "soon"' in text, text
    assert not os.path.exists(e.data)
    r = run('check', 'config', os.path.join(d, 'everprof.yaml'))
    assert r.returncode == 1 and ':2:3:' in r.stderr
    r = run('check', 'config', os.path.join(d, 'missing.yaml'))
    assert r.returncode == 1 and 'missing.yaml' in r.stderr


@suite.test
def second_server_reports_pid_of_the_first(d):
    e = Everprof(d).ready()
    r = run(
        'serve', f'--config.file={d}/everprof.yaml', f'--storage.tsdb.path={e.data}', '--web.listen-address=127.0.0.1:0'
    )
    assert r.returncode == 1 and f'pid {e.child.pid}' in r.stderr, r.stderr
    r = run('tsdb', 'import', d, f'--storage.tsdb.path={e.data}')
    assert r.returncode == 1 and f'pid {e.child.pid}' in r.stderr, r.stderr
    assert e.stop() == 0
    assert Everprof(d).ready().stop(signal.SIGINT) == 0


@suite.test
def imported_profiles_are_returned_by_the_server(d):
    folder = os.path.join(d, 'in', 'app', 'heap')
    os.makedirs(folder)
    want = {}
    base = 1700000000000
    for i in range(100):
        body = profile(f'{i}', size=i * 10)
        want[base + i * 60000] = body
        with open(os.path.join(folder, f'{base + i * 60000}.pb.gz'), 'wb') as f:
            f.write(packed(body) if i % 2 else body)
    with open(os.path.join(folder, f'{base + 1}.pb.gz'), 'wb') as f:
        f.write(b'garbage')
    data = os.path.join(d, 'server', 'data')
    os.makedirs(os.path.dirname(data))
    r = run('tsdb', 'import', os.path.join(d, 'in'), f'--storage.tsdb.path={data}')
    assert r.stdout == '100 profiles imported, 1 refused\n', r
    assert r.returncode == 1 and f'{base + 1}.pb.gz' in r.stderr
    r = run('tsdb', 'import', os.path.join(d, 'in'), f'--storage.tsdb.path={data}', '--labels={env="x"}')
    assert r.stdout == '100 profiles imported, 1 refused\n', r
    e = Everprof(os.path.join(d, 'server')).ready()
    series = e.range('heap{job="app"}')
    assert len(series) == 2
    before = e.metric('everprof_tsdb_value_bytes_read_total')
    assert before == 0
    for s in series:
        assert s['timestamps'] == sorted(want)
        for ms in s['timestamps'][::7]:
            assert e.raw(s['labels'], ms).body == want[ms]
    assert e.metric('everprof_tsdb_value_bytes_read_total') > 0


@suite.test
def import_skips_bad_files_and_dump_lists_all(d):
    base = 1700000000000
    folder = os.path.join(d, 'in', 'app', 'heap')
    os.makedirs(folder)
    for i in range(3):
        with open(os.path.join(folder, f'{base + i}.pb'), 'wb') as f:
            f.write(profile(f'{i}'))
    os.symlink(os.path.join(d, 'nothing'), os.path.join(folder, f'{base + 7}.pb'))
    os.symlink('.', os.path.join(folder, 'loop'))
    with open(os.path.join(folder, 'broken.tar'), 'w') as f:
        f.write('this is no tar')
    data = os.path.join(d, 'data')
    r = run('tsdb', 'import', os.path.join(d, 'in'), f'--storage.tsdb.path={data}')
    assert r.stdout == '3 profiles imported, 2 refused\n' and r.returncode == 1, r
    assert 'broken.tar' in r.stderr and str(base + 7) in r.stderr, r
    undated = os.path.join(d, 'undated.pb')
    with open(undated, 'wb') as f:
        f.write(profile('x'))
    r = run('tsdb', 'import', undated, '--labels=heap{job="x"}', f'--storage.tsdb.path={data}')
    assert r.returncode == 1 and 'neither the name of the file nor the profile has a time' in r.stderr, r
    r = run('tsdb', 'import', undated, '--labels=heap{job="x",job="y"}', f'--storage.tsdb.path={data}')
    assert r.returncode == 1 and 'duplicate label job' in r.stderr, r
    with open('/dev/full', 'w') as full:
        r = subprocess.run([BINARY, 'tsdb', 'dump', data], stdout=full, stderr=subprocess.PIPE)
    assert r.returncode == 1 and b'No space' in r.stderr, r
    # Profiles that are only in the WAL, and a range that must be made anew
    target = Server(lambda r: send(r, packed(profile('w'))))
    e = Everprof(os.path.join(d, 'server'), 'scrape_configs:\n' + job('t', target.address, only('heap'))).ready()
    wait_until('profiles', 10, lambda: e.range('heap') and len(e.range('heap')[0]['timestamps']) > 2)
    e.stop(signal.SIGKILL)
    count = len(run('tsdb', 'dump', e.data).stdout.splitlines())
    assert count > 2
    ranges = os.path.join(e.data, 'ranges')
    for name in os.listdir(ranges):
        os.truncate(os.path.join(ranges, name, 'groups'), 20)
    assert len(run('tsdb', 'dump', e.data).stdout.splitlines()) == count
    shutil.rmtree(ranges)
    assert len(run('tsdb', 'dump', e.data).stdout.splitlines()) == count
    e = Everprof(os.path.join(d, 'server')).ready()
    assert len(e.range('heap')[0]['timestamps']) == count
    target.stop()


@suite.test
def metrics_pass_promtool_check(d):
    e, target = started(d)
    text = e.get('/metrics').body
    out = subprocess.run(['/usr/bin/promtool', 'check', 'metrics'], input=text, capture_output=True)
    assert out.returncode == 0, out.stderr.decode() + out.stdout.decode()
    target.stop()


@suite.test
def real_programs_are_scraped(d):
    """Prometheus, etcd and node_exporter of Debian, and a Go program."""
    addresses = start_programs(d)
    e = Everprof(
        d,
        'scrape_configs:\n'
        + ''.join(
            f'- job_name: {n}\n  scrape_interval: 5s\n  profiling_config: {{pprof_config: '
            f'{{profile: {{seconds: 1}}}}}}\n  static_configs: [{{targets: ["{a}"]}}]\n'
            for n, a in addresses.items()
        ),
    ).ready()

    def complete():
        have = {(s['labels']['job'], s['labels']['__name__']) for s in e.range('{job=~".+"}')}
        return len(have) == 28

    wait_until('seven types of four programs', 60, complete, 0.5)
    for t in e.targets():
        assert t['health'] == 'up', t
    for s in e.range('{job=~".+"}'):
        ms = s['timestamps'][-1]
        meta = e.get('/api/v1/query', query=selector(s['labels']), time=ms, match='exact', report='meta').data()
        assert meta['sampleTypes'], meta


suite.main()
