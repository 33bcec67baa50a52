/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known labels: the names of the text labels that samples of stored profiles may
 * have. They tell, without reading a profile, whether a matcher of a label can match
 * samples of series that lack this label (docs/decisions.md, 229).
 *
 * The set only grows. It is kept in the file `sample-labels` of a database
 * (docs/format/sample-labels.md), and each block has a copy.
 *
 * Ownership: known_labels_fini() frees everything.
 * Threads: any; two locks inside (docs/locking.md). Readers never wait for the disk.
 */
#ifndef TSDB_BLOCK_KNOWN_LABELS_H
#define TSDB_BLOCK_KNOWN_LABELS_H

#include "base/arena.h"
#include "base/fs.h"
#include "base/mutex.h"
#include "base/table.h"
#include "base/vec.h"
#include "model/appender.h"
#include "tsdb/block/meta.h"

enum {
	/* With more names, samples may have any label. */
	KNOWN_LABELS_MAX = 1000,
	/* Longer names, and those that are no UTF-8, are no labels of series. */
	KNOWN_LABEL_BYTES_MAX = 2048
};

/* A name. */
struct known_label {
	struct str name;
	bool saved; /* it is in the file */
};

/* The names. */
struct known_labels {
	struct fs *fs;
	char *dir;
	struct mutex save_mu; /* held while the file is written */
	struct mutex mu;
	/* mu guards the members below. */
	bool any; /* samples may have labels of any name */
	bool any_saved;
	/* … until the next start, because a block does not tell its names */
	bool any_of_block;
	bool is_unread; /* the disk could not read the file */
	VEC(struct known_label) names;
	struct table by_name;
	struct arena arena;
};

/* Begin without a name, for the database in dir. */
void known_labels_init(struct known_labels *l, struct fs *fs, const char *dir);

/* Free everything. */
void known_labels_fini(struct known_labels *l);

/*
 * Read the file. If it is missing, the database must be new: of one that `has_data`,
 * samples may have any label. So it is after an error: ERR_CORRUPT, ERR_IO. Unless the
 * database is `read_only`, a file that is missing or damaged is written.
 */
NODISCARD int known_labels_load(struct known_labels *l, bool has_data,
				bool read_only, struct err *err);

/*
 * Append the contents of the file. `salt`, a random number, is stored in the header
 * and is part of the checksums.
 */
void known_labels_encode(struct known_labels *l, uint64_t salt,
			 struct buf *out);

/*
 * Note the names of a sample that is about to be stored; new ones are durable when
 * the call returns. ERR_IO, ERR_NOSPACE: the file could not be written.
 */
NODISCARD int known_labels_note(struct known_labels *l, const struct sample *s,
				struct err *err);

/* Note the names of a block, in memory only. */
void known_labels_note_block(struct known_labels *l, const struct meta *m);

/* Copy the names to the meta.json of a new block. */
void known_labels_copy(struct known_labels *l, struct meta *m);

/* Whether samples may have a label of this name. */
bool known_labels_may_have(struct known_labels *l, struct str name);

/*
 * Call fn() for each name, in no order, under the lock. Returns false if samples may
 * have others.
 */
bool known_labels_each(struct known_labels *l,
		       void (*fn)(void *ctx, struct str name), void *ctx);

#endif
