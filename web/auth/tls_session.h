/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS session: TLS of a connection that is not libmicrohttpd's, on a socket that does not
 * wait. The certificate is that of tls_serve().
 *
 * Ownership: a session borrows its server and its descriptor.
 * Threads: one thread at a time.
 */
#ifndef WEB_AUTH_TLS_SESSION_H
#define WEB_AUTH_TLS_SESSION_H

#include "base/bytes.h"
#include "base/err.h"

/* What the sessions of a listener have in common. */
struct tls_server;

/* The session of one connection. */
struct tls_session;

/*
 * Create what sessions need. `priorities` is gnutls' text for versions and ciphers;
 * `asks_client`: clients are asked for a certificate. ERR_INVALID: gnutls refuses it.
 */
NODISCARD int tls_server_new(const char *priorities, bool asks_client,
			     struct tls_server **out, struct err *err);

/* Free it, after all its sessions. NULL is a no-op. */
void tls_server_free(struct tls_server *t);

/*
 * Create a session for a connection that has been accepted, for the protocol HTTP/2.
 * ERR_IO: gnutls cannot.
 */
NODISCARD int tls_session_new(const struct tls_server *t, int fd,
			      struct tls_session **out, struct err *err);

/* Free a session; NULL is a no-op. */
void tls_session_free(struct tls_session *s);

/*
 * Go on with the handshake; 0 at its end. ERR_AGAIN: it waits for the client, to write if
 * *writes; ERR_IO: it failed, perhaps because the client does not speak HTTP/2.
 */
NODISCARD int tls_session_shake(struct tls_session *s, bool *writes,
				struct err *err);

/* Read up to `max` bytes; *n is 0 at the end. ERR_AGAIN: there are none now; ERR_IO. */
NODISCARD int tls_session_read(struct tls_session *s, void *out, size_t max,
			       size_t *n, struct err *err);

/*
 * Write bytes, *n of them. ERR_AGAIN: none could be written; the next call must begin with
 * the same bytes. ERR_IO.
 */
NODISCARD int tls_session_write(struct tls_session *s, struct bytes data,
				size_t *n, struct err *err);

/* Tell the client that nothing more is sent, as far as it can be told without waiting. */
void tls_session_end(struct tls_session *s);

/* Whether bytes can be read that have been received already. */
bool tls_session_has_more(const struct tls_session *s);

/* The gnutls_session_t, for auth_client(). */
void *tls_session_handle(const struct tls_session *s);

#endif
