/* SPDX-License-Identifier: Apache-2.0 */
#include "web/auth/tls_session.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#include "base/mem.h"
#include "web/auth/tls.h"

struct tls_server {
	gnutls_certificate_credentials_t certificate;
	gnutls_priority_t priorities;
	bool asks_client;
};

struct tls_session {
	gnutls_session_t gnutls;
};

/* Set the error for a number of gnutls. */
static int tls_session_fail(int code, int number, const char *what,
			    struct err *err)
{
	return err_set(err, code, "%s: %s", what, gnutls_strerror(number));
}

int tls_server_new(const char *priorities, bool asks_client,
		   struct tls_server **out, struct err *err)
{
	struct tls_server *t = mem_new(struct tls_server);
	int rc = gnutls_certificate_allocate_credentials(&t->certificate);

	if (!rc)
		rc = gnutls_priority_init(&t->priorities, priorities, NULL);
	if (rc) {
		tls_server_free(t);
		return tls_session_fail(ERR_INVALID, rc,
					"cannot initialize TLS", err);
	}
	gnutls_certificate_set_retrieve_function3(
		t->certificate,
		(gnutls_certificate_retrieve_function3 *)tls_callback());
	t->asks_client = asks_client;
	*out = t;
	return 0;
}

void tls_server_free(struct tls_server *t)
{
	if (!t)
		return;
	if (t->priorities)
		gnutls_priority_deinit(t->priorities);
	if (t->certificate)
		gnutls_certificate_free_credentials(t->certificate);
	mem_free(t);
}

/* Set the options of a session. Returns an error number of gnutls. */
static int tls_session_set(const struct tls_server *t, struct tls_session *s,
			   int fd)
{
	static unsigned char name[] = "h2";
	const gnutls_datum_t h2 = { .data = name, .size = sizeof(name) - 1 };
	int rc = gnutls_priority_set(s->gnutls, t->priorities);

	if (!rc)
		rc = gnutls_credentials_set(s->gnutls, GNUTLS_CRD_CERTIFICATE,
					    t->certificate);
	if (!rc)
		rc = gnutls_alpn_set_protocols(s->gnutls, &h2, 1,
					       GNUTLS_ALPN_MANDATORY);
	if (rc)
		return rc;
	if (t->asks_client) {
		gnutls_certificate_server_set_request(s->gnutls,
						      GNUTLS_CERT_REQUEST);
		tls_hide_authorities(s->gnutls);
	}
	gnutls_transport_set_int(s->gnutls, fd);
	return 0;
}

int tls_session_new(const struct tls_server *t, int fd,
		    struct tls_session **out, struct err *err)
{
	struct tls_session *s = mem_new(struct tls_session);
	int rc = gnutls_init(&s->gnutls, GNUTLS_SERVER | GNUTLS_NONBLOCK |
						 GNUTLS_NO_SIGNAL);

	if (!rc)
		rc = tls_session_set(t, s, fd);
	if (rc) {
		tls_session_free(s);
		return tls_session_fail(ERR_IO, rc, "cannot begin TLS", err);
	}
	*out = s;
	return 0;
}

void tls_session_free(struct tls_session *s)
{
	if (!s)
		return;
	if (s->gnutls)
		gnutls_deinit(s->gnutls);
	mem_free(s);
}

int tls_session_shake(struct tls_session *s, bool *writes, struct err *err)
{
	gnutls_datum_t protocol;
	int rc = gnutls_handshake(s->gnutls);

	*writes = false;
	if (rc && !gnutls_error_is_fatal(rc)) {
		*writes = gnutls_record_get_direction(s->gnutls);
		return err_set(err, ERR_AGAIN, "the handshake goes on");
	}
	if (rc)
		return tls_session_fail(ERR_IO, rc, "the handshake failed",
					err);
	if (gnutls_alpn_get_selected_protocol(s->gnutls, &protocol))
		return err_set(err, ERR_IO, "the client does not offer HTTP/2");
	return 0;
}

/* Return the result of reading or writing as *n or an error. */
static int tls_session_result(ssize_t rc, size_t *n, struct err *err)
{
	*n = rc > 0 ? (size_t)rc : 0;
	if (rc >= 0)
		return 0;
	/* A client that asks for another handshake is refused by ignoring it. */
	return !gnutls_error_is_fatal((int)rc) ?
		       err_set(err, ERR_AGAIN, "the connection would wait") :
		       tls_session_fail(ERR_IO, (int)rc, "TLS failed", err);
}

int tls_session_read(struct tls_session *s, void *out, size_t max, size_t *n,
		     struct err *err)
{
	return tls_session_result(gnutls_record_recv(s->gnutls, out, max), n,
				  err);
}

int tls_session_write(struct tls_session *s, struct bytes data, size_t *n,
		      struct err *err)
{
	return tls_session_result(
		gnutls_record_send(s->gnutls, data.ptr, data.len), n, err);
}

void tls_session_end(struct tls_session *s)
{
	(void)gnutls_bye(s->gnutls, GNUTLS_SHUT_WR);
}

bool tls_session_has_more(const struct tls_session *s)
{
	return gnutls_record_check_pending(s->gnutls);
}

void *tls_session_handle(const struct tls_session *s)
{
	return s->gnutls;
}
