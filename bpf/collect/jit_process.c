/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/jit_process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_slurp.h"

enum {
	/*
	 * Number of fields of /proc/PID/stat after the name, up to starttime.
	 */
	STAT_FIELDS_TO_START = 20,
	/*
	 * Largest size of /proc/PID/status in bytes. The file lists all groups
	 * of the process: up to 65 536 group IDs, of up to 11 bytes each.
	 */
	STATUS_MAX = 1 << 20,
};

/*
 * Return when the process `pid` began, in clock ticks since the boot; 0: it has
 * ended.
 */
static uint64_t jit_process_start(uint32_t pid)
{
	struct buf text = { .max = 8192 };
	uint64_t start = 0;
	char path[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	/*
	 * The name is in parentheses, and may contain blanks and parentheses
	 * itself. The fields after it have none, so the last parenthesis ends
	 * the name.
	 */
	if (!file_slurp(path, &text, NULL)) {
		at = strrchr(buf_cstr(&text), ')');
		for (int i = 0; at && i < STAT_FIELDS_TO_START; i++)
			at = strchr(at + 1, ' ');
		start = at ? strtoull(at + 1, NULL, 10) : 0;
	}
	buf_fini(&text);
	return start;
}

/* Convert a monotonic time to clock ticks since the boot. */
static uint64_t jit_ticks_at(uint64_t mono_ns)
{
	const int64_t second = 1000000000;
	struct timespec boot;
	int64_t suspended;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	suspended = boot.tv_sec * second + boot.tv_nsec - clock_mono_ns();
	return (mono_ns + (uint64_t)suspended) /
	       (uint64_t)(second / sysconf(_SC_CLK_TCK));
}

/* Return the PID that a process has in its own PID namespace. */
static uint32_t jit_process_own_number(uint32_t pid)
{
	struct buf text = { .max = STATUS_MAX };
	char path[64];
	uint32_t own = pid;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (!file_slurp(path, &text, NULL)) {
		at = strstr(buf_cstr(&text), "\nNSpid:");
		/* "NSpid:\t812\t7": the innermost namespace is the last one. */
		for (at = at ? at + 7 : NULL; at && *at == '\t';) {
			char *end;

			own = (uint32_t)strtoul(at + 1, &end, 10);
			at = end;
		}
	}
	buf_fini(&text);
	return own;
}

/*
 * Open the perf map below the root directory of process `root`; 0: below that
 * of everprof.
 */
static int jit_process_open_below(const struct jit_process *j, uint32_t root,
				  struct file_helper *processes)
{
	const struct process_file_wish wish = { .owned = true };
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", j->own);
	return process_reader_open(processes, root, path, &j->user, &wish);
}

bool jit_process_is(const struct jit_process *j, const struct jit_process *read)
{
	return read->pid == j->pid && read->start &&
	       read->start <= jit_ticks_at(j->sampled_ns);
}

/* Whether another process has the PID of `j` by now. */
static bool jit_process_is_replaced(const struct jit_process *j)
{
	uint64_t now = jit_process_start(j->pid);

	return now && now != j->start;
}

void jit_process_read(struct jit_process *j, uint32_t pid,
		      struct file_helper *processes)
{
	*j = (struct jit_process){ .pid = pid,
				   .is_read = true,
				   .start = jit_process_start(pid),
				   .own = jit_process_own_number(pid) };
	process_user_read(&j->user, pid);
	j->map = jit_process_open_below(j, pid, processes);
	if (j->map >= 0 && jit_process_is_replaced(j)) {
		close(j->map);
		j->map = -1;
	}
}

int jit_process_open(const struct jit_process *j, struct file_helper *processes)
{
	int fd;

	if (j->map >= 0)
		return fcntl(j->map, F_DUPFD_CLOEXEC, 0);
	if (jit_process_is_replaced(j))
		return -1;
	fd = jit_process_open_below(j, j->pid, processes);
	/*
	 * The name of the map contains the PID in the process' own namespace.
	 * If this PID differs from the PID in everprof's namespace, a map with
	 * this name below everprof's root belongs to another process.
	 */
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
