/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a mapped file whose pages may fail. The kernel tells of a page that
 * it cannot provide (a bad sector, or a file that was cut short) by SIGBUS,
 * which would end the process.
 *
 * Ownership: the guard is the caller's, on its stack.
 * Threads: any.
 */
#ifndef BASE_SIGBUS_H
#define BASE_SIGBUS_H

#include "base/defs.h"

/*
 * Copy n bytes of a map. False: a page of it could not be had, and what is at
 * `to` is undefined. The first call installs a handler of SIGBUS for the
 * process; a fault anywhere else goes to the handler that was there before.
 */
NODISCARD bool sigbus_copy(void *to, const void *from, size_t n);

#endif
