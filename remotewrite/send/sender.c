/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/sender.h"

#include <stdio.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/vec.h"
#include "remotewrite/send/cursor.h"
#include "remotewrite/send/queue.h"

/* A queue, and the configuration that it was started with. */
struct member {
	struct queue *q;
	char *name;
	char *key; /* the configuration and the external labels as text */
};

struct sender {
	struct sender_options o;
	/*
	 * held during sender_apply(); sender_each() takes only `mu`, so it does
	 * not wait for sender_apply() to end
	 */
	struct mutex apply_mu;
	/* queue_options.from_begin for the queues that sender_apply() adds */
	bool from_begin;
	struct mutex mu; /* guards the members below */
	VEC(struct member) queues;
	bool applying;  /* the list is being changed; queues may be missing */
	size_t missing; /* configured queues that could not be started */
	uint64_t kept;  /* the position in the last call of sample_log.keep() */
};

struct sender *sender_new(const struct sender_options *o)
{
	struct sender *s = mem_new(struct sender);

	s->o = *o;
	mutex_init(&s->apply_mu);
	mutex_init(&s->mu);
	return s;
}

/*
 * Whether the list has all queues that need samples of the log, so that the log
 * may drop the samples that no queue of the list needs. If a queue could not be
 * started, its position is not known, so the log must keep everything. An agent
 * (o.from_begin) without receivers keeps its profiles until a receiver is
 * configured; a server has the profiles in its database.
 */
static bool knows_all_queues(const struct sender *s) REQUIRES(s->mu)
{
	return !s->applying && !s->missing &&
	       (s->queues.count || !s->o.from_begin);
}

/*
 * Tell the log which samples the slowest queue still needs, if
 * knows_all_queues(). `ctx` is the sender. Called by the reader thread of a
 * queue when the result of queue_synced() may have changed, and after a change
 * of the queues.
 */
static void keep_log(void *ctx)
{
	struct sender *s = ctx;
	uint64_t least = UINT64_MAX;

	mutex_lock(&s->mu);
	for (size_t i = 0; i < s->queues.count; i++) {
		uint64_t position = queue_synced(s->queues.v[i].q);

		least = position < least ? position : least;
	}
	if (knows_all_queues(s) && least != s->kept) {
		s->kept = least;
		s->o.log->keep(s->o.log, least);
	}
	mutex_unlock(&s->mu);
}

/*
 * Return the configuration of a queue and the external labels as one text; the
 * caller frees it.
 */
static char *key_of(const struct remote_write_config *c,
		    const struct label *external, size_t count)
{
	struct buf b = { 0 };
	char *key;

	buf_add(&b, c->key.ptr, c->key.len);
	for (size_t i = 0; i < count; i++)
		buf_printf(&b, "%zu:%.*s%zu:%.*s", external[i].name.len,
			   STR_ARG(external[i].name), external[i].value.len,
			   STR_ARG(external[i].value));
	key = mem_strdup(buf_cstr(&b));
	buf_fini(&b);
	return key;
}

/*
 * Return the index of the queue named `name`, or the number of queues if there
 * is none.
 */
static size_t find_queue(const struct sender *s, struct str name)
{
	size_t i = 0;

	while (i < s->queues.count && !str_is(name, s->queues.v[i].name))
		i++;
	return i;
}

/* Take queue number `i` out of the list, and free it. */
static void remove_queue(struct sender *s, size_t i)
{
	struct member m;

	mutex_lock(&s->mu);
	m = s->queues.v[i];
	vec_remove(&s->queues, i, 1);
	mutex_unlock(&s->mu);
	queue_free(m.q);
	mem_free(m.name);
	mem_free(m.key);
}

/* Whether the configuration has a receiver of this name. */
static bool is_configured(const struct remote_write_configs *configs,
			  const char *name)
{
	for (size_t i = 0; i < configs->count; i++) {
		if (str_is(configs->v[i].name, name))
			return true;
	}
	return false;
}

/*
 * Remove the cursor file of the receiver `name`, which is not configured any
 * more.
 */
static void remove_cursor(struct sender *s, const char *name)
{
	CLEANUP(mem_freep)
	char *path = mem_printf("%s/%s" CURSOR_SUFFIX, s->o.dir, name);
	struct err err;
	int rc = cursor_remove(s->o.fs, path, &err);

	if (rc)
		log_event(
			s->o.events, LOG_WARN,
			"cannot remove the cursor of a receiver that remote_write no longer has; the next reload tries again",
			LOG_FIELDS(log_text("remote_name", name),
				   log_text("file", path), log_err(&err)));
	else
		log_event(
			s->o.events, LOG_INFO,
			"a receiver was removed from remote_write, or its name (its url, if it has no name) was changed; nothing more is sent under the old name, not even profiles that are not acknowledged yet",
			LOG_FIELDS(log_text("remote_name", name),
				   log_text("file", path)));
}

/* Stop and free the queues of receivers that are not configured any more. */
static void remove_others(struct sender *s,
			  const struct remote_write_configs *configs)
{
	for (size_t i = 0; i < s->queues.count;) {
		if (is_configured(configs, s->queues.v[i].name))
			i++;
		else
			remove_queue(s, i);
	}
}

/*
 * Remove the cursors of receivers that are not configured. Their queues ran in
 * this process, or in an earlier one with another configuration.
 */
