/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoder of tls_server_config, a section of the web configuration file.
 *
 * Ownership: values are in the arena of the configuration.
 * Threads: one thread per configuration.
 */
#ifndef WEB_AUTH_TLS_CONFIG_H
#define WEB_AUTH_TLS_CONFIG_H

#include "web/auth/web_config.h"

/*
 * Decode the section into `field`, a struct web_config. Certificates and keys
 * are loaded and checked; mistakes are reported as errors of `y`.
 */
void decode_tls(struct yaml *y, const struct yaml_node *n, void *field);

/* Whether a client without a certificate is refused. */
bool needs_certificate(const struct web_tls *t);

/* Whether a client's certificate is verified against client_ca. */
bool verifies_certificate(const struct web_tls *t);

#endif
