#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold the sources to the rules of their form:

- every header says its purpose, and has the words Ownership and Threads;
- messages are printed by cmd/cli/console.h alone, which escapes control characters;
- no function name is defined twice, and none is a single word;
- unit tests use only those of Criterion's macros that the stand-in for
  ThreadSanitizer (tests/inproc) has, too.

A source of more than 800 lines or a folder of more than 40 files is a hint that
a noun hides in it, and no complaint.

usage: cmake/check-sources.py [ROOT]
"""
import collections
import os
import re
import sys

FOLDER_HINT = 40
LINES_HINT = 800
MESSAGES = {'cmd/cli/console.c', 'base/mem.c'}
FUNCTION = re.compile(r'^(?!static_assert|typedef|#|\s|\}|//|/\*)[A-Za-z_][\w\s\*]*?'
                      r'(?:PRINTF\([^)]*\)\s*)?\b(\w+)\([^;{}]*\)\s*\n\{', re.M)


def sources(root):
    """Sources and headers of all modules, in their sub-folders too."""
    text = open(os.path.join(root, 'CMakeLists.txt'), encoding='utf-8').read()
    found = []
    for module in re.findall(r'^add_module\((\w+)', text, re.M):
        for folder, _, names in os.walk(os.path.join(root, module)):
            at = os.path.relpath(folder, root)
            found += [f'{at}/{n}' for n in names if n.endswith(('.c', '.h'))]
    return sorted(found)


def without_comments(text):
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', '', text, flags=re.S)


def print_hints(root, files):
    for folder, n in sorted(collections.Counter(os.path.dirname(f) for f in files).items()):
        if n > FOLDER_HINT:
            print(f'hint: {folder}: {n} files')
    for path in sorted(files):
        lines = open(os.path.join(root, path), encoding='utf-8').read().count('\n')
        if lines > LINES_HINT:
            print(f'hint: {path}: {lines} lines')


def check_header(path, text, complain):
    comment = re.search(r'/\*(?! SPDX)(.*?)\*/', text, re.S)
    head = comment.group(1) if comment and comment.start() < 200 else ''
    words = head.split('Ownership')[0].split('Threads')[0].replace('*', ' ').split()
    if len(words) < 4:
        complain(path, 'does not say what it is for')
    for word in ('Ownership', 'Threads'):
        if not re.search(rf'\b{word}\b', head, re.I):
            complain(path, f'does not say "{word}"')


def check_unit_tests(root, complain):
    """A macro that the stand-in lacks would fail only in the last build of a test run."""
    stand_in = os.path.join(root, 'tests/inproc/criterion/criterion.h')
    has = set(re.findall(r'define (cr_\w+)', open(stand_in, encoding='utf-8').read()))
    for folder, _, names in os.walk(os.path.join(root, 'tests')):
        for path in sorted(os.path.join(folder, n) for n in names if n.endswith(('.c', '.h'))):
            used = set(re.findall(r'\bcr_\w+', without_comments(open(path, encoding='utf-8').read())))
            for macro in sorted(used - has):
                complain(os.path.relpath(path, root), f'{macro} is not in tests/inproc')


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else '.'
    files = set(sources(root))
    bad, defined = [], collections.defaultdict(list)

    def complain(path, what):
        bad.append(f'{path}: {what}')

    print_hints(root, files)
    check_unit_tests(root, complain)
    for path in sorted(files):
        text = open(os.path.join(root, path), encoding='utf-8').read()
        if path.endswith('.h'):
            check_header(path, text, complain)
        if path.endswith('.c') and '"everprof: ' in text and path not in MESSAGES:
            complain(path, 'prints a message itself, not by cmd/cli/console.h')
        for name in FUNCTION.findall(without_comments(text)):
            defined[name].append(path)
    for name, where in sorted(defined.items()):
        if len(set(where)) > 1:
            complain(where[0], f'{name}() is defined in {", ".join(where[1:])}, too')
        if '_' not in name and name != 'main':
            complain(where[0], f'{name}() is a single word')
    for line in bad:
        print(line)
    print(f'{len(files)} files, {len(defined)} functions, {len(bad)} complaints')
    return 1 if bad else 0


sys.exit(main())
