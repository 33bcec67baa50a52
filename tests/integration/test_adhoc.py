#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that somebody uploads to look at: the API, Grafana's requests, everprof view."""
import base64
import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import tarfile
import time
import urllib.request

from harness import BINARY, ROOT, Everprof, Suite, field, wait_until
from remote_nodes import Agent
from users import basic, hashed

suite = Suite()
FOLDED = b'main;work;sum 60\nmain;idle 40\n'
PERF = b'''bash  1099 25122.526322:    1003009 cpu-clock:ppp:
\tffffffff81386d58 alloc_pid+0x338 ([kernel.kallsyms])
\t           d4353 _Fork+0x23 (/usr/lib/libc.so.6)

bash  1099 25122.528322:    1003009 cpu-clock:ppp:
\t           d4353 _Fork+0x23 (/usr/lib/libc.so.6)
'''


def corpus(name):
    """A profile of testdata/profiles.tar, as it was stored."""
    with tarfile.open(os.path.join(ROOT, 'testdata/profiles.tar')) as t:
        member = next(m for m in sorted(t.getnames()) if name in m and m.endswith('.pb.gz'))
        return t.extractfile(member).read()


def recording():
    with open(os.path.join(ROOT, 'testdata/jfr/java-17.jfr.gz'), 'rb') as f:
        return f.read()


def upload(e, body, name='file', status=200, headers=None):
    answer = e.get('/api/v1/adhoc', name=name, data=body, headers=headers, method='POST')
    assert answer.status == status, (answer.status, answer.body)
    return answer.data() if status == 200 else json.loads(answer.body)['error']


def report(e, name, **params):
    answer = e.get('/api/v1/query', report=name, **params)
    assert answer.status == 200, (answer.status, answer.body)
    return answer


def folded(e, ref, **params):
    text = report(e, 'folded', adhoc=ref, **params).body.decode()
    return {stack: int(n) for stack, n in (line.rsplit(' ', 1) for line in text.splitlines())}


def connect(e, method, message, headers=None):
    return e.get(
        '/adhocprofiles.v1.AdHocProfileService/' + method,
        data=json.dumps(message).encode(),
        headers={'Content-Type': 'application/json', **(headers or {})},
        method='POST',
    )


@suite.test
def every_format_becomes_reports(d):
    e = Everprof(d).ready()
    f = upload(e, FOLDED, 'a.folded')
    assert f['format'] == 'folded' and f['name'] == 'a.folded', f
    assert folded(e, f['id']) == {'main;work;sum': 60, 'main;idle': 40}
    f = upload(e, PERF, 'perf.txt')
    assert [p['name'] for p in f['parts']] == ['cpu-clock:ppp'], f
    assert folded(e, f['id']) == {'_Fork;alloc_pid': 1003009, '_Fork': 1003009}
    assert folded(e, f['id'], sample_index='samples', tagroot='comm') == {'bash;_Fork;alloc_pid': 1, 'bash;_Fork': 1}
    f = upload(e, recording(), 'shop.jfr')
    assert len(f['parts']) > 3 and f['format'] == 'jfr', f
    for i, part in enumerate(f['parts']):
        top = report(e, 'top', adhoc=f'{f["id"]}/{i}').data()
        assert top['sample_type'] == part['defaultSampleType'], (part, top['sample_type'])
        assert top['total'] > 0, part
    e.finish()


