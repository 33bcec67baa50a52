#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""everprof record, and the eBPF collector of everprof serve, in this kernel:
programs whose stacks are known, without frame pointers.

Needs root, or CAP_BPF and CAP_PERFMON; otherwise it says so and tests nothing."""
import contextlib
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import api_server
import harness
from silent_file import SilentFile
from unit_filter import Jail, allowed_calls

EVERPROF = os.environ['EVERPROF']
HERE = os.path.dirname(os.path.abspath(__file__))
# The outermost frame of a stack that does not reach the start of its program or thread.
ENDS = ('[unknown', '[unwind', '[truncated', '[starting')
PYTHON = '''
import sys, time
def inner(n):
    s = 0
    for i in range(n): s += i * i
    return s
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end: inner(100000)
'''
NODE = '''
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s }
const end = Date.now() + 1000 * process.argv[2]
let sum = 0
while (Date.now() < end) sum += inner(100000)
if (!sum) console.log(sum)
'''
GO = '''package main

import "time"

var sum int

//go:noinline
func inner(n int) {
	for i := 0; i < n; i++ { sum += i % 7 }
}

func main() {
	end := time.Now().Add(SECONDS * time.Second)
	for time.Now().Before(end) { inner(100000) }
}
'''
# C calls back; crypto/sha256 has functions in assembler.
CGO = '''package main

/*
extern void goCallback(int);
static void c_call(int n) { goCallback(n); }
static volatile long work;
static void c_work(long n) { for (long i = 0; i < n; i++) work += i; }
*/
import "C"
import ("crypto/sha256"; "time")

var sum int

//go:noinline
func inCallback(n int) {
	for i := 0; i < n; i++ { sum += i % 7 }
}

//export goCallback
func goCallback(n C.int) { inCallback(int(n)) }

//go:noinline
func inHash(b []byte) { sum += int(sha256.Sum256(b)[0]) }

func main() {
	b := make([]byte, 1 << 16)
	for end := time.Now().Add(600 * time.Second); time.Now().Before(end); {
		C.c_call(100000)
		C.c_work(100000)
		inHash(b)
	}
}
'''
LIBRARY = '''
extern volatile int library_work;
volatile int library_work;
void library_call(void (*f)(void)) { f(); library_work++; }

static void (*hook)(void);
static void resolved(void) { library_work++; }
static void (*resolve(void))(void) { if (hook) hook(); library_work++; return resolved; }
void library_function(void) __attribute__((ifunc("resolve")));
void library_resolve(void (*f)(void)) { hook = f; library_function(); library_work++; }
'''


def build(folder):
    flags = ['-O2', '-fomit-frame-pointer', '-fno-optimize-sibling-calls']
    subprocess.run(['gcc', *flags, '-o', f'{folder}/stacks', f'{HERE}/stacks.c'], check=True)
    subprocess.run(
        ['gcc', *flags, '-g', '-fno-asynchronous-unwind-tables', '-o', f'{folder}/debug_frame', f'{HERE}/stacks.c'],
        check=True,
    )
    subprocess.run(
        ['gcc', *flags, '-static', '-w', '-o', f'{folder}/static', f'{HERE}/stacks.c'],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    subprocess.run(['g++', *flags, '-o', f'{folder}/throws', f'{HERE}/throws.cc'], check=True)
    with open(f'{folder}/library.c', 'w') as f:
        f.write(LIBRARY)
    subprocess.run(
        ['gcc', *flags, '-shared', '-fPIC', '-Wl,-z,lazy', '-o', f'{folder}/library.so', f'{folder}/library.c'],
        check=True,
    )


def folded(path):
    """{stack: samples} of a profile, the outermost function first."""
    text = subprocess.run(
        [EVERPROF, 'report', 'folded', '--sample_index=samples', path], capture_output=True, text=True, check=True
    ).stdout
    stacks = {}
    for line in text.splitlines():
        stack, _, count = line.rpartition(' ')
        stacks[stack] = stacks.get(stack, 0) + int(count)
    return stacks


def record(folder, *arguments):
    path = f'{folder}/profile.pb.gz'
    run = subprocess.run(
        [EVERPROF, 'record', '--frequency=199', f'--output={path}', *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert run.returncode == 0, run.stderr
    return folded(path)


def record_running(folder, command):
    """Profiles a command that has burned some CPU already. The first milliseconds, before its files are read,
    would be a large share of a short profile on a busy machine."""
    child = subprocess.Popen(command, cwd=folder)
    try:
        harness.wait_until('the program runs', 60, lambda: harness.cpu_seconds(child.pid)[0] > 0.4, 0.05)
        # Longer, if the program gets little of a busy machine.
        for duration in '2s', '8s', '40s':
            stacks = record(folder, '-p', str(child.pid), '-d', duration)
            if sum(stacks.values()) > 100:
                break
        return stacks
    finally:
        child.kill()
        child.wait()


def share(stacks, fits):
    return sum(n for s, n in stacks.items() if fits(s)) / sum(stacks.values())


def check(title, stacks, pattern, at_least=0.99):
    """Nearly all stacks are whole, and have the order of calls."""
    total = sum(stacks.values())
    whole = share(stacks, lambda s: not s.startswith(ENDS))
    order = share(stacks, re.compile(pattern).search)
    print(
        f'{title}: {total} samples, {100 * whole:.1f} % whole, {100 * order:.1f} % with the order of calls', flush=True
    )
    if whole < at_least or order < at_least - 0.01:
        for stack, n in sorted(stacks.items(), key=lambda x: -x[1])[:8]:
            print('   ', n, stack)
    assert total > 50, f'{title}: {total} samples'
    assert whole >= at_least, title
    assert order >= at_least - 0.01, title


def check_exceptions(stacks, pattern):
    """Before _Unwind_RaiseException() jumps to the handler, uw_install_context_1() of libgcc copies the return address
    and the registers of the handler's frame into its own frame, which its unwind information does not say. No stack can
    be walked there: it seems as if the handler had called _Unwind_RaiseException()."""
    installs = re.compile(r'^\[unknown mapping\];<unknown>;burn_exceptions;_Unwind_RaiseException(;\[libgcc_s[^;]*)?$')
    installing = share(stacks, installs.search)
    print(f'exceptions: {100 * installing:.1f} % while a handler is installed')
    assert installing < 0.06, stacks  # about 0.9 % of many samples
    check('exceptions', {s: n for s, n in stacks.items() if not installs.search(s)}, pattern)


def check_programs(folder):
    # Local functions of libc have names only where its debug files are installed.
    start = r'^_start;__libc_start_main[^;]*;[^;]+;main;'
    sort = r'[^;]*qsort_r;([^;]+;){0,3}compare;'
    for way, pattern in [
        ('recursion', start + 'burn_recursion;(' + sort + ')+burn_cpu'),
        ('system_calls', start + 'burn_system_calls'),
        ('vdso', start + 'burn_clock'),
        ('plt', start + 'burn_plt'),
        ('signal', start + r'burn_signal;\S+;on_signal;burn_cpu'),
        ('dlopen', start + 'burn_library;library_call;burn_cpu'),
        # The registers of ld.so's function between the two are known by what it calls only.
        ('resolver', start + r'burn_library;library_resolve;[^;]+;([^;]+;){0,3}(resolve|library_function);burn_cpu'),
        ('thread', r'^[^;]+;[^;]+;thread_main;burn_cpu'),
    ]:
        check(way, record_running(folder, [f'{folder}/stacks', way, '600', f'{folder}/library.so']), pattern)
    # Functions that are returned to, and were not called: local symbols of libc, which the static program has.
    for way, pattern in [
        ('signal', r';burn_signal;\S+;__restore_rt;on_signal;burn_cpu'),
        ('fiber', '^__start_context;fiber_main;burn_cpu'),
    ]:
        check(f'static, {way}', record_running(folder, [f'{folder}/static', way, '600']), pattern)
    check(
        'debug_frame',
        record_running(folder, [f'{folder}/debug_frame', 'recursion', '600']),
        start + 'burn_recursion;(' + sort + ')+burn_cpu',
    )
    check_exceptions(record_running(folder, [f'{folder}/throws', '600']), start + 'burn_exceptions;')
    # Children live for some milliseconds; they have the tables of their parent. At their end, the kernel has freed
    # their memory already.
    check('forks', record(folder, '--', f'{folder}/stacks', 'forks', '6'), start + '|;do_exit;', 0.97)


def check_interpreters(folder):
    with open(f'{folder}/p.py', 'w') as f:
        f.write(PYTHON)
    check('python3', record_running(folder, ['/usr/bin/python3', f'{folder}/p.py', '600']), '_PyEval_EvalFrameDefault')
    node = shutil.which('node')
    with open(f'{folder}/n.js', 'w') as f:
        f.write(NODE)
    if node:
        stacks = record_running(folder, [node, '--perf-basic-prof', f'{folder}/n.js', '600'])
        check('node', stacks, r'n\.js:\d+', 0.97)
    stacks = record_running(folder, [go_program(folder, 'go_program', GO.replace('SECONDS', '600'))])
    start = r'^runtime.goexit(.abi0)?;runtime.main;main.main;'
    # Threads of the runtime have a larger share if the machine is busy.
    runtime = r'|^runtime.(goexit|mstart|mcall)(.abi0)?;runtime'
    check('go', stacks, start + runtime, 0.97)
    assert share(stacks, re.compile(start + 'main.inner').search) > 0.8, stacks
    # Without symbols; the linker of C makes the program.
    stacks = record_running(folder, [go_program(folder, 'cgo_program', CGO, '-ldflags=-s -w')])
    check('go with cgo', stacks, start + runtime, 0.97)
    # Until Go 1.20, runtime.asmcgocall has no frame pointer, and hides its caller.
    for function in [
        r'main._Cfunc_c_call;(runtime.cgocall;)?runtime.asmcgocall.*;crosscall2;.*goCallback;main.inCallback',
        r'main._Cfunc_c_work;(runtime.cgocall;)?runtime.asmcgocall[^;]*;[^;]+',
        r'main.inHash;crypto/sha256.Sum256;',
    ]:
        assert share(stacks, re.compile(start + function).search) > 0.02, (function, stacks)


def go_program(folder, name, source, *flags):
    """Builds a program of Go; returns its path."""
    with open(f'{folder}/{name}.go', 'w') as f:
        f.write(source)
    subprocess.run(
        ['go', 'build', *flags, '-o', f'{folder}/{name}', f'{folder}/{name}.go'],
        check=True,
        env={
            **os.environ,
            'GO111MODULE': 'off',
            'GOFLAGS': '',
            'GOCACHE': f'{folder}/cache',
            'GOTOOLCHAIN': 'local',
            'CGO_ENABLED': '1',
        },
    )
    return f'{folder}/{name}'


def check_record(folder):
    """Exit codes, flame graphs, bad usage."""

    def run(*args):
        return subprocess.run([EVERPROF, 'record', *args], capture_output=True, text=True, check=False, cwd=folder)

    done = run('-o', 'x.svg', '-F', '199', '--', 'sh', '-c', f'{folder}/stacks recursion 5; exit 7')
    assert done.returncode == 7, done
    assert re.search(r'wrote x.svg: \d+ samples, [\d.]+ % of them with the whole stack', done.stderr), done.stderr
    with open(f'{folder}/x.svg') as f:
        assert 'burn_cpu' in f.read()
    for flags in [], ['-F', '99', '-o', 'x.svg']:
        done = run(*flags, '--', 'sh', '-c', 'echo "$#: $@"', 'x', 'one', 'two')
        assert done.stdout == '2: one two\n', done
    done = run('--', '/nowhere/program')
    assert done.returncode == 127, done
    assert done.stderr == 'everprof: cannot start /nowhere/program: No such file or directory\n', done
    done = run('-F', '199', '-o', '/dev/null', '--', f'{folder}/stacks', 'recursion', '2')
    assert done.returncode == 0 and 'wrote /dev/null: ' in done.stderr, done
    if os.geteuid() == 0 and shutil.which('setpriv'):
        two = '-all,+bpf,+perfmon'
        done = subprocess.run(
            [
                'setpriv',
                '--reuid=65534',
                '--regid=65534',
                '--clear-groups',
                f'--inh-caps={two}',
                f'--ambient-caps={two}',
                EVERPROF,
                'record',
                '-d',
                '1s',
                '-o',
                '-',
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert 'CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH' in done.stderr and 'kernel.kptr_restrict' in done.stderr, done
    for args, message in [
        (['-F', '0'], '--frequency: expected 1 to 999'),
        (['-p', '999999999'], 'there is no process'),
        (['-p', '1', '--', 'true'], 'cannot be combined'),
        (['-d', 'x'], '--duration'),
    ]:
        done = run(*args)
        assert done.returncode in (1, 2) and message in done.stderr, (args, done)
    if shutil.which('unshare'):
        done = subprocess.run(
            ['unshare', '--pid', '--fork', EVERPROF, 'record', '-d', '1s'], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1 and 'PID namespace' in done.stderr, done
        done = subprocess.run(
            ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs tmpfs /proc && exec "$0" record -d 1s', EVERPROF],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.stderr.startswith('unshare:'):  # as in a chroot
            print('SKIPPED: no namespace of mounts:', done.stderr)
        else:  # a sanitizer cannot do without /proc
            assert done.returncode == 1 and re.search('/proc is not mounted|Sanitizer', done.stderr), done
    target = subprocess.Popen([f'{folder}/stacks', 'recursion', '20'])
    done = run('-p', str(target.pid), '-F', '199', '-d', '1s', '-o', 'p.pb.gz')
    target.kill()
    target.wait()
    assert done.returncode == 0, done
    text = subprocess.run(
        [EVERPROF, 'report', 'top', f'{folder}/p.pb.gz'], capture_output=True, text=True, check=True
    ).stdout
    assert 'File: stacks' in text and 'burn_recursion' in text, text
    # The mappings of a program are not known in its first milliseconds.
    done = run(
        '-F', '999', '-o', 'p.pb.gz', '--', 'sh', '-c', 'i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done'
    )
    starting = share(folded(f'{folder}/p.pb.gz'), lambda s: s.startswith('[starting]'))
    assert re.search(r', [\d.]+ % in the first 3 ms of a program', done.stderr) and starting > 0.02, (
        done.stderr,
        starting,
    )
    # Without call frame information, nobody knows whether callers are missing.
    subprocess.run(
        [
            'gcc',
            '-O1',
            '-fno-omit-frame-pointer',
            '-fno-asynchronous-unwind-tables',
            '-o',
            f'{folder}/pointers',
            f'{HERE}/stacks.c',
        ],
        check=True,
    )
    done = run('-F', '199', '-o', 'p.pb.gz', '--', f'{folder}/pointers', 'recursion', '3')
    shares = re.search(
        r'samples, ([\d.]+) % of them with the whole stack, ([\d.]+) % with callers found by frame pointers',
        done.stderr,
    )
    assert shares and float(shares[1]) < 10 and float(shares[2]) > 85, done.stderr


def check_limits(folder):
    """With too few descriptors, a recording ends with a message; the command keeps its own limit."""
    if os.geteuid() != 0 or not shutil.which('prlimit'):
        return
    said = ''
    for files in range(20, 1000, 2):
        done = subprocess.run(
            [
                'prlimit',
                f'--nofile={files}:{files}',
                EVERPROF,
                'record',
                '-o',
                f'{folder}/few.pb.gz',
                '--',
                f'{folder}/stacks',
                'recursion',
                '1',
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=20 * harness.SLOW,
        )
        said += done.stderr
        if done.returncode == 0:
            break
    assert 'cannot open a perf event: Too many open files' in said and 'wrote ' in said, said
    done = subprocess.run(
        [
            'prlimit',
            '--nofile=256:4096',
            EVERPROF,
            'record',
            '-o',
            f'{folder}/few.pb.gz',
            '--',
            'sh',
            '-c',
            'ulimit -n; exec sleep 0.1',
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=20 * harness.SLOW,
    )
    assert done.stdout.split()[0] == '256', done


def waits(path):
    """{stack: nanoseconds} of an off-CPU profile, the outermost function first."""
    text = subprocess.run(
        [EVERPROF, 'report', 'folded', '--sample_index=wallclock', path], capture_output=True, text=True, check=True
    ).stdout
    return {line.rpartition(' ')[0]: int(line.rpartition(' ')[2]) for line in text.splitlines()}


def check_waits(folder):
    """Where threads wait, for how long, and the labels that are asked for."""
    path = f'{folder}/waits.pb.gz'
    began = time.monotonic()
    done = subprocess.run(
        [
            EVERPROF,
            'record',
            '--off-cpu=1',
            '--sample-labels=thread,tid',
            f'--output={path}',
            '--',
            f'{folder}/stacks',
            'sleep',
            '2',
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    took = (time.monotonic() - began) * 1e9
    assert done.returncode == 0 and 'waits of threads' in done.stderr, done
    stacks = waits(path)
    slept = sum(
        ns for stack, ns in stacks.items() if re.search('main;sleep_often;.*nanosleep.*;schedule;__schedule$', stack)
    )
    print(f'waits: {slept / 1e9:.2f} s in sleep_often, {sum(stacks.values()) / 1e9:.2f} s in all')
    # Between sleeps, the program may wait for a CPU; it runs for one to two seconds.
    assert 0.5e9 < slept < took, stacks
    traces = subprocess.run([EVERPROF, 'report', 'traces', path], capture_output=True, text=True, check=True).stdout
    assert re.search(r'thread: +stacks', traces) and re.search(r'tid: +\d+', traces) and 'comm:' not in traces, traces[
        :500
    ]
    # Threads that have ended do not wait, however long the profile is.
    done = subprocess.run(
        [EVERPROF, 'record', '--off-cpu=1', f'--output={path}', '--', f'{folder}/stacks', 'sleeps', '3'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done
    slept = sum(ns for stack, ns in waits(path).items() if 'nanosleep' in stack)
    true = int(done.stdout.split()[1])
    print(f'waits: {slept / 1e9:.2f} s in threads that sleep once, {true / 1e9:.2f} s by their own clock')
    assert 0.9 * true < slept < 1.1 * true, (slept, true)
    for args, message in [(['--off-cpu=x'], '--off-cpu'), (['--sample-labels=pid,name'], 'expected comm, cpu')]:
        done = subprocess.run([EVERPROF, 'record', *args], capture_output=True, text=True, check=False)
        assert done.returncode in (1, 2) and message in done.stderr, (args, done)


def check_debug_link(folder):
    """A program without a build ID links to its debug file, which its checksum identifies."""
    path = f'{folder}/linked'
    subprocess.run(
        ['gcc', '-g', '-O2', '-fno-optimize-sibling-calls', '-Wl,--build-id=none', '-o', path, f'{HERE}/stacks.c'],
        check=True,
    )
    subprocess.run(['objcopy', '--only-keep-debug', path, f'{path}.debug'], check=True, cwd=folder)
    subprocess.run(['strip', path], check=True)
    subprocess.run(['objcopy', f'--add-gnu-debuglink={path}.debug', path], check=True)
    named = record_running(folder, [path, 'recursion', '600'])
    assert share(named, re.compile(r';burn_recursion;').search) > 0.9, named
    with open(f'{path}.debug', 'ab') as f:
        f.write(b'another build')
    unnamed = record_running(folder, [path, 'recursion', '600'])
    assert share(unnamed, re.compile(r';burn_recursion;').search) == 0, unnamed


def waits_in(server, exe, function):
    """For how long a function of a program has waited, in ns, within the last minute."""
    answer = server.get(
        '/api/v1/query',
        mode='merge',
        query=f'process_off_cpu{{exe="{exe}"}}',
        to='now',
        report='top',
        sample_index='wallclock',
        cum='true',
        **{'from': 'now-1m'},
    )
    rows = answer.data()['rows'] if answer.status == 200 else []
    return sum(r['cum'] for r in rows if r['name'] == function)


def check_server(folder):
    """Profiles of processes in the database, and relabelling."""
    exe = f'server{os.getpid()}'  # another run of this test at the same time has programs, too
    os.link(f'{folder}/stacks', f'{folder}/{exe}')
    config = f'''
ebpf:
  enabled: true
  sampling_frequency: 199
  interval: 1s
  off_cpu: 1
  sample_labels: [tid]
  node: test-node
  relabel_configs:
    - {{source_labels: [exe], regex: {exe}, action: keep}}
    - {{source_labels: [__meta_process_comm], target_label: comm}}
'''
    server = harness.Everprof(f'{folder}/server', config)
    server.ready()
    harness.wait_until('samples are taken', 60, lambda: server.metric('everprof_ebpf_up') == 1, 0.1)
    with open(f'/proc/{server.child.pid}/status') as f:
        capabilities = int(re.search(r'CapEff:\s+(\w+)', f.read())[1], 16)
    assert capabilities >> 39 & 1 or os.geteuid(), 'CAP_BPF'
    assert not capabilities >> 21 & 1, 'CAP_SYS_ADMIN is dropped'
    with subprocess.Popen([f'{folder}/{exe}', 'recursion', '600']) as child:
        harness.wait_until('samples of the program', 300, lambda: server.ebpf_samples()['complete'] > 150, 0.1)
        child.kill()
    harness.wait_until(
        'profiles are stored',
        60,
        lambda: server.get('/api/v1/series', **{'match[]': 'process_cpu{job="ebpf"}'}).data(),
        0.1,
    )
    series = server.get('/api/v1/series', **{'match[]': 'process_cpu{job="ebpf"}'}).data()
    assert len(series) == 1, series
    subprocess.run([f'{folder}/{exe}', 'sleep', '2'], check=True)
    harness.wait_until('waits are stored', 60, lambda: waits_in(server, exe, 'sleep_often') > 0.1e9, 0.1)
    assert server.metric('everprof_ebpf_off_cpu_samples_total') > 50
    assert series[0]['__name__'] == 'process_cpu' and series[0]['exe'] == exe, series
    assert series[0]['node'] == 'test-node' and series[0]['comm'] == exe, series
    top = server.get(
        '/api/v1/query',
        mode='merge',
        query=f'process_cpu{{exe="{exe}"}}',
        to='now',
        report='top',
        sample_index='cpu',
        **{'from': 'now-1m'},
    ).data()
    burn = {r['name']: r for r in top['rows']}
    assert burn['burn_cpu']['flat'] > 0.9 * top['total'], top['rows'][:3]
    # On a busy machine, some samples come before the unwind table was read; they are not counted as whole.
    samples = server.ebpf_samples()
    parts = sum(n for outcome, n in samples.items() if outcome not in ('complete', 'dropped', 'kernel'))
    assert burn['main']['cum'] > 0.9 * top['total'] - parts / 199 * 1e9, (burn['main'], top['total'], samples)
    assert samples['complete'] > 100 and samples['lost_ring_full'] == 0, samples
    assert samples['dropped'] > 0, samples
    print('server:', samples)
    server.finish()


def totals_of(server, query, sample_type):
    """The totals of all profiles of the last minutes: a dictionary from time to the sum over the series."""
    out = {}
    for series in server.get('/api/v1/query_range', query=query, to='now', totals='1', **{'from': 'now-10m'}).data():
        for ms, total in zip(series['timestamps'], series['totals'][sample_type]):
            out[ms] = out.get(ms, 0) + total
    return out


def check_heartbeats(folder):
    """A heartbeat has the samples of all profiles of its interval, and tells that an idle program used no CPU time."""
    exe = f'beating{os.getpid()}'
    shutil.copy(f'{folder}/stacks', f'{folder}/{exe}')
    config = 'ebpf: {enabled: true, sampling_frequency: 99, interval: 1s, node: beats}\n'
    server = harness.Everprof(f'{folder}/heartbeats', config).ready()

    def rates():
        data = server.get(
            '/api/v1/query_range',
            query=f'process_cpu{{exe="{exe}",node="beats"}}',
            to='now',
            step='1s',
            rate='1',
            group_by='node',
            **{'from': 'now-10m'},
        ).data()
        return [v for v in data[0]['totals']['cpu/nanoseconds'] if v is not None] if data else []

    with subprocess.Popen([f'{folder}/{exe}', 'recursion', '600']) as child:
        harness.wait_until('the program has a rate', 120, lambda: any(v > 0 for v in rates()), 0.2)
        child.kill()
    # Without heartbeats, there would be no value where the program has no profile.
    harness.wait_until('the program is idle', 120, lambda: rates()[-1] == 0, 0.2)
    # An interval has its heartbeat after all its profiles.
    beats = totals_of(server, 'node_cpu{job="ebpf"}', 'samples/count')
    profiles = totals_of(server, 'process_cpu{node="beats"}', 'samples/count')
    assert beats and all(profiles.get(ms, 0) <= n for ms, n in beats.items()), (beats, profiles)
    missing = sum(n - profiles.get(ms, 0) for ms, n in beats.items())
    harness.wait_until(
        f'{missing} samples are counted as lost',
        10,
        lambda: missing <= sum(n for outcome, n in server.ebpf_samples().items() if outcome.startswith('lost')),
        0.2,
    )
    kernel = totals_of(server, 'node_cpu{job="ebpf"}', 'kernel/nanoseconds')
    assert sum(kernel.values()) > 0, kernel
    series = server.get('/api/v1/query_range', query='{job="ebpf"}', to='now', **{'from': 'now-10m'}).data()
    assert series and all(s['labels']['__name__'] == 'process_cpu' for s in series), series
    assert server.metric('everprof_ebpf_cpu_seconds_total', 'source="kernel"') > 0
    assert server.metric('everprof_ebpf_cpu_seconds_total', 'source="samples"') > 0
    print('heartbeats:', len(beats), 'samples:', sum(beats.values()), 'lost:', missing)
    server.finish()


def check_ended_programs(folder):
    """Programs have names although they have ended, and their files are gone, before names are looked for."""
    config = '''
ebpf:
  enabled: true
  sampling_frequency: 499
  interval: 3s
  relabel_configs: [{source_labels: [exe], regex: 'gone.*', action: keep}]
'''
    server = harness.Everprof(f'{folder}/ended', config).ready()
    harness.wait_until('samples are taken', 60, lambda: server.metric('everprof_ebpf_up') == 1, 0.1)
    for i in range(5):
        path = f'{folder}/gone{i}'
        shutil.copy(f'{folder}/stacks', path)
        before = server.ebpf_samples()['complete']
        with subprocess.Popen([path, 'recursion', '600']) as child:
            harness.wait_until('samples of it', 60, lambda: server.ebpf_samples()['complete'] > before + 30, 0.05)
            os.unlink(path)
            child.kill()
    harness.wait_until(
        'profiles',
        60,
        lambda: len(server.get('/api/v1/series', **{'match[]': 'process_cpu{exe=~"gone.*"}'}).data()) == 5,
        0.1,
    )
    top = server.get(
        '/api/v1/query',
        mode='merge',
        query='process_cpu{exe=~"gone.*"}',
        to='now',
        report='top',
        sample_index='cpu',
        **{'from': 'now-5m'},
    ).data()
    burn = {r['name']: r for r in top['rows']}
    assert burn['burn_cpu']['flat'] > 0.9 * top['total'], top['rows'][:5]
    server.finish()


def check_blocked_programs(folder):
    """While some programs cannot start, because a file system does not answer, the profiles of others are stored."""
    os.mkdir(f'{folder}/silent')
    try:
        silent = SilentFile(f'{folder}/silent')
    except OSError as e:
        print('SKIPPED, programs that wait for a file system:', e)
        return
    code = f'import os; os.open("{silent.path}", os.O_RDONLY | os.O_CLOEXEC); os.execv("/bin/sleep", ["sleep", "600"])'
    blocked = [subprocess.Popen([sys.executable, '-c', code]) for _ in range(20)]
    try:
        harness.wait_until('all programs wait', 60, lambda: silent.waiting == 20)
        exe = f'beside{os.getpid()}'
        shutil.copy(f'{folder}/stacks', f'{folder}/{exe}')
        server = harness.Everprof(
            f'{folder}/blocked', 'ebpf: {enabled: true, sampling_frequency: 99, interval: 1s}\n'
        ).ready()
        harness.wait_until('samples are taken', 60, lambda: server.metric('everprof_ebpf_up') == 1, 0.1)
        with subprocess.Popen([f'{folder}/{exe}', 'recursion', '600']) as child:
            query = {
                'mode': 'merge',
                'query': f'process_cpu{{exe="{exe}"}}',
                'from': 'now-5m',
                'to': 'now',
                'report': 'folded',
            }
            harness.wait_until(
                'its profiles', 60, lambda: b';burn_recursion;' in server.get('/api/v1/query', **query).body, 0.2
            )
            child.kill()
        server.finish()
    finally:
        silent.stop()
        for p in blocked:
            p.kill()
            p.wait()


def check_failed_start(folder):
    """A collector that could not start is started by the next reload, with the same configuration."""

    def reload():
        return server.get('/-/reload', data=b'').status

    server = harness.Everprof(f'{folder}/failed', '', ['--web.enable-lifecycle']).ready()
    with open(f'{folder}/failed/everprof.yaml', 'w', encoding='utf-8') as f:
        f.write('ebpf: {enabled: true}\n')
    _, hard = resource.prlimit(server.child.pid, resource.RLIMIT_NOFILE)
    files = len(os.listdir(f'/proc/{server.child.pid}/fd')) + 6  # for requests, and not for the collector
    resource.prlimit(server.child.pid, resource.RLIMIT_NOFILE, (files, hard))
    for count in 1, 2:
        assert reload() == 200 and server.metric('everprof_ebpf_up') == 0, server.text()
        assert server.text().count('the eBPF collector cannot run') == count, server.text()
    resource.prlimit(server.child.pid, resource.RLIMIT_NOFILE, (hard, hard))
    assert reload() == 200, server.text()
    harness.wait_until('samples are taken', 60, lambda: server.metric('everprof_ebpf_up') == 1, 0.1)
    server.finish()


def own_cgroup(name):
    """The folder of a new cgroup below that of this program, as container runtimes make them."""
    one = '/sys/fs/cgroup/cgroup.procs'  # there is only version 2
    root, controller = ('/sys/fs/cgroup', '') if os.path.exists(one) else ('/sys/fs/cgroup/cpu', 'cpu')
    with open('/proc/self/cgroup') as f:
        lines = [line.rstrip('\n').split(':', 2) for line in f]
    path = next((p for _, c, p in lines if controller in c.split(',')), '/')
    folder = f'{root}{path.rstrip("/")}/{name}'
    os.mkdir(folder)
    return folder


def check_containers(folder):
    """A process gets the names of its container, also if they are known after rules have dropped it."""
    ident = f'{os.getpid():064x}'
    try:
        cgroup = own_cgroup(ident)
    except OSError as e:
        print(f'SKIPPED: names of containers: no cgroup can be made here ({e})')
        return
    exe = f'contained{os.getpid()}'
    os.link(f'{folder}/stacks', f'{folder}/{exe}')
    containers = []
    paths = {
        '/version': lambda: {'ApiVersion': '1.41'},
        '/v1.41/networks': lambda: [{'Id': 'n1', 'Name': 'host'}],
        '/v1.41/containers/json': lambda: containers,
    }
    docker = api_server.on_unix_socket(
        f'{folder}/docker.sock', lambda path: json.dumps(paths[path]()) if path in paths else None
    )
    config = f'''
ebpf:
  enabled: true
  sampling_frequency: 199
  interval: 1s
  docker_sd_configs: [{{host: 'unix://{folder}/docker.sock', refresh_interval: 1s}}]
  relabel_configs:
    - {{source_labels: [exe, __meta_docker_container_label_team], regex: '{exe};red', action: keep}}
    - {{source_labels: [__meta_docker_container_label_team], target_label: team}}
'''
    server = harness.Everprof(f'{folder}/containers', config).ready()
    harness.wait_until('samples are taken', 60, lambda: server.metric('everprof_ebpf_up') == 1, 0.1)
    # A container is in its cgroup before its program runs.
    enter = f'echo $$ >{cgroup}/cgroup.procs; exec {folder}/{exe} recursion 600'
    with subprocess.Popen(['sh', '-c', enter]) as child:
        try:
            dropped = server.metric('everprof_ebpf_samples_total', '{outcome="dropped"}')
            harness.wait_until(
                'samples are dropped',
                60,
                lambda: server.metric('everprof_ebpf_samples_total', '{outcome="dropped"}') > dropped + 100,
                0.1,
            )
            containers.append(
                {
                    'Id': ident,
                    'Names': ['/web'],
                    'Labels': {'team': 'red'},
                    'State': 'running',
                    'HostConfig': {'NetworkMode': 'host'},
                    'NetworkSettings': {'Networks': {'host': {'NetworkID': 'n1', 'IPAddress': ''}}},
                }
            )
            harness.wait_until(
                'profiles of the container',
                60,
                lambda: server.get('/api/v1/series', **{'match[]': 'process_cpu{team="red"}'}).data(),
                0.1,
            )
        finally:
            child.kill()
    series = server.get('/api/v1/series', **{'match[]': 'process_cpu'}).data()
    assert [(s['exe'], s['container'], s['team']) for s in series] == [(exe, 'web', 'red')], series
    server.finish()
    docker.shutdown()
    os.rmdir(cgroup)


def two_at_once(server, seconds):
    """Asks for two profiles; the answers come later."""
    answers = []
    for _ in range(2):
        threading.Thread(
            target=lambda: answers.append(server.get('/debug/pprof/profile', seconds=seconds)), daemon=True
        ).start()
    return answers


def check_self(folder):
    """everprof lists and takes its own CPU profile, one at a time, and stops while it does."""
    server = harness.Everprof(f'{folder}/self', '')
    server.ready()
    assert b"href='profile?debug=1'" in server.get('/debug/pprof/').body
    answers = two_at_once(server, 3)
    while len(answers) < 2:
        server.get('/metrics')
    answers.sort(key=lambda a: a.status)
    assert [a.status for a in answers] == [200, 429], answers
    with open(f'{folder}/self.pb.gz', 'wb') as f:
        f.write(answers[0].body)
    text = subprocess.run(
        [EVERPROF, 'report', 'top', f'{folder}/self.pb.gz'], capture_output=True, text=True, check=True
    ).stdout
    assert 'metrics_write' in text or 'everprof' in text, text
    for seconds in 0, 100000, 'x':
        assert server.get('/debug/pprof/profile', seconds=seconds).status == 400
    answers = two_at_once(server, 20)
    harness.wait_until('one is refused, the other one runs', 30, lambda: len(answers) == 1, 0.01)
    server.finish()


def has_real_time_thread(pid):
    try:
        return any(
            os.sched_getscheduler(int(tid)) & ~os.SCHED_RESET_ON_FORK == os.SCHED_RR
            for tid in os.listdir(f'/proc/{pid}/task')
        )
    except (FileNotFoundError, ProcessLookupError):
        return False


def check_end_with_helper(folder):
    """A recording ends with its command, also if a helper ends at the same moment: there is one signal for both."""
    with subprocess.Popen(
        [EVERPROF, 'record', '-o', f'{folder}/both', '--', 'sleep', '600'],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as everprof:

        def children():
            """{name: PID} of the command and of the helpers, which threads have started."""
            found = {}
            for path in glob.glob(f'/proc/{everprof.pid}/task/*/children'):
                with open(path) as f:
                    pids = f.read().split()
                for pid in pids:
                    with open(f'/proc/{pid}/cmdline', 'rb') as f:
                        words = f.read().decode().split('\0')
                    found[words[0] if words[0] == 'sleep' else words[1] if len(words) > 1 else ''] = int(pid)
            return found

        try:
            harness.wait_until('the command runs', 60, lambda: {'sleep', 'ebpf-file-helper'} <= children().keys(), 0.05)
            pids = children()
            everprof.send_signal(signal.SIGSTOP)
            for name in 'ebpf-file-helper', 'sleep':
                os.kill(pids[name], signal.SIGKILL)
                harness.wait_until(
                    f'{name} has ended',
                    60,
                    lambda pid=pids[name]: open(f'/proc/{pid}/stat').read().rsplit(')')[1].split()[0] == 'Z',
                    0.02,
                )
            everprof.send_signal(signal.SIGCONT)
            everprof.wait(60 * harness.SLOW)
        finally:
            # The command, too, if something went wrong.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(everprof.pid, signal.SIGKILL)


def check_unit(folder):
    """What docs/ebpf.md adds to the systemd unit is enough: capabilities and system calls."""
    with open(f'{harness.ROOT}/docs/ebpf.md') as f:
        drop_in = re.search(r'```ini\n(\[Service\]\n.*?)```', f.read(), re.S)[1]
    with open(f'{harness.ROOT}/examples/everprof.service') as f:
        allowed = allowed_calls(f.read() + drop_in)
    names = re.search('^AmbientCapabilities=(.*)', drop_in, re.M)[1].lower().replace('cap_', '+').replace(' ', ',')
    out = f'{folder}/unit'
    os.mkdir(out)
    os.chown(out, 65534, 65534)
    os.chmod(folder, 0o711)
    command = [
        'setpriv',
        '--reuid=65534',
        '--regid=65534',
        '--clear-groups',
        f'--inh-caps=-all,{names}',
        f'--ambient-caps=-all,{names}',
        f'--bounding-set=-all,{names}',
        *Jail(folder).command(allowed),
        EVERPROF,
        'record',
        f'--output={out}/p.pb.gz',
    ]
    # The leak checker of a sanitizer needs system calls of its own.
    environment = {**os.environ, 'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'}
    with subprocess.Popen([f'{folder}/stacks', 'recursion', '600']) as program:
        with subprocess.Popen(
            [*command, '-d', '600s', f'--pid={program.pid}'], stderr=subprocess.PIPE, text=True, env=environment
        ) as everprof:
            try:
                harness.wait_until('real-time priority', 60, lambda: has_real_time_thread(everprof.pid), 0.05)
                time.sleep(1)
                everprof.send_signal(signal.SIGINT)
                message = everprof.communicate()[1]
            finally:
                everprof.kill()
                program.kill()
    assert everprof.returncode == 0, message
    print('unit:', message)
    assert share(folded(f'{out}/p.pb.gz'), re.compile(r';burn_recursion;').search) > 0.9, message


def main():
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        done = subprocess.run(
            [EVERPROF, 'record', '-d', '100ms', '-o', f'{folder}/x', '--', 'sleep', '0.1'],
            capture_output=True,
            text=True,
            check=False,
        )
        if 'eBPF' in done.stderr or 'capabilit' in done.stderr or 'kernel' in done.stderr:
            print('SKIPPED, NOTHING WAS TESTED:', done.stderr)
            sys.exit(77)
        check_record(folder)
        check_limits(folder)
        check_programs(folder)
        check_interpreters(folder)
        check_waits(folder)
        try:
            check_debug_link(folder)
            check_server(folder)
            check_heartbeats(folder)
            check_ended_programs(folder)
            check_blocked_programs(folder)
            check_failed_start(folder)
            check_containers(folder)
            check_self(folder)
            check_end_with_helper(folder)
            check_unit(folder)
        finally:
            harness.Process.stop_all()


main()
