/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frame names: find the names of the functions at the frames of a window.
 *
 * Ownership: a struct frame_names owns its finder, its helper `processes` and
 * the kernel's symbols.
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
	/*
	 * Largest size of each half of the cache of names (name_cache.h), in
	 * bytes.
	 */
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

/* What the members point to is borrowed, until frame_names_fini(). */
struct frame_names_options {
	char *const *helper_argv;  /* as for file_helper_new() */
	char *const *process_argv; /* the same, for process_reader_serve() */
	const char *debug_dir;
	const struct user_ranges *ranges; /* may be NULL */
	int64_t window_ms; /* time for the names of a window; 0: no limit */
};

/*
 * Begin with an empty cache of names. If the kernel's symbols cannot be read,
 * frames of the kernel have no names, and *err says why. Otherwise, err->code
 * is 0.
 */
void frame_names_init(struct frame_names *n,
		      const struct frame_names_options *o, struct err *err);

/* Free everything. */
void frame_names_fini(struct frame_names *n);

/*
 * Find the names of the frames of a window, as far as the budget of time allows
 * (name_budget.h). Element i of `out` becomes the answer
 * (symbols/names/name_answer.h) for frame i. An element is empty if no name was
 * found. Answers live as long as the arena.
 */
void frame_names_find(struct frame_names *n, const struct sample_window *w,
		      struct arena *arena, struct bytes *out);

/*
 * Convert `position`, an offset in a file of a window, to the virtual address
 * that the ELF file gives to it. False: no known segment of the file has the
 * position.
 */
NODISCARD bool window_file_address(const struct window_file *f,
				   uint64_t position, uint64_t *out);

#endif
