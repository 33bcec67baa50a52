/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/manager.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/ingest_limiter.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "discovery/core/entry.h"

#define WAIT_MS_MAX 10000 /* maximum wait of the loop in ms */

/* memory budget of all answers that are being received, in bytes */
#define ANSWERS_BYTES (256 * MIB)
/* the largest answer that a kind allows, in bytes */
#define ANSWER_MAX (16 * MIB)

/* A job of the configuration. */
struct job {
	char *name;
	VEC(struct provider *) providers;
	/*
	 * whether the job must be reported even if none of its providers has
	 * changed
	 */
	bool untold;
};

/* A discovery manager. */
struct discovery {
	struct discovery_options o;
	struct http_client *client;
	/* accounts for the memory of answers that are being received */
	struct ingest_limiter *limiter;
	pthread_t loop;
	bool running;
	_Atomic bool stopping;

	/*
	 * Guards the members below. The loop releases the mutex only while
	 * waiting for events.
	 */
	struct mutex mu;
	struct job **jobs;
	size_t job_count;
	VEC(struct provider *) providers;
};

/* Return how many targets a provider has found. */
static size_t count_targets(const struct provider *p)
{
	size_t targets = 0;

	for (size_t i = 0; i < p->found.count; i++)
		targets += p->found.v[i]->targets;
	return targets;
}

/* Set the gauge of discovered targets. */
static void update_metrics(struct discovery *d)
{
	size_t targets = 0;

	for (size_t i = 0; i < d->providers.count; i++)
		targets += count_targets(d->providers.v[i]);
	metric_set(
		metrics_gauge(
			d->o.metrics, "everprof_discovery_targets",
			"Targets found by service discovery, before relabelling.",
			NULL),
		(int64_t)targets);
}

/*
 * The functions below are the loop, which refreshes discoveries and reports
 * jobs.
 */

/*
 * Return whether each discovery of a job has reported a result (perhaps
 * without targets) or a failure. Until then, the targets of the job are
 * incomplete.
 */
static bool is_told_of(const struct job *j)
{
	for (size_t i = 0; i < j->providers.count; i++) {
		if (!j->providers.v[i]->asked)
			return false;
	}
	return true;
}

/* Return whether a job has to be reported. */
static bool has_news(const struct job *j)
{
	for (size_t i = 0; i < j->providers.count; i++) {
		if (j->providers.v[i]->changed)
			return true;
	}
	return j->untold;
}

/* Report a job: pass the groups of all of its discoveries to update(). */
static void manager_tell(struct discovery *d, struct job *j)
{
	struct target_groups_list all = { 0 };

	for (size_t i = 0; i < j->providers.count; i++)
		target_groups_share(&all, &j->providers.v[i]->found);
	d->o.update(d->o.ctx, str_of(j->name), &all);
	target_groups_list_fini(&all);
	j->untold = false;
}

/*
 * Report the jobs that have news. If a provider of such a job has reported
 * neither a result nor a failure yet, the job is only marked as untold. Without
 * this mark, no later call would know of the news, because the `changed` marks
 * of the providers are cleared below.
 */
static void tell_news(struct discovery *d)
{
	bool news = false;

	for (size_t i = 0; i < d->job_count; i++) {
		struct job *j = d->jobs[i];

		if (!has_news(j))
			continue;
		if (is_told_of(j))
			manager_tell(d, j);
		else
			j->untold = true;
		news = true;
	}
	for (size_t i = 0; i < d->providers.count; i++)
		d->providers.v[i]->changed = false;
	if (news)
		update_metrics(d);
}

static int64_t pick_earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/*
 * Refresh the providers that are due, and call kind->call() for the providers
 * whose call_ns has come. Returns the milliseconds until the next refresh or
 * call is due, at most WAIT_MS_MAX.
 */
