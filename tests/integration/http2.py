# SPDX-License-Identifier: Apache-2.0
"""A client of HTTP/2 that sends the frames that a test wants, sensible or not."""
import os
import socket
import ssl
import struct
import sys
import urllib.parse

# Debian's packages of Python are for its own Python alone.
try:
    import hpack
except ImportError:
    if sys.executable == '/usr/bin/python3':
        raise
    os.execv('/usr/bin/python3', ['/usr/bin/python3', *sys.argv])

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, ACK = 1, 4, 8, 1
PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
EXPORT = '/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export'
CHECK = '/grpc.health.v1.Health/Check'
ENHANCE_YOUR_CALM = 11


def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + payload


def literal(text):
    """A text of HPACK, not compressed."""
    assert len(text) < 127 + 128
    return (bytes([len(text)]) if len(text) < 127 else bytes([127, len(text) - 127])) + text


def block(headers):
    """A header block, each header literally and not to be indexed."""
    return b''.join(b'\x00' + literal(k.encode()) + literal(v.encode()) for k, v in headers)


def request_headers(path=EXPORT, more=(), method='POST', kind='application/grpc', authority='localhost'):
    headers = [(':method', method), (':scheme', 'http'), (':path', path)]
    if authority:
        headers.append((':authority', authority))
    return headers + [('content-type', kind), ('te', 'trailers'), ('user-agent', 'raw/1'), *more]


def message(body, compressed=0):
    return bytes([compressed]) + struct.pack('>I', len(body)) + body


class Http2:
    def __init__(self, port, settings=(), context=None, timeout=30, source='127.0.0.1'):
        self.socket = socket.create_connection(('127.0.0.1', port), timeout=timeout, source_address=(source, 0))
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname='localhost')
        self.decoder = hpack.Decoder()
        self.decoder.max_allowed_table_size = 4096
        self.rest = b''
        self.next = 1
        self.goaway = None
        self.settings = {}
        self.frames = {}  # those of a stream that wait for somebody
        body = b''.join(struct.pack('>HI', k, v) for k, v in settings)
        self.send(PREFACE + frame(SETTINGS, 0, 0, body))

    def send(self, data):
        """Send bytes; False: the server has closed the connection."""
        try:
            self.socket.sendall(data)
            return True
        except (ConnectionResetError, BrokenPipeError, ssl.SSLError):
            return False

    def close(self):
        self.socket.close()

    def read(self):
        """The next frame: kind, flags, stream, payload; None at the end."""
        while len(self.rest) < 9 or len(self.rest) < 9 + int.from_bytes(self.rest[:3], 'big'):
            try:
                data = self.socket.recv(65536)
            except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
                data = b''
            if not data:
                return None
            self.rest += data
        size = int.from_bytes(self.rest[:3], 'big')
        kind, flags = self.rest[3:5]
        stream = int.from_bytes(self.rest[5:9], 'big') & 0x7FFFFFFF
        payload, self.rest = self.rest[9 : 9 + size], self.rest[9 + size :]
        return kind, flags, stream, payload

    def take(self):
        """Read a frame, and answer or note those of the connection; None at the end."""
        got = self.read()
        if not got:
            return None
        kind, flags, stream, payload = got
        if kind == SETTINGS and not flags & ACK:
            self.settings.update(struct.iter_unpack('>HI', payload))
            self.send(frame(SETTINGS, ACK, 0))
        elif kind == DATA and payload:
            self.send(frame(WINDOW_UPDATE, 0, 0, struct.pack('>I', len(payload))))
        elif kind == GOAWAY:
            self.goaway = struct.unpack('>I', payload[4:8])[0]
        return got

    def begin(self, headers=None, end=False):
        """Send the headers of a request; the number of its stream."""
        stream, self.next = self.next, self.next + 2
        flags = END_HEADERS | (END_STREAM if end else 0)
        self.send(frame(HEADERS, flags, stream, block(headers or request_headers())))
        return stream

    def note(self, got):
        """Keep a frame of a stream for answer()."""
        kind, flags, stream, payload = got
        if kind == HEADERS:
            payload = dict(self.decoder.decode(payload))
        self.frames.setdefault(stream, []).append((kind, flags, payload))

    def wait_window(self, stream):
        """Take frames until a stream may send more: by how many bytes; 0: it is answered or closed."""
        while True:
            got = self.take()
            if not got:
                return 0
            if got[0] == WINDOW_UPDATE and got[2] == stream:
                return int.from_bytes(got[3], 'big')
            self.note(got)
            if got[2] == stream:
                return 0

    def answer(self, stream):
        """Take frames until the stream ends: its headers with trailers, and its data."""
        headers, data = {}, b''
        while True:
            while not self.frames.get(stream):
                got = self.take()
                if not got:
                    return headers or None, data
                self.note(got)
            kind, flags, payload = self.frames[stream].pop(0)
            if kind == HEADERS:
                headers.update(payload)
                if 'grpc-message' in payload:
                    headers['grpc-message'] = urllib.parse.unquote(payload['grpc-message'])
            elif kind == DATA:
                data += payload
            elif kind == RST_STREAM:
                headers['reset'] = struct.unpack('>I', payload)[0]
            if kind == RST_STREAM or (kind in (HEADERS, DATA) and flags & END_STREAM):
                return headers, data

    def call(self, body=b'', path=EXPORT, more=(), compressed=0, **options):
        """A whole call, sent as the windows permit: status, text, answer."""
        stream = self.begin(request_headers(path, more, **options))
        rest = memoryview(message(body, compressed))
        window = 16384
        while True:
            part, rest = rest[: min(window, 16384)], rest[min(window, 16384) :]
            self.send(frame(DATA, 0 if rest else END_STREAM, stream, bytes(part)))
            window -= len(part)
            if not rest:
                break
            if not window:
                window = self.wait_window(stream)
                if not window:
                    break
        headers, data = self.answer(stream)
        return headers, data

    def calls_together(self, bodies):
        """The codes of calls that advance in turn, each as its window permits."""
        rest = {self.begin(): memoryview(message(b)) for b in bodies}
        windows = dict.fromkeys(rest, 16384)
        streams = list(rest)
        while rest:
            for stream in [s for s in rest if windows[s]]:
                size = min(windows[stream], 16384)
                part, rest[stream] = rest[stream][:size], rest[stream][size:]
                windows[stream] -= len(part)
                self.send(frame(DATA, 0 if rest[stream] else END_STREAM, stream, bytes(part)))
                if not rest[stream]:
                    del rest[stream]
            while rest and not any(windows[s] for s in rest):
                got = self.take()
                assert got, 'the connection was closed'
                if got[0] == WINDOW_UPDATE and got[2] in windows:
                    windows[got[2]] += int.from_bytes(got[3], 'big')
                    continue
                self.note(got)
                rest.pop(got[2], None)  # it is refused
        return [code(self.answer(s)[0]) for s in streams]


