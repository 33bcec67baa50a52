/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles that are stored as columns come back byte for byte, or they are
 * refused.
 */
#include "tests/check.h"

#include "base/enc.h"
#include "base/zstd.h"
#include "pprof/columns/columns.h"
#include "pprof/columns/columns_find.h"
#include "pprof/columns/columns_sum.h"
#include "pprof/columns/encoder.h"
#include "pprof/merge/merge.h"
#include "pprof/proto/decode.h"
#include "pprof/proto/encode.h"
#include "pprof/rows/group.h"
#include "pprof/rows/group_decode.h"
#include "pprof/rows/group_encode.h"
#include "pprof/rows/heap_unscale.h"
#include "tests/pages.h"
#include "tests/pprof/samples.h"
#include "tests/pprof/sketch.h"

#define ROOM  ((size_t)64 * MIB)
#define LEVEL 5

static const struct codec *const codec = &codec_columns;

/* The values of a group, and the bytes that they are stored as. */
struct stored {
	struct bytes values[COLGROUP_ROWS_MAX];
	uint32_t lens[COLGROUP_ROWS_MAX];
	size_t count;
	struct buf bytes;
};

static void put(struct stored *g, struct bytes value)
{
	g->lens[g->count] = (uint32_t)value.len;
	g->values[g->count++] = value;
}

static int encode(struct codec_encoder *e, struct stored *g)
{
	buf_reset(&g->bytes);
	return codec->encode(e, g->values, g->count, &g->bytes, NULL);
}

static struct codec_group group_of(const struct codec_table *table,
				   const struct stored *g)
{
	return (struct codec_group){ .table = table,
				     .stored = buf_bytes(&g->bytes),
				     .lens = g->lens,
				     .count = g->count };
}

/* Whether values first to first + n - 1 of a group are decoded as they were. */
static bool comes_back(struct codec_decoder *d, const struct codec_table *table,
		       const struct stored *g, size_t first, size_t n)
{
	struct codec_group group = group_of(table, g);
	struct buf out = { 0 };
	bool same = !codec->decode(d, &group, first, n, &out, NULL);
	size_t at = 0;

	for (size_t i = first; i < first + n && same; i++) {
		same = at + g->lens[i] <= out.len &&
		       !memcmp(out.ptr + at, g->values[i].ptr, g->lens[i]);
		at += g->lens[i];
	}
	same = same && at == out.len;
	buf_fini(&out);
	return same;
}

/* All groups of a job, one for each type, over an opened table. */
struct stripe {
	struct stored groups[16];
	size_t count;
	struct codec_encoder *encoder;
	struct buf table;
	struct codec_table *opened;
};

static void stripe_fill(struct stripe *s, const struct samples *all,
			const char *job)
{
	const char *type = "";

	s->encoder = codec->encoder_new(LEVEL);
	for (size_t i = 0; i < all->v.count; i++) {
		const struct sample_file *f = &all->v.v[i];

		if (strcmp(f->job, job) != 0)
			continue;
		if (strcmp(f->type, type) != 0)
			s->count++;
		type = f->type;
		put(&s->groups[s->count - 1], buf_bytes(&f->raw));
	}
}

static void stripe_finish(struct stripe *s)
{
	cr_assert(!codec->encoder_finish(s->encoder, &s->table, NULL));
	cr_assert(!codec->table_open(buf_bytes(&s->table), &s->opened, NULL));
}

static void stripe_free(struct stripe *s)
{
	codec->encoder_free(s->encoder);
	codec->table_free(s->opened);
	for (size_t i = 0; i < s->count; i++)
		buf_fini(&s->groups[i].bytes);
	buf_fini(&s->table);
}

static const char *const jobs[] = { "etcd", "leakapp", "node_exporter",
				    "prometheus" };

Test(columns, real_profiles_are_restored_byte_for_byte)
{
	struct codec_decoder *d = codec->decoder_new();
	struct samples all;

	samples_load(&all);
	for (size_t k = 0; k < ARRAY_SIZE(jobs); k++) {
		struct stripe s = { 0 };

		stripe_fill(&s, &all, jobs[k]);
		for (size_t i = 0; i < s.count; i++)
			cr_expect(!encode(s.encoder, &s.groups[i]));
		cr_expect(columns_encoder_counts(s.encoder)->exact[0] == 35);
		cr_expect(!columns_encoder_counts(s.encoder)->patched);
		stripe_finish(&s);
		for (size_t i = 0; i < s.count; i++) {
			const struct stored *g = &s.groups[i];

			cr_expect(comes_back(d, s.opened, g, 0, g->count));
			for (size_t n = 0; n < g->count; n++)
				cr_expect(comes_back(d, s.opened, g, n, 1));
		}
		stripe_free(&s);
	}
	codec->decoder_free(d);
	samples_free(&all);
}

/*
 * Profiles that our own encoder wrote, as google/pprof does, are stored without
 * a patch.
 */
