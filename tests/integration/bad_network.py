# SPDX-License-Identifier: Apache-2.0
"""A network namespace at the other end of a bad network: two TUN devices, and a
thread that passes packets from one to the other late, or not at all. It does what
netem does, and works where the kernel has no netem. Needs root."""
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
OURS, THEIRS = '10.213.7.1', '10.213.7.2'


def open_tun(name):
    fd = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack('16sH', name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def ip(*words):
    subprocess.run(['ip', *words], check=True)


class BadNetwork:
    """`delay` and `jitter` in seconds, `loss` from 0 to 1, for each packet."""

    def __init__(self):
        self.name = f'ep{os.getpid()}'
        self.ours, self.theirs = OURS, THEIRS
        self.delay = self.jitter = self.loss = 0
        self.passed = self.lost = 0
        self.stopped = False
        ip('netns', 'add', self.name)
        try:
            self.fds = [open_tun(f'{self.name}a'), self.open_there(f'{self.name}b')]
            ip('addr', 'add', f'{OURS}/30', 'dev', f'{self.name}a')
            ip('link', 'set', f'{self.name}a', 'up')
            for words in (
                ['addr', 'add', f'{THEIRS}/30', 'dev', f'{self.name}b'],
                ['link', 'set', f'{self.name}b', 'up'],
                ['link', 'set', 'lo', 'up'],
            ):
                ip('-n', self.name, *words)
        except BaseException:
            ip('netns', 'del', self.name)
            raise
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def open_there(self, device):
        """Makes a device in the namespace: this thread visits it for that."""
        libc = ctypes.CDLL(None, use_errno=True)
        home = os.open('/proc/thread-self/ns/net', os.O_RDONLY)
        there = os.open(f'/var/run/netns/{self.name}', os.O_RDONLY)
        try:
            assert libc.setns(there, 0) == 0, os.strerror(ctypes.get_errno())
            return open_tun(device)
        finally:
            assert libc.setns(home, 0) == 0, os.strerror(ctypes.get_errno())
            os.close(home)
            os.close(there)

    def run(self):
        chance, waiting, number = random.Random(3), [], 0
        while not self.stopped:
            now = time.monotonic()
            left = waiting[0][0] - now if waiting else 0.1
            for fd in select.select(self.fds, [], [], max(0, min(left, 0.1)))[0]:
                packet = os.read(fd, 65536)
                if chance.random() < self.loss:
                    self.lost += 1
                    continue
                number += 1
                at = time.monotonic() + self.delay + chance.random() * self.jitter
                heapq.heappush(waiting, (at, number, self.fds[1 - self.fds.index(fd)], packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, fd, packet = heapq.heappop(waiting)
                self.passed += 1
                try:
                    os.write(fd, packet)
                except OSError:
                    self.lost += 1  # the device is down

    def enter(self, *argv):
        """The command line that runs a command in the namespace."""
        return ['ip', 'netns', 'exec', self.name, *argv]

    def set(self, delay=0, jitter=0, loss=0):
        self.delay, self.jitter, self.loss = delay, jitter, loss

    def link(self, state):
        ip('link', 'set', f'{self.name}a', state)

    def stop(self):
        self.stopped = True
        self.thread.join()
        for fd in self.fds:
            os.close(fd)
        subprocess.run(['ip', 'netns', 'del', self.name])
