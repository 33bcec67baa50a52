#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may ask: users, tokens, scopes, over every route that there is."""
import base64
import concurrent.futures
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from certs import Authority
from harness import BINARY, Everprof, Process, Suite, free_port, run, wait_until
from users import basic, bearer, hashed, rewrite

suite = Suite()
READ, WRITE = 'read-token-0123456789', 'write-token-0123456789'
EMPTY = 'scrape_configs: []\n'


def web(users='', more=''):
    return (
        'basic_auth_users:\n' + users + f'bearer_tokens:\n- {{name: ci, token: {READ}}}\n'
        f'- {{name: pusher, token: {WRITE}, scopes: [write]}}\n' + more
    )


def start(d, text, *flags):
    os.makedirs(d, exist_ok=True)
    rewrite(f'{d}/web.yml', text)
    e = Everprof(d, EMPTY, [f'--web.config.file={d}/web.yml', *flags])
    wait_until('ready', 30, lambda: 'everprof is ready' in e.text(), 0.02)
    return e


@suite.test
def every_route_requires_authentication_and_scopes(d):
    users = f'  admin: {hashed("correct horse")}\n  reader: {hashed("pw")}\n'
    e = start(
        d, web(users, 'basic_auth_scopes: {reader: [read]}\n'), '--web.enable-lifecycle', '--web.enable-admin-api'
    )
    admin = basic('admin', 'correct horse')
    routes = e.get('/api/v1/status/routes', headers=admin).data()
    # Files of the web UI have no data; a build without the UI has none of them. Probes have no credentials.
    free = [r['path'] for r in routes if r['scope'] == 'none']
    probed = ['/-/healthy', '/-/ready', '/ready']
    assert free in (probed, ['/', '/compare', '/adhoc', '/targets', '/status', '/assets/*'] + probed), free
    routes = [r for r in routes if r['scope'] != 'none']
    assert len(routes) > 20 and {r['scope'] for r in routes} == {'read', 'read+write', 'write', 'admin'}, routes
    strangers = [
        {},
        basic('admin', 'wrong'),
        basic('nobody', 'correct horse'),
        basic('', ''),
        basic('admin', ''),
        bearer('wrong'),
        bearer(''),
        bearer(READ + 'x'),
        {'Authorization': 'Basic !!!'},
        {'Authorization': 'Digest x'},
        {'Authorization': 'Bearer'},
        basic('admin', hashed('correct horse')),
    ]
    for route in routes + [{'path': '/nowhere', 'method': 'GET', 'scope': 'read'}]:
        path, method = route['path'].replace('*', 'job'), route['method']
        short = '?seconds=1' if path == '/debug/pprof/profile' else ''
        for headers in strangers:
            answer = e.get(path, headers=headers, method=method)
            assert answer.status == 401, (path, headers, answer.status)
            assert 'Basic realm="everprof"' in answer.headers['WWW-Authenticate']
            if path.endswith(('/ingest', '/input')):  # their clients read plain text
                assert answer.body.startswith(b'authentication is required'), answer.body
            elif '.v1.' in path or '/render' in path:  # and these, the Connect protocol
                assert answer.json()['code'] == 'unauthenticated', answer.body
            elif 'v1development' in path:  # and these, a google.rpc.Status
                assert answer.json()['code'] == 16, answer.body
            elif path == '/mcp':  # and these, JSON-RPC
                assert answer.json()['error']['code'] == -32000, answer.body
            else:
                assert answer.json()['errorType'] == 'unauthorized', answer.body
        known = {
            'read': {'reader': 200, 'ci': 200, 'pusher': 403},
            'read+write': {'reader': 403, 'ci': 403, 'pusher': 403},
            'write': {'reader': 403, 'ci': 403, 'pusher': 404},
            'admin': {'reader': 403, 'ci': 403, 'pusher': 403},
        }[route['scope']]
        for name, headers in (('reader', basic('reader', 'pw')), ('ci', bearer(READ)), ('pusher', bearer(WRITE))):
            status = e.get(path + short, headers=headers, method=method).status
            if known[name] == 403 and path != '/nowhere':
                assert status == 403, (path, name, status)
            else:
                assert status not in (401, 403), (path, name, status)
        if path not in ('/-/quit', '/-/reload'):
            assert e.get(path + short, headers=admin, method=method).status not in (401, 403), path
    assert e.get('/-/reload', headers=admin, method='POST').status == 200
    assert e.get('/-/quit', headers=admin, method='POST').status == 200
    assert e.child.wait(timeout=60) == 0
    with open(f'{d}/everprof.log') as f:
        log = f.read()
    for secret in ('correct horse', READ, WRITE, '$2b$'):
        assert secret not in log, secret


