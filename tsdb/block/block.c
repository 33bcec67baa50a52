/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/block/block.h"

#include <stdio.h>

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/units.h"
#include "tsdb/io/record.h"

#define TOMBSTONES_MAX (1024 * MIB)

char *block_path(const struct block_env *env, const struct ulid *u,
		 const char *suffix)
{
	char text[ULID_TEXT + 1];

	ulid_format(u, text);
	return mem_printf("%s/%s%s", env->dir, text, suffix);
}

struct block *block_ref(struct block *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

void block_unref(struct block *b)
{
	if (!b || atomic_fetch_sub(&b->refs, 1) != 1)
		return;
	if (b->env->tables)
		tables_forget(b->env->tables, b);
	index_close(b->index);
	for (size_t i = 0; i < b->chunk_count; i++)
		blob_close(b->chunks[i]);
	mem_free(b->chunks);
	for (size_t i = 0; i < b->value_count; i++)
		file_close(b->values[i]);
	mem_free(b->values);
	tombstones_unref(b->tombstones);
	meta_fini(&b->meta);
	mutex_destroy(&b->mu);
	mem_free(b->path);
	mem_free(b);
}

/* Opening a block. */

/* Report a file whose size differs from its size in meta.json. */
static int size_differs(const struct block *b, const struct meta_file *f,
			uint64_t size, struct err *err)
{
	return err_set(err, ERR_CORRUPT,
		       "%s/%s has %llu bytes, but meta.json says %llu", b->path,
		       f->name, (unsigned long long)size,
		       (unsigned long long)f->size);
}

/*
 * Open a file as a blob and compare its size with meta.json. Checksums of whole
 * files are not verified here, because all bytes would have to be read; readers
 * verify the checksum of each piece.
 */
static int open_blob(struct block *b, const struct meta_file *f,
		     struct blob **out, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", b->path, f->name);
	int rc = blob_open(b->env->fs, path, BLOB_MAP, out, err);

	if (!rc && blob_size(*out) != f->size)
		rc = size_differs(b, f, blob_size(*out), err);
	return rc;
}

/*
 * Log and count damage to a file that the rest of the block does not need. `rc`
 * is the error of opening the file. Returns 0 if the file is damaged, missing
 * or unreadable, so that the block is opened without it; otherwise returns
 * `rc`.
 */
static int block_tell_damage(struct block *b, const char *name, int rc,
			     const struct err *err)
{
	if (rc != ERR_CORRUPT && rc != ERR_NOTFOUND && rc != ERR_IO)
		return rc;
	b->damaged++;
	b->unreadable |= rc == ERR_IO;
	metric_add(b->env->corruptions, 1);
	log_event(b->env->log, LOG_ERROR, meta_file_trouble(name, rc),
		  LOG_FIELDS(log_text("block", b->path), log_text("file", name),
			     log_err(err)));
	return 0;
}

/* Check the magic number and the version of a chunk file. */
static int check_chunks(const struct blob *blob, struct err *err)
{
	struct buf scratch = { 0 };
	struct bytes head = { 0 };
	struct dec d;
	int rc = blob_view(blob, 0, CHUNK_HEADER, &scratch, &head, err);

	d = dec_init(head);
	if (!rc && (dec_be32(&d) != CHUNK_MAGIC || dec_be32(&d) != 0x01000000u))
		rc = err_set(err, ERR_CORRUPT,
			     "%s: the header of the chunks file is damaged",
			     blob_path(blob));
	buf_fini(&scratch);
	return rc;
}

/*
 * Open the next chunk file. If it cannot be opened, its element of the array is
 * NULL, so that the other files keep their numbers. A file with a wrong size or
 * header is used nevertheless, because each chunk has a checksum.
 */
static int open_chunks(struct block *b, const struct meta_file *f,
		       struct err *err)
{
	struct blob *blob = NULL;
	int rc = open_blob(b, f, &blob, err);

	if (!rc)
		rc = check_chunks(blob, err);
	b->chunks = mem_realloc(b->chunks, b->chunk_count + 1,
				sizeof(struct blob *));
	b->chunks[b->chunk_count++] = blob;
	return rc ? block_tell_damage(b, f->name, rc, err) : 0;
}

/* Compare the size of a values file with meta.json, and check its header. */
static int check_values(const struct block *b, const struct meta_file *f,
			const struct file *file, struct err *err)
{
	uint8_t first[FILE_HEADER];
	struct bytes head = { .ptr = first, .len = sizeof(first) };
	struct file_header h = { 0 };
	uint64_t size = 0;
	int rc = file_size(file, &size, err);

	if (!rc && size != f->size)
		rc = size_differs(b, f, size, err);
	if (!rc)
		rc = file_read(file, 0, first, sizeof(first), err);
	if (!rc)
		rc = file_header_decode(head, MAGIC_BLOCK_VALUES, &h, err);
	return rc == ERR_UNSUPPORTED ?
		       err_wrap(err, rc, "%s", file_path(file)) :
		       rc;
}

/*
 * Open the next values file. A damaged file is used nevertheless, because each
 * profile is verified when it is read.
 */
static int block_open_values(struct block *b, const struct meta_file *f,
			     struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", b->path, f->name);
	struct file *file = NULL;
	int rc = file_open(b->env->fs, path, FILE_READ, &file, err);

	if (!rc)
		rc = check_values(b, f, file, err);
	b->values = mem_realloc(b->values, b->value_count + 1,
				sizeof(struct file *));
	b->values[b->value_count++] = file;
	return rc ? block_tell_damage(b, f->name, rc, err) : 0;
}

/*
 * Open the index. Without it the block cannot be used, so its errors are
 * returned.
 */
static int open_index(struct block *b, const struct meta_file *f,
		      struct err *err)
{
	struct blob *blob = NULL;
	int rc;

	if (b->index)
		return err_set(err, ERR_CORRUPT,
			       "%s: meta.json lists two index files", b->path);
	rc = open_blob(b, f, &blob, err);
	if (rc)
		blob_close(blob);
	return rc ? rc : index_open(blob, &b->index, err);
}

/*
 * Open a file that meta.json lists. Chunk and values files must be listed in
 * the order of their numbers.
 */
static int block_open_file(struct block *b, const struct meta_file *f,
			   struct err *err)
{
	char name[META_NAME_MAX];

	b->bytes += f->size;
	if (!strcmp(f->name, "index"))
		return open_index(b, f, err);
	snprintf(name, sizeof(name), "chunks/%06zu", b->chunk_count + 1);
	if (!strcmp(f->name, name))
		return open_chunks(b, f, err);
	snprintf(name, sizeof(name), "values/%06zu", b->value_count + 1);
	if (!strcmp(f->name, name))
		return block_open_values(b, f, err);
	return err_set(err, ERR_CORRUPT,
		       "%s: meta.json lists an unexpected file \"%s\"", b->path,
		       f->name);
}

/* Read meta.json, which lists the other files. */
static int read_meta(struct block *b, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/meta.json", b->path);
	CLEANUP(file_closep) struct file *f = NULL;
	struct buf text = buf_init(META_BYTES_MAX);
	int rc = file_open(b->env->fs, path, FILE_READ, &f, err);

	if (!rc)
		rc = file_read_all(f, &text, err);
	if (!rc)
		rc = meta_decode(buf_bytes(&text), &b->meta, err);
	if (!rc && b->env->known_labels)
		known_labels_note_block(b->env->known_labels, &b->meta);
	b->bytes += text.len;
	buf_fini(&text);
	return rc ? err_wrap(err, rc, "%s", b->path) : 0;
}

/*
 * Read the file of tombstones, and add its size to *size; a block without
 * deletions has none. After an error, *out is empty.
 */
static int block_read_tombstones(struct block *b, struct tombstones **out,
				 uint64_t *size, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/tombstones", b->path);
	CLEANUP(file_closep) struct file *f = NULL;
	struct buf bytes = buf_init(TOMBSTONES_MAX);
	int rc = file_open(b->env->fs, path, FILE_READ, &f, err);
	bool none = rc == ERR_NOTFOUND;

	if (!rc)
		rc = file_read_all(f, &bytes, err);
	if (!rc)
		rc = tombstones_decode(buf_bytes(&bytes), out, err);
	if (rc)
		*out = tombstones_new();
	b->tombstones_unread = rc == ERR_IO;
	*size += bytes.len;
	buf_fini(&bytes);
	return none ? 0 : rc;
}

/*
 * The block is opened without tombstones that cannot be read. Deleted profiles
 * come back, which is better than losing profiles that were not deleted.
 */
static int block_open_tombstones(struct block *b, struct err *err)
{
	int rc = block_read_tombstones(b, &b->tombstones, &b->bytes, err);

	return rc ? block_tell_damage(b, "tombstones", rc, err) : 0;
}

int block_open(const struct block_env *env, const char *path,
	       struct block **out, struct err *err)
{
	struct block *b = mem_new(struct block);
	int rc;

	atomic_init(&b->refs, 1);
	b->env = env;
	b->path = mem_strdup(path);
	mutex_init(&b->mu);
	rc = read_meta(b, err);
	for (size_t i = 0; i < b->meta.file_count && !rc; i++)
		rc = block_open_file(b, &b->meta.files[i], err);
	if (!rc && !b->index)
		rc = err_set(err, ERR_CORRUPT, "%s: meta.json lists no index",
			     path);
	if (!rc)
		rc = block_open_tombstones(b, err);
	/*
	 * The block has a meta.json, so a missing index is damage, not a
	 * missing block.
	 */
	if (rc == ERR_NOTFOUND && b->meta.file_count)
		rc = err_wrap(err, ERR_CORRUPT,
			      "a file of the block is missing");
	if (rc)
		block_unref(b);
	else
		*out = b;
	return rc;
}

/* Reading a block. */

int block_labels(const struct block *b, uint32_t ref, struct labels **out,
		 struct err *err)
{
	struct index_series s = { 0 };
	int rc = index_series(b->index, ref, &s, err);

	if (!rc)
		rc = index_labels(b->index, &s, out, err);
	index_series_fini(&s);
	return rc;
}

int block_groups(struct block *b, uint32_t ref, int64_t from, int64_t to,
		 struct chunks *out, struct err *err)
{
	struct index_series s = { 0 };
	struct tombstones *t = block_tombstones(b);
	int rc = index_series(b->index, ref, &s, err);

	for (size_t i = 0; i < s.chunk_count && !rc; i++) {
		const struct index_chunk *c = &s.chunks[i];

		if (c->min <= to && c->max >= from)
			chunks_add(out, &(struct chunk){ .first = c->min,
							 .last = c->max,
							 .at = c->ref });
	}
	tombstones_gaps(t, ref, out);
	tombstones_unref(t);
	index_series_fini(&s);
	return rc;
}

/* Report a damaged chunk by its file and offset. */
static int chunk_damaged(const struct blob *blob, uint64_t at, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "%s: damaged chunk at offset %llu",
		       blob_path(blob), (unsigned long long)at);
}