@suite.test
def a_profile_is_kept_byte_for_byte_and_answers_as_if_it_was_stored(d):
    e = Everprof(d, flags=['--web.enable-push-receiver']).ready()
    for name in ('leakapp/heap', 'leakapp/profile', 'leakapp/goroutine'):
        body = corpus(name)
        raw = gzip.decompress(body)
        f = upload(e, body, name)
        got = report(e, 'raw', adhoc=f['id']).body
        assert hashlib.sha256(got).digest() == hashlib.sha256(raw).digest(), name
        # Stored in the ordinary way, it gives the same reports.
        app = name.replace('/', '_')
        answer = e.get('/ingest', name=app, **{'from': 1700000000}, format='pprof', data=body, method='POST')
        assert answer.status == 200, answer.body
        at = e.range('{service_name="%s"}' % app)[0]['timestamps'][0]
        stored = {'query': '{service_name="%s"}' % app, 'time': at}
        for kind in ('top', 'flamegraph', 'graph', 'peek', 'folded', 'traces', 'speedscope', 'meta'):
            ours = report(e, kind, adhoc=f['id'])
            theirs = report(e, kind, **stored)
            if kind == 'meta':
                same = ('sampleTypes', 'periodType', 'period', 'timeNanos', 'durationNanos', 'samples', 'bytes', 'xxh3')
                assert [ours.data()[k] for k in same] == [theirs.data()[k] for k in same], name
            else:
                assert ours.body == theirs.body, (name, kind)
        # The difference of the file and what is stored is nothing.
        diff = report(e, 'top', mode='diff', adhoc_a=f['id'], query_b=stored['query'], time_b=at)
        assert all(r['flat'] == 0 and r['cum'] == 0 for r in diff.data()['rows']), name
        assert diff.headers['X-Everprof-Normalize'] in ('none', 'total'), diff.headers
    e.finish()


@suite.test
def two_files_are_compared(d):
    e = Everprof(d).ready()
    a = upload(e, FOLDED, 'a')['id']
    b = upload(e, b'main;work;sum 30\nmain;work;more 20\nmain;idle 50\n', 'b')['id']
    sides = {'mode': 'diff', 'adhoc_a': a, 'adhoc_b': b}
    text = report(e, 'folded', **sides, diff='base').body.decode()
    assert sorted(text.splitlines()) == ['main;idle 10', 'main;work;more 20', 'main;work;sum -30'], text
    scope = report(e, 'speedscope', **sides).json()
    weights = {p['name']: sorted(p['weights']) for p in scope['profiles']}
    # Samples count for a time, so that B is scaled to the total of A, which is equal here.
    assert weights == {'samples of B': [20, 30, 50], 'samples of A, the base': [40, 60]}, weights
    for extra in ({'report': 'compare'}, {'report': 'flamegraph', 'errors': 1}):
        answer = e.get('/api/v1/query', **sides, **extra)
        assert answer.status == 400 and b'need many profiles on each side' in answer.body, answer.body
    answer = e.get('/api/v1/query', adhoc=a, query='x', report='top')
    assert answer.status == 400 and b'exclude each other' in answer.body, answer.body
    # Files of different kinds have nothing in common.
    heap = upload(e, corpus('leakapp/heap'), 'heap')['id']
    answer = e.get('/api/v1/query', mode='diff', adhoc_a=a, adhoc_b=heap, report='top')
    assert answer.status == 400 and b'different sample types' in answer.body, answer.body
    e.finish()


@suite.test
def files_outlive_a_crash_and_go_one_by_one(d):
    e = Everprof(d).ready()
    ids = [upload(e, FOLDED, f'{i}')['id'] for i in range(3)]
    assert e.get('/api/v1/adhoc/' + ids[0], method='POST', keep='7d').data()['kept']
    e.child.kill()
    e.child.wait()
    e = Everprof(d).ready()
    listed = e.get('/api/v1/adhoc').data()
    assert sorted(f['id'] for f in listed) == sorted(ids), listed
    assert [f['kept'] for f in listed] == [f['id'] == ids[0] for f in listed], listed
    assert folded(e, ids[0]) == {'main;work;sum': 60, 'main;idle': 40}
    assert e.get('/api/v1/adhoc/' + ids[1], method='DELETE').status == 204
    assert e.get('/api/v1/adhoc/' + ids[1]).status == 404
    assert e.get('/api/v1/query', adhoc=ids[1], report='top').status == 404
    for keep in ('', '0s', '31d', 'x'):
        assert e.get('/api/v1/adhoc/' + ids[0], method='POST', keep=keep).status == 400, keep
    answer = e.get('/api/v1/adhoc/' + ids[0], method='PUT', data=b'')
    assert answer.status == 400, answer.status
    answer = e.get('/api/v1/adhoc/' + ids[0], method='PATCH')
    assert answer.status == 405 and answer.headers['Allow'] == 'GET, HEAD, POST, PUT, DELETE', answer.headers
    e.finish()
    # Neither verify nor a snapshot minds the folder, and no series has come.
    check = subprocess.run([BINARY, 'tsdb', 'verify', e.data], capture_output=True, text=True)
    assert check.returncode == 0, check


