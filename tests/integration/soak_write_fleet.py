#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""AGENTS (200) agents of 20 series each send to one central instance: what a
profile costs there, beside scraping it; then the central instance is away for a
while, and has hardly any memory: nothing is lost, and there is no retry storm.

usage: soak_write_fleet.py [CORPUS]     CORPUS: folders of <type>.tar; its heaps are what is scraped"""
import os
import resource
import sys
import time

from fleet_generator import Generator, addresses, bodies, cpu, generate
from harness import Everprof, Suite, run, wait_until
from remote_nodes import Agent, Node

CORPUS = sys.argv.pop(1) if len(sys.argv) > 1 and '/' in sys.argv[1] else ''
AGENTS = int(os.environ.get('AGENTS', '200'))
SECONDS = float(os.environ.get('EVERPROF_SECONDS', '60'))
SERIES, INTERVAL = 20, 10
suite = Suite()


def jobs(targets):
    off = ''.join(
        f'      {t}: {{enabled: false}}\n' for t in ('allocs', 'block', 'goroutine', 'mutex', 'profile', 'threadcreate')
    )
    return (
        f'scrape_configs:\n- job_name: app\n  scrape_interval: {INTERVAL}s\n  scrape_timeout: 5s\n'
        f'  profiling_config:\n    pprof_config:\n{off}'
        f'  static_configs: [{{targets: {targets}}}]\n'
    )


class Fleet:
    def __init__(self, d, url, port):
        self.agents = []
        every = addresses(AGENTS * SERIES, port)
        for i in range(AGENTS):
            config = (
                jobs(every[i * SERIES : (i + 1) * SERIES])
                + f'global: {{external_labels: {{agent: a{i}}}}}\nremote_write:\n- url: {url}/api/v1/write\n'
            )
            self.agents.append(Agent(f'{d}/a{i}', config))

    def sum(self, name, labels=''):
        return sum(a.metric(name, labels) or 0 for a in self.agents)

    def scraped(self):
        return self.sum('everprof_target_scrapes_total', 'outcome="success"')

    def attempts(self):
        return self.sum('everprof_remote_storage_sent_batch_duration_seconds_count')

    def drained(self):
        return not self.sum('everprof_remote_storage_backlog_bytes') and not self.sum(
            'everprof_remote_storage_samples_pending'
        )

    def memory(self):
        return max(Everprof.memory(a) for a in self.agents)


def stored(c):
    return c.metric('everprof_remote_write_samples_stored_total') or 0


@suite.test
def agents_send_and_nothing_is_lost_when_it_is_too_much(d):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    Generator.bodies = bodies(CORPUS)
    port = generate()
    c = Node(f'{d}/c')
    fleet = Fleet(d, c.url, port)
    wait_until('all agents send', 120, lambda: stored(c) > AGENTS * SERIES, 0.5)
    began, used, count = time.monotonic(), cpu(c), stored(c)
    time.sleep(SECONDS)
    count, used, took = stored(c) - count, cpu(c) - used, time.monotonic() - began
    print(
        f'{AGENTS} agents: {count / took:.0f} profiles/s for {took:.0f} s, {1e6 * used / count:.0f} CPU us each '
        f'at the central instance; RssAnon {c.memory():.0f} MiB there, at most {fleet.memory():.0f} MiB at an agent'
    )
    c.kill()
    time.sleep(SECONDS)
    # All come back at once, to an instance that has memory for a few requests.
    c.arguments = (*c.arguments[:2], [*c.arguments[2], '--ingest.memory=4MB'], *c.arguments[3:])
    before, began = fleet.attempts(), time.monotonic()
    c.start_again()
    time.sleep(SECONDS)
    rate = (fleet.attempts() - before) / (time.monotonic() - began)
    print(
        f'{rate:.1f} requests/s after an outage of {SECONDS:.0f} s, with --ingest.memory=4MB; '
        f'{fleet.sum("everprof_remote_storage_samples_retried_total"):.0f} profiles were sent again'
    )
    assert rate < AGENTS
    Generator.bodies = {}  # no target answers any more
    time.sleep(2)
    wait_until('all is sent', 600, fleet.drained, 2)
    print(f'drained {time.monotonic() - began:.0f} s after the start')
    scraped, there = fleet.scraped(), len(run('tsdb', 'dump', c.data).stdout.splitlines())
    print(
        f'{scraped:.0f} scraped, {there} arrived, {fleet.sum("everprof_remote_storage_samples_failed_total"):.0f} refused'
    )
    assert there == scraped


@suite.test
def the_same_profiles_are_scraped(d):
    Generator.bodies = bodies(CORPUS)
    port = generate()
    e = Everprof(f'{d}/e', jobs(addresses(AGENTS * SERIES, port))).ready()

    def count():
        return e.metric('everprof_target_scrapes_total', 'outcome="success"') or 0

    wait_until('all are scraped', 120, lambda: count() > AGENTS * SERIES, 0.5)
    began, used, n = time.monotonic(), cpu(e), count()
    time.sleep(SECONDS)
    n, used, took = count() - n, cpu(e) - used, time.monotonic() - began
    print(f'scraped: {n / took:.0f} profiles/s, {1e6 * used / n:.0f} CPU us each; RssAnon {e.memory():.0f} MiB')


suite.main()
