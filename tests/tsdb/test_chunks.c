/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of a series: which profiles are listed and found when there are
 * tombstones and damage, and which metadata is refused.
 */
#include "tsdb/chunk/chunks.h"

#include "base/enc.h"
#include "base/mem.h"
#include "model/types.h"
#include "tests/check.h"
#include "tests/tsdb/sample.h"

TestSuite(chunks, .timeout = 60);

/*
 * Encodes the times of a chunk's metadata, given as differences of differences.
 */
static struct buf encode_times(unsigned count, const int64_t *v, size_t n)
{
	struct buf b = { 0 };

	enc_be16(&b, (uint16_t)count);
	enc_be16(&b, 1); /* reserved, codec */
	for (size_t i = 0; i < n; i++)
		enc_svarint(&b, v[i]);
	return b;
}

static const struct {
	const char *name;
	unsigned count;
	int64_t v[3];
	size_t n;
	int want;
	int64_t last;
} fronts[] = {
	{ "one", 1, { 5 }, 1, 0, 5 },
	{ "one of the first there may be", 1, { INT64_MIN }, 1, 0, INT64_MIN },
	{ "two", 2, { 5, 1 }, 2, 0, 6 },
	{ "the step goes on", 3, { 5, 10, 0 }, 3, 0, 25 },
	{ "a longer step", 3, { 5, 10, 7 }, 3, 0, 32 },
	{ "none", 0, { 0 }, 0, ERR_CORRUPT, 0 },
	{ "more than a chunk has", 33, { 5, 1, 0 }, 3, ERR_CORRUPT, 0 },
	{ "one is missing", 3, { 5, 1 }, 2, ERR_CORRUPT, 0 },
	{ "the same twice", 2, { 5, 0 }, 2, ERR_CORRUPT, 0 },
	{ "back in time", 2, { 5, -1 }, 2, ERR_CORRUPT, 0 },
	{ "back in time later", 3, { 5, 10, -20 }, 3, ERR_CORRUPT, 0 },
	{ "around the end of time", 2, { INT64_MAX, 1 }, 2, ERR_CORRUPT, 0 },
};

Test(chunks, times_of_a_chunk_increase)
{
	for (size_t i = 0; i < ARRAY_SIZE(fronts); i++) {
		struct buf b =
			encode_times(fronts[i].count, fronts[i].v, fronts[i].n);
		int64_t ms[CHUNK_PROFILES_MAX];
		size_t count = 99;
		int rc = chunk_meta_times(buf_bytes(&b), ms, &count, NULL);

		cr_expect(rc == fronts[i].want, "%s: %d", fronts[i].name, rc);
		if (!rc) {
			cr_assert(count == fronts[i].count, "%s",
				  fronts[i].name);
			cr_expect(ms[count - 1] == fronts[i].last, "%s",
				  fronts[i].name);
		}
		buf_fini(&b);
	}
}

/*
 * Makes the metadata of a chunk whose times begin at `from`, in equal steps.
 * Each profile has one total.
 */
static struct buf make_meta(int64_t from, int64_t step, uint16_t count)
{
	int64_t totals[CHUNK_PROFILES_MAX];
	struct chunk_meta h = {
		.codec = 1, .count = count, .total_count = 1, .totals = totals
	};
	struct buf b = { 0 };

	for (uint16_t i = 0; i < count; i++) {
		h.profiles[i].ms = from + i * step;
		h.profiles[i].hash = (uint64_t)(from + i * step);
		h.profiles[i].raw_len = i;
		totals[i] = -i;
	}
	chunk_meta_encode(&h, &b);
	return b;
}

Test(chunks, damaged_metadata_is_refused)
{
	struct buf b = make_meta(1000, 10, 32);
	struct chunk_meta h = { .total_count = 1 };
	uint32_t typeset = 9;
	uint16_t at = 99;

	cr_assert(!chunk_meta_decode(buf_bytes(&b), &h, NULL));
	cr_expect(h.count == 32);
	cr_assert(!chunk_meta_typeset(buf_bytes(&b), &typeset, NULL));
	cr_expect(typeset == 0);
	cr_assert(chunk_meta_find(&h, 1000, &at));
	cr_expect(at == 0);
	cr_assert(chunk_meta_find(&h, 1310, &at));
	cr_expect(at == 31);
	cr_assert(!chunk_meta_find(&h, 1315, &at));
	cr_assert(!chunk_meta_find(&h, 999, &at));
	cr_expect(at == 31);
	h.total_count = 0;
	cr_expect(chunk_meta_decode(buf_bytes(&b), &h, NULL) == ERR_CORRUPT,
		  "another type set");
	h.total_count = 1;
	buf_byte(&b, 0);
	cr_expect(chunk_meta_decode(buf_bytes(&b), &h, NULL) == ERR_CORRUPT,
		  "a byte too many");
	b.ptr[2] = 1;
	cr_expect(chunk_meta_typeset(buf_bytes(&b), &typeset, NULL) ==
			  ERR_CORRUPT,
		  "a reserved byte");
	buf_fini(&b);
}