@suite.test
def strangers_may_ask_for_the_health_and_learn_nothing_else(d):
    e = start(d, web(f'  u: {hashed("pw")}\n'))
    for headers in ({}, basic('u', 'wrong'), bearer(READ)):
        for path, text in (('/-/healthy', b'everprof is healthy.\n'), ('/-/ready', b'everprof is ready.\n')):
            for asked in (path, path + '?verbose=1'):
                answer = e.get(asked, headers=headers)
                assert (answer.status, answer.body) == (200, text), (asked, answer.status, answer.body)
                assert 'WWW-Authenticate' not in answer.headers
            assert e.get(path, headers=headers, method='HEAD').status == 200
            assert e.get(path, headers=headers, method='POST').status == 405
            assert e.get(path, headers=headers, method='POST', data=b'a=b').status == 400
    for flags in [], ['--ready']:
        asked = run('check', 'health', f'--server={e.url}', *flags)
        assert (asked.returncode, asked.stdout) == (0, f'everprof is {"ready" if flags else "healthy"}.\n'), asked
    for path in ('/-/healthyz', '/-/live', '/-/', '/-/ready/x', '//-/ready'):
        assert e.get(path).status == 401, path
    # A server that hangs does not answer, though its port accepts connections.
    e.child.send_signal(signal.SIGSTOP)
    asked = run('check', 'health', f'--server={e.url}', '--timeout=200ms')
    e.child.send_signal(signal.SIGCONT)
    assert asked.returncode == 1 and e.url in asked.stderr, asked
    e.finish()


@suite.test
def changed_web_config_is_reloaded(d):
    e = start(d, web(f'  u: {hashed("one")}\n'))

    def status(password):
        return e.get('/api/v1/labels', headers=basic('u', password)).status

    assert (status('one'), status('two')) == (200, 401)
    rewrite(f'{d}/web.yml', web(f'  u: {hashed("two")}\n'))
    wait_until('the new password', 10, lambda: (status('one'), status('two')) == (401, 200))
    rewrite(f'{d}/web.yml', 'basic_auth_users: {u: plain}\n')
    wait_until('the refusal', 10, lambda: (status('two'), 'must be a bcrypt hash' in e.text()) == (200, True))
    # What is half written, or empty, opens nothing.
    good = web(f'  u: {hashed("two")}\n')

    def loads(value):
        text = e.get('/metrics', headers=basic('u', 'two')).body.decode()
        return f'everprof_web_config_last_reload_successful {value}\n' in text

    for text in ('', '# users are to come\n', 'http_server_config: {}\n'):
        rewrite(f'{d}/web.yml', good)
        wait_until('the good file is loaded', 10, lambda: loads(1))
        rewrite(f'{d}/web.yml', text)
        wait_until('the other is refused', 10, lambda: loads(0))
        assert (status('two'), status('')) == (200, 401), text
    assert 'removes all users and tokens' in e.text()
    rewrite(f'{d}/web.yml', good)
    wait_until('the good file is loaded', 10, lambda: loads(1))
    os.unlink(f'{d}/web.yml')
    wait_until('the missing file is noticed', 10, lambda: loads(0))
    assert (status('two'), status('')) == (200, 401), 'a missing file opens nothing'


