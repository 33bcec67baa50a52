/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches single profiles: by a lookup in the index, or with a cursor over the
 * chunks of a block.
 */

#include "base/dec.h"
#include "base/units.h"
#include "model/types.h"
#include "tsdb/query/querier_private.h"
#include "tsdb/wal/wal_segment.h"

void profile_fini(struct profile *p)
{
	buf_fini(&p->typeset);
	buf_fini(&p->raw);
}

/* Replace the type set of a profile. */
static void set_typeset(struct profile *p, struct bytes typeset)
{
	buf_reset(&p->typeset);
	buf_add(&p->typeset, typeset.ptr, typeset.len);
}

/* Number of bytes by which a buffer must grow to hold n bytes. */
static size_t querier_growth_of(const struct buf *b, size_t n)
{
	return n > b->cap ? n - b->cap : 0;
}

/* The uncompressed size of all profiles of a chunk. */
static size_t raw_bytes(const struct chunk_meta *h)
{
	size_t sum = 0;

	for (size_t i = 0; i < h->count; i++)
		sum += h->profiles[i].raw_len;
	return sum;
}

/*
 * Refuse, before reading it, a profile that is larger than the caller's limit.
 */
static int querier_too_big(const struct profile *p, uint32_t raw_len,
			   struct err *err)
{
	if (!p->raw.max || raw_len <= p->raw.max)
		return 0;
	return err_set(err, ERR_TOOBIG,
		       "it has %u bytes; at most %zu are allowed here", raw_len,
		       p->raw.max);
}

/* Fetch an unflushed profile from its WAL record. */
static int fetch_unflushed(struct querier *q, const struct part_hit *hit,
			   struct profile *out, struct err *err)
{
	struct segment_profile p = { 0 };
	int rc;

	/* Retention has removed the segment since the profile was found. */
	if (!hit->segment)
		return err_set(err, ERR_NOTFOUND,
			       "retention removed it while it was being read");
	rc = querier_too_big(out, hit->wal.raw_len, err);
	if (!rc)
		rc = querier_spend_bytes(
			q,
			querier_growth_of(&q->scratch, hit->wal.len) +
				querier_growth_of(&out->raw, hit->wal.raw_len),
			err);
	if (!rc)
		rc = wal_segment_read(hit->segment, hit->wal.lsn, hit->wal.len,
				      &q->scratch, &p, err);
	metric_add(q->db->metrics.value_bytes, hit->wal.len);
	if (!rc)
		rc = wal_segment_body(hit->segment, &p, &q->decoder, &out->raw,
				      err);
	if (rc)
		return rc;
	out->ms = p.entry.ms;
	out->hash = p.entry.hash;
	out->duration_ns = p.duration_ns;
	out->period = p.period;
	out->sample_count = p.sample_count;
	set_typeset(out, p.entry.typeset);
	return 0;
}

/* The buffers are freed, not only emptied. */
void querier_trim(struct querier *q)
{
	q->kept_file = NULL;
	buf_fini(&q->kept.bytes);
	buf_fini(&q->scratch);
	buf_fini(&q->values.stored);
}

void querier_sequential(struct querier *q)
{
	q->sequential = true;
}

/* Whether q->kept holds the decoded chunk at this place. */
static bool is_kept(const struct querier *q, const struct file *f,
		    const struct chunk_place *place)
{
	return q->kept_file == f && q->kept_place.offset == place->offset &&
	       q->kept_place.len == place->len;
}

/*
 * Fetch a profile from its chunk. The decoded chunk is kept in q->kept for the
 * next calls; otherwise it would be decoded again for each of its profiles, up
 * to 32 times.
 */
static int fetch_kept(struct querier *q, struct part part,
		      const struct chunk_meta *h, size_t index, struct buf *out,
		      struct err *err)
{
	const struct file *f = part_values(part, h);
	int rc = 0;

