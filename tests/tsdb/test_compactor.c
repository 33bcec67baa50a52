/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads and blocks are compacted into one block: what the block has, and what
 * is left of it when the disk refuses. Heads and blocks are also read alike, as
 * parts.
 */
#include "tsdb/compact/compactor.h"

#include "model/selector.h"
#include "tests/tsdb/head_scene.h"
#include "tsdb/compact/series_merger.h"
#include "tsdb/compact/symbol_merger.h"

TestSuite(compactor, .timeout = 60);

#define PARTS_MAX 4

struct compactor_scene {
	struct head_scene *h;
	struct block_env env;
	struct part parts[PARTS_MAX]; /* owned */
	size_t count;
	uint64_t heads; /* begun so far */
	struct rewrite_loss loss;
	struct compaction c;
};

static struct compactor_scene *compactor_scene_new(void)
{
	struct compactor_scene *s = mem_new(struct compactor_scene);

	s->h = head_scene_closed();
	s->env = (struct block_env){ .fs = &s->h->w->disk.fs,
				     .dir = s->h->w->dir.path,
				     .corruptions = s->h->w->corruptions };
	s->c = (struct compaction){ .env = &s->env,
				    .parts = s->parts,
				    .loss = &s->loss,
				    .link_min = UINT64_MAX,
				    .damaged = s->h->damaged };
	return s;
}

static void compactor_scene_free(struct compactor_scene *s)
{
	for (size_t i = 0; i < s->count; i++)
		part_unref(s->parts[i]);
	head_scene_free(s->h);
	mem_free(s);
}

/* Begin a head, which becomes a part with seal_head(). */
static void begin_head(struct compactor_scene *s)
{
	cr_assert(!create_at(s->h, OPENED_LSN + s->heads++));
}

static void add_part(struct compactor_scene *s, struct part p)
{
	s->parts[s->count++] = p;
	s->c.count = s->count;
}

static void seal_head(struct compactor_scene *s)
{
	cr_assert(!flush_all(s->h));
	add_part(s, (struct part){ .head = TAKE(s->h->r) });
}

/* Add a head of so many series, each with profiles [from, to). */
static void add_head(struct compactor_scene *s, int series, int from, int to)
{
	begin_head(s);
	for (int i = 0; i < series; i++)
		insert_all(s->h, i, from, to);
	seal_head(s);
}

static struct block *compact(struct compactor_scene *s)
{
	struct block *b = NULL;
	struct err err = { .msg = "" };

	s->c.ulid = ulid_new(1700000000000);
	cr_assert(!compactor_run(&s->c, &b, &err), "%s", err.msg);
	return b;
}

/* Replace all parts by the block that is made of them. */
static struct block *compact_all(struct compactor_scene *s)
{
	struct block *b = compact(s);

	while (s->count)
		part_unref(s->parts[--s->count]);
	add_part(s, (struct part){ .block = b });
	return b;
}

/* How many of profiles [from, to) of a series a part lists and finds. */
static int count_in_part(struct part p, int series, int from, int to)
{
	struct labels *ls = sample_labels(series);
	struct buf want = { 0 };
	struct times t = { 0 };
	uint32_t n = 0;
	int found = 0;

	if (part_find(p, ls, &n, NULL)) {
		labels_unref(ls);
		return 0;
	}
	for (int k = from; k < to; k++) {
		const struct chunk_profile *c;
		struct part_hit hit;

		if (part_lookup(p, n, sample_ms(k), NULL, &hit, NULL))
			continue;
		sample_bytes(series, k, &want);
		c = &hit.group.meta.profiles[hit.group.index];
		found += !hit.unflushed && c->period == k &&
			 c->hash == hash_bytes(buf_bytes(&want)) &&
			 bytes_eq(hit.group.typeset, sample_types(series));
	}
	cr_expect(!part_times(p, n, sample_ms(from), sample_ms(to - 1), &t,
			      NULL));
	cr_expect((int)t.count == found, "%zu listed, %d found", t.count,
		  found);
	times_fini(&t);
	buf_fini(&want);
	labels_unref(ls);
	return found;
}

/* Count the names in the data directory, except the two of heads and WAL. */
static size_t count_blocks(struct compactor_scene *s)
{
	struct name_list l = { 0 };
	size_t n;

	cr_assert(!fs_list(NULL, s->h->w->dir.path, &l, NULL));
	n = l.count - 2;
	name_list_fini(&l);
	return n;
}

