/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/io/blob.h"

#include "base/mem.h"

struct blob {
	struct file *file;
	uint64_t size;
	/*
	 * The mapped file; empty if the mode is BLOB_READ or the file is empty.
	 */
	struct bytes map;
};

int blob_open(struct fs *fs, const char *path, enum blob_mode mode,
	      struct blob **out, struct err *err)
{
	struct blob *b = mem_new(struct blob);
	int rc = file_open(fs, path, FILE_READ, &b->file, err);

	if (!rc)
		rc = file_size(b->file, &b->size, err);
	if (!rc && mode == BLOB_MAP && b->size)
		rc = file_map(b->file, (size_t)b->size, &b->map, err);
	if (rc)
		blob_close(b);
	else
		*out = b;
	return rc;
}

void blob_close(struct blob *b)
{
	if (!b)
		return;
	file_unmap(&b->map);
	file_close(b->file);
	mem_free(b);
}

uint64_t blob_size(const struct blob *b)
{
	return b->size;
}

const char *blob_path(const struct blob *b)
{
	return file_path(b->file);
}

/*
 * Offsets and lengths come from files that may be damaged, so `offset + len`
 * could overflow; `size - offset` cannot.
 */
int blob_view(const struct blob *b, uint64_t offset, size_t len,
	      struct buf *scratch, struct bytes *out, struct err *err)
{
	int rc;

	if (offset > b->size || len > b->size - offset)
		return err_set(
			err, ERR_CORRUPT,
			"%s: %zu bytes at offset %llu are beyond the end of the file",
			blob_path(b), len, (unsigned long long)offset);
	/*
	 * Bytes of a map are copied to `scratch`, and file_map_read() handles a
	 * SIGBUS during the copy. A view into the map could raise SIGBUS later,
	 * while the caller uses it (docs/decisions.md, 83).
	 */
	buf_reset(scratch);
	if (!buf_reserve(scratch, len))
		return err_set(err, ERR_TOOBIG,
			       "%s: cannot read %zu bytes at once: too large",
			       blob_path(b), len);
	rc = b->map.len ? file_map_read(b->file, b->map, offset, scratch->ptr,
					len, err) :
			  file_read(b->file, offset, scratch->ptr, len, err);
	scratch->len = rc ? 0 : len;
	*out = buf_bytes(scratch);
	return rc;
}
