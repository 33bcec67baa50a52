/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles made by hand: what Go's reader accepts, and what it refuses
 * (docs/decisions.md, the verdict of the scan).
 */
#include <stdlib.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "base/wire.h"
#include "pprof/proto/decode.h"
#include "pprof/proto/unpack.h"
#include "tests/check.h"

TestSuite(scan, .timeout = 10);

static void varint(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_byte(b, (uint8_t)(v | 0x80));
	buf_byte(b, (uint8_t)v);
}

static void number(struct buf *b, unsigned field, uint64_t v)
{
	varint(b, field << 3);
	varint(b, v);
}

static void bytes(struct buf *b, unsigned field, struct bytes v)
{
	varint(b, field << 3 | 2);
	varint(b, v.len);
	buf_add(b, v.ptr, v.len);
}

static void string(struct buf *b, const char *s)
{
	bytes(b, 6, bytes_of(str_of(s)));
}

/*
 * Writes a message as `field`. Its fields 1 … n are the numbers of v, without
 * those that are UINT64_MAX.
 */
static void message(struct buf *b, unsigned field, const uint64_t *v, size_t n)
{
	struct buf m = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (v[i] != UINT64_MAX)
			number(&m, (unsigned)i + 1, v[i]);
	}
	bytes(b, field, buf_bytes(&m));
	buf_fini(&m);
}

