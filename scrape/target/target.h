/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: one address and one profile type, its URL, labels and health.
 *
 * Ownership: reference counted: a job's targets hold it, the loop, and a
 * scrape that runs.
 * Threads: the spec is immutable; the loop's fields are the loop's; the rest
 * is under the scraper's lock.
 */
#ifndef SCRAPE_TARGET_TARGET_H
#define SCRAPE_TARGET_TARGET_H

#include <stdatomic.h>

#include "base/err.h"
#include "client/http_config.h"
#include "model/labels.h"
#include "scrape/target/profile_list.h"

enum target_health {
	TARGET_UNKNOWN,
	TARGET_UP,
	TARGET_DOWN
};

/* What a target is: two targets with the same spec are one. */
struct target_spec {
	struct labels *labels; /* of the stored series */
	char *url;
	int64_t interval_ms;
	int64_t timeout_ms; /* of a request: seconds + scrape_timeout */
	int64_t seconds;
	size_t max_body; /* 0: no limit of its own */
	struct http_config *client;
	bool is_index; /* it names types, and is not stored */
};

struct target {
	_Atomic uint32_t refs;
	struct target_spec spec;
	uint64_t hash; /* of labels and URL */
	char *refused; /* why it is not scraped, by a limit; or NULL */

	/* Who makes sets has it: of an index, what it said last; or NULL. */
	struct profile_list *found;

	/* The loop's. */
	int64_t due_ms; /* 0: not yet known */

	/* Under the scraper's lock. */
	bool running;
	enum target_health health;
	char *last_error; /* NULL: none */
	int64_t last_ms;  /* 0: never */
	int64_t last_duration_ns;
	int64_t next_ms;
	uint64_t last_bytes; /* of the body */
	uint64_t skipped;    /* due while the one before still ran */
};

void target_spec_fini(struct target_spec *s);

uint64_t target_spec_hash(const struct target_spec *s);
bool target_spec_eq(const struct target_spec *a, const struct target_spec *b);

/* Takes over the spec. */
struct target *target_new(struct target_spec *s);
struct target *target_ref(struct target *t);
void target_unref(struct target *t);

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
