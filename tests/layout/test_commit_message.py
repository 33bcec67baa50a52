#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The hook for commit messages refuses what docs/contributing.md asks for, and
nothing else.

usage: tests/layout/test_commit_message.py ROOT"""
import os
import subprocess
import sys
import tempfile

HOOK = os.path.join(sys.argv[1], '.githooks/commit-msg')
BODY = '\n\nReaders waited for a lock that nobody needed.\n'

# (message, what the complaint says; None: it is accepted)
CASES = [
    ('wal: readers take no lock' + BODY, None),
    ('\n# a comment of git\nwal: readers take no lock' + BODY, None),
    ('w' * 72 + BODY, None),
    ('w' * 73 + BODY, 'has 73 characters'),
    ('wal: readers take no lock.' + BODY, 'ends with a period'),
    ('wal: no lock; head: fewer series' + BODY, 'several changes'),
    ('wal: readers take no lock\nas nobody needs it', 'the second line is not empty'),
    ('wal: readers take no lock', 'the body is missing'),
    ('wal: readers take no lock\n\nSigned-off-by: A <a@b>\n', 'the body is missing'),
    ('# nothing but comments\n', 'the message is empty'),
    ('Merge branch "x"', None),
    ('fixup! wal: readers take no lock', None),
]


def main():
    for message, complaint in CASES:
        with tempfile.NamedTemporaryFile('w') as f:
            f.write(message)
            f.flush()
            r = subprocess.run([sys.executable, HOOK, f.name], capture_output=True, text=True)
        assert r.returncode == (1 if complaint else 0), (message, r)
        assert (complaint or '') in r.stderr, (message, r.stderr)
    print(f'{len(CASES)} messages')


main()
