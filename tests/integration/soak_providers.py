#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""everprof and Debian's Prometheus 2.42 beside real programs, in a network of their own: they find the same targets in
Docker and its swarm, Podman, PuppetDB, OpenStack and moto's EC2. containerd: processes get the names of their pods.
Needs root; tests/providers.sh has installed the programs."""
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import own_network
import sd_peer
from harness import ROOT, Everprof, Process, Suite, free_port, wait_until
from sd_peer import request, same_targets

own_network.enter()
suite = Suite()
VENV = os.path.join(ROOT, 'build/peers/venv/bin')
POSTGRES = sorted(glob.glob('/usr/lib/postgresql/*/bin'))[-1]
# Labels of newer versions of Prometheus than Debian's 2.42.
NEWER = ('__meta_docker_container_image', '__meta_docker_container_image_id', '__meta_openstack_instance_image')


def entry(kind, **keys):
    """A discovery of a job; nothing is scraped."""
    return (
        f'  {kind}_sd_configs:\n  - '
        + json.dumps({'refresh_interval': '1s', **keys})
        + '\n  proxy_url: http://127.0.0.1:9'
    )


def start_pair(d, jobs, ours=None):
    return Everprof(d, sd_peer.configuration(ours or jobs)).ready(), sd_peer.Prometheus(d, jobs)


def call(*argv, env=None):
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})})
    assert done.returncode == 0, (argv, done.stdout, done.stderr)
    return done.stdout.strip()


def answers(url):
    """Whether there is an HTTP server."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as e:
        return e.code < 500
    except OSError:
        return False


def with_containers(test):
    """A test after which nothing is mounted in its folder any more, so that the folder can be removed."""

    def run(d):
        try:
            test(d)
        finally:
            Process.stop_all()
            with open('/proc/self/mounts') as f:
                for path in reversed([line.split()[1] for line in f]):
                    if path.startswith(d + '/'):
                        subprocess.run(['umount', '-l', path], check=False)

    run.__name__ = test.__name__
    return run


def make_image(d):
    """The path of a tar file with busybox."""
    os.makedirs(f'{d}/image/bin')
    shutil.copy('/bin/busybox', f'{d}/image/bin/')
    for name in 'sh', 'sleep':
        os.symlink('busybox', f'{d}/image/bin/{name}')
    with tarfile.open(f'{d}/image.tar', 'w') as tar:
        tar.add(f'{d}/image', '.')
    return f'{d}/image.tar'


@suite.test
@with_containers
def docker_targets_are_those_of_prometheus(d):
    socket = f'unix://{d}/docker.sock'
    daemon = Process(
        [
            'dockerd',
            f'--host={socket}',
            f'--data-root={d}/docker',
            f'--exec-root={d}/exec',
            f'--pidfile={d}/pid',
            '--iptables=false',
            '--ip6tables=false',
            '--storage-driver=vfs',
            '--bip=172.30.0.1/24',
        ],
        f'{d}/docker.log',
    )

    def docker(*argv):
        return call('/usr/bin/docker', *argv, env={'DOCKER_HOST': socket})

    wait_until('Docker', 60, lambda: os.path.exists(f'{d}/docker.sock'))
    docker('import', make_image(d), 'busybox:1')
    docker('network', 'create', '--subnet=172.31.0.0/24', 'second')
    run = lambda name, *options: docker('run', '-d', '--name', name, *options, 'busybox:1', '/bin/sleep', '1000')
    run('web', '--publish=127.0.0.1:18080:80', '--expose=81', '--label=team=red', '--label=a.b-c=d')
    run('db', '--network=second')
    docker('network', 'connect', 'second', 'web')
    run('host', '--network=host')
    docker('swarm', 'init', '--advertise-addr=127.0.0.1')
    docker(
        'service',
        'create',
        '--quiet',
        '--detach',
        '--no-resolve-image',
        '--replicas=2',
        '--name=shop',
        '--publish=18090:80',
        '--label=kind=shop',
        '--container-label=in=side',
        'busybox:1',
        '/bin/sleep',
        '1000',
    )
    wait_until('tasks run', 60, lambda: docker('service', 'ps', 'shop').count(' Running ') == 2, 0.5)
    filters = [{'name': 'label', 'values': ['team=red']}]
    jobs = {
        'all': entry('docker', host=socket),
        'red': entry('docker', host=socket, filters=filters, port=7),
        **{role: entry('dockerswarm', host=socket, role=role) for role in ('services', 'tasks', 'nodes')},
    }
    # Prometheus 2.42 takes all networks of a container.
    ours = {
        **jobs,
        'all': entry('docker', host=socket, match_first_network=False),
        'red': entry('docker', host=socket, filters=filters, port=7, match_first_network=False),
    }
    e, p = start_pair(d, jobs, ours)
    same_targets(e, p, jobs, 16, NEWER)
    docker('rm', '-f', 'db')
    run('late', '--network=second', '--label=team=red')
    wait_until('the new container', 60, lambda: any('late' in str(t) for t in sd_peer.discovered(p.targets(), jobs)))
    same_targets(e, p, jobs, 17, NEWER)
    e.finish()
    p.stop()
    docker('swarm', 'leave', '--force')
    docker('rm', '-f', 'web', 'late', 'host')
    daemon.stop()


