/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy formats that consist of lines of text: heap profiles, counts of
 * stacks, threads, contention.
 */

#include "pprof/legacy/legacy_parser.h"
#include "pprof/profile/measure.h"

/* Heap profiles. */

/* The properties of a heap profile, read from its first lines. */
struct heap {
	bool has_alloc; /* whether freed memory is recorded, too */
	bool sampled;   /* whether values must be corrected for sampling */
	int64_t rate;   /* mean number of bytes between two samples */
};

/*
 * Return whether `alloc`, a count or size of the header, shows that all
 * allocations are recorded, freed memory included. Writers that record only the
 * memory in use repeat `inuse` as `alloc`, or write 0.
 */
static bool legacy_text_is_different(struct str alloc, struct str inuse)
{
	return !str_eq(alloc, inuse) && !str_is(alloc, "0");
}

/*
 * Parse the first line. The word after "@" names the kind of heap profile,
 * which decides whether values are sampled and what the rate means.
 */
static int heap_header(struct legacy *l, struct heap *h)
{
	struct str g[7];

	if (legacy_match(l, RX_HEAP_HEADER, l->line, g, 7)) {
		if (g[6].len && !legacy_int(g[6], 10, &h->rate))
			return legacy_unknown();
		h->has_alloc = legacy_text_is_different(g[3], g[1]) ||
			       legacy_text_is_different(g[4], g[2]);
		h->sampled = true;
		if (str_is(g[5], "heapz_v2") || str_is(g[5], "heap_v2"))
			return 0;
		if (str_is(g[5], "heap")) {
			h->rate /= 2;
			return 0;
		}
		h->sampled = false;
		h->rate = 1;
		return str_is(g[5], "heapprofile") ? 0 : legacy_unknown();
	}
	h->rate = 1;
	return legacy_match(l, RX_GROWTH_HEADER, l->line, g, 1) ||
			       legacy_match(l, RX_FRAGMENTATION_HEADER, l->line,
					    g, 1) ?
		       0 :
		       legacy_unknown();
}

/* Set period and sample types of a heap profile. */
static void heap_types(struct legacy *l, const struct heap *h)
{
	legacy_period(l, "space", "bytes", h->rate);
	if (h->has_alloc) {
		legacy_type(l, "alloc_objects", "count");
		legacy_type(l, "alloc_space", "bytes");
		legacy_type(l, "inuse_objects", "count");
		legacy_type(l, "inuse_space", "bytes");
	} else {
		legacy_type(l, "objects", "count");
		legacy_type(l, "space", "bytes");
	}
}

/*
 * Parse a count and a size into out[0] and out[1], corrected for sampling, and
 * sets *block to the mean size of an object in bytes, before the correction.
 * *block is unchanged if the count is 0.
 */
static int heap_values(struct legacy *l, const struct heap *h,
		       const struct str text[2], int64_t out[2], int64_t *block)
{
	if (!legacy_int(text[0], 10, &out[0]) ||
	    !legacy_int(text[1], 10, &out[1]))
		return legacy_bad(l, "a value of a sample is too large");
	if (!out[0] && out[1])
		return legacy_bad(l, "a sample has bytes but no objects");
	if (!out[0])
		return 0;
	/* INT64_MIN / -1 overflows: negate with wrap-around, as Go does. */
	*block = out[0] == -1 ? (int64_t) - (uint64_t)out[1] : out[1] / out[0];
	if (h->sampled)
		legacy_unsample(&out[0], &out[1], h->rate);
	return 0;
}

/* Add the sample of one line: "inuse: bytes [alloc: bytes] @ addresses". */
static int heap_sample(struct legacy *l, const struct heap *h, struct str line)
{
	struct str g[6];
	int64_t values[4];
	int64_t block = 0;
	size_t n = 0;
	int rc = 0;

	if (!legacy_match(l, RX_HEAP_SAMPLE, line, g, 6))
		return legacy_bad(l,
				  "a line of the heap profile is not a sample");
	if (h->has_alloc) {
		rc = heap_values(l, h, g + 3, values, &block);
		n = 2;
	}
	if (!rc)
		rc = heap_values(l, h, g + 1, values + n, &block);
	if (!rc)
		rc = legacy_hex(l, g[5]);
	return rc ? rc : legacy_sample(l, values, 0, block);
}

int legacy_heap(struct legacy *l)
{
	struct heap h = { 0 };
	int rc = legacy_next_line(l) ? heap_header(l, &h) : legacy_unknown();

	if (rc)
		return rc;
	heap_types(l, &h);
	while (!rc && legacy_next_line(l)) {
		struct str line = legacy_trim(l->line);

		if (legacy_is_blank(line))
			continue;
		if (legacy_is_map_start(line))
			break;
		rc = heap_sample(l, &h, line);
	}
	return rc ? rc : legacy_sections(l);
}

/*
 * jemalloc's format: the line "heap_v2/RATE"; then, for each stack, a line with
 * "@" and the addresses, a line with the sum of all threads, and a line for
 * each thread; finally the memory map. Source: jemalloc's prof_data.c and
 * jeprof.
 */

