# SPDX-License-Identifier: Apache-2.0
"""A network of the test's own, in which nothing else listens, and files in /etc of its own."""
import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile

MARK = 'EVERPROF_OWN_NETWORK'


def loopback_up():
    """What `ip link set lo up` does."""
    with socket.socket() as s:
        request = struct.pack('16sh14s', b'lo', 1, b'')  # IFF_UP
        fcntl.ioctl(s, 0x8914, request)  # SIOCSIFFLAGS


def enter():
    """Run this program again in namespaces of its own; skips where that is not allowed."""
    if os.environ.get(MARK) != '1':
        argv = ['unshare', '-mn' if os.geteuid() == 0 else '-rmn']
        if subprocess.run([*argv, 'true'], check=False).returncode:
            print('SKIPPED: this machine does not let us have a network of our own (unshare -mn)')
            sys.exit(77)
        os.execvp('unshare', [*argv, '--', 'env', f'{MARK}=1', sys.executable, *sys.argv])
    loopback_up()


def replace_file(path, text, replaced={}):
    """Let path have this text, for this program and its children alone."""
    if path not in replaced:
        replaced[path] = tempfile.NamedTemporaryFile('w')
        subprocess.run(['mount', '--bind', replaced[path].name, path], check=True)
    with open(path, 'w') as f:
        f.write(text)