Test(compactor, a_head_becomes_a_block)
{
	struct compactor_scene *s = compactor_scene_new();
	struct block *b;

	add_head(s, 5, 10, 80);
	b = compact_all(s);
	for (int i = 0; i < 5; i++)
		cr_expect(count_in_part(s->parts[0], i, 0, 90) == 70);
	cr_expect(count_in_part(s->parts[0], 5, 0, 90) == 0);
	cr_assert(b->meta.samples == 350);
	cr_expect(b->meta.series == 5);
	cr_assert(b->meta.level == 1);
	cr_expect(b->meta.source_count == 1);
	cr_assert(b->meta.first_ms == sample_ms(10));
	cr_expect(b->meta.last_ms == sample_ms(79));
	cr_assert(part_min(s->parts[0]) == sample_ms(10));
	cr_expect(part_max(s->parts[0]) == sample_ms(79));
	cr_assert(!b->damaged);
	cr_assert(!s->loss.profiles);
	cr_expect(count_blocks(s) == 1);
	compactor_scene_free(s);
}

Test(compactor, parts_that_overlap_are_merged)
{
	struct compactor_scene *s = compactor_scene_new();

	add_head(s, 3, 0, 60);
	add_head(s, 4, 40, 100); /* three have 40 to 59 already */
	compact_all(s);
	for (int i = 0; i < 3; i++)
		cr_expect(count_in_part(s->parts[0], i, 0, 120) == 100);
	cr_expect(count_in_part(s->parts[0], 3, 0, 120) == 60);
	cr_expect(s->parts[0].block->meta.samples == 360);
	add_head(s, 2, 90, 120);
	compact_all(s);
	cr_expect(count_in_part(s->parts[0], 0, 0, 120) == 120);
	cr_expect(count_in_part(s->parts[0], 2, 0, 120) == 100);
	cr_expect(s->parts[0].block->meta.source_count == 3);
	cr_expect(s->parts[0].block->meta.level == 2);
	compactor_scene_free(s);
}

/* Insert another profile at the time of profile k of series 0. */
static uint64_t insert_other(struct head_scene *h, int k)
{
	struct labels *ls = sample_labels(0);
	struct sample sample = { .labels = ls,
				 .ms = sample_ms(k),
				 .body = bytes_of(str_of("other")),
				 .raw_len = 5,
				 .typeset = sample_types(0),
				 .totals = (int64_t[]){ 1 } };
	uint64_t lsn;

	sample.hash = hash_bytes(sample.body);
	cr_assert(!scene_append(&h->w->a, &sample, &lsn, NULL));
	head_insert(h->r, ls,
		    &(struct unflushed){ .ms = sample.ms,
					 .lsn = lsn,
					 .hash = sample.hash,
					 .raw_len = 5,
					 .len = h->w->last.len },
		    9);
	labels_unref(ls);
	return sample.hash;
}

Test(compactor, of_two_profiles_at_one_time_the_older_parts_is_kept)
{
	for (int first = 0; first < 2; first++) {
		struct compactor_scene *s = compactor_scene_new();

		for (int i = 0; i < 2; i++) {
			begin_head(s);
			if (i == first)
				insert_other(s->h, 5);
			else
				insert_all(s->h, 0, 0, 10);
			seal_head(s);
		}
		compact_all(s);
		cr_expect(s->parts[0].block->meta.samples == 10);
		cr_expect(count_in_part(s->parts[0], 0, 0, 5) == 5);
		cr_expect(count_in_part(s->parts[0], 0, 6, 10) == 4);
		if (first)
			cr_expect(count_in_part(s->parts[0], 0, 5, 6) == 1);
		compactor_scene_free(s);
	}
}

/* Delete profiles [from, to] of all series of a block. */
static int delete_in_block(struct block *b, int from, int to)
{
	struct tombstones *t = tombstones_new();
	int rc;

	for (uint32_t i = 0; i < index_series_count(b->index); i++) {
		uint32_t ref = 0;

		cr_expect(!index_ref(b->index, i, &ref, NULL));
		tombstones_add(t, ref, sample_ms(from), sample_ms(to));
	}
	tombstones_sort(t);
	rc = block_delete(b, t, NULL);
	tombstones_unref(t);
	return rc;
}

Test(compactor, what_was_deleted_is_left_out)
{
	struct compactor_scene *s = compactor_scene_new();
	struct block *b = NULL;

	add_head(s, 2, 0, 40);
	compact_all(s);
	cr_expect(!delete_in_block(s->parts[0].block, 10, 29));
	cr_expect(count_in_part(s->parts[0], 1, 0, 40) == 20);
	b = compact_all(s);
	cr_assert(b->meta.samples == 40);
	cr_expect(!b->tombstones->count);
	cr_expect(count_in_part(s->parts[0], 1, 0, 40) == 20);
	cr_expect(!delete_in_block(b, 0, 99));
	s->c.ulid = ulid_new(1);
	b = s->parts[0].block;
	cr_assert(!compactor_run(&s->c, &b, NULL), "nothing is left");
	cr_expect(!b, "nothing is left");
	cr_expect(count_blocks(s) == 2, "nor a directory of it");
	compactor_scene_free(s);
}

