/* SPDX-License-Identifier: Apache-2.0 */
#include "client/address/endpoint.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"

/*
 * Parse a URL; return NULL if it is malformed. The caller frees the handle
 * with curl_url_cleanup().
 */
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

/*
 * Return a copy of one part of a parsed URL, to be freed with mem_free(), or
 * NULL if the URL lacks the part.
 */
static char *endpoint_get(CURLU *u, CURLUPart part, unsigned flags)
{
	char *text = NULL;
	char *out = NULL;

	if (!curl_url_get(u, part, &text, flags))
		out = mem_strdup(text);
	curl_free(text);
	return out;
}

/* For an IPv6 address, URL_HOST includes the brackets, as in the URL. */
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

/*
 * A part that is missing in both URLs does not count as equal. Credentials are
 * therefore never sent to a URL that cannot be parsed.
 */
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

/*
 * Return whether a part of a URL contains an encoded NUL (%00). A NUL would
 * cut off the decoded C string.
 */
static bool has_nul(CURLU *u, CURLUPart part)
{
	char *raw = endpoint_get(u, part, 0);
	bool has = raw && strstr(raw, "%00");

	mem_forget(raw);
	return has;
}

/*
 * Return the decoded user or password of a URL, or NULL. CURLU_URLDECODE is
 * not used, because it refuses control characters. Intermediate copies are
 * wiped.
 */
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

/*
 * Return the URL without user and password, which are removed from `u` as
 * well.
 */
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
	/*
	 * A URL with an encoded NUL is left as it is; libcurl refuses it later.
	 */
	if (u && !has_nul(u, CURLUPART_USER) && !has_nul(u, CURLUPART_PASSWORD))
		*user = get_decoded(u, CURLUPART_USER);
	if (*user) {
		*password = get_decoded(u, CURLUPART_PASSWORD);
		out = without_user(u);
	}
	curl_url_cleanup(u);
	return out;
}

char *endpoint_without_user(const char *url)
{
	CURLU *u = endpoint_parse(url, 0);
	char *out = u ? without_user(u) : NULL;

	curl_url_cleanup(u);
	return out ? out : mem_strdup(strchr(url, '@') ? "a URL" : url);
}

bool endpoint_url_has_secret(struct str url)
{
	return memchr(url.ptr, '@', url.len) || memchr(url.ptr, '?', url.len);
}

char *endpoint_url_shown(const char *url)
{
	CURLU *u = endpoint_parse(url, 0);
	char *query = u ? endpoint_get(u, CURLUPART_QUERY, 0) : NULL;
	char *bare = NULL;
	char *out;

	if (u && !curl_url_set(u, CURLUPART_QUERY, NULL, 0) &&
	    !curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0))
		bare = without_user(u);
	/* In a URL that cannot be parsed, it is not known what is secret. */
	if (bare)
		out = mem_printf("%s%s", bare, query ? "?…" : "");
	else
		out = mem_strdup(
			endpoint_url_has_secret(str_of(url)) ? "a URL" : url);
	mem_forget(query);
	mem_free(bare);
	curl_url_cleanup(u);
	return out;
}

/* The schemes of proxies and their default ports, as Go defines them. */
static const char *const proxy_ports[][2] = { { "https", "443" },
					      { "http", "80" },
					      { "socks5", "1080" },
					      { "socks5h", "1080" } };

/*
 * Return the default port of a proxy's scheme, or NULL if no proxy uses the
 * scheme.
 */
static const char *proxy_port(const char *scheme)
{
	for (size_t i = 0; i < ARRAY_SIZE(proxy_ports); i++) {
		if (!strcasecmp(scheme, proxy_ports[i][0]))
			return proxy_ports[i][1];
	}
	return NULL;
}

/*
 * Complete a proxy's URL: adds the default port and replaces socks5 by
 * socks5h. Returns false if no proxy uses the URL's scheme.
 */
static bool complete_proxy(CURLU *u)
{
	char *scheme = endpoint_get(u, CURLUPART_SCHEME, 0);
	char *given = endpoint_get(u, CURLUPART_PORT, 0);
	const char *port = scheme ? proxy_port(scheme) : NULL;

	if (port && !given)
		curl_url_set(u, CURLUPART_PORT, port, 0);
	/*
	 * The proxy resolves host names, as with Go. libcurl calls that
	 * socks5h.
	 */
	if (port && !strcasecmp(scheme, "socks5"))
		curl_url_set(u, CURLUPART_SCHEME, "socks5h",
			     CURLU_NON_SUPPORT_SCHEME);
	mem_free(scheme);
	mem_free(given);
	return port;
}

/*
 * Return whether the parser found no user although the text contains an "@".
 * This happens if a password contains an unescaped "/", "?" or "#": the parser
 * then treats the beginning of the password as a port and the rest as a path.
 */
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
		"invalid proxy URL: use http://HOST:PORT (or https, socks5, socks5h), and write /?#@ in a password as %%2F %%3F %%23 %%40");
}
