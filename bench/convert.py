#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What conversions cost: requests of OTLP with one dictionary for many profiles, which
must be linear in the profiles, and recordings of Java, beside async-profiler's own
converter and beside the same profiles in the format of pprof.

usage: bench/convert.py [CONVERTER]
       CONVERTER: jfr-converter.jar (Maven: tools.profiler:jfr-converter), to compare with
       EVERPROF names the program"""
import gzip
import os
import random
import resource
import subprocess
import sys
import tempfile

from usage import arguments

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tests/integration'))
os.environ.setdefault('EVERPROF', 'build/release/everprof')
from harness import ROOT, Everprof  # noqa: E402
from otlp_encoder import Dictionary, profile, request, resource as otlp_resource, sample  # noqa: E402

AT = 1795995000
PUSH = ('--web.enable-push-receiver', '--ingest.max-new-series=0', '--storage.tsdb.retention.time=0')
FUNCTIONS = 5000
STACKS = 2000
CHUNKS = 300  # of a long recording


def cpu_of(e):
    with open(f'/proc/{e.child.pid}/stat') as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def measured(e, fn):
    before = cpu_of(e)
    fn()
    return cpu_of(e) - before


def otlp(count):
    """A request with `count` profiles of processes, as the profiler of OpenTelemetry sends."""
    rng = random.Random(7)
    d = Dictionary()
    frames = [(f'function_{i}', f'file_{i % 100}.c', i) for i in range(FUNCTIONS)]
    stacks = [d.stack([d.location([f], 0) for f in rng.sample(frames, 12)]) for _ in range(STACKS)]
    resources = [
        otlp_resource(
            d,
            {'service.name': f'service-{pid}', 'process.pid': pid},
            [
                profile(
                    d,
                    '1.10',
                    ('samples', 'count'),
                    [sample('1.10', rng.choice(stacks), (1,)) for _ in range(6)],
                    AT * 10**9,
                    0,
                )
            ],
        )
        for pid in range(count)
    ]
    return request(d, resources)


def check_otlp():
    costs = {}
    for count in (2500, 5000):
        body = otlp(count)
        with tempfile.TemporaryDirectory() as d:
            e = Everprof(d, flags=PUSH).ready()

            def send():
                answer = e.get('/v1development/profiles', {'Content-Type': 'application/x-protobuf'}, body)
                assert (answer.status, answer.body) == (200, b''), (answer.status, answer.body[:300])

            costs[count] = measured(e, send)
            e.finish()
        print(f'OTLP: {count} profiles, {len(body) / 1e6:.1f} MB: {costs[count]:.2f} s of CPU time')
    print(f'twice the profiles: {costs[5000] / costs[2500]:.2f} times the CPU time')


def long_recording():
    with gzip.open(f'{ROOT}/testdata/jfr/async-profiler.jfr.gz') as f:
        return f.read() * CHUNKS


def converter_cpu(converter, d):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ['java', '-XX:+UseSerialGC', '-jar', converter, '-o', 'pprof', '--cpu', f'{d}/long.jfr', f'{d}/out.pprof']
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def check_jfr(converter):
    body = long_recording()
    with tempfile.TemporaryDirectory() as d:
        e = Everprof(d, flags=PUSH).ready()

        def send():
            answer = e.get('/ingest', data=body, name='shop', format='jfr', **{'from': AT}, until=AT + 10)
            assert answer.status == 200, answer.body

        cost = measured(e, send)
        megabytes = len(body) / 1e6
        print(f'JFR: {megabytes:.1f} MB, {CHUNKS} chunks, 8 profiles: {cost:.2f} s, {megabytes / cost:.0f} MB/s')
        e.finish()
        if converter:
            with open(f'{d}/long.jfr', 'wb') as f:
                f.write(body)
            theirs = converter_cpu(converter, d)
            print(f'jfr-converter, one of the profiles: {theirs:.2f} s of CPU time, {theirs / cost:.1f} times')


def main():
    args = arguments(__doc__, 0, 1)
    check_otlp()
    check_jfr(args[0] if args else None)


main()
