/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/answer_lists.h"

#include "base/wire_write.h"
#include "pyroscope/answer/sample_visit.h"
#include "pyroscope/answer/type_list.h"
#include "pyroscope/names/service.h"
#include "query/select/string_set.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/open/tsdb.h"

/* Names of labels that every profile has, although no series has them. */
static const char *const virtual_names[] = {
	SERVICE_NAME, "__service_name__", PROFILE_TYPE_LABEL, "__type__",
	"__unit__",   "__period_type__",  "__period_unit__",
};

/* Texts that are collected for an answer. */
struct collection {
	struct pyroscope_call *call;
	struct string_set texts;
	/* Further texts that are kept until the end; NULL: none. */
	const struct string_set *others;
	struct growth_meter meter;
	struct str name; /* of the label whose values are collected */
	size_t series;   /* whose names of labels were collected */
	int rc;          /* of a callback that can return none */
	struct err *err;
};

/*
 * Account for some work and for the texts; twice, as they are written to the
 * answer.
 */
static int collection_meter(struct collection *l, size_t work, struct err *err)
{
	struct limits limits = query_limits(l->call->work);
	size_t memory = 2 * string_set_memory(&l->texts) +
			(l->others ? string_set_memory(l->others) : 0);

	return limits_meter(&limits, &l->meter, work, memory, err);
}

/* Add a text, and account for it. */
static int collection_add(struct collection *l, struct str text,
			  struct err *err)
{
	string_set_add(&l->texts, text);
	return collection_meter(l, 1, err);
}

/* Callback for each text of an index. */
static void collection_take(void *ctx, struct str text)
{
	struct collection *l = ctx;

	if (!l->rc)
		l->rc = collection_add(l, text, l->err);
}

/* Write the texts in byte order as a repeated field. */
static void collection_write(struct collection *l, uint32_t number)
{
	string_set_sort(&l->texts);
	for (size_t i = 0; i < l->texts.count; i++)
		wire_write_bytes(l->call->out, number,
				 bytes_of(l->texts.v[i].text));
}

/* What is done with the series of a list. */
struct list_work {
	querier_walk_fn walk;  /* called for each series, … */
	sample_visit_fn visit; /* or for each label set of its samples */
	bool is_of_samples;    /* whether labels of samples are listed */
	void *ctx;
};

/* Do the work for the series of one query, whose samples have to be looked at. */
static int answer_lists_visit(struct pyroscope_call *c,
			      struct profile_query *query,
			      const struct list_work *w, struct err *err)
{
	struct sample_visit v = { .call = c,
				  .query = query,
				  .fn = w->visit,
				  .ctx = w->ctx,
				  .lists_samples = w->is_of_samples };
	int rc;

	call_range(c, &v.from, &v.to);
	rc = call_select(c, query, v.from, v.to, &v.q, err);
	if (!rc)
		rc = sample_visit_run(&v, err);
	call_note_lost(c, v.q);
	querier_close(v.q);
	return rc;
}

/* Do the work for the series of one query; some are passed several times. */
static int answer_lists_walk(struct pyroscope_call *c,
			     struct profile_query *query,
			     const struct list_work *w, struct err *err)
{
	struct querier *q = NULL;
	int64_t from;
	int64_t to;
	int rc;

	call_range(c, &from, &to);
	query_open(c->work, c->db, &q);
	rc = call_walk(q, query, from, to, w->walk, w->ctx, err);
	call_note_lost(c, q);
	querier_close(q);
	return rc;
}

/*
 * Do the work for the series that one of the matchers of the request selects, or for
 * all series if it has none.
 */
static int answer_lists_each(struct pyroscope_call *c,
			     const struct list_work *w, struct err *err)
{
	const struct sample_label_test samples = call_sample_labels(c);
	const struct request_texts *m = &c->request.matchers;
	int rc = 0;

	for (size_t i = 0; (i < m->count || !i) && !rc; i++) {
		struct str text = m->count ? m->v[i] : str_of("");
		struct profile_query query;

		rc = profile_query_parse(&query, &samples, str_of(""), text,
					 err);
		if (!rc)
			rc = w->is_of_samples || query.sample_count ?
				     answer_lists_visit(c, &query, w, err) :
				     answer_lists_walk(c, &query, w, err);
		profile_query_fini(&query);
	}
	return rc;
}

