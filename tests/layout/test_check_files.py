#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The list of files has every source with its purpose, of a folder if one is
given, and a source without a purpose is found.

usage: tests/layout/test_check_files.py ROOT"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

root = os.path.abspath(sys.argv[1])
LAYOUT = open(os.path.join(root, 'CMakeLists.txt')).read()


def list_files(*arguments):
    r = subprocess.run(
        [sys.executable, os.path.join(root, 'cmake/list-files.py'), *arguments], capture_output=True, text=True
    )
    return r.returncode, r.stdout, r.stderr


def main():
    with tempfile.TemporaryDirectory() as d:
        shutil.copy(os.path.join(root, 'CMakeLists.txt'), d)
        for module in re.findall(r'^add_module\((\w+)', LAYOUT, re.M):
            shutil.copytree(
                os.path.join(root, module), os.path.join(d, module), ignore=shutil.ignore_patterns('node_modules')
            )
        code, out, err = list_files(d)
        assert code == 0 and err == '', err
        assert '\ntsdb/wal/\n' in out and '\npprof/proto/\n' in out, out
        with open(os.path.join(d, 'tsdb/wal/extra.h'), 'w') as f:
            f.write('/* Extra: a header that a test of the list adds. Not a word more. */\n')
        code, out, err = list_files(d, 'tsdb/wal')
        assert code == 0 and '  extra.h: Extra: a header that a test of the list adds.\n' in out, out
        assert 'pprof/' not in out, out
        assert list_files(d, 'tsdb/nowhere')[0] == 1
        with open(os.path.join(d, 'tsdb/wal/empty.h'), 'w') as f:
            f.write('#ifndef X_H\n#define X_H\n#endif\n')
        code, out, err = list_files(d)
        assert code == 1 and 'tsdb/wal/empty.h: no comment says what the file is for' in err, err


main()
