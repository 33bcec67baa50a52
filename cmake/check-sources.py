#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold the sources to the rules of their form:

- every header says its purpose and its threads, and who owns the memory if its
  functions return or free memory;
- comments of functions are imperative ("Return …");
- comments name only sources that there are, and no two stand in a row;
- messages are printed by cmd/cli/console.h alone, which escapes control characters;
- no function name is defined twice, and none is a single word;
- the name of a function that other files use begins with a noun: of its file, of
  a type, of its room or of its module;
- no two sources of a room call each other both ways, but those listed below;
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
MESSAGES = {'cmd/cli/console.c', 'base/mem.c', 'base/thread.c'}
FUNCTION = re.compile(
    r'^(?!static_assert|typedef|#|\s|\}|//|/\*)([A-Za-z_][\w\s\*]*?)'
    r'(?:PRINTF\([^)]*\)\s*)?\b(\w+)\([^;{}]*\)\s*\n\{',
    re.M,
)
TYPE = re.compile(r'^(?:struct|enum|union) (\w+)\s*\{', re.M)
# Nouns of files that are about several.
NOUNS = {'base/units.c': {'duration', 'size', 'time'}, 'cmd/serve/write_endpoint.c': {'sender'}}
# What the modules' main struct is called in names.
SHORT = {'tsdb': {'db'}, 'cmd': {'cmd'}}
THIRD_PERSON = (
    'Returns|Adds|Sets|Reads|Frees|Decodes|Appends|Writes|Takes|Checks|Makes|Removes|Parses|Starts|Reports|Creates|'
    'Replaces|Ends|Calls|Finds|Copies|Sends|Begins|Logs|Opens|Applies|Waits|Stops|Drops|Counts|Closes'
)
# Sources of other programs that comments cite.
FOREIGN = {'prof_data.c'}
CIRCLES = {
    # A sample goes to an interval, whose end adds the waits of sampled threads.
    ('bpf/collect/collector_samples.c', 'bpf/collect/collector_window.c'),
    # A token of OAuth 2.0 is asked for with a request, which may need a token.
    ('client/transfer/http_config.c', 'client/transfer/oauth2.c'),
    ('client/transfer/oauth2.c', 'client/transfer/transfer.c'),
    # A comparison is two merges, which pass it the series.
    ('query/merge/query_compare.c', 'query/merge/query_merge.c'),
    # A segment that cannot be opened is marked, and marks are files of segments.
    ('tsdb/wal/wal_mark.c', 'tsdb/wal/wal_segment.c'),
}

# A function that returns memory, or a reference to it, or frees it.
GIVES_MEMORY = re.compile(
    r'^(?:NODISCARD |static inline |extern )*(?!const\b)(?:(?:struct|enum|unsigned) )?\w+ \*+\w+\('
    r'|\*\*\w+|\b\w+_(?:free|fini|close|unref|put)\(',
    re.M,
)


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
    for word in ('Threads', 'Ownership') if GIVES_MEMORY.search(without_comments(text)) else ('Threads',):
        if not re.search(rf'\b{word}\b', head, re.I):
            complain(path, f'does not say "{word}"')


def has_noun(name, path, types):
    """Whether a name begins with a noun that tells where it is defined."""
    parts = path.split('/')
    words, stem = name.split('_'), os.path.basename(path).split('.')[0]
    first = words[0]
    if first in {parts[0], parts[-2]} | SHORT.get(parts[0], set()) | NOUNS.get(path, set()):
        return True
    if any(word.startswith(first.rstrip('s')) and len(first) > 2 for word in stem.split('_')) or name.startswith(stem):
        return True
    return any('_'.join(words[:n]) in types for n in range(1, len(words) + 1))


def check_names(exported, types, complain):
    for path, names in exported.items():
        for name in sorted(names):
            if name != 'main' and not has_noun(name, path, types):
                complain(path, f'{name}() does not begin with a noun of its file')


def check_circles(exported, code, complain):
    """Sources of a room that call each other: neither can be read without the other."""
    where = {name: path for path, names in exported.items() for name in names}
    calls = {
        path: {where[w] for w in set(re.findall(r'\w+', code[path])) if where.get(w, path) != path} for path in exported
    }
    found = {
        (a, b)
        for a in calls
        for b in calls[a]
        if a < b and a in calls.get(b, ()) and os.path.dirname(a) == os.path.dirname(b)
    }
    for a, b in sorted(found - CIRCLES):
        complain(a, f'calls {b}, which calls it')
    for a, b in sorted(CIRCLES - found):
        complain(a, f'and {b} are listed as a circle, and are none')


def check_comments(path, text, names, complain):
    for verb in re.findall(
        rf'^/\*\s*(?:\n \* )?({THIRD_PERSON})\b(?:(?!\*/).)*\*/\n(?=[A-Za-z][^\n;={{}}]*\()', text, re.M | re.S
    ):
        complain(path, f'"{verb} …": comments of functions are imperative, as in "Return …"')
    for first in re.findall(r'^(/\*(?:(?!\*/).)*\*/)\n/\*(?! NOLINT)', text, re.S | re.M):
        if 'SPDX' not in first:
            complain(path, f'two comments in a row: "{" ".join(first.split())[:60]}…"')
    for comment in re.findall(r'/\*.*?\*/', text, re.S):
        for name in re.findall(r'(?<![\w./<*-])([a-z][a-z0-9_]+\.[ch])\b(?!\w|\.\w)', comment):
            if name not in names and name not in FOREIGN:
                complain(path, f'a comment names {name}, which does not exist')


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
    bad, defined, types = [], collections.defaultdict(list), set()
    exported, code = {}, {}

    def complain(path, what):
        bad.append(f'{path}: {what}')

    print_hints(root, files)
    check_unit_tests(root, complain)
    names = {os.path.basename(f) for f in files}
    for path in sorted(files):
        text = open(os.path.join(root, path), encoding='utf-8').read()
        check_comments(path, text, names, complain)
        if path.endswith('.h'):
            check_header(path, text, complain)
        if path.endswith('.c') and '"everprof: ' in text and path not in MESSAGES:
            complain(path, 'prints a message itself, not by cmd/cli/console.h')
        code[path] = without_comments(text)
        types.update(TYPE.findall(code[path]))
        found = FUNCTION.findall(code[path])
        for _, name in found:
            defined[name].append(path)
        if path.endswith('.c') and not path.endswith('.bpf.c'):
            exported[path] = {name for before, name in found if 'static' not in before}
    check_names(exported, types, complain)
    check_circles(exported, code, complain)
    for name, where in sorted(defined.items()):
        if len(set(where)) > 1 and name != 'main':
            complain(where[0], f'{name}() is defined in {", ".join(where[1:])}, too')
        if '_' not in name and name != 'main':
            complain(where[0], f'{name}() is a single word')
    for line in bad:
        print(line)
    print(f'{len(files)} files, {len(defined)} functions, {len(bad)} complaints')
    return 1 if bad else 0


sys.exit(main())
