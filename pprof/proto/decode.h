/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode: turns the bytes of profile.proto into a profile in memory, with the
 * checks that google/pprof makes (proto.go's decoder, encode.go's postDecode,
 * profile.go's CheckValid). Legacy formats are decoded too.
 *
 * Ownership: the decoder owns the profile that it returns, which is valid until
 * the decoder's next use. Strings of the profile point into the input bytes,
 * except if the format is a legacy one.
 * Threads: one thread per decoder.
 */
#ifndef PPROF_PROTO_DECODE_H
#define PPROF_PROTO_DECODE_H

#include "base/err.h"
#include "pprof/profile/profile.h"

/* A decoder; it keeps its memory from one profile to the next. */
struct decoder;

/*
 * Create a decoder that refuses profiles which would need more than `max`
 * bytes of memory. The caller frees it with decoder_free().
 */
struct decoder *decoder_new(size_t max);

/* Free a decoder and its profile. NULL is a no-op. */
void decoder_free(struct decoder *d);

/* Change the memory bound, in bytes, for the next profiles. */
void decoder_set_max(struct decoder *d, size_t max);

/* Return the memory of the decoder and its profile, in bytes. */
size_t decoder_memory(const struct decoder *d);

/*
 * Decode decompressed bytes and store the profile in `*out`. ERR_INVALID: the
 * bytes are not a profile, and the message says why; ERR_LIMIT: the profile
 * needs more memory than allowed.
 */
NODISCARD int decoder_run(struct decoder *d, struct bytes raw,
			  struct pprof **out, struct err *err);

#endif
