/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample log: the durable samples in the order in which they were appended.
 * Remote write reads the log. Storage implements it with its write-ahead log.
 *
 * A position is an LSN, or any number between two samples. Positions only grow.
 * They stay valid when the program is restarted.
 *
 * Ownership: the implementation owns the log.
 * Threads: all functions may be called from any thread.
 */
#ifndef MODEL_SAMPLE_LOG_H
#define MODEL_SAMPLE_LOG_H

#include "base/buf.h"
#include "model/appender.h"

/*
 * One sample, as read from the log. Its bytes are borrowed from the caller's
 * buffer.
 */
struct logged_sample {
	uint64_t lsn; /* position of the sample */
	/*
	 * One more than that of the sample before it in the log. So if numbers
	 * are missing between two samples that were read, samples are lost. 0:
	 * not known.
	 */
	uint64_t number;
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

	/* Returns the position after the newest durable sample. */
	uint64_t (*end)(struct sample_log *l);

	/* Returns the number that the next sample to be appended gets. */
	uint64_t (*next_number)(struct sample_log *l);

	/*
	 * Reads the first durable sample at or after *position, and moves
	 * *position to the position after that sample. The sample replaces the
	 * contents of `buf`. If `with_body` is false, the body is not read.
	 *
	 * ERR_AGAIN: there is no such sample yet. ERR_NOTFOUND: samples from
	 * *position on could not be read, and will be appended, or were appended,
	 * again; *position is set to a position behind them, and the numbers of
	 * samples say nothing of what is between.
	 * ERR_CORRUPT: a sample is damaged; *position is set
	 * after it. ERR_IO: the disk did not read a sample; *position stays, and
	 * the caller tries again later, or calls skip(). ERR_TOOBIG: the sample
	 * exceeds the maximum of `buf`; *position is set after it.
	 */
	int (*read)(struct sample_log *l, uint64_t *position, bool with_body,
		    struct buf *buf, struct logged_sample *out,
		    struct err *err);

	/*
	 * Moves *position after a sample that the disk cannot read. The log
	 * keeps the file of that sample, also across a crash, and appends its
	 * samples again when the disk can read it. An error: this cannot be
	 * promised now, and *position stays.
	 */
	int (*skip)(struct sample_log *l, uint64_t *position, struct err *err);

	/*
	 * Waits until there is a durable sample at or after `position`, but at
	 * most `timeout_ms`.
	 */
	void (*wait)(struct sample_log *l, uint64_t position,
		     int64_t timeout_ms);

	/*
	 * Whether there are samples that are kept for the caller of keep() alone.
	 */
	bool (*holds)(struct sample_log *l);

	/* Returns the size of all samples from `position` on, in bytes. */
	uint64_t (*bytes)(struct sample_log *l, uint64_t position);

	/*
	 * Permits the log to remove samples before `position`, and keeps those
	 * from `position` on. UINT64_MAX: no sample needs to be kept. Until the
	 * first call, all samples are kept.
	 */
	void (*keep)(struct sample_log *l, uint64_t position);
};

#endif
