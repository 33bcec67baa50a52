#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""everprof push: data directories and files reach a server once, also when the
push or the server is interrupted."""
import os
import random
import re
import signal
import subprocess
import time

from harness import (
    BINARY,
    ROOT,
    Everprof,
    Server,
    Suite,
    free_port,
    heap_job,
    packed,
    profile,
    run,
    send,
    varint,
    wait_until,
)
from remote_nodes import RECEIVE, Agent, Node, Receiver, received
from users import hashed, rewrite
from write_client import push as write_samples

suite = Suite()
TAR = os.path.join(ROOT, 'testdata/profiles.tar')
HOUR = 3600 * 1000
KEEP = ['--storage.tsdb.retention.time=0']


def push(server, *arguments, **options):
    return run('push', *arguments, f'--server={server.url}', **options)


def make_files(d, series=3, count=40, step=15000, begin=None, size=300):
    """A folder of profiles that do not compress."""
    begin = begin or int(time.time() * 1000) - HOUR
    chance = random.Random(7)
    for s in range(series):
        os.makedirs(f'{d}/job{s}/heap')
        for i in range(count):
            with open(f'{d}/job{s}/heap/{begin + i * step}.pb.gz', 'wb') as f:
                f.write(packed(profile(f'{s}.{i}.{chance.randbytes(size).hex()}')))
    return d


def make_data(d, **options):
    """A data directory with such profiles."""
    files = make_files(f'{d}/files', **options)
    answer = run('tsdb', 'import', files, f'--storage.tsdb.path={d}/data')
    assert answer.returncode == 0, answer
    return f'{d}/data'


def dumped(data):
    return {tuple(line.split('\t')[i] for i in (0, 1, 4)) for line in run('tsdb', 'dump', data).stdout.splitlines()}


@suite.test
def directories_files_and_tars_arrive_once(d):
    c = Node(f'{d}/c', flags=KEEP)
    data = make_data(d)
    for source in (data, f'{d}/files', data):
        answer = push(c, source)
        assert answer.returncode == 0 and not answer.stderr, answer
        assert answer.stdout == '120 profiles sent, 0 refused\n', answer
        assert dumped(c.data) == dumped(data) and len(received(c)) == 120
    # Labels tell sources apart; several sources go in one command.
    answer = push(c, data, TAR, '--labels={agent="a1"}')
    assert answer.returncode == 0, answer
    assert sum('agent="a1"' in text for text, _, _ in received(c)) == 120 + 140
    total = len(received(c))
    answer = push(c, data, '--from=now-10m')
    assert re.match(r'\d+ profiles sent', answer.stdout) and len(received(c)) == total


@suite.test
def weeks_of_old_profiles_arrive(d):
    c = Node(f'{d}/c', flags=KEEP)
    begin = int(time.time() * 1000) - 60 * 24 * HOUR
    data = make_data(d, series=2, count=150, step=7 * HOUR, begin=begin, size=20)
    answer = push(c, data)
    assert answer.stdout == '300 profiles sent, 0 refused\n' and not answer.stderr, answer
    assert dumped(c.data) == dumped(data)
    c.finish()
    c.start_again()
    assert dumped(c.data) == dumped(data)


@suite.test
def an_interrupted_push_goes_on_where_it_was(d):
    c = Node(f'{d}/c')
    data = make_data(d, series=4, count=1500, step=1000, size=3000)
    resume = f'--resume.file={d}/resume'
    argv = [BINARY, 'push', data, f'--server={c.url}', resume, '--rate=2MB']

    def stored():
        return c.metric('everprof_remote_write_samples_stored_total') or 0

    # A request has about 700 of the 6 000 profiles.
    for _ in range(3):
        p = subprocess.Popen(argv)
        before = stored()
        wait_until('a request', 60, lambda: stored() > before or p.poll() is not None)
        p.send_signal(signal.SIGKILL)
        p.wait()
    answer = push(c, data, resume)
    assert answer.returncode == 0 and 'sent by an earlier push' in answer.stdout, answer
    assert dumped(c.data) == dumped(data)
    # At most what was in flight at each kill was sent twice.
    assert stored() <= 6000 + 3 * 700, stored()
    # The file is removed at the end: what the source has then is sent again.
    assert not os.path.exists(f'{d}/resume')
    answer = push(c, data, resume)
    assert answer.returncode == 0 and answer.stdout == '6000 profiles sent, 0 refused\n', answer
    assert dumped(c.data) == dumped(data)
    # Another push needs another file.
    p = subprocess.Popen(argv)
    wait_until('the file', 60, lambda: os.path.exists(f'{d}/resume') or p.poll() is not None)
    p.kill()
    p.wait()
    answer = push(c, data, resume, '--labels={a="b"}')
    assert answer.returncode == 1 and 'another push' in answer.stderr, answer
    rewrite(f'{d}/resume', 'something\n')
    answer = push(c, data, resume)
    assert answer.returncode == 1 and 'was not written by everprof push' in answer.stderr, answer


def write_state(path, c, source, step, count, key='0'):
    """A resume file as an interrupted push has left it; returns its id."""
    p = subprocess.Popen([BINARY, 'push', source, f'--server={c.url}', f'--resume.file={path}', '--rate=20KB'])
    wait_until('the file', 60, lambda: os.path.exists(path))
    p.kill()
    p.wait()
    text = open(path).read()
    rewrite(path, re.sub(r'step \S+\ncount \d+\nlast \S+', f'step {step}\ncount {count}\nlast {key:0>16}', text))


@suite.test
def a_source_that_has_changed_is_sent_again(d):
    c = Node(f'{d}/c', flags=KEEP)
    begin = int(time.time() * 1000) // (2 * HOUR) * 2 * HOUR - 100 * HOUR
    files = make_files(f'{d}/files', series=2, count=60, step=2 * HOUR // 2, begin=begin, size=4000)
    times = sorted(int(n.split('.')[0]) for n in os.listdir(f'{files}/job0/heap'))
    for count in (7, 4000):
        write_state(f'{d}/resume', c, files, begin, count)
        answer = push(c, files, f'--resume.file={d}/resume')
        assert answer.returncode == 0 and answer.stdout.startswith('120 profiles sent'), answer
    # The first window is gone: the passes begin elsewhere, and nothing is left out.
    second = begin + 24 * 2 * HOUR
    write_state(f'{d}/resume', c, files, second, 0)
    for job in ('job0', 'job1'):
        for ms in times[:2]:
            os.unlink(f'{files}/{job}/heap/{ms}.pb.gz')
    answer = push(c, files, f'--resume.file={d}/resume')
    left = 2 * sum(ms >= second for ms in times)
    assert answer.returncode == 0 and answer.stdout.startswith(f'{left} profiles sent'), (left, answer)


@suite.test
def files_without_a_time_in_their_names_are_sent(d):
    c = Node(f'{d}/c', flags=KEEP)
    with open(f'{d}/heap.pb.gz', 'wb') as f:
        f.write(packed(profile('named') + b'\x48' + varint(int(time.time() * 1e9))))  # time_nanos
    answer = push(c, f'{d}/heap.pb.gz', '--labels=heap{job="a"}', f'--resume.file={d}/resume')
    assert answer.returncode == 0 and answer.stdout == '1 profiles sent, 0 refused\n', answer
    assert len(received(c)) == 1


@suite.test
def a_server_that_goes_away_in_the_first_request_is_waited_for(d):
    r = Receiver()
    r.answers = [(None, 0)]  # reads the request, and closes the connection
    answer = push(r, make_files(f'{d}/files', series=1, count=3))
    assert answer.returncode == 0 and answer.stdout == '3 profiles sent, 0 refused\n', answer
    assert 'retrying' in answer.stderr and r.count() == 2, answer
    # An address where nobody listens is a mistake: it is told at once.
    r.server.server_close()
    answer = run('push', f'{d}/files', f'--server=http://127.0.0.1:{free_port()}')
    assert answer.returncode == 1 and 'retrying' not in answer.stderr, answer


@suite.test
def a_server_that_is_away_for_a_while_is_waited_for(d):
    c = Node(f'{d}/c')
    data = make_data(d, series=4, count=300, step=1000, size=3000)
    p = subprocess.Popen(
        [BINARY, 'push', data, f'--server={c.url}', '--rate=2MB'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until('a request', 60, lambda: c.metric('everprof_remote_write_samples_stored_total'))
    c.kill()
    time.sleep(0.5)
    c.start_again()
    out, err = p.communicate(timeout=120)
    assert p.returncode == 0 and out == '1200 profiles sent, 0 refused\n', (out, err)
    assert dumped(c.data) == dumped(data)


@suite.test
def refused_profiles_are_named_and_the_others_arrive(d):
    c = Node(f'{d}/c', flags=['--scrape.max-profile-size=1MB'])
    now = int(time.time() * 1000)
    files = make_files(f'{d}/files', series=1, count=10)
    at = min(int(n.split('.')[0]) for n in os.listdir(f'{files}/job0/heap'))
    assert write_samples(c, ({'__name__': 'heap', 'job': 'job0'}, [(profile('other'), at)])).status == 204
    with open(f'{files}/job0/heap/{now - 1000}.pb.gz', 'wb') as f:
        f.write(packed(profile('over', 1, 5 << 20)))
    with open(f'{files}/job0/heap/{now}.pb.gz', 'wb') as f:
        f.write(b'garbage')
    answer = push(c, files)
    assert answer.returncode == 1 and answer.stdout == '9 profiles sent, 3 refused\n', answer
    assert 'job0' in answer.stderr and 'different' in answer.stderr, answer
    assert '413' in answer.stderr and f'{now}.pb.gz: not a profile' in answer.stderr, answer
    assert len(received(c)) == 10


@suite.test
def errors_that_concern_all_profiles_end_the_push(d):
    files = make_files(f'{d}/files', series=1, count=3)
    answer = run('push', files, f'--server=127.0.0.1:{free_port()}')
    assert answer.returncode == 1 and 'is an everprof server running' in answer.stderr, answer
    closed = Node(f'{d}/closed', flags=['--no-web.enable-remote-write-receiver'])
    answer = push(closed, files)
    assert answer.returncode == 1 and 'web.enable-remote-write-receiver' in answer.stderr, answer
    rewrite(f'{d}/web.yml', f'basic_auth_users:\n  agent: {hashed("secret")}\n')
    rewrite(f'{d}/http.yml', 'basic_auth: {username: agent, password: secret}\n')
    guarded = Everprof(f'{d}/guarded', '', [*RECEIVE, f'--web.config.file={d}/web.yml'])
    wait_until('the server', 30, lambda: 'everprof is ready' in guarded.text())
    answer = push(guarded, files)
    assert answer.returncode == 1 and '401' in answer.stderr and '--http.config.file' in answer.stderr, answer
    # The words of another server would mislead.
    stranger = Server(lambda r: send(r, b'remote write receiver needs to be enabled with --enable-feature', 404))
    answer = run('push', files, f'--server=http://{stranger.address}')
    assert answer.returncode == 1 and 'not as everprof' in answer.stderr, answer
    assert '--enable-feature' not in answer.stderr, answer
    stranger.stop()

    # A refusal is explained with the configuration that was in use.
    def refuse(r):
        if os.path.exists(f'{d}/gone.yml'):
            os.remove(f'{d}/gone.yml')
        send(r, b'{"status":"error","error":"not here"}', 404, X_Everprof_Version='1')

    refusing = Server(refuse)
    rewrite(f'{d}/gone.yml', 'basic_auth: {username: agent, password: secret}\n')
    answer = run('push', files, f'--server=http://{refusing.address}', f'--http.config.file={d}/gone.yml')
    assert answer.returncode == 1 and answer.stderr == 'everprof: not here\n', answer
    refusing.stop()
    answer = push(guarded, files, f'--http.config.file={d}/http.yml')
    assert answer.returncode == 0 and answer.stdout.startswith('3 profiles'), answer
    answer = run('push', '--server=x')
    assert answer.returncode == 2, answer


@suite.test
def statuses_are_obeyed(d):
    r = Receiver()
    files = make_files(f'{d}/files', series=1, count=3)
    r.answers = [(500, {}), (429, {'Retry_After': '1'})]
    answer = push(r, files)
    assert answer.returncode == 0 and answer.stdout == '3 profiles sent, 0 refused\n', answer
    assert [h['Content-Encoding'] for _, h, _ in r.seen] == ['zstd'] * 3
    assert r.seen[2][0] - r.seen[1][0] >= 1 and '500' in answer.stderr, answer
    # A request that is too large is divided.
    r.seen, r.answers = [], [(413, {})]
    answer = push(r, files)
    assert answer.stdout == '3 profiles sent, 0 refused\n' and len(r.seen) == 3, answer
    r.answers = [(500, {})] * 1000
    answer = push(r, files, '--retry.time=300ms')
    assert answer.returncode == 1 and 'no request has succeeded' in answer.stderr, answer


@suite.test
def the_data_directory_of_an_agent_can_be_pushed(d):
    c = Node(f'{d}/c')
    target = Server(lambda request: send(request, profile('x', 3)))
    a = Agent(
        f'{d}/a',
        'scrape_configs:\n'
        + heap_job('app', [target.address], '100ms')
        + f'remote_write:\n- url: http://127.0.0.1:{free_port()}/\n',
    )
    wait_until('a backlog', 30, lambda: a.metric('everprof_remote_storage_samples_pending') or 0 > 5)
    a.stop()
    target.stop()
    answer = push(c, f'{d}/a/data')
    assert answer.returncode == 0 and not answer.stdout.startswith('0 '), answer
    assert dumped(c.data) == dumped(f'{d}/a/data')


suite.main()
