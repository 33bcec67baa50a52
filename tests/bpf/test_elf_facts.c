/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts of ELF files: those of this program, and answers of a helper that
 * lies.
 */
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "base/mem.h"
#include "bpf/process/elf_facts.h"
#include "tests/check.h"

TestSuite(elf_facts, .timeout = 60);

static struct buf own_facts(void)
{
	struct buf b = { .max = ELF_FACTS_MAX };
	struct err err;

	cr_assert(!elf_facts_read(open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
				  (struct bytes){ 0 }, &b, &err),
		  "%s", err.msg);
	return b;
}

/* Visitor of loaded objects: the first one is this program. */
static int own_bias(struct dl_phdr_info *info, size_t size UNUSED, void *out)
{
	*(uint64_t *)out = info->dlpi_addr;
	return 1;
}

Test(elf_facts, segments_tell_where_code_is)
{
	struct buf b = own_facts();
	struct elf_facts f;
	uint64_t loaded = 0;
	size_t executable = 0;

	cr_assert(elf_facts_decode(buf_bytes(&b), &f));
	cr_assert(f.table.count > 10);
	cr_expect(f.build_id.len == 20);
	dl_iterate_phdr(own_bias, &loaded);
	for (uint32_t i = 0; i < f.segment_count; i++) {
		const struct elf_segment *s = &f.segments[i];
		/* As /proc/PID/maps has it: from the beginning of a page. */
		uint64_t start = (loaded + s->vaddr) / 4096 * 4096;
		uint64_t bias = 0;

		executable += s->executable;
		cr_expect(elf_segments_bias(f.segments, f.segment_count,
					    s->offset / 4096 * 4096, start,
					    &bias));
		cr_expect(bias == loaded);
		if (s->bytes < 8192)
			continue;
		/* A mapping that begins in the middle of the segment. */
		cr_expect(elf_segments_bias(f.segments, f.segment_count,
					    s->offset / 4096 * 4096 + 4096,
					    start + 4096, &bias));
		cr_expect(bias == loaded);
	}
	cr_expect(executable >= 1);
	cr_expect(!elf_segments_bias(f.segments, f.segment_count,
				     (uint64_t)1 << 40, 0, &loaded));
	buf_fini(&b);
}

Test(elf_facts, a_file_without_a_table_has_facts)
{
	struct buf b = { .max = ELF_FACTS_MAX };
	struct err err;

	cr_expect(elf_facts_read(open("/dev/null", O_RDONLY | O_CLOEXEC),
				 (struct bytes){ 0 }, &b,
				 &err) == ERR_UNSUPPORTED);
	buf_fini(&b);
}

Test(elf_facts, wrong_answers_are_refused)
{
	struct buf b = own_facts();
	struct elf_facts f;
	uint32_t *header = (uint32_t *)(void *)b.ptr;
	struct unwind_row *entries;

	for (size_t len = 0; len < 200; len++)
		cr_expect(!elf_facts_decode(
			(struct bytes){ .ptr = b.ptr, .len = len }, &f));
	cr_expect(!elf_facts_decode(
		(struct bytes){ .ptr = b.ptr, .len = b.len - 1 }, &f));
	header[0]++;
	cr_expect(!elf_facts_decode(buf_bytes(&b), &f));
	header[0]--;
	header[1]--;
	cr_expect(!elf_facts_decode(buf_bytes(&b), &f));
	header[1]++;
	header[2] = ELF_BUILD_ID_MAX + 1;
	cr_expect(!elf_facts_decode(buf_bytes(&b), &f));
	header[2] = 20;
	cr_assert(elf_facts_decode(buf_bytes(&b), &f));
	/* The search in the kernel trusts that the first page is the first. */
	entries = (struct unwind_row *)(uintptr_t)f.table.entries;
	entries[1].pc++;
	cr_expect(!elf_facts_decode(buf_bytes(&b), &f));
	buf_fini(&b);
}
