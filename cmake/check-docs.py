#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold the documentation to the code: every key of the configuration files and
every flag of serve is in docs/configuration.md or docs/security.md, every flag
that they name exists, and a flag's default is the one that it has. Rows of tables
have as many cells as the table's head. Sources that the documents name exist.

usage: cmake/check-docs.py [ROOT]
"""
import glob
import os
import re
import sys

FIELD = re.compile(r'\{\s*"([a-z0-9_]+)",\s*([a-z]\w*),')
# A row of a table of fields that is written by a macro.
MACRO = re.compile(r'^\t(?:[A-Z]+_TEXT|LOGIN)\((\w+)', re.M)
FLAG = re.compile(r'\{ "([a-z.-]+)",\s*FLAG_\w+,\s*AT\(\w+\),\s*(NULL|"[^"]*")', re.S)


def tables_of_keys():
    """Every source and header that describes keys of a configuration file."""
    found = []
    for folder, _, names in os.walk('.'):
        if not re.match(r'\./(build|tests|\.git)', folder):
            found += [os.path.join(folder, n)[2:] for n in names if n.endswith(('.c', '.h'))]
    return [p for p in found if 'yaml_field' in open(p).read() or '_FIELDS(' in open(p).read()]


def check_tables(path):
    """Complaints about tables: a | after a backslash divides no cells."""
    width, fenced = None, False
    for number, line in enumerate(open(path, encoding='utf-8'), 1):
        fenced ^= line.lstrip().startswith('```')
        bare = line.replace('\\|', '').strip()
        if '|--' in bare and not re.fullmatch(r'\|(-+:?\|)+', bare) and not fenced:
            yield f'{path}:{number}: a table in the middle of a paragraph'
        cells = bare.strip('|').count('|') + 1 if bare.startswith('|') and not fenced else None
        if cells and width and cells != width:
            yield f'{path}:{number}: {cells} cells, the table has {width}'
        width = cells and (width or cells)


# The name of a source, as documents write it.
SOURCE = re.compile(r'`([a-z]+/[\w./-]*\.(?:bpf\.c|c|h|tsx?|mjs|py|css|sh))`')
# The name of a folder of a module.
FOLDER = re.compile(r'`([a-z]+/[a-z/]+)/`')


def check_sources(path):
    """Complaints about sources that a document names, and that do not exist."""
    modules = re.findall(r'^add_module\((\w+)', open('CMakeLists.txt').read(), re.M)
    for number, line in enumerate(open(path, encoding='utf-8'), 1):
        for name in SOURCE.findall(line):
            if not os.path.exists(name) and '/example_' not in name:
                yield f'{path}:{number}: there is no {name}'
        for name in FOLDER.findall(line):
            if name.split('/')[0] in modules and not os.path.isdir(name):
                yield f'{path}:{number}: there is no folder {name}'


def check_rooms():
    """The table of rooms in docs/architecture.md has the rooms of CMakeLists.txt, in its order."""
    wanted = []
    for module, body in re.findall(r'^add_module\((\w+)(.*?)\)', open('CMakeLists.txt').read(), re.S | re.M):
        names = re.search(r'SOURCES\s(.*?)(?:DEPENDS|PUBLIC|LIBRARIES|$)', body, re.S).group(1).split()
        wanted += dict.fromkeys((module, name.split('/')[0]) for name in names if '/' in name)
    text = open('docs/architecture.md').read().split('| module | room | contents |')[1].split('\n\n')[0]
    shown, module = [], None
    for first, rooms in re.findall(r'^\| ?(?:`(\w+)/`)? ?\| ((?:`\w+`(?:, )?)+) \|', text, re.M):
        module = first or module
        shown += [(module, room) for room in re.findall(r'\w+', rooms)]
    for room in wanted:
        if room not in shown:
            yield 'docs/architecture.md: the table of rooms lacks %s/%s' % room
    for room in shown:
        if room not in wanted:
            yield 'docs/architecture.md: there is no room %s/%s' % room
    for module in dict.fromkeys(m for m, _ in wanted):
        if [r for r in wanted if r[0] == module] != [r for r in shown if r[0] == module]:
            yield f'docs/architecture.md: the rooms of {module}/ are in another order than in CMakeLists.txt'


def documents():
    for folder, _, names in os.walk('docs'):
        yield from (os.path.join(folder, n) for n in sorted(names) if n.endswith('.md'))
    yield 'README.md'


INCLUDE = re.compile(r'^#include "(discovery/(?!core/|rest/)\w+/\w+)\.h"', re.M)


def sources_of(path):
    """A source of a discovery, and those whose headers it includes, without what all discoveries share."""
    found, todo = set(), [path]
    while todo:
        path = todo.pop()
        if path in found or not os.path.exists(path):
            continue
        found.add(path)
        header = path[:-2] + '.h'
        texts = [open(f).read() for f in (path, header) if os.path.exists(f)]
        todo += [f'{name}.c' for text in texts for name in INCLUDE.findall(text)]
    return found


def check_discoveries(text):
    """Each kind of service discovery has its list, and there all keys of its own."""
    for path in sorted(glob.glob('discovery/*/*_sd.c')):
        kind = os.path.basename(path)[: -len('_sd.c')]
        code = ''.join(open(p).read() for p in sorted(sources_of(path)))
        rows = re.findall(rf'^\| `{kind}_sd_configs` \|.*|^  {kind}_sd_configs:\n(?:  .*\n)+', text, re.M)
        keys = [key for key, decode in FIELD.findall(code) if decode != 'NULL'] + MACRO.findall(code)
        for key in ['refresh_interval'] + keys:
            if not re.search(rf'(?<!\w){key}(?!\w)', '\n'.join(rows)):
                yield f'docs/configuration.md: {kind}_sd_configs does not name {key}'
        labels = open('docs/service-discovery.md').read()
        part = re.search(rf'^## {kind}\n(.*?)(?=^## |\Z)', labels, re.M | re.S)
        for label in re.findall(r'META\("(\w+)"\)|"(__meta_\w+)"', code):
            label = max(label)
            short = label.removeprefix(f'__meta_{kind}_') or label
            if not part or not re.search(rf'(?<!\w)({label}|{short})(?!\w)', part.group(1)):
                yield f'docs/service-discovery.md: the part "{kind}" does not name {label}'


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else '.')
    text = ''.join(open(f'docs/{name}.md').read() for name in ('configuration', 'security'))
    complaints = []
    keys = {
        (path, key) for path in tables_of_keys() for key, decode in FIELD.findall(open(path).read()) if decode != 'NULL'
    }
    for path, key in sorted(keys):
        if not re.search(rf'(?<![\w]){key}(?![\w])', text):
            complaints.append(f'{path}: {key} is in no documentation')
    flags = dict(FLAG.findall(''.join(open(p).read() for p in sorted(glob.glob('cmd/**/*.c', recursive=True)))))
    table = dict(re.findall(r'^\| `--([a-z.-]+)` \| ([^|]*?) ?\|', text, re.M))
    for name, default in sorted(flags.items()):
        said = table.get(name)
        if said is None:
            complaints.append(f'cmd: --{name} is not in the table of flags')
        elif said != default.strip('"').replace('NULL', ''):
            complaints.append(f'--{name}: the default is {default}, not "{said}"')
    complaints += [f'docs: there is no --{name}' for name in sorted(table) if name not in flags]
    complaints += check_discoveries(text)
    complaints += check_rooms()
    complaints += [line for path in documents() for check in (check_tables, check_sources) for line in check(path)]
    for line in complaints:
        print(line)
    print(f'{len(keys)} keys, {len(flags)} flags, {len(complaints)} complaints')
    sys.exit(1 if complaints or len(keys) < 85 or len(flags) < 25 else 0)


main()
