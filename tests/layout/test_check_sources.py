#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The check of the sources' form sees what it promises to see: each violation
is planted in a copy of the sources.

usage: tests/layout/test_check_sources.py ROOT"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

root = os.path.abspath(sys.argv[1])
CHECK = os.path.join(root, 'cmake/check-sources.py')
LAYOUT = open(os.path.join(root, 'CMakeLists.txt')).read()

# (file, what is appended, what the complaint says)
PLANTED = [
    (
        'tsdb/wal/wal.c',
        'static int measure_nothing(void)\n{\n\treturn 0;\n}\nstatic int shrug(void)\n{\n\treturn 0;\n}',
        'shrug() is a single word',
    ),
    ('tsdb/wal/wal.c', 'static void tables_get(void)\n{\n}', 'tables_get() is defined in'),
    (
        'cmd/tools/dump.c',
        'static void dump_say(const char *s)\n{\n\tfprintf(stderr, "everprof: %s\\n", s);\n}\n',
        'prints a message itself',
    ),
    ('query/select/lonely.h', '#ifndef X_H\n#define X_H\n#endif', 'does not say what it is for'),
    (
        'query/select/lonely.h',
        '/*\n * Does something for a test of the check.\n * Threads: any.\n */\nchar *lonely_text(void);\n',
        'does not say "Ownership"',
    ),
    (
        'query/select/lonely.h',
        '/*\n * Does something for a test of the check.\n * Ownership: none.\n */\n',
        'does not say "Threads"',
    ),
    (
        'tsdb/io/blob.c',
        'int make_nothing(void)\n{\n\treturn 0;\n}\n',
        'make_nothing() does not begin with a noun of its file',
    ),
    (
        'tsdb/io/record.c',
        'int record_number(void)\n{\n\treturn 1;\n}\n' '#define NEXT record_file_write',
        'calls tsdb/io/record_file.c, which calls it',
    ),
    ('tsdb/io/blob.c', '/*\n * Returns nothing.\n */\nint blob_none(void);', 'comments of functions are imperative'),
    ('tsdb/io/blob.c', '/* One. */\n/* Two. */\nstruct nothing;', 'two comments in a row'),
    ('tsdb/io/blob.c', '/* As in lonely.c. */', 'a comment names lonely.c, which does not exist'),
    ('tests/check.h', 'cr_expect_str_eq(a, b);', 'cr_expect_str_eq is not in tests/inproc'),
]


def check(folder):
    r = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True)
    return r.returncode, r.stdout


def plant(folder, path, text, complaint):
    at = os.path.join(folder, path)
    before = open(at).read() if os.path.exists(at) else None
    with open(at, 'a') as f:
        f.write(f'\n{text}\n' if before else f'{text}\n')
    code, out = check(folder)
    assert code == 1 and complaint in out, (path, text, out)
    if before is None:
        os.remove(at)
    else:
        with open(at, 'w') as f:
            f.write(before)


def main():
    with tempfile.TemporaryDirectory() as d:
        shutil.copy(os.path.join(root, 'CMakeLists.txt'), d)
        for module in re.findall(r'^add_module\((\w+)', LAYOUT, re.M):
            shutil.copytree(os.path.join(root, module), os.path.join(d, module))
        shutil.copytree(os.path.join(root, 'tests/inproc'), os.path.join(d, 'tests/inproc'))
        shutil.copy(os.path.join(root, 'tests/check.h'), os.path.join(d, 'tests'))
        code, out = check(d)
        assert code == 0, out
        for violation in PLANTED:
            plant(d, *violation)
        with open(os.path.join(d, 'tsdb/io/blob.c'), 'a') as f:
            f.write('\n' * 800)
        code, out = check(d)
        assert code == 0 and 'hint: tsdb/io/blob.c: ' in out, out
    print(f'{len(PLANTED)} planted violations were seen')


main()
