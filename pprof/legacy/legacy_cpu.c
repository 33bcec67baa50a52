/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gperftools' binary CPU profiles: a sequence of words, of 4 or 8 bytes and in
 * either byte order, followed by the memory map as text.
 */

#include "pprof/legacy/legacy_parser.h"

#define HEADER_WORDS 5
/* Largest number of signal handler frames to remove from a stack. */
#define ROUNDS  2
#define SIMILAR 32 /* 1 of 32 samples may lack a signal handler frame */

/* How words are stored: their size in bytes, and their byte order. */
struct word {
	size_t size;
	bool big_endian;
};

/* The rest of the input, and the form of the words in it. */
struct words {
	struct bytes left;
	struct word word;
	bool ended; /* whether the input ended within a word */
};

/*
 * Read a word. If fewer bytes are left, returns 0 and sets `ended`, which
 * stays set, so that callers may check it once after several words.
 */
static uint64_t next_word(struct words *w)
{
	uint64_t v = 0;

	if (w->left.len < w->word.size) {
		w->ended = true;
		return 0;
	}
	for (size_t i = 0; i < w->word.size; i++) {
		size_t at = w->word.big_endian ? i : w->word.size - 1 - i;

		v = v << 8 | w->left.ptr[at];
	}
	w->left.ptr += w->word.size;
	w->left.len -= w->word.size;
	return v;
}

/*
 * Read the five words of the header: 0, 3, 0 (or 1: written by Java), the
 * period in µs, 0. Returns false for other values: the input is then in another
 * format.
 */
static bool legacy_cpu_read_header(struct words *w, int64_t *period, bool *java)
{
	uint64_t v[HEADER_WORDS];

	for (size_t i = 0; i < HEADER_WORDS; i++)
		v[i] = next_word(w);
	*period = (int64_t)v[3];
	*java = v[2] == 1;
	return !w->ended && !v[0] && v[1] == 3 && v[2] <= 1 && *period > 0 &&
	       !v[4];
}

/*
 * Read samples. Each consists of words: a count, the number of addresses, and
 * the addresses. A sample of the words 0, 1, 0 marks the end.
 */
static int read_samples(struct legacy *l, struct words *w, size_t adjust)
{
	while (w->left.len) {
		uint64_t count = next_word(w);
		uint64_t depth = next_word(w);
		int64_t values[2];
		int rc;

		if (w->ended || depth > w->left.len / 4)
			return legacy_unknown();
		l->addresses.count = 0;
		for (uint64_t i = 0; i < depth; i++)
			*vec_add(&l->addresses) = next_word(w);
		/*
		 * If the input ends within a word, the remaining bytes are
		 * discarded but the incomplete sample is kept, as in pprof.
		 */
		if (w->ended)
			w->left.len = 0;
		if (!count && depth == 1 && !l->addresses.v[0])
			return 0;
		values[0] = (int64_t)count;
		values[1] = (int64_t)(count * (uint64_t)l->p.period);
		rc = legacy_sample(l, values, adjust, 0);
		if (rc)
			return rc;
	}
	return 0;
}

/*
 * Return the index of the location that is the second frame, next to the leaf,
 * of nearly all stacks: a frame of the profiler's signal handler. Returns
 * PPROF_NONE if there is no such location.
 */
static uint32_t common_second(const struct pprof *p)
{
	size_t margin = p->samples.count / SIMILAR;
	size_t *counts = mem_zalloc(p->locations.count, sizeof(*counts));
	uint32_t found = PPROF_NONE;

	for (size_t i = 0; i < p->stacks.count; i++) {
		const struct pprof_run *s = &p->stacks.v[i];

		if (s->count > 1)
			counts[p->frames.v[s->first + 1]]++;
	}
	for (uint32_t i = 0; i < p->locations.count; i++) {
		if (found == PPROF_NONE && counts[i] &&
		    counts[i] >= p->samples.count - margin)
			found = i;
	}
	mem_free(counts);
	return found;
}

/*
 * Remove the frames of the profiler's signal handler from all stacks, as pprof
 * does: these frames would hide the real caller of the leaf.
 */
static void drop_handler(struct pprof *p)
{
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t place = common_second(p);

		for (size_t i = 0; i < p->stacks.count && place != PPROF_NONE;
		     i++) {
			struct pprof_run *s = &p->stacks.v[i];
			uint32_t *f = p->frames.v + s->first;

			if (s->count < 2 || f[1] != place)
				continue;
			memmove(f + 1, f + 2, (s->count - 2) * sizeof(*f));
			s->count--;
		}
	}
}

/*
 * Read everything after the header: samples, then the memory map or, for Java,
 * the names of locations.
 */
static int read_profile(struct legacy *l, struct words *w, int64_t period,
			bool java)
{
	int rc;

	legacy_period(l, "cpu", "nanoseconds",
		      (int64_t)((uint64_t)period * 1000));
	legacy_type(l, "samples", "count");
	legacy_type(l, "cpu", "nanoseconds");
	rc = read_samples(l, w, java ? SIZE_MAX : 1);
	if (rc)
		return rc;
	if (java)
		return legacy_java_locations(l, str_from(w->left));
	drop_handler(&l->p);
	l->rest = str_from(w->left);
	rc = legacy_maps(l);
	legacy_drop_twin_leaves(l);
	return rc;
}

/*
 * Try all combinations of word size and byte order: the header is valid in
 * only one of them.
 */
int legacy_cpu(struct legacy *l)
{
	static const struct word kinds[] = {
		{ 4, false }, { 4, true }, { 8, false }, { 8, true }
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct words w = { .left = l->raw, .word = kinds[i] };
		int64_t period;
		bool java;

		if (legacy_cpu_read_header(&w, &period, &java))
			return read_profile(l, &w, period, java);
	}
	return legacy_unknown();
}
