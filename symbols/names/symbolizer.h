/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbolizer: names of the functions at addresses of stored profiles, from
 * files of this machine. A file is used only if it has the build ID that the
 * profile gives. Names that were found are kept for some minutes, for all
 * queries.
 *
 * Ownership: a symbolizer owns its cache and its helpers.
 * Threads: any; while one thread reads files, the other threads wait.
 * Locks: no lock is held while files are read.
 */
#ifndef SYMBOLS_NAMES_SYMBOLIZER_H
#define SYMBOLS_NAMES_SYMBOLIZER_H

#include "base/arena.h"
#include "base/err.h"
#include "symbols/names/elf_names.h"

struct symbolizer;

/*
 * Create a symbolizer. `helper_argv` is a program that calls symbolizer_help(),
 * and its arguments, ending with NULL; `debug_dir` is the directory with
 * separate debug files (debug_file.h), NULL or empty: none. All arguments must
 * outlive the symbolizer.
 *
 * The path of a mapped file comes from a profile, which anyone may have sent.
 * `opener_argv` is a program that calls symbolizer_help_open(), and its
 * arguments, ending with NULL. This program opens the mapped files and the
 * debug files to which they link, because to open a path that a stranger has
 * chosen can take for ever (public_opener.h). It opens only files that everyone
 * may read, because the names in these files are shown to other users, too, and
 * not only to the user of this process. If `opener_argv` is NULL, this process
 * opens all of these files that it may read. A file that is found by its build
 * ID in `debug_dir` is opened by this process in both cases, even if not
 * everyone may read it.
 */
struct symbolizer *symbolizer_new(char *const *helper_argv,
				  char *const *opener_argv,
				  const char *debug_dir);

/* Free a symbolizer that no thread uses; NULL is a no-op. */
void symbolizer_free(struct symbolizer *s);

/* Be the file helper of a symbolizer. Returns the status for exit(). */
int symbolizer_help(void);

/* Be the opener of a symbolizer. Returns the status for exit(). */
int symbolizer_help_open(void);

/*
 * A question for names of addresses in one mapping. The texts and the addresses
 * are borrowed.
 */
struct symbol_query {
	struct str build_id; /* hexadecimal digits */
	struct str path;     /* of the mapped file; may be empty */
	struct name_mapping mapping;
	const uint64_t *addresses;
	size_t count;
	/* When the answer is needed, in ns of clock_mono_ns(). */
	int64_t deadline_ns;
	size_t answer_max; /* largest size of a helper's answer in bytes */
};

/*
 * Find names. Element i of `out`, which the caller has zeroed, becomes the
 * answer (symbols/names/name_answer.h) for address i, in the arena. The element
 * stays empty if the address is outside of the mapping or has no name, if
 * q->build_id is not a build ID, or if no file with this build ID was found on
 * this machine. ERR_TIMEOUT: the deadline passed, or a file took too long;
 * other errors as name_finder_find(). After an error, some names may have been
 * found.
 */
NODISCARD int symbolizer_find(struct symbolizer *s,
			      const struct symbol_query *q, struct arena *arena,
			      struct bytes *out, struct err *err);

#endif