#define LENGTH_MAX 10 /* largest size of a uvarint, in bytes */

/*
 * Callback chunk_source.meta. g->at is a chunk reference: (number of the file -
 * 1) << 32 | offset. The chunk's length is read first, then the chunk with its
 * checksum.
 */
static int read_chunk(void *ctx, const struct chunk *g, struct buf *scratch,
		      struct bytes *head, struct err *err)
{
	const struct block *b = ctx;
	uint64_t at = (uint32_t)g->at;
	const struct blob *blob;
	struct bytes covered;
	struct bytes v = { 0 };
	struct dec d;
	uint64_t len;
	int rc;

	if (g->at >> 32 >= b->chunk_count)
		return err_set(
			err, ERR_CORRUPT,
			"%s: the index refers to the file chunks/%06llu, which meta.json does not list",
			b->path, (unsigned long long)(g->at >> 32) + 1);
	blob = b->chunks[g->at >> 32];
	if (!blob)
		return block_tell_absent(b, "chunks", (g->at >> 32) + 1, err);
	if (at + LENGTH_MAX > blob_size(blob)) /* no room for a chunk */
		return chunk_damaged(blob, at, err);
	rc = blob_view(blob, at, LENGTH_MAX, scratch, &v, err);
	if (rc)
		return rc;
	d = dec_init(v);
	len = dec_count(&d, UINT32_MAX);
	if (d.bad)
		return chunk_damaged(blob, at, err);
	rc = blob_view(blob, at + (uint64_t)(d.pos - v.ptr), len + 5, scratch,
		       &v, err);
	if (rc)
		return rc;
	d = dec_init(v);
	covered = dec_bytes(&d, (size_t)len + 1);
	if (dec_be32(&d) != crc32c_extend(0, covered) ||
	    covered.ptr[0] != CHUNK_GROUP)
		return chunk_damaged(blob, at, err);
	*head = (struct bytes){ .ptr = covered.ptr + 1, .len = (size_t)len };
	return 0;
}