@suite.test
def unauthenticated_requests_are_rejected_before_the_body(d):
    e = start(d, web(f'  u: {hashed("one")}\n'))
    with socket.create_connection(('127.0.0.1', e.port)) as s:
        s.settimeout(30)
        s.sendall(b'POST /api/v1/labels HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n')
        answer = s.recv(65536)
        while piece := s.recv(65536):
            answer += piece
    assert answer.startswith(b'HTTP/1.1 401 ') and b'WWW-Authenticate' in answer, answer
    assert e.get('/api/v1/labels', method='POST', data=b'match[]=x').status == 401
    assert e.get('/api/v1/labels', method='POST', data=b'match[]=x', headers=bearer('x' * 20)).status == 401
    assert e.get('/api/v1/labels', method='POST', data=b'start=0', headers=basic('u', 'one')).status == 200


@suite.test
def unverified_bodies_have_a_separate_memory_limit(d):
    """Who sends any password may send a body; those who are known have room of their own."""
    strange = iter(range(100))
    users = ''.join(f'  v{i}: {hashed("two")}\n' for i in range(100))
    e = start(d, web(f'  u: {hashed("one")}\n{users}'))
    form = b'a=' + b'b' * 900000
    known = basic('u', 'one')
    assert e.get('/api/v1/labels', headers=known).status == 200
    held = []
    for i in range(48):
        s = socket.create_connection(('127.0.0.1', e.port))
        s.sendall(
            b'POST /api/v1/labels HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n'
            b'Authorization: ' + basic('u', f'no{i}')['Authorization'].encode() + b'\r\n\r\n' + b'a' * 990000
        )
        held.append(s)
    assert e.get('/api/v1/labels', method='POST', data=form, headers=known).status == 200

    # He may be right, but nobody knows yet; whoever was refused is known.
    def stranger():
        return e.get('/api/v1/labels', method='POST', data=form, headers=basic(f'v{next(strange)}', 'two')).status

    assert [stranger() for _ in range(3)] == [429] * 3
    for s in held:
        s.close()
    wait_until('room', 30, lambda: stranger() == 200)
    e.finish()


@suite.test
def truncated_forms_are_refused(d):
    """What is cut off might be the bounds of what is deleted, whoever asks."""
    users = ''.join(f'  u{i}: {hashed("one")}\n' for i in range(3))
    e = start(d, web(users), '--web.enable-admin-api')
    match = urllib.parse.quote('{job="x"}')
    for again in range(2):
        for i, (form, status) in enumerate(
            (
                (f'match[]={match}&' * 60000 + 'start=1&end=2', 413),
                (f'match[]={match}&' * 1000 + 'start=1&end=2', 413),
                (f'match[]={match}&' * 998 + 'start=1&end=2', 204),
            )
        ):
            answer = e.get(
                '/api/v1/admin/tsdb/delete_series', method='POST', data=form.encode(), headers=basic(f'u{i}', 'one')
            )
            assert answer.status == status, (again, i, answer.status, answer.body[:200])
    e.finish()


@suite.test
def scope_limit_survives_a_partially_written_file(d):
    user = f'basic_auth_users: {{u: "{hashed("one")}", v: "{hashed("two")}"}}\n'
    limit = 'basic_auth_scopes: {u: [read]}\n'
    e = start(d, user + limit)
    rewrite(f'{d}/web.yml', f'basic_auth_users: {{v: "{hashed("two")}"}}\n')
    wait_until('loaded', 10, lambda: 'web configuration loaded' in e.text())
    rewrite(f'{d}/web.yml', user)
    wait_until('refused', 10, lambda: 'basic_auth_scopes of the new file lacks the user' in e.text())
    rewrite(f'{d}/web.yml', user + limit)
    wait_until('loaded', 10, lambda: e.text().count('web configuration loaded') == 2)
    e.finish()


