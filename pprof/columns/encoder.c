/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns/encoder.h"

#include "pprof/columns/group.h"
#include "pprof/columns/intern.h"
#include "pprof/columns/remap.h"
#include "pprof/columns/shape.h"
#include "pprof/decode.h"

/* What a profile may take to be decoded, and what a stripe may grow to. */
#define DECODE_MAX   ((size_t)16 * MIB)
#define DICT_FULL    ((size_t)8 * MIB)
#define DICT_MAX     ((size_t)16 * MIB)
#define DICT_LEVEL   12
#define ESTIMATE     3  /* level, when the size is only to be known */
#define SURELY_WORTH 48 /* times smaller: zstd does not reach it */
#define MUCH         ((size_t)512 * KIB)
#define PATCH_WORTH  8
#define PATCH_LEVEL  1
#define BUFFER_KEEP  ((size_t)1 * MIB)

struct codec_encoder {
	struct codec_table table;
	struct dict_mark start; /* of the empty dictionary */
	struct intern *intern;
	struct decoder *decoder;
	struct replay *replay;
	struct colgroup_coder *coder;
	struct zstd *zstd;
	int level;
	enum dialect dialect;     /* the last one that was right */
	VEC(uint32_t) successors; /* by key: what followed it last, or 0 */
	uint32_t first_key;       /* of the last profile */
	bool patches;             /* the last profile needed one */
	bool is_used;
	struct remap *remap; /* of the table below, or NULL */
	const struct codec_table *remapped;
	bool take_all;
	struct columns_counts counts;

	/* The group. */
	struct colgroup group;
	VEC(int64_t) values; /* profile after profile, by type */
	struct buf replayed;
	struct columns_counts added;
};

static void start_stripe(struct codec_encoder *e)
{
	dict_init(&e->table.d);
	e->start = dict_mark(&e->table.d);
	e->intern = intern_new(&e->table.d);
	e->successors.count = 0;
	e->first_key = 0;
	e->is_used = false;
}

static void restart(struct codec_encoder *e)
{
	dict_fini(&e->table.d);
	intern_free(e->intern);
	e->table.d = (struct dictionary){ 0 };
	start_stripe(e);
}

struct codec_encoder *columns_encoder_new(int level)
{
	struct codec_encoder *e = mem_new(struct codec_encoder);

	e->decoder = decoder_new(DECODE_MAX);
	e->replay = replay_new();
	e->coder = colgroup_coder_new();
	e->zstd = zstd_new();
	e->level = level;
	start_stripe(e);
	return e;
}

void columns_adopt_end(struct codec_encoder *e)
{
	remap_free(e->remap);
	e->remap = NULL;
	e->remapped = NULL;
}

void columns_encoder_free(struct codec_encoder *e)
{
	if (!e)
		return;
	columns_adopt_end(e);
	dict_fini(&e->table.d);
	intern_free(e->intern);
	decoder_free(e->decoder);
	replay_free(e->replay);
	colgroup_coder_free(e->coder);
	zstd_free(e->zstd);
	vec_fini(&e->successors);
	colgroup_fini(&e->group);
	vec_fini(&e->values);
	buf_fini(&e->replayed);
	mem_free(e);
}

const struct codec_table *columns_encoder_table(const struct codec_encoder *e)
{
	return &e->table;
}

void columns_encoder_take_all(struct codec_encoder *e)
{
	e->take_all = true;
}

const struct columns_counts *
columns_encoder_counts(const struct codec_encoder *e)
{
	return &e->counts;
}

static size_t dict_size(const struct codec_encoder *e)
{
	return dict_memory(&e->table.d) + intern_memory(e->intern);
}

bool columns_encoder_is_full(const struct codec_encoder *e)
{
	return dict_size(e) > DICT_FULL;
}

static int refuse(struct err *err, const char *why)
{
	return err_set(err, ERR_UNSUPPORTED, "not for columns: %s", why);
}

/* A profile's samples. */

static uint32_t likely_after(const struct codec_encoder *e, uint32_t key)
{
	uint32_t next = key < e->successors.count ? e->successors.v[key] : 0;

	return next ? next : key + 1;
}

static void set_successor(struct codec_encoder *e, uint32_t of, uint32_t to)
{
	while (e->successors.count <= of)
		*vec_add(&e->successors) = 0;
	e->successors.v[of] = to;
}

