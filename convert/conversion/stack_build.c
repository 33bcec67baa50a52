/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/conversion/stack_build.h"

#include "base/hash.h"
#include "pprof/merge/merge.h"
#include "pprof/proto/encode.h"

void stack_build_init(struct stack_build *b)
{
	*b = (struct stack_build){ .first_frame = 0 };
	pprof_reset(&b->p);
	/* String 0 must be the empty one. */
	(void)strtab_intern(&b->p.strings, str_of(""));
	(void)stack_build_labels(b);
}

/* Whether function number `i` has the name whose string has the number *key. */
static bool stack_build_same_function(const void *ctx, uint32_t i,
				      const void *key)
{
	const struct stack_build *b = ctx;

	return b->p.functions.v[i].name == *(const uint32_t *)key;
}

/* Return the number of a text, in which "?" takes the place of what is no UTF-8. */
static uint32_t stack_build_text(struct stack_build *b, struct str text)
{
	struct buf clean = { 0 };
	uint32_t number;

	if (str_is_utf8(text))
		return strtab_intern(&b->p.strings, text);
	buf_utf8(&clean, text, "?");
	number = strtab_intern(&b->p.strings, str_from(buf_bytes(&clean)));
	buf_fini(&clean);
	return number;
}

uint32_t stack_build_function(struct stack_build *b, struct str name)
{
	uint32_t text = stack_build_text(b, name);
	uint64_t hash = hash_number((uint64_t)text + 1);
	uint32_t i = table_find(&b->functions, hash, stack_build_same_function,
				b, &text);

	if (i != TABLE_NONE)
		return i;
	i = (uint32_t)b->p.functions.count;
	*vec_add(&b->p.functions) = (struct pprof_function){ .name = text };
	table_add(&b->functions, hash, i);
	return i;
}

/* Whether a location is a line of a function. */
static bool stack_build_same_location(const void *ctx, uint32_t i,
				      const void *key)
{
	const struct stack_build *b = ctx;
	const struct pprof_line *line = key;

	return b->p.lines.v[i].function == line->function &&
	       b->p.lines.v[i].line == line->line;
}

/* Return the number of the location of a line; each has a single one. */
static uint32_t stack_build_location(struct stack_build *b,
				     const struct pprof_line *line)
{
	/* The sender chooses the numbers of lines. */
	const int64_t place[] = { line->function, line->line };
	uint64_t hash = hash_key(
		(struct bytes){ (const uint8_t *)place, sizeof(place) });
	uint32_t i = table_find(&b->locations, hash, stack_build_same_location,
				b, line);

	if (i != TABLE_NONE)
		return i;
	i = (uint32_t)b->p.locations.count;
	*vec_add(&b->p.lines) = *line;
	*vec_add(&b->p.locations) =
		(struct pprof_location){ .mapping = PPROF_NONE,
					 .lines = { i, 1 } };
	table_add(&b->locations, hash, i);
	return i;
}

void stack_build_frame(struct stack_build *b, uint32_t function, int64_t line)
{
	const struct pprof_line key = { .function = function, .line = line };

	*vec_add(&b->p.frames) = stack_build_location(b, &key);
}

/* The elements of a run of an array. */
struct stack_elements {
	const void *array;
	size_t size; /* of an element */
	const struct pprof_run *runs;
};

/* Return a run as bytes. */
static struct bytes stack_build_bytes(const struct stack_elements *e,
				      struct pprof_run run)
{
	return (struct bytes){ (const uint8_t *)e->array + run.first * e->size,
			       run.count * e->size };
}

/* Whether a run has the elements of another one. */
static bool stack_build_same_run(const void *ctx, uint32_t i, const void *key)
{
	const struct stack_elements *e = ctx;
	const struct pprof_run *run = key;

	return bytes_eq(stack_build_bytes(e, e->runs[i]),
			stack_build_bytes(e, *run));
}

/* The runs of an array, each once. */
struct stack_runs {
	struct stack_elements elements;
	struct table *index;
	uint32_t run_count;
};

/*
 * Return the number of the run with the elements of `run`. *is_new: there is none, so the
 * number is that of the next one, which the caller adds.
 */
static uint32_t stack_build_intern(const struct stack_runs *runs,
				   struct pprof_run run, bool *is_new)
{
	uint64_t hash = hash_key(stack_build_bytes(&runs->elements, run));
	uint32_t i = table_find(runs->index, hash, stack_build_same_run,
				&runs->elements, &run);

	*is_new = i == TABLE_NONE;
	if (!*is_new)
		return i;
	table_add(runs->index, hash, runs->run_count);
	return runs->run_count;
}

uint32_t stack_build_stack(struct stack_build *b)
{
	struct pprof *p = &b->p;
	const struct stack_runs runs = { { p->frames.v, sizeof(*p->frames.v),
					   p->stacks.v },
					 &b->stacks,
					 (uint32_t)p->stacks.count };
	struct pprof_run run = { b->first_frame,
				 (uint32_t)p->frames.count - b->first_frame };
	bool is_new;
	uint32_t i = stack_build_intern(&runs, run, &is_new);

	if (is_new)
		*vec_add(&p->stacks) = run;
	else
		p->frames.count = b->first_frame;
	b->first_frame = (uint32_t)p->frames.count;
	return i;
}

bool stack_build_is_empty(const struct stack_build *b)
{
	return b->p.frames.count == b->first_frame;
}

void stack_build_label(struct stack_build *b, struct str key, struct str value)
{
	*vec_add(&b->p.labels) =
		(struct pprof_label){ .key = stack_build_text(b, key),
				      .str = stack_build_text(b, value) };
}

