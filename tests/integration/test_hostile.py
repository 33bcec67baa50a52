#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles made to harm: each was once too slow, too large, drawn as HTML or
counted wrong."""
import gzip
import os
import re

from harness import Everprof, Suite, field, run, varint

suite = Suite()
NOW = 1700000000000
ALL = {'mode': 'merge', 'from': 0, 'to': 'now'}
MOST = (1 << 63) - 1


class Made:
    """A profile in the making, by its wire format."""

    def __init__(self, *types):
        self.strings, self.parts, self.count = [''], [], 0
        for kind, unit in types:
            self.parts.append(field(1, b'\x08' + self.string(kind) + b'\x10' + self.string(unit)))

    def string(self, s):
        if s not in self.strings:
            self.strings.append(s)
        return varint(self.strings.index(s))

    def place(self, *lines):
        """A location of functions (name, line), innermost first."""
        body = b''
        for name, line in lines:
            self.count += 1
            self.parts.append(
                field(5, b'\x08' + varint(self.count) + b'\x10' + self.string(name) + b'\x20' + self.string('x.go'))
            )
            body += field(4, b'\x08' + varint(self.count) + b'\x10' + varint(line))
        self.count += 1
        self.parts.append(field(4, b'\x08' + varint(self.count) + body))
        return self.count

    def sample(self, stack, values, **labels):
        self.parts.append(
            field(
                2,
                field(1, b''.join(map(varint, stack)))
                + field(2, b''.join(map(varint, values)))
                + b''.join(field(3, b'\x08' + self.string(k) + b'\x10' + self.string(v)) for k, v in labels.items()),
            )
        )
        return self

    def drop(self, pattern):
        self.parts.append(b'\x38' + self.string(pattern))
        return self

    def bytes(self):
        return b''.join(self.parts) + b''.join(field(6, s.encode()) for s in self.strings)


def cpu():
    return Made(('cpu', 'nanoseconds'))


def file_of(d, body):
    path = os.path.join(d, 'p')
    with open(path, 'wb') as f:
        f.write(body)
    return path


def served(d, profiles, *flags):
    """profiles: {(job, kind): [bytes]}, a second apart."""
    for (job, kind), bodies in profiles.items():
        os.makedirs(f'{d}/in/{job}/{kind}')
        for i, body in enumerate(bodies):
            with open(f'{d}/in/{job}/{kind}/{NOW + 1000 * i}.pb.gz', 'wb') as f:
                f.write(gzip.compress(body, mtime=0))
    os.makedirs(f'{d}/s')
    answer = run('tsdb', 'import', f'{d}/in', f'--storage.tsdb.path={d}/s/data')
    assert answer.returncode == 0, answer.stderr
    return Everprof(f'{d}/s', flags=['--storage.tsdb.retention.time=0', *flags]).ready()


def refused(why, *argv):
    answer = run('report', *argv)
    assert answer.returncode == 1 and why in answer.stderr, (argv, answer.stderr[:300])


@suite.test
def expanding_stacks_are_limited(d):
    """A megabyte of profile that stands for 10^9 frames."""
    p = cpu()
    inlined = p.place(*[(f'f{i}', i) for i in range(1000)])
    for i in range(1000):
        p.sample([inlined] * 1000, [1], k=str(i))
    path = file_of(d, p.bytes())
    for report in ('top', 'folded', 'flamegraph', 'traces', 'speedscope', 'dot'):
        refused('frames', report, path)


@suite.test
def expanding_memory_maps_are_limited(d):
    """Each attribute is the one before, twice."""
    lines = ['a=xxxxxxxxxxxxxxxx'] + [f'{chr(97 + i)}=${chr(96 + i)}${chr(96 + i)}' for i in range(1, 26)]
    body = 'heap profile: 1: 1 [1: 1] @ heap/524288\n1: 1 [1: 1] @ 0x400001\n\nMAPPED_LIBRARIES:\n'
    refused('memory map', 'top', file_of(d, (body + '\n'.join(lines) + '\n').encode()))


@suite.test
def regex_backtracking_is_limited(d):
    """Backtracking is bounded; a user is told, a profile's own wish is dropped."""
    p = cpu()
    for i in range(3000):
        p.sample([p.place((f'{"a" * 200}{i}!', 1))], [7])
    refused('focus', 'top', file_of(d, p.bytes()), '--focus=(a+)+$')
    answer = run('report', 'top', file_of(d, p.drop('(a+a+)+b*').bytes()))
    assert answer.returncode == 0 and '21us' in answer.stdout, answer.stderr


@suite.test
def extreme_line_numbers(d):
    os.makedirs(f'{d}/src')
    with open(f'{d}/src/x.go', 'w') as f:
        f.write('package x\n')
    for line in (1, (1 << 31) - 1, 0, 1 << 31, MOST - 2, MOST, MOST + 1):
        p = cpu()
        p.sample([p.place(('f', line))], [5])
        answer = run('report', 'source', file_of(d, p.bytes()), f'--source_path={d}/src', '--symbol=f')
        # A line that cannot be is none.
        assert ('ROUTINE' if line < 1 << 31 else 'no usable line numbers') in answer.stdout + answer.stderr
        assert answer.returncode == (line >= 1 << 31), (line, answer.returncode)


