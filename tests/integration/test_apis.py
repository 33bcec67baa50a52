#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Service discoveries that ask an HTTP API: the targets that Prometheus finds, and APIs that misbehave."""
import glob
import json
import os
import re

from api_server import Api, be_slow, docker, grpc_on_unix_socket, on_unix_socket, pages, sample, say, tear
from harness import ROOT, SLOW, Everprof, Suite, run, wait_until
from sd_peer import PROMETHEUS, Prometheus, configuration, discovered, same_targets

suite = Suite()
# Labels of newer versions of Prometheus than Debian's 2.42.
NEWER = ('__meta_docker_container_image', '__meta_docker_container_image_id')


def entry(kind, **keys):
    text = json.dumps({'refresh_interval': '1s', **keys})
    return f'  {kind}_sd_configs:\n  - {text}'


def found(e, job):
    """{address: the __meta_ labels and `instance`} of a job, in Prometheus' order of none."""
    targets = {}
    for _, labels in discovered(e.get('/api/v1/targets').data(), [job]):
        labels = dict(labels)
        targets.setdefault(labels.get('__address__', ''), []).append(
            {k: v for k, v in labels.items() if k.startswith('__meta_') or k == 'instance'}
        )
    return targets


def start(d, jobs, count):
    e = Everprof(d, configuration(jobs)).ready()
    wait_until(f'{count} targets', 20, lambda: sum(len(l) for job in jobs for l in found(e, job).values()) == count)
    return e


def plain(name, *without):
    """A sample without the objects with these ids."""
    return json.dumps([o for o in json.loads(sample(name)) if o.get('Id') not in without])


@suite.test
def targets_are_those_of_prometheus(d):
    # Prometheus 2.42 takes all networks of a container, and knows neither borrowed networks nor IPv6.
    containers = docker(
        containers_json=plain('docker_containers.json', 'aa04', 'aa06'), networks=sample('docker_networks.json')
    )
    swarm = docker(
        networks=sample('dockerswarm_networks.json'),
        nodes=sample('dockerswarm_nodes.json'),
        services=sample('dockerswarm_services.json'),
        tasks=sample('dockerswarm_tasks.json'),
    )
    one, many = Api(containers), Api(swarm)
    rest = Api(
        {
            '/v2/apps/': sample('marathon_apps.json'),
            '/eureka/apps': sample('eureka_apps.xml'),
            '/pdb/query/v4': sample('puppetdb_resources.json'),
        }
    )
    filters = [
        {'name': 'label', 'values': ['a=b c']},
        {'name': 'status', 'values': ['paused', 'running']},
        {'name': 'ancestor'},
    ]
    jobs = {
        'docker': entry('docker', host=one.url, filters=filters, port=7),
        'services': entry('dockerswarm', host=many.url, role='services'),
        'tasks': entry('dockerswarm', host=many.url.replace('http://', 'tcp://'), role='tasks', port=8),
        'nodes': entry('dockerswarm', host=many.url, role='nodes'),
        'marathon': entry('marathon', servers=[rest.url], auth_token='abc'),
        'eureka': entry('eureka', server=rest.url + '/eureka'),
        'puppetdb': entry('puppetdb', url=rest.url, query='resources { x = "<y>" }', include_parameters=True),
        'plain': entry('puppetdb', url=rest.url + '/', query='all', port=9),
    }
    p = Prometheus(d, jobs)
    ours = dict(jobs, docker=entry('docker', host=one.url, filters=filters, port=7, match_first_network=False))
    e = Everprof(d, configuration(ours)).ready()

    def decoded(api):
        """Eureka's metadata is decoded here, and raw XML in Prometheus."""
        for t in api['activeTargets'] + api['droppedTargets']:
            for name in [n for n in t['discoveredLabels'] if '_metadata_' in n]:
                del t['discoveredLabels'][name]
        return api

    p.targets = (lambda targets: lambda: decoded(targets()))(p.targets)
    metadata = {f'__meta_eureka_app_instance_metadata_{k}' for t in found(e, 'eureka').values() for l in t for k in l}
    wait_until('Eureka', 20, lambda: found(e, 'eureka'))
    metadata = {k for t in found(e, 'eureka').values() for l in t for k in l if '_metadata_' in k}
    count = 8 + 6 + 9 + 3 + 21 + 3 + 2 + 2
    same_targets(e, p, jobs, count, NEWER + tuple(metadata))
    assert e.metric('everprof_discovery_failures_total', '{discovery="docker"}') == 0
    # What was asked is what Prometheus asks.
    theirs = {
        path for api in (one, many) for path, h in zip(api.asked, api.headers) if h['User-Agent'].startswith('everprof')
    }
    filters = (
        'filters=%7B%22label%22%3A%7B%22a%3Db%20c%22%3Atrue%7D%2C'
        '%22status%22%3A%7B%22paused%22%3Atrue%2C%22running%22%3Atrue%7D%7D'
    )
    assert f'/v1.41/containers/json?{filters}' in theirs, theirs
    asked = [
        (r, h, b) for r, h, b in zip(rest.asked, rest.headers, rest.bodies) if h['User-Agent'].startswith('everprof')
    ]
    assert {h['Authorization'] for r, h, _ in asked if 'embed' in r} == {'token=abc'}
    assert {json.loads(b)['query'] for r, _, b in asked if 'pdb' in r} == {'resources { x = "<y>" }', 'all'}
    for api in (one, many, rest):
        api.stop()


