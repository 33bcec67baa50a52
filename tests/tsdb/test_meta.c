/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of meta.json and of the tombstones of a block. What was
 * written is read back, and what is wrong is refused.
 */
#include "tsdb/block/meta.h"

#include "base/crc32c.h"
#include "base/enc.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tsdb/sample.h"
#include "tsdb/block/tombstones.h"

TestSuite(meta, .timeout = 60);

static struct ulid ulid_at(int n)
{
	struct ulid u = { { 0 } };

	u.bytes[5] = (uint8_t)n;
	return u;
}

/*
 * Makes the metadata of a block that has everything, with the largest numbers.
 */
static struct meta full_meta(void)
{
	struct meta m = { .ulid = ulid_at(9),
			  .min_ms = 0,
			  .max_ms = INT64_MAX,
			  .samples = INT64_MAX,
			  .series = 7,
			  .chunks = 8,
			  .level = UINT32_MAX,
			  .first_ms = INT64_MIN,
			  .last_ms = -1,
			  .first_lsn = 1,
			  .last_lsn = INT64_MAX,
			  .raw_bytes = 12,
			  .columns = true };
	struct meta parent = { .ulid = ulid_at(3), .min_ms = -5, .max_ms = 5 };
	struct meta_file *f;

	for (int i = 4; i > 0; i--)
		meta_add_source(&m, &(struct ulid){ { (uint8_t)i } });
	meta_add_parent(&m, &parent);
	m.has_sample_labels = true;
	meta_add_sample_label(&m, str_of("endpoint"));
	meta_add_sample_label(&m, str_of("\xff\""));
	cr_expect(meta_typeset(&m, sample_types(0)) == 0);
	cr_expect(meta_typeset(&m, sample_types(1)) == 1);
	cr_expect(meta_typeset(&m, sample_types(0)) == 0, "each once");
	f = meta_add_file(&m, "index");
	f->size = 100;
	f->crc = UINT32_MAX;
	f = meta_add_file(&m, "values/000001");
	f->size = INT64_MAX;
	f->live = 50;
	return m;
}

Test(meta, it_comes_back)
{
	struct meta m = full_meta();
	struct meta back = { 0 };
	const struct meta_file *f;
	struct buf text = { 0 };
	struct buf again = { 0 };

	meta_encode(&m, &text);
	cr_assert(!meta_decode(buf_bytes(&text), &back, NULL));
	meta_encode(&back, &again);
	cr_expect(bytes_eq(buf_bytes(&text), buf_bytes(&again)));
	cr_assert(ulid_eq(&back.ulid, &m.ulid));
	cr_expect(back.max_ms == INT64_MAX);
	cr_assert(back.first_ms == INT64_MIN);
	cr_expect(back.last_ms == -1);
	cr_assert(back.level == UINT32_MAX);
	cr_expect(back.columns);
	cr_assert(back.source_count == 4);
	cr_expect(back.sources[0].bytes[0] == 1);
	cr_assert(back.parent_count == 1);
	cr_expect(back.parents[0].min_ms == -5);
	cr_assert(back.has_sample_labels && back.sample_label_count == 2);
	cr_expect(str_is(str_from(back.sample_labels[1]), "\xff\""));
	cr_assert(back.typeset_count == 2);
	cr_expect(bytes_eq(back.typesets[1], sample_types(1)));
	f = meta_file(&back, "values/000001");
	cr_assert(f);
	cr_assert(f->size == INT64_MAX);
	cr_assert(f->live == 50);
	cr_expect(!f->crc);
	f = meta_file(&back, "index");
	cr_assert(f);
	cr_assert(f->crc == UINT32_MAX);
	cr_expect(!f->live);
	cr_assert(!meta_file(&back, "inde"));
	cr_expect(!meta_file(&back, ""));
	meta_fini(&back);
	cr_assert(!back.sources);
	cr_expect(!back.file_count);
	meta_fini(&m);
	buf_fini(&text);
	buf_fini(&again);
}

