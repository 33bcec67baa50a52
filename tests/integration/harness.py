# SPDX-License-Identifier: Apache-2.0
"""Starting everprof and targets on free ports, asking, stopping by pid."""
import gzip
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

BINARY = os.environ['EVERPROF']
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEAKAPP = os.path.join(ROOT, 'build/leakapp/leakapp')
SLOW = float(os.environ.get('EVERPROF_SLOW', '1'))  # sanitizers


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def wait_until(what, seconds, condition, step=0.05):
    """The condition's first true value; fails after seconds."""
    end = time.monotonic() + seconds * SLOW
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f'not within {seconds} s: {what}')
        time.sleep(step)


def cpu_seconds(pid):
    """CPU time of a process, and of its children that have ended and been waited for."""
    with open(f'/proc/{pid}/stat') as f:
        ticks = [int(v) for v in f.read().rsplit(')', 1)[1].split()[11:15]]
    return sum(ticks[:2]) / os.sysconf('SC_CLK_TCK'), sum(ticks[2:]) / os.sysconf('SC_CLK_TCK')


class Process:
    """A child that is stopped by its pid, whatever happens."""

    running = []

    def __init__(self, argv, log, **options):
        self.log = log
        self.file = open(log, 'ab')
        self.child = subprocess.Popen(argv, stdout=self.file, stderr=self.file, stdin=subprocess.DEVNULL, **options)
        Process.running.append(self)

    def stop(self, number=signal.SIGTERM, seconds=60):
        if self.child.poll() is None:
            self.child.send_signal(number)
        code = self.child.wait(timeout=seconds * SLOW)
        self.file.close()
        if self in Process.running:
            Process.running.remove(self)
        return code

    def text(self):
        return open(self.log, errors='replace').read()

    @staticmethod
    def stop_all():
        for p in list(Process.running):
            p.stop(signal.SIGKILL)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def data(self):
        assert self.status == 200, (self.status, self.body[:500])
        return self.json()['data']


class Everprof(Process):
    def __init__(self, directory, config='', flags=(), address='127.0.0.1', port=None):
        os.makedirs(directory, exist_ok=True)
        self.directory = directory
        self.data = os.path.join(directory, 'data')
        self.port = port or free_port()
        self.url = f'http://{address}:{self.port}'
        config_file = os.path.join(directory, 'everprof.yaml')
        with open(config_file, 'w') as f:
            f.write(config)
        super().__init__(
            [
                BINARY,
                'serve',
                f'--config.file={config_file}',
                f'--storage.tsdb.path={self.data}',
                f'--web.listen-address={address}:{self.port}',
                *flags,
            ],
            os.path.join(directory, 'everprof.log'),
        )

    def ready(self, seconds=30):
        def asked():
            if self.child.poll() is not None:
                raise AssertionError('everprof ended: ' + self.text()[-2000:])
            try:
                return self.get('/-/ready').status == 200
            except (ConnectionError, urllib.error.URLError):
                return False

        wait_until('ready', seconds, asked, 0.01)
        return self

    def finish(self):
        """Stop in order; a sanitizer must have had nothing to say."""
        code, text = self.stop(), self.text()
        assert 'Sanitizer' not in text and 'runtime error' not in text, text[-5000:]
        assert code == 0, (code, text[-2000:])

    def get(self, path, headers=None, data=None, method=None, **params):
        query = urllib.parse.urlencode(params, doseq=True)
        request = urllib.request.Request(
            self.url + path + ('?' + query if query else ''), data=data, headers=headers or {}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60 * SLOW) as r:
                return Answer(r.status, r.headers, r.read())
        except urllib.error.HTTPError as e:
            return Answer(e.code, e.headers, e.read())
        except OSError as e:
            # Why it ended says more than that it does not answer. Tests that
            # kill it catch the same error as before.
            if self.child.poll() is None:
                raise
            raise ConnectionError('everprof ended: ' + self.text()[-5000:]) from e

    def range(self, query, begin=0, end='now'):
        return self.get('/api/v1/query_range', query=query, **{'from': begin, 'to': end}).data()

    def raw(self, labels, ms):
        return self.get('/api/v1/query', query=selector(labels), time=ms, match='exact', report='raw')

    def ebpf_samples(self):
        """{outcome: samples} of the eBPF collector."""
        return {
            m[1]: int(m[2])
            for m in re.finditer(
                r'everprof_ebpf_samples_total{outcome="(\w+)"} (\d+)', self.get('/metrics').body.decode()
            )
        }

    def memory(self, what='RssAnon'):
        """MB of a line of its status."""
        with open(f'/proc/{self.child.pid}/status') as f:
            return int(f.read().split(what + ':')[1].split()[0]) / 1024

    def targets(self):
        return self.get('/api/v1/targets').data()['activeTargets']

    def metric(self, name, labels=''):
        """The first value of that name, or the one with these {labels}."""
        for line in self.get('/metrics').body.decode().splitlines():
            if line.split('{')[0].split(' ')[0] == name and labels in line:
                return float(line.rsplit(' ', 1)[1])
        return None


