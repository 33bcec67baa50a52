/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/unwind/unwind_pack.h"

#include "base/hash.h"
#include "base/table.h"
#include "base/vec.h"

enum {
	/*
	 * A row is in the run of the row before it if the two are at most this
	 * many bytes apart, and the run has fewer than UNWIND_STEPS_MAX rows. A
	 * smaller distance makes more runs, a larger one more patterns; of the
	 * distances from 2 to 64, those from 4 to 8 make the smallest packs.
	 */
	PACK_DISTANCE_MAX = 6,
	/*
	 * This decides how large a page is: a pack of n runs has at most n /
	 * PACK_PAGE_RUNS + 2 pages.
	 */
	PACK_PAGE_RUNS = 8,
};

/*
 * A pattern: the index of its first step in the vector `steps` of struct
 * packing, and the number of its steps.
 */
struct pattern {
	uint32_t first;
	uint32_t count;
};

/* A pack that is being built. */
struct packing {
	/*
	 * The member `steps` of a run is at first the index of the run's first
	 * step in the vector `steps`. packing_pages() replaces this index by
	 * the index that the step has among the entries of the pack.
	 */
	VEC(struct unwind_row) runs;
	VEC(struct unwind_row) steps;
	VEC(struct pattern) patterns;
	struct table by_steps;
};

static struct bytes pattern_bytes(const struct packing *p, struct pattern x)
{
	return (struct bytes){ .ptr = (const uint8_t *)&p->steps.v[x.first],
			       .len = x.count * sizeof(*p->steps.v) };
}

/*
 * Callback of table_find(): whether pattern number `number` has the bytes
 * `key`.
 */
static bool pattern_same(const void *ctx, uint32_t number, const void *key)
{
	const struct packing *p = ctx;

	return bytes_eq(pattern_bytes(p, p->patterns.v[number]),
			*(const struct bytes *)key);
}

/*
 * Deduplicate the pattern `x`, whose steps were added last. If an equal pattern
 * exists, remove the steps of `x` again; otherwise, add `x` to the patterns.
 * Returns the index of the first step of the pattern that is kept.
 */
static uint32_t packing_pattern(struct packing *p, struct pattern x)
{
	struct bytes bytes = pattern_bytes(p, x);
	uint64_t hash = hash_key(bytes);
	uint32_t number =
		table_find(&p->by_steps, hash, pattern_same, p, &bytes);

	if (number != TABLE_NONE) {
		p->steps.count = x.first;
		return p->patterns.v[number].first;
	}
	table_add(&p->by_steps, hash, (uint32_t)p->patterns.count);
	*vec_add(&p->patterns) = x;
	return x.first;
}

/*
 * Add a run that begins with the first one of the `count` rows at `rows`.
 * Returns the number of rows that are in the run.
 */
static size_t packing_add(struct packing *p, const struct unwind_row *rows,
			  size_t count)
{
	uint32_t first = (uint32_t)p->steps.count;
	size_t n = 1;

	while (n < count && n < UNWIND_STEPS_MAX &&
	       rows[n].pc - rows[n - 1].pc <= PACK_DISTANCE_MAX)
		n++;
	for (size_t i = n; i--;) {
		struct unwind_row *step = vec_add(&p->steps);

		*step = rows[i];
		step->pc -= rows->pc;
	}
	*vec_add(&p->runs) = (struct unwind_row){
		.pc = rows->pc,
		.steps = packing_pattern(
			p, (struct pattern){ first, (uint32_t)n }),
	};
	return n;
}

/*
 * Append the head and the pages to `out`. Turn `steps` of each run into the
 * index that the run's first step will have in the pack. Returns the number of
 * pages.
 */
static uint32_t packing_pages(struct packing *p, struct buf *out)
{
	uint32_t runs = (uint32_t)p->runs.count;
	struct unwind_row head = { .pc = p->runs.v[0].pc };
	uint32_t span = p->runs.v[runs - 1].pc - head.pc;
	uint32_t pages;
	uint32_t run = 0;

	/* The loop ends, because two pages of 2 GiB cover all addresses. */
	while (span >> head.steps > runs / PACK_PAGE_RUNS + 1)
		head.steps++;
	pages = (span >> head.steps) + 1;
	buf_add(out, &head, sizeof(head));
	for (uint32_t i = 0; i < pages; i++) {
		struct unwind_row page = { .pc = 1 + pages + run };

		while (run < runs &&
		       (p->runs.v[run].pc - head.pc) >> head.steps == i)
			run++;
		page.steps = 1 + pages + run;
		buf_add(out, &page, sizeof(page));
	}
	for (uint32_t i = 0; i < runs; i++)
		p->runs.v[i].steps += 1 + pages + runs;
	return pages;
}

uint32_t unwind_pack_add(const struct unwind_row *rows, size_t count,
			 struct buf *out)
{
	struct packing p = { 0 };
	uint32_t pages = 0;

	for (size_t at = 0; at < count;)
		at += packing_add(&p, rows + at, count - at);
	if (count) {
		pages = packing_pages(&p, out);
		buf_add(out, p.runs.v, p.runs.count * sizeof(*p.runs.v));
		buf_add(out, p.steps.v, p.steps.count * sizeof(*p.steps.v));
	}
	vec_fini(&p.runs);
	vec_fini(&p.steps);
	vec_fini(&p.patterns);
	table_fini(&p.by_steps);
	return pages;
}

/*
 * Whether the runs, which are the entries from `first` to `steps`, are sorted
 * by address and refer to steps.
 */
static bool pack_runs_check(const struct unwind_pack *p, uint32_t first,
			    uint32_t steps)
{
	for (uint32_t i = first; i < steps; i++) {
		const struct unwind_row *run = &p->entries[i];

		if ((i > first && run[-1].pc >= run->pc) ||
		    run->steps < steps || run->steps >= p->count)
			return false;
	}
	return steps > first;
}

bool unwind_pack_check(const struct unwind_pack *p)
{
	uint32_t first = p->pages + 1; /* index of the first run */
	uint32_t run = first;

	if (!p->count)
		return !p->pages;
	/*
	 * The last entry must be a step with the distance 0, which ends the
	 * last pattern.
	 */
	if (!p->pages || p->pages >= p->count - 1 || p->entries->steps > 31 ||
	    p->entries[p->count - 1].pc)
		return false;
	for (uint32_t i = 1; i < first; i++) {
		if (p->entries[i].pc != run || p->entries[i].steps < run ||
		    p->entries[i].steps >= p->count)
			return false;
		run = p->entries[i].steps;
	}
	return p->entries[first].pc == p->entries->pc &&
	       pack_runs_check(p, first, run);
}
