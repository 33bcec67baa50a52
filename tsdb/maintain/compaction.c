/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction merges the blocks that the planner picks.
 */
#include "tsdb/maintain/maintenance.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tsdb/db/view.h"
#include "tsdb/maintain/block_rewrite.h"

/*
 * Whether all blocks are of the same two-hour window. Such blocks are small, so
 * it is cheap to encode their chunks again, and this joins partly filled chunks
 * into full ones.
 */
static bool are_one_window(const struct part *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct meta *m = &v[i].block->meta;

		if (m->max_ms - m->min_ms != WINDOW_MS ||
		    m->min_ms != v[0].block->meta.min_ms)
			return false;
	}
	return count > 1;
}

/*
 * Sort blocks by age, the oldest first. If two blocks have a profile of the
 * same series and time, the profile of the first block is kept.
 */
static void sort_by_age(struct part *v, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct part p = v[i];
		size_t at = i;

		for (; at && v[at - 1].block->meta.first_lsn >
				     p.block->meta.first_lsn;
		     at--)
			v[at] = v[at - 1];
		v[at] = p;
	}
}

/* Merge blocks as a background job, which deletions may cancel. */
static int compact_blocks(struct tsdb *db, const struct part *v, size_t count,
			  struct err *err) REQUIRES(db->job_mu)
{
	const struct rewriting how = { .reencode = are_one_window(v, count),
				       .background = true };
	struct rewrite_loss loss = { 0 };

	return rewrite_blocks(db, v, count, &how, &loss, err);
}

/*
 * Estimate how many bytes a compaction writes: the size of all files that it
 * does not link. The condition for linking must agree with the rewriter's
 * (rewriter.c).
 */
static uint64_t compaction_written_bytes(const struct tsdb *db,
					 const struct part *v, size_t count)
{
	bool all = are_one_window(v, count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		const struct meta *m = &v[i].block->meta;

		for (size_t k = 0; k < m->file_count; k++) {
			const struct meta_file *f = &m->files[k];

			if (all || !f->live ||
			    f->size < block_rewrite_link_min(db) ||
			    f->live < f->size / 2)
				sum += f->size;
		}
	}
	return sum;
}

/* Merge the blocks that the planner picked, if the disk has enough space. */
static int compact_picked(struct tsdb *db, const struct part *v,
			  const size_t *picked, size_t n, struct err *err)
	REQUIRES(db->job_mu)
{
	struct part *parts = mem_zalloc(n, sizeof(*parts));
	uint64_t bytes;
	int rc;

	for (size_t i = 0; i < n; i++)
		parts[i] = v[picked[i]];
	sort_by_age(parts, n);
	bytes = compaction_written_bytes(db, parts, n);
	if (block_rewrite_has_room(db, bytes))
		rc = compact_blocks(db, parts, n, err);
	else
		rc = err_set(
			err, ERR_NOSPACE,
			"needs %llu bytes of free disk space (twice as much as it writes)",
			2ULL * bytes);
	mem_free(parts);
	return rc;
}

/* This function collects the input of the planner, which decides. */
int compaction_next(struct tsdb *db, struct err *err)
{
	struct plan_levels levels = plan_levels(
		db->o.retention_ms, (uint64_t)db->o.retention_bytes);
	size_t count;
	struct part *v = blocks_by_time(db, &count);
	struct plan_block *plan = mem_zalloc(count, sizeof(*plan));
	size_t *picked = mem_zalloc(count, sizeof(*picked));
	size_t n;
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		plan[i] = block_rewrite_describe(db, v[i].block);
	n = plan_compaction(&levels, plan, count, picked);
	if (n)
		rc = compact_picked(db, v, picked, n, err);
	mem_free(picked);
	mem_free(plan);
	db_parts_free(v, count);
	return rc ? rc : n > 0;
}
