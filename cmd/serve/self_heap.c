/* SPDX-License-Identifier: Apache-2.0 */
/* Source of the sample types: Go, runtime/pprof/protomem.go. */
#include "cmd/serve/self_profile.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem_profile.h"
#include "pprof/merge/merge.h"
#include "pprof/proto/encode.h"
#include "query/merge/symbolize.h"

enum {
	SELF_HEAP_GZIP_LEVEL = 1,
};

/* Sample types, in the order of the values. */
static const char *const heap_types[][2] = {
	{ "alloc_objects", "count" },
	{ "alloc_space", "bytes" },
	{ "inuse_objects", "count" },
	{ "inuse_space", "bytes" },
};

/* The functions of base/mem.c and base/mem_profile.c. */
static const char heap_drop_frames[] = "mem_.*";

static uint32_t heap_text(struct pprof *p, const char *text)
{
	return strtab_intern(&p->strings, str_of(text));
}

/* The stacks, copied, because visitors may not allocate memory. */
struct heap_stacks {
	VEC(struct mem_stack) list;
	size_t count; /* number that there are */
};

/* Visitor: copy a stack, if there is room. */
static void heap_copy(void *stacks, const struct mem_stack *s)
{
	struct heap_stacks *h = stacks;

	h->count++;
	if (h->list.count < h->list.cap)
		h->list.v[h->list.count++] = *s;
}

/* Copy all stacks. Those that appear meanwhile may be left out. */
static void heap_stacks_read(struct heap_stacks *h)
{
	*h = (struct heap_stacks){ .count = 0 };
	mem_profile_visit(heap_copy, h);
	vec_reserve(&h->list, h->count);
	mem_profile_visit(heap_copy, h);
}

/* Add a stack with its values to the profile. */
static void heap_add_stack(struct pprof *p, const struct mem_stack *s)
{
	const double values[ARRAY_SIZE(heap_types)] = {
		s->allocations, s->bytes, s->live_allocations, s->live_bytes
	};
	struct pprof_run stack = { .first = (uint32_t)p->frames.count,
				   .count = s->depth };

	for (uint32_t i = 0; i < s->depth; i++) {
		/* The call is before the address to which it returns. */
		uint64_t address = s->frames[i] - 1;

		*vec_add(&p->frames) = (uint32_t)p->locations.count;
		*vec_add(&p->locations) = (struct pprof_location){
			.address = address,
			.mapping = self_mappings_find(p, address),
		};
	}
	*vec_add(&p->samples) =
		(struct pprof_sample){ .stack = (uint32_t)p->stacks.count };
	*vec_add(&p->stacks) = stack;
	for (size_t i = 0; i < ARRAY_SIZE(heap_types); i++)
		*vec_add(&p->values) = values[i] > 0 ? llround(values[i]) : 0;
}

/* Make the profile, with a location for each frame. */
static void heap_make(struct pprof *p)
{
	struct heap_stacks h;

	pprof_reset(p);
	(void)heap_text(p, "");
	for (size_t i = 0; i < ARRAY_SIZE(heap_types); i++)
		*vec_add(&p->types) = (struct pprof_type){
			.type = heap_text(p, heap_types[i][0]),
			.unit = heap_text(p, heap_types[i][1]),
		};
	p->default_type = heap_text(p, "inuse_space");
	p->period_type = (struct pprof_type){ .type = heap_text(p, "space"),
					      .unit = heap_text(p, "bytes") };
	p->period = (int64_t)mem_profile_rate();
	p->time_ns = clock_ms(NULL) * 1000000;
	p->drop_frames = heap_text(p, heap_drop_frames);
	*vec_add(&p->label_sets) = (struct pprof_run){ .count = 0 };
	self_mappings_add(p);
	heap_stacks_read(&h);
	for (size_t i = 0; i < h.list.count; i++)
		heap_add_stack(p, &h.list.v[i]);
	vec_fini(&h.list);
}

int self_heap_profile(struct symbolizer *symbolizer, int64_t deadline_ns,
		      struct buf *out, struct err *err)
{
	struct symbolize s = { .symbolizer = symbolizer,
			       .deadline_ns = deadline_ns };
	struct pprof made = { .period = 0 };
	struct merge *merge;
	struct pprof *p;
	int rc;

	if (!mem_profile_rate())
		return err_set(err, ERR_UNSUPPORTED,
			       "allocations are not sampled");
	merge = merge_new();
	heap_make(&made);
	/* The merge makes equal locations one. */
	rc = merge_add(merge, &made, NULL, err);
	pprof_fini(&made);
	if (!rc) {
		p = merge_finish(merge);
		rc = profile_symbolize(&s, p, err);
	}
	if (!rc)
		pprof_encode_gzip(p, SELF_HEAP_GZIP_LEVEL, out);
	merge_free(merge);
	return rc;
}
