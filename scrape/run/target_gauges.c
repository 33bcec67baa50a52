/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gauge of targets by job and health, for alerts. It has three values for
 * each job, however many targets there are.
 */

#include <string.h>

#include "base/mem.h"
#include "base/mutex.h"
#include "scrape/run/scraper.h"
#include "scrape/run/target_pools.h"

enum {
	HEALTHS = TARGET_DOWN + 1
};

/* Set the gauges of a job: one for each value of enum target_health. */
static void set_gauges(struct scraper *s, const char *job,
		       const int64_t count[HEALTHS])
{
	for (int h = 0; h < HEALTHS; h++)
		metric_set(
			metrics_gauge(
				s->o.metrics, "everprof_targets",
				"Number of targets by job and health; each profile type of an address counts as one target.",
				&(struct metric_labels){
					{ "job", "health" },
					{ job, target_health_name(h) } }),
			count[h]);
}

/*
 * Count the targets of a set by health. Takes scraper.mu, which guards health.
 */
static void count_set(struct scraper *s, const struct target_set *set,
		      int64_t count[HEALTHS])
{
	mutex_lock(&s->mu);
	for (size_t i = 0; i < set->count; i++) {
		if (set->v[i].target)
			count[set->v[i].target->health]++;
	}
	mutex_unlock(&s->mu);
}

/* The target set of a job; NULL: a reload has removed the job. */
static const struct target_set *find_set(const struct snapshot *v, size_t count,
					 const char *job)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(v[i].job, job))
			return v[i].set;
	}
	return NULL;
}

/*
 * Add a job to the list of jobs with gauges. When a reload removes the job, the
 * list still has it, so that its gauges are set to 0.
 */
static void show_new(struct scraper *s, const char *job)
{
	for (size_t i = 0; i < s->shown_count; i++) {
		if (!strcmp(s->shown[i], job))
			return;
	}
	s->shown = mem_realloc(s->shown, s->shown_count + 1, sizeof(*s->shown));
	s->shown[s->shown_count++] = mem_strdup(job);
}

/*
 * Gauges are set while `mu` is not held, because setting one takes the lock of
 * the metrics registry. Under that lock the registry calls scrape_take_stats(),
 * which takes `mu`: the opposite order could deadlock.
 */
void scrape_update_metrics(struct scraper *s)
{
	struct snapshot *v;
	size_t n;

	if (!s)
		return;
	mutex_lock(&s->gauges_mu);
	v = snapshot_take(s, &n);
	for (size_t i = 0; i < n; i++)
		show_new(s, v[i].job);
	/*
	 * The list includes jobs that a reload has removed: their gauges become
	 * 0.
	 */
	for (size_t i = 0; i < s->shown_count; i++) {
		const struct target_set *set = find_set(v, n, s->shown[i]);
		int64_t count[HEALTHS] = { 0 };

		if (set)
			count_set(s, set, count);
		set_gauges(s, s->shown[i], count);
	}
	snapshot_free(v, n);
	mutex_unlock(&s->gauges_mu);
}

void target_gauges_free(struct scraper *s)
{
	for (size_t i = 0; i < s->shown_count; i++)
		mem_free(s->shown[i]);
	mem_free(s->shown);
}