@suite.test
def reload_cannot_weaken_access_control(d):
    ca = Authority(d)
    cert = ca.sign('server', 'IP:127.0.0.1')
    tls = f'  cert_file: {cert[0]}\n  key_file: {cert[1]}\n'
    trust = f'  client_ca_file: {ca.cert}\n'
    users = f'basic_auth_users: {{u: "{hashed("one")}"}}\n'
    for i, (before, after, why) in enumerate(
        (
            (users, '', 'removes all users and tokens'),
            (users + 'basic_auth_scopes: {u: [read]}\n', users, 'basic_auth_scopes of the new file lacks the user'),
            (users + 'tls_server_config:\n' + tls, users, 'the new file removes TLS'),
            (
                'tls_server_config:\n' + tls + '  client_auth_type: RequireAnyClientCert\n',
                'tls_server_config:\n' + tls + trust + '  client_auth_type: VerifyClientCertIfGiven\n',
                'does not require client certificates any more',
            ),
            (
                'tls_server_config:\n' + tls + trust + '  client_auth_type: VerifyClientCertIfGiven\n',
                'tls_server_config:\n' + tls + '  client_auth_type: RequireAnyClientCert\n',
                'does not verify client certificates any more',
            ),
            (
                'tls_server_config:\n' + tls + trust + '  client_auth_type: RequireAndVerifyClientCert\n'
                '  client_allowed_sans: [a]\n',
                'tls_server_config:\n' + tls + trust + '  client_auth_type: RequireAndVerifyClientCert\n',
                'removes client_allowed_sans',
            ),
            (
                'tls_server_config:\n' + tls,
                'tls_server_config:\n' + tls + '  client_auth_type: RequireAnyClientCert\n',
                'begins to ask clients for certificates',
            ),
        )
    ):
        e = start(f'{d}/{i}', before)
        rewrite(f'{d}/{i}/web.yml', after)
        wait_until(why, 10, lambda: why in e.text())
        assert 'if this is intended, restart everprof' in e.text()
        e.stop()


@suite.test
def invalid_web_config_is_logged_without_a_request(d):
    e = start(d, web(f'  u: {hashed("one")}\n'))
    rewrite(f'{d}/web.yml', 'basic_auth_users: {u: plain}\nbasic_auth_user: {}\n')
    wait_until('the refusal', 10, lambda: 'must be a bcrypt hash' in e.text())
    assert 'everprof check web-config FILE lists them' in e.text()
    out = run('check', 'web-config', f'{d}/web.yml')
    assert (
        out.returncode == 1
        and 'web.yml:1:23: ' in out.stderr
        and ('web.yml:2:1: field basic_auth_user not found' in out.stderr)
    ), out.stderr
    rewrite(f'{d}/web.yml', web(f'  u: {hashed("two")}\n'))
    wait_until('loaded', 10, lambda: 'web configuration loaded' in e.text())
    out = run('check', 'web-config', f'{d}/web.yml')
    assert out.returncode == 0 and '1 users' in out.stdout, out.stdout + out.stderr


@suite.test
def password_guessing_does_not_delay_other_users(d):
    e = start(d, web(f'  u: {hashed("right", 10)}\n'))
    right = basic('u', 'right')
    assert e.get('/api/v1/labels', headers=right).status == 200
    with concurrent.futures.ThreadPoolExecutor(60) as pool:
        guesses = [
            pool.submit(lambda i=i: e.get('/api/v1/labels', headers=basic('u', f'guess{i}')).status) for i in range(150)
        ]
        known = [e.get('/api/v1/labels', headers=right).status for _ in range(50)]
        statuses = {g.result() for g in guesses}
    assert set(known) == {200}, known
    assert statuses <= {401, 429} and 401 in statuses, statuses


@suite.test
def access_log_has_user_path_and_parameters(d):
    e = start(d, web(f'  u: {hashed("pw")}\n'), '--web.access-log', '--web.slow-request=1h')
    e.get('/api/v1/series', headers=basic('u', 'pw'), **{'match[]': 'heap{a="b"}'})
    e.get('/api/v1/labels', headers=bearer(READ))
    e.get('/api/v1/labels', headers=basic('u', 'guess'))
    lines = [line for line in e.text().splitlines() if 'msg=request' in line]
    assert len(lines) == 3 and all('client=127.0.0.1' in line for line in lines), lines
    assert 'user=u method=GET path=/api/v1/series params="match[]=heap{a=' in lines[0], lines[0]
    assert 'status=200' in lines[0] and 'took_ms=' in lines[0]
    assert 'user=ci' in lines[1] and 'status=200' in lines[1]
    assert 'user= ' in lines[2] or 'user="" ' in lines[2], lines[2]
    assert 'status=401' in lines[2] and 'guess' not in e.text()
    e.finish()
    e = start(f'{d}/slow', 'bearer_tokens: []\n', '--web.slow-request=0s')
    e.get('/api/v1/labels')
    assert 'msg="slow request"' in e.text() and 'level=warn' in e.text()


