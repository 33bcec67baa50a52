/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tools/repair.h"

#include "base/mem.h"
#include "tsdb/db/db_clock.h"
#include "tsdb/db/flush_policy.h"
#include "tsdb/db/worker.h"
#include "tsdb/maintain/block_rewrite.h"
#include "tsdb/maintain/sealing.h"
#include "tsdb/tools/verify.h"

/*
 * Callback for each problem that verification finds. It does nothing, because
 * only the number of problems is needed.
 */
static void ignore_problem(void *ctx UNUSED, const char *path UNUSED,
			   const char *what UNUSED)
{
}

/*
 * Whether anything in a block is damaged. This reads the whole block, because
 * some damage shows only when values are decoded.
 */
static bool is_damaged(const struct tsdb *db, struct block *b)
{
	struct verify v = { .found = ignore_problem, .columns = db->o.columns };

	verify_open_block(&v, b);
	return v.problems > 0;
}

/* Whether a profile of a head cannot be read, or its log was damaged. */
static bool is_damaged_head(const struct tsdb *db, struct head *r)
{
	struct verify v = { .found = ignore_problem, .columns = db->o.columns };

	verify_open_head(&v, r);
	return v.problems > 0;
}

/*
 * Empty the WAL into heads, and make blocks of the heads that are damaged. Both
 * leave out what is damaged, and count it.
 */
static int repair_heads(struct tsdb *db, struct err *err)
{
	int rc = flush_everything(db, err);
	int sealed = sealing_seal_some(db, is_damaged_head, rc ? NULL : err);

	return rc ? rc : sealed;
}

int tsdb_repair(struct tsdb *db, struct tsdb_repair *out, struct err *err)
{
	/*
	 * Chunks are encoded again, because this verifies every profile that is
	 * kept.
	 */
	const struct rewriting how = { .wanted = is_damaged,
				       .reencode = true,
				       .salvage = true };
	struct rewritten done = { 0 };
	int64_t before = metric_get(db->metrics.damaged);
	int rc = repair_heads(db, err);
	int blocks = rewrite_each(db, &how, &done, rc ? NULL : err);

	rc = rc ? rc : blocks;
	*out = (struct tsdb_repair){
		.rewritten = done.count,
		.lost = (uint64_t)(metric_get(db->metrics.damaged) - before),
		.recovered = db->recovered,
		.set_aside = db->set_aside,
	};
	return rc;
}

/* Whether the block contains profiles that were deleted. */
static bool has_tombstones(const struct tsdb *db, struct block *b)
{
	return block_rewrite_describe(db, b).tombstones > 0;
}

int tsdb_clean_tombstones(struct tsdb *db, const struct limits *limits,
			  struct err *err)
{
	struct rewriting how = { .wanted = has_tombstones };
	struct rewritten done = { 0 };

	if (limits)
		how.limits = *limits;
	return rewrite_each(db, &how, &done, err);
}

/* Whether the columns codec was never tried for the chunks of a block. */
static bool lacks_columns(const struct tsdb *db, struct block *b)
{
	return db->o.columns && !b->meta.columns;
}

int tsdb_recode(struct tsdb *db, tsdb_progress_fn progress, void *ctx,
		size_t *recoded, struct err *err)
{
	const struct rewriting how = { .wanted = lacks_columns,
				       .reencode = true,
				       .progress = progress,
				       .ctx = ctx };
	struct rewritten done = { 0 };
	int rc = rewrite_each(db, &how, &done, err);

	*recoded = done.count;
	return rc;
}

int tsdb_confirm_clock(struct tsdb *db, const struct limits *limits,
		       struct err *err)
{
	int rc = db_begin_job_within(db, limits, err);

	if (rc)
		return rc;
	rc = db_clock_confirm(db, err);
	db_end_job(db);
	return rc;
}
