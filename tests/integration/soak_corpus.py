#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every file of a corpus, served by a static server and scraped, and again
imported, comes back with report=raw byte for byte.

usage: soak_corpus.py CORPUS      folders <program> of <type>.tar with
                                  <program>/<type>/<unix ms>.pb.gz"""
import glob
import gzip
import hashlib
import os
import subprocess
import sys
import tarfile
import threading
import time

from harness import Everprof, Server, Suite, run, selector, send, wait_until

corpus = sys.argv.pop(1)
suite = Suite()


def load():
    """{(program, type): [(ms, gzip bytes)]}"""
    found = {}
    for path in sorted(glob.glob(f'{corpus}/*/*.tar')):
        with tarfile.open(path) as tar:
            for m in tar:
                if m.isfile():
                    program, kind, name = m.name.split('/')[-3:]
                    found.setdefault((program, kind), []).append((int(name.split('.')[0]), tar.extractfile(m).read()))
    for v in found.values():
        v.sort()
    return found


def sha(body):
    return hashlib.sha256(body).hexdigest()


@suite.test
def scraped_corpus_is_byte_identical(d):
    files = load()
    total = sum(len(v) for v in files.values())
    lock = threading.Lock()
    served = {k: 0 for k in files}

    def answer(r):
        key = tuple(r.path.split('?')[0].strip('/').split('/'))
        with lock:
            n = served[key]
            served[key] += 1
        if n >= len(files[key]):
            send(r, b'no more', 404)
        else:
            send(r, files[key][n][1])

    server = Server(answer)
    programs = sorted({p for p, _ in files})
    config = 'scrape_configs:\n'
    for p in programs:
        config += f'- job_name: {p}\n  scrape_interval: 100ms\n  profiling_config:\n' '    pprof_config:\n'
        for _, kind in sorted(k for k in files if k[0] == p):
            config += f'      {kind}: {{path: /{p}/{kind}, seconds: 0}}\n'
        config += f'  static_configs: [{{targets: ["{server.address}"]}}]\n'
    e = Everprof(d, config).ready()
    wait_until('all served', 600, lambda: all(served[k] > len(files[k]) for k in files), 1)
    time.sleep(1)
    same = 0
    for s in e.range('{job=~".+"}'):
        want = files[s['labels']['job'], s['labels']['__name__']]
        assert len(s['timestamps']) == len(want), (s['labels'], len(s['timestamps']))
        for ms, (_, body) in zip(s['timestamps'], want):
            assert sha(e.raw(s['labels'], ms).body) == sha(gzip.decompress(body)), s['labels']
            same += 1
    assert same == total
    print(f'{same} profiles of {len(files)} series scraped and back')


@suite.test
def imported_corpus_is_byte_identical(d):
    files = load()
    data = os.path.join(d, 'data')
    began = time.monotonic()
    r = run('tsdb', 'import', corpus, f'--storage.tsdb.path={data}')
    total = sum(len(v) for v in files.values())
    assert r.stdout == f'{total} profiles imported, 0 refused\n', r
    print(f'imported in {time.monotonic() - began:.1f} s')
    e = Everprof(d).ready()
    trace = os.path.join(d, 'strace')
    tracer = subprocess.Popen(
        ['strace', '-f', '-qq', '-e', 'trace=pread64,read,mmap', '-y', '-o', trace, '-p', str(e.child.pid)]
    )
    time.sleep(1)
    series = e.range('{job=~".+"}')
    assert e.metric('everprof_tsdb_value_bytes_read_total') == 0
    tracer.terminate()
    tracer.wait()
    lines = [x for x in open(trace, errors='replace') if 'data/ranges' in x or 'data/wal' in x]
    assert any('/groups' in x for x in lines), 'strace saw nothing'
    touched = [x for x in lines if '/values' in x or '/wal/' in x]
    assert not touched, touched[:5]
    print(f'listing: {len(lines)} reads of groups, none of values or WAL')
    same = 0
    for s in series:
        want = files[s['labels']['job'], s['labels']['__name__']]
        assert s['timestamps'] == [ms for ms, _ in want]
        for ms, body in want:
            query = selector(s['labels'])
            got = e.get('/api/v1/query', query=query, time=ms, match='exact', report='raw').body
            assert sha(got) == sha(gzip.decompress(body))
            same += 1
    assert same == total
    assert e.metric('everprof_tsdb_value_bytes_read_total') > 0
    print(f'{same} profiles imported and back')


suite.main()
