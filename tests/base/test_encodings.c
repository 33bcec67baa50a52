/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as text and numbers as bytes: views, base64, varints, checksums and
 * digests. They are tested with the vectors that their standards publish.
 */
#include "base/base64.h"
#include "base/crc32c.h"
#include "base/dec.h"
#include "base/digest.h"
#include "base/enc.h"
#include "base/hash.h"
#include "tests/check.h"

TestSuite(encodings, .timeout = 30);

static struct bytes view(const void *p, size_t n)
{
	return (struct bytes){ .ptr = p, .len = n };
}

/* Returns the bytes as lower-case hexadecimal digits. */
static const char *hex_of(const uint8_t *p, size_t n)
{
	static char text[129];

	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", p[i]);
	return text;
}

Test(encodings, texts_are_cut_at_the_first_separator)
{
	static const struct {
		const char *text;
		const char *head;
		const char *rest;
	} cases[] = {
		{ "a=b=c", "a", "b=c" }, { "a=", "a", "" }, { "=b", "", "b" },
		{ "abc", "abc", "" },    { "=", "", "" },   { "", "", "" },
	};
	struct str rest = { .ptr = "x", .len = 1 };
	struct str head;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		head = str_cut(str_of(cases[i].text), '=', &rest);
		cr_expect(check_str(head, cases[i].head), "%s", cases[i].text);
		cr_expect(check_str(rest, cases[i].rest), "%s", cases[i].text);
	}
	head = str_cut((struct str){ 0 }, '=', &rest);
	cr_assert(!head.len);
	cr_expect(!rest.len);
	head = str_cut((struct str){ .ptr = "a\0b", .len = 3 }, 0, &rest);
	cr_assert(check_str(head, "a"));
	cr_expect(check_str(rest, "b"));
	/* The rest may be the variable that is cut. */
	rest = str_of("x,y");
	head = str_cut(rest, ',', &rest);
	cr_assert(check_str(head, "x"));
	cr_expect(check_str(rest, "y"));
}

Test(encodings, texts_are_trimmed_and_compared)
{
	cr_expect(check_str(str_trim(str_of(" \t\r\na b\n ")), "a b"));
	cr_expect(check_str(str_trim(str_of(" \n ")), ""));
	cr_expect(!str_trim((struct str){ 0 }).len);
	cr_expect(check_str(str_trim(str_of("\v a")), "\v a"));
	cr_expect(str_is_nocase(str_of("KeEp"), "keep"));
	cr_expect(!str_is_nocase(str_of("keeper"), "keep"));
	cr_expect(!str_is_nocase(str_of("kee"), "keep"));
	cr_expect(str_eq((struct str){ 0 }, str_of("")));
	cr_expect(str_eq(str_of(NULL), str_of("")));
	cr_expect(!str_is((struct str){ .ptr = "a\0b", .len = 3 }, "a"));
	cr_assert(str_starts(str_of("abc"), str_of("ab")));
	cr_assert(str_starts(str_of("abc"), (struct str){ 0 }));
	cr_assert(str_starts(str_of("abc"), str_of("abc")));
	cr_expect(!str_starts(str_of("ab"), str_of("abc")));
	cr_assert(bytes_eq(view(NULL, 0), view("", 0)));
	cr_assert(!bytes_eq(view("a", 1), view("b", 1)));
	cr_expect(!bytes_eq(view("ab", 1), view("ab", 2)));
}

