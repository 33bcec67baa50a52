/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP client's options at work: with the contents of the files that they
 * name, read again when those change.
 *
 * Ownership: reference counted. Text handed out lives until the next load.
 * Threads: counting from any; the rest from the one loop that uses it.
 */
#ifndef CLIENT_HTTP_CONFIG_H
#define CLIENT_HTTP_CONFIG_H

#include <stdatomic.h>

#include "base/file.h"
#include "client/http_options.h"

/* Text that is given, or what its file holds. */
struct http_loaded {
	char *text; /* NULL: none */
	size_t len;
	char *file; /* NULL: given */
	struct file_stamp stamp;
};

struct http_loaded_header {
	char *name;
	struct http_loaded value;
};

struct http_loaded_headers {
	struct http_loaded_header *v;
	size_t count;
};

struct oauth2;

struct http_config {
	_Atomic uint32_t refs;
	char *key;
	enum http_auth auth;
	struct http_loaded username;
	struct http_loaded password;
	char *auth_type;
	struct http_loaded credentials;
	struct oauth2 *oauth2;
	struct http_loaded ca;
	struct http_loaded cert;
	struct http_loaded cert_key;
	char *server_name;
	bool insecure_skip_verify;
	enum http_tls_version min_version;
	enum http_tls_version max_version;
	char *proxy_url;
	char *no_proxy;
	bool proxy_from_environment;
	struct http_loaded_headers proxy_headers;
	bool follow_redirects;
	bool enable_http2;
	struct http_loaded_headers headers;
};

struct http_config *http_config_new(const struct http_options *o);
struct http_config *http_config_ref(struct http_config *c);
void http_config_unref(struct http_config *c); /* NULL is a no-op */

/* Whether it is what these options make. */
bool http_config_is(const struct http_config *c, const struct http_options *o);

/*
 * Read what has changed. Errors name the file: it cannot be read, or holds
 * what cannot be in a header.
 */
NODISCARD int http_config_load(struct http_config *c, struct err *err);

/*
 * The proxy for a URL: NULL for none. environment is the value of a variable
 * by its name, getenv() but in tests.
 */
const char *http_config_proxy(const struct http_config *c, const char *url,
			      char *(*environment)(const char *name));

/* Text of one part; used by what is built on it. */
void http_loaded_init(struct http_loaded *l, const struct http_text *t);
void http_loaded_fini(struct http_loaded *l);

/* A line of a header: spaces around it are cut, line ends refused. */
NODISCARD int http_loaded_line(struct http_loaded *l, const char *what,
			       struct err *err);

#endif
