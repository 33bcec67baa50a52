/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the kernel's functions, from /proc/kallsyms (Linux,
 * kernel/kallsyms.c). Each line is "ADDRESS TYPE NAME [MODULE]".
 *
 * Ownership: a table owns its names, until kallsyms_fini().
 * Threads: immutable after kallsyms_read().
 */
#ifndef SYMBOLS_NAMES_KALLSYMS_H
#define SYMBOLS_NAMES_KALLSYMS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

/* A function of the kernel. */
struct kernel_symbol {
	uint64_t address;
	uint32_t name; /* position in the names */
};

/* The functions of the kernel, sorted by address; { 0 } has none. */
struct kallsyms {
	VEC(struct kernel_symbol) symbols;
	struct buf names; /* each ends with NUL */
};

/*
 * Read the file `path`, which is /proc/kallsyms or has its format, into an
 * empty table. ERR_DENIED: no function in the file has an address other than 0;
 * ERR_TOOBIG: the names take too much memory; other errors: the file cannot be
 * opened. The kernel shows 0 for all addresses if kernel.kptr_restrict is 2,
 * and usually if the process lacks the capability CAP_SYSLOG.
 */
NODISCARD int kallsyms_read(struct kallsyms *k, const char *path,
			    struct err *err);

/* Free everything. */
void kallsyms_fini(struct kallsyms *k);

/*
 * Return the name of the last function that begins at or before `address`, or
 * NULL.
 */
const char *kallsyms_find(const struct kallsyms *k, uint64_t address);

#endif
