/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS discovery: targets from the records of names.
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/configuration,
 * dns_sd_config.
 *
 * Ownership: text is borrowed from the struct yaml that it was decoded from.
 * Threads: immutable once decoded.
 */
#ifndef DISCOVERY_DNS_DNS_SD_H
#define DISCOVERY_DNS_DNS_SD_H

#include "discovery/core/provider.h"
#include "discovery/dns/dns_records.h"

/* An entry of dns_sd_configs. */
struct dns_config {
	struct discovery_config base;
	struct str *names;
	size_t name_count;
	enum dns_type type;
	bool unknown_type;   /* `type` was wrong, and has been reported */
	int64_t port;        /* 0: not set */
	const char *servers; /* name servers, for tests; NULL: the system's */
};

#endif
