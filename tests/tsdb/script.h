/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random scripts over a database, beside a naive model of what it must hold.
 *
 * For each (series, time) the model knows which values may be there: none, or
 * one of two variants. Without faults exactly one of these is possible. After a
 * write that was not acknowledged, several are possible until the script looks
 * which one is there.
 */
#ifndef TESTS_TSDB_SCRIPT_H
#define TESTS_TSDB_SCRIPT_H

#include <inttypes.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pprof/columns/columns.h"
#include "tests/tsdb/profile.h"
#include "tests/tsdb/sample.h"
#include "tsdb/maintain/deletion.h"
#include "tsdb/open/tsdb.h"
#include "tsdb/query/querier.h"
#include "tsdb/tools/repair.h"

#define SCRIPT_SERIES 5
#define SCRIPT_TIMES  384
#define SCRIPT_STEP   150000LL /* ms; a window has 48 steps */

enum {
	MAY_NONE = 1,
	MAY_FIRST = 2, /* variant 0 */
	MAY_SECOND = 4,
	MAY_ANY = 7,
};

struct script {
	uint64_t rng;
	struct clock clock;
	struct tsdb_options o;
	struct tsdb *db;
	uint8_t may[SCRIPT_SERIES][SCRIPT_TIMES];
	/* Values appended since the last sync that succeeded. 0: none. */
	uint8_t unsynced[SCRIPT_SERIES][SCRIPT_TIMES];
	int64_t appended; /* since the last sync, also if deleted since */
	int64_t missed;   /* that a start has counted as missing */
	int now;          /* the clock, in steps */
	int burst;        /* the series of the last append */
	bool faults;      /* calls may fail */
	long acknowledged;
	long looks;
	int bad;
};

static inline unsigned script_roll(struct script *s, unsigned sides)
{
	s->rng = s->rng * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(s->rng >> 33) % sides;
}

/* The time of step k. Step 0 is the start of a window. */
static inline int64_t script_ms(int k)
{
	return 1699999200000LL / 7200000 * 7200000 + k * SCRIPT_STEP;
}

static inline void script_init(struct script *s, const char *path,
			       uint64_t seed)
{
	*s = (struct script){ .rng = seed };
	memset(s->may, MAY_NONE, sizeof(s->may));
	s->o = (struct tsdb_options){ .path = path,
				      .sync_ms = 3600000,
				      .maintain_ms = -1,
				      .link_min = seed % 2,
				      .columns = seed / 2 % 2 ? &codec_columns :
								NULL,
				      .wal_budget = 256 * 1024,
				      .wal_segment = 32 * 1024 };
	s->now = 20;
	clock_set(&s->clock, script_ms(s->now));
	script_roll(s, 2);
}

/*
 * Makes the bytes of a sample. Half of the scripts store valid profiles, as
 * columns; the others store arbitrary bytes.
 */
static inline void script_bytes(const struct script *s, int series, int n,
				struct buf *out)
{
	if (s->o.columns)
		profile_make(series, n, out);
	else
		sample_bytes(series, n, out);
}

static inline void script_wrong(struct script *s, int series, int k,
				const char *what)
{
	fprintf(stderr, "series %d time %d: %s (may be %d)\n", series, k, what,
		s->may[series][k]);
	s->bad++;
}

static inline int script_append_one(struct script *s, int series, int k,
				    int variant, uint64_t *lsn)
{
	struct appender *a = tsdb_appender(s->db);
	struct labels *ls = sample_labels(series);
	int64_t totals[2] = { k, variant };
	struct buf body = { 0 };
	struct err err;
	struct sample sample = { .labels = ls,
				 .ms = script_ms(k),
				 .typeset = sample_types(series),
				 .totals = totals };
	int rc;

	script_bytes(s, series, 2 * k + variant, &body);
	sample.body = buf_bytes(&body);
	sample.raw_len = (uint32_t)body.len;
	sample.hash = hash_bytes(sample.body);
	rc = a->append(a, &sample, lsn, &err);
	buf_fini(&body);
	labels_unref(ls);
	return rc;
}

/*
 * Returns the time that the retention reaches back to. Older samples are not
 * taken, and stored ones may be gone.
 */
static inline int64_t script_limit(const struct script *s)
{
	return s->o.retention_ms ? clock_ms(&s->clock) - s->o.retention_ms :
				   INT64_MIN;
}

/*
 * Whether an append of the value `mine` may return rc when no call fails. `may`
 * is what can be stored there now. If that is not certain, any rc is right.
 */
static inline bool script_expected(uint8_t may, uint8_t mine, int rc)
{
	if (may == MAY_NONE || may == mine)
		return !rc;
	if (may == (MAY_FIRST | MAY_SECOND | MAY_NONE) || (may & MAY_NONE))
		return true; /* not known */
	return may & mine || rc == ERR_EXISTS;
}

static inline void script_append(struct script *s)
{
	int series = script_roll(s, 40) ? s->burst :
					  (int)script_roll(s, SCRIPT_SERIES);
	/* Most samples are of the latest six times, some are much older. */
	int back = script_roll(s, 4) ? (int)script_roll(s, 6) :
				       (int)script_roll(s, SCRIPT_TIMES);
	int k = s->now - back;
	int variant = script_roll(s, 8) == 0;
	uint8_t mine = variant ? MAY_SECOND : MAY_FIRST;
	uint8_t *may;
	uint64_t lsn;
	int rc;

	s->burst = series;
	if (k < 0 || script_ms(k) < script_limit(s))
		return;
	may = &s->may[series][k];
	rc = script_append_one(s, series, k, variant, &lsn);
	if (!s->faults && !script_expected(*may, mine, rc))
		script_wrong(s, series, k, rc ? "refused" : "taken");
	if (rc) {
		if (rc != ERR_EXISTS)
			*may |= mine; /* it may be stored all the same */
		return;
	}
	*may = s->faults ? *may | mine : mine;
	s->unsynced[series][k] = mine;
	s->appended++;
	if (script_roll(s, 7) == 0) {
		struct appender *a = tsdb_appender(s->db);

		if (a->sync(a, 0, lsn, NULL))
			return;
		s->appended = 0;
		for (int i = 0; i < SCRIPT_SERIES * SCRIPT_TIMES; i++) {
			uint8_t *u = &s->unsynced[0][0] + i;

			if (!*u)
				continue;
			*(&s->may[0][0] + i) = *u;
			*u = 0;
			s->acknowledged++;
		}
	}
}

