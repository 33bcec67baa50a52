/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery from an HTTP endpoint, asked at intervals.
 *
 * Ownership: the manager owns the provider.
 * Threads: the manager's.
 */
#ifndef DISCOVERY_HTTP_SD_H
#define DISCOVERY_HTTP_SD_H

#include "discovery/provider.h"

extern const struct provider_kind provider_http;

#endif
