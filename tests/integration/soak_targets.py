#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prometheus, etcd, node_exporter and a Go program, every 5 s for two
minutes: every type is listed, and go tool pprof reads the API's URLs."""
import os
import subprocess
import time

from harness import Everprof, Suite
from programs import start_programs

suite = Suite()
SECONDS = float(os.environ.get('SECONDS_LONG', '120'))


@suite.test
def real_programs_for_two_minutes(d):
    addresses = start_programs(d)
    e = Everprof(
        d,
        'scrape_configs:\n'
        + ''.join(
            f'- job_name: {n}\n  scrape_interval: 5s\n  profiling_config: {{pprof_config: '
            f'{{profile: {{seconds: 4}}}}}}\n  static_configs: [{{targets: ["{a}"]}}]\n'
            for n, a in addresses.items()
        ),
    ).ready()
    time.sleep(SECONDS)
    series = e.range('{job=~".+"}')
    for s in series:
        print(s['labels']['job'], s['labels']['__name__'], len(s['timestamps']))
    assert len(series) == 7 * len(addresses)
    for s in series:
        assert len(s['timestamps']) >= SECONDS / 5 * 0.8 - 1, s['labels']
    for t in e.targets():
        assert t['health'] == 'up', t
    for n in addresses:
        for kind in ('heap', 'profile', 'goroutine'):
            out = subprocess.run(
                [
                    '/usr/bin/go',
                    'tool',
                    'pprof',
                    '-top',
                    f'{e.url}/api/v1/query?query={kind}{{job="{n}"}}&time=now&match=before',
                ],
                capture_output=True,
                text=True,
                env={**os.environ, 'PPROF_TMPDIR': d, 'HOME': d},
            )
            assert out.returncode == 0 and 'flat%' in out.stdout, out.stderr + out.stdout
    print(f'RssAnon {e.metric("process_resident_anonymous_memory_bytes") / 2**20:.1f} MiB')


suite.main()
