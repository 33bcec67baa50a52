# SPDX-License-Identifier: Apache-2.0
"""A generator of profiles for many targets: one thread that answers on all
addresses of 127.0.0.0/8."""
import asyncio
import glob
import os
import tarfile
import threading

from harness import packed, profile

TYPES = ('heap', 'goroutine', 'mutex', 'profile')


def bodies(corpus):
    """Some profiles of each type, gzip'd as they were scraped."""
    out = {}
    for kind in TYPES:
        found = []
        for path in glob.glob(f'{corpus}/prometheus/{kind}.tar') if corpus else []:
            with tarfile.open(path) as t:
                members = sorted((m for m in t.getmembers() if m.isfile()), key=lambda m: m.name)
                found = [t.extractfile(m).read() for m in members[:40]]
        out[kind] = found or [
            packed(profile(f'{kind}{i}', size=100 << 10 if kind == 'heap' else 5000)) for i in range(40)
        ]
    if not os.path.isdir(corpus):
        print(f'there is no corpus at "{corpus}": made profiles are scraped')
    return out


class Generator(asyncio.Protocol):
    """Answers GET /debug/pprof/<type>?…: profile after so many seconds. Without bodies, it answers nothing."""

    bodies, served, bytes, loop = {}, 0, 0, None

    def connection_made(self, transport):
        self.transport, self.rest = transport, b''

    def data_received(self, data):
        self.rest += data
        while b'\r\n\r\n' in self.rest:
            head, self.rest = self.rest.split(b'\r\n\r\n', 1)
            target = head.split(b' ', 2)[1]
            kind = target.rsplit(b'/', 1)[1].split(b'?')[0].decode()
            if kind == 'profile':
                self.loop.call_later(5, self.answer, kind)
            else:
                self.answer(kind)

    def answer(self, kind):
        if not self.bodies:
            self.transport.close()
            return
        every = self.bodies[kind]
        body = every[Generator.served % len(every)]
        Generator.served += 1
        Generator.bytes += len(body)
        if not self.transport.is_closing():
            self.transport.write(
                b'HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n'
                b'Content-Length: %d\r\n\r\n' % len(body) + body
            )


def generate():
    """The generator's port, on all of 127.0.0.0/8."""
    started, port = threading.Event(), []

    def run():
        async def serve():
            Generator.loop = asyncio.get_running_loop()
            server = await Generator.loop.create_server(Generator, '0.0.0.0', 0, backlog=4096)
            port.append(server.sockets[0].getsockname()[1])
            started.set()
            await server.serve_forever()

        asyncio.run(serve())

    threading.Thread(target=run, daemon=True).start()
    started.wait()
    return port[0]


def addresses(n, port):
    return [f'127.{1 + i // 62500}.{i // 250 % 250}.{1 + i % 250}:{port}' for i in range(n)]


def cpu(e):
    with open(f'/proc/{e.child.pid}/stat') as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
