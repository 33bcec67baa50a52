/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/block/block_writer.h"

#include <stdio.h>

#include "base/crc32c.h"
#include "base/enc.h"
#include "base/fs.h"
#include "base/vec.h"
#include "model/codec.h"
#include "tsdb/io/record.h"

/*
 * A values file of the block that is being written. `live` is the number of its
 * bytes that belong to chunks of the block and their tables.
 */
struct values_file {
	uint64_t size;
	uint64_t live;
	uint32_t crc;
};

/*
 * A chunk whose metadata is not written yet, because its stripe has not ended.
 */
struct waiting {
	size_t at; /* offset of its encoded metadata in `fronts` */
	size_t len;
	struct chunk_place place;
	uint8_t codec;
	size_t chunk; /* the caller's number of the chunk */
	/* Times of its first and last profile. */
	int64_t min;
	int64_t max;
};

/*
 * Where a table is. Its bytes have been counted as live, because a chunk of the
 * block uses it.
 */
struct live_table {
	uint32_t file;
	uint64_t offset;
};

/* A block that is being written. */
struct block_writer {
	const struct block_env *env;
	char *path; /* temporary directory */
	bool published;
	struct meta meta;

	/*
	 * The values file being written; values.file is NULL if there is none.
	 */
	struct outfile values;
	uint32_t current; /* number of the values file being written */
	struct values_file *files;
	size_t file_count;
	size_t file_cap;

	struct outfile chunks;
	uint32_t segment; /* number of the chunk file, from 1; 0: none yet */
	struct buf scratch;
	struct index_writer *index;

	/*
	 * The current stripe. Its chunks and its table are in one values file.
	 */
	bool in_stripe;
	VEC(struct waiting) waiting;
	VEC(struct live_table) tables;
	struct buf fronts; /* encoded metadata of `waiting`, without places */
};

/*
 * Number of bytes copied at once from file to file, and maximum number of
 * chunks in a stripe.
 */
#define COPY_PIECE        MIB
#define STRIPE_GROUPS_MAX 4096
/*
 * Number of bytes kept free in a values file for the last chunk and the table
 * of a stripe.
 */
#define STRIPE_ROOM (64 * MIB)

/* Create the temporary directory with its sub-directories. */
static int make_dirs(struct block_writer *w, struct err *err)
{
	CLEANUP(mem_freep) char *chunks = mem_printf("%s/chunks", w->path);
	CLEANUP(mem_freep) char *values = mem_printf("%s/values", w->path);
	struct fs *fs = w->env->fs;
	int rc = fs_mkdir(fs, w->path, err);

	/* The directory is left over from a failed attempt. */
	if (rc == ERR_EXISTS && !fs_remove_dir(fs, w->path, err))
		rc = fs_mkdir(fs, w->path, err);
	if (!rc)
		rc = fs_mkdir(fs, chunks, err);
	if (!rc)
		rc = fs_mkdir(fs, values, err);
	/* Callers would conclude from ERR_EXISTS that the block exists. */
	return rc == ERR_EXISTS ?
		       err_wrap(err, ERR_IO, "cannot create a new block") :
		       rc;
}

/*
 * The times of the block begin as INT64_MAX and INT64_MIN, so that the times of
 * the first chunk replace them.
 */
int block_writer_new(const struct block_env *env, const struct ulid *ulid,
		     struct block_writer **out, struct err *err)
{
	struct block_writer *w = mem_new(struct block_writer);
	int rc;

	w->env = env;
	w->path = block_path(env, ulid, BLOCK_TMP_SUFFIX);
	w->meta.ulid = *ulid;
	w->meta.first_ms = INT64_MAX;
	w->meta.last_ms = INT64_MIN;
	rc = make_dirs(w, err);
	if (rc)
		block_writer_free(w);
	else
		*out = w;
	return rc;
}

