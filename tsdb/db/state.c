/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/db/state.h"

#include "base/dec.h"
#include "base/enc.h"
#include "base/fs.h"
#include "base/mem.h"
#include "tsdb/io/record.h"

#define BYTES_MAX  (16 * MIB) /* maximum size of the state file */
#define KIND_STATE 1          /* kind of the only record in the state file */

void state_init(struct state *s, struct fs *fs, const char *dir)
{
	*s = (struct state){ .fs = fs, .dir = mem_strdup(dir) };
}

void state_fini(struct state *s)
{
	mem_free(s->dir);
	mem_free(s->spans);
	*s = (struct state){ 0 };
}

/* Append a span to the list in memory. */
static void add_span(struct state *s, const struct retired_span *span)
{
	s->spans = mem_grow(s->spans, s->span_count, &s->span_cap,
			    sizeof(*s->spans));
	s->spans[s->span_count++] = *span;
}

/*
 * The file has a file header and one record, in the format of all logs, so that
 * the record's checksum detects damage (docs/format/state.md).
 */
void state_encode(const struct state *s, uint64_t salt, struct buf *out)
{
	struct file_header h = { .magic = MAGIC_STATE, .salt = salt };
	struct record rec = { .position = FILE_HEADER, .kind = KIND_STATE };
	struct buf body = { 0 };

	enc_svarint(&body, s->clock.trusted_ms);
	enc_svarint(&body, s->clock.doubt_ms);
	enc_uvarint(&body, s->span_count);
	for (size_t i = 0; i < s->span_count; i++) {
		enc_svarint(&body, s->spans[i].from_ms);
		enc_svarint(&body, s->spans[i].to_ms);
		enc_uvarint(&body, s->spans[i].first_lsn);
		enc_uvarint(&body, s->spans[i].last_lsn);
	}
	file_header_encode(&h, out);
	rec.body = buf_bytes(&body);
	record_encode(&rec, salt, out);
	buf_fini(&body);
}

/* Decode the record's body; false if it is malformed or has trailing bytes. */
static bool decode_body(struct state *s, struct bytes body)
{
	struct dec d = dec_init(body);
	uint64_t count;

	s->clock.trusted_ms = dec_svarint(&d);
	s->clock.doubt_ms = dec_svarint(&d);
	/*
	 * The count is bounded by the bytes left, so that a damaged count
	 * cannot make the loop run long.
	 */
	count = dec_count(&d, dec_left(&d));
	for (uint64_t i = 0; i < count && !d.bad; i++) {
		struct retired_span span = { .from_ms = dec_svarint(&d) };

		span.to_ms = dec_svarint(&d);
		span.first_lsn = dec_uvarint(&d);
		span.last_lsn = dec_uvarint(&d);
		if (!d.bad)
			add_span(s, &span);
	}
	return !d.bad && !dec_left(&d);
}

/*
 * The header is decoded first, because the record's checksum covers the salt in
 * the header.
 */
int state_decode(struct state *s, struct bytes file, struct err *err)
{
	struct file_header h = { 0 };
	struct record rec = { 0 };
	struct bytes rest;
	int rc = file_header_decode(file, MAGIC_STATE, &h, err);

	if (rc)
		return rc;
	rest = (struct bytes){ .ptr = file.ptr + FILE_HEADER,
			       .len = file.len - FILE_HEADER };
	rc = record_decode(rest, h.salt, FILE_HEADER, true, &rec, err);
	if (!rc && (!rec.body_ok || !decode_body(s, rec.body)))
		rc = err_set(err, ERR_CORRUPT,
			     "checksum mismatch in the state file");
	return rc;
}

int state_load(struct state *s, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/state", s->dir);
	CLEANUP(file_closep) struct file *f = NULL;
	struct buf bytes = buf_init(BYTES_MAX);
	int rc = file_open(s->fs, path, FILE_READ, &f, err);

	/* A database that is new or of an earlier version has no state file. */
	if (rc == ERR_NOTFOUND)
		return 0;
	if (!rc)
		rc = file_read_all(f, &bytes, err);
	if (!rc)
		rc = state_decode(s, buf_bytes(&bytes), err);
	s->has_clock = !rc;
	if (rc) {
		/* Keep nothing of a file that was decoded only in part. */
		s->clock = (struct trusted_clock){ 0 };
		s->span_count = 0;
	}
	buf_fini(&bytes);
	return rc ? err_wrap(err, rc, "%s", path) : 0;
}

/*
 * The file is replaced as a whole by a rename: after a crash, either the old or
 * the new file is there.
 */
int state_save(struct state *s, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/state", s->dir);
	CLEANUP(mem_freep) char *tmp = mem_printf("%s.tmp", path);
	struct buf bytes = { 0 };
	uint64_t salt = 0;
	int rc = salt_make(&salt, err);

	if (rc)
		return rc;
	state_encode(s, salt, &bytes);
	rc = file_replace(s->fs, tmp, path, buf_bytes(&bytes), err);
	if (!rc)
		/* Make the rename durable too. */
		rc = fs_sync_dir(s->fs, s->dir, err);
	buf_fini(&bytes);
	return rc;
}

/* Called before the profiles are removed; see db_retire(). */
int state_retire(struct state *s, const struct retired_span *span,
		 uint64_t oldest_lsn, struct err *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->span_count; i++) {
		/* Drop a span if the WAL has no records in it any more. */
		if (s->spans[i].last_lsn >= oldest_lsn)
			s->spans[kept++] = s->spans[i];
	}
	s->span_count = kept;
	if (span->last_lsn >= oldest_lsn)
		add_span(s, span);
	return state_save(s, err);
}

/* A record is retired if a span contains both its window and its LSN. */
bool state_is_retired(const struct state *s, int64_t window_ms, uint64_t lsn)
{
	for (size_t i = 0; i < s->span_count; i++) {
		const struct retired_span *r = &s->spans[i];

		if (r->from_ms <= window_ms && window_ms < r->to_ms &&
		    r->first_lsn <= lsn && lsn <= r->last_lsn)
			return true;
	}
	return false;
}
