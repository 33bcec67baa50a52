/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of a stripe (its table): how elements are interned, that is
 * found or added, how they are taken back, and how they are stored. Also the
 * shapes of profiles, which are the orders of their fields, and the sections in
 * which bytes are stored.
 */
#include "pprof/dictionary/dict_decode.h"
#include "pprof/dictionary/dict_encode.h"
#include "pprof/dictionary/intern.h"
#include "pprof/dictionary/layout.h"
#include "pprof/dictionary/section.h"
#include "pprof/proto/fields.h"
#include "tests/pprof/sketch.h"

TestSuite(dictionary, .timeout = 60);

static const char first[] = "[/bin/app]0x100010|main@m.go:3;f@a.go:7 1 k=v\n"
			    "[/bin/app]0x100010|main@m.go:3 2\n"
			    "g>h@i.go;0x20 3 bytes#64\n- 4\n";
static const char second[] = "g>h@i.go;0x20 5 bytes#64\n"
			     "[/bin/app]0x100010|main@m.go:3;new 6 k=v\n"
			     "[/bin/app]0x100010|main@m.go:3;f@a.go:7 7 k=v\n";

/* Interns all samples, writes their keys, and returns the layout. */
static uint32_t intern_all(struct intern *in, const struct pprof *p,
			   uint32_t *keys)
{
	uint32_t layout;

	intern_begin(in, p);
	layout = intern_layout(in);
	for (size_t i = 0; i < p->samples.count; i++)
		keys[i] = intern_key(in, i, 77);
	return layout;
}

Test(dictionary, samples_of_one_stack_and_labels_are_one_key)
{
	struct pprof a = sketch_raw("n/count", first);
	struct pprof b = sketch_raw("n/count", second);
	struct pprof c = sketch_raw("n/count", "f@a.go:7 1 k=v\n");
	struct dictionary d = { 0 };
	struct intern *in;
	uint32_t keys[4];
	uint32_t layout;
	struct dict_mark one;

	dict_init(&d);
	in = intern_new(&d);
	layout = intern_all(in, &a, keys);
	for (uint32_t i = 0; i < 4; i++)
		cr_expect(keys[i] == i);
	/*
	 * The nodes are the root, main, f below main, g>h, and 0x20 below g>h.
	 */
	cr_assert(d.nodes.count == 5);
	cr_expect(d.locations.count == 4);
	cr_assert(d.label_sets.count == 3);
	cr_expect(d.mappings.count == 1);
	one = dict_mark(&d);
	/* Only one stack is new. It takes one new node and one new location. */
	cr_expect(intern_all(in, &b, keys) == layout);
	cr_assert(keys[0] == 2);
	cr_assert(keys[1] == 4);
	cr_expect(keys[2] == 0);
	cr_expect(d.keys.count == one.keys + 1);
	cr_expect(d.nodes.count == one.nodes + 1);
	cr_expect(d.label_sets.count == one.label_sets);
	/*
	 * The third argument is a guess of the key. A right guess and a wrong
	 * one give the same key.
	 */
	cr_assert(intern_key(in, 0, 2) == 2);
	cr_expect(intern_key(in, 0, 0) == 2);
	/*
	 * The guessed key has the same leaf and labels, but its stack has one
	 * more frame. So the sample gets a new key.
	 */
	intern_begin(in, &c);
	(void)intern_layout(in);
	cr_expect(intern_key(in, 0, 0) == 5);
	cr_assert(intern_memory(in) > 0);
	cr_expect(dict_memory(&d) > 0);
	intern_free(in);
	intern_free(NULL);
	dict_fini(&d);
	pprof_fini(&a);
	pprof_fini(&b);
	pprof_fini(&c);
}

