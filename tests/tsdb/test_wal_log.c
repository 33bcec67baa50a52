/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The WAL as a sample log, as remote write reads it: in order, only what is
 * durable, from any position, through damage, and with held segments.
 */
#include "tests/tsdb/wal_scene.h"
#include "tsdb/wal/wal_log.h"
#include "tsdb/wal/wal_unread.h"

TestSuite(wal_log, .timeout = 60);

/* A reader: its position, and what it has seen. */
struct reader {
	struct wal_scene *s;
	uint64_t position;
	struct buf buf;
	struct logged_sample sample;
	struct err err;
};

static struct sample_log *log_of(const struct reader *r)
{
	return wal_sample_log(r->s->w);
}

static int next(struct reader *r)
{
	return log_of(r)->read(log_of(r), &r->position, true, &r->buf,
			       &r->sample, &r->err);
}

/* Read profiles [from, to), and nothing after them. */
static void expect(struct reader *r, int from, int to)
{
	for (int k = from; k < to; k++) {
		int rc = next(r);

		cr_assert(!rc, "%d: %d %s", k, rc, r->err.msg);
		cr_assert(r->sample.ms == sample_ms(k), "%d", k);
		cr_assert(r->sample.body.len);
		cr_expect(r->sample.lsn < r->position);
	}
	cr_expect(next(r) == ERR_AGAIN);
}

static void sync_all(struct wal_scene *s)
{
	cr_assert(!wal_sync(s->w, wal_end(s->w), NULL));
}

/* A scene whose log holds segments. */
static struct wal_scene *holding_scene(void)
{
	struct wal_scene *s = scene_closed();

	s->o.hold = true;
	cr_assert(!scene_open(s, 0));
	return s;
}

/* Number of files in the directory of held segments. */
static size_t held_files(struct wal_scene *s)
{
	struct name_list l = { 0 };
	char path[200];
	size_t n;

	snprintf(path, sizeof(path), "%s/held", s->path);
	(void)!fs_list(NULL, path, &l, NULL);
	n = l.count;
	name_list_fini(&l);
	return n;
}

Test(wal_log, only_durable_samples_are_read)
{
	struct wal_scene *s = scene_new();
	struct reader r = { .s = s };

	cr_expect(next(&r) == ERR_AGAIN);
	add_all(s, 0, 3);
	cr_expect(next(&r) == ERR_AGAIN, "nothing is synced");
	cr_expect(log_of(&r)->end(log_of(&r)) == (1ull << 32 | FILE_HEADER));
	sync_all(s);
	cr_expect(log_of(&r)->end(log_of(&r)) == wal_end(s->w));
	expect(&r, 0, 3);
	cr_expect(r.position == wal_end(s->w));
	add_all(s, 3, 5);
	cr_expect(next(&r) == ERR_AGAIN);
	sync_all(s);
	expect(&r, 3, 5);
	buf_fini(&r.buf);
	scene_free(s);
}

Test(wal_log, samples_are_read_across_segments_from_any_position)
{
	struct wal_scene *s = scene_new();
	struct reader r = { .s = s };
	uint64_t positions[9];

	for (int k = 0; k < 9; k++) {
		add_all(s, k, k + 1);
		positions[k] = s->last.lsn;
		if (k % 3 == 2)
			begin_segment(s);
	}
	sync_all(s);
	expect(&r, 0, 9);
	for (int k = 0; k < 9; k++) {
		r.position = positions[k];
		expect(&r, k, 9);
	}
	scene_reopen(s); /* positions survive */
	for (int k = 0; k < 9; k++) {
		r.position = positions[k];
		expect(&r, k, 9);
	}
	buf_fini(&r.buf);
	scene_free(s);
}

Test(wal_log, reading_without_the_body_gives_the_rest)
{
	struct wal_scene *s = scene_new();
	struct reader r = { .s = s };

	add_all(s, 0, 2);
	sync_all(s);
	for (int k = 0; k < 2; k++) {
		cr_assert(!log_of(&r)->read(log_of(&r), &r.position, false,
					    &r.buf, &r.sample, &r.err));
		cr_assert(r.sample.ms == sample_ms(k));
		cr_expect(!r.sample.body.len);
		cr_assert(r.sample.labels.len);
		cr_expect(r.sample.raw_len);
	}
	cr_expect(next(&r) == ERR_AGAIN);
	buf_fini(&r.buf);
	scene_free(s);
}

/* Damage over several records is one place; the directory knows the samples. */
Test(wal_log, numbers_tell_how_many_samples_a_damaged_place_had)
{
	struct wal_scene *s = scene_new();
	struct reader r = { .s = s };
	uint64_t lsn[10];

	for (int k = 0; k < 10; k++) {
		cr_assert(!add(s, k));
		lsn[k] = s->last.lsn;
	}
	begin_segment(s);
	add_all(s, 10, 11);
	sync_all(s);
	for (int k = 3; k < 7; k++)
		damage(s, 1, (uint32_t)lsn[k] + 4);
	for (int k = 0; k < 3; k++) {
		cr_assert(!next(&r));
		cr_assert(r.sample.number == 1 + (uint64_t)k);
	}
	cr_assert(next(&r) == ERR_CORRUPT);
	cr_assert(r.position == lsn[7]);
	for (int k = 7; k < 11; k++) {
		cr_assert(!next(&r));
		cr_assert(r.sample.number == 1 + (uint64_t)k);
	}
	buf_fini(&r.buf);
	scene_free(s);
}

