/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode: from a profile in memory to profile.proto's bytes, in the order and
 * form of google/pprof's own encoder (profile/encode.go): what it would write
 * of the same profile is what we write, byte for byte. Fields that it does
 * not know yet (columns, the URL of the documentation) are written when set.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: one thread at a time.
 */
#ifndef PPROF_ENCODE_H
#define PPROF_ENCODE_H

#include "base/buf.h"
#include "pprof/profile/profile.h"

/* Append to out, which is `over` when it is larger than its maximum. */
void pprof_encode(const struct pprof *p, struct buf *out);

#endif
