/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scraper: asks targets for profiles, again and again, and appends them.
 *
 * One event loop runs all requests; a small pool of workers unpacks, checks
 * and appends what came. A target asks for its next profile only when the last
 * one is done; targets never wait for each other.
 *
 * Ownership: the scraper owns its jobs and targets; the appender must outlive
 * it, the configuration until the next scrape_apply().
 * Threads: scrape_start(), scrape_apply(), scrape_stop() and scrape_free()
 * from one; the rest from any.
 * Shutdown: scrape_stop() ends requests and joins; then scrape_free().
 */
#ifndef SCRAPE_SCRAPE_H
#define SCRAPE_SCRAPE_H

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "model/appender.h"
#include "model/matcher.h"
#include "scrape/scrape_config.h"
#include "scrape/target/target.h"

struct scraper;

struct scrape_options {
	struct appender *appender;
	const struct log *log;
	struct metrics *metrics;
	const struct clock *clock;
	size_t max_profile;    /* raw bytes */
	int64_t ingest_memory; /* of all bodies in flight */
	const char *user_agent;
	const struct networks *refused; /* for http_client_refuse() */
};

/* Start, with no job yet. ERR_IO: the system has no descriptors left. */
NODISCARD int scrape_start(const struct scrape_options *o, struct scraper **out,
			   struct err *err);

/* A profile that is wanted now. */
struct scrape_now_options {
	const struct matcher *matchers; /* which target; one alone must match */
	size_t count;
	int64_t seconds;     /* how long it shall take; -1: as it always does */
	int64_t deadline_ns; /* on clock_mono_ns(): until then it is waited for */
};

/* NULL is a no-op for both. */
void scrape_stop(struct scraper *s);
void scrape_free(struct scraper *s);

/* A target as it is now. Borrowed for the call. */
struct target_status {
	const char *job;
	const struct target *target;    /* NULL: it was dropped */
	const char *dropped;            /* why */
	const struct label *discovered; /* before relabelling, by name */
	size_t discovered_count;
	enum target_health health;
	const char *last_error; /* "" for none */
	int64_t last_ms;
	int64_t last_duration_ns;
	int64_t next_ms;
	uint64_t last_bytes;
};

/*
 * Scrape a target once more, now, and store what comes. *labels (counted, the
 * caller's) and *ms say which profile it is. ERR_NOTFOUND, ERR_INVALID: no
 * target, or several; ERR_LIMIT: too many are asked for; ERR_TIMEOUT; or why
 * the target gave none.
 */
NODISCARD int scrape_now(struct scraper *s, const struct scrape_now_options *w,
			 struct labels **labels, int64_t *ms, struct err *err);

/*
 * From now on these are the jobs. Targets that stay the same keep their
 * schedule and health; what was discovered for a job that stays is kept.
 */
void scrape_apply(struct scraper *s, const struct scrape_configs *configs);

/*
 * From now on these are what the job's discoveries say, beside its static
 * targets. A job that there is not is passed over.
 */
void scrape_update(struct scraper *s, struct str job,
		   const struct target_groups_list *groups);

/* Call fn for each target, or each dropped one, in the configuration's order. */
void scrape_targets(struct scraper *s, bool dropped,
		    void (*fn)(void *ctx, const struct target_status *t),
		    void *ctx);

/* Call fn for each job with the number of targets that were dropped. */
void scrape_dropped(struct scraper *s,
		    void (*fn)(void *ctx, const char *job, size_t dropped),
		    void *ctx);

const char *target_health_name(enum target_health h);

/* Bring the gauge everprof_targets{job,health} up to date; NULL is a no-op. */
void scrape_update_metrics(struct scraper *s);

#endif
