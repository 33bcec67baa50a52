# SPDX-License-Identifier: Apache-2.0
"""The real programs that tests scrape, started on free ports."""
import os

from harness import LEAKAPP, Process, free_port


def start_programs(d):
    """{job: address} of Prometheus, etcd, node_exporter and leakapp."""
    names = ('prometheus', 'etcd', 'node_exporter', 'leakapp')
    at = {n: f'127.0.0.1:{free_port()}' for n in names}
    peer = f'127.0.0.1:{free_port()}'
    with open(os.path.join(d, 'prometheus.yml'), 'w') as f:
        f.write(
            'global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: self\n'
            f'  static_configs: [{{targets: ["{at["prometheus"]}"]}}]\n'
        )

    def start(name, *argv):
        Process(argv, os.path.join(d, name + '.log'))

    start(
        'prometheus',
        '/usr/bin/prometheus',
        f'--config.file={d}/prometheus.yml',
        f'--storage.tsdb.path={d}/prom',
        f'--web.listen-address={at["prometheus"]}',
    )
    start(
        'etcd',
        '/usr/bin/etcd',
        '--enable-pprof',
        f'--data-dir={d}/etcd',
        f'--listen-client-urls=http://{at["etcd"]}',
        f'--advertise-client-urls=http://{at["etcd"]}',
        f'--listen-peer-urls=http://{peer}',
        f'--initial-advertise-peer-urls=http://{peer}',
        f'--initial-cluster=default=http://{peer}',
    )
    start('node_exporter', '/usr/bin/prometheus-node-exporter', f'--web.listen-address={at["node_exporter"]}')
    start('leakapp', LEAKAPP, at['leakapp'])
    return at