Test(encodings, utf8_sequences_are_measured_one_by_one)
{
	static const struct {
		const char *text;
		size_t len; /* of the first character; 0: it is not valid */
	} cases[] = {
		{ "", 0 },
		{ "a\x80", 1 },
		{ "\x7f", 1 },
		{ "\xc2\x80", 2 },
		{ "\xdf\xbf\xff", 2 },
		{ "\xe0\xa0\x80", 3 },
		{ "\xed\x9f\xbf", 3 },
		{ "\xee\x80\x80", 3 },
		{ "\xef\xbf\xbf", 3 },
		{ "\xf0\x90\x80\x80", 4 },
		{ "\xf4\x8f\xbf\xbf", 4 },
		{ "\xbf", 0 },
		{ "\xc2", 0 },
		{ "\xc2\xc0", 0 },
		{ "\xed\xbf\xbf", 0 },
		{ "\xf0\x90\x80", 0 },
		{ "\xf1\x80\x80\xc0", 0 },
		{ "\xfe", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(str_utf8_len(str_of(cases[i].text)) == cases[i].len,
			  "case %zu", i);
	cr_expect(str_utf8_len((struct str){ .ptr = "", .len = 1 }) == 1,
		  "a NUL is a character");
}

Test(encodings, bytes_that_are_not_utf8_are_replaced_one_by_one)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{ "", "" },
		{ "a\xc3\xa9z", "a\xc3\xa9z" },
		{ "\xff", "<>" },
		{ "a\xed\xbf\xbfz", "a<><><>z" },
		{ "\xf0\x90\x80", "<><><>" },
		{ "\xc2\xc3\xa9", "<>\xc3\xa9" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b = { 0 };

		buf_utf8(&b, str_of(cases[i].text), "<>");
		cr_expect(
			str_eq(str_from(buf_bytes(&b)), str_of(cases[i].want)),
			"case %zu", i);
		buf_fini(&b);
	}
}

Test(encodings, base64_is_that_of_rfc_4648)
{
	/*
	 * The vectors of section 10. The bytes of `all` have every value of a
	 * base64 digit, in order.
	 */
	static const struct {
		const char *text;
		const char *bytes;
	} vectors[] = {
		{ "", "" },
		{ "Zg==", "f" },
		{ "Zm8=", "fo" },
		{ "Zm9v", "foo" },
		{ "Zm9vYg==", "foob" },
		{ "Zm9vYmE=", "fooba" },
		{ "Zm9vYmFy", "foobar" },
	};
	static const char *const refused[] = {
		"Zg=",      "Zg",   "Z",        "Zg==Zg==",   "Z===",
		"A===",     "=Zg=", "Zh==",     "Zm9=",       "Zm9v\n",
		"Zm 9v===", "Zm-_", "Zm9v====", "\xc3\xa9Zg",
	};
	static const uint8_t all[] = { 0x00, 0x10, 0x83, 0x10, 0x51, 0x87, 0x20,
				       0x92, 0x8b, 0x30, 0xd3, 0x8f, 0x41, 0x14,
				       0x93, 0x51, 0x55, 0x97, 0x61, 0x96, 0x9b,
				       0x71, 0xd7, 0x9f, 0x82, 0x18, 0xa3, 0x92,
				       0x59, 0xa7, 0xa2, 0x9a, 0xab, 0xb2, 0xdb,
				       0xaf, 0xc3, 0x1c, 0xb3, 0xd3, 0x5d, 0xb7,
				       0xe3, 0x9e, 0xbb, 0xf3, 0xdf, 0xbf };
	struct buf b = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		buf_reset(&b);
		cr_expect(base64_decode(str_of(vectors[i].text), &b));
		cr_expect(check_str(str_from(buf_bytes(&b)), vectors[i].bytes));
	}
	buf_reset(&b);
	buf_str(&b, "kept");
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		cr_expect(!base64_decode(str_of(refused[i]), &b), "%s",
			  refused[i]);
	cr_expect(!base64_decode((struct str){ "Zm\0v", 4 }, &b));
	cr_expect(check_str(str_from(buf_bytes(&b)), "kept"));
	buf_reset(&b);
	cr_expect(base64_decode(
		str_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		       "0123456789+/"),
		&b));
	cr_expect(bytes_eq(buf_bytes(&b), view(all, sizeof(all))));
	buf_fini(&b);
}

Test(encodings, crc32c_is_that_of_rfc_3720)
{
	/*
	 * The vectors of section B.4, of which the last is a SCSI read command.
	 */
	static const uint8_t command[48] = {
		0x01,        0xc0,        [16] = 0x14, [22] = 0x04,
		[27] = 0x14, [31] = 0x18, 0x28,        [40] = 0x02,
	};
	uint8_t bytes[4][32];
	static const uint32_t want[4] = { 0x8a9136aa, 0x62a8ab43, 0x46dd794e,
					  0x113fdb5c };

	for (size_t i = 0; i < 32; i++) {
		bytes[0][i] = 0;
		bytes[1][i] = 0xff;
		bytes[2][i] = (uint8_t)i;
		bytes[3][i] = (uint8_t)(31 - i);
	}
	for (size_t i = 0; i < 4; i++) {
		cr_expect(crc32c_extend(0, view(bytes[i], 32)) == want[i]);
		cr_expect(crc32c_portable(0, view(bytes[i], 32)) == want[i]);
	}
	cr_expect(crc32c_extend(0, view(command, 48)) == 0xd9963a56);
	cr_expect(crc32c_portable(0, view(command, 48)) == 0xd9963a56);
	cr_expect(crc32c_extend(0, view(NULL, 0)) == 0);
	cr_expect(crc32c_extend(7, view(NULL, 0)) == 7);
	/* Bytes that are not aligned, with last parts of all lengths. */
	for (size_t at = 0; at < 8; at++) {
		for (size_t n = 0; n < 24; n++)
			cr_expect(crc32c_extend(9, view(bytes[2] + at, n)) ==
				  crc32c_portable(9, view(bytes[2] + at, n)));
	}
}

