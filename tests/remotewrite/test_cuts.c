/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts of a machine that sends its profiles: random scripts of appends,
 * syncs, flushes, seals, requests and saved cursors run on a simulated disk.
 * The receiver is another machine, and keeps what it has. After the last start
 * it must get every profile that was acknowledged to its writer; segments that
 * were flushed must have been held for it. What a durable cursor has passed is
 * never sent again.
 *
 * EVERPROF_CUTS sets how many cuts there are (60), EVERPROF_SEED the first
 * seed.
 */
#include <sys/stat.h>

#include "base/fs.h"
#include "remotewrite/send/cursor.h"
#include "tests/check.h"
#include "tests/support/powercut.h"
#include "tests/tempdir.h"
#include "tests/tsdb/script.h"

#define LIFETIMES 3 /* cuts in a row on the same data */

TestSuite(cuts, .timeout = 7200);

/* The state of a profile on its way to the receiver. */
enum {
	APPENDED = 1,
	ACKNOWLEDGED = 2,
	RECEIVED = 4,
};

/* A machine, and what its receiver has. */
struct machine {
	struct script *s;
	int next;     /* number of the next profile */
	uint64_t lsn; /* behind the last append */
	uint8_t fate[SCRIPT_SERIES][SCRIPT_TIMES];
	struct cursor *cursor;
	uint64_t position; /* in the log; all before it is acknowledged */
	uint64_t durable;  /* the last position that was synced */
	struct buf buf;
	long resent;
	long held; /* how often segments were held */
};

static long acknowledged, resent, held;

static long cuts_setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

static void complain(struct machine *m, const char *what, int series, int k)
{
	fprintf(stderr, "series %d time %d: %s\n", series, k, what);
	m->s->bad++;
}

/* Append the next profile; the clock follows. */
static void append_next(struct machine *m)
{
	int series = m->next % SCRIPT_SERIES;
	int k = m->next / SCRIPT_SERIES;

	if (k >= SCRIPT_TIMES)
		return;
	m->next++;
	m->s->now = k;
	clock_set(&m->s->clock, script_ms(k));
	if (!script_append_one(m->s, series, k, 0, &m->lsn))
		m->fate[series][k] |= APPENDED;
}

/* Sync; everything that was appended in this life is then acknowledged. */
static void sync_all(struct machine *m)
{
	struct appender *a = tsdb_appender(m->s->db);

	if (a->sync(a, 0, m->lsn, NULL))
		return;
	for (int i = 0; i < SCRIPT_SERIES * SCRIPT_TIMES; i++) {
		uint8_t *fate = &m->fate[0][0] + i;

		if (*fate & APPENDED)
			*fate |= ACKNOWLEDGED;
	}
}

/* The series that a sample of the log belongs to; -1: unknown. */
static int series_of(const struct logged_sample *sample)
{
	struct labels *got = NULL;
	int found = -1;

	if (labels_decode(sample->labels, &got, NULL))
		return -1;
	for (int i = 0; i < SCRIPT_SERIES; i++) {
		struct labels *ls = sample_labels(i);

		if (ls->hash == got->hash)
			found = i;
		labels_unref(ls);
	}
	labels_unref(got);
	return found;
}

/* The receiver gets a sample. */
static void receive(struct machine *m, const struct logged_sample *sample)
{
	int series = series_of(sample);
	int k = (int)((sample->ms - script_ms(0)) / SCRIPT_STEP);
	struct buf want = { 0 };
	uint8_t *fate;

	if (series < 0 || k < 0 || k >= SCRIPT_TIMES) {
		complain(m, "never appended", series, k);
		return;
	}
	fate = &m->fate[series][k];
	script_bytes(m->s, series, 2 * k, &want);
	if (!bytes_eq(buf_bytes(&want), sample->body))
		complain(m, "other bytes", series, k);
	buf_fini(&want);
	if (*fate & RECEIVED) {
		m->resent++;
		if (sample->lsn < m->durable)
			complain(m, "sent again behind a durable cursor",
				 series, k);
	}
	*fate |= RECEIVED;
}