static int64_t refresh_due(struct discovery *d)
{
	int64_t now = clock_mono_ns();
	int64_t wait = WAIT_MS_MAX;

	for (size_t i = 0; i < d->providers.count; i++) {
		struct provider *p = d->providers.v[i];
		int64_t left;

		/*
		 * Set due_ns before the call, because refresh() may set an
		 * earlier time.
		 */
		if (p->due_ns <= now) {
			p->due_ns = now + p->config->refresh_ms * 1000000;
			if (!p->begun_ns)
				p->begun_ns = clock_mono_ns();
			p->kind->refresh(p);
		}
		if (p->call_ns <= now) {
			p->call_ns = INT64_MAX;
			p->kind->call(p);
		}
		left = (pick_earlier(p->due_ns, p->call_ns) - now) / 1000000 +
		       1;
		wait = left < wait ? left : wait;
	}
	return wait;
}

/*
 * The manager's thread. The mutex is not held during http_wait(), so that
 * discovery_apply() does not have to wait until a source answers.
 */
static void *loop_run(void *arg)
{
	struct discovery *d = arg;
	int64_t wait;

	mutex_lock(&d->mu);
	while (!atomic_load(&d->stopping)) {
		wait = http_next_ms(d->client, refresh_due(d));
		tell_news(d);
		mutex_unlock(&d->mu);
		http_wait(d->client, wait);
		mutex_lock(&d->mu);
		http_poll(d->client, 0);
		tell_news(d);
	}
	mutex_unlock(&d->mu);
	return NULL;
}

/* The functions below apply a configuration: they make jobs and providers. */

/* Close and free a provider. */
static void provider_drop(struct provider *p)
{
	p->kind->close(p);
	target_groups_list_fini(&p->found);
	discovery_entry_free(p->owned);
	mem_free(p);
}

/*
 * Return the provider of an entry and mark the provider as used; make a
 * provider if none has the key of the entry. A new provider has due_ns 0 and is
 * refreshed at once.
 */
static struct provider *take_provider(struct discovery *d,
				      const struct discovery_config *c)
{
	struct provider *p;

	for (size_t i = 0; i < d->providers.count; i++) {
		p = d->providers.v[i];
		if (str_eq(c->key, p->config->key)) {
			/* A reload may have moved the entry. */
			if (!p->used)
				p->line = c->entry->line;
			p->used = true;
			return p;
		}
	}
	p = mem_new(struct provider);
	p->kind = c->kind;
	p->call_ns = INT64_MAX;
	p->line = c->entry->line;
	p->owned = discovery_entry_copy(c);
	p->config = p->owned->config;
	p->client = d->client;
	p->user_agent = d->o.user_agent;
	p->log = d->o.log;
	p->failures = metrics_counter(
		d->o.metrics, "everprof_discovery_failures_total",
		"Service discovery refreshes that failed.",
		&(struct metric_labels){ { "discovery" }, { p->kind->name } });
	p->used = true;
	p->data = p->kind->open(p);
	*vec_add(&d->providers) = p;
	return p;
}

/* Return the job with this name, or NULL. */
static struct job *manager_find_job(struct job *const *jobs, size_t count,
				    struct str name)
{
	for (size_t i = 0; i < count; i++) {
		if (str_is(name, jobs[i]->name))
			return jobs[i];
	}
	return NULL;
}

/* Free a job, but not its providers, which belong to the manager. */
static void job_drop(struct job *j)
{
	vec_fini(&j->providers);
	mem_free(j->name);
	mem_free(j);
}

/* Make a job from its configuration. */
static struct job *make_job(struct discovery *d, const struct discovery_job *c)
{
	const struct job *old =
		manager_find_job(d->jobs, d->job_count, c->name);
	struct job *j = mem_new(struct job);

	j->name = mem_strndup(c->name);
	for (size_t i = 0; i < c->configs->count; i++)
		*vec_add(&j->providers) = take_provider(d, c->configs->v[i]);
	/*
	 * A job with discoveries is reported after each change of the
	 * configuration. A job whose discoveries were removed is reported one
	 * last time, without target groups, so that its discovered targets are
	 * dropped. A job that never had discoveries is not reported.
	 */
	j->untold = j->providers.count ||
		    (old && (old->providers.count || old->untold));
	return j;
}

