#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The eBPF collector beside perf, and under storms: many short processes, a
process with many mappings, and a perf map that changes all the time. Needs root
and Debian's linux-perf.

EVERPROF_SECONDS (30): how long a program is profiled beside perf."""
import mmap
import os
import re
import shutil
import subprocess
import time

import harness
from harness import Suite, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = int(os.environ.get('EVERPROF_SECONDS', '30'))
FORKS = int(os.environ.get('EVERPROF_FORKS', '20000'))
MAPPINGS = 10000
MIXED = '''
#include <stdlib.h>
static volatile unsigned long n;
#define KEPT __attribute__((noinline, noclone))
KEPT void heavy(void) { for (int i = 0; i < 700000; i++) n += (unsigned)i; n++; }
KEPT void light(void) { for (int i = 0; i < 300000; i++) n += (unsigned)i; n++; }
int main(void) { for (;;) { heavy(); light(); } }
'''
FORKER = '''
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) {
	char *run[] = { "/bin/true", NULL };
	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++) {
		pid_t pid;
		if (posix_spawn(&pid, run[0], NULL, NULL, run, environ)) return 1;
		waitpid(pid, NULL, 0);
	}
	return 0;
}
'''
suite = Suite()


def compile_c(folder, name, text):
    with open(f'{folder}/{name}.c', 'w') as f:
        f.write(text)
    subprocess.run(['gcc', '-O2', '-fomit-frame-pointer', '-o', f'{folder}/{name}', f'{folder}/{name}.c'], check=True)
    return f'{folder}/{name}'


def start(folder, more=''):
    server = harness.Everprof(f'{folder}/server', 'ebpf: {enabled: true, interval: 2s, node: n' + more + '}\n')
    server.ready()
    wait_until('samples are taken', 60, lambda: server.metric('everprof_ebpf_up') == 1, 0.1)
    return server


def top(server, query):
    answer = server.get(
        '/api/v1/query', mode='merge', query=query, to='now', report='top', sample_index='cpu', **{'from': 'now-10m'}
    ).data()
    return {r['name']: r for r in answer['rows']}, answer['total']


@suite.test
def shares_are_those_of_perf(folder):
    """A program that burns CPU in two functions: the heavier one is at the top, with perf's share within 3 %."""
    if not shutil.which('perf'):
        print('SKIPPED: perf (package linux-perf) is not installed')
        return
    program = compile_c(folder, 'mixed', MIXED)
    server = start(folder, ', sampling_frequency: 99')
    child = subprocess.Popen([program])
    subprocess.run(
        [
            'perf',
            'record',
            '-q',
            '-F',
            '99',
            '-e',
            'cpu-clock',
            '-o',
            f'{folder}/perf.data',
            '-p',
            str(child.pid),
            '--',
            'sleep',
            str(SECONDS),
        ],
        check=True,
        capture_output=True,
    )
    child.kill()
    child.wait()
    time.sleep(5)
    text = subprocess.run(
        ['perf', 'report', '-i', f'{folder}/perf.data', '--stdio', '--sort', 'symbol', '-g', 'none'],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    perf = {m[2]: float(m[1]) for m in re.finditer(r'([\d.]+)%\s+\[\.\]\s+(\w+)', text)}
    rows, total = top(server, '{exe="mixed"}')
    mine = 100 * rows['heavy']['flat'] / total
    print(f'heavy: {mine:.1f} % by everprof, {perf["heavy"]:.1f} % by perf; {total / 1e9:.1f} s of CPU in {SECONDS} s')
    assert max(rows, key=lambda r: rows[r]['flat']) == 'heavy', rows
    assert abs(mine - perf['heavy']) <= 3
    series = server.get('/api/v1/series', **{'match[]': '{exe="mixed"}'}).data()
    assert len(series) == 1 and (
        'cgroup' in series[0] or 'systemd_unit' in series[0] or 'container' in series[0]
    ), series
    server.finish()


@suite.test
def storm_of_processes(folder):
    """Memory is bounded, no sample vanishes, and there is one series for the program, not for each process."""
    program = compile_c(folder, 'forker', FORKER)
    burner = subprocess.Popen([compile_c(folder, 'mixed', MIXED)])
    server = start(folder, ', sampling_frequency: 99')
    before, began = harness.cpu_seconds(server.child.pid)[0], time.monotonic()
    subprocess.run([program, str(FORKS)], check=True)
    took = time.monotonic() - began
    cpu = harness.cpu_seconds(server.child.pid)[0] - before
    burner.kill()
    burner.wait()
    time.sleep(5)
    series = server.get('/api/v1/series', **{'match[]': '{job="ebpf"}'}).data()
    count = server.ebpf_samples()
    names = [s['exe'] for s in series]
    print(
        f'{FORKS} processes in {took:.0f} s; everprof: {cpu:.2f} s of CPU, RssAnon {server.memory():.1f} MiB, '
        f'largest RSS {server.memory("VmHWM"):.1f} MiB; {len(series)} series; {count}; '
        f'events lost: {server.metric("everprof_ebpf_process_events_lost_total"):.0f}'
    )
    assert names.count('true') <= 1 and names.count('mixed') == 1 and len(series) < 40, names
    assert server.memory() < 40, server.memory()
    assert not count['lost_ring_full'] and not count['lost_memory_full'], count
    _, total = top(server, '{exe="mixed"}')
    assert total > 0.3e9 * took, f'the other program was sampled for {total / 1e9:.1f} s only'
    server.finish()


@suite.test
def process_with_many_mappings(folder):
    """Sampling of others goes on; the mappings for which there is no room are counted or cut."""
    burner = subprocess.Popen([compile_c(folder, 'mixed', MIXED)])
    server = start(folder, ', sampling_frequency: 99')
    # Pages of alternating permissions are mappings of their own.
    script = (
        f'import ctypes, mmap, time\n'
        f'libc = ctypes.CDLL(None)\n'
        f'libc.mmap.restype = ctypes.c_void_p\n'
        f'libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 4\n'
        f'for i in range({MAPPINGS}): libc.mmap(None, 4096, {mmap.PROT_READ | mmap.PROT_EXEC} if i % 2 else '
        f'{mmap.PROT_READ}, 0x22, -1, 0)\n'
        f'end = time.monotonic() + 10\n'
        f'while time.monotonic() < end: sum(range(10000))\n'
    )
    subprocess.run(['/usr/bin/python3', '-c', script], check=True)
    burner.kill()
    burner.wait()
    time.sleep(5)
    rows, total = top(server, '{exe=~"python3.*"}')
    _, other = top(server, '{exe="mixed"}')
    print(
        f'RssAnon {server.memory():.1f} MiB; {total / 1e9:.1f} s of python3, {other / 1e9:.1f} s beside it; {server.ebpf_samples()}'
    )
    assert server.memory() < 40 and total > 2e9 and other > 2e9
    assert any('PyEval' in r for r in rows), list(rows)[:5]
    server.finish()


@suite.test
def perf_map_that_changes(folder):
    """A process that writes its perf map anew every second."""
    server = start(folder, ', sampling_frequency: 99')
    node = shutil.which('node')
    script = (
        'const fs = require("fs"); const end = Date.now() + 12000; let s = 0, next = 0;'
        'while (Date.now() < end) { for (let i = 0; i < 1e6; i++) s += i % 7;'
        ' if (Date.now() > next) { next = Date.now() + 1000;'
        ' fs.writeFileSync(`/tmp/perf-${process.pid}.map`, "1000 fffffffff everything" + "x".repeat(100) + "\\n".repeat(1e6)'
        ' + `0 ffffffffffff function of ${Math.round(s)}\\n`) } }'
    )
    if not node:
        print('SKIPPED: node is not installed')
        return
    child = subprocess.Popen([node, '-e', script])
    child.wait()
    os.unlink(f'/tmp/perf-{child.pid}.map')
    time.sleep(5)
    rows, total = top(server, '{exe="node"}')
    print(
        f'RssAnon {server.memory():.1f} MiB; {total / 1e9:.1f} s of node; '
        f'{[r for r in rows if r.startswith("function of")][:2]}'
    )
    assert server.memory() < 40 and total > 3e9
    assert any(r.startswith('function of') for r in rows)
    server.finish()


@suite.test
def program_of_a_btrfs_subvolume(folder):
    """A program that ran before everprof: its mappings show another device than its file has."""
    if not shutil.which('mkfs.btrfs'):
        print('SKIPPED: mkfs.btrfs (package btrfs-progs) is not installed')
        return
    image, place = f'{folder}/image', f'{folder}/place'
    with open(image, 'wb') as f:
        f.truncate(200 << 20)
    os.mkdir(place)
    subprocess.run(['mkfs.btrfs', '-q', image], check=True)
    subprocess.run(['mount', '-o', 'loop', image, place], check=True)
    child = None
    try:
        subprocess.run(['btrfs', 'subvolume', 'create', f'{place}/sub'], check=True, stdout=subprocess.DEVNULL)
        child = subprocess.Popen([compile_c(f'{place}/sub', 'mixed', MIXED)], stdout=subprocess.DEVNULL)
        server = start(folder, ', sampling_frequency: 99')
        query = 'process_cpu{exe="mixed"}'
        wait_until('a profile', 60, lambda: server.get('/api/v1/series', **{'match[]': query}).data())
        wait_until('names', 60, lambda: 'heavy' in top(server, query)[0])
        server.finish()
    finally:
        if child:
            child.kill()
            child.wait()
        subprocess.run(['umount', '--lazy', place], check=True)


suite.main()
