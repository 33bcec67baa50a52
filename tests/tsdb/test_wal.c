/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The WAL while it is open: appending, reading back, syncing, going on in a new
 * segment, and removing old ones, on disks that refuse any of it.
 */
#include "tests/tsdb/wal_scene.h"
#include "tsdb/wal/body.h"

TestSuite(wal, .timeout = 60);

/* Whether the record at lsn is that of profile k, body and all. */
static bool is_profile(const struct wal_segment *seg, uint64_t lsn,
		       uint32_t len, int k)
{
	struct body_decoder d = { 0 };
	struct segment_profile p = { 0 };
	struct buf record = { 0 };
	struct buf raw = { 0 };
	struct buf want = { 0 };
	bool same;

	sample_bytes(0, k, &want);
	same = !wal_segment_read(seg, lsn, len, &record, &p, NULL) &&
	       !body_decode(&d, &p, &raw, NULL) &&
	       bytes_eq(buf_bytes(&raw), buf_bytes(&want)) &&
	       p.entry.ms == sample_ms(k) && p.period == k;
	body_decoder_fini(&d);
	buf_fini(&record);
	buf_fini(&raw);
	buf_fini(&want);
	return same;
}

static bool reads(struct wal_scene *s, const struct segment_entry *e, int k)
{
	struct wal_segment *seg = wal_segment(s->w, e->lsn);
	bool same = seg && is_profile(seg, e->lsn, e->len, k);

	wal_segment_unref(seg);
	return same;
}

Test(wal, what_was_appended_is_read_back)
{
	struct wal_scene *s = scene_new();
	struct segment_entry e[20];
	uint64_t end = (uint64_t)1 << 32 | FILE_HEADER;

	cr_assert(wal_end(s->w) == end);
	cr_expect(wal_begin(s->w) == 1ull << 32);
	cr_expect(wal_bytes(s->w) == FILE_HEADER);
	for (int k = 0; k < 20; k++) {
		cr_assert(!add(s, k));
		e[k] = s->last;
		cr_assert(e[k].lsn == end);
		cr_expect(e[k].ms == sample_ms(k));
		end += e[k].len;
		cr_expect(wal_end(s->w) == end);
	}
	for (int k = 0; k < 20; k++)
		cr_expect(reads(s, &e[k], k), "%d", k);
	cr_expect(wal_bytes(s->w) == (uint32_t)end);
	cr_expect((uint64_t)segment_bytes(s, 1) == (uint32_t)end);
	cr_assert(!wal_segment(s->w, 2ull << 32), "no such segment");
	cr_expect(!wal_segment(s->w, 0), "no such segment");
	scene_free(s);
}

Test(wal, a_head_is_read_whatever_length_is_guessed)
{
	static const size_t guesses[] = { 0, 1, 31, 32, 33, 90, 10000 };
	struct wal_scene *s = scene_new();
	struct wal_segment *seg;

	add_all(s, 0, 3);
	seg = wal_segment(s->w, s->last.lsn);
	for (size_t i = 0; i < ARRAY_SIZE(guesses); i++) {
		struct segment_profile p = { 0 };
		struct buf b = { 0 };

		for (size_t n = 0; n < guesses[i]; n++)
			buf_byte(&b, 'x');
		cr_expect(!wal_segment_head(seg, s->last.lsn, s->last.len, &b,
					    &p, NULL),
			  "guess %zu", guesses[i]);
		cr_assert(p.entry.ms == sample_ms(2));
		cr_assert(p.period == 2);
		cr_assert(p.entry.hash == s->last.hash);
		cr_expect(!p.body.len);
		cr_expect(p.entry.len == s->last.len);
		buf_fini(&b);
	}
	wal_segment_unref(seg);
	scene_free(s);
}

/*
 * One byte of a record is damaged. These are the results of reading the record,
 * and of reading only its head.
 */
static const struct {
	const char *name;
	uint32_t offset; /* in the record */
	int read;
	int head;
} damages[] = {
	{ "the length of its head", 0, ERR_CORRUPT, ERR_CORRUPT },
	{ "its kind", 16, ERR_CORRUPT, ERR_CORRUPT },
	{ "its head", 40, ERR_CORRUPT, ERR_CORRUPT },
	{ "its body", 200, ERR_CORRUPT, 0 },
};

