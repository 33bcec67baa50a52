/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/easy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "client/address/endpoint.h"
#include "client/transfer/transfer.h"

/*
 * Add a header to a list and wipe the temporary copy, which may hold a
 * secret.
 */
static void easy_add_header(struct curl_slist **list, const char *name,
			    const char *value)
{
	/* libcurl's syntax for a header with an empty value is "Name;". */
	char *line = *value ? mem_printf("%s: %s", name, value) :
			      mem_printf("%s;", name);

	*list = curl_slist_append(*list, line);
	mem_forget(line);
}

/* Add all configured headers to a list. */
static void add_headers(struct curl_slist **list,
			const struct http_loaded_headers *h)
{
	for (size_t i = 0; i < h->count; i++)
		easy_add_header(list, h->v[i].name,
				h->v[i].value.text ? h->v[i].value.text : "");
}

/*
 * Pass a certificate or key to libcurl as text rather than by path. libcurl
 * reuses a connection only if the contents are equal, so new connections are
 * made after a file has changed (docs/decisions.md, 63).
 */
static void set_blob(CURL *e, CURLoption option, const struct http_loaded *l)
{
	struct curl_blob blob = { l->text, l->len, CURL_BLOB_COPY };

	if (l->text && l->len)
		curl_easy_setopt(e, option, &blob);
}

/* Set the lowest and the highest TLS version. */
static void set_versions(CURL *e, const struct http_config *g)
{
	static const long least[] = {
		[HTTP_TLS_DEFAULT] = CURL_SSLVERSION_TLSv1_2,
		[HTTP_TLS_10] = CURL_SSLVERSION_TLSv1_0,
		[HTTP_TLS_11] = CURL_SSLVERSION_TLSv1_1,
		[HTTP_TLS_12] = CURL_SSLVERSION_TLSv1_2,
		[HTTP_TLS_13] = CURL_SSLVERSION_TLSv1_3,
	};
	static const long most[] = {
		[HTTP_TLS_DEFAULT] = CURL_SSLVERSION_MAX_DEFAULT,
		[HTTP_TLS_10] = CURL_SSLVERSION_MAX_TLSv1_0,
		[HTTP_TLS_11] = CURL_SSLVERSION_MAX_TLSv1_1,
		[HTTP_TLS_12] = CURL_SSLVERSION_MAX_TLSv1_2,
		[HTTP_TLS_13] = CURL_SSLVERSION_MAX_TLSv1_3,
	};
	long from = least[g->min_version];

	/*
	 * A configured maximum below the default minimum lowers the minimum,
	 * because the range would otherwise be empty.
	 */
	if (!g->min_version && g->max_version && g->max_version < HTTP_TLS_12)
		from = least[g->max_version];
	curl_easy_setopt(e, CURLOPT_SSLVERSION, from | most[g->max_version]);
}

/*
 * Apply the option server_name. libcurl has no such option: for TLS it uses
 * the host of the URL. This function therefore gives libcurl a URL with
 * server_name as its host, makes libcurl connect to the real host, and puts the
 * real host into the Host header.
 */
static void set_server_name(struct transfer *t, const char *name)
{
	char *host = endpoint_part(t->url, URL_HOST);
	char *port = endpoint_part(t->url, URL_PORT);
	char *url = endpoint_with_host(t->url, name);

	if (host && port && url) {
		char *line = mem_printf("%s:%s:%s:%s", name, port, host, port);
		char *real = mem_printf("%s:%s", host, port);

		t->connect_to = curl_slist_append(NULL, line);
		curl_easy_setopt(t->easy, CURLOPT_URL, url);
		curl_easy_setopt(t->easy, CURLOPT_CONNECT_TO, t->connect_to);
		easy_add_header(&t->headers, "Host", real);
		mem_free(line);
		mem_free(real);
	}
	mem_free(host);
	mem_free(port);
	mem_free(url);
}

/* Return what names the proxy of a request. */
static const char *easy_proxy_source(const struct transfer *t)
{
	if (!t->config->proxy_from_environment)
		return "proxy_url";
	return strncmp(t->url, "https://", 8) ?
		       "the environment variable HTTP_PROXY or http_proxy" :
		       "the environment variable HTTPS_PROXY or https_proxy";
}

/*
 * Return a hint about the option that the user should check, or "" if there is
 * no hint. It is appended to `why`, the error message of the CURLcode `result`.
 */
static const char *easy_hint(const struct transfer *t, int result,
			     const char *why)
{
	bool own = t->config && t->config->ca.text;

	if (result == CURLE_SSL_CACERT_BADFILE)
		return own ? " (check ca_file or ca of tls_config)" :
			     " (the CA certificates of the system cannot be read: install the package ca-certificates, or set ca_file in tls_config)";
	if (result == CURLE_SSL_CERTPROBLEM)
		return " (check cert_file or cert, and key_file or key, of tls_config)";
	if (result == CURLE_PEER_FAILED_VERIFICATION &&
	    (strstr(why, "issuer") || strstr(why, "self-signed") ||
	     strstr(why, "self signed")))
		return own ? " (ca_file or ca of tls_config does not contain the CA of the certificate)" :
			     " (set ca_file in tls_config to trust a private CA)";
	if (strstr(why, "wrong version number"))
		return " (the server does not use TLS on this port)";
	return "";
}

