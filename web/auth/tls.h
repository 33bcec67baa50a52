/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of the server: the versions and ciphers that are offered, certificates
 * for libmicrohttpd's handshakes, and the verification of client certificates.
 *
 * Ownership: texts are borrowed for the duration of a call.
 * Threads: any.
 */
#ifndef WEB_AUTH_TLS_H
#define WEB_AUTH_TLS_H

#include "base/err.h"
#include "web/auth/web_config.h"

/*
 * The TLS versions and ciphers that the settings allow, as a gnutls priority
 * string. The text is a constant.
 */
const char *tls_priorities(const struct web_tls *t);

/*
 * Check that gnutls accepts the certificate, its key and the CA. Returns
 * ERR_INVALID, with the reason, if it does not.
 */
NODISCARD int tls_check(const struct web_tls *t, struct err *err);

/*
 * Parse CAs from PEM. Parsing many CAs takes longer than a request, so the
 * result is kept with the configuration. Returns NULL on failure. The caller
 * frees the result.
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
 * Set the function that provides the certificate for each handshake: fn(ctx,
 * out) fills in `out`. There is only one such function in the process, because
 * libmicrohttpd passes no context to its callback. `ctx` must stay valid until
 * the server has stopped.
 */
void tls_serve(void (*fn)(void *ctx, struct tls_material *out), void *ctx);

/*
 * Let the server ask for a client certificate without sending the list of CAs
 * that it accepts (docs/decisions.md, 78). `session` is the gnutls_session_t of
 * the connection.
 */
void tls_hide_authorities(void *session);

/*
 * The callback that fetches the certificate: a gnutls_certificate_retrieve_function3, to
 * pass to libmicrohttpd as MHD_OPTION_HTTPS_CERT_CALLBACK2.
 */
void *tls_callback(void);

/*
 * Check the client certificate of a TLS session (a gnutls_session_t) against
 * the settings. Returns ERR_DENIED, with the reason, when the certificate is
 * not accepted.
 */
NODISCARD int tls_verify_client(const struct web_tls *t, void *session,
				struct err *err);

#endif
