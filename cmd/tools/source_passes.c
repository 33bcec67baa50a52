/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tools/source_passes.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"

#define WINDOW_MS (2LL * 3600 * 1000)

/*
 * Number of windows of a pass. With fewer windows, a tar would be read more
 * often; with more, more head blocks would be open at once.
 */
#define PASS_WINDOWS 24

/* The state of a walk. */
struct passes {
	const struct pass_visitor *v;
	/* Numbers of the windows that have profiles; see window_of(). */
	VEC(int64_t) windows;
	/* numbers of the first and last window of this pass */
	int64_t first;
	int64_t last;
	bool is_first; /* the first pass: it alone reports unreadable files */
	bool asked;    /* the file that is being read belongs to this pass */
};

/* The number of the window that a time is in; -1: the time is unknown. */
static int64_t window_of(int64_t ms)
{
	return ms < 0 ? -1 : ms / WINDOW_MS;
}

/*
 * source_visitor.wants of the first walk, which only collects the windows:
 * records the window of the profile and returns false, so that no file is read.
 */
static bool note_window(void *ctx, int64_t ms)
{
	struct passes *p = ctx;
	int64_t w = window_of(ms);

	if (!p->windows.count || p->windows.v[p->windows.count - 1] != w)
		*vec_add(&p->windows) = w;
	return false;
}

static int passes_by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The time at which a window begins. */
static int64_t window_begin(int64_t number)
{
	return number < 0 ? -1 : number * WINDOW_MS;
}

/* Sort the windows, and remove duplicates and those to leave out. */
static void sort_windows(struct passes *p)
{
	size_t kept = 0;

	qsort(p->windows.v, p->windows.count, sizeof(*p->windows.v),
	      passes_by_number);
	for (size_t i = 0; i < p->windows.count; i++) {
		if (window_begin(p->windows.v[i]) >= p->v->skip_before &&
		    (!kept || p->windows.v[i] != p->windows.v[kept - 1]))
			p->windows.v[kept++] = p->windows.v[i];
	}
	p->windows.count = kept;
}

/* source_visitor.wants of a pass: whether a time is in one of its windows. */
static bool in_window(void *ctx, int64_t ms)
{
	struct passes *p = ctx;
	int64_t w = window_of(ms);

	p->asked = w >= p->first && w <= p->last;
	return p->asked;
}

/* source_visitor.visit of a pass. */
static int passes_visit(void *ctx, const struct source_item *item,
			struct err *err)
{
	struct passes *p = ctx;

	p->asked = false;
	return p->v->visit(p->v->ctx, item, err);
}

/*
 * source_visitor.unreadable: every pass meets the same folders, but each file
 * is opened in one pass.
 */
static void passes_report(void *ctx, const struct err *err)
{
	struct passes *p = ctx;

	if (p->is_first || p->asked)
		p->v->unreadable(p->v->ctx, err);
	p->asked = false;
}

/* One pass, from window number i of the list on. */
static int run_pass(struct passes *p, const char *path, size_t i,
		    struct err *err)
{
	const struct source_visitor v = { .wants = in_window,
					  .visit = passes_visit,
					  .unreadable = passes_report,
					  .ctx = p };
	size_t last = i + PASS_WINDOWS < p->windows.count ? i + PASS_WINDOWS :
							    p->windows.count;
	int rc;

	p->first = p->windows.v[i];
	p->last = p->windows.v[last - 1];
	if (p->v->begin)
		p->v->begin(p->v->ctx, window_begin(p->first));
	rc = source_walk(path, &v, err);
	p->is_first = false;
	return rc ? rc : p->v->end(p->v->ctx, err);
}

int source_walk_passes(const char *path, const struct pass_visitor *v,
		       struct err *err)
{
	struct passes p = { .v = v };
	const struct source_visitor collect = { .wants = note_window,
						.unreadable = passes_report,
						.ctx = &p };
	int rc = source_walk(path, &collect, err);

	/*
	 * Only a pass reports what cannot be read. If the source has no
	 * profiles, add a window without profiles, so that there is a pass.
	 */
	if (!p.windows.count)
		note_window(&p, INT64_MAX);
	sort_windows(&p);
	p.is_first = true;
	for (size_t i = 0; i < p.windows.count && !rc; i += PASS_WINDOWS)
		rc = run_pass(&p, path, i, err);
	vec_fini(&p.windows);
	return rc;
}
