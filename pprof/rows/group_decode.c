/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/rows/group_decode.h"

#include "base/dec.h"
#include "pprof/dictionary/section.h"
#include "pprof/rows/group.h"
#include "pprof/rows/value_decode.h"

/*
 * Number of columns in the head (the section with a few numbers for each
 * profile), see set_head_field().
 */
#define HEAD_FIELDS 7

int colgroup_damaged(struct err *err, const char *what)
{
	return err_set(err, ERR_CORRUPT, "the columns are damaged: %s", what);
}

/*
 * Read a column of the head, which is stored as differences (order 1) or, from
 * the third number on, as differences of differences (order 2).
 */
static void get_column(struct dec *d, int64_t *v, size_t n, int order)
{
	int64_t last = 0;
	int64_t step = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t diff = dec_svarint(d);

		if (order == 2 && i >= 2)
			diff = wrap_add(diff, step);
		step = diff;
		last = wrap_add(last, diff);
		v[i] = last;
	}
}

/*
 * Store `v`, the number of row i in column `field` of the head. Returns false
 * if the number is out of range.
 */
static bool set_head_field(struct colgroup *g, const struct dictionary *d,
			   size_t i, int field, int64_t v)
{
	struct row *row = &g->rows[i];
	uint64_t u = (uint64_t)v;

	switch (field) {
	case 0:
		row->shape = (uint32_t)u;
		return u < d->shapes.count;
	case 1:
		row->layout = (uint32_t)u;
		return u < d->layouts.count;
	case 2:
		row->samples = (size_t)u;
		return u <= UINT32_MAX;
	case 3:
		g->patch_lens[i] = (uint32_t)u;
		return u <= UINT32_MAX;
	case 4:
		row->period = v;
		return true;
	case 5:
		row->duration_ns = v;
		return true;
	default:
		row->time_ns = v;
		return true;
	}
}

/*
 * Check each number of samples in the head against the length of the profile: a
 * sample takes at least two bytes of its profile, and one more for each value.
 * This bounds what the decoder allocates for a damaged head.
 */
static bool colgroup_has_room(const struct colgroup *g, const uint32_t *lens)
{
	for (size_t i = 0; i < g->count; i++) {
		if (g->rows[i].samples * (g->types + 2) > lens[i])
			return false;
	}
	return true;
}

/* Read and check the head. The rest of the group depends on its numbers. */
static int get_head(struct colgroup_coder *c, const struct dictionary *d,
		    const struct colgroup_request *q, struct dec *in,
		    struct colgroup *g, struct err *err)
{
	int64_t v[COLGROUP_ROWS_MAX];
	struct dec head;
	int rc = section_get(c->zstd, in, &c->head, err);

	if (rc)
		return rc;
	head = dec_init(buf_bytes(&c->head));
	g->top = (uint32_t)dec_count(&head, d->keys.count);
	g->types = (size_t)dec_count(&head, TYPES_MAX);
	for (int f = 0; f < HEAD_FIELDS; f++) {
		get_column(&head, v, g->count, f == HEAD_FIELDS - 1 ? 2 : 1);
		for (size_t i = 0; i < g->count; i++) {
			if (!set_head_field(g, d, i, f, v[i]))
				return colgroup_damaged(
					err,
					"invalid number in the section head");
		}
	}
	if (head.bad || dec_left(&head))
		return colgroup_damaged(
			err, "the section head has an invalid length");
	return colgroup_has_room(g, q->lens) ?
		       0 :
		       colgroup_damaged(err, "too many values");
}

size_t colgroup_count_samples(const struct colgroup *g, size_t end)
{
	size_t n = 0;

	for (size_t i = 0; i < end; i++)
		n += g->rows[i].samples;
	return n;
}

/* State of reading keys, see colgroup_put_keys(). */
struct keys {
	struct dec in;
	uint32_t *successors;
	uint32_t count; /* number of keys in the dictionary */
	/*
	 * Number of keys so far: the keys before the group and the new ones in
	 * it.
	 */
	uint32_t top;
};

/*
 * Read a key that is not the predicted one. It is stored as the distance from
 * `top`; 0 means the next new key.
 */
static inline uint32_t other_key(struct keys *k)
{
	uint64_t back = dec_count(&k->in, k->top);

	if (!back)
		k->top++;
	return k->in.bad ? UINT32_MAX : k->top - (uint32_t)back - !back;
}

/*
 * Read the keys of one row into `out`. successors[count] predicts the first key
 * of the row. Every key is checked, because later code uses keys as indexes.
 */
