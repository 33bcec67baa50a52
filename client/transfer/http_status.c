/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/http_status.h"

#include "client/transfer/http.h"

const char *http_status_text(long status)
{
	/*
	 * Contains only the codes that targets and token endpoints are likely
	 * to return.
	 */
	static const struct {
		long status;
		const char *text;
	} names[] = {
		{ 200, "OK" },
		{ 204, "No Content" },
		{ 301, "Moved Permanently" },
		{ 302, "Found" },
		{ 303, "See Other" },
		{ 304, "Not Modified" },
		{ 307, "Temporary Redirect" },
		{ 308, "Permanent Redirect" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 429, "Too Many Requests" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].status == status)
			return names[i].text;
	}
	return "";
}

/*
 * The message for a redirect contains the target URL, because the usual remedy
 * is to configure that URL.
 */
int http_status_check(const struct http_response *r, struct err *err)
{
	if (r->code)
		/* The transfer failed before a status arrived. */
		return err_set(err, r->code, "%s", r->err.msg);
	if (r->status == 200)
		return 0;
	if (r->status / 100 == 3 && *r->location)
		return err_set(
			err, ERR_INVALID,
			"server returned HTTP status %ld%s%s: the redirect to %s is not followed%s; if that URL is right, configure it instead",
			r->status, *http_status_text(r->status) ? " " : "",
			http_status_text(r->status), r->location,
			r->unfollowed ? r->unfollowed : "");
	return err_set(
		err, ERR_INVALID, "server returned HTTP status %ld%s%s%s%s",
		r->status, *http_status_text(r->status) ? " " : "",
		http_status_text(r->status), *r->said ? ": " : "", r->said);
}