/* Each damaged byte costs the sample that it is in, and no other. */
Test(wal_log, damage_costs_one_sample)
{
	static const uint32_t offsets[] = { 0, 4, 8, 16, 28, 40, 200 };

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		struct wal_scene *s = scene_new();
		struct reader r = { .s = s };
		uint64_t at;

		add_all(s, 0, 2);
		at = (uint32_t)s->last.lsn;
		add_all(s, 2, 4);
		sync_all(s);
		damage(s, 1, at + offsets[i]);
		cr_assert(!next(&r));
		cr_assert(r.sample.ms == sample_ms(0));
		cr_expect(next(&r) == ERR_CORRUPT, "offset %u", offsets[i]);
		cr_expect(strstr(r.err.msg, "00000001") != NULL, "%s",
			  r.err.msg);
		expect(&r, 2, 4);
		buf_fini(&r.buf);
		scene_free(s);
	}
}

Test(wal_log, samples_that_were_removed_are_passed)
{
	struct wal_scene *s = scene_new();
	struct reader r = { .s = s };

	add_all(s, 0, 2);
	begin_segment(s);
	add_all(s, 2, 4);
	sync_all(s);
	cr_assert(!next(&r));
	cr_assert(r.sample.number == 1);
	cr_assert(!wal_drop(s->w, 1, NULL));
	cr_assert(!next(&r));
	cr_expect(r.sample.number == 3);
	expect(&r, 3, 4);
	buf_fini(&r.buf);
	scene_free(s);
}

Test(wal_log, dropped_segments_are_held_until_they_are_sent)
{
	struct wal_scene *s = holding_scene();
	struct reader r = { .s = s };
	uint64_t size;

	for (int k = 0; k < 6; k++) {
		add_all(s, k, k + 1);
		begin_segment(s);
	}
	sync_all(s);
	size = log_of(&r)->bytes(log_of(&r), 0);
	cr_assert(!wal_drop(s->w, 4, NULL));
	cr_assert(held_files(s) == 4);
	cr_expect(segment_bytes(s, 4) < 0);
	cr_expect(log_of(&r)->bytes(log_of(&r), 0) == size);
	cr_expect(wal_bytes(s->w) < size, "held ones do not count");
	expect(&r, 0, 6);

	/* Segment 3 may still be needed: the position is in it. */
	log_of(&r)->keep(log_of(&r), 3ull << 32 | FILE_HEADER);
	cr_expect(held_files(s) == 2);
	cr_expect(log_of(&r)->begin(log_of(&r)) == 3ull << 32);
	r.position = 0;
	expect(&r, 2, 6);

	/* They survive a restart, and numbers go on above them. */
	scene_close(s);
	s->count = 0;
	cr_assert(!scene_open(s, 0));
	cr_expect(s->count == 2, "held ones are not replayed: %zu", s->count);
	r.position = 0;
	expect(&r, 2, 6);
	cr_assert(!wal_drop(s->w, 6, NULL));
	cr_expect(held_files(s) == 4);
	log_of(&r)->keep(log_of(&r), UINT64_MAX);
	cr_expect(!held_files(s));
	cr_assert(!wal_drop(s->w, 6, NULL));
	add_all(s, 6, 7);
	sync_all(s);
	r.position = 5ull << 32;
	expect(&r, 6, 7);
	buf_fini(&r.buf);
	scene_free(s);
}

Test(wal_log, a_log_that_holds_nothing_removes_what_was_held)
{
	struct wal_scene *s = holding_scene();
	uint64_t end;

	add_all(s, 0, 2);
	begin_segment(s);
	sync_all(s);
	cr_assert(!wal_drop(s->w, 1, NULL));
	cr_expect(held_files(s) == 1);
	end = wal_end(s->w);
	scene_close(s);
	s->o.hold = false;
	cr_assert(!scene_open(s, 0));
	cr_assert(!held_files(s));
	cr_expect(!s->count);
	cr_expect(wal_end(s->w) > end, "no position is used twice");
	scene_free(s);
}

Test(wal_log, a_held_segment_that_cannot_be_opened_stays)
{
	struct wal_scene *s = holding_scene();
	struct reader r = { .s = s };

	for (int k = 0; k < 3; k++) {
		add_all(s, k, k + 1);
		begin_segment(s);
	}
	sync_all(s);
	cr_assert(!wal_drop(s->w, 2, NULL));
	scene_close(s);
	refuse(s, OP(FS_READ) | OP(FS_OPEN), "held/00000001", EIO);
	s->count = 0;
	cr_assert(!scene_open(s, 0));
	cr_expect(held_files(s) == 2);
	cr_expect(next(&r) == ERR_NOTFOUND, "it comes later");
	expect(&r, 1, 3);
	refuse(s, 0, "", 0);
	scene_reopen(s);
	r.position = 0;
	expect(&r, 0, 3);
	buf_fini(&r.buf);
	scene_free(s);
}

