#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each option of the HTTP client, against nginx, tinyproxy and a token endpoint."""
import base64
import contextlib
import json
import os
import shutil
import socket
import threading
import urllib.parse

from certs import Authority
from harness import Everprof, Process, Server, Suite, free_port, heap_job, packed, profile, run, send, wait_until

suite = Suite()


def job(name, address, options):
    lines = ''.join(f'  {line}\n' for line in options.strip().splitlines())
    return heap_job(name, [address], '300ms', '2s', lines)


def config(*jobs):
    return 'scrape_configs:\n' + ''.join(jobs)


def state(e):
    return {t['scrapePool']: (t['health'], t['lastError']) for t in e.targets()}


def wait_all(e, want):
    """Each job up, or down for a reason."""

    def done():
        now = state(e)
        return all(h != 'unknown' for h, _ in now.values()) and now

    now = wait_until('a scrape of each', 20, done)
    for name, expected in want.items():
        health, error = now[name]
        if expected is None:
            assert health == 'up', (name, error)
        else:
            assert health == 'down' and expected in error, (name, health, error)


def wait_state(e, name, expected):
    def done():
        health, error = state(e)[name]
        return health == 'up' if expected is None else health == 'down' and expected in error

    try:
        wait_until(name, 20, done)
    except AssertionError:
        raise AssertionError((name, expected, state(e)[name]))


@contextlib.contextmanager
def environment(**variables):
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


def accepts(port):
    """Whether something listens on the port of this machine."""
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', port)) == 0


class Nginx:
    """nginx with these server blocks; {port} in each of them is one of its own."""

    def __init__(self, d, *blocks):
        self.d = d
        os.makedirs(f'{d}/www/debug/pprof', exist_ok=True)
        with open(f'{d}/www/debug/pprof/heap', 'wb') as f:
            f.write(packed(profile('nginx')))
        self.ports = [free_port() for _ in blocks]
        text = (
            'daemon off; master_process off; worker_processes 1; pid nginx.pid;\n'
            'error_log stderr info;\nevents { worker_connections 256; }\nhttp {\n'
            "log_format t '$server_port $server_protocol $ssl_protocol $ssl_server_name "
            "$host $status $http_authorization';\n"
            f'access_log {d}/access.log t;\nroot {d}/www;\n'
        )
        for kind in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'):
            text += f'{kind}_temp_path {d}/tmp-{kind};\n'
        for port, block in zip(self.ports, blocks):
            text += 'server { ' + block.replace('{port}', str(port)) + ' }\n'
        with open(f'{d}/nginx.conf', 'w') as f:
            f.write(text + '}\n')
        self.start()

    def start(self):
        self.process = Process(
            ['/usr/sbin/nginx', '-e', 'stderr', '-p', self.d, '-c', f'{self.d}/nginx.conf'], f'{self.d}/nginx.log'
        )
        for port in self.ports:
            wait_until(f'nginx listens on {port}', 10, lambda: accepts(port))

    def restart(self):
        self.process.stop()
        self.start()

    def address(self, i):
        return f'127.0.0.1:{self.ports[i]}'

    def log(self):
        with open(f'{self.d}/access.log') as f:
            return [line.split(' ') for line in f.read().splitlines()]


def tls(d, cert, more=''):
    return f'listen 127.0.0.1:{{port}} ssl http2; ssl_certificate {cert[0]}; ' f'ssl_certificate_key {cert[1]}; {more}'


