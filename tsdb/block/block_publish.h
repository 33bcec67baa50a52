/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finish a block: write its index and meta.json, sync, and rename it into place.
 * Its public functions are in block_writer.h.
 *
 * Ownership, threads: those of the writer.
 */
#ifndef TSDB_BLOCK_BLOCK_PUBLISH_H
#define TSDB_BLOCK_BLOCK_PUBLISH_H

#include "tsdb/block/block_writer_private.h"

#endif
