/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scraper asks all configured targets for profiles at their intervals and
 * appends the profiles to storage.
 *
 * One event loop runs all requests; a small pool of workers unpacks, checks and
 * appends the bodies. A target is asked for its next profile only when the last
 * one has been processed, and a slow target never delays another one.
 *
 * Ownership: the scraper owns its jobs and targets. The appender must outlive
 * the scraper, the configuration must live until the next scrape_apply().
 * Threads: scrape_start(), scrape_apply(), scrape_stop() and scrape_free() from
 * one thread; the other functions from any.
 * Shutdown: scrape_stop() cancels requests and joins threads; scrape_free()
 * comes after it.
 */
#ifndef SCRAPE_RUN_SCRAPE_H
#define SCRAPE_RUN_SCRAPE_H

#include "base/clock.h"
#include "base/ingest_limiter.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "model/appender.h"
#include "model/matcher.h"
#include "scrape/target/scrape_config.h"
#include "scrape/target/target.h"

/* A running scraper; private to scrape/. */
struct scraper;

/* Options of scrape_start(); everything is borrowed until scrape_free(). */
struct scrape_options {
	struct appender *appender;
	const struct log *log;
	struct metrics *metrics;
	const struct clock *clock;
	/* limit of a profile, in bytes after decompression */
	size_t max_profile;
	/* limits the memory of all bodies being received */
	struct ingest_limiter *limiter;
	const char *user_agent;
	/* networks to which http_client_refuse() forbids connections */
	const struct networks *refused;
};

/*
 * Start the loop and the workers, with no jobs yet. ERR_IO: the system has no
 * file descriptors left. The caller owns *out.
 */
NODISCARD int scrape_start(const struct scrape_options *o, struct scraper **out,
			   struct err *err);

/*
 * Options of scrape_now(): the target, the duration of the profile, and the
 * deadline.
 */
struct scrape_now_options {
	const struct matcher *matchers; /* must match exactly one target */
	size_t count;
	int64_t seconds;     /* duration of the profile; -1: as scheduled */
	int64_t deadline_ns; /* when to stop waiting, on clock_mono_ns() */
	/* asked while targets are compared with the matchers, and in the wait */
	struct limits limits;
};

/*
 * Cancel all requests, fail the waiting scrape_now() calls with ERR_CLOSED, and
 * join all threads. NULL is a no-op.
 */
void scrape_stop(struct scraper *s);

/* Stop the scraper if it runs, and free it. NULL is a no-op. */
void scrape_free(struct scraper *s);

/*
 * The state of one target at one moment, for the API. Borrowed for the call of
 * fn.
 */
struct target_status {
	const char *job;
	const struct target *target; /* NULL: the target was dropped */
	/* why the target was dropped; NULL: it is scraped */
	const char *dropped;
	/* labels before relabelling, sorted by name */
	const struct label *discovered;
	size_t discovered_count;
	enum target_health health;
	/*
	 * error of the last scrape, or the limit that refuses the target; "":
	 * none
	 */
	const char *last_error;
	int64_t last_ms;
	int64_t last_duration_ns;
	int64_t next_ms;
	uint64_t last_bytes;
};

/*
 * Scrape one target now and wait until its profile is stored. *labels (a
 * reference that the caller owns) and *ms identify the profile. ERR_NOTFOUND:
 * no target matches; ERR_INVALID: several do; ERR_LIMIT: too many callers are
 * waiting; ERR_TIMEOUT: the deadline has passed, the profile may still be
 * stored; ERR_AGAIN: the target answered something invalid; ERR_CLOSED: the
 * scraper is stopping; an error of the limits; or the error of the scrape.
 */
NODISCARD int scrape_now(struct scraper *s, const struct scrape_now_options *w,
			 struct labels **labels, int64_t *ms, struct err *err);

/*
 * Replace all jobs by the jobs of a configuration. A target whose spec (URL,
 * labels, interval …) does not change keeps its schedule and health; a job that
 * stays keeps its discovered target groups.
 */
void scrape_apply(struct scraper *s, const struct scrape_configs *configs);

/*
 * Replace the discovered target groups of one job; static targets stay. The
 * groups are shared, not copied. A job that does not exist is ignored.
 */
void scrape_update(struct scraper *s, struct str job,
		   const struct target_groups_list *groups);

/*
 * Call fn for each target that is not dropped or, if `dropped` is set, for each
 * dropped target, in the order of the configuration. If fn returns an error, no
 * further target is shown, and the error is returned.
 */
NODISCARD int scrape_targets(struct scraper *s, bool dropped,
			     int (*fn)(void *ctx, const struct target_status *t,
				       struct err *err),
			     void *ctx, struct err *err);

/* Call fn for each job with the number of targets that were dropped. */
void scrape_dropped(struct scraper *s,
		    void (*fn)(void *ctx, const char *job, size_t dropped),
		    void *ctx);

/* The name of a health in the API and in metrics: "unknown", "up", "down". */
const char *target_health_name(enum target_health h);

/* Bring the gauge everprof_targets{job,health} up to date. NULL is a no-op. */
void scrape_update_metrics(struct scraper *s);

#endif