@suite.test
def tls_certificates_and_versions_are_verified(d):
    ca = Authority(d)
    other = Authority(d, 'other')
    here = ca.sign('here', 'IP:127.0.0.1')
    named = ca.sign('named', 'DNS:fleet.example')
    late = ca.sign('late', 'IP:127.0.0.1', ('20200101000000Z', '20210101000000Z'))
    client = ca.sign('client')
    stranger = other.sign('stranger')
    n = Nginx(
        d,
        tls(d, here),
        tls(d, named),
        tls(d, late),
        tls(d, here, f'ssl_client_certificate {ca.cert}; ssl_verify_client on;'),
        tls(d, here, 'ssl_protocols TLSv1.2;'),
        # curl 8.14 sends a request of http:// through a connection of https:// to the same port.
        tls(d, here),
    )
    trust = f'scheme: https\ntls_config: {{ca_file: {ca.cert}'
    with open(ca.cert) as f:
        inline = json.dumps(f.read())
    e = Everprof(
        d,
        config(
            job('good', n.address(0), trust + '}'),
            job('inline', n.address(0), f'scheme: https\ntls_config: {{ca: {inline}}}'),
            job('relative', n.address(0), 'scheme: https\ntls_config: {ca_file: ca.pem}'),
            job('http1', n.address(0), trust + '}\nenable_http2: false'),
            job('untrusted', n.address(0), 'scheme: https'),
            job('wrong-ca', n.address(0), f'scheme: https\ntls_config: {{ca_file: {other.cert}}}'),
            job('skip', n.address(0), 'scheme: https\ntls_config: {insecure_skip_verify: true}'),
            job('wrong-name', n.address(1), trust + '}'),
            job('server-name', n.address(1), trust + ', server_name: fleet.example}'),
            job('expired', n.address(2), trust + '}'),
            job('no-cert', n.address(3), trust + '}'),
            job('cert', n.address(3), trust + f', cert_file: {client[0]}, key_file: {client[1]}}}'),
            job('strange-cert', n.address(3), trust + f', cert_file: {stranger[0]}, key_file: {stranger[1]}}}'),
            job('tls12', n.address(4), trust + ', max_version: TLS12}'),
            job('tls13', n.address(4), trust + ', min_version: TLS13}'),
            job('no-file', n.address(0), 'scheme: https\ntls_config: {ca_file: nowhere.pem}'),
            job('plain', n.address(5), ''),
        ),
    ).ready()
    wait_all(
        e,
        {
            'good': None,
            'inline': None,
            'relative': None,
            'http1': None,
            'skip': None,
            'server-name': None,
            'cert': None,
            'tls12': None,
            'untrusted': 'SSL certificate problem',
            'wrong-ca': 'SSL certificate problem',
            'wrong-name': "no alternative certificate subject name matches target",
            'expired': 'certificate has expired',
            'no-cert': 'HTTP status 400',
            'strange-cert': 'HTTP status 400',
            'tls13': 'alert protocol version',
            'no-file': 'tls_config.ca_file: ',
            'plain': 'HTTP status 400',
        },
    )
    lines = n.log()
    port = {i: str(p) for i, p in enumerate(n.ports)}
    versions = {line[1] for line in lines if line[0] == port[0] and line[5] == '200'}
    assert versions == {'HTTP/2.0', 'HTTP/1.1'}, versions
    assert {line[3] for line in lines if line[0] == port[1]} == {'fleet.example'}
    # The Host header names who is asked, not what the certificate says.
    assert {line[4] for line in lines if line[0] == port[1]} == {'127.0.0.1'}


@suite.test
def changed_certificates_are_reloaded(d):
    ca, other = Authority(d), Authority(d, 'other')
    old, new = ca.sign('old', 'IP:127.0.0.1'), other.sign('new', 'IP:127.0.0.1')
    shutil.copy(old[0], f'{d}/server.pem')
    shutil.copy(old[1], f'{d}/server.key')
    shutil.copy(ca.cert, f'{d}/trusted.pem')
    n = Nginx(d, tls(d, (f'{d}/server.pem', f'{d}/server.key')))
    e = Everprof(d, config(job('a', n.address(0), 'scheme: https\ntls_config: {ca_file: trusted.pem}'))).ready()
    wait_all(e, {'a': None})
    shutil.copy(new[0], f'{d}/server.pem')
    shutil.copy(new[1], f'{d}/server.key')
    n.restart()
    wait_state(e, 'a', 'SSL certificate problem')
    shutil.copy(other.cert, f'{d}/trusted.pem')
    wait_state(e, 'a', None)
    # Trust that is taken back ends connections that are open, too.
    shutil.copy(ca.cert, f'{d}/trusted.pem')
    wait_state(e, 'a', 'SSL certificate problem')


