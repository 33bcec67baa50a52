#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./dev build` in a checkout that was copied or moved after it was built: the
build folder names the old checkout, and the new one is built all the same.

The checkouts of this test have `dev` and a project without a compiler, which
builds a file that names its source folder.

usage: tests/layout/test_dev.py ROOT"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

root = os.path.abspath(sys.argv[1])

PROJECT = '''cmake_minimum_required(VERSION 3.25)
project(checkout NONE)
add_custom_target(everprof COMMAND ${CMAKE_COMMAND} -E echo ${PROJECT_SOURCE_DIR} > built)
add_custom_target(everprof-bench)
'''
PRESETS = '''{"version": 3, "configurePresets": [
  {"name": "release", "binaryDir": "build/release"}, {"name": "asan", "binaryDir": "build/asan"}]}'''


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)
    os.chmod(path, mode)


def build(checkout, tools, *preset):
    """The source folder that the build names, and what `dev` says. A build that
    does not end within a minute is killed with all its children."""
    env = dict(os.environ, PATH=f'{tools}:{os.environ["PATH"]}')
    with subprocess.Popen(
        [os.path.join(checkout, 'dev'), 'build', *preset],
        env=env,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as p:
        try:
            said, _ = p.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            raise
    assert p.returncode == 0, said
    with open(os.path.join(checkout, 'build', *(preset or ['release']), 'built')) as f:
        return f.read().strip(), said


def main():
    with tempfile.TemporaryDirectory() as d:
        d = os.path.realpath(d)
        tools = os.path.join(d, 'tools')
        # All packages are there, so that `dev` installs none.
        write(os.path.join(tools, 'dpkg-query'), '#!/bin/sh\nprintf installed\n', 0o755)
        first, copy, moved = (os.path.join(d, name) for name in ('first', 'copy', 'moved'))
        write(os.path.join(first, 'CMakeLists.txt'), PROJECT)
        write(os.path.join(first, 'CMakePresets.json'), PRESETS)
        shutil.copy(os.path.join(root, 'dev'), first)

        for preset in [], ['asan']:
            assert build(first, tools, *preset)[0] == first
        assert 'first build' not in build(first, tools)[1]
        shutil.copytree(first, copy, symlinks=True)
        for preset in [], ['asan']:
            assert build(copy, tools, *preset)[0] == copy
        assert 'first build' not in build(copy, tools)[1]
        assert build(first, tools)[0] == first

        # The old path may also be gone, or lead to the new one.
        os.rename(copy, moved)
        assert build(moved, tools)[0] == moved
        os.symlink(moved, copy)
        assert os.path.samefile(build(copy, tools)[0], moved)
    print('checkouts that were copied or moved are built')


main()