@suite.test
@with_containers
def podman_targets_are_those_of_prometheus(d):
    with open(f'{d}/containers.conf', 'w') as f:  # the limits of a machine without CAP_SYS_RESOURCE
        f.write('[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n[engine]\nruntime = "runc"\n')
    options = [f'--root={d}/root', f'--runroot={d}/run', '--storage-driver=vfs', '--cgroup-manager=cgroupfs']
    env = {'CONTAINERS_CONF': f'{d}/containers.conf'}
    podman = lambda *argv: call('podman', *options, *argv, env=env)
    podman('import', make_image(d), 'busybox:1')
    run = lambda name, *more: podman('run', '-d', '--name', name, *more, 'localhost/busybox:1', '/bin/sleep', '1000')
    run('web', '--publish=127.0.0.1:18081:80', '--label=team=red')
    run('host', '--network=host')
    service = Process(
        ['podman', *options, 'system', 'service', '--time=0', f'unix://{d}/podman.sock'],
        f'{d}/podman.log',
        env={**os.environ, **env},
    )
    wait_until('Podman', 60, lambda: os.path.exists(f'{d}/podman.sock'))
    jobs = {'all': entry('docker', host=f'unix://{d}/podman.sock')}
    e, p = start_pair(d, jobs)
    same_targets(e, p, jobs, 1, NEWER)  # Podman does not show the network of the machine
    run('late')
    same_targets(e, p, jobs, 2, NEWER)
    e.finish()
    p.stop()
    podman('rm', '-f', '-t', '0', '--all')
    service.stop()


class Postgres:
    def __init__(self, d, *databases):
        self.port = free_port()
        self.url = f'127.0.0.1:{self.port}'
        os.chmod(d, 0o711)
        os.mkdir(f'{d}/postgres')
        shutil.chown(f'{d}/postgres', 'postgres')
        user = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups']
        call(*user, f'{POSTGRES}/initdb', '-D', f'{d}/postgres/data', '-A', 'trust', '-U', 'postgres')
        self.process = Process(
            [
                *user,
                f'{POSTGRES}/postgres',
                '-D',
                f'{d}/postgres/data',
                '-h',
                '127.0.0.1',
                '-p',
                str(self.port),
                '-k',
                '',
                '-c',
                'fsync=off',
            ],
            f'{d}/postgres.log',
        )
        wait_until('PostgreSQL', 60, lambda: 'ready to accept' in self.process.text())
        for name in databases:
            self.sql('postgres', f'CREATE DATABASE {name}')

    def sql(self, database, text):
        call(f'{POSTGRES}/psql', '-h', '127.0.0.1', '-p', str(self.port), '-U', 'postgres', database, '-c', text)

    def stop(self):
        self.process.stop()


