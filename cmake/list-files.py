#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print every source file with its purpose, and fail if one does not say it.

The purpose is the first sentence of the comment at the top of the file's
header, or of the file itself if it has no header of its name. Files are in the
order of CMakeLists.txt, which is the order of modules and rooms.

usage: cmake/list-files.py [ROOT [FOLDER]]
"""
import os
import re
import sys
import textwrap

WIDTH = 120


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
            yield from (
                os.path.relpath(os.path.join(folder, n), os.path.join(root, 'web'))
                for n in sorted(names)
                if n.endswith(('.ts', '.tsx', '.mjs')) and not n.endswith('.d.ts')
            )


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
    """The header of a source's name, or else the source."""
    header = f'{module}/{source[:-2]}.h'
    return header if os.path.exists(os.path.join(root, header)) else f'{module}/{source}'


def entry(name, text):
    return '\n'.join(
        textwrap.wrap(
            f'  {name}: {text}', WIDTH, subsequent_indent='      ', break_long_words=False, break_on_hyphens=False
        )
    )


def rows_of(root, module, names):
    """(room, file, path of the comment) of each file of a module."""
    listed = {os.path.basename(n) for n in names}
    for name in names:
        yield os.path.dirname(name), os.path.basename(name) + '.c', header_of(root, module, name + '.c')
    others = list(other_files(root, module, listed))
    if module == 'web':
        others += ui_files(root)
    others += {'cmd': ['main.c'], 'bench': ['bench.c']}.get(module, [])
    for name in others:
        yield os.path.dirname(name), os.path.basename(name), f'{module}/{name}'


def listing(root, below):
    """The text, and the files without a purpose; of the folder `below` and what is in it."""
    lines, missing = [], []
    for module, names in sources(root):
        rows = list(rows_of(root, module, names))
        for room in dict.fromkeys(r[0] for r in rows):
            folder = f'{module}/{room}'.rstrip('/')
            if below and folder != below and not folder.startswith(below + '/'):
                continue
            lines.append(('\n' if lines else '') + f'{folder}/\n')
            for _, name, path in (r for r in rows if r[0] == room):
                text = purpose(root, path)
                if not text:
                    missing.append(path)
                lines.append(entry(name, text))
    return '\n'.join(lines) + '\n' if lines else '', missing


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else '.'
    text, missing = listing(root, sys.argv[2].rstrip('/') if len(sys.argv) > 2 else '')
    print(text, end='')
    for path in missing:
        print(f'{path}: no comment says what the file is for', file=sys.stderr)
    return 1 if missing or not text else 0


sys.exit(main())
