/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/db/db_clock.h"

#include "base/mutex.h"
#include "base/units.h"

#define SAVE_NS (60 * CLOCK_MINUTE_NS)

void db_clock_begin(struct tsdb *db)
{
	mutex_lock(&db->clock_mu);
	db->clock = db->state.clock;
	mutex_unlock(&db->clock_mu);
}

/* Check the clock; *copy is its state afterwards. */
static struct trusted_time db_clock_check(struct tsdb *db,
					  struct trusted_clock *copy)
{
	/* An import takes profiles of any time, so nothing has to be trusted. */
	int64_t steady = db->o.ignore_retention ? -1 : db->o.clock_steady_ms;
	struct trusted_time t;

	mutex_lock(&db->clock_mu);
	t = trusted_clock_check(&db->clock, db->o.clock, steady);
	*copy = db->clock;
	mutex_unlock(&db->clock_mu);
	atomic_store(&db->clock_doubt_ms, copy->doubt_ms);
	return t;
}

struct trusted_time db_clock_time(struct tsdb *db)
{
	struct trusted_clock copy;

	return db_clock_check(db, &copy);
}

/* Log that the system clock is in doubt. */
static void db_clock_log_doubt(const struct tsdb *db)
{
	char clock[40];
	char expected[40];

	time_format(clock_ms(db->o.clock), clock);
	time_format(db->state.clock.trusted_ms, expected);
	log_event(
		db->o.log, LOG_WARN,
		"the system clock (field clock) differs by more than a day from the time that everprof expects (field expected): the clock was changed, or everprof or the machine stood still for more than a day. Until this is settled, retention by time removes only what is too old by both times, and new profiles that are too old or too new by both times are refused for now. If the clock is wrong, correct it. If it is right, confirm it: stop everprof and run everprof tsdb confirm-clock DIR, or, with --web.enable-admin-api, POST /api/v1/admin/tsdb/confirm_clock. If you do neither, everprof trusts the clock once everprof has run for a week in this state",
		LOG_FIELDS(log_text("clock", clock),
			   log_text("expected", expected)));
}

/* Save the clock. */
static void db_clock_save(struct tsdb *db, int64_t now_ns) REQUIRES(db->job_mu)
{
	struct err err;

	db->saved_ns = now_ns;
	if (state_save(&db->state, &err))
		log_event(
			db->o.log, LOG_WARN,
			"cannot save the retention clock, by which the retention judges the age of profiles; everprof tries again later",
			LOG_FIELDS(log_err(&err)));
}

struct trusted_time db_clock_keep(struct tsdb *db)
{
	struct trusted_time t = db_clock_check(db, &db->state.clock);
	int64_t now_ns = clock_mono_ns();
	bool doubted = db->state.clock.doubt_ms > 0;

	if (doubted && !db->clock_doubted)
		db_clock_log_doubt(db);
	db->clock_doubted = doubted;
	if (!db->saved_ns || now_ns - db->saved_ns > SAVE_NS)
		db_clock_save(db, now_ns);
	return t;
}

int db_clock_confirm(struct tsdb *db, struct err *err)
{
	mutex_lock(&db->clock_mu);
	trusted_clock_confirm(&db->clock, clock_ms(db->o.clock));
	db->state.clock = db->clock;
	mutex_unlock(&db->clock_mu);
	atomic_store(&db->clock_doubt_ms, 0);
	return state_save(&db->state, err);
}