	if (!is_kept(q, f, &h->place)) {
		q->kept_file = NULL;
		rc = querier_spend_bytes(
			q,
			querier_growth_of(&q->values.stored, h->place.len) +
				querier_growth_of(&q->kept.bytes, raw_bytes(h)),
			err);
		if (rc)
			return rc;
		metric_add(q->db->metrics.value_bytes, h->place.len);
		rc = values_all(&q->values, part, h, &q->kept, &q->kept_why);
		/* Even in a damaged chunk, some profiles may be intact. */
		if (rc && rc != ERR_CORRUPT)
			return err_set(err, rc, "%s", q->kept_why.msg);
		q->kept_file = f;
		q->kept_place = h->place;
	}
	if (!q->kept.ok[index])
		return err_set(err, ERR_CORRUPT, "%s", q->kept_why.msg);
	buf_reset(out);
	buf_add(out, q->kept.bytes.ptr + q->kept.at[index],
		h->profiles[index].raw_len);
	return 0;
}

/* Fetch a profile from its chunk. */
static int fetch_flushed(struct querier *q, struct part part,
			 const struct chunk_hit *hit, struct profile *out,
			 struct err *err)
{
	const struct chunk_profile *p = &hit->meta.profiles[hit->index];
	int rc = querier_too_big(out, p->raw_len, err);

	if (!rc)
		rc = querier_spend_bytes(
			q, querier_growth_of(&out->raw, p->raw_len), err);
	if (rc)
		return rc;
	/*
	 * Keeping a chunk with a single profile, such as a very large one,
	 * gains nothing.
	 */
	if (q->sequential && hit->meta.count > 1) {
		rc = fetch_kept(q, part, &hit->meta, hit->index, &out->raw,
				err);
	} else {
		rc = querier_spend_bytes(q,
					 querier_growth_of(&q->values.stored,
							   hit->meta.place.len),
					 err);
		if (rc)
			return rc;
		metric_add(q->db->metrics.value_bytes, hit->meta.place.len);
		rc = values_one(&q->values, part, &hit->meta, hit->index,
				&out->raw, err);
	}
	if (rc)
		return rc;
	out->ms = p->ms;
	out->hash = p->hash;
	out->duration_ns = p->duration_ns;
	out->period = p->period;
	out->sample_count = p->sample_count;
	set_typeset(out, hit->typeset);
	return 0;
}

/*
 * Record a failed fetch, and put the time and the labels of the profile before
 * the message. Errors that are not about the profile are left alone, such as
 * ERR_LIMIT. Returns rc.
 */
static int name_failed(struct querier *q, size_t i, int64_t ms, int rc,
		       struct err *err)
{
	struct buf labels = { 0 };
	char time[40];

	if (!err || (rc != ERR_CORRUPT && rc != ERR_IO && rc != ERR_NOTFOUND &&
		     rc != ERR_TOOBIG))
		return querier_note_failed(q, rc, err);
	labels_text(q->hits[i].labels, &labels);
	time_format(ms, time);
	err_wrap(err, rc, "the profile at %s of %.100s", time,
		 buf_cstr(&labels));
	buf_fini(&labels);
	return querier_note_failed(q, rc, err);
}

int querier_fetch(struct querier *q, size_t i, int64_t ms, struct profile *out,
		  struct err *err)
{
	struct found f = { 0 };
	int rc = querier_lookup(q, i, ms, q->db->wal, &f, err);

	if (rc)
		return name_failed(q, i, ms, rc, err);
	rc = f.hit.unflushed ? fetch_unflushed(q, &f.hit, out, err) :
			       fetch_flushed(q, f.part, &f.hit.group, out, err);
	wal_segment_unref(f.hit.segment);
	return name_failed(q, i, ms, rc, err);
}

/*
 * Find the block that may have a profile of series i at time `ms`, and return
 * the index of its place. Returns NONE if no part or several parts may have the
 * profile, or if a head may have it.
 */
static uint32_t only_block(const struct querier *q, size_t i, int64_t ms)
{
	uint32_t found = NONE;
	const struct place *at;

	for (uint32_t n = q->hits[i].first; n != NONE; n = at->next) {
		struct part p;

		at = &q->places[n];
		p = q->parts[at->part];
		if (part_min(p) > ms || part_max(p) < ms)
			continue;
		if (found != NONE || p.head)
			return NONE;
		found = n;
	}
	return found;
}

