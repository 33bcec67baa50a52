#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/api.md says of parameters, times, lists and errors: each of them is
asked for, and the numbers are computed here."""
import gzip
import json
import time
import urllib.parse

from harness import Everprof, Suite
from query_data import served
from report_data import BEGIN, MINUTE, asked, folded, folded_of, made_cpu, made_heap, shop, write

suite = Suite()


@suite.test
def labels_series_and_types(d):
    write(d, 'a', 'profile', {BEGIN: made_cpu(1)})
    write(d, 'b', 'profile', {BEGIN + 10 * MINUTE: made_cpu(2)})
    write(d, 'b', 'heap', {BEGIN: made_heap({0: (1, 1)})})
    e = served(d, f'{d}/in')
    cpu_a, cpu_b, heap_b = ({'__name__': n, 'job': j} for n, j in (('profile', 'a'), ('profile', 'b'), ('heap', 'b')))
    both = urllib.parse.quote('match[]') + '=profile&' + urllib.parse.quote('match[]') + '=heap'
    for path, params, want in (
        ('series', {'match[]': 'profile'}, [cpu_a, cpu_b]),
        ('series', {'match[]': '{job="b"}'}, [heap_b, cpu_b]),
        ('series', {'match[]': ['profile{job="b"}', '{job="b"}']}, [cpu_b, heap_b]),
        ('series', {'match[]': '{job="b"}', 'limit': 1}, [heap_b]),
        ('series', {'match[]': 'none'}, []),
        ('labels', {}, ['__name__', 'job']),
        ('labels', {'limit': 1}, ['__name__']),
        ('labels', {'match[]': 'none'}, []),
        ('label/job/values', {}, ['a', 'b']),
        ('label/job/values', {'match[]': 'heap'}, ['b']),
        ('label/job/values', {'limit': 1}, ['a']),
        ('label/__name__/values', {'match[]': '{job="a"}'}, ['profile']),
        ('label/none/values', {}, []),
        ('series', {'match[]': 'profile', 'start': 0, 'end': 1}, []),
        ('labels', {'start': 0, 'end': 1}, []),
        ('label/job/values', {'start': 0, 'end': 1}, []),
        ('label/job/values', {'start': 'now-2h', 'end': 'now'}, ['a', 'b']),
    ):
        got = e.get('/api/v1/' + path, **params).data()
        assert got == want or path == 'series' and len(params) == 1 and sorted(got, key=str) == sorted(want, key=str), (
            path,
            params,
            got,
        )
    assert len(e.get(f'/api/v1/series?{both}').data()) == 3
    types = e.get('/api/v1/profile_types').data()
    assert [(t['name'], [(s['type'], s['unit']) for s in t['sampleTypes']]) for t in types] == [
        ('heap', [('alloc_space', 'bytes'), ('inuse_space', 'bytes')]),
        ('profile', [('samples', 'count'), ('cpu', 'nanoseconds')]),
    ]


@suite.test
def times_have_many_forms_and_both_ends_count(d):
    profiles, e = shop(d)
    first, last = BEGIN + MINUTE, BEGIN + 2 * MINUTE

    def form(ms, how):
        return time.strftime(how, time.gmtime(ms / 1000))

    pairs = [
        {'from': first, 'to': last},
        {'start': first / 1000, 'end': last // 1000},
        {'from': form(first, '%Y-%m-%dT%H:%M:%SZ'), 'to': form(last, '%Y-%m-%dT%H:%M:%S.000Z')},
        {'start': form(first, '%Y-%m-%d %H:%M'), 'end': form(last, '%Y-%m-%d %H:%M:%S')},
    ]
    for params in pairs:
        rows = e.get('/api/v1/query_range', query='profile', **params).data()
        assert rows[0]['timestamps'] == [first, last], (params, rows)
    for params in ({'from': first + 1, 'to': last - 1}, {'start': (first + 1) / 1000, 'end': (last - 1) / 1000}):
        assert e.get('/api/v1/query_range', query='profile', **params).data() == [], params
    for params in ({'from': 'now-2h', 'to': 'now'}, {'start': '-2h', 'end': 'now'}):
        assert len(e.get('/api/v1/query_range', query='profile', **params).data()[0]['timestamps']) == 4, params
    for match, ms, want in (
        ('nearest', 40000, 1),
        ('after', 1, 1),
        ('before', 59999, 0),
        ('exact', 60000, 1),
        ('', 20000, 0),
        ('nearest', -300000, 0),
    ):
        a = asked(e, mode='single', time=BEGIN + ms, match=match, report='raw')
        assert a.headers['X-Everprof-Timestamp'] == str(BEGIN + want * MINUTE), (match, ms)
        assert a.body == profiles[want].encode()
    for match, ms in (('exact', 1), ('before', -1), ('after', 4 * MINUTE), ('nearest', -300001)):
        a = asked(e, mode='single', time=BEGIN + ms, match=match, report='raw')
        assert (a.status, a.json()['errorType']) == (404, 'not_found'), (match, ms)
    # Forms go before the URL; what is unknown is ignored; answers are gzip'ed.
    body = urllib.parse.urlencode({'query': 'profile', 'from': first, 'to': last}).encode()
    a = e.get('/api/v1/query_range', data=body, query='none', nonsense=1, **{'from': 0, 'to': 1})
    assert a.data()[0]['timestamps'] == [first, last]
    a = e.get(
        '/api/v1/query_range',
        headers={'Accept-Encoding': 'gzip'},
        query='profile',
        totals=1,
        **{'from': 0, 'to': 'now'},
    )
    body = gzip.decompress(a.body) if a.headers['Content-Encoding'] == 'gzip' else a.body
    assert json.loads(body)['status'] == 'success' and a.headers['X-Everprof-Version']


@suite.test
def errors_have_their_status_and_type(d):
    _, e = shop(d)
    good = {'query': 'profile', 'from': 0, 'to': 'now'}
    sides = {'mode': 'diff', 'query_a': 'profile', 'query_b': 'profile', 'time_a': BEGIN, 'time_b': BEGIN}
    for path, params, status, kind, says in (
        ('query', {}, 400, 'bad_data', 'query'),
        ('query', {'query': 'profile'}, 400, 'bad_data', 'time'),
        ('query', {'query': 'profile{', 'time': 1}, 400, 'bad_data', '1:'),
        ('query', {'query': '{a=~".*"}', 'time': 1}, 400, 'bad_data', ''),
        ('query', {'query': 'profile', 'time': 'noon'}, 400, 'bad_data', 'time'),
        ('query', {'query': 'profile', 'time': 1, 'match': 'x'}, 400, 'bad_data', 'match'),
        ('query', {**good, 'from': 9, 'to': 1}, 400, 'bad_data', ''),
        ('query', {**good, 'mode': 'all'}, 400, 'bad_data', 'mode'),
        ('query', {**good, 'report': 'tops'}, 400, 'bad_data', 'flamegraph'),
        ('query', {**good, 'report': 'raw'}, 400, 'bad_data', 'raw'),
        ('query', {**good, 'report': 'meta'}, 400, 'bad_data', 'meta'),
        ('query', {**good, 'aggregate': 'max'}, 400, 'bad_data', 'aggregate'),
        ('query', {**good, 'report': 'top', 'sample_index': '2'}, 400, 'bad_data', '[0..1]'),
        ('query', {**good, 'report': 'top', 'sample_index': 'x'}, 400, 'bad_data', 'cpu'),
        ('query', {**good, 'report': 'top', 'focus': '['}, 400, 'bad_data', 'focus'),
        ('query', {**good, 'report': 'top', 'tagfocus': 'a=('}, 400, 'bad_data', 'tagfocus'),
        ('query', {**good, 'report': 'top', 'granularity': 'x'}, 400, 'bad_data', 'granularity'),
        ('query', {**good, 'report': 'top', 'nodecount': 'x'}, 400, 'bad_data', 'nodecount'),
        ('query', {**good, 'report': 'top', 'divide_by': '0'}, 400, 'bad_data', 'divide_by'),
        ('query', {**good, 'report': 'top', 'sort': 'x'}, 400, 'bad_data', 'sort'),
        ('query', {**good, 'report': 'top', 'trim': 'x'}, 400, 'bad_data', 'trim'),
        ('query', {**good, 'report': 'top', 'group_by': ',' * 16}, 400, 'bad_data', 'group_by'),
        ('query', {**good, 'report': 'top', 'tagroot': ',' * 16}, 400, 'bad_data', 'tagroot'),
        ('query', {**good, 'report': 'peek', 'symbol': 'none'}, 404, 'not_found', ''),
        ('query', {**good, 'query': 'heap', 'report': 'top'}, 404, 'not_found', 'profile'),
        ('query', {**good, 'query': 'profile{job="x"}'}, 404, 'not_found', 'job="x"'),
        ('query', {**good, 'from': 0, 'to': 1}, 404, 'not_found', ''),
        ('query', {'query': 'profile', 'time': 1}, 404, 'not_found', ''),
        ('query', {**sides, 'diff': 'x'}, 400, 'bad_data', 'diff'),
        ('query', {**sides, 'query_a': ''}, 400, 'bad_data', 'query_a'),
        ('query', {**sides, 'time_b': ''}, 400, 'bad_data', 'time_b'),
        ('query', {**sides, 'mode_a': 'diff'}, 400, 'bad_data', 'mode_a'),
        ('query', {**sides, 'match_b': 'x'}, 400, 'bad_data', 'match_b'),
        ('query', {**sides, 'query_a': 'x'}, 404, 'not_found', 'side a'),
        ('query', {**sides, 'query_b': 'x'}, 404, 'not_found', 'side b'),
        ('query', {**sides, 'report': 'raw'}, 400, 'bad_data', 'raw'),
        ('query_range', {}, 400, 'bad_data', 'query'),
        ('query_range', {'query': 'profile'}, 400, 'bad_data', 'from'),
        ('query_range', {**good, 'step': '0'}, 400, 'bad_data', 'step'),
        ('query_range', {**good, 'step': '-1'}, 400, 'bad_data', 'step'),
        ('query_range', {**good, 'step': '1y1'}, 400, 'bad_data', 'step'),
        ('query_range', {**good, 'from': BEGIN, 'to': BEGIN + 11000 * 1000 + 1, 'step': '1'}, 400, 'bad_data', '11000'),
        ('query_range', {**good, 'rate': 1}, 400, 'bad_data', 'step'),
        ('query_range', {**good, 'group_by': 'job'}, 400, 'bad_data', 'step'),
        ('query_range', {**good, 'step': '1h', 'group_by': ',' * 16}, 400, 'bad_data', 'group_by'),
        ('query_range', {**good, 'step': '0x10'}, 400, 'bad_data', 'step'),
        ('query_range', {**good, 'limit': '-1'}, 400, 'bad_data', 'limit'),
        ('query_range', {**good, 'function': '('}, 400, 'bad_data', 'function'),
        ('query_range', {**good, 'function': 'a', 'step': '1m'}, 400, 'bad_data', 'function'),
        ('export', {}, 400, 'bad_data', 'query'),
        ('export', {**good, 'query': 'none'}, 404, 'not_found', ''),
        ('series', {}, 400, 'bad_data', 'match[]'),
        ('series', {'match[]': '{'}, 400, 'bad_data', ''),
        ('labels', {'limit': 'x'}, 400, 'bad_data', 'limit'),
        ('nothing', {}, 404, 'not_found', ''),
    ):
        a = e.get('/api/v1/' + path, **params)
        assert a.status == status, (path, params, a.status, a.body[:300])
        answer = a.json()
        assert (answer['status'], answer['errorType']) == ('error', kind), (path, params, answer)
        assert says in answer['error'], (path, params, answer)
        assert a.headers['X-Everprof-Version']
    a = e.get('/api/v1/query_range', query='profile', step='1', **{'from': BEGIN, 'to': BEGIN + 10999 * 1000})
    assert len(a.data()[0]['timestamps']) == 10999
    for action in ('delete_series?match[]=profile', 'confirm_clock', 'clean_tombstones', 'snapshot'):
        a = e.get('/api/v1/admin/tsdb/' + action, data=b'')
        assert (a.status, a.json()['errorType']) == (403, 'forbidden'), action
    for body in (b'query=' + b'x' * (1 << 20), b'&'.join(b'a=b' for _ in range(1001))):
        a = e.get('/api/v1/query', data=body)
        assert (a.status, a.json()['errorType']) == (413, 'too_large'), a.body[:300]
    a = e.get('/api/v1/query?query=%zz&time=1')
    assert (a.status, a.json()['errorType']) == (400, 'bad_data'), a.body[:300]
    # go tool pprof reads errors as text.
    a = e.get('/api/v1/query', headers={'User-Agent': 'Go-http-client/1.1'}, query='none', time=1)
    assert a.status == 404 and a.headers['X-Go-Pprof'] and b'{' not in a.body[:1], a.body
    assert e.metric('everprof_tsdb_open_queriers') == 0


@suite.test
def bounds_of_memory_and_admin_calls(d):
    profiles, e = shop(d)
    e.finish()
    e = Everprof(
        f'{d}/s', flags=['--storage.tsdb.retention.time=0', '--web.enable-admin-api', '--query.memory=50KB']
    ).ready()
    a = asked(e, report='flamegraph', query='profile')
    assert (a.status, a.json()['errorType']) == (429, 'limit'), (a.status, a.body[:200])
    assert int(a.headers['Retry-After']) > 0 and 'query.memory' in a.json()['error']
    e.finish()
    e = Everprof(f'{d}/s', flags=['--storage.tsdb.retention.time=0', '--web.enable-admin-api']).ready()

    def admin(action, **params):
        return e.get('/api/v1/admin/tsdb/' + action, data=b'', **params)

    for params, left in (
        ({'start': BEGIN / 1000 + 1, 'end': BEGIN / 1000 + 59}, [0, 1, 2, 3]),
        ({'start': BEGIN / 1000 + 60, 'end': BEGIN / 1000 + 120}, [0, 3]),
        ({'start': 0, 'end': BEGIN / 1000}, [3]),
    ):
        assert admin('delete_series', **{'match[]': 'profile', **params}).status == 204
        assert folded_of(e) == folded([profiles[i] for i in left], 0), (params, left)
    assert admin('delete_series').status == 400
    assert admin('clean_tombstones').status == 204 and admin('confirm_clock').status == 204
    assert folded_of(e) == folded(profiles[3:], 0)
    name = json.loads(admin('snapshot').body)['data']['name']
    e.finish()
    copy = Everprof(
        f'{d}/copy', flags=[f'--storage.tsdb.path={d}/s/data/snapshots/{name}', '--storage.tsdb.retention.time=0']
    ).ready()
    assert folded_of(copy) == folded(profiles[3:], 0)


suite.main()
