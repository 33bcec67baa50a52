/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/rewriter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "tsdb/builder.h"
#include "tsdb/values.h"

#define SLOTS      16
#define SLOT_BYTES (32 * MIB) /* of values, over all slots */
#define NO_SOURCE  SIZE_MAX

/* A group, and in which place of its series it is. */
struct source {
	struct group group;
	uint32_t place;
};

/* A decoded group. */
struct slot {
	size_t source; /* NO_SOURCE: free */
	uint64_t used; /* when, for the oldest to go first */
	struct head head;
	int64_t totals[TYPES_MAX * GROUP_PROFILES_MAX];
	struct bytes typeset;
	struct values values;
	struct err why; /* what is wrong with its profiles that are not ok */
};

/* One profile of the groups that overlap. */
struct item {
	int64_t ms;
	uint32_t source;
	uint16_t index;
};

/* A values file of a block: what is done with its groups. */
struct file_plan {
	bool seen;
	bool link;
	uint32_t number; /* in the new block */
};

/* A table that was copied for groups that are taken over. */
struct copied {
	const struct file *from;
	uint64_t offset;
	struct head_table to; /* in the new block */
};

struct rewriter {
	struct rewriter_options o;
	struct block_writer *w;
	struct builder *builder;
	struct values_reader reader;
	struct buf stored;
	struct buf next;
	struct file_plan **files; /* by part, by file */
	struct index_chunk *chunks;
	size_t chunk_count;
	size_t chunk_cap;
	VEC(struct copied) copied; /* in this stripe */

	/* The series. */
	const struct roster_place *places;
	size_t place_count;
	struct groups *groups; /* by place */
	struct source *sources;
	size_t source_count;
	size_t source_cap;
	struct item *items;
	size_t item_count;
	size_t item_cap;
	struct slot slots[SLOTS];
	uint64_t tick;
};

struct rewriter *rewriter_new(const struct rewriter_options *o,
			      struct block_writer *w)
{
	struct rewriter *r = mem_new(struct rewriter);

	r->o = *o;
	r->w = w;
	r->builder = builder_new(o->columns, o->level);
	r->files = mem_zalloc(o->count, sizeof(struct file_plan *));
	for (size_t i = 0; i < o->count; i++) {
		if (o->parts[i].block)
			r->files[i] =
				mem_zalloc(o->parts[i].block->value_count + 1,
					   sizeof(**r->files));
	}
	for (size_t i = 0; i < SLOTS; i++) {
		r->slots[i].source = NO_SOURCE;
		r->slots[i].head.totals = r->slots[i].totals;
	}
	return r;
}