Test(meta, an_empty_one_comes_back)
{
	struct meta m = { 0 };
	struct meta back = { .level = 5 };
	struct buf text = { 0 };

	buf_str(&text, "before");
	meta_encode(&m, &text);
	cr_expect(!meta_decode((struct bytes){ text.ptr + 6, text.len - 6 },
			       &back, NULL));
	cr_assert(!back.level);
	cr_assert(!back.source_count);
	cr_assert(!back.file_count);
	cr_expect(!back.columns);
	cr_expect(!back.has_sample_labels);
	meta_fini(&back);
	buf_fini(&text);
}

Test(meta, sources_are_sorted_and_distinct)
{
	static const int order[] = { 5, 1, 9, 5, 1, 3, 9, 9, 2 };
	static const int want[] = { 1, 2, 3, 5, 9 };
	struct meta m = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		struct ulid u = ulid_at(order[i]);

		meta_add_source(&m, &u);
	}
	cr_expect(m.source_count == ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		cr_expect(m.sources[i].bytes[5] == want[i]);
	meta_fini(&m);
}

Test(meta, no_damage_goes_unnoticed)
{
	struct meta m = full_meta();
	struct meta back = { 0 };
	struct buf text = { 0 };

	meta_encode(&m, &text);
	for (size_t n = 0; n < text.len; n++) {
		struct bytes cut = { text.ptr, n };

		cr_expect(meta_decode(cut, &back, NULL) == ERR_CORRUPT);
		text.ptr[n] ^= 1;
		cr_expect(meta_decode(buf_bytes(&text), &back, NULL) ==
				  ERR_CORRUPT,
			  "byte %zu", n);
		text.ptr[n] ^= 1;
	}
	buf_byte(&text, '\n');
	cr_expect(meta_decode(buf_bytes(&text), &back, NULL) == ERR_CORRUPT);
	cr_assert(!back.sources);
	cr_expect(!back.files);
	meta_fini(&m);
	buf_fini(&text);
}

/* In a good meta.json, `from` is replaced by `to`. The checksum is right. */
static const struct {
	const char *name;
	const char *from;
	const char *to;
	int want;
} changes[] = {
	{ "nothing", "index", "index", 0 },
	{ "a newer format", "\"format\": 2", "\"format\": 3", ERR_UNSUPPORTED },
	{ "an impossible format", "\"format\": 2", "\"format\": 0",
	  ERR_UNSUPPORTED },
	{ "a format that is none", "\"format\": 2", "\"format\": \"2\"",
	  ERR_CORRUPT },
	{ "of Prometheus", "\"everprof\"", "\"another\"", ERR_CORRUPT },
	{ "no JSON", "\"version\": 1,", "\"version\": 1", ERR_CORRUPT },
	{ "a time is missing", "\"minTime\": 0", "\"mintime\": 0",
	  ERR_CORRUPT },
	{ "a time is a fraction", "\"minTime\": 0", "\"minTime\": 0.5",
	  ERR_CORRUPT },
	{ "a number beyond 64 bits", "\"rawBytes\": 12",
	  "\"rawBytes\": 12000000000000000000000", ERR_CORRUPT },
	{ "an id that is none", "\"ulid\": \"0", "\"ulid\": \"u", ERR_CORRUPT },
	{ "a type set in half digits", "\"typeSets\": [\n\t\t\t\"",
	  "\"typeSets\": [\n\t\t\t\"0", ERR_CORRUPT },
	{ "a type set that is empty", "\"typeSets\": [", "\"typeSets\": [\"\",",
	  ERR_CORRUPT },
	{ "a type set twice", "\"typeSets\": [",
	  "\"typeSets\": [\"01\", \"01\",", ERR_CORRUPT },
	{ "a label without a name", "\"sampleLabels\": [",
	  "\"sampleLabels\": [\"\",", ERR_CORRUPT },
	{ "labels that are no list", "\"sampleLabels\": [",
	  "\"sampleLabels\": 1, \"more\": [", ERR_CORRUPT },
	{ "a name that is too long", "\"index\"",
	  "\"chunks/0000000000000000000000001\"", ERR_CORRUPT },
	{ "a name that is as long as may be", "\"index\"",
	  "\"chunks/000000000000000000000001\"", 0 },
	{ "a name that is none", "\"name\": \"index\"", "\"name\": 5",
	  ERR_CORRUPT },
	{ "a checksum that is too short", "ffffffff", "fffffff", ERR_CORRUPT },
	{ "a checksum that is none", "ffffffff", "fffffffg", ERR_CORRUPT },
	{ "values without live bytes", "\"live\"", "\"dead\"", ERR_CORRUPT },
	{ "more than one knows", "\"version\": 1,",
	  "\"version\": 1, \"more\": {\"a\": [1]},", 0 },
};