@suite.test
def the_size_of_all_files_is_bounded(d):
    e = Everprof(d, flags=['--adhoc.size=20KB', '--adhoc.ttl=1h']).ready()
    ids = [upload(e, FOLDED, f'{i}')['id'] for i in range(4)]
    assert [f['id'] for f in e.get('/api/v1/adhoc').data()] == [ids[3], ids[2]]
    assert b'everprof_adhoc_removed_total{reason="size"} 2' in e.get('/metrics').body
    assert b'everprof_adhoc_files 2' in e.get('/metrics').body
    assert 'none of the formats' in upload(e, os.urandom(3000), status=400)
    r = random.Random(1)
    big = b''.join(b'f%d;g%d 1\n' % (r.getrandbits(60), r.getrandbits(60)) for _ in range(3000))
    assert '--adhoc.size' in upload(e, big, status=413)
    # Nor does a file of several profiles remove others, of which only the first ones fit.
    assert '--adhoc.size' in upload(e, recording(), status=413)
    assert [f['id'] for f in e.get('/api/v1/adhoc').data()] == [ids[3], ids[2]]
    e.finish()
    e = Everprof(d, flags=['--adhoc.size=0']).ready()
    assert '--adhoc.size' in upload(e, FOLDED, status=404)
    assert e.get('/api/v1/query', adhoc=ids[3], report='top').status == 404
    e.finish()
    assert os.path.isdir(os.path.join(e.data, 'adhoc', ids[3])), 'what is there is not removed'


@suite.test
def a_user_changes_only_what_is_theirs(d):
    os.makedirs(d, exist_ok=True)
    config = os.path.join(d, 'web.yaml')
    with open(config, 'w') as f:
        f.write('basic_auth_users:\n')
        f.writelines(f"  {name}: '{hashed(name)}'\n" for name in ('reader', 'writer', 'admin'))
        f.write('basic_auth_scopes: {reader: [read], writer: [write]}\n')
    e = Everprof(d, flags=[f'--web.config.file={config}'])
    wait_until('ready', 30, lambda: 'everprof is ready' in e.text())
    reader, writer, admin = (basic(name, name) for name in ('reader', 'writer', 'admin'))
    assert e.get('/api/v1/adhoc', data=FOLDED, method='POST').status == 401
    assert e.get('/api/v1/adhoc', data=FOLDED, headers=writer, method='POST').status == 403
    f = upload(e, FOLDED, headers=admin)
    assert f['user'] == 'admin', f
    path = '/api/v1/adhoc/' + f['id']
    assert e.get(path, headers=reader).status == 200
    assert e.get(path, headers=reader, method='DELETE').status == 403
    assert e.get(path, headers=reader, method='POST', keep='1d').status == 403
    mine = upload(e, FOLDED, headers=reader)
    assert e.get('/api/v1/adhoc/' + mine['id'], headers=reader, method='DELETE').status == 204
    # A page of another origin uploads nothing with the password of its reader.
    evil = {'Origin': 'http://evil.example', **admin}
    assert e.get('/api/v1/adhoc', data=FOLDED, headers=evil, method='POST').status == 403
    assert e.get(path, headers=evil, method='DELETE').status == 403
    e.finish()


