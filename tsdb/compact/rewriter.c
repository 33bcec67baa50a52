/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/compact/rewriter.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "base/vec.h"
#include "tsdb/block/values.h"
#include "tsdb/chunk/chunk_writer.h"

#define SLOTS 16 /* maximum number of decoded chunks in memory */

#define SLOT_BYTES (32 * MIB) /* maximum bytes of the values in all slots */

#define NO_SOURCE SIZE_MAX /* value of slot.source in an empty slot */

/*
 * A chunk of the current series, and the place (a part and the number of the
 * series in the part) from which the chunk comes.
 */
struct source {
	struct chunk group;
	/* Index in rewriter.places; a lower index is an older part. */
	uint32_t place;
};

/* A decoded chunk, cached while overlapping chunks are merged. */
struct slot {
	/* Index of the chunk in rewriter.sources, or NO_SOURCE. */
	size_t source;
	uint64_t used; /* rewriter.tick when the slot was last used */
	struct chunk_meta meta;
	int64_t totals[TYPES_MAX * CHUNK_PROFILES_MAX];
	struct bytes typeset;
	struct values values;
	/* Error of the profiles of the chunk that could not be read. */
	struct err why;
};

/* A profile of one of the overlapping chunks that are being merged. */
struct item {
	int64_t ms;
	uint32_t source;
	uint16_t index; /* number of the profile in its chunk */
};

/*
 * The decision whether one values file of a source block is linked into the new
 * block.
 */
struct file_plan {
	bool seen; /* whether the decision was made */
	/* Whether to link the file instead of copying its chunks. */
	bool link;
	uint32_t number; /* number of the linked file in the new block */
};

/*
 * A dictionary table of an old block that was copied into the new block: its
 * old file and offset, and its new place. Chunks that use the table are copied
 * with it.
 */
struct copied {
	const struct file *from;
	uint64_t offset;
	struct chunk_table to; /* place of the table in the new block */
};

/*
 * The state of the rewriter: first the members for the whole block, then the
 * members for the current series.
 */
struct rewriter {
	struct rewriter_options o;
	struct block_writer *w;
	struct chunk_writer *chunk_writer;
	struct values_reader reader;
	/* Compressed bytes of the chunk under construction. */
	struct buf stored;
	struct buf next; /* uncompressed bytes of the profile to be added */
	/* files[part][number of a values file]: whether the file is linked. */
	struct file_plan **files;
	struct index_chunk *chunks;
	size_t chunk_count;
	size_t chunk_cap;
	/* Tables that were copied in the current stripe. */
	VEC(struct copied) copied;
	/* Table of the chunk that was transcoded last. */
	struct table_ref *adopted;

	/* The places of the series that is being written. */
	const struct merged_place *places;
	size_t place_count;
	/* For each place, the chunks and tombstones of the series. */
	struct chunks *groups;
	struct source *sources;
	size_t source_count;
	size_t source_cap;
	/* Profiles of the overlapping chunks that are being merged. */
	struct item *items;
	size_t item_count;
	size_t item_cap;
	struct slot slots[SLOTS];
	uint64_t tick; /* incremented at each use of a slot */
};

/*
 * Return whether a failed read with the error code `rc` is worth a retry: it
 * was an I/O error, or it found damage that may have happened on the way from
 * the disk.
 */
static bool may_pass(int rc)
{
	return rc == ERR_IO || rc == ERR_CORRUPT;
}

/*
 * Return whether the profiles of a failed read are given up, so that the block
 * is written without them. Damaged profiles are always given up; after an I/O
 * error profiles are given up only with the option `salvage`.
 */
static bool is_loss(const struct rewriter *r, int rc)
{
	return rc == ERR_CORRUPT || (rc == ERR_IO && r->o.salvage);
}

/*
 * The slots of a rewriter are a small cache of decoded chunks, which is used
 * while chunks that overlap are merged.
 */

/*
 * The number of bytes allocated for the values of all slots, whether the slots
 * are in use or not.
 */
static size_t held_bytes(const struct rewriter *r)
{
	size_t sum = 0;

	for (size_t i = 0; i < SLOTS; i++)
		sum += r->slots[i].values.bytes.cap;
	return sum;
}