Test(wal, damage_to_a_record_names_file_and_offset)
{
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		struct wal_scene *s = scene_new();
		struct segment_profile p;
		struct wal_segment *seg;
		struct buf b = { 0 };
		struct err err = { .msg = "" };
		char offset[16];

		add_all(s, 0, 2);
		seg = wal_segment(s->w, s->last.lsn);
		damage(s, 1, (uint32_t)s->last.lsn + damages[i].offset);
		cr_expect(wal_segment_read(seg, s->last.lsn, s->last.len, &b,
					   &p, &err) == damages[i].read,
			  "%s", damages[i].name);
		snprintf(offset, sizeof(offset), "%u", (uint32_t)s->last.lsn);
		cr_assert(strstr(err.msg, segment_file(s, 1, "")), "%s",
			  err.msg);
		cr_expect(strstr(err.msg, offset), "%s", err.msg);
		cr_expect(wal_segment_head(seg, s->last.lsn, s->last.len, &b,
					   &p, NULL) == damages[i].head,
			  "%s", damages[i].name);
		buf_fini(&b);
		wal_segment_unref(seg);
		scene_free(s);
	}
}

Test(wal, a_record_that_is_not_there_is_not_read)
{
	struct wal_scene *s = scene_new();
	struct buf small = buf_init(64);
	struct buf b = { 0 };
	struct segment_profile p;
	struct wal_segment *seg;
	uint64_t lsn;
	uint32_t len;

	add_all(s, 0, 2);
	lsn = s->last.lsn;
	len = s->last.len;
	seg = wal_segment(s->w, lsn);
	cr_expect(wal_segment_read(seg, lsn + 8, len - 8, &b, &p, NULL) ==
		  ERR_CORRUPT);
	cr_expect(wal_segment_read(seg, lsn, len - 8, &b, &p, NULL) ==
		  ERR_CORRUPT);
	cr_expect(wal_segment_read(seg, lsn, len + 8, &b, &p, NULL) ==
			  ERR_CORRUPT,
		  "behind the end of the file");
	cr_expect(wal_segment_read(seg, lsn, len, &small, &p, NULL) ==
		  ERR_TOOBIG);
	refuse(s, OP(FS_READ), "/wal/", EIO);
	cr_expect(wal_segment_read(seg, lsn, len, &b, &p, NULL) == ERR_IO);
	cr_expect(wal_segment_head(seg, lsn, len, &b, &p, NULL) == ERR_IO);
	s->disk.refused = 0;
	cr_expect(!wal_segment_read(seg, lsn, len, &b, &p, NULL));
	wal_segment_unref(seg);
	buf_fini(&small);
	buf_fini(&b);
	scene_free(s);
}

Test(wal, one_sync_is_enough_for_all_that_came_before)
{
	struct wal_scene *s = scene_new();
	int64_t before = metric_get(s->syncs);
	uint64_t first;

	add_all(s, 0, 1);
	first = s->last.lsn;
	add_all(s, 1, 9);
	cr_expect(!wal_sync(s->w, first + 1, NULL));
	cr_expect(!wal_sync(s->w, wal_end(s->w), NULL));
	cr_expect(!wal_sync(s->w, s->last.lsn, NULL));
	cr_expect(metric_get(s->syncs) == before + 1);
	add_all(s, 9, 10);
	cr_expect(!wal_sync(s->w, s->last.lsn, NULL), "before it, not it");
	cr_expect(metric_get(s->syncs) == before + 1);
	cr_expect(!wal_sync(s->w, wal_end(s->w), NULL));
	cr_expect(metric_get(s->syncs) == before + 2);
	cr_assert(!wal_sync(s->w, 0, NULL), "of no segment");
	cr_expect(!wal_sync(s->w, 9ull << 32, NULL), "of no segment");
	cr_expect(metric_get(s->syncs) == before + 2);
	scene_free(s);
}

