/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/series, labels, label/NAME/values and profile_types: lists of stored
 * series, labels and profile types.
 */
#include "web/api/api.h"

#include "model/selector.h"
#include "model/types.h"
#include "query/select/string_set.h"
#include "web/api/context.h"
#include "web/api/envelope.h"

/*
 * A query for series. `fn` is called for each series that one of the match[]
 * selectors matches, or for every series if the request has no match[].
 */
struct series_query {
	struct web *web;
	struct request *request;
	int64_t from;
	int64_t to;
	int64_t limit; /* largest number of results; 0: no limit */
	struct answer *answer;
	struct querier *q;
	int64_t taken; /* bytes taken for the current selection */
	int (*fn)(void *ctx, struct labels *ls, struct err *err);
	void *ctx;
};

/*
 * Call s->fn for each series that one selector matches. This is done for each
 * match[] parameter, so a series that several of them match is passed several
 * times.
 */
static int each_selected(struct series_query *s, const struct matcher *v,
			 size_t count, struct err *err)
{
	struct query_work *work = &s->answer->work;
	int rc;

	/* The querier forgets the previous selection. */
	query_give(work, s->taken);
	s->taken = 0;
	rc = query_select_all(work, s->q, v, count, s->from, s->to, err);
	if (!rc)
		s->taken = (int64_t)querier_memory(s->q);
	for (size_t i = 0; i < querier_count(s->q) && !rc; i++) {
		if (i % 1024 == 0)
			rc = query_check_deadline(work, err);
		if (!rc)
			rc = s->fn(s->ctx, querier_labels(s->q, i), err);
	}
	return rc;
}

/* Call s->fn for the series of all match[] parameters, or for every series. */
static int each_series(struct series_query *s, struct err *err)
{
	const struct request *r = s->request;
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < r->params.count && rc >= 0; i++) {
		struct selector sel;

		if (!str_is(r->params.v[i].name, "match[]"))
			continue;
		any = true;
		rc = params_selector("match[]", r->params.v[i].value, &sel,
				     err);
		if (rc)
			break;
		rc = each_selected(s, sel.matchers, sel.count, err);
		selector_fini(&sel);
	}
	if (!any && !rc)
		rc = each_selected(s, NULL, 0, err);
	return rc;
}

/* Parse the time range and the limit. On success, open the querier. */
static int begin_query(struct series_query *s, struct err *err)
{
	int rc = params_range(&s->request->params, INT64_MIN, INT64_MAX,
			      &s->from, &s->to, err);

	if (!rc)
		rc = params_count(&s->request->params, "limit", 0, &s->limit,
				  err);
	if (!rc)
		query_open(&s->answer->work, s->web->o.db, &s->q);
	return rc;
}

/* The same words as in Prometheus, because clients may search for them. */
static const char limit_warning[] = "results truncated due to limit";

/* The results that a listing has collected so far, and its limit. */
struct listing {
	struct string_set texts; /* results collected, without duplicates */
	struct json j;
	struct answer *answer;
	struct growth_meter meter; /* of the texts and the work */
	struct str name;           /* label whose values are listed */
	struct str contains;       /* only results with this text; empty: all */
	bool counts;  /* whether to count the series of each result */
	bool several; /* whether there are several selectors */
	/*
	 * The series that were counted already; used only if `counts` and
	 * `several` are set.
	 */
	struct string_set seen;
	int64_t limit; /* largest number of results; 0: no limit */
	int64_t written;
	bool more; /* whether results were left out because of `limit` */
	/*
	 * The first error in collect_text(), whose caller takes none, and where
	 * its text goes; 0: none.
	 */
	int rc;
	struct err *err;
};

/* Account for one text, and for the memory of the texts collected so far. */
static int listing_meter(struct listing *l, struct err *err)
{
	struct limits limits = query_limits(&l->answer->work);

	return limits_meter(&limits, &l->meter, 1,
			    string_set_memory(&l->texts) +
				    string_set_memory(&l->seen),
			    err);
}

/*
 * Callback for each selected series: write it, unless an earlier selector has
 * matched the same series.
 */
static int write_one(void *ctx, struct labels *ls, struct err *err)
{
	struct listing *l = ctx;
	int rc;

	if (!string_set_add(&l->texts, str_from(labels_bytes(ls))))
		return 0;
	rc = listing_meter(l, err);
	if (rc)
		return rc;
	if (l->limit && l->written == l->limit) {
		l->more = true;
		return 0;
	}
	labels_json(ls, &l->j);
	l->written++;
	return query_take_output(&l->answer->work, err);
}

