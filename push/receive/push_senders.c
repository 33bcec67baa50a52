/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/push_senders.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/mutex.h"

/* A list of at most `max` rows. */
struct sender_rows {
	struct push_sender *v;
	size_t count;
	size_t cap;
	size_t max;
};

struct push_senders {
	struct mutex mu;
	/* Guarded by mu. */
	struct sender_rows known;
	struct sender_rows strangers;
};

struct push_senders *push_senders_new(void)
{
	struct push_senders *s = mem_new(struct push_senders);

	mutex_init(&s->mu);
	s->known.max = SENDERS_MAX;
	s->strangers.max = STRANGERS_MAX;
	return s;
}

void push_senders_free(struct push_senders *s)
{
	if (!s)
		return;
	mem_free(s->known.v);
	mem_free(s->strangers.v);
	mutex_destroy(&s->mu);
	mem_free(s);
}

/* Return what of a text a member of a row has: up to its size, or to a NUL. */
static struct str push_senders_text(struct str text)
{
	struct str cut = str_clip(text, SENDER_TEXT_MAX - 1);
	const char *end = cut.len ? memchr(cut.ptr, 0, cut.len) : NULL;

	if (end)
		cut.len = (size_t)(end - cut.ptr);
	return cut;
}

/* Copy a text into a member of a row. */
static void push_senders_copy(char *out, struct str text)
{
	snprintf(out, SENDER_TEXT_MAX, "%.*s",
		 STR_ARG(push_senders_text(text)));
}

/* Whether a member of a row is this text. */
static bool push_senders_is(const char *member, struct str text)
{
	return str_eq(str_of(member), push_senders_text(text));
}

/* Find the row of a sender, or make one. */
static struct push_sender *push_senders_row(struct sender_rows *rows,
					    const struct push_sender_key *k,
					    int64_t now_ms)
{
	struct push_sender *oldest;
	size_t at = 0; /* of the oldest row */

	for (size_t i = 0; i < rows->count; i++) {
		struct push_sender *row = &rows->v[i];

		if (row->protocol == k->protocol &&
		    push_senders_is(row->service, k->service) &&
		    push_senders_is(row->agent, k->agent) &&
		    push_senders_is(row->user, k->user))
			return row;
		if (row->last_ms < rows->v[at].last_ms)
			at = i;
	}
	if (rows->count < rows->max) {
		rows->v = mem_grow(rows->v, rows->count, &rows->cap,
				   sizeof(*rows->v));
		at = rows->count++;
	}
	oldest = &rows->v[at];
	*oldest = (struct push_sender){ .protocol = k->protocol,
					.first_ms = now_ms };
	push_senders_copy(oldest->service, k->service);
	push_senders_copy(oldest->agent, k->agent);
	push_senders_copy(oldest->user, k->user);
	return oldest;
}

/* Count an outcome in a row. */
static void push_senders_count(struct sender_rows *rows,
			       const struct push_sender_key *k,
			       enum push_outcome outcome, const char *why,
			       int64_t now_ms)
{
	struct push_sender *row = push_senders_row(rows, k, now_ms);

	row->counts[outcome]++;
	row->last_ms = now_ms;
	push_senders_copy(row->address, k->address);
	if (!why)
		return;
	row->why_ms = now_ms;
	snprintf(row->why, sizeof(row->why), "%.*s",
		 STR_ARG(str_clip(str_of(why), sizeof(row->why) - 1)));
}

void push_senders_note(struct push_senders *s, const struct push_sender_key *k,
		       enum push_outcome outcome, const char *why,
		       int64_t now_ms)
{
	mutex_lock(&s->mu);
	push_senders_count(&s->known, k, outcome, why, now_ms);
	mutex_unlock(&s->mu);
}

void push_senders_note_stranger(struct push_senders *s,
				const struct push_sender_key *k,
				const char *why, int64_t now_ms)
{
	mutex_lock(&s->mu);
	push_senders_count(&s->strangers, k, PUSH_REFUSED, why, now_ms);
	mutex_unlock(&s->mu);
}

/* Order rows by the time of the last profile, the latest first. */
static int push_senders_cmp(const void *a, const void *b)
{
	const struct push_sender *x = a;
	const struct push_sender *y = b;

	return (x->last_ms < y->last_ms) - (x->last_ms > y->last_ms);
}

void push_senders_each(struct push_senders *s,
		       void (*fn)(void *arg, const struct push_sender *row),
		       void *arg)
{
	struct push_sender *all;
	size_t n;

	/* fn() may be slow, so it gets a copy. */
	mutex_lock(&s->mu);
	n = s->known.count + s->strangers.count;
	all = mem_zalloc(n + 1, sizeof(*all));
	for (size_t i = 0; i < n; i++)
		all[i] = i < s->known.count ?
				 s->known.v[i] :
				 s->strangers.v[i - s->known.count];
	mutex_unlock(&s->mu);
	qsort(all, n, sizeof(*all), push_senders_cmp);
	for (size_t i = 0; i < n; i++)
		fn(arg, &all[i]);
	mem_free(all);
}