static void add_keys(struct codec_encoder *e, size_t samples)
{
	uint32_t likely = e->first_key;
	uint32_t last = 0;

	for (size_t i = 0; i < samples; i++) {
		uint32_t key = intern_key(e->intern, i, likely);

		if (!i)
			e->first_key = key;
		else if (key != likely)
			set_successor(e, last, key);
		*vec_add(&e->group.keys) = key;
		last = key;
		likely = likely_after(e, key);
	}
}

/* The profile's values, by type; their place is returned. */
static size_t add_values(struct codec_encoder *e, const struct pprof *p)
{
	size_t at = e->values.count;
	size_t samples = p->samples.count;

	vec_reserve(&e->values, samples * p->types.count + 1);
	e->values.count += samples * p->types.count;
	for (size_t t = 0; t < p->types.count; t++) {
		for (size_t i = 0; i < samples; i++)
			e->values.v[at + t * samples + i] =
				pprof_values(p, i)[t];
	}
	return at;
}

/* How its writer wrote it. */

static size_t distance(size_t a, size_t b)
{
	return a > b ? a - b : b - a;
}

/* Write the row as e->dialect does, into e->replayed. */
static int write_as(struct codec_encoder *e, struct bytes raw, struct row *row,
		    struct err *err)
{
	int rc = shape_read(raw, e->dialect, e->intern, &row->shape, err);

	buf_reset(&e->replayed);
	return rc ? rc :
		    replay_row(e->replay, &e->table.d, row, 2 * raw.len + MIB,
			       &e->replayed, err);
}

/* What differs between e->replayed and the profile's bytes. */
static int add_patch(struct codec_encoder *e, struct bytes raw, uint32_t *len,
		     struct err *err)
{
	size_t at = e->group.patches.len;

	zstd_compress_after(e->zstd, PATCH_LEVEL, buf_bytes(&e->replayed), raw,
			    &e->group.patches);
	*len = (uint32_t)(e->group.patches.len - at);
	e->added.patched++;
	e->added.patch_bytes += *len;
	e->patches = (size_t)*len * PATCH_WORTH <= raw.len;
	return e->patches ? 0 :
			    refuse(err, "its writer is too unlike any known");
}

/* 0: the dialect gives the profile's bytes back. */
static int try_dialect(struct codec_encoder *e, struct bytes raw,
		       struct row *row, struct err *err)
{
	int rc = write_as(e, raw, row, err);

	if (rc || !bytes_eq(buf_bytes(&e->replayed), raw))
		return rc ? rc : ERR_NOTFOUND;
	e->added.exact[e->dialect]++;
	e->patches = false;
	return 0;
}

/* Try all; e->dialect is then the right one, or that which comes nearest. */
static int try_all(struct codec_encoder *e, struct bytes raw, struct row *row,
		   struct err *err)
{
	struct dict_mark mark = dict_mark(&e->table.d);
	enum dialect best = e->dialect;
	size_t least = SIZE_MAX;

	for (int i = 0; i < DIALECTS; i++) {
		int rc = try_dialect(e, raw, row, err);
		size_t off = distance(e->replayed.len, raw.len);

		if (!rc)
			return 0;
		if (rc == ERR_NOTFOUND && off < least) {
			least = off;
			best = e->dialect;
		}
		intern_rollback_shapes(e->intern, &mark);
		e->dialect = (e->dialect + 1) % DIALECTS;
	}
	e->dialect = best;
	return try_dialect(e, raw, row, err);
}

/*
 * Find the dialect that gives the profile's bytes back, or comes near. Where
 * one profile needed a patch the next one will, in the same dialect.
 */
static int find_dialect(struct codec_encoder *e, struct bytes raw,
			struct row *row, uint32_t *patch, struct err *err)
{
	int rc = e->patches ? try_dialect(e, raw, row, err) :
			      try_all(e, raw, row, err);

	*patch = 0;
	if (rc == ERR_NOTFOUND)
		return add_patch(e, raw, patch, err);
	return rc ? refuse(err, "its top level is of no known kind") : 0;
}

static int check_limits(const struct codec_encoder *e, const struct pprof *p,
			struct err *err)
{
	size_t values = p->samples.count * (p->types.count + 1);

	if (p->mappings.count > DICT_LAYOUT_MAX)
		return refuse(err, "too many mappings");
	if (e->group.keys.count * (p->types.count + 1) + values >
	    COLGROUP_VALUES_MAX)
		return refuse(err, "too many values");
	if (e->group.count && p->types.count != e->group.types)
		return refuse(err, "its sample types are others");
	return 0;
}

