/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats: worked examples of docs/format/ are what the writers write,
 * and no truncation or bit flip of a file goes unnoticed.
 */
#include "base/crc32c.h"
#include "base/dec.h"
#include "base/enc.h"
#include "base/file.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "model/types.h"
#include "tests/check.h"
#include "tests/pages.h"
#include "tests/tempdir.h"
#include "tests/tsdb/sample.h"
#include "tsdb/block/block_writer.h"
#include "tsdb/block/known_labels.h"
#include "tsdb/chunk/chunk_meta.h"
#include "tsdb/db/state.h"
#include "tsdb/head/head.h"
#include "tsdb/head/head_open.h"
#include "tsdb/wal/segment_format.h"

TestSuite(format, .timeout = 60);

#define SALT 0x0102030405060708u

static struct labels *example_labels(void)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;

	labels_set(&b, str_of("__name__"), str_of("heap"));
	labels_set(&b, str_of("job"), str_of("app"));
	if (labels_build(&b, &ls, NULL))
		abort();
	labels_builder_fini(&b);
	return ls;
}

static void example_segment(struct buf *out)
{
	struct file_header h = { .magic = MAGIC_SEGMENT,
				 .salt = SALT,
				 .number = 1 };
	struct labels *ls = example_labels();
	struct typeset none = { .count = 0 };
	struct segment_dir dir = { 0 };
	struct buf types = { 0 };
	struct sample s = { .labels = ls,
			    .ms = 1000,
			    .body = bytes_of(str_of("abc")),
			    .raw_len = 3 };
	struct segment_entry e = { .lsn = (uint64_t)1 << 32 | FILE_HEADER,
				   .ms = 1000,
				   .raw_len = 3 };

	typeset_encode(&none, &types);
	s.typeset = buf_bytes(&types);
	s.hash = hash_bytes(s.body);
	file_header_encode(&h, out);
	cr_assert(!segment_profile_encode(
		&s,
		&(struct segment_place){ .kind = SEGMENT_PROFILE,
					 .number = 1,
					 .lsn = e.lsn,
					 .salt = SALT },
		out, NULL));
	e.len = (uint32_t)(out->len - FILE_HEADER);
	e.hash = s.hash;
	e.labels = labels_bytes(ls);
	e.typeset = s.typeset;
	segment_dir_number(&dir, 1);
	segment_dir_add(&dir, &e);
	segment_dir_encode(&dir, SALT, (uint64_t)1 << 32 | out->len, out);
	segment_dir_fini(&dir);
	buf_fini(&types);
	labels_unref(ls);
}

Test(format, segment_is_encoded_as_documented)
{
	struct buf b = { 0 };

	example_segment(&b);
	cr_expect(in_page("segment.md", &b));
	buf_fini(&b);
}

Test(format, state_is_encoded_as_documented)
{
	struct retired_span span = { .to_ms = 7200000,
				     .first_lsn = 0x100000040,
				     .last_lsn = 0x100000100 };
	struct state s = { .clock = { .trusted_ms = 1000 },
			   .spans = &span,
			   .span_count = 1 };
	struct state back = { 0 };
	struct buf b = { 0 };

	state_encode(&s, SALT, &b);
	cr_expect(in_page("state.md", &b));
	cr_expect(!state_decode(&back, buf_bytes(&b), NULL));
	cr_assert(back.clock.trusted_ms == 1000);
	cr_expect(back.span_count == 1);
	cr_expect(state_is_retired(&back, 0, 0x100000040));
	cr_expect(!state_is_retired(&back, 7200000, 0x100000040));
	cr_expect(!state_is_retired(&back, 0, 0x100000101));
	state_fini(&back);
	buf_fini(&b);
}

/* Every cut and every flipped bit is noticed. */
Test(format, names_of_sample_labels_are_encoded_as_documented)
{
	const struct str names[] = { str_of("endpoint"), str_of("tenant") };
	const struct sample s = { .label_names = names, .label_name_count = 2 };
	struct tempdir dir = tempdir_make();
	struct known_labels l;
	struct buf b = { 0 };
	struct err err;

	known_labels_init(&l, NULL, dir.path);
	cr_assert(!known_labels_load(&l, false, false, &err));
	cr_assert(!known_labels_note(&l, &s, &err));
	known_labels_encode(&l, SALT, &b);
	cr_expect(in_page("sample-labels.md", &b));
	known_labels_fini(&l);
	tempdir_fini(&dir);
	buf_fini(&b);
}

