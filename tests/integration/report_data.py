# SPDX-License-Identifier: Apache-2.0
"""A made program for test_reports.py and test_answers.py: its profiles, what they
add up to, computed here and not by everprof, and servers that hold them."""
import collections
import gzip
import os
import random
import time

from harness import field, varint
from query_data import ALL, served

MINUTE = 60000
NOW = int(time.time()) // 60 * MINUTE
BEGIN = NOW - 60 * MINUTE  # of all profiles

# name: (file, first line)
FUNCTIONS = {
    'main.main': ('/src/main.go', 10),
    'web.serve': ('/src/web/serve.go', 20),
    'web.decode': ('/src/web/decode.go', 30),
    'db.query': ('/src/db/query.go', 40),
    'db.scan': ('/src/db/scan.go', 50),
    'html.render': ('/src/html/render.go', 60),
    'runtime.mallocgc': ('/go/runtime/malloc.go', 70),
    'runtime.memmove': ('/go/runtime/memmove.s', 80),
}


def frame(name, line):
    """A call in a function, on the line-th line after its first."""
    return name, FUNCTIONS[name][0], FUNCTIONS[name][1] + line


# Stacks, outermost first; each element is a location: its frames, outermost
# first, of which all but the first were inlined.
MAIN = (frame('main.main', 1),)
SERVE = (frame('web.serve', 2),)
STACKS = [
    (MAIN, SERVE, (frame('web.decode', 1),)),
    (MAIN, SERVE, (frame('web.decode', 2),), (frame('runtime.mallocgc', 5),)),
    (MAIN, SERVE, (frame('db.query', 3), frame('db.scan', 1))),
    (MAIN, SERVE, (frame('db.query', 3), frame('db.scan', 2)), (frame('runtime.memmove', 1),)),
    (MAIN, SERVE, (frame('db.query', 4),)),
    (MAIN, (frame('html.render', 1),), (frame('runtime.mallocgc', 6),)),
    (MAIN, (frame('html.render', 1),), (frame('html.render', 2),)),  # recursion
    ((frame('runtime.mallocgc', 7),),),
]
ADDRESSES = {x: 0x1000 + 16 * i for i, x in enumerate(sorted({x for s in STACKS for x in s}))}
LABELS = [{}, {'tenant': 'red'}, {'tenant': 'blue', 'bytes': 4096}]

Sample = collections.namedtuple('Sample', 'stack labels values')


class Profile:
    """types: [(type, unit)]; samples; duration in ns."""

    def __init__(self, types, samples, duration=0, time_ns=0):
        self.types, self.samples = types, samples
        self.duration, self.time_ns = duration, time_ns

    def encode(self):
        strings, functions, locations = [''], {}, {}

        def string(s):
            if s not in strings:
                strings.append(s)
            return varint(strings.index(s))

        def number(n, v):
            return varint(n << 3) + (v if isinstance(v, bytes) else varint(v))

        body = b''.join(field(1, number(1, string(t)) + number(2, string(u))) for t, u in self.types)
        for s in self.samples:
            ids = b''.join(varint(locations.setdefault(x, len(locations) + 1)) for x in reversed(s.stack))
            values = b''.join(varint(v & (1 << 64) - 1) for v in s.values)
            labels = b''.join(
                field(
                    3,
                    number(1, string(k))
                    + (number(2, string(v)) if isinstance(v, str) else number(3, v) + number(4, string(k))),
                )
                for k, v in s.labels.items()
            )
            body += field(2, field(1, ids) + field(2, values) + labels)
        body += field(3, number(1, 1) + number(2, 0x1000) + number(3, 0x9000) + number(5, string('/bin/shop')))
        for location, i in locations.items():
            lines = b''.join(
                field(4, number(1, functions.setdefault(name, len(functions) + 1)) + number(2, line))
                for name, _, line in reversed(location)
            )
            body += field(4, number(1, i) + number(2, 1) + number(3, ADDRESSES[location]) + lines)
        for name, i in functions.items():
            body += field(
                5,
                number(1, i)
                + number(2, string(name))
                + number(3, string(name))
                + number(4, string(FUNCTIONS[name][0]))
                + number(5, FUNCTIONS[name][1]),
            )
        body += field(11, number(1, string('cpu')) + number(2, string('nanoseconds')))
        body += b''.join(field(6, s.encode()) for s in strings)
        return body + number(9, self.time_ns) + number(10, self.duration) + number(12, 10000000)


def names(stack):
    """The functions of a stack, outermost first, inlined ones too."""
    return tuple(f[0] for location in stack for f in location)


def frames(stack):
    return [f for location in stack for f in location]


def made_cpu(seed, count=12, seconds=10):
    """A CPU profile: samples and nanoseconds, with labels."""
    rng = random.Random(seed)
    samples = [
        Sample(rng.choice(STACKS), rng.choice(LABELS), (n, n * 10000000))
        for n in (rng.randrange(1, 40) for _ in range(count))
    ]
    return Profile([('samples', 'count'), ('cpu', 'nanoseconds')], samples, seconds * 1000000000)