/* Writes a copy of meta.json with a text replaced and a right checksum. */
static void change_text(const struct buf *text, const char *from,
			const char *to, struct buf *out)
{
	struct str all = str_from(buf_bytes(text));
	const char *at = memmem(all.ptr, all.len, from, strlen(from));
	size_t tail = 8 + strlen("\"\n\t}\n}\n");

	cr_assert(at, "%s", from);
	buf_add(out, all.ptr, (size_t)(at - all.ptr));
	buf_str(out, to);
	at += strlen(from);
	buf_add(out, at, (size_t)(all.ptr + all.len - at) - tail);
	buf_printf(out, "%08x\"\n\t}\n}\n", crc32c_extend(0, buf_bytes(out)));
}

Test(meta, what_is_not_that_of_a_block_is_refused)
{
	struct meta m = full_meta();
	struct buf text = { 0 };

	meta_encode(&m, &text);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct buf changed = { 0 };
		struct meta back = { 0 };
		struct err err = { .msg = "" };
		int rc;

		change_text(&text, changes[i].from, changes[i].to, &changed);
		rc = meta_decode(buf_bytes(&changed), &back, &err);
		cr_expect(rc == changes[i].want, "%s: %d %s", changes[i].name,
			  rc, err.msg);
		meta_fini(&back);
		buf_fini(&changed);
	}
	meta_fini(&m);
	buf_fini(&text);
}

/*
 * Returns whether the intervals are those of `want`, which has the form
 * "series:from-to", separated by spaces.
 */
static bool has_tombstones(const struct tombstones *t, const char *want)
{
	struct buf b = { 0 };
	bool same;

	for (size_t i = 0; i < t->count; i++)
		buf_printf(&b, "%s%u:%lld-%lld", i ? " " : "", t->v[i].ref,
			   (long long)t->v[i].from, (long long)t->v[i].to);
	same = check_str(str_from(buf_bytes(&b)), want);
	buf_fini(&b);
	return same;
}

static const struct {
	const char *name;
	struct tombstone v[4];
	size_t count;
	const char *want;
	size_t series;
} joins[] = {
	{ "none", { { 0 } }, 0, "", 0 },
	{ "one", { { 7, 1, 2 } }, 1, "7:1-2", 1 },
	{ "sorted",
	  { { 7, 5, 6 }, { 3, 1, 2 }, { 7, 1, 2 } },
	  3,
	  "3:1-2 7:1-2 7:5-6",
	  2 },
	{ "joined where they overlap",
	  { { 7, 1, 5 }, { 7, 5, 9 } },
	  2,
	  "7:1-9",
	  1 },
	{ "and where they are adjacent",
	  { { 7, 1, 4 }, { 7, 5, 9 } },
	  2,
	  "7:1-9",
	  1 },
	{ "not across a gap",
	  { { 7, 1, 3 }, { 7, 5, 9 } },
	  2,
	  "7:1-3 7:5-9",
	  1 },
	{ "not across series",
	  { { 7, 1, 5 }, { 8, 5, 9 } },
	  2,
	  "7:1-5 8:5-9",
	  2 },
	{ "one within another",
	  { { 7, 1, 9 }, { 7, 2, 3 }, { 7, 4, 10 } },
	  3,
	  "7:1-10",
	  1 },
	{ "the longer one first", { { 7, 1, 9 }, { 7, 2, 3 } }, 2, "7:1-9", 1 },
	{ "all of time",
	  { { 7, 0, INT64_MAX }, { 7, INT64_MIN, -1 } },
	  2,
	  "7:-9223372036854775808-9223372036854775807",
	  1 },
	{ "twice the end of time",
	  { { 7, INT64_MAX, INT64_MAX }, { 7, INT64_MAX, INT64_MAX } },
	  2,
	  "7:9223372036854775807-9223372036854775807",
	  1 },
};