Test(format, every_damage_to_the_state_file_is_detected)
{
	struct state s = { .clock = { .trusted_ms = 1000, .doubt_ms = 5 } };
	struct buf b = { 0 };

	state_encode(&s, SALT, &b);
	for (size_t n = 0; n < b.len; n++) {
		struct state back = { 0 };
		struct bytes cut = { .ptr = b.ptr, .len = n };

		cr_expect(state_decode(&back, cut, NULL) == ERR_CORRUPT ||
				  n + 8 > b.len,
			  "cut at %zu", n);
		state_fini(&back);
	}
	for (size_t bit = FILE_HEADER * 8; bit < b.len * 8; bit++) {
		struct state back = { 0 };
		int rc;

		b.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
		rc = state_decode(&back, buf_bytes(&b), NULL);
		cr_expect(rc == ERR_CORRUPT || back.clock.trusted_ms == 1000,
			  "bit %zu", bit);
		b.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
		state_fini(&back);
	}
	buf_fini(&b);
}

static void example_head(struct chunk_meta *h, int64_t *totals)
{
	*h = (struct chunk_meta){
		.codec = 1,
		.count = 2,
		.total_count = 1,
		.totals = totals,
		.place = { .offset = 32, .len = 15, .crc = 0x01020304 }
	};
	for (int i = 0; i < 2; i++) {
		h->profiles[i] =
			(struct chunk_profile){ .ms = 1000 + i * 1000,
						.hash = (uint64_t)i + 1,
						.raw_len = 3 };
		totals[i] = 5 + 2 * i;
	}
}

Test(format, chunk_metadata_is_encoded_as_documented)
{
	int64_t totals[CHUNK_PROFILES_MAX];
	struct buf b = { 0 };
	struct chunk_meta h;

	example_head(&h, totals);
	chunk_meta_encode(&h, &b);
	cr_expect(in_page("chunk-meta.md", &b));
	buf_fini(&b);
}

static void record(struct buf *out, uint8_t kind, const struct buf *head)
{
	struct record r = { .position = out->len,
			    .kind = kind,
			    .head = buf_bytes(head) };

	record_encode(&r, SALT, out);
}

/*
 * Writes the log of a head with one series, and with one group if `group` is
 * set.
 */
static void example_log(struct buf *out, bool group)
{
	static const uint8_t ulid[ULID_BYTES];
	struct file_header h = { .magic = MAGIC_GROUPS, .salt = SALT };
	int64_t totals[CHUNK_PROFILES_MAX];
	struct labels *ls = example_labels();
	struct buf b = { 0 };
	struct chunk_meta meta;

	file_header_encode(&h, out);
	enc_svarint(&b, 0);
	enc_be64(&b, 0x0000000100000020u);
	buf_add(&b, ulid, sizeof(ulid));
	record(out, HEAD_SELF, &b);
	buf_reset(&b);
	enc_uvarint(&b, 0);
	enc_str(&b, str_from(labels_bytes(ls)));
	record(out, HEAD_LABELS, &b);
	if (group) {
		struct typeset t = { .count = 1 };
		struct buf types = { 0 };

		t.types[0] = (struct value_type){ str_of("a"), str_of("b") };
		typeset_encode(&t, &types);
		buf_reset(&b);
		enc_uvarint(&b, 0);
		enc_str(&b, str_from(buf_bytes(&types)));
		record(out, HEAD_TYPES, &b);
		buf_reset(&b);
		enc_uvarint(&b, 0);
		enc_uvarint(&b, 0);
		enc_be64(&b, 0x0000000100000100u);
		example_head(&meta, totals);
		chunk_meta_encode(&meta, &b);
		record(out, HEAD_CHUNK, &b);
		buf_fini(&types);
	}
	buf_fini(&b);
	labels_unref(ls);
}

Test(format, head_block_is_encoded_as_documented)
{
	struct buf b = { 0 };

	example_log(&b, false);
	cr_expect(in_page("head-block.md", &b));
	buf_fini(&b);
}

static bool file_in_page(const char *dir, const char *name, const char *fence)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", dir, name);
	struct buf bytes = { 0 };
	bool same;

	cr_assert(!file_slurp(path, &bytes, NULL));
	same = in_block("block.md", fence, &bytes);
	buf_fini(&bytes);
	return same;
}

/*
 * Writes a block with the chunk of the example in chunk-meta.md. Its series is
 * {__name__="heap",job="app"}.
 */
