#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""everprof and Prometheus 3.16 beside a real API server of Kubernetes, a real Consul and a real Nomad: they
find the same targets.
The manifests of examples/kubernetes: the API server accepts them, and an agent works with their rights alone.
tests/peers.sh has built the programs."""
import json
import os
import re
import shutil
import ssl
import subprocess

import sd_peer
from certs import Authority
from harness import BINARY, ROOT, Everprof, Process, Suite, free_port, wait_until
from sd_peer import NOT_SCRAPED, request, wait_ready, wait_same

suite = Suite()
BIN = os.path.join(ROOT, 'build/peers/bin')
sd_peer.PROMETHEUS = f'{BIN}/prometheus'
TOKEN = 'admin-token-of-the-test'


class Kubernetes:
    """An API server with etcd."""

    def __init__(self, d):
        etcd, peer, port = free_port(), free_port(), free_port()
        self.authority = Authority(d)
        self.ca = self.authority.cert
        names = 'DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1'
        cert, key = self.authority.sign('server', names)
        with open(f'{d}/tokens.csv', 'w') as f:
            f.write(f'{TOKEN},admin,admin,system:masters\n')
        self.etcd = Process(
            [
                '/usr/bin/etcd',
                f'--data-dir={d}/etcd',
                f'--listen-client-urls=http://127.0.0.1:{etcd}',
                f'--advertise-client-urls=http://127.0.0.1:{etcd}',
                f'--listen-peer-urls=http://127.0.0.1:{peer}',
                f'--initial-advertise-peer-urls=http://127.0.0.1:{peer}',
                f'--initial-cluster=default=http://127.0.0.1:{peer}',
            ],
            f'{d}/etcd.log',
        )
        self.server = Process(
            [
                f'{BIN}/kube-apiserver',
                f'--etcd-servers=http://127.0.0.1:{etcd}',
                '--bind-address=127.0.0.1',
                f'--secure-port={port}',
                f'--tls-cert-file={cert}',
                f'--tls-private-key-file={key}',
                f'--token-auth-file={d}/tokens.csv',
                '--service-account-issuer=https://kubernetes.default.svc',
                f'--service-account-key-file={key}',
                f'--service-account-signing-key-file={key}',
                '--authorization-mode=RBAC',
                '--service-cluster-ip-range=10.96.0.0/24',
                '--allow-privileged=true',
                f'--cert-dir={d}/certs',
                '--disable-admission-plugins=ServiceAccount',
            ],
            f'{d}/apiserver.log',
        )
        self.port, self.url = port, f'https://127.0.0.1:{port}'
        self.context = ssl.create_default_context(cafile=self.ca)
        wait_ready('the API server', lambda: self.call('/api/v1/namespaces/default')[0] == 200)

    def call(self, path, data=None, method=None, token=TOKEN, kind='application/json'):
        return request(
            self.url + path, data, method, {'Authorization': f'Bearer {token}', 'Content-Type': kind}, self.context
        )

    def make(self, path, o, status=None):
        code, answer = self.call(path, o)
        assert code == 201, (path, code, answer)
        if status:
            code, answer = self.call(
                f'{path}/{o["metadata"]["name"]}/status',
                {'status': status},
                'PATCH',
                kind='application/merge-patch+json',
            )
            assert code == 200, (path, code, answer)

    def entry(self, role, **keys):
        text = json.dumps(
            {
                'role': role,
                'api_server': self.url,
                'authorization': {'credentials': TOKEN},
                'tls_config': {'ca_file': self.ca},
                **keys,
            }
        )
        return f'  kubernetes_sd_configs:\n  - {text}{NOT_SCRAPED}'

    def stop(self):
        self.server.stop()
        self.etcd.stop()


def fill(k, namespace='shop', ready=True):
    """A node, pods, services with endpoints and slices, and an ingress."""
    meta = lambda name, **more: {'name': name, 'labels': {'app': name, 'a.b/c-d': 'e'}, **more}
    base = f'/api/v1/namespaces/{namespace}'
    k.make('/api/v1/namespaces', {'metadata': meta(namespace, annotations={'owner': 'x y'})})
    k.make(
        '/api/v1/nodes',
        {'metadata': meta(f'node-{namespace}'), 'spec': {'providerID': 'p://1'}},
        {
            'addresses': [{'type': 'InternalIP', 'address': '10.1.1.1'}, {'type': 'Hostname', 'address': 'h'}],
            'conditions': [{'type': 'Ready', 'status': 'True'}],
            'daemonEndpoints': {'kubeletEndpoint': {'Port': 10250}},
        },
    )
    for i, name in enumerate(('web', 'db')):
        ports = [{'name': 'http', 'containerPort': 8080}, {'name': 'x', 'containerPort': 53, 'protocol': 'UDP'}]
        k.make(
            f'{base}/pods',
            {
                'metadata': meta(name, annotations={'everprof.io/scrape': 'true'}),
                'spec': {
                    'nodeName': f'node-{namespace}',
                    'initContainers': [{'name': 'init', 'image': 'i:1'}],
                    'containers': [{'name': 'main', 'image': 'm:1', 'ports': ports}, {'name': 'side', 'image': 's:2'}],
                },
            },
            {
                'phase': 'Running',
                'podIP': f'10.2.0.{i}',
                'podIPs': [{'ip': f'10.2.0.{i}'}],
                'hostIP': '10.1.1.1',
                'hostIPs': [{'ip': '10.1.1.1'}],
                'conditions': [{'type': 'Ready', 'status': str(ready)}],
                'containerStatuses': [
                    {
                        'name': 'main',
                        'ready': True,
                        'restartCount': 0,
                        'image': 'm:1',
                        'imageID': '',
                        'containerID': f'containerd://{i:064x}',
                        'state': {'running': {}},
                    }
                ],
            },
        )
        k.make(
            f'{base}/services',
            {
                'metadata': meta(name),
                'spec': {
                    'ports': [
                        {'name': 'http', 'port': 80, 'targetPort': 'http'},
                        {'name': 'dns', 'port': 53, 'protocol': 'UDP'},
                    ]
                },
            },
        )
        ref = {'kind': 'Pod', 'name': name, 'namespace': namespace}
        k.make(
            f'{base}/endpoints',
            {
                'metadata': meta(name),
                'subsets': [
                    {
                        'addresses': [{'ip': f'10.2.0.{i}', 'nodeName': f'node-{namespace}', 'targetRef': ref}],
                        'notReadyAddresses': [{'ip': '10.2.9.9'}],
                        'ports': [{'name': 'http', 'port': 8080}],
                    }
                ],
            },
        )
        k.make(
            f'/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices',
            {
                'metadata': {'name': f'{name}-1', 'labels': {'kubernetes.io/service-name': name}},
                'addressType': 'IPv4',
                'ports': [{'name': 'http', 'port': 8080}],
                'endpoints': [
                    {
                        'addresses': [f'10.2.0.{i}'],
                        'nodeName': f'node-{namespace}',
                        'zone': 'z1',
                        'targetRef': ref,
                        'conditions': {'ready': True, 'serving': True, 'terminating': False},
                    }
                ],
            },
        )
    for name, wanted, status in (
        ('two', '192.0.2.1', [{'ip': '192.0.2.8'}, {'ip': '2001:db8::8'}]),
        ('wanted', '192.0.2.1', []),
        ('named', '', [{'hostname': 'lb.example'}]),
    ):
        k.make(
            f'{base}/services',
            {
                'metadata': meta(name),
                'spec': {'type': 'LoadBalancer', 'loadBalancerIP': wanted, 'ports': [{'name': 'http', 'port': 80}]},
            },
            {'loadBalancer': {'ingress': [{'ipMode': 'VIP', **s} if 'ip' in s else s for s in status]}},
        )
    k.make(
        f'{base}/services',
        {
            'metadata': meta('outside'),
            'spec': {'type': 'ExternalName', 'externalName': 'db.example', 'ports': [{'port': 5432}]},
        },
    )
    backend = {'service': {'name': 'web', 'port': {'number': 80}}}
    k.make(
        f'/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses',
        {
            'metadata': meta('front'),
            'spec': {
                'ingressClassName': 'nginx',
                'tls': [{'hosts': ['a.example']}],
                'rules': [
                    {'host': h, 'http': {'paths': [{'path': '/x', 'pathType': 'Prefix', 'backend': backend}]}}
                    for h in ('a.example', 'b.example')
                ],
            },
        },
    )


@suite.test
def kubernetes_targets_are_those_of_prometheus(d):
    k = Kubernetes(d)
    fill(k)
    roles = ('node', 'pod', 'service', 'endpoints', 'endpointslice', 'ingress')
    jobs = {role: k.entry(role) for role in roles}
    jobs.update(
        attached=k.entry('pod', attach_metadata={'node': True, 'namespace': True}),
        selected=k.entry('pod', selectors=[{'role': 'pod', 'label': 'app=web', 'field': 'status.phase=Running'}]),
        elsewhere=k.entry('service', namespaces={'names': ['shop', 'more']}),
    )
    e, p = Everprof(d, sd_peer.configuration(jobs)).ready(), sd_peer.Prometheus(d, jobs)
    first = wait_same(e, p, jobs, 40)
    fill(k, 'more', ready=False)
    wait_same(e, p, jobs, first + 30)
    # Without its controller, endpoints would stay, and Prometheus would keep the labels of the pod for them.
    slices = '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/db-1'
    for path in (
        '/api/v1/namespaces/shop/pods/db?gracePeriodSeconds=0',
        '/api/v1/namespaces/shop/endpoints/db',
        slices,
        '/api/v1/namespaces/more/services/web',
    ):
        assert k.call(path, method='DELETE')[0] == 200, path
    assert (
        k.call(
            '/api/v1/nodes/node-shop',
            {'metadata': {'labels': {'new': 'one'}}},
            'PATCH',
            kind='application/merge-patch+json',
        )[0]
        == 200
    )
    wait_until(
        'fewer targets',
        60,
        lambda: not any(
            dict(l).get('__meta_kubernetes_pod_name') == 'db' and dict(l)['__meta_kubernetes_namespace'] == 'shop'
            for _, l in sd_peer.discovered(p.targets(), ['pod'])
        ),
    )
    print('kubernetes:', wait_same(e, p, jobs, first), 'targets')
    e.finish()
    p.stop()
    k.stop()


def documents(text):
    """(path, YAML) of each object."""
    plural = lambda kind: kind.lower() + 's'
    for part in re.split(r'^---\n', text, flags=re.M):
        find = lambda key: (re.search(rf'^{key}: (\S+)', part, re.M) or [0, ''])[1]
        version, kind, namespace = find('apiVersion'), find('kind'), find('  namespace')
        if kind:
            prefix = 'apis/' if '/' in version else 'api/'
            where = f'namespaces/{namespace}/' if namespace else ''
            yield f'/{prefix}{version}/{where}{plural(kind)}', part


def check_config(d, text):
    """everprof accepts the configuration in a ConfigMap."""
    found = re.search(r'^  everprof.yaml: \|\n((?:    .*\n)*)', text, re.M)
    if not found:
        return
    with open(f'{d}/checked.yaml', 'w') as f:
        f.write(re.sub('^    ', '', found[1], flags=re.M))
    done = subprocess.run(
        [BINARY, 'check', 'config', f'{d}/checked.yaml'],
        capture_output=True,
        text=True,
        env={**os.environ, 'NODE_NAME': 'alder'},
    )
    assert not done.returncode, (found[1], done)


# Values of the chart: a scrape job, and a rule for nodes.
MORE = {'job_name': 'more', 'static_configs': [{'targets': ['shop.example:6060']}]}
AFFINITY = {
    'nodeAffinity': {
        'requiredDuringSchedulingIgnoredDuringExecution': {
            'nodeSelectorTerms': [{'matchExpressions': [{'key': 'disk', 'operator': 'In', 'values': ['ssd']}]}]
        }
    }
}


VOLUME = {
    'extraVolumes': [{'name': 'ca', 'configMap': {'name': 'ca'}}],
    'extraVolumeMounts': [{'name': 'ca', 'mountPath': '/etc/everprof-ca'}],
}
# All other values that add something to a pod.
BOTH = {
    **VOLUME,
    'env': [{'name': 'A', 'value': 'b'}],
    'podLabels': {'team': 'x'},
    'podAnnotations': {'a/b': 'c'},
    'priorityClassName': 'system-node-critical',
}
EVERYTHING = {
    'image': {'arch': ''},
    'central': {
        **BOTH,
        'extraArgs': ['--query.timeout=60s'],
        'updateStrategy': {'type': 'OnDelete'},
        'service': {'type': 'NodePort', 'annotations': {'a/b': 'c'}},
    },
    'agent': {
        **BOTH,
        'extraArgs': ['--log.level=debug'],
        'remoteWrite': 'https://a.example/api/v1/write',
        'remoteWriteOptions': {'remote_timeout': '30s'},
        'extraCapabilities': ['SYS_RESOURCE'],
        'seccompProfile': {'type': 'Unconfined'},
        'seLinuxOptions': {'type': 'spc_t'},
        'hostPath': '/srv/everprof',
    },
}


@suite.test
def manifests_are_accepted_and_agents_work_with_their_rights(d):
    chart, plain = f'{ROOT}/examples/kubernetes/everprof', f'{ROOT}/examples/kubernetes/everprof.yaml'

    def template(*flags, fails=False):
        done = subprocess.run(
            [f'{BIN}/helm', 'template', 'everprof', chart, '--namespace', 'everprof', '--kube-version', '1.30', *flags],
            capture_output=True,
            text=True,
        )
        assert bool(done.returncode) == fails, done
        return done.stderr if fails else done.stdout

    with open(plain) as f:
        text = f.read()
    assert text.partition('---')[2] == template().partition('---')[2], 'everprof.yaml is not what the chart makes'
    k = Kubernetes(d)
    k.make(
        '/api/v1/namespaces',
        {'metadata': {'name': 'everprof', 'labels': {'pod-security.kubernetes.io/enforce': 'privileged'}}},
    )
    values = f'{d}/values.yaml'
    with open(values, 'w') as f:
        json.dump(
            {
                'image': {'pullSecrets': [{'name': 'registry'}]},
                'central': {'scrapeConfigs': [MORE], 'affinity': AFFINITY, 'tolerations': [{'operator': 'Exists'}]},
                'agent': {'scrapeConfigs': [MORE], 'affinity': AFFINITY},
            },
            f,
        )
    everything = f'{d}/everything.yaml'
    with open(everything, 'w') as f:
        json.dump(EVERYTHING, f)
    dry = '?dryRun=All&fieldValidation=Strict'
    variants = [
        text,
        template('--set', 'agent.ebpf=false,agent.scrape=false,central.storageClass=fast'),
        template('--set', 'central.enabled=false,agent.remoteWrite=https://a.example/api/v1/write'),
        template('--values', everything),
        template('--values', values),
    ]
    assert 'set agent.remoteWrite' in template('--set', 'central.enabled=false', fails=True)
    # What would be ignored, or fill the volume, is refused.
    for wrong, reason in (
        ('central.retentionSise=1GB', "'retentionSise' not allowed"),
        ('agnet.ebpf=false', "'agnet' not allowed"),
        ('central.storage=20GB', 'does not match'),
        ('agent.scrapeInterval=soon', 'does not match'),
        ('central.retentionSize=20GB', 'does not fit into central.storage=20Gi'),
        ('central.storage=5Gi,central.retentionSize=18GB', 'does not fit into central.storage=5Gi'),
    ):
        assert reason in template('--set', wrong, fails=True), wrong
    for size, retention in (('5Gi', '4608MiB'), ('1.5Ti', '1415577MiB'), ('500G', '429153MiB')):
        assert f'retention.size={retention}\n' in template('--set', f'central.storage={size}'), size
    # Before Kubernetes 1.30, AppArmor has no field, and without eBPF nothing needs it.
    old = template('--kube-version', '1.29')
    assert 'beta.kubernetes.io/everprof: unconfined' in old and 'appArmorProfile' not in old
    assert 'pparmor' not in template('--set', 'agent.ebpf=false').lower()
    other = template('--namespace', 'other')
    assert 'path: /var/lib/everprof-agent/other.everprof,' in other
    for variant in variants:
        for path, one in documents(variant):
            code, answer = k.call(path + dry, one, kind='application/yaml')
            assert code == 201, (path, code, answer)
            check_config(d, one)
    assert variants[-1].count('job_name: more') == 2 and variants[-1].count('registry') == 2
    for path, one in documents(text):
        code, answer = k.call(path, one, kind='application/yaml')
        assert code == 201, (path, code, answer)
    fill(k)
    k.make('/api/v1/namespaces', {'metadata': {'name': 'other'}})
    k.make(
        '/api/v1/namespaces/other/pods',
        {
            'metadata': {'name': 'far', 'annotations': {'everprof.io/scrape': 'true'}},
            'spec': {'nodeName': 'far', 'containers': [{'name': 'c', 'image': 'i'}]},
        },
    )
    _, answer = k.call(
        '/api/v1/namespaces/everprof/serviceaccounts/everprof-agent/token',
        {'apiVersion': 'authentication.k8s.io/v1', 'kind': 'TokenRequest', 'spec': {}},
    )
    token = answer['status']['token']
    for path, code in (
        ('/api/v1/pods', 200),
        ('/api/v1/namespaces/shop/pods/web', 403),
        ('/api/v1/nodes', 403),
        ('/api/v1/secrets', 403),
        ('/api/v1/namespaces', 403),
    ):
        assert k.call(path, token=token)[0] == code, path
    # The agent, in a name space of mounts with the token of its service account, as in a pod.
    account = f'{d}/account'
    os.mkdir(account)
    shutil.copy(k.ca, f'{account}/ca.crt')
    for name, content in (('token', token), ('namespace', 'everprof')):
        with open(f'{account}/{name}', 'w') as f:
            f.write(content)
    configs = [one for path, one in documents(text) if path.endswith('configmaps') and 'ebpf:' in one]
    config = re.search(r'  everprof.yaml: \|\n((?:    .*\n)*)', configs[0])[1].replace('\n    ', '\n')[4:]
    with open(f'{d}/agent.yaml', 'w') as f:
        f.write(config.replace('/etc/everprof-tokens/', f'{account}/').replace('write-token', 'token'))
    port = free_port()
    mounts = '/run/secrets/kubernetes.io/serviceaccount'
    agent = Process(
        [
            'unshare',
            '-m',
            'sh',
            '-c',
            f'mount -t tmpfs none /run && mkdir -p {mounts} && '
            f'cp {account}/* {mounts} && exec env NODE_NAME=node-shop KUBERNETES_SERVICE_HOST=127.0.0.1 '
            f'KUBERNETES_SERVICE_PORT={k.port} {BINARY} agent --config.file={d}/agent.yaml --log.level=debug '
            f'--storage.agent.path={d}/wal --web.listen-address=127.0.0.1:{port}',
        ],
        f'{d}/agent.log',
    )

    def pods():
        try:
            data = request(f'http://127.0.0.1:{port}/api/v1/targets')[1]['data']
        except OSError:
            return set()
        return (
            {
                (t['labels']['namespace'], t['labels']['pod'], t['labels']['node'], t['labels']['app'])
                for t in data['activeTargets']
            }
            if data['activeTargets']
            else set()
        )

    try:
        wait_until(
            'pods of the node',
            60,
            lambda: {p[:3] for p in pods()} == {('shop', 'web', 'node-shop'), ('shop', 'db', 'node-shop')},
        )
        wait_until('names of containers', 60, lambda: 'names of containers" containers=2' in agent.text())
    except KeyError:
        pass
    except AssertionError as error:
        raise AssertionError(f'{error}: {pods()}\n{agent.text()[-3000:]}') from error
    agent.stop()
    k.stop()


@suite.test
def consul_targets_are_those_of_prometheus(d):
    ports = [free_port() for _ in range(5)]
    consul = Process(
        [
            f'{BIN}/consul',
            'agent',
            '-dev',
            '-node=node1',
            '-datacenter=dc1',
            '-node-meta=rack:r1',
            '-bind=127.0.0.1',
            '-client=127.0.0.1',
            f'-http-port={ports[0]}',
            '-dns-port=-1',
            f'-grpc-port={ports[1]}',
            '-grpc-tls-port=-1',
            f'-server-port={ports[2]}',
            f'-serf-lan-port={ports[3]}',
            f'-serf-wan-port={ports[4]}',
            '-hcl=disable_update_check = true',
        ],
        f'{d}/consul.log',
    )
    url = f'http://127.0.0.1:{ports[0]}'

    def put(path, o):
        return request(url + path, o, 'PUT')[0] == 200

    def register(name, i, **more):
        assert put('/v1/agent/service/register', {'ID': f'{name}-{i}', 'Name': name, 'Port': 8000 + i, **more})

    wait_ready('Consul', lambda: request(f'{url}/v1/catalog/nodes')[1])
    check = lambda status: {'Check': {'TTL': '1h', 'Status': status}}
    register('web', 1, Tags=['v1', 'prod'], Address='10.2.0.1', Meta={'version': '1', 'a-b': 'c'}, **check('passing'))
    register('web', 2, Tags=['v2'], **check('critical'))
    register(
        'db', 3, Address='10.2.0.9', TaggedAddresses={'lan': {'address': '10.2.0.9', 'port': 5432}}, **check('warning')
    )
    assert put(
        '/v1/catalog/register',
        {
            'Node': 'ext1',
            'Address': '10.2.1.1',
            'NodeMeta': {'rack': 'r2'},
            'TaggedAddresses': {'lan': '10.2.1.1', 'wan': '10.3.1.1'},
            'Service': {'ID': 'ext', 'Service': 'ext', 'Port': 9100, 'Tags': ['x']},
        },
    )
    entry = lambda **keys: (
        '  consul_sd_configs:\n  - '
        + json.dumps({'server': f'127.0.0.1:{ports[0]}', 'refresh_interval': '1s', **keys})
        + NOT_SCRAPED
    )
    jobs = {
        'all': entry(),
        'some': entry(services=['web', 'ext'], tag_separator=';'),
        'tags': entry(tags=['v1', 'prod']),
        'filter': entry(filter='"x" in ServiceTags'),
        'stale': entry(allow_stale=False, node_meta={'rack': 'r1'}),
    }
    e, p = Everprof(d, sd_peer.configuration(jobs)).ready(), sd_peer.Prometheus(d, jobs)
    first = wait_same(e, p, jobs, 10)
    register('cache', 4, Tags=['v1', 'prod'], **check('passing'))
    wait_same(e, p, jobs, first + 3)
    assert put('/v1/agent/service/deregister/web-1', {})
    wait_until(
        'web-1 is gone',
        60,
        lambda: not any(
            dict(l).get('__meta_consul_service_id') == 'web-1' for _, l in sd_peer.discovered(p.targets(), jobs)
        ),
    )
    print('consul:', wait_same(e, p, jobs, 8), 'targets')
    e.finish()
    p.stop()
    consul.stop()


@suite.test
def nomad_targets_are_those_of_prometheus(d):
    http, rpc, serf = free_port(), free_port(), free_port()
    with open(f'{d}/nomad.hcl', 'w') as f:
        f.write(f'ports {{\n  http = {http}\n  rpc = {rpc}\n  serf = {serf}\n}}\n')
    nomad = Process([f'{BIN}/nomad', 'agent', '-dev', '-bind=127.0.0.1', f'-config={d}/nomad.hcl'], f'{d}/nomad.log')
    url = f'http://127.0.0.1:{http}'

    def job(name, count, tags):
        service = {'Name': name, 'Provider': 'nomad', 'PortLabel': 'http', 'Tags': tags}
        task = {
            'Name': 'task',
            'Driver': 'raw_exec',
            'Config': {'command': '/bin/sleep', 'args': ['1000']},
            'Resources': {'CPU': 20, 'MemoryMB': 10},
        }
        return {
            'Job': {
                'ID': name,
                'Type': 'service',
                'Datacenters': ['dc1'],
                'TaskGroups': [
                    {
                        'Name': 'group',
                        'Count': count,
                        'Networks': [{'DynamicPorts': [{'Label': 'http'}]}],
                        'Services': [service],
                        'Tasks': [task],
                    }
                ],
            }
        }

    wait_ready('Nomad', lambda: any(n['Status'] == 'ready' for n in request(f'{url}/v1/nodes')[1]))
    assert request(f'{url}/v1/jobs', job('web', 2, ['v1', 'prod']))[0] == 200
    assert request(f'{url}/v1/jobs', job('db', 1, []))[0] == 200
    jobs = {
        'nomad': '  nomad_sd_configs:\n  - ' + json.dumps({'server': url, 'refresh_interval': '1s'}) + NOT_SCRAPED,
        'more': '  nomad_sd_configs:\n  - '
        + json.dumps({'server': url, 'refresh_interval': '1s', 'region': 'global', 'tag_separator': ';'})
        + NOT_SCRAPED,
    }
    e, p = Everprof(d, sd_peer.configuration(jobs)).ready(), sd_peer.Prometheus(d, jobs)
    wait_same(e, p, jobs, 6)
    assert request(f'{url}/v1/jobs', job('web', 4, ['v2']))[0] == 200
    print('nomad:', wait_same(e, p, jobs, 10), 'targets')
    for name in 'web', 'db':
        assert request(f'{url}/v1/job/{name}', method='DELETE')[0] == 200
    # Neither shows targets any more: of Nomad's answers, an empty list of services is valid.
    wait_until('no targets', 60, lambda: not sd_peer.discovered(e.get('/api/v1/targets').data(), jobs))
    wait_until('no targets', 60, lambda: not sd_peer.discovered(p.targets(), jobs))
    e.finish()
    p.stop()
    nomad.stop()


suite.main()
