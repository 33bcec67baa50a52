#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The check of the layout sees what it promises to see: each violation is
planted in a copy of the sources, in a module and in a sub-folder of one.

usage: tests/layout/test_check_arrows.py ROOT"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

root = os.path.abspath(sys.argv[1])
CHECK = os.path.join(root, 'cmake/check-arrows.py')
MODULES = re.findall(r'^add_module\((\w+)', open(os.path.join(root, 'CMakeLists.txt')).read(), re.M)

# (file, what is appended, what the complaint says)
PLANTED = [
    ('pprof/columns/columns.c', '#include "web/web.h"', 'pprof may not depend on web'),
    ('pprof/proto/scan.c', '#include "web/web.h"', 'pprof may not depend on web'),
    ('pprof/columns/columns.c', '#include <curl/curl.h>', '<curl/curl.h> belongs to'),
    ('pprof/columns/columns.c', '#include <nowhere.h>', 'is not in the list of third-party headers'),
    ('tsdb/wal/wal.c', '#include "pprof/proto/scan.h"', 'tsdb may not depend on pprof'),
    ('web/pages/page.c', '#include "tsdb/wal/wal.h"', '"tsdb/wal/wal.h" is private to tsdb'),
    ('pprof/columns/columns.c', 'void *taken(void) { return malloc(3); }', 'malloc(): base/mem.h has its own'),
    ('pprof/columns/columns.c', 'void cut(char *s) { strtok(s, "a"); }', 'strtok() is not used here'),
    ('pprof/columns/extra.c', '', 'is not in CMakeLists.txt'),
    ('tsdb/extra.c', '', 'is not in CMakeLists.txt'),
    ('pprof/columns/wal.h', '', 'the name stands in'),
    ('tsdb/io/blob.c', '#include "tsdb/wal/wal.h"', '"tsdb/wal/wal.h" is in a higher room'),
    ('tsdb/db/view.c', '#include "tsdb/open/tsdb.h"', '"tsdb/open/tsdb.h" is in a higher room'),
    (
        'web/ui/draw/cells.ts',
        "import { views } from '../views/views.tsx';",
        'imports from views, which is a higher room',
    ),
    ('pprof/proto/decode.h', '#include "pprof/report/report.h"', 'is in a higher room'),
]

# (what stands in CMakeLists.txt, what is written instead, what the complaint says)
PERMITTED = [
    (
        'DEPENDS base\n  PUBLIC appender',
        'DEPENDS base client\n  PUBLIC appender',
        'model DEPENDS on client, which no file of it includes',
    ),
    (
        'PUBLIC agent_store conprof',
        'PUBLIC agent_store wal conprof',
        'wal.h of tsdb is PUBLIC, and no other module includes it',
    ),
]


def check(folder):
    r = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True)
    return r.returncode, r.stdout


def main():
    with tempfile.TemporaryDirectory() as d:
        shutil.copy(os.path.join(root, 'CMakeLists.txt'), d)
        for module in MODULES:
            shutil.copytree(os.path.join(root, module), os.path.join(d, module))
        code, out = check(d)
        assert code == 0, out
        for path, text, complaint in PLANTED:
            at = os.path.join(d, path)
            before = open(at).read() if os.path.exists(at) else None
            with open(at, 'a') as f:
                f.write(f'\n{text}\n')
            code, out = check(d)
            assert code == 1 and complaint in out and path in out, (path, text, out)
            if before is None:
                os.remove(at)
            else:
                with open(at, 'w') as f:
                    f.write(before)
        layout = os.path.join(d, 'CMakeLists.txt')
        text = open(layout).read()
        for before, after, complaint in PERMITTED:
            assert before in text, before
            with open(layout, 'w') as f:
                f.write(text.replace(before, after))
            code, out = check(d)
            assert code == 1 and complaint in out, (complaint, out)
        with open(layout, 'w') as f:
            f.write(text)
        code, out = check(d)
        assert code == 0, out
    print(f'{len(PLANTED) + len(PERMITTED)} planted violations were seen')


main()