/* Drop the providers that no job uses any more. */
static void drop_unused(struct discovery *d)
{
	for (size_t i = d->providers.count; i-- > 0;) {
		struct provider *p = d->providers.v[i];

		if (p->used)
			continue;
		d->providers.v[i] = d->providers.v[--d->providers.count];
		provider_drop(p);
	}
}

/* Free all jobs. */
static void drop_jobs(struct discovery *d)
{
	for (size_t i = 0; i < d->job_count; i++)
		job_drop(d->jobs[i]);
	mem_free(d->jobs);
}

void discovery_apply(struct discovery *d, const struct discovery_job *jobs,
		     size_t count)
{
	struct job **made;

	mutex_lock(&d->mu);
	for (size_t i = 0; i < d->providers.count; i++)
		d->providers.v[i]->used = false;
	/*
	 * Drop the old jobs only after all new jobs are made, because
	 * make_job() looks at the old ones.
	 */
	made = mem_zalloc(count + 1, sizeof(struct job *));
	for (size_t i = 0; i < count; i++)
		made[i] = make_job(d, &jobs[i]);
	drop_jobs(d);
	d->jobs = made;
	d->job_count = count;
	drop_unused(d);
	update_metrics(d);
	mutex_unlock(&d->mu);
	/* New providers are due at once, but the loop may be waiting longer. */
	http_wake(d->client);
}

/* Call fn() with the state of `p`, the provider of an entry of the job `j`. */
static void visit_provider(const struct job *j, const struct provider *p,
			   void (*fn)(void *ctx,
				      const struct discovery_status *s),
			   void *ctx)
{
	struct discovery_status s = { .job = str_of(j->name),
				      .name = p->kind->name,
				      .line = p->line,
				      .targets = count_targets(p),
				      .is_waiting = !p->asked };

	if (*p->failure.source) {
		s.source = p->failure.source;
		s.error = p->failure.err.msg;
		s.failed_ms = p->failure.at_ms;
	}
	fn(ctx, &s);
}

void discovery_visit(struct discovery *d,
		     void (*fn)(void *ctx, const struct discovery_status *s),
		     void *ctx)
{
	mutex_lock(&d->mu);
	for (size_t i = 0; i < d->job_count; i++) {
		const struct job *j = d->jobs[i];

		for (size_t k = 0; k < j->providers.count; k++)
			visit_provider(j, j->providers.v[k], fn, ctx);
	}
	mutex_unlock(&d->mu);
}

/*
 * Called by the limiter when an answer has returned memory: let the requests
 * that wait for memory go on.
 */
static void on_manager_room(void *ctx)
{
	struct discovery *d = ctx;

	http_room(d->client);
}

int discovery_start(const struct discovery_options *o, struct discovery **out,
		    struct err *err)
{
	struct discovery *d = mem_new(struct discovery);
	int rc;

	d->o = *o;
	mutex_init(&d->mu);
	rc = http_client_new(&d->client, err);
	if (rc) {
		discovery_free(d);
		return rc;
	}
	d->limiter = ingest_limiter_new(ANSWERS_BYTES, ANSWER_MAX);
	ingest_limiter_set_room(d->limiter, on_manager_room, d);
	http_client_set_limiter(d->client, d->limiter,
				"the memory for answers to service discovery");
	http_client_refuse(d->client, o->refused);
	d->running = true;
	d->loop = thread_start("discovery", loop_run, d);
	*out = d;
	return 0;
}

void discovery_stop(struct discovery *d)
{
	if (!d || !d->running)
		return;
	atomic_store(&d->stopping, true);
	http_wake(d->client);
	pthread_join(d->loop, NULL);
	d->running = false;
}

void discovery_free(struct discovery *d)
{
	if (!d)
		return;
	discovery_stop(d);
	for (size_t i = 0; i < d->providers.count; i++)
		provider_drop(d->providers.v[i]);
	vec_fini(&d->providers);
	drop_jobs(d);
	http_client_free(d->client);
	ingest_limiter_free(d->limiter);
	mutex_destroy(&d->mu);
	mem_free(d);
}