@suite.test
def eureka_metadata_is_decoded(d):
    api = Api({'/apps': sample('eureka_apps.xml')})
    e = start(d, {'eureka': entry('eureka', server=api.url)}, 3)
    labels = found(e, 'eureka')['order1.example:8080'][0]
    got = {k.rsplit('_metadata_')[1]: v for k, v in labels.items() if '_metadata_' in k}
    assert got.get('management_port'), got
    assert not any('class' in k for k in got), got
    assert all('&amp;' not in v and 'CDATA' not in v for v in got.values()), got
    api.stop()


@suite.test
def docker_borrows_networks_and_takes_the_first(d):
    api = Api(docker(containers_json=sample('docker_containers.json'), networks=sample('docker_networks.json')))
    e = start(d, {'docker': entry('docker', host=api.url)}, 7)
    targets = found(e, 'docker')
    assert {k: len(v) for k, v in targets.items()} == {
        '172.31.0.5:9100': 2,
        '172.31.0.5:9200': 1,
        '172.31.0.6:80': 1,
        'localhost': 1,
        '172.31.0.5:9104': 1,
        '[fc00::2]:80': 1,
    }, targets
    sidecar = targets['172.31.0.5:9104'][0]
    assert sidecar['__meta_docker_container_network_mode'] == 'container:aa01', sidecar
    assert sidecar['__meta_docker_container_label_a_b'] == '1', sidecar
    assert sidecar['__meta_docker_network_name'] == 'shop_back', sidecar
    assert targets['172.31.0.6:80'][0]['__meta_docker_container_image'] == 'shop/udp'
    assert targets['[fc00::2]:80'][0]['__meta_docker_network_ip'] == 'fc00::2'
    # Containers that borrow each other's networks have none.
    loop = [{'Id': a, 'Names': [a], 'HostConfig': {'NetworkMode': f'container:{b}'}} for a, b in ('xy', 'yx')]
    api.answers['/v1.41/containers/json'] = json.dumps(loop)
    wait_until('no targets', 20, lambda: not found(e, 'docker'))
    api.stop()


@suite.test
def docker_answers_on_a_unix_socket(d):
    answers = docker(containers_json=sample('docker_containers.json'), networks=sample('docker_networks.json'))
    server = on_unix_socket(f'{d}/docker.sock', answers.get)
    e = start(d, {'docker': entry('docker', host=f'unix://{d}/docker.sock')}, 7)
    assert '172.31.0.5:9104' in found(e, 'docker')
    answers.clear()
    wait_until('failures', 20, lambda: e.metric('everprof_discovery_failures_total', '{discovery="docker"}') > 0)
    assert len(found(e, 'docker')) == 6 and f'{d}/docker.sock' in e.text()
    server.shutdown()
    server.server_close()


