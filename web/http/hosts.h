/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts: the names by which the server may be addressed. This prevents DNS
 * rebinding: an attacker makes the name of a page resolve to a loopback
 * address, and the page could then read everything from a server without
 * authentication (docs/decisions.md, 93).
 *
 * Ownership: borrows its texts.
 * Threads: pure functions.
 */
#ifndef WEB_HTTP_HOSTS_H
#define WEB_HTTP_HOSTS_H

#include "base/bytes.h"
#include "base/defs.h"

/*
 * Whether a Host header is an address, localhost, or one of the names
 * (separated by commas, without ports). If `names` is NULL, any host is
 * allowed. A request without a Host header is always allowed, because no
 * browser sends one.
 */
bool hosts_allow(const char *names, const char *host);

#endif
