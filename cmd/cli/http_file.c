/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/http_file.h"

#include "base/file.h"
#include "base/file_slurp.h"
#include "base/units.h"

/* The decoded file of --http.config.file. */
struct http_file {
	struct http_options http;
};

/* Decode the file of --http.config.file; only its first mistake is reported. */
static int decode_http(const char *path, struct bytes text,
		       struct http_config **out, struct err *err)
{
	static const struct yaml_field fields[] = {
		HTTP_OPTION_FIELDS(struct http_file, http),
		{ 0 },
	};
	struct http_file f;
	struct str first;
	struct yaml y;
	int rc = 0;

	http_options_init(&f.http);
	yaml_parse(&y, path, text);
	if (y.root) {
		yaml_decode(&y, y.root, "the HTTP configuration", fields, &f);
		http_options_check(&y, y.root, &f.http);
	}
	first = yaml_first_error(&y);
	if (y.error_count)
		rc = err_set(err, ERR_INVALID, "%.*s", STR_ARG(first));
	else
		*out = http_config_new(&f.http);
	yaml_fini(&y);
	return rc;
}

int http_file_load(const char *path, struct http_config **out, struct err *err)
{
	struct buf text = buf_init(MIB);
	int rc = 0;

	*out = NULL;
	if (!path || !*path)
		return 0;
	rc = file_drain(path, &text, err);
	if (!rc)
		rc = decode_http(path, buf_bytes(&text), out, err);
	buf_fini(&text);
	return rc;
}