def code(headers):
    return int(headers['grpc-status']) if headers and 'grpc-status' in headers else None


def opening(stream, more=(), flags=END_HEADERS):
    return frame(HEADERS, flags, stream, block(request_headers(more=more)))


# A table of HPACK is small, but an entry can be named again and again.
BOMB = b'\x40' + literal(b'a') + literal(b'b' * 200) + b'\xbe' * 16000
# Frames that cost the server more than their sender: what begins a flood, and its nth part.
FLOODS = {
    'ping': (b'', lambda n: frame(PING, 0, 0, b'12345678')),
    'settings': (b'', lambda n: frame(SETTINGS, 0, 0)),
    'window updates': (b'', lambda n: frame(WINDOW_UPDATE, 0, 0, b'\0\0\0\1')),
    'priority': (b'', lambda n: frame(PRIORITY, 0, 2 * n + 3, b'\0\0\0\0\1')),
    'rapid reset': (b'', lambda n: opening(2 * n + 1) + frame(RST_STREAM, 0, 2 * n + 1, b'\0\0\0\x08')),
    'continuation': (opening(1, flags=0), lambda n: frame(CONTINUATION, 0, 1, block([('a', 'b')]))),
    'data of one byte': (opening(1), lambda n: frame(DATA, 0, 1, b'\0' if n else message(b'x' * 60000)[:5])),
    'data of nothing': (opening(1), lambda n: frame(DATA, 0, 1)),
    'padding': (opening(1), lambda n: frame(DATA, PADDED, 1, b'\xc8' + bytes(200))),
    'data behind an answer': (opening(1, [('content-type', 'x')]), lambda n: frame(DATA, 0, 1, b'x' * 10)),
    'unknown frames': (b'', lambda n: frame(0x50, 0, 0, b'x' * 10)),
    'header bomb': (b'', lambda n: frame(HEADERS, END_HEADERS, 2 * n + 1, BOMB)),
    'zero window': (
        frame(SETTINGS, 0, 0, struct.pack('>HI', 4, 0)),
        lambda n: opening(2 * n + 1) + frame(DATA, END_STREAM, 2 * n + 1, message(b'')),
    ),
}


def flood(port, what, frames):
    """Flood a server with up to so many frames: whether it has ended the connection."""
    begin, part = what
    c = Http2(port)
    c.send(begin)
    ended = False
    for n in range(0, frames, 100):
        ended = not c.send(b''.join(part(n + i) for i in range(100)))
        if ended:
            break
    c.close()
    return ended
