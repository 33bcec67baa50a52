/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/helper/helper_wire.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

/* Room for one descriptor beside a message. */
union helper_control {
	struct cmsghdr header; /* for its alignment */
	char bytes[CMSG_SPACE(sizeof(int))];
};

bool helper_write(int socket, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t n = send(socket, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

bool helper_send_request(int socket, uint32_t operation, int fd,
			 struct bytes argument)
{
	struct helper_request request = { .operation = operation,
					  .argument = (uint32_t)argument.len };
	struct iovec part = { .iov_base = &request,
			      .iov_len = sizeof(request) };
	union helper_control control = { .bytes = { 0 } };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	ssize_t n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	do {
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(request) &&
	       helper_write(socket, argument.ptr, argument.len);
}

/* Wait until there is something to read. */
static int helper_wait(int socket, int64_t deadline)
{
	struct pollfd p = { .fd = socket, .events = POLLIN };
	int timeout = -1;
	int n;

	if (deadline) {
		int64_t left = deadline - clock_mono_ns();

		if (left <= 0)
			return ERR_TIMEOUT;
		timeout = (int)(left / 1000000) + 1;
	}
	n = poll(&p, 1, timeout);
	if (n < 0 && errno != EINTR)
		return ERR_CLOSED;
	return n == 0 ? ERR_TIMEOUT : 0;
}

int helper_read(int socket, void *to, size_t len, int64_t deadline)
{
	char *at = to;

	while (len) {
		int rc = deadline ? helper_wait(socket, deadline) : 0;
		ssize_t n;

		if (rc)
			return rc;
		n = recv(socket, at, len, deadline ? MSG_DONTWAIT : 0);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return ERR_CLOSED;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int helper_receive_request(int socket, struct helper_request *out, int *fd)
{
	struct iovec part = { .iov_base = out, .iov_len = sizeof(*out) };
	union helper_control control = { .bytes = { 0 } };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c;
	ssize_t n;

	do {
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return ERR_CLOSED;
	memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	if (n != (ssize_t)sizeof(*out)) {
		close(*fd);
		return ERR_CLOSED;
	}
	return 0;
}
