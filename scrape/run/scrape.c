/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts and stops the scraper, and registers its metrics. Threads are stopped
 * in the order in which they feed each other: the loop, then the workers.
 */
#include "scrape/scrape.h"

#include <stdlib.h>

#include "base/mem.h"
#include "scrape/run/on_demand.h"
#include "scrape/run/schedule.h"
#include "scrape/run/scraper.h"
#include "scrape/run/target_gauges.h"
#include "scrape/run/target_pools.h"
#include "scrape/run/type_cost.h"
#include "scrape/run/type_update.h"

#define QUEUE_MAX 65536 /* bodies that wait for a worker */

/* Counters that the scraper updates itself. */
static void scrape_register_metrics(struct scraper *s)
{
	struct metrics *m = s->o.metrics;
	static const char name[] = "everprof_target_scrapes_total";
	static const char help[] = "Scrapes by how they ended.";

	s->metrics.ok = metrics_counter(
		m, name, help,
		&(struct metric_labels){ { "outcome" }, { "success" } });
	s->metrics.failed = metrics_counter(
		m, name, help,
		&(struct metric_labels){ { "outcome" }, { "failure" } });
	s->metrics.skipped = metrics_counter(
		m, "everprof_target_scrapes_skipped_total",
		"Scrapes left out because the one before was still running.",
		NULL);
	s->metrics.empty = metrics_counter(
		m, "everprof_target_profiles_empty_total",
		"Profiles without samples, stored like all others.", NULL);
	s->metrics.duration = metrics_histogram(
		m, "everprof_target_scrape_duration_seconds",
		"From the start of a scrape until its profile is stored.",
		NULL);
}

/* Bytes of bodies in flight. Gauge functions are called by any thread. */
static int64_t ingest_held(void *ctx)
{
	const struct scraper *s = ctx;

	return ingest_limiter_held(s->intake);
}

static int64_t ingest_waits(void *ctx)
{
	const struct scraper *s = ctx;

	return (int64_t)http_waits(s->client);
}

static int64_t target_count(void *ctx)
{
	struct scraper *s = ctx;
	size_t n = 0;

	pthread_mutex_lock(&s->mu);
	for (size_t i = 0; i < s->pool_count; i++)
		n += s->pools[i]->set->active;
	pthread_mutex_unlock(&s->mu);
	return (int64_t)n;
}

/* Gauges whose values are read when metrics are collected. */
static void register_gauges(struct scraper *s)
{
	metrics_gauge_fn(s->o.metrics, "everprof_scrape_targets",
			 "Targets that are scraped, one for each type.",
			 target_count, s);
	metrics_gauge_fn(s->o.metrics, "everprof_ingest_memory_bytes",
			 "Bodies in flight, and those that wait for a worker.",
			 ingest_held, s);
	metrics_counter_fn(s->o.metrics, "everprof_ingest_waits_total",
			   "Times that a body had to wait for --ingest.memory.",
			   ingest_waits, s);
}

/*
 * Called when memory for bodies is free again, by a worker or by the loop:
 * requests that wait for it go on.
 */
static void on_room(void *ctx)
{
	struct scraper *s = ctx;

	http_room(s->client);
}

int scrape_start(const struct scrape_options *o, struct scraper **out,
		 struct err *err)
{
	struct scraper *s = mem_new(struct scraper);
	int rc;

	s->o = *o;
	pthread_mutex_init(&s->making, NULL);
	pthread_mutex_init(&s->showing, NULL);
	pthread_mutex_init(&s->mu, NULL);
	pthread_mutex_init(&s->giant, NULL);
	scrape_register_metrics(s);
	type_cost_init(s);
	rc = http_client_new(&s->client, err);
	if (rc) {
		scrape_free(s);
		return rc;
	}
	s->intake = ingest_limiter_new(o->ingest_memory,
				       (int64_t)o->max_profile, on_room, s);
	http_client_set_intake(s->client, s->intake);
	http_client_refuse(s->client, o->refused);
	register_gauges(s);
	for (unsigned i = 0; i <= SCRAPE_WORKERS; i++)
		s->unpackers[i] = unpacker_new(o->max_profile);
	for (unsigned i = 0; i <= SCRAPE_WORKERS; i++)
		unpacker_share(s->unpackers[i], &s->giant);
	s->workers = pool_start("scrape-worker", SCRAPE_WORKERS, QUEUE_MAX);
	s->running = true;
	/* Without a thread nothing works: end as when memory is out. */
	if (pthread_create(&s->loop, NULL, schedule_run, s))
		abort();
	*out = s;
	return 0;
}

void scrape_stop(struct scraper *s)
{
	if (!s || !s->running)
		return;
	atomic_store(&s->stopping, true);
	http_wake(s->client);
	pthread_join(s->loop, NULL);
	/*
	 * The requests in flight end with an error, each through
	 * fetch_on_answer().
	 */
	http_cancel(s->client, NULL);
	pool_stop(s->workers);
	on_demand_refuse_all(s);
	s->running = false;
}

void scrape_free(struct scraper *s)
{
	if (!s)
		return;
	scrape_stop(s);
	http_client_free(s->client);
	pool_free(s->workers);
	for (unsigned i = 0; i <= SCRAPE_WORKERS; i++)
		unpacker_free(s->unpackers[i]);
	schedule_free(s);
	type_update_free(s);
	target_pools_free(s);
	target_gauges_free(s);
	type_cost_free(s);
	pthread_mutex_destroy(&s->making);
	pthread_mutex_destroy(&s->showing);
	ingest_limiter_free(s->intake);
	pthread_mutex_destroy(&s->mu);
	pthread_mutex_destroy(&s->giant);
	mem_free(s);
}
