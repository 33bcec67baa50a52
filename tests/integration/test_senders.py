#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that push profiles: requests that Pyroscope's SDKs have sent
(testdata/push/README.md) are replayed, and what is stored is compared with what
they contain."""
import concurrent.futures
import glob
import gzip
import http.client
import os
import signal
import time

from harness import ROOT, Everprof, Suite, field, memory, packed, profile, wait_until
from printed import Shell, commands, section, text_of
from recorded_push import V1, plain, pushed, recorded
from remote_nodes import Agent
from users import bearer

suite = Suite()
PUSH = ['--web.enable-push-receiver', '--storage.tsdb.retention.time=0']


def start(d, *flags):
    return Everprof(d, flags=[*PUSH, *flags]).ready()


def replay(e, name):
    path, headers, body = recorded(name)
    return e.get(path, data=body, headers=headers, method='POST')


def inside(name):
    """The decompressed profile of a recorded request."""
    [(_, body)] = pushed(*recorded(name))
    return body


def series(e):
    return e.get('/api/v1/series', **{'match[]': '{__name__=~".+"}'}).data()


SHOWN = {
    'go-cpu': {'__name__': 'process_cpu'},
    'go-memory': {'__name__': 'memory', '__delta__': 'false'},
    'go-goroutine': {'__name__': 'goroutine'},
    'go-mutex': {'__name__': 'mutex', '__delta__': 'false'},
    'go-block': {'__name__': 'block', '__delta__': 'false'},
    'node-wall': {'__name__': 'wall'},
    'node-heap': {'__name__': 'memory'},
    'python-cpu': {'__name__': 'process_cpu'},
}


@suite.test
def what_the_sdks_sent_is_stored_byte_for_byte(d):
    names = {os.path.basename(p)[: -len('.http')] for p in glob.glob(f'{ROOT}/testdata/push/*.http')}
    assert names == set(SHOWN), names
    for name, expected in SHOWN.items():
        e = start(f'{d}/{name}')
        for _ in range(2):  # a client that has lost the answer sends it again
            answer = replay(e, name)
            assert answer.status == 200 and answer.body == b'', (name, answer.status, answer.body)
        [labels] = series(e)
        language = name.split('-')[0]
        assert expected.items() <= labels.items(), (name, labels)
        assert ('__delta__' in labels) == ('__delta__' in expected), (name, labels)
        assert labels['service_name'] == labels['job'] == f'shop.{language.replace("python", "py")}', labels
        assert labels['region'] == 'eu' and labels['instance'] == '127.0.0.1', labels
        assert labels.get('pyroscope_spy', '') == {'go': 'gospy', 'node': 'nodespy'}.get(language, ''), labels
        [found] = e.range('{__name__=~".+"}')
        [at] = found['timestamps']
        assert plain(e.raw(labels, at).body) == inside(name), name
        e.finish()


@suite.test
def replicas_without_labels_of_their_own_lose_nothing(d):
    """Clients round times, so that replicas have the same."""
    e = start(d)
    bodies = [profile(f'replica {i}', i + 1) for i in range(200)]

    def send(body):
        answer = e.get('/ingest', data=body, method='POST', name='app{host=x}', format='pprof', **{'from': 1700000000})
        assert answer.status == 200, answer.body

    for _ in range(2):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(send, bodies))
    [found] = e.range('{__name__=~".+"}')
    assert len(found['timestamps']) == 200, len(found['timestamps'])
    assert max(found['timestamps']) < 1700000001000
    stored = {e.raw(found['labels'], at).body for at in found['timestamps']}
    assert {plain(s) for s in stored} == set(bodies)
    assert e.metric('everprof_push_profiles_stored_total', 'ingest') == 400
    assert e.metric('everprof_push_collisions_total') > 0
    e.finish()


@suite.test
def the_lines_for_curl_work_as_they_are_printed(d):
    """Those of docs/integrations.md, but for the address, and for go, which needs a program to ask."""
    e = start(d)
    shell = Shell(f'{d}/shell')
    text = text_of('docs/integrations.md')
    shell.write('cpu.pb.gz', packed(profile('printed', 7)))
    with gzip.open(f'{ROOT}/testdata/jfr/async-profiler.jfr.gz') as f:
        shell.write('shop.jfr', f.read())
    with open(f'{ROOT}/testdata/otlp/async-profiler-itimer.otlp', 'rb') as f:
        shell.write('shop.otlp', f.read())
    lines = commands(section(text, '## Go\n', '## Grafana\n'), 'curl ', 'printf ', 'go tool pprof ')
    assert [line.split()[0] for line in lines] == ['curl', 'curl', 'go', 'curl', 'printf', 'curl'], lines
    for line in lines:
        if not line.startswith('go '):
            answer = shell.run(
                line.replace('http://everprof:10902', e.url).replace('curl ', 'curl -sS --fail-with-body ')
            )
            assert not answer or 'curl' in line, (line, answer)
    found = {(s['labels']['__name__'], s['labels']['service_name']) for s in e.range('{__name__=~".+"}')}
    assert {('process_cpu', 'shop'), ('memory', 'shop')} <= found, found
    folded = e.get(
        '/api/v1/query',
        query='process_cpu{region="eu"}',
        report='folded',
        sample_index='cpu',
        **{'from': 'now-1h', 'to': 'now'},
    ).body.decode()
    assert 'main;work;sum' in folded, folded
    e.finish()


def message(*all_series):
    out = b''
    for labels, bodies in all_series:
        text = b''.join(field(1, field(1, k.encode()) + field(2, v.encode())) for k, v in labels.items())
        out += field(1, text + b''.join(field(2, field(1, b)) for b in bodies))
    return out


def push(e, body, **headers):
    headers = {'Content-Type': 'application/proto', **{k.replace('_', '-'): v for k, v in headers.items()}}
    return e.get(V1, data=body, headers=headers, method='POST')


@suite.test
def errors_have_the_form_that_clients_read(d):
    e = start(d)
    for params, body, status, text in (
        ({'name': 'a'}, b'x', 400, 'format=pprof'),
        ({'format': 'tree', 'name': 'a'}, b'x', 415, '"tree"'),
        ({'format': 'pprof'}, profile('a'), 400, 'names the application'),
        ({'format': 'pprof', 'name': 'a{b'}, profile('a'), 400, 'closing brace'),
        ({'format': 'pprof', 'name': 'a', 'from': 'soon'}, profile('a'), 400, '"from"'),
        ({'format': 'pprof', 'name': 'a'}, b'hello', 422, 'was refused'),
        ({'format': 'pprof', 'name': 'a', 'from': '1'}, b'', 422, 'was refused'),
    ):
        answer = e.get('/ingest', data=body, method='POST', **params)
        assert answer.status == status and text in answer.body.decode(), (params, answer.status, answer.body)
        assert answer.headers['Content-Type'].startswith('text/plain'), answer.headers
    assert e.get('/ingest').status == 405
    for body, headers, status, code, text in (
        (b'\xff', {}, 400, 'invalid_argument', 'PushRequest'),
        (message(({'__name__': 'cpu'}, [b'hello'])), {}, 400, 'invalid_argument', 'was refused'),
        (message(({'a': 'b'}, [profile('a')])), {}, 400, 'invalid_argument', '__name__'),
        (b'{}', {'Content_Type': 'application/grpc'}, 415, 'invalid_argument', 'application/proto'),
        (b'{', {'Content_Type': 'application/json'}, 400, 'invalid_argument', ''),
        (b'x', {'Content_Encoding': 'br'}, 415, 'invalid_argument', 'gzip'),
        (b'x', {'Content_Encoding': 'zstd'}, 400, 'invalid_argument', 'no zstd stream'),
    ):
        answer = push(e, body, **headers)
        assert answer.status == status, (body, answer.status, answer.body)
        assert answer.headers['Content-Type'] == 'application/json', answer.headers
        error = answer.json()
        assert error['code'] == code and text in error['message'], error
    assert not series(e)
    answer = push(e, message(({'__name__': 'cpu'}, [profile('a'), b'hello', profile('b')])))
    assert answer.status == 400 and '1 of 3 profiles were refused' in answer.json()['message'], answer.body
    [found] = e.range('cpu')
    assert len(found['timestamps']) == 2, 'the good ones are stored'
    e.finish()


@suite.test
def a_server_that_takes_none_says_which_flag(d):
    e = Everprof(d).ready()
    answer = replay(e, 'go-cpu')
    assert answer.status == 404 and b'--web.enable-push-receiver' in answer.body, answer.body
    answer = replay(e, 'python-cpu')
    assert answer.status == 404 and answer.json()['code'] == 'not_found', answer.body
    e.finish()


@suite.test
def a_token_for_writing_is_enough(d):
    os.makedirs(d, exist_ok=True)
    with open(f'{d}/web.yml', 'w') as f:
        f.write(
            'bearer_tokens:\n'
            '- {name: sdk, token: 0123456789abcdef, scopes: [write]}\n'
            '- {name: eye, token: fedcba9876543210, scopes: [read]}\n'
        )
    e = start(d, f'--web.config.file={d}/web.yml')
    body = message(({'__name__': 'cpu'}, [profile('a')]))
    answer = push(e, body)
    assert answer.status == 401 and answer.json()['code'] == 'unauthenticated', answer.body
    answer = push(e, body, **bearer('fedcba9876543210'))
    assert answer.status == 403 and answer.json()['code'] == 'permission_denied', answer.body
    assert push(e, body, **bearer('0123456789abcdef')).status == 200
    answer = e.get('/ingest', data=profile('a'), method='POST', name='a', format='pprof')
    assert answer.status == 401 and not answer.body.startswith(b'{'), answer.body
    # Whoever asks why a program does not show up sees it without a log.
    eye = bearer('fedcba9876543210')
    rows = e.get('/api/v1/senders', headers=eye).data()['senders']
    assert len(rows) == 4, rows
    assert [(r['stored'], r['refused'], r['user']) for r in rows if r['stored']] == [(1, 0, 'sdk')], rows
    assert sum('authentication' in r['lastError'] for r in rows) == 2, rows
    assert sum('scope' in r['lastError'] for r in rows) == 1, rows
    page = e.get('/senders', headers=eye).body.decode()
    assert 'unknown_service' in page and 'scope' in page, page
    e.finish()


@suite.test
def the_section_push_changes_and_drops_profiles(d):
    e = start(d)
    assert e.get('/api/v1/senders').data() == {'enabled': True, 'senders': []}
    assert 'No program has pushed' in e.get('/senders').body.decode()

    def send(name):
        body = profile(f'{name} {time.monotonic_ns()}')
        answer = e.get('/ingest', data=body, method='POST', name=name, format='pprof')
        assert answer.status == 200, answer.body

    send('shop')
    assert series(e)[0]['instance'] == '127.0.0.1'
    with open(f'{d}/everprof.yaml', 'w') as f:
        f.write(
            'push:\n'
            '  instance: none\n'
            '  relabel_configs:\n'
            '  - {source_labels: [service_name], regex: noise, action: drop}\n'
            '  - {source_labels: [__meta_push_protocol, __address__], target_label: via}\n'
        )
    e.child.send_signal(signal.SIGHUP)
    wait_until('loaded', 30, lambda: 'relabel_configs' in e.get('/api/v1/status/config').data()['yaml'])
    send('cart')
    send('noise')
    [cart] = [s for s in series(e) if s['service_name'] == 'cart']
    assert 'instance' not in cart and cart['via'] == 'ingest;127.0.0.1', cart
    assert not [s for s in series(e) if s['service_name'] == 'noise']
    rows = {r['service']: r for r in e.get('/api/v1/senders').data()['senders']}
    assert rows['noise']['dropped'] == 1 and 'relabel_configs' in rows['noise']['lastError'], rows
    assert rows['cart']['stored'] == 1 and rows['cart']['lastError'] == '', rows
    assert e.metric('everprof_push_profiles_dropped_total', '{protocol="ingest"}') == 1
    e.finish()


@suite.test
def a_tag_with_an_id_of_each_request_uses_up_only_its_own_quota(d):
    e = start(d, '--ingest.max-new-series=20')
    bad = message(*[({'__name__': 'cpu', 'id': str(i)}, [profile(f'bad {i}')]) for i in range(30)])
    answer = push(e, bad)
    assert answer.status == 429 and '--ingest.max-new-series' in answer.json()['message'], answer.body
    assert len(series(e)) == 20
    # Its older series go on, and the next request of the same is no worse.
    assert push(e, message(({'__name__': 'cpu', 'id': '3'}, [profile('good')]))).status == 200
    assert push(e, bad).status == 429
    assert len(series(e)) == 20
    e.finish()


@suite.test
def what_is_too_large_is_refused_and_memory_is_bounded(d):
    e = start(d, '--scrape.max-profile-size=1MB', '--ingest.memory=16MB')
    bomb = gzip.compress(bytes(64 << 20))
    before = e.memory()
    answer = push(e, bomb, Content_Encoding='gzip')
    assert answer.status == 400 and '--scrape.max-profile-size' in answer.json()['message'], answer.body
    answer = e.get('/ingest', data=bomb, method='POST', name='a', format='pprof')
    assert answer.status == 422, (answer.status, answer.body)
    answer = e.get('/ingest', data=bytes(4 << 20), method='POST', name='a', format='pprof')
    assert answer.status == 413, (answer.status, answer.body)
    assert e.memory() < before + 24, (before, e.memory())
    e.finish()


@suite.test
def pushed_increments_are_summed_and_counters_are_not(d):
    """As a Go program that allocates 1 000 bytes in each of 10 intervals: pushed by SDKs, and scraped."""
    e = start(d)
    begin = 1700000000
    for i in range(10):
        at = (begin + 15 * i) * 10**9
        for name, body, path in (
            ('delta{host=h}', memory(1000, at), '/ingest'),
            ('counter{host=h}', memory(1000 * (i + 1), at), '/ingest'),
        ):
            form = b'--b\r\nContent-Disposition: form-data; name=profile\r\n\r\n' + body + b'\r\n'
            if name.startswith('counter'):
                config = b'{"alloc_space":{"cumulative":true}}'
                form += b'--b\r\nContent-Disposition: form-data; name=sample_type_config\r\n\r\n' + config + b'\r\n'
            headers = {'Content-Type': 'multipart/form-data; boundary=b'}
            answer = e.get(path, data=form + b'--b--', method='POST', headers=headers, name=name)
            assert answer.status == 200, answer.body
    span = {'from': begin * 1000, 'to': (begin + 150) * 1000}

    def total(job, sample_type='alloc_space'):
        asked = {'query': f'memory{{job="{job}"}}', 'sample_index': sample_type, **span}
        return e.get('/api/v1/query', mode='merge', report='top', **asked).data()['total']

    assert total('delta') == 10000
    assert total('counter') == 9000, 'the last one minus the first one'
    assert total('delta', 'inuse_space') == 7, 'a state is averaged'
    for job, wanted in (('delta', 10000), ('counter', 9000)):
        [line] = e.get('/api/v1/query_range', query=f'memory{{job="{job}"}}', step='150s', **span).data()
        assert sum(v or 0 for v in line['totals']['alloc_space/bytes']) == wanted, (job, line)
    e.finish()


def chunked(e, path, body, headers):
    """The status of a request with a body in chunks, which have no length together."""
    c = http.client.HTTPConnection('127.0.0.1', e.port, timeout=30)
    pieces = [body[i : i + 1000] for i in range(0, len(body), 1000)]
    c.request('POST', path, body=iter(pieces), headers=headers, encode_chunked=True)
    answer = c.getresponse()
    assert answer.getheader('Connection') == 'close', answer.getheaders()
    answer.read()
    c.close()
    return answer.status


@suite.test
def bodies_may_come_in_chunks(d):
    """As the Java agent and older Connect clients send them."""
    e = start(d, '--scrape.max-profile-size=1MB')
    for name in ('go-cpu', 'python-cpu'):
        path, headers, body = recorded(name)
        assert chunked(e, path, body, headers) == 200, name
        assert replay(e, name).status == 200, 'a retry'
    stored = e.range('{__name__="process_cpu"}')
    assert len(stored) == 2
    for one in stored:
        assert len(one['timestamps']) == 1
    assert {plain(e.raw(one['labels'], one['timestamps'][0]).body) for one in stored} == {
        inside('go-cpu'),
        inside('python-cpu'),
    }
    assert chunked(e, '/ingest?name=a&format=pprof', b'x' * (8 << 20), {}) == 413
    e.finish()


@suite.test
def an_agent_passes_pushed_profiles_on(d):
    central = Everprof(f'{d}/central', flags=['--web.enable-remote-write-receiver', *PUSH[1:]]).ready()
    config = f'remote_write:\n- url: {central.url}/api/v1/write\n'
    a = Agent(f'{d}/agent', config, flags=['--web.enable-push-receiver'])
    # Workers of one host without labels of their own, at one time; one of them sends twice.
    bodies = [profile(f'worker {i}') for i in range(20)]
    now = int(time.time())
    for body in bodies + bodies[3:4]:
        answer = a.get('/ingest', data=body, method='POST', name='app{host=h}', format='pprof', **{'from': now})
        assert answer.status == 200, answer.body

    def arrived():
        found = central.range('{service_name="app"}')
        return found and len(found[0]['timestamps']) == 20

    wait_until('arrived', 30, arrived)
    [found] = central.range('{service_name="app"}')
    assert {plain(central.raw(found['labels'], at).body) for at in found['timestamps']} == set(bodies)
    assert not central.metric('everprof_remote_write_conflicts_total')
    assert a.stop() == 0, a.text()
    central.finish()


suite.main()
