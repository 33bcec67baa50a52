/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/block/block_publish.h"

#include <stdio.h>

#include "base/fs.h"
#include "tsdb/block/block_writer_private.h"

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
