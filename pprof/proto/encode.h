/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode: writes a profile in memory as the bytes of profile.proto, in the
 * order and form of google/pprof's own encoder (profile/encode.go), so that
 * both write the same bytes for the same profile. Fields that pprof's encoder
 * does not know yet (columns, the URL of the documentation) are written if they
 * are set.
 *
 * Threads: one thread at a time per profile and buffer.
 */
#ifndef PPROF_PROTO_ENCODE_H
#define PPROF_PROTO_ENCODE_H

#include "base/buf.h"
#include "pprof/profile/profile.h"

/*
 * Append the encoded profile to `out`, uncompressed. If the encoded profile
 * does not fit into the buffer's maximum size, out->over is set.
 */
void pprof_encode(const struct pprof *p, struct buf *out);

/* Append the encoded profile as gzip. `level` as gzip_compress(). */
void pprof_encode_gzip(const struct pprof *p, int level, struct buf *out);

#endif
