/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/name_sources.h"

#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_state.h"
#include "base/mem.h"
#include "base/vec.h"
#include "symbols/file/go_program.h"

struct name_sources {
	struct file_state state;
	struct elf_file *file;
	size_t questions; /* how often the sources were taken; see kept_age() */
	/*
	 * Whether reading a source has failed in a way that may be the disk's
	 * fault. Then the sources are not kept, and the next question reads the
	 * file again.
	 */
	bool failed;
	bool dwarf_was_read;
	bool go_was_read;
	bool symbols_were_read;
	bool has_go;
	struct dwarf_names *dwarf; /* NULL: none */
	struct pclntab go;
	struct symbol_table symbols;
};

/* The sources that are kept, the most recently used ones first. */
static VEC(struct name_sources *) kept;

/* Return the state of an open file; all zero if it cannot be known. */
static struct file_state sources_state_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? (struct file_state){ .size = 0 } :
				file_state_of(&st);
}

static void name_sources_free(struct name_sources *s)
{
	dwarf_names_close(s->dwarf);
	symbol_table_fini(&s->symbols);
	elf_file_close(s->file);
	mem_free(s);
}

/* Take the sources at index `i` out of the list. */
static struct name_sources *kept_remove(size_t i)
{
	struct name_sources *s = kept.v[i];

	vec_remove(&kept, i, 1);
	return s;
}

/*
 * Take the sources of the file with the state `state` (file_state.h) out of the
 * list, and return them. NULL: the list does not have them.
 */
static struct name_sources *kept_find(const struct file_state *state)
{
	for (size_t i = 0; i < kept.count; i++) {
		if (file_state_same(&kept.v[i]->state, state))
			return kept_remove(i);
	}
	return NULL;
}

/* Return how many bytes of memory this process has allocated. */
static size_t memory_used(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

int name_sources_take(int fd, struct name_sources **out, struct err *err)
{
	struct file_state state = sources_state_of(fd);
	struct name_sources *s = kept_find(&state);
	struct elf_file *f;
	int rc;

	if (s && elf_file_resume(s->file, fd)) {
		s->questions++;
		*out = s;
		return 0;
	}
	if (s)
		name_sources_free(s);
	rc = elf_file_open(fd, &f, err);
	if (rc)
		return rc;
	s = mem_new(struct name_sources);
	s->file = f;
	s->state = state;
	s->questions = 1;
	*out = s;
	return 0;
}

/*
 * Evict the sources of the file that is the least likely to be asked about
 * again: the one that was asked about least often and, of several such files,
 * the least recently used one. A compiler's output that is run once must not
 * drive out the C library. The most recently used sources of all are evicted
 * last, because questions about one file often follow each other.
 */
static void kept_free_one(void)
{
	size_t least = kept.count - 1;

	for (size_t i = least; i-- > 1;) {
		if (kept.v[i]->questions < kept.v[least]->questions)
			least = i;
	}
	name_sources_free(kept_remove(least));
}

/* Let questions of long ago count less and less. */
static void kept_age(void)
{
	static size_t questions;

	if (++questions % NAME_SOURCES_AGE)
		return;
	for (size_t i = 0; i < kept.count; i++)
		kept.v[i]->questions /= 2;
}

void name_sources_give(struct name_sources *s)
{
	if (s->failed || !elf_file_pause(s->file)) {
		name_sources_free(s);
		return;
	}
	if (kept.count == NAME_SOURCES_KEPT_MAX)
		kept_free_one();
	*vec_insert(&kept, 0) = s;
	kept_age();
	/*
	 * Free even the newest sources if necessary: the next file needs
	 * memory, too.
	 */
	while (kept.count && memory_used() > NAME_SOURCES_MEMORY_MAX)
		kept_free_one();
}

void name_sources_drop(void)
{
	while (kept.count)
		name_sources_free(kept_remove(kept.count - 1));
	vec_fini(&kept);
}

size_t name_sources_kept(void)
{
	return kept.count;
}

struct elf_file *name_sources_file(struct name_sources *s)
{
	return s->file;
}

/* Note `rc`, the result of reading a source. True: the source has been read. */
static bool name_sources_note(struct name_sources *s, int rc)
{
	/*
	 * libelf does not tell a failed read from a damaged file, so both count
	 * as failed.
	 */
	s->failed |= rc && rc != ERR_NOTFOUND && rc != ERR_UNSUPPORTED &&
		     rc != ERR_TOOBIG;
	return !rc;
}

struct dwarf_names *name_sources_dwarf(struct name_sources *s)
{
	if (!s->dwarf_was_read &&
	    !name_sources_note(s, dwarf_names_open(s->file, &s->dwarf, NULL)))
		s->dwarf = NULL;
	s->dwarf_was_read = true;
	return s->dwarf;
}

const struct pclntab *name_sources_go(struct name_sources *s)
{
	if (!s->go_was_read)
		s->has_go = name_sources_note(
			s, go_program_table(s->file, &s->go, NULL));
	s->go_was_read = true;
	return s->has_go ? &s->go : NULL;
}

const struct symbol_table *name_sources_symbols(struct name_sources *s)
{
	if (!s->symbols_were_read &&
	    !name_sources_note(s,
			       symbol_table_read(s->file, &s->symbols, NULL)))
		s->symbols = (struct symbol_table){ .symbols = { 0 } };
	s->symbols_were_read = true;
	return &s->symbols;
}
