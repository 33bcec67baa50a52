/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "client/http.h"
#include "pprof/unpack.h"
#include "scrape/ask.h"
#include "scrape/target_set.h"

#define WORKERS     2
#define WAIT_MS_MAX 10000
#define ASKS_MAX    4  /* profiles that somebody waits for */
#define ASK_MS      50 /* until one whose target was busy is looked at again */
#define QUEUE_MAX   65536 /* bodies that wait for a worker */

struct scrape_metrics {
	struct metric *ok;
	struct metric *failed;
	struct metric *skipped;
	struct metric *empty;
	struct metric *bytes;
	struct histogram *duration;
};

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
	struct unpacker *unpackers[WORKERS];
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
	uint64_t generation; /* of the sets */
	struct ask *asked;   /* not yet begun */
	unsigned asking;     /* begun or not */

	/* The loop's: all targets by due_ms, the earliest first. */
	struct target **heap;
	size_t count;
	uint64_t loaded; /* generation of the heap */
};

/* One request, from its start to the end of its processing. */
struct job {
	struct scraper *scraper;
	struct target *target;
	struct ask *ask; /* NULL: it was due */
	int64_t sample_ms;
	int64_t started_ms;
	int64_t started_ns;
	struct buf body;
	struct intake_share share;
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

static void set_due(struct scraper *s, struct target *t, int64_t due_ms)
{
	t->due_ms = due_ms;
	pthread_mutex_lock(&s->mu);
	t->next_ms = due_ms;
	pthread_mutex_unlock(&s->mu);
}

/*
 * After the clock was set back everything is due too late: judge all anew,
 * else nobody is scraped until the old times come round.
 */
static void reschedule(struct scraper *s, int64_t now)
{
	for (size_t i = 0; i < s->count; i++) {
		struct target *t = s->heap[i];

		set_due(s, t,
			target_next_due(t->hash, t->spec.interval_ms, now));
	}
	heap_order(s);
}

static void heap_drop(struct scraper *s)
{
	for (size_t i = 0; i < s->count; i++)
		target_unref(s->heap[i]);
	mem_free(s->heap);
	s->heap = NULL;
	s->count = 0;
}

static void heap_add(struct scraper *s, const struct target_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct target *t = set->v[i].target;

		if (t && !t->refused)
			s->heap[s->count++] = target_ref(t);
	}
}

/* Take the targets that there are now. */
static void heap_load(struct scraper *s)
{
	int64_t now = clock_ms(s->o.clock);
	size_t count = 0;

	heap_drop(s);
	pthread_mutex_lock(&s->mu);
	s->loaded = s->generation;
	for (size_t i = 0; i < s->pool_count; i++)
		count += s->pools[i]->set->active;
	s->heap = mem_zalloc(count + 1, sizeof(struct target *));
	for (size_t i = 0; i < s->pool_count; i++)
		heap_add(s, s->pools[i]->set);
	for (size_t i = 0; i < s->count; i++) {
		struct target *t = s->heap[i];

		if (t->due_ms)
			continue;
		t->due_ms = target_next_due(t->hash, t->spec.interval_ms, now);
		t->next_ms = t->due_ms;
	}
	pthread_mutex_unlock(&s->mu);
	heap_order(s);
}

static bool is_stale(struct scraper *s)
{
	bool stale;

	pthread_mutex_lock(&s->mu);
	stale = s->loaded != s->generation;
	pthread_mutex_unlock(&s->mu);
	return stale;
}

/* The end of a scrape. */

static void set_health(struct job *j, int rc, const struct err *err)
{
	struct scraper *s = j->scraper;
	struct target *t = j->target;
	int64_t took = clock_mono_ns() - j->started_ns;
	char *error = rc ? mem_strdup(err->msg) : NULL;
	enum target_health was;

	pthread_mutex_lock(&s->mu);
	was = t->health;
	t->health = rc ? TARGET_DOWN : TARGET_UP;
	mem_free(t->last_error);
	t->last_error = error;
	t->last_ms = j->started_ms;
	t->last_duration_ns = took;
	t->last_bytes = j->body.len;
	pthread_mutex_unlock(&s->mu);
	histogram_observe(s->metrics.duration, took);
	if (rc && was != TARGET_DOWN)
		log_event(
			s->o.log, LOG_WARN, "target is down",
			LOG_FIELDS(log_text("url", t->spec.url), log_err(err)));
	else if (!rc && was == TARGET_DOWN)
		log_event(s->o.log, LOG_INFO, "target is up again",
			  LOG_FIELDS(log_text("url", t->spec.url)));
}

