# SPDX-License-Identifier: Apache-2.0
"""Requests of OpenTelemetry's protocol for profiles, encoded by each release from its .proto file, by other means
than everprof's."""
import struct

from harness import field, varint

# The numbers of the fields of a sample: stack, attributes, link, values, timestamps.
SAMPLE = {'1.8': (1, 3, 4, 2, 5), '1.9': (1, 3, 4, 2, 5), '1.10': (1, 2, 3, 4, 5)}


def number(n, v):
    return varint(n << 3) + varint(v & (1 << 64) - 1) if v else b''


def fixed(n, v):
    return varint(n << 3 | 1) + struct.pack('<Q', v) if v else b''


def numbers(n, values, packed=True):
    if not values:
        return b''
    if packed:
        return field(n, b''.join(varint(v & (1 << 64) - 1) for v in values))
    return b''.join(varint(n << 3) + varint(v & (1 << 64) - 1) for v in values)


class Dictionary:
    """The tables; entry 0 of each is the empty one."""

    def __init__(self):
        self.tables = {n: [b''] for n in range(1, 8)}
        self.places = {}

    def add(self, table, key, make):
        if (table, key) not in self.places:
            self.places[table, key] = len(self.tables[table])
            self.tables[table].append(None)
            self.tables[table][self.places[table, key]] = make()
        return self.places[table, key]

    def text(self, s):
        return self.add(5, s, lambda: s.encode()) if s else 0

    def value(self, v, by_index=False):
        """An AnyValue."""
        if isinstance(v, bool):
            return varint(2 << 3) + varint(v)
        if isinstance(v, int):
            return varint(3 << 3) + varint(v & (1 << 64) - 1)
        if isinstance(v, float):
            return varint(4 << 3 | 1) + struct.pack('<d', v)
        if isinstance(v, bytes):
            return field(7, v)
        if isinstance(v, list):
            return field(5, b''.join(field(1, self.value(x)) for x in v))
        if isinstance(v, dict):
            return field(6, b''.join(field(1, self.pair(k, x)) for k, x in v.items()))
        return number(8, self.text(v)) if by_index else field(1, v.encode())

    def pair(self, k, v, by_index=False):
        """A KeyValue, whose texts may be references as of 1.10."""
        key = number(3, self.text(k)) if by_index else field(1, k.encode())
        return key + field(2, self.value(v, by_index))

    def attribute(self, k, v, unit=''):
        return self.add(
            6,
            (k, repr(v), unit),
            lambda: number(1, self.text(k)) + field(2, self.value(v)) + number(3, self.text(unit)),
        )

    def function(self, name, file, line):
        return self.add(
            3,
            (name, file, line),
            lambda: number(1, self.text(name))
            + number(2, self.text(name))
            + number(3, self.text(file))
            + number(4, line),
        )

    def mapping(self, file, build_id, start=0x1000, limit=0x9000):
        return self.add(
            1,
            (file, build_id),
            lambda: number(1, start)
            + number(2, limit)
            + number(4, self.text(file))
            + numbers(5, [self.attribute('process.executable.build_id.gnu', build_id)]),
        )

    def location(self, frames, address, mapping=0):
        """frames: [(name, file, line)], the outermost first."""
        lines = b''.join(
            field(3, number(1, self.function(name, file, 1)) + number(2, line)) for name, file, line in reversed(frames)
        )
        return self.add(2, (tuple(frames), address, mapping), lambda: number(1, mapping) + number(2, address) + lines)

    def stack(self, locations, packed=True):
        """Numbers of locations, the innermost first."""
        return self.add(7, tuple(locations), lambda: numbers(1, locations, packed))

    def link(self, trace, span):
        return self.add(4, (trace, span), lambda: field(1, trace) + field(2, span))

    def encode(self):
        return b''.join(field(n, v) for n in range(1, 8) for v in self.tables[n])


def sample(release, stack, values=(), attributes=(), link=0, times=(), packed=True):
    numbers_of = SAMPLE[release]
    parts = {
        numbers_of[0]: number(numbers_of[0], stack),
        numbers_of[1]: numbers(numbers_of[1], attributes, packed),
        numbers_of[2]: number(numbers_of[2], link),
        numbers_of[3]: numbers(numbers_of[3], values, packed),
        numbers_of[4]: field(5, b''.join(struct.pack('<Q', t) for t in times))
        if packed and times
        else b''.join(fixed(5, t) for t in times),
    }
    return b''.join(parts[n] for n in sorted(parts))


def value_type(d, kind, unit):
    return number(1, d.text(kind)) + number(2, d.text(unit))


def profile(d, release, kind, samples, time_ns, duration_ns=0, period=None, more=b''):
    """period: (type, unit, value)."""
    body = field(1, value_type(d, *kind)) + b''.join(field(2, s) for s in samples) + fixed(3, time_ns)
    body += number(4, duration_ns)
    if period:
        body += field(5, value_type(d, *period[:2])) + number(6, period[2])
    if release == '1.8':
        return body + field(8, bytes(16)) + more
    return body + field(7, bytes(16)) + more


def resource(d, attributes, profiles, scope=('scope', '1.2'), by_index=False):
    """A ResourceProfiles."""
    pairs = b''.join(field(1, d.pair(k, v, by_index)) for k, v in attributes.items())
    named = field(1, scope[0].encode()) + field(2, scope[1].encode())
    return field(1, pairs) + field(2, field(1, named) + b''.join(field(2, p) for p in profiles))


def request(d, resources, dictionary_first=False):
    body = b''.join(field(1, r) for r in resources)
    tables = field(2, d.encode())
    return tables + body if dictionary_first else body + tables
