/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "base/table.h"
#include "client/http.h"
#include "pprof/unpack.h"

#define WORKERS     2
#define WAIT_MS_MAX 10000

struct scrape_metrics {
	struct metric *ok;
	struct metric *failed;
	struct metric *skipped;
	struct metric *empty;
	struct metric *bytes;
	struct histogram *duration;
};

struct scraper {
	struct scrape_options o;
	struct scrape_metrics metrics;
	struct target **targets;
	size_t count;
	size_t cap;
	struct target **heap; /* by due_ms, the earliest first */
	struct pool *pool;
	struct unpacker *unpackers[WORKERS];
	struct http_client *client;
	pthread_t loop;
	bool running;
	_Atomic bool stopping;
};

/* One request, from its start to the end of its processing. */
struct job {
	struct scraper *scraper;
	struct target *target;
	int64_t sample_ms;
	int64_t started_ms;
	int64_t started_ns;
	struct buf body;
	struct err err; /* code 0: there is a body */
};

/* The heap of due times. */

static void sift_down(struct scraper *s, size_t i)
{
	for (;;) {
		size_t child = i * 2 + 1;
		struct target *t = s->heap[i];

		if (child >= s->count)
			return;
		if (child + 1 < s->count &&
		    s->heap[child + 1]->due_ms < s->heap[child]->due_ms)
			child++;
		if (t->due_ms <= s->heap[child]->due_ms)
			return;
		s->heap[i] = s->heap[child];
		s->heap[child] = t;
		i = child;
	}
}

static void heap_order(struct scraper *s)
{
	for (size_t i = s->count / 2; i-- > 0;)
		sift_down(s, i);
}

static void heap_build(struct scraper *s)
{
	s->heap = mem_zalloc(s->count, sizeof(struct target *));
	for (size_t i = 0; i < s->count; i++)
		s->heap[i] = s->targets[i];
	heap_order(s);
}

static void set_due(struct target *t, int64_t due_ms)
{
	pthread_mutex_lock(&t->mu);
	t->due_ms = due_ms;
	pthread_mutex_unlock(&t->mu);
}

/*
 * After the clock was set back everything is due too late: judge all anew,
 * else nobody is scraped until the old times come round.
 */
static void reschedule(struct scraper *s, int64_t now)
{
	for (size_t i = 0; i < s->count; i++) {
		struct target *t = s->heap[i];

		set_due(t, target_next_due(t->hash, t->interval_ms, now));
	}
	heap_order(s);
}

/* The end of a scrape. */

static void set_health(struct job *j, int rc, const struct err *err)
{
	struct target *t = j->target;
	int64_t took = clock_mono_ns() - j->started_ns;
	enum target_health was;

	pthread_mutex_lock(&t->mu);
	was = t->health;
	t->health = rc ? TARGET_DOWN : TARGET_UP;
	snprintf(t->last_error, sizeof(t->last_error), "%s",
		 rc ? err->msg : "");
	t->last_ms = j->started_ms;
	t->last_duration_ns = took;
	t->last_bytes = j->body.len;
	pthread_mutex_unlock(&t->mu);
	histogram_observe(j->scraper->metrics.duration, took);
	if (rc && was != TARGET_DOWN)
		log_event(j->scraper->o.log, LOG_WARN, "target is down",
			  LOG_FIELDS(log_text("url", t->url), log_err(err)));
	else if (!rc && was == TARGET_DOWN)
		log_event(j->scraper->o.log, LOG_INFO, "target is up again",
			  LOG_FIELDS(log_text("url", t->url)));
}

static int store(struct job *j, unsigned worker, struct err *err)
{
	struct scraper *s = j->scraper;
	struct bytes body = buf_bytes(&j->body);
	struct unpacked *u = mem_alloc(sizeof(*u));
	struct sample sample = { .labels = j->target->labels,
				 .ms = j->sample_ms };
	uint64_t lsn;
	int rc = unpacker_run(s->unpackers[worker], body, u, err);

	if (!rc) {
		unpacked_sample(u, body, &sample);
		rc = s->o.appender->append(s->o.appender, &sample, &lsn, err);
		if (rc)
			err_wrap(err, rc, "not stored");
		else if (!sample.sample_count)
			metric_add(s->metrics.empty, 1);
	}
	mem_free(u);
	return rc;
}

