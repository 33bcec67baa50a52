/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the format of a WAL record, and of the directory at the end of a
 * segment. Both are read back, and both are refused when they are damaged.
 */
#include "tsdb/wal/segment_format.h"

#include "base/dec.h"
#include "base/enc.h"
#include "base/mem.h"
#include "model/types.h"
#include "tests/check.h"
#include "tests/tsdb/sample.h"

TestSuite(segment, .timeout = 60);

#define SALT 0x8877665544332211u

/* Returns a type set of `count` types. The caller frees the result. */
static struct buf make_typeset(size_t count)
{
	struct typeset t = { .count = count };
	struct buf out = { 0 };

	for (size_t i = 0; i < count; i++)
		t.types[i] = (struct value_type){ str_of("t"), str_of("u") };
	typeset_encode(&t, &out);
	return out;
}

static const struct {
	const char *name;
	struct sample s;
	size_t types;
	const char *body;
} samples[] = {
	{ "zeros", { .ms = 0 }, 0, "" },
	{ "small numbers",
	  { .ms = 1000,
	    .raw_len = 3,
	    .hash = 1,
	    .sample_count = 2,
	    .duration_ns = 3,
	    .period = 4 },
	  1,
	  "abc" },
	{ "the largest numbers",
	  { .ms = INT64_MAX,
	    .raw_len = UINT32_MAX,
	    .hash = UINT64_MAX,
	    .sample_count = UINT64_MAX,
	    .duration_ns = INT64_MAX,
	    .period = INT64_MAX,
	    .encoding = BODY_ZSTD },
	  TYPES_MAX,
	  "abcdefgh" },
	{ "the smallest numbers",
	  { .ms = INT64_MIN,
	    .duration_ns = INT64_MIN,
	    .period = INT64_MIN,
	    .encoding = BODY_DEFLATE },
	  2,
	  "a" },
};

Test(segment, a_profile_comes_back)
{
	int64_t totals[TYPES_MAX];
	struct labels *ls = sample_labels(7);

	for (int i = 0; i < TYPES_MAX; i++)
		totals[i] = i % 2 ? INT64_MIN + i : INT64_MAX - i;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct buf types = make_typeset(samples[i].types);
		struct sample s = samples[i].s;
		struct segment_profile p = { 0 };
		struct record r = { 0 };
		struct buf out = { 0 };
		struct dec d;

		s.labels = ls;
		s.typeset = buf_bytes(&types);
		s.totals = totals;
		s.body = bytes_of(str_of(samples[i].body));
		cr_assert(!segment_profile_encode(
			&s,
			&(struct segment_place){ .kind = SEGMENT_PROFILE,
						 .number = 77 + i,
						 .lsn = 4096,
						 .salt = SALT },
			&out, NULL));
		cr_assert(!record_decode(buf_bytes(&out), SALT, 4096, true, &r,
					 NULL));
		cr_assert(!segment_profile_decode(&r, &p, NULL), "%s",
			  samples[i].name);
		cr_expect(p.number == 77 + i);
		cr_assert(p.entry.lsn == 4096);
		cr_expect(p.entry.len == out.len);
		cr_assert(p.entry.ms == s.ms, "%s", samples[i].name);
		cr_assert(p.entry.hash == s.hash, "%s", samples[i].name);
		cr_expect(p.entry.raw_len == s.raw_len, "%s", samples[i].name);
		cr_assert(p.duration_ns == s.duration_ns, "%s",
			  samples[i].name);
		cr_assert(p.period == s.period, "%s", samples[i].name);
		cr_expect(p.sample_count == s.sample_count, "%s",
			  samples[i].name);
		cr_assert(p.encoding == s.encoding);
		cr_assert(r.body_ok);
		cr_expect(bytes_eq(p.body, s.body));
		cr_expect(bytes_eq(p.entry.labels, labels_bytes(ls)));
		cr_expect(bytes_eq(p.entry.typeset, s.typeset));
		cr_expect(p.total_count == samples[i].types);
		d = dec_init(p.totals);
		for (size_t t = 0; t < p.total_count; t++)
			cr_expect(dec_svarint(&d) == totals[t]);
		cr_assert(!d.bad);
		cr_expect(!dec_left(&d));
		buf_fini(&types);
		buf_fini(&out);
	}
	labels_unref(ls);
}