/* Whether no matcher of the request says anything. */
static bool answer_lists_all(const struct pyroscope_call *c)
{
	for (size_t i = 0; i < c->request.matchers.count; i++) {
		struct str text = str_trim(c->request.matchers.v[i]);

		if (text.len && !str_is(text, "{}"))
			return false;
	}
	return true;
}

/* Whether clients without support for other names understand a name. */
static bool answer_lists_is_plain(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char ch = name.ptr[i];
		bool is_letter = (ch >= 'a' && ch <= 'z') ||
				 (ch >= 'A' && ch <= 'Z') || ch == '_';

		if (!is_letter && !(i && ch >= '0' && ch <= '9'))
			return false;
	}
	return name.len;
}

/* Callback for each series: collect the names of its labels. */
static int answer_lists_add_names(void *ctx, const struct labels *ls,
				  struct err *err)
{
	struct collection *l = ctx;
	struct labels_iter it = labels_iter(ls);
	struct label label;
	int rc = 0;

	l->series++;
	while (!rc && labels_next(&it, &label))
		rc = collection_add(l, label.name, err);
	return rc;
}

/* Collect texts of the indexes: values of a label, or names of labels. */
static int answer_lists_texts(struct collection *l, struct str name,
			      struct err *err)
{
	struct querier *q = NULL;
	int64_t from;
	int64_t to;
	int rc;

	call_range(l->call, &from, &to);
	query_open(l->call->work, l->call->db, &q);
	l->err = err;
	rc = querier_texts(q, name, from, to, collection_take, l, err);
	call_note_lost(l->call, q);
	querier_close(q);
	return rc ? rc : l->rc;
}

/* Implement sample_visit_fn: collect the names of labels. */
static int answer_lists_visit_names(void *ctx, const struct sample_visit *v,
				    const struct label_view *labels,
				    struct err *err)
{
	const struct labels *ls = querier_labels(v->q, v->series);
	int rc = v->is_first ? answer_lists_add_names(ctx, ls, err) : 0;

	for (uint32_t i = 0; i < label_view_count(labels) && !rc; i++) {
		struct str name;
		struct str value;

		if (label_view_get(labels, i, &name, &value) &&
		    sample_label_is_shown(name))
			rc = collection_add(ctx, name, err);
	}
	return rc;
}

/* Callback for each name that labels of samples have had. */
static void collection_take_sample_label(void *ctx, struct str name)
{
	if (sample_label_is_shown(name))
		collection_take(ctx, name);
}

/* Of at most so many series, samples are looked at for the names of their labels. */
#define SERIES_LOOKED 1000

/*
 * Collect the names of labels. `of_samples` are those that samples of any profile have
 * had; `is_all`: they had no others. Of many series they are all listed, as it would
 * take too long to find out which of them these series have.
 */
static int answer_lists_names(struct collection *l,
			      const struct collection *of_samples, bool is_all,
			      struct err *err)
{
	struct list_work work = { .walk = answer_lists_add_names,
				  .visit = answer_lists_visit_names,
				  .ctx = l };
	bool everything = answer_lists_all(l->call) && is_all;
	int rc = everything ? answer_lists_texts(l, str_of(""), err) :
			      answer_lists_each(l->call, &work, err);

	work.is_of_samples = of_samples->texts.count || !is_all;
	if (!rc && work.is_of_samples && !everything &&
	    l->series <= SERIES_LOOKED)
		return answer_lists_each(l->call, &work, err);
	for (size_t i = 0; i < of_samples->texts.count && !rc; i++)
		rc = collection_add(l, of_samples->texts.v[i].text, err);
	return rc;
}