/* Send up to n samples, and write the cursor. Returns whether there was one. */
static bool send_some(struct machine *m, unsigned n, struct powercut *cut)
{
	struct sample_log *log = tsdb_sample_log(m->s->db);
	uint64_t position = m->position;
	struct err err = { .msg = "" };
	int rc = 0;

	for (unsigned i = 0; i < n && !rc; i++) {
		struct logged_sample sample;

		rc = log->read(log, &position, true, &m->buf, &sample, &err);
		if (!rc)
			receive(m, &sample);
	}
	if (rc && rc != ERR_AGAIN && rc != ERR_CORRUPT &&
	    !(cut && powercut_is_dead(cut)))
		complain(m, err.msg, -1, -1);
	if (position == m->position)
		return false;
	m->position = position;
	if (cursor_write(m->cursor, &(struct cursor_state){ .acked = position },
			 NULL)) {
		/* The file has an older position. */
	}
	return true;
}

/* Make the cursor durable, and let the log drop what is before it. */
static void save_cursor(struct machine *m)
{
	struct sample_log *log = tsdb_sample_log(m->s->db);

	if (cursor_sync(m->cursor, NULL))
		return;
	m->durable = m->position;
	log->keep(log, m->position);
}

/* Open the database and the cursor. */
static int machine_open(struct machine *m, struct metrics *metrics,
			struct err *err)
{
	CLEANUP(mem_freep)
	char *dir = mem_printf("%s/remote", m->s->o.path);
	CLEANUP(mem_freep) char *path = mem_printf("%s/q.cursor", dir);
	struct sample_log *log;
	struct cursor_state state = { 0 };
	enum cursor_origin origin = CURSOR_READ;
	int rc = script_open(m->s, metrics, err);

	if (rc)
		return rc;
	log = tsdb_sample_log(m->s->db);
	state.acked = log->begin(log);
	rc = fs_mkdir(m->s->o.fs, dir, err);
	if (!rc)
		rc = fs_sync_dir(m->s->o.fs, m->s->o.path, err);
	if (!rc || rc == ERR_EXISTS)
		rc = cursor_open(m->s->o.fs, path, &state, &origin, &m->cursor,
				 err);
	if (rc)
		return rc;
	if (origin == CURSOR_DAMAGED || origin == CURSOR_UNREADABLE ||
	    state.acked < m->durable)
		complain(m, "the cursor has lost a durable position", -1, -1);
	m->position = state.acked;
	log->keep(log, m->position);
	return 0;
}

static void machine_close(struct machine *m)
{
	CLEANUP(mem_freep)
	char *path = mem_printf("%s/wal/held", m->s->o.path);
	struct name_list l = { 0 };

	if (!fs_list(NULL, path, &l, NULL))
		m->held += l.count > 0;
	name_list_fini(&l);
	cursor_close(m->cursor);
	m->cursor = NULL;
	tsdb_close(m->s->db);
	m->s->db = NULL;
}

static void machine_step(struct machine *m, struct powercut *cut)
{
	switch (script_roll(m->s, 20)) {
	case 0:
	case 1:
		sync_all(m);
		return;
	case 2:
		(void)!tsdb_flush(m->s->db, NULL);
		return;
	case 3:
		(void)!tsdb_maintain(m->s->db, script_roll(m->s, 2), NULL);
		return;
	case 4:
	case 5:
	case 6:
		send_some(m, 1 + script_roll(m->s, 12), cut);
		return;
	case 7:
		save_cursor(m);
		return;
	default:
		append_next(m);
	}
}