Test(columns, dialect_of_google_pprof_is_recognized)
{
	struct codec_encoder *e = codec->encoder_new(LEVEL);
	struct codec_decoder *d = codec->decoder_new();
	struct decoder *decoder = decoder_new(ROOM);
	struct stored g = { 0 };
	struct samples all;

	samples_load(&all);
	for (size_t i = 0; i < 5; i++) {
		struct merge *m = merge_new();
		struct buf out = { 0 };
		struct pprof *p;

		cr_assert(!decoder_run(decoder, buf_bytes(&all.v.v[i].raw), &p,
				       NULL));
		cr_assert(!merge_add(m, p, NULL, NULL));
		pprof_encode(merge_finish(m), &out);
		put(&g, buf_bytes(&out)); /* freed at the end */
		merge_free(m);
	}
	cr_expect(!encode(e, &g));
	cr_expect(columns_encoder_counts(e)->exact[1] == 5);
	cr_expect(comes_back(d, codec->encoder_table(e), &g, 0, 5));
	for (size_t i = 0; i < g.count; i++)
		mem_free(g.values[i].ptr);
	buf_fini(&g.bytes);
	decoder_free(decoder);
	codec->encoder_free(e);
	codec->decoder_free(d);
	samples_free(&all);
}

/* A field that no dialect writes, to be put at the end of a Go profile. */
static const uint8_t unknown_field[] = { 0xa2, 0x06, 0x03, 'a', 'b', 'c' };

Test(columns, small_differences_are_stored_as_a_patch)
{
	struct codec_encoder *e = codec->encoder_new(LEVEL);
	struct codec_decoder *d = codec->decoder_new();
	struct buf odd[3] = { 0 };
	struct stored g = { 0 };
	struct samples all;

	samples_load(&all);
	for (size_t i = 0; i < 3; i++) {
		struct bytes raw = buf_bytes(&all.v.v[i].raw);

		buf_add(&odd[i], raw.ptr, raw.len);
		if (i == 1)
			buf_add(&odd[i], unknown_field, sizeof(unknown_field));
		if (i == 2) /* one more text in the string table */
			buf_add(&odd[i], "\x32\x05never", 7);
		put(&g, buf_bytes(&odd[i]));
	}
	cr_expect(!encode(e, &g));
	cr_expect(columns_encoder_counts(e)->patched == 2);
	cr_expect(columns_encoder_counts(e)->patch_bytes < 200);
	cr_expect(comes_back(d, codec->encoder_table(e), &g, 0, 3));
	cr_expect(comes_back(d, codec->encoder_table(e), &g, 2, 1));
	for (size_t i = 0; i < 3; i++)
		buf_fini(&odd[i]);
	buf_fini(&g.bytes);
	codec->encoder_free(e);
	codec->decoder_free(d);
	samples_free(&all);
}

static struct bytes text(const char *s)
{
	return bytes_of(str_of(s));
}

Test(columns, refused_group_leaves_the_table_unchanged)
{
	struct codec_encoder *clean = codec->encoder_new(LEVEL);
	struct codec_encoder *e = codec->encoder_new(LEVEL);
	struct stored good = { 0 };
	struct stored bad = { 0 };
	struct samples all;
	struct buf a = { 0 };
	struct buf b = { 0 };

	samples_load(&all);
	for (size_t i = 0; i < 5; i++)
		put(&good, buf_bytes(&all.v.v[i].raw));
	put(&bad, buf_bytes(&all.v.v[10].raw));
	put(&bad, text("this is no profile at all"));
	cr_assert(encode(e, &bad) == ERR_UNSUPPORTED);
	cr_expect(!bad.bytes.len);
	cr_expect(!encode(e, &good));
	cr_assert(encode(e, &bad) == ERR_UNSUPPORTED);
	cr_expect(!bad.bytes.len);
	cr_expect(!encode(clean, &good));
	cr_expect(!codec->encoder_finish(e, &a, NULL));
	cr_expect(!codec->encoder_finish(clean, &b, NULL));
	cr_expect(bytes_eq(buf_bytes(&a), buf_bytes(&b)));
	/* Nothing was stored since the encoder was finished. */
	cr_expect(encode(e, &bad) == ERR_UNSUPPORTED);
	buf_reset(&a);
	cr_assert(!codec->encoder_finish(e, &a, NULL));
	cr_expect(!a.len);
	buf_fini(&a);
	buf_fini(&b);
	buf_fini(&good.bytes);
	buf_fini(&bad.bytes);
	codec->encoder_free(e);
	codec->encoder_free(clean);
	samples_free(&all);
}

Test(columns, groups_that_zstd_compresses_better_are_refused)
{
	struct codec_encoder *e = codec->encoder_new(LEVEL);
	struct stored g = { 0 };

	put(&g, text("\x0a\x00\x32\x00")); /* one type, no text */
	cr_expect(encode(e, &g) == ERR_UNSUPPORTED);
	buf_fini(&g.bytes);
	codec->encoder_free(e);
}

