/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode: from profile.proto's bytes to a profile in memory, with the checks
 * that google/pprof makes (proto.go's decoder, encode.go's postDecode,
 * profile.go's CheckValid).
 *
 * Ownership: the decoder owns the profile that it hands out, until its next
 * use; texts borrow from the bytes.
 * Threads: one thread a decoder.
 */
#ifndef PPROF_DECODE_H
#define PPROF_DECODE_H

#include "base/err.h"
#include "pprof/profile/profile.h"

struct decoder;

/* Profiles that would take more than max bytes are refused. */
struct decoder *decoder_new(size_t max);
void decoder_free(struct decoder *d);

/* Another bound for what comes. */
void decoder_set_max(struct decoder *d, size_t max);

/* What its workspace takes. */
size_t decoder_memory(const struct decoder *d);

/* ERR_INVALID says why the bytes are no profile. ERR_LIMIT. */
NODISCARD int decoder_run(struct decoder *d, struct bytes raw,
			  struct pprof **out, struct err *err);

#endif
