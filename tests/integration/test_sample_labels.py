#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""To Pyroscope's API, labels of samples are labels of series: selectors, groups and lists agree with a reader of
all profiles, which is written here."""
import collections
import itertools
import math
import os
import random

from grafana_api import ask, levels_tree
from harness import Everprof, Suite, field, run
from report_data import STACKS, Profile, Sample, names

suite = Suite()
CPU = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds'
ALLOC = 'memory:alloc_space:bytes:cpu:nanoseconds'
INUSE = 'memory:inuse_space:bytes:cpu:nanoseconds'
STEP = 15  # seconds: between two profiles, and the duration of each
COUNT = 80  # profiles of each series
IMPORTED = 60  # of these, the others are pushed
BEGIN = 1795232205  # seconds, of the first profile
RANGE = {'start': BEGIN * 1000, 'end': (BEGIN + STEP * COUNT) * 1000 - 1}
VEHICLES = ('car', 'bike', 'scooter')
SPAN = '0123456789abcdef'
SETS = [
    {},
    {'vehicle': 'car'},
    {'vehicle': 'bike', 'region': 'eu'},
    {'region': 'us', 'bytes': 4096},
    {'vehicle': 'scooter', 'span_id': SPAN, 'team.name': 'x'},
    {'vehicle': 'car', 'region': 'eu'},
]
PODS = [{'pod': 'a'}, {'pod': 'b', 'region': 'asia'}, {'pod': 'c', 'vehicle': 'bus'}]
TYPES = {
    'process_cpu': [('samples', 'count'), ('cpu', 'nanoseconds')],
    'heap': [('alloc_space', 'bytes'), ('inuse_space', 'bytes')],
}

Stored = collections.namedtuple('Stored', 'name labels at samples')


def made(rng, name, at, alloc):
    """The samples of a profile; `alloc` is what the program has allocated since it began."""
    samples = []
    for stack, labels in itertools.product(STACKS[:5], SETS):
        if rng.random() < 0.4:
            continue
        n = rng.randrange(1, 9)
        if name == 'heap':
            key = stack, tuple(sorted(labels.items()))
            alloc[key] = alloc.get(key, 0) + 100 * n
            samples.append(Sample(stack, labels, (alloc[key], n)))
        else:
            samples.append(Sample(stack, labels, (n, n * 10**7)))
    return samples


def everything():
    """All profiles: those of three pods, of which each has other labels itself."""
    rng = random.Random(7)
    out = []
    for pod, name in itertools.product(PODS, TYPES):
        alloc = {}
        for i in range(COUNT):
            if i == 33:
                alloc = {}  # it restarts
            # What was allocated once stays counted.
            samples = made(rng, name, i, alloc)
            if name == 'heap':
                seen = {(s.stack, tuple(sorted(s.labels.items()))) for s in samples}
                samples += [Sample(k[0], dict(k[1]), (v, 0)) for k, v in alloc.items() if k not in seen]
            out.append(Stored(name, {'service_name': 'shop', 'job': 'shop', **pod}, BEGIN + STEP * i, samples))
    return out


def body(s):
    duration = STEP * 10**9 if s.name == 'process_cpu' else 0
    return Profile(TYPES[s.name], s.samples, duration, s.at * 10**9).encode()


def serve(d, profiles):
    """A server that has most of them in blocks, and the last ones in its WAL."""
    folders = collections.defaultdict(list)
    for s in profiles:
        folders[s.name, tuple(s.labels.items())].append(s)
    for i, ((name, labels), of_series) in enumerate(folders.items()):
        os.makedirs(f'{d}/in{i}')
        for s in of_series[:IMPORTED]:
            with open(f'{d}/in{i}/{s.at * 1000}.pb', 'wb') as f:
                f.write(body(s))
        given = name + '{' + ','.join(f'{k}="{v}"' for k, v in labels) + '}'
        answer = run('tsdb', 'import', f'{d}/in{i}', f'--labels={given}', f'--storage.tsdb.path={d}/data')
        assert answer.returncode == 0, answer.stderr
    e = Everprof(d, flags=['--storage.tsdb.retention.time=0', '--web.enable-push-receiver']).ready()
    for (name, labels), of_series in folders.items():
        push(e, name, dict(labels), of_series[IMPORTED:])
    return e


def push(e, name, labels, profiles, replace=(b'', b'')):
    pairs = b''.join(field(1, pair(k, v)) for k, v in (('__name__', name), *labels.items()))
    bodies = [body(s).replace(*replace) if replace[0] else body(s) for s in profiles]
    message = field(1, pairs + b''.join(field(2, field(1, b)) for b in bodies))
    answer = e.get(
        '/push.v1.PusherService/Push', data=message, method='POST', headers={'Content-Type': 'application/proto'}
    )
    assert answer.status == 200, answer.body


def pair(name, value):
    return field(1, name.encode()) + field(2, value.encode())


def effective(s, sample, name):
    """The label of a sample: that of its series, or its own text label."""
    own = sample.labels.get(name, '')
    return s.labels.get(name) or (own if isinstance(own, str) and name != 'span_id' else '')


def selected(profiles, name, keep):
    """The profiles of a name, with the samples that keep(label) selects."""
    for s in profiles:
        if s.name == name:
            kept = [x for x in s.samples if keep(lambda label, s=s, x=x: effective(s, x, label))]
            yield s._replace(samples=kept)


def added(profiles, at):
    """{stack: value} of sample type `at`: flows are added, of counters, the increases of each process are."""
    out = collections.Counter()
    for i, s in enumerate(profiles):
        k = i % COUNT
        sign = 1
        if s.name == 'heap':
            sign = {0: -1, 32: 1, COUNT - 1: 1}.get(k, 0)
        for x in s.samples:
            out[names(x.stack)] += sign * x.values[at]
    return {stack: v for stack, v in out.items() if v}


def tree(stacks):
    """The same as a tree: {path: (total, self)}."""
    totals, selves = collections.Counter(), collections.Counter()
    for stack, v in stacks.items():
        selves['total', *stack] += v
        for i in range(len(stack) + 1):
            totals['total', *stack[:i]] += v
    return {path: (v, selves[path]) for path, v in totals.items()}


SELECTORS = {
    '{vehicle="car"}': lambda of: of('vehicle') == 'car',
    '{vehicle!="car"}': lambda of: of('vehicle') != 'car',
    '{vehicle=~"car|bus"}': lambda of: of('vehicle') in ('car', 'bus'),
    '{vehicle!~"b.*"}': lambda of: not of('vehicle').startswith('b'),
    '{vehicle=""}': lambda of: not of('vehicle'),
    '{vehicle!=""}': lambda of: of('vehicle'),
    '{vehicle="bike",region="eu"}': lambda of: of('vehicle') == 'bike' and of('region') == 'eu',
    '{region="asia"}': lambda of: of('region') == 'asia',
    '{region="us",pod="c"}': lambda of: of('region') == 'us' and of('pod') == 'c',
    '{"team.name"="x"}': lambda of: of('team.name') == 'x',
    '{service_name="shop",vehicle="scooter"}': lambda of: of('vehicle') == 'scooter',
    '{bytes="4096"}': lambda of: False,
    '{span_id!=""}': lambda of: False,
    '{vehicle="train"}': lambda of: False,
    '{}': lambda of: True,
}


def merged(e, type_id, selector, **more):
    answer = ask(e, 'SelectMergeStacktraces', profile_typeID=type_id, labelSelector=selector, **RANGE, **more)
    return levels_tree(answer['flamegraph']) if 'flamegraph' in answer else {}


@suite.test
def merges_have_the_samples_whose_labels_match(d):
    profiles = everything()
    e = serve(d, profiles)
    for selector, keep in SELECTORS.items():
        for type_id, name, at in ((CPU, 'process_cpu', 1), (ALLOC, 'heap', 0)):
            got, want = merged(e, type_id, selector), tree(added(selected(profiles, name, keep), at))
            assert got == want or (not want and set(got) <= {('total',)}), (selector, type_id, got, want)
    # What each value has, and what has none, are the whole.
    for type_id in (CPU, ALLOC):
        parts = [merged(e, type_id, f'{{vehicle="{v}"}}')[('total',)][0] for v in (*VEHICLES, 'bus', '')]
        assert all(parts) and sum(parts) == merged(e, type_id, '{}')[('total',)][0], parts
    both = ask(
        e,
        'Diff',
        left={'profile_typeID': CPU, 'labelSelector': '{vehicle="car"}', **RANGE},
        right={'profile_typeID': CPU, 'labelSelector': '{vehicle="bus"}', **RANGE},
    )['flamegraph']
    for side, selector in (('leftTicks', '{vehicle="car"}'), ('rightTicks', '{vehicle="bus"}')):
        assert int(both[side]) == merged(e, CPU, selector)[('total',)][0]
    e.finish()


def lines(e, type_id, selector, group_by, **more):
    """{values of the labels: {step: value}}; a step has one profile of each series."""
    start = BEGIN * 1000 + STEP * 1000 - 1
    answer = ask(
        e,
        'SelectSeries',
        profile_typeID=type_id,
        labelSelector=selector,
        groupBy=group_by,
        step=STEP,
        start=start,
        end=RANGE['end'],
        **more,
    )
    out = {}
    for series in answer.get('series', []):
        labels = {p['name']: p['value'] for p in series.get('labels', [])}
        points = {(int(p['timestamp']) - start) // (STEP * 1000): p.get('value', 0) for p in series['points']}
        key = tuple(labels.get(name, '') for name in group_by)
        assert key not in out and len(points) == COUNT, (key, sorted(points))
        out[key] = points
    return out


@suite.test
def values_over_time_are_grouped_by_labels_of_samples(d):
    profiles = everything()
    e = serve(d, profiles)
    for selector, group_by in itertools.product(
        ('{}', '{vehicle!="car"}', '{vehicle="bike",region="eu"}'),
        (['vehicle'], ['region', 'pod', 'vehicle'], ['pod'], ['team.name', 'span_id'], []),
    ):
        want = collections.defaultdict(collections.Counter)
        for s in selected(profiles, 'process_cpu', SELECTORS[selector]):
            for x in s.samples:
                key = tuple(effective(s, x, name) for name in group_by)
                want[key][(s.at - BEGIN) // STEP] += x.values[1]
        got = lines(e, CPU, selector, group_by)
        assert got.keys() == want.keys(), (selector, group_by, got.keys() ^ want.keys())
        for key, points in got.items():
            for step, v in points.items():
                assert math.isclose(v, want[key][step], rel_tol=1e-9), (selector, key, step, v, want[key][step])
    # Of counters and states, too, groups add up to the whole, also where the program restarts.
    for type_id in (ALLOC, INUSE):
        [whole] = lines_of_some(e, type_id, [])
        parts = lines_of_some(e, type_id, ['vehicle'])
        assert len(parts) == 5
        for at, v in whole.items():
            assert math.isclose(v, sum(p.get(at, 0) for p in parts), rel_tol=1e-9, abs_tol=1e-6), (type_id, at)
    e.finish()


def lines_of_some(e, type_id, group_by):
    answer = ask(e, 'SelectSeries', profile_typeID=type_id, labelSelector='{}', groupBy=group_by, step=STEP, **RANGE)
    return [{p['timestamp']: p.get('value', 0) for p in s['points']} for s in answer['series']]


@suite.test
def values_over_time_are_of_some_stacks(d):
    profiles = everything()
    e = serve(d, profiles)
    for selector in (
        {'callSite': [{'name': 'main.main'}, {'name': 'web.serve'}, {'name': 'db.query'}]},
        {'frameFilter': {'includeFunctionNames': ['db.query']}},
        {'frameFilter': {'excludeFunctionNameRegexes': ['^db\\.', 'memmove']}},
    ):
        for labels in ('{}', '{vehicle="car"}'):
            [points] = lines(e, CPU, labels, [], stackTraceSelector=selector).values()
            total = merged(e, CPU, labels, stackTraceSelector=selector)[('total',)][0]
            whole = merged(e, CPU, labels)[('total',)][0]
            assert math.isclose(sum(points.values()), total, rel_tol=1e-9) and 0 < total < whole, (selector, labels)
    e.finish()


@suite.test
def lists_have_the_labels_of_samples(d):
    profiles = everything()
    e = serve(d, profiles)
    seen = [(s, x) for s in profiles for x in s.samples]
    own = {'service_name', 'job', 'pod', 'region', 'vehicle'}

    def values(name, keep=lambda of: True):
        found = {effective(s, x, name) for s, x in seen if keep(lambda label: effective(s, x, label))}
        return sorted(found - {''})

    for message in ({'start': 0, 'end': 0}, {'matchers': ['{service_name="shop"}'], **RANGE}):
        got = set(ask(e, 'LabelNames', **message)['names'])
        assert own <= got and not got & {'span_id', 'bytes', 'team.name'}, got
        for name in ('vehicle', 'region', 'pod', 'team.name', 'service_name', 'span_id', 'bytes'):
            assert ask(e, 'LabelValues', name=name, **message).get('names', []) == values(name), name
    got = ask(e, 'LabelNames', matchers=['{vehicle="scooter"}'], **RANGE)['names']
    assert 'pod' in got and 'region' in got
    for selector, keep in SELECTORS.items():
        for name in ('region', 'vehicle', 'pod'):
            got = ask(e, 'LabelValues', name=name, matchers=[selector], **RANGE).get('names', [])
            assert got == values(name, keep), (selector, name, got)
        rows = ask(e, 'Series', matchers=[selector], labelNames=['pod', 'vehicle', 'region'], **RANGE)
        got = {tuple(sorted((p['name'], p['value']) for p in row['labels'])) for row in rows.get('labelsSet', [])}
        want = {
            tuple(sorted((n, v) for n in ('pod', 'vehicle', 'region') if (v := effective(s, x, n))))
            for s, x in seen
            if keep(lambda label: effective(s, x, label))
        }
        assert got == want, (selector, got ^ want)
        types = ask(e, 'LabelValues', name='__type__', matchers=[selector], **RANGE).get('names', [])
        assert types == (sorted(t for v in TYPES.values() for t, _ in v) if want else []), (selector, types)
    rows = ask(e, 'Series', labelNames=['vehicle', '__type__'], matchers=['{pod="a"}'], **RANGE)['labelsSet']
    got = {tuple(p['value'] for p in row['labels']) for row in rows}
    assert {(v, t) for v in VEHICLES for t in ('cpu', 'inuse_space')} <= got and ('cpu',) in got, got
    e.finish()


@suite.test
def names_are_known_after_a_restart(d):
    profiles = everything()
    e = serve(d, profiles)
    e.finish()
    e = Everprof(d, flags=['--storage.tsdb.retention.time=0']).ready()
    assert merged(e, CPU, '{vehicle="scooter"}')
    assert ask(e, 'LabelValues', name='region')['names'] == ['asia', 'eu', 'us']
    assert 'sample-labels' in os.listdir(e.data)
    e.finish()


@suite.test
def lists_are_of_the_selected_series_and_range(d):
    """Profile types of a program share their tables, and a late profile is among those of a sealed chunk."""
    labels = {'service_name': 'shop', 'job': 'shop', 'pod': 'a'}
    with_labels = [Sample(STACKS[i], {'vehicle': 'car'}, (i + 1, (i + 1) * 10**7)) for i in range(3)]
    without = [s._replace(labels={}) for s in with_labels]
    profiles = [
        Stored('process_cpu', labels, BEGIN + STEP * i, with_labels if i < COUNT // 4 else without)
        for i in range(COUNT)
    ]
    heap = [s._replace(values=(5, 5)) for s in without]
    profiles += [Stored('heap', labels, BEGIN + STEP * i, heap) for i in range(COUNT)]
    e = serve(d, profiles)

    def values(name, matcher, **during):
        return ask(e, 'LabelValues', name=name, matchers=[matcher], **(during or RANGE)).get('names', [])

    later = {'start': (BEGIN + STEP * COUNT // 2) * 1000, 'end': RANGE['end']}
    assert values('vehicle', '{service_name="shop"}') == ['car']
    assert values('vehicle', '{service_name="shop"}', **later) == []
    assert values('vehicle', '{__name__="memory"}') == []
    assert values('__type__', '{vehicle="car"}') == ['cpu', 'samples']
    assert 'vehicle' not in ask(e, 'LabelNames', matchers=['{__name__="memory"}'], **RANGE)['names']
    assert ask(e, 'Series', matchers=['{vehicle="car"}'], labelNames=['pod'], **later) == {}
    late = Stored('process_cpu', labels, BEGIN + STEP * 30 + 7, [Sample(STACKS[0], {'vehicle': 'late'}, (1, 10**7))])
    push(e, 'process_cpu', labels, [late])
    assert values('vehicle', '{service_name="shop"}') == ['car', 'late']
    assert values('pod', '{vehicle="late"}') == ['a']
    # What selects no sample adds nothing: neither its program nor its time.
    assert merged(e, CPU, '{vehicle="none"}') == {}
    e.finish()


@suite.test
def an_odd_label_fails_no_query(d):
    """Values that no series could have: no UTF-8, or too long."""
    e = serve(d, everything())
    labels = {'service_name': 'odd', 'job': 'odd', 'pod': 'z'}
    odd = ['QQ', 'x' * 3000]
    for i, value in enumerate(odd):
        samples = [Sample(STACKS[0], {'vehicle': value}, (1, 10**7))]
        raw = Stored('process_cpu', labels, BEGIN + STEP * i, samples)
        push(e, 'process_cpu', labels, [raw], replace=(b'QQ', b'\xff\xfe'))
    assert values_of(lines_of(e, '{}', ['vehicle'])) == {'', 'bike', 'bus', 'car', 'scooter'}
    for selector in ('{vehicle=~".+"}', '{vehicle!~"[0-9]+"}', '{vehicle=~"c.r"}'):
        assert merged(e, CPU, selector), selector
    assert ask(e, 'LabelValues', name='vehicle', **RANGE)['names'] == ['bike', 'bus', 'car', 'scooter']
    assert merged(e, CPU, '{vehicle="",service_name="odd"}')[('total',)][0] == 2 * 10**7
    e.finish()


def lines_of(e, selector, group_by):
    return ask(e, 'SelectSeries', profile_typeID=CPU, labelSelector=selector, groupBy=group_by, step=60, **RANGE)[
        'series'
    ]


def values_of(series):
    return {''.join(p['value'] for p in s.get('labels', [])) for s in series}


suite.main()
