/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: one address and one profile type, its URL, labels and health.
 *
 * Ownership: the scraper owns its targets.
 * Threads: all but the health is immutable; health is under `mu`.
 */
#ifndef SCRAPE_TARGET_H
#define SCRAPE_TARGET_H

#include <pthread.h>

#include "base/err.h"
#include "model/labels.h"
#include "scrape/scrape_config.h"

enum target_health {
	TARGET_UNKNOWN,
	TARGET_UP,
	TARGET_DOWN
};

struct target {
	char *url;
	char *job;
	struct labels *labels;     /* of the stored series */
	struct labels *discovered; /* before anything was dropped */
	uint64_t hash;
	int64_t interval_ms;
	int64_t timeout_ms; /* of a request: seconds + scrape_timeout */
	int64_t seconds;
	size_t max_body;

	/* The loop's. */
	int64_t due_ms;
	bool running;

	pthread_mutex_t mu;
	enum target_health health;
	char last_error[512];
	int64_t last_ms; /* 0: never */
	int64_t last_duration_ns;
	uint64_t last_bytes; /* of the body */
	uint64_t skipped;    /* due while the one before still ran */
};

/* ERR_INVALID: the labels are not acceptable. */
NODISCARD int target_new(const struct scrape_config *c,
			 const struct static_group *g,
			 const struct profile_config *p, struct str address,
			 struct target **out, struct err *err);
void target_free(struct target *t);

/*
 * When a target is due next: the first moment after now at which time modulo
 * interval is the target's own offset. The offset follows from the hash alone,
 * so load is spread, and spread the same after a restart. Pure.
 */
int64_t target_next_due(uint64_t hash, int64_t interval_ms, int64_t now_ms);

/*
 * The time a sample gets: the moment it was due, when it started close to it
 * (2 ms, as Prometheus, or a hundredth of the interval if that is less), so
 * that times are regular; else when it started. Pure.
 */
int64_t target_sample_ms(int64_t due_ms, int64_t started_ms,
			 int64_t interval_ms);

#endif
