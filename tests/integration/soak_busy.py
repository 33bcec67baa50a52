#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The eBPF collector on a busy machine: builds of C++ and Go, a browser, short
programs, and 2 000 processes that sleep. Prints the share of whole stacks and
the CPU time of everprof. Needs root, g++, Go and Firefox.

EVERPROF_MINUTES (60): how long.
EVERPROF_LOAD (cxx,go,browser,short,sleepers): what runs beside everprof."""
import os
import signal
import subprocess
import threading
import time

import harness
from harness import Suite, wait_until

MINUTES = float(os.environ.get('EVERPROF_MINUTES', '60'))
LOAD = os.environ.get('EVERPROF_LOAD', 'cxx,go,browser,short,sleepers').split(',')
SLEEPERS = 2000
SHORT_PER_SECOND = 20
SOURCES = 12
# Templates make compilers work as hard as real projects do.
CXX = '''
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>
int unit_NUMBER(const std::string &s) {
	static const std::regex words("([a-z]+)NUMBER|([0-9]+)");
	std::map<std::string, std::vector<std::function<int(int)>>> calls;
	for (std::sregex_iterator i(s.begin(), s.end(), words), end; i != end; ++i)
		calls[i->str()].push_back([](int n) { return n + NUMBER; });
	int sum = 0;
	for (auto &[name, list] : calls)
		sum = std::accumulate(list.begin(), list.end(), sum, [](int n, auto &f) { return f(n); });
	return sum;
}
'''.replace(
    '#include <map>', '#include <map>\n#include <numeric>'
)
MAKEFILE = '''
objects := $(patsubst %.cc,%.o,$(wildcard *.cc))
program: $(objects)
	g++ -o $@ $^
%.o: %.cc
	g++ -std=c++17 -O2 -g -c -o $@ $<
clean:
	rm -f program *.o
'''
SLEEPER = '''
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
	for (int i = 1; argc > 1 && i < atoi(argv[1]); i++) if (!fork()) break;
	for (;;) pause();
}
'''
# What browsers mostly do is to lay out and to draw.
PAGE = (
    'data:text/html,<style>@keyframes m{from{margin-left:0;width:40px}to{margin-left:300px;width:400px}}'
    'div{background:linear-gradient(red,blue);animation:m 2s infinite alternate;border-radius:9px;filter:blur(1px)}</style>'
    '<script>for(let i=0;i<60;i++)document.write("<div>line "+i+"</div>");setInterval(()=>{document.title=Date.now()},100)'
    '</script>'
)
suite = Suite()


class Load:
    """Commands that are repeated by threads until stop()."""

    def __init__(self, folder):
        self.folder, self.stopping, self.threads, self.done = folder, threading.Event(), [], {}

    def repeat(self, name, *argvs, pause=0.0, **options):
        def work():
            while not self.stopping.is_set():
                for argv in argvs:
                    self.run(argv, options)
                self.done[name] = self.done.get(name, 0) + 1
                self.stopping.wait(pause)

        self.threads.append(threading.Thread(target=work))
        self.threads[-1].start()

    def run(self, argv, options):
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **options,
        )
        while child.poll() is None:
            if self.stopping.wait(0.01):
                break
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()

    def stop(self):
        self.stopping.set()
        for t in self.threads:
            t.join()


def load_cxx(load):
    folder = f'{load.folder}/cxx'
    os.makedirs(folder)
    for i in range(SOURCES):
        with open(f'{folder}/unit_{i}.cc', 'w') as f:
            f.write(CXX.replace('NUMBER', str(i)) + ('int main() { return unit_0("a1"); }\n' if i == 0 else ''))
    with open(f'{folder}/Makefile', 'w') as f:
        f.write(MAKEFILE)
    load.repeat('C++ builds', ['make', '-s', '-j2'], ['make', '-s', 'clean'], cwd=folder)


def load_go(load):
    folder = f'{load.folder}/go'
    os.makedirs(folder)
    with open(f'{folder}/main.go', 'w') as f:
        f.write('package main\n\nimport "net/http"\n\nfunc main() { _ = http.ListenAndServe(":0", nil) }\n')
    with open(f'{folder}/go.mod', 'w') as f:
        f.write('module main\n')
    env = dict(os.environ, GOCACHE=f'{folder}/cache', GOFLAGS='-mod=mod', GOTOOLCHAIN='local', HOME=folder)
    load.repeat('Go builds', ['go', 'build', '-a', '-p', '2', '-o', 'program', '.'], cwd=folder, env=env)


def load_browser(load):
    """Firefox; Chromium is built without call frame information, so that none of its stacks counts as whole."""
    env = dict(os.environ, HOME=load.folder, MOZ_HEADLESS='1')
    os.makedirs(f'{load.folder}/browser')
    load.repeat(
        'browser sessions',
        ['timeout', '600', 'firefox-esr', '--headless', '--no-remote', '--profile', f'{load.folder}/browser', PAGE],
        env=env,
    )


def load_short(load):
    load.repeat(
        'short programs',
        ['/bin/true'],
        ['/bin/sh', '-c', 'ls / | sort | head -n 3'],
        ['/usr/bin/python3', '-c', 'pass'],
        pause=5 / SHORT_PER_SECOND,
    )


def load_sleepers(load):
    source = f'{load.folder}/sleeper'
    with open(source + '.c', 'w') as f:
        f.write(SLEEPER)
    subprocess.run(['gcc', '-O2', '-o', source, source + '.c'], check=True)
    load.repeat('sleepers', [source, str(SLEEPERS)])


LOADS = {'cxx': load_cxx, 'go': load_go, 'browser': load_browser, 'short': load_short, 'sleepers': load_sleepers}


def children_of(pid):
    """{pid: command line} of the children of all threads of a process."""
    found = {}
    for task in os.listdir(f'/proc/{pid}/task'):
        try:
            with open(f'/proc/{pid}/task/{task}/children') as f:
                for child in f.read().split():
                    found[int(child)] = open(f'/proc/{child}/cmdline').read().replace('\0', ' ').strip()
        except FileNotFoundError:
            pass
    return found


def say(server, began):
    seconds = time.monotonic() - began
    mine, ended = harness.cpu_seconds(server.child.pid)
    helpers = {f'{words} ({p})': sum(harness.cpu_seconds(p)) for p, words in children_of(server.child.pid).items()}
    count = server.ebpf_samples()
    total = sum(count.values()) or 1
    starting = count['starting']
    whole = 100 * (count['complete'] + count['kernel']) / ((total - starting) or 1)
    print(
        f'{seconds:.0f} s: {total} samples, {whole:.2f} % whole of those that are not starting '
        f'({100 * starting / total:.2f} % are); CPU {100 * (mine + ended + sum(helpers.values())) / seconds:.2f} % of a core: '
        f'server {mine:.1f} s, ended helpers {ended:.1f} s, ' + ', '.join(f'{n} {s:.1f} s' for n, s in helpers.items())
    )
    print('  ', ', '.join(f'{n} {c}' for n, c in count.items() if c), flush=True)
    return whole, starting


def say_own_costs(server):
    """Where everprof's own CPU time went."""
    own = f'{{exe="{os.path.basename(harness.BINARY)}"}}'
    answer = server.get(
        '/api/v1/query',
        mode='merge',
        query=own,
        to='now',
        report='top',
        sample_index='cpu',
        **{'from': f'now-{MINUTES + 5:.0f}m'},
    ).data()
    for key in 'flat', 'cum':
        rows = sorted(answer['rows'], key=lambda r: -r[key])[:25]
        print(f'{key}:', ', '.join(f'{r["name"]} {100 * r[key] / answer["total"]:.1f} %' for r in rows))


