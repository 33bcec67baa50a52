/* SPDX-License-Identifier: Apache-2.0 */
#include "push/labels/push_name.h"

#include <string.h>

/* Set a label from a text such as "key=value". */
static int push_name_label(struct str text, struct labels_builder *out,
			   struct err *err)
{
	struct str value;
	struct str key = str_trim(str_cut(text, '=', &value));

	if (!key.len || key.len == text.len)
		return err_set(
			err, ERR_INVALID,
			"parameter \"name\": expected key=value between the braces, not \"%.*s\"",
			STR_ARG(str_clip(text, 100)));
	labels_set(out, key, str_trim(value));
	return 0;
}

int push_name_parse(struct str text, struct str *app,
		    struct labels_builder *out, struct err *err)
{
	struct str rest;
	int rc = 0;

	*app = str_trim(str_cut(text, '{', &rest));
	if (!app->len)
		return err_set(
			err, ERR_INVALID,
			"parameter \"name\" is missing: it names the application, as in name=app or name=app{key=value}");
	if (app->len == text.len)
		return 0;
	rest = str_trim(rest);
	if (!rest.len || rest.ptr[rest.len - 1] != '}')
		return err_set(
			err, ERR_INVALID,
			"parameter \"name\": the labels need a closing brace");
	rest.len--;
	while (!rc && rest.len) {
		struct str item = str_trim(str_cut(rest, ',', &rest));

		if (item.len)
			rc = push_name_label(item, out, err);
	}
	return rc;
}
