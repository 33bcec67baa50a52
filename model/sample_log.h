/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample log: the durable samples in the order in which they were appended.
 * Remote write reads it. Storage implements it with its write-ahead log.
 *
 * A position is an LSN, or any number between two samples. Positions only grow.
 * They stay valid when the program is restarted.
 *
 * Ownership: whoever implements the interface owns the log.
 * Threads: all functions may be called from any thread.
 */
#ifndef MODEL_SAMPLE_LOG_H
#define MODEL_SAMPLE_LOG_H

#include "base/buf.h"
#include "model/appender.h"

/* One sample, as read from the log. The bytes borrow from the caller's buffer. */
struct logged_sample {
	uint64_t lsn;        /* position of the sample */
	struct bytes labels; /* encoded label set; see labels_decode() */
	int64_t ms;          /* time of the profile, ms since the epoch */
	uint64_t hash;       /* hash_bytes() of the decompressed profile */
	uint32_t raw_len;    /* length of the decompressed profile, in bytes */
	enum body_encoding encoding;
	struct bytes body; /* the profile as received; empty if not read */
};

/* The interface, as a table of functions. */
struct sample_log {
	/* Returns the position of the oldest sample that can be read. */
	uint64_t (*begin)(struct sample_log *l);

	/* Returns the position behind the newest durable sample. */
	uint64_t (*end)(struct sample_log *l);

	/*
	 * Reads the first durable sample at or behind *position, and sets
	 * *position behind it. The sample replaces the contents of `buf`. If
	 * `with_body` is false, the body is not read.
	 *
	 * ERR_AGAIN: there is no such sample yet. ERR_NOTFOUND: samples from
	 * *position on have been removed; *position is set to the oldest one.
	 * ERR_CORRUPT, ERR_IO: a sample cannot be read; *position is set behind
	 * it. ERR_TOOBIG: the sample exceeds the maximum of `buf`; *position is
	 * set behind it.
	 */
	int (*read)(struct sample_log *l, uint64_t *position, bool with_body,
		    struct buf *buf, struct logged_sample *out,
		    struct err *err);

	/*
	 * Waits until there is a durable sample at or behind `position`, but at
	 * most `timeout_ms`.
	 */
	void (*wait)(struct sample_log *l, uint64_t position,
		     int64_t timeout_ms);

	/* Returns the size of all samples from `position` on, in bytes. */
	uint64_t (*bytes)(struct sample_log *l, uint64_t position);

	/*
	 * From now on, samples before `position` may be removed, and those from
	 * `position` on are kept. UINT64_MAX: no sample needs to be kept.
	 * Before the first call, all are kept.
	 */
	void (*keep)(struct sample_log *l, uint64_t position);
};

#endif