Test(wal, a_failed_sync_is_never_forgotten)
{
	struct wal_scene *s = scene_new();
	struct err err = { .msg = "" };
	struct segment_entry safe;
	struct segment_entry lost;
	uint64_t end;

	add_all(s, 0, 1);
	safe = s->last;
	cr_expect(!wal_sync(s->w, wal_end(s->w), NULL));
	add_all(s, 1, 2);
	lost = s->last;
	end = wal_end(s->w);
	refuse(s, OP(FS_SYNC), "/00000001", EIO);
	cr_expect(wal_sync(s->w, end, NULL) == ERR_IO);
	s->disk.refused = 0;
	cr_expect(wal_sync(s->w, end, &err) == ERR_IO, "the disk is well now");
	cr_expect(strstr(err.msg, "00000001") != NULL, "%s", err.msg);
	cr_expect(metric_get(s->sync_failures) == 1);
	cr_expect(!wal_sync(s->w, lost.lsn, NULL), "what was durable is");
	cr_expect(!wal_may_be_lost(s->w, safe.lsn));
	cr_expect(wal_may_be_lost(s->w, lost.lsn));
	cr_assert(!add(s, 2), "a new segment");
	cr_expect(s->last.lsn >> 32 == 2, "a new segment");
	cr_expect(!wal_may_be_lost(s->w, s->last.lsn));
	cr_expect(!wal_sync(s->w, wal_end(s->w), NULL));
	cr_expect(wal_sync(s->w, end, NULL) == ERR_IO);
	cr_expect(wal_sync_range(s->w, end, wal_end(s->w), &err) == ERR_IO,
		  "not all of them are durable");
	cr_expect(!wal_sync_range(s->w, s->last.lsn, wal_end(s->w), NULL));
	cr_expect(strstr(err.msg, "00000001") != NULL, "%s", err.msg);
	cr_expect(reads(s, &lost, 1), "it can still be read");
	cr_expect(wal_overdue(s->w, UINT64_MAX) == 1, "and must be flushed");
	cr_expect(!wal_drop(s->w, 1, NULL));
	cr_expect(!wal_sync(s->w, end, NULL), "it was flushed before");
	cr_expect(!wal_sync_range(s->w, end, wal_end(s->w), NULL));
	cr_expect(!wal_may_be_lost(s->w, lost.lsn));
	scene_free(s);
}

/* Appends a profile whose body has `len` bytes. */
static int add_sized(struct wal_scene *s, size_t len)
{
	struct labels *ls = sample_labels(0);
	struct buf body = { 0 };
	struct sample sample = { .labels = ls,
				 .ms = 1,
				 .typeset = sample_types(0),
				 .totals = (int64_t[]){ 1 } };
	uint64_t lsn;
	int rc;

	while (body.len < len)
		buf_byte(&body, (uint8_t)body.len);
	sample.body = buf_bytes(&body);
	sample.raw_len = (uint32_t)len;
	rc = scene_append(&s->a, &sample, &lsn, NULL);
	buf_fini(&body);
	labels_unref(ls);
	return rc;
}

Test(wal, a_full_segment_is_followed_by_another)
{
	struct wal_scene *s = scene_closed();
	size_t room;

	s->o.segment_size = 4096;
	cr_assert(!scene_open(s, 0));
	cr_assert(!add_sized(s, 9000), "a large one in an empty segment");
	cr_expect(s->last.lsn >> 32 == 1, "a large one in an empty segment");
	cr_assert(!add_sized(s, 1), "and alone");
	cr_expect(s->last.lsn >> 32 == 2, "and alone");
	room = 4096 - (size_t)(uint32_t)wal_end(s->w);
	cr_assert(!add_sized(s, room), "exactly the size");
	cr_expect(s->last.lsn >> 32 == 2, "exactly the size");
	cr_assert(!add_sized(s, 0), "beyond it");
	cr_expect(s->last.lsn >> 32 == 3, "beyond it");
	room = 4096 - (size_t)(uint32_t)wal_end(s->w);
	cr_assert(!add_sized(s, room + 1), "one byte more");
	cr_expect(s->last.lsn >> 32 == 4, "one byte more");
	cr_expect((uint32_t)s->last.lsn == FILE_HEADER);
	cr_expect(wal_begin(s->w) == 1ull << 32);
	cr_expect(wal_bytes(s->w) ==
		  (uint64_t)(segment_bytes(s, 1) + segment_bytes(s, 2) +
			     segment_bytes(s, 3) + segment_bytes(s, 4)));
	scene_free(s);
}

Test(wal, a_segment_that_is_full_is_durable)
{
	struct wal_scene *s = scene_new();
	uint64_t end;
	int64_t before;

	add_all(s, 0, 3);
	end = wal_end(s->w);
	begin_segment(s);
	before = metric_get(s->syncs);
	cr_expect(!wal_sync(s->w, end, NULL));
	cr_expect(metric_get(s->syncs) == before, "it was already");
	scene_free(s);
}

