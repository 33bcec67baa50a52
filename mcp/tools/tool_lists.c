/* SPDX-License-Identifier: Apache-2.0 */
/* The tools list_series and list_labels. */
#include "mcp/tools/tools.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/units.h"
#include "base/vec.h"
#include "mcp/tools/tool_rows.h"
#include "model/selector.h"
#include "model/types.h"
#include "query/select/string_set.h"
#include "tsdb/query/querier.h"

enum {
	/* Of so many series of a group, the newest profile is looked for. */
	NEWEST_SERIES = 64,
	/* Bytes of the names of labels of samples, about. */
	SAMPLE_LABELS_MAX = 400
};

/* Series of one name, job and part (LABEL_PART). */
struct series_group {
	struct str name;
	struct str job;
	struct str part;
	uint64_t series;
	size_t last; /* index of a series in the selection; see `before` */
};

/* The series that a call selects, and what was found of them. */
struct listing {
	struct tool_call *call;
	struct querier *q;
	int64_t from;
	int64_t to;
	VEC(struct series_group) groups;
	/* Of each series, the series before it in its group. */
	VEC(uint32_t) before;
	struct table index;
	struct string_set texts;
	struct growth_meter meter;
};

/*
 * Select the series of a call that have profiles in a time range. The caller closes the
 * querier in any case.
 */
static int tool_lists_select(const struct tool_call *c, int64_t from,
			     int64_t to, struct querier **q, struct err *err)
{
	struct str text = tool_call_text(c, "selector");
	struct selector s = { 0 };
	int rc = text.len ? params_selector("query", text, &s, err) : 0;

	query_open(c->work, c->db, q);
	if (!rc)
		rc = query_select(c->work, *q, s.matchers, s.count, from, to,
				  err);
	selector_fini(&s);
	return rc;
}

/* Select the series of a call. The caller calls tool_lists_close() in any case. */
static int tool_lists_open(struct listing *l, struct tool_call *c,
			   struct err *err)
{
	int64_t hour = 3600 * (int64_t)1000;
	int rc;

	*l = (struct listing){ .call = c };
	rc = params_range(&c->params, c->params.now_ms - hour, c->params.now_ms,
			  &l->from, &l->to, err);
	return rc ? rc : tool_lists_select(c, l->from, l->to, &l->q, err);
}

static void tool_lists_close(struct listing *l)
{
	querier_close(l->q);
	vec_fini(&l->groups);
	vec_fini(&l->before);
	table_fini(&l->index);
	string_set_fini(&l->texts);
}

/* Account for a series, and for the memory of what was found. */
static int tool_lists_meter(struct listing *l, struct err *err)
{
	struct limits limits = query_limits(l->call->work);

	return limits_meter(&limits, &l->meter, 1,
			    vec_memory(&l->groups) + vec_memory(&l->before) +
				    table_memory(&l->index) +
				    string_set_memory(&l->texts),
			    err);
}

static bool tool_lists_same(const void *ctx, uint32_t i, const void *key)
{
	const struct listing *l = ctx;
	const struct series_group *g = key;

	return str_eq(l->groups.v[i].name, g->name) &&
	       str_eq(l->groups.v[i].job, g->job) &&
	       str_eq(l->groups.v[i].part, g->part);
}

/* Count a series in its group. */
static void tool_lists_count(struct listing *l, size_t i)
{
	const struct labels *ls = querier_labels(l->q, i);
	struct series_group g = {
		.name = labels_get(ls, str_of(LABEL_NAME)),
		.job = labels_get(ls, str_of("job")),
		.part = labels_get(ls, str_of(LABEL_PART)),
		.last = i,
	};
	uint64_t hash = hash_key(bytes_of(g.name)) ^
			(hash_key(bytes_of(g.job)) * 3) ^
			(hash_key(bytes_of(g.part)) * 5);
	uint32_t at = table_find(&l->index, hash, tool_lists_same, l, &g);

	if (at == TABLE_NONE) {
		at = (uint32_t)l->groups.count;
		table_add(&l->index, hash, at);
		*vec_add(&l->groups) = g;
	}
	*vec_add(&l->before) = (uint32_t)l->groups.v[at].last;
	l->groups.v[at].last = i;
	l->groups.v[at].series++;
}

