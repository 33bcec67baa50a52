#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of addresses, compared with addr2line of binutils and of Go.

usage: test_names.py NAME_LOOKUP [FILE…]

Random addresses of code of several programs and libraries: with debug
information (this build's own program, with inlined functions), with symbols
alone, and Go programs with and without debug information."""
import bisect
import glob
import lzma
import os
import random
import re
import subprocess
import sys
import tempfile

LOOKUP = sys.argv[1]
COUNT = int(os.environ.get('EVERPROF_ADDRESSES', '2000'))
GO = '''package main

import ("fmt"; "sort"; "strings")

type shape interface{ area() int }
type square struct{ side int }

func (s square) area() int { return s.side * s.side }

func sum[T ~int](of []T) (n T) {
	for _, v := range of { n += v }
	return n
}

func main() {
	v := strings.Split("3,1,2", ",")
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	fmt.Println(v, sum([]int{1, 2}), shape(square{3}).area())
}
'''


def code_ranges(path):
    """(address, size) of the sections with code."""
    text = subprocess.run(['readelf', '-SW', path], capture_output=True, text=True, check=True).stdout
    return [
        (int(m[1], 16), int(m[2], 16))
        for m in re.finditer(r'\s\.(?:text|plt|init|fini)\s+(?:PROGBITS|NOBITS)\s+(\w+) \w+ (\w+)', text)
    ]


def random_addresses(path):
    rand = random.Random(os.path.basename(path))
    ranges = code_ranges(path)
    out = [rand.randrange(a, a + n) for a, n in rand.choices(ranges, [n for _, n in ranges], k=COUNT)]
    return sorted(set(out))


def ours(path, addresses):
    """[[(function, file, line)]] by everprof."""
    text = subprocess.run(
        [LOOKUP, path], input='\n'.join(f'{a:x}' for a in addresses), capture_output=True, text=True, check=True
    ).stdout
    out = []
    for line in text.splitlines():
        function, tab, where = line.partition('\t')
        if not tab:
            out.append([])
        else:
            file, _, number = where.rpartition(':')
            out[-1].append((function, file, int(number)))
    return out


def binutils(path, addresses):
    text = subprocess.run(
        ['addr2line', '-a', '-f', '-i', '-e', path],
        input='\n'.join(f'{a:x}' for a in addresses),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    out, i = [], 0
    while i < len(text):
        if re.fullmatch(r'0x[0-9a-f]{16}', text[i]):
            out.append([])
            i += 1
            continue
        file, _, number = re.sub(r' \(discriminator \d+\)$', '', text[i + 1]).rpartition(':')
        out[-1].append((text[i], file, int(number) if number.isdigit() else 0))
        i += 2
    return out


def go_tool(path, addresses):
    text = subprocess.run(
        ['go', 'tool', 'addr2line', path],
        input='\n'.join(f'0x{a:x}' for a in addresses),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, 'GOFLAGS': ''},
    ).stdout.splitlines()
    out = []
    for function, where in zip(text[::2], text[1::2]):
        file, _, number = where.rpartition(':')
        out.append([(function, file, int(number) if number.isdigit() else 0)])
    return out


def aliases(path):
    """{address: names}: a function may have several."""
    out = {}
    for option in ['-a'], ['-D']:
        text = subprocess.run(['nm', *option, path], capture_output=True, text=True, check=False).stdout
        for line in text.splitlines():
            m = re.match(r'([0-9a-f]+) \w (\S+)', line)
            if m:
                out.setdefault(int(m[1], 16), set()).add(m[2].split('@')[0])
    return out


def start_of(symbols, name):
    return {a for a, names in symbols.items() if name.split('@')[0] in names}


def same_symbol(symbols, mine, theirs):
    """Whether two names are of one address."""
    return mine == theirs or bool(start_of(symbols, mine) & start_of(symbols, theirs))


def differs_by_symbols(path):
    symbols = aliases(path)

    def differs(mine, theirs, _):
        if not mine:
            return False  # behind the end of a function; binutils names the one before
        return theirs[0][0] != '??' and not same_symbol(symbols, mine[0][0], theirs[0][0])

    return differs


def line_rows(path):
    """[(address, base name, line)] of the line tables, sorted."""
    text = subprocess.run(
        ['objdump', '--dwarf=decodedline', '-w', path], capture_output=True, text=True, check=False
    ).stdout
    return sorted((int(m[3], 16), m[1], int(m[2])) for m in re.finditer(r'^(.*\S)\s+(\d+)\s+0x([0-9a-f]+)', text, re.M))


def differs_by_dwarf(path):
    symbols, rows = aliases(path), line_rows(path)

    def in_line_table(address, frame):
        """binutils 2.40 names the file of the unit for functions in headers; the line table decides."""
        end = bisect.bisect_right(rows, (address, chr(0x10FFFF), 0))
        begin = bisect.bisect_left(rows, (rows[end - 1][0], '', 0))
        return (os.path.basename(frame[1]), frame[2]) in [r[1:] for r in rows[begin:end]]

    def differs(mine, theirs, address):
        if theirs[0][0] == '??' or not mine:
            return bool(mine) and mine[0][2] != 0
        if theirs[0][2] == 0:
            return not same_symbol(symbols, mine[-1][0], theirs[0][0])
        if same_symbol(symbols, mine[-1][0], theirs[-1][0]):
            mine[-1] = (theirs[-1][0], *mine[-1][1:])
        mine = [(f.split('@')[0], os.path.normpath(p), n) for f, p, n in mine]
        theirs = [(f.split('@')[0], os.path.normpath(p), n) for f, p, n in theirs]
        if [(f, n) for f, _, n in mine] == [(f, n) for f, _, n in theirs] and in_line_table(address, mine[0]):
            return False
        return mine != theirs

    return differs


def differs_by_go(mine, theirs, _):
    """Go's program knows no inlined functions: it names the outermost function with the innermost line. What is in
    brackets, as in type..eq.[5]int, is not in the table that it reads."""

    def short(name):
        return re.sub(r'\[.*\]', '[...]', name)

    if theirs[0][0] == '?':
        return False
    return not mine or (short(mine[-1][0]), *mine[0][1:]) != (short(theirs[0][0]), *theirs[0][1:])


def compare(title, kind, path, oracle, differs):
    addresses = random_addresses(path)
    mine, theirs = ours(path, addresses), oracle(path, addresses)
    assert len(mine) == len(theirs) == len(addresses), (len(mine), len(theirs), len(addresses))
    bad = [(hex(a), m, t) for a, m, t in zip(addresses, mine, theirs) if differs(m, t, a)]
    named = sum(1 for m in mine if m)
    frames = sum(len(m) for m in mine)
    print(f'{title}: {len(addresses)} addresses, {named} named, {frames} functions, {len(bad)} differ', flush=True)
    for row in bad[: int(os.environ.get("EVERPROF_SHOW", "3"))]:
        print('   ', *row)
    assert not bad, f'{title}: {len(bad)} differ'
    # Stripped libraries name what they export.
    assert named > (0.1 if kind == 'symbols' else 0.5) * len(addresses), f'{title}: only {named} have a name'


def go_programs(folder):
    """A Go program with and without debug information."""
    source = f'{folder}/main.go'
    with open(source, 'w') as f:
        f.write(GO)
    for name, flags in ('go_full', []), ('go_stripped', ['-ldflags=-s -w']):
        subprocess.run(
            ['go', 'build', *flags, '-o', f'{folder}/{name}', source],
            check=True,
            env={
                **os.environ,
                'GO111MODULE': 'off',
                'GOFLAGS': '',
                'GOCACHE': f'{folder}/cache',
                'GOTOOLCHAIN': 'local',
            },
        )
        yield f'{folder}/{name}'


def linked_by_c(folder):
    """A Go program that uses cgo, so that the linker of C has made it; and one that can be loaded anywhere. They have
    their symbols, to compare with, and a copy of each does not."""
    source = f'{folder}/cgo.go'
    with open(source, 'w') as f:
        f.write(
            GO.replace('import (', '// static int three(void) { return 3; }\nimport "C"\nimport (').replace(
                '[]int{1, 2}', '[]int{1, int(C.three())}'
            )
        )
    for mode in 'exe', 'pie':
        path = f'{folder}/cgo_{mode}'
        subprocess.run(
            ['go', 'build', f'-buildmode={mode}', '-ldflags=-linkmode=external', '-o', path, source],
            check=True,
            env={
                **os.environ,
                'GO111MODULE': 'off',
                'GOFLAGS': '',
                'GOCACHE': f'{folder}/cache',
                'CGO_ENABLED': '1',
                'GOTOOLCHAIN': 'local',
            },
        )
        subprocess.run(['strip', '-s', '-o', f'{path}_stripped', path], check=True)
        yield mode, path, f'{path}_stripped'


def compare_by_symbols(title, full, stripped):
    """The functions of Go in a stripped program are those that the symbols of the full one say. Go's own programs
    have the mistake that this test is about."""
    text = subprocess.run(['nm', '-S', full], capture_output=True, text=True, check=True).stdout
    functions = [
        (int(m[1], 16), int(m[2], 16), m[3])
        for m in re.finditer(r'^(\w+) (\w+) [tT] ((?:main|runtime|fmt|sort|strings)\.\S+)$', text, re.M)
    ]
    rand = random.Random(title)
    picked = rand.sample([f for f in functions if f[1] > 1], COUNT // 4)
    found = ours(stripped, [a + rand.randrange(n) for a, n, _ in picked])

    def short(name):
        return re.sub(r'\[.*\]', '[...]', name).removesuffix('.abi0')

    bad = [(hex(p[0]), p[2], f) for p, f in zip(picked, found) if not f or short(f[-1][0]) != short(p[2])]
    print(f'{title}: {len(picked)} functions, {len(bad)} have another name', flush=True)
    assert not bad, bad[:5]


def optimised_library(folder):
    """Part of this project, with functions that the compiler has inlined."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
    path = f'{folder}/optimised.so'
    subprocess.run(
        [
            'gcc',
            '-O2',
            '-g',
            '-shared',
            '-fPIC',
            '-D_GNU_SOURCE',
            '-iquote',
            root,
            '-o',
            path,
            *glob.glob(f'{root}/base/*.c'),
        ],
        check=True,
        capture_output=True,
    )
    return path


def compare_mini(folder, library):
    """A stripped library whose local symbols are in its section .gnu_debugdata, as Fedora makes them."""
    full, mini, path = f'{folder}/symbols_only', f'{folder}/mini', f'{folder}/with_mini.so'
    subprocess.run(['strip', '-g', '-o', full, library], check=True)
    subprocess.run(['objcopy', '--only-keep-debug', full, mini], check=True)
    with open(mini, 'rb') as f:
        data = lzma.compress(f.read())
    with open(f'{mini}.xz', 'wb') as f:
        f.write(data)
    subprocess.run(['strip', '-s', '-o', path, library], check=True)
    subprocess.run(['objcopy', f'--add-section=.gnu_debugdata={mini}.xz', path], check=True)
    compare('MiniDebugInfo', 'mini', path, lambda _, addresses: binutils(full, addresses), differs_by_symbols(full))


def main():
    for path in sys.argv[2:]:
        has_lines = b'.debug_info' in subprocess.run(['readelf', '-SW', path], capture_output=True, check=True).stdout
        if has_lines:
            compare(os.path.basename(path), 'dwarf', path, binutils, differs_by_dwarf(path))
        else:
            compare(os.path.basename(path), 'symbols', path, binutils, differs_by_symbols(path))
    with tempfile.TemporaryDirectory() as folder:
        library = optimised_library(folder)
        compare('optimised', 'dwarf', library, binutils, differs_by_dwarf(library))
        compare_mini(folder, library)
        full, stripped = go_programs(folder)
        compare('go, stripped', 'go', stripped, go_tool, differs_by_go)
        compare('go', 'go', full, go_tool, differs_by_go)
        for mode, full, stripped in linked_by_c(folder):
            compare_by_symbols(f'go, linked by C, {mode}', full, stripped)


main()