@suite.test
def credentials_are_sent_and_reloaded(d):
    n = Nginx(
        d,
        'listen 127.0.0.1:{port}; auth_basic x; auth_basic_user_file passwords;',
        'listen 127.0.0.1:{port}; if ($http_authorization != "Bearer token1") ' '{ return 403; }',
        'listen 127.0.0.1:{port}; if ($http_authorization != "Custom token1") ' '{ return 403; }',
        'listen 127.0.0.1:{port}; set $both "$http_x_a$http_x_b"; ' 'if ($both != "valuefromfile") ' '{ return 403; }',
    )
    with open(f'{d}/passwords', 'w') as f:
        f.write('user:{PLAIN}open sesame\n')
    for name, text in (
        ('user', 'user\n'),
        ('password', 'open sesame\n'),
        ('token', 'token1\n'),
        ('header', 'fromfile\n'),
        ('lines', 'a\nb\n'),
    ):
        with open(f'{d}/{name}', 'w') as f:
            f.write(text)
    e = Everprof(
        d,
        config(
            job('basic', n.address(0), 'basic_auth: {username: user, password: open sesame}'),
            job('basic-files', n.address(0), 'basic_auth: {username_file: user, password_file: password}'),
            job('basic-wrong', n.address(0), 'basic_auth: {username: user, password: no}'),
            job('basic-none', n.address(0), ''),
            job('bearer', n.address(1), 'authorization: {credentials: token1}'),
            job('bearer-old', n.address(1), 'bearer_token: token1'),
            job('bearer-file', n.address(1), 'authorization: {credentials_file: token}'),
            job('bearer-lines', n.address(1), 'authorization: {credentials_file: lines}'),
            job('custom', n.address(2), 'authorization: {type: Custom, credentials: token1}'),
            job('headers', n.address(3), 'http_headers: {X-A: {values: [value]}, X-B: {files: [header]}}'),
        ),
    ).ready()
    wait_all(
        e,
        {
            'basic': None,
            'basic-files': None,
            'bearer': None,
            'bearer-old': None,
            'bearer-file': None,
            'custom': None,
            'headers': None,
            'basic-wrong': 'HTTP status 401',
            'basic-none': 'HTTP status 401',
            'bearer-lines': 'expected a single line of text',
        },
    )
    with open(f'{d}/token', 'w') as f:
        f.write('token2')
    wait_state(e, 'bearer-file', 'HTTP status 403')
    with open(f'{d}/token', 'w') as f:
        f.write('token1')
    wait_state(e, 'bearer-file', None)
    shown = e.get('/api/v1/status/config').data()['yaml']
    assert 'sesame' not in shown and 'token1' not in shown, shown
    assert shown.count('<secret>') == 5, shown
    assert 'sesame' not in e.text() and 'token1' not in e.text()


@suite.test
def refused_networks_are_never_connected_to(d):
    """Directly, by name, by a redirect and by a discovery; others are."""
    asked = []

    def inside(r):
        asked.append(r.path)
        send(r, packed(profile('secret')))

    server = Server(inside)
    port = server.address.split(':')[1]
    # The whole of 127.0.0.0/8 is this machine: the server listens on 127.0.0.1.
    outside = Server(
        lambda r: send(r, b'', 302, Location=f'http://127.0.0.1:{port}/x')
        if 'moved' in r.path
        else send(r, packed(profile('open'))),
        '127.0.0.9',
    )
    refused = 'the address to connect to is in a refused network (--scrape.refused-networks)'
    e = Everprof(
        d,
        config(
            job('direct', server.address, ''),
            job('named', f'localhost:{port}', ''),
            job('moved', outside.address, '').replace('pprof_config', 'path_prefix: /moved\n    pprof_config'),
            job('open', outside.address, ''),
            f'- job_name: found\n  http_sd_configs: [{{url: "http://{server.address}/targets"}}]\n',
        ),
        ['--scrape.refused-networks=127.0.0.0/29,::1'],
    ).ready()
    wait_all(e, {'direct': refused, 'named': refused, 'moved': refused, 'open': None})
    wait_until('the discovery is refused', 20, lambda: refused in e.text())
    assert not asked, asked
    e.finish()
    r = run('serve', '--scrape.refused-networks=10.0.0.0/33')
    assert r.returncode == 2 and '--scrape.refused-networks: invalid network "10.0.0.0/33"' in r.stderr, r
    server.stop()
    outside.stop()


