#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Remote write from one everprof to another: what the first has acknowledged
reaches the second, each profile once, whatever happens between them."""
import hashlib
import http.server
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

from harness import Process, Server, Skipped, Suite, free_port, heap_job, profile, run, selector, send, wait_until
from remote_nodes import Agent, Node, Receiver, normal, received
from write_client import push, read_request

suite = Suite()


def queue(url, name='c', more=''):
    return (
        f'- url: {url}/api/v1/write\n  name: {name}\n{more}'
        '  queue_config: {batch_send_deadline: 100ms, max_backoff: 500ms}\n'
    )


def sends_to(*queues, labels='{agent: a1}'):
    return f'global: {{external_labels: {labels}}}\nremote_write:\n' + ''.join(queues)


def series_of(number, **more):
    return {'__name__': 'heap', 'job': f'j{number % 5}', **more}


def ledger_key(labels, ms, raw):
    return (selector(dict(sorted(labels.items()))), ms, hashlib.sha256(raw).hexdigest())


class Load:
    """Pushes profiles to a node, and keeps a record of those it acknowledged."""

    def __init__(self, node, size=500):
        self.node, self.size, self.sent, self.number = node, size, set(), 0
        self.begin = int(time.time() * 1000) - 600000

    def push(self, count):
        for _ in range(count):
            self.number += 1
            n, ms = self.number, self.begin + self.number
            chance = random.Random(n)
            filler = chance.randbytes(chance.randrange(self.size) // 2).hex()
            raw = profile(f'p{n}-{filler}', n)
            labels = series_of(n)
            end = time.monotonic() + 60
            while time.monotonic() < end:
                try:
                    if push(self.node, (labels, [(raw, ms)])).status == 204:
                        break
                except OSError:
                    pass
                time.sleep(0.02)
            else:
                raise AssertionError('not acknowledged within 60 s')
            self.sent.add(ledger_key({**labels, 'agent': 'a1'}, ms, raw))


def wait_equal(load, central, seconds=60):
    wait_until('all samples', seconds, lambda: len(received(central)) >= len(load.sent), 0.3)
    got = received(central)
    assert len(got) == len(set(got)), 'duplicates'
    assert normal(got) == normal(load.sent), (len(got), len(load.sent))


@suite.test
def profiles_reach_the_central_instance_with_external_labels(d):
    c = Node(f'{d}/c')
    a = Node(f'{d}/a', sends_to(queue(c.url)))
    load = Load(a, 3000)
    load.push(200)
    wait_equal(load, c)
    metric = a.metric
    assert metric('everprof_remote_storage_samples_total') == 200
    assert metric('everprof_remote_storage_samples_failed_total') == 0
    wait_until('nothing pending', 10, lambda: metric('everprof_remote_storage_samples_pending') == 0)
    assert metric('everprof_remote_storage_decompressed_bytes_total') > metric('everprof_remote_storage_bytes_total')
    status = a.get('/api/v1/status/remote_write').data()
    (one,) = status['receivers']
    assert one['name'] == 'c' and one['url'] == f'{c.url}/api/v1/write', status
    assert one['pending'] == 0 and one['lastError'] == '' and one['lastSuccess'], status
    assert status['receiver']['enabled'] and status['receiver']['stored'] == 200, status
    page = a.get('/remote_write').body.decode()
    assert f'<code>{c.url}/api/v1/write</code>' in page and '200 profiles stored' in page, page
    assert 'sends to no receiver' in c.get('/remote_write').body.decode()
    there = c.get('/api/v1/status/remote_write').data()
    assert there['receivers'] == [] and there['receiver']['stored'] == 200, there
    # A profile that was sent does not change, and neither does that of the agent.
    for labels in a.range('heap'):
        for ms in labels['timestamps'][:3]:
            there = c.raw({**labels['labels'], 'agent': 'a1'}, ms)
            assert there.status == 200 and there.body == a.raw(labels['labels'], ms).body


@suite.test
def kills_on_either_side_lose_and_double_nothing(d):
    c = Node(f'{d}/c')
    a = Node(f'{d}/a', sends_to(queue(c.url)))
    load = Load(a)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            load.push(5)

    worker = threading.Thread(target=work)
    worker.start()
    chance = random.Random(5)
    for i in range(12):
        time.sleep(chance.random() * 0.4)
        victim = (a, c)[i % 2]
        victim.kill()
        time.sleep(chance.random() * 0.2)
        victim.start_again()
    stop.set()
    worker.join()
    wait_equal(load, c)
    assert len(load.sent) > 50


@suite.test
def an_outage_is_caught_up_from_held_segments(d):
    """The agent flushes and drops its WAL while the receiver is down."""
    c = Node(f'{d}/c')
    a = Node(f'{d}/a', sends_to(queue(c.url)), ['--storage.tsdb.wal-budget=8MB'])
    load = Load(a, 60000)
    load.push(20)
    wait_equal(load, c)
    c.kill()
    load.push(600)
    wait_until(
        'a segment is held', 30, lambda: os.path.isdir(f'{a.data}/wal/held') and os.listdir(f'{a.data}/wal/held')
    )
    # No way to end the process drops what was not sent.
    for _ in range(3):
        held = os.listdir(f'{a.data}/wal/held')
        a.finish()
        assert set(held) <= set(os.listdir(f'{a.data}/wal/held')), 'a stop keeps what was not sent'
        a.start_again()
        # A position that is saved once a second may be saved while the process stops.
        time.sleep(1.2)
    a.kill()
    held = os.listdir(f'{a.data}/wal/held')
    done = run('tsdb', 'confirm-clock', a.data)
    assert done.returncode == 0, done
    assert set(held) <= set(os.listdir(f'{a.data}/wal/held')), 'commands keep what was not sent'
    a.start_again()
    load.push(20)
    assert a.metric('everprof_remote_storage_backlog_bytes') is not None
    c.start_again()
    wait_equal(load, c, 120)
    wait_until('held segments go', 30, lambda: not os.listdir(f'{a.data}/wal/held'))
    a.finish()
    a.start_again()
    load.push(5)
    wait_equal(load, c)


@suite.test
def cursors_that_were_removed_cost_no_held_profile(d):
    c = Node(f'{d}/c')
    a = Node(f'{d}/a', sends_to(queue(c.url)), ['--storage.tsdb.wal-budget=8MB'])
    assert 'so the receiver counts as new' in a.text()
    assert 'the file wal/numbers is missing' not in a.text()
    c.kill()
    load = Load(a, 60000)
    load.push(700)
    wait_until(
        'a segment is held', 30, lambda: os.path.isdir(f'{a.data}/wal/held') and os.listdir(f'{a.data}/wal/held')
    )
    a.finish()
    shutil.rmtree(f'{a.data}/remote')
    c.start_again()
    a.start_again()
    assert 'the cursors of remote write are missing' in a.text()
    wait_equal(load, c, 120)
    # Without its WAL, a server says that it does not know what it lacks.
    a.finish()
    shutil.rmtree(f'{a.data}/wal')
    a.start_again()
    assert 'the file wal/numbers is missing' in a.text()
    load.push(5)
    wait_equal(load, c)


@suite.test
def an_agent_sends_what_it_scrapes_and_keeps_it_meanwhile(d):
    served, lock = [], threading.Lock()

    def answer(request):
        with lock:
            raw = profile(f's{len(served)}', len(served))
            served.append(hashlib.sha256(raw).hexdigest())
        send(request, raw)

    target = Server(answer)
    c = Node(f'{d}/c')
    a = Agent(f'{d}/a', 'scrape_configs:\n' + heap_job('app', [target.address], '100ms') + sends_to(queue(c.url)))
    wait_until('profiles arrive', 30, lambda: len(received(c)) > 5, 0.2)
    c.kill()
    before = len(served)
    wait_until('more is scraped', 30, lambda: len(served) > before + 10)
    a.stop(signal.SIGKILL)
    a.start()
    wait_until('still more', 30, lambda: len(served) > before + 20)
    assert a.metric('everprof_remote_storage_backlog_bytes') > 0
    assert a.get('/api/v1/query_range', query='heap').status == 404
    assert a.get('/targets').status == 200
    page = a.get('/remote_write').body.decode()
    assert 'Couldn&#39;t connect' in page or 'connect' in page, page
    assert 'does not receive profiles' in page, page
    c.start_again()
    wait_until('all arrive', 60, lambda: len(received(c)) > before + 20, 0.3)
    target.stop()
    assert a.stop() == 0 and 'Sanitizer' not in a.text()
    got = [sha for _, _, sha in received(c)]
    # The kill may have cut a scrape off before its profile was written.
    assert len(got) == len(set(got)) and set(got) <= set(served)
    a.start()
    # The backlog is not known in the first moment after a start.
    wait_until('all but two have arrived', 60, lambda: len(set(served) - {sha for _, _, sha in received(c)}) <= 2, 0.3)
    assert a.stop() == 0
    labels = c.range('heap')[0]['labels']
    assert labels['agent'] == 'a1' and labels['job'] == 'app', labels
    # A database may not become an agent.
    answer = run('agent', f'--storage.agent.path={c.data}', f'--config.file={d}/a/everprof.yaml')
    assert answer.returncode == 1 and 'everprof serve' in answer.stderr, answer


@suite.test
def answers_decide_what_is_sent_again(d):
    r = Receiver()
    a = Node(f'{d}/a', sends_to(queue(r.url, more='  headers: {X-Scope: team}\n')))
    load = Load(a)

    def total(name, labels=''):
        return a.metric(f'everprof_remote_storage_{name}', labels)

    r.answers = [(500, {}), (503, {}), (429, {'Retry_After': '2'}), (204, {})]
    load.push(1)
    wait_until('four attempts', 30, lambda: r.count() == 4)
    first = r.seen[0][1]
    assert first['Content-Encoding'] == 'zstd' and first['X-Scope'] == 'team', first
    assert first['Content-Type'] == 'application/x-protobuf'
    assert 'Retry-Attempt' not in first and r.seen[3][1]['Retry-Attempt'] == '3'
    assert r.seen[3][0] - r.seen[2][0] >= 2
    assert len({body for _, _, body in r.seen}) == 1
    wait_until('accepted', 10, lambda: total('samples_total') == 1)
    assert total('samples_retried_total') == 3 and total('samples_failed_total') == 0
    # A receiver that has looked at the profiles and refused them is not asked again.
    r.answers = [(400, {'X_Everprof_Samples_Written': '0'})]
    before = r.count()
    load.push(1)
    wait_until('one attempt', 30, lambda: r.count() == before + 1)
    wait_until('counted', 10, lambda: total('samples_failed_total') == 1)
    assert a.text().count('the receiver refused profiles') == 1
    # Wrong credentials, URLs and proxies end some day.
    r.answers = [(status, {}) for status in (400, 401, 403, 404, 415, 302)]
    before = r.count()
    load.push(1)
    wait_until('seven attempts', 30, lambda: r.count() == before + 7)
    wait_until('accepted', 10, lambda: total('samples_total') == 2)
    assert total('samples_failed_total') == 1
    # Anything may answer 2xx: a login page, a queue, a server that is no receiver.
    r.answers = [(200, {'Content_Type': 'text/html'}), (202, {}), (204, {'X_Everprof_Samples_Written': None})]
    before = r.count()
    load.push(1)
    wait_until('four attempts', 30, lambda: r.count() == before + 4)
    wait_until('accepted', 10, lambda: total('samples_total') == 3)
    assert total('samples_failed_total') == 1


@suite.test
def an_agent_counts_and_names_what_its_wal_has_lost(d):
    for kill in False, True:
        agent_loses(f'{d}/{kill}', kill)


def agent_loses(d, kill):
    """After a stop, somebody empties the only segment; after a kill, somebody removes it."""
    os.makedirs(d)
    serving = threading.Event()
    serving.set()
    target = Server(
        lambda request: send(request, profile(f's{time.monotonic_ns()}', 1), 200 if serving.is_set() else 503)
    )
    c = Node(f'{d}/c')
    a = Agent(f'{d}/a', 'scrape_configs:\n' + heap_job('app', [target.address], '50ms') + sends_to(queue(c.url)))
    # The last one that was acknowledged is where the loss begins.
    wait_until('profiles are acknowledged', 30, lambda: a.metric('everprof_remote_storage_samples_total') > 0)
    c.kill()
    wait_until('a backlog', 30, lambda: a.metric('everprof_tsdb_head_samples_appended_total') > len(received(c)) + 20)
    serving.clear()
    wait_until(
        'no more profiles',
        30,
        lambda: [a.metric('everprof_tsdb_head_samples_appended_total'), time.sleep(0.5)][0]
        == a.metric('everprof_tsdb_head_samples_appended_total'),
    )
    appended = a.metric('everprof_tsdb_head_samples_appended_total')
    syncs = 'everprof_tsdb_wal_fsyncs_total'
    wait_until('all is durable', 30, lambda: [a.metric(syncs), time.sleep(1.5)][0] == a.metric(syncs))
    a.stop(signal.SIGKILL if kill else signal.SIGTERM)
    segments = sorted(name for name in os.listdir(f'{a.d}/data/wal') if name.isdigit())
    if kill:
        for name in segments:
            os.unlink(f'{a.d}/data/wal/{name}')
    else:
        os.truncate(f'{a.d}/data/wal/{segments[-1]}', 64)
    c.start_again()
    before = len(received(c))
    a.start()
    serving.set()

    def lost():
        return a.metric('everprof_remote_storage_samples_dropped_total', 'reason="damaged"')

    wait_until('the loss', 30, lambda: lost() > 0)
    # What the receiver had stored when it was killed may not have been acknowledged.
    assert appended - before <= lost() <= appended, (lost(), appended, before)
    lines = [x for x in a.text().splitlines() if 'it lacks profiles' in x]
    assert len(lines) == 1 and re.search(r'from=\S+Z to=\S+Z', lines[0]), lines
    target.stop()


@suite.test
def shards_keep_the_order_of_a_series(d):
    """Also if the queue stops while it has much to send, and goes on after it."""
    r = Receiver()
    r.delay = 0.03
    a = Node(
        f'{d}/a',
        f'global: {{external_labels: {{agent: a1}}}}\nremote_write:\n- url: {r.url}/w\n'
        '  queue_config: {shards: 3, max_samples_per_send: 4, batch_send_deadline: 100ms}\n',
    )
    begin, sent = int(time.time() * 1000) - 600000, 0

    def more(count):
        nonlocal sent
        new = range(sent, sent + count)
        assert push(a, *[(series_of(n), [(profile(f'p{n}', n), begin + n)]) for n in new]).status == 204
        sent += count

    assert a.metric('everprof_remote_storage_shards') == 3
    for _ in range(10):
        more(50)
    a.finish()
    a.start_again()

    def received():
        times = {}
        with r.lock:
            for _, _, body in r.seen:
                for labels, _, ms in read_request(body):
                    # A request that the stop interrupted is sent again.
                    times.setdefault(labels['job'], {}).setdefault(ms)
        return times

    # Directly after the start the backlog is not known yet, so its metric alone does not tell the end.
    wait_until('all is sent', 120, lambda: sum(map(len, received().values())) == sent, 2)
    wait_until(
        'no backlog',
        60,
        lambda: a.metric('everprof_remote_storage_backlog_bytes') == 0
        and a.metric('everprof_remote_storage_samples_pending') == 0,
    )
    assert all(list(series) == sorted(series) for series in received().values())


def small_requests(url, more=''):
    """A configuration with requests of at most 20 KB of profiles."""
    return (
        'global: {external_labels: {agent: a1}}\nremote_write:\n'
        f'- {{url: "{url}", name: c, queue_config: {{max_bytes_per_send: 20KB, min_backoff: 10ms, '
        f'max_backoff: 100ms{more}}}}}\n'
    )


@suite.test
def one_refused_profile_of_a_backlog_costs_no_other(d):
    r = Receiver()
    r.answers = [(503, {})] * 1000
    a = Node(f'{d}/a', small_requests(f'{r.url}/w'), flags=[])
    begin = int(time.time() * 1000) - 600000
    bad = begin + 60

    def judge(body):
        samples = read_request(body)
        others = [ms for _, _, ms in samples if ms != bad]
        return (204, {}) if len(others) == len(samples) else (400, {'X-Everprof-Samples-Written': str(len(others))})

    for n in range(100):
        assert push(a, (series_of(n), [(profile(f'p{n}' + 'x' * 1000, n), begin + n)])).status == 204
    wait_until('an attempt', 30, r.count)
    with r.lock:
        r.answers, r.seen, r.judge = [], [], judge
    wait_until('all is sent', 60, lambda: a.metric('everprof_remote_storage_samples_total') == 99)
    assert a.metric('everprof_remote_storage_samples_failed_total') == 1
    with r.lock:
        got = [ms for _, _, body in r.seen for _, _, ms in read_request(body)]
    assert sorted(got) == [begin + n for n in range(100)], 'each profile is sent once'


class CuttingProxy(http.server.BaseHTTPRequestHandler):
    """Every second request that it passes on lacks a part of its body, with a Content-Length that hides it."""

    protocol_version = 'HTTP/1.1'
    target, seen = None, 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        CuttingProxy.seen += 1
        if CuttingProxy.seen % 2:
            body = body[: len(body) * 2 // 3]
        headers = {k: v for k, v in self.headers.items() if k not in ('Host', 'Content-Length', 'Connection')}
        request = urllib.request.Request(self.target + self.path, body, headers)
        try:
            with urllib.request.urlopen(request) as answer:
                send(self, answer.read(), answer.status, **self.kept(answer))
        except urllib.error.HTTPError as e:
            send(self, e.read(), e.code, **self.kept(e))

    def kept(self, answer):
        return {k.replace('-', '_'): v for k, v in answer.headers.items() if k.startswith('X-')}

    def log_message(self, *args):
        pass


@suite.test
def a_proxy_that_cuts_requests_short_loses_nothing(d):
    c = Node(f'{d}/c')
    CuttingProxy.target = c.url
    proxy = http.server.ThreadingHTTPServer(('127.0.0.1', 0), CuttingProxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    a = Node(f'{d}/a', sends_to(queue(f'http://127.0.0.1:{proxy.server_address[1]}')))
    load = Load(a)
    load.push(100)
    wait_equal(load, c)
    assert a.metric('everprof_remote_storage_samples_failed_total') == 0
    assert a.metric('everprof_remote_storage_samples_retried_total') > 0
    assert c.metric('everprof_remote_write_requests_failed_total') > 0
    proxy.shutdown()


@suite.test
def the_end_of_a_backlog_does_not_wait_for_the_deadline(d):
    r = Receiver()
    r.answers = [(500, {})] * 1000
    a = Node(f'{d}/a', small_requests(f'{r.url}/w', ', batch_send_deadline: 1h'))
    begin = int(time.time() * 1000) - 600000
    for n in range(100):
        assert push(a, (series_of(n), [(profile(f'p{n}' + 'x' * 1000, n), begin + n)])).status == 204
    wait_until('an attempt', 30, r.count)
    a.finish()
    with r.lock:
        r.answers = []
    a.start_again()
    wait_until('all is sent', 60, lambda: a.metric('everprof_remote_storage_samples_total') == 100)


@suite.test
def a_large_profile_passes_and_one_over_the_limit_is_named(d):
    c = Node(f'{d}/c', flags=['--scrape.max-profile-size=8MB'])
    a = Node(f'{d}/a', sends_to(queue(c.url)))
    load = Load(a)
    load.push(5)
    at = load.begin - 1000
    fits, over = profile('fits', 1, 7 << 20), profile('over', 1, 12 << 20)
    for name, raw in (('fits', fits), ('over', over)):
        assert push(a, ({'__name__': 'heap', 'job': name}, [(raw, at)])).status == 204
    load.sent.add(ledger_key({'__name__': 'heap', 'job': 'fits', 'agent': 'a1'}, at, fits))
    load.push(5)
    wait_equal(load, c)
    wait_until('refused', 30, lambda: a.metric('everprof_remote_storage_samples_failed_total') == 1)
    line = [x for x in a.text().splitlines() if 'refused profiles' in x][0]
    assert 'over' in line and 'profiles=1' in line and '413' in line, line


@suite.test
def the_stored_profiles_of_a_refused_request_count_as_sent(d):
    c, port = Node(f'{d}/c'), free_port()
    a = Node(f'{d}/a', sends_to(queue(f'http://127.0.0.1:{port}')))
    load = Load(a)
    # Another sender was first with a profile of this series and time.
    taken = {**series_of(3), 'agent': 'a1'}
    assert push(c, (taken, [(profile('other'), load.begin + 3)])).status == 204
    load.push(5)
    wait_until('pending', 30, lambda: a.metric('everprof_remote_storage_samples_pending') == 5)
    with open(f'{d}/a/everprof.yaml', 'w') as f:
        f.write(sends_to(queue(c.url)))
    a.child.send_signal(signal.SIGHUP)
    wait_until('sent', 30, lambda: len(received(c)) == 5)
    wait_until('refused', 30, lambda: a.metric('everprof_remote_storage_samples_failed_total', f'url="{c.url}') == 1)
    assert a.metric('everprof_remote_storage_samples_total', f'url="{c.url}') == 4
    line = [x for x in a.text().splitlines() if 'refused profiles' in x][0]
    assert 'profiles=1' in line and 'j3' in line and 'different' in line, line


@suite.test
def a_receiver_that_never_answers_delays_no_other(d):
    c, r = Node(f'{d}/c'), Receiver()
    r.answers = [(None, 3600)] * 1000
    a = Node(f'{d}/a', sends_to(queue(r.url, 'dead', '  remote_timeout: 500ms\n'), queue(c.url, 'good')))
    load = Load(a)
    load.push(100)
    wait_equal(load, c)
    assert a.metric('everprof_remote_storage_samples_total', 'name="dead"') == 0
    wait_until('retries', 30, lambda: a.metric('everprof_remote_storage_samples_retried_total', 'name="dead"') > 0)
    assert 'a request of remote write failed' in a.text()
    a.finish()  # requests in flight do not delay the end


@suite.test
def rules_choose_and_change_what_is_sent(d):
    c = Node(f'{d}/c')
    rules = (
        '  write_relabel_configs:\n'
        '  - {source_labels: [job], regex: "j[13]", action: drop}\n'
        '  - {target_label: site, replacement: s1}\n'
    )
    a = Node(f'{d}/a', sends_to(queue(c.url, more=rules)))
    Load(a).push(50)
    wait_until('three fifths', 30, lambda: a.metric('everprof_remote_storage_samples_total') == 30)
    assert a.metric('everprof_remote_storage_samples_dropped_total', 'reason="write_relabel_configs"') == 20
    got = [s['labels'] for s in c.range('heap')]
    assert {s['job'] for s in got} == {'j0', 'j2', 'j4'}
    assert all(s['site'] == 's1' and s['agent'] == 'a1' for s in got)
    # A queue whose samples are all dropped moves its cursor nevertheless.
    a.finish()
    a.start_again()
    assert a.metric('everprof_remote_storage_samples_total') == 0


@suite.test
def a_backlog_beyond_its_limit_is_dropped_loudly(d):
    port = free_port()
    a = Node(
        f'{d}/a',
        sends_to(queue(f'http://127.0.0.1:{port}', more='  max_backlog: {size: 2MB}\n')),
        ['--storage.tsdb.wal-budget=8MB'],
    )
    load = Load(a, 60000)
    load.push(400)
    wait_until(
        'dropped', 60, lambda: a.metric('everprof_remote_storage_samples_dropped_total', 'reason="max_backlog"') > 0
    )
    wait_until('within the limit', 30, lambda: a.metric('everprof_remote_storage_backlog_bytes') < 3 << 20)
    line = [x for x in a.text().splitlines() if 'exceed max_backlog' in x][0]
    assert 'profiles=' in line and 'from=' in line and 'to=' in line, line


@suite.test
def a_cursor_that_is_damaged_or_cannot_be_made_loses_nothing(d):
    c = Node(f'{d}/c')
    a = Node(f'{d}/a', sends_to(queue(c.url)))
    load = Load(a)
    load.push(20)
    wait_equal(load, c)
    c.kill()
    load.push(20)
    a.kill()
    cursor = f'{a.data}/remote/c.cursor'
    with open(cursor, 'r+b') as f:
        f.write(bytes(128))
    a.start_again()
    assert 'cursor of remote write is damaged' in a.text()
    c.start_again()
    wait_equal(load, c)
    # A directory in its place: the queue runs, and makes the file when it can.
    a.kill()
    os.unlink(cursor)
    os.mkdir(cursor)
    a.start_again()
    assert 'cannot open the cursor' in a.text()
    load.push(20)
    wait_equal(load, c)
    os.rmdir(cursor)
    wait_until('the cursor', 30, lambda: os.path.isfile(cursor) and 'saved again' in a.text())
    c.kill()
    load.push(20)
    a.kill()
    a.start_again()
    c.start_again()
    wait_equal(load, c)


@suite.test
def a_log_that_ends_before_the_cursor_is_named(d):
    target = Server(lambda request: send(request, profile(f's{time.monotonic_ns()}', 1)))
    c = Node(f'{d}/c')
    a = Agent(f'{d}/a', 'scrape_configs:\n' + heap_job('app', [target.address], '50ms') + sends_to(queue(c.url)))
    wait_until('profiles arrive', 30, lambda: len(received(c)) > 20, 0.2)
    a.stop(signal.SIGKILL)
    for name in os.listdir(f'{a.d}/data/wal'):
        if name.isdigit() or name == 'numbers':
            os.unlink(f'{a.d}/data/wal/{name}')
    a.start()
    assert re.search(
        r'the WAL ends before the position up to which the receiver has acknowledged.*last_acknowledged=\S+Z', a.text()
    ), a.text()
    assert a.text().count('the file wal/numbers is missing') == 1, a.text()
    before = len(received(c))
    wait_until('more arrive', 30, lambda: len(received(c)) > before + 5, 0.2)
    a.stop(signal.SIGKILL)
    shutil.rmtree(f'{a.d}/data/wal')
    a.start()
    assert a.text().count('the file wal/numbers is missing') == 2, a.text()
    target.stop()


@suite.test
def profiles_beyond_sample_age_limit_are_dropped_loudly(d):
    c = Node(f'{d}/c')
    a = Node(
        f'{d}/a',
        'global: {external_labels: {agent: a1}}\nremote_write:\n'
        f'- url: {c.url}/api/v1/write\n  name: c\n'
        '  queue_config: {batch_send_deadline: 100ms, sample_age_limit: 1h}\n',
        ['--clock.steady-for=1ms'],
    )
    load = Load(a)
    load.push(10)
    wait_equal(load, c)
    load.begin -= 7200000
    load.push(10)
    wait_until(
        'drops',
        30,
        lambda: a.metric('everprof_remote_storage_samples_dropped_total', 'reason="sample_age_limit"') == 10,
    )
    lines = [x for x in a.text().splitlines() if 'older than sample_age_limit' in x]
    assert len(lines) == 1 and re.search(r'time=\S+Z', lines[0]), lines
    assert len(received(c)) == 10


@suite.test
def reloads_during_an_outage_lose_nothing(d):
    """The log must keep its segments while a queue is replaced."""
    c, good = Node(f'{d}/c'), Node(f'{d}/good')

    def config(n):
        return sends_to(queue(c.url, more=f'  headers: {{X-Reload: "{n}"}}\n'), queue(good.url, 'good'))

    a = Node(f'{d}/a', config(0), ['--storage.tsdb.wal-budget=8MB', '--web.enable-lifecycle'])
    load = Load(a, 60000)
    c.kill()
    load.push(600)
    wait_until(
        'a segment is held', 30, lambda: os.path.isdir(f'{a.data}/wal/held') and os.listdir(f'{a.data}/wal/held')
    )
    for n in range(1, 11):
        with open(f'{d}/a/everprof.yaml', 'w') as f:
            f.write(config(n))
        assert a.get('/-/reload', method='POST').status == 200
        load.push(2)
    c.start_again()
    wait_equal(load, c, 120)
    wait_equal(load, good)


@suite.test
def an_agent_keeps_profiles_until_a_receiver_is_configured(d):
    c = Node(f'{d}/c')
    served, lock = [], threading.Lock()

    def answer(request):
        with lock:
            raw = profile(f's{len(served)}', len(served))
            served.append(hashlib.sha256(raw).hexdigest())
        send(request, raw)

    target = Server(answer)
    jobs = 'scrape_configs:\n' + heap_job('app', [target.address], '100ms')
    a = Agent(f'{d}/a', jobs)
    wait_until('profiles', 30, lambda: len(served) > 5)
    for _ in range(2):
        before = len(served)
        assert a.stop() == 0
        a.start()
        wait_until('more', 30, lambda: len(served) > before + 5)
    with open(f'{d}/a/everprof.yaml', 'w') as f:
        f.write(jobs + sends_to(queue(c.url)))
    a.child.send_signal(signal.SIGHUP)
    wait_until('some of them', 60, lambda: received(c), 0.3)
    target.stop()

    def missing():
        return set(served) - {sha for _, _, sha in received(c)}

    # A stop may have cut a scrape off before its profile was written.
    wait_until('all of them', 60, lambda: len(missing()) <= 3, 0.3)
    assert a.stop() == 0


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def set_trusted_time(cursor, ms):
    """Lets a cursor file state the last trusted time of day (docs/format/remote-write.md)."""
    with open(cursor, 'r+b') as f:
        data = bytearray(f.read())
        for at in 0, 64:
            data[at + 32 : at + 40] = ms.to_bytes(8, 'big')
            data[at + 60 : at + 64] = crc32c(data[at : at + 60]).to_bytes(4, 'big')
        f.seek(0)
        f.write(data)


@suite.test
def a_clock_that_is_wrong_after_a_start_drops_no_backlog(d):
    """By the cursor, the last trusted time is months before the time of day: that is in doubt."""

    def dropped():
        return a.metric('everprof_remote_storage_samples_dropped_total', 'reason="max_backlog"')

    c = Node(f'{d}/c')
    a = Node(f'{d}/a', sends_to(queue(c.url, more='  max_backlog: {age: 1h}\n')), ['--clock.steady-for=1ms'])
    load = Load(a)
    load.push(10)
    wait_equal(load, c)
    c.kill()
    load.begin -= 5400000  # more than an hour ago
    a.kill()
    set_trusted_time(f'{a.data}/remote/c.cursor', int(time.time() * 1000) - 100 * 86400000)
    a.start_again()
    load.push(10)
    wait_until('a backlog', 30, lambda: a.metric('everprof_remote_storage_backlog_bytes') > 0)
    time.sleep(3)  # it is looked at once a second
    assert dropped() == 0, a.text()
    c.start_again()
    wait_equal(load, c)
    # With a time of day that is not in doubt, they are too old.
    c.kill()
    a.kill()
    set_trusted_time(f'{a.data}/remote/c.cursor', int(time.time() * 1000))
    a.start_again()
    load.push(10)
    wait_until('drops', 30, lambda: dropped() == 10)


@suite.test
def a_dead_receiver_does_not_fill_a_small_disk(d):
    for size, fill in ('64M', small_disk), ('16M', small_disk_of_an_agent):
        mount = f'{d}/{size}'
        os.makedirs(f'{d}/of{size}')
        os.makedirs(mount)
        if subprocess.run(
            ['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs', mount], capture_output=True
        ).returncode:
            raise Skipped('a small tmpfs cannot be mounted here')
        try:
            fill(f'{d}/of{size}', mount)
        finally:
            Process.stop_all()
            subprocess.run(['umount', '-l', mount], check=True)


def small_disk_of_an_agent(d, mount):
    """The disk is written three times over, and never full."""

    def profile_of(number):
        return profile(random.Random(number).randbytes(100000).hex(), number)

    served, lock = [], threading.Lock()

    def answer(request):
        with lock:
            served.append(len(served))
            number = served[-1]
        send(request, profile_of(number))

    target = Server(answer)
    a = Agent(
        mount,
        'scrape_configs:\n'
        + heap_job('app', [target.address], '50ms')
        + sends_to(queue(f'http://127.0.0.1:{free_port()}')),
    )
    appended = 'everprof_tsdb_head_samples_appended_total'
    wait_until('three disks', 120, lambda: a.metric(appended) * 100000 > 3 * 16 << 20)
    assert a.metric('everprof_remote_storage_samples_dropped_total', 'reason="max_backlog"') > 0
    assert 'No space left' not in a.text() and 'is full' not in a.text(), a.text()
    before = a.metric(appended)
    wait_until('more', 30, lambda: a.metric(appended) > before + 10)
    target.stop()


def small_disk(d, mount):
    """More is pushed than the eighth of the disk that a backlog may take."""

    def dropped():
        return int(a.metric('everprof_remote_storage_samples_dropped_total', 'reason="max_backlog"'))

    c = Node(f'{d}/c')
    a = Node(mount, sends_to(queue(c.url)), ['--storage.tsdb.retention.size=30%'])
    c.kill()
    load = Load(a, 200000)
    wait_until('drops', 60, lambda: load.push(10) or dropped(), 0)
    load.push(100)
    assert 'is full' not in a.text()
    # Whatever was not dropped arrives.
    c.start_again()
    wait_until(
        'the backlog',
        120,
        lambda: a.metric('everprof_remote_storage_samples_pending') == 0
        and a.metric('everprof_remote_storage_backlog_bytes') == 0,
    )
    got = received(c)
    assert len(got) == len(set(got)) == len(load.sent) - dropped(), (len(got), len(load.sent), dropped())
    assert 0 < len(got) and normal(got) < normal(load.sent)


@suite.test
def a_reload_adds_and_removes_receivers(d):
    c1, c2 = Node(f'{d}/c1'), Node(f'{d}/c2')
    a = Node(f'{d}/a', sends_to(queue(c1.url, 'one')), ['--web.enable-lifecycle'])
    load = Load(a)

    def reload(config):
        with open(f'{d}/a/everprof.yaml', 'w') as f:
            f.write(config)
        assert a.get('/-/reload', method='POST').status == 200

    load.push(10)
    wait_equal(load, c1)
    reload(sends_to(queue(c1.url, 'one'), queue(c2.url, 'two')))
    load.push(10)
    wait_equal(load, c1)
    wait_until('the new one', 30, lambda: len(received(c2)) == 10)
    assert sorted(os.listdir(f'{a.data}/remote')) == ['one.cursor', 'two.cursor']
    reload(sends_to(queue(c2.url, 'two')))
    load.push(10)
    wait_until('the other one', 30, lambda: len(received(c2)) == 20)
    assert len(received(c1)) == 20 and os.listdir(f'{a.data}/remote') == ['two.cursor']
    # A receiver with a backlog is removed: its gauges are those of nothing.
    c2.kill()
    load.push(10)
    wait_until('a backlog', 30, lambda: a.metric('everprof_remote_storage_backlog_bytes', 'name="two"') > 0)
    reload(sends_to(queue(c1.url, 'three')))
    for gauge in ('backlog_bytes', 'samples_pending', 'shards'):
        assert a.metric(f'everprof_remote_storage_{gauge}', 'name="two"') == 0, gauge
    # Receivers that are removed while everprof is stopped leave no cursor, either.
    a.kill()
    with open(f'{a.data}/remote/four.cursor', 'w'):
        pass
    a.arguments = (a.arguments[0], sends_to(queue(c1.url, 'three')), *a.arguments[2:])
    a.start_again()
    assert os.listdir(f'{a.data}/remote') == ['three.cursor']


suite.main()
