/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frame names: the functions of the frames of a window.
 *
 * Ownership: names own their finder and the kernel's symbols.
 * Threads: one thread at a time.
 */
#ifndef BPF_COLLECT_FRAME_NAMES_H
#define BPF_COLLECT_FRAME_NAMES_H

#include "base/arena.h"
#include "bpf/collect/name_budget.h"
#include "bpf/collect/sample_window.h"
#include "symbols/names/kallsyms.h"
#include "symbols/names/name_finder.h"

enum {
	/* The cache has at most twice this size, in bytes. */
	FRAME_NAMES_CACHE_MAX = 3 << 20,
	/* Timeout of the helper for the names of one file. */
	FRAME_NAMES_TIMEOUT_MS = 20000,
};

struct frame_names {
	struct name_finder finder;
	struct kallsyms kernel;
	struct name_budget budget;
	const struct user_ranges *ranges;
	struct file_helper *processes;
};

/* Borrowed. */
struct frame_names_options {
	char *const *helper_argv;  /* as for file_helper_new() */
	char *const *process_argv; /* of process_reader_serve() */
	const char *debug_dir;
	const struct user_ranges *ranges; /* may be NULL */
	int64_t window_ms; /* for the names of a window; 0: no bound */
};

/*
 * Begin with an empty cache of names. Without permission to read the kernel's
 * symbols, frames of the kernel have no names; *err then says why, and is
 * otherwise empty.
 */
void frame_names_init(struct frame_names *n,
		      const struct frame_names_options *o, struct err *err);

/* Free everything. */
void frame_names_fini(struct frame_names *n);

/*
 * Find the names of all frames of a window. Element i of `out` becomes the
 * answer (symbols/names/name_answer.h) for frame i; it is empty if the frame has no
 * name. Answers live as long as the arena.
 */
void frame_names_find(struct frame_names *n, const struct sample_window *w,
		      struct arena *arena, struct bytes *out);

/*
 * Convert a position in a file of the window to the address in the ELF file.
 * False: the address is not known.
 */
NODISCARD bool window_file_address(const struct window_file *f,
				   uint64_t position, uint64_t *out);

#endif
