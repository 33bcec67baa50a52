/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A head. Profiles move from the WAL into its files. Each is listed exactly
 * once all the time, despite failed writes, damaged records, deletions and
 * restarts.
 */
#include "tsdb/head/head.h"

#include <endian.h>

#include "tests/tsdb/head_scene.h"
#include "tsdb/io/record.h"

TestSuite(head, .timeout = 60);

static uint32_t find_series(struct head_scene *s, int series)
{
	struct labels *ls = sample_labels(series);
	uint32_t n = head_find(s->r, ls);

	labels_unref(ls);
	return n;
}

/*
 * Returns how many of profiles [from, to) are found, and checks that each has
 * its own content.
 */
static int count_found(struct head_scene *s, int series, int from, int to)
{
	uint32_t n = find_series(s, series);
	struct buf want = { 0 };
	int found = 0;

	for (int k = from; k < to && n != SERIES_NONE; k++) {
		const struct chunk_profile *p;
		struct part_hit hit;
		uint64_t hash;

		if (head_lookup(s->r, n, sample_ms(k), NULL, &hit, NULL))
			continue;
		sample_bytes(series, k, &want);
		hash = hash_bytes(buf_bytes(&want));
		p = &hit.group.meta.profiles[hit.group.index];
		cr_expect(hash == (hit.unflushed ? hit.wal.hash : p->hash));
		if (!hit.unflushed) {
			cr_assert(p->period == k);
			cr_expect(bytes_eq(hit.group.typeset,
					   sample_types(series)));
		}
		found++;
	}
	buf_fini(&want);
	return found;
}

/*
 * Does the same as count_found(), and checks that the list of times has as many
 * profiles.
 */
static int count_listed(struct head_scene *s, int series, int from, int to)
{
	uint32_t n = find_series(s, series);
	int found = count_found(s, series, from, to);
	struct times t = { 0 };

	if (n != SERIES_NONE)
		cr_expect(!head_times(s->r, n, sample_ms(from),
				      sample_ms(to - 1), &t, NULL));
	cr_expect((int)t.count == found, "%zu listed, %d found", t.count,
		  found);
	times_fini(&t);
	return found;
}

Test(head, profiles_are_listed_once_all_the_way)
{
	struct head_scene *s = head_scene_new();

	insert_all(s, 0, 0, 100);
	insert_all(s, 1, 50, 60);
	cr_assert(s->env.weight == 2);
	cr_expect(s->env.unflushed == 110);
	cr_expect(count_listed(s, 0, 0, 120) == 100);
	cr_expect(!flush_all(s));
	cr_assert(s->env.unflushed == 0);
	cr_expect(head_oldest(s->r) == UINT64_MAX);
	cr_expect(count_listed(s, 0, 0, 120) == 100);
	insert_all(s, 0, 100, 120);
	cr_expect(count_listed(s, 0, 0, 120) == 120);
	cr_assert(!flush_all(s));
	cr_expect(!flush_all(s));
	cr_expect(!open_head(s));
	cr_assert(s->r->start == window_start(sample_ms(0)));
	cr_expect(s->r->lsn == OPENED_LSN);
	cr_expect(count_listed(s, 0, 0, 120) == 120);
	cr_expect(count_listed(s, 1, 0, 120) == 10);
	cr_expect(find_series(s, 2) == SERIES_NONE);
	insert_all(s, 0, 120, 130);
	insert_all(s, 2, 0, 5);
	cr_assert(!flush_all(s));
	cr_expect(!open_head(s));
	cr_expect(count_listed(s, 0, 0, 130) == 130);
	cr_expect(count_listed(s, 2, 0, 130) == 5);
	cr_assert(!metric_get(s->w->corruptions));
	cr_expect(!metric_get(s->w->torn));
	head_scene_free(s);
}