@suite.test
def credentials_are_not_sent_to_redirect_hosts(d):
    seen = {}

    def there(r):
        seen.setdefault('there', []).append(dict(r.headers))
        send(r, packed(profile('there')))

    other = Server(there)

    def here(r):
        path = urllib.parse.urlsplit(r.path).path
        seen.setdefault(path, []).append(dict(r.headers))
        to = {
            '/a/debug/pprof/heap': '/end',
            '/b/debug/pprof/heap': f'http://{other.address}/x',
            '/c/debug/pprof/heap': '/c/debug/pprof/heap',
            '/e/debug/pprof/heap': 'file:///etc/passwd',
        }.get(path)
        if to:
            send(r, b'', 307, Location=to)
        else:
            send(r, packed(profile('end')))

    server = Server(here)

    def one(name, more=''):
        return job(
            name,
            server.address,
            'basic_auth: {username: u, password: p}\n' 'http_headers: {X-Key: {secrets: [s]}}\n' + more,
        ).replace('pprof_config', f'path_prefix: /{name[0]}\n    pprof_config')

    e = Everprof(d, config(one('a'), one('b'), one('c'), one('e'), one('a-not', 'follow_redirects: false'))).ready()
    wait_all(
        e,
        {
            'a': None,
            'b': None,
            'c': 'stopped after 10 redirects',
            'e': 'redirected to file:///etc/passwd: ',
            'a-not': '307 Temporary Redirect: the redirect to',
        },
    )
    basic = 'Basic ' + base64.b64encode(b'u:p').decode()
    assert all(h['Authorization'] == basic and h['X-Key'] == 's' for h in seen['/end'])
    assert not any('Authorization' in h or 'X-Key' in h for h in seen['there']), seen['there']
    assert float(seen['/end'][0]['X-Prometheus-Scrape-Timeout-Seconds']) == 2
    server.stop()
    other.stop()


@suite.test
def proxy_settings_are_applied(d):
    ca = Authority(d)
    n = Nginx(d, 'listen 127.0.0.1:{port};', tls(d, ca.sign('here', 'IP:127.0.0.1')))
    port = free_port()
    with open(f'{d}/tinyproxy.conf', 'w') as f:
        f.write(
            f'Port {port}\nListen 127.0.0.1\nLogLevel Info\nMaxClients 50\n'
            f'LogFile "{d}/tinyproxy.log"\nBasicAuth me secret\n'
        )
    Process(['/usr/bin/tinyproxy', '-d', '-c', f'{d}/tinyproxy.conf'], f'{d}/tinyproxy.out')
    wait_until('tinyproxy listens', 10, lambda: accepts(port))
    proxy = f'http://me:secret@127.0.0.1:{port}'
    trust = f'scheme: https\ntls_config: {{ca_file: {ca.cert}}}\n'
    token = base64.b64encode(b'me:secret').decode()
    with environment(HTTP_PROXY=proxy, HTTPS_PROXY=proxy, NO_PROXY='direct.example'):
        e = Everprof(
            d,
            config(
                job('none', n.address(0), ''),
                job('http', n.address(0), f'proxy_url: {proxy}'),
                job('https', n.address(1), trust + f'proxy_url: {proxy}'),
                job(
                    'header',
                    n.address(1),
                    trust + f'proxy_url: http://127.0.0.1:{port}\n'
                    'proxy_connect_header: {Proxy-Authorization: ["Basic ' + token + '"]}',
                ),
                job('refused', n.address(1), trust + f'proxy_url: http://127.0.0.1:{port}'),
                job('gone', n.address(0), f'proxy_url: http://127.0.0.1:{free_port()}'),
                job('except', n.address(0), f'proxy_url: http://127.0.0.1:{free_port()}\nno_proxy: 127.0.0.0/8'),
                job('environment', n.address(0), 'proxy_from_environment: true'),
            ),
        ).ready()
    wait_all(
        e,
        {
            'none': None,
            'http': None,
            'https': None,
            'header': None,
            'except': None,
            'environment': None,
            'refused': '40',
            'gone': 'Failed to connect',
        },
    )
    with open(f'{d}/tinyproxy.log') as f:
        log = f.read()
    assert f'CONNECT 127.0.0.1:{n.ports[1]}' in log and f'GET http://{n.address(0)}' in log, log
    assert 'secret' not in e.get('/api/v1/status/config').data()['yaml'].replace('<secret>', '')
    assert 'secret' not in e.text()


