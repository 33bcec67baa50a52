/* SPDX-License-Identifier: Apache-2.0 */
/* Encoder, decoder, checksum, hash table, buffer. */
#include <stdatomic.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/budget.h"
#include "base/crc32c.h"
#include "base/dec.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/pairs.h"
#include "base/pool.h"
#include "base/table.h"
#include "tests/check.h"

TestSuite(codec, .timeout = 30);

Test(codec, integers_are_decoded_as_encoded)
{
	static const int64_t values[] = {
		0,   1,   -1,      63,        64,        -64,       -65,
		127, 128, 1 << 20, INT32_MIN, INT32_MAX, INT64_MAX, INT64_MIN
	};
	struct buf b = { 0 };
	struct dec d;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		enc_svarint(&b, values[i]);
		enc_uvarint(&b, (uint64_t)values[i]);
		enc_be64(&b, (uint64_t)values[i]);
		enc_be32(&b, (uint32_t)values[i]);
		enc_be16(&b, (uint16_t)values[i]);
	}
	d = dec_init(buf_bytes(&b));
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		cr_expect(dec_svarint(&d) == values[i]);
		cr_expect(dec_uvarint(&d) == (uint64_t)values[i]);
		cr_expect(dec_be64(&d) == (uint64_t)values[i]);
		cr_expect(dec_be32(&d) == (uint32_t)values[i]);
		cr_expect(dec_be16(&d) == (uint16_t)values[i]);
	}
	cr_assert(!d.bad);
	cr_expect(!dec_left(&d));
	cr_assert(dec_u8(&d) == 0, "past the end is bad");
	cr_expect(d.bad, "past the end is bad");
	buf_fini(&b);
}

Test(codec, little_endian_integers)
{
	static const uint8_t bytes[] = { 1, 2, 3,  4,  5,  6,  7,
					 8, 9, 10, 11, 12, 13, 14 };
	struct dec d = dec_init((struct bytes){ bytes, sizeof(bytes) });

	cr_expect(dec_le16(&d) == 0x0201);
	cr_expect(dec_le32(&d) == 0x06050403);
	cr_expect(dec_le64(&d) == 0x0e0d0c0b0a090807);
	cr_assert(!d.bad);
	cr_assert(dec_le16(&d) == 0);
	cr_expect(d.bad);
}

/* Numbers of the DWARF standard (figure C.4), and the limits. */
Test(codec, signed_leb128)
{
	static const struct {
		const char *bytes;
		size_t len;
		int64_t value;
		bool bad;
	} table[] = {
		{ "\x02", 1, 2, false },
		{ "\x7e", 1, -2, false },
		{ "\xff\x00", 2, 127, false },
		{ "\x81\x7f", 2, -127, false },
		{ "\x80\x01", 2, 128, false },
		{ "\x80\x7f", 2, -128, false },
		{ "\x81\x01", 2, 129, false },
		{ "\xff\x7e", 2, -129, false },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10, INT64_MAX,
		  false },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, INT64_MIN,
		  false },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, 0, true },
		{ "\x80", 1, 0, true },
		{ "", 0, 0, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct dec d = dec_init((struct bytes){
			(const uint8_t *)table[i].bytes, table[i].len });

		cr_expect(dec_sleb128(&d) == table[i].value, "%zu", i);
		cr_expect(d.bad == table[i].bad, "%zu", i);
	}
}

Test(codec, too_long_and_overflowing_varints_are_refused)
{
	static const uint8_t eleven[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					  0x80, 0x80, 0x80, 0x80, 0x01 };
	static const uint8_t over[] = { 0xff, 0xff, 0xff, 0xff, 0xff,
					0xff, 0xff, 0xff, 0xff, 0x02 };
	struct dec d = dec_init(
		(struct bytes){ .ptr = eleven, .len = sizeof(eleven) });

	cr_assert(dec_uvarint(&d) == 0);
	cr_expect(d.bad);
	d = dec_init((struct bytes){ .ptr = over, .len = sizeof(over) });
	cr_assert(dec_uvarint(&d) == 0);
	cr_expect(d.bad);
}