static int tool_lists_by_name(const void *a, const void *b)
{
	const struct series_group *x = a;
	const struct series_group *y = b;
	int c = str_cmp(x->name, y->name);

	if (!c)
		c = str_cmp(x->job, y->job);
	return c ? c : str_cmp(x->part, y->part);
}

/* Add a cell with the sample types of the newest profile of a series. */
static int tool_lists_types(struct listing *l, struct tool_rows *rows, size_t i,
			    struct err *err)
{
	struct typeset *types = mem_new(struct typeset);
	struct buf encoded = { 0 };
	struct buf text = { 0 };
	int rc = querier_newest_types(l->q, i, &encoded, err);

	if (!rc && typeset_decode(buf_bytes(&encoded), types, NULL))
		types->count = 0;
	for (size_t k = 0; !rc && k < types->count; k++)
		buf_printf(&text, "%s%.*s/%.*s", k ? " " : "",
			   STR_ARG(types->types[k].type),
			   STR_ARG(types->types[k].unit));
	tool_rows_text(rows, str_from(buf_bytes(&text)));
	buf_fini(&encoded);
	buf_fini(&text);
	mem_free(types);
	/* A list without the types of a damaged profile is still a list. */
	return rc == ERR_CORRUPT || rc == ERR_NOTFOUND ? 0 : rc;
}

/* Find the series of a group that has the newest profile, and its time. */
static int tool_lists_newest(struct listing *l, const struct series_group *g,
			     size_t *series, int64_t *ms, struct err *err)
{
	size_t at = g->last;
	int rc = 0;

	*series = at;
	*ms = INT64_MIN;
	for (uint64_t i = 0; i < g->series && i < NEWEST_SERIES && !rc; i++) {
		struct times_view times = { .count = 0 };

		rc = querier_times(l->q, at, l->from, l->to, &times, err);
		/* The list also has series whose data are damaged. */
		rc = rc == ERR_CORRUPT ? 0 : rc;
		if (!rc && times.count && times.ms[times.count - 1] > *ms) {
			*ms = times.ms[times.count - 1];
			*series = at;
		}
		if (!rc)
			rc = tool_lists_meter(l, err);
		at = l->before.v[at];
	}
	return rc;
}

/* Write a group of series. */
static int tool_lists_group(struct listing *l, struct tool_rows *rows,
			    const struct series_group *g, struct err *err)
{
	char newest[40] = "";
	size_t series;
	int64_t ms;
	int rc;

	if (!tool_rows_begin(rows))
		return 0;
	rc = tool_lists_newest(l, g, &series, &ms, err);
	if (rc)
		return rc;
	if (ms != INT64_MIN)
		time_format(ms, newest);
	tool_rows_text(rows, g->name);
	tool_rows_text(rows, g->job);
	tool_rows_text(rows, g->part);
	tool_rows_number(rows, (int64_t)g->series);
	tool_rows_text(rows, str_of(newest));
	rc = tool_lists_types(l, rows, series, err);
	(void)tool_rows_end(rows);
	return rc;
}

/* Count the series that the selector has at any time. */
static int tool_lists_count_all(const struct tool_call *c, size_t *out,
				struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	int rc = tool_lists_select(c, INT64_MIN, INT64_MAX, &q, err);

	*out = rc ? 0 : querier_count(q);
	return rc;
}

/* Write how many series there are, and warnings: what comes before the rows. */
static int tool_lists_head(struct listing *l, struct err *err)
{
	struct tool_call *c = l->call;
	char from[40];
	char to[40];
	size_t all;
	int rc = tool_lists_count_all(c, &all, err);

	if (rc)
		return rc;
	time_format(l->from, from);
	time_format(l->to, to);
	buf_printf(c->text, "# %zu series have profiles from %s to %s\n",
		   querier_count(l->q), from, to);
	if (all > querier_count(l->q))
		buf_printf(
			c->text,
			"# %zu more series have profiles at other times only\n",
			all - querier_count(l->q));
	if (querier_lost(l->q))
		c->warnings[c->warning_count++] = arena_printf(
			c->arena,
			"some stored data could not be read and is left out; the first error: %s",
			querier_lost(l->q)->msg);
	tool_call_warn(c);
	return 0;
}

