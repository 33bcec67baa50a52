# SPDX-License-Identifier: Apache-2.0
"""Requests by which clients push profiles, as they were recorded: what is in them,
read by other means than everprof's."""
import gzip
import re
import subprocess

from harness import ROOT
from write_client import fields

V1 = '/push.v1.PusherService/Push'


def plain(body):
    """The decompressed body."""
    if body[:4] == b'\x28\xb5\x2f\xfd':
        return subprocess.run(['zstd', '-dc'], input=body, capture_output=True, check=True).stdout
    return gzip.decompress(body) if body[:2] == b'\x1f\x8b' else body


def texts(message, number):
    """The byte strings of a field of a message."""
    return [value for n, value in fields(message) if n == number]


def kind_of(headers):
    """The Content-Type."""
    return next((v for k, v in headers.items() if k.lower() == 'content-type'), '')


def parts(body, headers):
    """The decompressed parts of a form."""
    boundary = b'--' + re.search('boundary=(.*)', kind_of(headers))[1].encode()
    found = body.split(boundary)[1:-1]
    return [plain(part.partition(b'\r\n\r\n')[2][:-2]) for part in found]


def pushed(path, headers, body):
    """[(labels, decompressed profile)] of a request. The labels of a message of push.v1 are those
    in it; of a request to /ingest, None."""
    if path.startswith(V1):
        return [
            (
                {texts(pair, 1)[0].decode(): texts(pair, 2)[0].decode() for pair in texts(series, 1)},
                plain(texts(sample, 1)[0]),
            )
            for series in texts(plain(body), 1)
            for sample in texts(series, 2)
        ]
    if 'multipart' in kind_of(headers):
        boundary = b'--' + re.search('boundary=(.*)', kind_of(headers))[1].encode()
        part = next(p for p in body.split(boundary) if b'name="profile"' in p)
        body = part.partition(b'\r\n\r\n')[2][:-2]
    return [(None, plain(body))]


def recorded(name):
    """(path with parameters, headers, body) of a recorded request."""
    with open(f'{ROOT}/testdata/push/{name}.http', 'rb') as f:
        head, _, body = f.read().partition(b'\n\n')
    lines = head.decode().splitlines()
    headers = dict(line.split(': ', 1) for line in lines[1:] if ': ' in line)
    kept = {k: v for k, v in headers.items() if k.lower() in ('content-type', 'content-encoding')}
    return lines[0].split(' ')[1], kept, body
