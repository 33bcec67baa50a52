/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of the wire format, the string table, and the map from ids to
 * places: what decoder, scan and merge are built of.
 */
#include "base/wire.h"
#include "pprof/profile/strtab.h"
#include "pprof/proto/id_index.h"
#include "tests/check.h"

TestSuite(wire, .timeout = 30);
TestSuite(strtab, .timeout = 30);
TestSuite(id_index, .timeout = 30);

static struct bytes raw(const char *s, size_t len)
{
	return (struct bytes){ (const uint8_t *)s, len };
}

#define RAW(s) raw(s, sizeof(s) - 1)

Test(wire, varints_have_up_to_ten_bytes)
{
	static const struct {
		const char *name;
		const char *bytes;
		size_t len;
		uint64_t value;
		size_t used; /* 0: it is refused */
	} table[] = {
		{ "nothing", "", 0, 0, 0 },
		{ "zero", "\x00", 1, 0, 1 },
		{ "the largest of one byte", "\x7f\x01", 2, 127, 1 },
		{ "the least of two bytes", "\x80\x01", 2, 128, 2 },
		{ "the largest of two bytes", "\xff\x7f", 2, 16383, 2 },
		{ "the least of three bytes", "\x80\x80\x01", 3, 16384, 3 },
		{ "zero in two bytes", "\x80\x00", 2, 0, 2 },
		{ "zero in ten bytes",
		  "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10, 0, 10 },
		{ "the largest number",
		  "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX,
		  10 },
		{ "excess bits are dropped",
		  "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, UINT64_MAX,
		  10 },
		{ "nine bytes", "\x80\x80\x80\x80\x80\x80\x80\x80\x01", 9,
		  (uint64_t)1 << 56, 9 },
		{ "eleven bytes",
		  "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, 0, 0 },
		{ "cut after one byte", "\x80", 1, 0, 0 },
		{ "cut after two bytes", "\xff\xff", 2, 0, 0 },
		{ "cut after nine bytes",
		  "\x80\x80\x80\x80\x80\x80\x80\x80\x80", 9, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct bytes b = raw(table[i].bytes, table[i].len);
		struct wire w = wire_init(b);
		struct wire slow = wire_init(b);

		cr_expect(wire_varint(&w) == table[i].value, "%s",
			  table[i].name);
		cr_expect(w.bad == !table[i].used, "%s", table[i].name);
		/* After an error nothing is left to be read. */
		cr_expect(w.pos == (w.bad ? w.end : b.ptr + table[i].used),
			  "%s", table[i].name);
		cr_assert(wire_varint_slow(&slow) == table[i].value, "%s",
			  table[i].name);
		cr_assert(slow.bad == w.bad, "%s", table[i].name);
		cr_expect(slow.pos == w.pos, "%s", table[i].name);
	}
}

Test(wire, the_length_of_a_varint_is_known)
{
	cr_expect(wire_varint_len(0) == 1);
	for (unsigned n = 1; n < 10; n++) {
		cr_expect(wire_varint_len(((uint64_t)1 << 7 * n) - 1) == n);
		cr_expect(wire_varint_len((uint64_t)1 << 7 * n) == n + 1);
	}
	cr_expect(wire_varint_len(UINT64_MAX) == 10);
}

Test(wire, fields_of_all_types_are_read_in_order)
{
	/*
	 * By number of the field: 1 is 5, 2 is "ab", 3 has 64 bits, 4 has 32
	 * bits, 5 is "", and 2^28 is 300.
	 */
	struct wire w = wire_init(RAW("\x08\x05\x12\x02"
				      "ab\x19"
				      "88888888"
				      "\x25"
				      "4444\x2a\x00"
				      "\x80\x80\x80\x80\x08\xac\x02"));
	struct wire_field f;

	cr_assert(wire_next(&w, &f));
	cr_assert(f.number == 1);
	cr_assert(f.type == WIRE_VARINT);
	cr_expect(f.value == 5);
	cr_assert(wire_next(&w, &f));
	cr_assert(f.number == 2);
	cr_assert(f.type == WIRE_BYTES);
	cr_expect(check_str(str_from(f.bytes), "ab"));
	cr_assert(wire_next(&w, &f));
	cr_assert(f.number == 3);
	cr_expect(f.type == WIRE_64);
	cr_assert(wire_next(&w, &f));
	cr_assert(f.number == 4);
	cr_expect(f.type == WIRE_32);
	cr_assert(wire_next(&w, &f));
	cr_assert(f.number == 5);
	cr_assert(f.type == WIRE_BYTES);
	cr_expect(!f.bytes.len);
	cr_assert(wire_next(&w, &f));
	cr_assert(f.number == 1 << 28);
	cr_expect(f.value == 300);
	cr_assert(!wire_next(&w, &f));
	cr_expect(!w.bad);
	cr_assert(!wire_next(&w, &f), "the end stays the end");
	cr_expect(!w.bad, "the end stays the end");
}

Test(wire, an_empty_message_ends_at_once)
{
	struct wire w = wire_init((struct bytes){ 0 });
	struct wire_field f;
	uint64_t number;
	uint64_t value;

	cr_expect(!wire_next_small(&w, &number, &value));
	cr_assert(!wire_next(&w, &f));
	cr_expect(!w.bad);
	cr_assert(!wire_varint(&w));
	cr_expect(w.bad);
}

Test(wire, malformed_fields_are_refused_for_good)
{
	static const struct {
		const char *name;
		const char *bytes;
		size_t len;
	} table[] = {
		{ "a key alone", "\x08", 1 },
		{ "a key that is cut", "\x80", 1 },
		{ "a number that is cut", "\x08\x80", 2 },
		{ "a long number that is cut", "\x08\xff\xff\xff", 4 },
		{ "bytes without length", "\x12", 1 },
		{ "bytes, one too few", "\x12\x03xy", 4 },
		{ "bytes of an absurd length",
		  "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01xxxx", 15 },
		{ "a length that is cut", "\x12\x80", 2 },
		{ "64 bits, one byte too few", "\x09xxxxxxx", 8 },
		{ "32 bits, one byte too few", "\x0dxxx", 4 },
		{ "a group", "\x0b\x0c", 2 },
		{ "the end of a group", "\x0c\x00", 2 },
		{ "wire type 6", "\x0e\x00", 2 },
		{ "wire type 7", "\x0f\x00", 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct wire w = wire_init(raw(table[i].bytes, table[i].len));
		struct wire_field f;

		cr_expect(!wire_next(&w, &f), "%s", table[i].name);
		cr_expect(w.bad, "%s", table[i].name);
		cr_assert(!wire_next(&w, &f), "%s: it goes on", table[i].name);
		cr_expect(w.bad, "%s: it goes on", table[i].name);
	}
}

Test(wire, bytes_to_the_very_end_are_taken)
{
	struct wire w = wire_init(RAW("\x12\x03xyz"));
	char text[2 + 200];
	struct wire_field f;

	cr_assert(wire_next(&w, &f));
	cr_expect(check_str(str_from(f.bytes), "xyz"));
	/* A length of two bytes takes the slow path. */
	memset(text, 'x', sizeof(text));
	memcpy(text, "\x12\xc7\x01", 3);
	w = wire_init(raw(text, sizeof(text)));
	cr_assert(wire_next(&w, &f));
	cr_expect(f.bytes.len == 199);
	cr_assert(!wire_next(&w, &f));
	cr_expect(!w.bad);
	w = wire_init(raw(text, sizeof(text) - 1));
	cr_assert(!wire_next(&w, &f));
	cr_expect(w.bad);
}

Test(wire, small_numbers_are_read_and_others_left_alone)
{
	static const struct {
		const char *name;
		const char *bytes;
		size_t len;
		size_t used; /* 0: left to wire_next() */
		uint64_t value;
	} table[] = {
		{ "one byte", "\x08\x05\x08", 3, 2, 5 },
		{ "two bytes", "\x08\xac\x02", 3, 3, 300 },
		{ "three bytes", "\x08\x80\x80\x01", 4, 0, 0 },
		{ "a message that ends", "\x08\x05", 2, 0, 0 },
		{ "bytes", "\x0a\x01x", 3, 0, 0 },
		{ "32 bits", "\x0dxxxx", 5, 0, 0 },
		{ "a key of two bytes", "\x80\x01\x05\x05", 4, 0, 0 },
		{ "64 bits", "\x09xxxxxxxx", 9, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct bytes b = raw(table[i].bytes, table[i].len);
		struct wire w = wire_init(b);
		uint64_t number = 0;
		uint64_t value = 0;
		bool read = wire_next_small(&w, &number, &value);

		cr_expect(read == (table[i].used > 0), "%s", table[i].name);
		cr_assert(w.pos == b.ptr + table[i].used, "%s", table[i].name);
		cr_expect(!w.bad, "%s", table[i].name);
		cr_expect(!read || (number == 1 && value == table[i].value),
			  "%s", table[i].name);
	}
}

/* String tables. */

Test(strtab, a_string_has_one_number)
{
	struct strtab t = { 0 };
	char text[] = "abc";

	cr_expect(strtab_intern(&t, str_of("abc")) == 1);
	cr_expect(strtab_intern(&t, str_of("")) == 0, "0 is the empty string");
	cr_expect(strtab_intern(&t, str_of("abcd")) == 2);
	cr_expect(strtab_intern(&t, str_of(text)) == 1);
	cr_expect(strtab_intern(&t, (struct str){ "a\0b", 3 }) == 3);
	cr_expect(strtab_intern(&t, (struct str){ "a\0c", 3 }) == 4);
	cr_expect(strtab_intern(&t, str_of("a")) == 5);
	cr_expect(check_str(strtab_get(&t, 0), ""));
	cr_expect(check_str(strtab_get(&t, 2), "abcd"));
	cr_expect(strtab_get(&t, 3).len == 3);
	cr_expect(strtab_memory(&t) > 0);
	strtab_fini(&t);
}

Test(strtab, strings_are_copies)
{
	struct strtab t = { 0 };
	char text[] = "abc";

	cr_expect(strtab_intern(&t, str_of(text)) == 1);
	text[0] = 'x';
	cr_expect(check_str(strtab_get(&t, 1), "abc"));
	cr_expect(strtab_intern(&t, str_of(text)) == 2);
	strtab_fini(&t);
}

Test(strtab, many_strings_keep_their_numbers)
{
	struct strtab t = { 0 };
	char text[16];

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 1; i <= 5000; i++) {
			snprintf(text, sizeof(text), "s%u", i);
			cr_assert(strtab_intern(&t, str_of(text)) == i);
		}
	}
	cr_expect(t.strings.count == 5001);
	strtab_fini(&t);
}

Test(strtab, a_wrong_guess_of_the_next_string_is_harmless)
{
	struct strtab t = { 0 };
	uint32_t next = 77;

	cr_assert(strtab_intern_next(&t, str_of("a"), &next) == 1);
	cr_expect(next == 2);
	cr_assert(strtab_intern_next(&t, str_of("b"), &next) == 2);
	cr_expect(next == 3);
	next = 1;
	cr_assert(strtab_intern_next(&t, str_of("a"), &next) == 1);
	cr_expect(next == 2);
	cr_assert(strtab_intern_next(&t, str_of("b"), &next) == 2);
	cr_expect(next == 3);
	next = 1;
	cr_assert(strtab_intern_next(&t, str_of("b"), &next) == 2);
	cr_expect(next == 3);
	next = UINT32_MAX;
	cr_assert(strtab_intern_next(&t, str_of(""), &next) == 0);
	cr_expect(next == 1);
	strtab_fini(&t);
}

Test(strtab, cut_strings_are_forgotten)
{
	struct strtab t = { 0 };

	strtab_intern(&t, str_of("a"));
	strtab_intern(&t, str_of("b"));
	strtab_intern(&t, str_of("c"));
	strtab_truncate(&t, 9);
	cr_expect(t.strings.count == 4, "there is nothing to be cut");
	strtab_truncate(&t, 2);
	cr_expect(t.strings.count == 2);
	cr_expect(strtab_intern(&t, str_of("c")) == 2);
	cr_expect(strtab_intern(&t, str_of("a")) == 1);
	cr_expect(strtab_intern(&t, str_of("b")) == 3);
	strtab_truncate(&t, 0);
	cr_expect(strtab_intern(&t, str_of("b")) == 1);
	cr_expect(check_str(strtab_get(&t, 0), ""), "0 is the empty string");
	strtab_fini(&t);
}

/* Id maps. */

/*
 * Adds ids to the map, seals it and looks for each id. Fails if one is not at
 * its place.
 */
static void expect_places(struct id_index *m, const char *what,
			  const uint64_t *ids, size_t count)
{
	id_index_reset(m);
	for (size_t i = 0; i < count; i++)
		id_index_add(m, ids[i]);
	cr_expect(id_index_seal(m), "%s", what);
	for (size_t i = 0; i < count; i++)
		cr_expect(id_index_find(m, ids[i]) == i, "%s: %zu", what, i);
}

#define IDS(...)                             \
	((const uint64_t[]){ __VA_ARGS__ }), \
		sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

Test(id_index, ids_are_found_whatever_their_form)
{
	struct id_index m = { 0 };

	expect_places(&m, "in sequence", IDS(1, 2, 3));
	cr_expect(id_index_memory(&m) == 0, "ids in sequence need no memory");
	cr_assert(!id_index_has(&m, 0));
	cr_expect(!id_index_has(&m, 4));
	cr_expect(!id_index_has(&m, UINT64_MAX));
	expect_places(&m, "dense", IDS(2, 1, 3, 9));
	cr_assert(!id_index_has(&m, 0));
	cr_expect(!id_index_has(&m, 4));
	cr_assert(!id_index_has(&m, 10));
	cr_expect(!id_index_has(&m, UINT64_MAX));
	expect_places(&m, "dense from 0", IDS(0, 1, 2));
	cr_expect(!id_index_has(&m, 3));
	expect_places(&m, "sparse", IDS(5, UINT64_MAX, 1, (uint64_t)1 << 40));
	cr_assert(!id_index_has(&m, 0));
	cr_expect(!id_index_has(&m, 2));
	cr_expect(!id_index_has(&m, UINT64_MAX - 1));
	/* Of the earlier ids nothing is left. */
	expect_places(&m, "in sequence again", IDS(1, 2));
	cr_assert(!id_index_has(&m, 5));
	cr_expect(!id_index_has(&m, UINT64_MAX));
	expect_places(&m, "dense again", IDS(3));
	cr_assert(!id_index_has(&m, 1));
	cr_assert(!id_index_has(&m, 2));
	cr_expect(!id_index_has(&m, 9));
	id_index_fini(&m);
}

Test(id_index, an_empty_map_has_no_ids)
{
	struct id_index m = { 0 };

	cr_expect(id_index_seal(&m));
	cr_expect(id_index_find(&m, 0) == ID_INDEX_NONE);
	cr_expect(id_index_find(&m, 1) == ID_INDEX_NONE);
	cr_expect(id_index_find(&m, UINT64_MAX) == ID_INDEX_NONE);
	id_index_fini(&m);
}

Test(id_index, an_id_used_twice_is_noticed)
{
	static const uint64_t tables[][3] = {
		{ 1, 2, 2 },
		{ 1, 2, 1 },
		{ 7, 3, 7 },
		{ 0, 4, 0 },
		{ UINT64_MAX, 1, UINT64_MAX },
		{ (uint64_t)1 << 50, (uint64_t)1 << 50, 3 },
	};
	struct id_index m = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		id_index_reset(&m);
		for (size_t k = 0; k < 3; k++)
			id_index_add(&m, tables[i][k]);
		cr_expect(!id_index_seal(&m), "%zu", i);
	}
	/* Duplicates have no effect on the next profile. */
	expect_places(&m, "after duplicates", IDS(7, 3, 9));
	id_index_fini(&m);
}

Test(id_index, memory_follows_the_number_of_ids_not_their_size)
{
	struct id_index m = { 0 };

	for (uint64_t i = 0; i < 1000; i++)
		id_index_add(&m, (i + 1) << 40);
	cr_expect(id_index_seal(&m));
	cr_expect(id_index_find(&m, (uint64_t)1000 << 40) == 999);
	cr_expect(id_index_memory(&m) < 64 * 1024);
	id_index_fini(&m);
	cr_assert(!id_index_memory(&m));
	cr_expect(!id_index_has(&m, (uint64_t)1 << 40));
}

Test(id_index, one_huge_profile_does_not_pin_its_memory)
{
	struct id_index m = { 0 };

	for (uint64_t i = 200000; i > 0; i--)
		id_index_add(&m, i);
	cr_expect(id_index_seal(&m));
	cr_assert(id_index_find(&m, 200000) == 0);
	cr_expect(id_index_find(&m, 1) == 199999);
	id_index_reset(&m);
	cr_expect(id_index_memory(&m) == 0);
	expect_places(&m, "a small one", IDS(2, 1));
	cr_expect(id_index_memory(&m) > 0);
	id_index_reset(&m);
	cr_expect(id_index_memory(&m) > 0, "what is small is kept");
	id_index_fini(&m);
}
