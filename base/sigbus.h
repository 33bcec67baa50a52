/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying from a mapped file whose pages may be unreadable. When the kernel
 * cannot provide a page (a bad sector, or a file that was truncated), it sends
 * SIGBUS, which would end the process (docs/decisions.md, 83).
 *
 * Threads: any.
 */
#ifndef BASE_SIGBUS_H
#define BASE_SIGBUS_H

#include "base/defs.h"

/*
 * Copy n bytes of a map to `to`. Returns false when a page of the map cannot be
 * read; the contents of `to` are then undefined. The first call installs a
 * SIGBUS handler for the process; a fault outside of sigbus_copy() is passed to
 * the handler that was installed before.
 */
NODISCARD bool sigbus_copy(void *to, const void *from, size_t n);

#endif
