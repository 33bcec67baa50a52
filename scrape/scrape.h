/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scraper: asks targets for profiles, again and again, and appends them.
 *
 * One event loop runs all requests; a small pool of workers unpacks, checks
 * and appends what came. A target asks for its next profile only when the last
 * one is done; targets never wait for each other.
 *
 * Ownership: the scraper owns its targets; configuration and appender must
 * outlive it.
 * Threads: scrape_targets() from any; the rest from one.
 * Shutdown: scrape_stop() ends requests and joins; then scrape_free().
 */
#ifndef SCRAPE_SCRAPE_H
#define SCRAPE_SCRAPE_H

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "model/appender.h"
#include "scrape/scrape_config.h"
#include "scrape/target.h"

struct scraper;

struct scrape_options {
	struct appender *appender;
	const struct log *log;
	struct metrics *metrics;
	const struct clock *clock;
	size_t max_profile; /* raw bytes */
	const char *user_agent;
};

/* Start scraping. ERR_INVALID: a target's labels are not acceptable. */
NODISCARD int scrape_start(const struct scrape_options *o,
			   const struct scrape_configs *configs,
			   struct scraper **out, struct err *err);

/* NULL is a no-op for both. */
void scrape_stop(struct scraper *s);
void scrape_free(struct scraper *s);

/* A target as it is now. Borrowed for the call. */
struct target_status {
	const struct target *target;
	enum target_health health;
	const char *last_error;
	int64_t last_ms;
	int64_t last_duration_ns;
	int64_t next_ms;
	uint64_t last_bytes;
};

/* Call fn for each target, in the order of the configuration. */
void scrape_targets(struct scraper *s,
		    void (*fn)(void *ctx, const struct target_status *t),
		    void *ctx);

const char *target_health_name(enum target_health h);

#endif
