/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches what becomes of each series of a queue: whether the series is sent
 * and, if so, with which labels, and the hash of these labels, which decides
 * the shard. Relabelling runs only for series that the cache does not have.
 *
 * Ownership: series_cache_free() frees the cache. The bytes of
 * sent_series.labels belong to the cache. They are valid until the next call of
 * series_cache_find() or series_cache_clear().
 * Threads: one thread at a time.
 */
#ifndef REMOTEWRITE_SEND_SERIES_CACHE_H
#define REMOTEWRITE_SEND_SERIES_CACHE_H

#include "remotewrite/send/remote_write_config.h"

/* A series as it is sent. */
struct sent_series {
	/* the labels, encoded for a message; empty: the series is not sent */
	struct bytes labels;
	uint64_t hash; /* of the labels; it decides the shard */
};

/*
 * The external labels and the rules that determine the labels of sent series.
 * Borrowed.
 */
struct series_rules {
	const struct relabel_rules *relabel;
	const struct label *external;
	size_t external_count;
};

struct series_cache;

/* Create a cache; never fails. */
struct series_cache *series_cache_new(void);

/* Free a cache; NULL is a no-op. */
void series_cache_free(struct series_cache *c);

/* Forget all series, because the rules have changed. */
void series_cache_clear(struct series_cache *c);

/*
 * Find a series by `labels`, the encoded labels that it has in the log. If the
 * cache does not have the series, make an entry: add the external labels that
 * the series lacks, then apply the rules. Sets *out. ERR_CORRUPT: the labels
 * are damaged. ERR_LIMIT: a rule exceeds a limit; see relabel_apply().
 * ERR_INVALID, ERR_DENIED: labels_build() refuses the labels that the rules
 * produce.
 */
NODISCARD int series_cache_find(struct series_cache *c, struct bytes labels,
				const struct series_rules *rules,
				struct sent_series *out, struct err *err);

#endif
