/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/process_scan.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file_slurp.h"
#include "bpf/group/cgroup_path.h"

enum {
	/* A process with 65 530 mappings, the kernel's limit, has 10 MB. */
	MAPS_TEXT_MAX = 32 << 20,
	/* Longer texts of other files in /proc are not used. */
	PROC_TEXT_MAX = 64 << 10,
	/* The rest of longer command lines is cut off. */
	CMDLINE_MAX = 4096,
};

/* Append a file of a process; if it cannot be read, nothing. */
static void proc_read(uint32_t pid, const char *file, size_t max,
		      struct buf *out)
{
	char path[64];

	out->max = max;
	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	if (file_slurp(path, out, NULL))
		buf_reset(out);
}

void process_scan(struct process_table *t, uint32_t pid, uint64_t now)
{
	struct buf name = { 0 };
	struct buf maps = { 0 };

	proc_read(pid, "comm", PROC_TEXT_MAX, &name);
	proc_read(pid, "maps", MAPS_TEXT_MAX, &maps);
	/* A thread of the kernel has a name, but no mappings. */
	if (name.len)
		process_table_scan(t, pid, str_trim(str_from(buf_bytes(&name))),
				   str_from(buf_bytes(&maps)), now);
	buf_fini(&name);
	buf_fini(&maps);
}

void process_scan_all(struct process_table *t, uint64_t now)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is not shared */
	while (proc && (e = readdir(proc))) {
		int64_t pid;

		if (str_to_i64(str_of(e->d_name), &pid) && pid > 0 &&
		    pid <= INT32_MAX)
			process_scan(t, (uint32_t)pid, now);
	}
	if (proc)
		closedir(proc);
}

/* Arguments end with NUL; a text has blanks between them. */
static struct str cmdline_text(struct buf *b)
{
	for (size_t i = 0; i < b->len; i++) {
		if (!b->ptr[i])
			b->ptr[i] = ' ';
	}
	if (b->len > CMDLINE_MAX)
		b->len = CMDLINE_MAX;
	return str_trim(str_from(buf_bytes(b)));
}

/* Read the link to the program of a process. */
static void exe_read(uint32_t pid, struct buf *out)
{
	char path[64];
	char target[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	n = readlink(path, target, sizeof(target));
	if (n > 0)
		buf_add(out, target, (size_t)n);
}

void process_texts_read(struct process_texts *t, uint32_t pid)
{
	*t = (struct process_texts){ .facts = { .pid = pid } };
	proc_read(pid, "cgroup", PROC_TEXT_MAX, &t->cgroup);
	proc_read(pid, "cmdline", PROC_TEXT_MAX, &t->cmdline);
	proc_read(pid, "comm", PROC_TEXT_MAX, &t->name);
	exe_read(pid, &t->exe);
	if (t->cgroup.len)
		t->facts.cgroup =
			cgroup_path_find(str_from(buf_bytes(&t->cgroup)));
	t->facts.cmdline = cmdline_text(&t->cmdline);
	t->facts.name = str_trim(str_from(buf_bytes(&t->name)));
	t->facts.exe = str_from(buf_bytes(&t->exe));
}

void process_texts_fini(struct process_texts *t)
{
	buf_fini(&t->cgroup);
	buf_fini(&t->cmdline);
	buf_fini(&t->name);
	buf_fini(&t->exe);
}