/* Mark a slot as empty and free its values. */
static void slot_free(struct slot *s)
{
	buf_fini(&s->values.bytes);
	s->source = NO_SOURCE;
	s->used = 0;
}

/*
 * Return the least recently used slot. If the slots hold too much memory, all
 * slots are emptied first. This simple way to keep the bound is enough, because
 * overlapping chunks of that size are rare.
 */
static struct slot *oldest_slot(struct rewriter *r)
{
	struct slot *oldest = &r->slots[0];

	for (size_t i = 1; i < SLOTS; i++) {
		if (r->slots[i].used < oldest->used)
			oldest = &r->slots[i];
	}
	if (held_bytes(r) > SLOT_BYTES) {
		for (size_t i = 0; i < SLOTS; i++)
			slot_free(&r->slots[i]);
	}
	oldest->source = NO_SOURCE;
	return oldest;
}

/*
 * Empty all slots. Slot 0 keeps its buffer, because most chunks overlap no
 * other chunk and need only one slot.
 */
static void slots_reset(struct rewriter *r)
{
	r->slots[0].source = NO_SOURCE;
	r->slots[0].used = 0;
	for (size_t i = 1; i < SLOTS; i++)
		slot_free(&r->slots[i]);
}

/* Return the part that chunk number `source` comes from; borrowed. */
static struct part part_of(const struct rewriter *r, size_t source)
{
	return r->o.parts[r->places[r->sources[source].place].part];
}

/*
 * Decode the values of a chunk, with one retry because a read error may be
 * transient.
 */
static int load_values(struct rewriter *r, struct slot *s, size_t source)
{
	struct part p = part_of(r, source);
	int rc = values_all(&r->reader, p, &s->meta, &s->values, &s->why);

	return may_pass(rc) ? values_all(&r->reader, p, &s->meta, &s->values,
					 &s->why) :
			      rc;
}

/*
 * Read the chunk metadata and type set of a chunk into the slot, with one
 * retry. ERR_CORRUPT, ERR_IO: the metadata cannot be read.
 */
NODISCARD static int rewriter_load_meta(struct rewriter *r, struct slot *s,
					size_t source, struct err *err)
{
	struct chunk_source from = part_source(part_of(r, source));
	const struct chunk *g = &r->sources[source].group;
	int rc = chunk_read_meta(&from, g, &s->meta, &s->typeset, err);

	return may_pass(rc) ?
		       chunk_read_meta(&from, g, &s->meta, &s->typeset, err) :
		       rc;
}

/*
 * Set *out to the slot that holds chunk number `source`, decoded; load the
 * chunk if no slot has it. The slot is valid until the next call. If a profile
 * of the chunk could not be read, the element of values.ok for the profile is
 * false. Returns the error of a failed read, unless is_loss() is true for the
 * error.
 */
NODISCARD static int slot_of(struct rewriter *r, size_t source,
			     struct slot **out, struct err *err)
{
	struct slot *s = NULL;
	int rc;

	for (size_t i = 0; i < SLOTS; i++) {
		if (r->slots[i].source == source)
			s = &r->slots[i];
	}
	if (!s) {
		s = oldest_slot(r);
		memset(s->values.ok, 0, sizeof(s->values.ok));
		rc = rewriter_load_meta(r, s, source, &s->why);
		if (!rc)
			rc = load_values(r, s, source);
		/*
		 * If the failed read counts as a loss, values.ok is false for
		 * all profiles of the slot, and the caller reports each of
		 * these profiles.
		 */
		if (rc && !is_loss(r, rc))
			return err_set(err, rc, "%s", s->why.msg);
		s->source = source;
	}
	s->used = ++r->tick;
	*out = s;
	return 0;
}

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

/*
 * Return the number of a new entry in r->chunks. Its contents are set when the
 * stripe ends, because the place of the stripe's table is not known before.
 */
static size_t new_chunk(struct rewriter *r)
{
	r->chunks = mem_grow(r->chunks, r->chunk_count, &r->chunk_cap,
			     sizeof(*r->chunks));
	return r->chunk_count++;
}

/*
 * Count and log a lost profile or, if nothing says how many profiles of a chunk
 * are lost, the chunk as one. The labels are logged only if they can be read:
 * the index may be damaged too.
 */
