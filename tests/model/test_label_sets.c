/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label sets at their limits, what hostile encodings of them do, matchers over
 * them, and type sets.
 */
#include "base/enc.h"
#include "base/mem.h"
#include "model/labels.h"
#include "model/selector.h"
#include "model/types.h"
#include "tests/check.h"

TestSuite(label_sets, .timeout = 30);

/* Returns a text of n letters x. */
static struct str long_text(size_t n)
{
	static char text[LABELS_BYTES_MAX + 10];

	memset(text, 'x', sizeof(text));
	return (struct str){ .ptr = text, .len = n };
}

/* Build a set of the builder's labels and empty the builder. */
static int build(struct labels_builder *b, struct labels **out, struct err *err)
{
	int rc = labels_build(b, out, err);

	labels_builder_fini(b);
	return rc;
}

Test(label_sets, a_builder_keeps_the_last_value)
{
	struct labels_builder b = { 0 };
	char name[] = "name";
	char value[] = "value";

	cr_expect(!labels_builder_get(&b, str_of("a")).len);
	labels_set(&b, str_of(name), str_of(value));
	name[0] = value[0] = 'X';
	cr_expect(check_str(labels_builder_get(&b, str_of("name")), "value"),
		  "texts are copied");
	labels_set(&b, str_of("name"), str_of("other"));
	labels_set(&b, str_of("b"), str_of("1"));
	labels_set(&b, str_of("c"), str_of("2"));
	cr_expect(b.count == 3);
	labels_set(&b, str_of("name"), (struct str){ 0 });
	labels_set(&b, str_of("never"), str_of(""));
	cr_expect(b.count == 2);
	cr_expect(!labels_builder_get(&b, str_of("name")).len);
	cr_expect(check_str(labels_builder_get(&b, str_of("c")), "2"));
	/* The new value may be a text that the builder itself owns. */
	labels_set(&b, str_of("d"), labels_builder_get(&b, str_of("c")));
	cr_expect(check_str(labels_builder_get(&b, str_of("d")), "2"));
	labels_builder_fini(&b);
	labels_builder_fini(&b);
	cr_expect(!b.count);
}

Test(label_sets, limits_hold_exactly)
{
	/*
	 * The encoding has 1 byte for the count, 2 for the name with its
	 * length, and 3 for the length of the value.
	 */
	enum {
		VALUE_FITS = LABELS_BYTES_MAX - 1 - 2 - 3
	};
	static const struct {
		const char *what;
		size_t labels;
		size_t name_len; /* of the first label */
		size_t value_len;
		int rc;
	} cases[] = {
		{ "no label", 0, 0, 0, ERR_INVALID },
		{ "one label", 1, 1, 1, 0 },
		{ "all labels", LABELS_MAX, 1, 1, 0 },
		{ "one too many", LABELS_MAX + 1, 1, 1, ERR_INVALID },
		{ "the longest name", 1, LABEL_NAME_MAX, 1, 0 },
		{ "a longer name", 1, LABEL_NAME_MAX + 1, 1, ERR_INVALID },
		{ "the longest value", 1, 1, VALUE_FITS, 0 },
		{ "a longer value", 1, 1, VALUE_FITS + 1, ERR_INVALID },
		{ "too long altogether", 2, 1, VALUE_FITS - 1, ERR_INVALID },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct labels_builder b = { 0 };
		struct labels *ls = NULL;
		struct err err;

		if (cases[i].labels)
			labels_set(&b, long_text(cases[i].name_len),
				   long_text(cases[i].value_len));
		for (size_t k = 1; k < cases[i].labels; k++) {
			char name[24];

			snprintf(name, sizeof(name), "n%zu", k);
			labels_set(&b, str_of(name), str_of("v"));
		}
		cr_expect(build(&b, &ls, &err) == cases[i].rc, "%s",
			  cases[i].what);
		cr_expect(!ls == (cases[i].rc != 0));
		cr_expect(!ls || ls->len <= LABELS_BYTES_MAX);
		labels_unref(ls);
	}
	labels_unref(NULL);
}

