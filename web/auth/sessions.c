/* SPDX-License-Identifier: Apache-2.0 */
#include "web/auth/sessions.h"

#include <stdio.h>

#include "base/mem.h"
#include "web/auth/auth_password.h"

static bool session_has_ended(const struct session *x, int64_t now_s)
{
	return now_s - x->used_s > SESSION_IDLE_SECONDS ||
	       now_s - x->began_s > SESSION_AGE_SECONDS;
}

/* Remove all sessions that have ended. */
static void sessions_sweep(struct sessions *s, int64_t now_s)
{
	for (size_t i = s->count; i > 0; i--) {
		if (session_has_ended(&s->v[i - 1], now_s))
			sessions_remove(s, &s->v[i - 1]);
	}
}

/*
 * Make room for a session like `x`. Among `max` sessions, or among the sessions
 * of the same user or token if `own` is set, the one that was idle longest ends.
 */
static void sessions_make_room(struct sessions *s, const struct session *x,
			       bool own, size_t max)
{
	struct session *idle = NULL;
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct session *y = &s->v[i];

		if (own && (y->is_token != x->is_token ||
			    strcmp(y->name, x->name) != 0))
			continue;
		count++;
		if (!idle || y->used_s < idle->used_s)
			idle = y;
	}
	if (count >= max)
		sessions_remove(s, idle);
}

struct session *sessions_add(struct sessions *s, const char *name,
			     bool is_token, int64_t now_s)
{
	struct session added = { .is_token = is_token,
				 .began_s = now_s,
				 .used_s = now_s };

	if (!s->v)
		s->v = mem_zalloc(SESSIONS_MAX, sizeof(*s->v));
	(void)snprintf(added.name, sizeof(added.name), "%s", name);
	sessions_sweep(s, now_s);
	sessions_make_room(s, &added, true, SESSIONS_MAX_EACH);
	sessions_make_room(s, &added, false, SESSIONS_MAX);
	s->v[s->count] = added;
	return &s->v[s->count++];
}

struct session *sessions_find(struct sessions *s, const char *text,
			      int64_t now_s)
{
	struct session *found = NULL;
	uint8_t digest[DIGEST_SHA256_SIZE];

	digest_sha256(bytes_of(str_of(text)), digest);
	for (size_t i = 0; i < s->count; i++) {
		if (auth_is_same(s->v[i].digest, digest, sizeof(digest)))
			found = &s->v[i];
	}
	if (!found || session_has_ended(found, now_s))
		return NULL;
	found->used_s = now_s;
	return found;
}

void sessions_remove(struct sessions *s, struct session *x)
{
	*x = s->v[--s->count];
	explicit_bzero(&s->v[s->count], sizeof(*s->v));
}

void sessions_fini(struct sessions *s)
{
	mem_free(s->v);
	*s = (struct sessions){ 0 };
}
