/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key of a WAL: the number in the file `wal/key` (docs/format/segment.md), from
 * which the salts of all segments are derived. The salt of a segment is a
 * number that is stored in the segment's header and included in the checksum of
 * each record's head. If the header is lost, the salt is derived from the key
 * again, so that the records can still be verified (docs/decisions.md, 87).
 *
 * Threads: immutable once loaded.
 */
#ifndef TSDB_WAL_WAL_KEY_H
#define TSDB_WAL_WAL_KEY_H

#include "base/file.h"
#include "base/log.h"

struct wal_key {
	bool known; /* whether there is a key; if not, salts are random */
	uint64_t value;
};

/*
 * Read the key from the directory `dir`. If there is none, create it durably,
 * unless `read_only` is set. Failures are only logged: without a key, all
 * segments can be read except those with a lost header.
 */
void wal_key_load(struct wal_key *k, struct fs *fs, const char *dir,
		  bool read_only, const struct log *log);

/*
 * Derive the salt of a segment from the key. If there is no key, make a random
 * salt. ERR_IO: the system has no random bytes.
 */
NODISCARD int wal_key_salt(const struct wal_key *k, uint64_t segment,
			   uint64_t *out, struct err *err);

#endif
