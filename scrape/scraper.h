/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the scraper share: schedule.c says when, fetch.c does one
 * scrape, jobs.c makes the targets, finding.c has them made anew when their
 * indexes name other types, wish.c takes those wanted now, health.c counts for
 * alerts, cost.c says what it took, scrape.c starts and stops it all.
 */
#ifndef SCRAPE_SCRAPER_H
#define SCRAPE_SCRAPER_H

#include <pthread.h>

#include "base/pool.h"
#include "base/vec.h"
#include "client/http.h"
#include "pprof/unpack.h"
#include "scrape/ask.h"
#include "scrape/scrape.h"
#include "scrape/target_set.h"

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
	struct intake *intake;
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
	uint64_t generation;      /* of the sets */
	struct finding *findings; /* not yet looked at */
	struct ask *asked;        /* not yet begun */
	unsigned asking;          /* begun or not */

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

/* schedule.c: the loop, until the scraper stops. */
void *schedule_run(void *scraper);
void schedule_free(struct scraper *s);

/*
 * fetch.c: begin a scrape of a target that is marked as running. ask: NULL
 * when it is due; else it is told, and the scraper's reference given back.
 */
void fetch_start(struct scraper *s, struct target *t, int64_t due_ms,
		 struct ask *ask);

/* wish.c: who asked is told how it ended; gives the reference back. */
void wish_end(struct scraper *s, struct ask *a, int rc, const struct err *err,
	      int64_t ms);

/* Those that never began. */
void wish_refuse_all(struct scraper *s);

/* The next one whose target is not being scraped: it is marked as running. */
struct ask *wish_take(struct scraper *s);

/* finding.c: a target's index has said this; takes over the types. */
void finding_add(struct scraper *s, struct target *index,
		 struct type_index *types);

/* Have jobs made anew if indexes said something; how long until it may. */
int64_t finding_start(struct scraper *s);
void finding_free(struct scraper *s);

/* health.c */
void health_free(struct scraper *s);

/* cost.c: a scrape of the target ended. */
void cost_init(struct scraper *s);
void cost_add(struct scraper *s, const struct target *t, size_t bytes,
	      int64_t took_ns);
void cost_free(struct scraper *s);

/* jobs.c */
void jobs_free(struct scraper *s);

/* Make the jobs anew whose targets name their types; making is held. */
void jobs_regroup(struct scraper *s);

/* A job's name and its set, both the caller's. */
struct snapshot {
	char *job;
	struct target_set *set;
};

struct snapshot *snapshot_take(struct scraper *s, size_t *count);
void snapshot_free(struct snapshot *v, size_t count);

#endif