/* A segment that cannot be moved stays where it is, and is still read. */
Test(wal_log, a_segment_that_cannot_be_held_is_not_lost)
{
	struct wal_scene *s = holding_scene();
	struct reader r = { .s = s };

	add_all(s, 0, 2);
	begin_segment(s);
	sync_all(s);
	refuse(s, OP(FS_RENAME), "00000001", ENOSPC);
	cr_expect(wal_drop(s->w, 1, NULL) == ERR_NOSPACE);
	cr_expect(segment_bytes(s, 1) > 0);
	refuse(s, 0, "", 0);
	scene_reopen(s);
	expect(&r, 0, 2);
	buf_fini(&r.buf);
	scene_free(s);
}

Test(wal_log, a_log_without_heads_keeps_what_was_not_sent)
{
	struct wal_scene *s = scene_closed();
	struct reader r = { .s = s };

	s->o.no_heads = true;
	cr_assert(!scene_open(s, 0));
	for (int k = 0; k < 4; k++) {
		add_all(s, k, k + 1);
		begin_segment(s);
	}
	sync_all(s);
	log_of(&r)->keep(log_of(&r), 3ull << 32);
	cr_assert(segment_bytes(s, 2) < 0);
	cr_expect(segment_bytes(s, 3) > 0);
	expect(&r, 2, 4);
	log_of(&r)->keep(log_of(&r), UINT64_MAX);
	cr_assert(segment_bytes(s, 4) < 0, "the current segment stays");
	cr_expect(segment_bytes(s, 5) > 0, "the current segment stays");
	buf_fini(&r.buf);
	scene_free(s);
}

/* After a restart, a segment that could not be moved is between held ones. */
Test(wal_log, held_segments_are_read_in_order_with_the_others)
{
	struct wal_scene *s = holding_scene();
	struct reader r = { .s = s };

	for (int k = 0; k < 4; k++) {
		add_all(s, k, k + 1);
		begin_segment(s);
	}
	sync_all(s);
	cr_assert(!wal_drop(s->w, 1, NULL));
	refuse(s, OP(FS_RENAME), "00000002", EIO);
	cr_expect(wal_drop(s->w, 2, NULL) == ERR_IO);
	expect(&r, 0, 4);
	refuse(s, 0, "", 0);
	cr_assert(!wal_drop(s->w, 3, NULL));
	r.position = 0;
	expect(&r, 0, 4);
	scene_reopen(s);
	cr_assert(held_files(s) == 2);
	cr_expect(segment_bytes(s, 2) > 0);
	r.position = 0;
	expect(&r, 0, 4);
	cr_assert(!wal_drop(s->w, 4, NULL));
	cr_expect(held_files(s) == 4);
	r.position = 0;
	expect(&r, 0, 4);
	log_of(&r)->keep(log_of(&r), 3ull << 32);
	cr_expect(held_files(s) == 2);
	r.position = 0;
	expect(&r, 2, 4);
	buf_fini(&r.buf);
	scene_free(s);
}

/* A thread that drops all segments but the current one. */
static void *drop_all(void *arg)
{
	struct wal_scene *s = arg;

	for (uint64_t n = 1; n <= 100; n++) {
		(void)!wal_drop(s->w, n, NULL);
		usleep(200);
	}
	return NULL;
}

/* A reader must not miss a segment while it is being moved. */
Test(wal_log, readers_find_segments_that_are_being_moved)
{
	struct wal_scene *s = holding_scene();
	struct reader r = { .s = s };
	pthread_t t;

	for (int k = 0; k < 100; k++) {
		add_all(s, k, k + 1);
		begin_segment(s);
	}
	sync_all(s);
	cr_assert(!pthread_create(&t, NULL, drop_all, s));
	for (int round = 0; round < 20; round++) {
		r.position = 0;
		expect(&r, 0, 100);
	}
	pthread_join(t, NULL);
	cr_expect(held_files(s) == 100);
	buf_fini(&r.buf);
	scene_free(s);
}

/* A thread that syncs after the reader has begun to wait. */
static void *sync_later(void *arg)
{
	struct wal_scene *s = arg;

	usleep(20000);
	sync_all(s);
	return NULL;
}

Test(wal_log, waiting_ends_with_a_durable_sample)
{
	struct wal_scene *s = scene_new();
	struct reader r = { .s = s };
	pthread_t t;

	r.position = log_of(&r)->end(log_of(&r));
	log_of(&r)->wait(log_of(&r), r.position, 1); /* nothing comes */
	add_all(s, 0, 1);
	cr_assert(!pthread_create(&t, NULL, sync_later, s));
	while (next(&r) == ERR_AGAIN)
		log_of(&r)->wait(log_of(&r), r.position, 60000);
	cr_expect(r.sample.ms == sample_ms(0));
	pthread_join(t, NULL);
	buf_fini(&r.buf);
	scene_free(s);
}

Test(wal_log, a_sample_that_the_disk_does_not_read_is_read_later)
{
	struct wal_scene *s = scene_new();
	struct reader r = { .s = s };
	uint64_t at;

	add_all(s, 0, 2);
	at = s->last.lsn;
	add_all(s, 2, 3);
	sync_all(s);
	cr_assert(!next(&r));
	/* The header of the record, then its body. */
	for (uint64_t part = 0; part < 200; part += 100) {
		refuse(s, OP(FS_READ), "/00000001", EIO);
		s->disk.from = (uint32_t)at + part;
		s->disk.to = s->disk.from + 1;
		for (int n = 0; n < 3; n++) {
			cr_expect(next(&r) == ERR_IO);
			cr_expect(r.position == at, "it stays");
		}
	}
	s->disk.refused = 0;
	expect(&r, 1, 3);
	buf_fini(&r.buf);
	scene_free(s);
}