@suite.test
def hetzner_servers_have_networks(d):
    api = Api(
        {
            '/v1/servers': pages(sample('hetzner_servers.json'), sample('hetzner_servers_page2.json')),
            '/v1/networks': sample('hetzner_networks.json'),
            '/server': sample('hetzner_robot_server.json'),
        }
    )
    e = start(
        d,
        {
            'cloud': entry(
                'hetzner',
                role='hcloud',
                endpoint=api.url + '/v1',
                label_selector='a=b&c',
                authorization={'credentials': 'secret'},
            ),
            'robot': entry('hetzner', role='robot', endpoint=api.url, port=9100),
        },
        6,
    )
    meta = '__meta_hetzner_'
    web = found(e, 'cloud')['192.0.2.10:80'][0]
    assert web == {
        meta + k: v
        for k, v in {
            'role': 'hcloud',
            'server_id': '1042',
            'server_name': 'web-1',
            'server_status': 'running',
            'datacenter': 'fsn1-dc14',
            'public_ipv4': '192.0.2.10',
            'public_ipv6_network': '2001:db8:10::/64',
            'hcloud_location': 'fsn1',
            'hcloud_location_network_zone': 'eu-central',
            'hcloud_datacenter_location': 'fsn1',
            'hcloud_datacenter_location_network_zone': 'eu-central',
            'hcloud_server_type': 'cx22',
            'hcloud_cpu_cores': '2',
            'hcloud_cpu_type': 'shared',
            'hcloud_memory_size_gb': '4',
            'hcloud_disk_size_gb': '40',
            'hcloud_image_name': 'debian-12',
            'hcloud_image_description': 'Debian 12',
            'hcloud_image_os_version': '12',
            'hcloud_image_os_flavor': 'debian',
            'hcloud_private_ipv4_my_net': '10.0.0.2',
            'hcloud_private_ipv4_db_net_2': '10.9.0.2',
            'hcloud_label_env': 'prod',
            'hcloud_label_app_kubernetes_io_name': 'web',
            'hcloud_labelpresent_env': 'true',
            'hcloud_labelpresent_app_kubernetes_io_name': 'true',
            'hcloud_labelpresent_flag': 'true',
        }.items()
    }, web
    v6 = found(e, 'cloud')['<nil>:80'][0]
    assert v6[meta + 'public_ipv4'] == '<nil>' and v6[meta + 'public_ipv6_network'] == '2001:db8:20::/64', v6
    assert found(e, 'cloud')['192.0.2.30:80'][0][meta + 'public_ipv6_network'] == '<nil>'
    assert v6[meta + 'hcloud_memory_size_gb'] == '7' and meta + 'hcloud_image_name' not in v6, v6
    assert {
        '/v1/servers?per_page=50&label_selector=a%3Db%26c',
        '/v1/networks?per_page=50',
        '/v1/servers?per_page=50&label_selector=a%3Db%26c&page=2',
    } <= set(api.asked), api.asked
    assert any(h['Authorization'] == 'Bearer secret' for h in api.headers)
    robot = found(e, 'robot')['192.0.2.123:9100'][0]
    assert robot == {
        meta + k: v
        for k, v in {
            'role': 'robot',
            'server_id': '321',
            'server_name': 'server1',
            'server_status': 'ready',
            'datacenter': 'nbg1-dc1',
            'robot_datacenter': 'nbg1-dc1',
            'public_ipv4': '192.0.2.123',
            'public_ipv6_network': '2001:db8:f00d::/64',
            'robot_product': 'DS 3000',
            'robot_cancelled': 'false',
        }.items()
    }, robot
    api.stop()


