/* SPDX-License-Identifier: Apache-2.0 */
#include "web/grpc/grpc_connection.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

/*
 * What is read of a connection before others have their turn, in bytes; also the size of a
 * frame, and of a record of TLS.
 */
#define READ_MAX 16384
/* How many times as much is dropped when a connection is closed. */
#define DRAIN_MAX 16
/* What is gathered before it is written, in bytes. */
#define WRITE_MAX 16384
/* The shortest beginning of HTTP/2: the client's preface, and empty SETTINGS. */
#define GREETING 33
/* What a client gets that speaks HTTP/1. */
#define OLD_ANSWER                                                             \
	"HTTP/1.1 505 HTTP Version Not Supported\r\n"                          \
	"Content-Type: text/plain; charset=utf-8\r\n"                          \
	"Connection: close\r\n\r\n"                                            \
	"This port takes gRPC, which needs HTTP/2. OTLP over HTTP belongs to " \
	"--web.listen-address, path /v1development/profiles.\n"

int grpc_connection_new(struct grpc_server *server, int fd,
			const struct grpc_session_options *o,
			const struct tls_server *tls,
			struct grpc_connection **out, struct err *err)
{
	struct grpc_connection *c = mem_new(struct grpc_connection);
	int rc = 0;

	c->server = server;
	c->fd = fd;
	if (tls)
		rc = tls_session_new(tls, fd, &c->tls, err);
	if (rc) {
		close(fd);
		mem_free(c);
		return rc;
	}
	c->in_handshake = c->tls;
	c->session = grpc_session_new(o, c);
	*out = c;
	return 0;
}

/*
 * Say that nothing more is sent, and drop what has been received: a socket that is closed
 * with unread bytes is reset, and its client may then not read what was sent to it.
 */
static void grpc_connection_drain(struct grpc_connection *c)
{
	uint8_t data[READ_MAX];

	if (c->tls && !c->in_handshake)
		tls_session_end(c->tls);
	(void)shutdown(c->fd, SHUT_WR);
	for (int i = 0; i < DRAIN_MAX; i++) {
		if (recv(c->fd, data, sizeof(data), MSG_DONTWAIT) <= 0)
			return;
	}
}

void grpc_connection_close(struct grpc_connection *c)
{
	grpc_connection_drain(c);
	grpc_session_free(c->session);
	c->session = NULL;
	tls_session_free(c->tls);
	c->tls = NULL;
	buf_fini(&c->out);
	close(c->fd);
	c->fd = -1;
}

void grpc_connection_free(struct grpc_connection *c)
{
	mem_free(c);
}

/* Read bytes; *n is 0 at the end. ERR_AGAIN: there are none now; ERR_IO. */
static int grpc_connection_recv(struct grpc_connection *c, void *out, size_t *n,
				struct err *err)
{
	ssize_t got;

	if (c->tls)
		return tls_session_read(c->tls, out, READ_MAX, n, err);
	got = recv(c->fd, out, READ_MAX, 0);
	*n = got > 0 ? (size_t)got : 0;
	if (got >= 0)
		return 0;
	return errno == EAGAIN || errno == EINTR ?
		       err_set(err, ERR_AGAIN, "there is nothing to read") :
		       err_sys(err, "cannot read");
}

/* Write bytes, *n of them. ERR_AGAIN: none could be written; ERR_IO. */
static int grpc_connection_send(struct grpc_connection *c, struct bytes data,
				size_t *n, struct err *err)
{
	ssize_t sent;

	if (c->tls)
		return tls_session_write(c->tls, data, n, err);
	sent = send(c->fd, data.ptr, data.len, MSG_NOSIGNAL);
	*n = sent > 0 ? (size_t)sent : 0;
	if (sent >= 0)
		return 0;
	return errno == EAGAIN || errno == EINTR ?
		       err_set(err, ERR_AGAIN, "nothing can be written") :
		       err_sys(err, "cannot write");
}

/* Go on with the handshake. ERR_AGAIN: it waits. */
static int grpc_connection_shake(struct grpc_connection *c, struct err *err)
{
	int rc = tls_session_shake(c->tls, &c->handshake_writes, err);

	c->in_handshake = rc;
	return rc;
}

