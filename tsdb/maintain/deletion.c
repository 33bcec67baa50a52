/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/maintain/deletion.h"
#include "base/mutex.h"

#include "base/mem.h"
#include "tsdb/db/db.h"
#include "tsdb/db/view.h"
#include "tsdb/db/worker.h"
#include "tsdb/head/head_tombstones.h"

/* The parameters of a deletion. */
struct deletion {
	struct selection what; /* matchers of the series, and the time range */
	/* LSN limit: records appended later are not deleted. */
	uint64_t lsn;
};

/*
 * Add tombstones for the matching series of a block. Their interval is cut to
 * the time range of the block's profiles.
 */
static int delete_in_block(struct block *b, const struct deletion *d,
			   const struct postings *found, struct err *err)
{
	struct tombstones *t = tombstones_new();
	const struct meta *m = &b->meta;
	int rc;

	for (size_t i = 0; i < found->count; i++)
		tombstones_add(
			t, found->v[i],
			d->what.from > m->first_ms ? d->what.from : m->first_ms,
			d->what.to < m->last_ms ? d->what.to : m->last_ms);
	rc = block_delete(b, t, err);
	tombstones_unref(t);
	return rc;
}

/* Delete profiles of one part. A part outside of the time range is not read. */
static int delete_in_part(struct part p, const struct deletion *d,
			  struct err *err)
{
	struct postings found = { 0 };
	int rc;

	if (part_min(p) > d->what.to || part_max(p) < d->what.from)
		return 0;
	rc = part_select(p, &d->what, &found, err);
	if (!rc && found.count)
		rc = p.head ? head_delete(p.head, &found, d->what.from,
					  d->what.to, d->lsn, err) :
			      delete_in_block(p.block, d, &found, err);
	postings_fini(&found);
	return rc;
}

/*
 * Delete profiles of all parts. If one part fails, the profiles of the parts
 * before it stay deleted.
 */
static int delete_in_parts(struct tsdb *db, const struct deletion *d,
			   struct err *err)
{
	size_t count;
	struct part *v = db_parts(db, &count);
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++)
		rc = delete_in_part(v[i], d, err);
	db_parts_free(v, count);
	return rc;
}

/* NOLINTNEXTLINE(readability-function-size): a selection, and its limits */
int tsdb_delete(struct tsdb *db, const struct matcher *v, size_t count,
		int64_t from, int64_t to, const struct limits *limits,
		struct err *err)
{
	struct deletion d = { .what = { .matchers = v,
					.count = count,
					.from = from,
					.to = to } };
	int rc;

	if (limits)
		d.what.limits = *limits;
	rc = db_begin_job_within(db, limits, err);
	if (rc)
		return rc;
	mutex_lock(&db->flush_mu);
	/*
	 * Delete only samples that were appended before now. While append_mu is
	 * held, the heads in memory have every record up to the end of the WAL,
	 * so that the deletion finds all of these samples.
	 */
	mutex_lock(&db->append_mu);
	d.lsn = wal_end(db->wal) - 1;
	mutex_unlock(&db->append_mu);
	rc = delete_in_parts(db, &d, err);
	mutex_unlock(&db->flush_mu);
	db_end_job(db);
	if (!rc)
		metric_add(db->metrics.deleted, 1);
	return rc;
}