Test(segment, a_profile_that_is_too_large_is_refused)
{
	struct labels *ls = sample_labels(0);
	struct buf junk = { 0 };
	struct buf small = buf_init(64);
	struct buf out = { 0 };
	struct sample s = { .labels = ls, .typeset = sample_types(0) };
	const struct segment_place at = { .kind = SEGMENT_PROFILE,
					  .salt = SALT };
	int64_t total = 1;

	s.totals = &total;
	/* Only the length of the body is looked at. */
	s.body = (struct bytes){ ls->data, (size_t)RECORD_BODY_MAX + 1 };
	cr_expect(segment_profile_encode(&s, &at, &out, NULL) == ERR_TOOBIG);
	s.body.len = 1;
	for (int i = 0; i < RECORD_HEAD_MAX; i++)
		buf_byte(&junk, 0xff);
	s.typeset = buf_bytes(&junk);
	cr_expect(segment_profile_encode(&s, &at, &out, NULL) == ERR_TOOBIG);
	cr_expect(out.len == 0, "nothing is appended");
	s.typeset = sample_types(0);
	cr_expect(segment_profile_encode(&s, &at, &small, NULL) == ERR_TOOBIG);
	cr_expect(!segment_profile_encode(&s, &at, &out, NULL));
	buf_fini(&junk);
	buf_fini(&small);
	buf_fini(&out);
	labels_unref(ls);
}

/*
 * Returns the head of a profile record with these counts. The caller frees the
 * result.
 */
static struct buf make_head(uint64_t raw_len, uint64_t totals, size_t types)
{
	struct buf set = make_typeset(types);
	struct labels *ls = sample_labels(0);
	struct buf head = { 0 };

	enc_svarint(&head, 5);
	enc_be64(&head, 6);
	enc_uvarint(&head, raw_len);
	enc_svarint(&head, 7);
	enc_svarint(&head, 8);
	enc_uvarint(&head, 9);
	enc_uvarint(&head, totals);
	for (uint64_t i = 0; i < totals; i++)
		enc_svarint(&head, 1);
	enc_str(&head, str_from(buf_bytes(&set)));
	enc_str(&head, str_from(labels_bytes(ls)));
	buf_fini(&set);
	labels_unref(ls);
	return head;
}

static int decode_head(struct bytes head, uint8_t kind)
{
	struct record r = { .kind = kind, .head = head };
	struct segment_profile p;

	return segment_profile_decode(&r, &p, NULL);
}

Test(segment, what_is_not_the_head_of_a_profile_is_refused)
{
	static const struct {
		const char *name;
		uint64_t raw_len;
		uint64_t totals;
		size_t types;
		int want;
	} cases[] = {
		{ "as it should be", 9, 2, 2, 0 },
		{ "no types", 0, 0, 0, 0 },
		{ "as many types as there may be", UINT32_MAX, TYPES_MAX,
		  TYPES_MAX, 0 },
		{ "one total more than types", 9, 3, 2, ERR_CORRUPT },
		{ "one total less", 9, 1, 2, ERR_CORRUPT },
		{ "more totals than there may be", 9, TYPES_MAX + 1, 2,
		  ERR_CORRUPT },
		{ "a profile of 4 GiB", (uint64_t)UINT32_MAX + 1, 2, 2,
		  ERR_CORRUPT },
	};
	struct buf b = make_head(9, 2, 2);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf head = make_head(cases[i].raw_len, cases[i].totals,
					    cases[i].types);

		cr_expect(decode_head(buf_bytes(&head), SEGMENT_PROFILE) ==
				  cases[i].want,
			  "%s", cases[i].name);
		buf_fini(&head);
	}
	cr_expect(decode_head(buf_bytes(&b), SEGMENT_DIRECTORY) == ERR_CORRUPT);
	cr_expect(decode_head(buf_bytes(&b), 0) == ERR_CORRUPT);
	for (size_t n = 0; n < b.len; n++)
		cr_expect(decode_head((struct bytes){ b.ptr, n },
				      SEGMENT_PROFILE) == ERR_CORRUPT,
			  "cut at %zu", n);
	/* The number at the end is missing in older records. */
	enc_uvarint(&b, 300);
	cr_expect(!decode_head(buf_bytes(&b), SEGMENT_PROFILE));
	cr_expect(decode_head((struct bytes){ b.ptr, b.len - 1 },
			      SEGMENT_PROFILE) == ERR_CORRUPT,
		  "half a number");
	buf_byte(&b, 0);
	cr_expect(decode_head(buf_bytes(&b), SEGMENT_PROFILE) == ERR_CORRUPT,
		  "a byte too many");
	buf_fini(&b);
}

