# SPDX-License-Identifier: Apache-2.0
"""An HTTP API made of testdata/discovery, which can also misbehave."""
import json
import os
import socketserver
import threading
import time
import urllib.parse

from harness import ROOT, Server, send


def sample(name):
    with open(os.path.join(ROOT, 'testdata/discovery', name)) as f:
        return f.read()


class Api:
    """Answers {path: text, or a function of the query}, and remembers who asked what.

    `trouble` replaces answers: None, or a function of the request that returns
    True if it has dealt with the request."""

    def __init__(self, answers):
        self.answers, self.trouble = answers, None
        self.asked, self.headers, self.bodies = [], [], []
        self.server = Server(self.answer)
        self.url = f'http://{self.server.address}'

    def answer(self, r):
        length = int(r.headers.get('Content-Length') or 0)
        body = r.rfile.read(length) if length else b''
        if self.trouble and self.trouble(r):
            return
        u = urllib.parse.urlsplit(r.path)
        self.asked.append(r.path)
        self.headers.append(r.headers)
        self.bodies.append(body)
        if u.path == '/_ping':
            send(r, b'' if r.command == 'HEAD' else b'OK', Api_Version='1.41')
            return
        text = self.answers.get(urllib.parse.unquote(u.path))
        if callable(text):
            text = text(urllib.parse.parse_qs(u.query, keep_blank_values=True))
        if text is None:
            send(r, b'{"error": "not here"}', status=404, Content_Type='application/json')
            return
        kind = 'application/xml' if text.startswith('<') else 'application/json'
        send(r, text.encode(), Content_Type=kind)

    def stop(self):
        self.server.stop()


def pages(first, *more):
    """Answers page by page, by the parameter `page`."""
    texts = (first, *more)
    return lambda query: texts[int(query.get('page', ['1'])[0]) - 1]


def docker(**answers):
    """The API of a Docker daemon, of version 1.41."""
    paths = {f'/v1.41/{path.replace("_", "/")}': text for path, text in answers.items()}
    return {'/version': json.dumps({'ApiVersion': '1.41', 'MinAPIVersion': '1.12'}), **paths}


def be_slow(r):
    """Begins to answer, and never ends."""
    r.send_response(200)
    r.send_header('Content-Length', '1000')
    r.end_headers()
    r.wfile.write(b'[')
    r.wfile.flush()
    time.sleep(3)
    return True


def tear(r):
    """Closes the connection in the middle of the answer."""
    r.send_response(200)
    r.send_header('Content-Length', '1000')
    r.end_headers()
    r.wfile.write(b'[{"a": ')
    r.close_connection = True
    return True


def say(text, status=200, kind='application/json'):
    def trouble(r):
        send(r, text.encode(), status=status, Content_Type=kind)
        return True

    return trouble


def on_unix_socket(path, answer):
    """Serve HTTP on a Unix socket; answer(path) -> text or None."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            while True:
                line = self.rfile.readline().decode()
                if not line:
                    return
                while self.rfile.readline().strip():
                    pass
                text = answer(urllib.parse.urlsplit(line.split()[1]).path)
                status = '200 OK' if text is not None else '404 Not Found'
                body = (text or '').encode()
                self.wfile.write(
                    f'HTTP/1.1 {status}\r\nContent-Type: application/json\r\n'
                    f'Content-Length: {len(body)}\r\n\r\n'.encode() + body
                )

    class Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    server = Unix(path, Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def grpc_on_unix_socket(path, answer):
    """Serve calls of gRPC, which are requests of HTTP/2 without TLS, one on each connection:
    answer(body of the request, without its prefix) -> (gRPC status, message). Headers of
    requests are not read."""

    def frame(kind, flags, stream, payload):
        return len(payload).to_bytes(3, 'big') + bytes([kind, flags]) + stream.to_bytes(4, 'big') + payload

    def literal(name, value):  # RFC 7541, 6.2.2
        return b''.join([b'\0', bytes([len(name)]), name, bytes([len(value)]), value])

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            assert self.rfile.read(24) == b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
            self.wfile.write(frame(4, 0, 0, b''))
            body = b''
            while True:
                head = self.rfile.read(9)
                if len(head) < 9:
                    return
                payload = self.rfile.read(int.from_bytes(head[:3], 'big'))
                kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], 'big')
                if kind == 4 and not flags & 1:
                    self.wfile.write(frame(4, 1, 0, b''))
                if kind == 0:
                    body += payload
                if kind in (0, 1) and flags & 1:
                    break
            status, message = answer(body[5:])
            self.wfile.write(frame(1, 4, stream, b'\x88' + literal(b'content-type', b'application/grpc')))
            if message is not None:
                self.wfile.write(frame(0, 0, stream, b'\0' + len(message).to_bytes(4, 'big') + message))
            self.wfile.write(
                frame(
                    1, 5, stream, literal(b'grpc-status', str(status).encode()) + literal(b'grpc-message', b'because')
                )
            )
            self.rfile.read(1)

    class Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    server = Unix(path, Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
