#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sampler on other kernels than that of this machine: everprof record in a
virtual machine (QEMU without hardware help) with the kernels of Debian 12 (6.1)
and Debian 11 (5.10, if Debian still has it). On 6.1, it runs under what Docker's profile of
AppArmor says about other processes, too.

EVERPROF_KERNELS: suites of Debian, by default "bookworm bullseye". Needs the
packages qemu-system-x86, busybox-static, cpio and apparmor."""
import glob
import os
import re
import shutil
import subprocess

from harness import Suite

HERE = os.path.dirname(os.path.abspath(__file__))
EVERPROF = os.environ['EVERPROF']
KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg'
KERNELS = os.environ.get('EVERPROF_KERNELS', 'bookworm bullseye').split()
INIT = '''#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
uname -r
for way in recursion system_calls signal thread; do
  /bin/everprof record -F 99 -o /tmp/p.pb.gz -- /bin/stacks $way 6
  echo "BEGIN $way"
  /bin/everprof report folded --sample_index=samples /tmp/p.pb.gz
  echo "END $way"
done
/bin/everprof record --off-cpu=1 -o /tmp/w.pb.gz -- /bin/stacks sleep 6
echo "BEGIN sleep"
/bin/everprof report folded --sample_index=wallclock /tmp/w.pb.gz
echo "END sleep"
poweroff -f
'''
# The rule of the default profile of Docker and containerd that matters here.
PROFILE = '''abi <abi/3.0>,
profile docker-default flags=(attach_disconnected,mediate_deleted) {
  network,
  capability,
  file,
  signal,
  ptrace (trace,read,tracedby,readby) peer=docker-default,
}
'''
CONFINED = '''#!/bin/sh
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t securityfs security /sys/kernel/security
/bin/busybox cat /etc/profile > /sys/kernel/security/apparmor/.load
/bin/stacks recursion 1000 &
program=$!
for profile in unconfined docker-default; do
  (echo "exec $profile" > /proc/self/attr/exec; exec /bin/everprof record -d 8s -F 99 -p $program -o /tmp/p.pb.gz)
  echo "BEGIN $profile"
  /bin/everprof report folded --sample_index=samples /tmp/p.pb.gz
  echo "END $profile"
done
poweroff -f
'''
suite = Suite()


def apt(folder, *argv):
    """apt with a suite of Debian alone, whatever this machine uses. Returns what it prints, or None."""
    options = {
        'Etc::sourcelist': 'apt.list',
        'Etc::sourceparts': 'none',
        'State::lists': 'lists',
        'Cache': 'cache',
        'State::status': 'status',
    }
    done = subprocess.run(
        [argv[0], *(f'-oDir::{k}={folder}/{v}' for k, v in options.items()), *argv[1:]],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    return done.stdout if done.returncode == 0 else None


def kernel_package(folder, suite_name):
    """The newest kernel's package of a suite; None: it cannot be had."""
    for name in 'lists/partial', 'cache/archives/partial', 'none':
        os.makedirs(f'{folder}/{name}', exist_ok=True)
    open(f'{folder}/status', 'w').close()
    with open(f'{folder}/apt.list', 'w') as f:
        f.write(f'deb [signed-by={KEYS}] http://deb.debian.org/debian {suite_name} main\n')
    if apt(folder, 'apt-get', 'update') is None:
        return None
    found = re.search(r'Depends: (linux-image-\S+)', apt(folder, 'apt-cache', 'depends', 'linux-image-amd64') or '')
    return found[1] if found and apt(folder, 'apt-get', 'download', '-q', found[1]) is not None else None


def unpack_kernel(folder, package):
    """The path of the kernel in a package."""
    deb = glob.glob(f'{folder}/{package}_*.deb')[0]
    subprocess.run(['dpkg-deb', '-x', deb, f'{folder}/kernel'], check=True)
    return glob.glob(f'{folder}/kernel/boot/vmlinuz-*')[0]


def copy_program(path, root, name):
    """A program with the libraries that it needs."""
    shutil.copy(path, f'{root}/bin/{name}')
    text = subprocess.run(['ldd', path], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r'(/\S+)', text):
        os.makedirs(root + os.path.dirname(library), exist_ok=True)
        shutil.copy(os.path.realpath(library), root + library)


def make_image(folder):
    root = f'{folder}/root'
    for d in 'bin', 'proc', 'sys', 'tmp', 'dev', 'etc':
        os.makedirs(f'{root}/{d}')
    subprocess.run(
        [
            'gcc',
            '-O2',
            '-fomit-frame-pointer',
            '-fno-optimize-sibling-calls',
            '-o',
            f'{folder}/stacks',
            f'{HERE}/stacks.c',
        ],
        check=True,
    )
    copy_program(EVERPROF, root, 'everprof')
    copy_program(f'{folder}/stacks', root, 'stacks')
    shutil.copy(shutil.which('busybox'), f'{root}/bin/busybox')
    for name in 'sh', 'mount', 'uname', 'poweroff', 'echo':
        os.symlink('busybox', f'{root}/bin/{name}')
    return pack_image(folder, INIT)