void block_writer_free(struct block_writer *w)
{
	if (!w)
		return;
	outfile_close(&w->values);
	outfile_close(&w->chunks);
	index_writer_free(w->index);
	if (!w->published)
		/* The next startup removes the directory. */
		(void)!fs_remove_dir(w->env->fs, w->path, NULL);
	meta_fini(&w->meta);
	buf_fini(&w->scratch);
	vec_fini(&w->waiting);
	vec_fini(&w->tables);
	buf_fini(&w->fronts);
	mem_free(w->files);
	mem_free(w->path);
	mem_free(w);
}

const char *block_writer_path(const struct block_writer *w)
{
	return w->path;
}

struct meta *block_writer_meta(struct block_writer *w)
{
	return &w->meta;
}

/* Path of a values file; the caller frees it. */
static char *values_path(const struct block_writer *w, uint32_t number)
{
	return mem_printf("%s/values/%06u", w->path, number);
}

/* Add a values file to the list, and return its number. */
static uint32_t new_number(struct block_writer *w)
{
	w->files = mem_grow(w->files, w->file_count, &w->file_cap,
			    sizeof(*w->files));
	w->files[w->file_count++] = (struct values_file){ 0 };
	return (uint32_t)w->file_count;
}

/*
 * Finish the values file being written, if any, and note its size and checksum.
 * ERR_NOSPACE, ERR_IO: it is not durable.
 *
 * The size and the checksum of the file are known only now;
 * block_writer_finish() writes them to meta.json.
 */
NODISCARD static int close_values(struct block_writer *w, struct err *err)
{
	struct values_file *f;
	int rc;

	if (!w->values.file)
		return 0;
	f = &w->files[w->current - 1];
	rc = outfile_finish(&w->values, err);
	f->size = w->values.size;
	f->crc = w->values.crc;
	outfile_close(&w->values);
	return rc;
}

/* Begin a values file with a header, which has a new random salt. */
static int begin_values(struct block_writer *w, struct err *err)
{
	struct file_header h = { .magic = MAGIC_BLOCK_VALUES };
	CLEANUP(mem_freep) char *path = NULL;
	int rc = record_make_salt(&h.salt, err);

	if (rc)
		return rc;
	w->current = new_number(w);
	h.number = w->current;
	path = values_path(w, w->current);
	rc = outfile_open(&w->values, w->env->fs, path, err);
	if (rc)
		return rc;
	buf_reset(&w->scratch);
	file_header_encode(&h, &w->scratch);
	outfile_add(&w->values, buf_bytes(&w->scratch));
	return 0;
}

/*
 * Finish the chunk file being written, if any, and list it in meta.json.
 * ERR_NOSPACE, ERR_IO: it is not durable.
 */
NODISCARD static int close_chunks(struct block_writer *w, struct err *err)
{
	char name[META_NAME_MAX];
	struct meta_file *f;
	int rc;

	if (!w->chunks.file)
		return 0;
	rc = outfile_finish(&w->chunks, err);
	snprintf(name, sizeof(name), "chunks/%06u", w->segment);
	f = meta_add_file(&w->meta, name);
	f->size = w->chunks.size;
	f->crc = w->chunks.crc;
	outfile_close(&w->chunks);
	return rc;
}

/* Begin the next chunk file. */
static int begin_chunks(struct block_writer *w, struct err *err)
{
	CLEANUP(mem_freep)
	char *path = mem_printf("%s/chunks/%06u", w->path, ++w->segment);
	uint8_t header[CHUNK_HEADER] = { 0 };
	int rc = outfile_open(&w->chunks, w->env->fs, path, err);

	if (rc)
		return rc;
	enc_put_be32(header, CHUNK_MAGIC);
	header[4] = 1; /* format version */
	outfile_add(&w->chunks, (struct bytes){ header, sizeof(header) });
	return 0;
}

/*
 * Add a chunk to the statistics in meta.json, and its bytes to the live bytes
 * of its values file.
 */
static void block_writer_count_live(struct block_writer *w,
				    const struct chunk_meta *h)
{
	struct meta *m = &w->meta;
	const struct chunk_profile *last = &h->profiles[h->count - 1];

	m->samples += h->count;
	m->chunks++;
	if (h->profiles[0].ms < m->first_ms)
		m->first_ms = h->profiles[0].ms;
	if (last->ms > m->last_ms)
		m->last_ms = last->ms;
	for (size_t i = 0; i < h->count; i++)
		m->raw_bytes += h->profiles[i].raw_len;
	w->files[h->place.file - 1].live += h->place.len;
}

