/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_held.h"

#include <stdio.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/wal/wal_private.h"
#include "tsdb/wal/wal_segment.h"
#include "tsdb/wal/wal_trim.h"

/* The path of the directory of held segments, or of a file in it. */
static char *held_file(const struct wal *w, const char *name)
{
	return mem_printf("%s/held%s%s", w->dir, *name ? "/" : "", name);
}

char *wal_held_path(const struct wal *w, uint64_t number)
{
	char name[32];

	snprintf(name, sizeof(name), "%08llu", (unsigned long long)number);
	return held_file(w, name);
}

/* Log that a held segment could not be removed. */
void wal_held_log_removal(const struct wal *w, const char *path,
			  const struct err *err)
{
	log_event(
		w->o.log, LOG_WARN,
		"cannot remove a WAL segment that remote write does not need any more; everprof tries again, at the latest at the next start",
		LOG_FIELDS(log_text("file", path), log_err(err)));
}

/* Add a segment to the list of held ones, which is sorted by number. */
static void insert_held_locked(struct wal *w, struct wal_segment *s)
	REQUIRES(w->mu)
{
	size_t i = w->held_count;

	w->held = mem_grow(w->held, w->held_count, &w->held_cap,
			   sizeof(struct wal_segment *));
	for (; i && w->held[i - 1]->number > s->number; i--)
		w->held[i] = w->held[i - 1];
	w->held[i] = s;
	w->held_count++;
}

/*
 * Whether a held segment is not needed: either wal_options.hold is not set, or
 * the segment still has its first name in the directory of the log, because its
 * removal there was interrupted.
 */
static bool is_superfluous(const struct wal *w, uint64_t number)
{
	CLEANUP(mem_freep) char *twin = segment_path(w, number, "");
	uint64_t size;

	return !w->o.hold || !fs_size(w->o.fs, twin, &size, NULL);
}

/* Open one held segment, or remove it if it is not needed. */
static int held_open_one(struct wal *w, const char *name, uint64_t number,
			 struct err *err)
{
	CLEANUP(mem_freep) char *path = held_file(w, name);
	struct wal_segment *s = NULL;
	int rc;

	if (is_superfluous(w, number)) {
		if (fs_unlink(w->o.fs, path, err))
			wal_held_log_removal(w, path, err);
		return 0;
	}
	rc = segment_open_read(w, path, number, &s, err);
	if (rc) {
		segment_tell_left_alone(w, number, path, err);
		return 0;
	}
	mutex_lock(&w->mu);
	insert_held_locked(w, s);
	mutex_unlock(&w->mu);
	return 0;
}

int wal_held_open(struct wal *w, uint64_t *highest, struct err *err)
{
	CLEANUP(mem_freep) char *dir = held_file(w, "");
	struct name_list l = { 0 };
	int rc = fs_list(w->o.fs, dir, &l, err);

	if (rc)
		return rc == ERR_NOTFOUND ? 0 : rc;
	/* fs_list() sorts the names, so the segments are opened in order. */
	for (size_t i = 0; i < l.count && !rc; i++) {
		uint64_t number = segment_number(l.names[i]);

		if (!number)
			continue;
		if (number > *highest)
			*highest = number;
		if (!w->o.read_only)
			rc = held_open_one(w, l.names[i], number, err);
	}
	name_list_fini(&l);
	return rc;
}

void wal_held_close(struct wal *w)
{
	for (size_t i = 0; i < w->held_count; i++)
		wal_segment_unref(w->held[i]);
	mem_free(w->held);
}

bool wal_held_take_locked(struct wal *w, struct wal_segment *s)
{
	if (!w->o.hold || s->number < w->keep >> 32)
		return false;
	insert_held_locked(w, s);
	atomic_fetch_add(&s->refs, 1);
	return true;
}

/* Whether remote write still needs a segment. */
static bool held_is_needed(struct wal *w, uint64_t number)
{
	bool kept;

	mutex_lock(&w->mu);
	kept = number >= w->keep >> 32;
	mutex_unlock(&w->mu);
	return kept;
}

int wal_held_link(struct wal *w, const struct wal_segment *s, struct err *err)
{
	CLEANUP(mem_freep) char *dir = held_file(w, "");
	CLEANUP(mem_freep) char *from = segment_path(w, s->number, "");
	CLEANUP(mem_freep) char *to = wal_held_path(w, s->number);
	int rc = fs_ensure_dir(w->o.fs, dir, err);

	/*
	 * The segment's last record, its directory, was written after the last
	 * sync.
	 */
	if (!rc)
		rc = file_sync(s->file, err);
	if (!rc) {
		rc = fs_link(w->o.fs, from, to, err);
		if (rc == ERR_EXISTS)
			rc = 0;
	}
	if (!rc)
		rc = fs_sync_dir(w->o.fs, dir, err);
	if (!rc && !held_is_needed(w, s->number))
		/*
		 * Remote write has sent the segment since it was added to the
		 * list, and wal_keep() could not yet remove this name.
		 */
		rc = fs_unlink(w->o.fs, to, err);
	return rc;
}

/* Take the first held segment out of the list, if it is before the position. */
static struct wal_segment *take_sent(struct wal *w, uint64_t position)
{
	struct wal_segment *s = NULL;

	mutex_lock(&w->mu);
	if (w->held_count && w->held[0]->number < position >> 32) {
		s = w->held[0];
		w->held_count--;
		memmove(w->held, w->held + 1,
			w->held_count * sizeof(struct wal_segment *));
	}
	mutex_unlock(&w->mu);
	return s;
}

void wal_held_drop(struct wal *w, uint64_t position)
{
	struct wal_segment *s;
	struct err err;

	while ((s = take_sent(w, position))) {
		CLEANUP(mem_freep)
		char *path = wal_held_path(w, s->number);

		int rc = fs_unlink(w->o.fs, path, &err);

		/*
		 * ERR_NOTFOUND: the file was set aside or could not be linked,
		 * so it is not in the directory of held segments.
		 */
		if (rc && rc != ERR_NOTFOUND)
			wal_held_log_removal(w, path, &err);
		wal_segment_unref(s);
	}
}

uint64_t wal_held_bytes(struct wal *w)
{
	uint64_t sum = 0;

	mutex_lock(&w->mu);
	for (size_t i = 0; i < w->held_count; i++)
		sum += w->held[i]->size;
	mutex_unlock(&w->mu);
	return sum;
}
