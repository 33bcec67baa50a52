/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns/columns_keys.h"

#include "pprof/columns/encoder.h"
#include "pprof/columns/rows.h"
#include "pprof/dictionary/layout.h"
#include "pprof/proto/fields.h"

const struct dictionary *columns_keys_of_table(const struct codec_table *t)
{
	return &t->d;
}

const struct dictionary *columns_keys_of_rows(const struct codec_rows *rows)
{
	return rows->d;
}

size_t columns_keys_set_count(const struct dictionary *d)
{
	return d->label_sets.count;
}

struct label_view columns_keys_labels(const struct dictionary *d, uint32_t set)
{
	struct pprof_run run = d->label_sets.v[set];

	return (struct label_view){ &d->strings, d->labels.v + run.first,
				    run.count };
}

size_t columns_keys_count(const struct dictionary *d)
{
	return d->keys.count;
}

uint32_t columns_keys_set(const struct dictionary *d, uint32_t key)
{
	return d->keys.v[key].labels;
}

/* Each is there twice: in the sum, and in the merge with its indexes. */
size_t columns_keys_memory(const struct dictionary *d)
{
	size_t a_key = sizeof(struct pprof_sample) + sizeof(struct pprof_run) +
		       sizeof(int64_t) + 4 * sizeof(uint32_t);
	size_t frames = 0;

	for (size_t i = 0; i < d->depths.count; i++)
		frames += d->depths.v[i];
	return 2 * (d->keys.count * a_key + frames * sizeof(uint32_t) +
		    dict_memory(d));
}

/*
 * Whether the shape lists as many sample types as the row has values per
 * sample. The numbers may differ in damaged or odd profiles.
 */
static bool columns_keys_has_types(const struct dictionary *d,
				   const struct row *row)
{
	enum dialect dialect;
	struct layout_walk_shape w = layout_walk_shape(d, row->shape, &dialect);
	struct shape_op op;
	size_t n = 0;

	while (layout_next_shape(&w, &op))
		n += op.field == PROFILE_SAMPLE_TYPE;
	return n == row->types;
}

/*
 * Without its patch, the columns of a row do not give the original profile, and a
 * patch can only be applied to a whole profile.
 */
bool columns_keys_can_sum(const struct codec_rows *rows, size_t row)
{
	return !rows->group->patch_lens[row] &&
	       columns_keys_has_types(rows->d, &rows->group->rows[row]);
}

const uint32_t *columns_keys_of_row(const struct codec_rows *rows, size_t row,
				    size_t *count)
{
	const struct row *r = &rows->group->rows[row];

	*count = r->samples;
	return r->keys;
}

bool columns_keys_add(const struct codec_rows *rows, size_t row, size_t type,
		      const uint32_t *classes, struct class_sums *to)
{
	const struct row *r = &rows->group->rows[row];
	const int64_t *v;

	/* Its types are those of the chunk, unless somebody has made the file. */
	if (type >= r->types)
		return false;
	v = r->values + type * r->stride;
	for (size_t i = 0; i < r->samples; i++) {
		uint32_t class = classes[r->keys[i]];

		if (!v[i] || class == COLUMNS_NO_CLASS)
			continue;
		if (!to->sums[class])
			*vec_add(&to->touched) = class;
		to->sums[class] = wrap_add(to->sums[class], v[i]);
	}
	return true;
}