Test(wal_log, the_file_of_a_sample_that_is_passed_over_is_kept)
{
	struct wal_scene *s = scene_new();
	struct reader r = { .s = s };
	uint64_t at;

	add_all(s, 0, 1);
	r.position = s->last.lsn;
	for (int k = 1; k < 40; k++)
		add_all(s, k, k + 1);
	sync_all(s);
	refuse(s, OP(FS_READ), "/00000001", EIO);
	s->disk.from = (uint32_t)r.position;
	s->disk.to = s->disk.from + 1;
	cr_expect(next(&r) == ERR_IO);
	at = r.position;
	s->disk.refused |= OP(FS_LINK);
	cr_expect(log_of(&r)->skip(log_of(&r), &r.position, &r.err) == ERR_IO);
	cr_expect(r.position == at, "it cannot be kept, so it is not passed");
	s->disk.refused &= ~OP(FS_LINK);
	s->disk.hits = 0;
	cr_expect(!log_of(&r)->skip(log_of(&r), &r.position, &r.err));
	cr_expect(!access(segment_file(s, 1, ".unread"), F_OK), "at once");
	cr_expect(!next(&r), "%s", r.err.msg);
	cr_expect(r.sample.ms > sample_ms(0));
	cr_expect(s->disk.hits < 10, "a page is tried once: %d",
		  (int)s->disk.hits);
	s->disk.refused = 0;
	begin_segment(s);
	cr_expect(!wal_drop(s->w, 1, NULL));
	cr_expect(!access(segment_file(s, 1, ".unread"), F_OK));
	buf_fini(&r.buf);
	scene_free(s);
}

/* The log of an agent, in which every segment with samples has a number. */
static struct wal_scene *agent_scene(void)
{
	struct wal_scene *s = scene_closed();

	s->o.no_heads = true;
	cr_assert(!scene_open(s, 0));
	return s;
}

/* What may happen to the files of five segments, in a shell. */
struct mishap {
	const char *what;
	uint64_t lost; /* of the ten profiles in each, after a clean stop */
	uint64_t more; /* that a crash loses more */
};

static const struct mishap mishaps[] = {
	{ "true", 0, 0 },
	{ "truncate -s -20 00000003", 0, 0 }, /* a part of the directory */
	{ "rm 00000003", 10, 0 },
	{ ": >00000003", 10, 0 },
	{ "truncate -s 32 00000003", 10, 0 },
	{ "mv 00000003 x; mv 00000004 00000003; mv x 00000004", 20, 0 },
	{ "head -c 9000 /dev/urandom >00000003", 10, 0 },
	{ "rm 00000003 00000002", 20, 0 },
	{ "rm 00000002; : >00000004", 20, 0 },
	/* Only a file says how many the last segment had. */
	{ "truncate -s -20 00000005", 0, 1 },
	{ "rm 00000005", 10, 0 },
	{ ": >00000005", 10, 0 },
	{ "truncate -s 64 00000005", 10, 0 },
	{ "rm 00000004 00000005", 20, 0 },
	{ "rm 00000003; : >00000005", 20, 0 },
	/* Files that stand under the name of another segment. */
	{ "cp 00000001 00000007; rm 00000005", 10, 0 },
	{ "cp 00000001 00000007; truncate -s -20 00000005", 0, 1 },
	{ "cp 00000001 00000005", 10, 0 },
	{ "mv 00000002 x; mv 00000005 00000002; mv x 00000005", 20, 0 },
	{ "rm numbers", 0, 0 },
	{ ": >numbers", 0, 0 },
};

/* What a reader finds and misses. */
struct finding {
	uint64_t expected; /* number of the next sample; 0: any */
	uint64_t samples;
	uint64_t lost;
};

/* Read what is left. */
static void find(struct reader *r, struct finding *f)
{
	int rc;

	while ((rc = next(r)) != ERR_AGAIN) {
		if (rc == ERR_NOTFOUND)
			f->expected = 0;
		if (rc)
			continue;
		if (f->expected && r->sample.number > f->expected)
			f->lost += r->sample.number - f->expected;
		f->expected = r->sample.number + 1;
		f->samples++;
	}
}

/* Ten samples in each of five segments. */
static void add_segments(struct wal_scene *s)
{
	for (int n = 0; n < 5; n++) {
		if (n)
			begin_segment(s);
		add_all(s, 10 * n, 10 * n + 10);
	}
	sync_all(s);
}

/*
 * A reader has read the first sample; then come a clean stop or a crash, a
 * mishap, and a start.
 */
static struct finding mishap_run(struct wal_scene *s, bool crash,
				 const char *what)
{
	CLEANUP(mem_freep)
	char *command = mem_printf("cd %s && { %s; }", s->path, what);
	struct reader r = { .s = s };
	struct finding f = { .expected = 2 };

	add_segments(s);
	cr_assert(!next(&r));
	cr_assert(r.sample.number == 1);
	if (crash)
		scene_crash(s, 5);
	else
		scene_close(s);
	cr_assert(!system(command));
	cr_assert(!scene_open(s, 0));
	add_all(s, 50, 51);
	sync_all(s);
	find(&r, &f);
	cr_expect(f.samples + f.lost == 50, "%s: %d and %d", what,
		  (int)f.samples, (int)f.lost);
	buf_fini(&r.buf);
	return f;
}

