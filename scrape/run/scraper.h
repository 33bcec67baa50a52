/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that the files of the scraper share: schedule.c decides when to
 * scrape, fetch.c does one scrape, target_pools.c makes the targets,
 * type_update.c rebuilds them when index pages (/debug/pprof/) name other
 * types, on_demand.c keeps the requests of scrape_now(), target_gauges.c counts
 * targets for alerts, type_cost.c counts what scrapes cost, scrape.c starts and
 * stops everything.
 *
 * Ownership: scrape_free() frees everything; pools own their targets.
 * Threads: the comments in struct scraper say which lock guards what. Lock
 * order: update_mu and gauges_mu before mu.
 */
#ifndef SCRAPE_RUN_SCRAPER_H
#define SCRAPE_RUN_SCRAPER_H

#include <pthread.h>

#include "base/mutex.h"
#include "base/pool.h"
#include "base/vec.h"
#include "client/transfer/http.h"
#include "ingest/profile_store.h"
#include "scrape/run/scrape.h"
#include "scrape/run/scrape_request.h"
#include "scrape/target/target_set.h"

enum {
	SCRAPE_WORKERS = 2
};

/* Counters that all scrapes share. */
struct scrape_metrics {
	struct metric *ok;
	struct metric *failed;
	/*
	 * scrapes that were due while the target's previous scrape was running
	 */
	struct metric *skipped;
	struct metric *empty; /* stored profiles without samples */
	struct histogram *duration;
};

/* Counters of one profile type; see type_cost.c. */
struct type_cost;

/* One job and its targets. All members are guarded by scraper.update_mu. */
struct scrape_pool {
	char *job;
	const struct scrape_config *config; /* borrowed */
	struct http_config *client;
	struct target_groups_list discovered;
	struct target_set *set; /* replaced while scraper.mu is held, too */
};

/* A running scraper. */
struct scraper {
	struct scrape_options o;
	struct scrape_metrics metrics;
	struct pool *workers;
	struct profile_store *store;
	struct http_client *client;
	pthread_t loop;
	bool running;
	_Atomic bool stopping;

	/* Held while pools are changed, which may take long. */
	struct mutex update_mu;
	/*
	 * Guards the members below, up to `asking`, and the status of targets.
	 * It is held only briefly.
	 */
	struct mutex mu;
	struct scrape_pool **pools;
	size_t pool_count;
	uint64_t generation; /* grows with each change of a target set */
	/*
	 * queue of type updates (types that index pages named), for
	 * type_update.c
	 */
	struct type_update *findings;
	/* scrape requests that have not started */
	struct scrape_request *asked;
	/* number of scrape requests that have not ended */
	unsigned asking;

	/*
	 * Guards `shown`, the names of the jobs that have a gauge. Taken before
	 * `mu`.
	 */
	struct mutex gauges_mu;
	char **shown;
	size_t shown_count;

	/* Guards `costs`, the counters of what scrapes cost by profile type. */
	struct mutex costs_mu;
	VEC(struct type_cost) costs;

	/*
	 * Only the loop uses the members below. `heap` is a min-heap of all
	 * targets, ordered by due_ms.
	 */
	struct target **heap;
	size_t count;
	uint64_t loaded; /* value of `generation` when the heap was made */
	/* time of the last type update, on clock_mono_ns() */
	int64_t regrouped_ns;
};

/*
 * A job and its targets at one moment: the name and a reference on the target
 * set, both owned.
 */
struct snapshot {
	char *job;
	struct target_set *set;
};

/*
 * Start the scrape of a target that is already marked as running and was due at
 * due_ms. `ask` is NULL for a scheduled scrape. Otherwise `ask` is a request of
 * scrape_now(): the outcome of the scrape ends the request, and the scraper's
 * reference to the request is dropped. The outcome also becomes the health of
 * the target, except that a failure leaves the health unchanged if `ask` is
 * set.
 */
void fetch_start(struct scraper *s, struct target *t, int64_t due_ms,
		 struct scrape_request *ask);

/*
 * The body of the loop's thread; runs until scraper.stopping is set. The
 * argument is the struct scraper; returns NULL.
 */
void *schedule_run(void *scraper);

/* Free the heap and drop its references on targets. */
void schedule_free(struct scraper *s);

/*
 * Free the list of jobs that have a gauge. The gauges themselves are set by
 * scrape_update_metrics() of scrape.h.
 */
void target_gauges_free(struct scraper *s);

#endif
