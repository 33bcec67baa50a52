/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an answer says does not depend on the order in which profiles were merged:
 * samples in any order give the same reports, byte for byte. Profiles with many
 * equal values, equal names and equal stacks are made at random.
 */
#include "pprof/profile/profile_order.h"
#include "pprof/proto/encode.h"

#include "tests/pprof/printed.h"

TestSuite(order, .timeout = 120);

enum {
	PROFILES = 12, /* that are made */
	ORDERS = 3,    /* of each */
	SAMPLES = 48,
};

/* Return a number below n, from xorshift64*. */
static unsigned pick(uint64_t *state, unsigned n)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (unsigned)((*state * 0x2545f4914f6cdd1d) >> 33) % n;
}

/* The lines of a sketch; the first one has all mappings, the program's first. */
struct lines {
	char v[SAMPLES][200];
};

/* Write a frame with few names, so that many frames have something in common. */
static size_t frame_write(uint64_t *r, char *out, size_t room)
{
	unsigned name = pick(r, 5);
	unsigned file = pick(r, 3);
	const char *mappings[] = { "[/bin/app]", "[/lib/a.so]", "[/lib/b.so]" };

	/* One in six has no symbols, and one in four an inlined function. */
	if (!pick(r, 6))
		return (size_t)snprintf(out, room, "%s0x%x|",
					mappings[pick(r, 3)], 16 + pick(r, 3));
	return (size_t)snprintf(out, room, "%s0x%x|f%u@%c.go:%u:%u%s",
				mappings[pick(r, 3)], 64 + pick(r, 2), name,
				"xyz"[file], 1 + pick(r, 2), pick(r, 2),
				pick(r, 4) ? "" : ">f1@x.go:3:1");
}

static void lines_make(uint64_t *r, struct lines *l)
{
	const char *labels[] = { "",
				 " pod=a",
				 " pod=b",
				 " bytes#64kb",
				 " bytes#64mb pod=a",
				 " bytes#7" };

	snprintf(
		l->v[0], sizeof(l->v[0]),
		"[/lib/b.so]0x3|lib_b;[/lib/a.so]0x2|lib_a;[/bin/app]0x1|main 1 1");
	for (size_t i = 1; i < SAMPLES; i++) {
		size_t at = 0;

		for (size_t n = 1 + pick(r, 5); n > 0; n--) {
			at += frame_write(r, l->v[i] + at,
					  sizeof(l->v[i]) - at);
			l->v[i][at++] = n > 1 ? ';' : ' ';
		}
		snprintf(l->v[i] + at, sizeof(l->v[i]) - at, "%u %u%s",
			 1 + pick(r, 3), pick(r, 3),
			 labels[pick(r, ARRAY_SIZE(labels))]);
	}
}

/* Shuffle all lines but the first. */
static void lines_shuffle(uint64_t *r, struct lines *l)
{
	for (size_t i = SAMPLES - 1; i > 1; i--) {
		size_t k = 1 + pick(r, (unsigned)i);
		char line[sizeof(l->v[0])];

		memcpy(line, l->v[i], sizeof(line));
		memcpy(l->v[i], l->v[k], sizeof(line));
		memcpy(l->v[k], line, sizeof(line));
	}
}

static struct sketch lines_sketch(const struct lines *l)
{
	struct buf text = { 0 };
	struct sketch s;

	for (size_t i = 0; i < SAMPLES; i++)
		buf_printf(&text, "%s\n", l->v[i]);
	s = sketch_init("alloc_objects/count alloc_space/bytes",
			buf_cstr(&text));
	buf_fini(&text);
	return s;
}

/*
 * Print a report of the lines, which must succeed; with `ordered`, of the ordered
 * profile. The report "proto" is the profile itself.
 */
static struct printed lines_print(const struct lines *l, const char *report,
				  const char *options, bool ordered)
{
	const struct limits none = { 0 };
	struct sketch s = lines_sketch(l);

	struct printed p = { 0 };

	if (ordered)
		cr_assert(!pprof_order(s.p, &none, NULL));
	if (!strcmp(report, "proto"))
		pprof_encode(s.p, &p.out);
	else
		p = printed_of(s.p, report, options);
	cr_assert(!p.rc, "%s %s: %s", report, options, p.err.msg);

	sketch_fini(&s);
	return p;
}

/* Whether a report of shuffled lines is always that of the lines. */
static bool is_same_report(uint64_t seed, const char *report,
			   const char *options, bool ordered)

{
	uint64_t r = seed;
	struct lines l;
	struct printed first;
	bool same = true;

	lines_make(&r, &l);
	first = lines_print(&l, report, options, ordered);
	for (size_t k = 0; k < ORDERS && same; k++) {
		struct printed other;

		lines_shuffle(&r, &l);
		other = lines_print(&l, report, options, ordered);
		same = bytes_eq(buf_bytes(&other.out), buf_bytes(&first.out));
		printed_fini(&other);
	}
	printed_fini(&first);
	return same;
}

/* Expect a report to be the same for all orders of the samples. */
static void check_orders(const char *report, const char *options, bool ordered)
{
	uint64_t seed = 1;

	while (seed <= PROFILES &&
	       is_same_report(seed, report, options, ordered))
		seed++;
	cr_expect(seed > PROFILES, "%s %s, profile %d", report, options,
		  (int)seed);
}

/* Reports that count on the order of the samples are made of ordered profiles. */
Test(order, reports_do_not_depend_on_it)
{
	static const char *const reports[] = {
		"top",        "json:top",        "tree", "peek",       "folded",
		"flamegraph", "json:flamegraph", "dot",  "json:graph",
	};
	static const char *const options[] = {
		"",
		"sample_index=alloc_objects",
		"granularity=files",
		"granularity=filefunctions",
		"granularity=lines",
		"granularity=addresses&nodecount=8",
		"nodecount=4",
		"max_nodes=7",
		"invert=1&max_nodes=9",
		"noinlines=1",
		"tagroot=pod",
		"focus=f2",
		"sort=cum",
		"recursion=all",
		"hide=f3&max_nodes=11",
	};

	for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
		for (size_t k = 0; k < ARRAY_SIZE(options); k++)
			check_orders(reports[i], options[k], false);
}

/* These show samples one after another. */
Test(order, ordered_profiles_do_not_depend_on_it)
{
	static const char *const reports[] = { "proto", "traces",
					       "speedscope" };
	static const char *const options[] = { "", "tagroot=pod", "hide=f3",
					       "granularity=lines" };

	for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
		for (size_t k = 0; k < ARRAY_SIZE(options); k++)
			check_orders(reports[i], options[k], true);
	/* A range of numeric labels is in the unit that the first sample has. */
	check_orders("top", "tagfocus=bytes=64kb", true);
	check_orders("json:flamegraph", "tagroot=pod,bytes", true);
	check_orders("source", "symbol=f", false);
}