/*
 * A source of chunks. Each has three profiles, in steps of 10 from its first
 * time.
 */
struct source {
	int errors[4]; /* of reading each chunk; ERR_CORRUPT: damaged bytes */
	int read;
	int told;
};

static int read_meta(void *ctx, const struct chunk *g, struct buf *scratch,
		     struct bytes *out, struct err *err)
{
	struct source *s = ctx;
	struct buf b = make_meta(g->first, 10, 3);

	s->read++;
	buf_reset(scratch);
	buf_add(scratch, b.ptr, b.len);
	buf_fini(&b);
	*out = buf_bytes(scratch);
	if (s->errors[g->at] == ERR_CORRUPT)
		out->len = 5;
	else if (s->errors[g->at])
		return err_set(err, s->errors[g->at], "chunk %d", (int)g->at);
	return 0;
}

static struct bytes get_typeset(void *ctx, uint32_t number)
{
	(void)ctx;
	cr_expect(number == 0);
	return sample_types(0);
}

static void tell_damage(void *ctx, const struct chunk *g, const struct err *err)
{
	struct source *s = ctx;

	cr_expect(s->errors[g->at] == err->code);
	s->told++;
}

/*
 * Makes four chunks. The times of the fourth chunk overlap with those of the
 * first one.
 */
static struct chunks four_chunks(void)
{
	static const int64_t first[] = { 0, 100, 200, 5 };
	struct chunks g = { 0 };

	for (uint64_t i = 0; i < 4; i++)
		chunks_add(&g, &(struct chunk){ .first = first[i],
						.last = first[i] + 20,
						.at = i });
	return g;
}

static struct chunk_source source_of(struct source *s)
{
	return (struct chunk_source){ .ctx = s,
				      .path = "test",
				      .meta = read_meta,
				      .typeset = get_typeset,
				      .damaged = tell_damage };
}

static const struct {
	const char *name;
	int64_t from;
	int64_t to;
	struct tombstone_interval gaps[2];
	int errors[4];
	int rc;
	const char *want;
	uint64_t lost;
} listings[] = {
	{ "all",
	  INT64_MIN,
	  INT64_MAX,
	  { { 0 } },
	  { 0 },
	  0,
	  "0 10 20 100 110 120 200 210 220 5 15 25 ",
	  0 },
	{ "both ends count",
	  10,
	  110,
	  { { 0 } },
	  { 0 },
	  0,
	  "10 20 100 110 15 25 ",
	  0 },
	{ "one time", 110, 110, { { 0 } }, { 0 }, 0, "110 ", 0 },
	{ "between", 111, 119, { { 0 } }, { 0 }, 0, "", 0 },
	{ "turned around", 110, 100, { { 0 } }, { 0 }, 0, "", 0 },
	{ "a deletion hides what was stored before",
	  0,
	  999,
	  { { .from = 10, .to = 110, .at = 9 } },
	  { 0 },
	  0,
	  "0 120 200 210 220 5 ",
	  0 },
	{ "and nothing that was stored later",
	  0,
	  999,
	  { { .from = 0, .to = 999, .at = 2 } },
	  { 0 },
	  0,
	  "200 210 220 5 15 25 ",
	  0 },
	{ "two deletions",
	  0,
	  999,
	  { { .from = 0, .to = 4, .at = 9 },
	    { .from = 15, .to = 200, .at = 9 } },
	  { 0 },
	  0,
	  "10 210 220 5 ",
	  0 },
	{ "a damaged chunk costs its own",
	  0,
	  999,
	  { { 0 } },
	  { 0, ERR_CORRUPT, 0, 0 },
	  0,
	  "0 10 20 200 210 220 5 15 25 ",
	  1 },
	{ "so does one that cannot be read",
	  0,
	  999,
	  { { 0 } },
	  { ERR_IO, ERR_CORRUPT, ERR_IO, 0 },
	  0,
	  "5 15 25 ",
	  3 },
	{ "any other error ends it",
	  0,
	  999,
	  { { 0 } },
	  { 0, ERR_LIMIT, 0, 0 },
	  ERR_LIMIT,
	  "0 10 20 ",
	  0 },
};

