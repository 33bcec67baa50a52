/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finishing a block: write its index and meta.json, fsync everything, and
 * rename the directory to its final name. The public functions are declared in
 * block_writer.h.
 *
 * Ownership: the caller owns the writer.
 * Threads: one thread at a time.
 */
#ifndef TSDB_BLOCK_BLOCK_PUBLISH_H
#define TSDB_BLOCK_BLOCK_PUBLISH_H

#include "tsdb/block/block_writer_private.h"

#endif
