/* SPDX-License-Identifier: Apache-2.0 */
/* Source: ELF, System V ABI, chapter 5; the build ID is a note of GNU ld. */
#include "cmd/serve/self_profile.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include "base/dec.h"

enum {
	PAGE = 4096,
	/* Notes are aligned to 4 bytes. */
	NOTE_ALIGN = 4,
};

/* Read a text of a note, with the bytes that align it. */
static struct bytes note_part(struct dec *d, uint32_t len)
{
	struct bytes b = dec_bytes(d, (len + NOTE_ALIGN - 1ULL) / NOTE_ALIGN *
					      NOTE_ALIGN);

	b.len = d->bad ? 0 : len;
	return b;
}

/* Append the build ID among notes, as digits. False: it is not there. */
static bool notes_build_id(struct dec d, struct buf *out)
{
	while (dec_left(&d) >= sizeof(ElfW(Nhdr))) {
		uint32_t name_len = dec_le32(&d);
		uint32_t id_len = dec_le32(&d);
		uint32_t type = dec_le32(&d);
		struct bytes name = note_part(&d, name_len);
		struct bytes id = note_part(&d, id_len);

		if (type != NT_GNU_BUILD_ID || name.len != 4 ||
		    memcmp(name.ptr, "GNU", 4) != 0)
			continue;
		for (size_t i = 0; i < id.len; i++)
			buf_printf(out, "%02x", id.ptr[i]);
		return true;
	}
	return false;
}

/* Append the build ID of an object, if it has one. */
static void object_build_id(const struct dl_phdr_info *o, struct buf *out)
{
	for (int i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &o->dlpi_phdr[i];
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): the loader's */
		const void *notes = (const void *)(o->dlpi_addr + h->p_vaddr);

		if (h->p_type == PT_NOTE &&
		    notes_build_id(dec_init((struct bytes){
					   .ptr = notes, .len = h->p_memsz }),
				   out))
			return;
	}
}

/* Append the path of an object; that of this program has no name here. */
static void object_path(const struct dl_phdr_info *o, struct buf *out)
{
	char path[4096];
	ssize_t n;

	if (*o->dlpi_name) {
		buf_str(out, o->dlpi_name);
		return;
	}
	n = readlink("/proc/self/exe", path, sizeof(path));
	if (n > 0)
		buf_add(out, path, (size_t)n);
}

/* Visitor of the objects in memory: the program comes first. */
static int object_add(struct dl_phdr_info *o, size_t size UNUSED, void *profile)
{
	struct pprof *p = profile;
	struct buf path = { 0 };
	struct buf id = { 0 };

	object_path(o, &path);
	object_build_id(o, &id);
	for (int i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &o->dlpi_phdr[i];
		uint64_t start = o->dlpi_addr + h->p_vaddr;

		if (h->p_type != PT_LOAD || !(h->p_flags & PF_X))
			continue;
		*vec_add(&p->mappings) = (struct pprof_mapping){
			.start = start / PAGE * PAGE,
			.limit = (start + h->p_memsz + PAGE - 1) / PAGE * PAGE,
			.offset = h->p_offset / PAGE * PAGE,
			.file = strtab_intern(&p->strings,
					      str_from(buf_bytes(&path))),
			.build_id = strtab_intern(&p->strings,
						  str_from(buf_bytes(&id))),
		};
	}
	buf_fini(&path);
	buf_fini(&id);
	return 0;
}

void self_mappings_add(struct pprof *p)
{
	dl_iterate_phdr(object_add, p);
}

uint32_t self_mappings_find(const struct pprof *p, uint64_t address)
{
	for (uint32_t i = 0; i < p->mappings.count; i++) {
		const struct pprof_mapping *m = &p->mappings.v[i];

		if (address >= m->start && address < m->limit)
			return i;
	}
	return PPROF_NONE;
}
