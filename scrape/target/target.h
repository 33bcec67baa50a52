/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target is one address and one profile type: the URL to scrape, the labels
 * of the series that the profiles are stored in, and the health of past
 * scrapes.
 *
 * Ownership: reference counted; references are held by the target sets of its
 * job, by the heap of the scrape loop and by each scrape that runs.
 * Threads: the spec is immutable. due_ms belongs to the loop's thread. `found`
 * is guarded by scraper.update_mu, and the members from `running` on by
 * scraper.mu.
 */
#ifndef SCRAPE_TARGET_TARGET_H
#define SCRAPE_TARGET_TARGET_H

#include <stdatomic.h>

#include "base/err.h"
#include "client/transfer/http_config.h"
#include "model/labels.h"
#include "scrape/target/profile_list.h"

/* The outcome of the last scrape. */
enum target_health {
	TARGET_UNKNOWN, /* not scraped yet */
	TARGET_UP,
	TARGET_DOWN
};

/* The URL parameter that says how long the target collects the profile. */
#define TARGET_SECONDS "seconds"

/*
 * Everything that defines a target. Targets with equal specs are the same
 * target, so that a target keeps its schedule and health across reloads
 * (docs/decisions.md, 57).
 */
struct target_spec {
	struct labels *labels; /* labels of the stored series */
	char *url;
	int64_t interval_ms;
	/* timeout of a request: `seconds` (below) plus scrape_timeout */
	int64_t timeout_ms;
	int64_t seconds; /* duration of a profile; 0: none or not known */
	/* limit of a body in bytes; 0: only the scraper's limit applies */
	size_t max_body;
	struct http_config *client;
	/* whether the URL is the page /debug/pprof/, which is not stored */
	bool is_index;
};

/* A target with its schedule and health. */
struct target {
	_Atomic uint32_t refs;
	struct target_spec spec;
	uint64_t hash; /* hash of labels and URL */
	/* message about a limit that forbids scraping, or NULL */
	char *refused;

	/*
	 * Only for an index page (/debug/pprof/): the types that the page named
	 * last, or NULL. Guarded by scraper.update_mu.
	 */
	struct profile_list *found;

	/* Belongs to the thread of the scrape loop. */
	int64_t due_ms; /* when the target is due next; 0: not yet known */

	/* The members below are guarded by scraper.mu. */
	bool running; /* a scrape is in flight */
	enum target_health health;
	char *last_error; /* NULL: the last scrape succeeded */
	int64_t last_ms;  /* start of the last scrape; 0: never */
	int64_t last_duration_ns;
	int64_t next_ms;     /* copy of due_ms, for the status page */
	uint64_t last_bytes; /* bytes of the last response body */
	/* number of times that the target was due while being scraped */
	uint64_t skipped;
};

/* Release the labels, URL and client, and clear the spec. */
void target_spec_fini(struct target_spec *s);

/*
 * The hash of labels and URL. It decides at which offset within each interval
 * the target is scraped, so it must not change between restarts.
 */
uint64_t target_spec_hash(const struct target_spec *s);

/*
 * Whether two specs define the same target. HTTP clients are compared by
 * pointer.
 */
bool target_spec_eq(const struct target_spec *a, const struct target_spec *b);

/*
 * Whether the URL has parameters that may be secrets: others than how long the
 * target collects the profile, which everprof itself sets.
 */
bool target_spec_has_secret(const struct target_spec *s);

/*
 * The URL for logs, pages and answers, as endpoint_url_shown() makes it, but with
 * the parameter that everprof sets. The caller owns the text.
 */
char *target_url_shown(const struct target_spec *s);

/*
 * Make a target with one reference. Takes over the members of *s and clears it.
 */
struct target *target_new(struct target_spec *s);

/* Take a reference; returns `t`. */
struct target *target_ref(struct target *t);

/* Drop a reference; the last one frees the target. NULL is a no-op. */
void target_unref(struct target *t);

/*
 * When a target is due next. Each target has an offset, its hash modulo the
 * interval, and is due whenever the time modulo the interval equals the offset.
 * Returns the first such moment after now_ms. Targets are thus spread over the
 * interval, and in the same way after each restart. Pure.
 */
int64_t target_next_due(uint64_t hash, int64_t interval_ms, int64_t now_ms);

/*
 * The timestamp of a stored profile: the due time if the scrape started close
 * to that time, so that timestamps are regular; otherwise the start of the
 * scrape. "Close" is 2 ms, as in Prometheus, or a hundredth of the interval if
 * that is less. Pure.
 */
int64_t target_sample_ms(int64_t due_ms, int64_t started_ms,
			 int64_t interval_ms);

#endif
