/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts: by which names the server may be asked. A page whose name an attacker
 * has turned to a loopback address (DNS rebinding) asks by that name: a server
 * without authentication would give it all profiles.
 *
 * Ownership: borrows its texts.
 * Threads: pure functions.
 */
#ifndef WEB_HTTP_HOSTS_H
#define WEB_HTTP_HOSTS_H

#include "base/bytes.h"
#include "base/defs.h"

/*
 * Whether a Host header is of an address, of localhost, or of one of the names
 * (separated by commas, without ports). names NULL: any host is allowed. A
 * request without one, as of HTTP/1.0, comes from no browser.
 */
bool hosts_allow(const char *names, const char *host);

#endif