Test(encodings, sha256_is_that_of_fips_180)
{
	static const struct {
		const char *text;
		const char *digest;
	} vectors[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb924"
		      "27ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223"
			 "b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039"
		  "a33ce45964ff2167f6ecedd419db06c1" },
	};
	uint8_t out[DIGEST_SHA256_SIZE];
	struct buf million = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		digest_sha256(bytes_of(str_of(vectors[i].text)), out);
		cr_expect(!strcmp(hex_of(out, sizeof(out)), vectors[i].digest),
			  "%s", vectors[i].text);
	}
	for (size_t i = 0; i < 1000000; i++)
		buf_byte(&million, 'a');
	digest_sha256(buf_bytes(&million), out);
	cr_expect(!strcmp(hex_of(out, sizeof(out)),
			  "cdc76e5c9914fb9281a1c7e284d73e67"
			  "f1809a48a497200e046d39ccc7112cd0"));
	buf_fini(&million);
}

Test(encodings, md5_is_that_of_rfc_1321)
{
	static const struct {
		const char *text;
		const char *digest;
	} vectors[] = {
		{ "", "d41d8cd98f00b204e9800998ecf8427e" },
		{ "a", "0cc175b9c0f1b6a831c399e269772661" },
		{ "message digest", "f96b697d7cb7938d525a2f31aaf161d0" },
		{ "1234567890123456789012345678901234567890"
		  "1234567890123456789012345678901234567890",
		  "57edf4a22be3c955ac49da2e2107b67a" },
	};
	uint8_t out[DIGEST_MD5_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		digest_md5(bytes_of(str_of(vectors[i].text)), out);
		cr_expect(!strcmp(hex_of(out, sizeof(out)), vectors[i].digest),
			  "%s", vectors[i].text);
	}
}

Test(encodings, the_hash_sees_every_byte_and_the_length)
{
	uint8_t bytes[300] = { 0 };

	for (size_t n = 0; n < sizeof(bytes); n++)
		cr_expect(hash_bytes(view(bytes, n)) !=
			  hash_bytes(view(bytes, n + 1)));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		uint64_t before = hash_bytes(view(bytes, sizeof(bytes)));

		bytes[i] ^= 1;
		cr_expect(hash_bytes(view(bytes, sizeof(bytes))) != before);
	}
	cr_expect(hash_bytes(view(NULL, 0)) == hash_bytes(view(bytes, 0)));
}

Test(encodings, varints_are_written_as_leb128_and_zigzag)
{
	static const struct {
		int64_t v;
		bool is_signed;
		const char *hex;
	} cases[] = {
		{ 0, false, "00" },
		{ 127, false, "7f" },
		{ 128, false, "8001" },
		{ 16383, false, "ff7f" },
		{ 16384, false, "808001" },
		{ 300, false, "ac02" },
		{ -1, false, "ffffffffffffffffff01" },
		{ 0, true, "00" },
		{ -1, true, "01" },
		{ 1, true, "02" },
		{ 63, true, "7e" },
		{ -64, true, "7f" },
		{ 64, true, "8001" },
		{ INT64_MAX, true, "feffffffffffffffff01" },
		{ INT64_MIN, true, "ffffffffffffffffff01" },
	};
	struct buf b = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		buf_reset(&b);
		if (cases[i].is_signed)
			enc_svarint(&b, cases[i].v);
		else
			enc_uvarint(&b, (uint64_t)cases[i].v);
		cr_expect(!strcmp(hex_of(b.ptr, b.len), cases[i].hex),
			  "case %zu: %s", i, hex_of(b.ptr, b.len));
	}
	buf_fini(&b);
}

Test(encodings, integers_are_written_with_the_largest_byte_first)
{
	struct buf b = { 0 };
	uint8_t at[13];

	enc_be16(&b, 0x0102);
	enc_be32(&b, 0x03040506);
	enc_be64(&b, 0x0708090a0b0c0d0e);
	cr_expect(
		!strcmp(hex_of(b.ptr, b.len), "0102030405060708090a0b0c0d0e"));
	enc_put_be32(at, 0x01020304);
	enc_put_be64(at + 5, 0x05060708090a0b0c);
	cr_expect(!strcmp(hex_of(at, 4), "01020304"));
	cr_expect(!strcmp(hex_of(at + 5, 8), "05060708090a0b0c"));
	buf_fini(&b);
}