/* Send what waits to be sent. ERR_AGAIN: some of it still waits. */
static int grpc_connection_flush(struct grpc_connection *c, struct err *err)
{
	size_t before = c->out_sent;
	size_t n = 0;
	int rc = 0;

	while (!rc && c->out_sent < c->out.len) {
		struct bytes rest = { .ptr = c->out.ptr + c->out_sent,
				      .len = c->out.len - c->out_sent };

		rc = grpc_connection_send(c, rest, &n, err);
		c->out_sent += n;
	}
	if (rc == ERR_AGAIN && (c->out_sent > before || !c->blocked_ns))
		c->blocked_ns = clock_mono_ns();
	if (rc)
		return rc;
	/* Most connections wait for requests, and hold no memory meanwhile. */
	buf_fini(&c->out);
	c->out_sent = 0;
	c->blocked_ns = 0;
	return 0;
}

/* Send all that the session has for the client. ERR_AGAIN: the client has to read first. */
static int grpc_connection_write(struct grpc_connection *c, struct err *err)
{
	int rc = grpc_connection_flush(c, err);

	while (!rc) {
		rc = grpc_session_output(c->session, WRITE_MAX, &c->out, err);
		if (rc || !c->out.len)
			return rc;
		rc = grpc_connection_flush(c, err);
	}
	return rc;
}

/*
 * Whether the first bytes of a client are a request of HTTP/1, and not the preface of HTTP/2,
 * which looks like one with the method PRI.
 */
static bool grpc_connection_is_http1(struct bytes first)
{
	struct str rest;
	struct str method = str_cut(str_from(first), ' ', &rest);

	if (method.len < 3 || method.len > 7 || !rest.len ||
	    str_is(method, "PRI"))
		return false;
	for (size_t i = 0; i < method.len; i++) {
		if (method.ptr[i] < 'A' || method.ptr[i] > 'Z')
			return false;
	}
	return true;
}

/* Read once, and give the session what has come. ERR_CLOSED at the end. */
static int grpc_connection_read(struct grpc_connection *c, struct err *err)
{
	uint8_t data[READ_MAX];
	size_t n = 0;
	int rc;

	do {
		bool is_first = !c->received;

		rc = grpc_connection_recv(c, data, &n, err);
		if (rc)
			return rc == ERR_AGAIN ? 0 : rc;
		if (!n)
			return err_set(err, ERR_CLOSED,
				       "the client has closed the connection");
		c->received += n;
		if (is_first &&
		    grpc_connection_is_http1((struct bytes){ data, n })) {
			c->speaks_http1 = true;
			buf_str(&c->out, OLD_ANSWER);
			return err_set(err, ERR_INVALID,
				       "the client speaks HTTP/1, not gRPC");
		}
		rc = grpc_session_feed(c->session, (struct bytes){ data, n },
				       err);
	} while (!rc && c->tls && tls_session_has_more(c->tls));
	c->is_greeted |= !rc && c->received >= GREETING;
	return rc;
}

int grpc_connection_step(struct grpc_connection *c, bool reads, struct err *err)
{
	struct err unsent;
	int rc = 0;
	int sent = 0;

	if (c->in_handshake)
		rc = grpc_connection_shake(c, err);
	if (rc)
		return rc == ERR_AGAIN ? 0 : rc;
	if (reads && !c->out.len)
		rc = grpc_connection_read(c, err);
	/*
	 * A client that sends no more may still read answers. The greeting waits for the
	 * client's, because one that speaks HTTP/1 would not understand it.
	 */
	if (c->speaks_http1)
		sent = grpc_connection_flush(c, &unsent);
	else if (c->received)
		sent = grpc_connection_write(c, &unsent);
	if (!rc && sent && sent != ERR_AGAIN)
		return err_set(err, sent, "%s", unsent.msg);
	if (!rc && !c->out.len && grpc_session_is_over(c->session))
		return err_set(err, ERR_CLOSED, "the session is over");
	return rc;
}

unsigned grpc_connection_wants(const struct grpc_connection *c)
{
	if (c->in_handshake)
		return c->handshake_writes ? EPOLLOUT : EPOLLIN;
	return c->out.len ? EPOLLOUT : EPOLLIN;
}