Test(compactor, deletions_of_a_block_last)
{
	static const unsigned ops[] = { OP(FS_WRITE), OP(FS_SYNC),
					OP(FS_RENAME) };
	struct compactor_scene *s = compactor_scene_new();
	struct block *b;
	struct block *again = NULL;

	add_head(s, 2, 0, 40);
	b = compact_all(s);
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		refuse(s->h->w, ops[i], "/tombstones", ENOSPC);
		cr_expect(delete_in_block(b, 0, 4) == ERR_NOSPACE);
		cr_expect(count_in_part(s->parts[0], 0, 0, 40) == 40);
	}
	s->h->w->disk.refused = 0;
	cr_assert(!delete_in_block(b, 0, 4));
	cr_expect(!delete_in_block(b, 5, 9));
	cr_expect(count_in_part(s->parts[0], 0, 0, 40) == 30);
	cr_assert(b->tombstones->count == 4);
	cr_expect(tombstones_series(b->tombstones) == 2);
	cr_assert(!block_open(&s->env, b->path, &again, NULL));
	cr_expect(count_in_part((struct part){ .block = again }, 1, 0, 40) ==
		  30);
	block_unref(again);
	compactor_scene_free(s);
}

Test(compactor, a_run_that_is_cancelled_leaves_nothing)
{
	struct compactor_scene *s = compactor_scene_new();
	_Atomic int cancel = 1;
	struct block *b = NULL;

	add_head(s, 3, 0, 40);
	s->c.cancel = &cancel;
	cr_assert(compactor_run(&s->c, &b, NULL) == ERR_CLOSED);
	cr_expect(!b);
	cr_expect(count_blocks(s) == 0);
	cancel = 0;
	compact_all(s);
	cr_expect(count_in_part(s->parts[0], 2, 0, 40) == 40);
	compactor_scene_free(s);
}

static const struct {
	unsigned ops;
	const char *part;
} refusals[] = {
	{ OP(FS_MKDIR), ".tmp-for-creation" },
	{ OP(FS_OPEN), "/values/" },
	{ OP(FS_WRITE), "/values/" },
	{ OP(FS_OPEN), "/chunks/" },
	{ OP(FS_WRITE), "/chunks/" },
	{ OP(FS_SYNC), "/chunks/" },
	{ OP(FS_OPEN), "/index" },
	{ OP(FS_WRITE), "/index" },
	{ OP(FS_SYNC), "/index" },
	{ OP(FS_WRITE), "/meta.json" },
	{ OP(FS_SYNC_DIR), ".tmp-for-creation" },
	{ OP(FS_RENAME), ".tmp-for-creation" },
};

Test(compactor, a_disk_that_refuses_costs_no_part)
{
	struct compactor_scene *s = compactor_scene_new();

	add_head(s, 3, 0, 40);
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct block *b = NULL;
		int rc;

		refuse(s->h->w, refusals[i].ops, refusals[i].part, ENOSPC);
		s->c.ulid = ulid_new(1);
		rc = compactor_run(&s->c, &b, NULL);
		cr_assert(rc == ERR_NOSPACE, "%s: %d", refusals[i].part, rc);
		cr_expect(!b, "%s: %d", refusals[i].part, rc);
		cr_expect(s->h->w->disk.hits > 0, "%s", refusals[i].part);
		s->h->w->disk.refused = 0;
		cr_expect(count_blocks(s) == 0, "%s", refusals[i].part);
		cr_expect(count_in_part(s->parts[0], 1, 0, 40) == 40);
	}
	compact_all(s);
	cr_expect(count_in_part(s->parts[0], 1, 0, 40) == 40);
	compactor_scene_free(s);
}

Test(compactor, a_block_that_cannot_be_read_back_is_not_published)
{
	struct compactor_scene *s = compactor_scene_new();
	struct block *b = NULL;

	add_head(s, 3, 0, 40);
	refuse(s->h->w, OP(FS_MMAP), "/chunks/", EIO);
	cr_assert(compactor_run(&s->c, &b, NULL) == ERR_IO);
	cr_expect(!b);
	cr_assert(s->h->w->disk.hits > 0);
	cr_expect(count_blocks(s) == 0);
	compactor_scene_free(s);
}

