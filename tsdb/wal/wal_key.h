/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a WAL (`wal/key`, docs/format/segment.md): what the salts of its
 * segments are made of. A segment whose first sector is lost can be read all
 * the same: its salt, without which no record is believed, is known from here.
 *
 * Ownership: a plain value.
 * Threads: immutable once loaded.
 */
#ifndef TSDB_WAL_WAL_KEY_H
#define TSDB_WAL_WAL_KEY_H

#include "base/file.h"
#include "base/log.h"

struct wal_key {
	bool known; /* false: salts are random */
	uint64_t value;
};

/*
 * Read the key, or make it durably unless read-only. Whatever fails is logged,
 * and costs no more than that a lost header cannot be made up.
 */
void wal_key_load(struct wal_key *k, struct fs *fs, const char *dir,
		  bool read_only, const struct log *log);

/* The salt of a segment. ERR_IO: there are no random bytes. */
NODISCARD int wal_key_salt(const struct wal_key *k, uint64_t segment,
			   uint64_t *out, struct err *err);

#endif