/* Keep a chunk's metadata until its stripe ends. */
static void block_writer_wait(struct block_writer *w, struct chunk_meta *h,
			      struct bytes typeset, size_t chunk)
{
	struct waiting *x = vec_add(&w->waiting);

	h->typeset = meta_typeset(&w->meta, typeset);
	*x = (struct waiting){ .at = w->fronts.len,
			       .place = h->place,
			       .codec = h->codec,
			       .chunk = chunk,
			       .min = h->profiles[0].ms,
			       .max = h->profiles[h->count - 1].ms };
	chunk_meta_encode_front(h, &w->fronts);
	x->len = w->fronts.len - x->at;
	block_writer_count_live(w, h);
}

void block_writer_linked(struct block_writer *w, struct chunk_meta *h,
			 struct bytes typeset, size_t chunk)
{
	block_writer_wait(w, h, typeset, chunk);
}

/*
 * Begin another values file if the current one has too little room for a
 * stripe. A stripe is never split, because its table must be in the same file
 * as its chunks; a file may exceed its limit instead.
 */
static int room_for(struct block_writer *w, size_t len, struct err *err)
{
	size_t want = len > STRIPE_ROOM ? len : STRIPE_ROOM;
	int rc = 0;

	if (w->values.file && w->values.size > FILE_HEADER && !w->in_stripe &&
	    w->values.size + want > BLOCK_VALUES_MAX)
		rc = close_values(w, err);
	if (!rc && !w->values.file)
		rc = begin_values(w, err);
	return rc;
}

/*
 * Append bytes to the values file. Returns the first error of all writes to the
 * file so far, or 0.
 */
static int block_writer_add_values(struct block_writer *w, struct bytes stored,
				   struct err *err)
{
	outfile_add(&w->values, stored);
	if (w->values.rc && err)
		*err = w->values.err;
	return w->values.rc;
}

int block_writer_group(struct block_writer *w, struct chunk_meta *h,
		       struct bytes stored, struct bytes typeset, size_t chunk,
		       struct err *err)
{
	int rc = room_for(w, stored.len, err);

	if (rc)
		return rc;
	h->place.file = w->current;
	h->place.offset = w->values.size;
	/*
	 * Only chunks that share a table must be in the same file. A chunk
	 * stored with zstd has no table, so it does not begin a stripe.
	 */
	w->in_stripe = w->in_stripe || h->codec != CODEC_ZSTD;
	rc = block_writer_add_values(w, stored, err);
	if (!rc)
		block_writer_wait(w, h, typeset, chunk);
	return rc;
}

int block_writer_table(struct block_writer *w, struct bytes stored,
		       struct chunk_table *out, struct err *err)
{
	int rc = room_for(w, stored.len, err);

	if (rc)
		return rc;
	w->in_stripe = true;
	*out = (struct chunk_table){ .offset = w->values.size,
				     .len = (uint32_t)stored.len,
				     .crc = crc32c_extend(0, stored) };
	return block_writer_add_values(w, stored, err);
}

/*
 * Metadata that waits for the end of its stripe takes about 600 bytes of memory
 * per chunk (docs/decisions.md, 46).
 */
bool block_writer_is_full(const struct block_writer *w)
{
	return w->waiting.count >= STRIPE_GROUPS_MAX ||
	       (w->values.file &&
		w->values.size + STRIPE_ROOM > BLOCK_VALUES_MAX);
}

/* Count a table as live once, however many chunks use it. */
static void count_table(struct block_writer *w, const struct chunk_place *p)
{
	if (!p->table.len)
		return;
	for (size_t i = 0; i < w->tables.count; i++) {
		if (w->tables.v[i].file == p->file &&
		    w->tables.v[i].offset == p->table.offset)
			return;
	}
	*vec_add(&w->tables) = (struct live_table){ p->file, p->table.offset };
	w->files[p->file - 1].live += p->table.len;
}