@suite.test
def invalid_proxy_urls_are_reported(d):
    """Without what stands in them; and who names one gets no other."""
    server = Server(lambda r: send(r, packed(profile('x'))))
    own = f'proxy_url: http://127.0.0.1:{free_port()}'
    bad = config(
        job('a', server.address, 'proxy_url: "http://me:hid/den@127.0.0.1:1"'),
        job('b', server.address, 'proxy_url: "http://"'),
    )
    with open(f'{d}/bad.yaml', 'w') as f:
        f.write(bad)
    said = run('check', 'config', f'{d}/bad.yaml')
    assert said.returncode == 1 and said.stderr.count('invalid proxy URL') == 2, said
    assert 'den' not in said.stderr + said.stdout, said
    with environment(HTTP_PROXY='http://me:hid/den@127.0.0.1:1', NO_PROXY='127.0.0.1'):
        e = Everprof(
            d,
            config(
                job('own', server.address, own),
                job('none', server.address, ''),
                job('skipped', server.address, 'proxy_from_environment: true'),
            ),
        )
    e.ready()
    wait_all(e, {'own': 'Failed to connect', 'none': None, 'skipped': None})
    e.finish()
    with environment(HTTP_PROXY='http://me:hid/den@127.0.0.1:1'):
        e = Everprof(f'{d}/2', config(job('bad', 'far.example:80', 'proxy_from_environment: true')))
    e.ready()
    wait_all(e, {'bad': 'invalid proxy URL'})
    assert 'den@' not in e.text() and b'den@' not in e.get('/targets').body
    e.finish()
    server.stop()


@suite.test
def url_passwords_are_sent_only_to_their_host(d):
    """They are for the host that they were given for, redirects within it included."""
    asked = []

    def answer(r):
        asked.append((r.path, r.headers.get('Authorization')))
        if r.path == '/sd':
            send(r, b'', 302, Location='/sd/')
        elif r.path == '/far':
            send(r, b'', 302, Location=f'http://localhost:{server.address.split(":")[1]}/no')
        elif r.path == '/sd/' and r.headers.get('Authorization'):
            send(r, b'[{"targets": ["found:1"]}]', Content_Type='application/json')
        else:
            who = base64.b64decode((r.headers.get('Authorization') or ' ').split(' ')[1])
            send(r, b'you are ' + who, 401, Content_Type='text/plain')

    server = Server(answer)
    sd = ''.join(
        f'- job_name: {name}\n  scrape_interval: 1d\n  http_sd_configs: [{{url: '
        f'"http://u:p%41ss@{server.address}/{name}", refresh_interval: 200ms}}]\n'
        for name in ('sd', 'far', 'echo')
    )
    e = Everprof(d, 'scrape_configs:\n' + sd).ready()
    wait_until('found', 10, lambda: [t for t in e.targets() if t['labels']['instance'] == 'found:1'])
    wait_until('far', 10, lambda: [a for p, a in asked if p == '/no'])
    wait_until('echo', 10, lambda: [a for p, a in asked if p == '/echo'])
    word = 'Basic ' + base64.b64encode(b'u:pAss').decode()
    assert {(p, a) for p, a in asked} == {
        ('/sd', word),
        ('/sd/', word),
        ('/far', word),
        ('/no', None),
        ('/echo', word),
    }, asked
    wait_until('told', 10, lambda: e.text().count('discovery failed') >= 2)
    assert 'pAss' not in e.text() and 'p%41ss' not in e.text(), e.text()
    e.finish()
    server.stop()


