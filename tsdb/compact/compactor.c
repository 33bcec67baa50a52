/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/compact/compactor.h"

#include "base/mem.h"
#include "tsdb/compact/rewriter.h"
#include "tsdb/compact/series_merger.h"
#include "tsdb/compact/symbol_merger.h"
#include "tsdb/head/window.h"

#define LEVEL 5 /* zstd compression level of blocks */

/* The state of one compaction. */
struct work {
	const struct compaction *c;
	const struct codec *columns;
	struct block_writer *w;
	struct rewriter *rewriter;
	struct series_merger series;
	struct symbol_merger *symbols;
	uint64_t unread; /* of c->loss, when it began */
};

/*
 * Add the ULID of a head to the sources in the new block's meta.json, and
 * extend the window and LSN range of the new block to include those of the
 * head.
 */
static void compactor_describe_range(struct meta *m, struct head *r)
{
	uint64_t highest = head_highest_lsn(r);

	meta_add_source(m, &r->ulid);
	if (r->start < m->min_ms)
		m->min_ms = r->start;
	if (r->start + WINDOW_MS > m->max_ms)
		m->max_ms = r->start + WINDOW_MS;
	if (r->lsn < m->first_lsn)
		m->first_lsn = r->lsn;
	if (highest > m->last_lsn)
		m->last_lsn = highest;
}

/*
 * Add a block that is merged into the new block: its ULID becomes a parent in
 * meta.json, and its sources become sources of the new block. Extend the window
 * and LSN range of the new block to include those of the parent. Raise the
 * level of the new block to at least that of the parent.
 */
static void compactor_describe_block(struct meta *m, const struct meta *b)
{
	for (size_t i = 0; i < b->source_count; i++)
		meta_add_source(m, &b->sources[i]);
	meta_add_parent(m, b);
	if (b->min_ms < m->min_ms)
		m->min_ms = b->min_ms;
	if (b->max_ms > m->max_ms)
		m->max_ms = b->max_ms;
	if (b->first_lsn < m->first_lsn)
		m->first_lsn = b->first_lsn;
	if (b->last_lsn > m->last_lsn)
		m->last_lsn = b->last_lsn;
	if (b->level > m->level)
		m->level = b->level;
}

/*
 * Set two flags of the new block. `columns`: encoding as columns has been tried
 * for all chunks, in this compaction or in earlier ones. `some_columns`: some
 * chunks may be stored as columns, so the block has format 2
 * (docs/decisions.md, 96).
 */
static void compactor_note_columns(const struct work *k, struct meta *m)
{
	bool encodes = k->c->reencode && k->columns;

	m->columns = true;
	m->some_columns = encodes;
	for (size_t i = 0; i < k->c->count; i++) {
		const struct block *b = k->c->parts[i].block;

		m->columns = m->columns && b && b->meta.columns;
		m->some_columns |= b &&
				   (b->meta.columns || b->meta.some_columns);
	}
	m->columns |= encodes;
}

/*
 * Fill in meta.json. When the database is opened again, the window and LSN
 * range tell which WAL records belong to the block (docs/decisions.md, 84).
 */
static void compactor_describe(struct work *k)
{
	struct meta *m = block_writer_meta(k->w);

	m->min_ms = INT64_MAX;
	m->max_ms = INT64_MIN;
	m->first_lsn = UINT64_MAX;
	for (size_t i = 0; i < k->c->count; i++) {
		struct part p = k->c->parts[i];

		if (p.head)
			compactor_describe_range(m, p.head);
		else
			compactor_describe_block(m, &p.block->meta);
	}
	m->level++;
	compactor_note_columns(k, m);
}

/*
 * Note whether the new block lacks profiles, or tombstones, that the disk could
 * not read. Its parents may lack some, too.
 */
static void compactor_note_incomplete(struct work *k)
{
	struct meta *m = block_writer_meta(k->w);

	m->incomplete = k->c->loss->unread > k->unread;
	for (size_t i = 0; i < k->c->count; i++) {
		struct part p = k->c->parts[i];

		m->incomplete |= part_is_unread(p) ||
				 (p.block && p.block->meta.incomplete);
	}
}

/*
 * Whether the compaction may go on. Relaxed order suffices: the flag protects no
 * other data.
 */
static int compactor_may_go_on(const struct compaction *c, struct err *err)
{
	if (c->cancel && atomic_load_explicit(c->cancel, memory_order_relaxed))
		return err_set(
			err, ERR_CLOSED,
			"the new block was not written, because everprof is shutting down");
	return limits_spend(&c->limits, 0, err);
}

/*
 * Write the chunks of all series. The series are visited in stripe order, so
 * that all series of a target are adjacent and share one dictionary table.
 */
static int compactor_write_groups(struct work *k, struct err *err)
{
	CLEANUP(mem_freep) uint32_t *order = series_merger_stripes(&k->series);
	uint64_t target = 0;
	size_t done = 0;
	int rc = 0;

	for (size_t i = 0; i < k->series.count && !rc; i++) {
		struct series_merger_entry *e = &k->series.v[order[i]];
		const struct merged_place *places;
		size_t count;

		rc = compactor_may_go_on(k->c, err);
		if (!rc && i && e->target != target)
			rc = rewriter_end_target(k->rewriter, err);
		if (rc)
			break;
		target = e->target;
		places = series_merger_places(&k->series, order[i], &count);
		rc = rewriter_series(k->rewriter, places, count, err);
		/*
		 * Remember the chunks of the series for the index, which is
		 * written later, in label order.
		 */
		e->chunk = (uint32_t)done;
		rewriter_chunks(k->rewriter, &done);
		e->chunks = (uint32_t)(done - e->chunk);
	}
	return rc ? rc : rewriter_end_target(k->rewriter, err);
}

