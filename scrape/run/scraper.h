/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the scraper share: schedule.c says when, fetch.c does one
 * scrape, jobs.c makes the targets, finding.c has them made anew when their
 * indexes name other types, wish.c takes those wanted now, health.c counts for
 * alerts, cost.c says what it took, scrape.c starts and stops it all.
 *
 * Ownership: scrape_free() frees; pools own their targets.
 * Threads: see struct scraper: which lock guards what.
 */
#ifndef SCRAPE_RUN_SCRAPER_H
#define SCRAPE_RUN_SCRAPER_H

#include <pthread.h>

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

struct scrape_metrics {
	struct metric *ok;
	struct metric *failed;
	struct metric *skipped;
	struct metric *empty;
	struct histogram *duration;
};

struct type_cost;

/* A job and its targets. */
struct scrape_pool {
	char *job;
	const struct scrape_config *config;
	struct http_config *client;
	struct target_groups_list discovered;
	struct target_set *set; /* changes under scraper.mu */
};

struct scraper {
	struct scrape_options o;
	struct scrape_metrics metrics;
	struct pool *workers;
	struct unpacker *unpackers[SCRAPE_WORKERS + 1]; /* and the loop's */
	struct http_client *client;
	struct ingest_limiter *intake;
	pthread_mutex_t giant; /* one large profile is unpacked at a time */
	pthread_t loop;
	bool running;
	_Atomic bool stopping;

	/* Who changes pools holds it, for long. */
	pthread_mutex_t making;
	/* Pools and the status of targets; never held for long. */
	pthread_mutex_t mu;
	struct scrape_pool **pools;
	size_t pool_count;
	uint64_t generation;          /* of the sets */
	struct type_update *findings; /* not yet looked at */
	struct scrape_request *asked; /* not yet begun */
	unsigned asking;              /* begun or not */

	/* Jobs that have a gauge of targets; taken before mu. */
	pthread_mutex_t showing;
	char **shown;
	size_t shown_count;

	/* What scrapes cost, by type. */
	pthread_mutex_t costs_mu;
	VEC(struct type_cost) costs;

	/* The loop's: all targets by due_ms, the earliest first. */
	struct target **heap;
	size_t count;
	uint64_t loaded; /* generation of the heap */
	int64_t regrouped_ns;
};

/* A job's name and its set, both the caller's. */
struct snapshot {
	char *job;
	struct target_set *set;
};

#endif
