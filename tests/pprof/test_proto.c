/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.proto: what is encoded is decoded again, field by field; decoder and
 * scan have one verdict of any bytes; bodies are unpacked within their limits.
 */
#include "base/enc.h"
#include "base/gzip.h"
#include "base/wire.h"
#include "base/zstd.h"
#include "pprof/proto/decode.h"
#include "pprof/proto/encode.h"
#include "pprof/proto/unpack.h"
#include "tests/mutex_state.h"
#include "tests/pprof/sketch.h"

TestSuite(proto, .timeout = 60);
TestSuite(unpack, .timeout = 60);

#define ROOM (64 * MIB)

/* A profile in which every field of every message is set. */
static struct pprof full(void)
{
	struct pprof p = sketch_raw(
		"samples/count space/bytes",
		"[/bin/app]0x100010|main@m.go:-3:-1>in@i.go:9;0x20 1 -5 "
		"k=v k=w size#-7bytes size#8\n"
		"- -9223372036854775808 9223372036854775807\n"
		"a;b;c@c.go:2:1 0 0 =empty n#0b\n");

	p.mappings.v[0].offset = 0x2000;
	p.mappings.v[0].build_id = strtab_intern(&p.strings, str_of("id"));
	p.mappings.v[0].has_functions = true;
	p.mappings.v[0].has_lines = true;
	p.locations.v[0].folded = true;
	p.lines.v[0].column = 5;
	p.functions.v[0].system_name =
		strtab_intern(&p.strings, (struct str){ "_Z\0\xff", 4 });
	p.time_ns = -1;
	p.duration_ns = INT64_MAX;
	p.period = INT64_MIN;
	p.period_type.type = strtab_intern(&p.strings, str_of("cpu"));
	p.period_type.unit = strtab_intern(&p.strings, str_of("ns"));
	p.default_type = strtab_intern(&p.strings, str_of("space"));
	p.drop_frames = strtab_intern(&p.strings, str_of("drop"));
	p.keep_frames = strtab_intern(&p.strings, str_of("keep"));
	p.doc_url = strtab_intern(&p.strings, str_of("https://x"));
	for (int i = 0; i < 3; i++)
		*vec_add(&p.comments) = strtab_intern(
			&p.strings, str_of(i % 2 ? "two" : "one"));
	return p;
}

static bool same_str(const struct pprof *a, uint32_t i, const struct pprof *b,
		     uint32_t k)
{
	return str_eq(pprof_str(a, i), pprof_str(b, k));
}

static void expect_same_header(const struct pprof *a, const struct pprof *b)
{
	cr_expect(a->time_ns == b->time_ns);
	cr_assert(a->duration_ns == b->duration_ns);
	cr_expect(a->period == b->period);
	cr_expect(same_str(a, a->period_type.type, b, b->period_type.type));
	cr_expect(same_str(a, a->period_type.unit, b, b->period_type.unit));
	cr_expect(same_str(a, a->default_type, b, b->default_type));
	cr_expect(same_str(a, a->drop_frames, b, b->drop_frames));
	cr_expect(same_str(a, a->keep_frames, b, b->keep_frames));
	cr_expect(same_str(a, a->doc_url, b, b->doc_url));
	cr_assert(a->comments.count == b->comments.count);
	for (size_t i = 0; i < a->comments.count; i++)
		cr_expect(same_str(a, a->comments.v[i], b, b->comments.v[i]));
}

