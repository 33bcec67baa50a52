/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/db/state.h"

#include "base/dec.h"
#include "base/enc.h"
#include "base/fs.h"
#include "base/mem.h"
#include "tsdb/io/record.h"
#include "tsdb/io/record_file.h"

#define BYTES_MAX (16 * MIB) /* maximum size of the state file */

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

/* Append what the file says (docs/format/state.md). */
static void state_encode_body(const struct state *s, struct buf *body)
{
	enc_svarint(body, s->clock.trusted_ms);
	enc_svarint(body, s->clock.doubt_ms);
	enc_uvarint(body, s->span_count);
	for (size_t i = 0; i < s->span_count; i++) {
		enc_svarint(body, s->spans[i].from_ms);
		enc_svarint(body, s->spans[i].to_ms);
		enc_uvarint(body, s->spans[i].first_lsn);
		enc_uvarint(body, s->spans[i].last_lsn);
	}
}

void state_encode(const struct state *s, uint64_t salt, struct buf *out)
{
	struct buf body = { 0 };

	state_encode_body(s, &body);
	record_file_encode(MAGIC_STATE, salt, buf_bytes(&body), out);
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

/* Set the state from the body of the file's record. */
static int state_take_body(struct state *s, struct bytes body, struct err *err)
{
	return decode_body(s, body) ?
		       0 :
		       err_set(err, ERR_CORRUPT, "the state is malformed");
}

int state_decode(struct state *s, struct bytes file, struct err *err)
{
	struct bytes body = { 0 };
	int rc = record_file_decode(file, MAGIC_STATE, &body, err);

	return rc ? rc : state_take_body(s, body, err);
}

int state_load(struct state *s, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/state", s->dir);
	struct buf bytes = buf_init(BYTES_MAX);
	struct bytes body = { 0 };
	int rc = record_file_read(s->fs, path, MAGIC_STATE, &bytes, &body, err);

	/* A database that is new or of an earlier version has no state file. */
	if (rc == ERR_NOTFOUND)
		return 0;
	if (!rc && state_take_body(s, body, err))
		rc = err_wrap(err, ERR_CORRUPT, "%s", path);
	s->has_clock = !rc;
	if (rc) {
		/* Keep nothing of a file that was decoded only in part. */
		s->clock = (struct trusted_clock){ 0 };
		s->span_count = 0;
	}
	buf_fini(&bytes);
	return rc;
}

int state_save(struct state *s, struct err *err)
{
	struct buf body = { 0 };
	int rc;

	state_encode_body(s, &body);
	rc = record_file_write(s->fs, s->dir, "state", MAGIC_STATE,
			       buf_bytes(&body), err);
	buf_fini(&body);
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
