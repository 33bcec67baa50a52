#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles of OpenTelemetry's protocol over HTTP: those of all releases that are in use become the same profiles of
pprof; nothing of a request is lost in silence."""
import collections
import gzip
import json
import random

from grafana_api import ask, levels_tree
from harness import ROOT, SLOW, Everprof, Suite, field, selector, varint
from otlp_encoder import Dictionary, fixed, number, profile, request, resource, sample
from report_data import STACKS, made_cpu, names
from write_client import fields

suite = Suite()
PATH = '/v1development/profiles'
ALIAS = '/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export'
CPU = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds'
SAMPLES = 'process_cpu:samples:count:cpu:nanoseconds'
AT = 1795232205  # seconds
PERIOD = ('cpu', 'nanoseconds', 50000000)
TRACE, SPAN = bytes(range(16)), bytes(range(8))
RANGE = {'start': (AT - 60) * 1000, 'end': (AT + 60) * 1000}


def start(d, config='', flags=()):
    return Everprof(d, config, flags=['--storage.tsdb.retention.time=0', '--web.enable-push-receiver', *flags]).ready()


def send(e, body, kind='application/x-protobuf', path=PATH, **headers):
    return e.get(path, data=body, method='POST', headers={'Content-Type': kind, **headers})


def sent(e, body, **options):
    answer = send(e, body, **options)
    assert answer.status == 200, (answer.status, answer.body)
    assert answer.body in (b'', b'{}'), answer.body
    return answer


def stack_of(d, stack, packed=True):
    """The number of a stack of the made program."""
    mapping = d.mapping('/bin/shop', '0123abcd')
    locations = [
        d.location([(name, file, line) for name, file, line in place], 0x2000 + 16 * STACKS.index(stack) + i, mapping)
        for i, place in enumerate(stack)
    ]
    return d.stack(locations[::-1], packed)


def made(seed=1, count=30):
    """[(stack, number, {label: value})]"""
    rng = random.Random(seed)
    labels = [{}, {'vehicle': 'car'}, {'vehicle': 'bike', 'thread.id': 7}, {'cpu.logical_number': 0}]
    return [(rng.choice(STACKS), rng.randrange(1, 9), rng.choice(labels)) for _ in range(count)]


def tree(samples, factor=1):
    totals, selves = collections.Counter(), collections.Counter()
    for stack, n, *_ in samples:
        path = ('total', *names(stack))
        selves[path] += n * factor
        for i in range(len(path)):
            totals[path[: i + 1]] += n * factor
    return {path: (v, selves[path]) for path, v in totals.items()}


def flame(e, type_id, selector='{}'):
    answer = ask(e, 'SelectMergeStacktraces', profile_typeID=type_id, labelSelector=selector, **RANGE)
    return levels_tree(answer['flamegraph']) if 'flamegraph' in answer else {}


def series(e):
    return e.get('/api/v1/series', **{'match[]': '{__name__!=""}', 'from': 0, 'to': 'now'}).data()


def encoded(release, samples, packed=True, first=False, by_index=False, times=False):
    """A request of one program."""
    d = Dictionary()
    own = []
    for i, (stack, n, labels) in enumerate(samples):
        attributes = [d.attribute(k, v) for k, v in labels.items()]
        link = d.link(TRACE, SPAN) if i == 0 else 0
        stamps = [AT * 10**9 + k + 1 for k in range(n)] if times else ()
        own.append(sample(release, stack_of(d, stack, packed), () if times else (n,), attributes, link, stamps, packed))
    p = profile(d, release, ('samples', 'count'), own, AT * 10**9, 5 * 10**9, PERIOD)
    attributes = {
        'service.name': 'shop',
        'k8s.pod.name': 'shop-1',
        'process.pid': 4711,
        'tags': ['a', 1, {'b': True}],
        'blob': b'\x00\xff',
        'load': 0.5,
    }
    return request(d, [resource(d, attributes, [p], by_index=by_index)], first)


@suite.test
def all_releases_become_the_same_profile(d):
    samples = made()
    want = None
    for i, (release, options) in enumerate(
        (
            ('1.8', {}),
            ('1.9', {}),
            ('1.9', {'packed': False}),
            ('1.10', {}),
            ('1.10', {'packed': False}),
            ('1.10', {'first': True, 'by_index': True}),
            ('1.10', {'times': True}),
        )
    ):
        e = start(f'{d}/{i}')
        body = encoded(release, samples, **options)
        kind = 'application/protobuf; proto=x' if i % 2 else 'application/x-protobuf'
        answer = send(e, gzip.compress(body), kind, PATH if i % 3 else ALIAS, **{'Content-Encoding': 'gzip'})
        assert answer.status == 200 and answer.body == b'', (release, options, answer.body)
        assert answer.headers['Content-Type'] == kind.split(';')[0]
        assert flame(e, SAMPLES) == tree(samples), (release, options)
        assert flame(e, CPU) == tree(samples, PERIOD[2]), (release, options)
        [labels] = series(e)
        assert labels == {
            '__name__': 'process_cpu',
            'service_name': 'shop',
            'job': 'shop',
            'k8s.pod.name': 'shop-1',
            'otel.scope.name': 'scope',
            'otel.scope.version': '1.2',
        }, labels
        raw = e.raw(labels, AT * 1000).body
        assert raw and (want is None or raw == want), (release, options)
        want = raw
        e.finish()
    text = want.decode('latin-1')
    for part in ('thread.id', 'cpu.logical_number', TRACE.hex(), SPAN.hex(), '["a",1,{"b":true}]', 'AP8=', '0.5'):
        assert part in text, part


def weight(e, focus, query):
    """What the samples have whose labels match."""
    return sum(f['flat'] for f in e.get('/api/v1/query', tagfocus=focus, **query).data()['rows'])


@suite.test
def attributes_are_labels_of_samples(d):
    e = start(d)
    samples = made()
    sent(e, encoded('1.10', samples))
    for matchers, keep in (
        ('{vehicle="car"}', lambda l: l.get('vehicle') == 'car'),
        ('{vehicle=""}', lambda l: 'vehicle' not in l),
        ('{load="0.5"}', lambda l: True),
    ):
        assert flame(e, SAMPLES, matchers) == tree([s for s in samples if keep(s[2])]), matchers
    query = {
        'query': 'process_cpu',
        'from': 0,
        'to': 'now',
        'mode': 'merge',
        'report': 'top',
        'sample_index': 'samples',
    }
    for focus, keep in (('thread.id=7:7', lambda l: 'thread.id' in l), ('process.pid=4711:4711', lambda l: True)):
        assert weight(e, focus, query) == sum(n for _, n, l in samples if keep(l)), focus
    text = e.get('/api/v1/query', **{**query, 'report': 'traces'}).body.decode()
    assert 'cpu.logical_number:0' in text.replace(' ', '') and SPAN.hex() in text, text[:2000]
    e.finish()


@suite.test
def json_is_the_same(d):
    e = start(d)
    message = {
        'resourceProfiles': [
            {
                'resource': {'attributes': [{'key': 'service.name', 'value': {'stringValue': 'web'}}]},
                'scopeProfiles': [
                    {
                        'scope': {'name': 's'},
                        'profiles': [
                            {
                                'sampleType': {'typeStrindex': 1, 'unitStrindex': 2},
                                'samples': [
                                    {'stackIndex': 1, 'values': ['5'], 'attributeIndices': [1], 'linkIndex': 1},
                                    {'stackIndex': 1, 'timestampsUnixNano': ['1', '2']},
                                ],
                                'timeUnixNano': str(AT * 10**9),
                                'durationNano': '1000000000',
                                'profileId': '00' * 16,
                            }
                        ],
                    }
                ],
            }
        ],
        'dictionary': {
            'mappingTable': [{}],
            # An address of a kernel is above 2^63.
            'locationTable': [{}, {'address': str(2**64 - 4096), 'lines': [{'functionIndex': 1, 'line': '3'}]}],
            'functionTable': [{}, {'nameStrindex': 3}],
            'linkTable': [{}, {'traceId': TRACE.hex(), 'spanId': SPAN.hex()}],
            'stringTable': ['', 'inuse_space', 'bytes', 'main', 'k'],
            'attributeTable': [{}, {'keyStrindex': 4, 'value': {'intValue': '9'}}],
            'stackTable': [{}, {'locationIndices': [1]}],
        },
    }
    answer = sent(e, json.dumps(message).encode(), kind='application/json')
    assert answer.headers['Content-Type'] == 'application/json' and answer.body == b'{}'
    [labels] = series(e)
    assert labels['__name__'] == 'memory' and labels['service_name'] == 'web', labels
    assert labels['instance'] == '127.0.0.1', labels
    assert flame(e, 'memory:inuse_space:bytes::')[('total', 'main')] == (7, 7)
    stored = e.get('/api/v1/query', query='memory', time=AT * 1000, match='exact', report='raw').body
    assert varint(2**64 - 4096) in stored, stored
    # Release 1.8 had the singular of a name.
    own = message['resourceProfiles'][0]['scopeProfiles'][0]['profiles'][0]
    own['sample'] = own.pop('samples')
    own['timeUnixNano'] = str((AT + 1) * 10**9)
    sent(e, json.dumps(message).encode(), kind='application/json; charset=utf-8')
    e.finish()


@suite.test
def types_of_the_same_samples_are_one_profile(d):
    e = start(d)
    d1 = Dictionary()
    stack = stack_of(d1, STACKS[0])
    own = [
        profile(d1, '1.10', kind, [sample('1.10', stack, (v,))], AT * 10**9, 0)
        for kind, v in (
            (('alloc_objects', 'count'), 3),
            (('alloc_space', 'bytes'), 300),
            (('inuse_objects', 'count'), 2),
            (('inuse_space', 'bytes'), 200),
        )
    ]
    # Another stack, and so a profile of its own, which has the same name and time.
    own.append(
        profile(d1, '1.10', ('inuse_pages', 'count'), [sample('1.10', stack_of(d1, STACKS[1]), (1,))], AT * 10**9)
    )
    sent(e, request(d1, [resource(d1, {'service.name': 'shop'}, own)]))
    all_of = sorted(series(e), key=lambda s: s.get('__part__', ''))
    assert [s.get('__part__') for s in all_of] == ['alloc_objects', 'inuse_pages'], all_of
    assert {s['__name__'] for s in all_of} == {'memory'}
    answer = e.get(
        '/api/v1/query', query='memory{__part__="alloc_objects"}', time=AT * 1000, match='exact', report='top'
    )
    assert answer.data()['total'] == 200, answer.data()
    e.finish()


@suite.test
def times_have_the_types_that_programs_in_go_have(d):
    """async-profiler names its sample types after the ways by which it samples."""
    for name, kind in (('itimer', 'cpu'), ('ctimer', 'cpu'), ('cpu', 'cpu'), ('wall', 'wall')):
        e = start(f'{d}/{name}')
        with open(f'{ROOT}/testdata/otlp/async-profiler-{name}.otlp', 'rb') as f:
            sent(e, f.read())
        [found] = e.range('{__name__=~".+"}')
        assert found['labels']['__name__'] == ('wall' if name == 'wall' else 'process_cpu'), found
        assert found['labels']['service_name'] == ('shop' if name == 'itimer' else 'unknown_service'), found
        samples, time = (total_of(e, found, t) for t in ('samples', kind))
        assert samples and time == samples * (50_000_000 if name == 'wall' else 10_000_000), (name, samples, time)
        e.finish()


def total_of(e, found, sample_type):
    labels = found['labels']
    at = found['timestamps'][0]
    answer = e.get(
        '/api/v1/query', query=selector(labels), time=at, match='exact', report='top', sample_index=sample_type
    )
    return answer.data()['total']


@suite.test
def processes_of_one_program_are_one_profile(d):
    """As the profiler of OpenTelemetry sends: a resource for each process, times, and no values."""
    e = start(d)
    dictionary = Dictionary()
    resources, total = [], 0
    for pid in range(1, 51):
        n = pid % 7 + 1
        total += n
        own = sample(
            '1.10',
            stack_of(dictionary, STACKS[pid % 5]),
            attributes=[dictionary.attribute('thread.id', pid)],
            times=[AT * 10**9 + k + 1 for k in range(n)],
        )
        attributes = {
            'process.pid': pid,
            'process.executable.name': 'nginx' if pid % 2 else 'redis',
            'container.id': f'{pid:064x}',
        }
        p = profile(dictionary, '1.10', ('samples', 'count'), [own], AT * 10**9, 5 * 10**9, PERIOD)
        resources.append(resource(dictionary, attributes, [p]))
    sent(e, request(dictionary, resources))
    assert {s['service_name'] for s in series(e)} == {'unknown_service:nginx', 'unknown_service:redis'}
    assert flame(e, SAMPLES)[('total',)][0] == total
    nginx = sum(pid % 7 + 1 for pid in range(1, 51, 2))
    assert flame(e, SAMPLES, '{service_name="unknown_service:nginx"}')[('total',)][0] == nginx
    data = e.get('/api/v1/query_range', query='process_cpu', **{'from': 0, 'to': 'now'}).data()
    assert sorted(len(s['timestamps']) for s in data) == [1, 1], data
    query = {
        'query': 'process_cpu',
        'from': 0,
        'to': 'now',
        'mode': 'merge',
        'report': 'top',
        'sample_index': 'samples',
    }
    assert weight(e, 'process.pid=9:9', query) == 9 % 7 + 1
    # The durations of processes of one time are no sum.
    values = ask(e, 'SelectSeries', profile_typeID=CPU, step=5, **{**RANGE, 'start': AT * 1000 + 4999})
    assert values['series'], values
    cores = values['series'][0]['points'][0]['value'] / 5e9
    assert abs(cores - total * PERIOD[2] / 5e9) < 1e-6, cores
    e.finish()


@suite.test
def samples_may_be_of_several_services(d):
    e = start(d)
    dictionary = Dictionary()
    own = [
        sample('1.10', stack_of(dictionary, STACKS[0]), (n,), [dictionary.attribute('service.name', s)] if s else [])
        for s, n in (('a', 1), ('b', 2), ('', 4), ('a', 8))
    ]
    p = profile(dictionary, '1.10', ('samples', 'count'), own, AT * 10**9, 10**9, PERIOD)
    sent(e, request(dictionary, [resource(dictionary, {'service.name': 'host'}, [p])]))
    for service, n in (('a', 9), ('b', 2), ('host', 4)):
        assert flame(e, SAMPLES, f'{{service_name="{service}"}}')[('total',)][0] == n, service
    e.finish()


@suite.test
def a_profile_of_pprof_inside_is_stored_as_it_is(d):
    e = start(d)
    dictionary = Dictionary()
    inner = gzip.compress(made_cpu(3).encode())
    more = field(9, b'pprof') + field(10, inner)
    p = profile(dictionary, '1.10', ('samples', 'count'), [], AT * 10**9, 10**9, PERIOD, more)
    sent(e, request(dictionary, [resource(dictionary, {'service.name': 'shop'}, [p])]))
    [labels] = series(e)
    assert labels['__name__'] == 'process_cpu', labels
    data = e.get('/api/v1/query_range', query='process_cpu', **{'from': 0, 'to': 'now'}).data()
    [ms] = data[0]['timestamps']
    assert e.raw(labels, ms).body in (inner, gzip.decompress(inner))
    e.finish()


def rejected(answer):
    """(number, message) of a partial success."""
    assert answer.status == 200, (answer.status, answer.body)
    [partial] = [v for n, v in fields(answer.body) if n == 1]
    parts = dict(fields(partial))
    return parts[1], parts[2].decode()


@suite.test
def bad_profiles_are_refused_one_by_one(d):
    e = start(d)
    dictionary = Dictionary()
    stack = stack_of(dictionary, STACKS[0])
    nowhere = dictionary.stack([99])
    deep = [dictionary.stack([1] * 4097)]
    own = [
        profile(
            dictionary, '1.10', ('samples', 'count'), [sample('1.10', s, (1,))], (AT + i) * 10**9, 10**9, PERIOD
        )
        for i, s in enumerate((stack, nowhere, stack, deep[0], stack))
    ]
    count, why = rejected(send(e, request(dictionary, [resource(dictionary, {'service.name': 'shop'}, own)])))
    assert count == 2 and 'location that is not in the dictionary' in why and '4096 frames' in why, (count, why)
    assert flame(e, SAMPLES)[('total',)][0] == 3
    [sender] = [s for s in e.get('/api/v1/senders').data()['senders'] if s['refused']]
    assert sender['protocol'] == 'otlp' and sender['refused'] == 2, sender
    # Labels that are refused: a value that is no UTF-8.
    d2 = Dictionary()
    p = profile(d2, '1.10', ('samples', 'count'), [sample('1.10', stack_of(d2, STACKS[0]), (1,))], (AT + 9) * 10**9)
    bad = field(1, field(1, field(1, b'service.name') + field(2, field(1, b'\xff')))) + field(2, field(2, p))
    count, why = rejected(send(e, field(1, bad) + field(2, d2.encode())))
    assert count == 1 and 'UTF-8' in why, why
    e.finish()


def one(d, samples, at=AT, more=b''):
    """A profile."""
    return profile(d, '1.10', ('samples', 'count'), samples, at * 10**9, 10**9, PERIOD, more)


@suite.test
def one_wrong_index_refuses_one_profile(d):
    """The layout of samples is that which most of them fit. A value of -1 is the largest of all numbers."""
    e = start(d)
    d1 = Dictionary()
    stack = stack_of(d1, STACKS[0])
    own = [one(d1, [sample('1.10', stack, (n,))], AT + i) for i, n in enumerate((5, -1, 7))]
    own.append(one(d1, [sample('1.10', 999, (1,))], AT + 9))
    own.append(one(d1, [sample('1.10', stack, (1,), [999])], AT + 10))
    own.append(one(d1, [sample('1.10', stack, (), [d1.attribute('a', 'b')])], AT + 11))
    wrong = number(1, 999) + number(2, 1)
    own.append(one(d1, [sample('1.10', stack, (1,))], AT + 12, field(1, wrong)))
    count, why = rejected(send(e, request(d1, [resource(d1, {'service.name': 'shop'}, own)])))
    assert count == 4 and 'refers to an entry that is not in the dictionary' in why, (count, why)
    assert flame(e, SAMPLES)[('total',)][0] == 11
    e.finish()


@suite.test
def attributes_in_any_order_are_the_same_series(d):
    """Profiles of one series and time are one, also if their resources list their attributes differently."""
    e = start(d)
    d1 = Dictionary()
    stack = stack_of(d1, STACKS[0])
    pairs = [('service.name', 'shop'), ('host.name', 'h'), ('k8s.pod.name', 'p'), ('service.version', '1')]
    body = [
        resource(d1, dict(pairs[i:] + pairs[:i]), [one(d1, [sample('1.10', stack, (n,))])])
        for i, n in enumerate((1, 1, 20, 300))
    ]
    sent(e, request(d1, body))
    assert flame(e, SAMPLES)[('total',)][0] == 322
    assert len(series(e)) == 1
    e.finish()


@suite.test
def refused_profiles_are_counted_once_each(d):
    e = start(d)
    d1 = Dictionary()
    stack = stack_of(d1, STACKS[0])
    services = [d1.attribute('service.name', s) for s in ('a', 'b', 'c')]
    bad = field(1, field(1, field(1, b'host.name') + field(2, field(1, b'\xff'))))
    of_three = one(d1, [sample('1.10', stack, (1,), [s]) for s in services])
    count, why = rejected(send(e, field(1, bad + field(2, field(2, of_three))) + field(2, d1.encode())))
    assert count == 1 and 'UTF-8' in why, (count, why)
    merged = b''.join(field(2, one(d1, [sample('1.10', stack, (n,))])) for n in range(1, 6))
    count, why = rejected(send(e, field(1, bad + field(2, merged)) + field(2, d1.encode())))
    assert count == 5 and '5 of 5' in why, (count, why)
    # A resource, and a scope, that are cut off.
    whole = field(2, field(2, one(d1, [sample('1.10', stack, (1,))])))
    for cut in (
        field(1, field(1, d1.pair('service.name', 'shop'))[:-3]) + whole,
        field(2, field(1, field(1, b'scope')[:-3]) + field(2, one(d1, [sample('1.10', stack, (1,))]))),
    ):
        count, why = rejected(send(e, field(1, cut) + field(2, d1.encode())))
        assert count == 1 and 'truncated' in why, (count, why)
    assert series(e) == []
    assert e.metric('everprof_push_profiles_refused_total', '{protocol="otlp"}') == 8
    e.finish()


@suite.test
def what_is_empty_or_repeated_counts_for_nothing(d):
    e = start(d)
    d1 = Dictionary()
    stack = stack_of(d1, STACKS[0])
    d1.tables[4] += [
        field(1, bytes(16)) + field(2, SPAN) + field(1, TRACE),
        field(1, bytes(16)) + field(2, bytes(8)),
        field(1, TRACE + b'x') + field(2, SPAN[:4]),
    ]
    empty, numbered = d1.attribute('service.name', ''), d1.attribute('service.name', 7)
    nameless, pid = d1.attribute('', 'x'), d1.attribute('process.pid', 5)
    no_values = sample('1.10', stack, times=(AT * 10**9, AT * 10**9 + 1)) + field(4, b'')
    own = [sample('1.10', stack, (2**i,), link=i + 1) for i in range(3)]
    own += [sample('1.10', stack, (16,), [empty]), sample('1.10', stack, (32,), [numbered])]
    own += [sample('1.10', stack, (64,), [nameless, pid]), no_values]
    sent(e, request(d1, [resource(d1, {'service.name': 'shop', 'process.pid': 9}, [one(d1, own)])]))
    assert {s['service_name'] for s in series(e)} == {'shop', '7'}
    assert flame(e, SAMPLES, '{service_name="shop"}')[('total',)][0] == 7 + 16 + 64 + 2
    assert flame(e, SAMPLES, '{service_name="7"}')[('total',)][0] == 32
    where = {'query': 'process_cpu{service_name="shop"}', 'from': 0, 'to': 'now', 'mode': 'merge'}
    text = e.get('/api/v1/query', report='traces', sample_index='samples', **where).body.decode()
    ids = [line.split()[1] for line in text.splitlines() if '_id:' in line]
    assert ids == [SPAN.hex(), TRACE.hex()] or ids == [TRACE.hex(), SPAN.hex()], text
    assert 'process.pid:' in text and '5 9' not in text, text
    e.finish()


@suite.test
def small_requests_take_little_memory_and_time(d):
    """A request can name the same long text, or the same large entry, a million times."""
    flags = ['--scrape.max-profile-size=4MB', '--query.timeout=2s']
    e = start(d, flags=flags)
    before = e.memory('VmHWM')
    long = field(2, field(5, field(1, number(8, 1))))  # an array of text 1

    def asked(profiles, attributes=b'', **tables):
        d1 = Dictionary()
        d1.tables[5] += [b'x' * 60000, b'samples', b'count', b'process.executable.build_id.gnu']
        d1.tables[6].append(number(1, 4) + long)
        for name, entries in tables.items():
            d1.tables[{'mappings': 1, 'locations': 2, 'functions': 3, 'links': 4, 'stacks': 7}[name]] += entries
        body = attributes + field(2, b''.join(field(2, p) for p in profiles))
        packed = gzip.compress(field(1, body) + field(2, d1.encode()), 1)
        return send(e, packed, **{'Content-Encoding': 'gzip'})

    kind = field(1, number(1, 2) + number(2, 3))
    plain = kind + field(2, number(1, 1) + field(4, b'\x01'))
    name = field(1, field(1, b'service.name') + field(2, field(1, b'x' * 500000)))
    pair = field(1, field(2, field(5, field(1, field(1, b'x' * 3000)))))
    trees = {'functions': [number(1, 2)], 'locations': [field(3, number(1, 1)) * 700000], 'stacks': [field(1, b'\x01')]}
    mapped = {
        'mappings': [field(5, b'\x01' * 128) for _ in range(700)],
        'locations': [number(1, i + 1) for i in range(700)],
        'stacks': [field(1, b''.join(varint(i + 1) for i in range(700)))],
    }
    linked = kind + field(2, number(1, 1) + number(3, 1) + field(4, b'\x01'))
    for what, answer in (
        ('attributes of a profile', asked([plain + field(11, b'\x01' * 60000)], stacks=[b''])),
        ('attributes of a resource', asked([plain], pair * 1000, stacks=[b''])),
        ('attributes of mappings', asked([plain], **mapped)),
        ('labels of groups', asked([plain + fixed(3, AT + i) for i in range(5000)], name, stacks=[b''])),
        ('empty samples', asked([kind + field(2, b'') * 1500000])),
        ('lines', asked([plain], **trees)),
        ('ids of a link', asked([linked], links=[field(1, b'\x01') * 1000000], stacks=[b''])),
        ('profiles', asked([b''] * 10001 + [plain] * 10, stacks=[b''])),
    ):
        assert answer.status in (200, 413), (what, answer.status, answer.body)
    # 6 MB of message, twice 4 MB for the conversion, and what arrays have too much.
    # A sanitizer keeps 256 MB of freed memory for a while.
    most = 40 if SLOW == 1 else 400
    assert e.memory('VmHWM') - before < most, (before, e.memory('VmHWM'))
    e.finish()


@suite.test
def the_deadline_holds_within_a_profile(d):
    e = start(d, flags=['--query.timeout=200ms'])
    d1 = Dictionary()
    text = d1.add(5, 'long', lambda: b'x' * 2000000)
    numbers = [d1.add(6, i, lambda: number(1, d1.text('k')) + field(2, number(8, text))) for i in range(20000)]
    own = [sample('1.10', stack_of(d1, STACKS[0]), (1,), [n]) for n in numbers]
    answer = send(e, request(d1, [resource(d1, {'service.name': 'shop'}, [one(d1, own)])]))
    assert answer.status == 504 and b'in time' in answer.body, (answer.status, answer.body)
    e.finish()


@suite.test
def what_is_no_request_of_a_known_release_is_named(d):
    e = start(d)
    d1 = Dictionary()
    own = profile(d1, '1.10', ('samples', 'count'), [sample('1.10', stack_of(d1, STACKS[0]), (1,))], AT * 10**9)
    body = resource(d1, {'service.name': 'shop'}, [own])
    ancient = field(1, number(1, 1)) + field(2, number(1, 1) + number(2, 1) + number(3, 5)) + number(3, AT * 10**9)
    many = field(2, field(5, b'') * (4 * 1024 * 1024 + 1))
    nested = field(1, b'x')
    for _ in range(40):
        nested = field(5, field(1, nested))
    deep = field(1, field(1, field(1, b'k') + field(2, nested))) + field(2, field(2, own))
    for sent_body, status, why in (
        (field(1, body), 400, '1.6 or earlier'),
        (field(1, resource(d1, {}, [ancient])) + field(2, d1.encode()), 400, '1.7 or earlier'),
        (field(1, body) + field(2, field(6, field(1, b'key'))), 400, '1.7 or earlier'),
        (field(1, body) + field(2, field(5, b'')), 400, 'do not fit any release'),
        (request(d1, [body])[:-3], 400, 'malformed'),
        (many, 413, 'entries'),
        (b'\xff' * 10, 400, 'malformed'),
    ):
        answer = send(e, sent_body)
        status_message = dict(fields(answer.body))
        assert answer.status == status and why in status_message[2].decode(), (status, why, answer.status, answer.body)
        assert answer.headers['Content-Type'] == 'application/x-protobuf' and status_message[1] == 3
    count, why = rejected(send(e, field(1, deep) + field(2, d1.encode())))
    assert count == 1 and 'levels' in why, why
    for kind, body, status, why in (
        ('application/json', b'{"resourceProfiles": 1}', 400, 'resource_profiles'),
        ('application/json', b'{', 400, ''),
        ('text/plain', b'', 415, 'application/x-protobuf'),
    ):
        answer = send(e, body, kind)
        assert answer.status == status and why in answer.json()['message'], (answer.status, answer.body)
    assert send(e, b'', **{'Content-Encoding': 'br'}).status == 415
    assert send(e, b'').status == 200  # nothing
    e.finish()


@suite.test
def cut_requests_end_in_an_answer(d):
    e = start(d)
    body = encoded('1.10', made(count=4))
    for end in range(0, len(body), 7):
        assert send(e, body[:end]).status in (200, 400), end
    for at in range(0, len(body), 11):
        broken = bytearray(body)
        broken[at] ^= 0x55
        assert send(e, bytes(broken)).status in (200, 400, 413), at
    e.finish()


@suite.test
def the_configuration_and_credentials_decide(d):
    with open(f'{d}/web.yml', 'w') as f:
        f.write('bearer_tokens:\n- {name: sdk, token: 0123456789abcdef, scopes: [write]}\n')
    config = 'push: {instance: none, resource_labels: [service.name, "process.*"]}\n'
    e = start(f'{d}/a', config, [f'--web.config.file={d}/web.yml'])
    body = encoded('1.10', made())
    answer = send(e, body)
    assert answer.status == 401 and dict(fields(answer.body))[1] == 16, answer.body
    answer = send(e, b'{}', 'application/json')
    assert answer.status == 401 and answer.json()['code'] == 16, answer.body
    assert send(e, body, Authorization='Bearer 0123456789abcdef').status == 200
    e.finish()
    e = Everprof(f'{d}/a', config, flags=['--storage.tsdb.retention.time=0']).ready()
    [labels] = series(e)
    assert labels['process.pid'] == '4711' and 'k8s.pod.name' not in labels and 'instance' not in labels, labels
    answer = send(e, body)
    assert answer.status == 404 and b'--web.enable-push-receiver' in answer.body, answer.body
    e.finish()


suite.main()