void api_series(void *ctx, struct request *r, struct answer *a)
{
	struct listing l = { .answer = a };
	struct series_query s = {
		.web = ctx,
		.request = r,
		.answer = a,
		.fn = write_one,
		.ctx = &l,
	};
	struct err err;
	struct str any;
	int rc = params_find(&r->params, "match[]", &any) ?
			 begin_query(&s, &err) :
			 err_set(&err, ERR_INVALID,
				 "no match[] parameter provided");

	if (!rc) {
		l.limit = s.limit;
		l.j = envelope_begin(a);
		json_begin(&l.j, '[');
		rc = each_series(&s, &err);
	}
	if (!rc) {
		json_end(&l.j, ']');
		envelope_end(&l.j, a,
			     (const char *const[]){
				     l.more ? limit_warning : NULL, NULL });
	}
	string_set_fini(&l.texts);
	querier_close(s.q);
	if (rc)
		answer_error(a, &err);
}

/* Write a text with the number of its series. */
static void write_count(struct json *j, const struct string_count *c)
{
	json_begin(j, '{');
	json_key(j, "value");
	json_str(j, c->text);
	json_key(j, "series");
	json_int(j, (int64_t)c->added);
	json_end(j, '}');
}

/*
 * Answer with a list of texts, at most `limit` of them: in byte order, or by
 * their number of series.
 */
static int answer_texts(struct listing *l, int64_t limit, struct err *err)
{
	struct json j = envelope_begin(l->answer);
	struct string_set *t = &l->texts;
	int64_t n = 0;
	bool more = false;
	int rc = 0;

	if (l->counts)
		string_set_sort_by_count(t);
	else
		string_set_sort(t);
	json_begin(&j, '[');
	for (size_t i = 0; i < t->count && !more && !rc; i++) {
		rc = listing_meter(l, err);
		if (!str_contains_nocase(t->v[i].text, l->contains))
			continue;
		more = limit && n == limit;
		if (!more && l->counts)
			write_count(&j, &t->v[i]);
		else if (!more)
			json_str(&j, t->v[i].text);
		n++;
		if (!rc)
			rc = query_take_output(&l->answer->work, err);
	}
	json_end(&j, ']');
	envelope_end(
		&j, l->answer,
		(const char *const[]){ more ? limit_warning : NULL, NULL });
	return rc;
}

/*
 * Whether a series is to be counted: false if an earlier selector has matched
 * it.
 */
static bool see_series(struct listing *l, struct labels *ls)
{
	return !l->counts || !l->several ||
	       string_set_add(&l->seen, str_from(labels_bytes(ls)));
}

/* Callback for each selected series: collect its label names. */
static int collect_names(void *ctx, struct labels *ls, struct err *err)
{
	struct listing *l = ctx;
	struct labels_iter it = labels_iter(ls);
	struct label label;
	bool first = see_series(l, ls);

	while (first && labels_next(&it, &label))
		string_set_add(&l->texts, label.name);
	return listing_meter(l, err);
}

/* Callback for each selected series: collect its value of the label `name`. */
static int collect_values(void *ctx, struct labels *ls, struct err *err)
{
	struct listing *l = ctx;
	struct str value = labels_get(ls, l->name);

	if (see_series(l, ls) && value.len)
		string_set_add(&l->texts, value);
	return listing_meter(l, err);
}

/* Callback of the querier for each text in a label index: collect the text. */
static void collect_text(void *ctx, struct str text)
{
	struct listing *l = ctx;

	if (l->rc)
		return;
	string_set_add(&l->texts, text);
	l->rc = listing_meter(l, l->err);
}

/*
 * Collect label names or values. Without match[] and without counts they are
 * read directly from the label indexes, without reading series.
 */
static int api_labels_collect(struct series_query *s, struct listing *l,
			      struct err *err)
{
	struct str any;
	int rc = 0;

	if (l->counts || params_find(&s->request->params, "match[]", &any))
		return each_series(s, err);
	l->err = err;
	rc = querier_texts(s->q, l->name, s->from, s->to, collect_text, l, err);
	return rc ? rc : l->rc;
}

/* Answer a request for label names or values. */
static void list_texts(struct series_query *s, struct listing *l)
{
	struct str any;
	size_t at = 0;
	size_t selectors = 0;
	struct err err;
	int rc;

	s->ctx = l;
	l->counts = params_is_on(&s->request->params, "counts");
	(void)params_find(&s->request->params, "contains", &l->contains);
	while (params_next(&s->request->params, "match[]", &at, &any))
		selectors++;
	l->several = selectors > 1;
	rc = begin_query(s, &err);
	if (!rc)
		rc = api_labels_collect(s, l, &err);
	if (!rc)
		rc = answer_texts(l, s->limit, &err);
	if (rc)
		answer_error(l->answer, &err);
	string_set_fini(&l->texts);
	string_set_fini(&l->seen);
	querier_close(s->q);
}

