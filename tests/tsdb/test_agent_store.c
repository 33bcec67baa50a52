/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of everprof agent: a log alone, which keeps what was not sent, over
 * restarts, and never becomes a database by mistake.
 */
#include "tsdb/open/agent_store.h"

#include <sys/stat.h>

#include "tests/tempdir.h"
#include "tests/tsdb/hook.h"
#include "tests/tsdb/sample.h"
#include "tsdb/open/tsdb.h"

#include "tests/check.h"

TestSuite(agent_store, .timeout = 60);

/* A store in a directory of its own. */
struct scene {
	struct tempdir dir;
	struct metrics *metrics;
	struct hook *hook; /* NULL: the disk of this machine */
	struct agent_store *s;
};

static int scene_open(struct scene *f, struct err *err)
{
	const struct agent_store_options o = {
		.path = f->dir.path,
		.fs = f->hook ? &f->hook->fs : NULL,
		.metrics = f->metrics,
		.segment_size = 64 << 10,
		.sync_ms = f->hook ? 10 : 3600000,
	};

	return agent_store_open(&o, &f->s, err);
}

static struct scene scene_begin(void)
{
	struct scene f = { .dir = tempdir_make(), .metrics = metrics_new() };

	cr_assert(!scene_open(&f, NULL));
	return f;
}

static void scene_reopen(struct scene *f)
{
	agent_store_close(f->s);
	f->s = NULL;
	cr_assert(!scene_open(f, NULL));
}

static void scene_end(struct scene *f)
{
	agent_store_close(f->s);
	metrics_free(f->metrics);
	tempdir_fini(&f->dir);
}

/* Append profiles [from, to) of series 0, and make them durable. */
static void append_all(struct scene *f, int from, int to)
{
	struct appender *a = agent_store_appender(f->s);
	uint64_t lsn = 0;

	for (int k = from; k < to; k++)
		cr_assert(!sample_append(a, 0, k, &lsn, NULL));
	cr_assert(!a->sync(a, lsn, lsn, NULL));
}

/* Read profiles [from, to) from *position on, and nothing after them. */
static void expect(struct scene *f, uint64_t *position, int from, int to)
{
	struct sample_log *l = agent_store_log(f->s);
	struct logged_sample s;
	struct buf buf = { 0 };

	for (int k = from; k < to; k++) {
		cr_assert(!l->read(l, position, true, &buf, &s, NULL), "%d", k);
		cr_expect(s.ms == sample_ms(k), "%d", k);
	}
	cr_expect(l->read(l, position, true, &buf, &s, NULL) == ERR_AGAIN);
	buf_fini(&buf);
}

/* A segment that fills the disk would stay, and nothing could be stored. */
Test(agent_store, segments_are_small_beside_the_disk)
{
	cr_expect(agent_store_segment_size(UINT64_MAX) == 16 << 20);
	cr_expect(agent_store_segment_size(1 << 30) == 16 << 20);
	cr_expect(agent_store_segment_size(16 << 20) == 256 << 10);
	cr_expect(agent_store_segment_size(0) == 64 << 10);
}

Test(agent_store, what_was_appended_is_kept_until_it_is_sent)
{
	struct scene f = scene_begin();
	struct sample_log *l = agent_store_log(f.s);
	uint64_t position = 0;
	uint64_t middle;
	uint64_t size;

	append_all(&f, 0, 300);
	expect(&f, &position, 0, 300);
	scene_reopen(&f);
	l = agent_store_log(f.s);
	position = l->begin(l);
	expect(&f, &position, 0, 300);
	/*
	 * Segments whose profiles were all sent are removed; the others stay.
	 */
	size = agent_store_bytes(f.s);
	middle = (position >> 33) << 32;
	l->keep(l, middle);
	cr_expect(agent_store_bytes(f.s) < size);
	cr_expect(l->begin(l) == middle);
	append_all(&f, 300, 310);
	expect(&f, &position, 300, 310);
	l->keep(l, UINT64_MAX);
	cr_expect(agent_store_bytes(f.s) < 128 << 10);
	/* Positions go on, though all files were removed. */
	scene_reopen(&f);
	l = agent_store_log(f.s);
	cr_expect(l->end(l) >= position);
	append_all(&f, 310, 320);
	expect(&f, &position, 310, 320);
	scene_end(&f);
}

