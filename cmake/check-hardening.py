#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether a binary has what makes bugs in memory harder to use: a position of
its own at each start, stack protectors, fortified functions, relocations that
are read-only, no executable stack, and, on x86-64, control-flow protection.

usage: cmake/check-hardening.py BINARY [BUILD-TYPE]
"""
import subprocess
import sys


def read(flag, binary):
    r = subprocess.run(['readelf', '-W', flag, binary], capture_output=True, text=True, check=True)
    return r.stdout


def main():
    binary, build = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ''
    header, segments = read('-h', binary), read('-l', binary)
    dynamic, symbols, notes = read('-d', binary), read('--dyn-syms', binary), read('-n', binary)
    stack = [line for line in segments.splitlines() if 'GNU_STACK' in line]
    checks = {
        'position-independent (PIE)': 'Type:' in header and 'DYN' in header,
        'read-only relocations (RELRO)': 'GNU_RELRO' in segments,
        'all of them, at the start (BIND_NOW)': 'BIND_NOW' in dynamic or 'NOW' in dynamic,
        'no executable stack': bool(stack) and 'RWE' not in stack[0],
        'stack protector': '__stack_chk_fail' in symbols,
        # A debug build is not optimised, and so not fortified.
        'fortified functions': build == 'Debug' or '_chk@' in symbols.replace('__stack_chk_fail', ''),
    }
    if 'X86-64' in header:
        checks['control-flow protection (IBT, SHSTK)'] = 'IBT' in notes and 'SHSTK' in notes
    for name, good in checks.items():
        print(('ok  ' if good else 'FAIL'), name)
    print(f'{sum(checks.values())} passed, {len(checks) - sum(checks.values())} failed')
    sys.exit(0 if all(checks.values()) else 1)


main()
