#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Queries that merge, compare and report, over the real binary and real
profiles; beside Debian's go tool pprof where that has an answer."""
import gzip
import html
import io
import os
import re
import shutil
import subprocess
import tarfile
import time

from harness import BINARY, Everprof, Server, Suite, field, heap_job, run, send, varint, wait_until
from pprof_peer import ENV, PPROF, as_of, out, unpack
from query_data import ALL, TAR, corpus, served

suite = Suite()


def equal(ours, theirs):
    """Whether a report is that of pprof, but for the order of the samples of traces."""
    theirs = theirs.decode()
    ours = as_of(theirs, ours.decode())
    return sorted(re.split(r'(?m)^-{11}\+', ours)) == sorted(re.split(r'(?m)^-{11}\+', theirs))


HOUR = 3600 * 1000


def made(types, stacks, duration=0):
    """A profile: types [(type, unit)], stacks {leaf: values}; functions start
    at line 7."""
    strings = ['']

    def string(s):
        if s not in strings:
            strings.append(s)
        return varint(strings.index(s))

    body = b''.join(field(1, b'\x08' + string(t) + b'\x10' + string(u)) for t, u in types)
    for i, (leaf, values) in enumerate(stacks.items(), 1):
        body += field(2, field(1, varint(i)) + field(2, b''.join(varint(v & (1 << 64) - 1) for v in values)))
        body += field(4, b'\x08' + varint(i) + field(4, b'\x08' + varint(i)))
        body += field(5, b'\x08' + varint(i) + b'\x10' + string(leaf) + b'\x28\x07')
    body += b''.join(field(6, s.encode()) for s in strings)
    return body + (b'\x50' + varint(duration) if duration else b'')


def write(d, job, kind, profiles):
    """profiles: {ms: bytes}, as a folder that import takes."""
    folder = os.path.join(d, 'in', job, kind)
    os.makedirs(folder, exist_ok=True)
    for ms, body in profiles.items():
        with open(os.path.join(folder, f'{ms}.pb.gz'), 'wb') as f:
            f.write(gzip.compress(body, mtime=0))


def query(e, **params):
    return e.get('/api/v1/query', **params)


def top_of(e, **params):
    return {r['name']: r['flat'] for r in query(e, report='top', trim='false', **params).data()['rows'] if r['flat']}


@suite.test
def merges_and_diffs_equal_pprof(d):
    series, e = corpus(d)
    for name in ('prometheus/heap', 'leakapp/profile', 'etcd/goroutine', 'leakapp/mutex'):
        job, kind = name.split('/')
        selector, files = f'{kind}{{job="{job}"}}', series[name]
        for report in ('top', 'tree', 'peek', 'traces'):
            flag = '-peek=.' if report == 'peek' else '-' + report
            ours = query(e, query=selector, aggregate='sum', report=report, format='text', symbol='.', **ALL)
            theirs = out([PPROF, '-symbolize=none', flag, *files])
            assert equal(ours.body, theirs.stdout), (name, report, ours.body[:300])
        # b - a: the last one less the first
        times = [int(os.path.basename(f).split('.')[0]) for f in files]
        ours = query(
            e,
            mode='diff',
            query_a=selector,
            time_a=times[0],
            query_b=selector,
            time_b=times[-1],
            report='top',
            format='text',
        )
        theirs = out([PPROF, '-symbolize=none', '-top', f'-base={files[0]}', files[-1]])
        assert equal(ours.body, theirs.stdout), (name, ours.body[:300])
        ours = query(
            e,
            mode='diff',
            query_a=selector,
            time_a=times[0],
            query_b=selector,
            time_b=times[-1],
            report='top',
            format='text',
            diff='diff_base',
        )
        theirs = out([PPROF, '-symbolize=none', '-top', f'-diff_base={files[0]}', files[-1]])
        assert equal(ours.body, theirs.stdout), (name, ours.body[:300])


