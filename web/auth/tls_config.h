/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tls_server_config of the web configuration file.
 *
 * Ownership: values are in the arena of the configuration.
 * Threads: one thread a configuration.
 */
#ifndef WEB_AUTH_TLS_CONFIG_H
#define WEB_AUTH_TLS_CONFIG_H

#include "web/web_config.h"

void decode_tls(struct yaml *y, const struct yaml_node *n, void *field);

bool needs_certificate(const struct web_tls *t);

bool verifies_certificate(const struct web_tls *t);

#endif
