#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/migrating.md as it is printed: to everprof, and back. A second everprof stands for Pyroscope, as it answers
the same requests; its port is that of Pyroscope."""
import os
import re
import shutil
import signal
import urllib.parse
import urllib.request

import own_network

own_network.enter()

from harness import LEAKAPP, ROOT, Process, Suite, wait_until
from printed import Shell, blocks, commands, finish, ready, section, stored, text_of
from recorded_push import recorded

suite = Suite()
TEXT = text_of('docs/migrating.md')
PYROSCOPE, EVERPROF = 'http://127.0.0.1:4040', 'http://127.0.0.1:10902'


def part(name, end):
    text = section(TEXT, f'## From {name}', end)
    # The names of machines in the text are those of this one.
    return text.replace('http://pyroscope:', 'http://127.0.0.1:').replace('http://everprof:', 'http://127.0.0.1:')


def send(address):
    """A program with the SDK for Go sends a CPU profile to an address, as it was recorded. Returns the path."""
    path, headers, body = recorded('go-cpu')
    request = urllib.request.Request(address + path, data=body, headers=headers, method='POST')
    with urllib.request.urlopen(request) as r:
        assert r.status == 200
    return urllib.parse.unquote(path)


@suite.test
def from_pyroscope_and_back(d):
    text = part('Pyroscope', '## From Parca')
    shell = Shell(d)
    pyroscope = shell.serve(
        'everprof serve --storage.tsdb.path=old --web.enable-push-receiver --storage.tsdb.retention.time=0 '
        '--web.listen-address=127.0.0.1:4040'
    )
    ready(PYROSCOPE)
    [serve] = commands(text, 'everprof serve')
    # The recorded profile is older than the default retention.
    everprof = shell.serve(serve + ' --storage.tsdb.retention.time=0')
    ready(EVERPROF)
    path = send(PYROSCOPE)
    send(EVERPROF)
    name = re.search(r'name=([\w.-]+)', path)[1]
    compare = [c.replace('"shop"', f'"{name}"') for c in commands(text, 'curl -s -G')]
    assert len(compare) == 2 and '4040' in compare[0] and '10902' in compare[1]
    begin = str(int(re.search(r'from=(\d{10})', path)[1]) - 3600)
    numbers = [shell.run(c.replace('now-1h', begin)) for c in compare]
    assert numbers[0] == numbers[1] and int(numbers[0].split(':')[1]) > 0, numbers
    # The way back: a Pyroscope that has not got it gets the profile.
    finish(pyroscope)
    shutil.rmtree(f'{d}/old')
    pyroscope = shell.serve(
        'everprof serve --storage.tsdb.path=old --web.enable-push-receiver --storage.tsdb.retention.time=0 '
        '--web.listen-address=127.0.0.1:4040'
    )
    ready(PYROSCOPE)
    finish(everprof)
    dump, back = commands(text, 'everprof tsdb dump', 'for file in')
    shell.run(dump.replace('"shop"', f'"{name}"').replace('now-1h', begin))
    assert '[{' not in shell.run(back.replace('name=shop', f'name={name}'))
    assert shell.run(compare[0].replace('now-1h', begin)) == numbers[0]
    finish(pyroscope)


@suite.test
def from_parca_and_back(d):
    text = part('Parca', '## From conprof')
    shell = Shell(d)
    app = Process([LEAKAPP, '127.0.0.1:6060'], f'{d}/app.log')
    [(name, config)] = blocks(text)
    shell.write(name[1], config)
    [check] = commands(text, 'everprof check')
    assert '1 jobs, no errors' in shell.run(check)
    [serve] = commands(text, 'everprof serve')
    everprof = shell.serve(serve)
    ready(EVERPROF)
    for kind in ('heap', 'allocs', 'goroutine', 'mutex', 'block', 'profile'):
        wait_until(f'a {kind} of the program', 120, lambda k=kind: stored(k + '%7Bjob="default"%7D'))
    [query] = commands(text, 'everprof query')
    assert 'Showing nodes' in shell.run(query)
    finish(everprof)
    [dump] = commands(text, 'everprof tsdb dump')
    shell.run(dump)
    assert len(os.listdir(f'{d}/files')) >= 6, os.listdir(f'{d}/files')
    app.stop(signal.SIGKILL)


@suite.test
def from_conprof_and_back(d):
    text = TEXT[TEXT.index('## From conprof') :]
    shell = Shell(d)
    shutil.unpack_archive(os.path.join(ROOT, 'testdata/conprof-data.tar.gz'), d)
    shell.write(
        'conprof.yaml',
        'scrape_configs:\n- job_name: app\n  scrape_interval: 30s\n  scrape_timeout: 30s\n  static_configs:\n'
        '  - targets: [localhost:6060]\n  profiling_config:\n    pprof_config:\n      profile: {enabled: true, seconds: 5}\n'
        '      fgprof: {enabled: true, path: /debug/fgprof}\n',
    )
    [load] = commands(text, 'everprof tsdb import')
    assert '0 refused' in shell.run(load)
    again = shell.run(load)
    assert '0 refused' in again, again
    [check] = commands(text, 'everprof check')
    assert '1 jobs, no errors' in shell.run(check)
    [serve] = commands(text, 'everprof serve')
    # The profiles of the archive are older than the default retention.
    everprof = shell.serve(serve + ' --storage.tsdb.retention.time=0')
    ready(EVERPROF)
    with urllib.request.urlopen(f'{EVERPROF}/api/v1/series?match[]={{__name__!=""}}&from=0&to=now') as r:
        assert r.status == 200 and b'"job"' in r.read()
    finish(everprof)
    [dump] = commands(text, 'everprof tsdb dump')
    shell.run(dump.replace('now-1h', '0'))
    assert os.listdir(f'{d}/since')


suite.main()