@suite.test
def busy_machine(folder):
    """Whole stacks, and the CPU time of everprof and its helpers."""
    server = harness.Everprof(f'{folder}/server', 'ebpf: {enabled: true, node: n}\n')
    server.ready()
    wait_until('samples are taken', 60, lambda: server.metric('everprof_ebpf_up') == 1, 0.1)
    load = Load(folder)
    began = time.monotonic()
    for name in LOAD:
        LOADS[name](load)
    try:
        while time.monotonic() < began + 60 * MINUTES:
            time.sleep(min(60, max(0, began + 60 * MINUTES - time.monotonic())))
            whole, _ = say(server, began)
    finally:
        load.stop()
    print('load:', ', '.join(f'{n} {d}' for n, d in load.done.items()))
    for name in (
        'processes',
        'files',
        'series',
        'unwind_rows',
        'unwind_tables_evicted_total',
        'unwind_tables_refused_total',
        'processes_refused_total',
        'processes_evicted_total',
        'files_refused_total',
        'mappings_refused_total',
        'process_events_lost_total',
        'profiles_total',
        'profiles_failed_total',
    ):
        print(f'everprof_ebpf_{name} {server.metric("everprof_ebpf_" + name):.0f}')
    say_own_costs(server)
    print(f'RssAnon {server.memory():.1f} MiB')
    assert whole >= 97, whole
    server.finish()


suite.main()