static void expect_same_tables(const struct pprof *a, const struct pprof *b)
{
	cr_assert(a->mappings.count == b->mappings.count);
	for (size_t i = 0; i < a->mappings.count; i++) {
		struct pprof_mapping x = a->mappings.v[i];
		struct pprof_mapping y = b->mappings.v[i];

		cr_expect(same_str(a, x.file, b, y.file));
		cr_expect(same_str(a, x.build_id, b, y.build_id));
		cr_assert(x.start == y.start);
		cr_assert(x.limit == y.limit);
		cr_expect(x.offset == y.offset);
		cr_assert(x.has_functions == y.has_functions);
		cr_assert(x.has_filenames == y.has_filenames);
		cr_assert(x.has_lines == y.has_lines);
		cr_expect(x.has_inlines == y.has_inlines);
	}
	cr_assert(a->functions.count == b->functions.count);
	for (size_t i = 0; i < a->functions.count; i++) {
		struct pprof_function x = a->functions.v[i];
		struct pprof_function y = b->functions.v[i];

		cr_expect(same_str(a, x.name, b, y.name));
		cr_expect(same_str(a, x.system_name, b, y.system_name));
		cr_expect(same_str(a, x.file, b, y.file));
		cr_expect(x.start_line == y.start_line);
	}
	cr_assert(a->lines.count == b->lines.count);
	for (size_t i = 0; i < a->lines.count; i++) {
		struct pprof_line x = a->lines.v[i];
		struct pprof_line y = b->lines.v[i];

		cr_assert(x.function == y.function);
		cr_assert(x.line == y.line);
		cr_expect(x.column == y.column);
	}
	cr_assert(a->locations.count == b->locations.count);
	for (size_t i = 0; i < a->locations.count; i++) {
		struct pprof_location x = a->locations.v[i];
		struct pprof_location y = b->locations.v[i];

		cr_assert(x.address == y.address);
		cr_expect(x.mapping == y.mapping);
		cr_assert(x.lines.first == y.lines.first);
		cr_expect(x.lines.count == y.lines.count);
		cr_expect(x.folded == y.folded);
	}
}

Test(proto, every_field_comes_back)
{
	struct pprof p = full();
	struct decoder *d = decoder_new(ROOM);
	struct buf raw = { 0 };
	struct buf again = { 0 };
	struct pprof *got;

	pprof_encode(&p, &raw);
	cr_assert(!decoder_run(d, buf_bytes(&raw), &got, NULL));
	expect_same_header(&p, got);
	expect_same_tables(&p, got);
	cr_expect(sketch_is(got, "samples",
			    "main>in;0x20 1 -5 k=v k=w size#-7bytes size#8\n"
			    "- -9223372036854775808 9223372036854775807\n"
			    "a;b;c 0 0 =empty n#0b\n"));
	pprof_encode(got, &again);
	cr_expect(bytes_eq(buf_bytes(&raw), buf_bytes(&again)));
	decoder_free(d);
	pprof_fini(&p);
	buf_fini(&raw);
	buf_fini(&again);
}

Test(proto, the_bytes_are_those_of_pprofs_encoder)
{
	/*
	 * In order: type {1, 2}, a sample, location 1, function 1, the strings,
	 * and default type 0.
	 */
	static const char want[] = "\x0a\x04\x08\x01\x10\x02"
				   "\x12\x0b\x08\x01\x10\xac\x02"
				   "\x1a\x04\x08\x03\x10\x04"
				   "\x22\x08\x08\x01\x22\x04\x08\x01\x10\x07"
				   "\x2a\x0a\x08\x01\x10\x05\x18\x05\x20\x06"
				   "\x28\x02"
				   "\x32\x00\x32\x01n\x32\x05"
				   "count\x32\x01k\x32\x01v\x32\x01"
				   "f\x32\x01x\x70\x00";
	struct pprof p = sketch_raw("n/count", "f@x:7:2 300 k=v");
	struct buf raw = { 0 };

	pprof_encode(&p, &raw);
	cr_expect(
		bytes_eq(buf_bytes(&raw), (struct bytes){ (const uint8_t *)want,
							  sizeof(want) - 1 }));
	pprof_fini(&p);
	buf_fini(&raw);
	/*
	 * An empty profile is encoded as its empty string and its default type.
	 */
	pprof_reset(&p);
	strtab_intern(&p.strings, str_of(""));
	pprof_encode(&p, &raw);
	cr_assert(raw.len == 4);
	cr_expect(!memcmp(raw.ptr, "\x32\x00\x70\x00", 4));
	pprof_fini(&p);
	buf_fini(&raw);
}

Test(proto, an_encoding_that_does_not_fit_is_noticed)
{
	struct pprof p = full();
	struct buf raw = { 0 };
	struct buf small;

	pprof_encode(&p, &raw);
	small = buf_init(raw.len);
	pprof_encode(&p, &small);
	cr_assert(!small.over);
	cr_expect(small.len == raw.len);
	buf_fini(&small);
	small = buf_init(raw.len - 1);
	pprof_encode(&p, &small);
	cr_expect(small.over);
	buf_fini(&small);
	buf_fini(&raw);
	pprof_fini(&p);
}