@suite.test
def url_credentials_are_decoded_like_go(d):
    """Decoded; whole or not at all; and behind a token, as Go does it."""
    asked = {}

    def answer(r):
        asked[r.path] = r.headers.get('Authorization')
        send(r, b'[]', Content_Type='application/json')

    server = Server(answer)
    tokens = Server(lambda r: None)
    tokens.server.RequestHandlerClass.do_POST = lambda r: send(r, b'{"access_token": "t", "token_type": "bearer"}')
    oauth2 = 'oauth2: {client_id: c, client_secret: s, ' f'token_url: "http://{tokens.address}/"}}, '
    e = Everprof(
        d,
        'scrape_configs:\n'
        + ''.join(
            f'- job_name: {name}\n  http_sd_configs: [{{{options}refresh_interval: 200ms, '
            f'url: "http://{user}@{server.address}/{name}"}}]\n'
            for name, user, options in (
                ('odd', 'u:%0Ap+%C3%A9', ''),
                ('nul', 'u:p%00x', ''),
                ('nul-user', 'u%00:p', ''),
                ('token', 'u:p', oauth2),
            )
        ),
    ).ready()
    wait_until('all', 10, lambda: len(asked) == 2 and e.text().count('discovery failed') == 2)
    word = base64.b64encode('u:\np+é'.encode()).decode()
    assert asked == {'/odd': f'Basic {word}', '/token': 'Bearer t'}, asked
    e.finish()
    server.stop()
    tokens.stop()


@suite.test
def invalid_host_names_are_reported(d):
    e = Everprof(
        d,
        config(job('long', 'a' * 254 + ':80', '')) + '- job_name: umlaut\n'
        '  http_sd_configs: [{url: "http://bücher.example/"}]\n',
    ).ready()
    wait_all(e, {'long': 'is longer than 253 bytes'})
    wait_until('told', 10, lambda: 'use its Punycode form, xn--' in e.text())
    e.finish()


@suite.test
def oauth2_tokens_are_fetched_and_renewed(d):
    asked, valid = [], {'token': 0, 'style': 'header', 'life': 3600, 'broken': False}

    class Endpoint:
        pass

    def target(r):
        want = f'Bearer token{valid["token"]}'
        ok = r.headers.get('Authorization') == want
        send(r, packed(profile('x')) if ok else b'no', 200 if ok else 401)

    server = Server(target)

    def endpoint(r):
        length = int(r.headers.get('Content-Length', 0))
        form = dict(urllib.parse.parse_qsl(r.rfile.read(length).decode()))
        asked.append((r.headers.get('Authorization'), form))
        basic = 'Basic ' + base64.b64encode(b'cl%20ient:s%26cret').decode()
        named = (
            r.headers.get('Authorization') == basic
            if valid['style'] == 'header'
            else (form.get('client_id'), form.get('client_secret')) == ('cl ient', 's&cret')
        )
        if valid['broken']:  # and quotes the secret, which must not be shown
            send(r, json.dumps({'error': str(form)}).encode(), 500, Content_Type='application/json')
        elif not named:
            send(r, b'{"error":"invalid_client"}', 401)
        else:
            valid['token'] += 1
            send(
                r,
                json.dumps(
                    {'access_token': f'token{valid["token"]}', 'token_type': 'bearer', 'expires_in': valid['life']}
                ).encode(),
            )

    tokens = Server(endpoint)
    tokens.server.RequestHandlerClass.do_POST = lambda self: endpoint(self)
    with open(f'{d}/secret', 'w') as f:
        f.write('s&cret\n')
    options = (
        'oauth2: {client_id: cl ient, client_secret_file: secret, scopes: [a, b], '
        f'token_url: "http://{tokens.address}/token", endpoint_params: {{x: "1 2"}}}}'
    )
    e = Everprof(d, config(job('a', server.address, options))).ready()
    wait_all(e, {'a': None})
    authorization, form = asked[0]
    assert form == {'grant_type': 'client_credentials', 'scope': 'a b', 'x': '1 2'}, form
    scraped = e.metric('everprof_target_scrapes_total', 'success')
    wait_until('more scrapes', 10, lambda: e.metric('everprof_target_scrapes_total', 'success') >= scraped + 2)
    assert len(asked) == 1, 'a token is kept'

    # One that is refused is fetched anew; servers may want the client in the body.
    valid['token'] += 10
    wait_until('another token', 10, lambda: len(asked) > 1)
    wait_state(e, 'a', None)
    e.finish()
    asked.clear()
    valid['style'] = 'body'
    e = Everprof(d, config(job('a', server.address, options))).ready()
    wait_all(e, {'a': None})
    assert [bool(a) for a, _ in asked] == [True, False], asked

    # Short lives are renewed before their end, failures are told.
    e.finish()
    valid['life'] = 0
    asked.clear()
    e = Everprof(d, config(job('a', server.address, options))).ready()
    wait_until('renewals', 10, lambda: len(asked) > 3)
    valid['broken'] = True
    wait_state(e, 'a', 'oauth2: the request to token_url failed: server returned HTTP status 500')
    valid['broken'] = False
    wait_state(e, 'a', None)
    assert 's&cret' not in e.text() and 'cl ient' not in e.text()
    server.stop()
    tokens.stop()