#define MESSAGE(b, field, ...)                               \
	message(b, field, (const uint64_t[]){ __VA_ARGS__ }, \
		sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

static void location(struct buf *b, uint64_t id, uint64_t function)
{
	struct buf m = { 0 };

	number(&m, 1, id);
	MESSAGE(&m, 4, function, 7);
	bytes(b, 4, buf_bytes(&m));
	buf_fini(&m);
}

static void sample(struct buf *b, uint64_t location_id, uint64_t value)
{
	struct buf m = { 0 };
	struct buf packed = { 0 };

	varint(&packed, location_id);
	varint(&packed, location_id);
	bytes(&m, 1, buf_bytes(&packed));
	number(&m, 2, value);
	bytes(b, 2, buf_bytes(&m));
	buf_fini(&m);
	buf_fini(&packed);
}

/*
 * Writes a valid profile. Its samples come first and its tables are scattered,
 * because any order of fields is valid.
 */
static void good(struct buf *b)
{
	sample(b, 300, 5);
	sample(b, 1, 7);
	location(b, 1, 9);
	string(b, "");
	string(b, "cpu");
	location(b, 300, 9);
	MESSAGE(b, 1, 1, 2);
	string(b, "nanoseconds");
	MESSAGE(b, 5, 9, 1, 1, 1);
	number(b, 9, 1234);
	number(b, 12, 10000000);
	number(b, 99, 1);
}

static const char *verdict(const struct buf *b, struct scan *out)
{
	static struct err err;
	struct scanner *s = scanner_new();
	int rc = scanner_run(s, buf_bytes(b), out, &err);

	scanner_free(s);
	return rc ? err.msg : "ok";
}

/*
 * Returns whether a good profile gets the verdict `want` when `add` has written
 * more behind it.
 */
static bool with(void (*add)(struct buf *), const char *want)
{
	struct scan *out = mem_new(struct scan);
	struct buf b = { 0 };
	const char *got;
	bool ok;

	good(&b);
	add(&b);
	got = verdict(&b, out);
	ok = strstr(got, want);
	if (!ok)
		fprintf(stderr, "got \"%s\", want \"%s\"\n", got, want);
	buf_fini(&b);
	mem_free(out);
	return ok;
}

Test(scan, finds_types_and_totals_in_any_order)
{
	struct scan *out = mem_new(struct scan);
	struct buf b = { 0 };

	good(&b);
	cr_expect(check_str(str_of(verdict(&b, out)), "ok"));
	cr_assert(out->types.count == 1);
	cr_expect(out->sample_count == 2);
	cr_expect(check_str(out->types.types[0].type, "cpu"));
	cr_expect(check_str(out->types.types[0].unit, "nanoseconds"));
	cr_expect(out->totals[0] == 12);
	cr_assert(out->time_ns == 1234);
	cr_expect(out->period == 10000000);
	buf_fini(&b);
	mem_free(out);
}

static void nothing(struct buf *b)
{
	(void)b;
}

static void string_out_of_range(struct buf *b)
{
	MESSAGE(b, 5, 10, 77);
}

static void negative_string(struct buf *b)
{
	number(b, 14, (uint64_t)-1);
}

static void function_twice(struct buf *b)
{
	MESSAGE(b, 5, 9, 1);
}

static void mapping_zero(struct buf *b)
{
	MESSAGE(b, 3, 0, 5);
}

static void location_zero(struct buf *b)
{
	location(b, 0, 9);
}

static void line_without_function(struct buf *b)
{
	location(b, 5, 0);
}

static void function_missing(struct buf *b)
{
	location(b, 5, 10);
}

static void location_missing(struct buf *b)
{
	sample(b, 2, 1);
}

static void two_values(struct buf *b)
{
	MESSAGE(b, 2, 1, 1);
	MESSAGE(b, 1, 1, 2);
}

static void group_type(struct buf *b)
{
	varint(b, 50 << 3 | 3);
}

static void wrong_type(struct buf *b)
{
	bytes(b, 12, bytes_of(str_of("x")));
}

static void second_time(struct buf *b)
{
	number(b, 9, 99);
}

static void cut_short(struct buf *b)
{
	varint(b, 2 << 3 | 2);
	varint(b, 100);
}

static void eleven_bytes(struct buf *b)
{
	buf_add(b, "\x60\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12);
}

static void excess_bits(struct buf *b)
{
	buf_add(b, "\x60\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11);
}

static void fields_of_the_future(struct buf *b)
{
	buf_add(b, "\x00\x05\x05zzzz\xa1\x01zzzzzzzz", 17);
	number(b, 1u << 28, 3);
}

static void sparse_ids(struct buf *b)
{
	MESSAGE(b, 5, 0x8000000000000001u, 1);
	location(b, 0xffffffffffffffffu, 0x8000000000000001u);
	sample(b, 0xffffffffffffffffu, 1);
}

static void sparse_twice(struct buf *b)
{
	MESSAGE(b, 5, 0x8000000000000001u, 1);
	MESSAGE(b, 5, 0x8000000000000001u, 1);
}

static void mapping_missing(struct buf *b)
{
	MESSAGE(b, 4, 5, 99);
}

/* Write a sample with a label of a key, and a text or a number. */
static void labelled(struct buf *b, uint64_t key, uint64_t text)
{
	struct buf m = { 0 };

	number(&m, 1, 1);
	number(&m, 2, 3);
	if (text)
		MESSAGE(&m, 3, key, text);
	else
		MESSAGE(&m, 3, key, UINT64_MAX, 7);
	bytes(b, 2, buf_bytes(&m));
	buf_fini(&m);
}

Test(scan, names_of_text_labels_are_found_once)
{
	struct scan *out = mem_new(struct scan);
	struct buf b = { 0 };

	labelled(&b, 4, 5);
	good(&b);
	labelled(&b, 3, 5);
	labelled(&b, 4, 6);
	labelled(&b, 5, 0);
	string(&b, "tenant");
	string(&b, "endpoint");
	string(&b, "bytes");
	string(&b, "x");
	cr_assert(!strcmp(verdict(&b, out), "ok"), "%s", verdict(&b, out));
	cr_assert(out->label_name_count == 2 && !out->more_label_names);
	cr_expect(str_is(out->label_names[0], "endpoint"));
	cr_expect(str_is(out->label_names[1], "tenant"));
	buf_fini(&b);
	mem_free(out);
}

Test(scan, of_many_names_of_labels_the_first_are_told)
{
	struct scan *out = mem_new(struct scan);
	struct buf b = { 0 };

	good(&b);
	for (uint64_t i = 0; i < SCAN_LABELS_MAX; i++)
		labelled(&b, 3 + i, 1);
	for (int i = 0; i <= SCAN_LABELS_MAX; i++)
		string(&b, "x");
	cr_assert(!strcmp(verdict(&b, out), "ok"));
	cr_expect(out->label_name_count == SCAN_LABELS_MAX);
	cr_expect(!out->more_label_names);
	labelled(&b, 3 + SCAN_LABELS_MAX, 1);
	cr_assert(!strcmp(verdict(&b, out), "ok"));
	cr_expect(out->label_name_count == SCAN_LABELS_MAX);
	cr_expect(out->more_label_names);
	buf_fini(&b);
	mem_free(out);
}

Test(scan, agrees_with_go_on_what_is_refused)
{
	cr_expect(with(string_out_of_range, "string index is out of range"));
	cr_expect(with(negative_string, "string index is out of range"));
	cr_expect(with(function_twice, "two functions have the same id"));
	cr_expect(with(sparse_twice, "two functions have the same id"));
	cr_expect(with(mapping_zero, "reserved id 0"));
	cr_expect(with(location_zero, "reserved id 0"));
	cr_expect(with(line_without_function,
		       "line of a location has no function"));
	cr_expect(with(function_missing, "missing function"));
	cr_expect(with(location_missing, "missing location"));
	cr_expect(with(two_values, "not have one value for each sample type"));
	cr_expect(with(group_type, "damaged"));
	cr_expect(with(wrong_type, "wrong wire type"));
	cr_expect(with(second_time, "concatenated profiles"));
	cr_expect(with(cut_short, "damaged or truncated"));
	cr_expect(with(eleven_bytes, "damaged or truncated"));
}

Test(scan, agrees_with_go_on_what_is_accepted)
{
	cr_expect(with(nothing, "ok"));
	cr_expect(with(excess_bits, "ok"));
	cr_expect(with(fields_of_the_future, "ok"));
	cr_expect(with(sparse_ids, "ok"));
	cr_expect(with(mapping_missing, "ok"));
}

static void frames_overwritten(struct buf *b)
{
	number(b, 7, 99);
	number(b, 7, 0);
	MESSAGE(b, 11, 99);
	MESSAGE(b, 11, 0);
}

static void frames_out_of_range(struct buf *b)
{
	number(b, 8, 99);
}

Test(scan, last_occurrence_of_a_scalar_field_wins)
{
	struct scan *out = mem_new(struct scan);
	struct buf b = { 0 };

	cr_expect(with(frames_overwritten, "ok"));
	cr_expect(with(frames_out_of_range, "string index is out of range"));
	/* The profile has an empty sample, but no types. */
	string(&b, "");
	bytes(&b, 2, (struct bytes){ 0 });
	cr_expect(strstr(verdict(&b, out), "no sample types") != NULL);
	buf_fini(&b);
	mem_free(out);
}

Test(scan, lines_beyond_the_cached_ones_are_checked)
{
	struct scan *out = mem_new(struct scan);
	struct buf b = { 0 };
	struct buf m = { 0 };

	good(&b);
	number(&m, 1, 77);
	for (int i = 0; i < (1 << 20) + 5; i++)
		MESSAGE(&m, 4, 9);
	bytes(&b, 4, buf_bytes(&m));
	cr_expect(check_str(str_of(verdict(&b, out)), "ok"));
	m.ptr[m.len - 1] = 8; /* the last line's function */
	buf_reset(&b);
	good(&b);
	bytes(&b, 4, buf_bytes(&m));
	cr_expect(strstr(verdict(&b, out), "missing function") != NULL);
	buf_fini(&m);
	buf_fini(&b);
	mem_free(out);
}

/* Whether the decoder takes the bytes for a profile. */
static bool is_decoded(struct bytes raw)
{
	struct decoder *d = decoder_new(MIB);
	struct pprof *p;
	bool ok = !decoder_run(d, raw, &p, NULL);

	decoder_free(d);
	return ok;
}

/* Returns whether a field of the profile ends at n. *last is its number. */
static bool is_field_end(const struct buf *b, size_t n, uint64_t *last)
{
	struct wire w = wire_init(buf_bytes(b));
	struct wire_field f;

	while (w.pos < b->ptr + n && wire_next(&w, &f))
		*last = f.number;
	return w.pos == b->ptr + n;
}

Test(scan, every_truncation_has_a_verdict)
{
	struct scan *out = mem_new(struct scan);
	struct buf b = { 0 };
	size_t accepted = 0;

	good(&b);
	for (size_t n = 0; n <= b.len; n++) {
		struct buf cut = { .ptr = mem_dup(b.ptr, n), .len = n };
		const char *got = verdict(&cut, out);
		uint64_t last = 0;

		if (!n)
			cr_expect(strstr(got, "no data"), "%s", got);
		else if (!is_field_end(&b, n, &last))
			cr_expect(strstr(got, "truncated"), "%zu: %s", n, got);
		else if (last >= 5 && last != 6)
			/*
			 * The function is the last field that other fields
			 * refer to.
			 */
			cr_expect(!strcmp(got, "ok"), "%zu: %s", n, got);
		else
			cr_expect(strstr(got, "missing"), "%zu: %s", n, got);
		cr_expect(is_decoded(buf_bytes(&cut)) == !strcmp(got, "ok"),
			  "%zu: the decoder disagrees", n);
		accepted += !strcmp(got, "ok");
		mem_free(cut.ptr);
	}
	/*
	 * Valid cuts are those behind the function, the time, the period and
	 * field 99.
	 */
	cr_expect(accepted == 4);
	buf_fini(&b);
	mem_free(out);
}

static int unpack(struct bytes body, struct unpacked *out, struct err *err)
{
	struct unpacker *u = unpacker_new(1000);
	int rc = unpacker_run(u, body, out, err);

	unpacker_free(u);
	return rc;
}

Test(scan, compression_is_detected_by_magic_bytes)
{
	struct unpacked *out = mem_new(struct unpacked);
	struct gzip *g = gzip_new();
	struct buf plain = { 0 };
	struct buf packed = { 0 };
	struct err err;

	good(&plain);
	gzip_compress(g, 6, buf_bytes(&plain), &packed);
	cr_expect(!unpack(buf_bytes(&plain), out, &err));
	cr_expect(out->encoding == BODY_PLAIN);
	cr_expect(!unpack(buf_bytes(&packed), out, &err));
	cr_expect(out->encoding == BODY_DEFLATE);
	packed.len--;
	cr_expect(unpack(buf_bytes(&packed), out, &err) == ERR_INVALID);
	cr_expect(unpack(bytes_of(str_of("<html>")), out, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "HTML") != NULL);
	cr_expect(!unpack(bytes_of(str_of("goroutine profile: total 3\n"
					  "3 @ 0x10 0x20\n")),
			  out, &err));
	cr_assert(out->scan.totals[0] == 3);
	cr_expect(out->scan.types.count == 1);
	cr_expect(unpack((struct bytes){ 0 }, out, &err) == ERR_INVALID);
	for (int i = 0; i < 200; i++)
		string(&plain, "padding");
	cr_expect(unpack(buf_bytes(&plain), out, &err) == ERR_TOOBIG);
	buf_fini(&plain);
	buf_fini(&packed);
	gzip_free(g);
	mem_free(out);
}
