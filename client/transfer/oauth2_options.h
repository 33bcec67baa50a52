/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of OAuth 2 from YAML.
 *
 * Ownership: values are in the arena of the document.
 * Threads: one thread per document.
 */
#ifndef CLIENT_TRANSFER_OAUTH2_OPTIONS_H
#define CLIENT_TRANSFER_OAUTH2_OPTIONS_H

#include "base/yaml.h"

/* Decodes the section oauth2 and checks that its required keys are present. */
void http_decode_oauth2(struct yaml *y, const struct yaml_node *n,
			void *options);

/*
 * Decodes a URL of scheme http or https into a struct str. A URL with an "@",
 * which may hold a password, is marked as a secret.
 */
void http_decode_url(struct yaml *y, const struct yaml_node *n, void *url);

#endif