static void write_block(struct block_writer *w)
{
	static const char *const symbols[] = { "__name__", "app", "heap",
					       "job" };
	const struct index_pair pairs[] = { { 0, 2 }, { 3, 1 } };
	int64_t totals[CHUNK_PROFILES_MAX];
	struct index_writer *ix = NULL;
	struct index_chunk chunk = { 0 };
	struct chunk_meta h;

	example_head(&h, totals);
	cr_assert(!block_writer_group(w, &h,
				      bytes_of(str_of("123456789012345")),
				      sample_types(0), 0, NULL));
	cr_assert(!block_writer_stripe(w, (struct bytes){ 0 }, &chunk, NULL));
	cr_assert(!block_writer_index(w, 4, 4 + 8 + 3 + 4 + 3, &ix, NULL));
	for (size_t i = 0; i < 4; i++)
		index_writer_symbol(ix, str_of(symbols[i]));
	index_writer_series(ix, pairs, 2, &chunk, 1);
	cr_assert(!block_writer_finish(w, NULL));
}

Test(format, block_is_encoded_as_documented)
{
	struct tempdir dir = tempdir_make();
	struct block_env env = { .dir = dir.path };
	struct tombstones *t = tombstones_new();
	struct block_writer *w = NULL;
	struct ulid zero = { { 0 } };
	struct buf b = { 0 };

	cr_assert(!block_writer_new(&env, &zero, &w, NULL));
	write_block(w);
	cr_expect(file_in_page(block_writer_path(w), "chunks/000001",
			       "```hex chunks\n"));
	cr_expect(
		file_in_page(block_writer_path(w), "index", "```hex index\n"));
	tombstones_add(t, 3, 1000, 1500);
	tombstones_sort(t);
	tombstones_encode(t, &b);
	cr_expect(in_block("block.md", "```hex tombstones\n", &b));
	tombstones_unref(t);
	buf_fini(&b);
	block_writer_free(w);
	tempdir_fini(&dir);
}

Test(format, chunk_metadata_is_decoded_as_encoded)
{
	int64_t totals[4 * CHUNK_PROFILES_MAX];
	int64_t again[4 * CHUNK_PROFILES_MAX] = { 0 };
	struct chunk_meta h = { .codec = 1,
				.typeset = 300,
				.count = CHUNK_PROFILES_MAX,
				.total_count = 4,
				.totals = totals };
	struct chunk_meta got = { .total_count = 4, .totals = again };
	struct buf b = { 0 };
	uint64_t x = 88172645463325252u;
	int64_t ms = 5;

	for (int i = 0; i < CHUNK_PROFILES_MAX; i++) {
		x = x * 6364136223846793005u + 1;
		ms += 1 + (int64_t)(x >> 40);
		h.profiles[i] =
			(struct chunk_profile){ .ms = ms,
						.duration_ns = (int64_t)x,
						.period = i % 2 ? INT64_MIN :
								  INT64_MAX,
						.sample_count = x >> 3,
						.hash = x * 3,
						.raw_len = (uint32_t)x };
		for (int t = 0; t < 4; t++)
			totals[t * CHUNK_PROFILES_MAX + i] = (int64_t)(x << t);
	}
	memset(&h.place, 0, sizeof(h.place)); /* padding is compared */
	h.place.file = 3;
	h.place.offset = 1u << 31;
	h.place.len = 77;
	h.place.crc = 99;
	h.place.table.offset = 1ull << 33;
	h.place.table.len = 5;
	h.place.table.crc = 1u << 31;
	h.place.first = 6;
	chunk_meta_encode(&h, &b);
	cr_expect(!chunk_meta_decode(buf_bytes(&b), &got, NULL));
	cr_expect(!memcmp(got.profiles, h.profiles, sizeof(h.profiles)));
	cr_expect(!memcmp(again, totals, sizeof(totals)));
	cr_expect(!memcmp(&got.place, &h.place, sizeof(h.place)));
	cr_expect(got.typeset == 300);
	for (size_t n = 0; n < b.len; n++)
		cr_expect(chunk_meta_decode((struct bytes){ b.ptr, n }, &got,
					    NULL) == ERR_CORRUPT);
	buf_fini(&b);
}

struct seen {
	size_t profiles;
	size_t damaged;
	bool torn;
};

static void on_damage(void *ctx, uint64_t offset, uint64_t len, bool torn)
{
	struct seen *s = ctx;

	(void)offset;
	(void)len;
	s->damaged++;
	s->torn = torn;
}

