/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof query labels, series, range, delete: the API of a server as
 * commands. Results are lines on standard output, for other programs to read.
 */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/url.h"
#include "cmd/cli/api_client.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"

/*
 * Report on stderr that the result is empty, because an empty output might look
 * like a failure.
 */
static void tell_nothing(const char *what)
{
	console_say(
		"no %s matches the query; check --from and --to, and the profile type: everprof query labels __name__ lists the stored ones",
		what);
}

/* Print a name or a value, which is an object if series are counted. */
static void print_label(json_t *item)
{
	json_t *value = json_object_get(item, "value");

	if (value)
		console_line(
			stdout, "%10" JSON_INTEGER_FORMAT "  %s",
			json_integer_value(json_object_get(item, "series")),
			json_string_value(value));
	else
		console_line(stdout, "%s", json_string_value(item));
}

/* Print the names of all labels or, with NAME, the values of that label. */
int cmd_query_labels(int argc, char **argv)
{
	struct query q = query_init();
	bool counts = false;
	const struct flag flags[] = {
		QUERY_FLAGS(q),
		{ "counts", FLAG_BOOL, &counts, NULL,
		  "Print each value with its number of series, the largest number first." },
		{ 0 },
	};
	static const struct usage u = {
		"query labels [NAME] [FLAGS]",
		"List all label names or, with NAME, all values of that label, one a line.",
		0, 1
	};
	json_t *root = NULL;
	json_t *data = NULL;
	json_t *item;
	struct err err;
	size_t i;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	query_path(&q, argc ? "/api/v1/label/" : "/api/v1/labels");
	if (argc) {
		url_escape(str_of(argv[0]), &q.url);
		buf_str(&q.url, "/values");
	}
	query_param(&q, "counts", counts ? "1" : "");
	rc = query_ask(&q, &root, &data, &err);
	if (!rc && argc && !json_array_size(data))
		rc = err_set(
			&err, ERR_NOTFOUND,
			"no series has a label \"%s\"; \"everprof query labels\" lists all label names",
			argv[0]);
	json_array_foreach(data, i, item) print_label(item);
	return query_finish(&q, root, rc, &err);
}

/* Print the series that match any of the selectors, like match[] of the API. */
int cmd_query_series(int argc, char **argv)
{
	struct query q = query_init();
	const char *from = "";
	const char *to = "";
	const struct flag flags[] = {
		QUERY_FLAGS(q),
		{ "from", FLAG_TIME, &from, NULL,
		  "Only series with profiles since this time: ms, RFC 3339 or now-1h." },
		{ "to", FLAG_TIME, &to, NULL,
		  "Only series with profiles up to this time." },
		{ 0 },
	};
	static const struct usage u = {
		"query series SELECTOR… [FLAGS]",
		"List the series that match at least one of the selectors, one a line.",
		1, 1000
	};
	json_t *root = NULL;
	json_t *data = NULL;
	json_t *item;
	struct err err;
	size_t i;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	query_path(&q, "/api/v1/series");
	for (int k = 0; k < argc; k++)
		query_param(&q, "match[]", argv[k]);
	query_param(&q, "from", from);
	query_param(&q, "to", to);
	rc = query_ask(&q, &root, &data, &err);
	json_array_foreach(data, i, item)
	{
		query_print_labels(item);
		printf("\n");
	}
	if (!rc && !json_array_size(data))
		tell_nothing("series");
	return query_finish(&q, root, rc, &err);
}

/*
 * Set up `q` to request the times of all profiles of a selector and range, by
 * series. Returns `q`.
 */
static struct query *range_path(struct query *q, const char *selector,
				const char *from, const char *to)
{
	query_path(q, "/api/v1/query_range");
	query_param(q, "query", selector);
	query_param(q, "from", from);
	query_param(q, "to", to);
	return q;
}

/*
 * Print a line for each profile: its series, and its time in ms and in RFC
 * 3339.
 */
int cmd_query_range(int argc, char **argv)
{
	struct query q = query_init();
	const char *from = "now-1h";
	const char *to = "now";
	const char *limit = "";
	const struct flag flags[] = {
		QUERY_FLAGS(q),
		{ "from", FLAG_TIME, &from, "now-1h",
		  "Start of the time range: ms, RFC 3339 or now-1h." },
		{ "to", FLAG_TIME, &to, "now", "End of the time range." },
		{ "limit", FLAG_TEXT, &limit, NULL,
		  "Maximum number of series." },
		{ 0 },
	};
	static const struct usage u = {
		"query range SELECTOR [FLAGS]",
		"List the profiles that match a selector, one a line: series, time in milliseconds, and\n"
		"the same time in RFC 3339, separated by tabs.",
		1, 1
	};
	json_t *root = NULL;
	json_t *data = NULL;
	json_t *series;
	json_t *ms;
	bool any = false;
	struct err err;
	size_t i;
	size_t k;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	query_param(range_path(&q, argv[0], from, to), "limit", limit);
	rc = query_ask(&q, &root, &data, &err);
	json_array_foreach(data, i, series)
	{
		json_array_foreach(json_object_get(series, "timestamps"), k, ms)
		{
			char time[40];

			time_format(json_integer_value(ms), time);
			query_print_labels(json_object_get(series, "labels"));
			printf("\t%" JSON_INTEGER_FORMAT "\t%s\n",
			       json_integer_value(ms), time);
			any = true;
		}
	}
	if (!rc && !any)
		tell_nothing("profile");
	return query_finish(&q, root, rc, &err);
}

