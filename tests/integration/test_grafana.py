#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Grafana's data source for Pyroscope asks, in the form in which it asks: the
numbers are those of everprof's own API."""
import collections
import gzip
import http.client
import json
import math
import os
import struct
import time

from grafana_api import QUERIER, ask, call, levels_tree
from harness import Everprof, Suite, field, memory, profile, run, varint
from query_data import TAR
from report_data import STACKS, Profile, Sample, made_cpu
from users import bearer
from write_client import fields

suite = Suite()
CPU = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds'
BEGIN, END = 1795232200000, 1795233400000  # of the corpus
CPU_ONLY = Sample(STACKS[0], {}, (500,))  # of a profile that has no number of samples
JOBS = ('etcd', 'leakapp', 'node_exporter', 'prometheus')


def corpus(d, *flags):
    """A server that holds the corpus, and takes pushed profiles."""
    answer = run('tsdb', 'import', TAR, f'--storage.tsdb.path={d}/data')
    assert answer.returncode == 0, answer.stderr
    return Everprof(d, flags=['--storage.tsdb.retention.time=0', '--web.enable-push-receiver', *flags]).ready()


def of_range(type_id, selector='{}', **more):
    return {'profile_typeID': type_id, 'labelSelector': selector, 'start': BEGIN, 'end': END, **more}


def ids_of(e, **message):
    return [t['ID'] for t in ask(e, 'ProfileTypes', **message).get('profileTypes', [])]


def own_tree(data, columns=('total_of', 'self')):
    """The same of everprof's own flame graph."""
    tree, paths = {}, []
    for i, name in enumerate(data['name']):
        parent = data['parent'][i]
        paths.append((*(paths[parent] if parent >= 0 else ()), data['strings'][name]))
        tree[paths[-1]] = tuple(data[c][i] for c in columns)
    return {path: v for path, v in tree.items() if len(path) == 1 or any(v)}


def stored(type_id):
    """The stored name of a profile type of the corpus, and its sample type."""
    name, sample_type = type_id.split(':')[:2]
    return {'process_cpu': 'profile', 'memory': 'heap'}.get(name, name), sample_type


def own(e, type_id, job, report, **more):
    name, sample_type = stored(type_id)
    query = f'{name}{{job="{job}"}}'
    return e.get(
        '/api/v1/query',
        query=query,
        mode='merge',
        report=report,
        sample_index=sample_type,
        **{'from': BEGIN, 'to': END},
        **more,
    )


@suite.test
def each_profile_type_shows_the_flame_graph_of_our_own_api(d):
    e = corpus(d)
    ids = ids_of(e)
    assert CPU in ids and 'memory:inuse_space:bytes:space:bytes' in ids and len(ids) == 16, ids
    compared = 0
    for type_id in ids:
        for job in JOBS:
            answer = own(e, type_id, job, 'flamegraph')
            flame = ask(e, 'SelectMergeStacktraces', **of_range(type_id, f'{{service_name="{job}"}}')).get('flamegraph')
            if answer.status == 404:
                assert not flame, (type_id, job)
                continue
            want = own_tree(answer.data())
            assert levels_tree(flame) == want, (type_id, job)
            assert int(flame.get('total', 0)) == want[('total',)][0]
            assert int(flame.get('maxSelf', 0)) == max(self for _, self in want.values())
            compared += 1
    assert compared > 50, compared
    # With fewer nodes, the rest of a node's children is one bar.
    few = ask(e, 'SelectMergeStacktraces', **of_range(CPU, '{service_name="prometheus"}', maxNodes=10))['flamegraph']
    whole = ask(e, 'SelectMergeStacktraces', **of_range(CPU, '{service_name="prometheus"}'))['flamegraph']
    assert few['total'] == whole['total'] and 'other' in few['names'] and '(other)' not in few['names']
    some = levels_tree(few)
    assert all(levels_tree(whole)[path][0] == v[0] for path, v in some.items() if path[-1] != 'other')
    # A click on it asks for what is below it.
    path = next(p for p in some if p[-1] == 'other')[1:-1]
    below = ask(
        e,
        'SelectMergeStacktraces',
        **of_range(
            CPU, '{service_name="prometheus"}', stackTraceSelector={'callSite': [{'name': name} for name in path]}
        ),
    )['flamegraph']
    assert levels_tree(below)[('total', *path)] == levels_tree(whole)[('total', *path)], path
    e.finish()


def samples_of(message):
    """{(names of a stack, labels): value} of a profile with one sample type."""
    parts = {n: [v for k, v in fields(message) if k == n] for n in range(1, 16)}
    strings = [s.decode() for s in parts[6]]
    functions = {}
    for f in parts[5]:
        f = dict(fields(f))
        functions[f[1]] = strings[f.get(2, 0)]
    lines = {}
    for one in parts[4]:
        numbers = list(fields(one))
        lines[dict(numbers)[1]] = tuple(functions[dict(fields(v))[1]] for k, v in numbers if k == 4)
    assert len(parts[1]) == 1, 'one sample type'
    out = {}
    for s in parts[2]:
        pairs = list(fields(s))
        stack, value = [], 0
        for k, v in pairs:
            if k == 1:
                stack += unpacked(v)
            if k == 2:
                [value] = unpacked(v)
        labels = tuple(sorted(v for k, v in pairs if k == 3))
        key = (tuple(lines[i] for i in stack), labels)
        out[key] = out.get(key, 0) + (value - 2**64 if value >= 2**63 else value)
    return out


