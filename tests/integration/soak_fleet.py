#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fleet: TARGETS (2 000) × 4 types every 15 s from a local generator for MINUTES (10), none of
it missed, memory flat; then a reload with 20 000 targets of a file, and files that are none.

usage: soak_fleet.py [CORPUS]      CORPUS: folders of <type>.tar; its heaps are what is scraped"""
import json
import os
import resource
import sys
import time

from fleet_generator import Generator, addresses, bodies, cpu, generate
from harness import Everprof, Suite, wait_until

CORPUS = sys.argv.pop(1) if len(sys.argv) > 1 and '/' in sys.argv[1] else ''
TARGETS = int(os.environ.get('TARGETS', '2000'))
MINUTES = float(os.environ.get('MINUTES', '10'))
suite = Suite()


def config(targets_file, interval='15s'):
    off = ''.join(f'      {t}: {{enabled: false}}\n' for t in ('allocs', 'block', 'threadcreate'))
    return (
        f'global: {{scrape_interval: {interval}}}\nscrape_configs:\n- job_name: fleet\n'
        f'  profiling_config:\n    pprof_config:\n{off}      profile: {{seconds: 5}}\n'
        f'  file_sd_configs: [{{files: [{targets_file}], refresh_interval: 1h}}]\n'
    )


def size(path):
    return (
        sum(os.path.getsize(os.path.join(d, f)) for d, _, names in os.walk(path) for f in names if f != 'ballast')
        / 2**20
    )


def write(path, targets):
    with open(path + '.tmp', 'w') as f:
        json.dump([{'targets': [t], 'labels': {'n': str(i)}} for i, t in enumerate(targets)], f)
    os.rename(path + '.tmp', path)


@suite.test
def no_scrape_is_missed_and_memory_is_constant(d):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    Generator.bodies = bodies(CORPUS)
    port = generate()
    write(f'{d}/t.json', addresses(TARGETS, port))
    e = Everprof(d, config('t.json'), ['--storage.tsdb.wal-budget=256MB']).ready()
    began, used = time.monotonic(), cpu(e)
    anon = []
    while time.monotonic() - began < MINUTES * 60:
        time.sleep(5)
        anon.append((time.monotonic() - began, e.memory()))
    took = time.monotonic() - began
    used = cpu(e) - used
    outcome = {
        line.split('outcome="')[1].split('"')[0]: float(line.rsplit(' ', 1)[1])
        for line in e.get('/metrics').body.decode().splitlines()
        if line.startswith('everprof_target_scrapes_total{')
    }
    skipped = e.metric('everprof_target_scrapes_skipped_total')
    after = [m for t, m in anon if t > min(120, took / 5)]
    print(
        f'{TARGETS} targets, {took:.0f} s: {outcome}, skipped {skipped:.0f}; '
        f'{Generator.bytes / 2**20:.0f} MB served; CPU {used:.1f} s = {used / took:.2f} cores'
    )
    print(
        f'RssAnon {after[0]:.1f} MB after two minutes, {after[-1]:.1f} at the end, {max(after):.1f} '
        f'at most; VmHWM {e.memory("VmHWM"):.1f} MB; {size(e.data):.1f} MB on disk; '
        f'flushes {e.metric("everprof_tsdb_flushes_total")}, '
        f'waits {e.metric("everprof_ingest_waits_total")}'
    )
    series = e.range('{job="fleet"}', begin=int((time.time() - took) * 1000))
    assert len(series) == 4 * TARGETS, len(series)
    least = int((took - 15 - 20) / 15)
    gaps = [b - a for s in series for a, b in zip(s['timestamps'], s['timestamps'][1:])]
    print(
        f'{sum(len(s["timestamps"]) for s in series)} profiles listed, at least '
        f'{min(len(s["timestamps"]) for s in series)} of a series; the longest gap {max(gaps)} ms'
    )
    assert outcome.get('failure', 0) == 0 and skipped == 0
    assert min(len(s['timestamps']) for s in series) >= least and max(gaps) < 16000
    assert max(after) - after[0] <= 32, (after[0], max(after))


@suite.test
def reload_of_twenty_thousand_targets(d):
    port = 1  # nobody is there
    many = addresses(20000, port)
    write(f'{d}/t.json', many)
    e = Everprof(d, config('t.json', '1h'), ['--web.enable-lifecycle', '--query.memory=1GB']).ready()

    def total():
        return e.metric('everprof_scrape_targets')

    wait_until('all of them', 60, lambda: total() == 80000)
    before = {(t['labels']['n'], t['labels']['__name__']): t['nextScrape'] for t in e.targets()}
    print(f'RssAnon {e.memory():.1f} MB with 80 000 targets × types')
    write(f'{d}/t.json', many + ['127.9.9.9:1'])
    began = time.monotonic()
    wait_until('one more', 60, lambda: total() == 80004, 0.01)
    print(f'a file with one target more is applied after {time.monotonic() - began:.2f} s')
    began = time.monotonic()
    assert e.get('/-/reload', method='POST').status == 200
    print(f'a reload takes {time.monotonic() - began:.2f} s')
    now = {(t['labels']['n'], t['labels']['__name__']): t for t in e.targets()}
    kept = sum(now[k]['nextScrape'] == v for k, v in before.items() if now[k]['lastScrape'].startswith('0001'))
    waiting = sum(now[k]['lastScrape'].startswith('0001') for k in before)
    print(f'{kept} of {waiting} that were not scraped yet are due when they were')
    assert kept == waiting > 0
    for text in ('{', '[{"targets": 1}]', '[' + '{"targets": ["a:1"]},\n' * 1000000 + '{}]'):
        failures = e.metric('everprof_discovery_failures_total')
        with open(f'{d}/t.json.tmp', 'w') as f:
            f.write(text)
        os.rename(f'{d}/t.json.tmp', f'{d}/t.json')
        wait_until('the refusal', 60, lambda: (e.metric('everprof_discovery_failures_total') or 0) > (failures or 0))
        assert total() == 80004
    print([line.split('err=')[1] for line in e.text().splitlines() if 'service discovery failed' in line])


suite.main()
