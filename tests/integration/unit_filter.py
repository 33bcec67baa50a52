# SPDX-License-Identifier: Apache-2.0
"""Runs commands with the system calls that a systemd unit allows, without systemd."""
import re
import subprocess

# Runs a command whose system calls other than those in a file fail, as systemd's SystemCallFilter does.
JAIL = '''
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	FILE *calls = argc > 2 ? fopen(argv[1], "r") : NULL;
	char name[100];

	while (calls && fscanf(calls, "%99s", name) == 1) {
		int number = seccomp_syscall_resolve_name(name);

		if (number >= 0)
			seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	}
	if (!calls || seccomp_load(filter))
		return 90;
	execv(argv[2], argv + 2);
	return 91;
}
'''


def system_calls(names):
    """The system calls of a list of names and @groups, as systemd has them."""
    calls = set()
    for name in names:
        if not name.startswith('@'):
            calls.add(name)
            continue
        text = subprocess.run(
            ['systemd-analyze', 'syscall-filter', name], capture_output=True, text=True, check=True
        ).stdout
        calls |= system_calls([x.strip() for x in text.splitlines()[1:] if x.strip() and not x.strip().startswith('#')])
    return calls


def allowed_calls(unit):
    """The system calls that the text of a unit, or of a unit with its drop-ins, allows."""
    allowed = system_calls(['@default'])
    for value in re.findall('^SystemCallFilter=(.*)', unit, re.M):
        if value.startswith('~'):
            allowed -= system_calls(value[1:].split()) - system_calls(['@default'])
        else:
            allowed |= system_calls(value.split())
    return allowed


class Jail:
    """Commands with a filter of system calls; files are made in a folder."""

    def __init__(self, folder):
        self.folder = folder
        with open(f'{folder}/jail.c', 'w') as f:
            f.write(JAIL)
        subprocess.run(['gcc', '-o', f'{folder}/jail', f'{folder}/jail.c', '-lseccomp'], check=True)

    def command(self, allowed):
        """What is put in front of a command, so that other system calls fail with EPERM."""
        with open(f'{self.folder}/calls', 'w') as f:
            f.write('\n'.join(allowed))
        return [f'{self.folder}/jail', f'{self.folder}/calls']
