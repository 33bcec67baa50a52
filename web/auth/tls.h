/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of the server: certificates for libmicrohttpd's handshakes, and who the
 * other side is by its certificate.
 *
 * Ownership: text is borrowed for the calls.
 * Threads: any.
 */
#ifndef WEB_AUTH_TLS_H
#define WEB_AUTH_TLS_H

#include "base/err.h"
#include "web/web_config.h"

/* A priority string for gnutls: the versions that the settings allow. */
const char *tls_priorities(const struct web_tls *t);

/* ERR_INVALID: the certificate, its key or the CA cannot be used, and why. */
NODISCARD int tls_check(const struct web_tls *t, struct err *err);

/*
 * CAs as gnutls knows them, parsed once: a bundle takes longer than a request.
 * NULL when they cannot be. The caller frees it (NULL is a no-op).
 */
struct tls_trust *tls_trust_new(struct str pem);
void tls_trust_free(struct tls_trust *t);

/*
 * Where handshakes get their certificate from: fn fills in copies of the PEM
 * texts, which are freed with mem_free(). libmicrohttpd knows no context, so
 * there is one for the process; ctx must stay until the server has stopped.
 */
struct tls_material {
	char *cert;
	char *key;
};
void tls_serve(void (*fn)(void *ctx, struct tls_material *out), void *ctx);

/* Do not tell a session's other side which CAs are known. */
void tls_hide_authorities(void *session);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK2. */
void *tls_callback(void);

/*
 * Judge the certificate of a session's other side (a gnutls_session_t) by what
 * the settings want. ERR_DENIED says what is wrong with it.
 */
NODISCARD int tls_verify_client(const struct web_tls *t, void *session,
				struct err *err);

#endif