Test(head, a_flush_takes_what_it_is_asked_for)
{
	struct head_scene *s = head_scene_new();
	uint64_t first = insert(s, 0, 0);
	uint64_t second = insert(s, 1, 0);
	uint64_t third = insert(s, 0, 1);

	cr_expect(head_oldest(s->r) == first);
	cr_expect(!flush_range(s->flusher, s->r, first, UINT64_MAX, NULL));
	cr_expect(s->env.unflushed == 3, "nothing is below the first");
	cr_expect(!flush_range(s->flusher, s->r, second, third, NULL));
	cr_assert(s->env.unflushed == 2,
		  "of the first series what is below the third");
	cr_expect(head_oldest(s->r) == second,
		  "of the first series what is below the third");
	cr_expect(head_highest_lsn(s->r) == first);
	cr_expect(head_is_done_with(s->r, 0, sample_ms(0), first));
	cr_expect(!head_is_done_with(s->r, 0, sample_ms(1), third));
	cr_expect(!head_is_done_with(s->r, 1, sample_ms(0), second));
	cr_expect(!flush_range(s->flusher, s->r, second + 1, UINT64_MAX, NULL));
	cr_assert(s->env.unflushed == 1);
	cr_expect(head_oldest(s->r) == third);
	cr_expect(head_highest_lsn(s->r) == second);
	cr_assert(!flush_all(s));
	cr_expect(head_highest_lsn(s->r) == third);
	cr_assert(!open_head(s));
	cr_expect(head_highest_lsn(s->r) == third);
	cr_expect(count_listed(s, 0, 0, 2) == 2);
	head_scene_free(s);
}

static const struct {
	unsigned ops;
	const char *part;
	int number;
	int want;
} refusals[] = {
	{ OP(FS_WRITE), "/values", ENOSPC, ERR_NOSPACE },
	{ OP(FS_SYNC), "/values", EIO, ERR_IO },
	{ OP(FS_WRITE), "/groups", ENOSPC, ERR_NOSPACE },
	{ OP(FS_SYNC), "/groups", EIO, ERR_IO },
};

Test(head, a_flush_that_fails_changes_nothing)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct head_scene *s = head_scene_new();

		insert_all(s, 0, 0, 40);
		cr_expect(!flush_all(s));
		insert_all(s, 0, 40, 50);
		insert_all(s, 1, 0, 50);
		refuse(s->w, refusals[i].ops, refusals[i].part,
		       refusals[i].number);
		for (int n = 0; n < 2; n++)
			cr_expect(flush_all(s) == refusals[i].want, "%zu", i);
		cr_expect(s->env.unflushed == 60);
		cr_expect(count_listed(s, 0, 0, 50) == 50);
		s->w->disk.refused = 0;
		cr_expect(!flush_all(s), "%zu", i);
		cr_expect(count_listed(s, 1, 0, 50) == 50);
		cr_expect(!open_head(s));
		cr_expect(count_listed(s, 0, 0, 50) == 50, "%zu", i);
		cr_expect(count_listed(s, 1, 0, 50) == 50, "%zu", i);
		cr_expect(!metric_get(s->w->corruptions));
		head_scene_free(s);
	}
}

Test(head, a_log_that_cannot_be_mended_takes_no_more_until_it_can)
{
	struct head_scene *s = head_scene_new();

	insert_all(s, 0, 0, 10);
	refuse(s->w, OP(FS_SYNC) | OP(FS_TRUNCATE), "/groups", EIO);
	cr_expect(flush_all(s) == ERR_IO);
	refuse(s->w, OP(FS_TRUNCATE), "/groups", EIO);
	cr_expect(flush_all(s) == ERR_IO, "nothing is written after it");
	cr_expect(count_listed(s, 0, 0, 10) == 10);
	s->w->disk.refused = 0;
	cr_expect(!flush_all(s), "the disk is well now");
	cr_expect(count_listed(s, 0, 0, 10) == 10);
	cr_assert(!open_head(s));
	cr_expect(count_listed(s, 0, 0, 10) == 10);
	head_scene_free(s);
}

Test(head, a_damaged_profile_is_dropped_alone)
{
	struct head_scene *s = head_scene_new();
	uint64_t lsn[5];

	for (int k = 0; k < 5; k++)
		lsn[k] = insert(s, 0, k);
	insert_all(s, 1, 0, 1);
	damage(s->w, 1, (uint32_t)lsn[2] + 150);
	damage(s->w, 1, (uint32_t)s->w->last.lsn + 150);
	cr_expect(!flush_all(s));
	cr_assert(metric_get(s->damaged) == 2);
	cr_expect(s->env.unflushed == 0);
	cr_expect(count_listed(s, 0, 0, 5) == 4);
	cr_expect(count_listed(s, 1, 0, 5) == 0);
	cr_assert(!open_head(s));
	cr_expect(count_listed(s, 0, 0, 5) == 4);
	cr_expect(find_series(s, 1) == SERIES_NONE, "it has nothing");
	head_scene_free(s);
}

