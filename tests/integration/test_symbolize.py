#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports name addresses without a function by files of this machine: the
program, its debug file by build ID, the debug file that it links to, debug
files without the program. Files with another build ID are not used, and stored
profiles do not change."""
import gzip
import os
import re
import shutil
import subprocess
import time

from harness import ROOT, Everprof, Suite, field, run, varint
from silent_file import LOOKUP, SilentFile
from unit_filter import Jail, allowed_calls

SOURCE = '''
#include <stdio.h>
static int work;
static inline __attribute__((always_inline)) void inlined(int n) { for (int i = 0; i < n; i++) work += i * work; }
__attribute__((noinline)) static void first(int n) { work += 3; inlined(n); work++; }
__attribute__((noinline)) static void second(int n) { work += 7 * n; first(n + 1); work++; }
int main(int argc, char **argv) { (void)argv; first(argc); second(argc); return work == 42; }
'''
BASE = 0x555555554000  # where the program was in memory
suite = Suite()


def program(d):
    """A stripped program in d/bin, its debug file d/program.debug; its build ID, mapping and functions."""
    os.makedirs(f'{d}/bin', exist_ok=True)
    path = f'{d}/bin/program'
    with open(f'{d}/program.c', 'w') as f:
        f.write(SOURCE)
    subprocess.run(['gcc', '-g', '-O1', '-Wl,--build-id=sha1', '-o', path, f'{d}/program.c'], check=True)
    headers = subprocess.run(['readelf', '-nlW', path], capture_output=True, text=True, check=True).stdout
    symbols = subprocess.run(['nm', path], capture_output=True, text=True, check=True).stdout
    offset, address, size = (int(x, 16) for x in re.search(r'LOAD +(\S+) (\S+) \S+ (\S+) \S+ R E', headers).groups())
    functions = {name: int(a, 16) for a, name in re.findall(r'^(\w+) [tT] (first|second|main)$', symbols, re.M)}
    subprocess.run(['objcopy', '--only-keep-debug', path, f'{d}/program.debug'], check=True)
    subprocess.run(['strip', path], check=True)
    size = (size + 4095) // 4096 * 4096
    return {
        'path': path,
        'build_id': re.search(r'Build ID: (\w+)', headers)[1],
        'functions': functions,
        'mapping': (BASE + address, BASE + address + size, offset),
    }


def profile(p, build_id=None):
    """A profile with a sample in each function of a program, without names."""
    start, limit, offset = p['mapping']
    out = field(1, varint(1 << 3) + varint(1) + varint(2 << 3) + varint(2))
    for number in range(1, len(p['functions']) + 1):
        out += field(2, field(1, varint(number)) + field(2, varint(10 * number)))
    numbers = {1: 1, 2: start, 3: limit, 4: offset, 5: 3, 6: 4}
    out += field(3, b''.join(varint(k << 3) + varint(v) for k, v in numbers.items()))
    for number, address in enumerate(p['functions'].values(), 1):
        numbers = {1: number, 2: 1, 3: BASE + address}
        out += field(4, b''.join(varint(k << 3) + varint(v) for k, v in numbers.items()))
    for text in ('', 'samples', 'count', p['path'], build_id or p['build_id']):
        out += field(6, text.encode())
    return out


def install(d, p, folder='debug'):
    """Installs the debug file by build ID. Returns the directory."""
    place = f'{d}/{folder}/.build-id/{p["build_id"][:2]}'
    os.makedirs(place, exist_ok=True)
    shutil.copy(f'{d}/program.debug', f'{place}/{p["build_id"][2:]}.debug')
    return f'{d}/{folder}'


def report(path, *flags):
    """The functions of everprof report top, and its warnings."""
    done = run('report', 'top', *flags, path)
    assert done.returncode == 0, done.stderr
    return {line.split()[5] for line in done.stdout.splitlines()[5:]}, done.stderr


def write(d, raw, name='p.pb.gz'):
    with open(f'{d}/{name}', 'wb') as f:
        f.write(gzip.compress(raw))
    return f'{d}/{name}'


@suite.test
def files_name_addresses_of_pprof_files(d):
    p = program(d)
    path = write(d, profile(p))
    names, said = report(path, '--symbols.path=')
    assert names == {'[program]'} and '3 of 3 addresses' in said and p['build_id'] in said, (names, said)
    assert '--symbols.path' in said
    debug = install(d, p)
    # Where a function begins, no other one is inlined yet.
    want = {'first', 'second', 'main'}
    assert report(path, f'--symbols.path={debug}') == (want, '')
    assert report(path, f'--symbols.path={debug}', '--symbolize=false') == ({'[program]'}, '')
    lines = run('report', 'top', '--granularity=lines', f'--symbols.path={debug}', path).stdout
    assert re.search(r'first \S*program\.c:\d+', lines), lines
    # The debug file is enough, and so is the program if it has its symbols.
    os.rename(p['path'], f'{d}/elsewhere')
    assert report(path, f'--symbols.path={debug}') == (want, '')
    assert report(path, '--symbols.path=')[0] == {'[program]'}
    subprocess.run(['gcc', '-g', '-O1', '-Wl,--build-id=sha1', '-o', p['path'], f'{d}/program.c'], check=True)
    assert report(path, '--symbols.path=') == (want, '')


@suite.test
def a_program_may_link_to_its_debug_file(d):
    p = program(d)
    path = write(d, profile(p))
    want = {'first', 'second', 'main'}
    subprocess.run(['objcopy', f'--add-gnu-debuglink={d}/program.debug', p['path']], check=True)
    for place, flags in [
        ('bin', []),
        ('bin/.debug', []),
        (f'links{os.path.abspath(d)}/bin', [f'--symbols.path={d}/links']),
    ]:
        os.makedirs(f'{d}/{place}', exist_ok=True)
        shutil.copy(f'{d}/program.debug', f'{d}/{place}/program.debug')
        assert report(path, *flags) == (want, ''), place
        os.remove(f'{d}/{place}/program.debug')
        assert report(path, *flags)[0] == {'[program]'}, place


@suite.test
def files_of_another_build_are_not_used(d):
    p = program(d)
    debug = install(d, p)
    other = 'ab' * 20
    path = write(d, profile(p, other))
    names, said = report(path, f'--symbols.path={debug}')
    assert names == {'[program]'} and other in said, (names, said)
    # A file in the place of the other one that has the wrong content.
    os.makedirs(f'{debug}/.build-id/ab')
    shutil.copy(f'{d}/program.debug', f'{debug}/.build-id/ab/{other[2:]}.debug')
    assert report(path, f'--symbols.path={debug}')[0] == {'[program]'}
    # Build IDs are part of a path: only digits are.
    for bad in ('../../../etc/passwd', 'zz' * 20, 'a', 'ab' * 100):
        names, said = report(write(d, profile(p, bad)), f'--symbols.path={debug}')
        assert names == {'[program]'}, bad


@suite.test
def a_damaged_debug_file_does_no_harm(d):
    p = program(d)
    debug = install(d, p)
    path = write(d, profile(p))
    place = f'{debug}/.build-id/{p["build_id"][:2]}/{p["build_id"][2:]}.debug'
    with open(place, 'rb') as f:
        whole = f.read()
    for cut in (0, 1, 64, 500, len(whole) // 2, len(whole) - 1):
        with open(place, 'wb') as f:
            f.write(whole[:cut])
        names, _ = report(path, f'--symbols.path={debug}')
        assert names <= {'[program]', 'first', 'second', 'main'}, names


@suite.test
def queries_name_addresses_and_stored_profiles_stay(d):
    p = program(d)
    raw = profile(p)
    now = int(time.time() * 1000)
    for n in range(3):
        write(d, raw, f'{now - 1000 * n}.pb.gz')
    for n in range(3):
        done = run(
            'tsdb', 'import', f'{d}/{now - 1000 * n}.pb.gz', '--labels=cpu{job="a"}', f'--storage.tsdb.path={d}/data'
        )
        assert done.returncode == 0, done.stderr
    debug = install(d, p)
    local = run(
        'query', 'top', 'cpu{job="a"}', '--from=now-1h', f'--storage.tsdb.path={d}/data', f'--symbols.path={debug}'
    )
    assert local.returncode == 0 and 'second' in local.stdout and not local.stderr, local
    # Names take memory; without it, there is the report without names.
    small = run(
        'query',
        'top',
        'cpu{job="a"}',
        '--from=now-1h',
        f'--storage.tsdb.path={d}/data',
        f'--symbols.path={debug}',
        '--query.memory=4MB',
    )
    assert small.returncode == 0 and '[program]' in small.stdout and 'memory' in small.stderr, small
    e = Everprof(d, flags=[f'--symbols.path={debug}'])
    e.ready()

    def query(**params):
        return e.get('/api/v1/query', mode='merge', query='cpu{job="a"}', to='now', **{'from': 'now-1h', **params})

    rows = {r['name']: r['flat'] for r in query(report='top').data()['rows']}
    assert rows == {name: 30 * i for i, name in enumerate(p['functions'], 1)}, rows
    assert [r['name'] for r in query(report='top', symbolize='false').data()['rows']] == ['[program]']
    assert query(report='top', symbolize='maybe').status == 400
    assert b'second' in gzip.decompress(query(report='proto').body), 'merged profiles have the names'
    # Filters see the names.
    focused = query(report='top', focus='second').data()
    assert [r['name'] for r in focused['rows']] == ['second'], focused
    stored = e.get('/api/v1/query', mode='single', query='cpu{job="a"}', time=str(now), report='raw').body
    assert gzip.decompress(stored) == raw if stored[:2] == b'\x1f\x8b' else stored == raw
    e.finish()
    e = Everprof(d, flags=['--no-query.symbolize', f'--symbols.path={debug}'])
    e.ready()
    answer = query(report='top')
    assert [r['name'] for r in answer.data()['rows']] == ['[program]'] and 'warnings' not in answer.json()
    e.finish()


@suite.test
def names_are_found_under_the_filters_of_the_systemd_units(d):
    p = program(d)
    path = write(d, profile(p))
    debug = install(d, p)
    # The leak checker of a sanitizer needs system calls of its own.
    environment = {**os.environ, 'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'}
    jail = Jail(d)
    for unit in 'everprof.service', 'everprof-agent.service':
        with open(f'{ROOT}/examples/{unit}') as f:
            allowed = allowed_calls(f.read())
        for missing in (), ('capset', 'seccomp'):
            done = subprocess.run(
                [
                    *jail.command(allowed - set(missing)),
                    os.environ['EVERPROF'],
                    'report',
                    'top',
                    f'--symbols.path={debug}',
                    path,
                ],
                capture_output=True,
                text=True,
                check=False,
                env=environment,
            )
            assert done.returncode == 0, done
            # What the helper lacks is a warning that says so.
            assert ('second' in done.stdout) == (not missing), (unit, done)
            assert ('cannot be confined' in done.stderr) == bool(missing), (unit, done)


@suite.test
def missing_files_are_a_warning(d):
    p = program(d)
    now = int(time.time() * 1000)
    write(d, profile(p), f'{now}.pb.gz')
    run('tsdb', 'import', f'{d}/{now}.pb.gz', '--labels=cpu{job="a"}', f'--storage.tsdb.path={d}/data')
    e = Everprof(d, flags=['--symbols.path=/nowhere'])
    e.ready()
    for _ in range(2):  # also if it is remembered
        answer = e.get(
            '/api/v1/query', mode='merge', query='cpu{job="a"}', report='top', to='now', **{'from': 'now-1h'}
        )
        assert any(p['build_id'] in w for w in answer.json()['warnings']), answer.json()
    e.finish()


@suite.test
def a_path_that_waits_for_ever_holds_no_query(d):
    """A user can make every look at a path wait; not even SIGKILL ends that."""
    os.mkdir(f'{d}/silent')
    p = dict(program(d), path=f'{d}/silent/f')
    now = int(time.time() * 1000)
    write(d, profile(p), f'{now}.pb.gz')
    done = run('tsdb', 'import', f'{d}/{now}.pb.gz', '--labels=cpu{job="a"}', f'--storage.tsdb.path={d}/data')
    assert done.returncode == 0, done.stderr
    try:
        silent = SilentFile(f'{d}/silent', (LOOKUP,))
    except OSError as e:
        print('SKIPPED:', e)
        return
    e = Everprof(d)
    e.ready()
    try:
        for _ in range(4):
            answer = e.get(
                '/api/v1/query', mode='merge', query='cpu{job="a"}', to='now', report='top', **{'from': 'now-1h'}
            )
            assert [r['name'] for r in answer.data()['rows']] == ['[f]'], answer.body
        assert silent.waiting, 'it was looked at'
        e.finish()
    finally:
        silent.stop()


if __name__ == '__main__':
    suite.main()