void rewriter_free(struct rewriter *r)
{
	if (!r)
		return;
	builder_free(r->builder);
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

static struct part part_of(const struct rewriter *r, size_t source)
{
	return r->o.parts[r->places[r->sources[source].place].part];
}

/* The number of one chunk more; the stripe's end says where it is. */
static size_t new_chunk(struct rewriter *r)
{
	r->chunks = mem_grow(r->chunks, r->chunk_count, &r->chunk_cap,
			     sizeof(*r->chunks));
	return r->chunk_count++;
}

/* Tell that profiles are lost; the group's head may be lost too. */
static void report(struct rewriter *r, size_t source, int64_t ms,
		   const struct err *why)
{
	const struct roster_place *p = &r->places[r->sources[source].place];
	struct labels *ls = NULL;
	struct buf text = { 0 };

	if (!part_labels(part_of(r, source), p->series, &ls, NULL))
		labels_text(ls, &text);
	r->o.loss->profiles++;
	r->o.loss->unread += why->code == ERR_IO;
	metric_add(r->o.damaged, 1);
	log_event(r->o.log, LOG_ERROR, "a damaged profile is dropped",
		  LOG_FIELDS(log_text("labels", buf_cstr(&text)),
			     log_int("time", ms), log_err(why)));
	labels_unref(ls);
	buf_fini(&text);
}

/* Groups decoded. */

static size_t held_bytes(const struct rewriter *r)
{
	size_t sum = 0;

	for (size_t i = 0; i < SLOTS; i++)
		sum += r->slots[i].values.bytes.cap;
	return sum;
}

static void slot_free(struct slot *s)
{
	buf_fini(&s->values.bytes);
	s->source = NO_SOURCE;
	s->used = 0;
}

/* The slot that was not looked at for longest, with room for its bytes. */
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

/* One buffer is kept from group to group; more while they overlap. */
static void slots_reset(struct rewriter *r)
{
	r->slots[0].source = NO_SOURCE;
	r->slots[0].used = 0;
	for (size_t i = 1; i < SLOTS; i++)
		slot_free(&r->slots[i]);
}

/* Whether what failed may succeed at a second look. */
static bool may_pass(int rc)
{
	return rc == ERR_IO || rc == ERR_CORRUPT;
}

/* Whether the block is made without what could not be read. */
static bool is_loss(const struct rewriter *r, int rc)
{
	return rc == ERR_CORRUPT || (rc == ERR_IO && r->o.salvage);
}

static int load_values(struct rewriter *r, struct slot *s, size_t source)
{
	struct part p = part_of(r, source);
	int rc = values_all(&r->reader, p, &s->head, &s->values, &s->why);

	return may_pass(rc) ? values_all(&r->reader, p, &s->head, &s->values,
					 &s->why) :
			      rc;
}

static int load_head(struct rewriter *r, struct slot *s, size_t source,
		     struct err *err)
{
	struct group_source from = part_source(part_of(r, source));
	const struct group *g = &r->sources[source].group;
	int rc = group_head(&from, g, &s->head, &s->typeset, err);

	return may_pass(rc) ? group_head(&from, g, &s->head, &s->typeset, err) :
			      rc;
}

/* The decoded group. Profiles in it that are not ok are lost. */
static int slot_of(struct rewriter *r, size_t source, struct slot **out,
		   struct err *err)
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
		rc = load_head(r, s, source, &s->why);
		if (!rc)
			rc = load_values(r, s, source);
		if (rc && !is_loss(r, rc))
			return err_set(err, rc, "%s", s->why.msg);
		s->source = source;
	}
	s->used = ++r->tick;
	*out = s;
	return 0;
}

/* Groups written. */

