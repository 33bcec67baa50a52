#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kubernetes_sd_configs against an API server of the tests' own (kube_server.py)."""
import base64
import json
import os
import re
import time

from certs import Authority
from harness import Everprof, Suite, run, wait_until
from kube_server import Kube, begin_stream, sample, say, status, stream
from sd_peer import configuration, discovered

suite = Suite()
META = '__meta_kubernetes_'
ROLES = ('node', 'pod', 'service', 'endpoints', 'endpointslice', 'ingress')
FAILURES = ('everprof_discovery_failures_total', '{discovery="kubernetes"}')


def start(d, flags=(), **jobs):
    """everprof with a job for each keyword, whose value is an entry of kubernetes_sd_configs."""
    return Everprof(
        d,
        configuration({name: f'  kubernetes_sd_configs:\n  - {json.dumps(entry)}' for name, entry in jobs.items()}),
        flags,
    ).ready()


def found(e, job='pods'):
    """The labels of Kubernetes of all targets."""
    return [
        {k: v for k, v in l if k.startswith(META) or k in ('__address__', 'instance')}
        for _, l in discovered(e.get('/api/v1/targets').data(), [job])
    ]


def addresses(e, job='pods'):
    return sorted(t.get('__address__', '') for t in found(e, job))


def pod(name, ip, namespace='shop', port=80, **labels):
    return {
        'metadata': {'name': name, 'namespace': namespace, 'labels': labels},
        'spec': {
            'nodeName': 'alder',
            'containers': [{'name': 'c', 'image': 'i', 'ports': [{'containerPort': port, 'protocol': 'TCP'}]}],
        },
        'status': {'phase': 'Running', 'podIP': ip},
    }


def with_pods(count=3, **options):
    k = Kube(**options)
    for i in range(count):
        k.put('pods', pod(f'p{i}', f'10.0.0.{i}'))
    return k


def with_targets(d):
    """A server with three pods, and everprof, which has found them."""
    k = with_pods()
    e = start(d, pods={'role': 'pod', 'api_server': k.url})
    wait_until('pods', 30, lambda: len(addresses(e)) == 3)
    return k, e


def failed(e, more=0):
    return e.metric(*FAILURES) > more


@suite.test
def targets_have_the_labels_of_prometheus(d):
    k = Kube(prefix='/base/path').load()
    everything = {what: True for what in ('node', 'namespace', 'deployment', 'job', 'cronjob')}
    for expected, attach in (('expected', {}), ('expected_attach', everything)):
        e = start(d, **{role: {'role': role, 'api_server': k.url + '/', 'attach_metadata': attach} for role in ROLES})
        want = sample(expected)
        for role in ROLES:
            theirs = {tuple(sorted(t.items())) for t in want[role]}
            wait_until(f'{role} targets', 30, lambda: len(found(e, role)) == len(theirs))
            ours = {tuple(sorted(t.items())) for t in found(e, role)}
            assert ours == theirs, (role, attach, ours - theirs, theirs - ours)
        e.finish()
    k.stop()


@suite.test
def changes_arrive_by_watches(d):
    k = with_pods()
    service = {'metadata': {'name': 'web', 'namespace': 'shop'}, 'spec': {'ports': []}}
    k.put('services', service)
    k.put(
        'endpoints',
        {
            'metadata': {'name': 'web', 'namespace': 'shop'},
            'subsets': [
                {
                    'addresses': [{'ip': '10.0.0.1', 'targetRef': {'kind': 'Pod', 'name': 'p1', 'namespace': 'shop'}}],
                    'ports': [{'port': 80, 'protocol': 'TCP'}],
                }
            ],
        },
    )
    e = start(d, pods={'role': 'pod', 'api_server': k.url}, ends={'role': 'endpoints', 'api_server': k.url})
    wait_until('pods', 30, lambda: addresses(e) == ['10.0.0.0:80', '10.0.0.1:80', '10.0.0.2:80'])
    k.put('pods', pod('p3', '10.0.0.3'))
    k.put('pods', pod('p0', '10.0.9.9'))
    k.remove('pods', 'p2', 'shop')
    wait_until('changes', 30, lambda: addresses(e) == ['10.0.0.1:80', '10.0.0.3:80', '10.0.9.9:80'])

    def label(name):
        return lambda: [t.get(META + name) for t in found(e, 'ends')]

    # Endpoints change with their pods and services.
    wait_until('endpoints', 30, lambda: label('pod_phase')() == ['Running'])
    k.put('pods', pod('p1', '10.0.0.1', tier='gold'))
    wait_until('a label of the pod', 30, lambda: label('pod_label_tier')() == ['gold'])
    service['metadata']['labels'] = {'team': 'a'}
    k.put('services', service)
    wait_until('a label of the service', 30, lambda: label('service_label_team')() == ['a'])
    k.remove('services', 'web', 'shop')
    k.remove('pods', 'p1', 'shop')
    wait_until('neither pod nor service', 30, lambda: label('service_label_team')() == [None] == label('pod_phase')())
    assert e.metric(*FAILURES) == 0
    k.stop()


