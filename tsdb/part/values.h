/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values: from a group's head to the profiles in it, whatever their codec.
 *
 * Ownership: values_reader_fini() and values_fini() free.
 * Threads: one thread a reader.
 */
#ifndef TSDB_PART_VALUES_H
#define TSDB_PART_VALUES_H

#include "model/codec.h"
#include "model/types.h"
#include "tsdb/part/part.h"

/*
 * The zero value is ready. It holds the table of the last stripe, and so must
 * be done before the part that it read goes.
 */
struct values_reader {
	const struct codec *codec; /* of the decoder */
	struct codec_decoder *decoder;
	struct tables *tables; /* where the table is from */
	struct table_ref *table;
	struct chunk_table table_place;
	const struct file *table_file;
	struct table_ref *table_before; /* of those who still add up its rows */
	struct tables *tables_before;
	struct buf stored;
	uint64_t reads;                /* groups so far */
	const struct codec_rows *rows; /* of one group, or NULL */
	const struct file *rows_file;
	uint64_t rows_offset;
	bool rows_types[TYPES_MAX];
};

void values_reader_fini(struct values_reader *r);

/* Bytes that it takes, but for tables, which are shared. */
size_t values_reader_memory(const struct values_reader *r);

/* NULL: a codec that this everprof lacks, or that the part cannot have. */
const struct codec *values_codec(struct part p, uint8_t id);

/*
 * The stored bytes of a group, borrowed from the reader until its next call.
 * ERR_CORRUPT: not those that were stored; *out is set all the same.
 */
NODISCARD int values_stored(struct values_reader *r, const struct file *f,
			    const struct chunk_place *place, struct bytes *out,
			    struct err *err);

/*
 * The table of a group's stripe, held until the next call; NULL when the group
 * has none. ERR_CORRUPT, ERR_IO; ERR_UNSUPPORTED: its codec is not there.
 */
NODISCARD int values_table(struct values_reader *r, struct part p,
			   const struct chunk_meta *h,
			   const struct codec_table **out, struct err *err);

/* Replace out by the index-th profile, verified by its hash. */
NODISCARD int values_one(struct values_reader *r, struct part p,
			 const struct chunk_meta *h, size_t index,
			 struct buf *out, struct err *err);

/*
 * A group as its codec sees it (model/codec.h), until the next call; its table
 * is there one call longer. types: which sample types are wanted, one for each
 * that it has. ERR_UNSUPPORTED: its codec has nothing of the kind.
 */
NODISCARD int values_rows(struct values_reader *r, struct part p,
			  const struct chunk_meta *h, const bool *types,
			  const struct codec_rows **out, struct err *err);

/* All profiles of a group, one behind another. */
struct values {
	struct buf bytes;
	size_t at[CHUNK_PROFILES_MAX];
	bool ok[CHUNK_PROFILES_MAX]; /* its hash agrees */
};

/*
 * Replace out by a group's profiles. Of a damaged group what can be had is
 * had, and *err says what is wrong: ERR_CORRUPT. ERR_IO: nothing was read.
 */
NODISCARD int values_all(struct values_reader *r, struct part p,
			 const struct chunk_meta *h, struct values *out,
			 struct err *err);

#endif