Test(label_sets, a_refused_set_leaves_its_builder_usable)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;
	struct err err;

	labels_set(&b, str_of("b"), str_of("\xff"));
	labels_set(&b, str_of("a"), str_of("1"));
	cr_expect(labels_build(&b, &ls, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "label b") != NULL, "%s", err.msg);
	labels_set(&b, str_of("b"), str_of("2"));
	cr_assert(!labels_build(&b, &ls, &err));
	cr_expect(check_str(labels_get(ls, str_of("b")), "2"));
	/* The set lives until its last reference is dropped. */
	cr_expect(labels_ref(ls) == ls);
	labels_unref(ls);
	cr_expect(check_str(labels_get(ls, str_of("a")), "1"));
	labels_unref(ls);
	labels_builder_fini(&b);
}

Test(label_sets, iteration_is_in_the_order_of_names)
{
	static const size_t lengths[] = { 1, 127, 128, 129, 1000, 16384 };
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;
	struct labels_iter it;
	struct label l;

	for (size_t i = ARRAY_SIZE(lengths); i-- > 0;) {
		char name[2] = { (char)('a' + i), 0 };

		labels_set(&b, str_of(name), long_text(lengths[i]));
	}
	cr_assert(!build(&b, &ls, NULL));
	it = labels_iter(ls);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		cr_assert(labels_next(&it, &l));
		cr_assert(l.name.len == 1);
		cr_expect(*l.name.ptr == (char)('a' + i));
		cr_expect(str_eq(l.value, long_text(lengths[i])), "%zu",
			  lengths[i]);
	}
	cr_assert(!labels_next(&it, &l));
	cr_expect(!labels_next(&it, &l));
	labels_unref(ls);
}

/* Append a name and a value to an encoding. */
static void enc_label(struct buf *b, const char *name, const char *value)
{
	enc_str(b, str_of(name));
	enc_str(b, str_of(value));
}