static bool colgroup_get_keys(struct keys *k, uint32_t *out, size_t samples)
{
	uint32_t *next = &k->successors[k->count];
	uint64_t run = dec_uvarint(&k->in);

	for (size_t i = 0; i < samples; i++) {
		uint32_t key = *next;

		if (!run--) {
			key = other_key(k);
			*next = key;
			run = dec_uvarint(&k->in);
		} else if (key == k->top) {
			k->top++;
		}
		if (key >= k->count)
			return false;
		out[i] = key;
		next = &k->successors[key];
		if (!*next)
			*next = key + 1;
	}
	return !run && !k->in.bad;
}

/*
 * Check the depth of a row's stacks against the length of the profile, in which
 * each frame takes at least one byte. Without this check, a damaged table could
 * have a very deep stack, which queries would walk again for each sample.
 */
static bool has_depth(const struct dictionary *d, const uint32_t *keys,
		      size_t samples, uint32_t len)
{
	uint64_t sum = 0;

	/* Only decoded tables have depths. */
	if (d->depths.count != d->keys.count)
		return true;
	for (size_t i = 0; i < samples; i++)
		sum += d->depths.v[keys[i]];
	return sum <= len;
}

/*
 * Read the keys of all rows before q->end. Rows before q->begin are needed,
 * too, because keys are predicted from the keys of earlier rows.
 */
static int get_all_keys(struct colgroup_coder *c, const struct dictionary *d,
			const struct colgroup_request *q, struct dec *in,
			struct colgroup *g, struct err *err)
{
	struct keys k = { .count = (uint32_t)d->keys.count, .top = g->top };
	size_t total = colgroup_count_samples(g, q->end);
	size_t at = 0;
	int rc = section_get(c->zstd, in, &c->column, err);

	if (rc)
		return rc;
	k.in = dec_init(buf_bytes(&c->column));
	k.successors = colgroup_successors(c, d->keys.count);
	g->keys.count = 0;
	vec_reserve(&g->keys, total + 1);
	g->keys.count = total;
	for (size_t i = 0; i < q->end; i++) {
		const struct row *row = &g->rows[i];

		if (!colgroup_get_keys(&k, g->keys.v + at, row->samples) ||
		    !has_depth(d, g->keys.v + at, row->samples, q->lens[i]))
			return colgroup_damaged(err, "invalid keys");
		at += row->samples;
	}
	return 0;
}

/*
 * Read the patches. They are the rest of the group; the head has their lengths.
 */
static int get_patches(const struct colgroup_request *q, struct dec *in,
		       struct colgroup *g, struct err *err)
{
	struct bytes b = dec_bytes(in, dec_left(in));
	uint64_t sum = 0;

	for (size_t i = 0; i < g->count; i++)
		sum += g->patch_lens[i];
	if (sum != b.len)
		return colgroup_damaged(err, "invalid patches");
	buf_reset(&g->patches);
	if (q->patches)
		buf_add(&g->patches, b.ptr, b.len);
	return 0;
}

/*
 * Total length of the decoded profiles. It bounds the length of a section,
 * because a number takes at least one byte in a profile, and at most ten in a
 * section.
 */
static size_t raw_length(const struct colgroup_request *q)
{
	size_t sum = 0;

	for (size_t i = 0; i < q->count; i++)
		sum += q->lens[i];
	return sum;
}

int colgroup_decode(struct colgroup_coder *c, const struct dictionary *d,
		    const struct colgroup_request *q, struct colgroup *g,
		    struct err *err)
{
	struct dec in = dec_init(q->stored);
	int rc;

	colgroup_reset(g);
	unsample_reset(&c->unsample, d);
	if (!q->count || q->count > COLGROUP_ROWS_MAX || q->end > q->count ||
	    q->begin > q->end)
		return colgroup_damaged(err, "invalid number of profiles");
	g->count = q->count;
	if (raw_length(q) > COLGROUP_BYTES_MAX)
		return colgroup_damaged(err, "invalid length of the profiles");
	/* Limit the size to which a damaged section may decompress. */
	c->head.max = c->column.max = 4 * KIB + 16 * raw_length(q);
	rc = get_head(c, d, q, &in, g, err);
	if (!rc)
		rc = get_all_keys(c, d, q, &in, g, err);
	if (!rc)
		rc = colgroup_get_values(c, d, q, &in, g, err);
	if (!rc)
		rc = get_patches(q, &in, g, err);
	g->count = rc ? 0 : q->end;
	colgroup_link(g);
	return rc;
}

/* Decompresses only the head of the group, and reads only its first numbers. */
size_t colgroup_types(struct colgroup_coder *c, struct bytes stored)
{
	struct dec in = dec_init(stored);
	struct dec head;

	c->head.max = MIB;
	if (section_get(c->zstd, &in, &c->head, NULL))
		return 0;
	head = dec_init(buf_bytes(&c->head));
	dec_uvarint(&head); /* number of keys before the group */
	return (size_t)dec_count(&head, TYPES_MAX);
}