def pack_image(folder, init):
    """The image again, with another first program."""
    root = f'{folder}/root'
    with open(f'{root}/init', 'w') as f:
        f.write(init)
    os.chmod(f'{root}/init', 0o755)
    subprocess.run(
        f'cd {root} && find . | cpio -o -H newc --quiet | gzip -1 > {folder}/image.gz', shell=True, check=True
    )
    return f'{folder}/image.gz'


def boot(kernel, image):
    return subprocess.run(
        [
            'qemu-system-x86_64',
            '-accel',
            'tcg,thread=multi',
            '-cpu',
            'max',
            '-smp',
            '2',
            '-m',
            '1024',
            '-kernel',
            kernel,
            '-initrd',
            image,
            '-nographic',
            '-no-reboot',
            '-append',
            'console=ttyS0 quiet panic=-1 rdinit=/init mitigations=off',
        ],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        stdin=subprocess.DEVNULL,
        errors='replace',
    ).stdout


def check_waits(text):
    """Most of the time, the program sleeps."""
    section = text.split('BEGIN sleep', 1)[1].split('END sleep', 1)[0].replace('\r', '')
    waits = {
        line.rpartition(' ')[0]: int(line.rpartition(' ')[2])
        for line in section.splitlines()
        if re.search(r' \d+$', line)
    }
    slept = sum(ns for stack, ns in waits.items() if re.search('sleep_often;.*nanosleep.*__schedule$', stack))
    print(f'  sleep: {slept / 1e9:.2f} of {sum(waits.values()) / 1e9:.2f} s', flush=True)
    assert slept > 1e9 and slept > 0.8 * sum(waits.values()), waits


def samples_of(text, way):
    """{stack: samples} of a section."""
    section = text.split(f'BEGIN {way}', 1)[1].split(f'END {way}', 1)[0]
    stacks = {}
    for line in section.replace('\r', '').splitlines():
        stack, _, count = line.strip().rpartition(' ')
        if count.isdigit():
            stacks[stack] = int(count)
    return stacks


def check(text, way):
    stacks = samples_of(text, way)
    total = sum(stacks.values())
    # libc has no names in the virtual machine.
    whole = sum(n for s, n in stacks.items() if not re.match(r'\[(unknown|unwind|truncated)', s))
    print(f'  {way}: {total} samples, {100 * whole / max(total, 1):.1f} % whole', flush=True)
    if total < 50 or whole < 0.95 * total:
        for s, n in sorted(stacks.items(), key=lambda x: -x[1])[:8]:
            print('     ', n, s)
    assert total >= 50 and whole >= 0.95 * total, (way, total, whole)


def lacks_programs(*names):
    """Whether a program is not installed; says so."""
    missing = [n for n in names if not shutil.which(n, path=os.environ['PATH'] + ':/usr/sbin')]
    if missing:
        print(f'SKIPPED: {missing[0]} is not installed')
    return bool(missing)


@suite.test
def stacks_are_whole_on_other_kernels(folder):
    if lacks_programs('qemu-system-x86_64', 'busybox', 'cpio'):
        return
    image = make_image(folder)
    tested = 0
    for suite_name in KERNELS:
        place = f'{folder}/{suite_name}'
        package = kernel_package(place, suite_name)
        if not package:
            print(f'SKIPPED: the kernel of {suite_name} cannot be downloaded', flush=True)
            continue
        tested += 1
        text = boot(unpack_kernel(place, package), image)
        print(f'{package}:', flush=True)
        if 'END sleep' not in text:
            print(text[-3000:])
        for way in 'recursion', 'system_calls', 'signal', 'thread':
            check(text, way)
        check_waits(text)
        shutil.rmtree(place)
    assert tested, 'no kernel could be downloaded'


@suite.test
def a_default_profile_of_apparmor_hides_other_processes(folder):
    """As examples/kubernetes/README.md says: without a profile stacks are whole, under it they have no names."""
    if lacks_programs('qemu-system-x86_64', 'busybox', 'cpio', 'apparmor_parser'):
        return
    place = f'{folder}/bookworm'
    package = kernel_package(place, 'bookworm')
    assert package, 'the kernel of bookworm cannot be downloaded'
    make_image(folder)
    with open(f'{folder}/profile', 'w') as f:
        f.write(PROFILE)
    with open(f'{folder}/root/etc/profile', 'wb') as f:
        subprocess.run(
            [
                '/usr/sbin/apparmor_parser',
                '-S',
                '-Q',
                '-K',
                '--kernel-features',
                '/etc/apparmor.d/abi/kernel-5.4-vanilla',
                f'{folder}/profile',
            ],
            stdout=f,
            stderr=subprocess.DEVNULL,
            check=True,
        )
    text = boot(unpack_kernel(place, package), pack_image(folder, CONFINED))
    if 'END docker-default' not in text:
        print(text[-3000:])
    seen = samples_of(text, 'unconfined')
    whole = sum(n for s, n in seen.items() if s.startswith('_start;') and ';burn_recursion;' in s)
    # The virtual machine is slow: the program runs on while its mappings are read.
    assert whole > 50 and whole > sum(seen.values()) / 2, seen
    hidden = samples_of(text, 'docker-default')
    assert sum(hidden.values()) > 50 and all(s.startswith('[unknown mapping];') for s in hidden), hidden


suite.main()