def selector(labels):
    names = {k: k if re.fullmatch('[a-zA-Z_][a-zA-Z0-9_]*', k) else json.dumps(k) for k in labels}
    return '{' + ','.join(f'{names[k]}={json.dumps(v)}' for k, v in labels.items()) + '}'


class Server:
    """An HTTP target of the tests' own: handler(request) answers."""

    def __init__(self, handler, host='127.0.0.1'):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                handler(self)

            do_HEAD = do_POST = do_PUT = do_GET

            def log_message(self, *args):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, address):
                pass

        self.server = Quiet((host, 0), Handler)
        self.address = f'{host}:{self.server.server_address[1]}'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def send(request, body, status=200, **headers):
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace('_', '-'), value)
    if 'Content_Length' not in headers:
        request.send_header('Content-Length', str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def varint(v):
    out = b''
    while v >= 0x80:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def field(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


def profile(tag, value=1, size=0):
    """A valid profile whose bytes tell which one it is."""
    strings = [b'', b'samples', b'count', tag.encode(), b'x' * size]
    out = field(1, b'\x08\x01\x10\x02')
    out += field(2, field(1, varint(1)) + field(2, varint(value)))
    out += field(4, b'\x08\x01' + field(4, b'\x08\x01'))
    out += field(5, b'\x08\x01\x10\x03')
    for s in strings:
        out += field(6, s)
    return out


def memory(value, at_ns):
    """A profile of memory as godeltaprof makes it: increments, and no duration."""
    out = field(1, b'\x08\x01\x10\x02') + field(1, b'\x08\x03\x10\x02')
    out += field(2, field(1, varint(1)) + field(2, varint(value) + varint(7)))
    out += field(4, b'\x08\x01' + field(4, b'\x08\x01')) + field(5, b'\x08\x01\x10\x04')
    for s in (b'', b'alloc_space', b'bytes', b'inuse_space', b'main.allocate'):
        out += field(6, s)
    return out + b'\x48' + varint(at_ns)


def packed(body):
    return gzip.compress(body, mtime=0)


def run(*argv, **options):
    return subprocess.run([BINARY, *argv], capture_output=True, text=True, timeout=300 * SLOW, **options)


def only(kept):
    """The lines of pprof_config that disable all other standard types."""
    return ''.join(
        f'      {t}: {{enabled: false}}\n'
        for t in ('allocs', 'block', 'goroutine', 'heap', 'mutex', 'profile', 'threadcreate')
        if t != kept
    )


HEAP_ALONE = only('heap')


def heap_job(name, targets, interval='500ms', timeout='1s', more=''):
    """A job that scrapes heaps alone."""
    listed = ', '.join(f'"{t}"' for t in targets)
    return (
        f'- job_name: {name}\n  scrape_interval: {interval}\n  scrape_timeout: {timeout}\n'
        f'{more}  profiling_config:\n    pprof_config:\n{HEAP_ALONE}'
        f'  static_configs: [{{targets: [{listed}]}}]\n'
    )


class Skipped(Exception):
    """Why this machine does not permit a test."""


class Suite:
    """Test functions in order, each in a folder of its own."""

    def __init__(self):
        self.tests = []

    def test(self, f):
        self.tests.append(f)
        return f

    def main(self):
        wanted, passed, failed, skipped = sys.argv[1:], 0, 0, 0
        for f in self.tests:
            if wanted and f.__name__ not in wanted:
                continue
            started = time.monotonic()
            with tempfile.TemporaryDirectory(prefix='everprof-') as d:
                try:
                    f(d)
                    for p in list(Process.running):
                        if isinstance(p, Everprof) and p.child.poll() is None:
                            p.finish()
                    passed += 1
                    word = 'ok  '
                except Skipped as e:
                    skipped += 1
                    word = f'SKIPPED: {e}:'
                except Exception:
                    failed += 1
                    word = 'FAIL'
                    import traceback

                    traceback.print_exc()
                    for p in Process.running:
                        print('--', p.log, '\n', p.text()[-3000:])
                finally:
                    Process.stop_all()
            print(f'{word} {f.__name__} ({time.monotonic() - started:.1f} s)', flush=True)
        print(f'{passed} passed, {failed} failed, {skipped} skipped')
        # CTest reports 77 as skipped.
        sys.exit(0 if passed and not failed else 77 if skipped and not failed else 1)
