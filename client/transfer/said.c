/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/said.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

/* Maximum size, in bytes, of a JSON body that is parsed. */
#define JSON_MAX ((size_t)64 << 10)

/* Copy the printable beginning of a text. */
static void copy_printable(struct bytes text, char *out, size_t size)
{
	size_t n = 0;

	while (n < text.len && n < size - 1 && text.ptr[n] >= ' ' &&
	       text.ptr[n] <= '~')
		n++;
	memcpy(out, text.ptr, n);
	out[n] = 0;
}

/* Copy the member `error` of a JSON object. */
static void copy_error(struct bytes body, char *out, size_t size)
{
	json_t *root = json_loadb((const char *)body.ptr, body.len, 0, NULL);
	const char *text = json_string_value(json_object_get(root, "error"));

	if (text)
		copy_printable((struct bytes){ .ptr = (const uint8_t *)text,
					       .len = strlen(text) },
			       out, size);
	json_decref(root);
}

void said_copy(const char *content_type, struct bytes body, char *out,
	       size_t size)
{
	*out = 0;
	if (!body.len)
		return;
	if (!strncasecmp(content_type, "text/plain", 10))
		copy_printable(body, out, size);
	else if (!strncasecmp(content_type, "application/json", 16) &&
		 body.len <= JSON_MAX)
		copy_error(body, out, size);
}