Test(codec, software_and_hardware_crc32c_match_rfc_3720)
{
	uint8_t zeros[32] = { 0 };
	uint8_t bytes[1000];
	struct bytes check = bytes_of(str_of("123456789"));

	cr_expect(crc32c_extend(0, check) == 0xe3069283u);
	cr_expect(crc32c_portable(0, check) == 0xe3069283u);
	cr_expect(crc32c_extend(0, (struct bytes){ zeros, 32 }) == 0x8a9136aau);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 31);
	for (size_t n = 0; n < sizeof(bytes); n += 7) {
		struct bytes all = { bytes, n };
		struct bytes a = { bytes, n / 3 };
		struct bytes b = { bytes + n / 3, n - n / 3 };

		cr_expect(crc32c_extend(0, all) == crc32c_portable(0, all));
		cr_expect(crc32c_extend(crc32c_extend(0, a), b) ==
			  crc32c_extend(0, all));
	}
}

Test(codec, hash_is_xxh3)
{
	/*
	 * The values of XXH3_64bits() of xxHash 0.8 for "" and "a", with seed
	 * 0.
	 */
	cr_expect(hash_bytes(bytes_of(str_of(""))) == 0x2d06800538d394c2u);
	cr_expect(hash_bytes(bytes_of(str_of("a"))) == 0xe6c632b61e964e1fu);
}

/* Nobody can choose keys that fall on one place of a table. */
Test(codec, keys_of_tables_have_a_secret_seed)
{
	struct bytes a = bytes_of(str_of("a"));
	struct bytes b = bytes_of(str_of("b"));

	cr_expect(hash_key(a) == hash_key(a));
	cr_expect(hash_key(a) != hash_key(b));
	cr_expect(hash_key(a) != hash_bytes(a));
}

static bool same_number(const void *ctx, uint32_t number, const void *key)
{
	const uint64_t *keys = ctx;

	return keys[number] == *(const uint64_t *)key;
}

Test(codec, hash_table_keeps_added_entries_until_removal)
{
	static uint64_t keys[20000];
	struct table t = { 0 };

	for (uint32_t i = 0; i < ARRAY_SIZE(keys); i++) {
		/*
		 * There are few distinct hashes, so many keys collide and must
		 * be told apart.
		 */
		keys[i] = i;
		table_add(&t, hash_bytes((struct bytes){ (uint8_t *)&i, 1 }),
			  i);
		if (i % 3 == 0)
			table_remove(
				&t,
				hash_bytes((struct bytes){ (uint8_t *)&i, 1 }),
				i);
		if (i == 2000)
			break;
	}
	for (uint32_t i = 0; i <= 2000; i++) {
		uint64_t key = i;
		uint32_t n = table_find(
			&t, hash_bytes((struct bytes){ (uint8_t *)&i, 1 }),
			same_number, keys, &key);

		cr_expect(n == (i % 3 ? i : TABLE_NONE), "key %u", i);
	}
	cr_expect(t.count == 2001 - 667);
	table_fini(&t);
}

Test(codec, buffer_never_grows_beyond_its_maximum)
{
	struct buf b = buf_init(10);

	buf_str(&b, "12345678");
	buf_str(&b, "90a");
	cr_assert(b.over);
	cr_expect(b.len == 8);
	buf_str(&b, "9");
	cr_expect(b.len == 8, "what comes after is ignored");
	buf_reset(&b);
	buf_str(&b, "0123456789");
	cr_assert(!b.over);
	cr_expect(b.len == 10);
	buf_fini(&b);
}

/*
 * Nodes of a chain, each below the one before, as a deep recursion makes them,
 * spread over the table.
 */
Test(codec, growing_pairs_do_not_share_slots)
{
	struct pairs p = { 0 };
	size_t longest = 0;
	size_t run = 0;

	for (uint32_t i = 0; i < 500000; i++)
		*pairs_at(&p, i, i % 3) = i + 1;
	for (size_t i = 0; i <= p.mask; i++) {
		run = p.slots[i].number ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	cr_expect(longest < 200, "a look goes through %zu slots", longest);
	for (uint32_t i = 0; i < 500000; i += 999)
		cr_expect(*pairs_at(&p, i, i % 3) == i + 1);
	pairs_fini(&p);
}

Test(codec, base64_decoder_is_strict)
{
	static const char *const bad[] = {
		"YQ",   "YQ=",  "YQ==YQ==", "YR==",
		"Y Q=", "YQ-_", "====",     "YQ==\n"
	};
	struct buf b = { 0 };

	cr_expect(base64_decode(str_of("YTpi/+8="), &b));
	cr_assert(b.len == 5);
	cr_expect(!memcmp(b.ptr, "a:b\xff\xef", 5));
	cr_assert(base64_decode(str_of(""), &b));
	cr_expect(b.len == 5);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cr_assert(!base64_decode(str_of(bad[i]), &b), "%s", bad[i]);
		cr_expect(b.len == 5, "%s", bad[i]);
	}
	buf_fini(&b);
}

