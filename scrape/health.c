/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gauge of targets by job and health, for alerts: it has three values a
 * job, however many targets there are.
 */
#include <string.h>

#include "base/mem.h"
#include "scrape/scraper.h"

enum {
	HEALTHS = TARGET_DOWN + 1
};

static void set_gauges(struct scraper *s, const char *job,
		       const int64_t count[HEALTHS])
{
	for (int h = 0; h < HEALTHS; h++)
		metric_set(
			metrics_gauge(
				s->o.metrics, "everprof_targets",
				"Targets (one for each type) by job and health.",
				&(struct metric_labels){
					{ "job", "health" },
					{ job, target_health_name(h) } }),
			count[h]);
}

static void count_pool(const struct scrape_pool *p, int64_t count[HEALTHS])
{
	for (size_t i = 0; i < p->set->count; i++) {
		if (p->set->v[i].target)
			count[p->set->v[i].target->health]++;
	}
}

static const struct scrape_pool *find_pool(const struct scraper *s,
					   const char *job)
{
	for (size_t i = 0; i < s->pool_count; i++) {
		if (!strcmp(s->pools[i]->job, job))
			return s->pools[i];
	}
	return NULL;
}

static bool is_shown(const struct scraper *s, const char *job)
{
	for (size_t i = 0; i < s->shown_count; i++) {
		if (!strcmp(s->shown[i], job))
			return true;
	}
	return false;
}

static void show_new(struct scraper *s, const char *job)
{
	if (is_shown(s, job))
		return;
	s->shown = mem_realloc(s->shown, s->shown_count + 1, sizeof(*s->shown));
	s->shown[s->shown_count++] = mem_strdup(job);
}

void scrape_update_metrics(struct scraper *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->mu);
	for (size_t i = 0; i < s->pool_count; i++)
		show_new(s, s->pools[i]->job);
	/* A job that a reload took out has no targets any more. */
	for (size_t i = 0; i < s->shown_count; i++) {
		const struct scrape_pool *p = find_pool(s, s->shown[i]);
		int64_t count[HEALTHS] = { 0 };

		if (p)
			count_pool(p, count);
		set_gauges(s, s->shown[i], count);
	}
	pthread_mutex_unlock(&s->mu);
}

void health_free(struct scraper *s)
{
	for (size_t i = 0; i < s->shown_count; i++)
		mem_free(s->shown[i]);
	mem_free(s->shown);
}
