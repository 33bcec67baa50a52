/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs and their targets: applying a configuration, taking in discovered target
 * groups, and listing the status. Target sets are built under update_mu,
 * because that may take long, and exchanged under mu (docs/decisions.md, 57).
 */
#include "scrape/run/target_pools.h"

#include "base/mutex.h"
#include "scrape/run/scraper.h"

#include <stdlib.h>

#include "base/mem.h"

/* The pool of a job, or NULL. The caller holds update_mu. */
static struct scrape_pool *find_pool(const struct scraper *s, struct str job)
{
	for (size_t i = 0; i < s->pool_count; i++) {
		if (str_is(job, s->pools[i]->job))
			return s->pools[i];
	}
	return NULL;
}

/* Free a pool that is in no list any more. */
static void pool_drop(struct scrape_pool *p)
{
	target_set_unref(p->set);
	target_groups_list_fini(&p->discovered);
	http_config_unref(p->client);
	mem_free(p->job);
	mem_free(p);
}

/*
 * Make the target set of a job from its static and discovered groups. The
 * caller owns the set.
 */
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

/*
 * Log when a limit forbids scraping the targets of a job, and when it no longer
 * does. `before` is the reason for which scraping was forbidden until now, or
 * NULL.
 */
static void tell_refusal(struct scraper *s, const struct scrape_pool *p,
			 const char *before)
{
	const char *why = p->set->refused;

	if (why && (!before || strcmp(before, why) != 0))
		log_event(
			s->o.log, LOG_WARN,
			"job exceeds a limit; none of its targets are scraped",
			LOG_FIELDS(log_text("job", p->job),
				   log_text("err", why)));
	else if (before && !why)
		log_event(
			s->o.log, LOG_INFO,
			"job is within its limits again; its targets are scraped",
			LOG_FIELDS(log_text("job", p->job)));
}

/*
 * Build a new target set for a job, which replaces the old one; the caller
 * holds update_mu.
 */
static void target_pools_renew(struct scraper *s, struct scrape_pool *p)
{
	struct target_set *old = p->set;
	struct target_set *set = make_set(p);

	mutex_lock(&s->mu);
	p->set = set;
	s->generation++;
	mutex_unlock(&s->mu);
	tell_refusal(s, p, old ? old->refused : NULL);
	target_set_unref(old);
}

/*
 * Replace the list of jobs, then free the pools that are not in the new list.
 */
static void install_pools(struct scraper *s, struct scrape_pool **pools,
			  size_t count)
{
	struct scrape_pool **old = s->pools;
	size_t old_count = s->pool_count;

	mutex_lock(&s->mu);
	s->pools = pools;
	s->pool_count = count;
	s->generation++;
	mutex_unlock(&s->mu);
	for (size_t i = 0; i < old_count; i++) {
		if (find_pool(s, str_of(old[i]->job)) != old[i])
			pool_drop(old[i]);
	}
	mem_free(old);
}

/*
 * Set the HTTP client of a job. If the HTTP options have not changed, the job
 * keeps its client, with its tokens and connections.
 */
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

	mutex_lock(&s->update_mu);
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
		target_pools_renew(s, p);
		pools[i] = p;
	}
	install_pools(s, pools, configs->count);
	mutex_unlock(&s->update_mu);
	http_wake(s->client);
}

void scrape_update(struct scraper *s, struct str job,
		   const struct target_groups_list *groups)
{
	struct scrape_pool *p;

	mutex_lock(&s->update_mu);
	p = find_pool(s, job);
	if (p) {
		target_groups_list_fini(&p->discovered);
		target_groups_share(&p->discovered, groups);
		target_pools_renew(s, p);
	}
	mutex_unlock(&s->update_mu);
	http_wake(s->client);
}

void target_pools_regroup(struct scraper *s)
{
	for (size_t i = 0; i < s->pool_count; i++) {
		struct scrape_pool *p = s->pools[i];

		if (p->config->auto_profiles)
			target_pools_renew(s, p);
	}
}

void target_pools_free(struct scraper *s)
{
	for (size_t i = 0; i < s->pool_count; i++)
		pool_drop(s->pools[i]);
	mem_free(s->pools);
}

/* The functions below list targets, for the API and for metrics. */

struct snapshot *snapshot_take(struct scraper *s, size_t *count)
{
	struct snapshot *v;

	mutex_lock(&s->mu);
	*count = s->pool_count;
	v = mem_zalloc(*count + 1, sizeof(*v));
	for (size_t i = 0; i < *count; i++) {
		v[i].job = mem_strdup(s->pools[i]->job);
		v[i].set = target_set_ref(s->pools[i]->set);
	}
	mutex_unlock(&s->mu);
	return v;
}

void snapshot_free(struct snapshot *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		mem_free(v[i].job);
		target_set_unref(v[i].set);
	}
	mem_free(v);
}

/*
 * Fill in the health of a target. *error is a copy of the last error, and
 * out->last_error points to this copy. The caller frees *error when
 * out->last_error is no longer needed.
 */
static void get_status(struct scraper *s, const struct target *t,
		       struct target_status *out, char **error)
{
	mutex_lock(&s->mu);
	out->health = t->health;
	out->last_ms = t->last_ms;
	out->last_duration_ns = t->last_duration_ns;
	out->last_bytes = t->last_bytes;
	out->next_ms = t->next_ms;
	*error = t->last_error ? mem_strdup(t->last_error) : NULL;
	mutex_unlock(&s->mu);
	out->last_error = t->refused ? t->refused : *error ? *error : "";
}

/*
 * Set *status to the state of one entry of a target set; it borrows from *b and
 * *error, which the caller frees. Discovered labels are not stored but made
 * again here (docs/decisions.md, 58).
 */
static void describe_entry(struct scraper *s, const struct target_set *set,
			   const struct target_entry *e,
			   struct target_status *status,
			   struct labels_builder *b, char **error)
{
	discovered_labels(&set->job, e->group, e->labels, e->type, b);
	discovered_hide_secrets(b);
	qsort(b->v, b->count, sizeof(*b->v), label_by_name);
	status->target = e->target;
	status->dropped = e->dropped;
	status->discovered = b->v;
	status->discovered_count = b->count;
	if (e->target)
		get_status(s, e->target, status, error);
}

int scrape_targets(struct scraper *s, bool dropped,
		   int (*fn)(void *ctx, const struct target_status *t,
			     struct err *err),
		   void *ctx, struct err *err)
{
	size_t count;
	struct snapshot *v = snapshot_take(s, &count);
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		for (size_t k = 0; k < v[i].set->count && !rc; k++) {
			const struct target_entry *e = &v[i].set->v[k];
			struct target_status status = { .job = v[i].job,
							.last_error = "" };
			struct labels_builder b = { 0 };
			char *error = NULL;

			if (dropped != !e->target)
				continue;
			describe_entry(s, v[i].set, e, &status, &b, &error);
			rc = fn(ctx, &status, err);
			mem_free(error);
			labels_builder_fini(&b);
		}
	}
	snapshot_free(v, count);
	return rc;
}

void scrape_dropped(struct scraper *s,
		    void (*fn)(void *ctx, const char *job, size_t dropped),
		    void *ctx)
{
	size_t count;
	struct snapshot *v = snapshot_take(s, &count);

	for (size_t i = 0; i < count; i++)
		fn(ctx, v[i].job, v[i].set->dropped);
	snapshot_free(v, count);
}

const char *target_health_name(enum target_health h)
{
	static const char *const names[] = { "unknown", "up", "down" };

	return names[h];
}