Test(chunks, visible_times_are_listed)
{
	for (size_t i = 0; i < ARRAY_SIZE(listings); i++) {
		struct source s = { 0 };
		struct chunk_source source = source_of(&s);
		struct chunks g = four_chunks();
		struct times t = { 0 };
		struct buf got = { 0 };
		struct err err = { .msg = "" };
		int rc;

		memcpy(s.errors, listings[i].errors, sizeof(s.errors));
		for (int k = 0; k < 2; k++)
			chunks_add_tombstone(&g, &listings[i].gaps[k]);
		rc = chunks_times(&source, &g, listings[i].from, listings[i].to,
				  &t, &err);
		for (size_t k = 0; k < t.count; k++)
			buf_printf(&got, "%d ", (int)t.v[k]);
		cr_expect(rc == listings[i].rc, "%s", listings[i].name);
		cr_expect(
			check_str(str_from(buf_bytes(&got)), listings[i].want),
			"%s", listings[i].name);
		cr_assert(t.lost == listings[i].lost, "%s", listings[i].name);
		cr_expect(s.told == (int)t.lost, "%s", listings[i].name);
		if (i == 9) {
			cr_assert(t.why.code == ERR_IO, "the first is told");
			cr_expect(strstr(t.why.msg, "chunk 0"),
				  "the first is told");
		}
		if (rc)
			cr_expect(strstr(err.msg, "chunk 1") != NULL);
		buf_fini(&got);
		times_fini(&t);
		cr_assert(!t.v);
		cr_expect(!t.lost);
		chunks_fini(&g);
		cr_assert(!g.v);
		cr_assert(!g.gaps);
		cr_assert(!g.count);
		cr_expect(!g.gap_count);
	}
}

static const struct {
	const char *name;
	int64_t ms;
	struct tombstone_interval gap;
	int errors[4];
	int want;
	int read; /* chunks that were read */
} searches[] = {
	{ "the first", 0, { 0 }, { 0 }, 0, 1 },
	{ "the last", 220, { 0 }, { 0 }, 0, 1 },
	{ "of two chunks around it", 15, { 0 }, { 0 }, 0, 2 },
	{ "in the range of a chunk, and not there",
	  105,
	  { 0 },
	  { 0 },
	  ERR_NOTFOUND,
	  1 },
	{ "in the range of none", 50, { 0 }, { 0 }, ERR_NOTFOUND, 0 },
	{ "deleted",
	  10,
	  { .from = 10, .to = 10, .at = 9 },
	  { 0 },
	  ERR_NOTFOUND,
	  0 },
	{ "deleted, then stored again",
	  15,
	  { .from = 0, .to = 99, .at = 3 },
	  { 0 },
	  0,
	  1 },
	{ "beside a damaged chunk", 15, { 0 }, { ERR_CORRUPT }, 0, 2 },
	{ "in a damaged chunk, perhaps",
	  10,
	  { 0 },
	  { ERR_CORRUPT },
	  ERR_CORRUPT,
	  2 },
	{ "in one that cannot be read, perhaps",
	  110,
	  { 0 },
	  { 0, ERR_IO },
	  ERR_IO,
	  1 },
	{ "another chunk is damaged", 210, { 0 }, { 0, ERR_CORRUPT }, 0, 1 },
};

Test(chunks, a_visible_profile_is_found)
{
	for (size_t i = 0; i < ARRAY_SIZE(searches); i++) {
		struct source s = { 0 };
		struct chunk_source source = source_of(&s);
		struct chunks g = four_chunks();
		struct chunk_hit hit = { 0 };
		int rc;

		memcpy(s.errors, searches[i].errors, sizeof(s.errors));
		if (searches[i].gap.at)
			chunks_add_tombstone(&g, &searches[i].gap);
		rc = chunks_find(&source, &g, searches[i].ms, &hit, NULL);
		cr_expect(rc == searches[i].want, "%s: %d", searches[i].name,
			  rc);
		cr_expect(s.read == searches[i].read, "%s: %d read",
			  searches[i].name, s.read);
		if (!rc) {
			cr_assert(hit.meta.profiles[hit.index].ms ==
					  searches[i].ms,
				  "%s", searches[i].name);
			cr_expect(bytes_eq(hit.typeset, sample_types(0)), "%s",
				  searches[i].name);
		}
		chunks_fini(&g);
	}
}
