/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tools/verify_files.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "tsdb/block/block.h"
#include "tsdb/block/part.h"
#include "tsdb/io/record.h"
#include "tsdb/wal/body.h"
#include "tsdb/wal/wal.h"

#define PIECE MIB /* number of bytes read at once */

void PRINTF(3, 4)
	verify_report(struct verify *v, const char *path, const char *fmt, ...)
{
	char what[600];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	v->problems++;
	v->found(v->ctx, path, what);
}

void verify_file(struct verify *v, const struct block *b,
		 const struct meta_file *f)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", b->path, f->name);
	CLEANUP(mem_freep) uint8_t *piece = mem_alloc(PIECE);
	CLEANUP(file_closep) struct file *file = NULL;
	uint32_t crc = 0;
	struct err err;
	int rc = file_open(NULL, path, FILE_READ, &file, &err);

	for (uint64_t at = 0; at < f->size && !rc;) {
		size_t n = f->size - at < PIECE ? (size_t)(f->size - at) :
						  PIECE;

		rc = file_read(file, at, piece, n, &err);
		if (!rc)
			crc = crc32c_extend(crc, (struct bytes){ piece, n });
		at += n;
	}
	v->bytes += f->size;
	if (rc)
		verify_report(v, path, "%s", err.msg);
	else if (crc != f->crc)
		verify_report(v, path, "checksum mismatch with meta.json");
}

/* The state of verifying one log file. */
struct log_verify {
	struct verify *v;
	const char *path;
	struct body_decoder decoder;
	struct buf raw;
};

/*
 * Callback for bytes that are not a record. A torn end (a record that the end
 * of the file cuts off) is left to verify_records(), which knows whether a
 * server may be writing to the log.
 */
static void damaged_stretch(void *ctx, uint64_t offset, uint64_t len, bool torn)
{
	struct log_verify *l = ctx;

	if (!torn)
		verify_report(
			l->v, l->path,
			"at offset %llu: %llu bytes are not a valid record",
			(unsigned long long)offset, (unsigned long long)len);
}

/* Whether all bytes are zero. */
static bool verify_all_zero(struct bytes b)
{
	for (size_t i = 0; i < b.len; i++) {
		if (b.ptr[i])
			return false;
	}
	return true;
}

/*
 * The padding after a record's body; it may be shorter at the end of the file.
 * No reader uses the padding, but verification checks every byte.
 */
static struct bytes padding_of(struct bytes file, uint64_t end,
			       const struct record *r)
{
	uint64_t from =
		end - r->len + RECORD_HEADER + r->head.len + r->body.len;
	uint64_t to = end < file.len ? end : file.len;

	return (struct bytes){ .ptr = file.ptr + from,
			       .len = (size_t)(to - from) };
}

/*
 * Verify the padding and body of a record. A profile in the WAL is also
 * decoded.
 */
static void verify_record(struct log_verify *l, const struct record *r,
			  struct bytes padding)
{
	struct segment_profile p = { 0 };
	struct err err = { .msg = "checksum mismatch of the stored profile" };
	unsigned long long at = (uint32_t)r->position;

	if (!verify_all_zero(padding))
		verify_report(
			l->v, l->path,
			"at offset %llu: the unused bytes after a record are damaged (no profile is lost)",
			at);
	if (r->body.len && !r->body_ok)
		verify_report(
			l->v, l->path,
			"at offset %llu: checksum mismatch of the content of a record",
			at);
	else if (r->kind != SEGMENT_PROFILE || r->position >> 32 == 0)
		return; /* the record is not a profile in the WAL */
	else if (segment_profile_decode(r, &p, &err) ||
		 body_decode(&l->decoder, &p, &l->raw, &err))
		verify_report(l->v, l->path, "at offset %llu: %s", at, err.msg);
	else
		l->v->profiles++;
}

/*
 * Whether the bytes after the last record are the footer of a sealed segment.
 */
static bool is_footer(struct bytes rest, const struct file_header *h)
{
	uint64_t at;

	return rest.len == SEGMENT_FOOTER &&
	       segment_footer_decode(rest, h->salt, &at);
}