static int store(struct job *j, unsigned worker, struct err *err)
{
	struct scraper *s = j->scraper;
	struct bytes body = buf_bytes(&j->body);
	struct unpacked *u = mem_alloc(sizeof(*u));
	struct sample sample = { .labels = j->target->spec.labels,
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
	unpacker_done(s->unpackers[worker]);
	mem_free(u);
	return rc;
}

/* Who asked is told; gives the scraper's reference back. */
static void end_ask(struct scraper *s, struct ask *a, int rc,
		    const struct err *err, int64_t ms)
{
	static const struct err none;

	pthread_mutex_lock(&s->mu);
	s->asking--;
	pthread_mutex_unlock(&s->mu);
	ask_end(a, rc ? err : &none, ms);
	ask_unref(a);
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
	if (j->ask)
		end_ask(s, j->ask, rc, &err, j->sample_ms);
	buf_fini(&j->body);
	intake_release(&j->share);
	mem_free(j);
	/* Only now may the loop start the next one. */
	pthread_mutex_lock(&s->mu);
	t->running = false;
	pthread_mutex_unlock(&s->mu);
	target_unref(t);
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
		j->share = r->share;
		r->body = (struct buf){ 0 };
		r->share = (struct intake_share){ 0 };
	}
	/* A full queue is no reason to lose a profile. */
	if (pool_submit(j->scraper->workers, finish, j, NULL))
		finish(j, 0);
}

/* The loop. */

/* ask: NULL when it is due. */
static void start(struct scraper *s, struct target *t, int64_t due_ms,
		  struct ask *ask)
{
	struct job *j = mem_new(struct job);
	size_t limit = s->o.max_profile;
	size_t own = t->spec.max_body;
	char timeout[80];
	const char *const headers[] = { timeout, NULL };
	struct http_request r = { .url = ask ? ask->url : t->spec.url,
				  .config = t->spec.client,
				  .headers = headers,
				  .timeout_ms = ask ? ask->timeout_ms :
						      t->spec.timeout_ms,
				  .user_agent = s->o.user_agent,
				  .done = answered,
				  .ctx = j };

	snprintf(timeout, sizeof(timeout),
		 "X-Prometheus-Scrape-Timeout-Seconds: %g",
		 (double)r.timeout_ms / 1000);
	r.max_body = own && own < limit ? own : limit;
	j->scraper = s;
	j->target = target_ref(t);
	j->ask = ask;
	j->started_ms = clock_ms(s->o.clock);
	j->started_ns = clock_mono_ns();
	j->sample_ms =
		target_sample_ms(due_ms, j->started_ms, t->spec.interval_ms);
	http_start(s->client, &r);
}

static bool begin(struct scraper *s, struct target *t, int64_t next)
{
	bool free;

	pthread_mutex_lock(&s->mu);
	free = !t->running;
	t->running = true;
	t->skipped += !free;
	t->next_ms = next;
	pthread_mutex_unlock(&s->mu);
	return free;
}

/* Start what is due; returns how long until something is. */
static int64_t start_due(struct scraper *s)
{
	int64_t now = clock_ms(s->o.clock);

	while (s->count) {
		struct target *t = s->heap[0];
		int64_t due = t->due_ms;
		int64_t next =
			target_next_due(t->hash, t->spec.interval_ms, now);

		if (due > next) {
			reschedule(s, now);
			continue;
		}
		if (due > now)
			return due - now;
		t->due_ms = next;
		if (begin(s, t, next))
			start(s, t, due, NULL);
		else
			metric_add(s->metrics.skipped, 1);
		sift_down(s, 0);
	}
	return WAIT_MS_MAX;
}

/* The next one that can begin: whose target is not being scraped. */
static struct ask *take_ask(struct scraper *s)
{
	struct ask **at;
	struct ask *a = NULL;

