/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of an HTTP client in use, together with the contents of the files
 * that they name. A file is read again when it changes.
 *
 * Ownership: reference counted. Text that is handed out is valid until the next
 * http_config_load().
 * Threads: references may be taken and dropped by any thread; everything else
 * belongs to the one loop that uses the configuration.
 */
#ifndef CLIENT_HTTP_CONFIG_H
#define CLIENT_HTTP_CONFIG_H

#include <stdatomic.h>

#include "base/file.h"
#include "client/http_options.h"

/* A text that was configured directly, or the contents of its file. */
struct http_loaded {
	char *text; /* NULL: neither configured nor loaded yet */
	size_t len;
	char *file;              /* NULL: configured directly */
	struct file_stamp stamp; /* of the file when it was read */
};

/* A header with a fixed name. */
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

/* The members correspond to those of struct http_options. */
struct http_config {
	_Atomic uint32_t refs;
	char *key; /* see struct http_options */
	enum http_auth auth;
	struct http_loaded username;
	struct http_loaded password;
	char *auth_type;
	struct http_loaded credentials;
	struct oauth2 *oauth2; /* owned; NULL unless auth says so */
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
 * Copies the options. No file is read before http_config_load(). The caller
 * owns a reference.
 */
struct http_config *http_config_new(const struct http_options *o);

/* Takes another reference and returns c. */
struct http_config *http_config_ref(struct http_config *c);

/*
 * Drops a reference; the last one frees c and wipes its secrets. NULL is a
 * no-op.
 */
void http_config_unref(struct http_config *c);

/*
 * Returns whether c was made of options with the same text, so that c can be
 * reused.
 */
bool http_config_is(const struct http_config *c, const struct http_options *o);

/*
 * Reads the files that have changed. Errors name the option and the file: the
 * file cannot be read (the code is that of the read), is too large
 * (ERR_TOOBIG), or contains what a header cannot carry (ERR_INVALID).
 */
NODISCARD int http_config_load(struct http_config *c, struct err *err);

/*
 * Returns the URL of the proxy for a request, or NULL for none; borrowed from c
 * or the environment. environment returns a variable by its name; it is
 * getenv() except in tests.
 */
const char *http_config_proxy(const struct http_config *c, const char *url,
			      char *(*environment)(const char *name));

/*
 * Copies one configured text; its file is not read yet. For users that hold
 * single texts, such as oauth2.c.
 */
void http_loaded_init(struct http_loaded *l, const struct http_text *t);

/* Frees a text and wipes it from memory. */
void http_loaded_fini(struct http_loaded *l);

/*
 * Loads a text, if its file has changed, and checks that it is a single line
 * fit for a header; surrounding white space is removed. what names the option
 * in messages. ERR_INVALID: there is more than one line or a control character;
 * other codes come from reading the file.
 */
NODISCARD int http_loaded_line(struct http_loaded *l, const char *what,
			       struct err *err);

#endif
