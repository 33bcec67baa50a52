#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clang's analysis sees mistakes with our mutexes: each is planted in a source
of its own, which Clang has to reject. A source without a mistake has to pass.

usage: tests/layout/test_locks.py ROOT"""
import subprocess
import sys

BEGIN = """#include "base/mutex.h"
struct thing { struct mutex mu; struct mutex other; int n; };
static int thing_read_locked(struct thing *t) REQUIRES(t->mu);
static int thing_read_locked(struct thing *t) { return t->n; }
int thing_get(struct thing *t);
int thing_get(struct thing *t)
{
"""
# (body of thing_get(), what Clang says; None: nothing)
BODIES = [
    ('mutex_lock(&t->mu); int n = thing_read_locked(t); mutex_unlock(&t->mu); return n;', None),
    ('return thing_read_locked(t);', 'requires holding mutex'),
    (
        'mutex_lock(&t->other); int n = thing_read_locked(t); mutex_unlock(&t->other); return n;',
        'requires holding mutex',
    ),
    ('mutex_lock(&t->mu); if (t->n) return 1; mutex_unlock(&t->mu); return 0;', 'not held on every path'),
    ('mutex_lock(&t->mu); mutex_lock(&t->mu); mutex_unlock(&t->mu); return 0;', 'already held'),
    ('mutex_unlock(&t->mu); return 0;', 'was not held'),
    ('pthread_cond_t c; mutex_wait(&t->mu, &c); return 0;', 'requires holding mutex'),
]


def main():
    for body, complaint in BODIES:
        r = subprocess.run(
            [
                'clang',
                '-std=gnu11',
                '-D_GNU_SOURCE',
                '-iquote',
                sys.argv[1],
                '-fsyntax-only',
                '-Wthread-safety',
                '-Werror',
                '-x',
                'c',
                '-',
            ],
            input=f'{BEGIN}{body}\n}}\n',
            capture_output=True,
            text=True,
        )
        if complaint:
            assert r.returncode and complaint in r.stderr, (body, r.stderr)
        else:
            assert r.returncode == 0, (body, r.stderr)
    print(f'{len(BODIES)} sources, each judged as it should be')


main()