def made_heap(values):
    """{stack number: (alloc_space, inuse_space)}"""
    return Profile(
        [('alloc_space', 'bytes'), ('inuse_space', 'bytes')], [Sample(STACKS[k], {}, v) for k, v in values.items()]
    )


def folded(profiles, index, keep=lambda s: True, shown=names):
    """{stack: sum} of one value of all samples that are kept."""
    sums = collections.Counter()
    for p in profiles:
        for s in p.samples:
            if keep(s):
                sums[shown(s.stack)] += s.values[index]
    return {k: v for k, v in sums.items() if v and k}


def flat_and_cum(stacks):
    """{function: (flat, cum)} of {stack: value}."""
    flat, cum = collections.Counter(), collections.Counter()
    for stack, v in stacks.items():
        flat[stack[-1]] += v
        for name in set(stack):
            cum[name] += v
    return {name: (flat[name], cum[name]) for name in cum}


def calls(stacks):
    """{(caller, callee): sum}; each pair counts once a stack, and a function
    that calls itself does not, as in pprof."""
    sums = collections.Counter()
    for stack, v in stacks.items():
        for pair in set(zip(stack, stack[1:])):
            if pair[0] != pair[1]:
                sums[pair] += v
    return dict(sums)


def write(d, job, kind, profiles):
    """Stores {ms: Profile} as a folder that import takes."""
    folder = os.path.join(d, 'in', job, kind)
    os.makedirs(folder, exist_ok=True)
    for ms, p in profiles.items():
        with open(os.path.join(folder, f'{ms}.pb.gz'), 'wb') as f:
            f.write(gzip.compress(p.encode(), mtime=0))


def read_varint(b, at):
    value = shift = 0
    while True:
        value |= (b[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not b[at - 1] & 0x80:
            return value, at


def read_fields(b):
    """[(number, int or bytes)] of a message."""
    out, at = [], 0
    while at < len(b):
        key, at = read_varint(b, at)
        value, at = read_varint(b, at)
        if key & 7 == 2:
            value, at = b[at : at + value], at + value
        else:
            assert key & 7 == 0, key
        out.append((key >> 3, value))
    return out


def read_numbers(value):
    """A repeated number, packed or not."""
    out, at = [value] if isinstance(value, int) else [], 0
    while not isinstance(value, int) and at < len(value):
        v, at = read_varint(value, at)
        out.append(v)
    return [v - (1 << 64) if v >> 63 else v for v in out]


class Decoded:
    """types [(type, unit)], samples [(names outermost first, labels, values)],
    start lines {function: line}, whether any location has an address."""

    def __init__(self, body):
        message = read_fields(body)
        strings = [v.decode() for n, v in message if n == 6]
        functions, locations = {}, {}
        self.start_lines, self.addresses, self.samples = {}, False, []
        for n, v in message:
            if n == 5:
                f = dict(read_fields(v))
                functions[f[1]] = strings[f[2]]
                self.start_lines[strings[f[2]]] = f.get(5, 0)
        for n, v in message:
            if n == 4:
                fields = read_fields(v)
                locations[dict(fields)[1]] = [functions[dict(read_fields(x))[1]] for k, x in fields if k == 4]
                self.addresses |= bool(dict(fields).get(3))
        self.types = [
            (strings[dict(read_fields(v)).get(1, 0)], strings[dict(read_fields(v)).get(2, 0)])
            for n, v in message
            if n == 1
        ]
        for n, v in message:
            if n != 2:
                continue
            stack, values, labels = [], [], {}
            for k, x in read_fields(v):
                if k == 1:
                    stack += [name for i in read_numbers(x) for name in locations[i]]
                elif k == 2:
                    values += read_numbers(x)
                elif k == 3:
                    label = dict(read_fields(x))
                    labels[strings[label[1]]] = strings[label[2]] if 2 in label else label.get(3, 0)
            self.samples.append((tuple(reversed(stack)), labels, values))

    def folded(self, index):
        sums = collections.Counter()
        for stack, _, values in self.samples:
            sums[stack] += values[index]
        return {k: v for k, v in sums.items() if v}


def shop(d, count=4):
    """Servers' CPU profiles, one a minute, and a server that holds them."""
    profiles = [made_cpu(seed) for seed in range(count)]
    write(d, 'shop', 'profile', {BEGIN + i * MINUTE: p for i, p in enumerate(profiles)})
    return profiles, served(d, f'{d}/in')


def asked(e, **params):
    """An answer of /api/v1/query about everything; samples are counted."""
    return e.get('/api/v1/query', **{'query': 'profile', 'sample_index': 'samples', **ALL, **params})


def text_of(e, report, **params):
    a = asked(e, report=report, **params)
    assert a.status == 200, (report, params, a.status, a.body[:300])
    return a.body.decode()


def top_of(e, **params):
    rows = asked(e, report='top', trim='false', **params).data()['rows']
    return {r['name']: (r['flat'], r['cum']) for r in rows}


def folded_of(e, **params):
    lines = text_of(e, 'folded', **params).splitlines()
    return {tuple(x.rsplit(' ', 1)[0].split(';')): int(x.rsplit(' ', 1)[1]) for x in lines if x}
