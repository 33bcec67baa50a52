/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records and file headers: what comes back, which damage is noticed, and what
 * an iterator finds in a file in which some stretches are not records.
 */
#include "tsdb/io/record.h"

#include "base/crc32c.h"
#include "base/enc.h"
#include "base/mem.h"
#include "tests/check.h"

TestSuite(record, .timeout = 60);

#define SALT  0x1122334455667788u
#define OTHER 0x1122334455667789u

/*
 * Appends one copy of a file header. Its checksum is right, whatever the other
 * fields are.
 */
static void add_copy(struct buf *out, uint32_t magic, uint8_t version,
		     uint8_t reserved)
{
	size_t start = out->len;

	enc_be32(out, magic);
	buf_byte(out, version);
	buf_add(out, "\0\0", 2);
	buf_byte(out, reserved);
	enc_be64(out, SALT);
	enc_be64(out, 9);
	enc_be32(out, 0);
	enc_be32(out, crc32c_extend(0, (struct bytes){ out->ptr + start, 28 }));
}

Test(record, a_file_header_comes_back)
{
	struct file_header h = { .magic = MAGIC_STATE,
				 .salt = SALT,
				 .number = UINT64_MAX };
	struct file_header back = { 0 };
	struct buf b = { 0 };

	file_header_encode(&h, &b);
	cr_expect(b.len == FILE_HEADER);
	cr_expect(!file_header_decode(buf_bytes(&b), MAGIC_STATE, &back, NULL));
	cr_assert(back.magic == MAGIC_STATE);
	cr_assert(back.salt == SALT);
	cr_expect(back.number == UINT64_MAX);
	cr_expect(file_header_decode(buf_bytes(&b), MAGIC_KEY, &back, NULL) ==
			  ERR_CORRUPT,
		  "another kind of file");
	for (size_t n = 0; n < FILE_HEADER; n++)
		cr_expect(file_header_decode((struct bytes){ b.ptr, n },
					     MAGIC_STATE, &back,
					     NULL) == ERR_CORRUPT,
			  "cut at %zu", n);
	buf_fini(&b);
}

