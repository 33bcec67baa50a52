# SPDX-License-Identifier: Apache-2.0
"""The ends of remote write: instances of everprof that can be killed and started
again, and a receiver that answers as it is told."""
import http.server
import json
import os
import signal
import threading
import time

from harness import BINARY, Everprof, Process, free_port, run, send, wait_until

RECEIVE = ['--web.enable-remote-write-receiver']


class Node(Everprof):
    """An everprof that can be killed and started again on its port."""

    def __init__(self, d, config='', flags=(), address='127.0.0.1'):
        self.arguments = (d, config, [*RECEIVE, *flags], address)
        super().__init__(*self.arguments)
        self.ready()

    def start_again(self):
        Everprof.__init__(self, *self.arguments, self.port)
        self.ready()

    def kill(self):
        self.stop(signal.SIGKILL)


class Agent(Process):
    """everprof agent, which can be killed and started again."""

    def __init__(self, d, config, address='127.0.0.1', flags=()):
        os.makedirs(d, exist_ok=True)
        self.d, self.port, self.flags = d, free_port(), flags
        self.url = f'http://{address}:{self.port}'
        with open(f'{d}/everprof.yaml', 'w') as f:
            f.write(config)
        self.start()

    get, metric = Everprof.get, Everprof.metric

    def start(self):
        super().__init__(
            [
                BINARY,
                'agent',
                f'--config.file={self.d}/everprof.yaml',
                f'--storage.agent.path={self.d}/data',
                f'--web.listen-address=127.0.0.1:{self.port}',
                *self.flags,
            ],
            f'{self.d}/log',
        )
        wait_until('the agent', 30, lambda: self.text().count('everprof is ready') > 0 and self.is_ready())

    def is_ready(self):
        try:
            return self.get('/-/ready').status == 200
        except OSError:
            return False


class Receiver:
    """A fake receiver. It gives the answers of a list, and keeps the requests."""

    def __init__(self):
        self.answers, self.seen, self.lock = [], [], threading.Lock()
        self.delay = 0  # seconds before each answer
        self.judge = lambda body: (204, {})  # the answer to a request that the list has none for
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length']))
                with receiver.lock:
                    receiver.seen.append((time.monotonic(), dict(self.headers), body))
                    answer = receiver.answers.pop(0) if receiver.answers else receiver.judge(body)
                time.sleep(receiver.delay)
                status, headers = answer
                if status is None:
                    time.sleep(headers)
                    self.close_connection = True
                    return
                send(self, b'told so', status, **headers) if status != 204 else self.none(headers)

            def none(self, headers):
                """By default, whatever was sent is stored."""
                written = headers.get('X_Everprof_Samples_Written', '1000000')
                self.send_response(204)
                if written:
                    self.send_header('X-Everprof-Samples-Written', written)
                self.end_headers()

            def log_message(self, *args):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                pass

        self.server = Quiet(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self.server.server_address[1]}'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def count(self):
        with self.lock:
            return len(self.seen)


def received(node):
    """What a node has stored, read by another program than the server."""
    answer = run('tsdb', 'dump', node.data)
    assert answer.returncode == 0, answer.stderr
    out = []
    for line in answer.stdout.splitlines():
        text, ms, _, _, sha = line.split('\t')
        out.append((text, int(ms), sha))
    return out


def normal(entries):
    """Selectors as {name="value"} texts, in one form."""
    out = set()
    for text, ms, sha in entries:
        name, brace, rest = text.partition('{')
        parts = sorted(p for p in rest.rstrip('}').split(',') if p)
        if name:
            parts = sorted([f'__name__={json.dumps(name)}', *parts])
        out.add(('{' + ','.join(parts) + '}', ms, sha))
    return out