/* A file of a block is removed, or one of its bytes damaged. */
static const struct {
	const char *file;
	int64_t at; /* -1: removed */
	int want;
	uint64_t damaged;
	int found; /* profiles of which the metadata is there */
} losses[] = {
	{ "meta.json", -1, ERR_NOTFOUND, 0, 0 },
	{ "meta.json", 30, ERR_CORRUPT, 0, 0 },
	{ "index", -1, ERR_CORRUPT, 0, 0 },
	{ "index", 0, ERR_CORRUPT, 0, 0 },
	{ "chunks/000001", -1, 0, 1, 0 },
	{ "chunks/000001", 20, 0, 0, 8 },
	{ "values/000001", -1, 0, 1, 40 },
};

Test(compactor, damage_to_a_block_costs_what_it_affects)
{
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		struct compactor_scene *s = compactor_scene_new();
		struct part p = { 0 };
		char path[300];
		int rc;

		add_head(s, 1, 0, 40); /* a chunk of 32 and one of 8 */
		snprintf(path, sizeof(path), "%s/%s", compact_all(s)->path,
			 losses[i].file);
		if (losses[i].at < 0) {
			cr_assert(!unlink(path));
		} else {
			int fd = open(path, O_WRONLY);

			cr_assert(pwrite(fd, "\xff", 1, losses[i].at) == 1);
			close(fd);
		}
		*strrchr(path, '/') = 0;
		if (strchr(losses[i].file, '/'))
			*strrchr(path, '/') = 0;
		rc = block_open(&s->env, path, &p.block, NULL);
		cr_expect(rc == losses[i].want, "%s: %d", losses[i].file, rc);
		if (!rc) {
			struct times t = { 0 };
			uint32_t ref = 0;

			cr_expect(p.block->damaged == losses[i].damaged);
			cr_expect(!index_ref(p.block->index, 0, &ref, NULL));
			cr_expect(!block_times(p.block, ref, 0, INT64_MAX, &t,
					       NULL));
			cr_expect((int)t.count == losses[i].found, "%s: %zu",
				  losses[i].file, t.count);
			cr_expect(!t.lost == (t.count == 40));
			times_fini(&t);
			block_unref(p.block);
		}
		compactor_scene_free(s);
	}
}

static void add_text(void *ctx, struct str text)
{
	buf_printf(ctx, "%.*s ", STR_ARG(text));
}

static bool has_texts(struct part p, const char *name, const char *want)
{
	struct buf b = { 0 };
	bool same = !part_texts(p, str_of(name), add_text, &b, NULL) &&
		    check_str(str_from(buf_bytes(&b)), want);

	buf_fini(&b);
	return same;
}

static size_t count_selected(struct part p, const char *selector, int from,
			     int to)
{
	struct selector parsed;
	struct selection sel = { .from = sample_ms(from), .to = sample_ms(to) };
	struct postings out = { 0 };
	size_t count;

	cr_assert(!selector_parse(str_of(selector), &parsed, NULL));
	sel.matchers = parsed.matchers;
	sel.count = parsed.count;
	cr_expect(!part_select(p, &sel, &out, NULL));
	count = out.count;
	postings_fini(&out);
	selector_fini(&parsed);
	return count;
}

/*
 * A head, and the block made of it, give the same answers. Series 0 has
 * profiles 0 to 39, series 1 has 20 to 59.
 */
Test(compactor, heads_and_blocks_are_read_alike)
{
	struct compactor_scene *s = compactor_scene_new();

	begin_head(s);
	insert_all(s->h, 0, 0, 40);
	insert_all(s->h, 1, 20, 60);
	seal_head(s);
	for (int block = 0; block < 2; block++) {
		struct part p = part_ref(s->parts[0]);
		struct chunks g = { 0 };
		struct labels *ls = sample_labels(1);
		struct labels *mine = NULL;
		uint32_t n = 0;

		cr_expect(count_selected(p, "{job=\"test\"}", 0, 99) == 2);
		cr_expect(count_selected(p, "{job=\"test\"}", 0, 10) == 1);
		cr_expect(count_selected(p, "{job=\"test\"}", 50, 99) == 1);
		cr_expect(count_selected(p, "{job=\"test\"}", 60, 99) == 0);
		cr_expect(count_selected(p, "heap", 0, 99) == 1);
		cr_expect(count_selected(p, "heap", 0, 19) == 0);
		cr_expect(count_selected(p, "heap", 0, 20) == 1);
		cr_expect(count_selected(p, "heap", 59, 59) == 1);
		cr_expect(count_selected(p, "none", 0, 99) == 0);
		cr_expect(has_texts(p, "", "__name__ job pod "));
		cr_expect(has_texts(p, "pod", "pod-0 pod-1 "));
		cr_expect(has_texts(p, "none", ""));
		cr_expect(!part_find(p, ls, &n, NULL));
		cr_assert(!part_labels(p, n, &mine, NULL));
		cr_expect(!labels_cmp(mine, ls));
		cr_assert(!part_groups(p, n, sample_ms(55), sample_ms(99), &g,
				       NULL),
			  "of two chunks the second");
		cr_expect(g.count == 1, "of two chunks the second");
		cr_assert(part_min(p) <= sample_ms(0));
		cr_expect(part_max(p) >= sample_ms(59));
		chunks_fini(&g);
		labels_unref(mine);
		labels_unref(ls);
		part_unref(p);
		compact_all(s);
	}
	compactor_scene_free(s);
}