@suite.test
def digitalocean_follows_pages(d):
    api = Api({})
    here = [
        text.replace('https://api.digitalocean.com', api.url)
        for text in (sample('digitalocean_droplets.json'), sample('digitalocean_droplets_page2.json'))
    ]
    clusters = json.loads(sample('digitalocean_databases.json'))['databases']
    # Answers about databases have no links to further pages.
    each = [json.dumps({'databases': [c]}) for c in clusters]
    api.answers.update({'/v2/droplets': pages(*here), '/v2/databases': pages(*each, '{"databases": []}')})
    e = start(
        d,
        {
            'droplets': entry('digitalocean', endpoint=api.url),
            'databases': entry('digitalocean', endpoint=api.url, role='databases', port=9273),
        },
        5,
    )
    meta = '__meta_digitalocean_'
    droplets = found(e, 'droplets')
    assert set(droplets) == {'192.0.2.55:80', ':80', '192.0.2.56:80'}, droplets
    assert droplets['192.0.2.55:80'][0] == {
        meta + k: v
        for k, v in {
            'droplet_id': '3164444',
            'droplet_name': 'web.example.com',
            'image': 'ubuntu-24-04-x64',
            'image_name': '24.04 (LTS) x64',
            'private_ipv4': '10.128.192.124',
            'public_ipv4': '192.0.2.55',
            'public_ipv6': '2604:a880:0:1010::18a:a001',
            'region': 'nyc3',
            'size': 's-1vcpu-1gb',
            'status': 'active',
            'vpc': '760e09ef-dc84-11e8-981e-3cfdfeaae000',
            'features': ',backups,private_networking,ipv6,',
            'tags': ',web,env:prod,',
        }.items()
    }, droplets
    databases = found(e, 'databases')
    assert set(databases) == {
        'private-backend-do-user-1-0.db.example.com:9273',
        'cache-do-user-1-0.db.example.com:9273',
    }, databases
    assert databases['private-backend-do-user-1-0.db.example.com:9273'][0][meta + 'db_tag_prod'] == 'true'
    # An API that knows no pages answers with the same page again.
    api.answers['/v2/databases'] = json.dumps({'databases': clusters[1:]})
    wait_until('fewer databases', 20, lambda: list(found(e, 'databases')) == ['cache-do-user-1-0.db.example.com:9273'])
    # Requests carry credentials, so they do not go to another host.
    api.answers['/v2/droplets'] = pages(here[0].replace(api.url, 'http://localhost:1'))
    wait_until('a failure', 20, lambda: 'another scheme, host or port' in e.text())
    assert found(e, 'droplets') == droplets
    api.stop()


@suite.test
def linode_addresses_are_joined(d):
    api = Api(
        {
            '/linode/instances': pages(sample('linode_instances.json'), sample('linode_instances_page2.json')),
            '/networking/ips': sample('linode_ips.json'),
            '/networking/ipv6/ranges': sample('linode_ipv6_ranges.json'),
        }
    )
    e = start(d, {'linode': entry('linode', endpoint=api.url, tag_separator=';', region='us "east"')}, 2)
    meta = '__meta_linode_'
    targets = found(e, 'linode')
    assert targets['45.33.82.151:80'][0] == {
        meta + k: v
        for k, v in {
            'instance_id': '26838044',
            'instance_label': 'prometheus-1',
            'image': 'linode/arch',
            'private_ipv4': '192.168.170.51',
            'public_ipv4': '45.33.82.151',
            'public_ipv6': '2600:3c03::f03c:92ff:fe1a:1382',
            'public_ipv4_rdns': '45-33-82-151.ip.example.com',
            'region': 'us-east',
            'type': 'g6-standard-2',
            'status': 'running',
            'gpus': '0',
            'hypervisor': 'kvm',
            'backups': 'disabled',
            'specs_disk_bytes': '85899345920',
            'specs_memory_bytes': '4294967296',
            'specs_transfer_bytes': '4194304000',
            'specs_vcpus': '2',
            'tags': ';monitoring;prod;',
            'extra_ips': ';96.126.108.16;192.168.201.25;',
            'ipv6_ranges': ';2600:3c03:e000:123::/64;2600:3c03:e000:4560::/56;',
        }.items()
    }, targets
    other = targets['139.162.196.43:80'][0]
    assert other[meta + 'backups'] == 'enabled' and other[meta + 'group'] == 'team a', other
    assert meta + 'public_ipv4_rdns' not in other and meta + 'type' not in other, other
    assert '/linode/instances?page_size=500&page=2' in api.asked, api.asked
    assert all(json.loads(h['X-Filter']) == {'region': 'us "east"'} for h in api.headers)
    api.stop()


