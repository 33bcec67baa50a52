/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of reading the WAL at startup. Segments are sealed or not,
 * torn, damaged, unreadable in part, without a header, or of another version.
 */
#include "base/crc32c.h"
#include "base/enc.h"
#include "tests/tsdb/wal_scene.h"

TestSuite(replay, .timeout = 60);

Test(replay, what_was_appended_is_replayed)
{
	struct wal_scene *s = scene_new();
	struct segment_entry e[12];

	for (int k = 0; k < 12; k++) {
		add_all(s, k, k + 1);
		e[k] = s->last;
		if (k == 4 || k == 5)
			begin_segment(s);
	}
	/*
	 * Each round is a clean stop and a start. The later rounds read
	 * directories that an earlier start has read.
	 */
	for (int round = 0; round < 3; round++) {
		scene_reopen(s);
		cr_expect(has_read(s, 0, 12), "round %d", round);
		for (int k = 0; k < 12; k++) {
			cr_assert(s->v[k].lsn == e[k].lsn);
			cr_expect(s->v[k].len == e[k].len);
		}
		cr_expect(wal_end(s->w) >> 32 == (uint64_t)round + 4,
			  "above all before");
		cr_expect(wal_begin(s->w) == 1ull << 32);
	}
	cr_assert(!metric_get(s->torn));
	cr_expect(!metric_get(s->corruptions));
	scene_free(s);
}

Test(replay, a_sealed_segment_is_read_from_its_directory)
{
	struct wal_scene *s = scene_new();

	add_all(s, 0, 20);
	begin_segment(s);
	scene_close(s);
	/*
	 * The start reads the directory and not the records, so it does not
	 * notice the damage to a record.
	 */
	damage(s, 1, FILE_HEADER + 300);
	cr_assert(!scene_open(s, 0));
	cr_assert(has_read(s, 0, 20));
	cr_expect(!metric_get(s->corruptions));
	scene_free(s);
}

Test(replay, a_crash_leaves_a_segment_without_an_end)
{
	struct wal_scene *s = scene_new();
	int64_t before;

	add_all(s, 0, 10);
	before = segment_bytes(s, 1);
	scene_crash(s, 1);
	cr_expect(segment_bytes(s, 1) == before);
	cr_assert(!scene_open(s, 0));
	cr_expect(has_read(s, 0, 10));
	cr_expect(segment_bytes(s, 1) > before, "it is sealed now");
	cr_assert(!metric_get(s->torn));
	cr_expect(!metric_get(s->corruptions));
	scene_reopen(s);
	cr_expect(has_read(s, 0, 10));
	scene_free(s);
}

Test(replay, a_torn_end_is_cut_off)
{
	struct wal_scene *s = scene_new();
	struct buf whole = { 0 };
	uint64_t from;

	add_all(s, 0, 4);
	from = (uint32_t)s->last.lsn;
	cr_assert(!file_slurp(segment_file(s, 1, ""), &whole, NULL));
	for (uint64_t n = from; n < whole.len; n += n < from + 90 ? 1 : 41) {
		int64_t before = metric_get(s->torn);

		scene_close(s);
		write_file(segment_file(s, 1, ""),
			   (struct bytes){ whole.ptr, n });
		cr_assert(!scene_open(s, 0));
		cr_expect(has_read(s, 0, 3), "cut at %d", (int)n);
		/*
		 * A record begins with the length of its head, of which the
		 * first bytes are zeros. A cut within the length may not be
		 * noticed.
		 */
		if (n == from)
			cr_expect(metric_get(s->torn) == before);
		else if (n > from + 4)
			cr_expect(metric_get(s->torn) == before + 1, "%d",
				  (int)n);
		add_all(s, 3, 4);
		scene_reopen(s);
		cr_expect(has_read(s, 0, 4), "cut at %d", (int)n);
		scene_close(s);
		cr_assert(!unlink(segment_file(s, 2, "")));
		cr_assert(!unlink(segment_file(s, 3, "")));
		forget_numbers(s);
	}
	cr_expect(!metric_get(s->corruptions));
	buf_fini(&whole);
	scene_free(s);
}

/* A header says where the segment directly before it ends, and no other. */
Test(replay, a_segment_before_a_gap_is_not_damaged)
{
	struct wal_scene *s = scene_new();
	uint32_t end;

	add_all(s, 0, 2);
	end = (uint32_t)wal_end(s->w);
	begin_segment(s);
	add_all(s, 2, 12);
	begin_segment(s);
	add_all(s, 12, 13);
	scene_close(s);
	cr_assert(!unlink(segment_file(s, 2, "")));
	cr_assert(!truncate(segment_file(s, 1, ""), end));
	cr_assert(!scene_open(s, 0));
	cr_assert(s->count == 3);
	cr_expect(metric_get(s->missing) == 10);
	cr_expect(!metric_get(s->corruptions));
	scene_free(s);
}