@suite.test
def go_tool_pprof_accepts_query_urls(d):
    _, e = corpus(d)
    merged = f'{e.url}/api/v1/query?query=heap{{job="prometheus"}}&mode=merge&from=0&to=now' '&report=proto'
    first = f'{e.url}/api/v1/query?query=heap{{job="prometheus"}}&mode=single&time=1795232204989'
    for argv in ([merged], ['-base', first, merged]):
        answer = subprocess.run([PPROF, '-symbolize=none', '-top', *argv], capture_output=True, env=ENV, timeout=120)
        assert answer.returncode == 0 and b'Showing nodes' in answer.stdout, answer.stderr
    # An encoded profile is one that pprof reads and adds up alike.
    path = os.path.join(d, 'proto')
    with open(path, 'wb') as f:
        f.write(query(e, query='profile{job="leakapp"}', report='proto', **ALL).body)
    ours = query(e, query='profile{job="leakapp"}', report='top', format='text', **ALL).body
    theirs = out([PPROF, '-symbolize=none', '-top', path]).stdout
    rows = [x.split(b'flat%')[1] for x in (ours, theirs)]
    assert rows[0] == rows[1], theirs[:300]
    # The compiler refuses what has no start lines, as of Go 1.19.
    a = query(e, query='profile{job="leakapp"}', report='pgo', **ALL)
    assert a.status == 400 and 'Go 1.20' in a.json()['error'], a.body
    # raw stays what it was
    raw = query(e, query='heap{job="prometheus"}', time=1795232204989, report='raw').body
    with open(f'{d}/files/prometheus/heap/1795232204989.pb.gz', 'rb') as f:
        assert raw == gzip.decompress(f.read())


HEAP = [('alloc_space', 'bytes'), ('inuse_space', 'bytes')]


@suite.test
def aggregation_by_kind(d):
    now = int(time.time() * 1000) - HOUR
    # a counts 10, 30, restarts, 5, 25; b only has its first and last.
    write(
        d,
        'a',
        'heap',
        {
            now: made(HEAP, {'f': (10, 4)}),
            now + 1000: made(HEAP, {'f': (30, 8)}),
            now + 2000: made(HEAP, {'f': (5, 3)}),
            now + 3000: made(HEAP, {'f': (24, 6), 'g': (1, 1)}),
        },
    )
    write(d, 'b', 'heap', {now: made(HEAP, {'f': (100, 7)}), now + 3000: made(HEAP, {'f': (101, 8)})})
    write(d, 'a', 'profile', {now + i * 1000: made([('cpu', 'nanoseconds')], {'f': (i + 1,)}, 9) for i in range(3)})
    e = served(d, f'{d}/in')

    def top(selector, index, **more):
        return top_of(e, query=selector, sample_index=index, **{**ALL, **more})

    # last - first of each process: 20 of the first, and all 25 of the second
    assert top('heap{job="a"}', 'alloc_space') == {'f': 44, 'g': 1}
    # the mean of each series: f 21/4 and 15/2 (both rounded up at a half), g 1/4
    assert top('heap{job="a"}', 'inuse_space') == {'f': 5}
    assert top('heap{job="b"}', 'inuse_space') == {'f': 8}
    assert top('heap', 'inuse_space') == {'f': 13}
    assert top('heap', 'alloc_space') == {'f': 45, 'g': 1}
    assert top('heap{job="a"}', 'alloc_space', aggregate='sum') == {'f': 69, 'g': 1}
    assert top('heap{job="a"}', 'inuse_space', aggregate='last') == {'f': 6, 'g': 1}
    assert top('heap{job="b"}', 'inuse_space', aggregate='delta') == {'f': 1}
    assert top('heap{job="a"}', 'alloc_space', aggregate='mean') == {'f': 17}
    assert top('profile', '') == {'f': 6}
    # A single counter tells no difference, and says so.
    a = query(e, query='heap{job="a"}', sample_index='alloc_space', report='top', **{**ALL, 'to': now})
    assert a.status == 404 and 'aggregate=sum' in a.json()['error'], a.body
    # Types that do not agree are named.
    a = query(e, query='{job="a"}', report='top', aggregate='sum', **ALL)
    assert a.status == 400 and 'cpu/nanoseconds' in a.json()['error'], a.body
    # group_by tells series apart, as outermost frames.
    flame = query(e, query='heap', report='flamegraph', group_by='job', sample_index='inuse_space', **ALL).data()
    names = [flame['strings'][n] for n in flame['name']]
    assert names == ['total', 'a', 'f', 'b', 'f'], names
    assert flame['total_of'] == [13, 5, 5, 8, 8]
    # With a step: what happened, what it was, by the second.
    graph = e.get('/api/v1/query_range', query='heap{job="a"}', step='2s', **{'from': now, 'to': now + 3000}).data()
    assert graph[0]['timestamps'] == [now, now + 2000]
    assert graph[0]['totals'] == {'alloc_space/bytes': [20, 25], 'inuse_space/bytes': [6, 5]}
    assert graph[0]['kinds'] == {'alloc_space/bytes': 'counter', 'inuse_space/bytes': 'state'}
    graph = e.get(
        '/api/v1/query_range', query='heap', step=2, rate=1, group_by='__name__', **{'from': now, 'to': now + 3000}
    ).data()
    assert graph[0]['labels'] == {'__name__': 'heap'}
    assert graph[0]['totals']['alloc_space/bytes'] == [10, 13], graph
    rows = e.get('/api/v1/query_range', query='heap{job="b"}', totals=1, **{'from': 0, 'to': 'now'}).data()[0]
    assert rows['totals'] == {'alloc_space/bytes': [100, 101], 'inuse_space/bytes': [7, 8]}