@suite.test
def lists_come_in_pages_and_watches_go_on_after_them(d):
    k = with_pods(25)
    k.page = 10
    e = start(d, pods={'role': 'pod', 'api_server': k.url})
    wait_until('pods', 30, lambda: len(addresses(e)) == 25)
    lists = [q for _, _, q, _ in k.asked if 'watch' not in q]
    assert [q.get('continue', '').split(':')[0] for q in lists] == ['', '10', '20'], lists
    assert lists[0] == {'limit': '500', 'resourceVersion': '0'} and 'resourceVersion' not in lists[1], lists
    wait_until('a watch', 30, lambda: any('watch' in q for _, _, q, _ in k.asked))
    watch = next(q for _, _, q, _ in k.asked if 'watch' in q)
    assert watch['resourceVersion'] == str(k.version) and watch['allowWatchBookmarks'] == 'true', watch
    assert 300 <= int(watch['timeoutSeconds']) < 600, watch
    # A watch that ends goes on from the last version, also from that of a bookmark.
    k.put('services', {'metadata': {'name': 'other', 'namespace': 'shop'}, 'spec': {}})

    def goes_on():
        watches = [q for _, _, q, _ in k.asked if 'watch' in q]
        if watches[-1]['resourceVersion'] != str(k.version):
            k.drop_watches()
        return watches[-1]['resourceVersion'] == str(k.version)

    time.sleep(2)
    wait_until('a watch from the version of a bookmark', 60, goes_on, 2)
    k.put('pods', pod('late', '10.9.9.9'))
    wait_until('its events', 30, lambda: '10.9.9.9:80' in addresses(e))
    assert len([q for _, _, q, _ in k.asked if 'watch' not in q]) == 3
    k.stop()