int easy_transfer_error(const struct transfer *t, int result, const char *why,
			struct err *err)
{
	if (result == CURLE_COULDNT_CONNECT && t->proxy)
		return err_set(err, ERR_AGAIN, "%s (this is the proxy from %s)",
			       why, easy_proxy_source(t));
	return err_set(err, ERR_AGAIN, "%s%s", why, easy_hint(t, result, why));
}

int easy_socket_error(const struct transfer *t, struct err *err)
{
	long number = 0;

	curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &number);
	errno = number ? (int)number : ECONNREFUSED;
	err_sys(err, "cannot connect to the socket %s", t->unix_socket);
	return err->code = ERR_AGAIN;
}

/* Set certificates, TLS versions and verification. */
static void set_tls(struct transfer *t, const struct http_config *g)
{
	CURL *e = t->easy;

	set_blob(e, CURLOPT_CAINFO_BLOB, &g->ca);
	/*
	 * Trust only the configured CA, not the system's CA directory as well.
	 */
	if (g->ca.text)
		curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	set_blob(e, CURLOPT_SSLCERT_BLOB, &g->cert);
	set_blob(e, CURLOPT_SSLKEY_BLOB, &g->cert_key);
	set_versions(e, g);
	if (g->insecure_skip_verify) {
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (g->server_name && !strncmp(t->url, "https:", 6))
		set_server_name(t, g->server_name);
}

/*
 * Set the proxy and, if the URL is https, the headers of the CONNECT request
 * to the proxy.
 */
static void set_proxy(struct transfer *t, const struct http_config *g)
{
	if (!t->proxy)
		return;
	curl_easy_setopt(t->easy, CURLOPT_PROXY, t->proxy);
	/*
	 * Only an https URL is requested through CONNECT. For an http URL, the
	 * proxy would forward these headers to the target.
	 */
	if (strncmp(t->url, "https:", 6) != 0)
		return;
	add_headers(&t->proxy_headers, &g->proxy_headers);
	curl_easy_setopt(t->easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	curl_easy_setopt(t->easy, CURLOPT_PROXYHEADER, t->proxy_headers);
	/*
	 * The credentials have opened a tunnel through the proxy. The next
	 * request may lack them, so it must not reuse the tunnel.
	 */
	if (g->proxy_headers.count || strchr(t->proxy, '@'))
		curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 1L);
}

/* Return whether a host name is ASCII, so that it needs no IDNA conversion. */
static bool is_ascii(const char *s)
{
	while (*s && !((unsigned char)*s & 0x80))
		s++;
	return !*s;
}

/*
 * Return whether a URL's host is an IP address; IPv6 addresses have brackets.
 */
static bool easy_is_address(const char *host)
{
	struct in_addr a;

	return *host == '[' || inet_pton(AF_INET, host, &a) == 1;
}

/*
 * The name to resolve is the host of the proxy if there is a proxy, else the
 * host of the URL.
 */
int easy_route(struct transfer *t, struct err *err)
{
	bool can_proxy = t->config && !t->unix_socket;
	const char *proxy =
		can_proxy ? http_config_proxy(t->config, t->url, getenv) : NULL;
	const char *url;

	mem_forget(t->proxy);
	mem_free(t->name);
	mem_free(t->port);
	t->proxy = NULL;
	t->port = NULL;
	t->name = NULL;
	if (proxy && endpoint_proxy(proxy, &t->proxy, err))
		return err_wrap(err, err->code, "%s", easy_proxy_source(t));
	url = proxy ? t->proxy : t->url;
	t->name = endpoint_part(url, URL_HOST);
	if (!t->name || easy_is_address(t->name) || t->unix_socket) {
		mem_free(t->name);
		t->name = NULL;
		return 0; /* libcurl reports a malformed URL */
	}
	/*
	 * libcurl would convert a name that is not ASCII and look it up itself,
	 * in a thread that can block the loop (docs/decisions.md, 74).
	 */
	if (!is_ascii(t->name))
		return err_set(
			err, ERR_INVALID,
			"host name %.200s is not ASCII: use its Punycode form, xn--…",
			t->name);
	t->port = endpoint_part(url, URL_PORT);
	return 0;
}

/* Set Basic authentication. */
static void set_password(CURL *e, const char *username, const char *password)
{
	curl_easy_setopt(e, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	curl_easy_setopt(e, CURLOPT_USERNAME, username ? username : "");
	curl_easy_setopt(e, CURLOPT_PASSWORD, password ? password : "");
}

/* Make libcurl sign the request by AWS Signature Version 4. */
static void set_signature(struct transfer *t)
{
	char *provider = mem_printf("aws:amz:%s", t->aws_scope);

	curl_easy_setopt(t->easy, CURLOPT_AWS_SIGV4, provider);
	curl_easy_setopt(t->easy, CURLOPT_USERNAME, t->username);
	curl_easy_setopt(t->easy, CURLOPT_PASSWORD, t->password);
	mem_free(provider);
}

/* Set the authentication that the configuration asks for. */
static void set_authorization(struct transfer *t, const struct http_config *g)
{
	if (g->auth == HTTP_AUTH_BASIC) {
		set_password(t->easy, g->username.text, g->password.text);
	} else if (g->auth == HTTP_AUTH_HEADER) {
		char *value = mem_printf(
			"%s %s", g->auth_type,
			g->credentials.text ? g->credentials.text : "");

		easy_add_header(&t->headers, "Authorization", value);
		mem_forget(value);
	} else if (t->token) {
		easy_add_header(&t->headers, "Authorization", t->token);
	}
}

/*
 * Add credentials. Called only if no redirect has led to another scheme, host
 * or port than the request's. As in Go, user and password of the URL take
 * precedence over configured ones, but an OAuth 2 token takes precedence over
 * both.
 */
static void set_identity(struct transfer *t, const struct http_config *g)
{
	if (g)
		add_headers(&t->headers, &g->headers);
	if (t->aws_scope)
		set_signature(t);
	else if (t->username && !t->token)
		set_password(t->easy, t->username, t->password);
	else if (g)
		set_authorization(t, g);
}

int easy_check_headers(const struct transfer *t, struct err *err)
{
	for (const struct curl_slist *h = t->own; h; h = h->next) {
		const char *c = h->data;

		while (*c == '\t' || ((unsigned char)*c >= ' ' && *c != 0x7f))
			c++;
		if (*c)
			return err_set(
				err, ERR_INVALID,
				"the value of the header %.*s must be a single line of text (mostly, it is a token from the configuration, a file or the environment)",
				(int)strcspn(h->data, ":;\r\n"), h->data);
	}
	return 0;
}

/* Return whether a header cannot have a secret. */
static bool is_harmless(const char *header)
{
	return !strncasecmp(header, "Accept:", 7) ||
	       !strncasecmp(header, "X-Prometheus-", 13);
}

/*
 * Add the headers of the request itself. Some have tokens, which must not
 * follow a redirect to another origin.
 */
static void add_own_headers(struct transfer *t)
{
	for (const struct curl_slist *h = t->own; h; h = h->next) {
		if (!t->foreign || is_harmless(h->data))
			t->headers = curl_slist_append(t->headers, h->data);
	}
}

/*
 * Make the request one of HTTP/2. libcurl 7.88 fails when it sends a second
 * request over such a connection ("Error in the HTTP2 framing layer").
 */
static void set_http2(CURL *e)
{
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
			 (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(e, CURLOPT_FORBID_REUSE, 1L);
}

void easy_set_config(struct transfer *t)
{
	const struct http_config *g = t->config;

	add_own_headers(t);
	if (g && !g->enable_http2)
		curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION,
				 (long)CURL_HTTP_VERSION_1_1);
	if (g) {
		set_tls(t, g);
		set_proxy(t, g);
	}
	if (t->is_http2)
		set_http2(t->easy);
	if (!t->foreign)
		set_identity(t, g);
}

/*
 * Return the URL to which a redirect response points, without user and password;
 * NULL if there is none. It is absolute, even if the header Location is relative:
 * libcurl completes it, and may add the credentials of this request.
 */
static char *easy_location(const struct transfer *t)
{
	char *location = NULL;

	if (t->easy)
		curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &location);
	return location ? endpoint_without_user(location) : NULL;
}

char *easy_location_shown(const struct transfer *t)
{
	CLEANUP(mem_freep) char *location = easy_location(t);

	return location ? endpoint_url_shown(location) : NULL;
}

const char *easy_unfollowed(const struct transfer *t)
{
	if (t->post || t->method || t->body.ptr)
		return " (only a GET follows redirects)";
	if (t->config && !t->config->follow_redirects)
		return " (follow_redirects is false)";
	return t->config && !t->unix_socket ? "" :
					      " (this request follows none)";
}

/* Only the five statuses below are redirects, and only a GET is redirected. */
char *easy_redirect(const struct transfer *t)
{
	const struct http_config *g = t->config;
	char *location;
	long status = 0;
	char *url;

	if (*easy_unfollowed(t))
		return NULL;
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status != 301 && status != 302 && status != 303 && status != 307 &&
	    status != 308)
		return NULL;
	location = easy_location(t);
	if (!location)
		return NULL;
	/*
	 * With the option server_name, libcurl was given a URL whose host is
	 * server_name, and it completes a relative redirect with that host. The
	 * real host is put back here.
	 */
	if (t->connect_to && endpoint_same_part(location, t->url, URL_PORT)) {
		char *real = endpoint_part(t->url, URL_HOST);
		char *host = endpoint_part(location, URL_HOST);
		bool ours = real && host && !strcasecmp(host, g->server_name);

		url = ours ? endpoint_with_host(location, real) :
			     mem_strdup(location);
		mem_free(real);
		mem_free(host);
		mem_free(location);
		return url;
	}
	return location;
}
