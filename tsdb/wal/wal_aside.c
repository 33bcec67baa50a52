/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_aside.h"

#include "base/file.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/io/trash.h"
#include "tsdb/wal/wal_private.h"
#include "tsdb/wal/wal_segment.h"
#include "tsdb/wal/wal_unread.h"

#define ASIDE_RETURNED ".returned"

static struct wal_aside *wal_aside_find_locked(struct wal *w, uint64_t number)
	REQUIRES(w->mu)
{
	for (size_t i = 0; i < w->asides.count; i++) {
		if (w->asides.v[i].number == number)
			return &w->asides.v[i];
	}
	return NULL;
}

static void wal_aside_set(struct wal *w, uint64_t number, bool returned)
{
	struct wal_aside *a;

	mutex_lock(&w->mu);
	a = wal_aside_find_locked(w, number);
	if (!a)
		a = vec_add(&w->asides);
	*a = (struct wal_aside){ .number = number, .returned = returned };
	mutex_unlock(&w->mu);
}

void wal_aside_note_name(struct wal *w, const char *name)
{
	uint64_t number = segment_aside_number(name);

	if (number && wal_aside_is_unread(name))
		wal_aside_set(w, number, false);
	else if (number && strstr(name, ASIDE_RETURNED))
		wal_aside_set(w, number, true);
}

void wal_aside_note(struct wal *w, uint64_t number)
{
	wal_aside_set(w, number, false);
}

int wal_aside_return(struct wal *w, uint64_t number, struct err *err)
{
	CLEANUP(mem_freep)
	char *path = segment_path(w, number, ASIDE_RETURNED);
	struct file *f = NULL;
	int rc = file_open(w->o.fs, path, FILE_ENSURE, &f, err);

	file_close(f);
	if (!rc)
		rc = fs_sync_dir(w->o.fs, w->dir, err);
	if (!rc)
		wal_aside_set(w, number, true);
	return rc;
}

bool wal_aside_has_more(struct wal *w, uint64_t number, size_t found)
{
	const struct wal_aside *a;
	bool more;

	mutex_lock(&w->mu);
	a = wal_aside_find_locked(w, number);
	more = !a || found > a->found;
	mutex_unlock(&w->mu);
	return more;
}

void wal_aside_note_found(struct wal *w, uint64_t number, size_t found)
{
	struct wal_aside *a;

	mutex_lock(&w->mu);
	a = wal_aside_find_locked(w, number);
	if (a)
		a->found = found;
	mutex_unlock(&w->mu);
}

bool wal_aside_between(struct wal *w, uint64_t from, uint64_t to)
{
	bool found = false;

	mutex_lock(&w->mu);
	for (size_t i = 0; i < w->asides.count; i++)
		found |= w->asides.v[i].number >= from &&
			 w->asides.v[i].number < to;
	mutex_unlock(&w->mu);
	return found;
}

/* Take one that can be forgotten out of the list. 0: there is none. */
static uint64_t wal_aside_take(struct wal *w, uint64_t before)
{
	uint64_t number = 0;

	mutex_lock(&w->mu);
	for (size_t i = 0; i < w->asides.count && !number; i++) {
		if (!w->asides.v[i].returned || w->asides.v[i].number >= before)
			continue;
		number = w->asides.v[i].number;
		w->asides.v[i] = w->asides.v[--w->asides.count];
	}
	mutex_unlock(&w->mu);
	return number;
}

void wal_aside_forget(struct wal *w, uint64_t before)
{
	uint64_t number = wal_aside_take(w, before);

	/*
	 * Removals that are not durable can be undone by a power cut. A reader
	 * would then come to the place again.
	 */
	if (number && fs_sync_dir(w->o.fs, w->dir, NULL)) {
		wal_aside_set(w, number, true);
		return;
	}
	for (; number; number = wal_aside_take(w, before)) {
		CLEANUP(mem_freep)
		char *path = segment_path(w, number, ASIDE_RETURNED);

		/* An empty file; the next start tries again. */
		(void)!fs_unlink(w->o.fs, path, NULL);
	}
}

bool wal_aside_is_unread(const char *name)
{
	const char *at = strstr(name, ASIDE_UNREAD);

	if (!at)
		return false;
	at += strlen(ASIDE_UNREAD);
	return !*at ||
	       (*at == '-' && strspn(at + 1, "0123456789") == strlen(at + 1));
}
