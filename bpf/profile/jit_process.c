/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/profile/jit_process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file_slurp.h"

/* The number that a process has in its own PID namespace. */
static uint32_t jit_process_own_number(uint32_t pid)
{
	struct buf text = { .max = 8192 };
	char path[64];
	uint32_t own = pid;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (!file_slurp(path, &text, NULL)) {
		at = strstr(buf_cstr(&text), "NSpid:");
		/* "NSpid:\t812\t7": the innermost namespace is the last one. */
		for (at = at ? at + 6 : NULL; at && *at == '\t';) {
			char *end;

			own = (uint32_t)strtoul(at + 1, &end, 10);
			at = end;
		}
	}
	buf_fini(&text);
	return own;
}

/* Open the map below the root of a process; 0: of everprof. */
static int jit_process_open_below(const struct jit_process *j, uint32_t root,
				  struct file_helper *processes)
{
	const struct process_file_wish wish = { .owned = true };
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", j->own);
	return process_reader_open(processes, root, path, &j->user, &wish);
}

void jit_process_read(struct jit_process *j, uint32_t pid,
		      struct file_helper *processes)
{
	*j = (struct jit_process){ .pid = pid,
				   .is_read = true,
				   .own = jit_process_own_number(pid) };
	process_user_read(&j->user, pid);
	j->map = jit_process_open_below(j, pid, processes);
}

int jit_process_open(const struct jit_process *j, struct file_helper *processes)
{
	int fd;

	if (j->map >= 0)
		return fcntl(j->map, F_DUPFD_CLOEXEC, 0);
	fd = jit_process_open_below(j, j->pid, processes);
	/* In a PID namespace, its number is that of another process here. */
	if (fd >= 0 || j->own != j->pid)
		return fd;
	return jit_process_open_below(j, 0, processes);
}

void jit_process_fini(struct jit_process *j)
{
	process_user_fini(&j->user);
	if (j->map >= 0)
		close(j->map);
}
