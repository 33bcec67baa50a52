/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile store: the step by which a received profile enters storage. It
 * decompresses the profile, checks it, compresses it for the WAL if it came
 * uncompressed, and appends it. Scrapes, remote write, pushes and the eBPF
 * collector store their profiles by this step.
 *
 * Ownership: options are borrowed; profile_store_free() frees a store.
 * Threads: any; each thread that stores profiles has tools of its own.
 */
#ifndef INGEST_PROFILE_STORE_H
#define INGEST_PROFILE_STORE_H

#include "base/ingest_limiter.h"
#include "pprof/proto/unpack.h"

/* A profile store. */
struct profile_store;

/*
 * Decompressors and buffers, with which one thread at a time stores profiles,
 * one after another.
 */
struct store_tools;

/* Options of profile_store_new(); everything is borrowed. */
struct profile_store_options {
	struct appender *appender;
	/*
	 * Its lock lets one large profile at a time be decompressed. NULL: no
	 * such lock.
	 */
	struct ingest_limiter *limiter;
	/* maximum size of a profile, in bytes after decompression */
	size_t max_profile;
};

/* How to store a profile. */
struct store_order {
	struct labels *labels; /* borrowed */
	int64_t ms;
	/*
	 * Whether a profile that came uncompressed is compressed for the WAL,
	 * if it gets smaller.
	 */
	bool pack;
	/*
	 * If another profile of the series has the time `ms`, up to this many
	 * later times are tried, each 1 ms after the one before. The walk ends
	 * at a time with the same profile, which then counts as stored.
	 */
	unsigned nudges;
};

/* What became of a profile. */
struct store_receipt {
	uint64_t lsn;     /* for appender.sync() */
	unsigned nudged;  /* by how many ms the time was moved */
	uint64_t samples; /* number of samples of the profile */
};

/* Create a store; never fails. */
struct profile_store *profile_store_new(const struct profile_store_options *o);

/* Free a store that no thread uses any more. NULL is a no-op. */
void profile_store_free(struct profile_store *s);

/*
 * Take tools that no other thread uses, and give them back. There are at most
 * as many tools as were in use at the same time.
 */
struct store_tools *profile_store_take(struct profile_store *s);
void profile_store_give(struct profile_store *s, struct store_tools *t);

/*
 * Return a decompressor, and an empty buffer, for the request in which profiles
 * came. Both belong to the tools; a large buffer is freed when they are given
 * back.
 */
struct zstd *profile_store_zstd(struct store_tools *t);
struct buf *profile_store_message(struct store_tools *t);

/*
 * Decompress and scan a profile. The result, which the tools own, is valid
 * until the next call or until the tools are given back, and as long as `body`.
 * Errors as of unpacker_run().
 */
NODISCARD int profile_store_unpack(struct store_tools *t, struct bytes body,
				   const struct unpacked **out,
				   struct err *err);

/*
 * Append the profile of the last profile_store_unpack(). Errors as of
 * appender.append().
 */
NODISCARD int profile_store_append(struct store_tools *t,
				   const struct store_order *order,
				   struct store_receipt *out, struct err *err);

/* profile_store_unpack(), then profile_store_append(). */
NODISCARD int profile_store_put(struct store_tools *t, struct bytes body,
				const struct store_order *order,
				struct store_receipt *out, struct err *err);

/*
 * Whether an error is temporary: the same profile may be stored later. After
 * any other error it never can be.
 */
bool profile_store_may_retry(int rc);

#endif