	pthread_mutex_lock(&s->mu);
	for (at = &s->asked; *at && (*at)->target->running;)
		at = &(*at)->next;
	if (*at) {
		a = *at;
		*at = a->next;
		a->target->running = true;
	}
	pthread_mutex_unlock(&s->mu);
	return a;
}

/* Those that wait for their target are looked at again soon. */
static int64_t start_asked(struct scraper *s, int64_t wait)
{
	struct ask *a;
	bool more;

	while ((a = take_ask(s)))
		start(s, a->target, clock_ms(s->o.clock), a);
	pthread_mutex_lock(&s->mu);
	more = s->asked;
	pthread_mutex_unlock(&s->mu);
	return more && wait > ASK_MS ? ASK_MS : wait;
}

static void *loop_run(void *arg)
{
	struct scraper *s = arg;

	pthread_setname_np(pthread_self(), "scrape");
	while (!atomic_load(&s->stopping)) {
		int64_t wait;

		if (is_stale(s))
			heap_load(s);
		wait = start_asked(s, start_due(s));
		http_poll(s->client, wait < WAIT_MS_MAX ? wait : WAIT_MS_MAX);
	}
	return NULL;
}

/* Starting. */

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

static int64_t ingest_held(void *ctx)
{
	const struct scraper *s = ctx;

	return intake_held(s->intake);
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

/* From a worker, or from the loop itself. */
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
	pthread_mutex_init(&s->mu, NULL);
	pthread_mutex_init(&s->giant, NULL);
	register_metrics(s);
	rc = http_client_new(&s->client, err);
	if (rc) {
		scrape_free(s);
		return rc;
	}
	s->intake = intake_new(o->ingest_memory, (int64_t)o->max_profile,
			       on_room, s);
	http_client_set_intake(s->client, s->intake);
	register_gauges(s);
	for (unsigned i = 0; i < WORKERS; i++)
		s->unpackers[i] = unpacker_new(o->max_profile);
	for (unsigned i = 0; i < WORKERS; i++)
		unpacker_share(s->unpackers[i], &s->giant);
	s->workers = pool_start("scrape-worker", WORKERS, QUEUE_MAX);
	s->running = true;
	if (pthread_create(&s->loop, NULL, loop_run, s))
		abort(); /* as when memory is out */
	*out = s;
	return 0;
}

/* Jobs. */

static struct scrape_pool *find_pool(const struct scraper *s, struct str job)
{
	for (size_t i = 0; i < s->pool_count; i++) {
		if (str_is(job, s->pools[i]->job))
			return s->pools[i];
	}
	return NULL;
}

static void pool_drop(struct scrape_pool *p)
{
	target_set_unref(p->set);
	target_groups_list_fini(&p->discovered);
	http_config_unref(p->client);
	mem_free(p->job);
	mem_free(p);
}

/* Make the job's targets anew of what is known now. */
static struct target_set *make_set(struct scrape_pool *p)
{
	struct target_groups_list all = { 0 };
	struct target_set *set;

	if (p->config->statics)
		*vec_add(&all) = target_groups_ref(p->config->statics);
	target_groups_share(&all, &p->discovered);
	set = target_set_make(p->config, p->client, &all, p->set);
	target_groups_list_fini(&all);
	return set;
}

static void install(struct scraper *s, struct scrape_pool *p,
		    struct target_set *set)
{
	struct target_set *old = p->set;

	pthread_mutex_lock(&s->mu);
	p->set = set;
	s->generation++;
	pthread_mutex_unlock(&s->mu);
	target_set_unref(old);
}

/* Exchange the list of jobs; those that are in none of both go. */
static void install_pools(struct scraper *s, struct scrape_pool **pools,
			  size_t count)
{
	struct scrape_pool **old = s->pools;
	size_t old_count = s->pool_count;

	pthread_mutex_lock(&s->mu);
	s->pools = pools;
	s->pool_count = count;
	s->generation++;
	pthread_mutex_unlock(&s->mu);
	for (size_t i = 0; i < old_count; i++) {
		if (find_pool(s, str_of(old[i]->job)) != old[i])
			pool_drop(old[i]);
	}
	mem_free(old);
}

