#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of Java Flight Recorder, and folded stacks, that are pushed: what is
stored is compared, stack by stack, with what async-profiler's converter makes of the
same recordings (testdata/jfr/README.md)."""
import collections
import gzip
import re

from harness import ROOT, Everprof, Suite

suite = Suite()
JFR = f'{ROOT}/testdata/jfr'
START = 1795995000

# Of each recording and section of the converter's output: the profile, its part, its
# sample type, and how much a unit of the converter is.
PERIOD = 10_000_000
SECTIONS = {
    'async-profiler': {
        'cpu': ('process_cpu', '', 'cpu', PERIOD),
        'wall': ('wall', '', 'wall', 100_000_000),
        'alloc': ('memory', 'alloc_in_new_tlab', 'alloc_in_new_tlab_objects', 1),
        'alloc total': ('memory', 'alloc_in_new_tlab', 'alloc_in_new_tlab_bytes', 1),
        'live': ('memory', 'live', 'live', 1),
        'lock': ('mutex', '', 'contentions', 1),
        'lock total': ('mutex', '', 'delay', 1),
        'nativemem': ('memory', 'malloc', 'malloc_objects', 1),
        'nativemem total': ('memory', 'malloc', 'malloc_bytes', 1),
    },
    'async-profiler-wall': {'wall': ('wall', '', 'wall', 50_000_000)},
    'java-17': {'cpu': ('process_cpu', '', 'cpu', 20_000_000)},
}


def start(d):
    return Everprof(d, flags=['--web.enable-push-receiver', '--storage.tsdb.retention.time=0']).ready()


def push(e, body, name, format='jfr', **more):
    return e.get('/ingest', data=body, name=name, format=format, **{'from': START}, until=START + 10, **more)


def accepted(answer):
    assert (answer.status, answer.body) == (200, b''), (answer.status, answer.body)


def refused(answer, status, message):
    assert answer.status == status and message in answer.body.decode(), (answer.status, answer.body)


def recording(name):
    with gzip.open(f'{JFR}/{name}.jfr.gz') as f:
        return f.read()


def folded(e, job, name, part, sample_type, **more):
    """{stack: value} of a stored profile."""
    selector = f'{{__name__="{name}",job="{job}"' + (f',__part__="{part}"' if part else '') + '}'
    answer = e.get(
        '/api/v1/query',
        query=selector,
        **{'from': 1000 * START - 1, 'to': 1000 * START + 1},
        mode='merge',
        report='folded',
        sample_index=sample_type,
        **more,
    )
    assert answer.status == 200, answer.body
    lines = answer.body.decode().splitlines()
    return {stack: int(value) for stack, value in (line.rsplit(' ', 1) for line in lines)}


def frame(name):
    """A function as both name it: the converter leaves libraries out, marks how code was compiled,
    and numbers hidden classes."""
    name = re.sub(r'_\[.\]$', '', name)
    name = re.sub(r'^(\[?vdso\]?|[^/]*?\.so(\.\d+)*)\.', '', name).replace('.', '/')
    return re.sub(r'\$\$Lambda[^/]*/', '$$Lambda/', name)


def merged(stacks):
    out = collections.Counter()
    for stack, value in stacks:
        out[';'.join(map(frame, stack.split(';')))] += value
    return out


def converted(name):
    """{section: {stack: value}} of the converter. It ends stacks of allocations and locks with the
    class of the object."""
    with gzip.open(f'{JFR}/{name}.collapsed.gz', 'rt') as f:
        text = f.read()
    sections = {}
    for section in text.split('# ')[1:]:
        title, _, lines = section.partition('\n')
        has_class = title.split()[0] in ('alloc', 'live', 'lock')
        stacks = [line.rsplit(' ', 1) for line in lines.splitlines()]
        sections[title] = merged((s.rpartition(';')[0] if has_class else s, int(v)) for s, v in stacks)
    return sections


@suite.test
def recordings_have_the_stacks_that_the_converter_of_async_profiler_has(d):
    e = start(d)
    for name, sections in SECTIONS.items():
        accepted(push(e, recording(name), name))
        expected = converted(name)
        for title, (profile, part, sample_type, unit) in sections.items():
            found = merged(folded(e, name, profile, part, sample_type).items())
            wanted = {stack: value * unit for stack, value in expected[title].items()}
            assert found == wanted, (name, title, found - collections.Counter(wanted), len(wanted))
            assert sum(wanted.values())
    # A body without a format is a recording if it begins like one, also in a gzip stream.
    accepted(e.get('/ingest', data=gzip.compress(recording('java-17')), name='packed', **{'from': START}))
    assert folded(e, 'packed', 'process_cpu', '', 'cpu')
    e.finish()


@suite.test
def recordings_of_java_have_the_totals_of_the_converter(d):
    e = start(d)
    for name in ('java-17', 'java-25'):
        accepted(push(e, recording(name), name))
        expected = converted(name)
        stacks = collections.Counter()
        for part in ('alloc_in_new_tlab', 'alloc_outside_tlab', 'alloc_sample'):
            stacks.update(folded(e, name, 'memory', part, f'{part}_objects'))
        # The converter leaves events out whose stack Java could not walk.
        del stacks['[unknown]'], expected['alloc']['']
        assert merged(stacks.items()) == expected['alloc'], (name, stacks)
        for sample_type, title in (('contentions', 'lock'), ('delay', 'lock total')):
            found = sum(sum(folded(e, name, n, '', sample_type).values()) for n in ('mutex', 'block'))
            wanted = sum(expected[title].values())
            # The converter rounds each duration, which is in ticks, in its own way.
            assert abs(found - wanted) <= wanted / 1000000, (name, title, found, wanted)
    e.finish()


@suite.test
def exact_cpu_time_of_java_counts_instead_of_its_samples(d):
    e = start(d)
    accepted(push(e, recording('java-25'), 'java'))
    found = merged(folded(e, 'java', 'process_cpu', '', 'cpu').items())
    samples = converted('java-25')['cpu-time']
    assert set(found) == set(samples), (found, samples)
    # By the tool jfr of Java, one of the samples stands for 20 ms, the others for 10 ms.
    assert sum(found.values()) == (sum(samples.values()) + 1) * PERIOD
    e.finish()


@suite.test
def the_request_of_pyroscopes_agent_for_java_is_taken(d):
    e = start(d)
    with open(f'{JFR}/java-agent.http', 'rb') as f:
        head, _, body = f.read().partition(b'\n\n')
    lines = head.decode().splitlines()
    kind = next(line for line in lines if line.startswith('Content-Type: ')).partition(': ')[2]
    path = lines[0].split(' ')[1].replace('from=', 'unused=').replace('until=', 'unused=')
    for _ in range(2):  # a client that has lost the answer sends it again
        accepted(e.get(f'{path}&from={START}&until={START + 2}', data=body, headers={'Content-Type': kind}))
    series = e.get('/api/v1/series', **{'match[]': '{job="shop.java"}'}).data()
    assert {s['__name__'] for s in series} == {'process_cpu', 'memory', 'mutex'}, series
    for s in series:
        assert (s['jfr_event'], s['region'], s['pyroscope_spy'], s['service_name']) == (
            'itimer',
            'eu',
            'javaspy',
            'shop.java',
        ), s
    cpu = ('shop.java', 'process_cpu', '', 'cpu')
    assert sum(folded(e, *cpu).values()) == 80 * PERIOD
    by_customer = [sum(folded(e, *cpu, tagfocus=f'customer={c}').values()) // PERIOD for c in ('big', 'small')]
    assert sorted(by_customer) == [29, 39], by_customer
    assert sum(folded(e, 'shop.java', 'memory', 'alloc_in_new_tlab', 'alloc_in_new_tlab_objects').values()) == 335
    assert sum(folded(e, 'shop.java', 'mutex', '', 'contentions').values()) == 16
    # As Grafana names them.
    types = e.get(
        '/querier.v1.QuerierService/ProfileTypes',
        data=b'{}',
        headers={'Content-Type': 'application/json'},
        method='POST',
    ).json()
    ids = {t['ID'] for t in types['profileTypes']}
    assert ids == {
        'process_cpu:cpu:nanoseconds:cpu:nanoseconds',
        'memory:alloc_in_new_tlab_objects:count:space:bytes',
        'memory:alloc_in_new_tlab_bytes:bytes:space:bytes',
        'mutex:contentions:count:mutex:count',
        'mutex:delay:nanoseconds:mutex:count',
    }, ids
    e.finish()


@suite.test
def a_recording_that_is_cut_off_keeps_its_complete_chunks(d):
    e = start(d)
    whole = recording('async-profiler-wall')
    refused(push(e, whole + whole[: len(whole) // 2], 'cut'), 422, 'do not send the recording again')
    accepted(push(e, whole, 'whole'))
    assert folded(e, 'cut', 'wall', '', 'wall') == folded(e, 'whole', 'wall', '', 'wall')
    refused(push(e, whole[: len(whole) // 2], 'nothing'), 400, 'it is cut off')
    refused(push(e, b'main;work 12\n', 'nothing'), 400, 'no recording of JFR')
    [row] = [s for s in e.get('/api/v1/senders').data()['senders'] if s['service'] == 'cut']
    assert (row['stored'], row['refused']) == (1, 1) and 'chunk 2' in row['lastError'], row
    e.finish()


@suite.test
def folded_stacks_are_stored(d):
    e = start(d)
    text = b'main;read file;parse 3\nmain;sum 5\n\nmain;read file;parse 2\n'
    for body in (text, gzip.compress(text)):
        accepted(push(e, body, 'script{region=eu}', 'folded', sampleRate=50))
    # Pyroscope takes a body without a format for folded stacks, too.
    accepted(e.get('/ingest', data=b'a;b 7\n', name='tool.alloc_space', **{'from': START}, until=START + 10))
    assert folded(e, 'script', 'process_cpu', '', 'cpu') == {
        'main;read file;parse': 100_000_000,
        'main;sum': 100_000_000,
    }
    assert folded(e, 'tool', 'memory', 'alloc_space', 'alloc_space') == {'a;b': 7}
    # What has the same name and time, but counts something else, is another series.
    accepted(push(e, b'a;b 3\n', 'tool.inuse_space', 'folded'))
    assert folded(e, 'tool', 'memory', 'inuse_space', 'inuse_space') == {'a;b': 3}
    refused(push(e, b'main;sum\n', 'script', 'folded'), 400, 'line 1 is no folded stack')
    refused(push(e, text, 'my.script', 'folded'), 400, '".script" is not known')
    refused(push(e, text, 'script', 'speedscope'), 415, 'unsupported format "speedscope"')
    e.finish()


suite.main()