/* Returns entry n of a directory. Texts repeat, and times go back and forth. */
static struct segment_entry make_entry(int n)
{
	static const char *const labels[] = { "one", "another", "", "one" };

	return (struct segment_entry){
		.lsn = (uint64_t)5 << 32 | (uint64_t)(64 + n * 800),
		.len = (uint32_t)(8 + n % 100 * 8),
		.raw_len = n % 3 ? (uint32_t)n : UINT32_MAX,
		.ms = n % 7 == 6 ? INT64_MIN :
		      n % 7 == 5 ? INT64_MAX :
				   1700000000000 - n * 1000 * (n % 2),
		.hash = (uint64_t)n * 0x9e3779b97f4a7c15u,
		.labels = bytes_of(str_of(labels[n % 4])),
		.typeset = bytes_of(str_of(n % 5 ? "types" : "other types")),
	};
}

struct listing {
	int count;
	int wrong;
};

static void check_entry(void *ctx, const struct segment_entry *e)
{
	struct listing *l = ctx;
	struct segment_entry want = make_entry(l->count++);

	l->wrong += e->lsn != want.lsn || e->len != want.len ||
		    e->raw_len != want.raw_len || e->ms != want.ms ||
		    e->hash != want.hash || !bytes_eq(e->labels, want.labels) ||
		    !bytes_eq(e->typeset, want.typeset);
}

/* Returns a directory of n entries, written for offset 0x10000 of segment 5. */
static struct buf make_directory(int n)
{
	struct segment_dir dir = { 0 };
	struct buf out = { 0 };

	for (int i = 0; i < n; i++) {
		struct segment_entry e = make_entry(i);

		segment_dir_number(&dir, 100 + (uint64_t)i);
		segment_dir_add(&dir, &e);
	}
	cr_expect(dir.count == (size_t)n);
	if (n > 4) {
		cr_assert(dir.labels.count == 3, "each text once");
		cr_expect(dir.typesets.count == 2, "each text once");
	}
	segment_dir_encode(&dir, SALT, (uint64_t)5 << 32 | 0x10000, &out);
	segment_dir_fini(&dir);
	cr_assert(!dir.count);
	cr_assert(!dir.rows.ptr);
	cr_expect(!dir.labels.count);
	return out;
}

static struct record record_of(const struct buf *directory)
{
	struct record r = { 0 };
	struct bytes b = buf_bytes(directory);

	b.len -= SEGMENT_FOOTER;
	cr_assert(!record_decode(b, SALT, (uint64_t)5 << 32 | 0x10000, true, &r,
				 NULL));
	return r;
}

Test(segment, a_directory_lists_its_profiles)
{
	static const int counts[] = { 0, 1, 2, 5, 3000 };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct buf b = make_directory(counts[i]);
		struct record r = record_of(&b);
		struct listing l = { 0 };
		struct segment_numbers numbers;

		cr_assert(r.kind == SEGMENT_DIRECTORY);
		cr_expect(r.body_ok);
		cr_expect(r.len + SEGMENT_FOOTER == b.len);
		cr_expect(!segment_dir_decode(r.body, 5, check_entry, &l,
					      &numbers, NULL));
		cr_assert(l.count == counts[i], "%d: %d, %d wrong", counts[i],
			  l.count, l.wrong);
		cr_expect(!l.wrong, "%d: %d, %d wrong", counts[i], l.count,
			  l.wrong);
		cr_assert(numbers.first == (counts[i] ? 100 : 0));
		cr_expect(numbers.next ==
			  (counts[i] ? 100 + (uint64_t)counts[i] : 0));
		buf_fini(&b);
	}
}

