/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandbox: a process gives up all rights except those that it needs to read
 * files, which are open already or, for SANDBOX_PROC, are opened later.
 *
 * Threads: sandbox_enter() is called before any other thread is started.
 */
#ifndef SYMBOLS_HELPER_SANDBOX_H
#define SYMBOLS_HELPER_SANDBOX_H

#include "base/err.h"

/* What a process does in the sandbox. This decides which rights it keeps. */
enum sandbox_kind {
	/* It reads files that are open already. */
	SANDBOX_FILES,
	/*
	 * It opens files for reading, and reads /proc of all processes. It
	 * keeps its user and, if it has them, the capabilities that reading
	 * /proc needs.
	 */
	SANDBOX_PROC,
};

/*
 * Give up capabilities, core dumps, the user root (unless the process may not
 * change its user), and all system calls except those that are needed to read
 * open files and to answer over an open socket. SANDBOX_PROC keeps more, see
 * above. From then on, the process is killed when the thread that started it
 * ends.
 * `memory_mb` limits the address space. In builds with sanitizers, neither
 * system calls nor the address space are limited.
 */
NODISCARD int sandbox_enter(enum sandbox_kind kind, unsigned memory_mb,
			    struct err *err);

#endif
