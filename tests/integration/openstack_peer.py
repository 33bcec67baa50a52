# SPDX-License-Identifier: Apache-2.0
"""OpenStack's services of identity, compute and network (keystone, nova and neutron of PyPI), without the agents that would
run virtual machines: instances and hypervisors are written into nova's database. Runs in the virtual environment of
tests/providers.sh.

openstack_peer.py prepare FOLDER DATABASE IDENTITY COMPUTE NETWORK   writes configurations and tables; three ports
openstack_peer.py serve FOLDER SERVICE                               the API of a service
openstack_peer.py seed FOLDER PROJECT                                writes instances, and FOLDER/ids with their IDs"""
import json
import os
import shutil
import subprocess
import sys
import uuid
from wsgiref import simple_server

os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = '1'
CONFIGURATIONS = {
    'keystone': '''
[database]
connection = {database}/keystone
[fernet_tokens]
key_repository = {folder}/tokens
[fernet_receipts]
key_repository = {folder}/receipts
[credential]
key_repository = {folder}/credentials
''',
    'nova': '''
[DEFAULT]
state_path = {folder}
transport_url = fake:/
service_down_time = 1000000
[api]
max_limit = 3
[api_database]
connection = {database}/nova_api
[database]
connection = {database}/nova
[keystone_authtoken]
service_token_roles = admin
{auth}
[neutron]
{auth}
valid_interfaces = public
[oslo_concurrency]
lock_path = {folder}
''',
    'neutron': '''
[DEFAULT]
state_path = {folder}
transport_url = fake:/
core_plugin = ml2
service_plugins = router,port_forwarding
api_paste_config = {etc}/neutron/api-paste.ini
[database]
connection = {database}/neutron
[ml2]
type_drivers = local,flat
tenant_network_types = local
mechanism_drivers =
[ml2_type_flat]
flat_networks = *
[keystone_authtoken]
service_token_roles = admin
{auth}
[oslo_concurrency]
lock_path = {folder}
''',
}
AUTH = '''auth_type = password
auth_url = http://127.0.0.1:{identity}/v3
www_authenticate_uri = http://127.0.0.1:{identity}/v3
username = admin
password = secret
project_name = admin
user_domain_id = default
project_domain_id = default'''


