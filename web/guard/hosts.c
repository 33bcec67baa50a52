/* SPDX-License-Identifier: Apache-2.0 */
#include "web/guard/hosts.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_LEN 253 /* length limit of a DNS name */

/*
 * The host in a Host header, without port, brackets and final dot. Empty if the
 * brackets are followed by anything but a port.
 */
static struct str name_of(const char *host)
{
	struct str s = str_of(host);
	const char *end;

	if (s.len && s.ptr[0] == '[') {
		end = memchr(s.ptr, ']', s.len);
		s.ptr++;
		s.len = end && (!end[1] || end[1] == ':') ?
				(size_t)(end - s.ptr) :
				0;
		return s;
	}
	end = memchr(s.ptr, ':', s.len);
	if (end)
		s.len = (size_t)(end - s.ptr);
	if (s.len && s.ptr[s.len - 1] == '.')
		s.len--;
	return s;
}

/* Whether a host name is an IPv4 or IPv6 address. */
static bool hosts_is_address(struct str name)
{
	char text[INET6_ADDRSTRLEN + 1];
	uint8_t bytes[16];

	if (!str_to_array(name, text, sizeof(text)))
		return false; /* longer than any address */
	return inet_pton(AF_INET, text, bytes) == 1 ||
	       inet_pton(AF_INET6, text, bytes) == 1;
}

/* Whether two names are equal, ignoring case; false for empty names. */
static bool hosts_is_named(struct str name, struct str wanted)
{
	return name.len == wanted.len && name.len &&
	       !strncasecmp(name.ptr, wanted.ptr, name.len);
}

bool hosts_allow(const char *names, const char *host)
{
	struct str name = name_of(host);
	struct str rest = names ? str_of(names) : (struct str){ 0 };

	/* A request without a Host header (HTTP/1.0) is not from a browser. */
	if (!names || !*host)
		return true;
	/* A DNS name cannot be longer. */
	if (name.len > NAME_MAX_LEN)
		return false;
	if (hosts_is_address(name) || hosts_is_named(name, str_of("localhost")))
		return true;
	while (rest.len) {
		if (hosts_is_named(name, str_trim(str_cut(rest, ',', &rest))))
			return true;
	}
	return false;
}