static int end_stripe(struct rewriter *r, struct err *err)
{
	struct buf table = { 0 };
	int rc = builder_end_stripe(r->builder, &table, err);

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

static int end_full_stripe(struct rewriter *r, struct err *err)
{
	return builder_is_stripe_full(r->builder) ||
			       block_writer_is_full(r->w) ?
		       end_stripe(r, err) :
		       0;
}

static int close_group(struct rewriter *r, struct err *err)
{
	struct builder *b = r->builder;
	int rc;

	if (!b->head.count)
		return 0;
	buf_reset(&r->stored);
	rc = builder_store(b, &r->stored, err);
	if (!rc)
		rc = block_writer_group(r->w, &b->head, buf_bytes(&r->stored),
					buf_bytes(&b->typeset), new_chunk(r),
					err);
	builder_reset(b);
	if (r->stored.cap > GROUP_BYTES_MAX)
		buf_fini(&r->stored);
	return rc ? rc : end_full_stripe(r, err);
}

static int put_profile(struct rewriter *r, const struct slot *s, uint16_t i,
		       struct err *err)
{
	const struct head_profile *p = &s->head.profiles[i];
	int64_t totals[TYPES_MAX];
	int rc = 0;

	if (builder_is_full(r->builder, p->raw_len, s->typeset))
		rc = close_group(r, err);
	if (rc)
		return rc;
	for (size_t t = 0; t < s->head.total_count; t++)
		totals[t] = s->totals[t * GROUP_PROFILES_MAX + i];
	buf_reset(&r->next);
	buf_add(&r->next, s->values.bytes.ptr + s->values.at[i], p->raw_len);
	builder_add(r->builder, p, s->typeset, totals, &r->next);
	return 0;
}

/* The profiles of a group that were not deleted, into items. */
static int add_items(struct rewriter *r, size_t source, struct err *err)
{
	const struct source *src = &r->sources[source];
	struct group_source from = part_source(part_of(r, source));
	struct buf scratch = { 0 };
	struct bytes head = { 0 };
	int64_t ms[GROUP_PROFILES_MAX];
	size_t count = 0;
	int rc = from.head(from.ctx, &src->group, &scratch, &head, err);

	if (may_pass(rc))
		rc = from.head(from.ctx, &src->group, &scratch, &head, err);
	if (!rc)
		rc = head_times(head, ms, &count, err);
	for (uint16_t i = 0; i < count && !rc; i++) {
		if (groups_hides(&r->groups[src->place], src->group.at, ms[i]))
			continue;
		r->items = mem_grow(r->items, r->item_count, &r->item_cap,
				    sizeof(*r->items));
		r->items[r->item_count++] = (struct item){
			.ms = ms[i], .source = (uint32_t)source, .index = i
		};
	}
	buf_fini(&scratch);
	if (is_loss(r, rc)) {
		report(r, source, src->group.first, err);
		rc = 0;
	}
	return rc;
}

static int by_time(const void *a, const void *b)
{
	const struct item *x = a;
	const struct item *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	return x->source < y->source ? -1 : x->source > y->source;
}

/*
 * Encode groups [from, to) of the series, which overlap, or are one, anew.
 * Sources are sorted so that of two at one time the older comes first.
 */
static int encode_groups(struct rewriter *r, size_t from, size_t to,
			 struct err *err)
{
	int64_t last = INT64_MIN;
	int rc = 0;

	r->item_count = 0;
	slots_reset(r);
	builder_adopt_end(r->builder); /* other tables are read now */
	for (size_t i = from; i < to && !rc; i++)
		rc = add_items(r, i, err);
	if (to - from > 1 && r->item_count)
		qsort(r->items, r->item_count, sizeof(*r->items), by_time);
	for (size_t i = 0; i < r->item_count && !rc; i++) {
		const struct item *it = &r->items[i];
		struct slot *s = NULL;

		if (i && it->ms == last)
			continue;
		rc = slot_of(r, it->source, &s, err);
		if (!rc && s->values.ok[it->index]) {
			rc = put_profile(r, s, it->index, err);
			last = it->ms;
		} else if (!rc) {
			report(r, it->source, it->ms, &s->why);
		}
	}
	return rc;
}

/* Whether a block's values file is linked, not copied; once for each file. */
static int plan_file(struct rewriter *r, uint32_t part, uint32_t number,
		     struct file_plan **out, struct err *err)
{
	const struct block *b = r->o.parts[part].block;
	struct file_plan *plan;
	const struct meta_file *f;
	char name[META_NAME_MAX];

	if (!block_values(b, number))
		return err_set(err, ERR_CORRUPT, "%s: no values file %u",
			       b->path, number);
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

/* The stripe's table comes along with the first group that needs it. */
static int copy_table(struct rewriter *r, const struct file *from,
		      struct head_table *place, struct err *err)
{
	struct head_place at = { .offset = place->offset,
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
 * A group as columns of another stripe becomes one of this stripe, so that
 * what both have in common stands once. ERR_UNSUPPORTED: it cannot.
 */
static int adopt_group(struct rewriter *r, struct part p, struct slot *s,
		       struct err *err)
{
	const struct codec_table *table = NULL;
	struct bytes stored = { 0 };
	int rc = values_table(&r->reader, p, &s->head, &table, err);

	if (!rc && !table)
		rc = err_set(err, ERR_UNSUPPORTED, "it has no table");
	if (!rc)
		rc = values_stored(&r->reader, part_values(p, &s->head),
				   &s->head.place, &stored, err);
	buf_reset(&r->stored);
	if (rc)
		builder_adopt_end(r->builder);
	else
		rc = builder_adopt(r->builder, &s->head, table, stored,
				   &r->stored, err);
	if (!rc)
		rc = block_writer_group(r->w, &s->head, buf_bytes(&r->stored),
					s->typeset, new_chunk(r), err);
	return rc;
}

/* Copy a group of a block as it is. */
static int copy_group(struct rewriter *r, struct part p, struct slot *s,
		      struct err *err)
{
	const struct file *from = part_values(p, &s->head);
	struct bytes stored = { 0 };
	int rc = 0;

	if (s->head.place.table.len)
		rc = copy_table(r, from, &s->head.place.table, err);
	if (!rc)
		rc = values_stored(&r->reader, from, &s->head.place, &stored,
				   err);
	return rc ? rc :
		    block_writer_group(r->w, &s->head, stored, s->typeset,
				       new_chunk(r), err);
}

/* Take a group of a block over as it is. */
static int take_group(struct rewriter *r, size_t source, struct err *err)
{
	struct part p = part_of(r, source);
	uint32_t part = r->places[r->sources[source].place].part;
	struct slot *s = &r->slots[0]; /* for its room */
	struct file_plan *plan = NULL;
	int rc;

	slot_free(s);
	rc = load_head(r, s, source, err);
	if (!rc)
		rc = plan_file(r, part, s->head.place.file, &plan, err);
	if (may_pass(rc)) /* each profile is named that is lost */
		return encode_groups(r, source, source + 1, err);
	if (rc)
		return rc;
	if (plan && plan->link) {
		s->head.place.file = plan->number;
		block_writer_linked(r->w, &s->head, s->typeset, new_chunk(r));
		return end_full_stripe(r, err);
	}
	rc = adopt_group(r, p, s, err);
	if (rc == ERR_UNSUPPORTED)
		rc = copy_group(r, p, s, err);
	if (may_pass(rc)) /* some of its profiles may be whole */
		return encode_groups(r, source, source + 1, err);
	return rc ? rc : end_full_stripe(r, err);
}

static bool may_take(const struct rewriter *r, size_t source)
{
	const struct source *s = &r->sources[source];
	const struct groups *g = &r->groups[s->place];

	if (r->o.reencode || part_of(r, source).range)
		return false;
	for (size_t i = 0; i < g->gap_count; i++) {
		if (g->gaps[i].from <= s->group.last &&
		    g->gaps[i].to >= s->group.first)
			return false;
	}
	return true;
}

/* By time; the older of two first. */
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

/* By age alone. */
static int by_age(const void *a, const void *b)
{
	const struct source *x = a;
	const struct source *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->group.at < y->group.at ? -1 : x->group.at > y->group.at;
}

static int collect(struct rewriter *r, struct err *err)
{
	int rc = 0;

	r->source_count = 0;
	for (uint32_t i = 0; i < r->place_count && !rc; i++) {
		const struct roster_place *p = &r->places[i];
		struct groups *g = &r->groups[i];

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

/* The groups from `from` on that overlap, one with the next. */
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

static int write_groups(struct rewriter *r, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->source_count && !rc;) {
		size_t to = cluster_end(r, i);

		if (to == i + 1 && may_take(r, i)) {
			rc = close_group(r, err);
			if (!rc)
				rc = take_group(r, i, err);
		} else {
			qsort(r->sources + i, to - i, sizeof(*r->sources),
			      by_age);
			rc = encode_groups(r, i, to, err);
		}
		i = to;
	}
	return rc ? rc : close_group(r, err);
}

int rewriter_series(struct rewriter *r, const struct roster_place *places,
		    size_t count, struct err *err)
{
	int rc;

	r->places = places;
	r->place_count = count;
	builder_begin_series(r->builder);
	r->groups = mem_zalloc(count, sizeof(*r->groups));
	rc = collect(r, err);
	if (!rc)
		rc = write_groups(r, err);
	if (rc)
		builder_reset(r->builder);
	for (size_t i = 0; i < count; i++)
		groups_fini(&r->groups[i]);
	mem_free(r->groups);
	return rc;
}