/*
 * Damages each byte of a group in turn. The decoder must not crash, but may
 * return wrong bytes: storage finds those by their hash. It must refuse a group
 * that is cut.
 */
static void damage(struct codec_decoder *d, const struct codec_table *table,
		   struct stored *g)
{
	struct buf whole = g->bytes;
	struct buf copy = { 0 };

	buf_add(&copy, whole.ptr, whole.len);
	for (size_t i = 0; i < whole.len; i++) {
		copy.ptr[i] ^= (uint8_t)(1 << i % 8);
		g->bytes = copy;
		(void)comes_back(d, table, g, 0, g->count);
		g->bytes.len = i;
		cr_expect(!comes_back(d, table, g, 0, g->count));
		copy.ptr[i] = whole.ptr[i];
	}
	buf_fini(&copy);
	g->bytes = whole;
}

Test(columns, damaged_groups_and_tables_do_not_crash_the_decoder)
{
	struct codec_decoder *d = codec->decoder_new();
	struct stripe s = { 0 };
	struct samples all;

	samples_load(&all);
	stripe_fill(&s, &all, "leakapp");
	for (size_t i = 0; i < s.count; i++)
		cr_expect(!encode(s.encoder, &s.groups[i]));
	stripe_finish(&s);
	for (size_t i = 0; i < s.count; i++)
		damage(d, s.opened, &s.groups[i]);
	for (size_t i = 0; i < s.table.len; i += 3) {
		struct codec_table *t = NULL;
		struct bytes cut = { s.table.ptr, i };

		cr_expect(codec->table_open(cut, &t, NULL));
		s.table.ptr[i] ^= (uint8_t)(1 << i % 8);
		if (!codec->table_open(buf_bytes(&s.table), &t, NULL)) {
			for (size_t k = 0; k < s.count; k++)
				(void)comes_back(d, t, &s.groups[k], 0,
						 s.groups[k].count);
			codec->table_free(t);
		}
		s.table.ptr[i] ^= (uint8_t)(1 << i % 8);
	}
	stripe_free(&s);
	codec->decoder_free(d);
	samples_free(&all);
}

/*
 * The example of columns.md: a profile of two samples, as a protobuf library
 * writes it. The test adds a second profile, which is a second later and has a
 * smaller value.
 */
static const uint8_t
	example
		[] = {
			0x0a, 4,    0x08, 1,    0x10, 2, /* type "a", unit "n" */
			0x12, 7,    0x0a, 2,    1,    2,    0x12,
			1,    7, /* locations 1, 2: 7 */
			0x12, 6,    0x0a, 1,    2,    0x12, 1,
			1, /* location 2: 1 */
			0x22, 10,   0x08, 1,    0x18, 16,   0x22,
			4,    0x08, 1,    0x10, 5,    0x22, 10,
			0x08, 2,    0x18, 32,   0x22, 4,    0x08,
			2,    0x10, 9,    0x2a, 6,    0x08, 1,
			0x10, 3,    0x20, 4, /* f, x.go */
			0x2a, 6,    0x08, 2,    0x10, 5,    0x20,
			4, /* g, x.go */
			0x32, 0,    0x32, 1,    'a',  0x32, 1,
			'n',  0x32, 1,    'f',  0x32, 4,    'x',
			'.',  'g',  'o',  0x32, 1,    'g',  0x48,
			0xe8, 0x07, /* time 1000 */
		};

Test(columns, stripe_is_encoded_as_documented)
{
	struct codec_encoder *e = codec->encoder_new(LEVEL);
	struct codec_decoder *d = codec->decoder_new();
	uint8_t second[sizeof(example)];
	struct stored g = { 0 };
	struct buf table = { 0 };

	memcpy(second, example, sizeof(example));
	second[14] = 6;                    /* value of the first sample */
	second[sizeof(second) - 2] = 0xd0; /* time 2000 */
	second[sizeof(second) - 1] = 0x0f;
	put(&g, (struct bytes){ example, sizeof(example) });
	put(&g, (struct bytes){ second, sizeof(second) });
	columns_encoder_take_all(e);
	cr_assert(!encode(e, &g));
	cr_expect(columns_encoder_counts(e)->exact[2] == 2);
	cr_expect(comes_back(d, codec->encoder_table(e), &g, 0, 2));
	cr_expect(in_block("columns.md", "```hex group\n", &g.bytes));
	cr_assert(!codec->encoder_finish(e, &table, NULL));
	cr_expect(in_block("columns.md", "```hex table\n", &table));
	buf_fini(&g.bytes);
	buf_fini(&table);
	codec->encoder_free(e);
	codec->decoder_free(d);
}

/* Chooses, by the number of a try, what is done with each type of a profile. */
static void choose(enum merge_op ops[TYPES_MAX], unsigned n)
{
	static const enum merge_op all[] = { MERGE_ADD, MERGE_SUBTRACT,
					     MERGE_SKIP, MERGE_AVERAGE };

	for (size_t t = 0; t < TYPES_MAX; t++)
		ops[t] = all[(n >> t % 4 * 2) & 3];
}

