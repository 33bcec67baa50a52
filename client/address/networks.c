/* SPDX-License-Identifier: Apache-2.0 */
#include "client/address/networks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

#define ENTRY_MAX 64 /* buffer size for an address as text */

/*
 * A network: an address, and how many of its leading bits an address in the
 * network must share. An IPv4 network is stored as IPv4-mapped IPv6 with 96
 * more bits, so that one comparison serves both families.
 */
struct network {
	uint8_t bytes[16];
	unsigned bits;
};

/* A set of networks. Lookups scan the array, because it is short. */
struct networks {
	VEC(struct network) v;
};

/* The first 12 bytes of every IPv4 address mapped into IPv6 (::ffff:0:0/96). */
static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

/* Zero bytes, for comparisons with the unspecified address. */
static const uint8_t any[12];

/*
 * Parse an address into 16 bytes; return false if it is malformed. out->bits
 * is set to the bits that every address of the same family shares: 96 for IPv4
 * (the prefix ::ffff:0:0 that maps IPv4 addresses into IPv6), 0 for IPv6.
 */
static bool parse_address(struct str text, struct network *out)
{
	char name[ENTRY_MAX];

	if (!str_to_array(text, name, sizeof(name)))
		return false;
	if (inet_pton(AF_INET6, name, out->bytes) == 1) {
		out->bits = 0;
		return true;
	}
	memcpy(out->bytes, mapped, sizeof(mapped));
	out->bits = 96;
	return inet_pton(AF_INET, name, out->bytes + 12) == 1;
}

/*
 * Parse ADDRESS or ADDRESS/BITS. Without BITS, the network contains only
 * ADDRESS.
 */
static bool parse_network(struct str entry, struct network *out)
{
	bool whole = !memchr(entry.ptr, '/', entry.len);
	struct str bits;
	struct str address = str_cut(entry, '/', &bits);
	int64_t count;

	if (!parse_address(address, out))
		return false;
	count = 128 - (int64_t)out->bits;
	if (!whole && (!str_to_i64(bits, &count) || count < 0 ||
		       count > 128 - (int64_t)out->bits))
		return false;
	out->bits += (unsigned)count;
	return true;
}

int networks_parse(const char *list, struct networks **out, struct err *err)
{
	struct str rest = str_of(list);
	struct networks *n = mem_new(struct networks);

	*out = NULL;
	while (rest.len) {
		struct str entry = str_trim(str_cut(rest, ',', &rest));

		if (entry.len && !parse_network(entry, vec_add(&n->v))) {
			networks_free(n);
			return err_set(
				err, ERR_INVALID,
				"invalid network \"%.*s\": use a prefix such as 10.0.0.0/8 or fe80::/10, or a single address",
				STR_ARG(entry));
		}
	}
	if (n->v.count)
		*out = n;
	else
		networks_free(n);
	return 0;
}

void networks_free(struct networks *n)
{
	if (!n)
		return;
	vec_fini(&n->v);
	mem_free(n);
}

bool address_bits_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned rest = bits % 8;

	if (memcmp(a, b, bits / 8) != 0)
		return false;
	return !rest || a[bits / 8] >> (8 - rest) == b[bits / 8] >> (8 - rest);
}

bool networks_hold(const struct networks *n, const struct sockaddr *a)
{
	uint8_t bytes[16];

	if (!n)
		return false;
	if (a->sa_family == AF_INET6) {
		struct sockaddr_in6 v6;

		memcpy(&v6, a, sizeof(v6));
		memcpy(bytes, &v6.sin6_addr, sizeof(bytes));
	} else if (a->sa_family == AF_INET) {
		struct sockaddr_in v4;

		memcpy(&v4, a, sizeof(v4));
		memcpy(bytes, mapped, sizeof(mapped));
		memcpy(bytes + 12, &v4.sin_addr, 4);
	} else {
		return false;
	}
	/*
	 * The kernel connects to the local machine if the address is
	 * unspecified (0.0.0.0 or ::). These two addresses are therefore
	 * checked as if they were 127.0.0.1 and ::1: a user who refuses the
	 * loopback network refuses them, too.
	 */
	if (!memcmp(bytes, any, 12) && !memcmp(bytes + 12, any, 4))
		bytes[15] = 1;
	else if (!memcmp(bytes, mapped, 12) && !memcmp(bytes + 12, any, 4))
		memcpy(bytes + 12, (const uint8_t[]){ 127, 0, 0, 1 }, 4);
	for (size_t i = 0; i < n->v.count; i++) {
		if (address_bits_equal(bytes, n->v.v[i].bytes, n->v.v[i].bits))
			return true;
	}
	return false;
}
