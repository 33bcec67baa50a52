/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/elf_facts.h"

#include "bpf/unwind/unwind_file.h"

/*
 * The header of an answer. The segments follow, then the entries of the unwind
 * table (unwind_pack.h).
 */
struct elf_facts_header {
	uint32_t segments;
	uint32_t entries;
	uint32_t build_id_len;
	uint32_t pages;
	uint8_t build_id[ELF_BUILD_ID_MAX];
};

_Static_assert(sizeof(struct elf_facts_header) % 8 == 0, "segments follow");
_Static_assert(sizeof(struct elf_segment) % 8 == 0, "entries follow");

static int elf_facts_add(struct elf_file *f, struct buf *out, struct err *err)
{
	struct elf_facts_header h = { 0 };
	struct elf_build_id id;
	struct unwind_table table;
	CLEANUP(buf_fini) struct buf pack = { 0 };
	size_t segments;
	const struct elf_segment *s = elf_file_segments(f, &segments);
	int rc = unwind_file_read(f, &table, err);

	if (rc && rc != ERR_NOTFOUND && rc != ERR_UNSUPPORTED)
		return rc;
	elf_file_build_id(f, &id);
	h.segments = (uint32_t)segments;
	h.pages = unwind_pack_add(table.rows.v, table.rows.count, &pack);
	h.entries = (uint32_t)(pack.len / sizeof(struct unwind_row));
	h.build_id_len = (uint32_t)id.len;
	memcpy(h.build_id, id.bytes, id.len);
	buf_add(out, &h, sizeof(h));
	buf_add(out, s, segments * sizeof(*s));
	buf_add(out, pack.ptr, pack.len);
	unwind_table_fini(&table);
	return 0;
}

int elf_facts_read(int fd, struct bytes argument UNUSED, struct buf *out,
		   struct err *err)
{
	struct elf_file *f;
	int rc = elf_file_open(fd, &f, err);

	if (rc)
		return rc;
	rc = elf_facts_add(f, out, err);
	elf_file_close(f);
	return rc;
}

bool elf_facts_decode(struct bytes answer, struct elf_facts *out)
{
	const struct elf_facts_header *h = (const void *)answer.ptr;
	uint64_t want;

	if (answer.len < sizeof(*h))
		return false;
	want = sizeof(*h) + (uint64_t)h->segments * sizeof(struct elf_segment) +
	       (uint64_t)h->entries * sizeof(struct unwind_row);
	if (answer.len != want || h->build_id_len > ELF_BUILD_ID_MAX ||
	    h->segments > ELF_SEGMENTS_MAX)
		return false;
	*out = (struct elf_facts){
		.build_id = { .ptr = h->build_id, .len = h->build_id_len },
		.segments = (const void *)(h + 1),
		.segment_count = h->segments,
		.table = { .count = h->entries, .pages = h->pages },
	};
	out->table.entries = (const void *)(out->segments + h->segments);
	return unwind_pack_check(&out->table);
}
