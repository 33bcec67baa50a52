/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/chunk/chunks.h"

#include "base/mem.h"
#include "model/types.h"

void groups_add(struct groups *g, const struct group *v)
{
	g->v = mem_grow(g->v, g->count, &g->cap, sizeof(*g->v));
	g->v[g->count++] = *v;
}

void groups_add_gap(struct groups *g, const struct gap *v)
{
	g->gaps =
		mem_grow(g->gaps, g->gap_count, &g->gap_cap, sizeof(*g->gaps));
	g->gaps[g->gap_count++] = *v;
}

void groups_fini(struct groups *g)
{
	mem_free(g->v);
	mem_free(g->gaps);
	*g = (struct groups){ 0 };
}

bool groups_hides(const struct groups *g, uint64_t at, int64_t ms)
{
	for (size_t i = 0; i < g->gap_count; i++) {
		const struct gap *gap = &g->gaps[i];

		if (at < gap->at && ms >= gap->from && ms <= gap->to)
			return true;
	}
	return false;
}

int group_head(const struct group_source *s, const struct group *g,
	       struct head *h, struct bytes *typeset, struct err *err)
{
	struct buf scratch = { 0 };
	struct bytes head = { 0 };
	struct bytes types;
	uint32_t number = 0;
	int rc = s->head(s->ctx, g, &scratch, &head, err);

	if (!rc)
		rc = head_typeset(head, &number, err);
	if (!rc) {
		types = s->typeset(s->ctx, number);
		h->total_count = (uint16_t)typeset_count(types);
		if (typeset)
			*typeset = types;
		rc = head_decode(head, h, err);
	}
	buf_fini(&scratch);
	return rc;
}

void times_add(struct times *t, int64_t ms)
{
	t->v = mem_grow(t->v, t->count, &t->cap, sizeof(*t->v));
	t->v[t->count++] = ms;
}

void times_lose(struct times *t, const struct err *why)
{
	if (!t->lost++)
		t->why = *why;
}

void times_fini(struct times *t)
{
	mem_free(t->v);
	*t = (struct times){ 0 };
}

int groups_times(const struct group_source *s, const struct groups *g,
		 int64_t from, int64_t to, struct times *out, struct err *err)
{
	struct buf scratch = { 0 };
	struct err why;
	int rc = 0;

	for (size_t i = 0; i < g->count && !rc; i++) {
		int64_t ms[GROUP_PROFILES_MAX];
		struct bytes head = { 0 };
		size_t count = 0;

		rc = s->head(s->ctx, &g->v[i], &scratch, &head, &why);
		if (!rc)
			rc = head_times(head, ms, &count, &why);
		for (size_t k = 0; k < count && !rc; k++) {
			if (ms[k] >= from && ms[k] <= to &&
			    !groups_hides(g, g->v[i].at, ms[k]))
				times_add(out, ms[k]);
		}
		if (rc == ERR_CORRUPT || rc == ERR_IO) {
			/* One unreadable head must not hide all others. */
			s->damaged(s->ctx, &g->v[i], &why);
			times_lose(out, &why);
			rc = 0;
		}
	}
	buf_fini(&scratch);
	return rc ? err_set(err, rc, "%s", why.msg) : 0;
}

int groups_find(const struct group_source *s, const struct groups *g,
		int64_t ms, struct group_hit *out, struct err *err)
{
	int rc = ERR_NOTFOUND;

	for (size_t i = 0; i < g->count; i++) {
		int failed;

		if (ms < g->v[i].first || ms > g->v[i].last ||
		    groups_hides(g, g->v[i].at, ms))
			continue;
		out->head = (struct head){ 0 };
		failed =
			group_head(s, &g->v[i], &out->head, &out->typeset, err);
		if (failed)
			rc = failed;
		else if (head_find(&out->head, ms, &out->index))
			return 0;
	}
	return rc == ERR_NOTFOUND ?
		       err_set(err, rc, "no profile at %lld", (long long)ms) :
		       rc;
}
