/* SPDX-License-Identifier: Apache-2.0 */
#include "web/guard/running.h"

#include <ctype.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/mutex.h"

struct running {
	struct mutex mu;
	struct running_query ring; /* anchor of the ring; not a query */
	size_t count;
	uint64_t last_id; /* the number that was used last as an identifier */
};

struct running *running_new(void)
{
	struct running *r = mem_new(struct running);

	mutex_init(&r->mu);
	r->ring.next = r->ring.prev = &r->ring;
	return r;
}

void running_free(struct running *r)
{
	if (!r)
		return;
	mutex_destroy(&r->mu);
	mem_free(r);
}

/* Whether a text can be an identifier. */
static bool is_id(struct str s)
{
	if (!s.len || s.len >= RUNNING_ID_SIZE)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c >= 0x80 || (!isalnum(c) && c != '-' && c != '_'))
			return false;
	}
	return true;
}

void running_add(struct running *r, struct running_query *q, struct str id)
{
	mutex_lock(&r->mu);
	if (is_id(id))
		snprintf(q->id, sizeof(q->id), "%.*s", STR_ARG(id));
	else
		snprintf(q->id, sizeof(q->id), "%" PRIu64, ++r->last_id);
	q->listed = true;
	q->prev = r->ring.prev;
	q->next = &r->ring;
	q->prev->next = q;
	r->ring.prev = q;
	r->count++;
	mutex_unlock(&r->mu);
}

void running_remove(struct running *r, struct running_query *q)
{
	/* Not q->next: the neighbours in the list change it. */
	if (!q->listed)
		return;
	q->listed = false;
	mutex_lock(&r->mu);
	q->prev->next = q->next;
	q->next->prev = q->prev;
	q->next = NULL;
	r->count--;
	mutex_unlock(&r->mu);
}

/* POLLRDHUP means that the client has closed its sending side. */
bool running_has_left(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0 &&
	       (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

size_t running_sweep(struct running *r)
{
	size_t cancelled = 0;

	mutex_lock(&r->mu);
	for (struct running_query *q = r->ring.next; q != &r->ring;
	     q = q->next) {
		if (atomic_load(&q->progress.cancelled) ||
		    !running_has_left(q->fd))
			continue;
		atomic_store(&q->progress.cancelled, true);
		cancelled++;
	}
	mutex_unlock(&r->mu);
	return cancelled;
}

/* Write one query. */
static void write_query(const struct running_query *q, struct json *j)
{
	json_begin(j, '{');
	json_key(j, "id");
	json_text(j, q->id);
	json_key(j, "path");
	json_str(j, q->path);
	json_key(j, "query");
	json_str(j, q->query);
	json_key(j, "user");
	json_str(j, q->user);
	json_key(j, "started");
	json_int(j, q->started_ms);
	json_key(j, "done");
	json_int(j, atomic_load(&q->progress.done));
	json_key(j, "profiles");
	json_int(j, atomic_load(&q->progress.profiles));
	json_key(j, "bytes");
	json_int(j, atomic_load(&q->progress.bytes));
	json_end(j, '}');
}

void running_json(struct running *r, struct json *j)
{
	mutex_lock(&r->mu);
	json_begin(j, '[');
	for (struct running_query *q = r->ring.next; q != &r->ring; q = q->next)
		write_query(q, j);
	json_end(j, ']');
	mutex_unlock(&r->mu);
}