static void finish(void *arg, unsigned worker)
{
	struct job *j = arg;
	struct scraper *s = j->scraper;
	struct target *t = j->target;
	struct err err = j->err;
	int rc = err.code ? err.code : store(j, worker, &err);

	metric_add(rc ? s->metrics.failed : s->metrics.ok, 1);
	metric_add(s->metrics.bytes, (int64_t)j->body.len);
	set_health(j, rc, &err);
	buf_fini(&j->body);
	mem_free(j);
	/* Only now may the loop start the next one. */
	pthread_mutex_lock(&t->mu);
	t->running = false;
	pthread_mutex_unlock(&t->mu);
}

static void answered(void *ctx, struct http_response *r)
{
	struct job *j = ctx;

	if (r->code) {
		j->err = r->err;
	} else if (r->status / 100 == 3) {
		err_set(&j->err, ERR_INVALID,
			"server returned HTTP status %ld %s: redirect to %s is not followed",
			r->status, http_status_text(r->status), r->location);
	} else if (r->status != 200) {
		err_set(&j->err, ERR_INVALID,
			"server returned HTTP status %ld %s", r->status,
			http_status_text(r->status));
	} else {
		j->body = r->body;
		r->body = (struct buf){ 0 };
	}
	/* The queue has a place for each target: it is never full. */
	if (pool_submit(j->scraper->pool, finish, j, NULL))
		finish(j, 0);
}

/* The loop. */

static void start(struct scraper *s, struct target *t, int64_t due_ms)
{
	struct job *j = mem_new(struct job);
	size_t limit = s->o.max_profile;
	struct http_request r = { .url = t->url,
				  .timeout_ms = t->timeout_ms,
				  .user_agent = s->o.user_agent,
				  .done = answered,
				  .ctx = j };

	r.max_body = t->max_body && t->max_body < limit ? t->max_body : limit;
	j->scraper = s;
	j->target = t;
	j->started_ms = clock_ms(s->o.clock);
	j->started_ns = clock_mono_ns();
	j->sample_ms = target_sample_ms(due_ms, j->started_ms, t->interval_ms);
	http_start(s->client, &r);
}

static bool begin(struct target *t)
{
	bool free;

	pthread_mutex_lock(&t->mu);
	free = !t->running;
	t->running = true;
	t->skipped += !free;
	pthread_mutex_unlock(&t->mu);
	return free;
}

/* Start what is due; returns how long until something is. */
static int64_t start_due(struct scraper *s)
{
	int64_t now = clock_ms(s->o.clock);

	while (s->count) {
		struct target *t = s->heap[0];
		int64_t due = t->due_ms;
		int64_t next = target_next_due(t->hash, t->interval_ms, now);

		if (due > next) {
			reschedule(s, now);
			continue;
		}
		if (due > now)
			return due - now;
		if (begin(t))
			start(s, t, due);
		else
			metric_add(s->metrics.skipped, 1);
		set_due(t, next);
		sift_down(s, 0);
	}
	return WAIT_MS_MAX;
}

static void *loop_run(void *arg)
{
	struct scraper *s = arg;

	pthread_setname_np(pthread_self(), "scrape");
	while (!atomic_load(&s->stopping)) {
		int64_t wait = start_due(s);

		http_poll(s->client, wait < WAIT_MS_MAX ? wait : WAIT_MS_MAX);
	}
	return NULL;
}

/* Starting. */

static bool same_target(const void *ctx, uint32_t number, const void *key)
{
	const struct scraper *s = ctx;
	const struct target *a = s->targets[number];
	const struct target *b = key;

	return bytes_eq(labels_bytes(a->labels), labels_bytes(b->labels));
}