@suite.test
def pgo_profiles(d):
    for i in range(2):
        with open(f'{d}/{i}', 'wb') as f:
            f.write(made([('samples', 'count'), ('cpu', 'nanoseconds')], {'hot': [3, 30], 'warm': [1, 10 + i]}))
    answer = run('report', 'pgo', '-o', f'{d}/all', f'{d}/0', f'{d}/1')
    assert answer.returncode == 0, answer.stderr
    raw = out([PPROF, '-symbolize=none', '-raw', f'{d}/all']).stdout.decode()
    assert '6         60:' in raw and '2         21:' in raw and raw.count('s=7') == 2, raw
    answer = run('report', 'proto', '-o', f'{d}/some', '--focus=warm', f'{d}/0')
    raw = out([PPROF, '-symbolize=none', '-raw', f'{d}/some']).stdout.decode()
    assert '1         10:' in raw and '3         30:' not in raw, raw


@suite.test
def corpus_is_aggregated_by_kind(d):
    series, e = corpus(d)
    files = series['prometheus/heap']
    for index in ('alloc_space', 'alloc_objects'):
        ours = query(e, query='heap{job="prometheus"}', sample_index=index, report='top', trim='false', **ALL).data()[
            'rows'
        ]
        theirs = out(
            [
                PPROF,
                '-symbolize=none',
                '-top',
                '-unit=bytes',
                f'-sample_index={index}',
                '-trim=false',
                f'-base={files[0]}',
                files[-1],
            ]
        ).stdout.decode()
        rows = theirs[theirs.index('cum%\n') + 5 :].splitlines()
        want = [
            (
                int(r.split()[0].rstrip('Bbytes')),
                r.split(None, 5)[5].replace(' (inline)', '').replace(' (partial-inline)', ''),
            )
            for r in rows
        ]
        assert [(r['flat'], r['name']) for r in ours] == want, (index, ours[:3], want[:3])
    totals = e.get('/api/v1/query_range', query='heap{job="prometheus"}', totals=1, **{'from': 0, 'to': 'now'}).data()[
        0
    ]['totals']['inuse_space/bytes']
    mean = query(e, query='heap{job="prometheus"}', report='flamegraph', max_nodes=0, **ALL).data()
    assert abs(mean['total_of'][0] - sum(totals) / len(totals)) < 3000, mean['total_of'][0]