@suite.test
def puppetdb_targets_are_those_of_prometheus(d):
    postgres, port = Postgres(d, 'puppetdb'), free_port()
    postgres.sql('puppetdb', 'CREATE EXTENSION pg_trgm')
    for name in 'conf.d', 'var':
        os.mkdir(f'{d}/{name}')
    shutil.copy('/etc/puppetdb/conf.d/auth.conf', f'{d}/conf.d/')
    with open(f'{d}/restart', 'w') as f:
        f.write('0')
    with open(f'{d}/conf.d/config.ini', 'w') as f:
        f.write(
            f'[global]\nvardir = {d}/var\n[database]\nsubname = //{postgres.url}/puppetdb\nusername = postgres\n'
            f'password = none\n[jetty]\nhost = 127.0.0.1\nport = {port}\n[puppetdb]\ndisable-update-checking = true\n'
        )
    puppetdb = Process(
        [
            'java',
            '-Xmx300m',
            '-cp',
            '/usr/share/puppetdb/puppetdb.jar',
            'clojure.main',
            '-m',
            'puppetlabs.puppetdb.core',
            'services',
            '--config',
            f'{d}/conf.d',
            '--bootstrap-config',
            '/etc/puppetdb/bootstrap.cfg',
            '--restart-file',
            f'{d}/restart',
        ],
        f'{d}/puppetdb.log',
    )
    url = f'http://127.0.0.1:{port}'
    wait_until('PuppetDB', 180, lambda: answers(f'{url}/pdb/meta/v1/version'), 1)

    def catalog(node, time, *services):
        resources = [
            {
                'type': 'Service',
                'title': f'service {i}',
                'exported': i % 2 == 1,
                'file': '/etc/site.pp',
                'line': 9 + i,
                'tags': ['service', 'web', 'prod'],
                'parameters': parameters,
            }
            for i, parameters in enumerate(services)
        ]
        stamp = f'2026-01-01T00:00:{time:02}.000Z'
        body = {
            'certname': node,
            'version': '1',
            'environment': 'production',
            'transaction_uuid': None,
            'catalog_uuid': None,
            'code_id': None,
            'producer_timestamp': stamp,
            'producer': 'server',
            'job_id': None,
            'edges': [],
            'resources': resources,
        }
        status, answer = request(
            f'{url}/pdb/cmd/v1?command=replace_catalog&version=9&certname={node}&producer-timestamp='
            f'{stamp}&secondsToWaitForCompletion=30',
            body,
        )
        assert status == 200 and answer['processed'], answer

    catalog(
        'web1.example',
        1,
        {'port': 8080, 'on': True, 'off': False, 'name': 'a b', 'list': ['a', 'b'], 'A-b': 'c'},
        {'ratio': 1.5, 'labels': {'x': 'y', 'z': 2}, 'big': 10000000, 'none': None},
    )
    catalog('web2.example', 1, {})
    jobs = {
        'plain': entry('puppetdb', url=url, query='resources { type = "Service" }', port=9),
        'parameters': entry('puppetdb', url=url, query='resources { type = "Service" }', include_parameters=True),
        'nodes': entry('puppetdb', url=url, query='resources { certname ~ "web2" }'),
    }
    e, p = start_pair(d, jobs)
    same_targets(e, p, jobs, 7)
    catalog('web2.example', 2, {'late': 'yes'}, {})
    same_targets(e, p, jobs, 10)
    e.finish()
    p.stop()
    puppetdb.stop()
    postgres.stop()


