/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/cardinality.h"

#include "query/select/string_set.h"
#include "tsdb/query/querier.h"

/*
 * Number of series or values after which the limits of memory and time are
 * checked again.
 */
#define CHECK_EVERY 1024

/* The numbers of series, counted in several ways. */
struct cardinality {
	struct string_set types; /* by profile type */
	struct string_set pairs; /* by label and value, as "name=value" */
	/* Number of distinct values by label name, computed from `pairs`. */
	struct string_set labels;
	struct buf pair; /* scratch: the text of one pair */
	int64_t taken;
};

/* Count one series. */
static void count_series(struct cardinality *c, struct labels *ls)
{
	struct labels_iter it = labels_iter(ls);
	struct label label;

	string_set_add(&c->types, labels_get(ls, str_of(LABEL_NAME)));
	while (labels_next(&it, &label)) {
		buf_reset(&c->pair);
		buf_add(&c->pair, label.name.ptr, label.name.len);
		buf_byte(&c->pair, '=');
		buf_add(&c->pair, label.value.ptr, label.value.len);
		string_set_add(&c->pairs, str_from(buf_bytes(&c->pair)));
	}
}

/* Take the memory by which the sets have grown, and check the deadline. */
static int check_work(struct cardinality *c, struct query_work *work,
		      struct err *err)
{
	int64_t now = (int64_t)(string_set_memory(&c->types) +
				string_set_memory(&c->pairs) +
				string_set_memory(&c->labels));
	int rc = query_check_deadline(work, err);

	if (!rc)
		rc = query_take(work, now - c->taken, err);
	c->taken = rc ? c->taken : now;
	return rc;
}

/* Count all series, then the values of each label. */
static int count_all(struct cardinality *c, struct tsdb *db,
		     struct query_work *work, struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	int rc;

	query_open(work, db, &q);
	rc = query_select_all(work, q, NULL, 0, INT64_MIN, INT64_MAX, err);
	for (size_t i = 0; i < querier_count(q) && !rc; i++) {
		count_series(c, querier_labels(q, i));
		if (i % CHECK_EVERY == 0)
			rc = check_work(c, work, err);
	}
	for (size_t i = 0; i < c->pairs.count && !rc; i++) {
		struct str value;

		string_set_add(&c->labels,
			       str_cut(c->pairs.v[i].text, '=', &value));
		if (i % CHECK_EVERY == 0)
			rc = check_work(c, work, err);
	}
	return rc ? rc : check_work(c, work, err);
}

/*
 * Write the texts of a set that were added most often, at most `limit` of them.
 */
static void write_counts(struct json *j, const char *key, struct string_set *t,
			 int64_t limit)
{
	string_set_sort_by_count(t);
	json_key(j, key);
	json_begin(j, '[');
	for (size_t i = 0; i < t->count && (int64_t)i < limit; i++) {
		json_begin(j, '{');
		json_key(j, "name");
		json_str(j, t->v[i].text);
		json_key(j, "value");
		json_int(j, (int64_t)t->v[i].added);
		json_end(j, '}');
	}
	json_end(j, ']');
}

int cardinality_json(struct tsdb *db, struct query_work *work, int64_t limit,
		     struct json *j, struct err *err)
{
	struct cardinality c = { 0 };
	int rc = count_all(&c, db, work, err);

	if (!rc) {
		write_counts(j, "seriesCountByMetricName", &c.types, limit);
		write_counts(j, "labelValueCountByLabelName", &c.labels, limit);
		write_counts(j, "seriesCountByLabelValuePair", &c.pairs, limit);
	}
	string_set_fini(&c.types);
	string_set_fini(&c.pairs);
	string_set_fini(&c.labels);
	buf_fini(&c.pair);
	return rc;
}
