/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scraper whose clock is moved by the test only. A stand-in for fetch.c
 * records the scrapes that begin, and the test ends them.
 */
#ifndef TESTS_SCRAPE_FETCHES_H
#define TESTS_SCRAPE_FETCHES_H

#include <unistd.h>

#include "base/mem.h"
#include "scrape/run/on_demand.h"
#include "scrape/run/scraper.h"
#include "tests/check.h"

enum {
	FETCHES_MAX = 256
};

/* A scrape that has begun. */
struct begun {
	struct target *target; /* with a reference */
	int64_t due_ms;
	int64_t now_ms; /* by the scraper's clock */
	struct scrape_request *ask;
};

/* The scrapes that have begun, in order. They are protected by fetches_mu. */
static struct mutex fetches_mu = { PTHREAD_MUTEX_INITIALIZER };
static struct begun begun[FETCHES_MAX];
static size_t begun_count;

void fetch_start(struct scraper *s, struct target *t, int64_t due_ms,
		 struct scrape_request *ask)
{
	mutex_lock(&fetches_mu);
	if (begun_count < FETCHES_MAX)
		begun[begun_count++] = (struct begun){ target_ref(t), due_ms,
						       clock_ms(s->o.clock),
						       ask };
	mutex_unlock(&fetches_mu);
}

/* A running scraper, and the configuration that it was given last. */
struct stage {
	struct scraper *s;
	struct metrics *metrics;
	struct ingest_limiter *limiter;
	struct log log;
	struct clock clock;
	struct yaml y;
	struct scrape_configs configs;
	bool configured;
};

static inline void stage_begin(struct stage *t, int64_t now_ms)
{
	struct scrape_options o = { .max_profile = MIB, .user_agent = "test" };

	*t = (struct stage){ .log = { .level = LOG_ERROR + 1 } };
	t->metrics = metrics_new();
	clock_set(&t->clock, now_ms);
	o.log = &t->log;
	o.metrics = t->metrics;
	o.clock = &t->clock;
	o.limiter = t->limiter = ingest_limiter_new(16 * MIB, MIB);
	begun_count = 0;
	cr_assert(!scrape_start(&o, &t->s, NULL));
}

/* Replaces the jobs by those of a text in YAML. */
static inline void stage_apply(struct stage *t, const char *text)
{
	const struct scrape_common d = { .interval_ms = 15000,
					 .timeout_ms = 5000 };
	struct scrape_configs old = t->configs;
	struct yaml old_y = t->y;

	t->configs = (struct scrape_configs){ 0 };
	yaml_parse(&t->y, "s.yml", bytes_of(str_of(text)));
	cr_assert(t->y.root, "%s", buf_cstr(&t->y.errors));
	scrape_configs_decode(&t->y, t->y.root, &d, &t->configs);
	cr_assert(!t->y.error_count, "%s", buf_cstr(&t->y.errors));
	scrape_apply(t->s, &t->configs);
	if (t->configured) {
		scrape_configs_fini(&old);
		yaml_fini(&old_y);
	}
	t->configured = true;
}

static inline void stage_end(struct stage *t)
{
	scrape_stop(t->s);
	for (size_t i = 0; i < begun_count; i++)
		target_unref(begun[i].target);
	scrape_free(t->s);
	ingest_limiter_free(t->limiter);
	metrics_free(t->metrics);
	if (t->configured) {
		scrape_configs_fini(&t->configs);
		yaml_fini(&t->y);
	}
}

/* Sets the time of day, and wakes the loop so that it sees the new time. */
static inline void stage_set_time(struct stage *t, int64_t now_ms)
{
	clock_set(&t->clock, now_ms);
	http_wake(t->s->client);
}

static inline size_t count_begun(void)
{
	size_t n;

	mutex_lock(&fetches_mu);
	n = begun_count;
	mutex_unlock(&fetches_mu);
	return n;
}

/* Waits until n scrapes have begun. Returns whether exactly n have begun. */
static inline bool has_begun(size_t n)
{
	for (int i = 0; i < 20000 && count_begun() < n; i++)
		usleep(1000);
	return count_begun() == n;
}

static inline struct begun begun_at(size_t i)
{
	struct begun b;

	mutex_lock(&fetches_mu);
	cr_assert(i < begun_count);
	b = begun[i];
	mutex_unlock(&fetches_mu);
	return b;
}

/* Ends the scrape of a target, so that the next one may begin. */
static inline void end_scrape(struct scraper *s, struct target *t)
{
	mutex_lock(&s->mu);
	t->running = false;
	mutex_unlock(&s->mu);
}

/*
 * Returns the target with this instance, and with this type unless `type` is
 * NULL. Returns NULL if there is no such target.
 */
static inline struct target *
find_instance(struct stage *t, const char *instance, const char *type)
{
	struct target *found = NULL;

	mutex_lock(&t->s->mu);
	for (size_t i = 0; i < t->s->pool_count; i++) {
		const struct target_set *set = t->s->pools[i]->set;

		for (size_t k = 0; k < set->count; k++) {
			struct target *one = set->v[k].target;

			if (one &&
			    str_is(labels_get(one->spec.labels,
					      str_of("instance")),
				   instance) &&
			    (!type || str_is(labels_get(one->spec.labels,
							str_of(LABEL_NAME)),
					     type)))
				found = one;
		}
	}
	mutex_unlock(&t->s->mu);
	return found;
}

/* Returns when a target is due next, or 0 if that is not known yet. */
static inline int64_t next_of(struct stage *t, struct target *one)
{
	int64_t next;

	mutex_lock(&t->s->mu);
	next = one->next_ms;
	mutex_unlock(&t->s->mu);
	return next;
}

/* Waits until the next due time of a target is `ms`. Returns whether it is. */
static inline bool is_due_at(struct stage *t, struct target *one, int64_t ms)
{
	for (int i = 0; i < 20000 && next_of(t, one) != ms; i++)
		usleep(1000);
	return next_of(t, one) == ms;
}

/* A job with only the profile type heap. `targets` is a list in YAML. */
#define HEAP_JOB(name, more, targets)                            \
	"- job_name: " name "\n"                                 \
	"  profiling_config: {pprof_config: {allocs: {enabled: " \
	"false}, block: {enabled: false}, goroutine: {enabled: " \
	"false}, mutex: {enabled: false}, profile: {enabled: "   \
	"false}, threadcreate: {enabled: false}}}\n" more        \
	"  static_configs: [{targets: " targets "}]\n"

#endif