Test(dictionary, what_was_added_can_be_taken_back)
{
	struct pprof a = sketch_raw("n/count", first);
	struct pprof b = sketch_raw("n/count", second);
	struct dictionary *d = mem_zalloc(2, sizeof(*d));
	struct intern *in[2];
	struct dict_mark mark;
	uint32_t keys[4];

	for (int i = 0; i < 2; i++) {
		dict_init(&d[i]);
		in[i] = intern_new(&d[i]);
		intern_all(in[i], &a, keys);
	}
	cr_expect(dict_equal(&d[0], &d[1]));
	mark = dict_mark(&d[0]);
	intern_all(in[0], &b, keys);
	cr_expect(!dict_equal(&d[0], &d[1]));
	intern_rollback(in[0], &mark);
	cr_expect(dict_equal(&d[0], &d[1]));
	/*
	 * Elements that were removed get the same numbers when they are added
	 * again.
	 */
	intern_all(in[0], &b, keys);
	intern_all(in[1], &b, keys);
	cr_expect(dict_equal(&d[0], &d[1]));
	/* Now everything is taken back. */
	intern_rollback(in[0], &(struct dict_mark){ .nodes = 1, .strings = 1 });
	cr_assert(d[0].keys.count == 0);
	cr_expect(d[0].strings.strings.count == 1);
	intern_all(in[0], &a, keys);
	intern_all(in[0], &b, keys);
	cr_expect(dict_equal(&d[0], &d[1]));
	for (int i = 0; i < 2; i++) {
		intern_free(in[i]);
		dict_fini(&d[i]);
	}
	mem_free(d);
	pprof_fini(&a);
	pprof_fini(&b);
}

Test(dictionary, equal_mappings_of_one_profile_are_twins)
{
	struct pprof p = sketch_raw("n/count", "[/bin/app]0x1|f 1\n");
	struct dictionary d = { 0 };
	struct pprof_mapping m = p.mappings.v[0];
	struct intern *in;
	uint32_t keys[1];
	uint32_t layout;

	dict_init(&d);
	in = intern_new(&d);
	m.start += 0x5000000;
	m.limit += 0x5000000;
	*vec_add(&p.mappings) = m;
	layout = intern_all(in, &p, keys);
	cr_assert(d.mappings.count == 2);
	cr_assert(d.layouts.v[layout].count == 2);
	cr_assert(d.mappings.v[0].twin == 0);
	cr_expect(d.mappings.v[1].twin == 1);
	cr_expect(d.mappings.v[0].size == 0x100000);
	/* The same mappings at other addresses are another layout. */
	p.mappings.v[1].start++;
	p.mappings.v[1].limit++;
	cr_expect(intern_all(in, &p, keys) == layout + 1);
	cr_expect(d.mappings.count == 2);
	intern_free(in);
	dict_fini(&d);
	pprof_fini(&p);
}

Test(dictionary, strings_of_the_profile_have_bounds)
{
	struct pprof p = sketch_raw("n/count", "f 1\n");
	struct dictionary d = { 0 };
	struct intern *in;
	uint32_t to = 99;

	dict_init(&d);
	in = intern_new(&d);
	intern_begin(in, &p);
	cr_assert(intern_string(in, 1, &to));
	cr_expect(to == 1);
	cr_assert(intern_string(in, 0, &to));
	cr_expect(to == 0);
	cr_expect(check_str(dict_str(&d, 1), "n"));
	cr_expect(!intern_string(in, p.strings.strings.count, &to));
	cr_expect(!intern_string(in, UINT64_MAX, &to));
	intern_free(in);
	dict_fini(&d);
	pprof_fini(&p);
}

/* Shapes. */

Test(dictionary, shapes_are_checked_word_by_word)
{
	static const struct {
		const char *name;
		uint32_t words[8];
		size_t count;
		bool want;
	} table[] = {
		{ "nothing", { 0 }, 0, false },
		{ "a dialect alone", { DIALECT_PROTO }, 1, true },
		{ "a dialect that is none", { DIALECTS }, 1, false },
		{ "a type", { 0, PROFILE_SAMPLE_TYPE, 9, 9 }, 4, true },
		{ "a type without unit",
		  { 0, PROFILE_SAMPLE_TYPE, 9 },
		  3,
		  false },
		{ "a text out of range",
		  { 0, PROFILE_SAMPLE_TYPE, 9, 10 },
		  4,
		  false },
		{ "fields without operands",
		  { 0, PROFILE_SAMPLE, PROFILE_TIME, PROFILE_STRING },
		  4,
		  true },
		{ "two comments", { 0, PROFILE_COMMENT, 2, 1, 2 }, 5, true },
		{ "no comments", { 0, PROFILE_COMMENT, 0 }, 3, true },
		{ "comments without count", { 0, PROFILE_COMMENT }, 2, false },
		{ "too few comments",
		  { 0, PROFILE_COMMENT, 3, 1, 2 },
		  5,
		  false },
		{ "a count of 32 bits",
		  { 0, PROFILE_COMMENT, UINT32_MAX, 1 },
		  4,
		  false },
		{ "field 0", { 0, 0 }, 2, false },
		{ "a field that nobody has",
		  { 0, PROFILE_DOC_URL + 1 },
		  2,
		  false },
	};
	uint32_t *many = mem_zalloc(SHAPE_WORDS_MAX + 1, sizeof(*many));

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		cr_expect(layout_valid_shape(table[i].words, table[i].count,
					     10) == table[i].want,
			  "%s", table[i].name);
	for (size_t i = 1; i <= SHAPE_WORDS_MAX; i++)
		many[i] = PROFILE_SAMPLE;
	cr_expect(layout_valid_shape(many, SHAPE_WORDS_MAX, 10));
	cr_expect(!layout_valid_shape(many, SHAPE_WORDS_MAX + 1, 10));
	mem_free(many);
}