int answer_label_names(struct pyroscope_call *c, struct err *err)
{
	struct collection of_samples = { .call = c, .err = err };
	struct collection l = { .call = c, .others = &of_samples.texts };
	struct collection shown = { .call = c, .others = &l.texts };
	bool is_all = tsdb_sample_labels(c->db, collection_take_sample_label,
					 &of_samples);
	int rc = of_samples.rc;

	if (!rc)
		rc = answer_lists_names(&l, &of_samples, is_all, err);
	for (size_t i = 0;
	     !rc && l.texts.count && i < ARRAY_SIZE(virtual_names); i++)
		rc = collection_add(&l, str_of(virtual_names[i]), err);
	for (size_t i = 0; !rc && i < l.texts.count; i++) {
		struct str name = l.texts.v[i].text;

		if (c->all_names || answer_lists_is_plain(name))
			rc = collection_add(&shown, name, err);
	}
	if (!rc)
		collection_write(&shown, 1);
	string_set_fini(&of_samples.texts);
	string_set_fini(&l.texts);
	string_set_fini(&shown.texts);
	return rc;
}

/* Return the value of a label of a series that no profile type decides. */
static struct str answer_lists_value(const struct labels *ls, struct str name)
{
	if (service_is_label(name))
		return service_of(ls);
	if (str_is(name, LABEL_NAME))
		return profile_id_shown(labels_get(ls, name));
	return labels_get(ls, name);
}

/* Callback for each series: collect its value of a label. */
static int answer_lists_add_value(void *ctx, const struct labels *ls,
				  struct err *err)
{
	struct collection *l = ctx;
	struct str value = answer_lists_value(ls, l->name);

	return value.len ? collection_add(l, value, err) : 0;
}

/* Return the value that samples have of a label. */
static struct str answer_lists_sample_value(const struct label_view *labels,
					    struct str name)
{
	return sample_label_is_shown(name) ? label_view_text(labels, name) :
					     str_of("");
}

/* Implement sample_visit_fn: collect values of a label. */
static int answer_lists_visit_value(void *ctx, const struct sample_visit *v,
				    const struct label_view *labels,
				    struct err *err)
{
	const struct labels *ls = querier_labels(v->q, v->series);
	struct collection *l = ctx;
	struct str value = answer_lists_value(ls, l->name);
	bool is_of_series = value.len;
	int rc = 0;

	if (!is_of_series)
		value = answer_lists_sample_value(labels, l->name);
	if (value.len)
		rc = collection_add(l, value, err);
	return rc ? rc : is_of_series || !v->lists_samples;
}

/* So many series that are alike tell the profile types of all of them. */
#define SERIES_ALIKE 3

/* Series of which the profile types are asked. */
struct typed {
	struct collection *to;
	struct string_set seen; /* what tells series apart, of those known */
	struct type_list types;
	/*
	 * Append what tells series apart beside their services and names; NULL:
	 * nothing.
	 */
	void (*key)(const struct typed *t, const struct labels *ls,
		    struct buf *out);
	/* Collect an id of a series. */
	int (*take)(struct typed *t, const struct labels *ls,
		    const struct profile_id *id, struct err *err);
};

/* Callback for each series: select a few of those that are alike. */
static int answer_lists_pick(void *ctx, const struct labels *ls,
			     struct err *err)
{
	struct typed *t = ctx;
	struct str stored = labels_get(ls, str_of(LABEL_NAME));
	struct str service = service_of(ls);
	struct buf key = { 0 };
	bool is_new = false;
	int rc;

	buf_add(&key, stored.ptr, stored.len);
	buf_byte(&key, 0);
	buf_add(&key, service.ptr, service.len);
	buf_byte(&key, 0);
	if (t->key)
		t->key(t, ls, &key);
	for (int i = 0; i < SERIES_ALIKE && !is_new; i++) {
		is_new = string_set_add(&t->seen, str_from(buf_bytes(&key)));
		buf_byte(&key, 0);
	}
	buf_fini(&key);
	rc = collection_meter(t->to, 1 + t->to->call->request.label_names.count,
			      err);
	return rc ? rc : is_new;
}

