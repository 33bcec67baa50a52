/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP discovery: target groups from an endpoint that is requested at
 * intervals.
 *
 * Ownership: text is borrowed from the struct yaml that it was decoded from.
 * Threads: immutable once decoded.
 */
#ifndef DISCOVERY_HTTP_HTTP_SD_H
#define DISCOVERY_HTTP_HTTP_SD_H

#include "discovery/core/provider.h"

/* An entry of http_sd_configs. */
struct http_sd_config {
	struct discovery_config base;
	struct str url; /* URL to request */
};

#endif
