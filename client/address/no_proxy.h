/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NO_PROXY: decides which URLs bypass the proxy.
 *
 * Source: golang.org/x/net/http/httpproxy, Config.NoProxy. An entry of the list
 * is a name, an address, or a CIDR network. A name covers its subdomains, too;
 * .name covers only the subdomains. A name or an address may have a port. The
 * entry * means every host. Requests to the local machine (localhost, loopback
 * addresses) always bypass the proxy. libcurl's own matching differs and is not
 * used (docs/decisions.md, 64).
 *
 * Threads: pure functions.
 */
#ifndef CLIENT_ADDRESS_NO_PROXY_H
#define CLIENT_ADDRESS_NO_PROXY_H

#include <stdbool.h>

/* Return whether the comma-separated list exempts the URL from the proxy. */
bool no_proxy_matches(const char *list, const char *url);

#endif
