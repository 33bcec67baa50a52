/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/query_json.h"

#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "model/labels.h"

int query_ask(struct query *q, json_t **root, json_t **data, struct err *err)
{
	struct http_response r;
	json_t *warning;
	size_t i;
	int rc = query_fetch(q, &r, err);

	*root = NULL;
	if (!rc)
		*root = json_loadb((char *)r.body.ptr, r.body.len,
				   JSON_ALLOW_NUL, NULL);
	if (!rc && !*root)
		rc = err_set(err, ERR_INVALID, "the response is not JSON");
	buf_fini(&r.body);
	if (rc)
		return rc;
	*data = json_object_get(*root, "data");
	json_array_foreach(json_object_get(*root, "warnings"), i, warning)
		console_say("warning: %s", json_string_value(warning));
	return 0;
}

int query_finish(struct query *q, json_t *root, int rc, const struct err *err)
{
	json_decref(root);
	query_fini(q);
	return rc ? cmd_fail(err) : 0;
}

void query_labels_text(json_t *labels, struct buf *out)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;
	const char *name;
	json_t *value;

	json_object_foreach(labels, name, value)
		labels_set(&b, str_of(name), str_of(json_string_value(value)));
	if (!labels_build(&b, &ls, NULL))
		labels_text(ls, out);
	labels_unref(ls);
	labels_builder_fini(&b);
}

void query_print_labels(json_t *labels)
{
	struct buf text = { 0 };

	query_labels_text(labels, &text);
	console_text(stdout, str_from(buf_bytes(&text)));
	buf_fini(&text);
}