@suite.test
def nomad_asks_for_each_service(d):
    services = [
        {
            'Namespace': 'default',
            'Services': [{'ServiceName': 'web', 'Tags': ['a']}, {'ServiceName': 'hc/x', 'Tags': []}],
        },
        {'Namespace': 'other', 'Services': None},
        {'Namespace': 'more', 'Services': [{'ServiceName': 'no'}]},
    ]
    one = {
        'ID': 'n1',
        'ServiceName': 'web',
        'Namespace': 'default',
        'NodeID': 'd9',
        'Datacenter': 'dc1',
        'Tags': ['metrics', 'b'],
        'Address': '192.0.2.7',
        'Port': 30456,
    }
    api = Api(
        {
            '/v1/services': json.dumps(services),
            '/v1/service/web': json.dumps([one]),
            '/v1/service/no': '[]',
            '/v1/service/hc/x': json.dumps([dict(one, Address='::1', Tags=[], Port=None)]),
        }
    )
    e = start(d, {'nomad': entry('nomad', server=api.url + '/')}, 2)
    meta = '__meta_nomad_'
    targets = found(e, 'nomad')
    assert targets['192.0.2.7:30456'][0] == {
        meta + k: v
        for k, v in {
            'address': '192.0.2.7',
            'dc': 'dc1',
            'namespace': 'default',
            'node_id': 'd9',
            'service': 'web',
            'service_address': '192.0.2.7',
            'service_id': 'n1',
            'service_port': '30456',
            'tags': ',metrics,b,',
        }.items()
    }, targets
    assert meta + 'tags' not in targets['[::1]:0'][0], targets
    assert '/v1/service/hc%2Fx?namespace=default&region=global&stale=' in api.asked, api.asked
    # One service that cannot be read fails the refresh.
    del api.answers['/v1/service/no']
    wait_until('failures', 20, lambda: e.metric('everprof_discovery_failures_total', '{discovery="nomad"}') > 0)
    assert found(e, 'nomad') == targets
    api.stop()