@suite.test
def reports(d):
    _, e = corpus(d)
    heap = {'query': 'heap{job="prometheus"}', 'aggregate': 'sum', **ALL}
    flame = query(e, report='flamegraph', max_nodes=0, **heap).data()
    n = len(flame['name'])
    assert {len(flame[k]) for k in ('file', 'parent', 'self', 'total_of')} == {n}
    assert all(-1 <= p < i for i, p in enumerate(flame['parent']))
    assert sum(flame['self']) == flame['total_of'][0] == flame['total']
    few = query(e, report='flamegraph', max_nodes=50, **heap).data()
    assert len(few['name']) < 110 and sum(few['self']) == flame['total']
    assert '(other)' in few['strings']
    both = query(
        e,
        mode='diff',
        report='flamegraph',
        query_a='heap{job="etcd"}',
        mode_a='merge',
        from_a=0,
        to_a='now',
        query_b='heap{job="etcd"}',
        mode_b='merge',
        from_b=0,
        to_b='now',
        max_nodes=0,
    ).data()
    assert both['self'] == both['self_a'] and sum(both['self']) > 0
    scope = query(e, report='speedscope', **heap).json()
    assert scope['profiles'][0]['endValue'] == sum(scope['profiles'][0]['weights'])
    assert all(f < len(scope['shared']['frames']) for s in scope['profiles'][0]['samples'] for f in s)
    dot = query(e, report='dot', **heap)
    assert dot.body.startswith(b'digraph') and b'->' in dot.body
    svg = query(e, report='svg', **heap)
    if shutil.which('dot'):
        assert svg.status == 200 and b'<svg' in svg.body, svg.body[:300]
    else:
        assert svg.status == 501 and 'graphviz' in svg.json()['error'], svg.body
    lines = query(e, report='source', symbol='getPointSlice', **heap).body.decode()
    assert 'ROUTINE ======================== github.com/prometheus' in lines, lines
    assert query(e, report='flamegraph', format='text', **heap).body.startswith(b'<svg')
    meta = query(e, query='heap{job="etcd"}', time=1795232204838, report='meta', match='before')
    assert meta.data()['sampleTypes'][0]['type'] == 'alloc_objects'
    warned = query(e, report='top', focus='nothing_has_this_name', **heap).json()
    assert warned['data']['rows'] == [] and 'focus' in warned['warnings'][0]
    for params, status, why in (
        ({'report': 'raw'}, 400, 'single'),
        ({'report': 'nope'}, 400, 'nope'),
        ({'report': 'top', 'granularity': 'x'}, 400, 'granularity'),
        ({'report': 'top', 'focus': '('}, 400, 'focus'),
        ({'report': 'top', 'sample_index': 'x'}, 400, 'must be one of'),
        ({'report': 'top', 'aggregate': 'x'}, 400, 'aggregate'),
        ({'report': 'top', 'mode': 'x'}, 400, 'mode'),
        ({'report': 'top', 'query': 'none'}, 404, 'no profile'),
        ({'report': 'pgo'}, 400, 'CPU'),
        ({'report': 'peek', 'symbol': 'nothing_has_this_name'}, 404, 'no matches'),
        ({'mode': 'diff'}, 400, 'query_a'),
    ):
        a = query(e, **{**heap, **params})
        assert a.status == status and why in a.json()['error'], (params, a.status, a.body[:300])
    assert e.get('/api/v1/query_range', query='heap', group_by='job', **{'from': 0, 'to': 'now'}).status == 400
    assert e.get('/api/v1/query_range', query='heap', step='1ms', **{'from': 0, 'to': 'now'}).status == 400
    assert e.metric('everprof_tsdb_open_queriers') == 0


@suite.test
def profiles_are_found_by_function(d):
    series, e = corpus(d)

    def times(**params):
        a = e.get('/api/v1/query_range', query='{job="prometheus"}', **{'from': 0, 'to': 'now'}, **params)
        assert a.status == 200, a.body[:300]
        return {s['labels']['__name__']: len(s['timestamps']) for s in a.json()['data']}

    everything = times()
    found = times(function='promql')
    assert found and set(found) < set(everything), (found, everything)
    assert all(0 < n <= everything[k] for k, n in found.items()), found
    assert times(function='no such function') == {}
    assert times(function='.')['heap'] == everything['heap']
    for params, why in (({'function': '('}, 'function'), ({'function': 'a', 'totals': 1}, 'cannot be combined with')):
        a = e.get('/api/v1/query_range', query='heap', **{'from': 0, 'to': 'now'}, **params)
        assert a.status == 400 and why in a.json()['error'], a.body[:300]
    assert e.metric('everprof_tsdb_open_queriers') == 0


@suite.test
def limits_of_memory_and_time(d):
    unpack(TAR, f'{d}/files')
    os.makedirs(f'{d}/s')
    answer = run('tsdb', 'import', TAR, f'--storage.tsdb.path={d}/s/data')
    assert answer.returncode == 0, answer.stderr
    e = Everprof(f'{d}/s', flags=['--storage.tsdb.retention.time=0', '--query.memory=300KB']).ready()
    a = query(e, query='heap{job="prometheus"}', report='top', **ALL)
    assert a.status == 429 and '--query.memory' in a.json()['error'], (a.status, a.body[:300])
    e.finish()
    e = Everprof(
        f'{d}/t', flags=[f'--storage.tsdb.path={d}/s/data', '--query.timeout=1ms', '--storage.tsdb.retention.time=0']
    ).ready()
    a = query(e, query='{__name__=~"heap|allocs"}', report='top', aggregate='sum', **ALL)
    assert a.status == 503 or '--query.timeout' in a.json()['warnings'][0], (a.status, a.body[:200])