/* A client that stays the same keeps its tokens and connections. */
static void use_client(struct scrape_pool *p, const struct http_options *o)
{
	if (p->client && http_config_is(p->client, o))
		return;
	http_config_unref(p->client);
	p->client = http_config_new(o);
}

void scrape_apply(struct scraper *s, const struct scrape_configs *configs)
{
	struct scrape_pool **pools;

	pthread_mutex_lock(&s->making);
	pools = mem_zalloc(configs->count + 1, sizeof(struct scrape_pool *));
	for (size_t i = 0; i < configs->count; i++) {
		const struct scrape_config *c = &configs->v[i];
		struct scrape_pool *p = find_pool(s, c->job_name);

		if (!p) {
			p = mem_new(struct scrape_pool);
			p->job = mem_strndup(c->job_name);
		}
		p->config = c;
		use_client(p, &c->http);
		install(s, p, make_set(p));
		pools[i] = p;
	}
	install_pools(s, pools, configs->count);
	pthread_mutex_unlock(&s->making);
	http_wake(s->client);
}

void scrape_update(struct scraper *s, struct str job,
		   const struct target_groups_list *groups)
{
	struct scrape_pool *p;

	pthread_mutex_lock(&s->making);
	p = find_pool(s, job);
	if (p) {
		target_groups_list_fini(&p->discovered);
		target_groups_share(&p->discovered, groups);
		install(s, p, make_set(p));
	}
	pthread_mutex_unlock(&s->making);
	http_wake(s->client);
}

/* What never began. */
static void refuse_asked(struct scraper *s)
{
	struct ask *a;
	struct err err;

	err_set(&err, ERR_CLOSED, "everprof is stopping");
	while ((a = s->asked)) {
		s->asked = a->next;
		end_ask(s, a, ERR_CLOSED, &err, 0);
	}
}

void scrape_stop(struct scraper *s)
{
	if (!s || !s->running)
		return;
	atomic_store(&s->stopping, true);
	http_wake(s->client);
	pthread_join(s->loop, NULL);
	/* Ends what is in flight, each through answered(). */
	http_cancel(s->client, NULL);
	pool_stop(s->workers);
	refuse_asked(s);
	s->running = false;
}

void scrape_free(struct scraper *s)
{
	if (!s)
		return;
	scrape_stop(s);
	http_client_free(s->client);
	pool_free(s->workers);
	for (unsigned i = 0; i < WORKERS; i++)
		unpacker_free(s->unpackers[i]);
	heap_drop(s);
	for (size_t i = 0; i < s->pool_count; i++)
		pool_drop(s->pools[i]);
	mem_free(s->pools);
	pthread_mutex_destroy(&s->making);
	intake_free(s->intake);
	pthread_mutex_destroy(&s->mu);
	pthread_mutex_destroy(&s->giant);
	mem_free(s);
}

/* A job's name and its set, both the caller's. */
struct snapshot {
	char *job;
	struct target_set *set;
};

static struct snapshot *take_snapshot(struct scraper *s, size_t *count)
{
	struct snapshot *v;

	pthread_mutex_lock(&s->mu);
	*count = s->pool_count;
	v = mem_zalloc(*count + 1, sizeof(*v));
	for (size_t i = 0; i < *count; i++) {
		v[i].job = mem_strdup(s->pools[i]->job);
		v[i].set = target_set_ref(s->pools[i]->set);
	}
	pthread_mutex_unlock(&s->mu);
	return v;
}

static void free_snapshot(struct snapshot *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		mem_free(v[i].job);
		target_set_unref(v[i].set);
	}
	mem_free(v);
}

/* Wishes. */

/* The target that all matchers match; *count says how many there are. */
static struct target *find_target(struct scraper *s,
				  const struct scrape_wish *w, size_t *count)
{
	struct target *found = NULL;
	size_t jobs;
	struct snapshot *v = take_snapshot(s, &jobs);

	*count = 0;
	for (size_t i = 0; i < jobs; i++) {
		for (size_t k = 0; k < v[i].set->count; k++) {
			struct target *t = v[i].set->v[k].target;

			if (!t || !matchers_match(w->matchers, w->count,
						  t->spec.labels))
				continue;
			if (!(*count)++)
				found = target_ref(t);
		}
	}
	free_snapshot(v, jobs);
	return found;
}