static void expect_shape(const char *what, const char *raw, size_t len,
			 enum dialect dialect, const char *want)
{
	struct pprof p = sketch_raw("n/count", "f 1\n");
	struct dictionary d = { 0 };
	struct buf got = { 0 };
	struct intern *in;
	uint32_t shape;
	int rc;

	dict_init(&d);
	in = intern_new(&d);
	intern_begin(in, &p);
	rc = layout_read_shape((struct bytes){ (const uint8_t *)raw, len },
			       dialect, in, &shape, NULL);
	cr_expect(rc == (want ? 0 : ERR_UNSUPPORTED), "%s", what);
	if (!rc && want) {
		enum dialect told;
		struct layout_walk_shape w =
			layout_walk_shape(&d, shape, &told);
		struct shape_op op;

		cr_expect(told == dialect);
		while (layout_next_shape(&w, &op)) {
			buf_printf(&got, "%u", op.field);
			for (size_t i = 0; i < op.count; i++)
				buf_printf(&got, ",%u", op.operands[i]);
			buf_byte(&got, ' ');
		}
		cr_expect(check_str(str_of(buf_cstr(&got)), want), "%s", what);
	}
	buf_fini(&got);
	intern_free(in);
	dict_fini(&d);
	pprof_fini(&p);
}

#define SHAPE(what, raw, dialect, want) \
	expect_shape(what, raw, sizeof(raw) - 1, dialect, want)

Test(dictionary, shapes_are_read_from_the_bytes)
{
	SHAPE("nothing", "", DIALECT_PPROF, "");
	/* Texts are numbered in the order of their use. */
	SHAPE("types and rows",
	      "\x0a\x04\x08\x02\x10\x01\x12\x00\x12\x00\x32\x00\x32\x00"
	      "\x48\x05\x70\x01",
	      DIALECT_PPROF, "1,1,2 2 6 9 14,2 ");
	SHAPE("rows of Go", "\x12\x00\x22\x00\x2a\x00\x12\x00\x1a\x00\x22\x00",
	      DIALECT_GO, "2 3 2 ");
	SHAPE("the same of others",
	      "\x12\x00\x22\x00\x2a\x00\x12\x00\x1a\x00\x22\x00", DIALECT_PPROF,
	      "2 4 5 2 3 4 ");
	SHAPE("comments in a row",
	      "\x68\x01\x68\x02\x6a\x02\x01\x01\x48\x00"
	      "\x68\x01",
	      DIALECT_PPROF, "13,1,2,1,1 9 13,1 ");
	SHAPE("what nobody knows is left to the patch",
	      "\xa0\x06\x01\x48\x05\x80\x80\x80\x80\x20\x01", DIALECT_PPROF,
	      "9 ");
	SHAPE("a string out of range", "\x70\x7f", DIALECT_PPROF, NULL);
	SHAPE("a type that is a number", "\x08\x05", DIALECT_PPROF, NULL);
	SHAPE("a default type that is bytes", "\x72\x00", DIALECT_PPROF, NULL);
	SHAPE("a type with a third field", "\x0a\x02\x18\x01", DIALECT_PPROF,
	      NULL);
	SHAPE("bytes that are cut", "\x0a\x7f", DIALECT_PPROF, NULL);
}

/* Stored dictionaries. */

static void store(const char *lines, struct dictionary *d, struct buf *out)
{
	struct pprof p = sketch_raw("n/count", lines);
	uint32_t words[] = { DIALECT_PPROF, PROFILE_SAMPLE_TYPE, 1, 2,
			     PROFILE_SAMPLE };
	struct dict_mark empty = { .nodes = 1, .strings = 1 };
	uint32_t keys[8];
	struct intern *in;

	dict_init(d);
	in = intern_new(d);
	intern_all(in, &p, keys);
	cr_assert(intern_string(in, 1, &words[2]));
	cr_assert(intern_string(in, 2, &words[3]));
	(void)intern_shape(in, words, ARRAY_SIZE(words));
	dict_encode(d, &empty, 3, out);
	intern_free(in);
	pprof_fini(&p);
}

