/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/profile.h"

#include <math.h>

void pprof_reset(struct pprof *p)
{
	p->strings.strings.count = 0;
	p->types.count = 0;
	p->mappings.count = 0;
	p->functions.count = 0;
	p->lines.count = 0;
	p->locations.count = 0;
	p->frames.count = 0;
	p->stacks.count = 0;
	p->labels.count = 0;
	p->label_sets.count = 0;
	p->samples.count = 0;
	p->values.count = 0;
	p->comments.count = 0;
	p->time_ns = 0;
	p->duration_ns = 0;
	p->period = 0;
	p->period_type = (struct pprof_type){ 0 };
	p->default_type = 0;
	p->drop_frames = 0;
	p->keep_frames = 0;
	p->doc_url = 0;
}

void pprof_fini(struct pprof *p)
{
	strtab_fini(&p->strings);
	vec_fini(&p->types);
	vec_fini(&p->mappings);
	vec_fini(&p->functions);
	vec_fini(&p->lines);
	vec_fini(&p->locations);
	vec_fini(&p->frames);
	vec_fini(&p->stacks);
	vec_fini(&p->labels);
	vec_fini(&p->label_sets);
	vec_fini(&p->samples);
	vec_fini(&p->values);
	vec_fini(&p->comments);
}

size_t pprof_memory(const struct pprof *p)
{
	return strtab_memory(&p->strings) + vec_memory(&p->types) +
	       vec_memory(&p->mappings) + vec_memory(&p->functions) +
	       vec_memory(&p->lines) + vec_memory(&p->locations) +
	       vec_memory(&p->frames) + vec_memory(&p->stacks) +
	       vec_memory(&p->labels) + vec_memory(&p->label_sets) +
	       vec_memory(&p->samples) + vec_memory(&p->values) +
	       vec_memory(&p->comments);
}

static int no_such_type(const struct pprof *p, struct str name, struct err *err)
{
	struct buf list = buf_init(256);

	for (size_t i = 0; i < p->types.count; i++)
		buf_printf(&list, "%s%.*s", i ? " " : "",
			   STR_ARG(pprof_str(p, p->types.v[i].type)));
	err_set(err, ERR_INVALID, "sample_index \"%.*s\" must be one of: %s",
		STR_ARG(name), buf_cstr(&list));
	buf_fini(&list);
	return ERR_INVALID;
}

/* The default type, or else the last one. */
static size_t default_index(const struct pprof *p)
{
	struct str name = pprof_str(p, p->default_type);

	for (size_t i = 0; name.len && i < p->types.count; i++) {
		if (str_eq(pprof_str(p, p->types.v[i].type), name))
			return i;
	}
	return p->types.count - 1;
}

int pprof_type_index(const struct pprof *p, struct str name, size_t *out,
		     struct err *err)
{
	struct str legacy = name;
	int64_t n;

	if (!p->types.count)
		return err_set(err, ERR_INVALID,
			       "the profile has no sample types");
	if (!name.len) {
		*out = default_index(p);
		return 0;
	}
	if (str_to_i64(name, &n)) {
		if (n < 0 || (uint64_t)n >= p->types.count)
			return err_set(
				err, ERR_INVALID,
				"sample_index %lld is outside the range [0..%zu]",
				(long long)n, p->types.count - 1);
		*out = (size_t)n;
		return 0;
	}
	/* Old heap profiles have "space" where new ones have "inuse_space". */
	if (str_starts(name, str_of("inuse_")))
		legacy = (struct str){ name.ptr + 6, name.len - 6 };
	for (size_t i = 0; i < p->types.count; i++) {
		struct str type = pprof_str(p, p->types.v[i].type);

		if (str_eq(type, name) || str_eq(type, legacy)) {
			*out = i;
			return 0;
		}
	}
	return no_such_type(p, name, err);
}

/* What a double holds of the range of an int64_t. */
static int64_t to_i64(double v)
{
	if (v >= 0x1p63)
		return INT64_MAX;
	if (v < -0x1p63 || isnan(v))
		return INT64_MIN;
	return (int64_t)v;
}

void pprof_scale(struct pprof *p, const double *ratios)
{
	size_t width = p->types.count;
	size_t kept = 0;
	bool ones = true;

	for (size_t t = 0; t < width; t++)
		ones = ones && ratios[t] == 1;
	if (ones)
		return;
	for (size_t i = 0; i < p->samples.count; i++) {
		int64_t *from = pprof_values(p, i);
		int64_t *to = pprof_values(p, kept);
		bool keep = false;

		for (size_t t = 0; t < width; t++) {
			to[t] = from[t];
			if (ratios[t] == 1)
				continue;
			to[t] = to_i64(round((double)from[t] * ratios[t]));
			keep = keep || to[t];
		}
		p->samples.v[kept] = p->samples.v[i];
		kept += keep;
	}
	p->samples.count = kept;
	p->values.count = kept * width;
}

void pprof_keep(struct pprof *p, const bool *stacks, const bool *label_sets)
{
	size_t width = p->types.count;
	size_t kept = 0;

	for (size_t i = 0; i < p->samples.count; i++) {
		struct pprof_sample s = p->samples.v[i];

		if ((stacks && !stacks[s.stack]) ||
		    (label_sets && !label_sets[s.labels]))
			continue;
		p->samples.v[kept] = s;
		memmove(pprof_values(p, kept), pprof_values(p, i),
			width * sizeof(*p->values.v));
		kept++;
	}
	p->samples.count = kept;
	p->values.count = kept * width;
}

/* Order of a set: texts by key, then numbers by key. */
static bool before(const struct pprof *p, const struct pprof_label *l,
		   struct str key)
{
	return !l->is_number && str_cmp(pprof_str(p, l->key), key) < 0;
}

void pprof_set_label(struct pprof *p, struct str key, struct str value)
{
	struct pprof_label new = {
		.key = strtab_intern(&p->strings, key),
		.str = strtab_intern(&p->strings, value),
	};

	for (size_t i = 0; i < p->label_sets.count; i++) {
		struct pprof_run old = p->label_sets.v[i];
		uint32_t first = (uint32_t)p->labels.count;
		bool done = false;

		for (uint32_t k = 0; k < old.count; k++) {
			struct pprof_label l = p->labels.v[old.first + k];

			if (!l.is_number && l.key == new.key)
				continue;
			if (!done && !before(p, &l, key)) {
				*vec_add(&p->labels) = new;
				done = true;
			}
			*vec_add(&p->labels) = l;
		}
		if (!done)
			*vec_add(&p->labels) = new;
		p->label_sets.v[i] = (struct pprof_run){
			.first = first,
			.count = (uint32_t)p->labels.count - first,
		};
	}
}
