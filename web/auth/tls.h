/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of the server: certificates for libmicrohttpd's handshakes, and the
 * verification of client certificates.
 *
 * Ownership: texts are borrowed for the duration of a call.
 * Threads: any.
 */
#ifndef WEB_AUTH_TLS_H
#define WEB_AUTH_TLS_H

#include "base/err.h"
#include "web/web_config.h"

/*
 * The gnutls priority string for the versions that the settings allow. The text
 * is a constant.
 */
const char *tls_priorities(const struct web_tls *t);

/*
 * Check that the certificate, its key and the CA can be used. Returns
 * ERR_INVALID, with the reason, if one cannot.
 */
NODISCARD int tls_check(const struct web_tls *t, struct err *err);

/*
 * Parse CAs from PEM. This is done once per configuration, because parsing a
 * bundle takes longer than a request. Returns NULL on failure. The caller frees
 * the result.
 */
struct tls_trust *tls_trust_new(struct str pem);

/* Free parsed CAs; NULL is a no-op. */
void tls_trust_free(struct tls_trust *t);

/*
 * A certificate and its key as PEM. Both are copies, to be freed with
 * mem_free().
 */
struct tls_material {
	char *cert;
	char *key;
};

/*
 * Set where handshakes get their certificate from: fn fills in the material.
 * libmicrohttpd passes no context to its callback, so there is one source in
 * the process; ctx must stay valid until the server has stopped.
 */
void tls_serve(void (*fn)(void *ctx, struct tls_material *out), void *ctx);

/*
 * Ask a session's client for a certificate without sending the list of CAs
 * (docs/decisions.md, 78). `session` is a gnutls_session_t.
 */
void tls_hide_authorities(void *session);

/* The callback for MHD_OPTION_HTTPS_CERT_CALLBACK2. */
void *tls_callback(void);

/*
 * Judge the client certificate of a session (a gnutls_session_t) by the
 * settings. Returns ERR_DENIED, with the reason, when it is not accepted.
 */
NODISCARD int tls_verify_client(const struct web_tls *t, void *session,
				struct err *err);

#endif