/* Labels, as pprof's postDecode makes them. */

/*
 * Adds a label to a sample. The four numbers are those of its key, text, number
 * and unit.
 */
static void add_label(struct buf *sample, const uint64_t v[4])
{
	struct buf label = { 0 };

	for (unsigned i = 0; i < 4; i++) {
		if (!v[i])
			continue;
		enc_uvarint(&label, (i + 1) << 3);
		enc_uvarint(&label, v[i]);
	}
	enc_uvarint(sample, 3 << 3 | 2);
	enc_str(sample, str_from(buf_bytes(&label)));
	buf_fini(&label);
}

Test(proto, a_label_is_a_text_or_a_number)
{
	/* String 1 is "a", 2 is "b", 3 is out of range. */
	static const struct {
		uint64_t v[4];    /* key, text, number, unit */
		const char *want; /* NULL: refused */
	} table[] = {
		{ { 1, 2, 0, 0 }, "- 1 a=b\n" },
		{ { 1, 0, 5, 0 }, "- 1 a#5\n" },
		{ { 1, 0, 5, 2 }, "- 1 a#5b\n" },
		{ { 1, 0, 0, 2 }, "- 1 a#0b\n" },
		{ { 1, 2, 5, 2 }, "- 1 a=b\n" },
		{ { 1, 2, 5, 3 }, "- 1 a=b\n" },
		{ { 1, 0, 0, 0 }, "- 1\n" },
		{ { 0, 0, 0, 0 }, "- 1\n" },
		{ { 0, 2, 0, 0 }, "- 1 =b\n" },
		{ { 1, 0, 5, 3 }, NULL },
		{ { 1, 0, 0, 3 }, NULL },
		{ { 3, 0, 0, 0 }, NULL },
		{ { 1, 3, 0, 0 }, NULL },
		{ { 1, (uint64_t)1 << 32, 0, 0 }, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct decoder *d = decoder_new(ROOM);
		struct scanner *s = scanner_new();
		struct scan *scan = mem_new(struct scan);
		struct buf sample = { 0 };
		struct buf raw = { 0 };
		struct pprof *p;
		int rc;

		buf_add(&sample, "\x10\x01", 2);
		add_label(&sample, table[i].v);
		buf_add(&raw,
			"\x0a\x00\x32\x00\x32\x01"
			"a"
			"\x32\x01"
			"b",
			10);
		enc_uvarint(&raw, 2 << 3 | 2);
		enc_str(&raw, str_from(buf_bytes(&sample)));
		rc = decoder_run(d, buf_bytes(&raw), &p, NULL);
		cr_expect(rc == (table[i].want ? 0 : ERR_INVALID), "%zu", i);
		cr_expect(scanner_run(s, buf_bytes(&raw), scan, NULL) == rc,
			  "%zu: the scan disagrees", i);
		if (!rc && table[i].want)
			cr_expect(sketch_is(p, "label", table[i].want));
		buf_fini(&sample);
		buf_fini(&raw);
		mem_free(scan);
		scanner_free(s);
		decoder_free(d);
	}
}

Test(proto, sample_types_are_at_most_256)
{
	struct decoder *d = decoder_new(ROOM);
	struct scanner *s = scanner_new();
	struct scan *scan = mem_new(struct scan);
	struct buf raw = { 0 };
	struct pprof *p;
	struct err err;

	buf_add(&raw, "\x32\x00", 2);
	for (int i = 0; i < 256; i++)
		buf_add(&raw, "\x0a\x00", 2);
	cr_assert(!decoder_run(d, buf_bytes(&raw), &p, NULL));
	cr_expect(p->types.count == 256);
	cr_assert(!scanner_run(s, buf_bytes(&raw), scan, NULL));
	cr_expect(scan->types.count == 256);
	buf_add(&raw, "\x0a\x00", 2);
	cr_expect(decoder_run(d, buf_bytes(&raw), &p, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "256") != NULL);
	cr_expect(scanner_run(s, buf_bytes(&raw), scan, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "256") != NULL);
	buf_fini(&raw);
	mem_free(scan);
	scanner_free(s);
	decoder_free(d);
}

Test(proto, a_decoder_forgets_the_last_profile)
{
	struct decoder *d = decoder_new(ROOM);
	struct pprof a = full();
	struct pprof b = sketch_raw("n/count", "f 1\ng 2\n");
	struct buf raw[2] = { { 0 }, { 0 } };
	struct pprof *p;

	pprof_encode(&a, &raw[0]);
	pprof_encode(&b, &raw[1]);
	for (int round = 0; round < 2; round++) {
		cr_assert(!decoder_run(d, buf_bytes(&raw[0]), &p, NULL));
		cr_assert(p->samples.count == 3);
		cr_expect(p->types.count == 2);
		cr_expect(decoder_run(d, bytes_of(str_of("\x0a\x7f")), &p,
				      NULL) == ERR_INVALID);
		cr_expect(decoder_run(d, (struct bytes){ 0 }, &p, NULL) ==
			  ERR_INVALID);
		cr_assert(!decoder_run(d, buf_bytes(&raw[1]), &p, NULL));
		cr_expect(sketch_is(p, "the second", "f 1\ng 2\n"));
		cr_assert(!p->comments.count);
		cr_assert(!p->time_ns);
		cr_expect(!p->doc_url);
		/* Strings borrow from the bytes. */
		cr_assert(pprof_str(p, 1).ptr > (char *)raw[1].ptr);
		cr_expect(pprof_str(p, 1).ptr <
			  (char *)raw[1].ptr + raw[1].len);
	}
	decoder_free(d);
	decoder_free(NULL);
	pprof_fini(&a);
	pprof_fini(&b);
	buf_fini(&raw[0]);
	buf_fini(&raw[1]);
}

Test(proto, the_bound_on_memory_can_be_changed)
{
	struct decoder *d = decoder_new(256 * KIB);
	struct buf raw = { 0 };
	struct pprof *p;
	struct err err;

	buf_add(&raw, "\x0a\x00\x32\x00", 4);
	for (int i = 0; i < 50000; i++)
		buf_add(&raw, "\x12\x02\x10\x01", 4);
	cr_expect(decoder_run(d, buf_bytes(&raw), &p, &err) == ERR_LIMIT);
	cr_expect(decoder_memory(d) <= 256 * KIB);
	decoder_set_max(d, ROOM);
	cr_expect(!decoder_run(d, buf_bytes(&raw), &p, NULL));
	cr_expect(p->samples.count == 50000);
	cr_expect(decoder_memory(d) > 50000 * sizeof(struct pprof_sample));
	decoder_free(d);
	buf_fini(&raw);
}

/* Decoder and scan. */

static uint64_t roll(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

/* Overwrites, inserts, removes or repeats some bytes. */
static void mutate(struct buf *b, uint64_t *seed)
{
	size_t at = roll(seed) % b->len;
	size_t n = 1 + roll(seed) % 8;

	if (n > b->len - at)
		n = b->len - at;
	switch (roll(seed) % 4) {
	case 0:
		b->ptr[at] = (uint8_t)roll(seed);
		break;
	case 1:
		b->ptr[at] ^= (uint8_t)(1u << roll(seed) % 8);
		break;
	case 2:
		memmove(b->ptr + at, b->ptr + at + n, b->len - at - n);
		b->len -= n;
		break;
	default:
		buf_add(b, "xxxxxxxx", n);
		memmove(b->ptr + at + n, b->ptr + at, b->len - n - at);
		break;
	}
}

Test(proto, the_last_occurrence_of_a_header_field_counts)
{
	/*
	 * Header fields that refer to a string. `good` has string 120, which
	 * does not exist, and then string 0. `bad` has them in the reverse
	 * order.
	 */
	static const uint8_t fields[] = { 7 << 3, 8 << 3, 14 << 3, 15 << 3 };
	struct decoder *d = decoder_new(ROOM);
	struct scanner *s = scanner_new();
	struct scan *scan = mem_new(struct scan);
	struct pprof *got;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const uint8_t good[] = { 0x0a,      0,   0x32,      0,
					 fields[i], 120, fields[i], 0 };
		const uint8_t bad[] = { 0x0a,      0, 0x32,      0,
					fields[i], 0, fields[i], 120 };
		struct bytes b = { good, sizeof(good) };

		cr_expect(!scanner_run(s, b, scan, NULL), "%zu", i);
		cr_expect(!decoder_run(d, b, &got, NULL), "%zu", i);
		b = (struct bytes){ bad, sizeof(bad) };
		cr_expect(scanner_run(s, b, scan, NULL) == ERR_INVALID);
		cr_expect(decoder_run(d, b, &got, NULL) == ERR_INVALID);
	}
	decoder_free(d);
	scanner_free(s);
	mem_free(scan);
}

Test(proto, decoder_and_scan_agree_on_mutants)
{
	struct decoder *d = decoder_new(ROOM);
	struct scanner *s = scanner_new();
	struct scan *scan = mem_new(struct scan);
	struct pprof p = full();
	struct buf raw = { 0 };
	size_t accepted = 0;
	uint64_t seed = 1;

	pprof_encode(&p, &raw);
	for (int i = 0; i < 20000; i++) {
		struct buf b = { 0 };
		int64_t totals[2] = { 0, 0 };
		struct pprof *got;
		int rc;

		buf_add(&b, raw.ptr, raw.len);
		for (uint64_t n = 1 + roll(&seed) % 3; n > 0 && b.len; n--)
			mutate(&b, &seed);
		rc = decoder_run(d, buf_bytes(&b), &got, NULL);
		cr_assert(scanner_run(s, buf_bytes(&b), scan, NULL) == rc,
			  "mutant %d", i);
		if (!rc) {
			cr_assert(scan->sample_count == got->samples.count);
			cr_assert(scan->types.count == got->types.count);
			cr_assert(scan->time_ns == got->time_ns);
			cr_assert(scan->period == got->period);
			cr_assert(scan->duration_ns == got->duration_ns);
			for (size_t k = 0; k < got->samples.count; k++)
				totals[0] = wrap_add(totals[0],
						     pprof_values(got, k)[0]);
			cr_assert(totals[0] == scan->totals[0]);
			accepted++;
		}
		buf_fini(&b);
	}
	/* Both verdicts occur often. */
	cr_assert(accepted > 1000, "%zu", accepted);
	cr_expect(accepted < 19000, "%zu", accepted);
	decoder_free(d);
	scanner_free(s);
	mem_free(scan);
	pprof_fini(&p);
	buf_fini(&raw);
}

/* Unpacking. */

static void add_profile(struct buf *raw, size_t len)
{
	struct pprof p = sketch_raw("n/count", "f 5");

	p.duration_ns = 7;
	p.period = 9;
	pprof_encode(&p, raw);
	/* Pad the profile with unknown fields, up to the length. */
	while (raw->len < len)
		buf_add(raw, "\xa0\x06\x01", raw->len + 3 <= len ? 3 : 0);
	pprof_fini(&p);
}

Test(unpack, a_profile_may_be_as_large_as_the_limit)
{
	struct unpacked *out = mem_new(struct unpacked);
	struct gzip *g = gzip_new();
	struct buf raw = { 0 };
	struct buf packed = { 0 };

	add_profile(&raw, 0);
	gzip_compress(g, 6, buf_bytes(&raw), &packed);
	for (size_t less = 0; less < 2; less++) {
		struct unpacker *u = unpacker_new(raw.len - less);
		int want = less ? ERR_TOOBIG : 0;
		struct err err;

		cr_expect(unpacker_run(u, buf_bytes(&raw), out, &err) == want);
		cr_expect(unpacker_run(u, buf_bytes(&packed), out, &err) ==
			  want);
		if (!less)
			cr_expect(bytes_eq(out->raw, buf_bytes(&raw)));
		unpacker_free(u);
	}
	buf_fini(&raw);
	buf_fini(&packed);
	gzip_free(g);
	mem_free(out);
}

Test(unpack, the_encoding_says_how_a_body_is_stored)
{
	struct unpacked *out = mem_new(struct unpacked);
	struct unpacker *u = unpacker_new(MIB);
	struct zstd *z = zstd_new();
	struct buf raw = { 0 };
	struct buf packed = { 0 };
	struct sample sample = { 0 };
	struct bytes part;

	add_profile(&raw, 0);
	part = buf_bytes(&raw);
	zstd_compress(z, 3, &part, 1, &packed);
	cr_assert(!unpacker_run(u, buf_bytes(&packed), out, NULL));
	cr_expect(out->encoding == BODY_ZSTD);
	unpacked_sample(out, buf_bytes(&packed), &sample);
	cr_expect(bytes_eq(sample.body, buf_bytes(&packed)));
	cr_assert(sample.raw_len == raw.len);
	cr_expect(sample.sample_count == 1);
	cr_assert(sample.totals[0] == 5);
	cr_assert(sample.period == 9);
	cr_expect(sample.duration_ns == 7);
	cr_expect(typeset_count(sample.typeset) == 1);
	cr_expect(sample.hash == out->scan.hash);
	/*
	 * The body has two frames. Readers of stored bodies expect one frame,
	 * so this body is stored without compression.
	 */
	buf_reset(&packed);
	part.len = 5;
	zstd_compress(z, 3, &part, 1, &packed);
	part = (struct bytes){ raw.ptr + 5, raw.len - 5 };
	zstd_compress(z, 3, &part, 1, &packed);
	cr_assert(!unpacker_run(u, buf_bytes(&packed), out, NULL));
	cr_expect(out->encoding == BODY_PLAIN);
	unpacked_sample(out, buf_bytes(&packed), &sample);
	cr_expect(bytes_eq(sample.body, buf_bytes(&raw)));
	unpacker_free(u);
	unpacker_free(NULL);
	zstd_free(z);
	buf_fini(&raw);
	buf_fini(&packed);
	mem_free(out);
}

Test(unpack, names_of_types_have_a_limit_of_their_own)
{
	struct unpacked *out = mem_new(struct unpacked);
	struct unpacker *u = unpacker_new(MIB);
	struct buf raw = { 0 };
	struct buf name = { 0 };
	struct err err;

	for (int i = 0; i < 70000; i++)
		buf_byte(&name, 'x');
	buf_add(&raw, "\x0a\x02\x08\x01\x32\x00", 6);
	enc_uvarint(&raw, 6 << 3 | 2);
	enc_str(&raw, str_from(buf_bytes(&name)));
	cr_expect(unpacker_run(u, buf_bytes(&raw), out, &err) == ERR_TOOBIG);
	cr_expect(strstr(err.msg, "types") != NULL, "%s", err.msg);
	unpacker_free(u);
	buf_fini(&raw);
	buf_fini(&name);
	mem_free(out);
}

Test(unpack, one_unpacker_at_a_time_has_a_large_profile)
{
	struct mutex giant = { PTHREAD_MUTEX_INITIALIZER };
	struct unpacked *out = mem_new(struct unpacked);
	struct unpacker *u = unpacker_new(16 * MIB);
	struct gzip *g = gzip_new();
	struct buf raw = { 0 };
	struct buf small = { 0 };
	struct buf large = { 0 };

	unpacker_share(u, &giant);
	add_profile(&raw, 0);
	gzip_compress(g, 1, buf_bytes(&raw), &small);
	while (raw.len < 5 * MIB)
		buf_add(&raw, "\xa0\x06\x01", 3);
	gzip_compress(g, 1, buf_bytes(&raw), &large);
	cr_assert(!unpacker_run(u, buf_bytes(&small), out, NULL));
	cr_expect(mutex_is_free(&giant), "small ones need no lock");
	cr_assert(!unpacker_run(u, buf_bytes(&large), out, NULL));
	cr_expect(out->raw.len == raw.len);
	cr_expect(!mutex_is_free(&giant), "the lock is held");
	unpacker_done(u);
	cr_expect(mutex_is_free(&giant), "and released");
	cr_assert(!unpacker_run(u, buf_bytes(&large), out, NULL));
	cr_assert(!unpacker_run(u, buf_bytes(&small), out, NULL));
	cr_expect(mutex_is_free(&giant), "released by the next body");
	unpacker_free(u);
	gzip_free(g);
	buf_fini(&raw);
	buf_fini(&small);
	buf_fini(&large);
	mem_free(out);
}
