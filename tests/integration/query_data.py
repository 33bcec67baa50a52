# SPDX-License-Identifier: Apache-2.0
"""Servers that hold stored profiles: the corpus, or a folder of a test's own."""
import os

from harness import ROOT, Everprof, run
from pprof_peer import unpack

TAR = os.path.join(ROOT, 'testdata/profiles.tar')
CORPUS_BEGIN = 1795232204000  # ms, before its first profile
ALL = {'mode': 'merge', 'from': 0, 'to': 'now'}


def served(d, source):
    os.makedirs(f'{d}/s')
    answer = run('tsdb', 'import', source, f'--storage.tsdb.path={d}/s/data')
    assert answer.returncode == 0, answer.stderr
    return Everprof(f'{d}/s', flags=['--storage.tsdb.retention.time=0']).ready()


def corpus(d):
    """{series: files}, and a server that holds them."""
    series = unpack(TAR, f'{d}/files')
    return series, served(d, TAR)