Test(wal, a_write_that_fails_appends_nothing)
{
	struct wal_scene *s = scene_new();
	struct segment_entry before;
	uint64_t end;

	add_all(s, 0, 2);
	before = s->last;
	end = wal_end(s->w);
	refuse(s, OP(FS_WRITE), "/wal/", ENOSPC);
	cr_expect(add(s, 2) == ERR_NOSPACE);
	s->disk.number = EIO;
	cr_expect(add(s, 2) == ERR_IO);
	cr_expect(wal_end(s->w) == end);
	s->disk.refused = 0;
	cr_assert(!add(s, 2), "in the same place");
	cr_expect(s->last.lsn == end, "in the same place");
	cr_assert(reads(s, &before, 1));
	cr_expect(reads(s, &s->last, 2));
	scene_reopen(s);
	cr_expect(has_read(s, 0, 3));
	scene_free(s);
}

Test(wal, a_partial_record_that_cannot_be_cut_off_ends_its_segment)
{
	struct wal_scene *s = scene_new();

	add_all(s, 0, 2);
	refuse(s, OP(FS_WRITE) | OP(FS_TRUNCATE), "/wal/", ENOSPC);
	cr_expect(add(s, 2) == ERR_NOSPACE);
	s->disk.refused = 0;
	cr_assert(!add(s, 2));
	cr_expect(s->last.lsn >> 32 == 2);
	cr_expect(wal_overdue(s->w, UINT64_MAX) == 1);
	scene_reopen(s);
	cr_expect(has_read(s, 0, 3));
	scene_free(s);
}

Test(wal, without_room_for_a_segment_the_old_one_stays)
{
	static const unsigned ops[] = { OP(FS_OPEN), OP(FS_WRITE), OP(FS_SYNC),
					OP(FS_SYNC_DIR) };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct wal_scene *s = scene_new();
		uint64_t end;

		s->o.segment_size = 4096;
		add_all(s, 0, 4);
		end = wal_end(s->w);
		refuse(s, ops[i],
		       ops[i] == OP(FS_SYNC_DIR) ? "/wal" : "/00000002",
		       ENOSPC);
		cr_expect(wal_retire(s->w, NULL) == ERR_NOSPACE, "%zu", i);
		cr_assert(s->disk.hits == 1);
		cr_expect(wal_end(s->w) == end);
		cr_expect(segment_bytes(s, 2) == -1, "nothing is left");
		s->disk.refused = 0;
		cr_assert(!add(s, 4));
		cr_expect(s->last.lsn == end);
		begin_segment(s);
		cr_expect(wal_end(s->w) >> 32 == 2);
		scene_reopen(s);
		cr_expect(has_read(s, 0, 5));
		scene_free(s);
	}
}

Test(wal, a_start_without_room_is_made_up_for_later)
{
	struct wal_scene *s = scene_closed();

	refuse(s, OP(FS_WRITE), "/00000001", ENOSPC);
	cr_assert(!scene_open(s, 0));
	cr_expect(add(s, 0) == ERR_NOSPACE);
	cr_assert(wal_retire(s->w, NULL) == ERR_NOSPACE);
	cr_expect(!wal_oldest(s->w));
	cr_expect(!wal_sync(s->w, wal_end(s->w), NULL));
	cr_assert(wal_begin(s->w) == wal_end(s->w));
	cr_expect(!wal_bytes(s->w));
	s->disk.refused = 0;
	add_all(s, 0, 3);
	scene_reopen(s);
	cr_expect(has_read(s, 0, 3));
	scene_free(s);
}

Test(wal, segments_are_due_when_the_log_exceeds_its_budget)
{
	struct wal_scene *s = scene_new();
	uint64_t bytes;

	add_all(s, 0, 2);
	cr_expect(wal_overdue(s->w, 0) == 0, "the current one never is");
	cr_expect(wal_oldest(s->w) == 0);
	begin_segment(s);
	add_all(s, 2, 4);
	begin_segment(s);
	bytes = wal_bytes(s->w);
	cr_expect(wal_oldest(s->w) == 1);
	cr_expect(wal_overdue(s->w, bytes) == 0);
	cr_expect(wal_overdue(s->w, bytes - 1) == 1);
	cr_expect(!wal_drop(s->w, 1, NULL));
	cr_assert(wal_oldest(s->w) == 2);
	cr_expect(wal_begin(s->w) == 2ull << 32);
	cr_expect(wal_bytes(s->w) < bytes);
	scene_free(s);
}