@suite.test
def an_uploaded_file_opens_no_source_to_readers(d):
    """A profile may name any file; only who could store it sees the text of what it names."""
    os.makedirs(f'{d}/src/app', exist_ok=True)
    with open(f'{d}/src/app/.env', 'w') as f:
        f.write('password: hunter2\n')
    with open(f'{d}/web.yaml', 'w') as f:
        f.write('basic_auth_users:\n')
        f.writelines(f"  {name}: '{hashed(name)}'\n" for name in ('reader', 'writer'))
        f.write('basic_auth_scopes: {reader: [read], writer: [read, write]}\n')
    e = Everprof(d, flags=[f'--web.config.file={d}/web.yaml', f'--query.source-path={d}/src'])
    wait_until('ready', 30, lambda: 'everprof is ready' in e.text())
    texts = [b'', b'cpu', b'nanoseconds', b'steal', b'app/.env']
    body = b''.join(
        [
            field(1, b'\x08\x01\x10\x02'),
            field(2, b'\x0a\x01\x01\x12\x01\x07'),
            field(4, b'\x08\x01\x22\x04\x08\x01\x10\x01'),
            field(5, b'\x08\x01\x10\x03\x20\x04'),
            *(field(6, t) for t in texts),
        ]
    )
    for name, sees in (('reader', False), ('writer', True)):
        headers = basic(name, name)
        f = upload(e, body, headers=headers)
        more = upload(e, body.replace(b'\x12\x01\x07', b'\x12\x01\x09'), headers=headers)
        for extra in ({}, {'mode': 'diff', 'adhoc_a': f['id'], 'adhoc_b': more['id']}):
            params = {'report': 'source', 'symbol': 'steal', 'format': 'json', **(extra or {'adhoc': f['id']})}
            answer = e.get('/api/v1/query', headers=headers, **params)
            assert answer.status == 200, answer.body
            assert (b'hunter2' in answer.body) == sees, (name, extra, answer.body)
    e.finish()


@suite.test
def what_has_expired_is_not_shown(d):
    e = Everprof(d, flags=['--adhoc.ttl=1s']).ready()
    f = upload(e, FOLDED)
    kept = upload(e, FOLDED)
    assert e.get('/api/v1/adhoc/' + kept['id'], method='POST', keep='1h').status == 200
    wait_until('it is gone', 30, lambda: e.get('/api/v1/adhoc/' + f['id']).status == 404)
    assert e.get('/api/v1/query', adhoc=f['id'], report='top').status == 404
    assert [x['id'] for x in e.get('/api/v1/adhoc').data()] == [kept['id']]
    assert e.get('/api/v1/adhoc/' + f['id'], method='DELETE').status == 404
    # The longest request counts, in whatever order they come.
    for keep in ('3h', '30d', '2h'):
        answer = e.get('/api/v1/adhoc/' + kept['id'], method='POST', keep=keep)
        assert answer.status == 200, answer.body
    assert answer.data()['expires'] > 1000 * (time.time() + 29 * 86400), answer.data()
    e.finish()


@suite.test
def an_agent_takes_no_files(d):
    a = Agent(d, 'scrape_configs: []\n')
    assert a.get('/api/v1/adhoc', data=FOLDED, method='POST').status == 404
    a.stop()