@suite.test
def targets_stay_while_an_api_misbehaves(d):
    api = Api(docker(containers_json=sample('docker_containers.json'), networks=sample('docker_networks.json')))
    xml = Api({'/apps': sample('eureka_apps.xml')})
    e = start(d, {'docker': entry('docker', host=api.url), 'eureka': entry('eureka', server=xml.url)}, 10)
    before = found(e, 'docker'), found(e, 'eureka')

    def failures(kind):
        return e.metric('everprof_discovery_failures_total', '{discovery="%s"}' % kind)

    deep = '[' * 100000
    troubles = [
        tear,
        be_slow,
        say('', 500),
        say('{}', 429),
        say('not JSON'),
        say('[1'),
        say(''),
        say(deep),
        say('[' + '[],' * 600000 + '[]]'),
        say('[{"a": 1, "a": 2}]'),
        say('"' + 'x' * 11_000_000 + '"'),
        say('<a>', kind='text/xml'),
        say('<a><b></a>'),
        say('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        say('<a>' * 100 + '</a>' * 100),
        say('<a>' + '<b/>' * 600000 + '</a>'),
    ]
    for trouble in troubles:
        for kind, of in (('docker', api), ('eureka', xml)):
            had, of.trouble = failures(kind), trouble
            wait_until(
                'a failure',
                30,
                lambda: failures(kind) > had
                or (
                    # JSON and XML refuse different things; what is valid has no targets.
                    not found(e, kind)
                ),
            )
            of.trouble = None
            wait_until('the targets', 30, lambda: found(e, kind) == before[kind == 'eureka'])
    assert e.memory() < 200 * SLOW, e.memory()
    api.stop()
    xml.stop()


@suite.test
def mistakes_in_the_configuration_are_named(d):
    cases = {
        'docker': {
            '{}': 'docker_sd_config requires host',
            '{host: }': 'docker_sd_config requires host',
            '{host: /x}': 'host must begin with unix://, tcp://',
            '{host: "unix://x"}': 'host needs the absolute path of a socket',
            '{host: "tcp://h:1", filters: [{values: [a]}]}': 'a filter requires name',
            '{host: "tcp://h:1", filters: [{name: a, values: x}]}': 'values',
            '{host: "tcp://h:1", port: 70000}': 'port must be between 0 and 65535',
        },
        'dockerswarm': {
            '{host: "tcp://h:1"}': 'dockerswarm_sd_config requires role: one of services, tasks, nodes',
            '{host: "tcp://h:1", role: }': 'dockerswarm_sd_config requires role',
            '{host: "tcp://h:1", role: task}': 'role must be one of services, tasks, nodes, not "task"',
        },
        'hetzner': {'{}': 'hetzner_sd_config requires role: one of robot, hcloud'},
        'digitalocean': {'{role: x}': 'role must be one of droplets, databases'},
        'puppetdb': {
            '{url: "http://h"}': 'puppetdb_sd_config requires query',
            '{query: x}': 'puppetdb_sd_config requires url',
        },
        'eureka': {'{}': 'eureka_sd_config requires server', '{server: "localhost:80"}': 'http://'},
        'marathon': {
            '{}': 'marathon_sd_config requires servers',
            '{servers: ["http://h"], auth_token: a, auth_token_file: b}': 'at most one of auth_token',
            '{servers: ["http://h"], auth_token: a, bearer_token: b}': 'cannot be combined',
        },
        'nomad': {
            '{server: x}': 'http://',
            '{server: ""}': 'nomad_sd_config requires server',
            '{port: 1}': 'field port not found in nomad_sd_config',
        },
        'linode': {'{port: -1}': 'port must be between 0 and 65535'},
    }
    for kind, texts in cases.items():
        for text, says in texts.items():
            with open(f'{d}/c.yaml', 'w') as f:
                f.write(f'scrape_configs:\n- job_name: a\n  {kind}_sd_configs: [{text}]\n')
            done = run('check', 'config', f'{d}/c.yaml', check=False)
            assert done.returncode == 1 and says in done.stderr and 'c.yaml:3:' in done.stderr, (
                kind,
                text,
                done.stderr,
            )


@suite.test
def keys_without_values_do_not_stop_everprof(d):
    """Each key of each kind of service discovery in turn has no value; role once led to a crash when everprof started."""
    keys = set()
    for path in (*glob.glob(f'{ROOT}/discovery/*/*.[ch]'), *glob.glob(f'{ROOT}/client/*/*.[ch]')):
        with open(path) as f:
            keys |= set(re.findall(r'"([a-z_0-9]+)",[\s\\]*(?:yaml_|HTTP_|[a-z_]*decode)', f.read()))
    assert {'role', 'server', 'host', 'url', 'ca_file'} < keys, keys
    whole = {
        'azure': {'subscription_id': 's', 'authentication_method': 'SDK'},
        'consul': {},
        'digitalocean': {'endpoint': 'http://127.0.0.1:9'},
        'dns': {'names': ['127.0.0.1.'], 'port': 1, 'type': 'A'},
        'docker': {'host': 'unix:///none'},
        'dockerswarm': {'host': 'unix:///none', 'role': 'nodes'},
        'ec2': {'region': 'r', 'endpoint': 'http://127.0.0.1:9', 'access_key': 'a', 'secret_key': 's'},
        'eureka': {'server': 'http://127.0.0.1:9'},
        'file': {'files': ['x.yml']},
        'hetzner': {'role': 'robot', 'endpoint': 'http://127.0.0.1:9'},
        'http': {'url': 'http://127.0.0.1:9'},
        'kubernetes': {'role': 'pod', 'api_server': 'http://127.0.0.1:9'},
        'linode': {'endpoint': 'http://127.0.0.1:9'},
        'marathon': {'servers': ['http://127.0.0.1:9']},
        'nomad': {},
        'openstack': {'role': 'instance', 'region': 'r', 'identity_endpoint': 'http://127.0.0.1:9'},
        'puppetdb': {'url': 'http://127.0.0.1:9', 'query': 'q'},
    }
    accepted = []
    for kind, known in whole.items():
        for key in sorted(keys):
            text = f'  {kind}_sd_configs:\n  - ' + json.dumps({**known, key: None})
            with open(f'{d}/c.yaml', 'w') as f:
                f.write(configuration({'a': text}))
            if not run('check', 'config', f'{d}/c.yaml', check=False).returncode:
                accepted.append(text)
    # Azure would ask the metadata service of this machine.
    jobs = {f'job{i}': text for i, text in enumerate(accepted) if 'azure' not in text}
    assert len(jobs) > 60, len(jobs)
    e = Everprof(d, configuration(jobs)).ready()
    wait_until('failures', 30, lambda: e.text().count('service discovery failed') > len(jobs) // 2)
    e.finish()


@suite.test
def tokens_cannot_add_headers_or_requests(d):
    api = Api({'/v2/apps/': '{"apps": []}', '/smuggled': '{}'})
    with open(f'{d}/token', 'w') as f:
        f.write('geheim\r\nX-Injected: yes\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x')
    e = start(
        d,
        {
            'file': entry('marathon', servers=[api.url], auth_token_file=f'{d}/token'),
            'text': entry('marathon', servers=[api.url + '/a'], auth_token='geheim\r\nX-Injected: yes'),
            'consul': entry('consul', server=api.url, token='geheim\nX-Injected: yes'),
        },
        0,
    )
    for header in ('Authorization', 'X-Consul-Token'):
        wait_until(header, 20, lambda: f'the value of the header {header} must be a single line of text' in e.text())
    wait_until('each', 20, lambda: {x['health'] for x in e.get('/api/v1/targets').data()['discoveries']} == {'down'})
    assert not api.asked and 'geheim' not in e.text(), api.asked
    api.stop()


@suite.test
def errors_of_sockets_and_proxies_name_them(d):
    with open(f'{d}/file', 'w'):
        pass
    jobs = {
        'none': entry('docker', host=f'unix://{d}/none.sock'),
        'file': entry('docker', host=f'unix://{d}/file'),
        'proxy': entry('digitalocean', endpoint='http://api.example', proxy_url='http://127.0.0.1:9'),
    }
    e = Everprof(d, configuration(jobs)).ready()
    wait_until(
        'the line of the configuration',
        30,
        lambda: re.search(r'service discovery failed.*discovery=docker source=\S+ config_line=\d+ err=', e.text()),
    )
    for text in (
        f'cannot connect to the socket {d}/none.sock: No such file or directory',
        f'cannot connect to the socket {d}/file: Connection refused',
        'this is the proxy from proxy_url',
    ):
        wait_until(text, 30, lambda text=text: text in e.text())
    e.finish()


def message(number, *parts):
    """A field of protocol buffers with bytes, at most 127."""
    content = b''.join(p if isinstance(p, bytes) else p.encode() for p in parts)
    return bytes([number << 3 | 2, len(content)]) + content


@suite.test
def container_runtimes_are_asked_by_grpc(d):
    """The names go to the eBPF collector (test_ebpf.py); this test needs no eBPF."""
    pod = message(1, message(1, 'p1'), message(2, message(1, 'web-1'), message(3, 'shop')))
    container = message(1, message(1, 'c1'), message(2, 'p1'), message(3, message(1, 'main')))
    trouble = []

    def answer(body):
        if trouble:
            return trouble[0]
        if not body:  # ListPodSandbox; ListContainers has a filter
            return 0, pod
        assert body == bytes.fromhex('0a0412020801'), body
        return 0, container

    server = grpc_on_unix_socket(f'{d}/cri.sock', answer)
    config = f"""ebpf:
  enabled: true
  cri_sd_configs: [{{endpoint: 'unix://{d}/cri.sock', refresh_interval: 1s}}]
"""
    e = Everprof(d, config, flags=('--log.level=debug',)).ready()
    wait_until('a container', 20, lambda: 'names of containers" containers=1' in e.text())
    for failure, text in (
        ((12, None), 'gRPC status 12: because'),
        ((0, b'\x0a\x7f'), 'the answer is malformed'),
        ((0, None), 'not one message of gRPC'),
    ):
        trouble[:] = [failure]
        wait_until(text, 20, lambda text=text: text in e.text())
    trouble.clear()
    container = b''
    wait_until('no container', 20, lambda: 'names of containers" containers=0' in e.text())
    server.shutdown()
    server.server_close()
    os.remove(f'{d}/cri.sock')
    with open(f'{d}/none.sock', 'w') as f:
        f.write('')
    os.rename(f'{d}/none.sock', f'{d}/cri.sock')
    wait_until('no socket', 20, lambda: 'connect' in e.text().lower().rpartition('containers=0')[2])
    e.finish()


@suite.test
def the_section_ebpf_takes_discoveries_of_containers_alone(d):
    for text, what in (
        ('ebpf: {dns_sd_configs: [{names: [a]}]}', 'dns_sd_configs does not find containers'),
        (
            'ebpf:\n  kubernetes_sd_configs:\n  - role: pod\n  - role: node',
            'c.yaml:4:11: the role node does not find containers: use the role pod',
        ),
        ('ebpf: {cri_sd_configs: [{endpoint: /run/x}]}', 'endpoint must be unix://'),
        ('scrape_configs: [{job_name: a, cri_sd_configs: [{}]}]', 'cri_sd_configs can only be in the section ebpf'),
        ('ebpf: {docker_sd_configs: [{}]}', 'requires host'),
        ('ebpf: {x: 1}', 'x'),
    ):
        with open(f'{d}/c.yaml', 'w') as f:
            f.write(text + '\n')
        done = run('check', 'config', f'{d}/c.yaml')
        assert done.returncode and what in done.stdout + done.stderr, (text, done)


assert os.path.exists(PROMETHEUS), 'install Debian\'s prometheus'
suite.main()