static int add_profile(struct codec_encoder *e, struct bytes raw,
		       struct err *err)
{
	struct colgroup *g = &e->group;
	size_t i = g->count;
	struct row *row = &g->rows[i];
	size_t first = g->keys.count;
	struct pprof *p = NULL;
	size_t at;
	int rc = decoder_run(e->decoder, raw, &p, err);

	if (rc)
		return refuse(err, "it cannot be decoded");
	rc = check_limits(e, p, err);
	if (rc)
		return rc;
	g->types = p->types.count;
	intern_begin(e->intern, p);
	*row = (struct row){ .layout = intern_layout(e->intern),
			     .time_ns = p->time_ns,
			     .duration_ns = p->duration_ns,
			     .period = p->period,
			     .samples = p->samples.count,
			     .stride = p->samples.count,
			     .types = p->types.count };
	add_keys(e, p->samples.count);
	at = add_values(e, p);
	if (dict_size(e) > DICT_MAX)
		return refuse(err, "it has too much that is new");
	row->keys = g->keys.v + first;
	row->values = e->values.v + at;
	rc = find_dialect(e, raw, row, &g->patch_lens[i], err);
	g->count++;
	return rc;
}

/* Columns over all rows, out of those of each row. */
static void join_values(struct codec_encoder *e)
{
	struct colgroup *g = &e->group;
	size_t total = g->keys.count;
	size_t from = 0;
	size_t at = 0;

	g->values.count = 0;
	vec_reserve(&g->values, g->types * total + 1);
	g->values.count = g->types * total;
	for (size_t i = 0; i < g->count; i++) {
		size_t samples = g->rows[i].samples;

		for (size_t t = 0; t < g->types && samples; t++) {
			memcpy(g->values.v + t * total + at, e->values.v + from,
			       samples * sizeof(int64_t));
			from += samples;
		}
		at += samples;
	}
	colgroup_link(g);
}

/* An upper bound of what the dictionary has grown by, stored. */
static size_t growth_bound(const struct codec_encoder *e,
			   const struct dict_mark *from)
{
	struct dict_mark now = dict_mark(&e->table.d);
	size_t sum = 12 * (now.functions - from->functions) +
		     16 * (now.locations - from->locations) +
		     8 * (now.lines - from->lines) +
		     6 * (now.nodes - from->nodes) +
		     12 * (now.keys - from->keys) +
		     20 * (now.labels - from->labels) +
		     4 * (now.label_sets - from->label_sets) +
		     24 * (now.bindings - from->bindings) +
		     6 * (now.words - from->words) +
		     40 * (now.mappings - from->mappings);

	for (size_t i = from->strings; i < now.strings; i++)
		sum += dict_str(&e->table.d, (uint32_t)i).len + 3;
	return sum;
}

/* What the dictionary takes from there on, stored. */
static size_t stored_size(const struct codec_encoder *e,
			  const struct dict_mark *from, int level)
{
	struct buf stored = { 0 };
	size_t len;

	dict_encode(&e->table.d, from, level, &stored);
	len = stored.len;
	buf_fini(&stored);
	return len;
}

static size_t zstd_size(struct codec_encoder *e, const struct bytes *values,
			size_t count)
{
	struct buf frame = { 0 };
	size_t len;

	zstd_compress(e->zstd, e->level, values, count, &frame);
	len = frame.len;
	buf_fini(&frame);
	return len;
}

static size_t length(const struct bytes *values, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i].len;
	return sum;
}

/* Whether nearly all in many profiles is new: then nothing is in common. */
static bool is_all_new(const struct codec_encoder *e,
		       const struct dict_mark *from, const struct bytes *values,
		       size_t count)
{
	size_t raw = length(values, count);

	return raw > MUCH && growth_bound(e, from) > raw / 4 * 3;
}

/* Whether it is smaller than zstd, its share of the dictionary included. */
static bool is_worth(struct codec_encoder *e, const struct dict_mark *from,
		     const struct bytes *values, size_t count, size_t stored)
{
	size_t bound = stored + growth_bound(e, from);
	size_t raw = length(values, count);
	size_t other;

	if (bound * SURELY_WORTH < raw)
		return true;
	other = zstd_size(e, values, count);
	return bound < other || stored + stored_size(e, from, ESTIMATE) < other;
}

static void trim(struct codec_encoder *e)
{
	if (e->replayed.cap > BUFFER_KEEP)
		buf_fini(&e->replayed);
	if (vec_memory(&e->values) > BUFFER_KEEP)
		vec_fini(&e->values);
	if (colgroup_memory(&e->group) > BUFFER_KEEP)
		colgroup_fini(&e->group);
}

