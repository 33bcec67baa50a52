/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that the files of the scraper share: schedule.c decides when to
 * scrape, fetch.c does one scrape, target_pools.c makes the targets,
 * type_update.c has them made again when index pages name other types,
 * on_demand.c keeps the requests of scrape_now(), target_gauges.c counts
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
#include "client/http.h"
#include "pprof/unpack.h"
#include "scrape/run/scrape_request.h"
#include "scrape/scrape.h"
#include "scrape/target/target_set.h"

enum {
	SCRAPE_WORKERS = 2
};

/* Counters that all scrapes share. */
struct scrape_metrics {
	struct metric *ok;
	struct metric *failed;
	struct metric *skipped; /* due while the one before was running */
	struct metric *empty;   /* stored, but without samples */
	struct histogram *duration;
};

/* Counters of one profile type; see type_cost.c. */
struct type_cost;

/* One job and its targets. All but set is under scraper.update_mu. */
struct scrape_pool {
	char *job;
	const struct scrape_config *config; /* borrowed */
	struct http_config *client;
	struct target_groups_list discovered;
	struct target_set *set; /* also under scraper.mu */
};

/* A running scraper. */
struct scraper {
	struct scrape_options o;
	struct scrape_metrics metrics;
	struct pool *workers;
	struct unpacker *unpackers[SCRAPE_WORKERS + 1]; /* +1: the loop's */
	struct http_client *client;
	struct ingest_limiter *intake; /* memory of bodies in flight */
	/*
	 * Held to unpack a large profile: one at a time, to bound the memory.
	 */
	struct mutex large_profile_mu;
	pthread_t loop;
	bool running;
	_Atomic bool stopping;

	/* Held while pools are changed, which may take long. */
	struct mutex update_mu;
	/* Guards the members below and the status of targets; held briefly. */
	struct mutex mu;
	struct scrape_pool **pools;
	size_t pool_count;
	uint64_t generation;          /* grows with each change of sets */
	struct type_update *findings; /* queue of type_update.c */
	struct scrape_request *asked; /* requests not started yet */
	unsigned asking;              /* all requests, started or not */

	/* Guards the list of jobs that have a gauge; taken before mu. */
	struct mutex gauges_mu;
	char **shown;
	size_t shown_count;

	/* What scrapes cost by profile type. */
	struct mutex costs_mu;
	VEC(struct type_cost) costs;

	/* The loop's own: a min-heap of all targets by due_ms. */
	struct target **heap;
	size_t count;
	uint64_t loaded;      /* generation that the heap was made of */
	int64_t regrouped_ns; /* last type update, clock_mono_ns() */
};

/* The name of a job and a reference on its set, both owned. */
struct snapshot {
	char *job;
	struct target_set *set;
};

#endif
