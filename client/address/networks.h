/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks: sets of addresses to which requests must not go. The address of
 * each connection is compared with the networks, so that a host name or a
 * redirect cannot be used to reach a refused address.
 *
 * Ownership: the caller frees networks with networks_free().
 * Threads: immutable after networks_parse(); any thread may read them.
 */
#ifndef CLIENT_ADDRESS_NETWORKS_H
#define CLIENT_ADDRESS_NETWORKS_H

#include <sys/socket.h>

#include "base/bytes.h"
#include "base/err.h"

struct networks;

/*
 * Parse a comma-separated list such as 169.254.0.0/16,fe80::/10,10.1.2.3. The
 * caller owns *out. An empty list sets *out to NULL, a set that contains no
 * address. The message of ERR_INVALID names the entry that is not a network.
 */
NODISCARD int networks_parse(const char *list, struct networks **out,
			     struct err *err);

/* Free networks. NULL is a no-op. */
void networks_free(struct networks *n);

/* Return whether the first `bits` bits of two addresses are equal. */
bool address_bits_equal(const uint8_t *a, const uint8_t *b, unsigned bits);

/*
 * Return whether an address is in one of the networks; false if `n` is NULL.
 * An IPv4 address mapped into IPv6 (::ffff:a.b.c.d) is treated as IPv4. The
 * unspecified address (0.0.0.0 or ::) is treated as the loopback address,
 * because a connection to it reaches the local machine.
 */
bool networks_hold(const struct networks *n, const struct sockaddr *a);

#endif