static void count_added(struct codec_encoder *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(e->counts.exact); i++)
		e->counts.exact[i] += e->added.exact[i];
	e->counts.patched += e->added.patched;
	e->counts.patch_bytes += e->added.patch_bytes;
}

int columns_encode(struct codec_encoder *e, const struct bytes *values,
		   size_t count, struct buf *out, struct err *err)
{
	struct dict_mark mark = dict_mark(&e->table.d);
	size_t at = out->len;
	bool too_much = count > COLGROUP_ROWS_MAX ||
			length(values, count) > COLGROUP_BYTES_MAX;
	int rc = too_much ? refuse(err, "it is too large") : 0;

	columns_adopt_end(e); /* now profiles are interned */
	colgroup_reset(&e->group);
	e->group.top = (uint32_t)mark.keys;
	e->values.count = 0;
	e->added = (struct columns_counts){ 0 };
	for (size_t i = 0; i < count && !rc; i++) {
		rc = add_profile(e, values[i], err);
		if (!rc && !e->take_all && is_all_new(e, &mark, values, i + 1))
			rc = refuse(err, "nearly all in it is new");
	}
	if (!rc) {
		join_values(e);
		colgroup_encode(e->coder, &e->table.d, &e->group, e->level,
				out);
		if (!e->take_all &&
		    !is_worth(e, &mark, values, count, out->len - at))
			rc = refuse(err, "zstd makes it smaller");
	}
	if (rc) {
		intern_rollback(e->intern, &mark);
		out->len = at;
		if (!e->is_used) /* what a refused group took is given back */
			restart(e);
	} else {
		e->is_used = true;
		count_added(e);
	}
	trim(e);
	return rc;
}

size_t columns_encoder_table_size(const struct codec_encoder *e)
{
	return stored_size(e, &e->start, DICT_LEVEL);
}

/* From the table that the group needs to the stripe's own. */
static int use_remap(struct codec_encoder *e, const struct codec_table *from,
		     struct err *err)
{
	if (e->remap && e->remapped == from)
		return 0;
	columns_adopt_end(e);
	e->remapped = from;
	return remap_new(&from->d, e->intern, &e->remap, err);
}

static int adopt(struct codec_encoder *e, const struct codec_group *group,
		 struct buf *out, struct err *err)
{
	const struct colgroup_request q = { .stored = group->stored,
					    .lens = group->lens,
					    .count = group->count,
					    .end = group->count,
					    .patches = true };
	struct dict_mark mark = dict_mark(&e->table.d);
	int rc;

	if (!group->table)
		return err_set(err, ERR_CORRUPT, "columns without their table");
	rc = colgroup_decode(e->coder, &group->table->d, &q, &e->group, err);
	if (rc == ERR_TOOBIG)
		rc = err_set(err, ERR_CORRUPT, "it grew");
	if (!rc)
		rc = use_remap(e, group->table, err);
	if (rc)
		return rc;
	remap_group(e->remap, &e->group);
	if (dict_size(e) > DICT_MAX) {
		intern_rollback(e->intern, &mark);
		return refuse(err, "it has too much that is new");
	}
	e->group.top = (uint32_t)mark.keys;
	colgroup_encode(e->coder, &e->table.d, &e->group, e->level, out);
	e->is_used = true;
	return 0;
}

int columns_adopt(struct codec_encoder *e, const struct codec_group *group,
		  struct buf *out, struct err *err)
{
	int rc = adopt(e, group, out, err);

	/* What failed may have been taken back, and its table may go. */
	if (rc)
		columns_adopt_end(e);
	trim(e);
	return rc;
}

/* What is stored must read back the same. */
static int verify(const struct codec_encoder *e, struct bytes stored,
		  struct err *err)
{
	struct dictionary again = { 0 };
	int rc;

	dict_init(&again);
	rc = dict_decode(stored, &again, err);
	if (rc == ERR_TOOBIG || (!rc && !dict_equal(&again, &e->table.d)))
		rc = err_set(err, ERR_CORRUPT, "a dictionary changed");
	dict_fini(&again);
	return rc;
}

int columns_encoder_finish(struct codec_encoder *e, struct buf *out,
			   struct err *err)
{
	size_t at = out->len;
	int rc = 0;

	columns_adopt_end(e);
	if (e->is_used) {
		dict_encode(&e->table.d, &e->start, DICT_LEVEL, out);
		rc = verify(e, (struct bytes){ out->ptr + at, out->len - at },
			    err);
	}
	restart(e);
	return rc;
}
