#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fleet that is not friendly: a hundred hostile targets beside one good one."""
import threading
import time

import hostile
from harness import HEAP_ALONE, SLOW, Everprof, Server, Suite, heap_job, packed, profile, send, wait_until

suite = Suite()


@suite.test
def hostile_targets_do_not_harm_other_targets(d):
    served = []

    def serve(r):
        served.append(r.path)
        send(r, hostile.PROFILE)

    good = Server(serve)
    bad = hostile.targets()
    e = Everprof(
        d,
        'scrape_configs:\n'
        + heap_job('good', [good.address], '1s', '10s')
        + heap_job('bad', [r.address for r in bad.values()]),
        ['--ingest.memory=128MB'],
    ).ready()
    most, said = 0, {}
    start = time.monotonic()

    def known(name):
        # With sanitizers those that have no end leave no room, or no time, to others.
        return [hostile.reason(name)] + (['ingest.memory', 'no complete response'] if SLOW != 1 else [])

    def is_told(name):
        texts = said.get(bad[name].address, set()) - {''}
        return any(why in text for text in texts for why in known(name))

    # Twelve seconds, and longer where the machine is so busy that ten redirects
    # do not fit into a scrape's second every time.
    while time.monotonic() < start + 12 or (time.monotonic() < start + 120 and not all(map(is_told, bad))):
        most = max(most, e.memory())
        targets = {t['labels']['instance']: t for t in e.targets()}
        for address, t in targets.items():
            said.setdefault(address, set()).add(t['lastError'])
        time.sleep(0.05)
    for name, raw in bad.items():
        assert targets[raw.address]['health'] == 'down', name
        assert is_told(name), (name, said[raw.address])
    assert targets[good.address]['health'] == 'up', targets[good.address]
    asked = len(served)
    stamps = e.range('heap{job="good"}')[0]['timestamps']
    print(f'RssAnon at most {most:.1f} MB, {len(stamps)} profiles of the good one')
    # All that it served is there; the last one may still be on its way.
    assert 1 < asked - 1 <= len(stamps), (asked, stamps)
    if SLOW == 1:
        assert most <= 64 + 128
    assert e.range('{job="bad"}') == [], 'nothing of them is stored'
    for raw in bad.values():
        raw.stop()
    good.stop()


@suite.test
def simultaneous_large_profiles_are_all_stored(d):
    """Thirty targets of 12 MB each at the same moment, with room for a few."""
    big, small = profile('big', size=12 << 20), profile('small')
    bodies = [big] * 40
    server = Server(lambda r: send(r, bodies.pop() if bodies else small))
    listed = [server.address]
    config = 'scrape_configs:\n' + ''.join(heap_job(f'big{i}', listed, '5s', '5m') for i in range(30))
    e = Everprof(d, config, ['--ingest.memory=32MB', '--scrape.max-profile-size=13MB']).ready()
    wait_until('all of them', 120, lambda: len(e.range('{job=~"big.*"}')) == 30, 0.2)
    assert all(t['health'] == 'up' for t in e.targets()), [t['lastError'] for t in e.targets() if t['lastError']]
    assert e.metric('everprof_ingest_waits_total') > 0
    wait_until(
        'all given back',
        20,
        lambda: e.metric('everprof_ingest_memory_bytes') == 0 or e.metric('everprof_ingest_memory_bytes') < 32 << 20,
        0.05,
    )
    server.stop()


@suite.test
def scrape_on_demand(d):
    asked, hold = [], threading.Event()

    def answer(r):
        asked.append(r.path)
        if r.path.startswith('/debug/pprof/profile'):
            hold.wait(20)
        if 'bad' in r.headers['Host'] or 'seconds=7' in r.path:
            send(r, b'busy, come later\nand more', 503, Content_Type='text/plain; charset=utf-8')
        else:
            send(r, packed(profile(r.path)))

    server = Server(answer)
    port = server.address.split(':')[1]
    cpu = HEAP_ALONE.replace('      profile: {enabled: false}\n', '')
    both = heap_job('a', [f'127.0.0.1:{port}', f'127.0.0.2:{port}'], '20h', '5s')
    e = Everprof(d, 'scrape_configs:\n' + both.replace(HEAP_ALONE, cpu)).ready()

    def now(query, **params):
        return e.get('/api/v1/targets/profile', method='POST', query=query, **params)

    one = f'heap{{job="a",instance="127.0.0.1:{port}"}}'
    answer = now(one, report='raw')
    assert answer.status == 200 and answer.body == profile('/debug/pprof/heap'), answer.body
    ms = int(answer.headers['X-Everprof-Timestamp'])
    assert [s['timestamps'] for s in e.range(one)] == [[ms]], 'it is stored'
    assert now(one, report='top').json()['data']['total'] == 1, 'any report'
    for query, status, why in (
        ('heap{job="a"}', 400, '2 targets match the selector, but it must match exactly one'),
        ('heap{job="b"}', 404, '0 targets match'),
        ('x{', 400, 'parse'),
        ('', 400, 'query'),
    ):
        answer = now(query)
        assert answer.status == status and why in answer.json()['error'], (query, answer.body)
    assert e.get('/api/v1/targets/profile', query=one).status == 405

    # Seconds of one's own; one at a time of a target, four at a time in all.
    cpu = f'profile{{instance="127.0.0.1:{port}"}}'
    results, times = [], set()

    def ask():
        answer = now(cpu, seconds=3)
        if answer.status == 200:
            times.add(answer.headers['X-Everprof-Timestamp'])
        results.append(answer.status)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for t in threads:
        t.start()
    wait_until('two refusals', 10, lambda: results.count(429) == 2)
    assert [p for p in asked if 'profile' in p] == ['/debug/pprof/profile?seconds=3'], asked
    hold.set()
    for t in threads:
        t.join()
    assert sorted(results) == [200, 200, 200, 200, 429, 429], results
    answer = now(cpu, seconds=7)
    assert answer.status == 503 and answer.json()['error'].endswith(
        'the scrape failed: server returned HTTP status 503 Service Unavailable: busy, come later'
    )
    assert {t['health'] for t in e.targets()} == {'up', 'unknown'}, 'that was for who asked alone'
    # Equal profiles of one millisecond are one.
    assert {str(t) for t in e.range(cpu)[0]['timestamps']} == times
    server.stop()


suite.main()