Test(label_sets, encodings_that_no_builder_makes_are_corrupt)
{
	static const struct {
		const char *what;
		uint64_t count;
		const char *labels[3][2];
		int rc;
	} cases[] = {
		{ "in order", 2, { { "a", "1" }, { "b", "1" } }, 0 },
		{ "none", 0, { { NULL } }, ERR_CORRUPT },
		{ "out of order",
		  2,
		  { { "b", "1" }, { "a", "1" } },
		  ERR_CORRUPT },
		{ "twice", 2, { { "a", "1" }, { "a", "2" } }, ERR_CORRUPT },
		{ "an empty name", 1, { { "", "1" } }, ERR_CORRUPT },
		{ "an empty value", 1, { { "a", "" } }, ERR_CORRUPT },
		{ "a name of other bytes",
		  1,
		  { { "\xff", "1" } },
		  ERR_CORRUPT },
		{ "a value of other bytes",
		  1,
		  { { "a", "\xc3" } },
		  ERR_CORRUPT },
		{ "fewer than the count", 3, { { "a", "1" } }, ERR_CORRUPT },
		{ "more than the count",
		  1,
		  { { "a", "1" }, { "b", "1" } },
		  ERR_CORRUPT },
		{ "a count without end",
		  UINT64_MAX,
		  { { "a", "1" } },
		  ERR_CORRUPT },
		{ "a count above the limit",
		  LABELS_MAX + 1,
		  { { "a", "1" } },
		  ERR_CORRUPT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct labels *ls = NULL;
		struct buf b = { 0 };

		enc_uvarint(&b, cases[i].count);
		for (size_t k = 0; k < 3 && cases[i].labels[k][0]; k++)
			enc_label(&b, cases[i].labels[k][0],
				  cases[i].labels[k][1]);
		cr_expect(labels_decode(buf_bytes(&b), &ls, NULL) ==
				  cases[i].rc,
			  "%s", cases[i].what);
		cr_expect(!ls == (cases[i].rc != 0));
		labels_unref(ls);
		buf_fini(&b);
	}
	/* A set that is larger than the limit by one byte. */
	struct labels *ls = NULL;
	struct buf b = { 0 };

	enc_uvarint(&b, 1);
	enc_str(&b, str_of("a"));
	enc_str(&b, long_text(LABELS_BYTES_MAX - 5));
	cr_assert(b.len == LABELS_BYTES_MAX + 1);
	cr_expect(labels_decode(buf_bytes(&b), &ls, NULL) == ERR_CORRUPT);
	cr_expect(labels_decode((struct bytes){ 0 }, &ls, NULL) == ERR_CORRUPT);
	buf_fini(&b);
}

Test(label_sets, every_set_is_matched_by_its_own_text)
{
	static const char *const sets[][6] = {
		{ "__name__", "heap", "job", "app" },
		{ "__name__", "a:b", "job", "app" },
		{ "__name__", "9lives" },
		{ "__name__", "caf\xc3\xa9" },
		{ "job", "\"quoted\" \\ back\\slash" },
		{ "job", "lines\r\n\t\x01\x7f`'" },
		{ "a.b", "1", "1a", "2", "with \"quotes\"", "3" },
		{ "\xe2\x82\xac", "\xf0\x9f\x98\x80" },
		{ "_", "_", "A9", "{}=,~!#" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		struct labels_builder b = { 0 };
		struct labels *ls = NULL;
		struct buf text = { 0 };
		struct selector s = { 0 };
		struct err err = { .msg = "" };

		for (size_t k = 0; k < 6 && sets[i][k]; k += 2)
			labels_set(&b, str_of(sets[i][k]),
				   str_of(sets[i][k + 1]));
		cr_assert(!build(&b, &ls, NULL));
		labels_text(ls, &text);
		cr_expect(!selector_parse(str_from(buf_bytes(&text)), &s, &err),
			  "%s: %s", buf_cstr(&text), err.msg);
		cr_expect(matchers_match(s.matchers, s.count, ls), "%s",
			  buf_cstr(&text));
		for (size_t k = 0; k < s.count; k++)
			cr_expect(s.matchers[k].op == MATCH_EQ);
		selector_fini(&s);
		labels_unref(ls);
		buf_fini(&text);
	}
}

Test(label_sets, a_missing_label_has_the_empty_value)
{
	static const struct {
		const char *selector;
		bool matches;
	} cases[] = {
		{ "{job=\"app\"}", true },
		{ "{job=\"app\",none=\"\"}", true },
		{ "{job=\"app\",none!=\"\"}", false },
		{ "{job=\"app\",none!=\"x\"}", true },
		{ "{job=\"app\",none=~\".*\"}", true },
		{ "{job=\"app\",none=~\".+\"}", false },
		{ "{job=\"app\",none!~\".+\"}", true },
		{ "{job=\"app\",none=~\"|x\"}", true },
		{ "{job=~\"ap\"}", false },
		{ "{job=~\"ap.\"}", true },
		{ "{job=~\"x|app\"}", true },
		{ "{job!=\"\",job!~\"x|app\"}", false },
		{ "{job=\"App\"}", false },
		{ "{job=~\"(?i)App\"}", true },
		{ "{job=\"app\",job!=\"web\"}", true },
		{ "{job=\"app\",job=\"web\"}", false },
		{ "heap{job=\"app\"}", false },
		{ "{job!=\"\",__name__=\"\"}", true },
	};
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;

	labels_set(&b, str_of("job"), str_of("app"));
	cr_assert(!build(&b, &ls, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selector s = { 0 };

		cr_assert(!selector_parse(str_of(cases[i].selector), &s, NULL));
		cr_expect(matchers_match(s.matchers, s.count, ls) ==
				  cases[i].matches,
			  "%s", cases[i].selector);
		selector_fini(&s);
	}
	cr_expect(matchers_match(NULL, 0, ls), "no condition is fulfilled");
	labels_unref(ls);
}

/* Makes the types of a heap profile. Their default is alloc_space. */
static struct typeset *heap_types(void)
{
	static const char *const names[][2] = { { "alloc_objects", "count" },
						{ "alloc_space", "bytes" },
						{ "space", "bytes" } };
	struct typeset *t = mem_new(struct typeset);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		t->types[t->count++] =
			(struct value_type){ str_of(names[i][0]),
					     str_of(names[i][1]) };
	t->default_type = str_of("alloc_space");
	t->period = (struct value_type){ str_of("space"), str_of("bytes") };
	return t;
}

Test(label_sets, sample_types_are_found_by_name_or_number)
{
	static const struct {
		const char *name;
		int found; /* -1: there is none */
	} cases[] = {
		{ "", 1 },
		{ "alloc_objects", 0 },
		{ "space", 2 },
		{ "inuse_space", 2 },
		{ "inuse_alloc_space", 1 },
		{ "0", 0 },
		{ "2", 2 },
		{ "3", -1 },
		{ "-1", -1 },
		{ "9223372036854775807", -1 },
		{ "99999999999999999999", -1 },
		{ "Space", -1 },
		{ "alloc", -1 },
		{ "inuse_", -1 },
		{ " 0", -1 },
	};
	struct typeset *t = heap_types();
	struct err err;
	size_t at;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int rc;

		at = 99;
		rc = typeset_index(t, str_of(cases[i].name), &at, &err);
		cr_expect(rc == (cases[i].found < 0 ? ERR_INVALID : 0), "%s",
			  cases[i].name);
		cr_expect(rc || at == (size_t)cases[i].found, "%s",
			  cases[i].name);
	}
	cr_expect(typeset_index(t, str_of("cpu"), &at, &err) == ERR_INVALID);
	cr_assert(strstr(err.msg, "\"cpu\""));
	cr_expect(strstr(err.msg, "alloc_objects alloc_space space"));
	cr_expect(typeset_index(t, str_of("3"), &at, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "[0..2]") != NULL);
	t->default_type = str_of("none of them");
	cr_assert(!typeset_index(t, str_of(""), &at, &err));
	cr_expect(at == 2);
	t->default_type = str_of("");
	cr_assert(!typeset_index(t, str_of(""), &at, &err));
	cr_expect(at == 2);
	t->count = 0;
	cr_expect(typeset_index(t, str_of(""), &at, &err) == ERR_INVALID);
	cr_expect(typeset_index(t, str_of("0"), &at, &err) == ERR_INVALID);
	mem_free(t);
}

Test(label_sets, type_sets_come_back_and_no_part_of_them_does)
{
	struct typeset *t = heap_types();
	struct typeset *back = mem_new(struct typeset);
	struct buf b = { 0 };
	struct buf again = { 0 };

	typeset_encode(t, &b);
	cr_expect(typeset_count(buf_bytes(&b)) == 3);
	cr_assert(!typeset_decode(buf_bytes(&b), back, NULL));
	cr_assert(back->count == 3);
	cr_assert(check_str(back->types[1].type, "alloc_space"));
	cr_assert(check_str(back->types[0].unit, "count"));
	cr_assert(check_str(back->default_type, "alloc_space"));
	cr_expect(check_str(back->period.unit, "bytes"));
	typeset_encode(back, &again);
	cr_expect(bytes_eq(buf_bytes(&b), buf_bytes(&again)));
	for (size_t n = 0; n < b.len; n++)
		cr_expect(typeset_decode((struct bytes){ b.ptr, n }, back,
					 NULL) == ERR_CORRUPT,
			  "%zu bytes", n);
	buf_byte(&b, 0);
	cr_expect(typeset_decode(buf_bytes(&b), back, NULL) == ERR_CORRUPT);
	/* The greatest number of types is decoded, and one more is refused. */
	for (size_t n = TYPES_MAX; n <= TYPES_MAX + 1; n++) {
		buf_reset(&b);
		enc_uvarint(&b, n);
		for (size_t i = 0; i < 2 * n + 3; i++)
			enc_str(&b, str_of(""));
		cr_expect((typeset_decode(buf_bytes(&b), back, NULL) == 0) ==
			  (n == TYPES_MAX));
		cr_expect(typeset_count(buf_bytes(&b)) ==
			  (n == TYPES_MAX ? n : 0));
	}
	buf_fini(&b);
	b = buf_init(10);
	typeset_encode(t, &b);
	cr_expect(b.over);
	cr_expect(typeset_count((struct bytes){ 0 }) == 0);
	mem_free(t);
	mem_free(back);
	buf_fini(&b);
	buf_fini(&again);
}
