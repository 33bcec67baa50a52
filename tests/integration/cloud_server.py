# SPDX-License-Identifier: Apache-2.0
"""The APIs of cloud vendors, made of testdata/discovery/cloud, which can also misbehave.

Hosts of the vendors are reached through a proxy, which this server is, too: it
answers CONNECT with a certificate of the tests' own authority. Signatures of
AWS and of Google are checked by code that shares nothing with everprof's."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import ssl
import urllib.parse

import certs
from harness import ROOT, Server, send

SECRETS = {'AKIDEXAMPLE': 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'}
HOSTS = (
    'compute.googleapis.com',
    'oauth2.googleapis.com',
    'management.azure.com',
    'login.microsoftonline.com',
    'management.usgovcloudapi.net',
    'login.microsoftonline.us',
    'ec2.eu-west-1.amazonaws.com',
    'sts.eu-west-1.amazonaws.com',
)


def sample(name):
    with open(os.path.join(ROOT, 'testdata/discovery/cloud', name)) as f:
        return f.read()


class Asked:
    """A request."""

    def __init__(self, r, host):
        self.method, self.headers, self.host = r.command, r.headers, host
        u = urllib.parse.urlsplit(r.path)
        self.path, self.query = u.path, urllib.parse.parse_qs(u.query, keep_blank_values=True)
        self.body = r.rfile.read(int(r.headers.get('Content-Length') or 0)).decode()
        self.form = {k: v[0] for k, v in urllib.parse.parse_qs(self.body).items()}

    def __repr__(self):
        return f'{self.method} {self.host}{self.path} {self.query} {self.body}'


class Cloud:
    """Calls answer(request) for each request: it returns a text, or (status, text), or
    (status, text, headers); None is 404. `trouble` replaces answers, if it returns something."""

    def __init__(self, d, answer):
        self.answer, self.trouble, self.asked = answer, None, []
        self.server = Server(lambda r: self.handle(r, 'here'))
        self.url = f'http://{self.server.address}'
        self.authority = certs.Authority(d)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.authority.sign('cloud', ','.join(f'DNS:{h}' for h in HOSTS)))
        cloud, handler = self, self.server.server.RequestHandlerClass

        class Inner(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            host = ''

            def do_GET(self):
                cloud.handle(self, self.host)

            do_POST = do_PUT = do_GET

            def log_message(self, *args):
                pass

        def connect(outer):
            outer.send_response(200)
            outer.end_headers()
            host, _, _ = outer.path.partition(':')
            with context.wrap_socket(outer.connection, server_side=True) as tls:
                type('Inner', (Inner,), {'host': host})(tls, outer.client_address, outer.server)
            outer.close_connection = True

        handler.do_CONNECT = connect
        handler.do_PUT = handler.do_GET

    def handle(self, r, host):
        asked = Asked(r, host)
        self.asked.append(asked)
        answer = self.trouble(asked) if self.trouble else None
        if answer is None:
            answer = self.answer(asked)
        if answer is None:
            answer = (404, '{"error": {"code": "NotFound"}}')
        status, text, headers = (200, answer, {}) if isinstance(answer, str) else (*answer, {})[:3]
        kind = 'text/xml' if text.startswith('<') else 'application/json'
        send(r, text.encode(), status=status, Content_Type=kind, **headers)

    def options(self):
        """Keys of a discovery that reach the hosts of vendors here."""
        return {'proxy_url': self.url, 'tls_config': {'ca_file': self.authority.cert}}

    def requests(self, part=''):
        return [a for a in self.asked if part in f'{a.method} {a.host}{a.path}']

    def stop(self):
        self.server.stop()


def hmac_sha256(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def check_signature(asked, secrets, service):
    """AWS Signature Version 4, as docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request
    describes it. Returns the access key."""
    kind, _, rest = asked.headers['Authorization'].partition(' ')
    parts = dict(p.strip().split('=', 1) for p in rest.split(','))
    key_id, day, region, name, end = parts['Credential'].split('/')
    names = parts['SignedHeaders'].split(';')
    assert (kind, name, end) == ('AWS4-HMAC-SHA256', service, 'aws4_request'), rest
    assert names == sorted(names) and {'host', 'x-amz-date'} <= set(names), names
    assert not asked.headers['X-Amz-Security-Token'] or 'x-amz-security-token' in names, names
    date = asked.headers['X-Amz-Date']
    canonical = '\n'.join(
        [asked.method, asked.path, '']
        + [f'{n}:{" ".join(asked.headers[n].split())}' for n in names]
        + ['', parts['SignedHeaders'], hashlib.sha256(asked.body.encode()).hexdigest()]
    )
    text = '\n'.join(
        [kind, date, f'{day}/{region}/{service}/aws4_request', hashlib.sha256(canonical.encode()).hexdigest()]
    )
    key = f'AWS4{secrets[key_id]}'.encode()
    for step in (day, region, service, end):
        key = hmac_sha256(key, step)
    assert date.startswith(day) and hmac_sha256(key, text).hex() == parts['Signature'], canonical
    return key_id


def unpack_jwt(text):
    """(header, claims, signed text, signature) of a JSON Web Token."""
    parts = [base64.urlsafe_b64decode(p + '=' * (-len(p) % 4)) for p in text.split('.')]
    return json.loads(parts[0]), json.loads(parts[1]), text.rpartition('.')[0].encode(), parts[2]