/* Merge rows: all at once, or `part` of them at a time. */
static void merge_rows(struct merge *m, const struct stripe *s, unsigned n,
		       size_t part)
{
	struct codec_decoder *d = codec->decoder_new();
	struct columns_sum *sum = columns_sum_new();
	enum merge_op ops[TYPES_MAX];
	bool wanted[TYPES_MAX];

	choose(ops, n);
	for (size_t t = 0; t < TYPES_MAX; t++)
		wanted[t] = ops[t] != MERGE_SKIP;
	for (size_t i = 0; i < s->count; i++) {
		const struct stored *g = &s->groups[i];
		struct codec_group group = group_of(s->opened, g);
		const struct codec_rows *rows;

		cr_assert(!codec->rows(d, &group, wanted, &rows, NULL));
		for (size_t k = 0; k < g->count; k++) {
			cr_assert(!columns_sum_add(sum, rows, k, ops, m, NULL));
			if (part && k % part == 0)
				cr_assert(
					!columns_sum_flush_part(sum, m, NULL));
		}
	}
	cr_assert(!columns_sum_flush(sum, m, NULL));
	columns_sum_free(sum);
	codec->decoder_free(d);
}

static void merge_profiles(struct merge *m, const struct stripe *s, unsigned n)
{
	struct decoder *d = decoder_new(ROOM);
	enum merge_op ops[TYPES_MAX];

	choose(ops, n);
	for (size_t i = 0; i < s->count; i++) {
		for (size_t k = 0; k < s->groups[i].count; k++) {
			struct pprof *p;

			cr_assert(!decoder_run(d, s->groups[i].values[k], &p,
					       NULL));
			cr_assert(!merge_add(m, p, ops, NULL));
		}
	}
	decoder_free(d);
}

/*
 * Makes a stripe of the profiles of one type of a job. With half 0 it takes
 * those at even places of all samples, with half 1 those at odd places.
 */
static void stripe_half(struct stripe *s, const struct samples *all,
			const char *job, const char *type, size_t half)
{
	s->encoder = codec->encoder_new(LEVEL);
	columns_encoder_take_all(s->encoder);
	for (size_t i = half; i < all->v.count; i += 2) {
		const struct sample_file *f = &all->v.v[i];

		if (!strcmp(f->job, job) && !strcmp(f->type, type))
			put(&s->groups[0], buf_bytes(&f->raw));
	}
	s->count = 1;
	cr_assert(!encode(s->encoder, &s->groups[0]));
	stripe_finish(s);
}

static bool encodes_alike(struct merge *a, struct merge *b)
{
	struct buf x = { 0 };
	struct buf y = { 0 };
	bool same;

	merge_average(a, 7);
	merge_average(b, 7);
	pprof_encode(merge_finish(a), &x);
	pprof_encode(merge_finish(b), &y);
	same = bytes_eq(buf_bytes(&x), buf_bytes(&y));
	buf_fini(&x);
	buf_fini(&y);
	return same;
}

/*
 * Adds up the profiles of two stripes, and their rows, with many choices of
 * operations. The results must be the same.
 */
static void compare_sums(const struct samples *all, const char *job,
			 const char *type)
{
	struct stripe s[2] = { 0 };

	for (size_t i = 0; i < 2; i++)
		stripe_half(&s[i], all, job, type, i);
	for (unsigned n = 0; n < 256; n += 7) {
		struct merge *raw = merge_new();
		struct merge *rows = merge_new();
		struct merge *parts = merge_new();

		for (size_t i = 0; i < 2; i++) {
			merge_profiles(raw, &s[i], n);
			merge_rows(rows, &s[i], n, 0);
			merge_rows(parts, &s[i], n, 3);
		}
		/*
		 * Subtract the first stripe, so that some samples cancel out.
		 */
		merge_profiles(raw, &s[0], 0x55);
		merge_rows(rows, &s[0], 0x55, 0);
		merge_rows(parts, &s[0], 0x55, 1);
		cr_expect(encodes_alike(raw, rows), "%s %s, ops %u", job, type,
			  n);
		cr_expect(encodes_alike(raw, parts), "%s %s in parts, ops %u",
			  job, type, n);
		merge_free(raw);
		merge_free(rows);
		merge_free(parts);
	}
	for (size_t i = 0; i < 2; i++)
		stripe_free(&s[i]);
}

static void adopt_all(struct codec_encoder *e, const struct stripe *from,
		      struct stored *to)
{
	const struct stored *g = &from->groups[0];
	struct codec_group group = group_of(from->opened, g);

	memcpy(to, g, sizeof(*to));
	to->bytes = (struct buf){ 0 };
	cr_assert(!codec->adopt(e, &group, &to->bytes, NULL));
}

/*
 * Groups of two stripes of a target are moved to one stripe. The profiles stay
 * the same, and the new table is much smaller than the two old ones.
 */