void api_labels(void *ctx, struct request *r, struct answer *a)
{
	struct listing l = { .answer = a };
	struct series_query s = {
		.web = ctx, .request = r, .answer = a, .fn = collect_names
	};

	list_texts(&s, &l);
}

void api_label_values(void *ctx, struct request *r, struct answer *a)
{
	struct listing l = { .answer = a, .name = r->segment };
	struct series_query s = {
		.web = ctx, .request = r, .answer = a, .fn = collect_values
	};

	list_texts(&s, &l);
}

/* The following functions answer /api/v1/profile_types. */

/*
 * The sample types of a profile type are read from this many of its series, and
 * of each series only from the newest profile. Reading all series would be
 * slow, and their sample types rarely differ.
 */
#define SERIES_A_TYPE 16

/* Write the sample types of one profile type as a JSON object. */
static void write_types(struct json *j, struct str name,
			const struct typeset *t)
{
	json_begin(j, '{');
	json_key(j, "name");
	json_str(j, name);
	json_key(j, "sampleTypes");
	json_begin(j, '[');
	for (size_t i = 0; i < t->count; i++) {
		json_begin(j, '{');
		json_key(j, "type");
		json_str(j, t->types[i].type);
		json_key(j, "unit");
		json_str(j, t->types[i].unit);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_key(j, "defaultSampleType");
	json_str(j, t->default_type);
	json_end(j, '}');
}

/*
 * Add to `into` the sample types of `from` that it lacks. Profiles of different
 * versions of a program may have different sample types. The first type set
 * decides the default.
 */
static void merge_types(struct typeset *into, const struct typeset *from)
{
	if (!into->count && from->count)
		into->default_type = from->types[typeset_default(from)].type;
	for (size_t i = 0; i < from->count; i++) {
		const struct value_type *v = &from->types[i];
		bool known = false;

		for (size_t k = 0; k < into->count && !known; k++)
			known = str_eq(into->types[k].type, v->type) &&
				str_eq(into->types[k].unit, v->unit);
		if (!known && into->count < TYPES_MAX)
			into->types[into->count++] = *v;
	}
}

/*
 * Write one profile type with its sample types: those of the newest profile of
 * each of its first SERIES_A_TYPE series.
 */
static int api_labels_write_name(struct series_query *s, struct str name,
				 struct json *j, struct err *err)
{
	struct arena arena = { 0 };
	struct querier *q = s->q;
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of(LABEL_NAME),
			     .value = name };
	struct typeset *all;
	struct typeset *one;
	const struct matcher_list named = { &m, 1 };
	int rc = querier_select_any(q, &named, 1, SERIES_A_TYPE, INT64_MIN,
				    INT64_MAX, err);

	if (rc)
		return rc;
	all = arena_new(&arena, struct typeset);
	one = arena_new(&arena, struct typeset);
	for (size_t i = 0; i < querier_count(q) && i < SERIES_A_TYPE; i++) {
		struct buf encoded = { 0 };
		struct bytes copy;

		if (querier_newest_types(q, i, &encoded, NULL)) {
			buf_fini(&encoded);
			/*
			 * The newest profile is damaged: continue with the next
			 * series.
			 */
			continue;
		}
		copy = bytes_of(
			arena_str(&arena, str_from(buf_bytes(&encoded))));
		buf_fini(&encoded);
		if (!typeset_decode(copy, one, NULL))
			merge_types(all, one);
	}
	write_types(j, name, all);
	arena_fini(&arena);
	return query_take_output(&s->answer->work, err);
}

void api_profile_types(void *ctx, struct request *r, struct answer *a)
{
	struct listing l = { .answer = a, .name = str_of(LABEL_NAME) };
	struct series_query s = {
		.web = ctx,
		.request = r,
		.answer = a,
		.fn = collect_values,
		.ctx = &l,
	};
	struct json j;
	struct err err;
	int rc = begin_query(&s, &err);

	if (!rc)
		rc = api_labels_collect(&s, &l, &err);
	if (!rc) {
		string_set_sort(&l.texts);
		j = envelope_begin(a);
		json_begin(&j, '[');
		for (size_t i = 0; i < l.texts.count && !rc; i++)
			rc = api_labels_write_name(&s, l.texts.v[i].text, &j,
						   &err);
	}
	if (!rc) {
		json_end(&j, ']');
		envelope_end(&j, a, NULL);
	}
	string_set_fini(&l.texts);
	querier_close(s.q);
	if (rc)
		answer_error(a, &err);
}
