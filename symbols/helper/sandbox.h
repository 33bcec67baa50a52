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

/* What a process keeps. */
enum sandbox_kind {
	/* It reads files that are open already. */
	SANDBOX_FILES,
	/*
	 * It reads /proc of all processes. It keeps its user and the
	 * capabilities for that, and may open files.
	 */
	SANDBOX_PROC,
};

/*
 * Give up capabilities, the user root, core dumps, and all system calls except
 * those that read, write, allocate memory and end the process. SANDBOX_PROC
 * keeps more, see above. From then on, the process is killed when its parent
 * ends. `memory_mb` limits the address space. In builds with sanitizers,
 * neither system calls nor the address space are limited.
 */
NODISCARD int sandbox_enter(enum sandbox_kind kind, unsigned memory_mb,
			    struct err *err);

#endif