Test(columns, groups_are_transcoded_to_another_stripe)
{
	struct codec_decoder *d = codec->decoder_new();
	struct codec_encoder *e = codec->encoder_new(LEVEL);
	struct stripe s[2] = { 0 };
	struct stored moved[2];
	struct codec_table *t;
	struct buf table = { 0 };
	struct samples all;

	samples_load(&all);
	for (size_t i = 0; i < 2; i++) {
		stripe_half(&s[i], &all, "prometheus", "heap", i);
		adopt_all(e, &s[i], &moved[i]);
	}
	cr_assert(!codec->encoder_finish(e, &table, NULL));
	cr_assert(!codec->table_open(buf_bytes(&table), &t, NULL));
	for (size_t i = 0; i < 2; i++) {
		cr_expect(comes_back(d, t, &moved[i], 0, moved[i].count));
		buf_fini(&moved[i].bytes);
	}
	cr_expect(table.len < (s[0].table.len + s[1].table.len) * 2 / 3);
	for (size_t i = 0; i < 2; i++)
		stripe_free(&s[i]);
	codec->table_free(t);
	buf_fini(&table);
	codec->encoder_free(e);
	codec->decoder_free(d);
	samples_free(&all);
}

Test(columns, sums_of_rows_equal_merged_profiles)
{
	static const char *const types[] = { "heap", "goroutine", "mutex",
					     "profile", "block" };
	struct samples all;

	samples_load(&all);
	for (size_t k = 0; k < ARRAY_SIZE(jobs); k++) {
		for (size_t i = 0; i < ARRAY_SIZE(types); i++)
			compare_sums(&all, jobs[k], types[i]);
	}
	samples_free(&all);
}

/*
 * The lower 32 bits of field number 2^32 + 13 are 13, the field of comments.
 * The field must not be taken for a comment.
 */
Test(columns, sample_fields_hold_64_bit_numbers)
{
	static const uint8_t wide[] = {
		0xe8, 0x80, 0x80, 0x80, 0x80, 0x01, 0x05
	};
	struct codec_encoder *e = codec->encoder_new(LEVEL);
	struct codec_decoder *d = codec->decoder_new();
	struct buf raw = { 0 };
	struct stored g = { 0 };

	buf_add(&raw, example, sizeof(example));
	buf_add(&raw, wide, sizeof(wide));
	put(&g, buf_bytes(&raw));
	columns_encoder_take_all(e);
	if (!encode(e, &g))
		cr_expect(comes_back(d, codec->encoder_table(e), &g, 0, 1));
	codec->encoder_free(e);
	codec->decoder_free(d);
	buf_fini(&raw);
	buf_fini(&g.bytes);
}

/*
 * There are three types. The values of each are those of the type before, times
 * the period. The last type can be decoded alone.
 */
Test(columns, derived_column_decodes_its_source_columns)
{
	struct colgroup_coder *c = colgroup_coder_new();
	struct dictionary d = { 0 };
	struct colgroup g = { 0 };
	struct colgroup got = { 0 };
	struct buf stored = { 0 };
	const bool last[] = { false, false, true };
	const uint32_t lens[] = { 4096 };
	struct colgroup_request q = {
		.lens = lens, .count = 1, .end = 1, .types = last
	};

	dict_init(&d);
	*vec_add(&d.label_sets) = (struct pprof_run){ 0 };
	*vec_add(&d.layouts) = (struct pprof_run){ 0 };
	*vec_add(&d.shapes) = (struct pprof_run){ 0 };
	colgroup_reset(&g);
	g.count = 1;
	g.types = 3;
	g.rows[0] = (struct row){ .period = 2, .samples = 100 };
	for (uint32_t i = 0; i < 100; i++) {
		*vec_add(&d.keys) = (struct pprof_sample){ 0 };
		*vec_add(&g.keys) = i;
	}
	for (int64_t k = 0; k < 300; k++)
		*vec_add(&g.values) = (7 + k % 100) << k / 100;
	colgroup_encode(c, &d, &g, LEVEL, &stored);
	q.stored = buf_bytes(&stored);
	cr_assert(!colgroup_decode(c, &d, &q, &got, NULL));
	cr_expect(!memcmp(got.values.v + 200, g.values.v + 200,
			  100 * sizeof(int64_t)));
	colgroup_fini(&g);
	colgroup_fini(&got);
	colgroup_coder_free(c);
	dict_fini(&d);
	buf_fini(&stored);
}

/*
 * Counts the rows that hold a function of this name. Adds to *wrong the rows
 * for which the decoded profile says otherwise.
 */
