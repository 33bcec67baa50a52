/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof query: the API from a shell.
 */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/url.h"
#include "client/http.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/version.h"
#include "model/labels.h"

#define ANSWER_MAX (1024 * MIB)

struct query {
	const char *server;
	int64_t timeout_ms;
	struct buf url;
};

#define SERVER_FLAGS(q)                                               \
	{ "server", FLAG_TEXT, &(q).server, "http://127.0.0.1:10902", \
	  "The everprof to ask." },                                   \
	{                                                             \
		"timeout", FLAG_DURATION, &(q).timeout_ms, "60s",     \
			"How long to wait for it."                    \
	}

static struct query query_init(void)
{
	return (struct query){ .server = "http://127.0.0.1:10902",
			       .timeout_ms = 60000 };
}

static void path(struct query *q, const char *text)
{
	size_t n = strlen(q->server);

	while (n && q->server[n - 1] == '/')
		n--;
	if (!strstr(q->server, "://"))
		buf_str(&q->url, "http://");
	buf_add(&q->url, q->server, n);
	buf_str(&q->url, text);
}

static void param(struct query *q, const char *name, const char *value)
{
	if (!*value)
		return;
	buf_byte(&q->url, memchr(q->url.ptr, '?', q->url.len) ? '&' : '?');
	buf_str(&q->url, name);
	buf_byte(&q->url, '=');
	url_escape(str_of(value), &q->url);
}

static int fetch(struct query *q, struct http_response *r, struct err *err)
{
	struct http_request request = { .url = buf_cstr(&q->url),
					.timeout_ms = q->timeout_ms,
					.max_body = ANSWER_MAX,
					.user_agent = EVERPROF_USER_AGENT };

	http_get(&request, r);
	if (!r->code)
		return 0;
	return err_set(err, r->code, "%s: %s", q->server, r->err.msg);
}

/* The server's sentence, when the body is an error of the API. */
static int api_error(const struct http_response *r, json_t *root,
		     struct err *err)
{
	const char *why = json_string_value(json_object_get(root, "error"));

	if (why)
		return err_set(err, ERR_INVALID, "%s", why);
	return err_set(err, ERR_INVALID, "the server answered %ld %s",
		       r->status, http_status_text(r->status));
}

/* Ask, and hand over the answer's data; json_decref(*root) afterwards. */
static int ask(struct query *q, json_t **root, json_t **data, struct err *err)
{
	struct http_response r;
	json_t *warning;
	size_t i;
	int rc = fetch(q, &r, err);

	*root = NULL;
	if (!rc)
		*root = json_loadb((char *)r.body.ptr, r.body.len, 0, NULL);
	if (!rc && (r.status != 200 || !*root))
		rc = api_error(&r, *root, err);
	buf_fini(&r.body);
	if (rc)
		return rc;
	*data = json_object_get(*root, "data");
	json_array_foreach(json_object_get(*root, "warnings"), i, warning)
		fprintf(stderr, "everprof: warning: %s\n",
			json_string_value(warning));
	return 0;
}

static int finish(struct query *q, json_t *root, int rc, const struct err *err)
{
	json_decref(root);
	buf_fini(&q->url);
	return rc ? cmd_fail(err) : 0;
}

/* heap{job="app"} of a JSON label map. */
static void print_labels(json_t *labels)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;
	struct buf text = { 0 };
	const char *name;
	json_t *value;

	json_object_foreach(labels, name, value)
		labels_set(&b, str_of(name), str_of(json_string_value(value)));
	if (!labels_build(&b, &ls, NULL)) {
		labels_text(ls, &text);
		printf("%s", buf_cstr(&text));
	}
	labels_unref(ls);
	labels_builder_fini(&b);
	buf_fini(&text);
}

