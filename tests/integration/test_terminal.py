#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What commands print: names and messages of strangers reach no terminal with
control characters in them; where output goes, and what it ends with."""
import json
import os
import pty
import re
import signal
import subprocess

from harness import BINARY, Server, Suite, field, packed, run, send, varint

suite = Suite()
MS = 1700000000000
EVIL = 'run\x1b]0;title\x07\x1b[2J\n\x7f\u009b2J\u202eevil\u2066'
SHOWN = r'run\x1b]0;title\x07\x1b[2J\n\x7f\x9b2J\u202eevil\u2066'
CONTROLS = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]')


def message(number, value):
    return varint(number << 3) + varint(value)


def evil_profile():
    """Two functions with a label and a comment; all their texts are EVIL."""
    strings = ['', 'samples', 'count', EVIL, 'caller' + EVIL]
    out = field(1, message(1, 1) + message(2, 2))
    out += field(2, field(1, varint(1) + varint(2)) + field(2, varint(7)) + field(3, message(1, 3) + message(2, 3)))
    out += field(3, message(1, 1) + message(5, 3) + message(6, 3))
    for number, name in (1, 3), (2, 4):
        out += field(4, message(1, number) + message(2, 1) + field(4, message(1, number) + message(2, 5)))
        out += field(5, message(1, number) + message(2, name) + message(4, 3))
    for s in strings:
        out += field(6, s.encode())
    return out + message(13, 3)


def shown(text):
    """Fails if a terminal could do anything but show the text."""
    assert not CONTROLS.search(text), ascii(text)
    return text


def outputs(*argv, code=0):
    r = run(*argv)
    assert r.returncode == code, r
    return shown(r.stdout) + shown(r.stderr)


def write_profile(d):
    path = f'{d}/evil.pb.gz'
    with open(path, 'wb') as f:
        f.write(packed(evil_profile()))
    return path


@suite.test
def reports_show_control_characters_as_escapes(d):
    path = write_profile(d)
    for report in 'top', 'tree', 'peek', 'traces', 'source':
        assert SHOWN in outputs('report', report, path), report
        file = f'{d}/{report}.txt'
        assert not outputs('report', report, path, '-o', file)
        with open(file) as f:
            assert SHOWN in shown(f.read()), report
    # Formats for programs have what the profile has.
    folded = run('report', 'folded', path).stdout
    assert EVIL.replace('\n', '_').replace(';', '_') in folded, ascii(folded)
    speedscope = json.loads(outputs('report', 'speedscope', path))
    assert {f['name'] for f in speedscope['shared']['frames']} == {EVIL, 'caller' + EVIL}


@suite.test
def a_terminal_gets_no_control_characters_of_any_format(d):
    path = write_profile(d)
    ours, theirs = pty.openpty()
    child = subprocess.Popen([BINARY, 'report', 'folded', path], stdout=theirs)
    assert child.wait() == 0
    os.close(theirs)
    text = os.read(ours, 65536).decode().replace('\r\n', '\n')
    os.close(ours)
    assert r'run\x1b]0_title\x07' in shown(text), ascii(text)


@suite.test
def labels_and_file_names_are_escaped(d):
    data = f'{d}/data'
    folder = f'{d}/in/{EVIL}/heap'
    os.makedirs(folder)
    with open(f'{folder}/{MS}.pb.gz', 'wb') as f:
        f.write(packed(evil_profile()))
    with open(f'{folder}/{MS + 1}.pb.gz', 'wb') as f:
        f.write(b'no profile')
    assert SHOWN in outputs('tsdb', 'import', f'{d}/in', f'--storage.tsdb.path={data}', code=1)
    store = f'--storage.tsdb.path={data}'
    assert SHOWN in outputs('query', 'labels', 'job', store)
    for argv in (
        ('query', 'series', 'heap', store),
        ('query', 'range', 'heap', '--from=0', store),
        ('tsdb', 'dump', data),
    ):
        # Selectors have the escapes of Go, so that they can be typed.
        text = outputs(*argv)
        assert r'\u001b[2J\n\u007f\u009b2J\u202eevil' in text, (argv, text)
    selector = outputs('query', 'series', 'heap', store).strip()
    assert len(outputs('query', 'range', selector, '--from=0', store).splitlines()) == 1
    assert SHOWN in outputs('query', 'top', 'heap', '--from=0', store)
    assert SHOWN in outputs('query', 'history', 'heap', f'--from={MS - 1000}', f'--to={MS + 1000}', '--step=1h', store)
    assert SHOWN in outputs('tsdb', 'stats', data, '--by=job')


@suite.test
def messages_of_servers_are_escaped(d):
    def answer(r):
        if 'series' in r.path:
            return send(r, json.dumps({'status': 'error', 'error': EVIL}).encode(), 400, X_Everprof_Version='1')
        return send(r, ('a table ' + EVIL).encode(), X_Everprof_Version='1', X_Everprof_Warning='w\x1b[2J')

    server = Server(answer)
    at = f'--server=http://{server.address}'
    text = outputs('query', 'series', 'heap', at, code=1)
    assert SHOWN in text and len(text.splitlines()) == 1, ascii(text)
    text = outputs('query', 'top', 'heap', at)
    assert r'\x1b[2J' in text and r'\u202eevil' in text, ascii(text)
    text = outputs('check', 'health', at)
    assert r'\x1b[2J' in text and r'\u202eevil' in text, ascii(text)
    server.stop()


def import_two(d):
    """A data directory with two series of one profile each."""
    for job in 'a', 'b':
        os.makedirs(f'{d}/in/{job}/heap')
        with open(f'{d}/in/{job}/heap/{MS}.pb.gz', 'wb') as f:
            f.write(packed(evil_profile()))
    assert run('tsdb', 'import', f'{d}/in', f'--storage.tsdb.path={d}/data').returncode == 0
    return f'{d}/data'


@suite.test
def a_closed_pipe_ends_a_command_silently(d):
    data = import_two(d)
    store = f'--storage.tsdb.path={data}'
    for argv in (
        ('tsdb', 'dump', data),
        ('report', 'top', write_profile(d)),
        ('query', 'series', 'heap', store),
        ('query', 'export', 'heap', '--from=0', '-o', '-', store),
        ('help',),
        ('--version',),
    ):
        child = subprocess.Popen([BINARY, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        child.stdout.close()
        text = child.stderr.read()
        assert child.wait() == -signal.SIGPIPE and not text, (argv, child.returncode, text)
        child.stderr.close()
    # A full disk is reported.
    with open('/dev/full', 'w') as full:
        r = subprocess.run([BINARY, 'tsdb', 'dump', data], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert r.returncode == 1 and 'cannot write to standard output: No space left' in r.stderr, r


@suite.test
def outputs_may_be_pipes_and_devices(d):
    path, fifo = write_profile(d), f'{d}/fifo'
    os.mkfifo(fifo)
    assert not outputs('report', 'top', path, '-o', '/dev/null')
    assert 'No space left' in outputs('report', 'top', path, '-o', '/dev/full', code=1)
    child = subprocess.Popen([BINARY, 'report', 'top', path, '-o', fifo])
    with open(fifo) as f:
        assert SHOWN in f.read()
    assert child.wait() == 0
    old = f'{d}/old'
    with open(old, 'w') as f:
        f.write('x' * 100000)
    assert not outputs('report', 'top', path, '-o', old)
    with open(old) as f:
        assert 'xxx' not in f.read()


@suite.test
def answers_of_one_profile_name_it(d):
    store = f'--storage.tsdb.path={import_two(d)}'
    said = 'everprof: the profile of heap{job="a"} at 2023-11-14T22:13:20.000Z\n'
    for argv in ('profile', '-o', f'{d}/p.pb.gz'), ('profile', '--report=top'), ('top',):
        r = run('query', *argv, 'heap', f'--time={MS}', store)
        assert r.returncode == 0 and r.stderr == said, (argv, r)
    r = run('query', 'top', 'heap', '--from=0', store)
    assert r.returncode == 0 and not r.stderr, r
    r = run('query', 'export', 'heap', '--from=0', '-o', f'{d}/x.tar', store)
    size = os.path.getsize(f'{d}/x.tar')
    assert r.returncode == 0 and r.stderr == f'everprof: wrote {d}/x.tar: {size} bytes\n', r


suite.main()