/* Reads a segment's records. Returns false if its header is refused. */
static bool read_segment(struct bytes file, struct seen *s)
{
	struct record_iter it = { .file = file,
				  .base = (uint64_t)1 << 32,
				  .offset = FILE_HEADER,
				  .end = FILE_HEADER,
				  .damaged = on_damage,
				  .ctx = s };
	struct segment_profile p;
	struct file_header h;
	struct record r;

	*s = (struct seen){ 0 };
	if (file_header_decode(file, MAGIC_SEGMENT, &h, NULL))
		return false;
	it.salt = h.salt;
	while (record_next(&it, &r)) {
		if (!r.body_ok)
			s->damaged++;
		else if (!segment_profile_decode(&r, &p, NULL))
			s->profiles++;
	}
	return true;
}

/* Writes a sealed segment, which has three small profiles and a directory. */
static void small_segment(struct buf *out)
{
	struct file_header h = { .magic = MAGIC_SEGMENT,
				 .salt = SALT,
				 .number = 1 };
	struct labels *ls = example_labels();
	struct segment_dir dir = { 0 };
	int64_t totals[1] = { 4 };

	file_header_encode(&h, out);
	for (int i = 0; i < 3; i++) {
		struct sample s = { .labels = ls,
				    .ms = 1000 + i,
				    .body = bytes_of(str_of("abcdefghi")),
				    .raw_len = 9,
				    .typeset = sample_types(0),
				    .totals = totals };
		struct segment_entry e = {
			.lsn = (uint64_t)1 << 32 | out->len,
			.ms = s.ms,
			.labels = labels_bytes(ls),
			.typeset = s.typeset,
		};
		size_t at = out->len;

		cr_assert(!segment_profile_encode(
			&s,
			&(struct segment_place){ .kind = SEGMENT_PROFILE,
						 .number = 1 + (uint64_t)i,
						 .lsn = e.lsn,
						 .salt = SALT },
			out, NULL));
		e.len = (uint32_t)(out->len - at);
		segment_dir_number(&dir, 1 + (uint64_t)i);
		segment_dir_add(&dir, &e);
	}
	segment_dir_encode(&dir, SALT, (uint64_t)1 << 32 | out->len, out);
	segment_dir_fini(&dir);
	labels_unref(ls);
}

Test(format, truncated_segment_ends_at_an_earlier_record)
{
	struct buf b = { 0 };
	struct seen s;
	size_t last = 0;

	small_segment(&b);
	for (size_t n = 0; n <= b.len; n++) {
		bool readable = read_segment((struct bytes){ b.ptr, n }, &s);

		cr_expect(readable == (n >= FILE_HEADER), "n=%zu", n);
		cr_assert(s.profiles >= last);
		cr_expect(s.profiles <= 3);
		cr_assert(s.damaged <= 1);
		cr_expect((!s.damaged || s.torn));
		last = s.profiles;
	}
	cr_expect(last == 3);
	buf_fini(&b);
}

static size_t entries;

static void count_entry(void *ctx, const struct segment_entry *e)
{
	(void)ctx;
	(void)e;
	entries++;
}

/* Whether the directory at the end is whole and reads as three profiles. */
static bool directory_ok(const struct buf *b)
{
	struct bytes footer = { b->ptr + b->len - SEGMENT_FOOTER,
				SEGMENT_FOOTER };
	struct segment_numbers numbers;
	struct record r;
	uint64_t at;

	entries = 0;
	return segment_footer_decode(footer, SALT, &at) && at < b->len &&
	       !record_decode((struct bytes){ b->ptr + at, b->len - at }, SALT,
			      (uint64_t)1 << 32 | at, true, &r, NULL) &&
	       r.body_ok && r.kind == SEGMENT_DIRECTORY &&
	       !segment_dir_decode(r.body, 1, count_entry, NULL, &numbers,
				   NULL) &&
	       entries == 3;
}

Test(format, every_bit_flip_of_a_segment_is_detected)
{
	struct buf b = { 0 };
	struct seen s;
	size_t unnoticed = 0;

	small_segment(&b);
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		b.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (!read_segment(buf_bytes(&b), &s) || s.damaged ||
		    s.profiles < 3 || !directory_ok(&b)) {
			/* Only the record that was hit is lost. */
			cr_expect(s.profiles >= 2 || bit < FILE_HEADER * 8);
		} else {
			unnoticed++;
		}
		b.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/*
	 * The header has two copies, of which one may be damaged, and padding
	 * carries nothing.
	 */
	cr_expect(unnoticed <= FILE_HEADER * 8 + (size_t)(4 * 7 * 8),
		  "%zu of %zu bits", unnoticed, b.len * 8);
	buf_fini(&b);
}