static void rewriter_report(struct rewriter *r, size_t source, int64_t ms,
			    bool whole_chunk, const struct err *why)
{
	static const char *const texts[2][2] = {
		{ "dropping a damaged profile",
		  "the disk cannot read a profile; the profile is missing until the disk can read it (the old files are kept as *.unread)" },
		{ "dropping a chunk whose metadata is damaged: all its profiles are lost, of which this is the first",
		  "the disk cannot read a chunk; its profiles are missing until the disk can read it (the old files are kept as *.unread)" },
	};

	const struct merged_place *p = &r->places[r->sources[source].place];
	struct labels *ls = NULL;
	struct buf text = { 0 };
	char time[40];

	time_format(ms, time);
	if (!part_labels(part_of(r, source), p->series, &ls, NULL))
		labels_text(ls, &text);
	r->o.loss->profiles++;
	r->o.loss->unread += why->code == ERR_IO;
	metric_add(r->o.damaged, 1);
	log_event(r->o.log, LOG_ERROR, texts[whole_chunk][why->code == ERR_IO],
		  LOG_FIELDS(log_text("labels", buf_cstr(&text)),
			     log_text("time", time), log_err(why)));
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
 * End the stripe before the end of its target if its table or its list of
 * chunks has grown too large (docs/decisions.md, 46). Errors as
 * rewriter_series().
 */
NODISCARD static int end_full_stripe(struct rewriter *r, struct err *err)
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
		rewriter_report(r, source, src->group.first, true, err);
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

/*
 * Encode again the chunks r->sources[from] to r->sources[to - 1]: either
 * chunks that overlap, or a single chunk. They must be sorted by age: of two
 * profiles at the same time, the profile in the first chunk is kept. Errors as
 * rewriter_series().
 */
NODISCARD static int encode_groups(struct rewriter *r, size_t from, size_t to,
				   struct err *err)
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
			rewriter_report(r, it->source, it->ms, false, &s->why);
		}
	}
	return rc;
}

/*
 * Taking over chunks: they are put into the new block without restoring
 * profiles, by copying, by linking their values file, or by translation to the
 * table of the current stripe.
 */

/*
 * Decide, once for each values file of a block, whether it is linked. A file is
 * linked if it is large and at least half of it is still in use; the chunks of
 * other files are copied, which joins small files and frees unused space
 * (docs/decisions.md, 19).
 */
static int plan_file(struct rewriter *r, uint32_t part, uint32_t number,
		     struct file_plan **out, struct err *err)
{
	const struct block *b = r->o.parts[part].block;
	struct file_plan *plan;
	const struct meta_file *f;
	char name[META_NAME_MAX];

	if (!block_values(b, number))
		return block_tell_absent(b, "values", number, err);
	*out = plan = &r->files[part][number];
	if (plan->seen)
		return 0;
	snprintf(name, sizeof(name), "values/%06u", number);
	f = meta_file(&b->meta, name);
	plan->seen = true;
	plan->link = f && f->size >= r->o.link_min && f->live >= f->size / 2;
	return plan->link ?
		       block_writer_link(r->w, b, number, &plan->number, err) :
		       0;
}

/*
 * `from` is a file of another block, and *place is the place of a dictionary
 * table in this file. Set *place to the place of the table's copy in the new
 * block. The table is copied with the first chunk that needs it.
 */
static int copy_table(struct rewriter *r, const struct file *from,
		      struct chunk_table *place, struct err *err)
{
	struct chunk_place at = { .offset = place->offset,
				  .len = place->len,
				  .crc = place->crc };
	struct bytes stored = { 0 };
	int rc;

	for (size_t i = 0; i < r->copied.count; i++) {
		const struct copied *c = &r->copied.v[i];

		if (c->from == from && c->offset == place->offset) {
			*place = c->to;
			return 0;
		}
	}
	rc = values_stored(&r->reader, from, &at, &stored, err);
	if (!rc)
		rc = block_writer_table(r->w, stored, place, err);
	if (!rc)
		*vec_add(&r->copied) = (struct copied){ .from = from,
							.offset = at.offset,
							.to = *place };
	return rc;
}

