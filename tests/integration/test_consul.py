#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""consul_sd_configs against a server that answers blocking queries as Consul does."""
import json
import os
import threading
import time
import urllib.parse

from api_server import say, tear
from harness import Everprof, Server, Suite, send, run, wait_until
from sd_peer import configuration, discovered

suite = Suite()
META = '__meta_consul_'


class Consul:
    """A catalog of services with X-Consul-Index; a query with the current index waits for a change."""

    def __init__(self):
        self.services, self.index, self.asked, self.trouble = {}, 1, [], None
        self.changed = threading.Condition()
        self.server = Server(self.answer)
        self.address = self.server.address

    def set(self, name, instances):
        with self.changed:
            self.index += 1
            if instances is None:
                self.services.pop(name)
            else:
                self.services[name] = (self.index, instances)
            self.changed.notify_all()

    def current(self, path):
        """(index, answer) of a path."""
        if path == '/v1/agent/self':
            return 0, {'Config': {'Datacenter': 'dc9'}, 'Member': None}
        if path == '/v1/catalog/services':
            return self.index, {
                name: sorted({t for i in list_ for t in i['Service']['Tags'] or []})
                for name, (_, list_) in self.services.items()
            }
        return self.services.get(urllib.parse.unquote(path.rsplit('/', 1)[1]), (self.index, []))

    def answer(self, r):
        u = urllib.parse.urlsplit(r.path)
        query = urllib.parse.parse_qs(u.query, keep_blank_values=True)
        self.asked.append((u.path, query, r.headers))
        if self.trouble and self.trouble(r):
            return
        known = int(query.get('index', ['0'])[0])
        with self.changed:
            self.changed.wait_for(lambda: self.current(u.path)[0] != known or not known, timeout=5)
            index, body = self.current(u.path)
        send(r, json.dumps(body).encode(), Content_Type='application/json', X_Consul_Index=str(index))


def instance(ident, **service):
    return {
        'Node': {
            'Node': 'n1',
            'Address': '192.0.2.1',
            'Datacenter': 'dcX',
            'Meta': {'rack-näme': '7'},
            'TaggedAddresses': {'lan_ipv4': '10.0.0.1'},
        },
        'Service': {'ID': ident, 'Tags': None, 'Address': '', 'Meta': None, 'Port': 0, **service},
        'Checks': [{'CheckID': 'serfHealth', 'Status': 'passing'}],
    }


def start(d, server, **keys):
    text = json.dumps({'server': server, 'refresh_interval': '1s', **keys})
    return Everprof(d, configuration({'consul': f'  consul_sd_configs:\n  - {text}'})).ready()


def found(e):
    return {
        dict(l)['__address__']: {k: v for k, v in l if k.startswith(META)}
        for _, l in discovered(e.get('/api/v1/targets').data(), ['consul'])
    }


@suite.test
def instances_have_the_labels_of_prometheus(d):
    c = Consul()
    awkward = instance('s1', Address='2001:db8::1')
    awkward['Checks'].append({'CheckID': '_service_maintenance:s1', 'Status': 'critical'})
    strange = instance('s2', Port=8080, Tags=['a', 'b'], Address='svc.example', Meta={'a.b': 'x'})
    strange['Checks'] = [{'CheckID': 'c', 'Status': 'weird'}]
    worse = instance('s3', Port=1)
    worse['Checks'] += [{'CheckID': 'x', 'Status': 'critical'}, {'CheckID': 'y', 'Status': 'warning'}]
    c.set('web app', [awkward, strange, worse])
    e = start(d, c.address, token='secret', node_meta={'r': 'x'}, health_filter='Service.Port > 0')
    targets = wait_until('targets', 20, lambda: len(found(e)) == 3 and found(e))
    common = {
        'address': '192.0.2.1',
        'node': 'n1',
        'service': 'web app',
        'dc': 'dc9',
        'metadata_rack_n_me': '7',
        'tagged_address_lan_ipv4': '10.0.0.1',
    }

    def labels(**more):
        return {META + k: v for k, v in {**common, **more}.items()}

    assert targets == {
        '[2001:db8::1]:0': labels(
            service_id='s1', service_port='0', service_address='2001:db8::1', tags=',,', health='maintenance'
        ),
        'svc.example:8080': labels(
            service_id='s2', service_port='8080', service_address='svc.example', tags=',a,b,', service_metadata_a_b='x'
        ),
        '192.0.2.1:1': labels(service_id='s3', service_port='1', tags=',,', health='critical'),
    }, targets
    assert all(h['X-Consul-Token'] == 'secret' for _, _, h in c.asked)
    queries = {path: query for path, query, _ in c.asked}
    assert queries['/v1/health/service/web%20app']['filter'] == ['Service.Port > 0'], queries
    assert queries['/v1/catalog/services']['node-meta'] == ['r:x'] and 'stale' in queries['/v1/catalog/services']
    c.server.stop()


@suite.test
def changes_arrive_by_blocking_queries(d):
    c = Consul()
    c.set('a', [instance('a1', Port=1, Tags=['x'])])
    c.set('b', [instance('b1', Port=2)])
    e = start(d, 'http://' + c.address, datacenter='here')
    wait_until('targets', 20, lambda: set(found(e)) == {'192.0.2.1:1', '192.0.2.1:2'})
    assert found(e)['192.0.2.1:1'][META + 'dc'] == 'here'
    assert not any(path == '/v1/agent/self' for path, _, _ in c.asked)
    c.set('a', [instance('a1', Port=1), instance('a2', Port=3)])
    wait_until('a new instance', 20, lambda: '192.0.2.1:3' in found(e))
    c.set('b', None)
    c.set('new', [instance('n', Port=4)])
    wait_until('services that come and go', 20, lambda: set(found(e)) == {'192.0.2.1:1', '192.0.2.1:3', '192.0.2.1:4'})
    c.set('a', [])
    wait_until('a service without instances', 20, lambda: set(found(e)) == {'192.0.2.1:4'})
    # While nothing changes, Consul holds the queries back.
    time.sleep(1)
    count = len(c.asked)
    time.sleep(3)
    assert len(c.asked) - count <= 6, c.asked[count:]
    c.server.stop()


