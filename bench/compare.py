#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CPU time and the memory of comparisons with error bars beside differences of
the same ranges, in turn: the two halves of a busy fleet (bench/busy_fleet.py).

usage: bench/compare.py EVERPROF FOLDER [ROUNDS]"""
import os
import statistics
import subprocess
import tempfile

from usage import arguments

program, fleet, *rounds = arguments(__doc__, 2, 3)
rounds = int(rounds[0]) if rounds else 7
commands = {'diff': ['query', 'diff'], 'compare': ['compare']}

times = sorted(int(f.split('.')[0]) for _, _, files in os.walk(fleet) for f in files)
middle = (times[0] + times[-1]) // 2
with tempfile.TemporaryDirectory() as d:
    subprocess.run([program, 'tsdb', 'import', fleet, f'--storage.tsdb.path={d}/data'], check=True)
    flags = [
        f'--storage.tsdb.path={d}/data',
        f'--base-from={times[0]}',
        f'--base-to={middle - 1}',
        f'--from={middle}',
        f'--to={times[-1]}',
    ]
    for selector in 'profile{}', '{__name__="heap"}', 'goroutine{}', 'mutex{}':
        used = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                child = subprocess.Popen([program, *command, selector, *flags], stdout=subprocess.DEVNULL)
                _, status, usage = os.wait4(child.pid, 0)
                assert status == 0, (name, selector)
                used[name].append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
        cpu, memory = ({name: statistics.median(v[i] for v in values) for name, values in used.items()} for i in (0, 1))
        print(
            f'{selector:20} diff {cpu["diff"]:.2f} s {memory["diff"]:.0f} MB, compare {cpu["compare"]:.2f} s '
            f'{memory["compare"]:.0f} MB: {cpu["compare"] / cpu["diff"]:.2f} times the CPU time, '
            f'{memory["compare"] / memory["diff"]:.2f} times the memory'
        )