Test(replay, zeros_behind_the_last_record_are_no_torn_end)
{
	struct wal_scene *s = scene_new();
	int64_t end;

	add_all(s, 0, 4);
	end = segment_bytes(s, 1);
	scene_crash(s, 1);
	cr_assert(!truncate(segment_file(s, 1, ""), end + 5000));
	cr_assert(!scene_open(s, 0));
	cr_assert(has_read(s, 0, 4));
	cr_expect(!metric_get(s->torn));
	scene_free(s);
}

/* Each case damages one byte of an unsealed segment of five profiles. */
static const struct {
	const char *name;
	int profile;
	uint32_t offset; /* in its record */
	bool torn;       /* counted as a torn end; only for the last one */
} damages[] = {
	{ "the first one's head", 0, 40, false },
	{ "the third one's head", 2, 8, false },
	{ "the third one's body", 2, 150, false },
	{ "the last one's body", 4, 150, false },
	{ "the last one's head", 4, 40, true },
};

Test(replay, damage_costs_the_record_that_has_it)
{
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		struct wal_scene *s = scene_new();
		uint64_t lsn[5];
		int n = 0;

		for (int k = 0; k < 5; k++) {
			add_all(s, k, k + 1);
			lsn[k] = s->last.lsn;
		}
		scene_crash(s, 1);
		damage(s, 1,
		       (uint32_t)lsn[damages[i].profile] + damages[i].offset);
		cr_assert(!scene_open(s, 0));
		cr_expect(s->count == 4, "%s: %zu", damages[i].name, s->count);
		for (int k = 0; k < 5; k++) {
			if (k != damages[i].profile)
				cr_expect(s->v[n++].lsn == lsn[k], "%s",
					  damages[i].name);
		}
		cr_expect(metric_get(s->torn) == damages[i].torn, "%s",
			  damages[i].name);
		cr_expect(wal_corruptions(s->w) == !damages[i].torn, "%s",
			  damages[i].name);
		scene_reopen(s);
		cr_expect(s->count == 4, "%s: nothing comes back",
			  damages[i].name);
		scene_free(s);
	}
}

/*
 * Each case damages the end of a sealed segment, where its directory is. A
 * start then reads the records instead.
 */
static const struct {
	const char *name;
	int back; /* distance of the damaged byte from the end */
	int cut;  /* bytes that are cut off the end */
	int64_t torn;
} ends[] = {
	{ "the footer's magic number", 1, 0, 0 },
	{ "the footer's offset", 15, 0, 0 },
	{ "the footer is cut", 0, 1, 0 },
	{ "the footer is gone", 0, 16, 0 },
	{ "the directory's body", 40, 0, 0 },
	{ "the directory's body is cut", 0, 40, 1 },
};

Test(replay, a_damaged_directory_is_made_again)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct wal_scene *s = scene_new();
		int64_t size;

		add_all(s, 0, 5);
		begin_segment(s);
		scene_close(s);
		size = segment_bytes(s, 1);
		if (ends[i].cut)
			cr_assert(!truncate(segment_file(s, 1, ""),
					    size - ends[i].cut));
		else
			damage(s, 1, (uint64_t)(size - ends[i].back));
		cr_assert(!scene_open(s, 0));
		cr_expect(has_read(s, 0, 5), "%s", ends[i].name);
		cr_expect(segment_bytes(s, 1) == size, "%s", ends[i].name);
		cr_expect(metric_get(s->torn) == ends[i].torn, "%s: %d",
			  ends[i].name, (int)metric_get(s->torn));
		cr_expect(!metric_get(s->corruptions), "%s", ends[i].name);
		scene_free(s);
	}
}

/*
 * Each case has a segment with a damaged header. The segment is sealed or not,
 * and the key of the WAL is there or not.
 */
static const struct {
	const char *name;
	bool sealed;
	bool key;
	bool records; /* whether the records are damaged, too */
	bool read;
} headless[] = {
	{ "sealed", true, true, false, true },
	{ "not sealed", false, true, false, true },
	{ "without a key", true, false, false, false },
	{ "without a key, not sealed", false, false, false, false },
	{ "without a record that agrees", false, true, true, false },
};