/*
 * Add a sample for the line with the sum of all threads, "t*: …"; lines of
 * single threads are ignored. l->addresses is the stack.
 */
static int jemalloc_values(struct legacy *l, const struct heap *h,
			   struct str line)
{
	struct str g[5];
	int64_t values[4];
	int64_t block = 0;
	size_t n = 0;
	int rc = 0;

	if (!legacy_match(l, RX_JEMALLOC_TOTAL, line, g, 5))
		return 0; /* ignore the line of a single thread */
	if (h->has_alloc) {
		rc = heap_values(l, h, g + 3, values, &block);
		n = 2;
	}
	if (!rc)
		rc = heap_values(l, h, g + 1, values + n, &block);
	return rc ? rc : legacy_sample(l, values, 0, block);
}

/* Return whether the text is "0". */
static bool is_zero(struct str s)
{
	return str_is(s, "0");
}

int legacy_jemalloc(struct legacy *l)
{
	struct heap h = { .sampled = true };
	struct str g[5];
	int rc = 0;

	if (!legacy_next_line(l) ||
	    !legacy_match(l, RX_JEMALLOC_HEADER, l->line, g, 2) ||
	    !legacy_int(g[1], 10, &h.rate))
		return legacy_unknown();
	/*
	 * The next line has the totals of all stacks. Totals of allocations
	 * that are 0 mean that only the memory in use is recorded.
	 */
	if (!legacy_next_line(l) ||
	    !legacy_match(l, RX_JEMALLOC_TOTAL, l->line, g, 5))
		return legacy_bad(l, "the jemalloc heap profile has no totals");
	h.has_alloc = !is_zero(g[3]) || !is_zero(g[4]);
	heap_types(l, &h);
	l->addresses.count = 0;
	while (legacy_next_line(l) && legacy_trim(l->line).len &&
	       *l->line.ptr != '@')
		; /* skip the totals of single threads */
	for (; !rc && !legacy_is_map_start(l->line);) {
		struct str line = l->line;

		if (line.len && *line.ptr == '@')
			rc = legacy_hex(l, line);
		else
			rc = jemalloc_values(l, &h, line);
		if (!rc && !legacy_next_line(l))
			break;
	}
	return rc ? rc : legacy_sections(l);
}

/* Go's counts of stacks: goroutines and created threads. */

int legacy_count(struct legacy *l)
{
	struct str g[3];
	int64_t n;
	char *type;
	int rc = 0;

	while (legacy_next_line(l) && legacy_is_blank(l->line))
		;
	if (!legacy_match(l, RX_COUNT_START, l->line, g, 2))
		return legacy_unknown();
	type = mem_strndup(g[1]);
	legacy_period(l, type, "count", 1);
	legacy_type(l, type, "count");
	mem_free(type);
	while (!rc && legacy_next_line(l)) {
		if (legacy_is_blank(l->line))
			continue;
		if (str_starts(l->line, str_of("---")))
			break;
		if (!legacy_match(l, RX_COUNT, l->line, g, 3) ||
		    !legacy_is_hex_list(g[2]) || !legacy_int(g[1], 0, &n))
			return legacy_bad(l,
					  "a line is not a count and a stack");
		rc = legacy_hex(l, g[2]);
		if (!rc)
			rc = legacy_sample(l, &n, 0, 0);
	}
	return rc ? rc : legacy_sections(l);
}

/* Stacks of threads. */

/*
 * Read one thread's stack into l->addresses, and stop when l->line is the
 * header of the next thread. Sets *same if the text "same as previous thread"
 * stands in place of a stack.
 */
static int thread_stack(struct legacy *l, bool *same)
{
	VEC(uint64_t) all = { 0 };
	int rc = 0;

	*same = false;
	while (!rc && legacy_next_line(l)) {
		struct str line = legacy_trim(l->line);

		if (str_starts(line, str_of("---")))
			break;
		if (line.len &&
		    memmem(line.ptr, line.len, "same as previous thread", 23)) {
			*same = true;
			continue;
		}
		rc = legacy_hex(l, line);
		for (size_t i = 0; i < l->addresses.count && !rc; i++)
			*vec_add(&all) = l->addresses.v[i];
	}
	l->addresses.count = 0;
	for (size_t i = 0; i < all.count && !*same; i++)
		*vec_add(&l->addresses) = all.v[i];
	vec_fini(&all);
	l->line = legacy_trim(l->line);
	return rc;
}

/*
 * Read all threads. Each thread becomes a sample, but a thread with the text
 * "same as previous thread" only adds 1 to the previous sample.
 */