/* Run in `from` until the power is cut; `to` is what the disk has then. */
static void live(struct machine *m, const char *from, const char *to,
		 uint64_t seed)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/data", from);
	struct powercut *cut = powercut_new(from, seed);
	struct metrics *metrics = metrics_new();
	struct err err = { .msg = "" };

	m->s->o.path = path;
	m->s->o.fs = powercut_fs(cut);
	/* One cut in four comes while the database is being opened. */
	if (!script_roll(m->s, 4))
		powercut_at(cut, 1 + script_roll(m->s, 80));
	if (!machine_open(m, metrics, &err)) {
		powercut_at(cut, 1 + script_roll(m->s, 1500));
		for (int n = 0; n < 3000 && !powercut_is_dead(cut); n++)
			machine_step(m, cut);
	} else if (!powercut_is_dead(cut)) {
		complain(m, err.msg, -1, -1);
	}
	powercut_at(cut, 1);
	machine_close(m);
	if (powercut_restore(cut, to, &err))
		complain(m, err.msg, -1, -1);
	/* Profiles that were not acknowledged may be missing. */
	for (int i = 0; i < SCRIPT_SERIES * SCRIPT_TIMES; i++)
		*(&m->fate[0][0] + i) &= (uint8_t)~APPENDED;
	powercut_free(cut);
	metrics_free(metrics);
}

/* Send all that is left. */
static void final_life(struct machine *m, const char *dir)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/data", dir);
	struct metrics *metrics = metrics_new();
	struct err err = { .msg = "" };

	m->s->o.path = path;
	m->s->o.fs = NULL;
	if (machine_open(m, metrics, &err))
		complain(m, err.msg, -1, -1);
	else
		while (send_some(m, 100, NULL))
			;
	machine_close(m);
	metrics_free(metrics);
	for (int i = 0; i < SCRIPT_SERIES; i++) {
		for (int k = 0; k < SCRIPT_TIMES; k++) {
			uint8_t fate = m->fate[i][k];

			acknowledged += fate & ACKNOWLEDGED ? 1 : 0;
			if ((fate & ACKNOWLEDGED) && !(fate & RECEIVED))
				complain(m, "acknowledged and not sent", i, k);
		}
	}
}

static int cut_story(uint64_t seed)
{
	struct tempdir dir = tempdir_make();
	struct machine *m = mem_new(struct machine);
	char *from = mem_printf("%s/0", dir.path);
	int bad;

	m->s = mem_new(struct script);
	script_init(m->s, "", seed);
	m->s->o.hold_wal = true;
	m->s->faults = true;
	(void)!mkdir(from, 0700);
	for (int life = 1; life <= LIFETIMES && !m->s->bad; life++) {
		char *to = mem_printf("%s/%d", dir.path, life);

		live(m, from, to, seed * 31 + (uint64_t)life);
		mem_free(from);
		from = to;
	}
	final_life(m, from);
	mem_free(from);
	tempdir_fini(&dir);
	bad = m->s->bad;
	resent += m->resent;
	held += m->held;
	buf_fini(&m->buf);
	mem_free(m->s);
	mem_free(m);
	return bad;
}

Test(cuts, a_power_cut_keeps_no_acknowledged_profile_from_the_receiver)
{
	long stories = (cuts_setting("EVERPROF_CUTS", 60) + 2) / LIFETIMES;
	uint64_t seed = (uint64_t)cuts_setting("EVERPROF_SEED", 1);
	long failed = 0;

	for (long i = 0; i < stories; i++, seed++) {
		int bad = cut_story(seed);

		if (bad)
			fprintf(stderr, "seed %" PRIu64 ": %d losses\n", seed,
				bad);
		failed += bad != 0;
	}
	printf("%ld power cuts, %ld profiles acknowledged, %ld sent again, segments held in %ld lives, %ld stories failed\n",
	       stories * LIFETIMES, acknowledged, resent, held, failed);
	cr_assert(acknowledged > 0);
	cr_assert(resent > 0);
	cr_expect(held > 0);
	cr_expect(failed == 0);
}
