/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/compact/rewriter.h"

#include <stdlib.h>

#include "tsdb/compact/rewriter_copy.h"
#include "tsdb/compact/rewriter_private.h"
#include "tsdb/compact/rewriter_slots.h"

/*
 * For each block, r->files has an array that tells for each values file of the
 * block whether it is linked. Files are numbered from 1, so element 0 is
 * unused.
 */
struct rewriter *rewriter_new(const struct rewriter_options *o,
			      struct block_writer *w)
{
	struct rewriter *r = mem_new(struct rewriter);

	r->o = *o;
	r->w = w;
	r->chunk_writer = chunk_writer_new(o->columns, o->level);
	r->files = mem_zalloc(o->count, sizeof(struct file_plan *));
	for (size_t i = 0; i < o->count; i++) {
		if (o->parts[i].block)
			r->files[i] =
				mem_zalloc(o->parts[i].block->value_count + 1,
					   sizeof(**r->files));
	}
	for (size_t i = 0; i < SLOTS; i++) {
		r->slots[i].source = NO_SOURCE;
		r->slots[i].meta.totals = r->slots[i].totals;
	}
	return r;
}

void rewriter_free(struct rewriter *r)
{
	if (!r)
		return;
	chunk_writer_free(r->chunk_writer);
	table_unref(r->adopted);
	values_reader_fini(&r->reader);
	buf_fini(&r->stored);
	buf_fini(&r->next);
	for (size_t i = 0; i < r->o.count; i++)
		mem_free(r->files[i]);
	mem_free(r->files);
	mem_free(r->chunks);
	vec_fini(&r->copied);
	mem_free(r->sources);
	mem_free(r->items);
	for (size_t i = 0; i < SLOTS; i++)
		buf_fini(&r->slots[i].values.bytes);
	mem_free(r);
}

const struct index_chunk *rewriter_chunks(const struct rewriter *r,
					  size_t *count)
{
	*count = r->chunk_count;
	return r->chunks;
}

struct part part_of(const struct rewriter *r, size_t source)
{
	return r->o.parts[r->places[r->sources[source].place].part];
}

size_t new_chunk(struct rewriter *r)
{
	r->chunks = mem_grow(r->chunks, r->chunk_count, &r->chunk_cap,
			     sizeof(*r->chunks));
	return r->chunk_count++;
}

/*
 * Count and log a lost profile. The labels are logged only if they can be read:
 * the index may be damaged too.
 */
static void rewriter_report(struct rewriter *r, size_t source, int64_t ms,
			    const struct err *why)
{
	const struct merged_place *p = &r->places[r->sources[source].place];
	struct labels *ls = NULL;
	struct buf text = { 0 };

	if (!part_labels(part_of(r, source), p->series, &ls, NULL))
		labels_text(ls, &text);
	r->o.loss->profiles++;
	r->o.loss->unread += why->code == ERR_IO;
	metric_add(r->o.damaged, 1);
	log_event(r->o.log, LOG_ERROR, "dropping a damaged profile",
		  LOG_FIELDS(log_text("labels", buf_cstr(&text)),
			     log_int("time", ms), log_err(why)));
	labels_unref(ls);
	buf_fini(&text);
}

/*
 * Write the dictionary table of the current stripe, and put its place (file and
 * offset) into the index entries of the stripe's chunks. The list of copied
 * tables is emptied, because the next stripe cannot use them.
 */
static int end_stripe(struct rewriter *r, struct err *err)
{
	struct buf table = { 0 };
	int rc = chunk_writer_end_stripe(r->chunk_writer, &table, err);

	if (!rc)
		rc = block_writer_stripe(r->w, buf_bytes(&table), r->chunks,
					 err);
	r->copied.count = 0;
	buf_fini(&table);
	return rc;
}

int rewriter_end_target(struct rewriter *r, struct err *err)
{
	int rc = end_stripe(r, err);

	block_writer_end_target(r->w);
	return rc;
}

/*
 * A stripe is ended before the end of its target when its table or its list of
 * chunks grows too large (docs/decisions.md, 46).
 */
int end_full_stripe(struct rewriter *r, struct err *err)
{
	return chunk_writer_is_stripe_full(r->chunk_writer) ||
			       block_writer_is_full(r->w) ?
		       end_stripe(r, err) :
		       0;
}

