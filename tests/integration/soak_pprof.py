#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every profile of a corpus, merges and differences of 2, 10 and 240 of each
series, and the options' matrix: reports as Debian's go tool pprof, byte for
byte.

usage: soak_pprof.py CORPUS [STEP]      STEP: every so many-th profile alone"""
import sys

from harness import Suite
from pprof_peer import KINDS, Case, check, matrix, singles, sums, unpack

corpus = sys.argv.pop(1)
STEP = int(sys.argv.pop(1)) if len(sys.argv) > 1 else 1
suite = Suite()


@suite.test
def merges_and_differences(d):
    series = unpack(corpus, d)
    check([c for files in series.values() for n in (2, 10, 240) for c in sums(files, n)])


@suite.test
def options(d):
    series = unpack(corpus, d)
    check(matrix({k: v[100:] for k, v in series.items()}) + matrix(series))


@suite.test
def merges_over_programs(d):
    """All 960 of a type; pprof keeps each program's mapping apart."""
    series = unpack(corpus, d)
    for kind in ('heap', 'profile', 'goroutine'):
        files = [f for k, v in sorted(series.items()) if k.endswith('/' + kind) for f in v]
        check([Case(k, files) for k in (*KINDS, 'folded', 'proto')])


@suite.test
def every_profile(d):
    series = unpack(corpus, d)
    check(singles({k: v[::STEP] for k, v in series.items()}))


suite.main()