Test(compactor, series_of_all_parts_are_merged_in_order)
{
	struct compactor_scene *s = compactor_scene_new();
	struct series_merger m = { 0 };
	struct labels *before = NULL;
	uint32_t *stripes;
	size_t n;

	cr_assert(!series_merger_fill(&m, NULL, 0, NULL));
	cr_expect(!m.count);
	add_head(s, 6, 0, 3);
	compact_all(s);
	begin_head(s);
	for (int i = 8; i >= 4; i--)
		insert_all(s->h, i, 3, 5);
	seal_head(s);
	cr_assert(!series_merger_fill(&m, s->parts, 2, NULL));
	cr_expect(m.count == 9);
	for (size_t i = 0; i < m.count; i++) {
		const struct merged_place *p = series_merger_places(&m, i, &n);
		struct labels *ls = NULL;

		cr_expect(
			!part_labels(s->parts[p->part], p->series, &ls, NULL));
		cr_expect(!before || labels_cmp(before, ls) < 0);
		if (n == 2) {
			struct labels *other = NULL;

			cr_assert(p[0].part == 0);
			cr_expect(p[1].part == 1);
			cr_assert(!part_labels(s->parts[1], p[1].series, &other,
					       NULL));
			cr_expect(!labels_cmp(ls, other));
			labels_unref(other);
		}
		labels_unref(before);
		before = ls;
	}
	cr_expect(m.place_count == 11, "two are in both");
	labels_unref(before);
	stripes = series_merger_stripes(&m);
	for (size_t i = 1; i < m.count; i++) {
		const struct series_merger_entry *a = &m.v[stripes[i - 1]];
		const struct series_merger_entry *b = &m.v[stripes[i]];

		cr_expect(a->target < b->target ||
			  (a->target == b->target &&
			   stripes[i - 1] < stripes[i]));
	}
	mem_free(stripes);
	series_merger_fini(&m);
	cr_assert(!m.v);
	cr_assert(!m.places);
	cr_expect(!m.count);
	compactor_scene_free(s);
}

Test(compactor, symbols_of_all_parts_are_merged)
{
	struct compactor_scene *s = compactor_scene_new();
	struct symbol_merger *l = NULL;
	uint32_t n = 0;

	add_head(s, 2, 0, 3); /* pod-0 and pod-1 */
	compact_all(s);
	begin_head(s);
	insert_all(s->h, 1, 3, 5);
	insert_all(s->h, 11, 3, 5);
	seal_head(s);
	cr_assert(!symbol_merger_new(s->parts, 2, &l, NULL));
	/* __name__ cpu heap job pod pod-0 pod-1 pod-11 test */
	cr_expect(symbol_merger_count(l) == 9);
	cr_expect(symbol_merger_bytes(l) ==
		  9 + 8 + 3 + 4 + 3 + 3 + 5 + 5 + 6 + 4);
	for (uint32_t part = 0; part < 2; part++) {
		struct labels *ls = sample_labels(1);
		struct index_series e = { 0 };

		cr_expect(!part_find(s->parts[part], ls, &n, NULL));
		cr_expect(!symbol_merger_pairs(l, part, n, &e, NULL));
		cr_expect(e.pair_count == 3, "%u", part);
		cr_assert(e.pairs[0].name == 0);
		cr_expect(e.pairs[0].value == 2);
		cr_assert(e.pairs[1].name == 3);
		cr_expect(e.pairs[1].value == 8);
		cr_assert(e.pairs[2].name == 4);
		cr_expect(e.pairs[2].value == 6);
		index_series_fini(&e);
		labels_unref(ls);
	}
	symbol_merger_free(l);
	symbol_merger_free(NULL);
	compactor_scene_free(s);
}