static inline void script_delete(struct script *s)
{
	unsigned mask = script_roll(s, 1u << SCRIPT_SERIES);
	int from = (int)script_roll(s, (unsigned)s->now + 1);
	int to = from + (int)script_roll(s, 30);

	for (int series = 0; series < SCRIPT_SERIES; series++) {
		struct labels *ls = sample_labels(series);
		struct matcher m = { .op = MATCH_EQ,
				     .name = str_of("pod"),
				     .value = labels_get(ls, str_of("pod")) };
		int rc;

		if (mask >> series & 1) {
			rc = tsdb_delete(s->db, &m, 1, script_ms(from),
					 script_ms(to), NULL, NULL);
			if (rc && !s->faults)
				script_wrong(s, series, from, "not deleted");
			for (int k = from; k <= to && k < SCRIPT_TIMES; k++) {
				s->may[series][k] = rc ? s->may[series][k] |
								    MAY_NONE :
							 MAY_NONE;
				s->unsynced[series][k] = 0;
			}
		}
		labels_unref(ls);
	}
}

/* Returns which value is there, or 0 if it is none of those possible. */
static inline uint8_t script_look(struct script *s, struct querier *q,
				  int series, int k)
{
	struct profile p = { 0 };
	struct buf want = { 0 };
	struct err err = { .msg = "" };
	uint8_t found = 0;
	int rc = ERR_NOTFOUND;

	if (querier_count(q))
		rc = querier_fetch(q, 0, script_ms(k), &p, &err);
	if (rc == ERR_NOTFOUND)
		found = MAY_NONE;
	else if (rc)
		script_wrong(s, series, k, err.msg);
	for (int v = 0; v < 2 && !rc; v++) {
		script_bytes(s, series, 2 * k + v, &want);
		if (bytes_eq(buf_bytes(&want), buf_bytes(&p.raw)))
			found = v ? MAY_SECOND : MAY_FIRST;
	}
	profile_fini(&p);
	buf_fini(&want);
	s->looks++;
	return found;
}

static inline void script_check_series(struct script *s, int series)
{
	struct labels *ls = sample_labels(series);
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of("pod"),
			     .value = labels_get(ls, str_of("pod")) };
	int64_t limit = script_limit(s);
	struct times_view t = { 0 };
	struct querier *q;
	size_t listed = 0;

	querier_open(s->db, NULL, &q);
	cr_assert(!querier_select(q, &m, 1, 0, INT64_MAX, NULL));
	for (int k = 0; k <= s->now && k < SCRIPT_TIMES; k++) {
		uint8_t found = script_look(s, q, series, k);
		uint8_t *may = &s->may[series][k];

		if (script_ms(k) < limit)
			*may |= MAY_NONE;
		if (!(found & *may))
			script_wrong(s, series, k,
				     found == MAY_NONE ? "lost" : "wrong");
		*may = found;
		s->unsynced[series][k] = 0;
		listed += found != MAY_NONE;
	}
	if (querier_count(q) && querier_times(q, 0, 0, INT64_MAX, &t, NULL))
		script_wrong(s, series, 0, "not listed");
	if (t.count != listed)
		script_wrong(s, series, 0, "the list differs");
	querier_close(q);
	labels_unref(ls);
}

/* Checks all series. From then on the model expects exactly what was found. */
static inline void script_check(struct script *s)
{
	for (int series = 0; series < SCRIPT_SERIES; series++)
		script_check_series(s, series);
}

static inline int script_open(struct script *s, struct metrics *m,
			      struct err *err)
{
	s->o.metrics = m;
	s->o.clock = &s->clock;
	return tsdb_open(&s->o, &s->db, err);
}

/* Moves the clock on, by up to two hours. */
static inline void script_tick(struct script *s)
{
	s->now += 1 + (int)script_roll(s, script_roll(s, 5) ? 3 : 48);
	if (s->now >= SCRIPT_TIMES)
		s->now = SCRIPT_TIMES - 1;
	clock_set(&s->clock, script_ms(s->now));
}

/* One step that is not an append. Returns its code. */
static inline int script_job(struct script *s)
{
	switch (script_roll(s, 12)) {
	case 0:
	case 1:
	case 2:
		return tsdb_flush(s->db, NULL);
	case 3:
		return tsdb_maintain(s->db, true, NULL);
	case 4:
	case 5:
		return tsdb_maintain(s->db, false, NULL);
	case 6:
		return tsdb_clean_tombstones(s->db, NULL, NULL);
	case 7:
		script_delete(s);
		return 0;
	default:
		script_tick(s);
		return 0;
	}
}

static inline void script_step(struct script *s)
{
	int rc = 0;

	if (script_roll(s, 25))
		script_append(s);
	else
		rc = script_job(s);
	if (rc && !s->faults)
		script_wrong(s, 0, 0, "a job failed");
}

#endif
