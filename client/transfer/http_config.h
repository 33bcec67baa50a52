/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of an HTTP client that is in use, together with the contents of
 * the files that the options name. http_config_load() reads a file again if it
 * has changed.
 *
 * Ownership: reference counted. Returned text is valid until the next
 * http_config_load().
 * Threads: references may be taken and dropped by any thread; everything else
 * belongs to the one loop that uses the configuration.
 */
#ifndef CLIENT_TRANSFER_HTTP_CONFIG_H
#define CLIENT_TRANSFER_HTTP_CONFIG_H

#include <stdatomic.h>

#include "base/file.h"
#include "client/transfer/http_options.h"

/* A text that is configured directly or loaded from a configured file. */
struct http_loaded {
	char *text; /* NULL: not configured, or its file is not loaded yet */
	size_t len;
	/* path of the file; NULL: the text is configured directly */
	char *file;
	struct file_stamp stamp; /* state of the file when it was read */
};

/*
 * A configured HTTP header: a constant name, and a value that is configured
 * directly or loaded from a file.
 */
struct http_loaded_header {
	char *name;
	struct http_loaded value;
};

/* A list of headers. */
struct http_loaded_headers {
	struct http_loaded_header *v;
	size_t count;
};

struct oauth2;

/*
 * The options of an HTTP client, with the contents of their files. The members
 * mean the same as in struct http_options.
 */
struct http_config {
	_Atomic uint32_t refs;
	char *key; /* all options as text, see struct http_options */
	enum http_auth auth;
	struct http_loaded username;
	struct http_loaded password;
	char *auth_type;
	struct http_loaded credentials;
	const char *credentials_file_key;
	struct oauth2 *oauth2; /* owned; NULL unless auth is HTTP_AUTH_OAUTH2 */
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

/*
 * Copy the options. No file is read before http_config_load(). The caller
 * owns a reference.
 */
struct http_config *http_config_new(const struct http_options *o);

/* Take another reference and return `c`. */
struct http_config *http_config_ref(struct http_config *c);

/*
 * Drop a reference. The last reference frees `c` and wipes its secrets. NULL
 * is a no-op.
 */
void http_config_unref(struct http_config *c);

/*
 * Return whether `c` was made from options with the same text as `o`, so that
 * `c` can be used for `o`.
 */
bool http_config_is(const struct http_config *c, const struct http_options *o);

/*
 * Read the files that have changed. The error's message names the option and
 * the file. ERR_TOOBIG: a file is too large. ERR_INVALID: the text of a header
 * has characters that a header cannot carry, or the CA is empty. Other codes
 * come from reading a file.
 */
NODISCARD int http_config_load(struct http_config *c, struct err *err);

/*
 * Read all files that options name, and forget them; for checks of a
 * configuration. Errors are those of http_config_load().
 */
NODISCARD int http_config_try(const struct http_options *o, struct err *err);

/*
 * Return the URL of the proxy for a request to `url`, or NULL if no proxy is
 * to be used. The text is borrowed from `c` or from the environment.
 * environment(name) returns an environment variable: getenv(), except in tests.
 */
const char *http_config_proxy(const struct http_config *c, const char *url,
			      char *(*environment)(const char *name));

/*
 * Initialize a text from its configuration, without reading its file. For
 * callers that hold a text outside of an http_config, such as oauth2.c.
 */
void http_loaded_init(struct http_loaded *l, const struct http_text *t);

/* Wipe a text from memory and free it. */
void http_loaded_fini(struct http_loaded *l);

/*
 * Read the file of a text if it has changed, and check that the text is a
 * single line fit for a header. White space around the line is removed.
 * Messages name the option by `key`, or by `file_key` if the text is that of a
 * file. ERR_INVALID: the text has more than one line or a control character.
 * Other codes come from reading the file.
 */
NODISCARD int http_loaded_line(struct http_loaded *l, const char *key,
			       const char *file_key, struct err *err);

#endif