Test(dictionary, a_stored_dictionary_comes_back)
{
	static const char *const profiles[] = { "", first, second,
						"a>b>c;d>e 1\n",
						"a 1 x#-5kb x#3 y=\n" };

	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
		struct dictionary d = { 0 };
		struct dictionary again = { 0 };
		struct buf stored = { 0 };
		struct err err;

		store(profiles[i], &d, &stored);
		dict_init(&again);
		cr_expect(!dict_decode(buf_bytes(&stored), &again, &err),
			  "%zu: %s", i, err.msg);
		cr_expect(dict_equal(&d, &again), "%zu", i);
		dict_fini(&d);
		dict_fini(&again);
		buf_fini(&stored);
	}
}

Test(dictionary, damage_of_a_stored_dictionary_crashes_nothing)
{
	struct dictionary d = { 0 };
	struct buf stored = { 0 };
	size_t refused = 0;

	store(first, &d, &stored);
	for (size_t n = 0; n < stored.len; n++) {
		struct dictionary cut = { 0 };
		struct bytes b = { mem_dup(stored.ptr, n), n };

		dict_init(&cut);
		cr_expect(dict_decode(b, &cut, NULL) == ERR_CORRUPT, "%zu", n);
		dict_fini(&cut);
		mem_free((void *)b.ptr);
	}
	for (size_t i = 0; i < 8 * stored.len; i++) {
		struct dictionary bad = { 0 };

		stored.ptr[i / 8] ^= (uint8_t)(1 << i % 8);
		dict_init(&bad);
		refused += dict_decode(buf_bytes(&stored), &bad, NULL) != 0;
		dict_fini(&bad);
		stored.ptr[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	/*
	 * Some flips give another valid dictionary. In a file they are noticed
	 * by the CRC around the dictionary.
	 */
	cr_expect(refused > 2 * stored.len);
	dict_fini(&d);
	buf_fini(&stored);
}

Test(dictionary, sections_are_compressed_where_it_pays)
{
	static const struct {
		size_t len;
		bool random;
		bool smaller;
	} table[] = {
		{ 0, false, false },   { 1, false, false },
		{ 15, false, false },  { 1000, false, true },
		{ 1000, true, false },
	};
	struct zstd *z = zstd_new();

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		size_t len = table[i].len;
		struct buf raw = { 0 };
		struct buf stored = { 0 };
		struct buf out = buf_init(len ? len : 1);
		struct dec d;
		uint64_t seed = 1;

		for (size_t k = 0; k < len; k++) {
			seed = seed * 6364136223846793005u + 1;
			buf_byte(&raw,
				 table[i].random ? (uint8_t)(seed >> 40) : 'x');
		}
		section_put(z, 3, buf_bytes(&raw), &stored);
		cr_expect((stored.len < len) == table[i].smaller, "%zu", i);
		cr_expect(stored.len <= len + 2);
		buf_byte(&stored, 'z');
		d = dec_init(buf_bytes(&stored));
		cr_expect(!section_get(z, &d, &out, NULL));
		cr_expect(bytes_eq(buf_bytes(&out), buf_bytes(&raw)));
		cr_assert(dec_u8(&d) == 'z');
		cr_expect(!d.bad);
		d = dec_init(buf_bytes(&stored));
		section_skip(&d);
		cr_assert(dec_u8(&d) == 'z');
		cr_expect(!d.bad);
		/*
		 * A section that is larger than the maximum of the buffer is
		 * refused.
		 */
		buf_fini(&out);
		out = buf_init(len > 1 ? len - 1 : 1);
		d = dec_init(buf_bytes(&stored));
		cr_expect(section_get(z, &d, &out, NULL) ==
				  (len > 1 ? ERR_TOOBIG : 0),
			  "%zu", i);
		/* A section that is cut is refused, too. */
		d = dec_init((struct bytes){ stored.ptr, stored.len - 2 });
		cr_expect(section_get(z, &d, &out, NULL) == ERR_CORRUPT);
		d = dec_init((struct bytes){ stored.ptr, stored.len - 2 });
		section_skip(&d);
		cr_expect(d.bad);
		buf_fini(&raw);
		buf_fini(&stored);
		buf_fini(&out);
	}
	zstd_free(z);
}