@suite.test
def markup_in_names_is_escaped(d):
    evil = '<script>alert("x")</script>'
    p = Made((evil, f'{evil}"]'))
    p.sample([p.place((evil, 1))], [7], **{evil: evil})
    e = served(d, {('a', 'profile'): [p.bytes()]})
    page = e.get('/profiles', query='profile', **{'from': 0, 'to': 'now'})
    assert page.status == 200 and b'<script>alert' not in page.body, page.body[:500]
    svg = e.get('/api/v1/query', query='profile', report='flamegraph', format='text', **ALL)
    assert svg.status == 200 and b'<script>alert' not in svg.body
    assert 'sandbox' in svg.headers['Content-Security-Policy']
    dot = e.get('/api/v1/query', query='profile', report='dot', **ALL).body.decode()
    for text in re.findall(r'label="((?:[^"\\]|\\.)*)(.)', dot):
        assert text[1] == '"', text


@suite.test
def counters_survive_new_sample_types(d):
    """A new sample type in the middle neither doubles a state nor loses a counter."""

    def heap(n, more):
        p = Made(('inuse_space', 'bytes'), ('alloc_space', 'bytes'), *([('extra', 'count')] if more else []))
        return p.sample([p.place(('x', 1))], [100, 100 * n] + [1] * more).bytes()

    e = served(d, {('a', 'heap'): [heap(n, n > 2) for n in range(1, 5)]})
    graph = e.get(
        '/api/v1/query_range', query='heap', step='1h', **{'from': NOW - NOW % 3600000, 'to': NOW + 4000}
    ).data()
    assert len(graph) == 1 and graph[0]['totals']['inuse_space/bytes'] == [100], graph


@suite.test
def timeouts_never_make_counters_negative(d):
    """What is left out for want of time never makes a counter negative."""

    def heap(n):
        p = Made(('alloc_space', 'bytes'))
        return p.sample([p.place((f'x{i}', 1)) for i in range(100)], [1000 * n]).bytes()

    e = served(d, {(f'j{i}', 'heap'): [heap(n) for n in range(1, 20)] for i in range(40)}, '--query.timeout=2ms')
    for _ in range(10):
        a = e.get('/api/v1/query', query='heap', report='top', **ALL)
        if a.status == 200:
            assert all(r['flat'] >= 0 and r['cum'] >= 0 for r in a.data()['rows']), a.body[:300]
        else:
            assert a.status == 503 and '--query.timeout' in a.json()['error'], a.body


@suite.test
def long_names_of_binaries_do_not_end_answers(d):
    """One profile of many names a binary that is longer than the headers of an answer."""

    def addresses(file, build_id):
        p = cpu()
        p.parts.append(
            field(
                3,
                b'\x08\x01\x10\x80\x20\x18' + varint(1 << 20) + b'\x28' + p.string(file) + b'\x30' + p.string(build_id),
            )
        )
        p.parts.append(field(4, b'\x08\x01\x10\x01\x18' + varint(0x2000)))
        return p.sample([1], [1]).bytes()

    e = served(
        d,
        {
            ('a', 'profile'): [addresses('/x/' + '\u00e9' * 20000 + '\r\nX: y', 'ab' * 20000)],
            ('b', 'profile'): [addresses('/y', 'cd')],
        },
    )
    for report in ('top', 'flamegraph', 'graph', 'folded', 'proto', 'svg', 'traces', 'dot'):
        a = e.get('/api/v1/query', query='profile', report=report, **ALL)
        assert a.status == 200, (report, a.status)
        said = a.headers['X-Everprof-Warning'] or ' '.join(a.json()['warnings'])
        assert 'no function name' in said and len(said) < 2000 and not a.headers['X'], said
    e.finish()


@suite.test
def names_with_zero_bytes(d):
    p = Made(('a\0b', 'c\0d'))
    p.sample([p.place(('n\0m', 2))], [5], **{'k\0l': 'v'})
    e = served(d, {('a', 'profile'): [p.bytes()]})
    rows = e.get('/api/v1/query', query='profile', report='top', trim='false', **ALL).data()
    assert rows['sample_type'] == 'a\0b' and rows['rows'][0]['name'] == 'n\0m', rows
    graph = e.get('/api/v1/query_range', query='profile', totals=1, **{'from': 0, 'to': 'now'})
    assert list(graph.data()[0]['totals']) == ['a\0b/c\0d'], graph.body


@suite.test
def expensive_requests_are_limited(d):
    p = cpu()
    stack = [p.place((f'd{i}', 1)) for i in range(100)] * 50
    for i in range(1000):
        p.sample(stack, [1], k=str(i))
    e = served(d, {('a', 'profile'): [p.bytes()]}, '--query.memory=128MB')
    keys = ','.join(f'k{i}' for i in range(100))
    for params, status in (
        ({'group_by': keys}, 400),
        ({'tagroot': keys}, 400),
        ({'tagfocus': ','.join('a' * 40)}, 400),
        ({'tagroot': 'k'}, 429),
    ):
        a = e.get('/api/v1/query', query='profile', report='flamegraph', max_nodes=0, **{**ALL, **params})
        assert a.status == status, (params, a.status, a.body[:300])
    # What was refused has given its memory back.
    assert e.get('/api/v1/query', query='profile', report='top', **ALL).status == 200


suite.main()
