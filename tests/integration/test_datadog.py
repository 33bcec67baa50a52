#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Datadog's profilers: recorded requests (testdata/datadog/README.md), and what is wrong."""
import gzip
import json
import time

from harness import ROOT, Everprof, Suite, memory, packed, profile
from recorded_push import parts
from write_client import read_varint

suite = Suite()
PATH = '/profiling/v1/input'
TAGS = {'env': 'prod', 'version': '1.2', 'region': 'eu', 'service_name': 'shop', 'job': 'shop'}


def recorded(name):
    """Headers and body of a recorded request."""
    with open(f'{ROOT}/testdata/datadog/{name}.http', 'rb') as f:
        head, body = f.read().split(b'\n\n', 1)
    dropped = ('transfer-encoding', 'content-length', 'connection', 'host')
    pairs = [line.split(': ', 1) for line in head.decode().split('\n')[1:]]
    return {k: v for k, v in pairs if k.lower() not in dropped}, body


def send(e, name, status=200):
    headers, body = recorded(name)
    answer = e.get(PATH, data=body, headers=headers, method='POST')
    assert answer.status == status, (answer.status, answer.body)
    return answer.body.decode()


def form(event, *files):
    """A form of a description and (name, contents) of files."""
    parts = [('event', 'event.json', event)] + [(name.split('.')[0], name, data) for name, data in files]
    body = b''.join(
        f'--x\r\nContent-Disposition: form-data; name="{part}"; filename="{name}"\r\n\r\n'.encode() + data + b'\r\n'
        for part, name, data in parts
    )
    return {'Content-Type': 'multipart/form-data; boundary=x'}, body + b'--x--\r\n'


def refused(e, headers, body, status, text):
    answer = e.get(PATH, data=body, headers=headers, method='POST')
    assert answer.status == status and text in answer.body.decode(), (answer.status, answer.body)


def stored(e):
    """Labels by the profile type and part of each series, and the time of its profile."""
    found = {}
    for s in e.range('{service_name=~".+"}'):
        key = s['labels'].pop('__name__'), s['labels'].pop('__part__', '')
        assert key not in found, key
        found[key] = s['labels'], s['timestamps']
    return found


def totals(e, name, part=''):
    answer = e.get('/api/v1/query', query=f'{name}{{__part__="{part}"}}', time=TIME[0], report='meta')
    data = answer.data()
    return {t['type']: t['total'] for t in data['sampleTypes'] if t['total']}, data['durationNanos']


TIME = [0]


def start(d):
    return Everprof(d, flags=['--web.enable-push-receiver']).ready()


@suite.test
def python_sends_one_profile_of_all_types(d):
    e = start(d)
    send(e, 'python')
    ((key, (labels, times)),) = stored(e).items()
    assert key == ('process_cpu', ''), key
    assert labels == {**TAGS, 'language': 'python', 'instance': '127.0.0.1'}, labels
    TIME[0] = times[0]
    values, duration = totals(e, 'process_cpu')
    assert values['wall-time'] == 28306000 and values['heap-space'] == 11776751, values
    assert duration == 26478209, duration
    # What is stored are the bytes that came.
    raw = e.get('/api/v1/query', query='process_cpu', time=times[0], report='raw').body
    headers, body = recorded('python')
    assert raw in parts(body, headers)
    e.finish()


@suite.test
def node_sends_a_profile_of_each_kind(d):
    e = start(d)
    send(e, 'node')
    found = stored(e)
    assert set(found) == {('wall', ''), ('memory', ''), ('events', '')}, found
    for labels, _ in found.values():
        assert labels == {**TAGS, 'language': 'javascript', 'instance': '127.0.0.1'}, labels
    TIME[0] = found['wall', ''][1][0]
    values, duration = totals(e, 'wall')
    assert values == {'sample': 320, 'wall': 936648000, 'cpu': 654202294}, values
    assert duration == 4163013000, duration
    e.finish()


@suite.test
def java_sends_recordings_with_weights(d):
    """Numbers of events and sums of their weights are what `jfr print` of Java says."""
    e = start(d)
    send(e, 'java')
    found = stored(e)
    assert set(found) == {('process_cpu', ''), ('memory', 'alloc_sample'), ('memory', 'live')}, found
    for labels, _ in found.values():
        assert labels == {**TAGS, 'language': 'jvm', 'host': 'vm'}, labels
    TIME[0] = found['process_cpu', ''][1][0]
    # 64 samples, 10 ms apart, between start and end of the description.
    assert totals(e, 'process_cpu') == ({'cpu': 640000000}, 388000000), totals(e, 'process_cpu')
    values, _ = totals(e, 'memory', 'alloc_sample')
    assert values == {'alloc_sample_objects': 71965, 'alloc_sample_bytes': 10788887}, values
    assert totals(e, 'memory', 'live')[0] == {'live': 506297}, totals(e, 'memory', 'live')
    top = e.get('/api/v1/query', query='process_cpu', time=TIME[0], report='top').data()
    assert {r['name']: r['cum'] for r in top['rows']}['Plain.pay'] == 330000000, top['rows'][:3]
    e.finish()


def event_types(recording):
    """(type, its offset) of each event of a recording, of types below 128."""
    begin = 0
    while begin < len(recording):
        end = begin + int.from_bytes(recording[begin + 8 : begin + 16], 'big')
        at = begin + 68
        while at < end:
            size, after = read_varint(recording, at)
            assert size, at
            yield recording[after], after
            at += size
        begin = end