@suite.test
def openstack_targets_are_those_of_prometheus(d):
    postgres = Postgres(d, 'keystone', 'nova_api', 'nova', 'nova_cell0', 'neutron')
    stack, python = f'{d}/stack', f'{VENV}/python'
    os.mkdir(stack)
    peer = os.path.join(ROOT, 'tests/integration/openstack_peer.py')
    identity, compute, network = free_port(), free_port(), free_port()
    call(
        python,
        peer,
        'prepare',
        stack,
        f'postgresql+psycopg2://postgres@{postgres.url}',
        str(identity),
        str(compute),
        str(network),
    )
    services = [
        Process([python, peer, 'serve', stack, name], f'{d}/{name}.log') for name in ('keystone', 'nova', 'neutron')
    ]
    wait_until('OpenStack', 120, lambda: all('\nready' in '\n' + s.text() for s in services), 0.5)
    url = f'http://127.0.0.1:{identity}/v3'

    def log_in():
        project = {'name': 'admin', 'domain': {'id': 'default'}}
        r = urllib.request.Request(
            f'{url}/auth/tokens',
            headers={'Content-Type': 'application/json'},
            data=json.dumps(
                {
                    'auth': {
                        'scope': {'project': project},
                        'identity': {
                            'methods': ['password'],
                            'password': {'user': {'name': 'admin', 'domain': {'id': 'default'}, 'password': 'secret'}},
                        },
                    }
                }
            ).encode(),
        )
        with urllib.request.urlopen(r, timeout=60) as answer:
            return [('X-Auth-Token', answer.headers['X-Subject-Token'])], json.load(answer)['token']['project']['id']

    def make(where, kind, **keys):
        status, answer = request(f'{where}/{kind}s', {kind: keys}, headers=token)
        assert status == 201, (kind, answer)
        return answer[kind]['id']

    token, project = log_in()
    for kind, address in ('compute', f'http://127.0.0.1:{compute}/v2.1'), ('network', f'http://127.0.0.1:{network}'):
        make(
            url,
            'endpoint',
            interface='public',
            region_id='RegionOne',
            url=address,
            service_id=make(url, 'service', type=kind, name=kind),
        )
    call(python, peer, 'seed', stack, project)
    with open(f'{stack}/ids') as f:
        instances = json.load(f)
    token, _ = log_in()
    neutron = f'http://127.0.0.1:{network}/v2.0'
    public = make(
        neutron,
        'network',
        name='public',
        **{'router:external': True, 'provider:network_type': 'flat', 'provider:physical_network': 'p'},
    )
    make(neutron, 'subnet', network_id=public, ip_version=4, cidr='203.0.113.0/24')
    private = make(neutron, 'network', name='private')
    subnet = make(neutron, 'subnet', network_id=private, ip_version=4, cidr='10.0.0.0/24')
    router = make(neutron, 'router', name='router', external_gateway_info={'network_id': public})
    assert request(f'{neutron}/routers/{router}/add_router_interface', {'subnet_id': subnet}, 'PUT', token)[0] == 200
    port = make(
        neutron,
        'port',
        network_id=private,
        device_id=instances[1],
        device_owner='compute:nova',
        fixed_ips=[{'ip_address': '10.0.0.11'}],
    )
    make(neutron, 'floatingip', floating_network_id=public, port_id=port, floating_ip_address='203.0.113.11')
    keys = {
        'identity_endpoint': url,
        'username': 'admin',
        'password': 'secret',
        'domain_id': 'default',
        'project_name': 'admin',
        'region': 'RegionOne',
        'port': 9,
        'refresh_interval': '10s',
    }
    jobs = {
        'instances': entry('openstack', role='instance', **keys),
        'all': entry('openstack', role='instance', all_tenants=True, **keys),
        'hypervisors': entry('openstack', role='hypervisor', **keys),
    }
    e, p = start_pair(d, jobs)
    same_targets(e, p, jobs, 10, NEWER)
    e.finish()
    p.stop()
    for s in services:
        s.stop()
    postgres.stop()