Test(replay, a_segment_without_a_header_is_read_by_the_key)
{
	for (size_t i = 0; i < ARRAY_SIZE(headless); i++) {
		struct wal_scene *s = scene_new();
		char key[200];
		int64_t size;

		add_all(s, 0, 1);
		if (headless[i].sealed)
			begin_segment(s);
		if (headless[i].sealed)
			scene_close(s);
		else
			scene_crash(s, 1);
		for (uint64_t at = 0; at < FILE_HEADER; at++)
			damage(s, 1, at);
		if (headless[i].records)
			damage(s, 1, FILE_HEADER + 20);
		snprintf(key, sizeof(key), "%s/key", s->path);
		if (!headless[i].key)
			cr_assert(!unlink(key));
		size = segment_bytes(s, 1);
		cr_assert(!scene_open(s, 0));
		cr_expect(has_read(s, 0, headless[i].read ? 1 : 0), "%s",
			  headless[i].name);
		cr_expect(metric_get(s->corruptions) == !headless[i].read,
			  "%s: %d", headless[i].name,
			  (int)metric_get(s->corruptions));
		/*
		 * A segment that cannot be read is not removed. The WAL still
		 * begins with segment 1.
		 */
		cr_expect(wal_begin(s->w) == 1ull << 32, "%s",
			  headless[i].name);
		add_all(s, 1, 2);
		begin_segment(s);
		cr_expect(!wal_drop(s->w, UINT64_MAX, NULL));
		cr_expect(segment_bytes(s, 1) == (headless[i].read ? -1 : size),
			  "%s", headless[i].name);
		scene_free(s);
	}
}

Test(replay, a_stretch_that_the_disk_cannot_read_is_kept)
{
	struct wal_scene *s = scene_new();
	uint64_t lsn[20];
	int64_t size;

	for (int k = 0; k < 20; k++) {
		add_all(s, k, k + 1);
		lsn[k] = s->last.lsn;
	}
	scene_crash(s, 1);
	size = segment_bytes(s, 1);
	refuse(s, OP(FS_READ), "/00000001", EIO);
	s->disk.from = (uint32_t)lsn[10];
	s->disk.to = s->disk.from + 1;
	cr_assert(!scene_open(s, 0));
	cr_assert(s->count >= 10, "%zu", s->count);
	cr_expect(s->count < 20, "%zu", s->count);
	cr_expect(metric_get(s->corruptions) >= 1);
	cr_expect(segment_bytes(s, 1) == size, "neither cut nor sealed");
	cr_expect(wal_overdue(s->w, UINT64_MAX) == 1);
	cr_expect(!wal_drop(s->w, 1, NULL));
	cr_expect(segment_bytes(s, 1) == -1);
	cr_expect(!access(segment_file(s, 1, ".unread"), F_OK), "set aside");
	/* The disk can be read again, and somebody renames the segment back. */
	s->disk.refused = 0;
	scene_close(s);
	{
		CLEANUP(mem_freep)
		char *aside = mem_strdup(segment_file(s, 1, ".unread"));

		cr_assert(!rename(aside, segment_file(s, 1, "")));
	}
	cr_assert(!scene_open(s, 0));
	cr_expect(has_read(s, 0, 20));
	scene_free(s);
}

Test(replay, a_segment_of_which_nothing_can_be_read_is_set_aside)
{
	struct wal_scene *s = scene_new();
	int64_t size;

	add_all(s, 0, 5);
	begin_segment(s);
	add_all(s, 5, 7);
	scene_crash(s, 1);
	size = segment_bytes(s, 1);
	refuse(s, OP(FS_READ), "/00000001", EIO);
	cr_assert(!scene_open(s, 0));
	cr_assert(has_read(s, 5, 7));
	cr_expect(metric_get(s->corruptions) >= 1);
	cr_expect(wal_begin(s->w) == 1ull << 32);
	cr_expect(!wal_drop(s->w, UINT64_MAX, NULL));
	cr_assert(segment_bytes(s, 1) == -1);
	cr_expect(size > 0);
	cr_expect(!access(segment_file(s, 1, ".unread"), F_OK));
	s->disk.refused = 0;
	scene_reopen(s);
	cr_expect(wal_begin(s->w) == 1ull << 32, "it is still kept");
	scene_free(s);
}

