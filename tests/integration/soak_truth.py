#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The numbers of the eBPF collector beside those of the kernel: a machine beside
/proc/stat, and programs in cgroups beside the counters of these. A compiler,
short programs, a program that runs for one second in thirty, and steady ones run
meanwhile; a program gets a new build; a target of scraping is killed, and everprof
is, too. Needs root and g++.

EVERPROF_MINUTES (60): how long."""
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import Suite, wait_until

MINUTES = float(os.environ.get('EVERPROF_MINUTES', '60'))
HZ = 19
CPUS = os.cpu_count()
# burn SECONDS PAUSE: use so much CPU time, sleep, and begin again.
BURN = '''
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static double cpu(void) {
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
int main(int argc, char **argv) {
	double seconds = argc > 1 ? atof(argv[1]) : 1, pause = argc > 2 ? atof(argv[2]) : 0;
	for (;;) {
		for (double end = cpu() + seconds; cpu() < end;)
			for (volatile int i = 0; i < 10000; i++) {}
		usleep(pause * 1e6);
	}
}
'''
CXX = '''
#include <map>
#include <regex>
#include <string>
std::map<std::string, int> count(const std::string &s) {
	static const std::regex words("([a-z]+)|([0-9]+)");
	std::map<std::string, int> m;
	for (std::sregex_iterator i(s.begin(), s.end(), words), end; i != end; ++i) m[i->str()]++;
	return m;
}
'''
TARGET = '''
scrape_configs:
- job_name: target
  scrape_interval: 10s
  scrape_timeout: 5s
  profiling_config:
    pprof_config:
%s      profile: {seconds: 5}
  static_configs: [{targets: ["%s"]}]
'''
suite = Suite()


class Cgroup:
    """A cgroup of its own, and how much CPU time its processes have used."""

    def __init__(self, name):
        two = os.path.exists('/sys/fs/cgroup/cgroup.procs')
        self.folders = [f'/sys/fs/cgroup{c}/{name}' for c in ([''] if two else ['/cpu', '/cpuacct'])]
        self.path, self.two = '/' + name, two
        for folder in self.folders:
            os.makedirs(folder, exist_ok=True)

    def join(self):
        for folder in self.folders:
            with open(f'{folder}/cgroup.procs', 'w') as f:
                f.write('0')

    def usage(self):
        if not self.two:
            with open(f'{self.folders[-1]}/cpuacct.usage') as f:
                return int(f.read()) / 1e9
        with open(f'{self.folders[0]}/cpu.stat') as f:
            return int(f.read().split('usage_usec ')[1].split()[0]) / 1e6


class Load:
    """Commands, each in a cgroup of its own."""

    def __init__(self):
        self.groups, self.children = {}, []

    def start(self, name, *argv, **options):
        group = self.groups.setdefault(name, Cgroup(f'truth{os.getpid()}-{name}'))
        self.children.append(
            subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=group.join,
                **options,
            )
        )
        return self.children[-1]

    def stop(self):
        for child in self.children:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
        time.sleep(1)
        for group in self.groups.values():
            for folder in group.folders:
                try:
                    os.rmdir(folder)
                except OSError as e:
                    print('a cgroup stays:', e)


def cpu_seconds():
    """How long the CPUs were busy, by /proc/stat, and how long a hypervisor had them meanwhile."""
    with open('/proc/stat') as f:
        user, nice, system, _, _, irq, softirq, steal = map(int, f.readline().split()[1:9])
    return (user + nice + system + irq + softirq) / os.sysconf('SC_CLK_TCK'), steal / os.sysconf('SC_CLK_TCK')


def look(load):
    """The time, the CPU seconds of the machine and those stolen from it, and the CPU seconds of each cgroup."""
    return time.time(), *cpu_seconds(), {name: group.usage() for name, group in load.groups.items()}


def rates(server, query, begin, end, step, fill='', group_by='node'):
    answer = server.get(
        '/api/v1/query_range',
        query=query,
        step=f'{step:.3f}',
        rate='1',
        fill=fill,
        group_by=group_by,
        to=int(end * 1000),
        **{'from': int(begin * 1000)},
    ).data()
    return {
        json.dumps(g['labels']): (g['timestamps'], g['totals']['cpu/nanoseconds'], g['covered']['cpu/nanoseconds'])
        for g in answer
    }


def compare(what, seconds, truth, stolen, least):
    """Compare CPU seconds; samples are a matter of chance, so three standard deviations are allowed. Stolen time counts
    as time of the program that was to run; the kernel does not count it as such."""
    sigma = math.sqrt(max(truth, 1e-9) * HZ) / HZ / truth if truth else math.inf
    error = seconds / truth - 1 if truth else 0
    print(
        f'{what}: {seconds:.2f} s by samples, {truth:.2f} s by the kernel: {100 * error:+.2f} % '
        f'(3 sigma {300 * sigma:.2f} %, {100 * stolen:.2f} % are stolen)'
    )
    assert -max(least, 3 * sigma) <= error <= max(least, 3 * sigma) + stolen, what


def tell_unknown(server, begin, end):
    """Print the times for which no CPU time is known, and what the collector counted: did it lose samples, or did the
    machine stand still?"""
    times, _, covered = list(rates(server, 'process_cpu{job="ebpf"}', begin, end, 10).values())[0]
    print('unknown:', [(int(t / 1000 - begin), c) for t, c in zip(times, covered) if c < 1])
    for line in server.get('/metrics').text().splitlines():
        if line.startswith('everprof_ebpf') and not line.endswith(' 0'):
            print(line)


def check_span(server, load, first, last):
    """Compare a span without a gap."""
    (begin, busy, steal, groups), (end, busy_end, steal_end, groups_end) = first, last
    stolen = (steal_end - steal) / (busy_end - busy)
    for labels, (_, values, covered) in rates(server, 'process_cpu{job="ebpf"}', begin, end, end - begin).items():
        if covered[0] <= 0.99:
            tell_unknown(server, begin, end)
        assert covered[0] > 0.99, covered
        compare(f'machine {labels}', values[0] / 1e9 * (end - begin), busy_end - busy, stolen, 0.01)
    for name, group in load.groups.items():
        query = f'process_cpu{{cgroup="{group.path}"}}'
        found = rates(server, query, begin, end, end - begin)
        assert found, query
        compare(
            name, list(found.values())[0][1][0] / 1e9 * (end - begin), groups_end[name] - groups[name], stolen, 0.02
        )


def check_steps(server, begin, end):
    """No step has more than the machine, and each range adds up to the same."""
    highest = 0
    for step in 1, 7, 10, 15, 60:
        for fill in '', '5m':
            _, values, _ = list(
                rates(server, 'process_cpu{job="ebpf"}', max(begin, end - 10000 * step), end, step, fill).values()
            )[0]
            highest = max([highest] + [v / 1e9 for v in values if v is not None])
    print(f'highest step: {highest:.3f} of {CPUS} CPUs')
    # An interval may have one sample more than fits into its time.
    assert highest <= CPUS * (1 + 1.5 / (10 * HZ)), highest


def check_gap(server, begin, end):
    """Unknown while everprof did not run, and known before and afterwards."""
    _, values, covered = list(rates(server, 'process_cpu{job="ebpf"}', begin - 60, end + 60, 1, '5m').values())[0]
    unknown = sum(v is None for v in values)
    print(f'everprof was away for {end - begin:.0f} s: {unknown} s are unknown')
    # The interval that was open is lost, and one whose names were still being found.
    assert end - begin - 2 <= unknown <= end - begin + 22, (unknown, values)
    assert all(c == 0 for v, c in zip(values, covered) if v is None), covered


def check_markers(server, load, began, replaced):
    """One new build, that of the program that was replaced. Nobody knows which other programs of the machine are new."""
    query = 'process_cpu{cgroup=~"%s"}' % '|'.join(group.path for group in load.groups.values())
    found = server.get('/api/v1/changes', query=query, step='10s', to='now', **{'from': int(began * 1000)}).data()
    builds = [c for c in found if c['kind'] == 'build_id']
    print('markers:', found)
    assert len(builds) == 1 and abs(builds[0]['time'] / 1000 - replaced) <= 30, found


def check_down(server, begin, end):
    """A target is unknown while it was down, and known where it has profiles: on a busy machine, some scrapes of a target
    that is up take too long. A gap that is to be filled keeps its value, also that of a profile before the range."""
    first = int(begin - 60)
    times = [
        ms / 1000 - first
        for line in server.range('profile{job="target"}', (first - 300) * 1000, int(end + 60) * 1000)
        for ms in line['timestamps']
    ]
    assert any(0 <= t < 60 for t in times) and any(t > end - first for t in times), times
    for fill in '', '5m':
        _, values, covered = list(
            rates(server, 'profile{job="target"}', first, int(end + 60), 20, fill, 'job').values()
        )[0]
        print(
            f'the target was down for {end - begin:.0f} s, steps of 20 s from 60 s before it:', values, covered, times
        )
        for i, (value, share) in enumerate(zip(values, covered)):
            inside = any(20 * i <= t < 20 * i + 14 for t in times)
            before = any(t < 20 * i for t in times)
            # A profile that lasts into the next step belongs to both.
            if any(20 * i - 6 <= t < 20 * i for t in times) or any(20 * i + 14 <= t < 20 * i + 20 for t in times):
                continue
            known = inside or (fill and before)
            assert (value is not None) == bool(known) and (share > 0) == bool(known), (fill, i, values, covered, times)
            assert value != 0, (i, values)


@suite.test
def machine_and_cgroups(folder):
    """Rates beside the kernel's counters."""
    for name, flags in ('burn', []), ('burn2', ['-O2']):
        with open(f'{folder}/{name}.c', 'w') as f:
            f.write(BURN)
        subprocess.run(['gcc', '-Wl,--build-id', *flags, '-o', f'{folder}/{name}', f'{folder}/{name}.c'], check=True)
    with open(f'{folder}/unit.cc', 'w') as f:
        f.write(CXX)
    for name in 'rare', 'steady', 'replaced', 'half':
        shutil.copy(f'{folder}/burn', f'{folder}/{name}')
    directory = f'{folder}/server'
    target = harness.Everprof(f'{folder}/target').ready()
    config = f'ebpf: {{enabled: true, node: n, sampling_frequency: {HZ}}}\n' + TARGET % (
        harness.only('profile'),
        f'127.0.0.1:{target.port}',
    )
    server = harness.Everprof(directory, config).ready()
    wait_until('samples are taken', 60, lambda: server.metric('everprof_ebpf_up') == 1, 0.1)
    began, load = time.time(), Load()
    try:
        load.start('compiler', 'sh', '-c', 'while :; do g++ -O1 -c -o unit.o unit.cc; done', cwd=folder)
        load.start('short', 'sh', '-c', 'while :; do /bin/true; ls / | sort | head -n 3; sleep 0.05; done')
        load.start('python', 'sh', '-c', f'while :; do {sys.executable} -c "sum(range(1000000))"; sleep 0.3; done')
        load.start('rare', f'{folder}/rare', '1', '29')
        load.start('steady', f'{folder}/steady', '0.01', '0.03')
        # Sometimes, all CPUs are busy: then a value that counts twice is more than there is.
        for _ in range(CPUS):
            load.start('half', f'{folder}/half', '30', '30')
        old = load.start('replaced', f'{folder}/replaced', '0.1', '0.3')
        time.sleep(25)
        first = look(load)
        time.sleep(30 * MINUTES)
        old.kill()
        replaced = time.time()
        os.rename(f'{folder}/burn2', f'{folder}/replaced')
        load.start('replaced', f'{folder}/replaced', '0.1', '0.3')
        target.child.kill()
        target.child.wait()
        down = time.time()
        time.sleep(120)
        up = time.time()
        target = harness.Everprof(f'{folder}/target', port=target.port).ready()
        time.sleep(30 * MINUTES)
        last = look(load)
        time.sleep(25)
        check_span(server, load, first, last)
        check_steps(server, first[0], last[0])
        check_markers(server, load, began, replaced)
        check_down(server, down, up)
        server.child.kill()
        server.child.wait()
        killed = time.time()
        time.sleep(60)
        server = harness.Everprof(directory, config).ready()
        wait_until('samples are taken', 60, lambda: server.metric('everprof_ebpf_up') == 1, 0.1)
        up = time.time()
        time.sleep(90)
        check_gap(server, killed, up)
        found = {s: server.metric('everprof_ebpf_cpu_seconds_total', f'source="{s}"') for s in ('samples', 'kernel')}
        print('metrics:', found)
        server.finish()
        target.finish()
    finally:
        load.stop()
        harness.Process.stop_all()


suite.main()