/*
 * Verify all records of a log. `base` is the LSN of the first byte of a WAL
 * segment; 0 for other logs. `live` says that a server may be writing to the
 * file; the end of the file is then not checked. `sealed` says that the file
 * should end with a segment directory (a list of the segment's profiles).
 */
static void verify_records(struct log_verify *l, struct bytes file,
			   const struct file_header *h, uint64_t base,
			   bool live, bool sealed)
{
	struct record_iter it = { .file = file,
				  .salt = h->salt,
				  .base = base,
				  .offset = FILE_HEADER,
				  .end = FILE_HEADER,
				  .damaged = damaged_stretch,
				  .ctx = l };
	struct record r = { 0 };
	struct bytes rest;

	while (record_next(&it, &r))
		verify_record(l, &r, padding_of(file, it.offset, &r));
	if (live)
		return;
	rest = (struct bytes){ .ptr = file.ptr + it.end, .len = 0 };
	if (it.end < file.len)
		rest.len = (size_t)(file.len - it.end);
	if (is_footer(rest, h))
		return;
	if (it.end != file.len)
		verify_report(
			l->v, l->path,
			"at offset %llu: the file ends with an incomplete record (normal after a crash)",
			(unsigned long long)it.end);
	else if (sealed)
		verify_report(
			l->v, l->path,
			"the segment was not closed: its last records may be missing");
}

void verify_log(struct verify *v, const char *path, uint32_t magic, bool live,
		bool sealed)
{
	struct log_verify l = { .v = v, .path = path };
	struct file_header h = { 0 };
	struct buf bytes = { 0 };
	struct err err;
	struct file *f = NULL;
	int rc = file_open(NULL, path, FILE_READ, &f, &err);

	if (!rc)
		rc = file_read_all(f, &bytes, &err);
	file_close(f);
	if (rc == ERR_NOTFOUND)
		/*
		 * The running server has removed the file, or it was never
		 * created.
		 */
		return;
	v->bytes += bytes.len;
	if (!rc)
		rc = file_header_decode(buf_bytes(&bytes), magic, &h, &err);
	/* A running server may not have written the header yet. */
	if (rc && !(live && bytes.len < FILE_HEADER))
		verify_report(v, path, "%s", err.msg);
	if (!rc && magic == MAGIC_TOMBSTONES && bytes.len == FILE_HEADER)
		verify_report(v, path, "the tombstones are missing");
	/*
	 * Readers use only one of the two copies of the header, so they would
	 * not notice damage to the other copy.
	 */
	if (!rc && memcmp(bytes.ptr, bytes.ptr + FILE_HEADER / 2,
			  FILE_HEADER / 2) != 0)
		verify_report(
			v, path,
			"one of the two copies of the file header is damaged (no profile is lost)");
	if (!rc)
		verify_records(&l, buf_bytes(&bytes), &h,
			       magic == MAGIC_SEGMENT ? h.number << 32 : 0,
			       live, sealed);
	body_decoder_fini(&l.decoder);
	buf_fini(&l.raw);
	buf_fini(&bytes);
}

void verify_values(struct verify *v, const struct head *r, bool live)
{
	uint8_t first[FILE_HEADER] = { 0 };
	struct bytes b = { .ptr = first, .len = sizeof(first) };
	const char *path = file_path(r->values);
	struct file_header h = { 0 };
	uint64_t size = 0;
	struct err err;
	int rc = file_read(r->values, 0, first, sizeof(first), &err);

	if (!rc)
		rc = file_header_decode(b, MAGIC_VALUES, &h, &err);
	if (!rc)
		rc = file_size(r->values, &size, &err);
	v->bytes += size;
	if (rc)
		verify_report(v, path, "%s", err.msg);
	else if (memcmp(first, first + FILE_HEADER / 2, FILE_HEADER / 2) != 0)
		verify_report(
			v, path,
			"one of the two copies of the file header is damaged (no profile is lost)");
	else if (size != r->values_end && !live)
		verify_report(
			v, path,
			"the file has %llu bytes, but the log of the head block (file \"groups\") accounts for %llu",
			(unsigned long long)size,
			(unsigned long long)r->values_end);
}