Test(agent_store, a_database_can_be_opened_in_its_directory_but_not_the_reverse)
{
	struct scene f = scene_begin();
	struct tsdb_options o = { .path = f.dir.path,
				  .metrics = f.metrics,
				  .maintain_ms = -1 };
	struct tsdb *db = NULL;
	struct err err;

	append_all(&f, 0, 5);
	cr_expect(tsdb_open(&o, &db, &err) == ERR_BUSY, "%s", err.msg);
	agent_store_close(f.s);
	f.s = NULL;
	cr_assert(!tsdb_open(&o, &db, &err), "%s", err.msg);
	cr_expect(metric_get(metrics_counter(
			  f.metrics, "everprof_tsdb_wal_corruptions_total", "",
			  NULL)) == 0);
	tsdb_close(db);
	cr_expect(scene_open(&f, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "everprof serve") != NULL, "%s", err.msg);
	scene_end(&f);
}

Test(agent_store, the_receiver_judges_times)
{
	struct scene f = scene_begin();
	struct appender *a = agent_store_appender(f.s);
	struct labels *ls = sample_labels(0);
	const int64_t totals[8] = { 0 };
	struct sample s = { .labels = ls,
			    .totals = totals,
			    .ms = clock_ms(NULL) + 3600000,
			    .typeset = sample_types(0) };
	uint64_t lsn;

	cr_expect(!a->append(a, &s, &lsn, NULL), "an hour ahead");
	s.ms = 1000;
	cr_expect(!a->append(a, &s, &lsn, NULL));
	s.ms = -1;
	cr_expect(a->append(a, &s, &lsn, NULL) == ERR_INVALID);
	labels_unref(ls);
	scene_end(&f);
}

Test(agent_store, what_the_disk_cannot_read_is_sent_after_a_restart)
{
	struct hook hook = hook_make();
	struct scene f = scene_begin();
	struct sample_log *l = agent_store_log(f.s);
	bool seen[20] = { false };
	struct logged_sample s;
	struct buf buf = { 0 };
	struct err err;
	uint64_t position = 0;
	int left = 20;
	int rc;

	f.hook = &hook;
	append_all(&f, 0, 10);
	scene_reopen(&f);
	append_all(&f, 10, 20);
	hook.sector = "/00000001";
	hook.from = 32; /* behind the header */
	hook.to = UINT64_MAX;
	l = agent_store_log(f.s);
	cr_expect(l->read(l, &position, true, &buf, &s, &err) == ERR_IO);
	cr_expect(!l->skip(l, &position, &err));
	/* All that can be read is sent, and the log may be removed. */
	while (!(rc = l->read(l, &position, true, &buf, &s, &err)))
		seen[(s.ms - sample_ms(0)) / SAMPLE_STEP] = true;
	cr_assert(rc == ERR_AGAIN);
	cr_assert(!seen[0]);
	cr_expect(seen[19]);
	l->keep(l, position);
	hook.sector = NULL;
	scene_reopen(&f);
	l = agent_store_log(f.s);
	while (left) {
		left = 20;
		rc = l->read(l, &position, true, &buf, &s, &err);
		if (!rc)
			seen[(s.ms - sample_ms(0)) / SAMPLE_STEP] = true;
		if (rc == ERR_AGAIN)
			l->wait(l, position, 100);
		for (int k = 0; k < 20; k++)
			left -= seen[k];
	}
	buf_fini(&buf);
	scene_end(&f);
}
