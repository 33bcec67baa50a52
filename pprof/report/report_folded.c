/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, the input format of flame graph tools: one line
 * 'outermost;…;leaf value' for each distinct stack.
 */
#include "pprof/report/report_forms.h"

#include <inttypes.h>
#include <stdlib.h>

#include "pprof/report/report.h"

/* The stack of a sample as text, and the sample's weight. */
struct folded {
	struct str stack;
	int64_t weight;
};

/* Order by text, so that equal stacks are adjacent and can be added up. */
static int by_stack(const void *a, const void *b)
{
	return str_cmp(((const struct folded *)a)->stack,
		       ((const struct folded *)b)->stack);
}

/* Append a name. Characters that separate frames and lines become "_". */
static void add_name(struct buf *out, struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		buf_byte(out,
			 c == ';' || c == '\n' || c == '\r' ? '_' : (uint8_t)c);
	}
}

/* State of the report: the stacks collected as texts. */
struct folding {
	const struct report *r;
	struct arena arena;
	VEC(struct folded) v;
	struct buf text; /* text of the current stack */
	struct growth_meter meter;
};

/*
 * Charge memory and work to the query's budget; called after each location and
 * each stack.
 */
static int folded_check_limits(struct folding *f, struct err *err)
{
	return limits_meter(&f->r->o->limits, &f->meter, 1,
			    f->arena.used + vec_memory(&f->v) + f->text.cap,
			    err);
}

/* Write a stack to f->text, outermost frame first. */
static int folded_write(struct folding *f, const struct pprof_run *stack,
			struct err *err)
{
	const struct report *r = f->r;
	const uint32_t *frames = r->p->frames.v + stack->first;
	struct buf *out = &f->text;
	int rc = 0;

	buf_reset(out);
	for (uint32_t i = stack->count; i > 0 && !rc; i--) {
		struct pprof_run lines = r->nodes.locations.v[frames[i - 1]];

		for (uint32_t k = lines.count; k > 0; k--) {
			uint32_t node =
				r->nodes.of_lines.v[lines.first + k - 1];

			if (out->len)
				buf_byte(out, ';');
			add_name(out, r->nodes.v.v[node].text);
		}
		rc = folded_check_limits(f, err);
	}
	return rc;
}

/*
 * Print the sorted stacks; equal stacks become one line with their sum. Stacks
 * that add up to 0 are left out, as they have no width in a flame graph.
 */
static void folded_print(const struct folded *v, size_t count, struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		int64_t sum = v[i].weight;

		while (i + 1 < count && str_eq(v[i].stack, v[i + 1].stack))
			sum = wrap_add(sum, v[++i].weight);
		if (!sum)
			continue;
		buf_add(out, v[i].stack.ptr, v[i].stack.len);
		buf_printf(out, " %" PRId64 "\n", sum);
	}
}

/* Collect the texts of all samples that have a stack and a weight. */
static int fold_samples(struct folding *f, struct err *err)
{
	const struct pprof *p = f->r->p;
	int rc = 0;

	for (size_t i = 0; i < p->samples.count && !rc; i++) {
		if (!pprof_stack(p, i)->count || !report_weight(f->r, i))
			continue;
		rc = folded_write(f, pprof_stack(p, i), err);
		if (rc)
			break;
		*vec_add(&f->v) = (struct folded){
			.stack = arena_str(&f->arena,
					   str_from(buf_bytes(&f->text))),
			.weight = report_weight(f->r, i),
		};
		rc = folded_check_limits(f, err);
	}
	return rc;
}

int report_folded(struct report *r, struct buf *out, struct err *err)
{
	struct folding f = { .r = r };
	int rc = fold_samples(&f, err);

	if (f.v.count && !rc)
		qsort(f.v.v, f.v.count, sizeof(*f.v.v), by_stack);
	if (!rc)
		folded_print(f.v.v, f.v.count, out);
	vec_fini(&f.v);
	arena_fini(&f.arena);
	buf_fini(&f.text);
	return rc ? rc : report_size(out, err);
}