@suite.test
def cross_origin_posts_are_refused(d):
    e = start(d, web(f'  u: {hashed("pw")}\n'), '--web.enable-lifecycle')
    me = basic('u', 'pw')
    for origin, status in (
        (f'http://127.0.0.1:{e.port}', 200),
        ('http://evil.example', 403),
        ('null', 403),
        (f'http://127.0.0.1:{e.port}.evil.example', 403),
    ):
        answer = e.get('/-/reload', headers={**me, 'Origin': origin}, method='POST')
        assert answer.status == status, (origin, answer.status, answer.body)
    assert e.get('/-/reload', headers=me, method='POST').status == 200, 'curl sends no origin'


@suite.test
def session_cookies_take_the_place_of_credentials(d):
    e = start(d, web(f'  u: {hashed("pw")}\n  r: {hashed("pw")}\n', 'basic_auth_scopes: {r: [read]}\n'))
    me, begin, end = basic('u', 'pw'), '/api/v1/session/begin', '/api/v1/session/end'

    def cookie_of(headers):
        answer = e.get(begin, headers=headers, method='POST')
        assert answer.status == 204, answer.body
        return answer.headers['Set-Cookie']

    # Encrypted, or not known: Secure. A page without encryption would lose such a cookie.
    ours = f'://127.0.0.1:{e.port}'
    assert cookie_of(me).endswith('; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure')
    assert cookie_of({**me, 'Origin': f'https{ours}', 'X-Forwarded-Proto': 'https'}).endswith('; Secure')
    cookie = cookie_of({**me, 'Origin': f'http{ours}'})
    assert cookie.endswith('SameSite=Strict'), cookie
    name, value = cookie.split(';')[0].split('=')
    assert name == f'everprof_session_{e.port}' and len(value) == 64
    session = {'Cookie': f'a=b; {name}={value}'}
    assert e.get('/api/v1/session', headers=session).data() == {
        'user': 'u',
        'required': True,
        'session': True,
        'scopes': ['read', 'write', 'admin'],
    }
    assert e.get('/api/v1/session', headers=basic('r', 'pw')).data() == {
        'user': 'r',
        'required': True,
        'session': False,
        'scopes': ['read'],
    }
    assert e.get(begin, headers=session, method='POST').status == 400, 'no session prolongs itself'
    # Another site can neither begin nor end one, nor use one to change something.
    evil = {'Origin': 'http://evil.example'}
    for path in (begin, end, '/api/v1/targets/profile?query=x'):
        assert e.get(path, headers={**session, **evil}, method='POST').status == 403, path
    for wrong in ('', value[:-1], value + '0', 'x' * 64, value.upper() + ' '):
        assert e.get('/api/v1/labels', headers={'Cookie': f'{name}={wrong}'}).status == 401, wrong
    answer = e.get(end, headers=session, method='POST')
    assert answer.status == 204 and 'Max-Age=0' in answer.headers['Set-Cookie']
    assert e.get('/api/v1/labels', headers=session).status == 401
    assert value not in e.text(), 'the log has no session'
    # Sessions end with the process.
    kept = {'Cookie': cookie_of(me).split(';')[0]}
    assert e.get('/api/v1/labels', headers=kept).status == 200
    e.finish()
    e = start(f'{d}/open', 'bearer_tokens: []\n')
    assert e.get('/api/v1/session').data() == {
        'user': '',
        'required': False,
        'session': False,
        'scopes': ['read', 'write', 'admin'],
    }
    assert e.get(begin, method='POST').status == 400