/* Collect the ids of a series that is selected. */
static int answer_lists_take_series(struct typed *t, struct querier *q,
				    size_t i, struct err *err)
{
	int rc;

	type_list_reset(&t->types);
	rc = type_list_add(&t->types, q, i, err);
	for (size_t k = 0; k < t->types.ids.count && !rc; k++)
		rc = t->take(t, querier_labels(q, i), &t->types.ids.v[k], err);
	return rc;
}

/* Collect the ids of the series that were selected. */
static int answer_lists_take_ids(struct typed *t, struct querier *q,
				 struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < querier_count(q) && !rc; i++)
		rc = answer_lists_take_series(t, q, i, err);
	return rc;
}

/* Implement sample_visit_fn: collect the ids of a few series that are alike. */
static int answer_lists_visit_ids(void *ctx, const struct sample_visit *v,
				  const struct label_view *labels UNUSED,
				  struct err *err)
{
	int rc = answer_lists_pick(ctx, querier_labels(v->q, v->series), err);

	if (rc == 1)
		rc = answer_lists_take_series(ctx, v->q, v->series, err);
	return rc ? rc : 1;
}

/* Collect ids of the series that a query selects. */
static int answer_lists_type_series(struct typed *t,
				    struct profile_query *query,
				    struct err *err)
{
	const struct list_work by_samples = { .visit = answer_lists_visit_ids,
					      .ctx = t };
	struct pyroscope_call *c = t->to->call;
	struct querier *q = NULL;
	int64_t from;
	int64_t to;
	int rc;

	if (query->sample_count)
		return answer_lists_visit(c, query, &by_samples, err);
	call_range(c, &from, &to);
	query_open(c->work, c->db, &q);
	rc = call_walk(q, query, from, to, answer_lists_pick, t, err);
	if (!rc)
		rc = answer_lists_take_ids(t, q, err);
	call_note_lost(c, q);
	querier_close(q);
	return rc;
}

/* The same for all matchers of the request, or for all series. */
static int answer_lists_typed(struct typed *t, struct err *err)
{
	const struct sample_label_test samples =
		call_sample_labels(t->to->call);
	const struct request_texts *m = &t->to->call->request.matchers;
	int rc = 0;

	t->to->others = &t->seen;
	type_list_init(&t->types, t->to->call);
	for (size_t i = 0; (i < m->count || !i) && !rc; i++) {
		struct profile_query query;

		rc = profile_query_parse(&query, &samples, str_of(""),
					 m->count ? m->v[i] : str_of(""), err);
		if (!rc)
			rc = answer_lists_type_series(t, &query, err);
		profile_query_fini(&query);
	}
	type_list_fini(&t->types);
	t->to->others = NULL;
	string_set_fini(&t->seen);
	return rc;
}

/* Collect the value that a label of profile types has for an id. */
static int answer_lists_add_part(struct collection *l,
				 const struct profile_id *id, struct err *err)
{
	struct buf text = { 0 };
	int rc = 0;

	profile_id_part(id, l->name, &text);
	if (text.len)
		rc = collection_add(l, str_from(buf_bytes(&text)), err);
	buf_fini(&text);
	return rc;
}

/* Implement typed.take for the values of a label. */
static int answer_lists_take_part(struct typed *t,
				  const struct labels *ls UNUSED,
				  const struct profile_id *id, struct err *err)
{
	return answer_lists_add_part(t->to, id, err);
}

/* Collect the values of a label that profile types decide. */
static int answer_lists_type_values(struct collection *l, struct err *err)
{
	struct typed t = { .to = l, .take = answer_lists_take_part };
	struct type_list all;
	int64_t from;
	int64_t to;
	int rc;

	if (!answer_lists_all(l->call))
		return answer_lists_typed(&t, err);
	call_range(l->call, &from, &to);
	type_list_init(&all, l->call);
	rc = type_list_add_all(&all, from, to, err);
	for (size_t i = 0; i < all.ids.count && !rc; i++)
		rc = answer_lists_add_part(l, &all.ids.v[i], err);
	type_list_fini(&all);
	return rc;
}

