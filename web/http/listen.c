/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"

/*
 * Split host:port. The host may be empty, or an IPv6 address in brackets. The
 * host is copied without brackets; *port points into `address`.
 */
static int split_address(const char *flag, const char *address, char *host,
			 size_t host_len, const char **port, struct err *err)
{
	/* Find the last colon, because an IPv6 address contains colons, too. */
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;
	int64_t number;

	if (!colon || n >= host_len ||
	    !str_to_i64(str_of(colon + 1), &number) || number < 0)
		return err_set(
			err, ERR_INVALID,
			"invalid %s=%s: expected host:port, such as 127.0.0.1:8080 or :8080",
			flag, address);
	if (number > 65535)
		return err_set(err, ERR_INVALID,
			       "invalid %s=%s: port %s is above 65535", flag,
			       address, colon + 1);
	/* The brackets are not part of the IPv6 address. */
	if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	memcpy(host, address, n);
	host[n] = 0;
	*port = colon + 1;
	return 0;
}

/* Listen on one address. Returns the descriptor, or -1 with errno set. */
static int listen_one(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;
	int off = 0;

	if (fd < 0)
		return -1;
	/* Old connections in TIME_WAIT must not prevent a restart. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* All addresses of IPv6 are those of IPv4, too, whatever the system's default. */
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, 256) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * Listen on the first address on which that succeeds. Without a host, that is the one
 * of IPv6, which has all addresses, and the others only if the system lacks it: a port
 * that is taken must not be shared in silence.
 */
static int listen_first(const struct addrinfo *list, bool has_host)
{
	int fd = -1;

	for (const struct addrinfo *ai = list; ai && !has_host && fd < 0;
	     ai = ai->ai_next) {
		if (ai->ai_family == AF_INET6)
			fd = listen_one(ai);
		if (ai->ai_family == AF_INET6 && fd < 0 &&
		    errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)
			return -1;
	}
	for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = listen_one(ai);
	return fd;
}

int listen_on(const char *flag, const char *address, int *out, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE };
	struct addrinfo *list = NULL;
	const char *port = NULL;
	char host[256] = "";
	int fd = -1;
	int rc = split_address(flag, address, host, sizeof(host), &port, err);

	*out = -1;
	if (rc)
		return rc;
	/* Without a host, AI_PASSIVE selects all addresses of the machine. */
	rc = getaddrinfo(*host ? host : NULL, port, &hints, &list);
	if (rc)
		return err_set(err, ERR_INVALID, "cannot resolve %s=%s: %s",
			       flag, address, gai_strerror(rc));
	fd = listen_first(list, *host);
	rc = fd < 0 ? err_sys(err, "cannot listen on %s=%s", flag, address) : 0;
	freeaddrinfo(list);
	*out = fd;
	return rc;
}

unsigned listen_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = { .v6 = { 0 } };
	socklen_t len = sizeof(a);

	if (getsockname(fd, &a.any, &len) < 0)
		return 0;
	return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port :
						   a.v4.sin_port);
}