/*
 * Write the index of the new block. A series without chunks is left out; all of
 * its profiles were deleted or lost.
 */
static int write_index(struct work *k, struct err *err)
{
	struct meta *m = block_writer_meta(k->w);
	struct index_series s = { 0 };
	struct index_writer *ix = NULL;
	const struct index_chunk *chunks;
	size_t count;
	int rc = symbol_merger_new(k->c->parts, k->c->count, &k->symbols, err);

	if (!rc)
		rc = block_writer_index(k->w, symbol_merger_count(k->symbols),
					symbol_merger_bytes(k->symbols), &ix,
					err);
	if (!rc)
		rc = symbol_merger_write(k->symbols, ix, err);
	chunks = rewriter_chunks(k->rewriter, &count);
	for (size_t i = 0; i < k->series.count && !rc; i++) {
		const struct series_merger_entry *e = &k->series.v[i];
		const struct merged_place *p = &k->series.places[e->place];

		if (!e->chunks)
			continue;
		/*
		 * A series has the same labels in all parts: use the first
		 * part.
		 */
		rc = symbol_merger_pairs(k->symbols, p->part, p->series, &s,
					 err);
		if (rc)
			break;
		index_writer_series(ix, s.pairs, s.pair_count,
				    chunks + e->chunk, e->chunks);
		m->series++;
	}
	index_series_fini(&s);
	return rc;
}

/*
 * Write chunks, index and meta.json. If no chunk is left, *empty is set and the
 * block is not finished.
 */
static int write_block(struct work *k, bool *empty, struct err *err)
{
	struct rewriter_options o = { .parts = k->c->parts,
				      .count = k->c->count,
				      .reencode = k->c->reencode,
				      .columns = k->columns,
				      .level = LEVEL,
				      .link_min = k->c->link_min,
				      .salvage = k->c->salvage,
				      .loss = k->c->loss,
				      .log = k->c->env->log,
				      .damaged = k->c->damaged };
	size_t chunks = 0;
	int rc = series_merger_fill(&k->series, k->c->parts, k->c->count, err);

	if (!rc)
		rc = block_writer_new(k->c->env, &k->c->ulid, &k->w, err);
	if (rc)
		return rc;
	compactor_describe(k);
	k->rewriter = rewriter_new(&o, k->w);
	rc = compactor_write_groups(k, err);
	rewriter_chunks(k->rewriter, &chunks);
	*empty = !chunks;
	if (rc || *empty)
		return rc;
	compactor_note_incomplete(k);
	rc = write_index(k, err);
	return rc ? rc : block_writer_finish(k->w, err);
}

/*
 * Open the new block to check that it can be read, then rename it to its final
 * name (docs/decisions.md, 21).
 */
static int compactor_publish(struct work *k, struct block **out,
			     struct err *err)
{
	struct block *b = NULL;
	int rc = block_open(k->c->env, block_writer_path(k->w), &b, err);

	if (!rc && b->damaged)
		rc = err_set(
			err, ERR_IO,
			"%s: the new block cannot be read back; the old files are kept",
			b->path);
	if (!rc)
		rc = block_writer_publish(k->w, b, err);
	if (rc)
		block_unref(b);
	else
		*out = b;
	return rc;
}

/*
 * Run the compaction with the codec `columns`, or with zstd alone if `columns`
 * is NULL. If the block is not published, block_writer_free() removes its
 * files.
 */
static int compact_with(const struct compaction *c, const struct codec *columns,
			struct block **out, struct err *err)
{
	struct work k = { .c = c,
			  .columns = columns,
			  .unread = c->loss->unread };
	bool empty = false;
	int rc = write_block(&k, &empty, err);

	*out = NULL;
	if (!rc && !empty)
		rc = compactor_publish(&k, out, err);
	symbol_merger_free(k.symbols);
	series_merger_fini(&k.series);
	rewriter_free(k.rewriter);
	block_writer_free(k.w);
	return rc;
}

int compactor_run(const struct compaction *c, struct block **out,
		  struct err *err)
{
	struct rewrite_loss before = *c->loss;
	struct err why = { 0 };
	int rc = compact_with(c, c->env->columns, out, &why);

	/*
	 * The cause may be a bug in the columns codec: try again without it.
	 * Otherwise heads could not be sealed, and memory would grow without
	 * bound.
	 */
	if (rc == ERR_CORRUPT && c->env->columns) {
		log_event(
			c->env->log, LOG_ERROR,
			"cannot write a new block; everprof tries again without the columns codec (this loses no profile, but the block may be larger)",
			LOG_FIELDS(log_err(&why)));
		*c->loss = before;
		rc = compact_with(c, NULL, out, &why);
	}
	if (rc && err)
		*err = why;
	return rc;
}
