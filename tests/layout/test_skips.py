#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CTest reports that a test was skipped if this machine did not permit it, and not that it passed; and it reports
nothing else as skipped, because that would hide a failure.

usage: test_skips.py BUILD_FOLDER
"""
import json
import os
import re
import subprocess
import sys

BUILD = sys.argv[1]
# Without capabilities; root has none then, either.
POWERLESS = ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] if os.geteuid() == 0 else []


def tests():
    """{name: (command, regular expression for skipped tests)}, as CTest knows them."""
    r = subprocess.run(['ctest', '--show-only=json-v1'], cwd=BUILD, capture_output=True, text=True, check=True)
    for test in json.loads(r.stdout)['tests']:
        properties = {p['name']: p['value'] for p in test['properties']}
        yield test['name'], (test.get('command'), properties.get('SKIP_REGULAR_EXPRESSION', []))


def is_skipped(command, expressions):
    r = subprocess.run(command, capture_output=True, text=True, check=False)
    text = r.stdout + r.stderr
    # CTest's "." matches a line break, too.
    return any(re.search(e, text, re.S) for e in expressions), text


known = dict(tests())
skipping = [name for name in ('bpf.side_band', 'bpf.sampler') if name in known]
assert skipping, known.keys()
for name in skipping:
    command, expressions = known[name]
    skipped, text = is_skipped(POWERLESS + command, expressions)
    assert skipped, (name, expressions, text)
for name in ('base.bytes', 'symbols.file_helper'):
    skipped, text = is_skipped(*known[name])
    assert not skipped and 'Tested: 0' not in text, (name, text)
# One test that is skipped beside others, and failures.
expressions = known['base.bytes'][1]
for text in (
    'SKIPPED: x\n[====] Synthesis: Tested: 1 | Passing: 1 | Failing: 0 | Crashing: 0\n',
    'SKIPPED: x\n[====] Synthesis: Tested: 1 | Passing: 0 | Failing: 1 | Crashing: 0\n',
    'SKIPPED: x\n[====] Synthesis: Tested: 10 | Passing: 9 | Failing: 0 | Crashing: 1\n',
    '[====] Synthesis: Tested: 0 | Passing: 0 | Failing: 0 | Crashing: 0\n',
    'SKIPPED: x\nTested: 0 | Failing: 1\n',
):
    assert not any(re.search(e, text, re.S) for e in expressions), text
print(f'{len(skipping)} tests are skipped without capabilities')
