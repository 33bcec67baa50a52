/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_loss.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/units.h"
#include "tsdb/io/trash.h"
#include "tsdb/wal/wal_held.h"
#include "tsdb/wal/wal_private.h"
#include "tsdb/wal/wal_segment.h"

/* Whether the file of a segment is kept, to be read again or to be sent. */
static bool wal_loss_is_kept(const struct wal *w, uint64_t number)
{
	CLEANUP(mem_freep) char *unread = segment_path(w, number, ASIDE_UNREAD);
	CLEANUP(mem_freep) char *held = wal_held_path(w, number);
	uint64_t size;

	return fs_size(w->o.fs, unread, &size, NULL) != ERR_NOTFOUND ||
	       fs_size(w->o.fs, held, &size, NULL) != ERR_NOTFOUND;
}

static void wal_loss_report(const struct wal *w, const struct wal_loss *l)
{
	char from[40];
	char to[40];

	time_format(l->loss.first_ms, from);
	time_format(l->loss.last_ms, to);
	metric_add(w->missing, (int64_t)l->loss.samples);
	log_event(
		w->o.log, LOG_ERROR,
		"a WAL segment lacks profiles that it had; they are lost unless they were flushed or sent before",
		LOG_FIELDS(log_text("dir", w->dir),
			   log_int("segment", (int64_t)l->number),
			   log_int("profiles", (int64_t)l->loss.samples),
			   log_text("from", from), log_text("to", to)));
}

void wal_loss_check(struct wal *w, const struct segment_summary *stated,
		    const struct segment_summary *found)
{
	struct wal_loss l = {
		.number = stated->number,
		.after = found->number,
		.loss = { .samples = stated->profiles,
			  .first_ms = stated->first_ms,
			  .last_ms = stated->last_ms },
		.was_dropped = !found->number,
	};

	if (found->number)
		l.loss.samples = stated->total > found->total ?
					 stated->total - found->total :
					 0;
	/* Segments before that one are missing, too. */
	if (l.loss.samples > stated->profiles &&
	    found->last_ms < l.loss.first_ms)
		l.loss.first_ms = found->last_ms;
	if (!l.loss.samples || wal_loss_is_kept(w, stated->number))
		return;
	*vec_add(&w->losses) = l;
	if (!l.was_dropped)
		wal_loss_report(w, &l);
}

struct sample_loss wal_loss_between(const struct wal *w, uint64_t from,
				    uint64_t to)
{
	struct sample_loss sum = { .samples = 0 };

	for (size_t i = 0; i < w->losses.count; i++) {
		const struct wal_loss *l = &w->losses.v[i];

		if (l->number < from || l->number >= to)
			continue;
		if (!sum.samples || l->loss.first_ms < sum.first_ms)
			sum.first_ms = l->loss.first_ms;
		if (!sum.samples || l->loss.last_ms > sum.last_ms)
			sum.last_ms = l->loss.last_ms;
		sum.samples += l->loss.samples;
	}
	return sum;
}

bool wal_loss_has(const struct wal *w, uint64_t from, uint64_t to)
{
	bool has = false;

	for (size_t i = 0; i < w->losses.count; i++)
		has |= !w->losses.v[i].was_dropped &&
		       w->losses.v[i].number >= from &&
		       w->losses.v[i].number < to;
	return has;
}

bool wal_loss_covers(const struct wal *w, uint64_t number)
{
	bool covers = false;

	for (size_t i = 0; i < w->losses.count; i++)
		covers |= !w->losses.v[i].was_dropped &&
			  w->losses.v[i].after <= number &&
			  w->losses.v[i].number >= number;
	return covers;
}
