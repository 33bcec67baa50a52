# SPDX-License-Identifier: Apache-2.0
"""A sender of remote write that was made from docs/format/remote-write.md alone:
protocol buffers and snappy by hand."""
import subprocess

from harness import field, varint


def label(name, value):
    return field(1, field(1, name.encode()) + field(2, value.encode()))


def sample(value, ms):
    return field(2, field(1, value) + b'\x10' + varint(ms % 2**64))


def series(labels, samples):
    """A ProfileSeries: {name: value}, [(bytes, ms)]."""
    return field(1, b''.join(label(k, v) for k, v in labels.items()) + b''.join(sample(v, ms) for v, ms in samples))


def request(*all_series):
    """A WriteRequest of (labels, samples) pairs."""
    return b''.join(series(labels, samples) for labels, samples in all_series)


def snappy(data):
    """A snappy block of literals only."""
    out = bytearray(varint(len(data)))
    for at in range(0, len(data), 65536):
        piece = data[at : at + 65536]
        n = len(piece) - 1
        if n < 60:
            out += bytes([n << 2])
        elif n < 256:
            out += bytes([60 << 2, n])
        else:
            out += bytes([61 << 2, n & 255, n >> 8])
        out += piece
    return bytes(out)


def read_varint(data, at):
    """Decodes a varint at an offset: its value, and the offset after it."""
    value, shift = 0, 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of each field of a message; a value is an int or bytes."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        value, at = read_varint(data, at)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        yield key >> 3, value


def read_request(body):
    """The samples of a request that was compressed with zstd: [(labels, bytes, ms)]."""
    message = subprocess.run(['zstd', '-dc'], input=body, capture_output=True, check=True).stdout
    out = []
    for _, one in fields(message):
        labels = {}
        for number, value in fields(one):
            if number == 1:
                name, text = dict(fields(value)).values()
                labels[name.decode()] = text.decode()
            else:
                got = dict(fields(value))
                out.append((labels, got[1], got[2]))
    return out


HEADERS = {'Content-Type': 'application/x-protobuf', 'Content-Encoding': 'snappy'}


def write(server, body, **headers):
    """POST a body as it is; headers replace those of HEADERS, None removes one."""
    sent = {**HEADERS, **{k.replace('_', '-'): v for k, v in headers.items()}}
    return server.get(
        '/api/v1/write', data=body, method='POST', headers={k: v for k, v in sent.items() if v is not None}
    )


def push(server, *all_series, **headers):
    """Send (labels, samples) pairs."""
    return write(server, snappy(request(*all_series)), **headers)