Test(wal_log, numbers_tell_how_many_samples_segments_have_lost)
{
	for (size_t i = 0; i < 4 * ARRAY_SIZE(mishaps); i++) {
		const struct mishap *m = &mishaps[i / 4];
		struct wal_scene *s = i % 2 ? agent_scene() : holding_scene();
		bool crash = i % 4 / 2;
		uint64_t lost = m->lost + (crash ? m->more : 0);
		const struct finding f = mishap_run(s, crash, m->what);

		cr_expect(f.lost == lost, "%s (%d): %d", m->what, crash,
			  (int)f.lost);
		cr_expect(metric_get(s->missing) == (int64_t)lost,
			  "%s (%d): %d", m->what, crash,
			  (int)metric_get(s->missing));
		scene_free(s);
	}
}

/*
 * A start cuts nothing off a segment that had profiles and seems to have none: it
 * may be complete, under the name of another one, or be restored.
 */
Test(wal_log, segments_without_a_readable_profile_are_not_cut)
{
	static const struct {
		const char *before, *after;
	} cases[] = {
		{ "mv 00000002 x; mv 00000005 00000002; mv x 00000005",
		  "mv 00000002 x; mv 00000005 00000002; mv x 00000005" },
		{ "cp 00000005 x; printf '%2000s' >y; head -c 64 x >00000005; "
		  "cat y >>00000005; cp 00000005 z",
		  "cmp 00000005.damaged z && rm 00000005.damaged && "
		  "mv x 00000005" },
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct wal_scene *s = agent_scene();
		CLEANUP(mem_freep)
		char *before = mem_printf("cd %s && { %s; }", s->path,
					  cases[i / 2].before);
		CLEANUP(mem_freep)
		char *after =
			mem_printf("cd %s && %s", s->path, cases[i / 2].after);

		add_segments(s);
		if (i % 2)
			scene_crash(s, 5);
		else
			scene_close(s);
		cr_assert(!system(before));
		cr_assert(!scene_open(s, 0));
		cr_expect(s->count < 50);
		/* Nor does a later one, which knows less. */
		scene_reopen(s);
		scene_close(s);
		cr_assert(!system(after), "%zu", i);
		cr_assert(!scene_open(s, 0));
		cr_expect(has_read(s, 0, 50), "%zu: %zu", i, s->count);
		scene_free(s);
	}
}

/* A file says what the log began with. The reader has read one of them. */
Test(wal_log, numbers_tell_how_many_samples_the_first_segments_had)
{
	static const struct mishap first[] = {
		{ "rm 00000001", 10, 0 },
		{ "rm 00000001 00000002 00000003", 30, 0 },
		{ "rm 0*", 50, 0 },
		{ ": >00000001; : >00000002", 20, 0 },
	};

	for (size_t i = 0; i < 4 * ARRAY_SIZE(first); i++) {
		const struct mishap *m = &first[i / 4];
		struct wal_scene *s = i % 2 ? agent_scene() : holding_scene();
		const struct finding f = mishap_run(s, i % 4 / 2, m->what);

		cr_expect(f.lost == m->lost - 1, "%s: %d", m->what,
			  (int)f.lost);
		cr_expect(metric_get(s->missing) == (int64_t)m->lost, "%s: %d",
			  m->what, (int)metric_get(s->missing));
		/* It is counted once. */
		scene_reopen(s);
		cr_expect(metric_get(s->missing) == (int64_t)m->lost, "%s",
			  m->what);
		scene_free(s);
	}
}

/* What was dropped because nobody needs it is not missing after a crash. */
Test(wal_log, samples_that_were_dropped_are_not_missing)
{
	for (int failed = 0; failed < 3; failed++) {
		static const int errors[] = { 0, ENOSPC, EIO };
		struct wal_scene *s = agent_scene();

		add_segments(s);
		if (failed)
			refuse(s, OP(FS_WRITE), "/numbers", errors[failed]);
		cr_expect(wal_drop(s->w, 3, NULL) ==
			  (errors[failed] == EIO ? ERR_IO : 0));
		cr_expect(segment_bytes(s, 3) < 0 || errors[failed] == EIO,
			  "a full disk needs the room");
		refuse(s, 0, "", 0);
		sync_all(s);
		scene_crash(s, 5);
		cr_assert(!scene_open(s, 0));
		cr_expect(!metric_get(s->missing), "%d", failed);
		scene_free(s);
	}
}

/*
 * On a full disk, the file that says what the log has is removed, durably, before
 * the segments are: also if it is not known whether the removal before was.
 */