Test(encodings, padding_fills_up_to_the_next_multiple)
{
	for (size_t align = 1; align <= 64; align *= 2) {
		for (size_t n = 0; n <= 65; n++) {
			struct buf b = { 0 };

			for (size_t i = 0; i < n; i++)
				buf_byte(&b, 0xff);
			enc_pad(&b, align);
			cr_assert(b.len % align == 0);
			cr_expect(b.len < n + align);
			for (size_t i = n; i < b.len; i++)
				cr_expect(!b.ptr[i]);
			buf_fini(&b);
		}
	}
}

Test(encodings, the_first_failed_read_spoils_those_that_follow)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct dec d = dec_init(view(bytes, 3));

	cr_assert(dec_be32(&d) == 0);
	cr_expect(d.bad);
	cr_assert(dec_u8(&d) == 0);
	cr_expect(dec_left(&d) == 0);
	cr_assert(dec_be16(&d) == 0);
	cr_expect(dec_uvarint(&d) == 0);
	cr_assert(dec_bytes(&d, 0).len == 0);
	cr_expect(dec_str(&d).len == 0);
	cr_expect(d.bad);
	d = dec_init(view(bytes, 7));
	cr_assert(dec_be64(&d) == 0);
	cr_expect(d.bad);
	d = dec_init(view(bytes, 1));
	cr_assert(dec_be16(&d) == 0);
	cr_expect(d.bad);
	d = dec_init(view(bytes, 8));
	cr_assert(dec_bytes(&d, SIZE_MAX).len == 0);
	cr_expect(d.bad);
	d = dec_init(view(bytes, 8));
	cr_assert(dec_be64(&d) == 0x0102030405060708);
	cr_expect(!d.bad);
	cr_assert(dec_bytes(&d, 0).len == 0, "nothing is there");
	cr_expect(!d.bad, "nothing is there");
	d = dec_init(view(NULL, 0));
	cr_assert(!dec_left(&d));
	cr_expect(!d.bad);
	cr_assert(dec_uvarint(&d) == 0);
	cr_expect(d.bad);
}

Test(encodings, varints_end_within_ten_bytes_and_64_bits)
{
	static const struct {
		const char *bytes;
		size_t n;
		uint64_t v;
		bool bad;
	} cases[] = {
		{ "\x7f", 1, 127, false },
		{ "\xff\x7f", 2, 16383, false },
		{ "\x80\x00", 2, 0, false },
		{ "\x80\x80\x01", 3, 16384, false },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX,
		  false },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, 0, true },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 10, 0, true },
		{ "\x80", 1, 0, true },
		{ "\xff\xff", 2, 0, true },
		{ "\x80\x80\x80", 3, 0, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dec d = dec_init(view(cases[i].bytes, cases[i].n));

		cr_expect(dec_uvarint(&d) == cases[i].v, "case %zu", i);
		cr_expect(d.bad == cases[i].bad, "case %zu", i);
		cr_expect(d.bad || !dec_left(&d), "case %zu", i);
	}
}

Test(encodings, counts_and_lengths_stay_in_their_bounds)
{
	static const uint8_t bytes[] = { 5, 'a', 'b', 'c', 'd', 'e', 'f' };
	static const uint8_t lie[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				       0xff, 0xff, 0xff, 0x01, 'a' };
	struct dec d = dec_init(view(bytes, 7));

	cr_assert(dec_count(&d, 5) == 5);
	cr_expect(!d.bad);
	d = dec_init(view(bytes, 7));
	cr_assert(dec_count(&d, 4) == 0);
	cr_expect(d.bad);
	d = dec_init(view(bytes, 7));
	cr_assert(check_str(dec_str(&d), "abcde"));
	cr_expect(dec_left(&d) == 1);
	d = dec_init(view(bytes, 6));
	cr_assert(check_str(dec_str(&d), "abcde"));
	cr_expect(!d.bad);
	d = dec_init(view(bytes, 5));
	cr_assert(dec_str(&d).len == 0);
	cr_expect(d.bad);
	d = dec_init(view(lie, sizeof(lie)));
	cr_assert(dec_str(&d).len == 0, "a length beyond memory");
	cr_expect(d.bad, "a length beyond memory");
}

Test(encodings, an_encoder_without_room_says_so)
{
	struct buf b = buf_init(6);

	enc_str(&b, str_of("abcde"));
	cr_assert(!b.over);
	cr_assert(b.len == 6);
	cr_expect(!memcmp(b.ptr, "\5abcde", 6));
	enc_be64(&b, 1);
	cr_assert(b.over);
	cr_expect(b.len == 6);
	buf_fini(&b);
	enc_str(&b, (struct str){ 0 });
	cr_assert(b.len == 1);
	cr_expect(!b.ptr[0]);
	buf_fini(&b);
}
