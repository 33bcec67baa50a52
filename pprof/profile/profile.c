/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/profile/profile.h"

#include <math.h>

#include "pprof/profile/measure.h"

struct str pprof_base_name(struct str path)
{
	size_t end = path.len;
	size_t start;

	while (end > 1 && path.ptr[end - 1] == '/')
		end--;
	start = end;
	while (start && path.ptr[start - 1] != '/')
		start--;
	if (start == end && end)
		start = 0; /* the path consists only of slashes */
	return (struct str){ path.ptr + start, end - start };
}

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
	p->several_programs = false;
	p->several_builds = false;
	/*
	 * Pointers into these arrays are computed even if a run (struct
	 * pprof_run) has no elements, so the arrays must not be NULL.
	 */
	vec_reserve(&p->lines, 1);
	vec_reserve(&p->frames, 1);
	vec_reserve(&p->labels, 1);
	vec_reserve(&p->values, 1);
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
	*p = (struct pprof){ 0 };
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

/*
 * The rules for names and defaults are in typeset_index(), which needs the
 * profile's types as a struct typeset. The struct is allocated, because it is
 * too large for the stack.
 */
int pprof_type_index(const struct pprof *p, struct str name, size_t *out,
		     struct err *err)
{
	struct typeset *t = mem_new(struct typeset);
	int rc;

	t->default_type = pprof_str(p, p->default_type);
	for (; t->count < p->types.count; t->count++)
		t->types[t->count] = (struct value_type){
			.type = pprof_str(p, p->types.v[t->count].type),
			.unit = pprof_str(p, p->types.v[t->count].unit),
		};
	rc = typeset_index(t, name, out, err);
	mem_free(t);
	return rc;
}

/*
 * Samples are compacted in place: `kept` is never larger than `i`, so no row is
 * overwritten before it is read.
 */
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
			to[t] = ratios[t] == 1 ?
					from[t] :
					measure_integer(round((double)from[t] *
							      ratios[t]));
			keep = keep || to[t];
		}
		p->samples.v[kept] = p->samples.v[i];
		kept += keep;
	}
	p->samples.count = kept;
	p->values.count = kept * width;
}

void pprof_scale_sum(int64_t *v, size_t count, size_t stride, double factor)
{
	double sum = 0;
	int64_t given = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t *to = &v[i * stride];

		sum += (double)*to;
		*to = wrap_sub(measure_integer(round(sum * factor)), given);
		given = wrap_add(given, *to);
	}
}

/*
 * Compact samples and their rows of values in place. Stacks and label sets
 * that no sample refers to any more stay in their arrays.
 */
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

/*
 * Return whether label l belongs before a text label with this key: a label
 * set has its text labels first, sorted by key, then its numeric labels.
 */
static bool profile_is_before(const struct pprof *p,
			      const struct pprof_label *l, struct str key)
{
	return !l->is_number && str_cmp(pprof_str(p, l->key), key) < 0;
}

/*
 * Append a copy of a label set in which a text label has another value, or is
 * added. Strings are interned, so equal keys have equal indexes.
 */
static struct pprof_run profile_labels_with(struct pprof *p,
					    struct pprof_run old,
					    const struct pprof_label *changed,
					    struct str key)
{
	uint32_t first = (uint32_t)p->labels.count;
	bool done = false;

	for (uint32_t k = 0; k < old.count; k++) {
		struct pprof_label l = p->labels.v[old.first + k];

		if (!l.is_number && l.key == changed->key)
			continue;
		if (!done && !profile_is_before(p, &l, key)) {
			*vec_add(&p->labels) = *changed;
			done = true;
		}
		*vec_add(&p->labels) = l;
	}
	if (!done)
		*vec_add(&p->labels) = *changed;
	return (struct pprof_run){
		.first = first,
		.count = (uint32_t)p->labels.count - first,
	};
}

/*
 * The old labels stay in the array of labels unused. Label sets cannot be
 * changed in place, because they may share labels and may grow.
 */
void pprof_set_label(struct pprof *p, struct str key, struct str value)
{
	const struct pprof_label changed = {
		.key = strtab_intern(&p->strings, key),
		.str = strtab_intern(&p->strings, value),
	};

	for (size_t i = 0; i < p->label_sets.count; i++)
		p->label_sets.v[i] = profile_labels_with(p, p->label_sets.v[i],
							 &changed, key);
}

bool pprof_label_is_base(const struct pprof *p, const struct pprof_label *l)
{
	return !l->is_number && str_is(pprof_str(p, l->key), PPROF_BASE_KEY) &&
	       str_is(pprof_str(p, l->str), PPROF_BASE_VALUE);
}

/* Return whether a label set has the label of the base. */
static bool label_set_is_base(const struct pprof *p, struct pprof_run set)
{
	for (uint32_t i = 0; i < set.count; i++) {
		if (pprof_label_is_base(p, &p->labels.v[set.first + i]))
			return true;
	}
	return false;
}

bool pprof_has_base(const struct pprof *p)
{
	for (size_t i = 0; i < p->label_sets.count; i++) {
		if (label_set_is_base(p, p->label_sets.v[i]))
			return true;
	}
	return false;
}

bool pprof_sample_is_base(const struct pprof *p, size_t sample)
{
	return label_set_is_base(p,
				 p->label_sets.v[p->samples.v[sample].labels]);
}

/* Whether two texts are known, and are not the same. */
static bool pprof_differ(struct str a, struct str b)
{
	return a.len && b.len && !str_eq(a, b);
}

void pprof_note_program(struct pprof *p, struct str file, struct str build_id)
{
	const struct pprof_mapping *m = p->mappings.v;

	if (!p->mappings.count)
		return;
	p->several_programs |= pprof_differ(
		pprof_base_name(pprof_str(p, m->file)), pprof_base_name(file));
	p->several_builds |= pprof_differ(pprof_str(p, m->build_id), build_id);
}