def recording_with(change):
    """Headers and body of a request with the recording of java.http, changed."""
    headers, body = recorded('java')
    event, recording = parts(body, headers)
    changed = bytearray(recording)
    change(changed)
    return form(event, ('main.jfr', bytes(changed)))


CPU, WALL = 101, 102  # datadog.ExecutionSample and datadog.MethodSample, by their settings


@suite.test
def times_of_java_are_by_the_intervals_of_the_recording(d):
    e = start(d)

    def be_slower(recording):
        recording[:] = recording.replace(b'interval\x03\x0810000000', b'interval\x03\x0820000000')

    def be_wall(recording):
        for kind, at in event_types(recording):
            if kind == CPU:
                recording[at] = WALL

    for name, change, want in (('process_cpu', be_slower, 64 * 20), ('wall', be_wall, 64 * 50)):
        headers, body = recording_with(change)
        answer = e.get(PATH, data=body, headers=headers, method='POST')
        assert answer.status == 200, answer.body
        TIME[0] = stored(e)[name, ''][1][0]
        values, _ = totals(e, name)
        assert list(values.values()) == [want * 1000000], (name, values)
    e.finish()


@suite.test
def a_recording_without_samples_is_taken(d):
    """An idle process sends it; there is nothing to store."""
    e = start(d)

    def be_idle(recording):
        for name in (b'datadog.ExecutionSample', b'datadog.ObjectSample', b'datadog.HeapLiveObject'):
            recording[:] = recording.replace(name, name[:-1] + b'?')

    headers, body = recording_with(be_idle)
    answer = e.get(PATH, data=body, headers=headers, method='POST')
    assert answer.status == 200, answer.body
    assert not e.range('{service_name="shop"}')
    [row] = e.get('/api/v1/senders').data()['senders']
    assert (row['service'], row['dropped'], row['refused']) == ('shop', 1, 0), row
    e.finish()


@suite.test
def profiles_have_the_time_of_the_request_and_increments_are_added(d):
    e = start(d)
    begin = int(time.time() - 600) * 1000
    for i, value in enumerate((100, 50, 70)):
        at = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(begin / 1000 + 60 * i))
        event = {'tags_profiler': 'service:a', 'start': at}
        for _ in range(2):
            headers, body = form(json.dumps(event).encode(), ('delta-heap.pprof', packed(memory(value, 0))))
            assert e.get(PATH, data=body, headers=headers, method='POST').status == 200
    [series] = e.range('{service_name="a"}')
    assert series['labels']['__name__'] == 'memory', series
    assert series['timestamps'] == [begin, begin + 60000, begin + 120000], series
    answer = e.get(
        '/api/v1/query',
        query='memory',
        mode='merge',
        report='top',
        sample_index='alloc_space',
        **{'from': begin - 60000, 'to': begin + 180000},
    )
    assert answer.data()['total'] == 220, answer.data()
    e.finish()


@suite.test
def what_is_sent_again_is_stored_once(d):
    e = start(d)
    for _ in range(3):
        for name in ('python', 'node', 'java'):
            send(e, name)
    assert sum(len(s['timestamps']) for s in e.range('{service_name="shop"}')) == 7
    rows = e.get('/api/v1/senders').data()['senders']
    assert {r['protocol'] for r in rows} == {'datadog'} and {r['service'] for r in rows} == {'shop'}, rows
    assert b'everprof_push_profiles_stored_total{protocol="datadog"} 21' in e.get('/metrics').body
    e.finish()


@suite.test
def wrong_requests_get_an_error_that_says_what(d):
    e = start(d)
    event = json.dumps({'tags_profiler': 'service:a,env:b', 'start': '2026-11-30T10:00:00Z'}).encode()
    good = packed(profile('x'))
    refused(e, {'Content-Type': 'text/plain'}, b'x', 400, 'boundary')
    headers, body = form(event)
    refused(e, headers, body, 400, 'no file whose name ends with .pprof or .jfr')
    refused(e, headers, body.replace(b'name="event"', b'name="other"'), 400, 'no field "event"')
    for text, why in (
        (b'{', 'event.json'),
        (b'[]', 'JSON object'),
        (b'{"start":"noon"}', 'event.json: parameter "start"'),
        (b'{"end":"9999-01-01T00:00:00Z"}', 'a time from 1970 to 2262'),
    ):
        headers, body = form(text, ('cpu.pprof', good))
        refused(e, headers, body, 400, why)
    for name in ('main.jfr', 'cpu.pprof'):
        headers, body = form(event, (name, b'\x04\x22\x4d\x18rest'))
        refused(e, headers, body, 422, 'LZ4')
    headers, body = form(event, ('main.jfr', b'FLR\0'))
    refused(e, headers, body, 422, 'refused')
    assert not e.range('{service_name=~".+"}')
    # Of a request with good and bad files, the good ones are stored.
    headers, body = form(event, ('heap.pprof', b'no'), ('cpu.pprof', good), ('notes.txt', b'?'), ('main.jfr', b'FLR\0'))
    refused(e, headers, body, 422, '2 of 3 profiles were refused')
    assert set(stored(e)) == {('process_cpu', '')}
    # What else an agent is asked for is not there, and nothing is logged about it.
    assert e.get('/info').status == 404 and e.get('/v0.7/config', data=b'{}', method='POST').status == 404
    assert 'level=error' not in e.text(), e.text()
    e.finish()
    e = Everprof(d + '/off').ready()
    headers, body = form(event, ('cpu.pprof', gzip.compress(b'')))
    refused(e, headers, body, 404, '--web.enable-push-receiver')
    e.finish()


suite.main()
