/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_unread.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/io/trash.h"
#include "tsdb/wal/wal_log.h"
#include "tsdb/wal/wal_private.h"
#include "tsdb/wal/wal_segment.h"

bool wal_unread_is_name(const char *name)
{
	const char *at = strstr(name, ASIDE_UNREAD);

	if (!at)
		return false;
	at += strlen(ASIDE_UNREAD);
	return !*at ||
	       (*at == '-' && strspn(at + 1, "0123456789") == strlen(at + 1));
}

/* What is passed through wal_log_visit(). */
struct unread_visit {
	wal_unread_fn *fn;
	void *ctx;
	bool damaged; /* some bytes are wrong, and not only unread */
};

static int unread_visit_profile(void *ctx, const struct segment_profile *p,
				struct err *err)
{
	struct unread_visit *v = ctx;

	return v->fn(v->ctx, p, err);
}

static void unread_visit_damage(void *ctx)
{
	struct unread_visit *v = ctx;

	v->damaged = true;
}

int wal_unread_take(struct wal *w, const char *path, wal_unread_fn *fn,
		    void *ctx, struct err *err)
{
	struct unread_visit v = { .fn = fn, .ctx = ctx };
	const char *name = strrchr(path, '/') + 1;
	struct wal_segment *s = NULL;
	int rc =
		segment_open_read(w, path, segment_aside_number(name), &s, err);

	if (!rc)
		rc = wal_log_visit(s, unread_visit_profile, unread_visit_damage,
				   &v, err);
	wal_segment_unref(s);
	if (!rc)
		rc = wal_sync(w, wal_end(w), err);
	if (rc)
		return rc;
	return v.damaged ? rename_aside(w->o.fs, path, ASIDE_DAMAGED, err) :
			   fs_unlink(w->o.fs, path, err);
}

void wal_unread_report(const struct log *log, const char *path, int rc,
		       const struct err *err)
{
	if (!rc)
		log_event(
			log, LOG_INFO,
			"the disk reads what was set aside again; its profiles are back",
			LOG_FIELDS(log_text("path", path)));
	else
		log_event(
			log, LOG_WARN,
			"something that was set aside is still missing in all answers; everprof tries again in some minutes",
			LOG_FIELDS(log_text("path", path), log_err(err)));
}

void wal_set_aside(struct wal *w, uint64_t number)
{
	CLEANUP(mem_freep) char *path = segment_path(w, number, "");

	int rc = rename_aside(w->o.fs, path, ASIDE_UNREAD, NULL);

	/* Not found: an earlier attempt failed after the file was renamed. */
	if (!rc || rc == ERR_NOTFOUND)
		return;
	mutex_lock(&w->mu);
	*vec_add(&w->misplaced) = number;
	mutex_unlock(&w->mu);
}

void wal_unread_settle(struct wal *w)
{
	size_t count;

	mutex_lock(&w->mu);
	count = w->misplaced.count;
	mutex_unlock(&w->mu);
	while (count--) {
		uint64_t number;

		mutex_lock(&w->mu);
		number = w->misplaced.v[0];
		vec_remove(&w->misplaced, 0, 1);
		mutex_unlock(&w->mu);
		wal_set_aside(w, number);
	}
}

bool wal_has_unread(struct wal *w)
{
	bool has;

	mutex_lock(&w->mu);
	has = w->misplaced.count > 0;
	for (size_t i = 0; i < w->count; i++)
		has |= w->segments[i]->unread;
	mutex_unlock(&w->mu);
	return has;
}

int wal_unread_take_all(struct wal *w, wal_unread_fn *fn, void *ctx,
			struct err *err)
{
	struct name_list l = { 0 };
	int rc;

	wal_unread_settle(w);
	rc = fs_list(w->o.fs, w->dir, &l, err);

	for (size_t i = 0; i < l.count && !rc; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", w->dir, l.names[i]);

		if (!wal_unread_is_name(l.names[i]))
			continue;
		rc = wal_unread_take(w, path, fn, ctx, err);
		wal_unread_report(w->o.log, path, rc, err);
		/* The others may be readable. */
		if (rc == ERR_IO || rc == ERR_CORRUPT || rc == ERR_NOTFOUND)
			rc = 0;
	}
	name_list_fini(&l);
	return rc;
}