/*
 * Transcode a chunk of columns to the dictionary of the current stripe, so that
 * what both stripes have in common is stored once (docs/decisions.md, 53).
 * ERR_UNSUPPORTED: the chunk cannot be transcoded; the caller copies it with
 * its table.
 */
static int adopt_group(struct rewriter *r, struct part p, struct slot *s,
		       struct err *err)
{
	struct table_ref *table = NULL;
	struct bytes stored = { 0 };
	int rc = values_table(&r->reader, p, &s->meta, &table, err);

	if (rc)
		return rc;
	if (!table)
		return err_set(err, ERR_UNSUPPORTED, "the chunk has no table");
	rc = values_stored(&r->reader, part_values(p, &s->meta), &s->meta.place,
			   &stored, err);
	buf_reset(&r->stored);
	if (!rc) {
		rc = chunk_writer_adopt(r->chunk_writer, &s->meta, table->table,
					stored, &r->stored, err);
		/*
		 * The chunk writer borrows this table from now on, so a
		 * reference is kept. It no longer uses the previous table.
		 */
		table_unref(r->adopted);
		r->adopted = table_ref(table);
	}
	if (!rc)
		rc = block_writer_group(r->w, &s->meta, buf_bytes(&r->stored),
					s->typeset, new_chunk(r), err);
	return rc;
}

/* Copy the stored bytes of a chunk, and its table, unchanged. */
static int copy_group(struct rewriter *r, struct part p, struct slot *s,
		      struct err *err)
{
	const struct file *from = part_values(p, &s->meta);
	struct bytes stored = { 0 };
	int rc = 0;

	if (s->meta.place.table.len)
		rc = copy_table(r, from, &s->meta.place.table, err);
	if (!rc)
		rc = values_stored(&r->reader, from, &s->meta.place, &stored,
				   err);
	return rc ? rc :
		    block_writer_group(r->w, &s->meta, stored, s->typeset,
				       new_chunk(r), err);
}

/*
 * Take over chunk number `source` of the current series into the new block. If
 * the chunk turns out to be damaged, its profiles are encoded one by one
 * instead. Errors as rewriter_series().
 */
NODISCARD static int take_group(struct rewriter *r, size_t source,
				struct err *err)
{
	struct part p = part_of(r, source);
	uint32_t part = r->places[r->sources[source].place].part;
	/*
	 * Slot 0 is used only as memory for the metadata, and stays marked as
	 * empty.
	 */
	struct slot *s = &r->slots[0];
	struct file_plan *plan = NULL;
	int rc;

	slot_free(s);
	rc = rewriter_load_meta(r, s, source, err);
	if (!rc)
		rc = plan_file(r, part, s->meta.place.file, &plan, err);
	/*
	 * Encode the profiles one by one instead: this logs labels and time of
	 * each lost profile.
	 */
	if (may_pass(rc))
		return encode_groups(r, source, source + 1, err);
	if (rc)
		return rc;
	if (plan && plan->link) {
		s->meta.place.file = plan->number;
		block_writer_linked(r->w, &s->meta, s->typeset, new_chunk(r));
		return end_full_stripe(r, err);
	}
	rc = adopt_group(r, p, s, err);
	if (rc == ERR_UNSUPPORTED)
		rc = copy_group(r, p, s, err);
	/*
	 * Encode the profiles one by one instead: this saves the intact
	 * profiles.
	 */
	if (may_pass(rc))
		return encode_groups(r, source, source + 1, err);
	return rc ? rc : end_full_stripe(r, err);
}

/*
 * Series: their chunks are collected, sorted, and taken over or encoded again.
 */

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
 * Return whether a chunk may be taken over: it must come from a block, the
 * option `reencode` must be off, and no tombstone interval may overlap the
 * chunk.
 *
 * Chunks of heads belong to no stripe and are always encoded again. Chunks with
 * deleted profiles are encoded again, too, to leave out these profiles.
 */
static bool may_take(const struct rewriter *r, size_t source)
{
	const struct source *s = &r->sources[source];
	const struct chunks *g = &r->groups[s->place];

	if (r->o.reencode || part_of(r, source).head)
		return false;
	for (size_t i = 0; i < g->gap_count; i++) {
		if (g->gaps[i].from <= s->group.last &&
		    g->gaps[i].to >= s->group.first)
			return false;
	}
	return true;
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