def unpacked(v):
    """The numbers of a field, packed or not."""
    if isinstance(v, int):
        return [v]
    out, at = [], 0
    while at < len(v):
        number, shift = 0, 0
        while True:
            number |= (v[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if v[at - 1] < 128:
                break
        out.append(number)
    return out


def wire(type_id, selector, *more):
    """A request of a merge in the wire format."""
    return (
        field(1, type_id.encode())
        + field(2, selector.encode())
        + b'\x18'
        + varint(BEGIN)
        + b'\x20'
        + varint(END)
        + b''.join(more)
    )


@suite.test
def profiles_and_both_formats_agree(d):
    e = corpus(d)
    for type_id in ids_of(e)[::3]:
        for job in JOBS[::3]:
            selector = f'{{service_name="{job}"}}'
            raw = call(e, 'SelectMergeProfile', wire(type_id, selector), kind='application/proto')
            assert raw.status == 200 and raw.headers['Content-Type'] == 'application/proto', raw.body
            shown = ask(e, 'SelectMergeProfile', **of_range(type_id, selector))
            if not raw.body:
                assert shown == {}
                continue
            got = samples_of(raw.body)
            assert sum(got.values()) == sum(int(v) for s in shown.get('sample', []) for v in s['value'])
            assert shown['stringTable'][1:] == [v.decode() for k, v in fields(raw.body) if k == 6][1:]
            answer = own(e, type_id, job, 'top', nodecount=0)
            assert sum(got.values()) == answer.data()['total'], (type_id, job)
            # As pprof's format through the other method.
            flame = call(e, 'SelectMergeStacktraces', wire(type_id, selector, b'\x30\x04'), kind='application/proto')
            [inner] = [v for k, v in fields(flame.body) if k == 5]
            [again] = [v for k, v in fields(inner) if k == 1]
            assert samples_of(again) == got
    # A flame graph in both formats.
    selector = '{service_name="etcd"}'
    flame = ask(e, 'SelectMergeStacktraces', **of_range(CPU, selector))['flamegraph']
    [message] = [
        v
        for k, v in fields(call(e, 'SelectMergeStacktraces', wire(CPU, selector), kind='application/proto').body)
        if k == 1
    ]
    assert [v.decode() for k, v in fields(message) if k == 1] == flame['names']
    levels = [unpacked(dict(fields(v)).get(1, b'')) for k, v in fields(message) if k == 2]
    assert levels == [[int(v) for v in level['values']] for level in flame['levels']]
    dot = ask(e, 'SelectMergeStacktraces', **of_range(CPU, selector, format='PROFILE_FORMAT_DOT'))['dot']
    assert dot.startswith('digraph'), dot[:100]
    e.finish()


@suite.test
def an_average_is_that_of_all_profiles_of_a_step(d):
    e = corpus(d)
    step = 300
    average = {'step': step, 'aggregation': 'TIME_SERIES_AGGREGATION_TYPE_AVERAGE'}
    for type_id, query, column in (
        (CPU, 'profile', 'cpu/nanoseconds'),
        ('memory:inuse_space:bytes:space:bytes', 'heap', 'inuse_space/bytes'),
    ):
        values = {}
        for series in e.get('/api/v1/query_range', query=query, totals=1, **{'from': 0, 'to': END}).data():
            for ms, value in zip(series['timestamps'], series['totals'][column]):
                at = -(-(ms - BEGIN) // (1000 * step))
                values.setdefault((series['labels']['job'], at), []).append(value)
        answer = ask(e, 'SelectSeries', **of_range(type_id, groupBy=['job'], **average))
        got = {
            (s['labels'][0]['value'], (int(p['timestamp']) - BEGIN) // (1000 * step)): p['value']
            for s in answer['series']
            for p in s['points']
        }
        want = {k: sum(v) / len(v) for k, v in values.items() if k in got}
        assert any(len(values[k]) > 1 for k in got) and want.keys() == got.keys(), (type_id, values, got)
        for k, v in want.items():
            assert math.isclose(v, got[k], rel_tol=1e-9), (type_id, k, v, got[k])
    # Of a counter, the growth between two profiles counts; groups are those of sums.
    counter = 'memory:alloc_space:bytes:space:bytes'
    sums = ask(e, 'SelectSeries', **of_range(counter, groupBy=['job'], step=step))['series']
    means = ask(e, 'SelectSeries', **of_range(counter, groupBy=['job'], **average))['series']
    assert {json.dumps(s['labels']) for s in means} == {json.dumps(s['labels']) for s in sums}
    e.finish()


@suite.test
def points_are_our_rates_times_the_step(d):
    e = corpus(d)
    step = 300
    for type_id in ids_of(e):
        name, sample_type = stored(type_id)
        unit = type_id.split(':')[2]
        answer = ask(e, 'SelectSeries', **of_range(type_id, groupBy=['service_name'], step=step))
        begin = BEGIN - 1000 * step + 1
        steps = (END - BEGIN) // (1000 * step) + 1
        asked = {'from': begin, 'to': begin + steps * 1000 * step - 1, 'step': f'{step}s', 'group_by': 'job'}
        want = {}
        for line in e.get('/api/v1/query_range', query=name, rate=1, **asked).data():
            flow = line['kinds'][f'{sample_type}/{unit}'] != 'state'
            values = line['totals'][f'{sample_type}/{unit}']
            for i, v in enumerate(values):
                if v is not None:
                    want[line['labels']['job'], BEGIN + i * 1000 * step] = v * step if flow else v
        got = {
            (s['labels'][0]['value'], int(p['timestamp'])): p.get('value', 0)
            for s in answer.get('series', [])
            for p in s['points']
        }
        assert want.keys() == got.keys(), (type_id, want.keys() ^ got.keys())
        for key, v in want.items():
            assert math.isclose(v, got[key], rel_tol=1e-9, abs_tol=1e-9), (type_id, key, v, got[key])
    # One series without labels; the largest ones first; a start that is the end.
    [one] = ask(e, 'SelectSeries', **of_range(CPU, step=60))['series']
    assert 'labels' not in one and one['points']
    all_of = ask(e, 'SelectSeries', **of_range(CPU, groupBy=['job'], step=60))['series']
    two = ask(e, 'SelectSeries', **of_range(CPU, groupBy=['job'], step=60, limit=2))['series']
    sums = [sum(p['value'] for p in s['points']) for s in all_of]
    assert len(all_of) == 4 and sums == sorted(sums, reverse=True) and two == all_of[:2]
    at = int(one['points'][-1]['timestamp'])
    point = ask(e, 'SelectSeries', **{**of_range(CPU, step=60), 'start': at, 'end': at})['series'][0]['points']
    assert [int(p['timestamp']) for p in point] == [at]
    assert ask(e, 'SelectSeries', **{**of_range(CPU, step=15), 'start': 1, 'end': 2}) == {}
    e.finish()


def exemplars_of(answer):
    return [
        ({l['name']: l['value'] for l in s.get('labels', [])}, int(p['timestamp']), x)
        for s in answer.get('series', [])
        for p in s['points']
        for x in p.get('exemplars', [])
    ]


def step_of(at, step):
    """The end of the step of a time."""
    return BEGIN + -(-(at - BEGIN) // (1000 * step)) * 1000 * step


def profile_values(e, type_id, step=60):
    """The kind of a type, and (job, time, value) of its profiles, by everprof's own API."""
    name, sample_type = stored(type_id)
    asked, column = {'from': BEGIN - 3600000, 'to': END}, f'{sample_type}/{type_id.split(":")[2]}'
    kind = e.get('/api/v1/query_range', query=name, step='1h', **asked).data()[0]['kinds'][column]
    out = []
    for line in e.get('/api/v1/query_range', query=name, totals=1, **asked).data():
        before = None
        for at, v in zip(line['timestamps'], line['totals'][column]):
            grown = v if kind != 'counter' else None if before is None else v - before if v >= before else v
            before = v
            if grown and BEGIN <= step_of(at, step) <= END:
                out.append((line['labels']['job'], at, grown))
    return kind, out


@suite.test
def a_heat_map_counts_profiles_by_their_values(d):
    e = corpus(d)
    step = 60
    for type_id in ids_of(e):
        asked = of_range(type_id, groupBy=['service_name'], step=step, exemplarType='EXEMPLAR_TYPE_INDIVIDUAL')
        answer = ask(e, 'SelectHeatmap', **asked, queryType='HEATMAP_QUERY_TYPE_INDIVIDUAL')
        _, values = profile_values(e, type_id)
        least, most = min(v for _, _, v in values), max(v for _, _, v in values)
        width = (most - least) / 20 or 1
        want, best = collections.Counter(), {}
        for job, at, v in values:
            key = job, step_of(at, step), min(19, int((v - least) / width))
            want[key] += 1
            best[key] = max(best.get(key, (0, 0)), (v, -at))
        got, exemplars, totals = {}, {}, []
        for s in answer['series']:
            [label] = s['labels']
            job = label['value']
            totals.append(sum(v for own, _, v in values if own == job))
            for slot in s['slots']:
                at = int(slot['timestamp'])
                assert len(slot['yMin']) == len(slot['counts']) == 20 and sum(slot['counts'])
                assert all(math.isclose(y, least + i * width) for i, y in enumerate(slot['yMin'])), slot
                got.update({(job, at, i): n for i, n in enumerate(slot['counts']) if n})
                for x in slot['exemplars']:
                    key = job, at, min(19, int((int(x['value']) - least) / width))
                    assert key not in exemplars
                    exemplars[key] = int(x['value']), -int(x['timestamp'])
        assert got == want, (type_id, sorted(set(got.items()) ^ set(want.items()))[:4])
        assert exemplars == best, type_id
        assert totals == sorted(totals, reverse=True), totals
    limited = ask(e, 'SelectHeatmap', **of_range(CPU, groupBy=['job'], step=step), limit=1)
    [one] = limited['series']
    assert 'exemplars' not in one['slots'][0]
    assert ask(e, 'SelectHeatmap', **of_range(CPU, step=step), queryType='HEATMAP_QUERY_TYPE_SPAN') == {}
    assert ask(e, 'SelectHeatmap', **of_range(CPU, '{job="no"}', step=step)) == {}
    answer = call(e, 'SelectHeatmap', json.dumps(of_range(CPU, step=15)).encode())
    assert answer.status == 400 and b'more than 64 steps' in answer.body, answer.body
    e.finish()


@suite.test
def an_exemplar_leads_to_the_largest_profile_of_its_point(d):
    e = corpus(d)
    step, kinds = 60, set()
    for type_id in ids_of(e):
        name, sample_type = stored(type_id)
        options = of_range(type_id, groupBy=['service_name'], step=step)
        plain = ask(e, 'SelectSeries', **options)
        with_them = ask(e, 'SelectSeries', **options, exemplarType='EXEMPLAR_TYPE_INDIVIDUAL')
        found = exemplars_of(with_them)
        assert not exemplars_of(plain)
        for s in with_them['series']:
            for p in s['points']:
                p.pop('exemplars', None)
        assert with_them == plain
        kind, values = profile_values(e, type_id)
        kinds.add(kind)
        own_totals = {}
        for job, at, grown in values:
            own_totals.setdefault((job, step_of(at, step)), []).append((grown, at))
        got = {}
        for labels, point, x in found:
            assert set(labels) == {'service_name'}
            rest = {l['name'] for l in x['labels']}
            assert rest == {'job'}, rest
            got[labels['service_name'], point] = (int(x['value']), int(x['timestamp']))
        want = {key: max(v, key=lambda pair: (pair[0], -pair[1])) for key, v in own_totals.items()}
        assert got == want, (type_id, sorted(set(got.items()) ^ set(want.items()))[:4])
        # Its id leads to its stacks, by either request, and to nothing else.
        for labels, point, x in found[:: max(1, len(found) // 3)]:
            flame = ask(e, 'SelectMergeStacktraces', **of_range(type_id), profileIdSelector=[x['profileId']])
            if kind == 'counter':
                assert flame['flamegraph']['total'] == x['value'], (type_id, x, flame['flamegraph']['total'])
            else:
                [job] = [l['value'] for l in x['labels']]
                alone = {'start': int(x['timestamp']), 'end': int(x['timestamp']), 'labelSelector': f'{{job="{job}"}}'}
                assert flame == ask(e, 'SelectMergeStacktraces', **{**of_range(type_id), **alone}), (type_id, x)
            merged = ask(e, 'SelectMergeProfile', **of_range(type_id), profileIdSelector=[x['profileId']])
            assert sum(int(s['value'][0]) for s in merged['sample']) == int(x['value']), (type_id, x)
    assert kinds == {'flow', 'counter', 'state'}, kinds
    ids = [
        x['profileId'] for _, _, x in exemplars_of(ask(e, 'SelectSeries', **of_range(CPU, step=step), exemplarType=2))
    ]
    one, two = (x for _, _, x in exemplars_of(ask(e, 'SelectSeries', **of_range(CPU, step=step), exemplarType=2))[:2])
    both = ask(e, 'SelectMergeStacktraces', **of_range(CPU), profileIdSelector=[one['profileId'], two['profileId']] * 2)
    assert int(both['flamegraph']['total']) == int(one['value']) + int(two['value'])
    assert len(set(ids)) == len(ids) > 2, ids
    nobody = ['00000000-0000-8000-8000-000000000000', 'c1a5a2f1-3a6e-4b8a-9a51-8d0f2c7f9a10']
    assert ask(e, 'SelectMergeStacktraces', **of_range(CPU), profileIdSelector=nobody) == {}
    # Of another selector, or outside of the range, it is not merged.
    where = {'start': int(one['timestamp']) + 1, 'end': END}
    for more in ({'labelSelector': '{service_name="no"}'}, where):
        assert ask(e, 'SelectMergeStacktraces', **{**of_range(CPU), **more}, profileIdSelector=ids[:1]) == {}
    answer = call(e, 'SelectMergeStacktraces', json.dumps({**of_range(CPU), 'profileIdSelector': ['no']}).encode())
    assert answer.status == 400 and b'expected a UUID' in answer.body, answer.body
    e.finish()


@suite.test
def a_difference_has_both_merges(d):
    e = corpus(d)
    for type_id in (CPU, 'memory:inuse_space:bytes:space:bytes'):
        left, right = (of_range(type_id, f'{{service_name="{job}"}}') for job in ('etcd', 'prometheus'))
        diff = ask(e, 'Diff', left=left, right=right)['flamegraph']
        tree = levels_tree(diff, 7)
        sides = [own_tree(own(e, type_id, job, 'flamegraph').data()) for job in ('etcd', 'prometheus')]
        for path in sides[0].keys() | sides[1].keys():
            assert tree[path] == sides[0].get(path, (0, 0)) + sides[1].get(path, (0, 0)), (path, tree[path])
        assert tree.keys() == sides[0].keys() | sides[1].keys()
        assert int(diff['leftTicks']) == sides[0][('total',)][0]
        assert int(diff['rightTicks']) == sides[1][('total',)][0]
        assert int(diff['total']) == int(diff['leftTicks']) + int(diff['rightTicks'])
        # A side without profiles is empty, and no error.
        nobody = of_range(type_id, '{service_name="nobody"}')
        for sent, ticks in (
            ({'left': left, 'right': nobody}, ('leftTicks', 'rightTicks')),
            ({'left': nobody, 'right': left}, ('rightTicks', 'leftTicks')),
        ):
            one = ask(e, 'Diff', **sent)['flamegraph']
            assert int(one[ticks[0]]) == sides[0][('total',)][0] and ticks[1] not in one, one
            assert len(levels_tree(one, 7)) == len(sides[0])
        assert ask(e, 'Diff', left=nobody, right=nobody) == {}
    answer = call(e, 'Diff', json.dumps({'left': of_range(CPU), 'right': left}).encode())
    assert answer.status == 400 and 'both sides' in answer.json()['message'], answer.body
    e.finish()


@suite.test
def labels_of_scraped_and_pushed_profiles_are_one(d):
    e = corpus(d)
    at = BEGIN // 1000
    for name, body in (
        ('etcd{pod=a}', made_cpu(1).encode()),
        ('shop{pod=b,team.name=x}', Profile([('cpu', 'nanoseconds')], [CPU_ONLY], 1).encode()),
    ):
        answer = e.get('/ingest', data=body, method='POST', name=name, format='pprof', **{'from': at})
        assert answer.status == 200, answer.body
    everything = {'start': 0, 'end': 0}
    names = ask(e, 'LabelNames', **everything)['names']
    assert {'job', 'pod', 'service_name', '__profile_type__', '__name__'} <= set(names) and 'team.name' not in names
    assert names == sorted(names)
    utf8 = call(e, 'LabelNames', b'{}', {'Accept': '*/*; allow-utf8-labelnames=true'}).json()['names']
    assert 'team.name' in utf8
    assert ask(e, 'LabelNames', matchers=['{service_name="leakapp"}'])['names'] == sorted(
        {
            '__name__',
            '__period_type__',
            '__period_unit__',
            '__profile_type__',
            '__service_name__',
            '__type__',
            '__unit__',
        }
        | {'job', 'service_name'}
    )
    assert ask(e, 'LabelValues', name='service_name')['names'] == sorted({*JOBS, 'shop'})
    assert ask(e, 'LabelValues', name='pod')['names'] == ['a', 'b']
    assert ask(e, 'LabelValues', name='pod', matchers=['{service_name="etcd"}'])['names'] == ['a']
    assert ask(e, 'LabelValues', name='pod', matchers=['{service_name="etcd"}', '{job="shop"}'])['names'] == ['a', 'b']
    assert ask(e, 'LabelValues', name='__profile_type__')['names'] == ids_of(e)
    assert ask(e, 'LabelValues', name='__name__', matchers=['{service_name="shop"}'])['names'] == ['process_cpu']
    assert ask(e, 'LabelValues', name='nothing') == {}
    assert ask(e, 'LabelValues', name='service_name', matchers=[f'{{__profile_type__="{CPU}"}}'])['names'] == sorted(
        {*JOBS, 'shop'}
    )
    # Drilldown's first question, and what it asks for a service.
    rows = ask(e, 'Series', labelNames=['service_name', '__profile_type__'])['labelsSet']
    pairs = [tuple((p['name'], p['value']) for p in row['labels']) for row in rows]
    assert len(pairs) == len(set(pairs)) and all(len(p) == 2 for p in pairs)
    assert (('service_name', 'etcd'), ('__profile_type__', CPU)) in pairs
    for job in JOBS:
        ids = {p[1][1] for p in pairs if p[0][1] == job}
        assert ids <= set(ids_of(e)) and len(ids) > 8, (job, ids)
    whole = ask(e, 'Series', matchers=['{service_name="shop"}'])['labelsSet']
    assert [{p['name']: p['value'] for p in row['labels']} for row in whole] == [
        {'__name__': 'process_cpu', 'job': 'shop', 'pod': 'b', 'service_name': 'shop', 'team.name': 'x'}
    ]
    # A profile type of scraped and of pushed profiles, which need not have the same sample types.
    flame = ask(e, 'SelectMergeStacktraces', **of_range(CPU, '{service_name="etcd"}'))['flamegraph']
    scraped = own(e, CPU, 'etcd', 'top').data()['total']
    pushed = sum(s.values[1] for s in made_cpu(1).samples)
    tops = [v for path, v in levels_tree(flame).items() if len(path) == 1]
    without = own_tree(own(e, CPU, 'etcd', 'flamegraph').data())[('total',)][0]
    assert tops[0][0] == without + pushed, (tops, scraped, pushed)
    both = ask(e, 'SelectMergeStacktraces', **of_range(CPU, '{service_name=~"etcd|shop"}'))['flamegraph']
    assert int(both['total']) == without + pushed + 500, both['total']
    [line] = ask(e, 'SelectSeries', **of_range(CPU, '{service_name="shop"}', step=1200))['series']
    assert line['points'], line
    stats = ask(e, 'GetProfileStats')
    assert stats['dataIngested'] and int(stats['oldestProfileTime']) <= BEGIN + 5000
    assert ids_of(e, start=1000, end=4000) == []
    e.finish()


def deep(depth):
    """A CPU profile of two stacks that differ in their innermost frames, f0, f1 … inwards."""
    names = ['', 'cpu', 'nanoseconds', *(f'f{i}' for i in range(depth)), 'other']
    body = field(1, b'\x08\x01\x10\x02')
    for inner, value in ((depth, 5), (depth + 1, 7)):
        stack = [*range(1, depth), inner]
        body += field(2, field(1, b''.join(map(varint, reversed(stack)))) + field(2, varint(value)))
    for i in range(1, depth + 2):
        body += field(4, b'\x08' + varint(i) + field(4, b'\x08' + varint(i)))
        body += field(5, b'\x08' + varint(i) + b'\x10' + varint(i + 2))
    body += b''.join(field(6, name.encode()) for name in names)
    return body + field(11, b'\x08\x01\x10\x02') + b'\x60\x01'


@suite.test
def a_call_site_is_as_deep_as_stacks_are(d):
    e = corpus(d)
    depth = 1000
    answer = e.get('/ingest', data=deep(depth), method='POST', name='deep', format='pprof', **{'from': BEGIN // 1000})
    assert answer.status == 200, answer.body
    path = [f'f{i}' for i in range(depth)]

    def sites(names):
        request = of_range(CPU, '{service_name="deep"}', stackTraceSelector={'callSite': [{'name': n} for n in names]})
        return call(e, 'SelectMergeStacktraces', json.dumps(request).encode())

    for names, total in ((path[:-1], 12), (path, 5), ([*path[:-1], 'other'], 7), ([*path[:500], 'other'], 0)):
        answer = sites(names)
        assert answer.status == 200, answer.body
        assert int(answer.json().get('flamegraph', {}).get('total', 0)) == total, (len(names), answer.body[:200])
    answer = sites([f'f{i}' for i in range(1025)])
    assert answer.status == 400 and '1024' in answer.json()['message'], answer.body
    e.finish()


@suite.test
def samples_are_selected_by_frames_and_spans(d):
    e = corpus(d)
    ids = {'span_id': '0123456789abcdef', 'trace_id': '0123456789abcdef0123456789abcdef'}
    cpu = made_cpu(7)
    spans = [s._replace(labels={**s.labels, **(ids if i % 3 == 0 else {})}) for i, s in enumerate(cpu.samples)]
    body = Profile(cpu.types, spans, cpu.duration).encode()
    answer = e.get('/ingest', data=body, method='POST', name='spans', format='pprof', **{'from': BEGIN // 1000})
    assert answer.status == 200, answer.body
    total = sum(s.values[1] for s in spans)
    chosen = sum(s.values[1] for s in spans if 'span_id' in s.labels)
    selector = '{service_name="spans"}'

    def flame(**more):
        return ask(e, 'SelectMergeStacktraces', **of_range(CPU, selector, **more)).get('flamegraph', {})

    assert int(flame()['total']) == total
    assert int(flame(spanSelector=[ids['span_id']])['total']) == chosen
    assert int(flame(traceIdSelector=[ids['trace_id']])['total']) == chosen
    assert int(flame(spanSelector=['f' * 16]).get('total', 0)) == 0
    assert int(flame(spanSelector=[f'{i:016x}' for i in range(1000)] + [ids['span_id'].upper()])['total']) == chosen
    span = of_range(CPU, selector, spanSelector=[ids['span_id']])
    assert int(ask(e, 'SelectMergeSpanProfile', **span)['flamegraph']['total']) == chosen

    def weight(keep):
        return sum(s.values[1] for s in spans if keep([f[0] for place in s.stack for f in place]))

    for frames, keep in (
        ({'includeFunctionNames': ['db.query']}, lambda n: 'db.query' in n),
        ({'includeFunctionNames': ['web.serve', 'db.scan']}, lambda n: 'web.serve' in n and 'db.scan' in n),
        ({'excludeFunctionNames': ['db.query', 'html.render']}, lambda n: not {'db.query', 'html.render'} & set(n)),
        ({'includeFunctionNameRegexes': ['^runtime']}, lambda n: any(x.startswith('runtime') for x in n)),
        ({'excludeFunctionNameRegexes': ['^web']}, lambda n: not any(x.startswith('web') for x in n)),
        ({'includeFunctionNames': ['db.que']}, lambda n: False),
        # Not the file or the binary of a function, whose names are like those of functions.
        ({'excludeFunctionNameRegexes': ['shop', 'serve.go']}, lambda n: True),
        ({'includeFunctionNameRegexes': ['.'] * 60}, lambda n: True),
    ):
        got = flame(stackTraceSelector={'frameFilter': frames})
        assert int(got.get('total', 0)) == weight(keep), (frames, got.get('total'))
    # Each side of a difference has its own.
    sides = [of_range(CPU, selector, spanSelector=[ids['span_id']]), of_range(CPU, selector)]
    for left, right in (sides, sides[::-1]):
        diff = ask(e, 'Diff', left=left, right=right)['flamegraph']
        sent = [chosen if side is sides[0] else total for side in (left, right)]
        assert [int(diff['leftTicks']), int(diff['rightTicks'])] == sent, diff
    for bad, why in (
        ({'spanSelector': ['xyz']}, '16 hexadecimal digits'),
        ({'traceIdSelector': ['0' * 31]}, '32 hexadecimal digits'),
        ({'stackTraceSelector': {'frameFilter': {'includeFunctionNameRegexes': ['(']}}}, 'expression of functions'),
        ({'maxNodes': -1}, 'max_nodes'),
        ({'maxNodes': 1 << 21}, 'max_nodes'),
    ):
        answer = call(e, 'SelectMergeStacktraces', json.dumps(of_range(CPU, selector, **bad)).encode())
        error = answer.json()
        assert answer.status == 400 and error['code'] == 'invalid_argument' and why in error['message'], (bad, error)
    e.finish()


@suite.test
def render_answers_in_its_older_form(d):
    e = corpus(d)
    span = {'from': BEGIN, 'until': END}
    query = f'{CPU}{{service_name="prometheus"}}'
    answer = e.get('/pyroscope/render', query=query, **span)
    assert answer.status == 200 and answer.headers['Content-Type'] == 'application/json', answer.body
    got = answer.json()
    flame = ask(e, 'SelectMergeStacktraces', **of_range(CPU, '{service_name="prometheus"}'))['flamegraph']
    assert got['flamebearer']['names'] == flame['names']
    assert got['flamebearer']['levels'] == [[int(v) for v in level['values']] for level in flame['levels']]
    assert got['flamebearer']['numTicks'] == int(flame['total'])
    assert got['flamebearer']['maxSelf'] == int(flame['maxSelf'])
    wanted = {'format': 'single', 'spyName': '', 'sampleRate': 10**9, 'units': 'samples', 'name': 'cpu'}
    assert got['metadata'] == wanted and got['version'] == 1, got['metadata']
    line = got['timeline']
    points = ask(e, 'SelectSeries', **of_range(CPU, '{service_name="prometheus"}', step=15))['series'][0]['points']
    assert line['startTime'] == BEGIN // 1000 and line['durationDelta'] == 15
    assert len(line['samples']) == (END - BEGIN) // 15000 + 1
    shown = {BEGIN + 15000 * i: v for i, v in enumerate(line['samples']) if v}
    assert shown == {int(p['timestamp']): round(p['value']) for p in points if round(p['value'])}
    groups = e.get('/pyroscope/render', query=CPU + '{}', groupBy='service_name', **span).json()['groups']
    assert set(groups) == set(JOBS) and groups['prometheus']['samples'] == line['samples']
    few = e.get('/pyroscope/render', query=query, maxNodes=8, **span).json()['flamebearer']
    assert 'other' in few['names'] and few['numTicks'] == got['flamebearer']['numTicks']
    dot = e.get('/pyroscope/render', query=query, format='dot', **span)
    assert dot.status == 200 and dot.body.startswith(b'digraph'), dot.body[:50]
    empty = e.get('/pyroscope/render', query=CPU + '{service_name="nobody"}', **span).json()
    assert empty['flamebearer'] == {'names': ['total'], 'levels': [[0, 0, 0, 0]], 'numTicks': 0, 'maxSelf': 0}
    assert set(empty['timeline']['samples']) == {0}
    sides = {
        'leftQuery': CPU + '{service_name="etcd"}',
        'leftFrom': BEGIN,
        'leftUntil': END,
        'rightQuery': query,
        'rightFrom': BEGIN,
        'rightUntil': END,
    }
    both = e.get('/pyroscope/render-diff', **sides).json()
    diff = ask(
        e, 'Diff', left=of_range(CPU, '{service_name="etcd"}'), right=of_range(CPU, '{service_name="prometheus"}')
    )['flamegraph']
    assert both['flamebearer']['levels'] == [[int(v) for v in level['values']] for level in diff['levels']]
    assert (both['leftTicks'], both['rightTicks']) == (int(diff['leftTicks']), int(diff['rightTicks']))
    assert both['metadata']['format'] == 'double' and 'timeline' not in both
    for path, params, why in (
        ('render', {}, '"query" is missing'),
        ('render', {'query': '{a="b"}'}, 'no profile type'),
        ('render', {'query': query, 'from': 'x'}, '"from"'),
        ('render', {'query': query, 'max-nodes': 'x'}, '"max-nodes"'),
        ('render-diff', {'leftQuery': query}, '"rightQuery" is missing'),
    ):
        answer = e.get(f'/pyroscope/{path}', **params)
        error = answer.json()
        assert answer.status == 400 and error['code'] == 'invalid_argument' and why in error['message'], (params, error)
    e.finish()


@suite.test
def the_protocol_is_that_of_connect(d):
    e = corpus(d)
    body = json.dumps(of_range(CPU)).encode()
    for method, sent, headers, kind, status, code in (
        ('Nothing', b'{}', {}, 'application/json', 501, 'unimplemented'),
        ('/vcs.v1.VCSService/GithubApp', b'{}', {}, 'application/json', 501, 'unimplemented'),
        ('/settings.v1.SettingsService/Set', b'{}', {}, 'application/json', 501, 'unimplemented'),
        ('ProfileTypes', b'{', {}, 'application/json', 400, 'invalid_argument'),
        ('ProfileTypes', b'\xff', {}, 'application/proto', 400, 'invalid_argument'),
        ('ProfileTypes', b'{}', {}, 'application/connect+json', 415, 'invalid_argument'),
        ('ProfileTypes', b'{}', {}, 'application/grpc', 415, 'invalid_argument'),
        ('ProfileTypes', b'{}', {'Content-Encoding': 'br'}, 'application/json', 501, 'unimplemented'),
        ('ProfileTypes', b'{}', {'Content-Encoding': 'gzip'}, 'application/json', 400, 'invalid_argument'),
        ('ProfileTypes', b' ' * (2 << 20), {}, 'application/json', 400, 'invalid_argument'),
        ('SelectSeries', body, {}, 'application/json', 400, 'invalid_argument'),
        ('LabelValues', b'{}', {}, 'application/json', 400, 'invalid_argument'),
        ('SelectMergeStacktraces', b'{}', {}, 'application/json', 400, 'invalid_argument'),
        (
            'SelectMergeStacktraces',
            json.dumps({'format': 'PROFILE_FORMAT_NEW'}).encode(),
            {},
            'application/json',
            501,
            'unimplemented',
        ),
        ('SelectMergeStacktraces', json.dumps({'format': 2}).encode(), {}, 'application/json', 501, 'unimplemented'),
    ):
        answer = call(e, method, sent, headers, kind)
        assert answer.status == status, (method, sent[:50], answer.status, answer.body)
        assert answer.headers['Content-Type'] == 'application/json', answer.headers
        error = answer.json()
        assert error['code'] == code and error['message'], (method, error)
        if status == 415:
            assert 'application/proto' in answer.headers['Accept-Post'], answer.headers
    assert e.get(QUERIER + 'ProfileTypes').status == 405
    # Requests may be compressed, and in chunks, as older clients send them.
    packed = gzip.compress(body)
    answer = call(e, 'SelectMergeStacktraces', packed, {'Content-Encoding': 'gzip'})
    assert answer.json() == ask(e, 'SelectMergeStacktraces', **of_range(CPU))
    c = http.client.HTTPConnection('127.0.0.1', e.port, timeout=30)
    pieces = [body[i : i + 10] for i in range(0, len(body), 10)]
    c.request(
        'POST',
        QUERIER + 'SelectMergeStacktraces',
        iter(pieces),
        {'Content-Type': 'application/json'},
        encode_chunked=True,
    )
    answer = c.getresponse()
    assert answer.status == 200 and json.loads(answer.read())['flamegraph'], answer.status
    bomb = gzip.compress(bytes(64 << 20))
    answer = call(e, 'ProfileTypes', bomb, {'Content-Encoding': 'gzip'})
    assert answer.status == 400 and '4 MiB' in answer.json()['message'], answer.body
    many = {**of_range(CPU), 'step': 0.001}
    answer = call(e, 'SelectSeries', json.dumps(many).encode())
    assert answer.status == 400 and 'at least 1' in answer.json()['message'], answer.body
    assert ask(e, '/settings.v1.SettingsService/Get') == {}
    flags = ask(e, '/capabilities.v1.FeatureFlagsService/GetFeatureFlags')
    assert flags == {'featureFlags': [{'name': 'functionProjections'}]}
    assert e.get('/ready').status == 200
    # A double in the wire format.
    sent = wire(CPU, '{}', b'\x31' + struct.pack('<d', 60))
    answer = call(e, 'SelectSeries', sent, kind='application/proto')
    assert answer.status == 200 and answer.body, answer.body
    assert e.get('/api/v1/profile_types').status == 200
    e.finish()


@suite.test
def scraped_counters_and_pushed_increments_are_one_graph(d):
    """A program that allocates 1 000 bytes in each of 20 intervals: pushed as increments, and scraped as a
    count since its start; Grafana shows both as one profile type."""
    begin = BEGIN // 1000
    os.makedirs(f'{d}/in')
    for i in range(20):
        with open(f'{d}/in/{(begin + 15 * i) * 1000}.pb', 'wb') as f:
            f.write(memory(1000 * (i + 1) + 10**9, (begin + 15 * i) * 10**9))
    answer = run('tsdb', 'import', f'{d}/in', '--labels=heap{job="app",pod="a"}', f'--storage.tsdb.path={d}/data')
    assert answer.returncode == 0, answer.stderr
    e = Everprof(d, flags=['--storage.tsdb.retention.time=0', '--web.enable-push-receiver']).ready()
    for i in range(20):
        form = b'--b\r\nContent-Disposition: form-data; name=profile\r\n\r\n'
        form += memory(1000, (begin + 15 * i) * 10**9) + b'\r\n--b--'
        headers = {'Content-Type': 'multipart/form-data; boundary=b'}
        answer = e.get('/ingest', data=form, method='POST', headers=headers, name='app{pod=b}')
        assert answer.status == 200, answer.body
    type_id = 'memory:alloc_space:bytes::'
    assert type_id in ids_of(e)
    begin_ms, end_ms = begin * 1000, (begin + 300) * 1000
    span = {'profile_typeID': type_id, 'labelSelector': '{}', 'start': begin_ms + 150000, 'end': end_ms, 'step': 15}
    [both] = ask(e, 'SelectSeries', **span)['series']
    each = ask(e, 'SelectSeries', **span, groupBy=['pod'])['series']
    assert {s['labels'][0]['value'] for s in each} == {'a', 'b'}
    for line in each:
        assert all(900 < p['value'] < 1100 for p in line['points'][:-2]), line
    assert all(1800 < p['value'] < 2200 for p in both['points'][:-2]), both
    e.finish()


def pair(name, value):
    """A label of push.v1."""
    return field(1, field(1, name.encode()) + field(2, value.encode()))


@suite.test
def types_are_those_of_each_service(d):
    """Python's profiles have no number of samples, and a colon in a name makes no id."""
    e = Everprof(d, flags=['--storage.tsdb.retention.time=0', '--web.enable-push-receiver']).ready()
    at = BEGIN // 1000
    for name, body in (
        ('go{}', made_cpu(1).encode()),
        ('python{}', Profile([('cpu', 'nanoseconds')], [CPU_ONLY], 1).encode()),
        ('odd{}', Profile([('a:b', 'c')], [CPU_ONLY], 1).encode()),
    ):
        answer = e.get('/ingest', data=body, method='POST', name=name, format='pprof', **{'from': at})
        assert answer.status == 200, answer.body
    samples = 'process_cpu:samples:count:cpu:nanoseconds'
    rows = ask(e, 'Series', labelNames=['service_name', '__profile_type__'])['labelsSet']
    pairs = {tuple(p['value'] for p in row['labels']) for row in rows}
    assert pairs == {('go', CPU), ('go', samples), ('python', CPU)}, pairs
    for service, want in (('go', [CPU, samples]), ('python', [CPU])):
        got = ask(e, 'LabelValues', name='__profile_type__', matchers=[f'{{service_name="{service}"}}'])
        assert got['names'] == want, got
    got = ask(e, 'LabelValues', name='__unit__', matchers=['{service_name="go"}'])
    assert got['names'] == ['count', 'nanoseconds'], got
    assert ids_of(e) == [CPU, samples]
    odd = e.get(
        '/push.v1.PusherService/Push',
        data=field(1, pair('__name__', 'process_cpu') + pair('a,b', 'c') + field(2, field(1, made_cpu(1).encode()))),
        headers={'Content-Type': 'application/proto'},
        method='POST',
    )
    assert odd.status == 200, odd.body
    now = int(time.time()) * 1000
    groups = ask(
        e,
        'SelectSeries',
        **{
            **of_range(CPU, '{service_name="unknown_service"}', groupBy=['a,b', 'a', 'a,b'], step=3600),
            'start': now,
            'end': now + 3600000,
        },
    )['series']
    assert [s['labels'] for s in groups] == [[{'name': 'a,b', 'value': 'c'}]], groups
    lines = ask(e, 'SelectSeries', **of_range(CPU, groupBy=['__type__', 'service_name'], step=1200))['series']
    assert [[p['value'] for p in s['labels']] for s in lines] == [['cpu', 'go'], ['cpu', 'python']], lines
    e.finish()


@suite.test
def who_may_not_read_is_told_so(d):
    with open(f'{d}/web.yml', 'w') as f:
        f.write(
            'bearer_tokens:\n'
            '- {name: sdk, token: 0123456789abcdef, scopes: [write]}\n'
            '- {name: eye, token: fedcba9876543210, scopes: [read]}\n'
        )
    e = corpus(d, f'--web.config.file={d}/web.yml')
    answer = call(e, 'ProfileTypes', b'{}')
    assert answer.status == 401 and answer.json()['code'] == 'unauthenticated', answer.body
    answer = call(e, 'ProfileTypes', b'{}', bearer('0123456789abcdef'))
    assert answer.status == 403 and answer.json()['code'] == 'permission_denied', answer.body
    assert call(e, 'ProfileTypes', b'{}', bearer('fedcba9876543210')).status == 200
    answer = e.get('/ingest', data=profile('a'), method='POST', name='a', format='pprof')
    assert answer.status == 401, answer.body
    e.finish()


suite.main()
