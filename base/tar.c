/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"

/* A writer: libarchive's writer, and the buffer for its output. */
struct tar {
	struct archive *archive;
	struct buf *out;
};

/*
 * Called by libarchive with bytes of the archive. Returns the number of bytes
 * taken. If the buffer is full, returns -1, and the call of libarchive that
 * wrote the bytes fails.
 */
static la_ssize_t on_write(struct archive *a, void *ctx, const void *p,
			   size_t n)
{
	struct tar *t = ctx;

	(void)a;
	buf_add(t->out, p, n);
	return t->out->over ? -1 : (la_ssize_t)n;
}

struct tar *tar_new(struct buf *out)
{
	struct tar *t = mem_new(struct tar);

	t->out = out;
	t->archive = archive_write_new();
	if (!t->archive ||
	    archive_write_set_format_pax_restricted(t->archive) ||
	    /*
	     * With 0, libarchive passes its output on at once instead of in
	     * blocks of a fixed size, so that the caller can send and empty the
	     * buffer after each file.
	     */
	    archive_write_set_bytes_per_block(t->archive, 0) ||
	    archive_write_open2(t->archive, t, NULL, on_write, NULL, NULL))
		abort(); /* out of memory */
	return t;
}

void tar_free(struct tar *t)
{
	if (!t)
		return;
	archive_write_free(t->archive);
	mem_free(t);
}

/* Turn libarchive's last message into an error. */
static int tar_set_failed(struct tar *t, struct err *err)
{
	return err_set(err, ERR_INVALID, "tar: %s",
		       archive_error_string(t->archive));
}

int tar_add(struct tar *t, const char *path, int64_t mtime_ms,
	    struct bytes content, struct err *err)
{
	struct archive_entry *e = archive_entry_new();
	int rc = 0;

	if (!e)
		abort(); /* out of memory */
	archive_entry_set_pathname(e, path);
	archive_entry_set_filetype(e, S_IFREG);
	archive_entry_set_perm(e, 0644);
	archive_entry_set_size(e, (la_int64_t)content.len);
	archive_entry_set_mtime(e, (time_t)(mtime_ms / 1000), 0);
	if (archive_write_header(t->archive, e) != ARCHIVE_OK ||
	    archive_write_data(t->archive, content.ptr, content.len) !=
		    (la_ssize_t)content.len ||
	    archive_write_finish_entry(t->archive) != ARCHIVE_OK)
		rc = tar_set_failed(t, err);
	archive_entry_free(e);
	return rc;
}

int tar_end(struct tar *t, struct err *err)
{
	return archive_write_close(t->archive) == ARCHIVE_OK ?
		       0 :
		       tar_set_failed(t, err);
}
