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

/*
 * Wait until the socket is ready for `events`. If `deadline` is 0, wait for
 * ever. A signal can end the wait early; the result is 0 then, too.
 */
static int helper_wait(int socket, short events, int64_t deadline)
{
	struct pollfd p = { .fd = socket, .events = events };
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

int helper_write(int socket, const void *bytes, size_t len, int64_t deadline)
{
	const char *at = bytes;

	while (len) {
		int rc = deadline ? helper_wait(socket, POLLOUT, deadline) : 0;
		ssize_t n;

		if (rc)
			return rc;
		n = send(socket, at, len,
			 MSG_NOSIGNAL | (deadline ? MSG_DONTWAIT : 0));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return ERR_CLOSED;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 * Send the message `head` and, unless `fd` is -1, the descriptor `fd` with it.
 */
static int helper_send(int socket, void *head, size_t len, int fd,
		       int64_t deadline)
{
	struct iovec part = { .iov_base = head, .iov_len = len };
	union helper_control control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		struct cmsghdr *c;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	do {
		int rc = deadline ? helper_wait(socket, POLLOUT, deadline) : 0;

		if (rc)
			return rc;
		n = sendmsg(socket, &message,
			    MSG_NOSIGNAL | (deadline ? MSG_DONTWAIT : 0));
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	return n == (ssize_t)len ? 0 : ERR_CLOSED;
}

int helper_send_request(int socket, uint32_t operation, int fd,
			struct bytes argument, int64_t deadline)
{
	struct helper_request request = { .operation = operation,
					  .argument = (uint32_t)argument.len };
	int rc = helper_send(socket, &request, sizeof(request), fd, deadline);

	return rc ? rc :
		    helper_write(socket, argument.ptr, argument.len, deadline);
}

int helper_send_reply(int socket, const struct helper_reply *reply, int fd)
{
	struct helper_reply head = *reply;

	return helper_send(socket, &head, sizeof(head), fd, 0);
}

int helper_read(int socket, void *to, size_t len, int64_t deadline)
{
	char *at = to;

	while (len) {
		int rc = deadline ? helper_wait(socket, POLLIN, deadline) : 0;
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

/*
 * Receive a message of `len` bytes. *fd becomes the descriptor that comes with
 * the message, or -1. With MSG_DONTWAIT in `flags`, returns ERR_AGAIN if there
 * is no message.
 */
static int helper_receive(int socket, void *head, size_t len, int flags,
			  int *fd)
{
	struct iovec part = { .iov_base = head, .iov_len = len };
	union helper_control control = { .bytes = { 0 } };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		/*
		 * With the padding of CMSG_SPACE(), a second descriptor would
		 * fit, which nobody would close.
		 */
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	struct cmsghdr *c;
	ssize_t n;

	*fd = -1;
	do {
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return ERR_AGAIN;
	c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	if (n == (ssize_t)len)
		return 0;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return ERR_CLOSED;
}

int helper_receive_reply(int socket, struct helper_reply *out, int *fd,
			 int64_t deadline)
{
	int rc = ERR_AGAIN;

	*fd = -1;
	while (rc == ERR_AGAIN) {
		rc = helper_wait(socket, POLLIN, deadline);
		if (!rc)
			rc = helper_receive(socket, out, sizeof(*out),
					    MSG_DONTWAIT, fd);
	}
	return rc;
}

int helper_receive_request(int socket, struct helper_request *out, int *fd)
{
	int rc = helper_receive(socket, out, sizeof(*out), 0, fd);

	return !rc && *fd < 0 ? ERR_CLOSED : rc;
}