/* Write the message ProfileType of an id. */
static void answer_lists_write_type(struct buf *out, struct str text)
{
	struct profile_id id;
	struct buf m = { 0 };

	/* Ids whose parts have colons are not listed, so it can be parsed. */
	if (profile_id_parse(text, &id, NULL))
		return;
	wire_write_str(&m, 1, text);
	wire_write_str(&m, 2, id.name);
	wire_write_str(&m, 4, id.value.type);
	wire_write_str(&m, 5, id.value.unit);
	wire_write_str(&m, 6, id.period.type);
	wire_write_str(&m, 7, id.period.unit);
	wire_write_bytes(out, 1, buf_bytes(&m));
	buf_fini(&m);
}

int answer_profile_types(struct pyroscope_call *c, struct err *err)
{
	struct collection l = { .call = c, .name = str_of(PROFILE_TYPE_LABEL) };
	int rc = answer_lists_type_values(&l, err);

	string_set_sort(&l.texts);
	for (size_t i = 0; i < l.texts.count && !rc; i++)
		answer_lists_write_type(c->out, l.texts.v[i].text);
	string_set_fini(&l.texts);
	return rc;
}

int answer_label_values(struct pyroscope_call *c, struct err *err)
{
	const struct sample_label_test samples = call_sample_labels(c);
	struct collection l = { .call = c, .name = c->request.name };
	bool is_of_samples = sample_label_is_possible(&samples, l.name);
	bool is_virtual = service_is_label(l.name) ||
			  str_is(l.name, LABEL_NAME);
	const struct list_work work = { .walk = answer_lists_add_value,
					.visit = answer_lists_visit_value,
					.is_of_samples = is_of_samples,
					.ctx = &l };
	int rc;

	if (!l.name.len)
		return err_set(err, ERR_INVALID,
			       "the name of a label is missing");
	if (profile_id_is_label(l.name))
		rc = answer_lists_type_values(&l, err);
	else if (!is_virtual && !is_of_samples && answer_lists_all(c))
		rc = answer_lists_texts(&l, l.name, err);
	else
		rc = answer_lists_each(c, &work, err);
	if (!rc)
		collection_write(&l, 1);
	string_set_fini(&l.texts);
	return rc;
}

/* What the labels of a row are taken from. */
struct list_row {
	const struct labels *ls;
	const struct label_view *labels; /* of samples; NULL: none */
	const struct profile_id *id;     /* NULL: it is not known */
};

/* Append the value of a label of a row to `out`. */
static void answer_lists_row_value(const struct list_row *r, struct str name,
				   struct buf *out)
{
	struct str value;

	if (profile_id_is_label(name)) {
		if (r->id)
			profile_id_part(r->id, name, out);
		return;
	}
	value = answer_lists_value(r->ls, name);
	if (!value.len && r->labels)
		value = answer_lists_sample_value(r->labels, name);
	buf_add(out, value.ptr, value.len);
}

/* Append the labels of a row in the order of the request. */
static void answer_lists_row(const struct collection *l,
			     const struct list_row *r, struct buf *row)
{
	const struct request_texts *names = &l->call->request.label_names;
	struct buf value = { 0 };

	for (size_t i = 0; i < names->count; i++) {
		buf_reset(&value);
		answer_lists_row_value(r, names->v[i], &value);
		if (value.len)
			call_write_label(row, 1, names->v[i],
					 str_from(buf_bytes(&value)));
	}
	buf_fini(&value);
}

/* Append all labels of a series, with its service. */
static void answer_lists_whole_row(const struct labels *ls, struct buf *row)
{
	struct labels_iter it = labels_iter(ls);
	struct label label;

	while (labels_next(&it, &label))
		call_write_label(row, 1, label.name,
				 answer_lists_value(ls, label.name));
	if (!labels_get(ls, str_of(SERVICE_NAME)).len)
		call_write_label(row, 1, str_of(SERVICE_NAME), service_of(ls));
}

/* Implement typed.key: a row without what profile types decide. */
static void answer_lists_row_key(const struct typed *t, const struct labels *ls,
				 struct buf *out)
{
	const struct list_row row = { .ls = ls };

