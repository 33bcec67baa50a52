/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name sources: where the names of one ELF file come from. They are its debug
 * information, Go's table of functions and its symbols. To read them takes much
 * longer than to find a name in them, above all if they are compressed, and the
 * same files are asked about again and again. So the sources of some files are
 * kept, up to a limit of memory. Between two questions, the files of kept
 * sources are not held open.
 *
 * Ownership: the caller takes sources and gives them back. What the functions
 * below return is borrowed until the caller gives the sources back.
 * Threads: one thread, which is that of the file helper.
 */
#ifndef SYMBOLS_NAMES_NAME_SOURCES_H
#define SYMBOLS_NAMES_NAME_SOURCES_H

#include "symbols/file/dwarf_names.h"
#include "symbols/file/pclntab.h"
#include "symbols/file/symbol_table.h"

enum {
	/* Largest number of files whose sources are kept. */
	NAME_SOURCES_KEPT_MAX = 32,
	/*
	 * If the process has allocated more memory than this, in bytes, kept
	 * sources are freed.
	 */
	NAME_SOURCES_MEMORY_MAX = 64 << 20,
	/*
	 * Each time this many questions have been answered, the number of
	 * questions that is counted for each kept file is halved.
	 */
	NAME_SOURCES_AGE = 128,
};

struct name_sources;

/*
 * Take the sources of the file of `fd`. The descriptor is taken over, in case
 * of an error too. Errors as elf_file_open(). Give the sources back with
 * name_sources_give() before others are taken.
 */
NODISCARD int name_sources_take(int fd, struct name_sources **out,
				struct err *err);

/* Give sources back, to be kept or freed. */
void name_sources_give(struct name_sources *s);

/* Free all sources that are kept. */
void name_sources_drop(void);

/* Return the file. */
struct elf_file *name_sources_file(struct name_sources *s);

/*
 * Return a source, which is read when it is first needed. NULL: the file does
 * not have this source, or the source is damaged or too large. In these cases,
 * name_sources_symbols() returns an empty table instead of NULL.
 */
struct dwarf_names *name_sources_dwarf(struct name_sources *s);
const struct pclntab *name_sources_go(struct name_sources *s);
const struct symbol_table *name_sources_symbols(struct name_sources *s);

/* Return the number of files whose sources are kept. */
size_t name_sources_kept(void);

#endif