@suite.test
def a_version_that_is_gone_is_listed_again(d):
    k, e = with_targets(d)
    wait_until('a watch', 30, lambda: any('watch' in q for _, _, q, _ in k.asked))
    # The server restarts, and objects change meanwhile.
    k.trouble = lambda r, *_: say(r, status(503), 503) or True
    k.drop_watches()
    wait_until('failures', 30, lambda: failed(e))
    k.remove('pods', 'p0', 'shop')
    k.put('pods', pod('p9', '10.0.0.9'))
    k.forget()
    assert len(addresses(e)) == 3
    k.trouble = None
    wait_until('new list', 60, lambda: addresses(e) == ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.9:80'])

    # The same by an event, and with a list of that version that is gone, too.
    def gone(r, resource, query):
        if 'watch' in query:
            begin_stream(r)
            stream(r, json.dumps({'type': 'ERROR', 'object': status(410, 'Expired')}), True)
            return True
        if query.get('resourceVersion'):
            say(r, status(410, 'Expired'), 410)
            return True
        return False

    before = len(k.asked)
    k.trouble = gone
    k.drop_watches()
    wait_until(
        'a list without a version',
        60,
        lambda: any('watch' not in q and 'resourceVersion' not in q for _, _, q, _ in k.asked[before:]),
    )
    k.trouble = None
    k.put('pods', pod('p1', '10.0.7.7'))
    wait_until('targets', 60, lambda: '10.0.7.7:80' in addresses(e))
    k.stop()


@suite.test
def a_page_that_has_expired_is_asked_for_in_one_list(d):
    k = with_pods(25)
    k.page = 10

    def expired(r, resource, query):
        if 'continue' in query:
            say(r, status(410, 'Expired', 'The provided continue parameter is too old'), 410)
            return True
        return False

    k.trouble = expired
    e = start(d, pods={'role': 'pod', 'api_server': k.url})
    wait_until('pods', 30, lambda: len(addresses(e)) == 25)
    lists = [q for _, _, q, _ in k.asked if 'watch' not in q]
    assert 'limit' not in lists[2] and len(lists) == 3, lists
    k.stop()


LIST = '{"metadata": {"resourceVersion": "5"}, "items": ['
EVENT = '{"type": "MODIFIED", "object": '
STRANGE = (
    '',
    'null',
    '[]',
    '{}',
    '{"items": []}',
    LIST + '{"metadata": {"name": "torn", "na',
    LIST + '{"metadata": {}}]}',
    LIST + '3, null]}',
    LIST + '{]}',
    LIST + ']} more',
    LIST + '{"metadata": {"name": "x", "namespace": 3, "labels": [1], "annotations": {"a": {}}}, "spec": 7}',
    EVENT + '{"metadata": {"name": "x"',
    EVENT + '7}',
    '{"type": "STRANGE"}',
    '{"type": "ERROR"}',
    '"' + 'x' * 100000,
    '{"' + 'k' * 1000 + '": 1}',
    '[' * 100000,
)


@suite.test
def targets_stay_while_the_server_misbehaves(d):
    def answers(text):
        def trouble(r, resource, query):
            begin_stream(r)
            stream(r, text)
            r.close_connection = True
            return True

        return trouble

    servers = {f'j{i}': with_pods() for i in range(len(STRANGE))}
    e = start(d, **{name: {'role': 'pod', 'api_server': k.url} for name, k in servers.items()})
    for name in servers:
        wait_until('pods', 60, lambda: len(addresses(e, name)) == 3)
    before = {}
    for text, k in zip(STRANGE, servers.values()):
        before[k] = len(k.asked)
        k.trouble = answers(text)
        k.drop_watches()
    for text, (name, k) in zip(STRANGE, servers.items()):
        wait_until(f'requests for {text[:60]}', 90, lambda: len(k.asked) > before[k] + 2)
        assert len(addresses(e, name)) == 3, (text[:60], addresses(e, name))
    assert failed(e)
    for k in servers.values():
        k.trouble = None
        k.put('pods', pod('p0', '10.0.0.77'))
    for name, k in servers.items():
        wait_until('recovery', 90, lambda: addresses(e, name) == ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.77:80'])
        k.stop()


def endless(kind):
    """A server that behaves so that a client without pauses would ask thousands of times."""

    def trouble(r, resource, query):
        if kind == 'pages':
            say(r, {'metadata': {'resourceVersion': '5', 'continue': 'next'}, 'items': []})
            return True
        if 'watch' not in query:
            return False
        if kind == 'gone':
            say(r, status(410, 'Expired'), 410)
            return True
        begin_stream(r)
        object_ = status(410, 'Expired') if kind == 'ERROR' else pod('p0', '10.0.0.0')
        object_.setdefault('metadata', {})['resourceVersion'] = '1003'
        stream(r, json.dumps({'type': kind, 'object': object_}), True)
        return True

    return trouble


@suite.test
def endless_answers_are_followed_by_pauses(d):
    kinds = ('pages', 'gone', 'ERROR', 'BOOKMARK', 'MODIFIED', 'STRANGE')
    servers = {kind: with_pods() for kind in kinds}
    for kind, k in servers.items():
        k.trouble = endless(kind)
    e = start(d, **{kind: {'role': 'pod', 'api_server': k.url} for kind, k in servers.items()})
    for kind, k in servers.items():
        wait_until(f'requests of {kind}', 60, lambda: len(k.asked) >= 4)
    before, began = {kind: len(k.asked) for kind, k in servers.items()}, time.time()
    time.sleep(5)
    for kind, k in servers.items():
        more = len(k.asked) - before[kind]
        assert more <= 3 * (time.time() - began), (kind, more)
        assert len(addresses(e, kind)) == (0 if kind == 'pages' else 3), kind
    assert 'the list has the same page again' in e.text()
    for kind, k in servers.items():
        k.trouble = None
        k.drop_watches()
    for kind, k in servers.items():
        wait_until(f'recovery of {kind}', 90, lambda: len(addresses(e, kind)) == 3)
        k.put('pods', pod('new', '10.0.0.99'))
    for kind, k in servers.items():
        wait_until(f'an event of {kind}', 90, lambda: '10.0.0.99:80' in addresses(e, kind))
    wait_until(
        'no failure', 90, lambda: {x['health'] for x in e.get('/api/v1/targets').data()['discoveries']} == {'up'}
    )
    for k in servers.values():
        k.stop()
    e.finish()


@suite.test
def strange_annotations_do_not_stop_a_watch(d):
    k, e = with_targets(d)
    strange = pod('nul', '10.0.0.7')
    strange['metadata']['annotations'] = {'a': 'x\0y'}
    k.put('pods', strange)
    many = pod('many', '10.0.0.8')
    many['metadata']['annotations'] = {f'a{i}': 'x' for i in range(3000)}
    k.put('pods', many)
    k.remove('pods', 'p0', 'shop')
    wait_until('all changes', 60, lambda: addresses(e) == ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.7:80', '10.0.0.8:80'])
    by_name = {t[META + 'pod_name']: t for t in found(e)}
    assert by_name['nul'][META + 'pod_annotation_a'] == 'x\0y'
    assert by_name['many'][META + 'pod_annotation_a2999'] == 'x'
    e.finish()
    k.stop()


@suite.test
def a_busy_server_is_left_alone_as_long_as_it_says(d):
    k = with_pods()
    k.trouble = lambda r, *_: say(r, status(429), 429, Retry_After='8') or True
    e = start(d, pods={'role': 'pod', 'api_server': k.url})
    wait_until('failures', 30, lambda: failed(e))
    time.sleep(2.5)
    assert len(k.asked) == 1, k.asked
    k.trouble = None
    wait_until('pods', 60, lambda: len(addresses(e)) == 3)
    k.stop()


@suite.test
def duplicate_and_late_events_change_nothing(d):
    k, e = with_targets(d)
    with k.changed:
        for _ in range(50):
            k.version += 1
            k.changes.append((k.version, 'pods', 'ADDED', k.objects['pods'][('shop', 'p1')]))
            k.changes.append((k.version, 'pods', 'DELETED', pod('never', '10.1.1.1')))
        k.changed.notify_all()
    k.put('pods', pod('last', '10.0.0.50'))
    wait_until(
        'the last event', 30, lambda: addresses(e) == ['10.0.0.0:80', '10.0.0.1:80', '10.0.0.2:80', '10.0.0.50:80']
    )
    k.stop()


@suite.test
def namespaces_and_selectors_limit_what_is_asked_for(d):
    k = with_pods()
    k.put('pods', pod('other', '10.2.0.1', 'billing'))
    k.put('pods', pod('third', '10.3.0.1', 'third'))
    e = start(
        d,
        pods={
            'role': 'pod',
            'api_server': k.url,
            'namespaces': {'names': ['shop', 'billing', 'shop']},
            'selectors': [
                {'role': 'pod', 'label': 'a=b,!c', 'field': 'spec.nodeName=alder'},
                {'role': 'node', 'label': 'disk in (ssd, hdd)'},
            ],
        },
    )
    wait_until('pods', 30, lambda: len(addresses(e)) == 4)
    wait_until('watches', 30, lambda: sum('watch' in q for _, _, q, _ in k.asked) == 2)
    assert sorted((r, ns) for r, ns, q, _ in k.asked if 'watch' not in q) == [('pods', 'billing'), ('pods', 'shop')]
    assert all(q['labelSelector'] == 'a=b,!c' and q['fieldSelector'] == 'spec.nodeName=alder' for _, _, q, _ in k.asked)
    # An object of one namespace is not removed by the list of another.
    k.forget()
    k.drop_watches()
    k.remove('pods', 'other', 'billing')
    wait_until('pods', 60, lambda: len(addresses(e)) == 3)
    e.finish()
    # With a selector for nodes, pods of other nodes are left out.
    k.put('nodes', {'metadata': {'name': 'birch', 'labels': {'disk': 'ssd'}}, 'status': {}})
    e = start(
        d,
        pods={
            'role': 'pod',
            'api_server': k.url,
            'attach_metadata': {'node': True},
            'selectors': [{'role': 'node', 'label': 'disk=ssd'}],
        },
    )
    on_birch = pod('p7', '10.0.0.7')
    on_birch['spec']['nodeName'] = 'birch'
    k.put('pods', on_birch)
    wait_until('a pod', 30, lambda: addresses(e) == ['10.0.0.7:80'])
    assert found(e)[0][META + 'node_label_disk'] == 'ssd'
    k.stop()


@suite.test
def a_resource_that_may_not_be_listed_is_named(d):
    k = with_pods()
    k.trouble = lambda r, resource, _: resource == 'services' and (say(r, status(403), 403) or True)
    e = start(d, ends={'role': 'endpoints', 'api_server': k.url}, pods={'role': 'pod', 'api_server': k.url})
    wait_until('pods', 30, lambda: len(addresses(e)) == 3)
    wait_until('failures', 30, lambda: failed(e))
    assert re.search('services: .*403.*: the account needs the rights to list and to watch', e.text()), e.text()
    k.stop()


def kubeconfig(path, k, user, cluster=(), context='c'):
    text = {
        'apiVersion': 'v1',
        'kind': 'Config',
        'current-context': context,
        'preferences': {},
        'contexts': [
            {'name': 'other', 'context': {}},
            {'name': 'c', 'context': {'cluster': 'k', 'user': 'u', 'namespace': 'ignored'}},
        ],
        'clusters': [{'name': 'k', 'cluster': {'server': k.url, **dict(cluster)}}],
        'users': [{'name': 'u', 'user': user}],
    }
    with open(path, 'w') as f:
        json.dump(text, f)
    return {'role': 'pod', 'kubeconfig_file': os.path.basename(path)}


def data(path):
    with open(path, 'rb') as f:
        return base64.b64encode(f.read()).decode()


@suite.test
def a_kubeconfig_file_logs_in(d):
    ca = Authority(d)
    cert, key = ca.sign('kube', 'IP:127.0.0.1')
    mine, mine_key = ca.sign('everprof')
    k = with_pods(tls=(cert, key))
    k.tokens = ['Bearer first']
    with open(f'{d}/token', 'w') as f:
        f.write('first\n')
    tls = {'certificate-authority': os.path.basename(ca.cert)}
    entry = kubeconfig(f'{d}/config', k, {'tokenFile': 'token'}, tls)
    e = start(d, pods=entry)
    wait_until('pods', 30, lambda: len(addresses(e)) == 3)
    # The token expires, and the file has a new one.
    k.tokens = ['Bearer second']
    k.drop_watches()
    wait_until('failures', 30, lambda: failed(e))
    with open(f'{d}/token', 'w') as f:
        f.write('second')
    k.put('pods', pod('p0', '10.0.8.8'))
    wait_until('the new token', 60, lambda: '10.0.8.8:80' in addresses(e))
    # The kubeconfig file changes: other credentials, as another user.
    k.tokens = ['Basic ' + base64.b64encode(b'me:pw').decode()]
    kubeconfig(
        f'{d}/config',
        k,
        {'username': 'me', 'password': 'pw', 'as': 'you', 'as-groups': ['g1', 'g2']},
        {'certificate-authority-data': data(ca.cert)},
    )
    k.drop_watches()
    k.put('pods', pod('p0', '10.0.8.9'))
    wait_until('the new file', 60, lambda: '10.0.8.9:80' in addresses(e))
    headers = k.asked[-1][3]
    assert headers['Impersonate-User'] == 'you' and headers.get_all('Impersonate-Group') == ['g1', 'g2']
    e.finish()
    k.stop()
    # A client certificate.
    k = with_pods(tls=(cert, key, ca.cert))
    entry = kubeconfig(
        f'{d}/config', k, {'client-certificate-data': data(mine), 'client-key-data': data(mine_key)}, tls
    )
    e = start(d, pods=entry)
    wait_until('pods', 30, lambda: len(addresses(e)) == 3)
    k.stop()


PLUGIN = '''#!/bin/sh
echo run >>"$(dirname "$0")/runs"
[ -n "$TOKEN" ] || exit 3
cat >"$(dirname "$0")/stdin"
printf '%s' "$KUBERNETES_EXEC_INFO" >"$(dirname "$0")/info"
token=$(cat "$(dirname "$0")/token")
printf '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": %s}' "$token"
'''


@suite.test
def a_credential_plugin_logs_in(d):
    ca = Authority(d)
    cert, key = ca.sign('kube', 'IP:127.0.0.1')
    k = with_pods(tls=(cert, key))
    k.tokens = ['Bearer t1']

    def plugin(text, status_):
        with open(f'{d}/plugin', 'w') as f:
            f.write(text)
        os.chmod(f'{d}/plugin', 0o755)
        with open(f'{d}/token', 'w') as f:
            json.dump(status_, f)

    def runs():
        with open(f'{d}/runs') as f:
            return len(f.readlines())

    plugin(PLUGIN, {'token': 't1'})
    exec_ = {
        'apiVersion': 'client.authentication.k8s.io/v1',
        'command': './plugin',
        'args': ['a b'],
        'env': [{'name': 'TOKEN', 'value': 'yes'}],
        'interactiveMode': 'Never',
        'provideClusterInfo': True,
        'installHint': 'install the plugin',
    }
    entry = kubeconfig(f'{d}/config', k, {'exec': exec_}, {'certificate-authority-data': data(ca.cert)})
    e = start(d, pods=entry)
    wait_until('pods', 30, lambda: len(addresses(e)) == 3)
    assert runs() == 1
    with open(f'{d}/info') as f:
        info = json.load(f)
    assert info['spec']['interactive'] is False and info['spec']['cluster']['server'] == k.url, info
    # The server refuses the token, and the plugin prints another one.
    k.tokens = ['Bearer t2']
    plugin(PLUGIN, {'token': 't2', 'expirationTimestamp': '2001-01-01T00:00:00Z'})
    k.drop_watches()
    k.put('pods', pod('p0', '10.0.8.8'))
    wait_until('the new token', 60, lambda: '10.0.8.8:80' in addresses(e))
    assert runs() <= 4
    assert 't2' not in e.text() and 't1' not in e.text().replace('/t1', '')
    e.finish()
    k.stop()


@suite.test
def a_credential_plugin_that_fails_is_named(d):
    k = with_pods()
    k.url = 'https://127.0.0.1:1'
    exec_ = {
        'apiVersion': 'client.authentication.k8s.io/v1',
        'interactiveMode': 'Never',
        'installHint': 'install the plugin',
    }
    says = {
        'echo \'{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1"}\'': 'neither a token nor',
        'echo \'{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", '
        '"status": {"clientKeyData": "x"}}\'': 'only one of',
        'exit 7': 'exit code 7',
        'echo hello': 'ExecCredential in JSON',
        'kill -9 $$': 'signal 9',
        'echo \'{"kind": "ExecCredential", "apiVersion": "v0"}\'': 'does not have the apiVersion',
        'yes': 'prints more than 1 MB',
        'no-such-plugin': 'install the plugin',
        'sleep 1000 & wait': None,
        # It leaves its process group.
        f'exec python3 -c "import os, time; os.setpgid(0, os.getpgid(os.getppid())); '
        f'open(\'{d}/left\', \'w\').write(str(os.getpid())); time.sleep(1000)"': None,
    }
    jobs = {}
    for i, script in enumerate(says):
        command = f'./plugin{i}' if script != 'no-such-plugin' else script
        with open(f'{d}/plugin{i}', 'w') as f:
            f.write(f'#!/bin/sh\necho >>{d}/runs{i}\n{script}\n')
        os.chmod(f'{d}/plugin{i}', 0o755)
        jobs[f'j{i}'] = kubeconfig(f'{d}/config{i}', k, {'exec': {**exec_, 'command': command}})
    e = start(d, **jobs)
    for text in says.values():
        if text:
            wait_until(text, 60, lambda: text in e.text())
    # It is not run all the time, and one that hangs is killed when everprof stops.
    for i, text in enumerate(says.values()):
        if os.path.exists(f'{d}/runs{i}'):
            with open(f'{d}/runs{i}') as f:
                assert len(f.readlines()) <= (3 if text else 1)
    pid = wait_until('the last plugin', 60, lambda: os.path.exists(f'{d}/left') and open(f'{d}/left').read())
    e.finish()
    assert not os.path.exists(f'/proc/{pid}'), 'the plugin outlived everprof'
    k.stop()


@suite.test
def a_new_kubeconfig_file_replaces_a_plugin_that_runs(d):
    ca = Authority(d)
    k = with_pods(tls=ca.sign('kube', 'IP:127.0.0.1'))
    k.tokens = ['Bearer t1']
    with open(f'{d}/plugin', 'w') as f:
        f.write(f'#!/bin/sh\necho >>{d}/runs\n[ -e {d}/token ] || exec sleep 1000\ncat {d}/token\n')
    os.chmod(f'{d}/plugin', 0o755)
    with open(f'{d}/token', 'w') as f:
        json.dump(
            {'kind': 'ExecCredential', 'apiVersion': 'client.authentication.k8s.io/v1', 'status': {'token': 't1'}}, f
        )
    cluster = {'certificate-authority-data': data(ca.cert)}
    entry = kubeconfig(
        f'{d}/config',
        k,
        {'exec': {'apiVersion': 'client.authentication.k8s.io/v1', 'command': './plugin', 'interactiveMode': 'Never'}},
        cluster,
    )
    e = start(d, ends={**entry, 'role': 'endpoints'})
    wait_until(
        'watches', 30, lambda: {r for r, _, q, _ in k.asked if 'watch' in q} == {'pods', 'services', 'endpoints'}
    )
    # The credential is refused for pods alone, and the plugin hangs: this watch waits.
    os.remove(f'{d}/token')
    k.trouble = lambda r, resource, _: resource == 'pods' and (say(r, status(401), 401) or True)
    time.sleep(6)
    k.drop_watches()

    def runs():
        with open(f'{d}/runs') as f:
            return len(f.readlines())

    wait_until('the plugin', 60, lambda: runs() == 2)
    # The other watches end, and find a file without a plugin.
    k.trouble = None
    kubeconfig(f'{d}/config', k, {'token': 't1'}, cluster)
    before = len(k.asked)
    k.drop_watches()
    wait_until('pods', 60, lambda: any(r == 'pods' for r, _, _, _ in k.asked[before:]))
    e.finish()
    k.stop()


@suite.test
def mistakes_in_a_kubeconfig_file_are_named(d):
    k = with_pods()
    v1 = {'apiVersion': 'client.authentication.k8s.io/v1', 'command': 'x', 'interactiveMode': 'Never'}
    cases = (
        ({}, (), 'there is no context "none"', 'none'),
        ({'token': 'a', 'username': 'b'}, (), 'more than one', 'c'),
        ({}, {'server': ''}, 'the cluster has no "server"', 'c'),
        ({}, {'certificate-authority-data': '?'}, 'not base64', 'c'),
        ({'client-key': 'a'}, (), 'only one of client-certificate', 'c'),
        ({'auth-provider': {'name': 'gcp'}}, (), 'auth-provider', 'c'),
        ({'exec': {**v1, 'apiVersion': 'v0'}}, (), 'apiVersion "v0"', 'c'),
        ({'exec': {**v1, 'command': ''}}, (), 'command is missing', 'c'),
        ({'exec': {**v1, 'interactiveMode': 'Always'}}, (), 'without a terminal', 'c'),
        ({'exec': {'apiVersion': v1['apiVersion'], 'command': 'x'}}, (), 'interactiveMode is missing', 'c'),
        ({}, {'insecure-skip-tls-verify': True, 'certificate-authority': 'x'}, 'cannot be combined', 'c'),
    )
    e = start(
        d,
        **{
            f'j{i}': kubeconfig(f'{d}/config{i}', k, user, cluster, context)
            for i, (user, cluster, _, context) in enumerate(cases)
        },
        none={'role': 'pod', 'kubeconfig_file': 'missing'},
    )
    for _, _, says, _ in cases:
        wait_until(says, 30, lambda: says.replace('"', '\\"') in e.text())
    wait_until('a missing file', 30, lambda: 'missing' in e.text())
    k.stop()


@suite.test
def outside_of_a_pod_an_api_server_is_needed(d):
    e = start(d, pods={'role': 'pod'})
    wait_until('a message', 30, lambda: 'set api_server or kubeconfig_file' in e.text())
    e.finish()
    e = start(d, pods={'role': 'pod', 'namespaces': {'own_namespace': True}})
    wait_until('a message', 30, lambda: 'own_namespace needs the namespace of the pod' in e.text())


@suite.test
def mistakes_in_the_configuration_are_named(d):
    pods = 'role: pod, api_server: http://x'
    cases = {
        '{}': 'role missing (one of',
        '{role: Pod}': 'unknown role Pod',
        '{role: pod, api_server: x}': 'must begin with http',
        '{role: pod, refresh_interval: 1s}': 'refresh_interval',
        f'{{{pods}, kubeconfig_file: y}}': 'kubeconfig_file and api_server cannot',
        '{role: pod, bearer_token: x}': 'require the URL of the api_server',
        '{role: pod, kubeconfig_file: y, tls_config: {insecure_skip_verify: true}}': 'cannot be used together',
        f'{{{pods}, namespaces: {{own_namespace: true}}}}': 'own_namespace and api_server',
        f'{{{pods}, namespaces: {{name: [a]}}}}': 'field name',
        f'{{{pods}, selectors: [{{role: pod}}, {{role: pod}}]}}': 'duplicated selector role: pod',
        f'{{{pods}, selectors: [{{role: service}}]}}': 'the role pod has no use for a selector with role service',
        f'{{{pods}, selectors: [{{role: x}}]}}': 'selectors: unknown role',
        f'{{{pods}, selectors: [{{role: pod, label: "a=="}}, {{role: node, label: "in (a"}}]}}': 'not a label selector',
        f'{{{pods}, selectors: [{{role: pod, field: a}}]}}': 'not a field selector',
        f'{{{pods}, attach_metadata: {{nodes: true}}}}': 'field nodes',
    }
    for text, says in cases.items():
        with open(f'{d}/c.yaml', 'w') as f:
            f.write(f'scrape_configs:\n- job_name: a\n  kubernetes_sd_configs: [{text}]\n')
        done = run('check', 'config', f'{d}/c.yaml', check=False)
        assert done.returncode == 1 and says in done.stderr, (text, done.stderr)
    with open(f'{d}/c.yaml', 'w') as f:
        f.write('scrape_configs:\n- job_name: a\n  kubernetes_sd_configs: [{role: pod, follow_redirects: true}]\n')
    run('check', 'config', f'{d}/c.yaml')


@suite.test
def names_of_containers_are_asked_for_this_node_alone(d):
    """The section ebpf; this needs no eBPF."""
    k = Kube()
    container = pod('web-1', '10.0.0.1')
    container['status']['containerStatuses'] = [{'name': 'c', 'containerID': 'containerd://c1'}]
    k.put('pods', container)
    secret = {'credentials': 'very-secret'}
    entries = [
        {
            'role': 'pod',
            'api_server': k.url,
            'authorization': secret,
            'selectors': [{'role': 'pod', 'field': 'spec.nodeName=${NODE_NAME},status.phase=${PHASE}'}],
        },
        {'role': 'pod', 'api_server': k.url + '/', 'selectors': [{'role': 'pod', 'label': 'a=b'}]},
    ]
    text = f'ebpf: {{enabled: true, kubernetes_sd_configs: {json.dumps(entries)}}}'
    with open(f'{d}/c.yaml', 'w') as f:
        f.write(text)
    done = run('check', 'config', f'{d}/c.yaml')
    assert done.returncode and 'the environment variable NODE_NAME is not set' in done.stderr, done
    os.environ.update(NODE_NAME='alder', PHASE='Running')
    try:
        e = Everprof(d, text, ('--log.level=debug',)).ready()
    finally:
        del os.environ['NODE_NAME'], os.environ['PHASE']
    wait_until('a container', 20, lambda: 'names of containers" containers=1' in e.text())
    wait_until(
        'lists',
        20,
        lambda: {(q.get('fieldSelector'), q.get('labelSelector')) for _, _, q, _ in k.asked}
        == {('spec.nodeName=alder,status.phase=Running', None), (None, 'a=b')},
    )
    shown = e.get('/api/v1/status/config').body.decode()
    assert 'very-secret' not in shown and 'very-secret' not in e.text() and '<secret>' in shown, shown
    e.finish()
    k.stop()


suite.main()
