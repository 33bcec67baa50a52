/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/io/outfile.h"

#include "base/crc32c.h"

#define BUFFER (256 * KIB)

int outfile_open(struct outfile *o, struct fs *fs, const char *path,
		 struct err *err)
{
	*o = (struct outfile){ 0 };
	return file_open(fs, path, FILE_CREATE, &o->file, err);
}

/*
 * Append b to the file. o->size includes b and the bytes still in o->buf, so
 * both lengths are subtracted to get the offset.
 */
static void write_out(struct outfile *o, struct bytes b)
{
	if (o->rc || !b.len)
		return;
	o->rc = file_write(o->file, o->size - o->buf.len - b.len, b, &o->err);
}

/* Write the buffer out and empty it. */
static void write_buffer(struct outfile *o)
{
	struct bytes b = buf_bytes(&o->buf);

	o->buf.len = 0;
	write_out(o, b);
}

void outfile_add(struct outfile *o, struct bytes b)
{
	o->crc = crc32c_extend(o->crc, b);
	o->size += b.len;
	/*
	 * write_buffer() computes its file offset from o->size and o->buf, so
	 * o->size must not include b while it runs.
	 */
	if (o->buf.len + b.len > BUFFER) {
		o->size -= b.len;
		write_buffer(o);
		o->size += b.len;
	}
	if (b.len > BUFFER)
		write_out(o, b);
	else
		buf_add(&o->buf, b.ptr, b.len);
}

void outfile_pad(struct outfile *o, uint32_t align)
{
	static const uint8_t zeros[64];
	size_t over = (size_t)(o->size & (align - 1));

	if (over)
		outfile_add(
			o, (struct bytes){ .ptr = zeros, .len = align - over });
}

int outfile_flush(struct outfile *o, struct err *err)
{
	write_buffer(o);
	if (o->rc && err)
		*err = o->err;
	return o->rc;
}

int outfile_finish(struct outfile *o, struct err *err)
{
	int rc = outfile_flush(o, err);

	return rc ? rc : file_sync(o->file, err);
}

void outfile_close(struct outfile *o)
{
	file_close(o->file);
	buf_fini(&o->buf);
	*o = (struct outfile){ 0 };
}
