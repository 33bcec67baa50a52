#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU seconds and peak memory of merging, by go tool pprof -proto and by
everprof report proto, on the same files in turn, start-up subtracted.

usage: bench/merge.py CORPUS [EVERPROF]      CORPUS: folders of <type>.tar, or of folders
<type> as bench/busy_fleet.py makes them"""
import glob
import os
import resource
import shutil
import subprocess
import tarfile
import tempfile

from usage import arguments

ROUNDS = 3
SETS = [
    ('prometheus heap', 'prometheus*', 'heap'),
    ('prometheus profile', 'prometheus*', 'profile'),
    ('etcd goroutine', 'etcd*', 'goroutine'),
    ('all heap', '*', 'heap'),
    ('all profile', '*', 'profile'),
    ('all goroutine', '*', 'goroutine'),
]


def cost(argv, env):
    """(CPU seconds, peak RSS in MiB) of a command."""
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, argv[:4]
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def best(argv, env):
    runs = [cost(argv, env) for _ in range(ROUNDS)]
    return min(r[0] for r in runs), min(r[1] for r in runs)


def unpacked(corpus, folder, home):
    """The corpus' files in the folder; an environment in which pprof keeps to home."""
    for path in glob.glob(f'{corpus}/*/*.tar'):
        with tarfile.open(path) as t:
            t.extractall(folder)
    for path in glob.glob(f'{corpus}/*/*/'):
        shutil.copytree(path, path.replace(corpus.rstrip('/'), folder, 1))
    return {**os.environ, 'HOME': home, 'PPROF_BINARY_PATH': home, 'PPROF_TMPDIR': home}


def main():
    corpus, *everprof = arguments(__doc__, 1, 2)
    everprof = everprof[0] if everprof else 'build/release/everprof'
    pprof = sorted(glob.glob('/usr/lib/go-*/pkg/tool/*/pprof'))[0]
    with tempfile.TemporaryDirectory() as d:
        env = unpacked(corpus, d, d)
        tiny = sorted(glob.glob(f'{d}/*/threadcreate/*'))[:1]
        theirs0 = best([pprof, '-symbolize=none', '-proto', *tiny], env)
        ours0 = best([everprof, 'report', 'proto', '-o', f'{d}/out', *tiny], env)
        print(
            f'start-up: pprof {theirs0[0]:.3f} s {theirs0[1]:.0f} MiB, ' f'everprof {ours0[0]:.3f} s {ours0[1]:.0f} MiB'
        )
        print(f'{"":20} {"files":>5} {"pprof s":>8} {"ours s":>8} {"x":>6} ' f'{"pprof MiB":>9} {"ours MiB":>8}')
        for name, program, kind in SETS:
            files = sorted(glob.glob(f'{d}/{program}/{kind}/*'))
            theirs = best([pprof, '-symbolize=none', '-proto', *files], env)
            ours = best([everprof, 'report', 'proto', '-o', f'{d}/out', *files], env)
            a, b = theirs[0] - theirs0[0], max(ours[0] - ours0[0], 0.001)
            print(
                f'{name:20} {len(files):5} {a:8.3f} {b:8.3f} {a / b:6.1f} ' f'{theirs[1]:9.0f} {ours[1]:8.1f}',
                flush=True,
            )


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