static int read_threads(struct legacy *l)
{
	static const int64_t one = 1;
	struct str g[4];
	int rc = 0;

	while (!rc && !legacy_is_map_start(l->line)) {
		bool same;

		if (str_starts(l->line, str_of("---- no stack trace for"))) {
			l->line = str_of("");
			break;
		}
		if (!legacy_match(l, RX_THREAD_START, l->line, g, 4))
			return legacy_unknown();
		rc = thread_stack(l, &same);
		if (rc)
			return rc;
		if (l->addresses.count)
			rc = legacy_sample(l, &one, 1, 0);
		else if (l->p.samples.count)
			l->p.values.v[l->p.values.count - 1]++;
	}
	return rc;
}

int legacy_thread(struct legacy *l)
{
	struct str g[4];
	int rc;

	while (legacy_next_line(l) && legacy_is_blank(l->line))
		;
	if (legacy_match(l, RX_THREADZ_START, l->line, g, 1)) {
		while (legacy_next_line(l) && !legacy_is_map_start(l->line) &&
		       !str_starts(l->line, str_of("-")))
			;
	} else if (!legacy_match(l, RX_THREAD_START, l->line, g, 4)) {
		return legacy_unknown();
	}
	legacy_type(l, "thread", "count");
	legacy_period(l, "thread", "count", 1);
	rc = read_threads(l);
	if (!rc)
		rc = legacy_sections(l);
	legacy_drop_twin_leaves(l);
	return rc;
}

/* Contention profiles. */

/*
 * The attributes of a contention profile that are needed to parse its samples.
 */
struct contention {
	int64_t hz; /* CPU cycles per second; 0: delays are in ns */
};

/*
 * Parse the current line as an attribute. Returns 1 if it is not an attribute
 * but the first sample.
 */
static int contention_attribute(struct legacy *l, struct contention *c)
{
	struct str line = legacy_trim(l->line);
	struct str value;
	struct str name;
	int64_t ms;

	if (!line.len || !memchr(line.ptr, '=', line.len))
		return 1;
	name = legacy_trim(str_cut(line, '=', &value));
	value = legacy_trim(value);
	if (str_is(name, "cycles/second"))
		return legacy_int(value, 0, &c->hz) ? 0 : legacy_unknown();
	if (str_is(name, "sampling period"))
		return legacy_int(value, 0, &l->p.period) ? 0 :
							    legacy_unknown();
	if (str_is(name, "ms since reset")) {
		if (!legacy_int(value, 0, &ms))
			return legacy_unknown();
		l->p.duration_ns = (int64_t)((uint64_t)ms * 1000 * 1000);
		return 0;
	}
	return str_is(name, "discarded samples") ? 0 : legacy_unknown();
}

/*
 * Add the sample of one line: "delay count @ addresses". If the sampling
 * period is known, multiplies the count by the period and, if delays are in
 * cycles, converts the delay to nanoseconds and multiplies the delay by the
 * period, too.
 */
static int contention_sample(struct legacy *l, const struct contention *c,
			     struct str line)
{
	struct str g[4];
	int64_t delay;
	int64_t count;
	int64_t period = l->p.period;
	int64_t values[2];
	int rc;

	if (!legacy_match(l, RX_CONTENTION_SAMPLE, line, g, 4))
		return legacy_unknown();
	if (!legacy_int(g[1], 10, &delay) || !legacy_int(g[2], 10, &count))
		return legacy_bad(l, "a value of a sample is too large");
	if (period > 0) {
		/*
		 * Like pprof, convert cycles only if the profile states a
		 * period.
		 */
		if (c->hz > 0)
			delay = measure_integer((double)delay * (double)period /
						((double)c->hz / 1e9));
		count = (int64_t)((uint64_t)count * (uint64_t)period);
	}
	values[0] = count;
	values[1] = delay;
	rc = legacy_hex(l, g[3]);
	return rc ? rc : legacy_sample(l, values, 0, 0);
}

/* Return whether a contention profile begins with this line. */
static bool is_contention(struct str line)
{
	return str_starts(line, str_of("--- contentionz ")) ||
	       str_starts(line, str_of("--- mutex:")) ||
	       str_starts(line, str_of("--- contention:"));
}

/* Read attributes up to the first sample, which becomes l->line. */
static int contention_header(struct legacy *l, struct contention *c)
{
	int rc = 0;

	while (!rc && legacy_next_line(l)) {
		struct str line = legacy_trim(l->line);

		if (legacy_is_blank(line))
			continue;
		if (str_starts(line, str_of("---")))
			break;
		rc = contention_attribute(l, c);
	}
	return rc < 0 ? rc : 0;
}

int legacy_contention(struct legacy *l)
{
	struct contention c = { 0 };
	int rc;

	if (!legacy_next_line(l) || !is_contention(l->line))
		return legacy_unknown();
	legacy_period(l, "contentions", "count", 1);
	legacy_type(l, "contentions", "count");
	legacy_type(l, "delay", "nanoseconds");
	rc = contention_header(l, &c);
	while (!rc) {
		struct str line = legacy_trim(l->line);

		if (str_starts(line, str_of("---")))
			break;
		if (!legacy_is_blank(line))
			rc = contention_sample(l, &c, line);
		if (!rc && !legacy_next_line(l))
			break;
	}
	return rc ? rc : legacy_sections(l);
}
