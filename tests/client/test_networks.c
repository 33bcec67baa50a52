/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "client/address/networks.h"
#include "tests/check.h"

TestSuite(networks, .timeout = 30);

static bool holds(const struct networks *n, const char *address)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };

	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
		return networks_hold(n, (const struct sockaddr *)&v4);
	cr_assert(inet_pton(AF_INET6, address, &v6.sin6_addr) == 1);
	return networks_hold(n, (const struct sockaddr *)&v6);
}

Test(networks, addresses_match_their_networks)
{
	struct networks *n;

	cr_assert(!networks_parse(
		"169.254.0.0/16, 10.1.2.3,fe80::/10,::1, 192.168.4.0/22", &n,
		NULL));
	cr_assert(holds(n, "169.254.169.254"));
	cr_expect(!holds(n, "169.255.0.0"));
	cr_assert(holds(n, "10.1.2.3"));
	cr_expect(!holds(n, "10.1.2.4"));
	cr_assert(holds(n, "fe80::1"));
	cr_assert(holds(n, "febf::1"));
	cr_expect(!holds(n, "fec0::1"));
	cr_assert(holds(n, "::1"));
	cr_expect(!holds(n, "::2"));
	cr_assert(holds(n, "192.168.7.255"));
	cr_expect(!holds(n, "192.168.8.0"));
	cr_expect(holds(n, "::ffff:169.254.1.1"), "IPv4 within IPv6");
	networks_free(n);
	cr_assert(!networks_parse("127.0.0.0/8,::1", &n, NULL));
	cr_assert(holds(n, "0.0.0.0"), "they lead to this machine");
	cr_assert(holds(n, "::"), "they lead to this machine");
	cr_expect(holds(n, "::ffff:0.0.0.0"), "they lead to this machine");
	cr_assert(!holds(n, "0.0.0.1"));
	cr_expect(!holds(n, "::2"));
	networks_free(n);
	cr_assert(!networks_parse("0.0.0.0/0", &n, NULL));
	cr_assert(holds(n, "1.2.3.4"));
	cr_expect(!holds(n, "2001:db8::1"));
	networks_free(n);
	cr_assert(!networks_parse("::/0", &n, NULL));
	cr_assert(holds(n, "1.2.3.4"));
	cr_expect(holds(n, "2001:db8::1"));
	networks_free(n);
	cr_assert(!networks_parse(" , ", &n, NULL));
	cr_assert(!n);
	cr_expect(!holds(n, "1.2.3.4"));
}

Test(networks, invalid_networks_are_named)
{
	static const char *const bad[] = {
		"10.0.0.0/33", "fe80::/129",  "10.0.0/8",
		"10.0.0.0/-1", "10.0.0.0/",   "example",
		"/8",          "10.0.0.0/8x", "1.1.1.1 2.2.2.2",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct networks *n;
		struct err err;

		cr_assert(networks_parse(bad[i], &n, &err) == ERR_INVALID, "%s",
			  bad[i]);
		cr_assert(!n, "%s", bad[i]);
		cr_expect(strstr(err.msg, bad[i]), "%s", bad[i]);
	}
}
