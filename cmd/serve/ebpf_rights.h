/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the eBPF collector may not do on this machine. It runs without these
 * rights, but its profiles lack names or callers, so that somebody has to be
 * told.
 *
 * Threads: pure functions, apart from what they read.
 */
#ifndef CMD_SERVE_EBPF_RIGHTS_H
#define CMD_SERVE_EBPF_RIGHTS_H

#include "base/defs.h"

enum {
	/* Maximum number of missing rights. */
	EBPF_RIGHTS_MAX = 2
};

/* The capabilities in effect, a bit for each; 0 if they cannot be read. */
uint64_t ebpf_rights_read(void);

/*
 * Store a sentence in out[] for each right that is missing, and return their
 * number. `capabilities` are those in effect; `kallsyms` is the path of the
 * kernel's list of symbols, or NULL if somebody else reports that it is hidden.
 */
size_t ebpf_rights_missing(uint64_t capabilities, const char *kallsyms,
			   const char *out[EBPF_RIGHTS_MAX]);

#endif
