/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/io/record_file.h"

#include "base/file.h"
#include "base/mem.h"
#include "tsdb/io/record.h"

#define KIND_ONLY 1 /* kind of the only record */

void record_file_encode(uint32_t magic, uint64_t salt, struct bytes body,
			struct buf *out)
{
	const struct file_header h = { .magic = magic, .salt = salt };
	const struct record rec = { .position = FILE_HEADER,
				    .kind = KIND_ONLY,
				    .body = body };

	file_header_encode(&h, out);
	record_encode(&rec, salt, out);
}

/*
 * The header is decoded first, because the record's checksum covers the salt in
 * the header.
 */
int record_file_decode(struct bytes file, uint32_t magic, struct bytes *body,
		       struct err *err)
{
	struct file_header h = { 0 };
	struct record rec = { 0 };
	struct bytes rest;
	int rc = file_header_decode(file, magic, &h, err);

	if (rc)
		return rc;
	rest = (struct bytes){ .ptr = file.ptr + FILE_HEADER,
			       .len = file.len - FILE_HEADER };
	rc = record_decode(rest, h.salt, FILE_HEADER, true, &rec, err);
	if (!rc && !rec.body_ok)
		rc = err_set(err, ERR_CORRUPT, "checksum mismatch in the file");
	*body = rec.body;
	return rc;
}

int record_file_read(struct fs *fs, const char *path, uint32_t magic,
		     struct buf *bytes, struct bytes *body, struct err *err)
{
	CLEANUP(file_closep) struct file *f = NULL;
	int rc = file_open(fs, path, FILE_READ, &f, err);

	if (rc == ERR_NOTFOUND)
		return rc;
	if (!rc)
		rc = file_read_all(f, bytes, err);
	if (!rc)
		rc = record_file_decode(buf_bytes(bytes), magic, body, err);
	return rc ? err_wrap(err, rc, "%s", path) : 0;
}

int record_file_write(struct fs *fs, const char *dir, const char *name,
		      uint32_t magic, struct bytes body, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", dir, name);
	CLEANUP(mem_freep) char *tmp = mem_printf("%s.tmp", path);
	struct buf bytes = { 0 };
	uint64_t salt = 0;
	int rc = record_make_salt(&salt, err);

	if (rc)
		return rc;
	record_file_encode(magic, salt, body, &bytes);
	rc = file_replace(fs, tmp, path, buf_bytes(&bytes), err);
	if (!rc)
		/* Make the rename durable too. */
		rc = fs_sync_dir(fs, dir, err);
	buf_fini(&bytes);
	return rc;
}