@suite.test
def ec2_targets_are_those_of_prometheus(d):
    port = free_port()
    url = f'http://127.0.0.1:{port}'
    moto = Process([f'{VENV}/moto_server', '-H', '127.0.0.1', '-p', str(port)], f'{d}/moto.log')
    wait_until('moto', 60, lambda: answers(f'{url}/moto-api/data.json'))

    def ec2(action, **keys):
        r = urllib.request.Request(
            url,
            data=urllib.parse.urlencode({'Action': action, 'Version': '2016-11-15', **keys}).encode(),
            headers={
                'Authorization': 'AWS4-HMAC-SHA256 Credential=A/20260101/us-east-1/ec2/aws4_request, '
                'SignedHeaders=host, Signature=0'
            },
        )
        with urllib.request.urlopen(r, timeout=60) as answer:
            return answer.read().decode()

    def launch(name, count, **keys):
        tags = {
            f'TagSpecification.1.Tag.{i}.{k}': v
            for i, tag in enumerate((('Name', name), ('env:stage', 'prod'), ('Name ', 'odd')), 1)
            for k, v in zip(('Key', 'Value'), tag)
        }
        text = ec2(
            'RunInstances',
            ImageId=image,
            MinCount=count,
            MaxCount=count,
            InstanceType='t3.micro',
            **{'TagSpecification.1.ResourceType': 'instance'},
            **tags,
            **keys,
        )
        return re.findall(r'<instanceId>([^<]+)', text)

    image = next(
        i
        for i in ec2('DescribeImages', **{'Owner.1': 'amazon'}).split('<item>')
        if '<imageId>' in i and '<platform>windows' not in i
    )
    image = re.search(r'<imageId>([^<]+)', image)[1]
    launch('web', 7)
    launch('db', 2, **{'InstanceMarketOptions.MarketType': 'spot'})
    ec2('StopInstances', **{'InstanceId.1': launch('stopped', 1)[0]})
    keys = {'endpoint': url, 'region': 'us-east-1', 'access_key': 'A', 'secret_key': 's', 'port': 9100}
    jobs = {
        'all': entry('ec2', **keys),
        'some': entry('ec2', filters=[{'name': 'tag:Name', 'values': ['web', 'db']}], **keys),
    }
    e, p = start_pair(d, jobs)
    same_targets(e, p, jobs, 19)
    launch('web', 2)
    same_targets(e, p, jobs, 23)
    e.finish()
    p.stop()
    moto.stop()


def message(number, *parts):
    """A field of protocol buffers."""
    content = b''.join(p if isinstance(p, bytes) else p.encode() for p in parts)
    length, size = b'', len(content)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