Test(wal, a_segment_that_could_not_be_sealed_is_due)
{
	struct wal_scene *s = scene_new();

	add_all(s, 0, 2);
	refuse(s, OP(FS_WRITE), "/00000001", ENOSPC);
	begin_segment(s);
	s->disk.refused = 0;
	add_all(s, 2, 3);
	begin_segment(s);
	cr_expect(wal_overdue(s->w, UINT64_MAX) == 1);
	cr_expect(!wal_drop(s->w, 1, NULL));
	cr_expect(wal_overdue(s->w, UINT64_MAX) == 0);
	scene_free(s);
}

Test(wal, an_empty_segment_needs_no_successor)
{
	struct wal_scene *s = scene_new();

	begin_segment(s);
	cr_expect(wal_end(s->w) >> 32 == 1);
	add_all(s, 0, 1);
	begin_segment(s);
	begin_segment(s);
	cr_expect(wal_end(s->w) >> 32 == 2);
	cr_expect(!wal_drop(s->w, UINT64_MAX, NULL));
	cr_assert(segment_bytes(s, 1) == -1, "the current one stays");
	cr_expect(segment_bytes(s, 2) > 0, "the current one stays");
	cr_expect(wal_begin(s->w) == 2ull << 32);
	cr_expect(!wal_drop(s->w, UINT64_MAX, NULL), "nothing is left");
	scene_reopen(s);
	cr_expect(s->count == 0);
	scene_free(s);
}

Test(wal, a_segment_in_use_is_read_after_its_removal)
{
	struct wal_scene *s = scene_new();
	struct segment_entry e;
	struct wal_segment *seg;

	add_all(s, 0, 3);
	e = s->last;
	seg = wal_segment(s->w, e.lsn);
	begin_segment(s);
	cr_expect(!wal_drop(s->w, 1, NULL));
	cr_assert(segment_bytes(s, 1) == -1);
	cr_expect(!wal_segment(s->w, e.lsn));
	cr_expect(is_profile(seg, e.lsn, e.len, 2));
	scene_close(s);
	cr_expect(is_profile(seg, e.lsn, e.len, 2), "the log is closed");
	wal_segment_unref(seg);
	wal_segment_unref(NULL);
	scene_free(s);
}

Test(wal, a_removal_that_fails_leaves_the_rest)
{
	static const struct {
		unsigned op;
		bool whole; /* the next start reads segment 1 again */
	} cases[] = { { OP(FS_RENAME), true }, { OP(FS_UNLINK), false } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wal_scene *s = scene_new();

		for (int k = 0; k < 3; k++) {
			add_all(s, k, k + 1);
			begin_segment(s);
		}
		refuse(s, cases[i].op, "/00000001", EIO);
		cr_expect(wal_drop(s->w, 3, NULL) == ERR_IO);
		cr_assert(segment_bytes(s, 2) > 0);
		cr_expect(wal_oldest(s->w) == 2);
		s->disk.refused = 0;
		cr_expect(!wal_drop(s->w, 2, NULL));
		cr_assert(segment_bytes(s, 2) == -1);
		cr_expect(segment_bytes(s, 3) > 0);
		scene_reopen(s);
		if (cases[i].whole) {
			cr_assert(s->count == 2);
			cr_expect(s->v[0].ms == sample_ms(0));
		} else
			cr_expect(has_read(s, 2, 3));
		cr_expect(access(segment_file(s, 1, ".deleting"), F_OK) < 0);
		cr_expect(!metric_get(s->missing), "it was dropped");
		scene_free(s);
	}
}

static void *sync_all(void *arg)
{
	struct wal_scene *s = arg;

	for (int n = 0; n < 200; n++)
		cr_expect(!wal_sync(s->w, wal_end(s->w), NULL));
	return NULL;
}

Test(wal, threads_sync_while_another_appends)
{
	struct wal_scene *s = scene_closed();
	pthread_t t[3];

	s->o.segment_size = 16 * KIB;
	cr_assert(!scene_open(s, 0));
	for (int i = 0; i < 3; i++)
		cr_assert(!pthread_create(&t[i], NULL, sync_all, s));
	add_all(s, 0, 200);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	scene_reopen(s);
	cr_expect(has_read(s, 0, 200));
	scene_free(s);
}
