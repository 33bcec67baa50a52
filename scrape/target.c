/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/target.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/url.h"

static void add_param(struct buf *url, struct str name, struct str value)
{
	buf_byte(url, memchr(url->ptr, '?', url->len) ? '&' : '?');
	url_escape(name, url);
	buf_byte(url, '=');
	url_escape(value, url);
}

static char *make_url(const struct scrape_config *c,
		      const struct profile_config *p, struct str address)
{
	struct buf url = { 0 };
	char seconds[24];
	char *out;

	buf_printf(&url, "%.*s://%.*s%.*s%.*s", STR_ARG(c->scheme),
		   STR_ARG(address), STR_ARG(c->path_prefix), STR_ARG(p->path));
	for (size_t i = 0; i < c->param_count; i++)
		add_param(&url, c->params[i].name, c->params[i].value);
	if (p->seconds) {
		snprintf(seconds, sizeof(seconds), "%lld",
			 (long long)p->seconds);
		add_param(&url, str_of("seconds"), str_of(seconds));
	}
	out = mem_strdup(buf_cstr(&url));
	buf_fini(&url);
	return out;
}

static void set_labels(const struct scrape_config *c,
		       const struct static_group *g,
		       const struct profile_config *p, struct str address,
		       struct labels_builder *b)
{
	labels_set(b, str_of("job"), c->job_name);
	labels_set(b, str_of("instance"), address);
	for (size_t i = 0; i < g->label_count; i++)
		labels_set(b, g->labels[i].name, g->labels[i].value);
	labels_set(b, str_of(LABEL_NAME), p->name);
}

/* The labels that a series is stored with: no "__…" but the name. */
static int stored_labels(const struct labels *discovered, struct labels **out,
			 struct err *err)
{
	struct labels_iter it = labels_iter(discovered);
	struct labels_builder b = { 0 };
	struct label l;
	int rc;

	while (labels_next(&it, &l)) {
		if (!str_starts(l.name, str_of("__")) ||
		    str_is(l.name, LABEL_NAME))
			labels_set(&b, l.name, l.value);
	}
	rc = labels_build(&b, out, err);
	labels_builder_fini(&b);
	return rc;
}

int target_new(const struct scrape_config *c, const struct static_group *g,
	       const struct profile_config *p, struct str address,
	       struct target **out, struct err *err)
{
	struct target *t = mem_new(struct target);
	struct labels_builder b = { 0 };
	struct buf key = { 0 };
	int rc;

	pthread_mutex_init(&t->mu, NULL);
	t->url = make_url(c, p, address);
	t->job = mem_strndup(c->job_name);
	t->interval_ms = c->interval_ms;
	t->timeout_ms = c->timeout_ms + p->seconds * 1000;
	t->seconds = p->seconds;
	t->max_body = (size_t)c->body_size_limit;
	set_labels(c, g, p, address, &b);
	labels_set(&b, str_of("__address__"), address);
	labels_set(&b, str_of("__scheme__"), c->scheme);
	labels_set(&b, str_of("__profile_path__"), p->path);
	rc = labels_build(&b, &t->discovered, err);
	labels_builder_fini(&b);
	if (!rc)
		rc = stored_labels(t->discovered, &t->labels, err);
	if (rc) {
		target_free(t);
		return rc;
	}
	buf_add(&key, t->labels->data, t->labels->len);
	buf_str(&key, t->url);
	t->hash = hash64(buf_bytes(&key));
	buf_fini(&key);
	*out = t;
	return 0;
}

void target_free(struct target *t)
{
	if (!t)
		return;
	labels_unref(t->labels);
	labels_unref(t->discovered);
	pthread_mutex_destroy(&t->mu);
	mem_free(t->url);
	mem_free(t->job);
	mem_free(t);
}

int64_t target_next_due(uint64_t hash, int64_t interval_ms, int64_t now_ms)
{
	int64_t offset = (int64_t)(hash % (uint64_t)interval_ms);
	int64_t due = now_ms - now_ms % interval_ms + offset;

	return due > now_ms ? due : due + interval_ms;
}

int64_t target_sample_ms(int64_t due_ms, int64_t started_ms,
			 int64_t interval_ms)
{
	int64_t tolerance = interval_ms / 100 < 2 ? interval_ms / 100 : 2;
	int64_t late = started_ms - due_ms;

	return late >= -tolerance && late <= tolerance ? due_ms : started_ms;
}
