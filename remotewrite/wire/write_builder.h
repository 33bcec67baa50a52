/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the message WriteRequest (docs/format/remote-write.md). A profile is
 * decompressed into its place in the message, and not copied after that.
 *
 * Ownership: the message is the caller's buffer. Encoded labels are bytes that
 * the caller keeps.
 * Threads: one thread at a time for each builder.
 */
#ifndef REMOTEWRITE_WIRE_WRITE_BUILDER_H
#define REMOTEWRITE_WIRE_WRITE_BUILDER_H

#include "model/labels.h"
#include "model/sample_log.h"

/* A builder, with its decompressors. */
struct write_builder;

/* Create a builder; never fails. The caller frees it. */
struct write_builder *write_builder_new(void);

/* Free a builder. NULL is a no-op. */
void write_builder_free(struct write_builder *b);

/*
 * Append the labels of a series to `out`, as the fields `labels` of a message
 * ProfileSeries.
 */
void write_labels_encode(const struct labels *labels, struct buf *out);

/*
 * Return by how many bytes a sample makes a message longer. `labels_len` is the
 * length of its encoded labels.
 */
size_t write_sample_size(size_t labels_len, uint32_t raw_len, int64_t ms);

/*
 * Append a sample to a message, as a series of its own. `labels` was made by
 * write_labels_encode(); s->labels is not used. ERR_CORRUPT: the body is
 * damaged. ERR_TOOBIG: the message would exceed the maximum of `message`. After
 * an error the message is as before.
 */
NODISCARD int write_builder_add(struct write_builder *b, struct bytes labels,
				const struct logged_sample *s,
				struct buf *message, struct err *err);

#endif
