/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks: addresses that requests may not go to. It is the address of the
 * connection that is judged, so names and redirects lead nowhere else.
 *
 * Ownership: networks_free(). Threads: any, once it is made.
 */
#ifndef CLIENT_NETWORKS_H
#define CLIENT_NETWORKS_H

#include <sys/socket.h>

#include "base/bytes.h"
#include "base/err.h"

struct networks;

/*
 * Of a list with commas: 169.254.0.0/16,fe80::/10,10.1.2.3. ERR_INVALID names
 * the entry that is none. An empty list is NULL, which holds no address.
 */
NODISCARD int networks_parse(const char *list, struct networks **out,
			     struct err *err);
void networks_free(struct networks *n);

/* Whether two addresses begin with the same bits. */
bool address_bits_equal(const uint8_t *a, const uint8_t *b, unsigned bits);

/* An address of IPv4 within IPv6 (::ffff:a.b.c.d) is one of IPv4. */
bool networks_hold(const struct networks *n, const struct sockaddr *a);

#endif