Test(head, a_head_is_created_whole_or_not_at_all)
{
	static const struct {
		unsigned ops;
		const char *part;
	} cases[] = {
		{ OP(FS_MKDIR), "" },           { OP(FS_OPEN), "/values" },
		{ OP(FS_WRITE), "/values" },    { OP(FS_SYNC), "/values" },
		{ OP(FS_OPEN), "/groups" },     { OP(FS_WRITE), "/groups" },
		{ OP(FS_SYNC), "/groups" },     { OP(FS_SYNC_DIR), "" },
		{ OP(FS_SYNC_DIR), "/ranges" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct head_scene *s = head_scene_closed();
		struct name_list l = { 0 };

		refuse(s->w, cases[i].ops, cases[i].part, ENOSPC);
		cr_assert(create(s) == ERR_NOSPACE, "%zu", i);
		cr_expect(!s->r, "%zu", i);
		s->w->disk.refused = 0;
		cr_assert(!fs_list(NULL, s->dir, &l, NULL), "%zu", i);
		cr_expect(!l.count, "%zu", i);
		name_list_fini(&l);
		cr_expect(!create(s));
		head_scene_free(s);
	}
}

Test(head, a_head_with_profiles_is_not_created_again)
{
	struct head_scene *s = head_scene_new();
	struct head *second = NULL;

	/*
	 * The head can be created again while it has no flushed profiles,
	 * because its files may be those of a failed attempt.
	 */
	head_unref(s->r);
	cr_expect(!create(s));
	insert_all(s, 0, 0, 3);
	cr_expect(!flush_all(s));
	second = s->r;
	cr_expect(create(s) == ERR_EXISTS);
	s->r = second;
	cr_assert(!open_head(s));
	cr_expect(count_listed(s, 0, 0, 3) == 3);
	head_scene_free(s);
}

Test(head, what_is_no_head_is_not_opened)
{
	static const char *const names[] = {
		"",
		"readme",
		"1700000000000",
		"1700000000000.",
		"1700000000000.000000000000004",
		"1700000000000.00000000000000400",
		"1700000000000.0000000000000040.damaged",
		"1700000000000.000000000000004g",
		".0000000000000040",
		"1700000000000.0000000000000041", /* does not exist */
	};
	struct head_scene *s = head_scene_closed();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		cr_expect(head_open(&s->env, names[i], &s->r, NULL) ==
				  ERR_NOTFOUND,
			  "%s", names[i]);
	head_scene_free(s);
}

/* Writes the path of a file of the head to `path`, and returns it. */
static const char *file_of(struct head_scene *s, const char *name,
			   char path[256])
{
	snprintf(path, 256, "%s/%s/%s", s->dir, s->name, name);
	return path;
}

/* Changes to the files of a closed head, which has profiles or has none. */
static const struct {
	const char *name;
	bool profiles;
	const char *file;
	int cut; /* to so many bytes; -1: removed */
	int want;
	bool stays; /* whether the directory stays */
} losses[] = {
	{ "no log, no profiles", false, "groups", -1, ERR_NOTFOUND, false },
	{ "an empty log, no profiles", false, "groups", 0, ERR_NOTFOUND,
	  false },
	{ "no values, no profiles", false, "values", -1, ERR_NOTFOUND, false },
	{ "no log", true, "groups", -1, ERR_CORRUPT, true },
	{ "no values", true, "values", -1, ERR_CORRUPT, true },
	{ "an empty log", true, "groups", 0, ERR_CORRUPT, true },
	{ "half a header", true, "groups", 40, ERR_CORRUPT, true },
	{ "nothing but a header", true, "groups", FILE_HEADER, 0, true },
};

Test(head, a_lost_file_is_told_from_a_creation_cut_short)
{
	for (size_t i = 0; i < ARRAY_SIZE(losses) * 2; i++) {
		struct head_scene *s = head_scene_new();
		char path[256];
		bool look = i % 2;
		int want = losses[i / 2].want;

		if (losses[i / 2].profiles) {
			insert_all(s, 0, 0, 40);
			cr_expect(!flush_all(s));
		}
		file_of(s, losses[i / 2].file, path);
		if (losses[i / 2].cut < 0)
			cr_assert(!unlink(path));
		else
			cr_assert(!truncate(path, losses[i / 2].cut));
		s->env.read_only = look;
		cr_expect(open_head(s) == want, "%s", losses[i / 2].name);
		cr_expect(!access(file_of(s, "", path), F_OK) ==
				  (look || losses[i / 2].stays),
			  "%s", losses[i / 2].name);
		head_scene_free(s);
	}
}

Test(head, a_torn_end_of_the_log_is_cut_off)
{
	struct head_scene *s = head_scene_new();
	char path[256];
	uint64_t end;

	insert_all(s, 0, 0, 32);
	cr_expect(!flush_all(s));
	end = s->r->groups_end;
	insert_all(s, 0, 32, 64);
	cr_expect(!flush_all(s));
	file_of(s, "groups", path);
	cr_assert(!truncate(path, (off_t)(s->r->groups_end - 9)));
	cr_expect(!open_head(s));
	cr_assert(metric_get(s->w->torn) == 1);
	cr_expect(s->r->groups_end == end);
	cr_expect(count_listed(s, 0, 0, 64) == 32);
	cr_assert(!open_head(s));
	cr_expect(metric_get(s->w->torn) == 1);
	/* The rest is inserted again, as by a replay of the WAL. */
	insert_all(s, 0, 32, 64);
	cr_assert(!flush_all(s));
	cr_expect(!open_head(s));
	cr_expect(count_listed(s, 0, 0, 64) == 64);
	head_scene_free(s);
}

/* Return the length of the padding after the last record in [at, end). */
static uint64_t padding_of_the_last(int fd, uint64_t at, uint64_t end)
{
	uint64_t padding = 0;

	while (at < end) {
		uint32_t lengths[2]; /* of head and body, big endian */
		uint64_t whole;
		uint64_t len;

		cr_assert(pread(fd, lengths, sizeof(lengths), (off_t)at) == 8);
		len = (uint64_t)be32toh(lengths[0]) + be32toh(lengths[1]);
		whole = record_padded(be32toh(lengths[0]), be32toh(lengths[1]));
		padding = whole - RECORD_HEADER - len;
		at += whole;
	}
	cr_assert(at == end);
	return padding;
}

Test(head, missing_padding_at_the_end_of_the_log_is_no_loss)
{
	struct head_scene *s = head_scene_new();
	size_t padded = 0;
	char path[256];

	for (size_t i = 0; i < 8; i++) {
		uint64_t before = s->r->groups_end;
		uint64_t padding;
		int fd;

		insert_all(s, 0, i * 4, i * 4 + i / 2 + 1);
		cr_expect(!flush_all(s));
		file_of(s, "groups", path);
		fd = open(path, O_RDWR);
		padding = padding_of_the_last(fd, before, s->r->groups_end);
		padded += padding > 0;
		cr_assert(!ftruncate(fd, (off_t)(s->r->groups_end - padding)));
		close(fd);
		cr_expect(!open_head(s));
	}
	cr_expect(padded, "no record of this test ends with padding");
	cr_expect(count_listed(s, 0, 0, 32) == 20, "%d",
		  count_listed(s, 0, 0, 32));
	cr_expect(!metric_get(s->w->torn));
	head_scene_free(s);
}

Test(head, a_flush_with_a_lost_chunk_is_not_believed)
{
	struct head_scene *s = head_scene_new();
	uint64_t lsn = 0;
	char path[256];
	struct chunk g;
	int fd;

	for (int k = 0; k < 96; k++) /* three chunks */
		lsn = insert(s, 0, k);
	cr_expect(!flush_all(s));
	cr_assert(s->r->series[0]->group_count == 3);
	g = s->r->series[0]->groups[1];
	fd = open(file_of(s, "groups", path), O_WRONLY);
	cr_assert(fd >= 0);
	cr_assert(pwrite(fd, "junk", 4, (off_t)g.at + 40) == 4);
	close(fd);
	/*
	 * While the head is open, the damaged chunk is reported and left out.
	 */
	cr_expect(count_listed(s, 0, 0, 96) == 64);
	cr_expect(metric_get(s->w->corruptions) == 1);
	cr_expect(!open_head(s));
	cr_expect(count_listed(s, 0, 0, 96) == 64);
	cr_expect(!head_is_done_with(s->r, 0, sample_ms(40), lsn),
		  "replay brings them back");
	cr_expect(metric_get(s->w->corruptions) >= 2);
	head_scene_free(s);
}

static int delete_in(struct head_scene *s, int series, int from, int to)
{
	struct postings p = { 0 };
	int rc;

	postings_add(&p, find_series(s, series));
	rc = head_delete(s->r, &p, sample_ms(from), sample_ms(to),
			 s->w->last.lsn, NULL);
	postings_fini(&p);
	return rc;
}

Test(head, a_deletion_hides_what_is_there_and_nothing_later)
{
	struct head_scene *s = head_scene_new();

	insert_all(s, 0, 0, 40);
	insert_all(s, 1, 0, 40);
	cr_expect(!flush_all(s));
	insert_all(s, 0, 40, 60);
	cr_expect(!delete_in(s, 0, 30, 49));
	cr_expect(s->env.unflushed == 10);
	cr_expect(count_listed(s, 0, 0, 60) == 40);
	cr_expect(count_listed(s, 0, 30, 50) == 0);
	cr_expect(count_listed(s, 1, 0, 60) == 40, "another series");
	insert_all(s, 0, 35, 37);
	cr_expect(count_listed(s, 0, 30, 50) == 2);
	cr_assert(!flush_all(s));
	cr_expect(count_listed(s, 0, 30, 50) == 2);
	for (int round = 0; round < 2; round++) {
		cr_expect(!open_head(s));
		cr_expect(count_listed(s, 0, 0, 60) == 42);
		cr_expect(count_listed(s, 0, 30, 50) == 2);
		cr_expect(count_listed(s, 1, 0, 60) == 40);
	}
	head_scene_free(s);
}

Test(head, a_deletion_of_what_was_never_flushed_is_kept)
{
	struct head_scene *s = head_scene_new();
	uint64_t lsn = insert(s, 0, 5);

	cr_assert(!delete_in(s, 0, 0, 9));
	cr_expect(!s->env.unflushed);
	cr_expect(!open_head(s));
	cr_assert(find_series(s, 0) == 0, "replay skips it");
	cr_expect(head_is_done_with(s->r, 0, sample_ms(5), lsn),
		  "replay skips it");
	cr_expect(head_highest_lsn(s->r) == lsn);
	cr_expect(!head_is_done_with(s->r, 0, sample_ms(5), lsn + 1));
	cr_expect(!head_is_done_with(s->r, 0, sample_ms(10), lsn));
	head_scene_free(s);
}

Test(head, a_deletion_that_is_not_written_lasts_until_a_start)
{
	static const unsigned ops[] = { OP(FS_WRITE), OP(FS_SYNC),
					OP(FS_RENAME) };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct head_scene *s = head_scene_new();

		insert_all(s, 0, 0, 10);
		cr_expect(!flush_all(s));
		refuse(s->w, ops[i], "/tombstones", ENOSPC);
		cr_expect(delete_in(s, 0, 0, 4) == ERR_NOSPACE);
		cr_expect(count_listed(s, 0, 0, 10) == 5);
		s->w->disk.refused = 0;
		cr_assert(!open_head(s));
		cr_expect(count_listed(s, 0, 0, 10) == 10);
		cr_assert(!delete_in(s, 0, 0, 4));
		cr_expect(!open_head(s));
		cr_expect(count_listed(s, 0, 0, 10) == 5);
		head_scene_free(s);
	}
}

