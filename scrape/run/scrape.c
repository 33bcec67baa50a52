/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts and stops the scraper, and registers its metrics. The loop is stopped
 * first, then the workers, because the loop gives work to the workers.
 */
#include "scrape/run/scrape.h"
#include "base/mutex.h"
#include "base/thread.h"

#include <stdlib.h>

#include "base/mem.h"
#include "scrape/run/on_demand.h"
#include "scrape/run/scraper.h"
#include "scrape/run/target_pools.h"
#include "scrape/run/type_cost.h"
#include "scrape/run/type_update.h"

#define QUEUE_MAX 65536 /* maximum number of bodies that wait for a worker */

#define COUNTER(...) METRIC_ROW(COUNTER, struct scrape_metrics, __VA_ARGS__)

/* Counters that the scraper updates itself. */
static const struct metric_row counter_rows[] = {
	COUNTER(ok, "everprof_target_scrapes_total",
		"Number of scrapes by outcome, success or failure.",
		.label = "outcome", .value = "success"),
	COUNTER(failed, "everprof_target_scrapes_total",
		"Number of scrapes by outcome, success or failure.",
		.label = "outcome", .value = "failure"),
	COUNTER(skipped, "everprof_target_scrapes_skipped_total",
		"Scrapes skipped because the previous scrape was still running."),
	COUNTER(empty, "everprof_target_profiles_empty_total",
		"Scraped profiles that contain no samples; they are stored like all others."),
};

/* Statistics that are read when metrics are written. */
struct scrape_stats {
	int64_t targets;
	int64_t ingest_bytes;
	int64_t ingest_waits;
};

#define STAT(kind, ...) METRIC_ROW(kind, struct scrape_stats, __VA_ARGS__)

static const struct metric_row stat_rows[] = {
	STAT(GAUGE, targets, "everprof_scrape_targets",
	     "Number of targets that are scraped; each profile type of an address counts as one target."),
	STAT(GAUGE, ingest_bytes, "everprof_ingest_memory_bytes",
	     "Bytes of memory held by responses of targets and remote-write requests that are being received or decompressed."),
	STAT(COUNTER, ingest_waits, "everprof_ingest_waits_total",
	     "Number of times that the response of a target had to wait because --ingest.memory was exhausted."),
};

/* Read the statistics. Called by any thread. */
static void scrape_take_stats(void *ctx, void *snapshot)
{
	struct scraper *s = ctx;
	struct scrape_stats *out = snapshot;

	*out = (struct scrape_stats){
		.ingest_bytes = ingest_limiter_held(s->o.limiter),
		.ingest_waits = (int64_t)http_waits(s->client),
	};
	mutex_lock(&s->mu);
	for (size_t i = 0; i < s->pool_count; i++)
		out->targets += (int64_t)s->pools[i]->set->active;
	mutex_unlock(&s->mu);
}

static void scrape_register_counters(struct scraper *s)
{
	metrics_register(s->o.metrics, counter_rows, ARRAY_SIZE(counter_rows),
			 &s->metrics);
	s->metrics.duration = metrics_histogram(
		s->o.metrics, "everprof_target_scrape_duration_seconds",
		"Seconds from the start of a scrape until its profile is stored.",
		NULL);
}

/*
 * Called when the client and the ingest limiter exist, because any thread may
 * read the statistics from then on.
 */
static void scrape_register_stats(struct scraper *s)
{
	metrics_register_snapshot(s->o.metrics,
				  &(struct metric_snapshot){
					  .rows = stat_rows,
					  .count = ARRAY_SIZE(stat_rows),
					  .size = sizeof(struct scrape_stats),
					  .take = scrape_take_stats,
					  .ctx = s,
				  });
}

/*
 * Let requests that wait for memory go on. Called by a worker or by the loop
 * when memory for bodies is free again.
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
	mutex_init(&s->update_mu);
	mutex_init(&s->gauges_mu);
	mutex_init(&s->mu);
	scrape_register_counters(s);
	type_cost_init(s);
	rc = http_client_new(&s->client, err);
	if (rc) {
		scrape_free(s);
		return rc;
	}
	ingest_limiter_set_room(o->limiter, on_room, s);
	http_client_set_limiter(s->client, o->limiter, "--ingest.memory");
	http_client_refuse(s->client, o->refused);
	scrape_register_stats(s);
	s->store = profile_store_new(&(struct profile_store_options){
		.appender = o->appender,
		.limiter = o->limiter,
		.max_profile = o->max_profile });
	s->workers = pool_start("scrape-worker", SCRAPE_WORKERS, QUEUE_MAX);
	s->running = true;
	s->loop = thread_start("scrape", schedule_run, s);
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
	profile_store_free(s->store);
	schedule_free(s);
	type_update_free(s);
	target_pools_free(s);
	target_gauges_free(s);
	type_cost_free(s);
	mutex_destroy(&s->update_mu);
	mutex_destroy(&s->gauges_mu);
	mutex_destroy(&s->mu);
	mem_free(s);
}