static void add_target(struct scraper *s, struct table *seen, struct target *t)
{
	if (table_find(seen, t->labels->hash, same_target, s, t) !=
	    TABLE_NONE) {
		log_event(s->o.log, LOG_WARN,
			  "a target is left out: another has the same labels",
			  LOG_FIELDS(log_text("url", t->url)));
		target_free(t);
		return;
	}
	table_add(seen, t->labels->hash, (uint32_t)s->count);
	t->due_ms =
		target_next_due(t->hash, t->interval_ms, clock_ms(s->o.clock));
	s->targets = mem_grow(s->targets, s->count, &s->cap,
			      sizeof(struct target *));
	s->targets[s->count++] = t;
}

static int add_group(struct scraper *s, struct table *seen,
		     const struct scrape_config *c,
		     const struct static_group *g, struct err *err)
{
	for (size_t i = 0; i < g->target_count; i++) {
		for (size_t k = 0; k < c->profile_count; k++) {
			struct target *t;
			int rc;

			if (!c->profiles[k].enabled)
				continue;
			rc = target_new(c, g, &c->profiles[k], g->targets[i],
					&t, err);
			if (rc)
				return err_wrap(err, rc, "job %.*s",
						STR_ARG(c->job_name));
			add_target(s, seen, t);
		}
	}
	return 0;
}

static int add_targets(struct scraper *s, const struct scrape_configs *configs,
		       struct err *err)
{
	struct table seen = { 0 };
	int rc = 0;

	for (size_t i = 0; i < configs->count && !rc; i++) {
		const struct scrape_config *c = &configs->v[i];

		for (size_t k = 0; k < c->group_count && !rc; k++)
			rc = add_group(s, &seen, c, &c->groups[k], err);
	}
	table_fini(&seen);
	return rc;
}

static void register_metrics(struct scraper *s)
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
	s->metrics.bytes =
		metrics_counter(m, "everprof_target_scraped_bytes_total",
				"Bytes of profiles as received.", NULL);
	s->metrics.duration = metrics_histogram(
		m, "everprof_target_scrape_duration_seconds",
		"From the start of a scrape until its profile is stored.",
		NULL);
}

int scrape_start(const struct scrape_options *o,
		 const struct scrape_configs *configs, struct scraper **out,
		 struct err *err)
{
	struct scraper *s = mem_new(struct scraper);
	int rc;

	s->o = *o;
	register_metrics(s);
	rc = add_targets(s, configs, err);
	if (!rc)
		rc = http_client_new(&s->client, err);
	if (rc) {
		scrape_free(s);
		return rc;
	}
	heap_build(s);
	for (unsigned i = 0; i < WORKERS; i++)
		s->unpackers[i] = unpacker_new(o->max_profile);
	s->pool = pool_start("scrape-worker", WORKERS, s->count + 1);
	s->running = true;
	if (pthread_create(&s->loop, NULL, loop_run, s))
		abort(); /* as when memory is out */
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
	/* Ends what is in flight, each through answered(). */
	http_client_free(s->client);
	s->client = NULL;
	pool_stop(s->pool);
	s->running = false;
}

void scrape_free(struct scraper *s)
{
	if (!s)
		return;
	scrape_stop(s);
	http_client_free(s->client);
	pool_free(s->pool);
	for (unsigned i = 0; i < WORKERS; i++)
		unpacker_free(s->unpackers[i]);
	for (size_t i = 0; i < s->count; i++)
		target_free(s->targets[i]);
	mem_free(s->targets);
	mem_free(s->heap);
	mem_free(s);
}

void scrape_targets(struct scraper *s,
		    void (*fn)(void *ctx, const struct target_status *t),
		    void *ctx)
{
	for (size_t i = 0; i < s->count; i++) {
		struct target *t = s->targets[i];
		char last_error[sizeof(t->last_error)];
		struct target_status status = { .target = t };

		pthread_mutex_lock(&t->mu);
		memcpy(last_error, t->last_error, sizeof(last_error));
		status.health = t->health;
		status.last_ms = t->last_ms;
		status.last_duration_ns = t->last_duration_ns;
		status.last_bytes = t->last_bytes;
		status.next_ms = t->due_ms;
		pthread_mutex_unlock(&t->mu);
		status.last_error = last_error;
		fn(ctx, &status);
	}
}

const char *target_health_name(enum target_health h)
{
	static const char *const names[] = { "unknown", "up", "down" };

	return names[h];
}
