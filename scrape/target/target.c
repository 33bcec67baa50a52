/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets and their specs: identity, reference counts, and the pure functions
 * of their schedule.
 */
#include "scrape/target/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "client/address/endpoint.h"

void target_spec_fini(struct target_spec *s)
{
	labels_unref(s->labels);
	mem_free(s->url);
	http_config_unref(s->client);
	*s = (struct target_spec){ 0 };
}

/*
 * Only labels and URL are hashed, because the offset of the target within its
 * interval must not move when the interval or the timeout changes.
 */
uint64_t target_spec_hash(const struct target_spec *s)
{
	struct buf key = { 0 };
	uint64_t hash;

	buf_add(&key, s->labels->data, s->labels->len);
	buf_str(&key, s->url);
	hash = hash_bytes(buf_bytes(&key));
	buf_fini(&key);
	return hash;
}

/*
 * Every member that a scrape depends on counts: a target is reused only if
 * nothing about its scrapes changes.
 */
bool target_spec_eq(const struct target_spec *a, const struct target_spec *b)
{
	return a->interval_ms == b->interval_ms &&
	       a->timeout_ms == b->timeout_ms && a->seconds == b->seconds &&
	       a->max_body == b->max_body && a->client == b->client &&
	       a->is_index == b->is_index && !strcmp(a->url, b->url) &&
	       bytes_eq(labels_bytes(a->labels), labels_bytes(b->labels));
}

bool target_spec_has_secret(const struct target_spec *s)
{
	const char *query = strchr(s->url, '?');
	char own[64];

	(void)snprintf(own, sizeof(own), "?" TARGET_SECONDS "=%" PRId64,
		       s->seconds);
	return query && (!s->seconds || strcmp(query, own) != 0);
}

char *target_url_shown(const struct target_spec *s)
{
	const char *query = strchr(s->url, '?');
	CLEANUP(mem_freep) char *bare = NULL;
	CLEANUP(mem_freep) char *shown = NULL;

	if (!query || target_spec_has_secret(s))
		return endpoint_url_shown(s->url);
	bare = mem_printf("%.*s", (int)(query - s->url), s->url);
	shown = endpoint_url_shown(bare);
	return mem_printf("%s%s", shown, query);
}

struct target *target_new(struct target_spec *s)
{
	struct target *t = mem_new(struct target);

	atomic_init(&t->refs, 1);
	t->spec = *s;
	*s = (struct target_spec){ 0 };
	t->hash = target_spec_hash(&t->spec);
	return t;
}

struct target *target_ref(struct target *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

void target_unref(struct target *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	target_spec_fini(&t->spec);
	profile_list_unref(t->found);
	mem_free(t->refused);
	mem_free(t->last_error);
	mem_free(t);
}

/*
 * If the target's offset in the current interval has passed or is exactly now,
 * the target is due in the next interval.
 */
int64_t target_next_due(uint64_t hash, int64_t interval_ms, int64_t now_ms)
{
	int64_t offset = (int64_t)(hash % (uint64_t)interval_ms);
	int64_t due = now_ms - now_ms % interval_ms + offset;

	return due > now_ms ? due : due + interval_ms;
}

/*
 * The timestamp is the due time if the scrape started close to it, as in
 * Prometheus.
 */
int64_t target_sample_ms(int64_t due_ms, int64_t started_ms,
			 int64_t interval_ms)
{
	int64_t tolerance = interval_ms / 100 < 2 ? interval_ms / 100 : 2;
	int64_t late = started_ms - due_ms;

	return late >= -tolerance && late <= tolerance ? due_ms : started_ms;
}