static size_t find_in(const struct stripe *s, struct regex *name, size_t *wrong)
{
	static const bool no_values[TYPES_MAX];
	static const struct limits no_limits;
	struct columns_find *f = columns_find_new(name, &no_limits);
	struct codec_decoder *d = codec->decoder_new();
	struct decoder *decoder = decoder_new(ROOM);
	size_t found = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct stored *g = &s->groups[i];
		struct codec_group group = group_of(s->opened, g);
		const struct codec_rows *rows;

		cr_assert(!codec->rows(d, &group, no_values, &rows, NULL));
		for (size_t k = 0; k < g->count; k++) {
			struct pprof *p;
			bool has;
			bool has_decoded;

			cr_assert(!columns_find_row(f, rows, k, &has, NULL));
			cr_assert(
				!decoder_run(decoder, g->values[k], &p, NULL));
			cr_assert(!pprof_has_function(p, name, &no_limits,
						      &has_decoded, NULL));
			*wrong += has != has_decoded;
			found += has;
		}
	}
	columns_find_free(f);
	codec->decoder_free(d);
	decoder_free(decoder);
	return found;
}

/* Limits that permit nothing. */
static int find_refuse(void *ctx UNUSED, size_t bytes UNUSED, struct err *err)
{
	return err_set(err, ERR_TIMEOUT, "late");
}

/* Searches the first row of a stripe, and the same profile, in no time. */
static void find_in_no_time(const struct stripe *s, const struct regex *name)
{
	static const bool no_values[TYPES_MAX];
	static const struct limits limits = { find_refuse, NULL };
	struct columns_find *f = columns_find_new(name, &limits);
	struct codec_decoder *d = codec->decoder_new();
	struct decoder *decoder = decoder_new(ROOM);
	struct codec_group group = group_of(s->opened, &s->groups[0]);
	const struct codec_rows *rows;
	struct pprof *p;
	bool has;

	cr_assert(!codec->rows(d, &group, no_values, &rows, NULL));
	for (int i = 0; i < 2; i++) {
		cr_assert(columns_find_row(f, rows, 0, &has, NULL) ==
			  ERR_TIMEOUT);
		cr_expect(!has);
	}
	cr_assert(!decoder_run(decoder, s->groups[0].values[0], &p, NULL));
	cr_assert(pprof_has_function(p, name, &limits, &has, NULL) ==
		  ERR_TIMEOUT);
	cr_expect(!has);
	columns_find_free(f);
	codec->decoder_free(d);
	decoder_free(decoder);
}

Test(columns, columns_find_finds_functions_by_name)
{
	static const char *const names[] = { "^runtime\\.main$", "promql",
					     "mallocgc", "no such function" };
	struct samples all;
	size_t found = 0;
	size_t wrong = 0;

	samples_load(&all);
	for (size_t k = 0; k < ARRAY_SIZE(jobs); k++) {
		struct stripe s = { 0 };

		stripe_fill(&s, &all, jobs[k]);
		for (size_t i = 0; i < s.count; i++)
			cr_assert(!encode(s.encoder, &s.groups[i]));
		stripe_finish(&s);
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			struct regex *name = NULL;

			cr_assert(!regex_new_search(str_of(names[i]), &name,
						    NULL));
			found += find_in(&s, name, &wrong);
			find_in_no_time(&s, name);
			regex_free(name);
		}
		stripe_free(&s);
	}
	cr_assert(found > 20, "%zu, %zu wrong", found, wrong);
	cr_assert(found < 400, "%zu, %zu wrong", found, wrong);
	cr_expect(!wrong, "%zu, %zu wrong", found, wrong);
	samples_free(&all);
}

/* Profiles that have little in common, as a protobuf library writes them. */

enum evil {
	EVIL_NAMES,  /* every function is new */
	EVIL_STACKS, /* few functions, every stack is new */
	EVIL_LABELS, /* every sample has a label of its own */
	EVIL_VALUES, /* values are random */
	EVIL_DEEP,   /* stacks 20 000 deep */
	EVIL_KINDS,
};

struct evil_shape {
	unsigned samples;
	unsigned depth;
	unsigned functions;
};

static const struct evil_shape evil_shapes[EVIL_KINDS] = {
	[EVIL_NAMES] = { 400, 1, 400 },  [EVIL_STACKS] = { 800, 12, 40 },
	[EVIL_LABELS] = { 800, 1, 1 },   [EVIL_VALUES] = { 800, 1, 800 },
	[EVIL_DEEP] = { 3, 20000, 200 },
};