/* Put it at the end of the list: an ask has a reference of the scraper's. */
static int submit(struct scraper *s, struct ask *a, struct err *err)
{
	struct ask **at;
	int rc = 0;

	pthread_mutex_lock(&s->mu);
	for (at = &s->asked; *at;)
		at = &(*at)->next;
	if (s->asking < ASKS_MAX && !atomic_load(&s->stopping)) {
		*at = ask_ref(a);
		s->asking++;
	} else {
		rc = err_set(err, ERR_LIMIT,
			     "%d profiles are being waited for: later",
			     ASKS_MAX);
	}
	pthread_mutex_unlock(&s->mu);
	return rc;
}

int scrape_now(struct scraper *s, const struct scrape_wish *w,
	       struct labels **labels, int64_t *ms, struct err *err)
{
	size_t count;
	struct target *t = find_target(s, w, &count);
	struct ask *a;
	int rc;

	if (count != 1) {
		target_unref(t);
		return err_set(
			err, count ? ERR_INVALID : ERR_NOTFOUND,
			count ? "%zu targets match: one must" :
				"%zu targets match: /api/v1/targets lists them",
			count);
	}
	a = ask_new(t, w->seconds);
	rc = submit(s, a, err);
	if (!rc) {
		http_wake(s->client);
		rc = ask_wait(a, w->deadline_ns, ms, err);
	}
	if (!rc)
		*labels = labels_ref(t->spec.labels);
	ask_unref(a);
	target_unref(t);
	return rc;
}

/* Status. */

static int by_name(const void *a, const void *b)
{
	return str_cmp(((const struct label *)a)->name,
		       ((const struct label *)b)->name);
}

/* The target's status; *error is the caller's. */
static void get_status(struct scraper *s, const struct target *t,
		       struct target_status *out, char **error)
{
	pthread_mutex_lock(&s->mu);
	out->health = t->health;
	out->last_ms = t->last_ms;
	out->last_duration_ns = t->last_duration_ns;
	out->last_bytes = t->last_bytes;
	out->next_ms = t->next_ms;
	*error = t->last_error ? mem_strdup(t->last_error) : NULL;
	pthread_mutex_unlock(&s->mu);
	out->last_error = t->refused ? t->refused : *error ? *error : "";
}

static void show_entry(struct scraper *s, const struct target_set *set,
		       const struct target_entry *e,
		       struct target_status *status,
		       void (*fn)(void *ctx, const struct target_status *t),
		       void *ctx)
{
	struct labels_builder b = { 0 };
	char *error = NULL;

	discovered_labels(&set->job, e->group, e->labels, e->type, &b);
	qsort(b.v, b.count, sizeof(*b.v), by_name);
	status->target = e->target;
	status->dropped = e->dropped;
	status->discovered = b.v;
	status->discovered_count = b.count;
	if (e->target)
		get_status(s, e->target, status, &error);
	fn(ctx, status);
	mem_free(error);
	labels_builder_fini(&b);
}

void scrape_targets(struct scraper *s,
		    void (*fn)(void *ctx, const struct target_status *t),
		    void *ctx)
{
	size_t count;
	struct snapshot *v = take_snapshot(s, &count);

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < v[i].set->count; k++) {
			struct target_status status = { .job = v[i].job,
							.last_error = "" };

			show_entry(s, v[i].set, &v[i].set->v[k], &status, fn,
				   ctx);
		}
	}
	free_snapshot(v, count);
}

void scrape_dropped(struct scraper *s,
		    void (*fn)(void *ctx, const char *job, size_t dropped),
		    void *ctx)
{
	size_t count;
	struct snapshot *v = take_snapshot(s, &count);

	for (size_t i = 0; i < count; i++)
		fn(ctx, v[i].job, v[i].set->dropped);
	free_snapshot(v, count);
}

const char *target_health_name(enum target_health h)
{
	static const char *const names[] = { "unknown", "up", "down" };

	return names[h];
}
