# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API server that lists and watches, and can misbehave."""
import json
import os
import ssl
import threading
import urllib.parse

from harness import ROOT, Server, send

SAMPLES = os.path.join(ROOT, 'testdata/discovery/kubernetes')
RESOURCES = {
    'nodes': 'node',
    'pods': 'pod',
    'services': 'service',
    'endpoints': 'endpoints',
    'endpointslices': 'endpointslice',
    'ingresses': 'ingress',
    'namespaces': 'namespace',
    'replicasets': 'replicaset',
    'jobs': 'job',
}
APIS = {
    'endpointslices': '/apis/discovery.k8s.io/v1',
    'ingresses': '/apis/networking.k8s.io/v1',
    'replicasets': '/apis/apps/v1',
    'jobs': '/apis/batch/v1',
}


def sample(name):
    with open(os.path.join(SAMPLES, f'{name}.json')) as f:
        return json.load(f)


def status(code, reason='', message='refused'):
    return {
        'kind': 'Status',
        'apiVersion': 'v1',
        'status': 'Failure',
        'code': code,
        'reason': reason,
        'message': message,
    }


class Kube:
    """Objects by resource and (namespace, name); `changes` is what watches send.

    `trouble`: None, or a function of (request, resource, query) that returns True
    if it has dealt with the request. `page`: None, or the number of objects in a
    page. Versions below `oldest` are gone."""

    def __init__(self, tls=None, prefix=''):
        self.objects = {r: {} for r in RESOURCES}
        self.changes, self.version, self.oldest = [], 1000, 0
        self.trouble, self.page, self.asked, self.watching = None, None, [], 0
        self.tokens = None
        self.prefix = prefix
        self.changed = threading.Condition()
        self.server = Server(self.answer)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls[:2])
            if len(tls) > 2:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(tls[2])
            self.server.server.socket = context.wrap_socket(
                self.server.server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.address = self.server.address
        self.url = f'{"https" if tls else "http"}://{self.address}{prefix}'

    def load(self, *resources):
        for r in resources or RESOURCES:
            for o in sample(RESOURCES[r])['items']:
                self.put(r, o)
        return self

    def put(self, resource, o):
        """Add or change an object; its watches send an event."""
        with self.changed:
            self.version += 1
            o = json.loads(json.dumps(o))
            o['metadata']['resourceVersion'] = str(self.version)
            key = (o['metadata'].get('namespace', ''), o['metadata']['name'])
            kind = 'MODIFIED' if key in self.objects[resource] else 'ADDED'
            self.objects[resource][key] = o
            self.changes.append((self.version, resource, kind, o))
            self.changed.notify_all()

    def remove(self, resource, name, namespace=''):
        with self.changed:
            self.version += 1
            o = self.objects[resource].pop((namespace, name))
            o['metadata']['resourceVersion'] = str(self.version)
            self.changes.append((self.version, resource, 'DELETED', o))
            self.changed.notify_all()

    def forget(self):
        """Forget what has changed: to watch from a version before now is 410 Gone."""
        with self.changed:
            self.oldest = self.version
            self.changes.clear()

    def drop_watches(self):
        """End all watches."""
        with self.changed:
            self.watching += 1
            self.changed.notify_all()

    def answer(self, r):
        u = urllib.parse.urlsplit(r.path)
        query = {k: v[0] for k, v in urllib.parse.parse_qs(u.query).items()}
        api, _, rest = u.path.removeprefix(self.prefix).partition('/namespaces/')
        namespace, _, resource = rest.partition('/')
        if not rest:
            api, _, resource = u.path.removeprefix(self.prefix).rpartition('/')
        self.asked.append((resource, namespace, query, r.headers))
        if self.tokens is not None and r.headers.get('Authorization') not in self.tokens:
            say(r, status(401, 'Unauthorized'), 401)
        elif self.trouble and self.trouble(r, resource, query):
            pass
        elif resource not in RESOURCES or api != APIS.get(resource, '/api/v1'):
            say(r, status(404, 'NotFound'), 404)
        elif query.get('watch'):
            self.watch(r, resource, namespace, query)
        else:
            self.list(r, resource, namespace, query)

    def list(self, r, resource, namespace, query):
        with self.changed:
            version = str(self.version)
            all_ = [o for (ns, _), o in sorted(self.objects[resource].items()) if namespace in ('', ns)]
        start, meta = 0, {'resourceVersion': version}
        if 'continue' in query:
            start, meta['resourceVersion'] = query['continue'].split(':')
            start = int(start)
        if self.page and 'limit' in query and start + self.page < len(all_):
            meta['continue'] = f'{start + self.page}:{meta["resourceVersion"]}'
            all_ = all_[start : start + self.page]
        else:
            all_ = all_[start:]
        say(r, {'kind': 'List', 'apiVersion': 'v1', 'metadata': meta, 'items': all_})

    def watch(self, r, resource, namespace, query):
        since, mine = int(query['resourceVersion']), self.watching
        if since < self.oldest:
            say(r, status(410, 'Expired'), 410)
            return
        begin_stream(r)
        quiet = 0
        while mine == self.watching and quiet < 40:
            with self.changed:
                self.changed.wait_for(lambda: mine != self.watching or self.version > since, timeout=0.25)
                events = [
                    (kind, o)
                    for v, what, kind, o in self.changes
                    if v > since and what == resource and namespace in ('', o['metadata'].get('namespace', ''))
                ]
                since = self.version
            quiet = 0 if events else quiet + 1
            text = ''.join(json.dumps({'type': kind, 'object': o}) + '\n' for kind, o in events)
            if not events and quiet % 4 == 0:
                text = (
                    json.dumps(
                        {
                            'type': 'BOOKMARK',
                            'object': {
                                'kind': 'X',
                                'metadata': {'resourceVersion': str(since), 'creationTimestamp': None},
                            },
                        }
                    )
                    + '\n'
                )
            stream(r, text)
        stream(r, '', True)

    def stop(self):
        self.drop_watches()
        self.server.stop()


def say(r, value, code=200, **headers):
    send(r, json.dumps(value).encode(), status=code, Content_Type='application/json', **headers)


def begin_stream(r):
    r.send_response(200)
    r.send_header('Content-Type', 'application/json')
    r.send_header('Transfer-Encoding', 'chunked')
    r.end_headers()


def stream(r, text, end=False):
    data = text.encode()
    if data:
        r.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
    if end:
        r.wfile.write(b'0\r\n\r\n')
    r.wfile.flush()