/*
 * Deleting. Profiles are counted before they are deleted, because a deletion
 * cannot be undone (docs/decisions.md, 107).
 */

/*
 * Count the profiles of a selector and range. If `print` is set, print the
 * count of each series. `q` can be used for another request afterwards.
 */
static int query_count_profiles(struct query *q, const char *selector,
				const char *const range[2], bool print,
				size_t *count, struct err *err)
{
	json_t *root = NULL;
	json_t *data = NULL;
	json_t *series;
	size_t i;
	int rc;

	*count = 0;
	rc = query_ask(range_path(q, selector, range[0], range[1]), &root,
		       &data, err);
	json_array_foreach(data, i, series)
	{
		size_t n =
			json_array_size(json_object_get(series, "timestamps"));

		*count += n;
		if (!print || !n)
			continue;
		printf("%10zu  ", n);
		query_print_labels(json_object_get(series, "labels"));
		printf("\n");
	}
	json_decref(root);
	buf_fini(&q->url);
	return rc;
}

/* Delete the profiles of a selector and range through the admin API. */
static int delete_profiles(struct query *q, const char *selector,
			   const char *from, const char *to, struct err *err)
{
	struct http_response r;
	int rc;

	query_path(q, "/api/v1/admin/tsdb/delete_series");
	query_param(q, "match[]", selector);
	query_param(q, "from", from);
	query_param(q, "to", to);
	q->post = true;
	rc = query_fetch(q, &r, err);
	buf_fini(&r.body);
	buf_fini(&q->url);
	q->post = false;
	return rc;
}

/*
 * Convert a time to ms once, so that counting, deleting and counting again use
 * the same range: "now-1h" is another moment each time. An empty text means
 * `fallback`. This cannot fail, because the parser of FLAG_TIME has checked the
 * text.
 */
static const char *fix_time(const char *text, int64_t fallback, char out[32])
{
	int64_t ms = fallback;

	if (*text && !str_to_i64(str_of(text), &ms))
		(void)!time_parse(str_of(text), clock_ms(NULL), &ms, NULL);
	snprintf(out, 32, "%" PRId64, ms);
	return out;
}

/*
 * The profiles are counted again after the deletion, and the difference is the
 * number of deleted profiles, unless new profiles were stored in the meantime.
 */
int cmd_query_delete(int argc, char **argv)
{
	struct query q = query_init();
	const char *from = "";
	const char *to = "";
	bool yes = false;
	const struct flag flags[] = {
		SERVER_FLAGS(q),
		{ "from", FLAG_TIME, &from, "the first profile",
		  "Start of the time range: ms, RFC 3339 or now-1h." },
		{ "to", FLAG_TIME, &to, "the last profile",
		  "End of the time range." },
		{ "yes", FLAG_BOOL, &yes, "false",
		  "Delete the profiles. Without this flag they are only counted." },
		{ 0 },
	};
	static const struct usage u = {
		"query delete SELECTOR [FLAGS]",
		"Count the profiles that match a selector in a time range, by series; with --yes, delete\n"
		"them. The server must run with --web.enable-admin-api. Deleted profiles are hidden at\n"
		"once. Their disk space is freed when their blocks are compacted; to free it earlier,\n"
		"call POST /api/v1/admin/tsdb/clean_tombstones.",
		1, 1
	};
	char first[32];
	char last[32];
	size_t before = 0;
	size_t after = 0;
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	from = fix_time(from, INT64_MIN, first);
	to = fix_time(to, INT64_MAX, last);
	rc = query_count_profiles(&q, argv[0],
				  (const char *const[]){ from, to }, true,
				  &before, &err);
	if (!rc && yes)
		rc = delete_profiles(&q, argv[0], from, to, &err);
	if (!rc && yes) {
		rc = query_count_profiles(&q, argv[0],
					  (const char *const[]){ from, to },
					  false, &after, &err);
		if (rc)
			err_wrap(
				&err, rc,
				"the profiles were deleted, but cannot be counted");
	}
	if (!rc && !yes)
		printf("%10zu  profiles would be deleted; add --yes to delete them\n",
		       before);
	else if (!rc)
		printf("%10zu  profiles deleted\n",
		       before > after ? before - after : 0);
	return query_finish(&q, NULL, rc, &err);
}
