/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the decoders of HTTP options share. No other file includes
 * this header.
 *
 * Ownership: values are in the arena of the document.
 * Threads: one thread per document.
 */
#ifndef CLIENT_TRANSFER_HTTP_OPTIONS_PRIVATE_H
#define CLIENT_TRANSFER_HTTP_OPTIONS_PRIVATE_H

#include "client/transfer/http_options.h"

/* Returns whether a text is configured, either directly or as a file. */
bool http_options_is_set(const struct http_text *t);

/*
 * Decodes the path of a file. A relative path is relative to the folder of the
 * configuration file.
 */
void http_options_decode_file(struct yaml *y, const struct yaml_node *n,
			      void *field);

/*
 * Refuses a text that is given both directly and as a file. An empty text
 * becomes no text.
 */
void http_options_check_one(struct yaml *y, const struct yaml_node *n,
			    struct http_text *t, const char *name);

/*
 * Records how the client authenticates itself. Returns false and reports an
 * error if a way of authentication was recorded before.
 */
bool http_options_set_auth(struct yaml *y, const struct yaml_node *n,
			   struct http_options *o, enum http_auth auth);

/*
 * Decodes a URL with one of the given schemes. A URL with an "@" may hold a
 * password and is marked as a secret, so that it is not shown.
 */
void http_options_decode_url(struct yaml *y, const struct yaml_node *n,
			     const char *const *schemes, struct str *url);

/*
 * Adds a header to a list in the configuration's arena and returns the header.
 * The array is copied each time, which is fast enough for the few headers in a
 * configuration.
 */
struct http_header *http_options_add_header(struct yaml *y,
					    struct http_header_list *l,
					    struct str name);

#endif