@suite.test
def export_and_command_line(d):
    series, e = corpus(d)
    tar = e.get('/api/v1/export', query='{job="etcd"}', **{'from': 0, 'to': 'now'})
    with tarfile.open(fileobj=io.BytesIO(tar.body)) as t:
        names = t.getnames()
        assert len(names) == 35, len(names)
        for m in t:
            kind, ms = m.name.split('%7B')[0], os.path.basename(m.name)
            with open(f'{d}/files/etcd/{kind}/{ms}', 'rb') as f:
                assert gzip.decompress(t.extractfile(m).read()) == gzip.decompress(f.read())
    assert e.get('/api/v1/export', query='none', **{'from': 0, 'to': 'now'}).status == 404

    def shell(*argv, code=0):
        answer = run('query', *argv, f'--server={e.url}')
        assert answer.returncode == code, (argv, answer.stderr)
        return answer

    path = f'{d}/x'
    assert shell('export', '{job="etcd"}', '--from=0', '-o', path).stdout == ''
    with tarfile.open(path) as t:
        assert len(t.getnames()) == 35
    heap, files = 'heap{job="prometheus"}', series['prometheus/heap']
    times = [os.path.basename(f).split('.')[0] for f in files]
    text = shell('top', heap, '--from=0', '--aggregate=sum').stdout
    assert equal(text.encode(), out([PPROF, '-symbolize=none', '-top', *files]).stdout)
    text = shell('diff', heap, f'--time={times[-1]}', f'--base-time={times[0]}', '--cum', code=2)
    text = shell('diff', heap, f'--time={times[-1]}', f'--base-time={times[0]}', '--sort=cum').stdout
    theirs = out([PPROF, '-symbolize=none', '-top', '-cum', f'-base={files[0]}', files[-1]])
    assert equal(text.encode(), theirs.stdout), text[:500]
    shell('flamegraph', heap, '--from=0', '-o', path)
    assert open(path).read().startswith('<svg')
    shell('profile', heap, f'--time={times[0]}', '-o', path)
    assert gzip.decompress(open(path, 'rb').read()) == gzip.decompress(open(files[0], 'rb').read())
    assert 'ROUTINE' in shell('profile', heap, '--from=0', '--report=source').stdout
    assert 'no profile' in shell('top', 'none', code=1).stderr
    # A history has the numbers of the table of each step.
    lines = [
        line.split('\t')
        for line in shell(
            'history', heap, f'--from={times[0]}', f'--to={times[-1]}', '--step=10m', '--top=2', '--by=cum'
        ).stdout.splitlines()
    ]
    assert lines[0][:3] == ['time', 'profiles', 'total'] and len(lines[0]) == 5, lines
    end = int(times[0]) + 599999
    table = shell('top', heap, f'--from={times[0]}', f'--to={end}', '--sort=cum', '--no-trim', '--unit=auto').stdout
    for name, value in zip(lines[0][3:], lines[1][3:]):
        row = [r for r in table.splitlines() if r.endswith(' ' + name)]
        assert row and row[0].split()[3] == value, (name, value, row)
    assert shell('labels', 'job', '--counts').stdout.split()[:2] == ['7', 'etcd']
    assert shell('running').stdout == ''
    # Over files alone, and with a tty's colours
    assert equal(run('report', 'top', *files).stdout.encode(), out([PPROF, '-symbolize=none', '-top', *files]).stdout)
    colours = subprocess.run(
        ['script', '-qec', f"{BINARY} query top '{heap}' --from=0 --server={e.url}", '/dev/null'],
        capture_output=True,
        timeout=60,
    )
    assert b'\x1b[31m' in colours.stdout, colours.stdout[:300]


