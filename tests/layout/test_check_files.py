#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The list of files in docs/architecture.md is compared with the sources: a
file that the list lacks, another purpose and a file without a purpose are
found, and the list can be written again.

usage: tests/layout/test_check_files.py ROOT"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

root = os.path.abspath(sys.argv[1])
LAYOUT = open(os.path.join(root, 'CMakeLists.txt')).read()


def list_files(option, folder):
    r = subprocess.run([sys.executable, os.path.join(root, 'cmake/list-files.py'), option, folder],
                       capture_output=True, text=True)
    return r.returncode, r.stdout


def expect_found(folder, path, old, new, complaint):
    at = os.path.join(folder, path)
    before = open(at).read() if os.path.exists(at) else ''
    assert old in before, (path, old)
    with open(at, 'w') as f:
        f.write(before.replace(old, new, 1) if old else new)
    code, out = list_files('--check', folder)
    assert code == 1 and complaint in out, (path, code, out)
    return at, before


def main():
    with tempfile.TemporaryDirectory() as d:
        shutil.copy(os.path.join(root, 'CMakeLists.txt'), d)
        for module in re.findall(r'^add_module\((\w+)', LAYOUT, re.M):
            shutil.copytree(os.path.join(root, module), os.path.join(d, module),
                            ignore=shutil.ignore_patterns('node_modules'))
        os.mkdir(os.path.join(d, 'docs'))
        page = shutil.copy(os.path.join(root, 'docs/architecture.md'), os.path.join(d, 'docs'))
        assert list_files('--check', d) == (0, '')
        published = open(page).read()

        expect_found(d, 'tsdb/wal/extra.h', '', '/* Extra: a header that a test of the list adds. */\n', 'differ from the sources')
        assert list_files('--write', d) == (0, '')
        assert '- `extra.h`: Extra: a header that a test of the list adds.\n' in open(page).read()
        os.remove(os.path.join(d, 'tsdb/wal/extra.h'))
        assert list_files('--write', d) == (0, '')
        assert open(page).read() == published

        expect_found(d, 'tsdb/wal/wal.c', '#include', '#define PAUSE_MS 7 /* pause between two tests, in ms */\n#include',
                     'differ from the sources')
        assert list_files('--write', d) == (0, '')
        assert '`tsdb/wal/wal.c`: `PAUSE_MS` = 7: pause between two tests, in ms\n' in open(page).read()
        expect_found(d, 'tsdb/wal/wal.h', 'Write-ahead log', 'Log', 'differ from the sources')
        expect_found(d, 'tsdb/wal/empty.h', '', '#ifndef X_H\n#define X_H\n#endif\n',
                     'tsdb/wal/empty.h: no comment says what the file is for')


main()
