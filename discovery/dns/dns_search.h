/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search list of the system's resolver: which full names are asked for, one
 * after the other, to look up a configured name.
 *
 * Source: resolv.conf(5), "search", "domain" and "ndots". As in Prometheus, the
 * domain of the host is not searched unless the file names it.
 *
 * Ownership: a search list owns its domains.
 * Threads: one thread at a time.
 */
#ifndef DISCOVERY_DNS_DNS_SEARCH_H
#define DISCOVERY_DNS_DNS_SEARCH_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/vec.h"

/*
 * The domains of the search list, and the option ndots, of a file resolv.conf.
 */
struct dns_search {
	VEC(char *) domains;
	unsigned ndots;
};

/* Read the text of a file resolv.conf. The caller calls dns_search_fini(). */
void dns_search_parse(struct str text, struct dns_search *out);

/* Free the domains. */
void dns_search_fini(struct dns_search *s);

/*
 * To look up `name`, several full names are tried in order. Return the full
 * name for attempt number `i`, counted from 0, with a dot at its end. The
 * caller owns the text. NULL: there are no more names.
 */
char *dns_search_name(const struct dns_search *s, struct str name, size_t i);

#endif
