/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads values (the stored bytes of chunks): finds the profiles of a chunk by
 * its metadata, whatever codec stored them.
 *
 * Ownership: values_reader_fini() frees a reader and everything it holds.
 * Results borrow from the reader, unless they are written to a buffer of the
 * caller.
 * Threads: one thread at a time for each reader.
 */
#ifndef TSDB_BLOCK_VALUES_H
#define TSDB_BLOCK_VALUES_H

#include "model/codec.h"
#include "model/types.h"
#include "tsdb/block/part.h"
#include "tsdb/chunk/tables.h"

/*
 * The state of a reader; a zeroed struct is ready for use. The reader keeps a
 * reference to the dictionary table of the last stripe.
 */
struct values_reader {
	const struct codec *codec; /* codec of the decoder */
	struct codec_decoder *decoder;
	struct table_ref *table; /* table of the last stripe, or NULL */
	struct chunk_table table_place;
	const struct file *table_file;
	struct buf stored;             /* stored bytes of the last chunk */
	uint64_t reads;                /* number of chunks read so far */
	const struct codec_rows *rows; /* rows of the last chunk, or NULL */
	/* Table to which `rows` refer, or NULL. */
	struct table_ref *rows_table;
	const struct file *rows_file;
	uint64_t rows_offset;
	/* Whether `rows` contain the values of each sample type. */
	bool rows_types[TYPES_MAX];
};

/* Free what the reader holds, and leave it zeroed and ready for use. */
void values_reader_fini(struct values_reader *r);

/*
 * Return how many bytes of memory the reader holds, without tables, which all
 * readers share.
 */
size_t values_reader_memory(const struct values_reader *r);

/*
 * Return the codec with this id, or NULL if this build does not have it or the
 * part cannot contain it: heads are stored with zstd only.
 */
const struct codec *values_codec(struct part p, uint8_t id);

/*
 * Set *out to the stored bytes of a chunk or table at `place`, valid until the
 * reader's next call. ERR_CORRUPT: the checksum differs; *out is set
 * nevertheless. ERR_IO: the bytes cannot be read. ERR_TOOBIG: place->len is too
 * large for a buffer.
 */
NODISCARD int values_stored(struct values_reader *r, const struct file *f,
			    const struct chunk_place *place, struct bytes *out,
			    struct err *err);

/*
 * Set *out to the table of the chunk's stripe, or to NULL if the chunk has
 * none. The reference belongs to the reader; a caller that keeps the table
 * takes another reference with table_ref(). ERR_CORRUPT, ERR_IO: the table
 * cannot be read. ERR_UNSUPPORTED: the chunk's codec is not available.
 */
NODISCARD int values_table(struct values_reader *r, struct part p,
			   const struct chunk_meta *h, struct table_ref **out,
			   struct err *err);

/*
 * Replace the contents of `out` by profile number `index` of the chunk,
 * verified against its hash. ERR_CORRUPT, ERR_IO: the profile is damaged or
 * cannot be read. ERR_UNSUPPORTED: the chunk's codec is not available.
 */
NODISCARD int values_one(struct values_reader *r, struct part p,
			 const struct chunk_meta *h, size_t index,
			 struct buf *out, struct err *err);

/*
 * Set *out to the rows of a chunk (its profiles in the codec's own
 * representation, model/codec.h), valid until the next call. Sets *table to the
 * table to which the rows refer; the reference belongs to the reader, as in
 * values_table(). `types` says for each sample type of the chunk whether the
 * caller needs its values. ERR_UNSUPPORTED: the codec of the chunk has no rows.
 * ERR_CORRUPT, ERR_IO: the chunk cannot be read.
 */
NODISCARD int values_rows(struct values_reader *r, struct part p,
			  const struct chunk_meta *h, const bool *types,
			  const struct codec_rows **out,
			  struct table_ref **table, struct err *err);

/* All profiles of a chunk, concatenated. */
struct values {
	struct buf bytes;
	size_t at[CHUNK_PROFILES_MAX]; /* offset of each profile in `bytes` */
	/* Whether each profile is intact: its hash agrees. */
	bool ok[CHUNK_PROFILES_MAX];
};

/*
 * Replace the contents of `out` by all profiles of a chunk. ERR_CORRUPT: some
 * profiles are damaged; *err describes the damage, and out->ok says which
 * profiles are intact. ERR_IO: nothing was read. ERR_UNSUPPORTED: the codec is
 * not available.
 */
NODISCARD int values_all(struct values_reader *r, struct part p,
			 const struct chunk_meta *h, struct values *out,
			 struct err *err);

#endif