@suite.test
def grafana_uploads_and_compares(d):
    e = Everprof(d).ready()

    def send(name, body, **more):
        answer = connect(e, 'Upload', {'name': name, 'profile': base64.b64encode(body).decode(), **more})
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    a = send('a.folded', FOLDED)
    flame = json.loads(a['flamebearerProfile'])
    assert flame['flamebearer']['numTicks'] == 100, flame
    assert flame['flamebearer']['names'] == ['total', 'main', 'idle', 'work', 'sum'], flame
    assert a['profileType'] == 'samples' and a['profileTypes'] == ['samples'], a
    heap = send('heap', corpus('leakapp/heap'))
    for kind in heap['profileTypes']:
        got = json.loads(connect(e, 'Get', {'id': heap['id'], 'profileType': kind}).body)
        ours = report(e, 'flamegraph', adhoc=heap['id'], sample_index=kind).data()
        assert json.loads(got['flamebearerProfile'])['flamebearer']['numTicks'] == ours['total'], kind
        assert got['profileType'] == kind, got
    java = send('shop.jfr', recording())
    assert 'process_cpu:cpu' in java['profileTypes'], java['profileTypes']
    listed = json.loads(connect(e, 'List', {}).body)['profiles']
    assert [f['name'] for f in listed] == ['shop.jfr', 'heap', 'a.folded'], listed
    b = send('b.folded', b'main;work;sum 30\nmain;more 90\n')
    both = json.loads(connect(e, 'Diff', {'leftId': a['id'], 'rightId': b['id']}).body)
    flame = json.loads(both['flamebearerProfile'])
    assert (flame['leftTicks'], flame['rightTicks']) == (100, 120), flame
    for method, message, status in (
        ('Upload', {'name': 'x', 'profile': '@@'}, 400),
        ('Upload', {'name': 'x', 'profile': base64.b64encode(b'no').decode()}, 400),
        ('Get', {'id': 'x'}, 404),
        ('Get', {'id': a['id'], 'profileType': 'cpu'}, 400),
        ('Diff', {'leftId': a['id'], 'rightId': heap['id']}, 400),
        ('Remove', {}, 501),
    ):
        answer = connect(e, method, message)
        assert answer.status == status and 'code' in json.loads(answer.body), (method, answer.body)
    # What our page has uploaded is there, too, and the other way round.
    assert folded(e, b['id']) == {'main;work;sum': 30, 'main;more': 90}
    # A request may be compressed.
    text = json.dumps({'name': 'z', 'profile': base64.b64encode(corpus('leakapp/profile')).decode()})
    answer = e.get(
        '/adhocprofiles.v1.AdHocProfileService/Upload',
        data=gzip.compress(text.encode()),
        headers={'Content-Type': 'application/json', 'Content-Encoding': 'gzip'},
        method='POST',
    )
    assert answer.status == 200, answer.body
    e.finish()


def view(d, *arguments):
    env = {k: v for k, v in os.environ.items() if k not in ('DISPLAY', 'WAYLAND_DISPLAY')}
    return subprocess.Popen(
        [BINARY, 'view', *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**env, 'TMPDIR': d},
    )


@suite.test
def view_shows_files_without_a_server(d):
    os.makedirs(d, exist_ok=True)
    paths = [os.path.join(d, name) for name in ('a.folded', 'heap.pb.gz')]
    for path, body in zip(paths, (FOLDED, corpus('leakapp/heap'))):
        with open(path, 'wb') as f:
            f.write(body)
    v = view(d, *paths)
    url = v.stdout.readline().strip()
    assert '/adhoc?adhoc_a=' in url and '&adhoc_b=' in url, (url, v.stderr.read() if v.poll() is not None else '')
    base, ids = url.split('/adhoc?')
    first = ids.split('adhoc_a=')[1].split('&')[0]
    with urllib.request.urlopen(f'{base}/api/v1/query?adhoc={first}&report=folded') as r:
        assert sorted(r.read().decode().splitlines()) == ['main;idle 40', 'main;work;sum 60']
    assert [n for n in os.listdir(d) if n.startswith('everprof-view-')], os.listdir(d)
    v.send_signal(signal.SIGINT)
    assert v.wait(30) == 0, v.stderr.read()
    assert not [n for n in os.listdir(d) if n.startswith('everprof-view-')], os.listdir(d)
    with open(paths[0], 'w') as f:
        f.write('nothing of this kind\n')
    v = view(d, paths[0])
    out, text = v.communicate(timeout=60)
    assert v.returncode == 1 and not out and 'a.folded: the file has none of the formats' in text, (out, text)
    assert not [n for n in os.listdir(d) if n.startswith('everprof-view-')], os.listdir(d)


@suite.test
def view_shows_a_file_in_the_page_of_a_server(d):
    e = Everprof(d).ready()
    path = os.path.join(d, 'a.folded')
    with open(path, 'wb') as f:
        f.write(FOLDED)
    v = view(d, path, f'--server={e.url}')
    out, text = v.communicate(timeout=60)
    assert v.returncode == 0 and out.startswith(e.url + '/adhoc?adhoc='), (out, text)
    assert folded(e, out.strip().split('=')[1]) == {'main;work;sum': 60, 'main;idle': 40}
    e.finish()


suite.main()