@suite.test
def data_directory_answers_like_its_server(d):
    _, e = corpus(d)
    directory = f'{d}/s/data'
    heap = 'heap{job="prometheus"}'
    commands = [
        ('labels',),
        ('labels', 'job'),
        ('series', heap),
        ('range', heap, '--from=0'),
        ('top', heap, '--from=0', '--aggregate=sum'),
        ('top', 'none', '--from=0', '--to=1'),
        ('profile', heap, '--from=0', '--report=traces', '--aggregate=sum'),
        ('diff', heap, '--from=0'),
        ('profile', heap, '--sample_index=x', '--from=0', '--report=top'),
        ('labels', 'nothing-has-it'),
        ('export', heap, '--from=0', '-o', '-'),
    ]

    def run_bytes(*argv):
        return subprocess.run([BINARY, *argv], capture_output=True, timeout=300)

    def both(way):
        return [(a.returncode, a.stdout, a.stderr) for a in (run_bytes('query', *c, way) for c in commands)]

    beside = both(f'--storage.tsdb.path={directory}')  # while the server has it open
    for c, here, there in zip(commands, beside, both(f'--server={e.url}')):
        assert here == there, (c, here, there)
    assert [a[0] for a in beside] == [0, 0, 0, 0, 0, 1, 0, 2, 1, 1, 0], beside
    e.stop()
    assert beside == both(f'--storage.tsdb.path={directory}')
    for way, said in [
        ((f'--storage.tsdb.path={directory}', '--server=http://x'), 'cannot be combined'),
        ((f'--storage.tsdb.path={d}/none',), 'none'),
        ((f'--storage.tsdb.path={directory}', '--query.memory=1KB'), 'memory'),
        ((f'--storage.tsdb.path={directory}', '--timeout=0s'), 'timeout'),
    ]:
        answer = run('query', 'top', heap, '--from=0', '--aggregate=sum', *way)
        assert answer.returncode and said in answer.stderr, (way, answer)
    answer = run('query', 'delete', heap, f'--storage.tsdb.path={directory}')
    assert answer.returncode == 2, answer.stderr


@suite.test
def rates_divide_by_profiled_seconds(d):
    """10 s of CPU profile each 15 s: what they hold is of 10 s; series add up."""
    types, second = [('samples', 'count'), ('cpu', 'nanoseconds')], 10**9
    cpu = made(types, {'work': (200, 2 * second)}, duration=10 * second)
    for job in ('a', 'b'):
        write(d, job, 'profile', {ms: cpu for ms in range(HOUR, HOUR + 60000, 15000)})
    e = served(d, f'{d}/in')
    ask = {'query': 'profile', 'from': HOUR, 'to': HOUR + 60000, 'step': 60, 'rate': 1}
    for row in e.get('/api/v1/query_range', **ask).data():
        assert row['totals']['cpu/nanoseconds'] == [0.2 * second], row
    (both,) = e.get('/api/v1/query_range', group_by='__name__', **ask).data()
    assert both['totals']['cpu/nanoseconds'] == [0.4 * second], both
    # The same above a report: 0.4 CPUs were busy, in the 40 s that each of them was profiled.
    merged = {'query': 'profile', 'from': HOUR, 'to': HOUR + 60000, 'report': 'top', 'format': 'text'}
    a = query(e, **merged)
    assert b'Duration: 40s, Total samples = 16s (40.00%)' in a.body, a.body
    assert a.headers['X-Everprof-Covered-Seconds'] == '40.000', a.headers
    # A mean is no sum over a time, and a difference is of two.
    a = query(e, aggregate='mean', **merged)
    assert 'X-Everprof-Covered-Seconds' not in a.headers and b'Duration: 80s' in a.body, (a.headers, a.body)
    sides = {f'{k}_{side}': v for side in 'ab' for k, v in merged.items() if k not in ('report', 'format')}
    a = query(e, mode='diff', report='top', format='text', **sides)
    assert a.status == 200 and 'X-Everprof-Covered-Seconds' not in a.headers, (a.headers, a.body)
    e.finish()


