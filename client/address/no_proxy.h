/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NO_PROXY: which URLs are asked for without a proxy. Pure.
 *
 * Source: golang.org/x/net/http/httpproxy, Config.NoProxy: names with those
 * below them (.name: only these), addresses, CIDR networks, each with a port
 * if it is given; * is all. This machine itself is never asked by a proxy.
 *
 * Ownership: borrows its texts.
 * Threads: pure functions.
 */
#ifndef CLIENT_ADDRESS_NO_PROXY_H
#define CLIENT_ADDRESS_NO_PROXY_H

#include <stdbool.h>

bool no_proxy_matches(const char *list, const char *url);

#endif