int cmd_query_labels(int argc, char **argv)
{
	struct query q = query_init();
	const struct flag flags[] = { SERVER_FLAGS(q), { 0 } };
	static const struct usage u = {
		"query labels [NAME] [FLAGS]",
		"Prints the names of all labels, or all values of one, a line "
		"each.",
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
	path(&q, argc ? "/api/v1/label/" : "/api/v1/labels");
	if (argc) {
		url_escape(str_of(argv[0]), &q.url);
		buf_str(&q.url, "/values");
	}
	rc = ask(&q, &root, &data, &err);
	json_array_foreach(data, i, item) puts(json_string_value(item));
	return finish(&q, root, rc, &err);
}

int cmd_query_series(int argc, char **argv)
{
	struct query q = query_init();
	const char *from = "";
	const char *to = "";
	const struct flag flags[] = {
		SERVER_FLAGS(q),
		{ "from", FLAG_TEXT, &from, NULL,
		  "Only with profiles from then on: ms, RFC 3339 or now-1h." },
		{ "to", FLAG_TEXT, &to, NULL, "Only up to then." },
		{ 0 },
	};
	static const struct usage u = {
		"query series SELECTOR… [FLAGS]",
		"Prints the series that one of the selectors matches, a line "
		"each.",
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
	path(&q, "/api/v1/series");
	for (int k = 0; k < argc; k++)
		param(&q, "match[]", argv[k]);
	param(&q, "from", from);
	param(&q, "to", to);
	rc = ask(&q, &root, &data, &err);
	json_array_foreach(data, i, item)
	{
		print_labels(item);
		printf("\n");
	}
	return finish(&q, root, rc, &err);
}

int cmd_query_range(int argc, char **argv)
{
	struct query q = query_init();
	const char *from = "now-1h";
	const char *to = "now";
	const char *limit = "";
	const struct flag flags[] = {
		SERVER_FLAGS(q),
		{ "from", FLAG_TEXT, &from, "now-1h",
		  "First time: ms, RFC 3339 or now-1h." },
		{ "to", FLAG_TEXT, &to, "now", "Last time." },
		{ "limit", FLAG_TEXT, &limit, NULL, "At most so many series." },
		{ 0 },
	};
	static const struct usage u = {
		"query range SELECTOR [FLAGS]",
		"Prints series and time in ms, separated by a tab, a line a "
		"profile.",
		1, 1
	};
	json_t *root = NULL;
	json_t *data = NULL;
	json_t *series;
	json_t *ms;
	struct err err;
	size_t i;
	size_t k;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	path(&q, "/api/v1/query_range");
	param(&q, "query", argv[0]);
	param(&q, "from", from);
	param(&q, "to", to);
	param(&q, "limit", limit);
	rc = ask(&q, &root, &data, &err);
	json_array_foreach(data, i, series)
	{
		json_array_foreach(json_object_get(series, "timestamps"), k, ms)
		{
			print_labels(json_object_get(series, "labels"));
			printf("\t%" JSON_INTEGER_FORMAT "\n",
			       json_integer_value(ms));
		}
	}
	return finish(&q, root, rc, &err);
}

int cmd_query_profile(int argc, char **argv)
{
	struct query q = query_init();
	const char *time = "now";
	const char *match = "before";
	const char *report = "proto";
	const char *output = "";
	const struct flag flags[] = {
		SERVER_FLAGS(q),
		{ "time", FLAG_TEXT, &time, "now",
		  "When: ms, RFC 3339 or now-1h." },
		{ "match", FLAG_TEXT, &match, "before",
		  "before: the last one up to then; after: the first from then on; exact." },
		{ "report", FLAG_TEXT, &report, "proto",
		  "proto (gzip'd pprof), raw (as stored) or meta (JSON)." },
		{ "output", FLAG_TEXT, &output, NULL,
		  "Where to write it (-o too); - is standard output." },
		{ 0 },
	};
	static const struct usage u = {
		"query profile SELECTOR -o FILE [FLAGS]",
		"Fetches the profile of the selector that is nearest to a "
		"time, at most 5 minutes away.",
		1, 1
	};
	struct http_response r;
	json_t *root = NULL;
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	if (!*output)
		output = strcmp(report, "meta") ? "" : "-";
	if (!*output) {
		fprintf(stderr, "everprof: -o FILE is missing (see --help)\n");
		return 2;
	}
	path(&q, "/api/v1/query?mode=single");
	param(&q, "query", argv[0]);
	param(&q, "time", time);
	param(&q, "match", match);
	param(&q, "report", report);
	rc = fetch(&q, &r, &err);
	if (!rc && r.status != 200) {
		root = json_loadb((char *)r.body.ptr, r.body.len, 0, NULL);
		rc = api_error(&r, root, &err);
	}
	if (!rc)
		rc = save_output(output, buf_bytes(&r.body), &err);
	buf_fini(&r.body);
	return finish(&q, root, rc, &err);
}
