#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documentation as it is printed: README.md from its first step to its
last, the commands of docs/querying.md, and every configuration.

The commands use fixed ports, so all of it runs in a network of its own
(unshare), in which nothing else listens."""
import base64
import http.client
import http.server
import os
import re
import shutil
import signal
import ssl
import threading
import time
import urllib.request

import own_network

own_network.enter()

from certs import Authority
from harness import LEAKAPP, ROOT, Process, Suite, run, wait_until
from printed import PPROF, Shell, blocks, commands, finish, ready, section, stored, text_of
from query_data import TAR
from users import hashed

suite = Suite()


def old_profiles(shell):
    """What step 5 brings: heaps of the same job, as old as step 4 compares with."""
    with urllib.request.urlopen('http://localhost:6060/debug/pprof/heap') as r:
        heap = r.read()
    for back in (200, 170, 140):
        shell.write(f'old-profiles/app/heap/{int((time.time() - back) * 1000)}.pb.gz', heap)
    shutil.unpack_archive(os.path.join(ROOT, 'testdata/conprof-data.tar.gz'), shell.d)
    assert os.path.isdir(f'{shell.d}/conprof-data')


@suite.test
def readme_steps_1_to_6_work(d):
    text = section(text_of('README.md'), '## Quick start', '**7. A fleet.**')
    shell = Shell(d)
    app = Process([LEAKAPP, '127.0.0.1:6060'], f'{d}/app.log')
    wait_until('the program answers', 30, lambda: 'pprof' in shell.run('curl -s localhost:6060/debug/pprof/ || true'))
    ((_, config),) = blocks(text)
    shell.write('everprof.yaml', config)
    steps = commands(text, 'everprof ', *PPROF)
    assert len(steps) >= 18, steps
    serve = next(c for c in steps if c.startswith('everprof serve'))
    check, imports = steps[0], [c for c in steps if 'tsdb import' in c]
    offline = [c for c in steps if c.startswith('everprof tsdb') and c not in imports]
    online = [c for c in steps if c.startswith(('everprof query', *PPROF))]
    assert check == 'everprof check config everprof.yaml' and len(imports) == 2 and len(offline) == 5
    assert '1 jobs, no errors' in shell.run(check)
    # Step 5 first: a comparison with what was four minutes ago needs it.
    old_profiles(shell)
    for command in imports:
        assert '0 refused' in shell.run(command), command
    server = shell.serve(serve)
    ready('http://127.0.0.1:10902')
    for kind in ('heap', 'profile'):
        wait_until(f'a {kind} of the program', 120, lambda k=kind: stored(k + '%7Bjob="app",env="dev"%7D'))
    for command in online:
        if '-http=:' in command:
            continue
        out = shell.run(command, 'top\n')
        assert 'Showing nodes' in out or not command.startswith(('everprof query top', *PPROF)), out
    for name in ('heap.pb.gz', 'cpu.svg'):
        assert os.path.getsize(f'{d}/{name}') > 1000, name
    web = shell.serve(next(c for c in online if '-http=:' in c).replace('pprof ', 'pprof -no_browser '))
    wait_until("pprof's pages", 60, lambda: 'Serving web UI' in web.text())
    web.stop(signal.SIGKILL)
    assert shell.run(next(c for c in offline if 'dump' in c)), 'beside a running server'
    finish(server)
    for command in offline:
        assert shell.run(command), command
    app.stop(signal.SIGKILL)


def forward_tls(cert, key, user, password):
    """A target of the fleet: leakapp behind TLS and a password."""
    wanted = 'Basic ' + base64.b64encode(f'{user}:{password}'.encode()).decode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.headers['Authorization'] != wanted:
                self.send_error(401)
                return
            c = http.client.HTTPConnection('127.0.0.1', 6060)
            c.request('GET', self.path)
            r = c.getresponse()
            body = r.read()
            self.send_response(r.status)
            self.send_header('Content-Type', r.headers['Content-Type'])
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    class Quiet(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, address):
            pass  # the client stopped: everprof ends, or the program does

    server = Quiet(('127.0.0.1', 6443), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@suite.test
def readme_step_7_works(d):
    text = section(text_of('README.md'), '**7. A fleet.**', '## Documentation')
    shell = Shell(d)
    app = Process([LEAKAPP, '127.0.0.1:6060'], f'{d}/app.log')
    ca = Authority(d)
    cert, key = ca.sign('server', 'DNS:localhost,IP:127.0.0.1')
    os.rename(key, f'{d}/server.key')
    target = forward_tls(cert, f'{d}/server.key', 'everprof', 'secret of the targets')
    shell.write('password', 'secret of the targets')
    shell.write('admin.password', 'secret of the admin')
    shell.write('targets/a.json', '[{"targets": ["localhost:6443"], "labels": {"env": "prod"}}]')
    digest = hashed('secret of the admin')
    assert '$2y$10$…' in text
    for name, block in blocks(text):
        shell.write(name.group(1), block.replace('$2y$10$…', digest))
    check, serve, query = commands(text, 'everprof ')
    out = shell.run(check)
    assert out.count('no errors') == 2 and 'warning' not in out, out
    server = shell.serve(serve)
    context = ssl.create_default_context(cafile=ca.cert)
    ready('https://localhost:10902', context=context)
    wait_until('the fleet is scraped', 120, lambda: 'heap{' in shell.run(query))
    assert 'env="prod"' in shell.run(query)
    finish(server)
    target.shutdown()
    app.stop(signal.SIGKILL)


@suite.test
def querying_examples_work(d):
    """With the times of the profiles that the repository has."""
    text = text_of('docs/querying.md')
    shell = Shell(d)
    shell.run(f'everprof tsdb import {TAR} --storage.tsdb.path=data')
    shell.write('everprof.yaml', 'scrape_configs: []\n')
    server = shell.serve('everprof serve --storage.tsdb.path=data --storage.tsdb.retention.time=0')
    ready('http://127.0.0.1:10902')
    listed = shell.run("everprof query range 'heap{job=\"prometheus\"}' --from=0").splitlines()
    first, last = (int(listed[i].split('\t')[1]) for i in (0, -1))
    # The examples are about 20 minutes, in two halves.
    times = (
        ('now-20m', first),
        ('now-10m', (first + last) // 2),
        ('to=now&', f'to={last + 1}&'),
        ('now-90d', first),
        ('/backup/everprof', 'data'),
    )
    steps = commands(text, 'everprof ', "curl -g 'http")
    assert len(steps) >= 6, steps
    for command in steps:
        for printed, stored_at in times:
            command = command.replace(printed, str(stored_at))
        if ' --from=' in command and ' --to=' not in command:
            command += f' --to={last + 1}'
        out = shell.run(command)
        assert out and '"status":"error"' not in out, (command, out)
    finish(server)


def check(what, d, text):
    path = f'{d}/c.yml'
    with open(path, 'w') as f:
        f.write(text)
    return run('check', what, path)


@suite.test
def documented_configurations_are_valid(d):
    ca = Authority(d)  # its certificate is ca.pem
    os.rename(ca.sign('server', 'DNS:localhost')[1], f'{d}/server.key')
    with open(f'{d}/ci.token', 'w') as f:
        f.write('a token of more than sixteen characters')
    digest = hashed('pw')
    count = 0
    os.environ['NODE_NAME'] = 'a'  # docs/ebpf.md
    for name in ('configuration', 'ebpf', 'operating', 'security', 'querying', 'api'):
        for _, block in blocks(text_of(f'docs/{name}.md')):
            count += 1
            block = block.replace('$2y$10$…', f'"{digest}"').replace('[value, …]', '[value]')
            if 'tls_server_config' in block:
                r = check('web-config', d, block)
            elif 'scrape_configs' in block or block.startswith('ebpf:'):
                r = check('config', d, block)
            elif 'oauth2' in block:  # the options of a client, of which one may say who it is
                rest = re.sub(r'^  (basic_auth|authorization): .*\n', '', block, flags=re.M)
                rest = re.sub(r'^  proxy_from_environment: .*\n', '', rest, flags=re.M)
                r = check('config', d, 'scrape_configs:\n- job_name: a\n' + rest)
                for line in re.findall(r'^  (?:basic_auth|authorization): .*\n', block, re.M):
                    one = check('config', d, 'scrape_configs:\n- job_name: a\n' + line)
                    assert one.returncode == 0, one
            else:
                r = check('config', d, 'scrape_configs:\n- job_name: a\n' + block)
            assert r.returncode == 0, (name, block, r.stderr)
    assert count >= 5, count
    assert run('check', 'config', os.path.join(ROOT, 'examples/everprof.yaml')).returncode == 0


@suite.test
def documented_certificates_are_accepted(d):
    steps = commands(text_of('docs/security.md'), 'openssl ', 'printf ')
    shell = Shell(d)
    assert len(steps) == 4, steps
    for command in steps:
        shell.run(command)
    r = check('web-config', d, 'tls_server_config: {cert_file: server.pem, key_file: server.key}\n')
    assert r.returncode == 0, r
    shell.write('everprof.yaml', 'scrape_configs: []\n')
    server = shell.serve('everprof serve --storage.tsdb.path=data --web.config.file=c.yml')
    ready('https://localhost:10902', context=ssl.create_default_context(cafile=f'{d}/ca.pem'))
    finish(server)


suite.main()