@suite.test
def waiting_for_a_token_has_a_deadline(d):
    over = threading.Event()
    tokens = Server(lambda r: None)
    tokens.server.RequestHandlerClass.do_POST = lambda self: over.wait(60)
    server = Server(lambda r: send(r, packed(profile('x'))))
    e = Everprof(
        d,
        config(
            job(
                'token',
                server.address,
                'oauth2: {client_id: c, client_secret: s, ' f'token_url: "http://{tokens.address}/"}}',
            ),
            job('plain', server.address, ''),
        ),
    ).ready()
    wait_all(e, {'token': 'no complete response within 2000 ms (waiting for an OAuth 2.0 token)', 'plain': None})
    over.set()
    e.finish()
    server.stop()
    tokens.stop()


@suite.test
def http_sd_has_all_http_client_options(d):
    ca = Authority(d)
    n = Nginx(
        d,
        tls(
            d,
            ca.sign('here', 'IP:127.0.0.1'),
            'auth_basic x; auth_basic_user_file passwords; ' 'types { application/json json; }',
        ),
    )
    with open(f'{d}/passwords', 'w') as f:
        f.write('user:{PLAIN}pw\n')
    with open(f'{d}/www/t.json', 'w') as f:
        f.write('[{"targets": ["found:1"]}]')
    e = Everprof(
        d,
        'scrape_configs:\n- job_name: a\n  http_sd_configs:\n'
        f'  - url: https://{n.address(0)}/t.json\n'
        '    refresh_interval: 200ms\n'
        f'    tls_config: {{ca_file: {ca.cert}}}\n'
        '    basic_auth: {username: user, password: pw}\n',
    ).ready()
    wait_until('targets', 10, lambda: {t['labels']['instance'] for t in e.targets()} == {'found:1'})


@suite.test
def passwords_are_never_shown(d):
    """Where addresses, redirects and sections that nobody reads hold them."""

    def answer(r):
        if r.path == '/sd':
            send(r, b'[{"targets": ["found:1"]}]', Content_Type='application/json')
        else:
            send(r, b'', 302, Location='/again')

    server = Server(answer)
    word = 'TOP-SECRET'
    auth = f'basic_auth: {{username: u, password: {word}}}\n'
    sd = '- job_name: {}\n  scrape_interval: 300ms\n  http_sd_configs: [{{url: "http://u:{}@{}/{}", refresh_interval: 200ms}}]\n'
    e = Everprof(
        d,
        f'alerting: {{alertmanagers: [{{basic_auth: {{password: {word}}}}}]}}\n'
        + config(job('loop', server.address, auth), job('stays', server.address, auth + 'follow_redirects: false'))
        + sd.format('sd', word, server.address, 'sd')
        + sd.format('no', word, server.address, 'no'),
    ).ready()
    wait_all(e, {'loop': 'stopped after 10 redirects', 'stays': 'is not followed'})
    wait_until(
        'discovery',
        10,
        lambda: e.metric('everprof_discovery_failures_total')
        and [t for t in e.targets() if t['labels']['instance'] == 'found:1'],
    )
    shown = (
        e.get('/api/v1/targets').body + e.get('/targets').body + e.get('/api/v1/status/config').body + e.text().encode()
    )
    assert b'__meta_url' in shown and b'<ignored>' in e.get('/api/v1/status/config').body
    at = shown.find(word.encode())
    assert at < 0, shown[max(0, at - 200) : at + 50]
    server.stop()