Test(replay, segments_never_begun_are_removed)
{
	static uint8_t zeros[FILE_HEADER];
	static const size_t sizes[] = { 0, 1, FILE_HEADER - 1, FILE_HEADER };

	for (size_t i = 0; i < ARRAY_SIZE(sizes) * 2; i++) {
		struct wal_scene *s = scene_new();
		bool read_only = i % 2;

		scene_close(s);
		write_file(segment_file(s, 7, ""),
			   (struct bytes){ zeros, sizes[i / 2] });
		s->o.read_only = read_only;
		cr_assert(!scene_open(s, 0));
		cr_expect((segment_bytes(s, 7) >= 0) == read_only, "%zu",
			  sizes[i / 2]);
		cr_assert(!s->count);
		cr_expect(!metric_get(s->corruptions));
		cr_expect(wal_end(s->w) >> 32 == 8,
			  "its number is not used again");
		scene_free(s);
	}
}

Test(replay, numbers_of_segments_begin_above_what_was_seen)
{
	static const struct {
		uint64_t floor;
		uint64_t want;
	} cases[] = { { 0, 3 }, { 1, 3 }, { 2, 3 }, { 3, 4 }, { 900, 901 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wal_scene *s = scene_new();

		add_all(s, 0, 1);
		begin_segment(s);
		add_all(s, 1, 2);
		scene_close(s);
		cr_assert(!scene_open(s, cases[i].floor));
		cr_expect(has_read(s, 0, 2));
		cr_expect(wal_end(s->w) >> 32 == cases[i].want, "%zu", i);
		cr_assert(!add(s, 2));
		cr_expect(s->last.lsn >> 32 == cases[i].want);
		scene_free(s);
	}
}

Test(replay, the_number_of_a_segment_that_was_set_aside_is_not_used_again)
{
	static const char *const names[] = { ".damaged", ".unread",
					     ".unread-2" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct wal_scene *s = scene_new();

		add_all(s, 0, 3);
		scene_close(s);
		write_file(segment_file(s, 9, names[i]),
			   bytes_of(str_of("text")));
		cr_assert(!scene_open(s, 0));
		cr_assert(has_read(s, 0, 3));
		cr_expect(wal_end(s->w) >> 32 == 10);
		scene_free(s);
	}
}

Test(replay, without_a_current_segment_the_last_one_is_not_dropped)
{
	struct wal_scene *s = scene_new();

	add_all(s, 0, 3);
	begin_segment(s);
	add_all(s, 3, 5);
	scene_close(s);
	refuse(s, OP(FS_WRITE), "/00000003", EIO);
	cr_assert(!scene_open(s, 0));
	cr_expect(!wal_drop(s->w, 2, NULL));
	cr_expect(access(segment_file(s, 1, ""), F_OK) < 0);
	cr_expect(!access(segment_file(s, 2, ""), F_OK));
	cr_expect(!wal_overdue(s->w, 0),
		  "there is nothing that can be dropped");
	s->disk.refused = 0;
	cr_assert(!add(s, 5));
	cr_expect(s->last.lsn >> 32 == 3);
	cr_expect(!wal_drop(s->w, 2, NULL));
	cr_expect(access(segment_file(s, 2, ""), F_OK) < 0);
	scene_free(s);
}

Test(replay, other_files_in_the_directory_are_no_segments)
{
	static const char *const names[] = { "readme", "1234567", "00000001x",
					     "000000g1" };
	struct wal_scene *s = scene_new();
	char path[200];

	add_all(s, 0, 3);
	begin_segment(s);
	scene_close(s);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", s->path, names[i]);
		write_file(path, bytes_of(str_of("text")));
	}
	write_file(segment_file(s, 8, ".deleting"), bytes_of(str_of("text")));
	cr_assert(!scene_open(s, 0));
	cr_assert(has_read(s, 0, 3));
	cr_expect(wal_end(s->w) >> 32 == 3);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", s->path, names[i]);
		cr_expect(!access(path, F_OK), "%s", names[i]);
	}
	cr_expect(access(segment_file(s, 8, ".deleting"), F_OK) < 0,
		  "a removal that was cut short");
	scene_free(s);
}

/*
 * Returns the names and sizes of all files of the WAL as a text, which the
 * caller frees.
 */
static char *list_files(struct wal_scene *s)
{
	struct name_list l = { 0 };
	struct buf b = { 0 };
	char *text;

	cr_assert(!fs_list(NULL, s->path, &l, NULL));
	for (size_t i = 0; i < l.count; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", s->path, l.names[i]);
		uint64_t size = 0;

		cr_expect(!fs_size(NULL, path, &size, NULL));
		buf_printf(&b, "%s %d\n", l.names[i], (int)size);
	}
	text = mem_strdup(buf_cstr(&b));
	name_list_fini(&l);
	buf_fini(&b);
	return text;
}

