/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof query history, running: functions over time, and the queries that a
 * server is running.
 */
#include <inttypes.h>

#include "base/mem.h"
#include "base/units.h"
#include "cmd/cli/api_client.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/query/query_fetch.h"
#include "pprof/profile/measure.h"

/* The command's own flags, in addition to those of all query commands. */
struct history_command {
	struct query_command j;
	const char *step;
	struct flag_texts functions;
	const char *top;
	const char *by;
};

/* Append the flags of the command. */
static void history_flags(struct history_command *h)
{
	struct query_command *j = &h->j;
	struct flag *end;

	query_fetch_add_server(j);
	query_fetch_add_range(j, false);
	query_fetch_add_flag(j, (struct flag){ "step", FLAG_TEXT, &h->step,
					       "1h", "Length of a step." });
	query_fetch_add_flag(
		j,
		(struct flag){
			"function", FLAG_TEXTS, &h->functions, NULL,
			"Full name of a function to show; can be given several times." });
	query_fetch_add_flag(
		j,
		(struct flag){
			"top", FLAG_TEXT, &h->top, NULL,
			"How many of the functions with the highest values in the whole range to show (default: 5, or 0 with --function)." });
	query_fetch_add_flag(
		j,
		(struct flag){
			"by", FLAG_TEXT, &h->by, "flat",
			"Values to show, and by which --top selects functions: flat or cum." });
	query_fetch_add_flag(
		j,
		(struct flag){
			"aggregate", FLAG_TEXT, &j->aggregate, "auto",
			"How to aggregate profiles: auto, sum, delta, mean or last." });
	query_fetch_add_flag(
		j,
		(struct flag){
			"group_by", FLAG_TEXT, &j->group_by, NULL,
			"Labels by which series are grouped, separated by commas." });
	end = report_flags_list(&j->options, j->flags + j->flag_count);
	j->flag_count = (size_t)(end - j->flags);
}

/* report_flags_each() callback: add an option to the request. */
static void history_option(void *ctx, const char *name, const char *value)
{
	query_param(ctx, name, value);
}

/* Add the parameters of the request. */
static void history_params(struct history_command *h, const char *selector)
{
	struct query *q = &h->j.q;

	query_path(q, "/api/v1/history");
	query_param(q, "query", selector);
	query_param(q, "from", *h->j.from ? h->j.from : "now-1d");
	query_param(q, "to", *h->j.to ? h->j.to : "now");
	query_param(q, "step", h->step);
	for (size_t i = 0; i < h->functions.count; i++)
		query_param(q, "function", h->functions.v[i]);
	query_param(q, "top", h->top);
	query_param(q, "by", h->by);
	query_param(q, "aggregate", h->j.aggregate);
	query_param(q, "group_by", h->j.group_by);
	report_flags_each(&h->j.options, history_option, q);
}

/* Print one number of a step, in its unit; "-" for a step without profiles. */
static void print_number(json_t *values, size_t step, const char *unit)
{
	json_t *v = json_array_get(values, step);
	struct buf text = { 0 };

	if (json_is_integer(v))
		measure_label(&text, json_integer_value(v), str_of(unit),
			      str_of("minimum"));
	else
		buf_str(&text, "-");
	printf("\t");
	console_text(stdout, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

/* Print the table: a line for each step, a column for each function. */
static void print_history(json_t *data, const char *by)
{
	json_t *functions = json_object_get(data, "functions");
	json_t *times = json_object_get(data, "timestamps");
	const char *unit = json_string_value(json_object_get(data, "unit"));
	json_t *f;
	json_t *ms;
	size_t i;
	size_t step;

	printf("time\tprofiles\ttotal");
	json_array_foreach(functions, i, f)
	{
		json_t *labels = json_object_get(f, "labels");

		printf("\t");
		console_text(stdout, str_of(json_string_value(
					     json_object_get(f, "name"))));
		if (json_object_size(labels))
			query_print_labels(labels);
	}
	printf("\n");
	json_array_foreach(times, step, ms)
	{
		char time[40];

		time_format(json_integer_value(ms), time);
		printf("%s\t%" JSON_INTEGER_FORMAT, time,
		       json_integer_value(json_array_get(
			       json_object_get(data, "profiles"), step)));
		print_number(json_object_get(data, "total"), step, unit);
		json_array_foreach(functions, i, f)
			print_number(json_object_get(f, by), step, unit);
		printf("\n");
	}
}

int cmd_query_history(int argc, char **argv)
{
	static const struct usage u = {
		"query history SELECTOR [FLAGS]",
		"Show the values of functions over time: a line for each step, with the number of\n"
		"profiles, the total and the functions, separated by tabs. The default range is a day.",
		1, 1
	};
	struct history_command *h = mem_new(struct history_command);
	json_t *root = NULL;
	json_t *data = NULL;
	struct err err;
	int code;
	int rc;

	query_fetch_init(&h->j);
	h->step = "1h";
	h->top = "";
	h->by = "flat";
	history_flags(h);
	code = cmd_begin(&u, h->j.flags, &argc, argv);
	if (code < 0) {
		history_params(h, argv[0]);
		rc = query_ask(&h->j.q, &root, &data, &err);
		if (!rc)
			print_history(data, h->by);
		code = query_finish(&h->j.q, root, rc, &err);
	}
	mem_free(h);
	return code;
}

/* Print a text of a running query as the next column. */
static void running_print_text(json_t *item, const char *key)
{
	printf("\t");
	console_text(stdout,
		     str_of(json_string_value(json_object_get(item, key))));
}

/* Print a line for each query that is running. */
int cmd_query_running(int argc, char **argv)
{
	struct query q = query_init();
	const struct flag flags[] = { SERVER_FLAGS(q), { 0 } };
	static const struct usage u = {
		"query running [FLAGS]",
		"List the queries that the server is running: time of the start, profiles read and to be\n"
		"read, bytes of memory, user, path and selector, separated by tabs.",
		0, 0
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
	query_path(&q, "/api/v1/status/queries");
	rc = query_ask(&q, &root, &data, &err);
	json_array_foreach(data, i, item)
	{
		char time[40];

		time_format(
			json_integer_value(json_object_get(item, "started")),
			time);
		printf("%s\t%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT
		       "\t%" JSON_INTEGER_FORMAT,
		       time, json_integer_value(json_object_get(item, "done")),
		       json_integer_value(json_object_get(item, "profiles")),
		       json_integer_value(json_object_get(item, "bytes")));
		running_print_text(item, "user");
		running_print_text(item, "path");
		running_print_text(item, "query");
		printf("\n");
	}
	return query_finish(&q, root, rc, &err);
}
