#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""50 000 pods of a Kubernetes API server: the memory that they take, and 1 000 changes a
second for a minute, while 100 of the pods are scraped every second."""
import json
import os
import time

from harness import HEAP_ALONE, Everprof, Server, Suite, profile, send, wait_until
from kube_server import Kube

suite = Suite()
PODS = int(os.environ.get('PODS', '50000'))
SECONDS = float(os.environ.get('SECONDS_LONG', '60'))
RATE = 1000
EVERY = PODS // 100  # one of so many pods is scraped
META = '__meta_kubernetes_'


def big_pod(i, address, version=0):
    app, (host, port) = f'app-{i % 500}', address.split(':')
    scraped = i % EVERY == 0
    return {
        'metadata': {
            'name': f'{app}-7d9f8b6c5d-{i:05x}',
            'namespace': f'team-{i % 40}',
            'uid': f'{i:08x}-1111-4222-8333-444444444444',
            'labels': {
                'app.kubernetes.io/name': app,
                'app.kubernetes.io/instance': f'{app}-prod',
                'team': f'team-{i % 40}',
                'app.kubernetes.io/version': f'1.{i % 7}',
                'pod-template-hash': '7d9f8b6c5d',
            },
            'annotations': {
                'scrape': str(scraped).lower(),
                'checksum/config': f'{i % 500:064x}',
                'version': str(version),
            },
            'managedFields': [{'manager': 'm', 'fieldsV1': {'f:metadata': {f'f:x{j}': {} for j in range(40)}}}],
            'ownerReferences': [{'kind': 'ReplicaSet', 'name': f'{app}-7d9f8b6c5d', 'controller': True}],
        },
        'spec': {
            'nodeName': f'node-{i % 1000}.example',
            'containers': [
                {
                    'name': 'app',
                    'image': f'registry.example/team/{app}:1.{i % 7}',
                    'ports': [{'containerPort': int(port) if scraped else 8080, 'name': 'http', 'protocol': 'TCP'}],
                    'env': [{'name': f'V{j}', 'value': 'x' * 30} for j in range(20)],
                }
            ],
        },
        'status': {
            'phase': 'Running',
            'podIP': host if scraped else f'10.{i >> 16}.{i >> 8 & 255}.{i & 255}',
            'hostIP': f'192.168.{i % 1000 >> 8}.{i % 1000 & 255}',
            'conditions': [{'type': 'Ready', 'status': 'True'}],
            'containerStatuses': [{'name': 'app', 'containerID': f'containerd://{i:064x}'}],
        },
    }


def change(k, number, address):
    """Change some pods at once."""
    with k.changed:
        for n in range(number, number + RATE // 10):
            o = big_pod(n * 7919 % PODS, address, n)
            k.version += 1
            o['metadata']['resourceVersion'] = str(k.version)
            k.objects['pods'][(o['metadata']['namespace'], o['metadata']['name'])] = o
            k.changes.append((k.version, 'pods', 'MODIFIED', o))
        del k.changes[: -10 * RATE]
        k.changed.notify_all()


def versions(e):
    """What everprof knows of the pods that it scrapes: {pod: version}."""
    return {
        t['discoveredLabels'][META + 'pod_name']: t['discoveredLabels'][META + 'pod_annotation_version']
        for t in e.targets()
    }


@suite.test
def fifty_thousand_pods_and_a_watch_storm(d):
    scrapes, text = [0], profile('heap')

    def answer(r):
        scrapes[0] += 1
        send(r, text)

    server, k = Server(answer), Kube()
    k.page = 500
    for i in range(PODS):
        o = big_pod(i, server.address)
        k.objects['pods'][(o['metadata']['namespace'], o['metadata']['name'])] = o
    e = Everprof(
        d,
        'scrape_configs:\n- job_name: pods\n  scrape_interval: 1s\n  scrape_timeout: 1s\n'
        '  keep_dropped_targets: 100\n'
        f'  profiling_config:\n    pprof_config:\n{HEAP_ALONE}'
        f'  kubernetes_sd_configs:\n  - {json.dumps({"role": "pod", "api_server": k.url})}\n'
        f'  relabel_configs:\n  - {{source_labels: [{META}pod_annotation_scrape], regex: "true", action: keep}}\n'
        f'  - {{source_labels: [{META}pod_name], target_label: pod}}\n',
    ).ready()
    started = time.monotonic()
    peak = 0

    def listed():
        nonlocal peak
        peak = max(peak, e.memory())
        return len(e.targets()) == 100

    wait_until('all pods', 120, listed)
    print(f'{PODS} pods in {time.monotonic() - started:.1f} s, RssAnon {peak:.1f} MiB at most')
    assert peak < 150, peak
    time.sleep(2)
    started, before, number, cpu = time.monotonic(), scrapes[0], 0, e.metric('process_cpu_seconds_total')
    while time.monotonic() - started < SECONDS:
        change(k, number, server.address)
        number += RATE // 10
        peak = max(peak, e.memory())
        time.sleep(max(0, started + number / RATE - time.monotonic()))
    took = time.monotonic() - started
    share = (scrapes[0] - before) / (100 * took)
    print(
        f'{number} changes in {took:.1f} s: RssAnon {peak:.1f} MiB at most, '
        f'{e.metric("process_cpu_seconds_total") - cpu:.1f} s of CPU, {share:.3f} of the scrapes'
    )
    want = {
        o['metadata']['name']: o['metadata']['annotations']['version']
        for o in k.objects['pods'].values()
        if o['metadata']['annotations']['scrape'] == 'true'
    }
    wait_until('the last state of all pods', 30, lambda: versions(e) == want)
    assert peak < 150 and share > 0.95, (peak, share)
    assert e.metric('everprof_discovery_failures_total', '{discovery="kubernetes"}') == 0
    k.stop()


suite.main()