/* Write the metadata of one chunk and set the index entry that refers to it. */
static int block_writer_write_chunk(struct block_writer *w,
				    const struct waiting *x,
				    struct index_chunk *chunk, struct err *err)
{
	struct buf len = { 0 };
	struct buf *b = &w->scratch;
	uint8_t crc[4];
	int rc = 0;

	buf_reset(b);
	buf_byte(b, CHUNK_GROUP);
	buf_add(b, w->fronts.ptr + x->at, x->len);
	chunk_meta_encode_place(&x->place, b);
	if (w->chunks.size + b->len + 16 > BLOCK_CHUNKS_MAX)
		rc = close_chunks(w, err);
	if (!rc && !w->chunks.file)
		rc = begin_chunks(w, err);
	if (rc)
		return rc;
	*chunk = (struct index_chunk){
		.min = x->min,
		.max = x->max,
		.ref = (uint64_t)(w->segment - 1) << 32 | w->chunks.size,
	};
	enc_uvarint(&len, b->len - 1);
	outfile_add(&w->chunks, buf_bytes(&len));
	buf_fini(&len);
	outfile_add(&w->chunks, buf_bytes(b));
	enc_put_be32(crc, crc32c_extend(0, buf_bytes(b)));
	outfile_add(&w->chunks, (struct bytes){ crc, sizeof(crc) });
	return 0;
}

/*
 * Chunks that came with a table of their own keep it; other chunks stored as
 * columns get the stripe's table.
 */
int block_writer_stripe(struct block_writer *w, struct bytes table,
			struct index_chunk *chunks, struct err *err)
{
	struct chunk_table own = { 0 };
	int rc = 0;

	if (table.len)
		rc = block_writer_table(w, table, &own, err);
	for (size_t i = 0; i < w->waiting.count && !rc; i++) {
		struct waiting *x = &w->waiting.v[i];

		if (!x->place.table.len && x->codec != CODEC_ZSTD)
			x->place.table = own;
		count_table(w, &x->place);
		rc = block_writer_write_chunk(w, x, &chunks[x->chunk], err);
	}
	w->in_stripe = false;
	w->waiting.count = 0;
	buf_reset(&w->fronts);
	return rc;
}

/*
 * Empty the list of tables, so that count_table() searches only the tables of
 * the current target.
 */
void block_writer_end_target(struct block_writer *w)
{
	w->tables.count = 0;
}

/*
 * Copy a values file. The bytes are not verified here: the new block gets size
 * and checksum from the meta.json of the original block, so readers detect a
 * bad copy.
 */
static int block_writer_copy(struct block_writer *w, struct file *from,
			     const char *to, const struct meta_file *f,
			     struct err *err)
{
	CLEANUP(mem_freep) uint8_t *piece = mem_alloc(COPY_PIECE);
	struct outfile out = { 0 };
	int rc = outfile_open(&out, w->env->fs, to, err);

	for (uint64_t at = 0; at < f->size && !rc;) {
		size_t n = f->size - at < COPY_PIECE ? (size_t)(f->size - at) :
						       COPY_PIECE;

		rc = file_read(from, at, piece, n, err);
		if (!rc)
			outfile_add(&out, (struct bytes){ piece, n });
		at += n;
	}
	if (!rc)
		rc = outfile_finish(&out, err);
	outfile_close(&out);
	return rc;
}

/* Values files are immutable, so two blocks can share one file. */
int block_writer_link(struct block_writer *w, const struct block *b,
		      uint32_t number, uint32_t *file, struct err *err)
{
	CLEANUP(mem_freep) char *from = NULL;
	CLEANUP(mem_freep) char *to = NULL;
	const struct meta_file *f;
	char name[META_NAME_MAX];
	int rc;

	snprintf(name, sizeof(name), "values/%06u", number);
	f = meta_file(&b->meta, name);
	if (!f)
		return err_set(err, ERR_CORRUPT,
			       "%s: meta.json does not list the file %s",
			       b->path, name);
	*file = new_number(w);
	w->files[*file - 1] =
		(struct values_file){ .size = f->size, .crc = f->crc };
	from = mem_printf("%s/%s", b->path, name);
	to = values_path(w, *file);
	rc = fs_link(w->env->fs, from, to, err);
	if (rc)
		rc = block_writer_copy(w, block_values(b, number), to, f, err);
	return rc;
}