static void remove_cursors(struct sender *s,
			   const struct remote_write_configs *configs)
{
	struct name_list l = { 0 };

	if (fs_list(s->o.fs, s->o.dir, &l, NULL))
		return; /* there is no directory before the first cursor */
	for (size_t i = 0; i < l.count; i++) {
		const struct str name = str_of(l.names[i]);
		CLEANUP(mem_freep) char *receiver = NULL;

		if (!str_ends(name, CURSOR_SUFFIX))
			continue;
		receiver = mem_strndup((struct str){
			name.ptr, name.len - strlen(CURSOR_SUFFIX) });
		if (!is_configured(configs, receiver))
			remove_cursor(s, receiver);
	}
	name_list_fini(&l);
}

/*
 * Whether the log keeps samples for receivers, but no receiver has a cursor
 * file. If the directory cannot be read, it may have cursor files, so the
 * result is false.
 */
static bool has_lost_cursors(struct sender *s)
{
	struct name_list l = { 0 };
	int rc = fs_list(s->o.fs, s->o.dir, &l, NULL);
	bool any = rc && rc != ERR_NOTFOUND;

	for (size_t i = 0; i < l.count; i++)
		any |= str_ends(str_of(l.names[i]), CURSOR_SUFFIX);
	name_list_fini(&l);
	return !any && s->o.log->holds(s->o.log);
}

/*
 * Decide whether queues that are added now begin with the oldest sample of the
 * log (s->from_begin).
 */
static void find_begin(struct sender *s,
		       const struct remote_write_configs *configs)
{
	s->from_begin = s->o.from_begin;
	if (s->from_begin || s->queues.count || !configs->count ||
	    !has_lost_cursors(s))
		return;
	s->from_begin = true;
	log_event(
		s->o.events, LOG_WARN,
		"the cursors of remote write are missing, although the WAL keeps profiles for receivers; all profiles of the WAL are sent again",
		LOG_FIELDS(log_text("dir", s->o.dir)));
}

/* Start a queue and add it to the list. Returns whether it runs. */
static bool add_queue(struct sender *s, const struct remote_write_config *c,
		      const struct label *external, size_t count)
{
	const struct queue_options o = { .log = s->o.log,
					 .fs = s->o.fs,
					 .dir = s->o.dir,
					 .events = s->o.events,
					 .metrics = s->o.metrics,
					 .user_agent = s->o.user_agent,
					 .from_begin = s->from_begin,
					 .clock_steady_ms =
						 s->o.clock_steady_ms,
					 .moved = keep_log,
					 .ctx = s };
	struct member m = { .name = mem_strndup(c->name),
			    .key = key_of(c, external, count) };
	struct err err;

	if (queue_start(&o, c, external, count, &m.q, &err)) {
		log_event(
			s->o.events, LOG_ERROR,
			"cannot start the queue of a receiver of remote write; the WAL is kept, and the next reload tries again",
			LOG_FIELDS(log_text("remote_name", m.name),
				   log_err(&err)));
		mem_free(m.name);
		mem_free(m.key);
		return false;
	}
	mutex_lock(&s->mu);
	*vec_add(&s->queues) = m;
	mutex_unlock(&s->mu);
	return true;
}

/*
 * Make sure that a queue with the configuration `c` runs. If the receiver has a
 * queue already, keep it if neither its configuration nor the external labels
 * have changed, else replace it. If the receiver has none, add one. Returns
 * whether the queue runs.
 */
static bool apply_one(struct sender *s, const struct remote_write_config *c,
		      const struct label *external, size_t count)
{
	CLEANUP(mem_freep) char *key = key_of(c, external, count);
	size_t i = find_queue(s, c->name);

	if (i < s->queues.count && !strcmp(s->queues.v[i].key, key)) {
		queue_set_rules(s->queues.v[i].q, c, external, count);
		return true;
	}
	if (i < s->queues.count)
		remove_queue(s, i);
	return add_queue(s, c, external, count);
}

/*
 * Note whether the list is being changed, and how many queues are missing in
 * it.
 */
static void set_applying(struct sender *s, bool applying, size_t missing)
{
	mutex_lock(&s->mu);
	s->applying = applying;
	s->missing = missing;
	mutex_unlock(&s->mu);
}

void sender_apply(struct sender *s, const struct remote_write_configs *configs,
		  const struct label *external, size_t external_count)
{
	size_t missing = 0;

	mutex_lock(&s->apply_mu);
	set_applying(s, true, 0);
	remove_others(s, configs);
	find_begin(s, configs);
	remove_cursors(s, configs);
	for (size_t i = 0; i < configs->count; i++)
		missing +=
			!apply_one(s, &configs->v[i], external, external_count);
	set_applying(s, false, missing);
	keep_log(s);
	mutex_unlock(&s->apply_mu);
}

void sender_free(struct sender *s)
{
	if (!s)
		return;
	/*
	 * A queue that has left the list may still call keep_log() while it
	 * stops. Mark the list as incomplete, so that keep_log() does not let
	 * the log drop the samples that this queue needs.
	 */
	set_applying(s, true, 0);
	while (s->queues.count)
		remove_queue(s, s->queues.count - 1);
	vec_fini(&s->queues);
	mutex_destroy(&s->mu);
	mutex_destroy(&s->apply_mu);
	mem_free(s);
}

void sender_each(struct sender *s,
		 void (*fn)(void *ctx, const struct queue_status *q), void *ctx)
{
	struct queue_status status;

	mutex_lock(&s->mu);
	for (size_t i = 0; i < s->queues.count; i++) {
		queue_status(s->queues.v[i].q, &status);
		fn(ctx, &status);
	}
	mutex_unlock(&s->mu);
}