struct loaded {
	size_t series;
	size_t groups;
	int64_t damaged;
	uint64_t flushed;
};

static struct loaded load(struct bytes log)
{
	struct metrics *m = metrics_new();
	struct head_env env = { .interner = interner_new() };
	struct loaded l = { 0 };
	struct head *r;

	env.corruptions = metrics_counter(m, "c", "", NULL);
	env.torn = env.corruptions;
	r = head_new(&env, "x");
	r->lsn = 0x0000000100000020u;
	cr_assert(!file_open(NULL, "/dev/null", FILE_READ, &r->groups, NULL));
	if (head_load(r, log, NULL))
		l.damaged = -1;
	else
		l.damaged = metric_get(env.corruptions);
	l.series = r->index.series;
	for (size_t i = 0; i < l.series; i++) {
		l.groups += r->series[i]->group_count;
		l.flushed = r->series[i]->flushed_lsn;
	}
	head_unref(r);
	interner_free(env.interner);
	metrics_free(m);
	return l;
}

Test(format, every_truncation_and_bit_flip_of_a_head_log_is_detected)
{
	struct buf b = { 0 };
	struct loaded l;
	size_t unnoticed = 0;

	example_log(&b, true);
	l = load(buf_bytes(&b));
	cr_assert(l.series == 1);
	cr_assert(l.groups == 1);
	cr_assert(!l.damaged);
	cr_assert(l.flushed == 0x0000000100000100u);
	for (size_t n = 0; n < b.len; n++) {
		l = load((struct bytes){ b.ptr, n });
		/* A record that lacks only padding is whole. */
		cr_expect(l.groups == 0 || n + 7 >= b.len, "n=%zu", n);
		cr_expect((l.damaged < 0) == (n < FILE_HEADER), "n=%zu", n);
	}
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		b.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
		l = load(buf_bytes(&b));
		unnoticed += !l.damaged;
		b.ptr[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	cr_expect(unnoticed <= FILE_HEADER * 8 + (size_t)(4 * 7 * 8));
	buf_fini(&b);
}

Test(format, flush_without_its_first_chunk_metadata_is_ignored)
{
	/*
	 * These are four flushes. {0, 1} is whole, {?, 1} lost its first chunk
	 * metadata, {0} is whole, and {?, 1} lost its first one, too.
	 */
	static const uint32_t indexes[] = { 0, 1, 1, 0, 1 };
	static const uint64_t lsns[] = { 0, 50, 60, 70, 80 };
	static const uint64_t want[] = { 0, 50, 50, 70, 70 };
	struct buf b = { 0 };
	struct buf head = { 0 };
	int64_t totals[CHUNK_PROFILES_MAX];
	struct chunk_meta h;

	example_log(&b, false);
	example_head(&h, totals);
	h.total_count = 0;
	/*
	 * For i == 2, this is the last chunk metadata of a flush whose first
	 * one did not survive.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(lsns); i++) {
		buf_reset(&head);
		enc_uvarint(&head, 0);
		enc_uvarint(&head, indexes[i]);
		enc_be64(&head, lsns[i]);
		chunk_meta_encode(&h, &head);
		record(&b, HEAD_CHUNK, &head);
		cr_expect(load(buf_bytes(&b)).flushed == want[i], "head %zu",
			  i);
	}
	buf_fini(&head);
	buf_fini(&b);
}

Test(format, newer_format_version_is_refused_with_advice)
{
	struct buf b = { 0 };
	struct file_header h;
	struct err err = { 0 };

	example_segment(&b);
	for (size_t copy = 0; copy < FILE_HEADER; copy += 32) {
		struct bytes covered = { b.ptr + copy, 28 };

		b.ptr[copy + 4] = 2;
		enc_put_be32(b.ptr + copy + 28, crc32c_extend(0, covered));
	}
	cr_expect(file_header_decode(buf_bytes(&b), MAGIC_SEGMENT, &h, &err) ==
		  ERR_UNSUPPORTED);
	cr_expect(strstr(err.msg, "format 2") != NULL);
	buf_fini(&b);
}