/* block_writer_free() frees the index writer, also after a failure. */
int block_writer_index(struct block_writer *w, uint32_t symbols, uint64_t bytes,
		       struct index_writer **out, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/index", w->path);
	int rc = index_writer_new(w->env->fs, path, symbols, bytes, &w->index,
				  err);

	*out = w->index;
	return rc;
}

/*
 * Finishing a block: write its index and meta.json, fsync everything, and
 * rename the directory to its final name. The public functions are declared in
 * block_writer.h.
 */

/* Write the rest of the index and list the file in meta.json. */
static int finish_index(struct block_writer *w, struct err *err)
{
	struct meta_file *f = meta_add_file(&w->meta, "index");

	return index_writer_finish(w->index, &f->size, &f->crc, err);
}

/*
 * Add the values files to the list of files in meta.json, in the order of their
 * numbers.
 */
static void name_values(struct block_writer *w)
{
	for (size_t i = 0; i < w->file_count; i++) {
		char name[META_NAME_MAX];
		struct meta_file *f;

		snprintf(name, sizeof(name), "values/%06zu", i + 1);
		f = meta_add_file(&w->meta, name);
		f->size = w->files[i].size;
		f->crc = w->files[i].crc;
		f->live = w->files[i].live;
	}
}

/* Write meta.json, the last file: it lists the checksums of all others. */
static int block_writer_write_meta(struct block_writer *w, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/meta.json", w->path);
	struct outfile out = { 0 };
	struct buf text = { 0 };
	int rc = outfile_open(&out, w->env->fs, path, err);

	if (w->env->known_labels)
		known_labels_copy(w->env->known_labels, &w->meta);
	meta_encode(&w->meta, &text);
	if (!rc) {
		outfile_add(&out, buf_bytes(&text));
		rc = outfile_finish(&out, err);
	}
	outfile_close(&out);
	buf_fini(&text);
	return rc;
}

/* Make the names of all files durable, before the block gets its final name. */
static int sync_dirs(struct block_writer *w, struct err *err)
{
	CLEANUP(mem_freep) char *chunks = mem_printf("%s/chunks", w->path);
	CLEANUP(mem_freep) char *values = mem_printf("%s/values", w->path);
	struct fs *fs = w->env->fs;
	int rc = fs_sync_dir(fs, chunks, err);

	if (!rc)
		rc = fs_sync_dir(fs, values, err);
	return rc ? rc : fs_sync_dir(fs, w->path, err);
}

int block_writer_finish(struct block_writer *w, struct err *err)
{
	int rc = finish_index(w, err);

	if (!rc)
		rc = close_chunks(w, err);
	if (!rc)
		rc = close_values(w, err);
	name_values(w);
	if (!rc)
		rc = block_writer_write_meta(w, err);
	return rc ? rc : sync_dirs(w, err);
}

int block_writer_publish(struct block_writer *w, struct block *b,
			 struct err *err)
{
	CLEANUP(mem_freep)
	char *to = block_path(w->env, &w->meta.ulid, "");
	int rc = fs_rename(w->env->fs, w->path, to, err);

	if (rc)
		return rc;
	rc = fs_sync_dir(w->env->fs, w->env->dir, err);
	/*
	 * If the sync failed, the block is complete, but its name may not be
	 * durable. The rename is undone and the error returned, so that the
	 * caller keeps the parts from which the block was made. If undoing
	 * fails too, the block stays and counts as published.
	 */
	w->published = !rc || fs_rename(w->env->fs, to, w->path, NULL);
	if (rc)
		return rc;
	mem_free(b->path);
	b->path = TAKE(to);
	return 0;
}
