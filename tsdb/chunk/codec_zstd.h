/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codec 1, zstd: a chunk is one zstd frame of its profiles, one behind another.
 * The codec treats them as bytes, accepts everything, and has no dictionary
 * table. Format: docs/format/chunk-meta.md.
 *
 * Ownership: the codec is a constant.
 * Threads: any; an encoder or decoder is used by one thread at a time.
 */
#ifndef TSDB_CHUNK_CODEC_ZSTD_H
#define TSDB_CHUNK_CODEC_ZSTD_H

#include "model/codec.h"

/* The codec's function table. */
extern const struct codec codec_zstd;

#endif
