/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/chunk/chunks.h"

#include "base/mem.h"
#include "model/types.h"

void chunks_add(struct chunks *g, const struct chunk *v)
{
	g->v = mem_grow(g->v, g->count, &g->cap, sizeof(*g->v));
	g->v[g->count++] = *v;
}

void chunks_add_tombstone(struct chunks *g, const struct tombstone_interval *v)
{
	g->gaps =
		mem_grow(g->gaps, g->gap_count, &g->gap_cap, sizeof(*g->gaps));
	g->gaps[g->gap_count++] = *v;
}

/* The elements of the list of chunks own no memory. */
void chunks_fini(struct chunks *g)
{
	mem_free(g->v);
	mem_free(g->gaps);
	*g = (struct chunks){ 0 };
}

/*
 * Whether the profile was stored before a deletion follows from the place of
 * its chunk's metadata: the LSN of a profile in a chunk is no longer known.
 */
bool chunks_hides(const struct chunks *g, uint64_t at, int64_t ms)
{
	for (size_t i = 0; i < g->gap_count; i++) {
		const struct tombstone_interval *gap = &g->gaps[i];

		if (at < gap->at && ms >= gap->from && ms <= gap->to)
			return true;
	}
	return false;
}

/*
 * Decode metadata that `s` has read, as chunk_read_meta() does. The metadata
 * does not contain the number of totals, which follows from the type set. So
 * the number of the type set is decoded first.
 */
static int chunk_decode_meta(const struct chunk_source *s, struct bytes head,
			     struct chunk_meta *h, struct bytes *typeset,
			     struct err *err)
{
	struct bytes types;
	uint32_t number = 0;
	int rc = chunk_meta_typeset(head, &number, err);

	if (rc)
		return rc;
	types = s->typeset(s->ctx, number);
	h->total_count = (uint16_t)typeset_count(types);
	if (typeset)
		*typeset = types;
	return chunk_meta_decode(head, h, err);
}

int chunk_name_meta(const struct chunk_source *s, const struct chunk *g, int rc,
		    struct err *err)
{
	if (!s->numbered)
		return err_wrap(err, rc, "%s/groups at offset %llu", s->path,
				(unsigned long long)g->at);
	return err_wrap(err, rc, "%s/chunks/%06llu at offset %u", s->path,
			(unsigned long long)(g->at >> 32) + 1, (uint32_t)g->at);
}

int chunk_read_meta(const struct chunk_source *s, const struct chunk *g,
		    struct chunk_meta *h, struct bytes *typeset,
		    struct err *err)
{
	struct buf scratch = { 0 };
	struct bytes head = { 0 };
	int rc = s->meta(s->ctx, g, &scratch, &head, err);

	if (!rc) {
		rc = chunk_decode_meta(s, head, h, typeset, err);
		if (rc)
			chunk_name_meta(s, g, rc, err);
	}
	buf_fini(&scratch);
	return rc;
}

void times_add(struct times *t, int64_t ms)
{
	t->v = mem_grow(t->v, t->count, &t->cap, sizeof(*t->v));
	t->v[t->count++] = ms;
}

/*
 * Count a chunk that could not be read. Of all errors, only the first is kept.
 */
static void times_lose(struct times *t, const struct err *why)
{
	if (!t->lost++)
		t->why = *why;
}

void times_fini(struct times *t)
{
	mem_free(t->v);
	*t = (struct times){ 0 };
}

/*
 * Chunk metadata is read from disk for each chunk, but only its times are
 * decoded, not totals and hashes.
 */
int chunks_times(const struct chunk_source *s, const struct chunks *g,
		 int64_t from, int64_t to, struct times *out, struct err *err)
{
	struct buf scratch = { 0 };
	struct err why;
	int rc = 0;

	for (size_t i = 0; i < g->count && !rc; i++) {
		int64_t ms[CHUNK_PROFILES_MAX];
		struct bytes head = { 0 };
		size_t count = 0;

		rc = s->meta(s->ctx, &g->v[i], &scratch, &head, &why);
		if (!rc && chunk_meta_times(head, ms, &count, &why))
			rc = chunk_name_meta(s, &g->v[i], ERR_CORRUPT, &why);
		for (size_t k = 0; k < count && !rc; k++) {
			if (ms[k] >= from && ms[k] <= to &&
			    !chunks_hides(g, g->v[i].at, ms[k]))
				times_add(out, ms[k]);
		}
		if (rc == ERR_CORRUPT || rc == ERR_IO) {
			/* One unreadable chunk must not hide all others. */
			s->damaged(s->ctx, &g->v[i], &why);
			times_lose(out, &why);
			rc = 0;
		}
	}
	buf_fini(&scratch);
	return rc ? err_set(err, rc, "%s", why.msg) : 0;
}

/*
 * The search continues after an unreadable chunk, because another chunk may
 * have the profile. The error is returned only if no other chunk has it.
 */
int chunks_find(const struct chunk_source *s, const struct chunks *g,
		int64_t ms, struct chunk_hit *out, struct err *err)
{
	int rc = ERR_NOTFOUND;

	for (size_t i = 0; i < g->count; i++) {
		int failed;

		/*
		 * Skip, without reading its metadata, a chunk that cannot
		 * contain the time, or in which a tombstone interval hides this
		 * time.
		 */
		if (ms < g->v[i].first || ms > g->v[i].last ||
		    chunks_hides(g, g->v[i].at, ms))
			continue;
		out->meta = (struct chunk_meta){ 0 };
		failed = chunk_read_meta(s, &g->v[i], &out->meta, &out->typeset,
					 err);
		if (failed)
			rc = failed;
		else if (chunk_meta_find(&out->meta, ms, &out->index))
			return 0;
	}
	return rc == ERR_NOTFOUND ?
		       err_set(err, rc, "the series has no profile at %lld ms",
			       (long long)ms) :
		       rc;
}
