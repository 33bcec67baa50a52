# SPDX-License-Identifier: Apache-2.0
"""Targets that misbehave, each in its own way, and what everprof says of them."""
import gzip
import socket
import struct
import threading
import time

from harness import packed, profile

PROFILE = packed(profile('good', size=3000))


class Raw:
    """A target that speaks by itself: speak(socket) after the request came."""

    def __init__(self, speak):
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=128)
        self.address = '127.0.0.1:%d' % self.listener.getsockname()[1]
        self.speak = speak
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(s,), daemon=True).start()

    def one(self, s):
        try:
            with s:
                s.recv(65536)
                self.speak(s)
        except OSError:
            pass

    def stop(self):
        self.listener.close()


def answer(body, head=b'HTTP/1.1 200 OK', headers=b''):
    return head + b'\r\nContent-Length: %d\r\n' % len(body) + headers + b'\r\n' + body


def says(data):
    return lambda s: s.sendall(data)


def nested(depth):
    body = profile('nested')
    for _ in range(depth):
        body = gzip.compress(body)
    return body


def slowly(data, pause):
    def speak(s):
        for i in range(len(data)):
            s.sendall(data[i : i + 1])
            time.sleep(pause)

    return speak


def forever(head, piece, pause=0.0):
    def speak(s):
        s.sendall(head)
        while True:
            s.sendall(piece)
            time.sleep(pause)

    return speak


def reset(s):
    s.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc')
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


BOMB = gzip.compress(b'\0' * (256 << 20), 9)
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
CASES = {
    'html': (says(answer(b'<html><body>hello</body></html>')), 'the data is HTML or XML'),
    'truncated gzip': (says(answer(PROFILE[:50])), 'damaged or truncated'),
    'nested gzip': (says(answer(nested(3))), 'not a profile'),
    'bomb': (says(answer(BOMB)), 'larger than 67108864 bytes'),
    'bombs in a row': (says(answer(BOMB * 4)), 'larger than 67108864 bytes'),
    'garbage': (says(answer(bytes(range(256)) * 40)), 'not a profile'),
    'no body': (says(answer(b'')), 'no data'),
    'endless headers': (
        forever(b'HTTP/1.1 200 OK\r\n', b'X-A: ' + b'b' * 1000 + b'\r\n'),
        'headers are larger than 65536 bytes',
    ),
    'endless body': (forever(b'HTTP/1.1 200 OK\r\n\r\n', b'x' * 65536), ''),
    'endless chunks': (forever(CHUNKED, b'10000\r\n' + b'y' * 65536 + b'\r\n'), ''),
    'a byte at a time': (slowly(answer(PROFILE), 0.3), 'no complete response within'),
    'a slow flood': (forever(b'HTTP/1.1 200 OK\r\n\r\n', b'z' * 65536, 0.01), ''),
    'silence': (lambda s: time.sleep(30), 'no complete response within'),
    'reset': (reset, ''),
    'too short': (says(answer(PROFILE)[:-10]), ''),
    'length too small': (
        says(answer(PROFILE).replace(b'Content-Length: ', b'Content-Length: 1\r\nX: ')),
        'not a profile',
    ),
    'length of nothing': (says(b'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc'), ''),
    'bad chunks': (says(CHUNKED + b'zz\r\nabc\r\n'), ''),
    'no HTTP': (says(b'SSH-2.0-OpenSSH_9.2\r\n'), ''),
    'nothing at all': (lambda s: None, 'Empty reply'),
    'redirects in a circle': (
        says(b'HTTP/1.1 302 Found\r\nLocation: /debug/pprof/heap\r\n' b'Content-Length: 0\r\n\r\n'),
        'stopped after 10 redirects',
    ),
    'redirect to a file': (
        says(b'HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n' b'Content-Length: 0\r\n\r\n'),
        'redirected to file',
    ),
    'HTTP 0.9': (says(b'hello there, this is what HTTP once was\n'), ''),
}
STATUSES = [s for s in range(201, 600) if s // 100 != 1 and s not in (204, 205, 304, 301, 302, 303, 307, 308)][::8]


def targets():
    """A hundred and more: every case by its name, every status, and those that cost most again."""
    speaks = {name: speak for name, (speak, _) in CASES.items()}
    speaks.update({f'HTTP {status}': says(answer(PROFILE, b'HTTP/1.1 %d X' % status)) for status in STATUSES})
    speaks.update(
        {
            f'again {i}': CASES[name][0]
            for i, name in enumerate(['endless body', 'bomb', 'a slow flood', 'endless chunks'] * 10)
        }
    )
    assert len(speaks) >= 100, len(speaks)
    return {name: Raw(speak) for name, speak in speaks.items()}


def reason(name):
    """What the last error of a target of that name says."""
    if name.startswith('again'):
        return ''
    return CASES[name][1] if name in CASES else 'server returned HTTP status ' + name[5:]