Test(wal_log, nothing_is_dropped_before_the_file_of_numbers_is_gone)
{
	struct wal_scene *s = agent_scene();
	CLEANUP(mem_freep) char *path = mem_printf("%s/numbers", s->path);

	add_segments(s);
	refuse(s, OP(FS_WRITE) | OP(FS_SYNC_DIR), "", ENOSPC);
	for (int n = 0; n < 2; n++) {
		cr_expect(wal_drop(s->w, 3, NULL) == ERR_NOSPACE, "%d", n);
		cr_assert(access(path, F_OK), "%d", n);
		cr_expect(segment_bytes(s, 1) > 0, "%d", n);
	}
	refuse(s, OP(FS_WRITE), "/numbers", ENOSPC);
	cr_expect(!wal_drop(s->w, 3, NULL));
	cr_expect(segment_bytes(s, 3) < 0);
	scene_free(s);
}

/* The inode of the file that says what the log has. */
static ino_t numbers_inode(const struct wal_scene *s)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/numbers", s->path);
	struct stat st;

	cr_assert(!stat(path, &st));
	return st.st_ino;
}

/* A start replaces the file durably only if it says what is not so any more. */
Test(wal_log, a_file_of_numbers_that_is_true_is_kept)
{
	struct wal_scene *s = agent_scene();
	ino_t before;

	add_segments(s);
	before = numbers_inode(s);
	scene_reopen(s);
	cr_expect(numbers_inode(s) == before, "the log goes on");
	scene_reopen(s);
	cr_expect(numbers_inode(s) == before, "again");
	add_all(s, 50, 60);
	sync_all(s);
	scene_crash(s, 7);
	cr_assert(!unlink(segment_file(s, 7, "")));
	cr_assert(!scene_open(s, 0));
	cr_expect(metric_get(s->missing) == 10, "it says what was added");
	scene_crash(s, 8);
	cr_assert(!unlink(segment_file(s, 1, "")));
	before = numbers_inode(s);
	cr_assert(!scene_open(s, 0));
	cr_expect(numbers_inode(s) != before, "the log begins later");
	scene_free(s);
}

/* A power cut may undo all that was written to the file since its last sync. */
Test(wal_log, an_old_file_of_numbers_takes_nothing_for_missing)
{
	for (int dropped = 0; dropped < 2; dropped++) {
		struct wal_scene *s = agent_scene();
		CLEANUP(mem_freep)
		char *save = mem_printf("cp %s/numbers %s/x", s->path, s->path);
		CLEANUP(mem_freep)
		char *back = mem_printf("mv %s/x %s/numbers", s->path, s->path);

		add_segments(s);
		cr_assert(!dropped || !wal_drop(s->w, 3, NULL));
		scene_close(s);
		cr_assert(!system(save));
		for (int n = 0; n < 2; n++) {
			cr_assert(!scene_open(s, 0));
			add_all(s, 50 + 10 * n, 60 + 10 * n);
			sync_all(s);
			scene_crash(s, 6 + n);
		}
		cr_assert(!system(back));
		cr_assert(!scene_open(s, 0));
		cr_expect(has_read(s, dropped ? 30 : 0, 70));
		cr_expect(!metric_get(s->missing), "%d: %d", dropped,
			  (int)metric_get(s->missing));
		scene_free(s);
	}
}

/*
 * If what the log has can neither be read nor noted, the log may go on with
 * numbers that it had before: none of these is missing.
 */
Test(wal_log, numbers_that_are_used_again_are_not_missing)
{
	struct wal_scene *s = agent_scene();

	add_segments(s);
	begin_segment(s);
	cr_expect(!wal_drop(s->w, 5, NULL));
	scene_close(s);
	refuse(s,
	       OP(FS_OPEN) | OP(FS_READ) | OP(FS_WRITE) | OP(FS_RENAME) |
		       OP(FS_UNLINK),
	       "/numbers", EIO);
	cr_assert(!scene_open(s, 0));
	add_all(s, 50, 70);
	sync_all(s);
	scene_crash(s, 7);
	refuse(s, 0, "", 0);
	cr_assert(!scene_open(s, 0));
	cr_assert(has_read(s, 50, 70), "%d", (int)metric_get(s->missing));
	cr_expect(!metric_get(s->missing), "%d", (int)metric_get(s->missing));
	scene_free(s);
}

/* Records may be behind a damaged one, where the disk does not read now. */
Test(wal_log, what_cannot_be_read_behind_damage_is_read_later)
{
	struct wal_scene *s = scene_new();
	struct reader r = { .s = s };
	uint64_t page;

	add_all(s, 0, 200);
	sync_all(s);
	cr_assert(!next(&r));
	page = ((uint32_t)r.position | 4095) + 1;
	cr_assert(page + 4096 < (uint32_t)wal_end(s->w));
	for (uint64_t at = (uint32_t)r.position; at < page; at++)
		damage(s, 1, at);
	refuse(s, OP(FS_READ), "/00000001", EIO);
	s->disk.from = page;
	s->disk.to = page + 4096;
	cr_expect(next(&r) == ERR_CORRUPT);
	for (int n = 0; n < 3; n++)
		cr_expect(next(&r) == ERR_IO, "it waits for the disk");
	cr_expect((uint32_t)r.position < page);
	s->disk.refused = 0;
	while (next(&r) == ERR_CORRUPT)
		;
	cr_expect((uint32_t)r.sample.lsn < page + 4096, "of that page");
	expect(&r, (int)r.sample.number, 200);
	buf_fini(&r.buf);
	scene_free(s);
}

