#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports agree with Debian's go tool pprof, byte for byte: five profiles of
each of 28 series, merges, differences, options, and google/pprof's own files."""
import glob
import os

from harness import ROOT, SLOW, Suite
from pprof_peer import KINDS, Case, check, matrix, singles, sums, unpack

suite = Suite()
STEP = 1 if SLOW == 1 else 7  # sanitizers look at a part


@suite.test
def every_series(d):
    check(singles(unpack(os.path.join(ROOT, 'testdata/profiles.tar'), d))[::STEP])


@suite.test
def merges_and_differences(d):
    series = unpack(os.path.join(ROOT, 'testdata/profiles.tar'), d)
    check([c for files in series.values() for n in (2, 5) for c in sums(files, n)][::STEP])


@suite.test
def options(d):
    cases = matrix(unpack(os.path.join(ROOT, 'testdata/profiles.tar'), d))
    assert len(cases) >= 200, len(cases)
    check(cases[::STEP])


@suite.test
def legacy_files_of_google_pprof(d):
    """Its own test data, from Debian's package: the same verdict, the same text."""
    files = sorted(
        f
        for f in glob.glob('/usr/share/gocode/src/github.com/google/pprof/*/testdata/*')
        + glob.glob('/usr/share/gocode/src/github.com/google/pprof/*/*/testdata/*')
        if os.path.isfile(f) and os.path.getsize(f) < 1 << 20
    )
    assert len(files) > 50, 'golang-github-google-pprof-dev is not installed'
    check(
        [
            Case(k, [f], **o)
            for f in files
            for k in (*KINDS, 'proto')
            for o in ({}, {'granularity': 'addresses'}, {'granularity': 'lines'})
        ][::STEP]
    )


suite.main()