@suite.test
def hundreds_of_services_come_and_go(d):
    c = Consul()
    for i in range(450):
        c.set(f's{i}', [instance(f'i{i}', Port=i + 1)])
    e = start(d, c.address)
    ports = lambda: sorted(int(a.rpartition(':')[2]) for a in found(e))
    wait_until('all', 60, lambda: ports() == list(range(1, 451)))
    for i in range(0, 450, 2):
        c.set(f's{i}', None)
    wait_until('every second one', 60, lambda: ports() == list(range(2, 451, 2)))
    for i in range(0, 450, 6):
        c.set(f's{i}', [instance(f'i{i}', Port=i + 1)])
    c.set('s1', [instance('i1', Port=5000)])
    wait_until('some again', 60, lambda: ports() == sorted({*range(4, 451, 2), *range(1, 451, 6), 5000}))
    e.finish()
    c.server.stop()


@suite.test
def defaults_come_from_the_environment(d):
    """As Consul's own client, and with it Prometheus, reads them; a key of the configuration is stronger."""
    wanted = {'CONSUL_HTTP_TOKEN': 'geheim', 'CONSUL_NAMESPACE': 'n1', 'CONSUL_PARTITION': 'p1'}
    for i, (keys, token, namespace) in enumerate(
        (({}, 'geheim', 'n1'), ({'token': 'own', 'namespace': 'n2'}, 'own', 'n2'))
    ):
        c = Consul()
        c.set('a', [instance('a1', Port=1)])
        os.environ.update(wanted)
        os.mkdir(f'{d}/{i}')
        e = start(f'{d}/{i}', c.address, **keys)
        for name in wanted:
            del os.environ[name]
        wait_until('a target', 20, lambda: found(e))
        for path, query, headers in c.asked:
            assert headers['X-Consul-Token'] == token, headers
            assert query['ns'] == [namespace] and query['partition'] == ['p1'], (path, query)
        assert 'geheim' not in e.text() + e.get('/api/v1/status/config').body.decode()
        e.finish()
        c.server.stop()


@suite.test
def services_are_chosen_by_name_and_tag(d):
    c = Consul()
    for number, (name, tags) in enumerate((('a', ['x', 'y']), ('b', ['x']), ('c', ['x', 'y']))):
        c.set(name, [instance(name, Port=number, Tags=tags)])
    e = start(d, c.address, services=['a', 'b', 'none'])
    wait_until('named services', 20, lambda: set(found(e)) == {'192.0.2.1:0', '192.0.2.1:1'})
    assert not any(path == '/v1/catalog/services' for path, _, _ in c.asked)
    e.finish()
    e = start(d, c.address, services=['a', 'b'], tags=['x', 'y'])
    wait_until('tagged services', 20, lambda: set(found(e)) == {'192.0.2.1:0'})
    assert {tuple(q['tag']) for path, q, _ in c.asked if 'tag' in q} == {('x', 'y')}
    c.server.stop()


@suite.test
def targets_stay_while_consul_misbehaves(d):
    c = Consul()
    c.set('a', [instance('a1', Port=1)])
    e = start(d, c.address)
    wait_until('targets', 20, lambda: set(found(e)) == {'192.0.2.1:1'})
    c.trouble = lambda r: say('{"Node": 1}', 500)(r)
    c.set('a', [instance('a1', Port=2)])
    wait_until('failures', 30, lambda: e.metric('everprof_discovery_failures_total', '{discovery="consul"}') > 0)
    assert set(found(e)) == {'192.0.2.1:1'}
    c.trouble = None
    wait_until('new targets', 60, lambda: set(found(e)) == {'192.0.2.1:2'})
    # Answers of other forms, and connections that are cut off.
    for trouble in (tear, say('{}'), say('[{"Node": [], "Service": {"Port": "x"}, "Checks": 7}, null, 3]')):
        c.trouble = trouble
        asked = len(c.asked)
        c.set('a', [instance('a1', Port=3)])
        wait_until('queries', 60, lambda: len(c.asked) > asked)
    assert e.get('/-/ready').status == 200
    c.server.stop()


@suite.test
def mistakes_in_the_configuration_are_named(d):
    cases = {
        '{server: ""}': 'consul_sd_config requires server',
        '{scheme: ftp}': 'http://',
        '{token: a, bearer_token: b}': 'token cannot be combined with authorization, bearer_token or oauth2',
        '{username: a, basic_auth: {username: b}}': 'username and password cannot be combined',
        '{services: a}': 'must be a list',
        '{node_meta: [a]}': 'node_meta',
        '{datacentre: a}': 'field datacentre',
    }
    for text, says in cases.items():
        with open(f'{d}/c.yaml', 'w') as f:
            f.write(f'scrape_configs:\n- job_name: a\n  consul_sd_configs: [{text}]\n')
        done = run('check', 'config', f'{d}/c.yaml', check=False)
        assert done.returncode == 1 and says in done.stderr, (text, done.stderr)


suite.main()