/* Append a sample of an unread segment again. */
static int append_again(void *ctx, const struct segment_profile *p,
			bool partial UNUSED, struct err *err)
{
	struct wal_scene *s = ctx;
	struct labels *ls = sample_labels(0);
	int64_t totals[TYPES_MAX];
	struct sample sample = segment_profile_sample(p, totals);
	int rc;

	sample.labels = ls;
	rc = wal_append_resend(s->w, &sample, err);
	labels_unref(ls);
	return rc;
}

/*
 * While the disk does not read a segment, its samples are not lost; nor are they
 * when they were appended again, also after a start.
 */
Test(wal_log, what_comes_back_later_is_not_lost)
{
	for (int when = 0; when < 3; when++) {
		struct wal_scene *s = agent_scene();
		struct reader r = { .s = s };
		struct finding f = { .expected = 2 };
		const struct wal_unread_taker taker = { .profile = append_again,
							.ctx = s,
							.whole = when != 1 };

		add_segments(s);
		cr_assert(!next(&r));
		scene_close(s);
		refuse(s, OP(FS_READ), "/00000003", EIO);
		cr_assert(!scene_open(s, 0));
		refuse(s, 0, "", 0);
		if (when == 0)
			find(&r, &f);
		cr_assert(!wal_unread_take_all(s->w, &taker, NULL));
		sync_all(s);
		if (when == 2)
			scene_reopen(s);
		find(&r, &f);
		cr_assert(f.samples == 49, "%d: %d, %d lost", when,
			  (int)f.samples, (int)f.lost);
		cr_expect(!f.lost, "%d: %d, %d lost", when, (int)f.samples,
			  (int)f.lost);
		cr_expect(!metric_get(s->missing), "%d", when);
		/* What shows where they were goes when nobody needs it. */
		cr_expect(!access(segment_file(s, 3, ".returned"), F_OK));
		refuse(s, OP(FS_SYNC_DIR), "", EIO);
		log_of(&r)->keep(log_of(&r), r.position);
		cr_expect(!access(segment_file(s, 3, ".returned"), F_OK),
			  "what was removed before is not durable");
		refuse(s, 0, "", 0);
		log_of(&r)->keep(log_of(&r), r.position);
		cr_expect(access(segment_file(s, 3, ".returned"), F_OK));
		buf_fini(&r.buf);
		scene_free(s);
	}
}

/*
 * Those of a first segment come back before the reader has come to their place,
 * and another start follows.
 */
Test(wal_log, what_comes_back_before_it_is_read_is_not_lost)
{
	struct wal_scene *s = agent_scene();
	struct reader r = { .s = s };
	struct finding f = { .expected = 1 };
	const struct wal_unread_taker taker = { .profile = append_again,
						.ctx = s,
						.whole = true };

	add_all(s, 0, 30);
	sync_all(s);
	scene_crash(s, 1);
	refuse(s, OP(FS_OPEN), "/0", EIO);
	cr_assert(!scene_open(s, 0));
	refuse(s, 0, "", 0);
	cr_assert(!wal_unread_take_all(s->w, &taker, NULL));
	scene_reopen(s);
	cr_expect(!access(segment_file(s, 1, ".returned"), F_OK));
	/* As a queue whose cursor is at the begin of the log. */
	r.position = 1ULL << 32;
	log_of(&r)->keep(log_of(&r), r.position);
	find(&r, &f);
	cr_assert(f.samples == 30, "%d, %d lost", (int)f.samples, (int)f.lost);
	cr_expect(!f.lost, "%d, %d lost", (int)f.samples, (int)f.lost);
	buf_fini(&r.buf);
	scene_free(s);
}

/*
 * As long as it is not durable that the file of an unread segment is kept, the
 * segment is not removed, and no reader passes it.
 */
Test(wal_log, an_unread_segment_is_not_left_behind_before_it_is_marked)
{
	struct wal_scene *s = agent_scene();
	struct reader r = { .s = s };

	add_segments(s);
	scene_close(s);
	refuse(s, OP(FS_OPEN) | OP(FS_READ) | OP(FS_LINK), "/00000001", EIO);
	cr_assert(!scene_open(s, 0));
	cr_expect(wal_drop(s->w, 3, NULL) == ERR_IO);
	cr_expect(segment_bytes(s, 2) > 0, "nothing was removed");
	cr_assert(next(&r) == ERR_IO, "it stays");
	cr_expect(r.position == 0, "it stays");
	refuse(s, 0, "", 0);
	cr_expect(next(&r) == ERR_NOTFOUND, "it is marked now");
	cr_expect(!access(segment_file(s, 1, ".unread"), F_OK));
	cr_assert(!next(&r));
	cr_expect(r.sample.ms == sample_ms(10));
	cr_expect(!wal_drop(s->w, 3, NULL));
	cr_expect(!access(segment_file(s, 1, ".unread"), F_OK));
	buf_fini(&r.buf);
	scene_free(s);
}

static int count_taken(void *ctx, const struct segment_profile *p UNUSED,
		       bool partial, struct err *err UNUSED)
{
	cr_expect(partial);
	++*(int *)ctx;
	return 0;
}

