/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appender: the one way into storage. Scraper, import, push endpoints and the
 * remote-write receiver all feed it.
 *
 * Ownership: the implementation owns itself; samples are borrowed for the
 * call.
 * Threads: any.
 */
#ifndef MODEL_APPENDER_H
#define MODEL_APPENDER_H

#include "base/err.h"
#include "model/labels.h"

/* How a body is encoded, in memory and in WAL records. */
enum body_encoding {
	BODY_PLAIN = 0,
	BODY_DEFLATE = 1, /* gzip or zlib, as its first bytes say */
	BODY_ZSTD = 2,
};

/*
 * One profile on its way in. Everything is borrowed for the call.
 */
struct sample {
	struct labels *labels; /* with __name__ */
	int64_t ms;            /* since the epoch */

	enum body_encoding encoding;
	struct bytes body; /* as received */

	/* What a scan of the decoded body found. */
	uint32_t raw_len;      /* bytes, decoded */
	uint64_t hash;         /* hash_bytes() of the decoded bytes */
	struct bytes typeset;  /* encoding of model/types.h */
	const int64_t *totals; /* a sum a sample type */
	uint64_t sample_count;
	int64_t duration_ns;
	int64_t period;
};

struct appender {
	/*
	 * Store a sample. Readers see it when this returns; it is durable
	 * once sync(*lsn) has returned. The same sample again (labels, time,
	 * hash) is success. ERR_INVALID: never acceptable (time out of
	 * bounds). ERR_EXISTS: another profile is stored at this time.
	 * ERR_LIMIT, ERR_NOSPACE, ERR_IO: not now.
	 */
	int (*append)(struct appender *a, const struct sample *s, uint64_t *lsn,
		      struct err *err);

	/* Return when all up to lsn is durable, or never will be (ERR_IO). */
	int (*sync)(struct appender *a, uint64_t lsn, struct err *err);
};

#endif
