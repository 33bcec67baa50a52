#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dns_sd_configs: the targets of names that dnsmasq serves, as Prometheus finds them."""
import shutil
import sys

import own_network

own_network.enter()

from harness import Everprof, Process, Suite, run, wait_until
from sd_peer import Prometheus, configuration, discovered, same_targets

suite = Suite()
DNSMASQ = shutil.which('dnsmasq', path='/usr/sbin:/usr/bin')
RECORDS = '''
local=/#/
srv-host=_app._tcp.corp.example,Web1.corp.example,8080,10,5
srv-host=_app._tcp.corp.example,web2.corp.example,8081,20,5
srv-host=_none._tcp.corp.example
host-record=web1.corp.example,127.0.1.1,2001:db8::1
host-record=web2.corp.example,127.0.1.2
host-record=two.corp.example,127.0.2.1,2001:db8::21
host-record=two.corp.example,127.0.2.2,2001:db8::22
cname=alias.corp.example,web1.corp.example
mx-host=corp.example,mail.corp.example,10
dns-rr=zone.example,2,036e733104636f7270076578616d706c6500
dns-rr=zone.example,2,026e73076578616d706c6500
''' + ''.join(
    f'host-record=big.corp.example,10.0.{i}.1\n' for i in range(120)
)
LATER = '''
local=/#/
srv-host=_app._tcp.corp.example,web3.corp.example,8080,10,5
host-record=two.corp.example,127.0.2.2
'''
SRV = '''  dns_sd_configs:
  - names: [_app._tcp.corp.example]
    refresh_interval: 1s'''


def names(kind, port, *names):
    return f'''  dns_sd_configs:
  - names: [{", ".join(names)}]
    type: {kind}
    port: {port}
    refresh_interval: 1s'''


class Dnsmasq(Process):
    """Answers above 512 bytes are truncated, so that they need TCP."""

    def __init__(self, d, records, address='127.0.0.1'):
        path = f'{d}/dnsmasq{address}.conf'
        with open(path, 'w') as f:
            f.write(records)
        super().__init__(
            [
                DNSMASQ,
                '--keep-in-foreground',
                f'--conf-file={path}',
                '--no-resolv',
                '--no-hosts',
                '--no-daemon',
                f'--listen-address={address}',
                '--bind-interfaces',
                '--port=53',
                '--edns-packet-max=512',
                '--cache-size=0',
                '--log-queries',
                '--user=root',
            ],
            f'{d}/dnsmasq{address}.log',
        )
        wait_until('dnsmasq answers', 30, lambda: 'started, version' in self.text())


def begin(d, jobs):
    own_network.replace_file('/etc/resolv.conf', 'nameserver 127.0.0.1\nsearch corp.example sub.example\n')
    return Everprof(d, configuration(jobs)).ready()


@suite.test
def targets_are_those_of_prometheus(d):
    jobs = {
        'srv': SRV,
        'a': names('A', 80, 'two.corp.example', 'web1'),
        'aaaa': names('aaaa', 80, 'two'),
        'mx': names('MX', 25, 'corp.example.'),
        'alias': names('A', 9090, 'alias'),
        'big': names('A', 1, 'big.corp.example'),
        'none': names('A', 80, 'absent.corp.example', 'absent'),
        'empty': names('A', 80, 'web2.corp.example', '_app._tcp.corp.example'),
    }
    dns = Dnsmasq(d, RECORDS)
    e = begin(d, jobs)
    p = Prometheus(d, jobs)
    count = 2 + 3 + 2 + 1 + 1 + 120 + 0 + 1
    same_targets(e, p, jobs, count)
    assert e.metric('everprof_discovery_failures_total', '{discovery="dns"}') == 0
    # Records that change, and names that vanish.
    dns.stop()
    dns = Dnsmasq(d, LATER)
    same_targets(e, p, jobs, 1 + 1)
    dns.stop()


@suite.test
def ns_records_are_targets(d):
    dns = Dnsmasq(d, RECORDS)
    e = begin(d, {'ns': names('NS', 53, 'zone.example')})

    def found():
        return {dict(l)['__address__']: dict(l) for _, l in discovered(e.get('/api/v1/targets').data(), ['ns'])}

    wait_until('name servers', 20, found)
    assert set(found()) == {'ns1.corp.example:53', 'ns.example:53'}, found()
    labels = found()['ns.example:53']
    assert labels['__meta_dns_ns_record_target'] == 'ns.example.', labels
    assert labels['__meta_dns_name'] == 'zone.example', labels
    dns.stop()


@suite.test
def targets_stay_while_name_servers_are_away(d):
    dns = Dnsmasq(d, RECORDS)
    e = begin(d, {'srv': SRV, 'a': names('A', 80, 'two')})

    def targets():
        return len(discovered(e.get('/api/v1/targets').data(), ['srv', 'a']))

    wait_until('targets', 20, lambda: targets() == 4)
    dns.stop()
    wait_until('failures', 60, lambda: e.metric('everprof_discovery_failures_total', '{discovery="dns"}') > 1)
    assert targets() == 4
    assert 'targets that it found earlier are kept' in e.text() and 'source=two' in e.text(), e.text()[-2000:]
    # A second server answers; the first one is still away.
    own_network.replace_file('/etc/resolv.conf', 'nameserver 127.0.0.1\nnameserver 127.0.0.2\nsearch corp.example\n')
    dns = Dnsmasq(d, LATER, '127.0.0.2')
    wait_until('new targets', 60, lambda: targets() == 2)
    dns.stop()


@suite.test
def mistakes_in_the_configuration_are_named(d):
    cases = {
        '{}': 'dns_sd_config requires names',
        '{names: [""]}': 'names contains an empty name',
        '{names: [a], type: TXT}': 'type must be SRV, A, AAAA, MX or NS, not "TXT"',
        '{names: [a], type: A}': 'dns_sd_config requires port: only records of type SRV have a port',
        '{names: [a], port: 70000}': 'port must be between 1 and 65535',
        '{names: [a], url: x}': 'field url not found in dns_sd_config',
    }
    for text, says in cases.items():
        with open(f'{d}/c.yaml', 'w') as f:
            f.write(f'scrape_configs:\n- job_name: a\n  dns_sd_configs: [{text}]\n')
        done = run('check', 'config', f'{d}/c.yaml', check=False)
        assert done.returncode == 1 and says in done.stderr and 'c.yaml:3:' in done.stderr, (text, done.stderr)


if not DNSMASQ:
    print('SKIPPED: dnsmasq is not installed')
    sys.exit(77)
suite.main()
