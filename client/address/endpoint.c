/* SPDX-License-Identifier: Apache-2.0 */
#include "client/endpoint.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"

/* Taken apart, or NULL. */
static CURLU *endpoint_parse(const char *url, unsigned flags)
{
	CURLU *u = curl_url();

	if (!u)
		abort(); /* out of memory */
	if (!curl_url_set(u, CURLUPART_URL, url, flags))
		return u;
	curl_url_cleanup(u);
	return NULL;
}

static char *endpoint_get(CURLU *u, CURLUPart part, unsigned flags)
{
	char *text = NULL;
	char *out = NULL;

	if (!curl_url_get(u, part, &text, flags))
		out = mem_strdup(text);
	curl_free(text);
	return out;
}

char *endpoint_part(const char *url, enum endpoint_part part)
{
	static const CURLUPart parts[] = { [URL_SCHEME] = CURLUPART_SCHEME,
					   [URL_HOST] = CURLUPART_HOST,
					   [URL_PORT] = CURLUPART_PORT };
	CURLU *u = endpoint_parse(url, CURLU_NON_SUPPORT_SCHEME);
	char *out = u ? endpoint_get(u, parts[part], CURLU_DEFAULT_PORT) : NULL;

	curl_url_cleanup(u);
	return out;
}

bool endpoint_same_part(const char *a, const char *b, enum endpoint_part part)
{
	char *x = endpoint_part(a, part);
	char *y = endpoint_part(b, part);
	bool same = x && y && !strcasecmp(x, y);

	mem_free(x);
	mem_free(y);
	return same;
}

bool endpoint_same_origin(const char *a, const char *b)
{
	return endpoint_same_part(a, b, URL_SCHEME) &&
	       endpoint_same_part(a, b, URL_HOST) &&
	       endpoint_same_part(a, b, URL_PORT);
}

char *endpoint_with_host(const char *url, const char *host)
{
	CURLU *u = endpoint_parse(url, 0);
	char *out = NULL;

	if (u && !curl_url_set(u, CURLUPART_HOST, host, 0))
		out = endpoint_get(u, CURLUPART_URL, 0);
	curl_url_cleanup(u);
	return out;
}

static bool has_nul(CURLU *u, CURLUPart part)
{
	char *raw = endpoint_get(u, part, 0);
	bool has = raw && strstr(raw, "%00");

	mem_forget(raw);
	return has;
}

/* CURLU_URLDECODE would refuse control characters. */
static char *get_decoded(CURLU *u, CURLUPart part)
{
	char *raw = endpoint_get(u, part, 0);
	char *text = raw ? curl_easy_unescape(NULL, raw, 0, NULL) : NULL;
	char *out = text ? mem_strdup(text) : NULL;

	if (text)
		explicit_bzero(text, strlen(text));
	curl_free(text);
	mem_forget(raw);
	return out;
}

/* The URL without what it says of who asks. */
static char *without_user(CURLU *u)
{
	if (curl_url_set(u, CURLUPART_USER, NULL, 0) ||
	    curl_url_set(u, CURLUPART_PASSWORD, NULL, 0))
		return NULL;
	return endpoint_get(u, CURLUPART_URL, 0);
}

char *endpoint_split_user(const char *url, char **user, char **password)
{
	CURLU *u = strchr(url, '@') ? endpoint_parse(url, 0) : NULL;
	char *out = NULL;

	*user = NULL;
	*password = NULL;
	/* What a NUL would cut stays as it is: libcurl refuses it. */
	if (u && !has_nul(u, CURLUPART_USER) && !has_nul(u, CURLUPART_PASSWORD))
		*user = get_decoded(u, CURLUPART_USER);
	if (*user) {
		*password = get_decoded(u, CURLUPART_PASSWORD);
		out = without_user(u);
	}
	curl_url_cleanup(u);
	return out;
}

char *http_url_shown(const char *url)
{
	CURLU *u = endpoint_parse(url, 0);
	char *out = u ? without_user(u) : NULL;

	curl_url_cleanup(u);
	/* What cannot be taken apart is shown if it can hold no password. */
	return out ? out : mem_strdup(strchr(url, '@') ? "a URL" : url);
}

/* What proxies there are, and their ports, as Go takes them. */
static const char *const proxy_ports[][2] = { { "https", "443" },
					      { "http", "80" },
					      { "socks5", "1080" },
					      { "socks5h", "1080" } };

/* The port that such a proxy has if it names none, or NULL. */
static const char *proxy_port(const char *scheme)
{
	for (size_t i = 0; i < ARRAY_SIZE(proxy_ports); i++) {
		if (!strcasecmp(scheme, proxy_ports[i][0]))
			return proxy_ports[i][1];
	}
	return NULL;
}

/* False: it is none. */
static bool complete_proxy(CURLU *u)
{
	char *scheme = endpoint_get(u, CURLUPART_SCHEME, 0);
	char *given = endpoint_get(u, CURLUPART_PORT, 0);
	const char *port = scheme ? proxy_port(scheme) : NULL;

	if (port && !given)
		curl_url_set(u, CURLUPART_PORT, port, 0);
	/* Names are looked up at the other end, as Go does it. */
	if (port && !strcasecmp(scheme, "socks5"))
		curl_url_set(u, CURLUPART_SCHEME, "socks5h",
			     CURLU_NON_SUPPORT_SCHEME);
	mem_free(scheme);
	mem_free(given);
	return port;
}

/* A password with one of "/?#" in it would be a port and a path. */
static bool has_lost_user(CURLU *u, const char *text)
{
	char *user = endpoint_get(u, CURLUPART_USER, 0);
	bool lost = strchr(text, '@') && !user;

	mem_free(user);
	return lost;
}

int endpoint_proxy(const char *text, char **out, struct err *err)
{
	char *url = strstr(text, "://") ? mem_strdup(text) :
					  mem_printf("http://%s", text);
	CURLU *u = endpoint_parse(url, CURLU_NON_SUPPORT_SCHEME);

	*out = NULL;
	if (u && !has_lost_user(u, url) && complete_proxy(u))
		*out = endpoint_get(u, CURLUPART_URL, CURLU_NON_SUPPORT_SCHEME);
	curl_url_cleanup(u);
	mem_forget(url);
	if (*out)
		return 0;
	return err_set(
		err, ERR_INVALID,
		"a proxy is http://HOST:PORT, or https, socks5 or socks5h; "
		"in its password /?#@ are written %%2F %%3F %%23 %%40");
}
