/* SPDX-License-Identifier: Apache-2.0 */
#include "client/address/no_proxy.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "client/address/networks.h"

#define HOST_MAX 256 /* buffer size for a host; a DNS name is shorter */

/* An IP address; an IPv4 address uses only the first 4 bytes. */
struct address {
	int family; /* AF_INET or AF_INET6; 0: the host is a name */
	uint8_t bytes[16];
};

/*
 * A host with an optional port, parsed from a URL or from an entry of the
 * NO_PROXY list.
 */
struct place {
	char host[HOST_MAX]; /* name or address, without brackets */
	struct str port;     /* port as text; empty if not given */
	struct address address;
};

/*
 * Parse an address; the family of the result is 0 if the text is a name. An
 * IPv4 address in IPv6 notation (::ffff:10.0.0.1) is treated as the IPv4
 * address, as in Go.
 */
static struct address address_of(const char *text)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct address a = { .family = AF_INET };

	if (inet_pton(AF_INET, text, a.bytes) == 1)
		return a;
	a.family = AF_INET6;
	if (inet_pton(AF_INET6, text, a.bytes) != 1)
		return (struct address){ 0 };
	if (!memcmp(a.bytes, mapped, sizeof(mapped))) {
		memmove(a.bytes, a.bytes + sizeof(mapped), 4);
		a.family = AF_INET;
	}
	return a;
}

/* Parse host, host:port, [v6], [v6]:port or a bare IPv6 address. */
static bool no_proxy_parse(struct str s, struct place *out)
{
	bool bracket = s.len && *s.ptr == '[';
	const char *end = s.ptr + s.len;
	const char *close = bracket ? memchr(s.ptr, ']', s.len) : NULL;
	const char *colon = memchr(s.ptr, ':', s.len);
	struct str host = s;

	*out = (struct place){ .port = str_of("") };
	if (bracket && !close)
		return false;
	if (bracket) {
		host = (struct str){ s.ptr + 1, (size_t)(close - s.ptr - 1) };
		colon = close + 1 < end ? close + 1 : NULL;
	} else if (colon && memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
		colon = NULL; /* more than one colon: a bare IPv6 address */
	} else if (colon) {
		host.len = (size_t)(colon - s.ptr);
	}
	if (colon)
		out->port =
			(struct str){ colon + 1, (size_t)(end - colon - 1) };
	if (!host.len || !str_to_array(host, out->host, HOST_MAX))
		return false;
	out->address = address_of(out->host);
	return true;
}

/*
 * Return HOST[:PORT] of a URL, without user and password. *port is set to the
 * default port of the URL's scheme.
 */
static struct str no_proxy_read_authority(const char *url, const char **port)
{
	const char *p = strstr(url, "://");
	struct str s;
	const char *at;

	*port = !strncmp(url, "https", 5) ? "443" : "80";
	p = p ? p + 3 : url;
	s = (struct str){ p, strcspn(p, "/?#") };
	at = memrchr(s.ptr, '@', s.len);
	if (at) {
		s.len -= (size_t)(at + 1 - s.ptr);
		s.ptr = at + 1;
	}
	return s;
}

/*
 * Return whether a host is the local machine, to which Go never connects
 * through a proxy.
 */
static bool is_loopback(const struct place *p)
{
	static const uint8_t v6[16] = { [15] = 1 };

	if (p->address.family == AF_INET)
		return p->address.bytes[0] == 127;
	if (p->address.family == AF_INET6)
		return !memcmp(p->address.bytes, v6, sizeof(v6));
	return !strcasecmp(p->host, "localhost");
}

/*
 * Return whether an address is in the network that an entry ADDRESS/BITS of
 * the list describes; false for a malformed entry.
 */
static bool in_network(const struct place *p, struct str entry)
{
	struct str bits;
	struct str net = str_cut(entry, '/', &bits);
	struct place n;
	int64_t count;

	/* A network has neither a port nor brackets. */
	if (memchr(net.ptr, '[', net.len) || !no_proxy_parse(net, &n) ||
	    n.port.len)
		return false;
	if (!n.address.family || !str_to_i64(bits, &count) || count < 0 ||
	    count > (n.address.family == AF_INET ? 32 : 128))
		return false;
	return p->address.family == n.address.family &&
	       address_bits_equal(p->address.bytes, n.address.bytes,
				  (unsigned)count);
}

/*
 * Return whether `host` is `domain` or a subdomain of it. A domain with a
 * leading dot covers only its subdomains.
 */
static bool in_domain(const char *host, const char *domain)
{
	size_t n = strlen(host);
	size_t d = strlen(domain);
	bool below = *domain == '.';

	if (!below && !strcasecmp(host, domain))
		return true;
	if (n <= d || strcasecmp(host + n - d, domain) != 0)
		return false;
	return below || host[n - d - 1] == '.';
}

/*
 * Return whether one entry of the list covers a host and port. An entry with a
 * port covers only that port. An entry that is a name never covers an IP
 * address.
 */
static bool entry_matches(struct str entry, const struct place *p)
{
	struct place e;

	if (str_is(entry, "*"))
		return true;
	if (memchr(entry.ptr, '/', entry.len))
		return p->address.family && in_network(p, entry);
	/* An entry *.name means the same as .name. */
	if (entry.len > 2 && !memcmp(entry.ptr, "*.", 2)) {
		entry.ptr++;
		entry.len--;
	}
	if (!no_proxy_parse(entry, &e) ||
	    (e.port.len && !str_eq(e.port, p->port)))
		return false;
	if (e.address.family || p->address.family)
		return e.address.family == p->address.family &&
		       !memcmp(e.address.bytes, p->address.bytes, 16);
	return in_domain(p->host, e.host);
}

/*
 * If the URL has no port, the default port of its scheme is compared with the
 * ports of the entries.
 */
bool no_proxy_matches(const char *list, const char *url)
{
	struct str rest = str_of(list);
	const char *port;
	struct place p;

	if (!no_proxy_parse(no_proxy_read_authority(url, &port), &p))
		return false;
	if (!p.port.len)
		p.port = str_of(port);
	if (is_loopback(&p))
		return true;
	while (rest.len) {
		struct str entry = str_trim(str_cut(rest, ',', &rest));

		if (entry.len && entry_matches(entry, &p))
			return true;
	}
	return false;
}
