#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/kubernetes: the configurations in the manifests are valid, and the rights are the least ones.

`./dev soak peers` checks the manifests themselves, with Helm, a schema validator and an API server."""
import json
import os
import re
import textwrap

from harness import ROOT, Everprof, Suite, run, wait_until

suite = Suite()
FOLDER = os.path.join(ROOT, 'examples/kubernetes')


def text_of(name):
    with open(os.path.join(FOLDER, name)) as f:
        return f.read()


def documents():
    """{(kind, name): text} of the manifest."""
    found = {}
    for text in re.split(r'^---\n', text_of('everprof.yaml'), flags=re.M):
        kind, name = re.search(r'^kind: (\w+)', text, re.M), re.search(r'^  name: (\S+)', text, re.M)
        if kind:
            found[kind[1], name[1]] = text
    return found


def files(text):
    """{name: text} of the files in a ConfigMap."""
    return {
        name: textwrap.dedent(body) for name, body in re.findall(r'^  ([\w.]+): \|\n((?:    .*\n|\n)*)', text, re.M)
    }


@suite.test
def configurations_are_valid(d):
    objects = documents()
    central, agent = files(objects['ConfigMap', 'everprof']), files(objects['ConfigMap', 'everprof-agent'])
    assert set(central) == {'everprof.yaml', 'web.yaml'} and set(agent) == {'everprof.yaml'}
    os.environ['NODE_NAME'] = 'alder'
    os.mkdir(f'{d}/tokens')
    for name in ('write-token', 'read-token'):
        with open(f'{d}/tokens/{name}', 'w') as f:
            f.write(name * 3)
    for text in (central['everprof.yaml'], agent['everprof.yaml']):
        with open(f'{d}/c.yaml', 'w') as f:
            f.write(text.replace('/etc/everprof-tokens', f'{d}/tokens'))
        done = run('check', 'config', f'{d}/c.yaml')
        assert not done.returncode and 'warn' not in done.stderr.lower(), done
    with open(f'{d}/web.yaml', 'w') as f:
        f.write(central['web.yaml'].replace('/etc/everprof-tokens', f'{d}/tokens'))
    done = run('check', 'web-config', f'{d}/web.yaml')
    assert not done.returncode, done
    # The flags of the central everprof, with other paths.
    flags = re.findall(r'^        - (--\S+)', objects['StatefulSet', 'everprof'], re.M)
    flags = [
        f for f in flags if not re.match('--(config.file|storage.tsdb.path|web.listen-address|web.config.file)=', f)
    ]
    assert len(flags) == 4, flags
    e = Everprof(f'{d}/central', central['everprof.yaml'], [*flags, f'--web.config.file={d}/web.yaml'])
    wait_until(
        'an answer',
        30,
        lambda: e.get('/-/ready', {'Authorization': 'Bearer ' + 'read-token' * 3}).status == 200
        if os.path.exists(f'{d}/central/everprof.log') and 'is ready' in e.text()
        else False,
    )
    # Probes have no token.
    probed = re.findall(
        r'^        (\w+)Probe: \{httpGet: \{path: ([^,]+), port: http\}', objects['StatefulSet', 'everprof'], re.M
    )
    assert sorted(name for name, _ in probed) == ['liveness', 'readiness', 'startup'], probed
    for _, path in probed:
        assert e.get(path).status == 200, path
    # Agents are probed by a command in the container.
    commands = re.findall(
        r'^          exec: \{command: \[/usr/bin/everprof, (.*)\]\}', objects['DaemonSet', 'everprof-agent'], re.M
    )
    assert len(commands) == 2, commands
    for command in commands:
        asked = run(*command.split(', '), f'--server={e.url}')
        assert not asked.returncode, asked
    for token, path, status in (
        ('read', '/api/v1/series?match[]=x', 200),
        ('write', '/api/v1/series?match[]=x', 403),
        ('read', '/api/v1/write', 403),
    ):
        answer = e.get(
            path,
            {'Authorization': f'Bearer {token}-token{token}-token{token}-token'},
            data=b'' if 'write' in path else None,
        )
        assert answer.status == status, (token, path, answer.status)
    e.finish()


@suite.test
def annotations_choose_the_port(d):
    """Also of pods that declare no port, whose address is only their IP, which has no brackets."""
    os.environ['NODE_NAME'] = 'alder'
    with open(f'{d}/c.yaml', 'w') as f:
        f.write(files(documents()['ConfigMap', 'everprof-agent'])['everprof.yaml'])
    job = re.search(r'job_name: (\S+)', open(f'{d}/c.yaml').read())[1]
    for address, ip, port, url in (
        ('10.0.0.1', '10.0.0.1', '6060', 'http://10.0.0.1:6060/'),
        ('10.0.0.1:80', '10.0.0.1', '6060', 'http://10.0.0.1:6060/'),
        ('10.0.0.1:81', '10.0.0.1', '', 'http://10.0.0.1:81/'),
        ('fd00::1', 'fd00::1', '6060', 'http://[fd00::1]:6060/'),
        ('[fd00::1]:80', 'fd00::1', '6060', 'http://[fd00::1]:6060/'),
        ('[fd00::1]:81', 'fd00::1', 'x', 'http://[fd00::1]:81/'),
    ):
        labels = {
            '__address__': address,
            '__meta_kubernetes_pod_ip': ip,
            '__meta_kubernetes_pod_phase': 'Running',
            '__meta_kubernetes_pod_annotation_everprof_io_scrape': 'true',
            '__meta_kubernetes_pod_annotation_everprof_io_port': port,
        }
        done = run(
            'check', 'relabel', f'{d}/c.yaml', job, '{' + ', '.join(f'{k}="{v}"' for k, v in labels.items()) + '}'
        )
        assert not done.returncode and url in done.stdout, (address, done)


@suite.test
def rights_are_the_least_ones(d):
    objects = documents()
    rules = objects['ClusterRole', 'everprof-everprof-agent'].partition('rules:\n')[2].strip()
    assert rules == "- apiGroups: ['']\n  resources: [pods]\n  verbs: [list, watch]", rules
    assert not [k for k in objects if k[0] in ('Role', 'RoleBinding')], objects.keys()
    for kind in ('StatefulSet', 'DaemonSet'):
        text = next(t for k, t in objects.items() if k[0] == kind)
        for line in ('readOnlyRootFilesystem: true', 'allowPrivilegeEscalation: false', 'RuntimeDefault', 'ALL'):
            assert line in text, (kind, line)
        size, volume = re.search(r'retention.size=(\d+)MiB', text), re.search(r'storage: (\d+)Gi', text)
        assert not size or 0.8 < int(size[1]) / 1024 / int(volume[1]) < 0.95, (size, volume)
        assert 'privileged: true' not in text and 'hostNetwork' not in text, kind
    agent = objects['DaemonSet', 'everprof-agent']
    # Under the default profile, /proc of other processes cannot be read (AppArmor).
    assert re.search(r'^          appArmorProfile:\n            type: Unconfined\n', agent, re.M)
    assert 'unconfined' not in objects['StatefulSet', 'everprof'].lower()
    with open(os.path.join(ROOT, 'docs/ebpf.md')) as f:
        needed = set(re.findall(r'CAP_(\w+)', f.read().partition('## Permissions')[2].partition('```')[0]))
    assert set(re.search(r'add: \[(.*)\]', agent)[1].split(', ')) == needed, (agent, needed)
    assert 'automountServiceAccountToken: false' in objects['ServiceAccount', 'everprof']
    # Every node has an agent, also those of the control plane, and what it has not sent outlives its pod.
    assert re.search(r'^      tolerations:\n      - operator: Exists\n', agent, re.M)
    assert re.search(r'name: profiles, hostPath: \{path: /var/lib/everprof-agent/\S+, type: DirectoryOrCreate\}', agent)


def keys(text, indent):
    """{key: the lines below it} of YAML with this indentation."""
    found = re.findall(rf'^{" " * indent}(\w+):(.*\n(?:(?:{" " * indent} .*|- .*)?\n)*)', text, re.M)
    return dict(found)


@suite.test
def the_schema_knows_all_values_and_no_others(d):
    """So a misspelt value is refused, and each value has an effect."""
    schema = json.loads(text_of('everprof/values.schema.json'))
    folder = os.path.join(FOLDER, 'everprof/templates')
    templates = ''.join(text_of(f'everprof/templates/{name}') for name in os.listdir(folder))
    values = keys(text_of('everprof/values.yaml'), 0)
    assert (
        set(values) == {'image', 'secret', 'central', 'agent'} == set(schema['properties']) - {'global'}
    ), values.keys()
    assert not schema['additionalProperties']
    for section in ('image', 'central', 'agent'):
        known, mine = schema['properties'][section], keys(values[section], 2)
        assert set(mine) == set(known['properties']) and not known['additionalProperties'], section
        for name in mine:
            # Both pods use those of their place by one template.
            assert re.search(rf'\.Values\.{section}\.{name}\b|\$values\.{name}\b', templates), (section, name)
    assert len(keys(values['agent'], 2)) > 20


@suite.test
def the_readme_names_what_there_is(d):
    readme, values = text_of('README.md'), text_of('everprof/values.yaml')
    for name in re.findall(r'(?:agent|central|image)\.(\w+)\b(?=[`.=:])', readme):
        assert re.search(rf'^  {name}:', values, re.M), name
    for annotation in re.findall(r'`everprof\.io/(\w+)`', readme):
        assert f'annotation_everprof_io_{annotation}' in text_of('everprof.yaml'), annotation
    assert 'write-token' in readme and 'read-token' in readme and 'everprof-tokens' in values


suite.main()