@suite.test
def allowed_cors_origins_can_send_requests(d):
    e = start(d, web(f'  u: {hashed("pw")}\n'), '--web.enable-lifecycle', '--web.cors.origin=https?://(a|b)[.]example')
    me = basic('u', 'pw')
    for origin, friend in (
        ('http://a.example', True),
        ('https://b.example', True),
        ('http://a.example.evil', False),
        ('http://xa.example', False),
    ):
        for headers, method, status in ((me, 'GET', 200), ({}, 'GET', 401), ({}, 'OPTIONS', 204 if friend else 401)):
            answer = e.get('/api/v1/labels', headers={**headers, 'Origin': origin}, method=method)
            assert answer.status == status, (origin, method, answer.status)
            assert answer.headers['Access-Control-Allow-Origin'] == (origin if friend else None)
            assert 'Access-Control-Allow-Credentials' not in answer.headers
        answer = e.get('/-/reload', headers={**me, 'Origin': origin}, method='POST')
        assert answer.status == (200 if friend else 403), (origin, answer.status)
    e.finish()
    e = start(f'{d}/none', web(f'  u: {hashed("pw")}\n'))
    answer = e.get('/api/v1/labels', headers={**me, 'Origin': 'http://a.example'})
    assert answer.status == 200 and 'Access-Control-Allow-Origin' not in answer.headers
    assert e.get('/api/v1/labels', headers=me, method='OPTIONS').status == 405


@suite.test
def configured_headers_are_on_every_response(d):
    e = start(
        d,
        'http_server_config:\n  headers:\n    X-Frame-Options: deny\n'
        '    Strict-Transport-Security: max-age=31536000\n'
        '    Content-Security-Policy: "default-src \'self\'"\n'
        '    X-Content-Type-Options: ""\n',
    )
    answer = e.get('/')
    assert answer.status == 200, 'no users: everybody may ask'
    assert answer.headers['X-Frame-Options'] == 'deny'
    assert answer.headers['Strict-Transport-Security'] == 'max-age=31536000'
    assert answer.headers.get_all('Content-Security-Policy') == ["default-src 'self'"]
    assert 'X-Content-Type-Options' not in answer.headers


def ask(e, context, path='/api/v1/labels', headers=None):
    """(status, body), or the name of what went wrong before there was one."""
    request = urllib.request.Request(f'https://127.0.0.1:{e.port}{path}', headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=20, context=context) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except (ssl.SSLError, urllib.error.URLError, ConnectionError) as error:
        return 0, str(error)


def context(ca, client=None, **options):
    c = ssl.create_default_context(cafile=ca)
    if client:
        c.load_cert_chain(*client)
    for name, value in options.items():
        setattr(c, name, value)
    return c


@suite.test
def tls_certificate_is_reloaded(d):
    ca, other = Authority(d), Authority(d, 'other')
    first, second = ca.sign('first', 'IP:127.0.0.1'), other.sign('second', 'IP:127.0.0.1')
    shutil.copy(first[0], f'{d}/server.pem')
    shutil.copy(first[1], f'{d}/server.key')
    e = start(d, 'tls_server_config: {cert_file: server.pem, key_file: server.key}\n' + web(f'  u: {hashed("pw")}\n'))
    assert f'url=https://127.0.0.1:{e.port}/' in e.text(), e.text()
    me = basic('u', 'pw')
    assert ask(e, context(ca.cert), headers=me)[0] == 200
    assert ask(e, context(ca.cert))[0] == 401
    assert 'certificate verify failed' in ask(e, context(other.cert))[1]
    old = ssl.TLSVersion.TLSv1_1
    assert ask(e, context(ca.cert, maximum_version=old, minimum_version=old))[0] == 0
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert ask(e, context(ca.cert, maximum_version=version, minimum_version=version), headers=me)[0] == 200
    try:
        e.get('/')
        raise AssertionError('HTTP without TLS was answered')
    except (ConnectionError, urllib.error.URLError):
        pass
    # The command line speaks it, too.
    for options, code, want in (
        (f'tls_config: {{ca_file: {ca.cert}}}\nbasic_auth: {{username: u, password: pw}}', 0, ''),
        (f'tls_config: {{ca_file: ca.pem}}\nauthorization: {{credentials: {READ}}}', 0, ''),
        (f'tls_config: {{ca_file: {ca.cert}}}', 1, 'authentication is required'),
        ('{}', 1, 'SSL certificate problem'),
        ('nonsense: 1', 1, 'http.yml:1:1: field nonsense not found'),
    ):
        rewrite(f'{d}/http.yml', options)
        out = run('query', 'labels', f'--server=https://127.0.0.1:{e.port}', f'--http.config.file={d}/http.yml')
        assert out.returncode == code and want in out.stderr, (options, out.stderr)
    # Half of a new pair is refused, and the old one stays; the whole is taken.
    shutil.copy(second[0], f'{d}/server.pem')
    wait_until(
        'the refusal',
        10,
        lambda: (ask(e, context(ca.cert), headers=me)[0], 'the previous one stays in effect' in e.text())
        == (200, True),
    )
    shutil.copy(second[1], f'{d}/server.key')
    wait_until('the new certificate', 10, lambda: ask(e, context(other.cert), headers=me)[0] == 200)
    assert 'certificate verify failed' in ask(e, context(ca.cert))[1]
    finish_tls(e)