/* Callback chunk_source.typeset: type sets are in meta.json. */
static struct bytes block_typeset_at(void *ctx, uint32_t number)
{
	const struct block *b = ctx;

	return number < b->meta.typeset_count ? b->meta.typesets[number] :
						(struct bytes){ 0 };
}

/* Callback chunk_source.damaged: count and log a damaged chunk. */
static void chunk_lost(void *ctx, const struct chunk *g, const struct err *err)
{
	const struct block *b = ctx;
	char first[40];

	time_format(g->first, first);
	metric_add(b->env->corruptions, 1);
	log_event(
		b->env->log, LOG_ERROR,
		"cannot read the metadata of a chunk; its profiles (at most 32) are left out",
		LOG_FIELDS(log_text("block", b->path), log_text("first", first),
			   log_err(err)));
}

struct chunk_source block_source(struct block *b)
{
	return (struct chunk_source){ .ctx = b,
				      .path = b->path,
				      .numbered = true,
				      .meta = read_chunk,
				      .typeset = block_typeset_at,
				      .damaged = chunk_lost };
}

int block_times(struct block *b, uint32_t ref, int64_t from, int64_t to,
		struct times *out, struct err *err)
{
	struct chunk_source source = block_source(b);
	struct chunks groups = { 0 };
	int rc = block_groups(b, ref, from, to, &groups, err);