def manage(folder, program, *argv):
    service = program.partition('-')[0]
    done = subprocess.run(
        [f'{sys.prefix}/bin/{program}', '--config-file', f'{folder}/{service}.conf', *argv],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (program, argv, done.stderr[-3000:])


def prepare(folder, database, identity, compute, network):
    for service, text in CONFIGURATIONS.items():
        with open(f'{folder}/{service}.conf', 'w') as f:
            f.write(
                text.format(
                    folder=folder, etc=f'{sys.prefix}/etc', database=database, auth=AUTH.format(identity=identity)
                )
            )
    with open(f'{folder}/ports', 'w') as f:
        json.dump({'keystone': int(identity), 'nova': int(compute), 'neutron': int(network)}, f)
    shutil.copy(f'{sys.prefix}/etc/nova/api-paste.ini', folder)
    for name in 'tokens', 'receipts', 'credentials':
        os.makedirs(f'{folder}/{name}')
    root = '--keystone-user', 'root', '--keystone-group', 'root'
    manage(folder, 'keystone-manage', 'db_sync')
    manage(folder, 'keystone-manage', 'fernet_setup', *root)
    manage(folder, 'keystone-manage', 'credential_setup', *root)
    manage(
        folder,
        'keystone-manage',
        'bootstrap',
        '--bootstrap-password=secret',
        '--bootstrap-region-id=RegionOne',
        f'--bootstrap-public-url=http://127.0.0.1:{identity}/v3',
        f'--bootstrap-internal-url=http://127.0.0.1:{identity}/v3',
    )
    manage(folder, 'nova-manage', 'api_db', 'sync')
    manage(folder, 'nova-manage', 'cell_v2', 'map_cell0', f'--database_connection={database}/nova_cell0')
    manage(folder, 'nova-manage', 'db', 'sync')
    manage(folder, 'nova-manage', 'cell_v2', 'create_cell', '--name=cell1')
    # neutron's migrations need MySQL; its tests make the tables in this way, too.
    from neutron.db.migration.models import head
    import sqlalchemy

    head.get_metadata().create_all(sqlalchemy.create_engine(f'{database}/neutron'))


def application(folder, service):
    os.environ.update(OS_KEYSTONE_CONFIG_FILES=f'{folder}/keystone.conf', OS_NOVA_CONFIG_DIR=folder)
    sys.argv[1:] = []
    if service == 'keystone':
        from keystone.server.wsgi import initialize_public_application

        return initialize_public_application()
    if service == 'nova':
        from nova.api.openstack.compute.wsgi import init_application

        return init_application()
    sys.argv[1:] = ['--config-file', f'{folder}/neutron.conf']
    from neutron.cmd.server import main_api_uwsgi
    from sqlalchemy import orm

    api = main_api_uwsgi()
    orm.configure_mappers()  # the first request would fail
    return api


def serve(folder, service):
    with open(f'{folder}/ports') as f:
        port = json.load(f)[service]
    server = simple_server.make_server('127.0.0.1', port, application(folder, service))
    print('ready', flush=True)
    server.serve_forever()


def seed(folder, project):
    from nova import config, context, objects
    from nova.network import model

    config.parse_args(['seed', f'--config-file={folder}/nova.conf'])
    objects.register_all()
    admin = context.get_admin_context()
    cell = next(c for c in objects.CellMappingList.get_all(admin) if not c.is_cell0())
    context.set_target_cell(admin, cell)
    nodes = []
    for i in range(2):
        objects.Service(admin, host=f'compute{i}', binary='nova-compute', topic='compute').create()
        node = objects.ComputeNode(
            admin,
            host=f'compute{i}',
            hypervisor_hostname=f'compute{i}.example',
            host_ip=f'10.9.0.{i + 1}',
            hypervisor_type='QEMU',
            hypervisor_version=7002000,
            vcpus=8,
            vcpus_used=1,
            memory_mb=1024,
            memory_mb_used=1,
            local_gb=10,
            local_gb_used=1,
            free_ram_mb=1,
            free_disk_gb=1,
            current_workload=0,
            running_vms=1,
            disk_available_least=1,
            cpu_info='{}',
            uuid=str(uuid.uuid4()),
            service_id=None,
        )
        node.create()
        objects.HostMapping(admin, host=f'compute{i}', cell_mapping=cell).create()
        nodes.append(node.id)
    ids = []
    flavor = objects.Flavor(
        admin,
        name='m1.small',
        flavorid='42',
        memory_mb=512,
        vcpus=1,
        root_gb=1,
        ephemeral_gb=0,
        swap=0,
        rxtx_factor=1.0,
        is_public=True,
        disabled=False,
        vcpu_weight=0,
        extra_specs={},
        description=None,
    )
    flavor.create()
    for i, state in enumerate(['active', 'active', 'stopped', 'error']):
        instance = objects.Instance(
            admin,
            uuid=str(uuid.uuid4()),
            project_id=project,
            user_id='user',
            display_name=f'web-{i}',
            host=f'compute{i % 2}',
            node=f'compute{i % 2}.example',
            compute_id=nodes[i % 2],
            vm_state=state,
            power_state=1,
            image_ref=str(uuid.uuid4()) if i else '',
            metadata={'role': 'web', 'a-b': str(i)},
            flavor=flavor,
            old_flavor=None,
            new_flavor=None,
            availability_zone='nova',
            launch_index=0,
            hostname=f'web-{i}',
            memory_mb=512,
            vcpus=1,
            root_gb=1,
            ephemeral_gb=0,
        )
        instance.create()
        addresses = [
            model.FixedIP(
                address=f'10.0.0.{i + 10}',
                version=4,
                floating_ips=[model.IP(address=f'203.0.113.{i + 10}', type='floating')] if i == 1 else [],
            )
        ]
        vifs = [
            model.VIF(
                id=str(uuid.uuid4()),
                address=f'fa:16:3e:00:00:{i:02x}',
                network=model.Network(id=str(uuid.uuid4()), label=label, subnets=[model.Subnet(cidr=cidr, ips=ips)]),
            )
            for label, cidr, ips in [('private', '10.0.0.0/24', addresses)]
            + ([('second', 'fd00::/64', [model.FixedIP(address=f'fd00::{i + 1}', version=6)])] if i == 2 else [])
        ]
        objects.InstanceInfoCache(
            admin, instance_uuid=instance.uuid, network_info=model.NetworkInfo(vifs if i < 3 else [])
        ).save()
        objects.InstanceMapping(
            admin,
            instance_uuid=instance.uuid,
            cell_mapping=cell,
            project_id=project,
            user_id='user',
            queued_for_delete=False,
        ).create()
        ids.append(instance.uuid)
    with open(f"{folder}/ids", "w") as f:
        json.dump(ids, f)


{'prepare': prepare, 'serve': serve, 'seed': seed}[sys.argv[1]](*sys.argv[2:])