Test(codec, base64_of_any_bytes_is_decoded_to_them)
{
	uint8_t all[256];

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)(i * 7);
	for (size_t len = 0; len <= sizeof(all); len++) {
		struct buf text = { 0 };
		struct buf out = { 0 };

		base64_encode((struct bytes){ all, len }, &text);
		cr_expect(text.len == (len + 2) / 3 * 4);
		cr_expect(base64_decode(str_from(buf_bytes(&text)), &out));
		cr_assert(out.len == len);
		cr_expect(!memcmp(out.ptr ?: all, all, len));
		buf_fini(&text);
		buf_fini(&out);
	}
}

Test(codec, base64_for_urls_has_no_padding)
{
	static const struct {
		const char *text, *code;
	} cases[] = { { "", "" },           { "f", "Zg" },
		      { "fo", "Zm8" },      { "foo", "Zm9v" },
		      { "foob", "Zm9vYg" }, { "\xff\xef\xbe", "_---" },
		      { "\xfb\xff", "-_8" } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b = { 0 };

		base64_encode_url(bytes_of(str_of(cases[i].text)), &b);
		cr_expect(!strcmp(buf_cstr(&b), cases[i].code), "%s",
			  cases[i].code);
		buf_fini(&b);
	}
}

Test(codec, share_counts_against_its_own_and_the_parent_budget)
{
	struct budget all = { .name = "all", .max = 100 };
	struct budget mine = { .name = "all", .max = 75, .parent = &all };
	struct budget yours = { .name = "all", .max = 75, .parent = &all };
	struct err err;

	cr_assert(!budget_take(&mine, 70, &err));
	cr_expect(all.used == 70);
	cr_assert(budget_take(&mine, 10, &err) == ERR_LIMIT);
	cr_expect(all.used == 70);
	cr_expect(budget_take(&yours, 40, &err) == ERR_LIMIT);
	cr_assert(yours.used == 0);
	cr_expect(all.used == 70);
	cr_assert(!budget_take(&yours, 30, &err));
	cr_expect(all.used == 100);
	budget_give(&mine, 70);
	budget_give(&yours, 30);
	cr_assert(!all.used);
	cr_assert(!mine.used);
	cr_expect(!yours.used);
}

/* Workers that one group keeps busy, and a task of another group. */
struct busy {
	_Atomic int running;
	_Atomic int most;
	_Atomic bool let_go;
	_Atomic bool other_ran;
};

static void keep_busy(void *ctx, unsigned worker)
{
	struct busy *b = ctx;
	int now = atomic_fetch_add(&b->running, 1) + 1;

	(void)worker;
	if (now > b->most)
		b->most = now;
	while (!b->let_go)
		usleep(1000);
	atomic_fetch_sub(&b->running, 1);
}

static void run_other(void *ctx, unsigned worker)
{
	struct busy *b = ctx;

	(void)worker;
	b->other_ran = true;
}

Test(codec, one_task_group_cannot_occupy_all_pool_workers)
{
	struct pool *p = pool_start("test", 8, 100);
	struct pool_group *greedy = pool_group_new(p);
	struct pool_group *other = pool_group_new(p);
	struct busy b = { 0 };

	for (int i = 0; i < 50; i++)
		cr_assert(!pool_submit(p, greedy, keep_busy, &b, NULL));
	cr_assert(!pool_submit(p, other, run_other, &b, NULL));
	while (!b.other_ran) /* though the greedy tasks do not end */
		usleep(1000);
	cr_expect(b.most <= 6);
	b.let_go = true;
	pool_group_free(greedy);
	pool_group_free(other);
	pool_stop(p);
	cr_expect(b.running == 0);
	pool_free(p);
}