Test(meta, tombstones_are_sorted_joined_and_come_back)
{
	for (size_t i = 0; i < ARRAY_SIZE(joins); i++) {
		struct tombstones *t = tombstones_new();
		struct tombstones *back = NULL;
		struct buf b = { 0 };

		for (size_t k = 0; k < joins[i].count; k++)
			tombstones_add(t, joins[i].v[k].ref, joins[i].v[k].from,
				       joins[i].v[k].to);
		tombstones_sort(t);
		cr_expect(has_tombstones(t, joins[i].want), "%s",
			  joins[i].name);
		cr_expect(tombstones_series(t) == joins[i].series);
		tombstones_encode(t, &b);
		cr_assert(!tombstones_decode(buf_bytes(&b), &back, NULL));
		cr_expect(has_tombstones(back, joins[i].want), "%s",
			  joins[i].name);
		tombstones_unref(t);
		tombstones_unref(back);
		buf_fini(&b);
	}
	tombstones_unref(NULL);
}

Test(meta, tombstones_of_a_series_hide_all_of_it)
{
	struct tombstones *t = tombstones_new();
	struct tombstones *copy;
	struct chunks g = { 0 };

	tombstones_add(t, 5, 10, 20);
	tombstones_add(t, 5, 30, 40);
	tombstones_add(t, 9, 0, 99);
	tombstones_sort(t);
	copy = tombstones_copy(t);
	tombstones_add(copy, 1, 0, 1);
	cr_assert(t->count == 3, "a copy of its own");
	cr_expect(copy->count == 4, "a copy of its own");
	tombstones_gaps(t, 4, &g);
	tombstones_gaps(t, 6, &g);
	tombstones_gaps(t, UINT32_MAX, &g);
	cr_expect(g.gap_count == 0);
	tombstones_gaps(t, 5, &g);
	cr_expect(g.gap_count == 2);
	cr_assert(chunks_hides(&g, UINT64_MAX - 1, 10));
	cr_assert(chunks_hides(&g, 0, 40));
	cr_expect(!chunks_hides(&g, 0, 25));
	chunks_fini(&g);
	tombstones_unref(tombstones_ref(t));
	cr_expect(t->count == 3, "a reference is left");
	tombstones_unref(t);
	tombstones_unref(copy);
}

Test(meta, no_damage_to_tombstones_goes_unnoticed)
{
	struct tombstones *t = tombstones_new();
	struct tombstones *back = NULL;
	struct buf b = { 0 };

	tombstones_add(t, 300, -5, 1700000000000);
	tombstones_add(t, 301, 1, 2);
	tombstones_sort(t);
	tombstones_encode(t, &b);
	for (size_t n = 0; n < b.len; n++)
		cr_expect(tombstones_decode((struct bytes){ b.ptr, n }, &back,
					    NULL) == ERR_CORRUPT,
			  "cut at %zu", n);
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		b.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_expect(tombstones_decode(buf_bytes(&b), &back, NULL) ==
				  ERR_CORRUPT,
			  "bit %zu", bit);
		b.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/* The checksum is right, but an interval is incomplete. */
	buf_reset(&b);
	enc_be32(&b, 0x0130BA30);
	buf_byte(&b, 1);
	buf_byte(&b, 5);
	enc_be32(&b, crc32c_extend(0, (struct bytes){ b.ptr + 5, 1 }));
	cr_assert(tombstones_decode(buf_bytes(&b), &back, NULL) == ERR_CORRUPT);
	cr_expect(!back);
	tombstones_unref(t);
	buf_fini(&b);
}