Test(segment, a_damaged_directory_lists_nothing)
{
	struct buf b = make_directory(9);
	struct record r = record_of(&b);
	struct buf copy = { 0 };
	struct segment_numbers numbers;
	int refused = 0;

	for (size_t n = 0; n < r.body.len; n++) {
		struct listing l = { 0 };
		struct bytes cut = { r.body.ptr, n };
		int rc = segment_dir_decode(cut, 5, check_entry, &l, &numbers,
					    NULL);

		/* The two numbers at the end are missing in older ones. */
		if (n == r.body.len - 2) {
			cr_assert(!rc);
			cr_assert(l.count == 9);
			cr_assert(!numbers.first);
			cr_expect(!numbers.next);
		} else {
			cr_assert(rc == ERR_CORRUPT);
			cr_expect(!l.count);
		}
	}
	buf_add(&copy, r.body.ptr, r.body.len);
	/*
	 * A checksum would notice each flipped bit. The decoder alone lists all
	 * entries or none.
	 */
	for (size_t bit = 0; bit < copy.len * 8; bit++) {
		struct listing l = { 0 };
		int rc;

		copy.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
		rc = segment_dir_decode(buf_bytes(&copy), 5, check_entry, &l,
					&numbers, NULL);
		cr_expect(rc == ERR_CORRUPT ? !l.count : l.count == 9,
			  "bit %zu: %d, %d", bit, rc, l.count);
		refused += rc != 0;
		copy.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	cr_expect(refused > 50, "%d", refused);
	buf_byte(&copy, 0);
	cr_expect(segment_dir_decode(buf_bytes(&copy), 5, check_entry, NULL,
				     &numbers, NULL) == ERR_CORRUPT,
		  "a byte too many");
	buf_fini(&copy);
	buf_fini(&b);
}

/*
 * Decodes a directory of one row that refers to texts by these numbers. The
 * directory claims to have `rows` rows.
 */
static int decode_row(uint64_t label, uint64_t type, uint64_t rows)
{
	struct buf b = { 0 };
	struct listing l = { 0 };
	struct segment_numbers numbers;
	int rc;

	for (int table = 0; table < 2; table++) {
		enc_uvarint(&b, 2);
		enc_str(&b, str_of("x"));
		enc_str(&b, str_of("y"));
	}
	enc_uvarint(&b, rows);
	enc_uvarint(&b, 8);
	enc_uvarint(&b, 40);
	enc_uvarint(&b, label);
	enc_uvarint(&b, type);
	enc_svarint(&b, 1);
	enc_be64(&b, 2);
	enc_uvarint(&b, 3);
	rc = segment_dir_decode(buf_bytes(&b), 5, check_entry, &l, &numbers,
				NULL);
	cr_expect(l.count == (rc ? 0 : 1));
	buf_fini(&b);
	return rc;
}

Test(segment, a_directory_refers_to_texts_that_it_has)
{
	cr_expect(decode_row(0, 0, 1) == 0);
	cr_expect(decode_row(1, 1, 1) == 0);
	cr_expect(decode_row(2, 1, 1) == ERR_CORRUPT);
	cr_expect(decode_row(1, 2, 1) == ERR_CORRUPT);
	cr_expect(decode_row(UINT64_MAX, 0, 1) == ERR_CORRUPT);
	cr_expect(decode_row(0, (uint64_t)1 << 32, 1) == ERR_CORRUPT);
	cr_expect(decode_row(0, 0, 2) == ERR_CORRUPT, "a row less");
	cr_expect(decode_row(0, 0, UINT64_MAX) == ERR_CORRUPT);
	cr_expect(decode_row(0, 0, 0) == ERR_CORRUPT, "a row more");
}

Test(segment, a_footer_points_to_its_directory)
{
	struct buf b = make_directory(3);
	uint8_t *footer = b.ptr + b.len - SEGMENT_FOOTER;
	struct bytes last = { footer, SEGMENT_FOOTER };
	uint64_t at = 1;

	cr_assert(segment_footer_decode(last, SALT, &at));
	cr_expect(at == 0x10000);
	at = 1;
	cr_expect(!segment_footer_decode(last, SALT + 1, &at), "another file");
	for (size_t n = 0; n < SEGMENT_FOOTER; n++) {
		last.len = n;
		cr_expect(!segment_footer_decode(last, SALT, &at), "%zu", n);
	}
	last.len = SEGMENT_FOOTER;
	for (size_t bit = 0; bit < SEGMENT_FOOTER * 8; bit++) {
		footer[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_expect(!segment_footer_decode(last, SALT, &at), "bit %zu",
			  bit);
		footer[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	cr_expect(at == 1);
	buf_fini(&b);
}