class Containerd:
    """containerd, asked as the kubelet asks it (Container Runtime Interface: gRPC)."""

    def __init__(self, d):
        self.d, self.address = d, f'{d}/containerd.sock'
        with open(f'{d}/containerd.toml', 'w') as f:
            f.write(
                f'version = 2\nroot = "{d}/root"\nstate = "{d}/state"\n[grpc]\naddress = "{self.address}"\n[ttrpc]\n'
                f'address = "{d}/ttrpc.sock"\n[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "localhost/busybox:1"\n'
                'restrict_oom_score_adj = true\n[plugins."io.containerd.grpc.v1.cri".containerd]\nsnapshotter = "native"\n'
            )
        self.process = Process(['containerd', '-c', f'{d}/containerd.toml'], f'{d}/containerd.log')
        wait_until('containerd', 60, lambda: os.path.exists(self.address))
        call(
            'ctr', '-a', self.address, '-n', 'k8s.io', 'images', 'import', '--snapshotter=native', self.image_archive()
        )

    def image_archive(self):
        """An image in the form of `docker save`, whose default command sleeps."""
        layer = open(make_image(self.d), 'rb').read()
        config = json.dumps(
            {
                'architecture': 'amd64',
                'os': 'linux',
                'config': {'Cmd': ['/bin/sleep', '1000']},
                'rootfs': {'type': 'layers', 'diff_ids': ['sha256:' + hashlib.sha256(layer).hexdigest()]},
            }
        )
        manifest = json.dumps([{'Config': 'config.json', 'RepoTags': ['localhost/busybox:1'], 'Layers': ['layer.tar']}])
        with tarfile.open(f'{self.d}/saved.tar', 'w') as tar:
            for name, text in ('config.json', config), ('manifest.json', manifest), ('layer.tar', layer):
                with open(f'{self.d}/{name}', 'wb') as f:
                    f.write(text if isinstance(text, bytes) else text.encode())
                tar.add(f'{self.d}/{name}', name)
        return f'{self.d}/saved.tar'

    def ask(self, method, request):
        with tempfile.NamedTemporaryFile() as f:
            f.write(bytes([0]) + len(request).to_bytes(4, 'big') + request)
            f.flush()
            done = subprocess.run(
                [
                    'curl',
                    '-sS',
                    '--http2-prior-knowledge',
                    '--unix-socket',
                    self.address,
                    '-D',
                    f'{self.d}/headers',
                    '-H',
                    'Content-Type: application/grpc',
                    '-H',
                    'TE: trailers',
                    '--data-binary',
                    f'@{f.name}',
                    f'http://localhost/runtime.v1.RuntimeService/{method}',
                ],
                capture_output=True,
                check=True,
            )
        assert len(done.stdout) >= 5, (method, open(f'{self.d}/headers').read())
        return done.stdout[5:]

    def run_pod(self, namespace, pod, container, *command):
        """Starts a pod with a container in the network of this machine; returns the ID of the container."""
        node = message(8, message(2, message(1, b'\x08\x02')))
        config = message(1, message(1, pod), message(2, f'uid-{pod}'), message(3, namespace)) + node
        sandbox = self.ask('RunPodSandbox', message(1, config))
        ident = sandbox[2 : 2 + sandbox[1]].decode()
        what = (
            message(1, message(1, container))
            + message(2, message(1, 'localhost/busybox:1'))
            + b''.join(message(3, c) for c in command)
        )
        made = self.ask('CreateContainer', message(1, ident) + message(2, what) + message(3, config))
        made = made[2 : 2 + made[1]].decode()
        self.ask('StartContainer', message(1, made))
        return made


@suite.test
@with_containers
def processes_in_pods_of_containerd_get_their_names(d):
    containerd = Containerd(d)
    containerd.run_pod('shop', 'web-1', 'main', '/bin/sh', '-c', 'ulimit -t 300; while :; do :; done')
    config = f'''
ebpf:
  enabled: true
  sampling_frequency: 199
  interval: 1s
  cri_sd_configs: [{{endpoint: 'unix://{containerd.address}', refresh_interval: 1s}}]
  relabel_configs: [{{source_labels: [pod], regex: '.+', action: keep}}]
'''
    e = Everprof(d, config).ready()
    names = lambda: {
        (s['namespace'], s['pod'], s['container']) for s in e.get('/api/v1/series', **{'match[]': 'process_cpu'}).data()
    }
    wait_until('profiles of the pod', 60, lambda: names() == {('shop', 'web-1', 'main')}, 0.5)
    containerd.run_pod('shop', 'db-1', 'sql', '/bin/sh', '-c', 'ulimit -t 300; while :; do :; done')
    wait_until('profiles of the new pod', 60, lambda: ('shop', 'db-1', 'sql') in names(), 0.5)
    print('containerd:', sorted(names()))
    e.finish()
    for ident in call('ctr', '-a', containerd.address, '-n', 'k8s.io', 'tasks', 'ls', '-q').split():
        subprocess.run(
            ['ctr', '-a', containerd.address, '-n', 'k8s.io', 'tasks', 'rm', '-f', ident],
            check=False,
            capture_output=True,
        )
    containerd.process.stop()


suite.main()