Test(replay, a_look_changes_nothing)
{
	struct wal_scene *s = scene_new();
	CLEANUP(mem_freep) char *before = NULL;
	CLEANUP(mem_freep) char *after = NULL;

	add_all(s, 0, 3);
	begin_segment(s);
	add_all(s, 3, 6);
	scene_crash(s, 2);
	cr_assert(!truncate(segment_file(s, 2, ""), segment_bytes(s, 2) - 20));
	write_file(segment_file(s, 3, ""), (struct bytes){ 0 });
	write_file(segment_file(s, 8, ".deleting"), bytes_of(str_of("text")));
	before = list_files(s);
	s->o.read_only = true;
	cr_assert(!scene_open(s, 0));
	cr_assert(has_read(s, 0, 5));
	cr_expect(metric_get(s->torn) == 1);
	scene_close(s);
	after = list_files(s);
	cr_expect(!strcmp(before, after), "%s, then %s", before, after);
	scene_free(s);
}

Test(replay, a_look_at_no_log_finds_nothing)
{
	struct wal_scene *s = scene_closed();

	s->o.read_only = true;
	cr_assert(!scene_open(s, 0));
	cr_assert(s->count == 0);
	cr_expect(wal_begin(s->w) == wal_end(s->w));
	cr_expect(access(s->path, F_OK) < 0);
	scene_free(s);
}

Test(replay, a_log_that_cannot_be_listed_is_not_opened)
{
	struct wal_scene *s = scene_new();

	scene_close(s);
	for (int look = 0; look < 2; look++) {
		refuse(s, OP(FS_LIST), "/wal", EIO);
		s->o.read_only = look;
		cr_assert(scene_open(s, 0) == ERR_IO);
		cr_expect(!s->w);
	}
	scene_free(s);
}

Test(replay, a_newer_version_is_not_opened)
{
	struct wal_scene *s = scene_new();
	struct buf b = { 0 };
	struct err err = { .msg = "" };
	int fd;

	add_all(s, 0, 1);
	scene_close(s);
	for (size_t copy = 0; copy < 2; copy++) {
		enc_be32(&b, MAGIC_SEGMENT);
		enc_be32(&b, 3u << 24);
		for (int i = 0; i < 5; i++)
			enc_be32(&b, 0);
		enc_be32(&b, crc32c_extend(0, (struct bytes){ b.ptr + 32 * copy,
							      28 }));
	}
	fd = open(segment_file(s, 1, ""), O_WRONLY);
	cr_assert(pwrite(fd, b.ptr, b.len, 0) == FILE_HEADER);
	close(fd);
	cr_expect(wal_open(&s->o, &s->w, &err) == ERR_UNSUPPORTED);
	cr_expect(strstr(err.msg, segment_file(s, 1, "")), "%s", err.msg);
	cr_expect(!s->w);
	buf_fini(&b);
	scene_free(s);
}

Test(replay, what_a_start_could_not_sync_may_be_lost)
{
	struct wal_scene *s = scene_new();

	add_all(s, 0, 3);
	scene_crash(s, 1);
	refuse(s, OP(FS_SYNC), "/00000001", EIO);
	cr_assert(!scene_open(s, 0));
	cr_expect(has_read(s, 0, 3));
	for (int k = 0; k < 3; k++)
		cr_expect(wal_may_be_lost(s->w, s->v[k].lsn), "%d", k);
	cr_expect(wal_sync(s->w, s->v[2].lsn + 1, NULL) == ERR_IO);
	cr_expect(wal_overdue(s->w, UINT64_MAX) == 1);
	s->disk.refused = 0;
	scene_reopen(s);
	cr_assert(has_read(s, 0, 3));
	cr_expect(!wal_may_be_lost(s->w, s->v[0].lsn));
	scene_free(s);
}

Test(replay, a_start_that_cannot_seal_has_the_segment_flushed)
{
	struct wal_scene *s = scene_new();

	add_all(s, 0, 3);
	scene_crash(s, 1);
	refuse(s, OP(FS_WRITE), "/00000001", ENOSPC);
	cr_assert(!scene_open(s, 0));
	cr_expect(has_read(s, 0, 3));
	cr_expect(wal_overdue(s->w, UINT64_MAX) == 1);
	cr_expect(!wal_may_be_lost(s->w, s->v[2].lsn), "it is durable");
	s->disk.refused = 0;
	scene_reopen(s);
	cr_assert(has_read(s, 0, 3));
	cr_expect(!wal_overdue(s->w, UINT64_MAX));
	scene_free(s);
}
