/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of --resume.file: how far a push has come. The profiles of a source
 * are sent in steps, which are ranges of time in ascending order.
 *
 * Threads: one thread at a time.
 */
#ifndef CMD_TOOLS_PUSH_STATE_H
#define CMD_TOOLS_PUSH_STATE_H

#include "base/err.h"

/* A position in the profiles of a push. */
struct push_state {
	uint64_t id;     /* hash of everything that decides what is sent */
	uint64_t source; /* number of the source; those before it are settled */
	int64_t step;   /* begin of the step, in ms; those before are settled */
	uint64_t count; /* profiles of the step that are settled */
	uint64_t last;  /* hash that identifies the last one of them */
};

/*
 * Load the file. A file that does not exist leaves *s as it is. ERR_INVALID: it
 * is something else, or belongs to a push with another id than s->id.
 */
NODISCARD int push_state_load(const char *path, struct push_state *s,
			      struct err *err);

/* Replace the file. After a power cut, it may be an older one. */
NODISCARD int push_state_save(const char *path, const struct push_state *s,
			      struct err *err);

#endif
