#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the last two sections of docs/architecture.md: every source file with
its purpose, and the limits and defaults in the code.

The purpose is the first sentence of the comment at the top of the file's
header, or of the file itself if it has no header of its name. Files are in the
order of CMakeLists.txt, which is the order of modules and rooms. A limit is a
number whose name or comment says that it is one.

usage: cmake/list-files.py --check|--write [ROOT]

--check fails if the sections differ from the lists; --write replaces them.
"""
import os
import re
import sys
import textwrap

BEGIN, END = '<!-- files: cmake/list-files.py --write -->', '<!-- end of files -->'
WIDTH = 120
NUMBER = re.compile(
    r'(?P<before>/\*(?:(?!\*/).)*\*/\s*\n)?[ \t]*'
    r'(?:#define[ \t]+(?P<define>[A-Z][A-Z0-9_]+)[ \t]+(?P<defined>(?:\(?[-0-9(]|[A-Z]+_(?:MS|NS|MAX)\b|[KMG]IB\b)[^\n/]*?)'
    r'|(?P<member>[A-Z][A-Z0-9_]+) = (?P<value>[^,\n]*[0-9][^,\n]*),)'
    r'[ \t]*(?P<after>/\*(?:(?!\*/).)*\*/)?[ \t]*\n', re.S)
LIMIT = re.compile(r'\b(limits?|largest|longest|maximum|most|minimum|shortest|defaults?|until|time|how (many|long|often)|'
                   r'number of|length of a|period|pause|bounds?|level|larger|longer|deeper|age|this many|above|below)\b', re.I)
NAME = re.compile(r'(^|_)(MAX|MIN|MS|US|NS|SECONDS|S|HZ|SIZE|BYTES|MEMORY|LIMIT|LEVEL|DEFAULT|KEEP|KEPT|TIMEOUT|COUNT|DEPTH|'
                  r'THREADS|RETRY|PROBE|ATTEMPTS|PAUSE|WAIT|WORK|FULL|AGE|TTL|DAYS|HOURS|MINUTES|ROUNDS|SLOTS|ROUTES)(_|$)')
NO_LIMIT = re.compile(r'^(cmd/bench|base/enc|base/err)|MAGIC|FIELD|_HEADER$|^HEADER|_MS_MAX_|SECOND_NS|DAY_MS|HOUR_MS|MINUTE_NS')


def sources(root):
    """(module, its files), as CMakeLists.txt lists them."""
    text = open(os.path.join(root, 'CMakeLists.txt'), encoding='utf-8').read()
    for module, body in re.findall(r'^add_module\((\w+)(.*?)\)', text, re.M | re.S):
        names = re.search(r'SOURCES\s(.*?)(?:DEPENDS|PUBLIC|LIBRARIES|$)', body, re.S).group(1).split()
        yield module, names


def other_files(root, module, listed):
    """Files of a module that CMakeLists.txt does not list: headers without a source, and what runs in the kernel."""
    for folder, _, names in sorted(os.walk(os.path.join(root, module))):
        for name in sorted(names):
            stem = name.split('.')[0]
            if name.endswith('.bpf.c') or (name.endswith('.h') and stem not in listed):
                yield os.path.relpath(os.path.join(folder, name), os.path.join(root, module))


def ui_files(root):
    """The sources of the web UI."""
    for folder, _, names in sorted(os.walk(os.path.join(root, 'web/ui'))):
        if 'node_modules' not in folder:
            yield from (os.path.relpath(os.path.join(folder, n), os.path.join(root, 'web'))
                        for n in sorted(names) if n.endswith(('.ts', '.tsx', '.mjs')) and not n.endswith('.d.ts'))


def purpose(root, path):
    """The first sentence of the comment between the licence and the first other line."""
    text = open(os.path.join(root, path), encoding='utf-8').read()
    text = re.split(r'^(?:#|import|export|const|static|int|struct)', text, maxsplit=1, flags=re.M)[0]
    comment = re.search(r'/\*(?! SPDX)(.*?)\*/|(?:^//(?! SPDX)[^\n]*\n)+', text, re.S | re.M)
    if not comment:
        return ''
    words = re.sub(r'^\s*(?:\*|//)', '', comment.group(1) or comment.group(0), flags=re.M).strip()
    paragraph = ' '.join(re.split(r'\n\s*\n', words)[0].split())
    sentence = re.match(r'(.*?[\w)`"]{2}\.)(?: |$)', paragraph)
    return sentence.group(1) if sentence else paragraph


def header_of(root, module, source):
    """The header of a source's name: in its folder, or at its module's root."""
    stem = source[:-2] + '.h'
    for path in (f'{module}/{stem}', f'{module}/{os.path.basename(stem)}'):
        if os.path.exists(os.path.join(root, path)):
            return path
    return f'{module}/{source}'


def entry(name, text):
    return '\n'.join(textwrap.wrap(f'- `{name}`: {text}', WIDTH, subsequent_indent='  ',
                                   break_long_words=False, break_on_hyphens=False))


def rows_of(root, module, names):
    """(room, file, path of the comment) of each file of a module."""
    listed = {os.path.basename(n) for n in names}
    for name in names:
        yield os.path.dirname(name), os.path.basename(name) + '.c', header_of(root, module, name + '.c')
    others = list(other_files(root, module, listed))
    if module == 'web':
        others += ui_files(root)
    if module == 'cmd':
        others.append('main.c')
    for name in others:
        yield os.path.dirname(name), os.path.basename(name), f'{module}/{name}'


def listing(root):
    lines, missing = [], []
    for module, names in sources(root):
        rows = list(rows_of(root, module, names))
        for room in dict.fromkeys(r[0] for r in rows):
            lines.append(f'\n**`{module}/{room + "/" if room else ""}`**\n')
            for _, name, path in (r for r in rows if r[0] == room):
                text = purpose(root, path)
                if not text:
                    missing.append(path)
                lines.append(entry(name, text))
    return '\n'.join(lines) + '\n', missing


def words_of(comment):
    return ' '.join(re.sub(r'^\s*\*|/\*|\*/', '', comment, flags=re.M).split()).rstrip(' /')


def limits(root):
    """A line for each limit, in the order of modules and paths."""
    for module, _ in sources(root):
        for folder, _, names in sorted(os.walk(os.path.join(root, module))):
            for name in sorted(n for n in names if n.endswith(('.c', '.h'))):
                path = os.path.relpath(os.path.join(folder, name), root)
                for m in NUMBER.finditer(open(os.path.join(root, path), encoding='utf-8').read()):
                    comment = words_of(m['after'] or m['before'] or '')
                    number = m['define'] or m['member']
                    if (LIMIT.search(comment) or NAME.search(number)) and not NO_LIMIT.search(f'{path} {number}'):
                        value = f'`{number}` = {(m["defined"] or m["value"]).strip()}'
                        yield entry(path, f'{value}: {comment}' if comment else value)


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ('--check', '--write'):
        sys.exit(__doc__)
    root = sys.argv[2] if len(sys.argv) > 2 else '.'
    page = os.path.join(root, 'docs/architecture.md')
    text = open(page, encoding='utf-8').read()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    files, missing = listing(root)
    for path in missing:
        print(f'{path}: no comment says what the file is for')
    numbers = '\n'.join(limits(root))
    new = (f'{before}{BEGIN}\n{files}\n## Limits and defaults in the code\n\n'
           f'Defaults of flags and configuration keys are in configuration.md.\n\n{numbers}\n\n{END}{after}')
    if sys.argv[1] == '--write':
        with open(page, 'w', encoding='utf-8') as f:
            f.write(new)
    elif new != text:
        print('docs/architecture.md: the lists of files and limits differ from the sources; run cmake/list-files.py --write')
        missing.append(page)
    return 1 if missing else 0


sys.exit(main())