static uint64_t roll(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void field(struct buf *out, unsigned number, struct buf *message)
{
	buf_byte(out, (uint8_t)(number << 3 | 2));
	enc_str(out, str_from(buf_bytes(message)));
	buf_reset(message);
}

static void number(struct buf *out, unsigned field_number, uint64_t v)
{
	buf_byte(out, (uint8_t)(field_number << 3));
	enc_uvarint(out, v);
}

static void evil_samples(enum evil kind, uint64_t *seed, struct buf *out)
{
	struct evil_shape s = evil_shapes[kind];
	struct buf m = { 0 };
	struct buf v = { 0 };

	for (unsigned i = 0; i < s.samples; i++) {
		for (unsigned k = 0; k < s.depth; k++)
			enc_uvarint(&v, 1 + (s.depth > 1 ? roll(seed) : i) %
							s.functions);
		field(&m, 1, &v);
		enc_uvarint(&v, kind == EVIL_VALUES ? roll(seed) << 30 : i);
		field(&m, 2, &v);
		if (kind == EVIL_LABELS) {
			number(&v, 1, 2);
			number(&v, 2, 3 + s.functions + i);
			field(&m, 3, &v);
		}
		field(out, 2, &m);
	}
	buf_fini(&m);
	buf_fini(&v);
}

static void evil_tables(enum evil kind, uint64_t *seed, struct buf *out)
{
	struct evil_shape s = evil_shapes[kind];
	unsigned texts = s.functions + (kind == EVIL_LABELS ? s.samples : 0);
	struct buf m = { 0 };
	struct buf v = { 0 };

	for (unsigned i = 1; i <= s.functions; i++) {
		number(&m, 1, i);
		number(&m, 3, 16 * i);
		number(&v, 1, i);
		field(&m, 4, &v);
		field(out, 4, &m);
	}
	for (unsigned i = 1; i <= s.functions; i++) {
		number(&m, 1, i);
		number(&m, 2, 2 + i);
		field(out, 5, &m);
	}
	field(out, 6, &m); /* nothing */
	buf_str(&m, "a");
	field(out, 6, &m);
	buf_str(&m, "id");
	field(out, 6, &m);
	for (unsigned i = 0; i < texts; i++) {
		if (kind == EVIL_NAMES || i >= s.functions)
			buf_printf(&m, "%08x%08x", (unsigned)roll(seed),
				   (unsigned)roll(seed));
		else
			buf_printf(&m, "function%u", i);
		field(out, 6, &m);
	}
	buf_fini(&m);
	buf_fini(&v);
}

static void evil_profile(enum evil kind, uint64_t *seed, struct buf *out)
{
	struct buf m = { 0 };

	number(&m, 1, 1);
	number(&m, 2, 1);
	field(out, 1, &m);
	evil_samples(kind, seed, out);
	evil_tables(kind, seed, out);
	buf_fini(&m);
}

/*
 * Stores twelve groups of eight profiles. Sets *ours to the bytes of the groups
 * and their table, *theirs to those of zstd. A group that the codec refuses is
 * stored by zstd in both.
 */
static void store_evil(enum evil kind, size_t *ours, size_t *theirs)
{
	struct codec_encoder *e = codec->encoder_new(LEVEL);
	struct codec_decoder *d = codec->decoder_new();
	struct zstd *z = zstd_new();
	struct buf table = { 0 };
	uint64_t seed = 1;

	*ours = *theirs = 0;
	for (int n = 0; n < 12; n++) {
		struct stored g = { 0 };
		struct buf raw[8] = { 0 };
		struct buf frame = { 0 };

		for (size_t i = 0; i < ARRAY_SIZE(raw); i++) {
			evil_profile(kind, &seed, &raw[i]);
			put(&g, buf_bytes(&raw[i]));
		}
		zstd_compress(z, LEVEL, g.values, g.count, &frame);
		*theirs += frame.len;
		if (encode(e, &g)) {
			*ours += frame.len;
		} else {
			*ours += g.bytes.len;
			cr_expect(comes_back(d, codec->encoder_table(e), &g, 0,
					     g.count));
		}
		for (size_t i = 0; i < ARRAY_SIZE(raw); i++)
			buf_fini(&raw[i]);
		buf_fini(&frame);
		buf_fini(&g.bytes);
	}
	cr_expect(!codec->encoder_finish(e, &table, NULL));
	*ours += table.len;
	buf_fini(&table);
	zstd_free(z);
	codec->encoder_free(e);
	codec->decoder_free(d);
}

Test(columns, hostile_profiles_do_not_enlarge_the_stripe)
{
	for (enum evil kind = 0; kind < EVIL_KINDS; kind++) {
		size_t ours;
		size_t theirs;

		store_evil(kind, &ours, &theirs);
		cr_expect(ours <= theirs + theirs / 100, "kind %d: %zu, %zu",
			  (int)kind, ours, theirs);
	}
}

/* Limits that count how often they are asked, and permit everything. */
static int find_count(void *ctx, size_t bytes UNUSED, struct err *err UNUSED)
{
	(*(size_t *)ctx)++;
	return 0;
}

/*
 * A profile of 800 stacks, 12 frames each, that do not contain the last
 * function, and one stack that does.
 */
static void rare_profile(struct buf *out)
{
	uint64_t seed = 1;
	unsigned functions = evil_shapes[EVIL_STACKS].functions;
	struct buf m = { 0 };
	struct buf v = { 0 };

	number(&m, 1, 1);
	number(&m, 2, 1);
	field(out, 1, &m);
	for (unsigned i = 0; i <= 800; i++) {
		for (unsigned k = 0; k < 12; k++)
			enc_uvarint(&v,
				    i == 800 ?
					    functions :
					    1 + roll(&seed) % (functions - 1));
		field(&m, 1, &v);
		enc_uvarint(&v, 1 + i);
		field(&m, 2, &v);
		field(out, 2, &m);
	}
	evil_tables(EVIL_STACKS, &seed, out);
	buf_fini(&m);
	buf_fini(&v);
}

/* Writes a profile again, as google/pprof does, so that columns can hold it. */
static void in_google_dialect(struct buf *raw)
{
	struct decoder *decoder = decoder_new(ROOM);
	struct merge *m = merge_new();
	struct pprof *p;

	cr_assert(!decoder_run(decoder, buf_bytes(raw), &p, NULL));
	cr_assert(!merge_add(m, p, NULL, NULL));
	buf_reset(raw);
	pprof_encode(merge_finish(m), raw);
	merge_free(m);
	decoder_free(decoder);
}

/*
 * Searches the profile as columns and decoded, and says how often the
 * limits were asked by each of the searches.
 */
static void find_rare(const struct stored *g, const struct codec_table *table,
		      const char *pattern, size_t *columns, size_t *decoded)
{
	static const bool no_values[TYPES_MAX];
	const struct limits by_columns = { find_count, columns };
	const struct limits by_decoding = { find_count, decoded };
	struct codec_decoder *d = codec->decoder_new();
	struct decoder *decoder = decoder_new(ROOM);
	struct codec_group group = group_of(table, g);
	const struct codec_rows *rows;
	struct columns_find *f;
	struct regex *name = NULL;
	struct pprof *p;
	bool found[2];

	*columns = *decoded = 0;
	cr_assert(!regex_new_search(str_of(pattern), &name, NULL));
	f = columns_find_new(name, &by_columns);
	cr_assert(!codec->rows(d, &group, no_values, &rows, NULL));
	cr_assert(!columns_find_row(f, rows, 0, &found[0], NULL));
	cr_assert(!decoder_run(decoder, g->values[0], &p, NULL));
	cr_assert(!pprof_has_function(p, name, &by_decoding, &found[1], NULL));
	cr_expect(found[0] == found[1]);
	columns_find_free(f);
	regex_free(name);
	codec->decoder_free(d);
	decoder_free(decoder);
}

/* A name that no function has ends the search before the stacks. */
Test(columns, columns_find_asks_the_limits_while_it_searches_stacks)
{
	struct codec_encoder *e = codec->encoder_new(LEVEL);
	struct stored g = { 0 };
	struct buf raw = { 0 };
	size_t names[2];
	size_t stacks[2];

	rare_profile(&raw);
	in_google_dialect(&raw);
	put(&g, buf_bytes(&raw));
	columns_encoder_take_all(e);
	cr_assert(!encode(e, &g));
	find_rare(&g, codec->encoder_table(e), "no such function", &names[0],
		  &names[1]);
	find_rare(&g, codec->encoder_table(e), "^function39$", &stacks[0],
		  &stacks[1]);
	cr_expect(stacks[0] > names[0], "%zu, %zu", stacks[0], names[0]);
	cr_expect(stacks[1] > names[1], "%zu, %zu", stacks[1], names[1]);
	buf_fini(&raw);
	buf_fini(&g.bytes);
	codec->encoder_free(e);
}

/* The caller reports the expression; no time is spent on other names. */
Test(columns, columns_find_ends_with_an_expression_that_takes_too_many_steps)
{
	size_t asked = 0;
	const struct limits limits = { find_count, &asked };
	struct regex *name = NULL;
	struct buf lines = { 0 };
	struct sketch s;
	bool found;

	for (int i = 0; i < 100; i++) {
		buf_printf(&lines, "f%d", i);
		for (int k = 0; k < 2500; k++)
			buf_byte(&lines, 'a');
		buf_str(&lines, " 1\n");
	}
	s = sketch_init("samples/count", buf_cstr(&lines));
	cr_assert(!regex_new_search(str_of("(a|aa|aaa)+[bc]"), &name, NULL));
	cr_expect(!pprof_has_function(s.p, name, &limits, &found, NULL));
	cr_assert(!found, "%zu", asked);
	cr_assert(regex_gave_up(name), "%zu", asked);
	cr_expect(!asked, "%zu", asked);
	regex_free(name);
	sketch_fini(&s);
	buf_fini(&lines);
}

/*
 * The estimates are those of scaleHeapSample() in Go's protomem.go, for 7
 * objects of 48 bytes and a rate of 512 KiB. The counts are found again from
 * the estimates.
 */
Test(columns, heap_estimates_are_unscaled_exactly)
{
	struct unsample_rate r = { .known = true, .size = 48 };

	r.scale = unsample_scale(48, 524288);
	cr_expect(unsample_objects(&r, 7) == 76462);
	cr_expect(unsample_space(&r, 7) == 3670184);
	for (int64_t c = 0; c < 100000; c++)
		cr_expect(unsample_count(&r, unsample_objects(&r, c)) == c);
	cr_expect(unsample_scale(0, 524288) == 1);
	cr_expect(unsample_scale(1 << 30, 524288) == 1);
	cr_expect(unsample_scale(48, 1) == 1);
}