/*
 * Compress the chunk under construction, if it has any profiles, and write it
 * to the block.
 */
static int rewriter_close_group(struct rewriter *r, struct err *err)
{
	struct chunk_writer *b = r->chunk_writer;
	int rc;

	if (!b->meta.count)
		return 0;
	buf_reset(&r->stored);
	rc = chunk_writer_store(b, &r->stored, err);
	if (!rc)
		rc = block_writer_group(r->w, &b->meta, buf_bytes(&r->stored),
					buf_bytes(&b->typeset), new_chunk(r),
					err);
	chunk_writer_reset(b);
	/* Free the buffer if an exceptionally large chunk has made it large. */
	if (r->stored.cap > CHUNK_BYTES_MAX)
		buf_fini(&r->stored);
	return rc ? rc : end_full_stripe(r, err);
}

/*
 * Add profile i of a decoded chunk to the chunk under construction. If the
 * profile does not fit, the chunk under construction is written first, and a
 * new one begins.
 */
static int put_profile(struct rewriter *r, const struct slot *s, uint16_t i,
		       struct err *err)
{
	const struct chunk_profile *p = &s->meta.profiles[i];
	int64_t totals[TYPES_MAX];
	int rc = 0;

	if (chunk_writer_is_full(r->chunk_writer, p->raw_len, s->typeset))
		rc = rewriter_close_group(r, err);
	if (rc)
		return rc;
	for (size_t t = 0; t < s->meta.total_count; t++)
		totals[t] = s->totals[t * CHUNK_PROFILES_MAX + i];
	buf_reset(&r->next);
	buf_add(&r->next, s->values.bytes.ptr + s->values.at[i], p->raw_len);
	chunk_writer_add(r->chunk_writer, p, s->typeset, totals, &r->next);
	return 0;
}

/*
 * Append to r->items the profiles of a chunk that are not hidden by a tombstone
 * interval. Only the chunk metadata is read here; values are decoded when
 * needed.
 */
static int add_items(struct rewriter *r, size_t source, struct err *err)
{
	const struct source *src = &r->sources[source];
	struct chunk_source from = part_source(part_of(r, source));
	struct buf scratch = { 0 };
	struct bytes head = { 0 };
	int64_t ms[CHUNK_PROFILES_MAX];
	size_t count = 0;
	int rc = from.meta(from.ctx, &src->group, &scratch, &head, err);

	/* Read a second time: the error may have been transient. */
	if (may_pass(rc))
		rc = from.meta(from.ctx, &src->group, &scratch, &head, err);
	if (!rc && chunk_meta_times(head, ms, &count, err))
		rc = chunk_name_meta(&from, &src->group, ERR_CORRUPT, err);
	for (uint16_t i = 0; i < count && !rc; i++) {
		if (chunks_hides(&r->groups[src->place], src->group.at, ms[i]))
			continue;
		r->items = mem_grow(r->items, r->item_count, &r->item_cap,
				    sizeof(*r->items));
		r->items[r->item_count++] = (struct item){
			.ms = ms[i], .source = (uint32_t)source, .index = i
		};
	}
	buf_fini(&scratch);
	/*
	 * Without the metadata the number of lost profiles is unknown: count
	 * one profile.
	 */
	if (is_loss(r, rc)) {
		rewriter_report(r, source, src->group.first, err);
		rc = 0;
	}
	return rc;
}

/*
 * Sort profiles by time. Of two profiles at the same time, the profile from the
 * older part comes first, and encode_groups() drops the other profile as a
 * duplicate.
 */
static int rewriter_by_time(const void *a, const void *b)
{
	const struct item *x = a;
	const struct item *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	return x->source < y->source ? -1 : x->source > y->source;
}