uint32_t stack_build_labels(struct stack_build *b)
{
	struct pprof *p = &b->p;
	const struct stack_runs runs = { { p->labels.v, sizeof(*p->labels.v),
					   p->label_sets.v },
					 &b->label_sets,
					 (uint32_t)p->label_sets.count };
	struct pprof_run run = { b->first_label,
				 (uint32_t)p->labels.count - b->first_label };
	bool is_new;
	uint32_t i = stack_build_intern(&runs, run, &is_new);

	if (is_new)
		*vec_add(&p->label_sets) = run;
	else
		p->labels.count = b->first_label;
	b->first_label = (uint32_t)p->labels.count;
	return i;
}

/* Whether a sample has a stack and a label set. */
static bool stack_part_same(const void *ctx, uint32_t i, const void *key)
{
	const struct stack_part *part = ctx;
	const struct pprof_sample *sample = key;

	return part->samples.v[i].stack == sample->stack &&
	       part->samples.v[i].labels == sample->labels;
}

/* Add a sample that the part does not have yet. */
static void stack_part_append(struct stack_part *part,
			      struct pprof_sample sample, uint64_t hash,
			      const int64_t values[STACK_VALUES_MAX])
{
	table_add(&part->index, hash, (uint32_t)part->samples.count);
	*vec_add(&part->samples) = sample;
	vec_add_all(&part->values, values, STACK_VALUES_MAX);
}

bool stack_part_add(struct stack_part *part, struct pprof_sample sample,
		    const int64_t values[STACK_VALUES_MAX])
{
	uint64_t hash = hash_key(
		(struct bytes){ (const uint8_t *)&sample, sizeof(sample) });
	uint32_t i =
		table_find(&part->index, hash, stack_part_same, part, &sample);

	if (i == TABLE_NONE) {
		stack_part_append(part, sample, hash, values);
		return true;
	}
	for (size_t k = 0; k < STACK_VALUES_MAX; k++) {
		int64_t *v = &part->values.v[(size_t)i * STACK_VALUES_MAX + k];

		if (__builtin_add_overflow(*v, values[k], v))
			return false;
	}
	return true;
}

/* Return a type as the numbers of its texts. */
static struct pprof_type stack_build_type(struct stack_build *b,
					  const struct value_type *t)
{
	return (struct pprof_type){
		.type = strtab_intern(&b->p.strings, t->type),
		.unit = strtab_intern(&b->p.strings, t->unit)
	};
}

/* Set what is said of a profile besides its samples. */
static void stack_build_head(struct stack_build *b,
			     const struct stack_head *head)
{
	b->p.types.count = 0;
	for (size_t i = 0; i < STACK_VALUES_MAX; i++) {
		if (head->types[i].type.len)
			*vec_add(&b->p.types) =
				stack_build_type(b, &head->types[i]);
	}
	b->p.period_type = stack_build_type(b, &head->period_type);
	b->p.period = head->period;
	b->p.time_ns = head->time_ns;
	b->p.duration_ns = head->duration_ns;
}

/* Set the samples of a profile, with as many values as it has types. */
static void stack_build_samples(struct stack_build *b,
				const struct stack_part *part)
{
	size_t types = b->p.types.count;

	b->p.samples.count = 0;
	b->p.values.count = 0;
	vec_add_all(&b->p.samples, part->samples.v, part->samples.count);
	for (size_t i = 0; i < part->samples.count; i++)
		vec_add_all(&b->p.values, &part->values.v[i * STACK_VALUES_MAX],
			    types);
}

size_t stack_build_encoding(const struct stack_build *b,
			    const struct stack_part *part, size_t max)
{
	/* A merge has what the builder has, and the part is copied twice. */
	size_t merged = stack_build_memory(b) + 3 * stack_part_memory(part);
	/* Names and locations are smaller as bytes; each sample repeats its stack. */
	size_t encoded = stack_build_memory(b);

	for (size_t i = 0; i < part->samples.count && encoded < max; i++) {
		const struct pprof_sample *s = &part->samples.v[i];

		encoded += 32 + (size_t)b->p.stacks.v[s->stack].count * 5 +
			   (size_t)b->p.label_sets.v[s->labels].count * 16;
	}
	/* A buffer has twice the bytes while it grows. */
	return merged + 2 * (encoded < max ? encoded : max);
}

/*
 * A merge of the profile alone has what its samples refer to, and not what other parts
 * do, in the order of Go's encoder.
 */
void stack_build_encode(struct stack_build *b, const struct stack_part *part,
			const struct stack_head *head, struct buf *out)
{
	struct merge *m = merge_new();
	struct err unused;

	stack_build_head(b, head);
	stack_build_samples(b, part);
	/* Nothing else is in the merge that the types might not match. */
	if (!merge_add(m, &b->p, NULL, &unused))
		pprof_encode(merge_finish(m), out);
	merge_free(m);
}

size_t stack_build_memory(const struct stack_build *b)
{
	return pprof_memory(&b->p) + table_memory(&b->functions) +
	       table_memory(&b->locations) + table_memory(&b->stacks) +
	       table_memory(&b->label_sets);
}

size_t stack_part_memory(const struct stack_part *part)
{
	return vec_memory(&part->samples) + vec_memory(&part->values) +
	       table_memory(&part->index);
}

void stack_build_fini(struct stack_build *b)
{
	pprof_fini(&b->p);
	table_fini(&b->functions);
	table_fini(&b->locations);
	table_fini(&b->stacks);
	table_fini(&b->label_sets);
}

void stack_part_fini(struct stack_part *part)
{
	vec_fini(&part->samples);
	vec_fini(&part->values);
	table_fini(&part->index);
}
