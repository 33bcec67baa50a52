/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codec 1: a group is one zstd frame of its values, one behind another. Knows
 * nothing of what they are, never refuses, has no table.
 * Format: docs/format/head.md.
 *
 * Ownership: the codec is a constant.
 * Threads: any; its encoders and decoders: one thread each.
 */
#ifndef TSDB_CHUNK_CODEC_ZSTD_H
#define TSDB_CHUNK_CODEC_ZSTD_H

#include "model/codec.h"

extern const struct codec codec_zstd;

#endif