/* Begin the table of a list. */
static void tool_lists_begin(const struct tool_call *c, struct tool_rows *rows,
			     const char *columns)
{
	tool_rows_init(rows, columns, tool_call_number(c, "offset"),
		       tool_call_number(c, "limit"), tool_call_room(c));
}

/* Write the groups of the selected series. */
static int tool_lists_groups(struct listing *l, struct err *err)
{
	struct tool_rows rows;
	int rc = 0;

	for (size_t i = 0; i < querier_count(l->q) && !rc; i++) {
		tool_lists_count(l, i);
		rc = tool_lists_meter(l, err);
	}
	if (!rc)
		rc = tool_lists_head(l, err);
	if (rc)
		return rc;
	if (l->groups.count)
		qsort(l->groups.v, l->groups.count, sizeof(*l->groups.v),
		      tool_lists_by_name);
	tool_lists_begin(l->call, &rows,
			 "name,job," LABEL_PART
			 ",series,newest profile,sample types");
	for (size_t i = 0; i < l->groups.count && !rc; i++)
		rc = tool_lists_group(l, &rows, &l->groups.v[i], err);
	if (!rc)
		tool_call_end(l->call, &rows, "kinds of profiles", "");
	tool_rows_fini(&rows);
	return rc;
}

int tool_list_series(struct tool_call *c, struct err *err)
{
	struct listing l;
	int rc = tool_lists_open(&l, c, err);

	if (!rc)
		rc = tool_lists_groups(&l, err);
	tool_lists_close(&l);
	return rc;
}

/* Collect the names of the labels of a series, or its value of a label. */
static int tool_lists_collect(struct listing *l, const struct labels *ls,
			      struct str label, struct str contains,
			      struct err *err)
{
	struct labels_iter it = labels_iter(ls);
	struct label one;

	while (labels_next(&it, &one)) {
		struct str text = label.len ? one.value : one.name;

		if ((!label.len || str_eq(one.name, label)) &&
		    str_contains_nocase(text, contains))
			(void)string_set_add(&l->texts, text);
	}
	return tool_lists_meter(l, err);
}

/* Append the name of a label that samples have. */
static void tool_lists_sample(void *ctx, struct str name)
{
	struct buf *out = ctx;

	if (out->len > SAMPLE_LABELS_MAX)
		return;
	buf_str(out, out->len ? ", " : "");
	tool_rows_name(out, name, ROWS_NAME_MAX);
}

/* Write which labels samples have: they are no labels of series. */
static void tool_lists_samples(struct tool_call *c)
{
	struct buf names = { 0 };
	bool is_all = tsdb_sample_labels(c->db, tool_lists_sample, &names);

	if (names.len)
		buf_printf(c->text, "# labels of samples, for tagfocus: %s%s\n",
			   buf_cstr(&names),
			   is_all && names.len <= SAMPLE_LABELS_MAX ?
				   "" :
				   ", and more");
	buf_fini(&names);
}

int tool_list_labels(struct tool_call *c, struct err *err)
{
	struct str label = tool_call_text(c, "label");
	struct str contains = tool_call_text(c, "contains");
	struct tool_rows rows = { 0 };
	struct listing l;
	int rc = tool_lists_open(&l, c, err);

	for (size_t i = 0; !rc && i < querier_count(l.q); i++)
		rc = tool_lists_collect(&l, querier_labels(l.q, i), label,
					contains, err);
	if (!rc)
		rc = tool_lists_head(&l, err);
	if (!rc) {
		if (!label.len)
			tool_lists_samples(c);
		string_set_sort_by_count(&l.texts);
		tool_lists_begin(c, &rows,
				 label.len ? "value,series" : "label,series");
	}
	for (size_t i = 0; !rc && i < l.texts.count; i++) {
		if (!tool_rows_begin(&rows))
			continue;
		tool_rows_text(&rows, l.texts.v[i].text);
		tool_rows_number(&rows, (int64_t)l.texts.v[i].added);
		(void)tool_rows_end(&rows);
	}
	if (!rc)
		tool_call_end(c, &rows, label.len ? "values" : "labels", "");
	tool_rows_fini(&rows);
	tool_lists_close(&l);
	return rc;
}
