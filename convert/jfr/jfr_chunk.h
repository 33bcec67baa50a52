/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JFR chunk: a recording is a list of chunks, each with its own classes and constants,
 * and a chunk is a list of events after a header of 68 bytes.
 * Source: as jfr_reader.h, and jdk.jfr.internal.consumer.ChunkHeader.
 *
 * Ownership: a chunk borrows the recording.
 * Threads: plain values.
 */
#ifndef CONVERT_JFR_JFR_CHUNK_H
#define CONVERT_JFR_JFR_CHUNK_H

#include "base/err.h"
#include "convert/jfr/jfr_reader.h"

/* A chunk. */
struct jfr_chunk {
	struct bytes bytes;
	uint64_t constants;    /* offset of the last event of constants */
	struct bytes metadata; /* of the event that describes the classes */
	int64_t start_ns;
	int64_t duration_ns;
	uint64_t ticks_per_second;
};

/*
 * Read the first chunk of *recording, and remove it from there. *is_cut: it is not
 * complete, so that it cannot be read, and nothing behind it. ERR_INVALID: the bytes
 * are no recording; ERR_MEDIA: of another version.
 */
NODISCARD int jfr_chunk_next(struct bytes *recording, struct jfr_chunk *out,
			     bool *is_cut, struct err *err);

/* Return a reader of the events of a chunk. */
struct jfr_reader jfr_chunk_events(const struct jfr_chunk *c);

/*
 * Read the next event: its fields, and the ID of its class. False at the end, and
 * after an error, which sets r->bad.
 */
bool jfr_chunk_event(struct jfr_reader *r, struct jfr_reader *fields,
		     uint64_t *class_id);

/* Return a time in ticks as nanoseconds. */
int64_t jfr_chunk_ns(const struct jfr_chunk *c, uint64_t ticks);

#endif
