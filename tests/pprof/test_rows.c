/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a group: the sampled counts behind heap estimates, groups that
 * are stored and decoded, and profiles that are written again from rows.
 */
#include "pprof/dictionary/intern.h"
#include "pprof/dictionary/layout.h"
#include "pprof/proto/decode.h"
#include "pprof/proto/encode.h"
#include "pprof/rows/group_decode.h"
#include "pprof/rows/group_encode.h"
#include "pprof/rows/reencode.h"
#include "tests/pprof/sketch.h"

TestSuite(rows, .timeout = 60);

/* Heap estimates. */

Test(rows, scales_are_those_of_gos_runtime)
{
	static const struct {
		int64_t size;
		int64_t rate;
		double want; /* 1 / (1 - exp(-size / rate)) */
	} table[] = {
		{ 524288, 524288, 1.5819767068693265 },
		/*
		 * If size / rate is so small, few digits of 1 - exp() are left.
		 */
		{ 16, 524288, 32768.50000250335 },
		{ 1, 2, 2.5414940825367984 },
		{ 1048576, 524288, 1.1565176427496657 },
		/* If size / rate is so large, exp() hardly matters. */
		{ 61, 2, 1.0000000000000568 },
		{ 122, 2, 1 },
		/* These sizes and rates are not scaled. */
		{ 0, 524288, 1 },
		{ -5, 524288, 1 },
		{ 16, 1, 1 },
		{ 16, 0, 1 },
		{ 16, -7, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		double got = unsample_scale(table[i].size, table[i].rate);

		cr_expect(got == table[i].want, "%zu: %.17g, not %.17g", i, got,
			  table[i].want);
	}
}

Test(rows, the_count_behind_an_estimate_is_found)
{
	static const int64_t sizes[] = { 8,    16,     48,     1024,
					 1536, 262144, 524288, 10000000 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct unsample_rate r = {
			.size = sizes[i],
			.scale = unsample_scale(sizes[i], 524288),
		};

		for (int64_t c = 0; c < 3000; c = c * 3 / 2 + 1) {
			int64_t objects = unsample_objects(&r, c);

			cr_expect(objects == (int64_t)((double)c * r.scale));
			cr_expect(unsample_space(&r, c) ==
				  (int64_t)((double)(c * sizes[i]) * r.scale));
			cr_expect(unsample_count(&r, objects) == c,
				  "%zu: %" PRId64, i, c);
			/*
			 * No estimate is below 0. For such a number the result
			 * is only close to the count.
			 */
			cr_expect(llabs(unsample_count(&r, -objects) + c) <= 1);
		}
		/* An estimate that overflows is 0. */
		cr_expect(unsample_objects(&r, INT64_MAX) == 0);
	}
}

Test(rows, the_label_bytes_gives_the_size)
{
	static const struct {
		const char *line;
		int64_t want;
	} table[] = {
		{ "f 1 bytes#64", 64 },      { "f 1", 0 },
		{ "f 1 bytes=64", 0 },       { "f 1 bytes#64kb", 0 },
		{ "f 1 bytes#-64", 0 },      { "f 1 bytes#8 bytes#9", 8 },
		{ "f 1 size#9 bytes#7", 7 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct pprof p = sketch_raw("n/count", table[i].line);
		struct unsample u = { 0 };
		struct dictionary d = { 0 };
		struct intern *in;
		uint32_t key;

		dict_init(&d);
		in = intern_new(&d);
		intern_begin(in, &p);
		intern_mappings(in);
		key = intern_key(in, 0, 0);
		cr_expect(unsample_size(&d, d.keys.v[key].labels) ==
				  table[i].want,
			  "%s", table[i].line);
		unsample_reset(&u, &d);
		cr_expect(unsample_rate(&u, key, 1000)->size == table[i].want);
		cr_expect(unsample_rate(&u, key, 1000)->scale ==
			  unsample_scale(table[i].want, 1000));
		/* The rate follows the period, also back to the first one. */
		cr_expect(unsample_rate(&u, key, 5)->scale ==
			  unsample_scale(table[i].want, 5));
		cr_expect(unsample_rate(&u, key, 1000)->scale ==
			  unsample_scale(table[i].want, 1000));
		unsample_fini(&u);
		intern_free(in);
		dict_fini(&d);
		pprof_fini(&p);
	}
}

/* Groups. */

/* A group of profiles, each as pprof's encoder writes it. */
struct stored_group {
	struct dictionary d;
	struct colgroup g;
	struct buf raw[3];
	uint32_t lens[3];
	struct buf stored;
};

/*
 * Adds a row for a profile. The profile is encoded and decoded first, so that
 * its strings are numbered as in its bytes.
 */
static void add_row(struct stored_group *s, struct intern *in, size_t i,
		    const struct pprof *of)
{
	struct decoder *d = decoder_new(MIB);
	struct row *row = &s->g.rows[i];
	struct pprof *p;

	pprof_encode(of, &s->raw[i]);
	s->lens[i] = (uint32_t)s->raw[i].len;
	cr_assert(!decoder_run(d, buf_bytes(&s->raw[i]), &p, NULL));
	*row = (struct row){ .time_ns = p->time_ns,
			     .duration_ns = p->duration_ns,
			     .period = p->period,
			     .samples = p->samples.count };
	intern_begin(in, p);
	row->layout = intern_layout(in);
	for (size_t k = 0; k < p->samples.count; k++)
		*vec_add(&s->g.keys) = intern_key(in, k, 0);
	cr_assert(!layout_read_shape(buf_bytes(&s->raw[i]), DIALECT_PPROF, in,
				     &row->shape, NULL));
	s->g.count++;
	s->g.types = p->types.count;
	decoder_free(d);
}

static void make_group(struct stored_group *s, const char *types,
		       const char *const lines[3])
{
	struct pprof p[3];
	struct colgroup_coder *c = colgroup_coder_new();
	struct intern *in;

	*s = (struct stored_group){ 0 };
	dict_init(&s->d);
	colgroup_reset(&s->g);
	in = intern_new(&s->d);
	for (size_t i = 0; i < 3; i++) {
		struct pprof raw = sketch_raw(types, lines[i]);

		raw.time_ns = 1000 + 60 * (int64_t)i;
		raw.duration_ns = -5;
		raw.period = 524288;
		p[i] = raw;
		add_row(s, in, i, &p[i]);
	}
	for (size_t t = 0; t < s->g.types; t++) {
		for (size_t i = 0; i < 3; i++) {
			for (size_t k = 0; k < p[i].samples.count; k++)
				*vec_add(&s->g.values) =
					pprof_values(&p[i], k)[t];
		}
	}
	colgroup_link(&s->g);
	colgroup_encode(c, &s->d, &s->g, 3, &s->stored);
	for (size_t i = 0; i < 3; i++)
		pprof_fini(&p[i]);
	intern_free(in);
	colgroup_coder_free(c);
}

static void free_group(struct stored_group *s)
{
	for (size_t i = 0; i < 3; i++)
		buf_fini(&s->raw[i]);
	colgroup_fini(&s->g);
	buf_fini(&s->stored);
	dict_fini(&s->d);
}

static bool same_row(const struct row *a, const struct row *b)
{
	if (a->shape != b->shape || a->layout != b->layout ||
	    a->time_ns != b->time_ns || a->duration_ns != b->duration_ns ||
	    a->period != b->period || a->samples != b->samples ||
	    a->types != b->types)
		return false;
	for (size_t k = 0; k < a->samples; k++) {
		if (a->keys[k] != b->keys[k])
			return false;
		for (size_t t = 0; t < a->types; t++) {
			if (a->values[t * a->stride + k] !=
			    b->values[t * b->stride + k])
				return false;
		}
	}
	return true;
}

/*
 * Groups with ordinary, extreme and heap-like values, and without samples. The
 * rows of a group may differ in their samples.
 */
static const struct {
	const char *types;
	const char *lines[3];
} groups[] = {
	{ "n/count", { "a 1\nb 2\n", "b 5\na 1\nc 9\n", "" } },
	{ "n/count t/ns",
	  { "a 1 524288\nb -9223372036854775808 9223372036854775807\n",
	    "a 0 0\nb 9223372036854775807 -1\n", "a 2 1048576\n" } },
	{ "alloc_objects/count alloc_space/bytes",
	  { "a 32768 524296 bytes#16\nb 1 829411 bytes#524288\n",
	    "a 65537 1048592 bytes#16\nb 1 829411 bytes#524288\n",
	    "a 65537 1048593 bytes#16\nb 3 2488234 bytes#524288\n" } },
	{ "n/count", { "", "", "" } },
	{ "n/count",
	  { "[/bin/app]0x100010|main@m.go:3:1>in@i.go;0x20;f 1 k=v k#3ms\n",
	    "f;g;h 300 x=y\n- 4\n", "[/lib/so]0x1;[/bin/app]0x2 1\n" } },
};

Test(rows, a_stored_group_comes_back)
{
	for (size_t n = 0; n < ARRAY_SIZE(groups); n++) {
		struct colgroup_coder *c = colgroup_coder_new();
		struct colgroup got = { 0 };
		struct colgroup_request q = { .count = 3, .end = 3 };
		struct stored_group s;
		struct err err;

		make_group(&s, groups[n].types, groups[n].lines);
		q.stored = buf_bytes(&s.stored);
		q.lens = s.lens;
		cr_expect(colgroup_types(c, q.stored) == s.g.types);
		cr_assert(!colgroup_decode(c, &s.d, &q, &got, &err), "%zu: %s",
			  n, err.msg);
		cr_assert(got.count == 3);
		for (size_t i = 0; i < 3; i++)
			cr_expect(same_row(&s.g.rows[i], &got.rows[i]),
				  "%zu: row %zu", n, i);
		cr_expect(colgroup_count_samples(&got, 3) == s.g.keys.count);
		/* Only the first two rows are asked for. */
		q.end = 2;
		cr_assert(!colgroup_decode(c, &s.d, &q, &got, &err));
		for (size_t i = 0; i < 2; i++)
			cr_expect(same_row(&s.g.rows[i], &got.rows[i]));
		colgroup_fini(&got);
		colgroup_coder_free(c);
		free_group(&s);
	}
	colgroup_coder_free(NULL);
}

Test(rows, a_row_is_written_again_as_the_profile_it_was)
{
	for (size_t n = 0; n < ARRAY_SIZE(groups); n++) {
		struct replay *r = replay_new();
		struct stored_group s;
		struct buf out = { 0 };

		make_group(&s, groups[n].types, groups[n].lines);
		for (size_t i = 0; i < 3; i++) {
			size_t len = s.raw[i].len;

			buf_reset(&out);
			buf_byte(&out, 'x');
			cr_expect(!replay_row(r, &s.d, &s.g.rows[i], len, &out,
					      NULL));
			cr_expect(bytes_eq((struct bytes){ out.ptr + 1,
							   out.len - 1 },
					   buf_bytes(&s.raw[i])),
				  "%zu: row %zu", n, i);
			/* The profile does not fit into one byte less. */
			buf_reset(&out);
			cr_expect(replay_row(r, &s.d, &s.g.rows[i], len - 1,
					     &out, NULL) == ERR_TOOBIG);
		}
		cr_expect(replay_memory(r) > 0);
		buf_fini(&out);
		replay_free(r);
		free_group(&s);
	}
	replay_free(NULL);
}

Test(rows, damage_of_a_stored_group_crashes_nothing)
{
	struct colgroup_coder *c = colgroup_coder_new();
	struct colgroup got = { 0 };
	struct colgroup_request q = { .count = 3, .end = 3 };
	struct stored_group s;

	make_group(&s, groups[1].types, groups[1].lines);
	q.lens = s.lens;
	for (size_t n = 0; n < s.stored.len; n++) {
		q.stored = (struct bytes){ mem_dup(s.stored.ptr, n), n };
		cr_expect(colgroup_decode(c, &s.d, &q, &got, NULL) ==
				  ERR_CORRUPT,
			  "%zu", n);
		mem_free((void *)q.stored.ptr);
	}
	q.stored = buf_bytes(&s.stored);
	for (size_t i = 0; i < 8 * s.stored.len; i++) {
		int rc;

		s.stored.ptr[i / 8] ^= (uint8_t)(1 << i % 8);
		rc = colgroup_decode(c, &s.d, &q, &got, NULL);
		cr_expect(!rc || rc == ERR_CORRUPT || rc == ERR_TOOBIG);
		/* A group that was accepted has only keys of the dictionary. */
		for (size_t k = 0; k < got.keys.count && !rc; k++)
			cr_assert(got.keys.v[k] < s.d.keys.count);
		s.stored.ptr[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	colgroup_fini(&got);
	colgroup_coder_free(c);
	free_group(&s);
}

Test(rows, a_group_needs_the_keys_of_its_dictionary)
{
	struct colgroup_coder *c = colgroup_coder_new();
	struct colgroup got = { 0 };
	struct colgroup_request q = { .count = 3, .end = 3 };
	struct dictionary empty = { 0 };
	struct stored_group s;

	make_group(&s, groups[0].types, groups[0].lines);
	dict_init(&empty);
	q.stored = buf_bytes(&s.stored);
	q.lens = s.lens;
	cr_expect(colgroup_decode(c, &empty, &q, &got, NULL) == ERR_CORRUPT);
	dict_fini(&empty);
	colgroup_fini(&got);
	colgroup_coder_free(c);
	free_group(&s);
}
