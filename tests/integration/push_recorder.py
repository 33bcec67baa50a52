# SPDX-License-Identifier: Apache-2.0
"""A proxy between clients that push and everprof, which keeps what they send."""
import http.client
import threading

from harness import SLOW, Server, send

LOSES = 7  # of the answers, one in so many is lost


class Recorder:
    """A proxy that keeps every request to a path, and what everprof has answered, and loses some answers to them."""

    def __init__(self, port, path='/'):
        self.path = path
        self.requests = []
        self.lock = threading.Lock()
        self.server = Server(lambda request: self.pass_on(request, port))
        self.address = self.server.address

    def pass_on(self, request, port):
        headers = dict(request.headers)
        body = body_of(request)
        upstream = http.client.HTTPConnection('127.0.0.1', port, timeout=60 * SLOW)
        kept = {k: v for k, v in headers.items() if k.lower() not in ('transfer-encoding', 'content-length', 'host')}
        upstream.request(request.command, request.path, body, kept)
        answer = upstream.getresponse()
        text = answer.read()
        upstream.close()
        if request.path.startswith(self.path) and self.keep(request.path, headers, body, answer.status, text):
            request.close_connection = True
            return
        kept = {name.replace('-', '_'): v for name, v in answer.headers.items() if name.startswith('Content-')}
        send(request, text, answer.status, **kept)

    def keep(self, *exchange):
        """Returns whether the answer is lost."""
        with self.lock:
            self.requests.append(exchange)
            return len(self.requests) % LOSES == 0

    def check_refusals(self):
        refused = [(path, status, text) for path, _, _, status, text in self.requests if status != 200]
        assert not refused, refused[:3]


def body_of(request):
    if 'chunked' not in request.headers.get('Transfer-Encoding', ''):
        return request.rfile.read(int(request.headers.get('Content-Length', 0)))
    body = b''
    while size := int(request.rfile.readline().split(b';')[0], 16):
        body += request.rfile.read(size)
        request.rfile.readline()
    request.rfile.readline()
    return body
