#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Grafana's lists cost with 100 000 pushed series, what JSON costs beside
protobuf, what values over time by a label of samples cost beside a merge, and what a
pushed profile costs beside a scraped one.

usage: bench/grafana.py FOLDER [SERIES]
       FOLDER: <program>/<type>/<unix ms>.pb.gz, as of bench/busy_fleet.py
       SERIES: how many, in place of 100 000; EVERPROF names the program"""
import glob
import json
import os
import struct
import sys
import tempfile
import time

from usage import arguments

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tests/integration'))
os.environ.setdefault('EVERPROF', 'build/release/everprof')
import harness  # noqa: E402
from harness import Everprof, field, varint  # noqa: E402
from report_data import made_cpu  # noqa: E402

NAMES = ('process_cpu', 'memory', 'mutex', 'block', 'goroutine', 'wall')
QUERIER = '/querier.v1.QuerierService/'
CPU = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds'
TIMES = 9  # how often each request is asked at least
SECONDS = 1  # and for how long: the CPU time of a process has steps of 10 ms
PUSH = ('--web.enable-push-receiver', '--ingest.max-new-series=0')
TARGETS = 40
ROUNDS = 30  # profiles of each target at most


def pair(name, value):
    return field(1, field(1, name.encode()) + field(2, value.encode()))


def series(i, body):
    """A series with one profile, as push.v1 has it: six profile types of each pod."""
    pod = i // len(NAMES)
    return field(
        1,
        pair('__name__', NAMES[i % len(NAMES)])
        + pair('service_name', f'svc-{pod % 500}')
        + pair('namespace', f'ns-{pod % 20}')
        + pair('pod', f'pod-{pod}')
        + field(2, field(1, body)),
    )


def push(e, count, body):
    for begin in range(0, count, 2000):
        message = b''.join(series(i, body) for i in range(begin, min(begin + 2000, count)))
        answer = e.get('/push.v1.PusherService/Push', {'Content-Type': 'application/proto'}, message)
        assert answer.status == 200, answer.body


def post(e, method, body, kind):
    answer = e.get(QUERIER + method, {'Content-Type': kind, 'Connect-Protocol-Version': '1'}, body)
    assert answer.status == 200, (method, answer.status, answer.body)
    return answer.body


def cost(e, ask):
    """Milliseconds of a request in order, and CPU milliseconds of the server, and bytes."""
    waits, size = [], 0
    before, begin = sum(harness.cpu_seconds(e.child.pid)), time.monotonic()
    while len(waits) < TIMES or time.monotonic() < begin + SECONDS:
        started = time.perf_counter()
        size = len(ask())
        waits.append(1000 * (time.perf_counter() - started))
    cpu = 1000 * (sum(harness.cpu_seconds(e.child.pid)) - before) / len(waits)
    return sorted(waits), cpu, size


def lists(d, count, body):
    """The lists that Grafana asks for, with so many series."""
    e = Everprof(d, flags=PUSH).ready()
    started = time.time()
    push(e, count, body)
    print(f'{count} series pushed in {time.time() - started:.0f} s, RssAnon {e.memory():.0f} MB')
    during = {'start': int(1000 * started) - 60000, 'end': int(1000 * time.time()) + 60000}
    requests = (
        ('ProfileTypes', {}),
        ('LabelNames', {'matchers': ['{}']}),
        ('LabelValues', {'name': 'pod', 'matchers': ['{}']}),
        ('LabelValues', {'name': 'service_name', 'matchers': ['{}']}),
        ('Series', {'matchers': ['{}'], 'labelNames': ['service_name', '__profile_type__']}),
    )
    for method, message in requests:
        text = json.dumps({**message, **during}).encode()
        waits, cpu, size = cost(e, lambda m=method, t=text: post(e, m, t, 'application/json'))
        print(
            f'{method} {message.get("name", "")}: {waits[0]:.1f} ms, median {waits[len(waits) // 2]:.1f} ms, '
            f'CPU {cpu:.1f} ms, {size} bytes'
        )
    e.finish()


def forms(d, folder, files):
    """Requests for values as protobuf and as JSON."""
    os.makedirs(d)
    answer = harness.run('tsdb', 'import', folder, f'--storage.tsdb.path={d}/data')
    assert answer.returncode == 0, answer.stderr
    e = Everprof(d, flags=['--storage.tsdb.retention.time=0', *PUSH]).ready()
    stamps = [int(os.path.basename(f).split('.')[0]) for f in files]
    begin, end = min(stamps) - 60000, max(stamps) + 60000
    message = {'profile_typeID': CPU, 'label_selector': '{}', 'start': begin, 'end': end}
    encoded = field(1, CPU.encode()) + field(2, b'{}') + b'\x18' + varint(begin) + b'\x20' + varint(end)
    step = struct.pack('<d', 15)
    for method, more, text in (
        ('SelectMergeStacktraces', b'\x28' + varint(8192), {'max_nodes': 8192}),
        ('SelectMergeProfile', b'', {}),
        ('SelectSeries', field(5, b'job') + b'\x31' + step, {'group_by': ['job'], 'step': 15}),
    ):
        proto = cost(e, lambda m=method, b=more: post(e, m, encoded + b, 'application/proto'))
        both = json.dumps({**message, **text}).encode()
        as_json = cost(e, lambda m=method, b=both: post(e, m, b, 'application/json'))
        print(
            f'{method}: protobuf CPU {proto[1]:.0f} ms, {proto[2]} bytes; '
            f'JSON CPU {as_json[1]:.0f} ms, {as_json[2]} bytes: {as_json[1] / max(proto[1], 0.1):.2f} times'
        )
    by_samples(e, files, begin, end)
    e.finish()


def by_samples(e, files, begin, end):
    """Values over time by a label that samples may have, beside a merge of the same profiles."""
    answer = e.get('/ingest', data=made_cpu(1).encode(), name='shop', format='pprof', **{'from': end // 1000})
    assert answer.status == 200, answer.body
    message = {'profile_typeID': CPU, 'label_selector': '{service_name!="shop"}', 'start': begin, 'end': end}
    merge = cost(e, lambda: post(e, 'SelectMergeStacktraces', json.dumps(message).encode(), 'application/json'))
    print(f'a merge of {len(files)} profiles: CPU {merge[1]:.0f} ms')
    for name, more in (
        ('by a label of samples', {'group_by': ['tenant']}),
        ('of a function', {'stack_trace_selector': {'frame_filter': {'include_function_names': ['runtime.mcall']}}}),
    ):
        text = json.dumps({**message, 'step': 60, **more}).encode()
        one = cost(e, lambda t=text: post(e, 'SelectSeries', t, 'application/json'))
        print(f'values over time {name}: CPU {one[1]:.0f} ms, {one[1] / merge[1]:.2f} times the merge')


def stored(e):
    return e.get('/api/v1/status/tsdb').data()['headStats']['numUnflushedProfiles']


def scraped(d, bodies):
    """CPU seconds of a server that scrapes each profile of each target once."""
    turns = {}

    def answer(request):
        turn = turns.setdefault(request.path, iter(bodies[int(request.path.strip('/').split('?')[0])]))
        body = next(turn, None)
        harness.send(request, body or b'', 200 if body else 404)

    server = harness.Server(answer)
    config = 'scrape_configs:\n'
    for i in range(len(bodies)):
        config += (
            f'- job_name: j{i}\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  profiling_config:\n    pprof_config:\n'
            + harness.only('profile')
            + f'      profile: {{path: /{i}}}\n  static_configs: [{{targets: ["{server.address}"]}}]\n'
        )
    e = Everprof(d, config, ['--storage.tsdb.retention.time=0']).ready()
    return cpu_of(e, bodies, lambda: time.sleep(len(bodies[0]) + 4), server)


def pushed(d, bodies):
    """CPU seconds of a server to which each sender pushes as many within the same time."""

    def send():
        for turn in range(len(bodies[0])):
            next_turn = time.monotonic() + 1
            for i, own in enumerate(bodies):
                now = time.time_ns()
                answer = e.get(
                    '/ingest',
                    {'Content-Type': 'application/octet-stream'},
                    own[turn],
                    name=f'j{i}',
                    **{'from': now - 10**9, 'until': now, 'format': 'pprof'},
                )
                assert answer.status == 200, answer.body
            time.sleep(max(0, next_turn - time.monotonic()))
        time.sleep(4)

    e = Everprof(d, flags=PUSH).ready()
    return cpu_of(e, bodies, send, None)


def cpu_of(e, bodies, work, server):
    before = sum(harness.cpu_seconds(e.child.pid))
    work()
    cpu = sum(harness.cpu_seconds(e.child.pid)) - before
    count = stored(e)
    e.finish()
    if server:
        server.stop()
    print(f'{count} of {sum(map(len, bodies))} stored, {1000 * cpu / max(count, 1):.2f} CPU ms each')
    return cpu / max(count, 1)


def ways(d, files):
    """A pushed profile beside a scraped one."""
    rounds = min(ROUNDS, len(files) // TARGETS)
    if not rounds:
        sys.exit(f'{len(files)} CPU profiles are too few: each of {TARGETS} targets needs one or more of its own')
    bodies = [[open(f, 'rb').read() for f in files[i::TARGETS][:rounds]] for i in range(TARGETS)]
    for turn in range(2):
        scrape = scraped(f'{d}/scraped{turn}', bodies)
        print(f'a pushed profile takes {pushed(f"{d}/pushed{turn}", bodies) / scrape:.2f} times as much')


def main():
    folder, *count = arguments(__doc__, 1, 2)
    files = sorted(glob.glob(f'{folder}/*/profile/*.pb.gz'))
    with tempfile.TemporaryDirectory(prefix='everprof-') as d:
        lists(f'{d}/lists', int(count[0]) if count else 100000, made_cpu(1, count=6).encode())
        forms(f'{d}/forms', folder, files)
        ways(d, files)


if __name__ == '__main__':
    try:
        main()
    finally:
        harness.Process.stop_all()