Test(head, damaged_tombstones_are_told_and_undone)
{
	struct head_scene *s = head_scene_new();
	char path[256];

	insert_all(s, 0, 0, 10);
	cr_assert(!flush_all(s));
	cr_expect(!delete_in(s, 0, 0, 4));
	file_of(s, "tombstones", path);
	cr_assert(!truncate(path, FILE_HEADER + 40));
	cr_expect(!open_head(s));
	cr_expect(count_listed(s, 0, 0, 10) == 10);
	cr_expect(metric_get(s->w->corruptions) == 1);
	head_scene_free(s);
}

Test(head, type_sets_keep_their_numbers)
{
	struct head_scene *s = head_scene_new();
	struct bytes a = sample_types(0);
	struct bytes b = sample_types(1);

	cr_expect(head_typeset_number(s->r, a) == UINT32_MAX);
	head_set_typeset(s->r, 2, a);
	cr_expect(head_typeset_number(s->r, a) == 2);
	cr_assert(!head_typeset(s->r, 0).len);
	cr_expect(!head_typeset(s->r, 9).len);
	head_set_typeset(s->r, 2, b);
	cr_expect(bytes_eq(head_typeset(s->r, 2), a), "one in use stays");
	head_set_typeset(s->r, 1, b);
	cr_expect(head_typeset_number(s->r, b) == 1);
	head_drop_typesets(s->r, 2);
	cr_assert(head_typeset_number(s->r, a) == UINT32_MAX);
	cr_expect(head_typeset_number(s->r, b) == 1);
	head_scene_free(s);
}
