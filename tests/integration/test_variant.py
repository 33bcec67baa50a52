#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A build without eBPF and without the web UI (-DWITH_BPF=OFF -DWITH_UI=OFF) compiles without warnings, links, needs
none of the tools and libraries of what it leaves out, and works.

It is built without optimisation, in a folder of the build that is tested."""
import os
import re
import subprocess

import harness
from harness import ROOT, Everprof, Suite, run

suite = Suite()
FOLDER = os.path.join(os.path.dirname(harness.BINARY), 'variant')
harness.BINARY = f'{FOLDER}/everprof'


def done(*argv):
    r = subprocess.run(argv, capture_output=True, text=True, timeout=800)
    assert r.returncode == 0, (argv, r.stdout[-5000:], r.stderr[-5000:])
    return r.stdout


@suite.test
def it_builds(d):
    done(
        'cmake',
        '-S',
        ROOT,
        '-B',
        FOLDER,
        '-G',
        'Ninja',
        '-DCMAKE_BUILD_TYPE=Debug',
        '-DCMAKE_C_FLAGS_DEBUG=-O0',
        '-DWITH_BPF=OFF',
        '-DWITH_UI=OFF',
        '-DTESTS=OFF',
        '-DWERROR=ON',
    )
    done('cmake', '--build', FOLDER, '--target', 'everprof')
    with open(f'{FOLDER}/CMakeCache.txt') as f:
        found = re.findall(r'^(BPF_CLANG|BPFTOOL|NODE|NPM|PC_libbpf_FOUND):', f.read(), re.M)
    assert not found, found
    assert 'libbpf' not in done('ldd', harness.BINARY)


@suite.test
def it_works_and_says_what_is_left_out(d):
    assert run('version').stdout.startswith('everprof ')
    with open(f'{d}/ebpf.yaml', 'w') as f:
        f.write('ebpf: {enabled: true}\n')
    for config in (f'{ROOT}/examples/everprof.yaml', f'{d}/ebpf.yaml'):
        checked = run('check', 'config', config)
        assert not checked.returncode, checked
    refused = run('record', '--duration=1s', f'--output={d}/profile.pb.gz')
    assert refused.returncode == 1 and 'built without eBPF (-DWITH_BPF=OFF)' in refused.stderr, refused
    e = Everprof(f'{d}/e', 'ebpf: {enabled: true}\n').ready()
    assert e.metric('everprof_ebpf_up') == 0
    page = e.get('/')
    assert page.status == 200 and b'<html' in page.body and b'/assets/' not in page.body, page.body[:500]
    e.finish()
    assert 'built without eBPF' in e.text(), e.text()


suite.main()