def finish_tls(e):
    code = e.stop()
    assert code == 0 and 'Sanitizer' not in e.text(), (code, e.text()[-2000:])


@suite.test
def client_certificates_are_required_and_verified(d):
    ca, other = Authority(d), Authority(d, 'other')
    server = ca.sign('server', 'IP:127.0.0.1')
    good = ca.sign('good', 'DNS:agent.example,IP:10.1.2.3')
    unnamed, stranger = ca.sign('unnamed', 'DNS:x.example'), other.sign('stranger')
    base = f'  cert_file: {server[0]}\n  key_file: {server[1]}\n'
    trust = f'  client_ca_file: {ca.cert}\n'
    everybody = {'none': None, 'good': good, 'unnamed': unnamed, 'stranger': stranger}
    for i, (kind, more, allowed) in enumerate(
        (
            ('NoClientCert', '', set(everybody)),
            ('RequestClientCert', '', set(everybody)),
            ('RequireAnyClientCert', '', {'good', 'unnamed', 'stranger'}),
            ('VerifyClientCertIfGiven', trust, {'none', 'good', 'unnamed'}),
            ('RequireAndVerifyClientCert', trust, {'good', 'unnamed'}),
            ('RequireAndVerifyClientCert', trust + '  client_allowed_sans: [agent.example]\n', {'good'}),
            ('RequireAndVerifyClientCert', trust + '  client_allowed_sans: [no, 10.1.2.3]\n', {'good'}),
        )
    ):
        e = start(f'{d}/{i}', f'tls_server_config:\n{base}{more}  client_auth_type: {kind}\n')
        for name, client in everybody.items():
            status, body = ask(e, context(ca.cert, client))
            want = 200 if name in allowed else 403
            assert status == want, (kind, more, name, status, body)
        assert ask(e, context(ca.cert), '/-/healthy')[0] == (200 if 'none' in allowed else 403)
        said = subprocess.run(
            ['openssl', 's_client', '-connect', f'127.0.0.1:{e.port}'],
            input='',
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout
        # Go's clients send nothing that a list of CAs does not name.
        assert 'No client certificate CA names sent' in said, said
        finish_tls(e)


@suite.test
def invalid_web_config_prevents_the_start(d):
    for text, want in (
        ('basic_auth_users: {u: secret}', 'web.yml:1:23: the password must be a bcrypt hash'),
        (f'basic_auth_users: {{"": "{hashed("x")}"}}', 'a user name must not be empty'),
        ('bearer_tokens: [{name: x, token: short}]', 'at least 16 characters'),
        ('bearer_tokens: [{token: 0123456789abcdef}]', 'a bearer token needs a name'),
        ('bearer_tokens: [{name: x, token_file: nowhere}]', 'nowhere: No such file'),
        (f'bearer_tokens: [{{name: x, token: {READ}, scopes: [all]}}]', 'a scope must be read, write or admin'),
        ('basic_auth_scopes: {u: [read]}', 'basic_auth_users has no user of this name'),
        ('http_server_config: {headers: {Server: x}}', 'cannot be configured'),
        ('http_server_config: {headers: {X-Frame-Options: maybe}}', 'invalid value of the HTTP header'),
        ('tls_server_config: {cert_file: nowhere.pem, key_file: k}', 'nowhere.pem: No such'),
        ('tls_server_config: {min_version: TLS10}', 'must be TLS12 or TLS13'),
        ('tls_server_config: {cert: x}', 'key_file (or key) is missing'),
        ('tls_server_config: {cert: x, key: y}', 'invalid certificate or key: '),
        ('tls_server_config: {client_auth_type: Maybe}', 'unknown client_auth_type'),
        ('basic_auth_user: {}', 'field basic_auth_user not found'),
    ):
        rewrite(f'{d}/web.yml', text)
        rewrite(f'{d}/everprof.yaml', EMPTY)
        p = Process(
            [
                BINARY,
                'serve',
                f'--config.file={d}/everprof.yaml',
                f'--storage.tsdb.path={d}/data',
                f'--web.config.file={d}/web.yml',
                f'--web.listen-address=127.0.0.1:{free_port()}',
            ],
            f'{d}/log',
        )
        assert p.child.wait(timeout=60) == 1, text
        assert want in p.text() and 'secret' not in p.text(), (text, p.text())
        p.stop()
        os.unlink(f'{d}/log')


def authorization(value):
    return {'Authorization': value}


@suite.test
def credentials_are_parsed_strictly(d):
    e = start(d, web(f'  u: {hashed("pw")}\n'))
    good = base64.b64encode(b'u:pw').decode()
    for value, status in (
        (f'Basic {good}', 200),
        (f'basic {good}', 200),
        (f'BASIC {good}', 200),
        (f'Basic {good}!!!!', 401),
        (f'Basic {good}AAAA', 401),
        (f'Basic  {good}', 401),
        ('Basic ' + good.rstrip('='), 401),
        ('Basic ' + base64.b64encode(b'u:pw\0junk').decode(), 401),
        ('Basic ' + base64.b64encode(b'upw').decode(), 401),
        (f'bearer {READ}', 200),
    ):
        answer = e.get('/api/v1/labels', headers=authorization(value))
        assert answer.status == status, (value, answer.status)
    with socket.create_connection(('127.0.0.1', e.port)) as s:
        s.sendall(
            b'GET /api/v1/labels HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
            b'Authorization: Bearer wrong\r\nAuthorization: Basic %s\r\n\r\n' % good.encode()
        )
        assert s.recv(100).startswith(b'HTTP/1.1 400'), 'two of them'


@suite.test
def concurrent_guesses_do_not_lock_out_users(d):
    e = start(d, web(f'  u: {hashed("pw", 12)}\n'))
    ending = []
    guesses = []

    def guess(n):
        while not ending:
            e.get('/api/v1/labels', headers=basic('u', f'{n}-{time.monotonic()}'))
            guesses.append(n)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for n in range(8):
            pool.submit(guess, n)
        wait_until('guessing is under way', 30, lambda: len(guesses) >= 16)
        # Another client, at an address of its own, is not told to come later.
        with socket.create_connection(('127.0.0.1', e.port), timeout=60, source_address=('127.0.0.2', 0)) as s:
            s.sendall(
                b'GET /api/v1/labels HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
                b'Authorization: Basic %s\r\n\r\n' % base64.b64encode(b'u:pw')
            )
            answer = s.recv(100)
        ending.append(1)
    assert answer.startswith(b'HTTP/1.1 200'), answer


@suite.test
def world_readable_web_config_logs_a_warning(d):
    e = start(d, web(f'  u: {hashed("pw")}\n'))
    os.chmod(f'{d}/web.yml', 0o644)
    e.finish()
    e = Everprof(f'{d}/again', EMPTY, [f'--web.config.file={d}/web.yml'])
    wait_until('ready', 30, lambda: 'everprof is ready' in e.text(), 0.02)
    assert 'every user of this machine can read or change' in e.text(), e.text()
    with open(f'/proc/{e.child.pid}/limits') as f:
        core = next(line for line in f if line.startswith('Max core file size'))
    assert core.split()[4:6] == ['0', '0'], core


suite.main()