int encode_groups(struct rewriter *r, size_t from, size_t to, struct err *err)
{
	int64_t last = INT64_MIN;
	int rc = 0;

	r->item_count = 0;
	slots_reset(r);
	for (size_t i = from; i < to && !rc; i++)
		rc = add_items(r, i, err);
	if (to - from > 1 && r->item_count)
		qsort(r->items, r->item_count, sizeof(*r->items),
		      rewriter_by_time);
	for (size_t i = 0; i < r->item_count && !rc; i++) {
		const struct item *it = &r->items[i];
		struct slot *s = NULL;

		/*
		 * `last` is the time of the last profile that was written. If
		 * it is also the time of `it`, then `it` is a duplicate from a
		 * newer part and is dropped. A damaged profile does not set
		 * `last`, so a copy from a newer part replaces it.
		 */
		if (i && it->ms == last)
			continue;
		rc = slot_of(r, it->source, &s, err);
		if (!rc && s->values.ok[it->index]) {
			rc = put_profile(r, s, it->index, err);
			last = it->ms;
		} else if (!rc) {
			rewriter_report(r, it->source, it->ms, &s->why);
		}
	}
	return rc;
}

/*
 * Sort chunks by the time of their first profile; if the times are equal, the
 * chunk of the older part comes first.
 */
static int by_first(const void *a, const void *b)
{
	const struct source *x = a;
	const struct source *y = b;

	if (x->group.first != y->group.first)
		return x->group.first < y->group.first ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->group.at < y->group.at ? -1 : x->group.at > y->group.at;
}

/*
 * Sort chunks only by the age of their part, as encode_groups() needs them: of
 * two profiles at the same time, it keeps the profile of the first chunk.
 */
static int by_age(const void *a, const void *b)
{
	const struct source *x = a;
	const struct source *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->group.at < y->group.at ? -1 : x->group.at > y->group.at;
}

/* List the chunks of the series in all parts, sorted by time. */
static int rewriter_collect(struct rewriter *r, struct err *err)
{
	int rc = 0;

	r->source_count = 0;
	for (uint32_t i = 0; i < r->place_count && !rc; i++) {
		const struct merged_place *p = &r->places[i];
		struct chunks *g = &r->groups[i];

		rc = part_groups(r->o.parts[p->part], p->series, INT64_MIN,
				 INT64_MAX, g, err);
		for (size_t k = 0; k < g->count; k++) {
			r->sources = mem_grow(r->sources, r->source_count,
					      &r->source_cap,
					      sizeof(*r->sources));
			r->sources[r->source_count++] =
				(struct source){ g->v[k], i };
		}
	}
	if (r->source_count)
		qsort(r->sources, r->source_count, sizeof(*r->sources),
		      by_first);
	return rc;
}

/*
 * Chunks that overlap form a cluster. Returns the index after the last chunk of
 * the cluster that begins with chunk `from`.
 */
static size_t cluster_end(const struct rewriter *r, size_t from)
{
	int64_t last = r->sources[from].group.last;
	size_t to = from + 1;

	while (to < r->source_count && r->sources[to].group.first <= last) {
		if (r->sources[to].group.last > last)
			last = r->sources[to].group.last;
		to++;
	}
	return to;
}

/*
 * Write the chunks of a series. A chunk that overlaps no other chunk is copied
 * or linked without decoding, if possible. All other chunks are encoded again.
 */
static int rewriter_write_groups(struct rewriter *r, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->source_count && !rc;) {
		size_t to = cluster_end(r, i);

		if (to == i + 1 && may_take(r, i)) {
			/*
			 * Write the chunk under construction first, to keep
			 * chunks in order of time.
			 */
			rc = rewriter_close_group(r, err);
			if (!rc)
				rc = take_group(r, i, err);
		} else {
			qsort(r->sources + i, to - i, sizeof(*r->sources),
			      by_age);
			rc = encode_groups(r, i, to, err);
		}
		i = to;
	}
	return rc ? rc : rewriter_close_group(r, err);
}

int rewriter_series(struct rewriter *r, const struct merged_place *places,
		    size_t count, struct err *err)
{
	int rc;

	r->places = places;
	r->place_count = count;
	chunk_writer_begin_series(r->chunk_writer);
	r->groups = mem_zalloc(count, sizeof(*r->groups));
	rc = rewriter_collect(r, err);
	if (!rc)
		rc = rewriter_write_groups(r, err);
	if (rc)
		chunk_writer_reset(r->chunk_writer);
	for (size_t i = 0; i < count; i++)
		chunks_fini(&r->groups[i]);
	mem_free(r->groups);
	return rc;
}