Test(record, one_copy_of_a_file_header_is_enough)
{
	struct file_header h = { .magic = MAGIC_KEY, .salt = SALT };
	struct buf b = { 0 };

	file_header_encode(&h, &b);
	for (size_t bit = 0; bit < FILE_HEADER * 8; bit++) {
		struct file_header back = { 0 };
		size_t twin = (bit / 8 + 32) % 64;

		b.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert(!file_header_decode(buf_bytes(&b), MAGIC_KEY, &back,
					      NULL),
			  "bit %zu", bit);
		cr_expect(back.salt == SALT, "bit %zu", bit);
		b.ptr[twin] ^= (uint8_t)(1 << bit % 8);
		cr_expect(file_header_decode(buf_bytes(&b), MAGIC_KEY, &back,
					     NULL) == ERR_CORRUPT,
			  "bit %zu of both", bit);
		b.ptr[twin] ^= (uint8_t)(1 << bit % 8);
		b.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	buf_fini(&b);
}

Test(record, a_newer_file_header_is_told_from_a_damaged_one)
{
	static const struct {
		const char *name;
		uint8_t version[2]; /* of the two copies; 0: damaged */
		uint8_t reserved;
		int want;
	} cases[] = {
		{ "both are of this version", { 1, 1 }, 0, 0 },
		{ "both are newer", { 2, 2 }, 0, ERR_UNSUPPORTED },
		{ "the first is newer", { 255, 1 }, 0, ERR_UNSUPPORTED },
		{ "the first damaged, the second newer",
		  { 0, 2 },
		  0,
		  ERR_UNSUPPORTED },
		{ "the first damaged, the second well", { 0, 1 }, 0, 0 },
		{ "the second is damaged", { 1, 0 }, 0, 0 },
		{ "both are damaged", { 0, 0 }, 0, ERR_CORRUPT },
		{ "reserved bytes are used", { 1, 1 }, 7, ERR_UNSUPPORTED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct file_header back;
		struct buf b = { 0 };
		struct err err = { .msg = "" };
		int rc;

		for (int c = 0; c < 2; c++) {
			add_copy(&b, MAGIC_SEGMENT, cases[i].version[c],
				 cases[i].reserved);
			if (!cases[i].version[c])
				b.ptr[b.len - 1] ^= 1;
		}
		rc = file_header_decode(buf_bytes(&b), MAGIC_SEGMENT, &back,
					&err);
		cr_expect(rc == cases[i].want, "%s: %d", cases[i].name, rc);
		if (rc == ERR_UNSUPPORTED && cases[i].version[0] == 255)
			cr_expect(strstr(err.msg, "255") != NULL, "%s",
				  err.msg);
		buf_fini(&b);
	}
}

Test(record, salts_differ)
{
	uint64_t a = 0;
	uint64_t b = 0;

	cr_assert(!record_make_salt(&a, NULL));
	cr_assert(!record_make_salt(&b, NULL));
	cr_expect(a != b);
}

/*
 * Appends a record whose head and body have these lengths to out, and returns
 * the record.
 */
static struct record add_record(struct buf *out, uint64_t salt,
				uint64_t position, size_t head, size_t body)
{
	static uint8_t text[RECORD_HEAD_MAX + 8];
	struct record r = { .position = position,
			    .kind = 3,
			    .encoding = 2,
			    .head = { text, head },
			    .body = { text + 7, body } };

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 31 + 1);
	record_encode(&r, salt, out);
	return r;
}

Test(record, a_record_comes_back)
{
	static const struct {
		size_t head;
		size_t body;
		uint64_t len;
	} cases[] = {
		{ 0, 0, 32 },
		{ 1, 0, 40 },
		{ 0, 1, 40 },
		{ 7, 1, 40 },
		{ 8, 0, 40 },
		{ 8, 1, 48 },
		{ 100, 1000, 1136 },
		{ RECORD_HEAD_MAX, 3, RECORD_HEAD_MAX + 40 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b = { 0 };
		struct record got = { 0 };
		struct record want =
			add_record(&b, SALT, 640, cases[i].head, cases[i].body);

		cr_expect(b.len == cases[i].len, "%zu", b.len);
		cr_expect(record_padded(cases[i].head, cases[i].body) == b.len);
		cr_expect(record_head_len(b.ptr) == cases[i].head);
		cr_assert(!record_decode(buf_bytes(&b), SALT, 640, true, &got,
					 NULL));
		cr_assert(got.position == 640);
		cr_assert(got.kind == 3);
		cr_assert(got.encoding == 2);
		cr_expect(got.body_ok);
		cr_expect(got.len == b.len);
		cr_expect(bytes_eq(got.head, want.head));
		cr_expect(bytes_eq(got.body, want.body));
		buf_fini(&b);
	}
	cr_expect(record_padded(RECORD_HEAD_MAX, RECORD_BODY_MAX) ==
		  32ull + RECORD_HEAD_MAX + RECORD_BODY_MAX);
	cr_expect(record_padded(UINT32_MAX, UINT32_MAX) == 8589934624u,
		  "no overflow");
}

Test(record, every_flipped_bit_is_noticed)
{
	struct buf b = { 0 };
	struct record r;

	add_record(&b, SALT, 64, 5, 9);
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		size_t byte = bit / 8;
		int rc;

		b.ptr[byte] ^= (uint8_t)(1 << bit % 8);
		rc = record_decode(buf_bytes(&b), SALT, 64, true, &r, NULL);
		if (byte < RECORD_HEADER + 5)
			cr_expect(rc == ERR_CORRUPT, "bit %zu", bit);
		else /* in the body, or in the padding, which has no checksum */
		{
			cr_assert(!rc, "bit %zu", bit);
			cr_expect(r.body_ok == (byte >= 32 + 5 + 9), "bit %zu",
				  bit);
		}
		b.ptr[byte] ^= (uint8_t)(1 << bit % 8);
	}
	buf_fini(&b);
}

Test(record, every_cut_is_noticed)
{
	struct buf b = { 0 };
	struct record r;

	add_record(&b, SALT, 64, 5, 9);
	for (size_t n = 0; n <= b.len; n++) {
		struct bytes cut = { .ptr = b.ptr, .len = n };
		int whole = record_decode(cut, SALT, 64, true, &r, NULL);
		int head = record_decode_head(cut, SALT, 64, &r, NULL);

		/* Padding need not be there. */
		cr_expect(whole == (n < 32 + 5 + 9 ? ERR_CORRUPT : 0), "%zu",
			  n);
		cr_expect(head == (n < 32 + 5 ? ERR_CORRUPT : 0), "%zu", n);
		if (!head) {
			cr_assert(r.head.len == 5);
			cr_assert(!r.body.len);
			cr_assert(!r.body_ok);
			cr_expect(r.len == b.len);
		}
	}
	buf_fini(&b);
}

Test(record, a_record_of_another_file_or_place_is_none)
{
	struct buf b = { 0 };
	struct record r;

	add_record(&b, SALT, 64, 5, 9);
	cr_expect(record_decode(buf_bytes(&b), OTHER, 64, true, &r, NULL) ==
		  ERR_CORRUPT);
	cr_expect(record_decode(buf_bytes(&b), SALT, 72, true, &r, NULL) ==
		  ERR_CORRUPT);
	cr_assert(!record_decode(buf_bytes(&b), SALT, 64, false, &r, NULL),
		  "an unchecked body is not vouched for");
	cr_assert(!r.body_ok, "an unchecked body is not vouched for");
	cr_expect(r.body.len == 9, "an unchecked body is not vouched for");
	buf_fini(&b);
}

/*
 * Writes the header and `head` bytes of the head of a record that has any
 * lengths. The checksum is right.
 */
static void claim(struct buf *out, uint32_t head_len, uint32_t body_len,
		  size_t head)
{
	struct buf covered = { 0 };
	uint8_t *at;

	buf_reset(out);
	enc_be32(out, head_len);
	enc_be32(out, body_len);
	enc_be64(out, 0);
	for (int i = 0; i < 3; i++)
		enc_be32(out, 0);
	enc_be64(&covered, SALT);
	buf_add(&covered, out->ptr, 28);
	enc_be32(out, 0);
	for (size_t i = 0; i < head; i++) {
		buf_byte(out, 'h');
		buf_byte(&covered, 'h');
	}
	at = out->ptr + 28;
	enc_put_be32(at, crc32c_extend(0, buf_bytes(&covered)));
	buf_fini(&covered);
}

Test(record, lengths_beyond_the_limits_are_no_record)
{
	static const struct {
		uint32_t head;
		uint32_t body;
		int want;
	} cases[] = {
		{ RECORD_HEAD_MAX, 0, 0 },
		{ RECORD_HEAD_MAX + 1, 0, ERR_CORRUPT },
		{ 8, RECORD_BODY_MAX, 0 },
		{ 8, RECORD_BODY_MAX + 1, ERR_CORRUPT },
		{ 8, UINT32_MAX, ERR_CORRUPT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b = { 0 };
		struct record r = { 0 };

		claim(&b, cases[i].head, cases[i].body, cases[i].head);
		cr_expect(record_decode_head(buf_bytes(&b), SALT, 0, &r,
					     NULL) == cases[i].want,
			  "%u %u", cases[i].head, cases[i].body);
		buf_fini(&b);
	}
}

/*
 * Files in which a letter stands for each piece, and what an iterator reports:
 * "." for a record, "!" for a record whose body is damaged, and offset+length
 * for a stretch that is no record, with "t" if it is at the end of the file.
 *
 * r: a record of 48 bytes. b: a record whose body is damaged. h: a record whose
 * head is damaged. c: the first 40 bytes of a record. o: a record of another
 * file. m: a record that was written for another place. z: 16 zeros. j: 24
 * bytes of junk. k: 3 bytes of junk.
 *
 * The head of "c" is whole, so its length of 48 bytes is believed. If a record
 * follows, its first 8 bytes are taken as the end of the body of "c".
 */
static const struct {
	const char *file;
	const char *want;
	uint64_t end;
} layouts[] = {
	{ "", "", 0 },
	{ "r", ".", 48 },
	{ "rrr", "...", 144 },
	{ "rz", ".", 48 },
	{ "zz", "", 0 },
	{ "rzr", "..", 112 },
	{ "hr", "0+48 .", 96 },
	{ "rhr", ".48+48 .", 144 },
	{ "rhhr", ".48+96 .", 192 },
	{ "rbr", ".!.", 144 },
	{ "rj", ".48+24t ", 48 },
	{ "rk", ".48+3t ", 48 },
	{ "k", "0+3t ", 0 },
	{ "rjz", ".48+40t ", 48 },
	{ "rzj", ".48+40t ", 48 },
	{ "rzjr", ".48+40 .", 136 },
	{ "rc", ".48+40t ", 48 },
	{ "rcr", ".!96+40t ", 96 },
	{ "ror", ".48+48 .", 144 },
	{ "rmr", ".48+48 .", 144 },
	{ "hjh", "0+120t ", 0 },
	{ "jrjrj", "0+24 .72+24 .144+24t ", 144 },
};

static void add_letter(char c, uint64_t base, struct buf *out)
{
	uint64_t at = base + out->len + (c == 'm' ? 8 : 0);
	size_t start = out->len;

	switch (c) {
	case 'z':
		buf_add(out, (uint8_t[16]){ 0 }, 16);
		break;
	case 'j':
	case 'k':
		for (int i = 0; i < (c == 'j' ? 24 : 3); i++)
			buf_byte(out, 0xff);
		break;
	default:
		add_record(out, c == 'o' ? OTHER : SALT, at, 8, 8);
	}
	if (c == 'b')
		out->ptr[start + 47] ^= 1;
	if (c == 'h')
		out->ptr[start + 32] ^= 1;
	if (c == 'c')
		out->len = start + 40;
}

static void note_stretch(void *ctx, uint64_t offset, uint64_t len, bool torn)
{
	buf_printf(ctx, "%d+%d%s ", (int)offset, (int)len, torn ? "t" : "");
}

Test(record, the_next_record_is_found_behind_damage)
{
	uint64_t base = (uint64_t)7 << 32;

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		struct buf file = { 0 };
		struct buf got = { 0 };
		struct record_iter it = { .salt = SALT,
					  .base = base,
					  .damaged = note_stretch,
					  .ctx = &got };
		struct record r;

		for (const char *c = layouts[i].file; *c; c++)
			add_letter(*c, base, &file);
		it.file = buf_bytes(&file);
		while (record_next(&it, &r))
			buf_str(&got, r.body_ok ? "." : "!");
		cr_expect(str_is(str_from(buf_bytes(&got)), layouts[i].want),
			  "%s: %s", layouts[i].file, buf_cstr(&got));
		cr_expect(it.end == layouts[i].end, "%s", layouts[i].file);
		cr_expect(!record_next(&it, &r), "the end stays the end");
		buf_fini(&file);
		buf_fini(&got);
	}
}

Test(record, nobody_need_listen_to_damage)
{
	struct buf file = { 0 };
	struct record_iter it = { .salt = SALT };
	struct record r;

	add_letter('j', 0, &file);
	add_letter('r', 0, &file);
	it.file = buf_bytes(&file);
	cr_assert(record_next(&it, &r) == 1);
	cr_expect(r.position == 24);
	cr_expect(record_next(&it, &r) == 0);
	buf_fini(&file);
}
