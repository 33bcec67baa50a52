/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "pprof/report.h"

/* A stack as text, and what it weighs. */
struct folded {
	struct str stack;
	int64_t weight;
};

static int by_stack(const void *a, const void *b)
{
	return str_cmp(((const struct folded *)a)->stack,
		       ((const struct folded *)b)->stack);
}

/* Names with ";" and line ends in them would break the format. */
static void add_name(struct buf *out, struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		buf_byte(out,
			 c == ';' || c == '\n' || c == '\r' ? '_' : (uint8_t)c);
	}
}

static void fold(const struct report *r, const struct pprof_run *stack,
		 struct buf *out)
{
	const uint32_t *frames = r->p->frames.v + stack->first;

	buf_reset(out);
	for (uint32_t i = stack->count; i > 0; i--) {
		struct pprof_run lines = r->nodes.locations.v[frames[i - 1]];

		for (uint32_t k = lines.count; k > 0; k--) {
			uint32_t node =
				r->nodes.of_lines.v[lines.first + k - 1];

			if (out->len)
				buf_byte(out, ';');
			add_name(out, r->nodes.v.v[node].text);
		}
	}
}

static void print(const struct folded *v, size_t count, struct buf *out)
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

int report_folded(struct report *r, struct buf *out, struct err *err)
{
	const struct pprof *p = r->p;
	VEC(struct folded) v = { 0 };
	struct arena arena = { 0 };
	struct buf text = { 0 };
	struct growth_meter meter = { 0 };
	int rc = 0;

	for (size_t i = 0; i < p->samples.count && !rc; i++) {
		if (!pprof_stack(p, i)->count || !report_weight(r, i))
			continue;
		fold(r, pprof_stack(p, i), &text);
		*vec_add(&v) = (struct folded){
			.stack = arena_str(&arena, str_from(buf_bytes(&text))),
			.weight = report_weight(r, i),
		};
		rc = effort_meter(&r->o->effort, &meter,
				  arena.used + vec_memory(&v), err);
	}
	if (v.count && !rc)
		qsort(v.v, v.count, sizeof(*v.v), by_stack);
	if (!rc)
		print(v.v, v.count, out);
	vec_fini(&v);
	arena_fini(&arena);
	buf_fini(&text);
	return rc ? rc : report_size(out, err);
}