	if (!rc)
		rc = chunks_times(&source, &groups, from, to, out, err);
	chunks_fini(&groups);
	return rc;
}

int block_lookup(struct block *b, uint32_t ref, int64_t ms,
		 struct part_hit *out, struct err *err)
{
	struct chunk_source source = block_source(b);
	struct chunks groups = { 0 };
	int rc = block_groups(b, ref, ms, ms, &groups, err);

	*out = (struct part_hit){ 0 };
	if (!rc)
		rc = chunks_find(&source, &groups, ms, &out->group, err);
	chunks_fini(&groups);
	return rc;
}

int block_tell_absent(const struct block *b, const char *folder,
		      uint64_t number, struct err *err)
{
	return err_set(err, b->unreadable ? ERR_IO : ERR_CORRUPT,
		       "%s/%s/%06llu is missing or could not be opened",
		       b->path, folder, (unsigned long long)number);
}

struct file *block_values(const struct block *b, uint32_t file)
{
	return file && file <= b->value_count ? b->values[file - 1] : NULL;
}

struct tombstones *block_tombstones(struct block *b)
{
	struct tombstones *t;

	mutex_lock(&b->mu);
	t = tombstones_ref(b->tombstones);
	mutex_unlock(&b->mu);
	return t;
}

/*
 * Replace the file of tombstones by a rename, so that either the old or the new
 * file is there after a crash.
 */
static int write_tombstones(const struct block *b, const struct tombstones *t,
			    struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/tombstones", b->path);
	CLEANUP(mem_freep) char *tmp = mem_printf("%s.tmp", path);
	struct buf bytes = { 0 };
	int rc;

	tombstones_encode(t, &bytes);
	rc = file_replace(b->env->fs, tmp, path, buf_bytes(&bytes), err);
	buf_fini(&bytes);
	return rc ? rc : fs_sync_dir(b->env->fs, b->path, err);
}

/* From now on, readers get these tombstones; those that have others keep them. */
static void block_set_tombstones(struct block *b, struct tombstones *t)
{
	mutex_lock(&b->mu);
	tombstones_unref(b->tombstones);
	b->tombstones = tombstones_ref(t);
	mutex_unlock(&b->mu);
}

/* Try to read the file again that the disk could not read. */
static int block_reread_tombstones(struct block *b, struct err *err)
{
	struct tombstones *t = NULL;
	uint64_t unused = 0; /* the size of an open block does not change */
	int rc;

	if (!b->tombstones_unread)
		return 0;
	rc = block_read_tombstones(b, &t, &unused, err);
	if (!rc)
		block_set_tombstones(b, t);
	tombstones_unref(t);
	return rc == ERR_IO ?
		       err_wrap(
			       err, rc,
			       "no profile of the block %s can be deleted, because the disk cannot read its earlier deletions",
			       b->path) :
		       0;
}

int block_delete(struct block *b, const struct tombstones *more,
		 struct err *err)
{
	int rc = block_reread_tombstones(b, err);
	struct tombstones *was;
	struct tombstones *now;

	if (rc)
		return rc;
	was = block_tombstones(b);
	now = tombstones_copy(was);
	for (size_t i = 0; i < more->count; i++)
		tombstones_add(now, more->v[i].ref, more->v[i].from,
			       more->v[i].to);
	tombstones_sort(now);
	rc = write_tombstones(b, now, err);
	if (!rc)
		block_set_tombstones(b, now);
	tombstones_unref(now);
	tombstones_unref(was);
	return rc;
}