@suite.test
def diff_flame_graph_colors(d):
    """Each frame by its own values, however much all of them grew together."""
    types = [('inuse_space', 'bytes')]
    write(
        d,
        'app',
        'heap',
        {
            HOUR: made(types, {'leak': (1000,), 'cache': (500000,), 'gone': (800000,)}),
            HOUR + 1000: made(types, {'leak': (400000,), 'cache': (9000000,), 'gone': (100,)}),
        },
    )
    e = served(d, f'{d}/in')
    svg = query(
        e,
        mode='diff',
        query_a='heap',
        time_a=HOUR,
        query_b='heap',
        time_b=HOUR + 1000,
        diff='diff_base',
        report='flamegraph',
        format='text',
    ).body.decode()
    for name, hue in (('leak', 4), ('cache', 4), ('gone', 214)):
        frame = next(part for part in svg.split('<g') if f'data-n="{name}"' in part)
        assert f'hsl({hue},' in frame, (name, frame)
    assert 'red: more than the base' in svg and 'blue: less' in svg
    e.finish()


def zstd_frame(body):
    """A frame of one raw block (RFC 8878): no compressor is needed for it."""
    size = len(body)
    return b'\x28\xb5\x2f\xfd\xa0' + size.to_bytes(4, 'little') + (size << 3 | 1).to_bytes(3, 'little') + body


@suite.test
def zstd_compressed_profiles_are_accepted(d):
    """ddtrace sends them so. Several frames are what they hold together."""
    body = made([('cpu', 'nanoseconds')], {'work': (7,)}, duration=10**9)
    frame = zstd_frame(body)
    folder = f'{d}/in/app/profile'
    os.makedirs(folder)
    for ms, data in (
        (HOUR, frame),
        (HOUR + 1000, frame[:-3]),
        (HOUR + 3000, frame + b'behind it'),
        (HOUR + 2000, zstd_frame(body[:20]) + zstd_frame(body[20:])),
    ):
        with open(f'{folder}/{ms}.pb.gz', 'wb') as f:
            f.write(data)
    os.makedirs(f'{d}/s')
    r = run('tsdb', 'import', f'{d}/in', f'--storage.tsdb.path={d}/s/data')
    assert r.returncode == 1 and '2 profiles imported, 2 refused' in r.stdout, r
    assert 'zstd frame is damaged or truncated' in r.stderr, r
    target = Server(lambda request: send(request, frame))
    e = Everprof(
        f'{d}/s', 'scrape_configs:\n' + heap_job('live', [target.address]), flags=['--storage.tsdb.retention.time=0']
    ).ready()

    def live():
        return [t for r in e.range('heap{job="live"}') for t in r['timestamps']]

    wait_until('a scraped one', 30, live)
    target.stop()
    for what, ms in (('profile', HOUR), ('profile', HOUR + 2000), ('heap', live()[0])):
        raw = query(e, query=what, time=ms, match='exact', report='raw')
        assert raw.status == 200 and raw.body == body, (what, raw.body)
        assert top_of(e, query=what, time=ms) == {'work': 7}
    assert top_of(e, query='profile', **ALL) == {'work': 14}
    e.finish()


@suite.test
def a_page_without_scripts_leads_to_reports_and_downloads(d):
    _, e = corpus(d)
    params = {'query': 'heap{job="prometheus"}', 'from': 1795232204000, 'to': 1795233405000}
    page = e.get('/profiles', **params)
    assert page.status == 200 and b'<script' not in page.body, page.body[:500]
    links = [html.unescape(x) for x in re.findall(r'<a href="(/api/v1/query[^"]*)"', page.body.decode())]
    flame, top, proto, one, raw = links[:5]
    assert b'<svg id="flame"' in e.get(flame).body
    assert b'flat%' in e.get(top).body
    assert e.get(proto).body[:2] == b'\x1f\x8b'
    assert f"time={e.get(raw).headers['X-Everprof-Timestamp']}&" in raw
    assert b'<svg id="flame"' in e.get(one).body
    for bad in {'query': 'heap{'}, {**params, 'from': 'soon'}:
        a = e.get('/profiles', **bad)
        assert a.status == 400 and b'class=error' in a.body and b'<form' in a.body, (bad, a.status)
    assert b'No profiles' in e.get('/profiles', query='none').body
    assert b'<script' not in e.get('/profiles', query='<script>alert(1)</script>').body
    r = run('query', 'top', 'heap{job="prometheus"}', '--time=1795232204000', '--timeout=60s', f'--server={e.url}')
    said = 'everprof: the profile of heap{job="prometheus"} at 2026-11-21T03:36:44.989Z\n'
    assert r.returncode == 0 and r.stderr == said, r


suite.main()
