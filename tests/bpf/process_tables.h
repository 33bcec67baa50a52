/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings and unwind tables of a process, for tests: all at once, without
 * sharing tables between processes.
 */
#ifndef TESTS_BPF_PROCESS_TABLES_H
#define TESTS_BPF_PROCESS_TABLES_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "bpf/kernel/abi.h"
#include "bpf/process/maps_line.h"
#include "bpf/unwind/unwind_file.h"
#include "bpf/unwind/unwind_pack.h"
#include "tests/check.h"

struct process_tables {
	VEC(struct sampler_mapping) mappings;
	VEC(struct unwind_row) entries;
};

/* Add some rows of a mapping, as the kernel has them. */
static inline void tables_pack(struct process_tables *t,
			       struct sampler_mapping *m,
			       const struct unwind_row *rows, size_t count)
{
	struct buf pack = { 0 };

	m->table = (uint32_t)t->entries.count;
	m->pages = unwind_pack_add(rows, count, &pack);
	vec_add_all(&t->entries, (const struct unwind_row *)(void *)pack.ptr,
		    pack.len / sizeof(*rows));
	buf_fini(&pack);
}

static inline void tables_add_rows(struct process_tables *t,
				   struct sampler_mapping *m, uint64_t bias,
				   struct unwind_table *table)
{
	m->bias = bias;
	tables_pack(t, m, table->rows.v, table->rows.count);
	unwind_table_fini(table);
}

/* Add the rows of a file of a process; without a table there are none. */
static inline void tables_add_file(struct process_tables *t, long pid,
				   const struct maps_line *l,
				   struct sampler_mapping *m)
{
	struct unwind_table table;
	struct elf_file *f;
	struct err err;
	char path[4200];
	uint64_t bias;
	size_t count;
	const struct elf_segment *segments;

	snprintf(path, sizeof(path), "/proc/%ld/root%.*s", pid,
		 STR_ARG(l->path));
	if (elf_file_open(open(path, O_RDONLY | O_CLOEXEC), &f, &err))
		return;
	segments = elf_file_segments(f, &count);
	if (elf_segments_bias(segments, count, l->offset, l->start, &bias) &&
	    !unwind_file_read(f, &table, &err))
		tables_add_rows(t, m, bias, &table);
	elf_file_close(f);
}

/* The kernel's own library is in the memory of this process, too. */
static inline void tables_add_vdso(struct process_tables *t,
				   const struct maps_line *l,
				   struct sampler_mapping *m)
{
	char path[] = "/tmp/everprof-vdso-XXXXXX";
	int fd = mkstemp(path);
	struct unwind_table table;
	struct elf_file *f;
	struct err err;
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	uint64_t bias;
	size_t count;
	const struct elf_segment *segments;

	cr_assert(write(fd, image, l->end - l->start) > 0);
	unlink(path);
	cr_assert(!elf_file_open(fd, &f, &err), "%s", err.msg);
	segments = elf_file_segments(f, &count);
	if (elf_segments_bias(segments, count, 0, l->start, &bias) &&
	    !unwind_file_read(f, &table, &err))
		tables_add_rows(t, m, bias, &table);
	elf_file_close(f);
}

/* Read the executable mappings of a process. */
static inline struct process_tables tables_of(long pid)
{
	struct process_tables t = { 0 };
	char path[64];
	char line[5000];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%ld/maps", pid);
	maps = fopen(path, "re");
	cr_assert(maps);
	while (fgets(line, sizeof(line), maps)) {
		struct maps_line l;
		struct sampler_mapping m;

		cr_assert(maps_line_parse(str_trim(str_of(line)), &l), "%s",
			  line);
		if (!l.executable)
			continue;
		m = (struct sampler_mapping){ .start = l.start, .end = l.end };
		if (str_is(l.path, "[vdso]"))
			tables_add_vdso(&t, &l, &m);
		else if (l.inode)
			tables_add_file(&t, pid, &l, &m);
		*vec_add(&t.mappings) = m;
	}
	fclose(maps);
	return t;
}

static inline void tables_fini(struct process_tables *t)
{
	vec_fini(&t->mappings);
	vec_fini(&t->entries);
}

#endif