	answer_lists_row(t->to, &row, out);
}

/* Add a row. */
static int answer_lists_add(struct collection *l, const struct list_row *r,
			    struct err *err)
{
	size_t names = l->call->request.label_names.count;
	struct buf row = { 0 };
	int rc = collection_meter(l, 1 + names, err);

	if (names)
		answer_lists_row(l, r, &row);
	else
		answer_lists_whole_row(r->ls, &row);
	if (!rc && row.len)
		rc = collection_add(l, str_from(buf_bytes(&row)), err);
	buf_fini(&row);
	return rc;
}

/* Implement typed.take for rows. */
static int answer_lists_take_row(struct typed *t, const struct labels *ls,
				 const struct profile_id *id, struct err *err)
{
	const struct list_row row = { .ls = ls, .id = id };

	return answer_lists_add(t->to, &row, err);
}

/* Callback for each series: add its row. */
static int answer_lists_add_row(void *ctx, const struct labels *ls,
				struct err *err)
{
	const struct list_row row = { .ls = ls };

	return answer_lists_add(ctx, &row, err);
}

/* Implement sample_visit_fn: add a row. */
static int answer_lists_visit_row(void *ctx, const struct sample_visit *v,
				  const struct label_view *labels,
				  struct err *err)
{
	const struct list_row row = { .ls = querier_labels(v->q, v->series),
				      .labels = labels };
	int rc = answer_lists_add(ctx, &row, err);

	return rc ? rc : !v->lists_samples;
}

/* Implement sample_visit_fn: add a row of each id of the series. */
static int answer_lists_visit_typed_row(void *ctx, const struct sample_visit *v,
					const struct label_view *labels,
					struct err *err)
{
	struct typed *t = ctx;
	int rc = 0;

	if (v->is_first) {
		type_list_reset(&t->types);
		rc = type_list_add(&t->types, v->q, v->series, err);
	}
	for (size_t k = 0; k < t->types.ids.count && !rc; k++) {
		const struct list_row row = { .ls = querier_labels(v->q,
								   v->series),
					      .labels = labels,
					      .id = &t->types.ids.v[k] };

		rc = answer_lists_add(t->to, &row, err);
	}
	return rc;
}

/* Add the rows that have labels of samples and those of profile types. */
static int answer_lists_typed_samples(struct typed *t, struct err *err)
{
	const struct list_work work = { .visit = answer_lists_visit_typed_row,
					.is_of_samples = true,
					.ctx = t };
	int rc;

	type_list_init(&t->types, t->to->call);
	rc = answer_lists_each(t->to->call, &work, err);
	type_list_fini(&t->types);
	return rc;
}

int answer_series_list(struct pyroscope_call *c, struct err *err)
{
	const struct sample_label_test samples = call_sample_labels(c);
	const struct request_texts *names = &c->request.label_names;
	struct collection l = { .call = c };
	struct typed t = { .to = &l,
			   .key = answer_lists_row_key,
			   .take = answer_lists_take_row };
	struct list_work work = { .walk = answer_lists_add_row,
				  .visit = answer_lists_visit_row,
				  .ctx = &l };
	bool has_types = false;
	int rc;

	for (size_t i = 0; i < names->count; i++) {
		has_types |= profile_id_is_label(names->v[i]);
		work.is_of_samples |=
			sample_label_is_possible(&samples, names->v[i]);
	}
	if (!has_types)
		rc = answer_lists_each(c, &work, err);
	else if (work.is_of_samples)
		rc = answer_lists_typed_samples(&t, err);
	else
		rc = answer_lists_typed(&t, err);
	if (!rc)
		collection_write(&l, 2);
	string_set_fini(&l.texts);
	return rc;
}

int answer_stats(struct pyroscope_call *c, struct err *err UNUSED)
{
	struct tsdb_stats s;

	tsdb_stats(c->db, &s);
	wire_write_number(c->out, 1, s.max_ms != 0);
	wire_write_number(c->out, 2, (uint64_t)s.min_ms);
	wire_write_number(c->out, 3, (uint64_t)s.max_ms);
	return 0;
}