@suite.test
def parameters_of_urls_are_never_shown(d):
    """The query of a URL may be a token: of targets, receivers, discoveries and redirects. Servers repeat it in errors."""
    asked = set()
    word = 'TOP-SECRET'

    def answer(r):
        path, _, query = r.path.partition('?')
        if word in query:
            asked.add(path)
        r.rfile.read(int(r.headers.get('Content-Length') or 0))
        if path == '/sd':
            send(
                r,
                b'[{"targets": ["found:1"], "labels": {"__param_mine": "%s"}}]' % word.encode(),
                Content_Type='application/json',
            )
        elif path == '/good/debug/pprof/heap':
            send(r, packed(profile('x')))
        elif path == '/moved/debug/pprof/heap':
            send(r, b'', 302, Location=f'/there?token={word}')
        elif path == '/write':
            send(r, f'no access with {r.path}'.encode(), 500, Content_Type='text/plain')
        else:
            send(r, f'no profile for {r.path}'.encode(), 404, Content_Type='text/plain')

    server = Server(answer)
    params = f'params: {{token: ["{word}"], debug: ["0"]}}\n'
    url = f'http://{server.address}'
    e = Everprof(
        d,
        config(
            job('params', server.address, params),
            job(
                'good',
                server.address,
                'relabel_configs: [{target_label: __profile_path__, replacement: /good/debug/pprof/heap}]',
            ),
            job(
                'moved',
                server.address,
                'relabel_configs: [{target_label: __profile_path__, replacement: /moved/debug/pprof/heap}]',
            ),
            f"""- job_name: labels
  scrape_interval: 300ms
  static_configs: [{{targets: ['{server.address}'], labels: {{__param_token: {word}}}}}]
- job_name: sd
  http_sd_configs: [{{url: '{url}/sd?token={word}', refresh_interval: 200ms}}]
- job_name: fails
  http_sd_configs: [{{url: '{url}/none?token={word}', refresh_interval: 200ms}}]
""",
        )
        + f"remote_write: [{{name: r, url: '{url}/write?token={word}'}}]\n",
    ).ready()
    wait_until('all requests', 20, lambda: {'/debug/pprof/heap', '/there', '/sd', '/none', '/write'} <= asked)
    wait_until(
        'scrapes, discoveries',
        20,
        lambda: all(h == 'down' for name, (h, _) in state(e).items() if name in ('params', 'moved', 'labels'))
        and {t['labels']['instance'] for t in e.targets()} >= {'found:1'},
    )
    places = [
        '/api/v1/targets',
        '/targets',
        '/api/v1/status/config',
        '/metrics',
        '/remote_write',
        '/api/v1/status/remote_write',
    ]
    shown = {place: e.get(place).body.decode() for place in places} | {'log': e.text()}
    for place, text in shown.items():
        at = text.find(word)
        assert at < 0, (place, text[max(0, at - 200) : at + 50])
    assert '/write?…' in shown['/metrics'] and '/write?…' in shown['/remote_write']
    assert '/debug/pprof/heap?…' in shown['/api/v1/targets'] and '/none?…' in shown['/api/v1/targets']
    labels = [t['discoveredLabels'] for t in e.targets()]
    assert {l.get('__param_token') for l in labels} == {'<secret>', None}
    assert {l['__param_seconds'] for l in labels if l['__name__'] == 'profile'} == {'10'}
    urls = [t['scrapeUrl'] for t in e.targets() if t['scrapePool'] == 'moved']
    assert urls == [f'{url}/moved/debug/pprof/heap'], urls
    server.stop()


@suite.test
def files_that_are_not_regular_are_refused(d):
    server = Server(lambda r: send(r, packed(profile('x'))))
    os.mkfifo(f'{d}/pipe.json')
    e = Everprof(
        d,
        config(job('good', server.address, ''), job('pipe', server.address, 'bearer_token_file: pipe.json'))
        + '- job_name: sd\n  file_sd_configs: [{files: [pipe.json]}]\n',
        ['--web.enable-lifecycle'],
    ).ready()
    wait_all(e, {'good': None, 'pipe': 'is not a regular file'})
    wait_until('told', 10, lambda: 'discovery failed' in e.text())
    assert e.get('/-/reload', method='POST').status == 200
    e.finish()
    server.stop()


suite.main()
