/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codec 1, zstd: the profiles of a chunk are concatenated and compressed as one
 * zstd frame. The codec treats profiles as bytes, accepts everything, and has
 * no dictionary table. Format: docs/format/chunk-meta.md.
 *
 * Threads: any; an encoder or decoder is used by one thread at a time.
 */
#ifndef TSDB_CHUNK_CODEC_ZSTD_H
#define TSDB_CHUNK_CODEC_ZSTD_H

#include "model/codec.h"

/* The codec's function table. */
extern const struct codec codec_zstd;

#endif