/* What was appended again is passed again only if there is more. */
Test(wal_log, what_is_read_in_part_is_taken_once)
{
	struct wal_scene *s = agent_scene();
	int taken = 0;
	struct wal_unread_taker taker = { .profile = count_taken,
					  .ctx = &taken };
	_Atomic int quit = 1;
	int all;

	add_all(s, 0, 200);
	sync_all(s);
	cr_assert(segment_bytes(s, 1) > 5 * 4096);
	scene_close(s);
	refuse(s, OP(FS_READ), "/00000001", EIO);
	s->disk.from = 4096; /* up to the directory, so that it is needed */
	cr_assert(!scene_open(s, 0));
	cr_assert(!wal_unread_take_all(s->w, &taker, NULL));
	all = taken;
	cr_assert(all > 0, "%d", all);
	cr_expect(all < 200, "%d", all);
	cr_assert(!wal_unread_take_all(s->w, &taker, NULL));
	cr_expect(taken == all, "no more than before");
	s->disk.to = 8192;
	cr_assert(!wal_unread_take_all(s->w, &taker, NULL));
	cr_expect(taken > 2 * all, "more than before");
	all = taken;
	s->disk.to = 4097; /* more again, but everprof stops */
	taker.quit = &quit;
	cr_expect(wal_unread_take_all(s->w, &taker, NULL) == ERR_CLOSED);
	taker.quit = NULL;
	taker.whole = true;
	s->disk.to = 4097;
	cr_assert(!wal_unread_take_all(s->w, &taker, NULL));
	cr_expect(taken == all, "not before all of it is read");
	refuse(s, 0, "", 0);
	scene_free(s);
}

/* Nor are those at the end of a segment that the disk reads in part. */
Test(wal_log, what_is_behind_an_unread_place_is_not_missing)
{
	struct wal_scene *s = agent_scene();

	for (int n = 0; n < 3; n++) {
		if (n)
			begin_segment(s);
		add_all(s, 60 * n, 60 * n + 60);
	}
	sync_all(s);
	cr_assert(segment_bytes(s, 2) > 9000);
	scene_close(s);
	refuse(s, OP(FS_READ), "/00000002", EIO);
	s->disk.from = 8192;
	cr_assert(!scene_open(s, 0));
	cr_assert(s->disk.hits > 0, "%zu", s->count);
	cr_assert(s->count < 180, "%zu", s->count);
	cr_expect(s->count > 120, "%zu", s->count);
	cr_expect(!metric_get(s->missing), "%d", (int)metric_get(s->missing));
	refuse(s, 0, "", 0);
	scene_free(s);
}

/* The size is asked for when the file is opened, and once more. */
static void size_is_not_told(long passes)
{
	for (uint64_t number = 1; number <= 3; number++) {
		struct wal_scene *s = agent_scene();
		struct reader r = { .s = s };
		char part[16];
		char kept[200];
		int found = 0;

		for (int n = 0; n < 3; n++) {
			if (n)
				begin_segment(s);
			add_all(s, 10 * n, 10 * n + 10);
		}
		sync_all(s);
		scene_close(s);
		snprintf(part, sizeof(part), "/%08d", (int)number);
		refuse(s, OP(FS_STAT), part, EIO);
		s->disk.passes = passes;
		cr_assert(!scene_open(s, 0));
		cr_expect(s->disk.hits > passes);
		refuse(s, 0, "", 0);
		scene_close(s);
		snprintf(kept, sizeof(kept), "%s",
			 segment_file(s, (int)number, ".unread"));
		cr_assert(!rename(kept, segment_file(s, (int)number, "")));
		cr_assert(!scene_open(s, 0));
		for (int rc = 0; rc != ERR_AGAIN; rc = next(&r))
			found += !rc;
		cr_expect(found - 1 == 30, "%d", found - 1);
		buf_fini(&r.buf);
		scene_free(s);
	}
}

Test(wal_log, a_segment_whose_size_is_not_told_is_kept)
{
	size_is_not_told(0);
	size_is_not_told(1);
}

/* Some records at the end are missing. */
Test(wal_log, a_segment_that_was_cut_short_lacks_what_was_behind)
{
	struct wal_scene *s = agent_scene();
	struct reader r = { .s = s };
	struct finding f = { .expected = 1 };
	uint64_t lsn[10];

	for (int k = 0; k < 10; k++) {
		cr_assert(!add(s, k));
		lsn[k] = s->last.lsn;
	}
	begin_segment(s);
	add_all(s, 10, 12);
	sync_all(s);
	scene_close(s);
	cr_assert(!truncate(segment_file(s, 1, ""), (off_t)(uint32_t)lsn[7]));
	cr_assert(!scene_open(s, 0));
	find(&r, &f);
	cr_assert(f.samples == 9);
	cr_expect(f.lost == 3);
	cr_expect(metric_get(s->missing) == 3);
	buf_fini(&r.buf);
	scene_free(s);
}

Test(wal_log, starts_of_an_agent_without_samples_are_no_gaps)
{
	struct wal_scene *s = agent_scene();
	struct reader r = { .s = s };

	for (int k = 0; k < 3; k++) {
		add_all(s, k, k + 1);
		sync_all(s);
		expect(&r, k, k + 1);
		for (int n = 0; n < 3; n++) {
			scene_crash(s, wal_end(s->w) >> 32);
			cr_assert(!scene_open(s, 0));
			cr_expect(next(&r) == ERR_AGAIN, "%s", r.err.msg);
		}
	}
	buf_fini(&r.buf);
	scene_free(s);
}