/*
 * Move the cursor to place number `place` of series i and list the chunks
 * there, unless the cursor is there already.
 */
static int move_cursor(struct querier *q, size_t i, uint32_t place,
		       struct err *err)
{
	struct cursor *c = &q->cursor;
	const struct place *at = &q->places[place];

	if (c->open && c->hit == i && c->place == place)
		return 0;
	querier_close_cursor(c);
	c->open = true;
	c->hit = i;
	c->place = place;
	c->at = SIZE_MAX;
	return part_groups(q->parts[at->part], at->series, INT64_MIN, INT64_MAX,
			   &c->groups, err);
}

/*
 * Read into c->meta the metadata of the chunk that may have a profile at time
 * `ms`. Consecutive profiles are usually in the same chunk, whose metadata is
 * then read only once.
 */
static int cursor_group(struct querier *q, int64_t ms, struct err *err)
{
	struct cursor *c = &q->cursor;
	struct chunk_source from =
		part_source(q->parts[q->places[c->place].part]);

	for (size_t k = 0; k < c->groups.count; k++) {
		const struct chunk *g = &c->groups.v[k];
		int rc = 0;

		if (ms < g->first || ms > g->last ||
		    chunks_hides(&c->groups, g->at, ms))
			continue;
		if (c->at != k)
			rc = chunk_read_meta(&from, g, &c->meta, NULL, err);
		c->at = rc ? SIZE_MAX : k;
		return rc;
	}
	return ERR_NOTFOUND;
}

/*
 * Find a profile with the cursor, without a lookup in the index. *row is set to
 * the number of the profile in the chunk that q->cursor.meta describes.
 * ERR_NOTFOUND: the cursor cannot find the profile, but querier_lookup() may.
 */
static int find_by_cursor(struct querier *q, size_t i, int64_t ms,
			  struct found *f, uint16_t *row, struct err *err)
{
	uint32_t place = only_block(q, i, ms);
	int rc;

	if (place == NONE)
		return ERR_NOTFOUND;
	rc = move_cursor(q, i, place, err);
	if (!rc)
		rc = cursor_group(q, ms, err);
	if (rc)
		return rc;
	f->part = q->parts[q->places[place].part];
	return chunk_meta_find(&q->cursor.meta, ms, row) ? 0 : ERR_NOTFOUND;
}

void querier_row_fini(struct querier_row *r)
{
	table_unref(r->table);
	*r = (struct querier_row){ 0 };
}

int querier_rows(struct querier *q, size_t i, int64_t ms, const bool *types,
		 struct querier_row *out, struct err *err)
{
	const struct chunk_meta *h = &q->cursor.meta;
	uint64_t reads = q->values.reads;
	struct table_ref *table = NULL;
	struct found f = { 0 };
	int rc;

	*out = (struct querier_row){ 0 };
	rc = find_by_cursor(q, i, ms, &f, &out->row, err);
	if (rc) {
		rc = querier_lookup(q, i, ms, NULL, &f, err);
		if (!rc && f.hit.unflushed)
			rc = err_set(err, ERR_UNSUPPORTED,
				     "the profile is only in the WAL");
		h = &f.hit.group.meta;
		out->row = f.hit.group.index;
	}
	if (rc)
		return name_failed(q, i, ms, rc, err);
	rc = values_rows(&q->values, f.part, h, types, &out->rows, &table, err);
	if (!rc)
		out->table = table_ref(table);
	if (q->values.reads != reads)
		metric_add(q->db->metrics.value_bytes, h->place.len);
	return name_failed(q, i, ms, rc, err);
}

int querier_stat(struct querier *q, size_t i, int64_t ms, uint64_t *hash,
		 uint32_t *raw_len, struct err *err)
{
	struct found f = { 0 };
	const struct chunk_profile *p;
	int rc = querier_lookup(q, i, ms, NULL, &f, err);

	if (rc)
		return name_failed(q, i, ms, rc, err);
	p = &f.hit.group.meta.profiles[f.hit.group.index];
	*hash = f.hit.unflushed ? f.hit.wal.hash : p->hash;
	*raw_len = f.hit.unflushed ? f.hit.wal.raw_len : p->raw_len;
	return 0;
}
