/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts: check the name by which a client addresses the server. This prevents
 * DNS rebinding: an attacker lets the host name of a web page resolve to a
 * loopback address; the page could then read everything from a server without
 * authentication (docs/decisions.md, 93).
 *
 * Ownership: borrows its texts.
 * Threads: pure functions.
 */
#ifndef WEB_GUARD_HOSTS_H
#define WEB_GUARD_HOSTS_H

#include "base/bytes.h"
#include "base/defs.h"

/* What a client is told whose host is not allowed. */
#define HOSTS_REFUSAL                                                     \
	"the host name of the request is not allowed: use an IP address " \
	"or localhost, or add the name to --web.allowed-hosts"

/*
 * Whether the Host header `host` is an IP address, localhost, or one of `names`
 * (separated by commas, without ports). If `names` is NULL, every host is
 * allowed. A request without a Host header is always allowed, because no
 * browser sends such a request.
 */
bool hosts_allow(const char *names, const char *host);

#endif
