/* SPDX-License-Identifier: Apache-2.0 */
#include "web/auth/tls.h"

#include <arpa/inet.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>

#include "base/mem.h"

#define CHAIN_MAX 16 /* limit on the certificates in a chain */

/*
 * The function from which tls_retrieve() gets the certificate, and its context;
 * set by tls_serve().
 */
static struct {
	void (*fn)(void *ctx, struct tls_material *out);
	void *ctx;
} source;

/*
 * Key exchanges and ciphers in gnutls' notation. For TLS 1.2, only key
 * exchanges with forward secrecy and authenticated encryption are offered.
 */
#define SAFE                                                         \
	"NORMAL:-VERS-ALL:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:+DHE-RSA:" \
	"-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:-MAC-ALL:+AEAD"

const char *tls_priorities(const struct web_tls *t)
{
	static const char *const by_versions[2][2] = {
		{ SAFE ":+VERS-TLS1.2", SAFE ":+VERS-TLS1.3:+VERS-TLS1.2" },
		{ "", SAFE ":+VERS-TLS1.3" },
	};

	return by_versions[t->min_version == WEB_TLS_13]
			  [t->max_version != WEB_TLS_12];
}

/* Remove const: gnutls declares the data as writable, but only reads it. */
static unsigned char *tls_unconst(const char *text)
{
	union {
		const char *in;
		unsigned char *out;
	} u = { .in = text };

	return u.out;
}

/* Make a gnutls datum that points to a PEM text. */
static gnutls_datum_t tls_load_datum(const char *text)
{
	return (gnutls_datum_t){ .data = tls_unconst(text),
				 .size = (unsigned)strlen(text) };
}

/*
 * Set `err` to ERR_INVALID, with `what` and gnutls' text for its error `rc` as
 * the message. Returns ERR_INVALID.
 */
static int tls_refuse(struct err *err, const char *what, int rc)
{
	return err_set(err, ERR_INVALID, "%s: %s", what, gnutls_strerror(rc));
}

int tls_check(const struct web_tls *t, struct err *err)
{
	gnutls_certificate_credentials_t c;
	gnutls_datum_t cert = tls_load_datum(t->cert.ptr);
	gnutls_datum_t key = tls_load_datum(t->key.ptr);
	gnutls_datum_t ca;
	int rc = gnutls_certificate_allocate_credentials(&c);

	if (rc < 0)
		return tls_refuse(err, "cannot initialize TLS", rc);
	rc = gnutls_certificate_set_x509_key_mem(c, &cert, &key,
						 GNUTLS_X509_FMT_PEM);
	if (rc < 0) {
		rc = tls_refuse(err,
				"tls_server_config: invalid certificate or key",
				rc);
	} else if (t->client_ca.len) {
		ca = tls_load_datum(t->client_ca.ptr);
		rc = gnutls_certificate_set_x509_trust_mem(c, &ca,
							   GNUTLS_X509_FMT_PEM);
		/*
		 * gnutls returns the number of CAs. There must be at least one
		 * CA.
		 */
		if (!rc)
			rc = err_set(
				err, ERR_INVALID,
				"tls_server_config: client_ca or client_ca_file has no certificate");
		else if (rc < 0)
			rc = tls_refuse(
				err,
				"tls_server_config: invalid client_ca or client_ca_file",
				rc);
		else
			rc = 0;
	} else {
		rc = 0;
	}
	gnutls_certificate_free_credentials(c);
	return rc;
}

void tls_serve(void (*fn)(void *ctx, struct tls_material *out), void *ctx)
{
	source.fn = fn;
	source.ctx = ctx;
}

/* Parse a private key. The caller frees *out on success. */
static int load_key(const char *text, gnutls_privkey_t *out)
{
	gnutls_datum_t pem = tls_load_datum(text);
	int rc = gnutls_privkey_init(out);

	if (rc < 0)
		return rc;
	rc = gnutls_privkey_import_x509_raw(*out, &pem, GNUTLS_X509_FMT_PEM,
					    NULL, 0);
	if (rc < 0)
		gnutls_privkey_deinit(*out);
	return rc;
}

/*
 * Parse a certificate and its intermediates. *out is allocated by
 * gnutls_malloc(), because gnutls frees it.
 */
static int load_chain(const char *text, gnutls_pcert_st **out, unsigned *count)
{
	gnutls_pcert_st *chain =
		gnutls_malloc(CHAIN_MAX * sizeof(gnutls_pcert_st));
	gnutls_datum_t pem = tls_load_datum(text);
	int rc;

	if (!chain)
		return GNUTLS_E_MEMORY_ERROR;
	*count = CHAIN_MAX;
	rc = gnutls_pcert_list_import_x509_raw(chain, count, &pem,
					       GNUTLS_X509_FMT_PEM, 0);
	if (rc < 0)
		gnutls_free(chain);
	else
		*out = chain;
	return rc;
}

/*
 * Callback of gnutls for each handshake: provide the certificate and key. Each
 * call makes new objects, which gnutls frees after use (DEINIT_ALL). Shared
 * objects could not be freed when the files change, because an earlier
 * handshake may still use them (docs/decisions.md, 68).
 */
/* NOLINTNEXTLINE(readability-function-size): gnutls sets the signature */
static int tls_retrieve(gnutls_session_t session UNUSED,
			const struct gnutls_cert_retr_st *info UNUSED,
			gnutls_pcert_st **certs, unsigned *cert_count,
			gnutls_ocsp_data_st **ocsp, unsigned *ocsp_count,
			gnutls_privkey_t *key, unsigned *flags)
{
	struct tls_material m = { 0 };
	int rc;

	source.fn(source.ctx, &m);
	rc = m.key ? load_key(m.key, key) : GNUTLS_E_NO_CERTIFICATE_FOUND;
	if (rc >= 0) {
		rc = load_chain(m.cert, certs, cert_count);
		if (rc < 0)
			gnutls_privkey_deinit(*key);
	}
	*ocsp = NULL;
	*ocsp_count = 0;
	*flags = GNUTLS_CERT_RETR_DEINIT_ALL;
	mem_forget(m.key); /* overwrites the key */
	mem_free(m.cert);
	return rc < 0 ? -1 : 0;
}

void *tls_callback(void)
{
	return (void *)tls_retrieve;
}

/* The following functions verify client certificates. */

void tls_hide_authorities(void *session)
{
	gnutls_certificate_send_x509_rdn_sequence(session, 1);
}

/*
 * Parse the certificates that the client sent. *count is the number of parsed
 * certificates, even on failure, so that the caller can free them.
 */
static int import_peers(gnutls_session_t session, gnutls_x509_crt_t *out,
			unsigned *count)
{
	const gnutls_datum_t *raw =
		gnutls_certificate_get_peers(session, count);

	if (!raw)
		*count = 0;
	if (*count > CHAIN_MAX)
		*count = CHAIN_MAX;
	for (unsigned i = 0; i < *count; i++) {
		int rc = gnutls_x509_crt_init(&out[i]);

		if (rc >= 0)
			rc = gnutls_x509_crt_import(out[i], &raw[i],
						    GNUTLS_X509_FMT_DER);
		if (rc < 0) {
			*count = i;
			return rc;
		}
	}
	return 0;
}

/* Parsed CAs that verify client certificates. */
struct tls_trust {
	gnutls_x509_trust_list_t list;
};

struct tls_trust *tls_trust_new(struct str pem)
{
	struct tls_trust *t = mem_new(struct tls_trust);
	gnutls_datum_t ca = tls_load_datum(pem.ptr);

	if (gnutls_x509_trust_list_init(&t->list, 0) < 0) {
		mem_free(t);
		return NULL;
	}
	if (gnutls_x509_trust_list_add_trust_mem(
		    t->list, &ca, NULL, GNUTLS_X509_FMT_PEM, 0, 0) < 0) {
		tls_trust_free(t);
		return NULL;
	}
	return t;
}

void tls_trust_free(struct tls_trust *t)
{
	if (!t)
		return;
	gnutls_x509_trust_list_deinit(t->list, 1);
	mem_free(t);
}

/*
 * Whether a certificate chain leads to one of the CAs and is meant for TLS
 * clients.
 */
static const char *tls_distrust(const struct web_tls *t,
				gnutls_x509_crt_t *chain, unsigned count)
{
	static const struct {
		unsigned flag;
		const char *text;
	} reasons[] = {
		{ GNUTLS_CERT_SIGNER_NOT_FOUND,
		  "the client certificate is from a CA that client_ca or client_ca_file does not have" },
		{ GNUTLS_CERT_EXPIRED, "the client certificate has expired" },
		{ GNUTLS_CERT_NOT_ACTIVATED,
		  "the client certificate is not valid yet" },
		{ GNUTLS_CERT_PURPOSE_MISMATCH,
		  "the client certificate is not for clients (extended key usage)" },
	};
	gnutls_typed_vdata_st purpose = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = tls_unconst(GNUTLS_KP_TLS_WWW_CLIENT),
	};
	unsigned status = GNUTLS_CERT_INVALID;

	if (t->trust &&
	    gnutls_x509_trust_list_verify_crt2(t->trust->list, chain, count,
					       &purpose, 1, 0, &status,
					       NULL) >= 0 &&
	    !status)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (status & reasons[i].flag)
			return reasons[i].text;
	}
	return "the client certificate is not trusted";
}

/*
 * Replace the bytes of an IP address in `name` by the address as text. Returns
 * the length of the text.
 */
static size_t address_text(char *name, size_t len)
{
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(len == 4 ? AF_INET : AF_INET6, name, text, sizeof(text));
	memcpy(name, text, sizeof(text));
	return strlen(text);
}

/*
 * Whether one of the certificate's alternative names is in client_allowed_sans.
 * Names that do not fit the buffer are skipped.
 */
static bool has_name(const struct web_tls *t, gnutls_x509_crt_t leaf)
{
	char name[512];
	unsigned type;

	for (unsigned i = 0;; i++) {
		size_t len = sizeof(name);
		int rc = gnutls_x509_crt_get_subject_alt_name2(
			leaf, i, name, &len, &type, NULL);

		if (rc < 0 && rc != GNUTLS_E_SHORT_MEMORY_BUFFER)
			return false;
		if (rc == GNUTLS_SAN_IPADDRESS)
			len = address_text(name, len);
		for (size_t k = 0; rc >= 0 && k < t->san_count; k++) {
			if (str_eq(t->sans[k], (struct str){ name, len }))
				return true;
		}
	}
}

/*
 * Check a parsed certificate chain; `chain` is empty when the client sent none.
 */
static int tls_verify_peer(const struct web_tls *t, gnutls_x509_crt_t *chain,
			   unsigned count, struct err *err)
{
	bool verified = t->client_auth == WEB_CLIENT_VERIFIED ||
			t->client_auth == WEB_CLIENT_VERIFIED_IF_GIVEN;
	const char *why = NULL;

	if (!count)
		return t->client_auth == WEB_CLIENT_ANY ||
				       t->client_auth == WEB_CLIENT_VERIFIED ?
			       err_set(err, ERR_DENIED,
				       "a client certificate is required") :
			       0;
	if (verified)
		why = tls_distrust(t, chain, count);
	if (why)
		return err_set(err, ERR_DENIED, "%s", why);
	if (t->san_count && !has_name(t, chain[0]))
		return err_set(
			err, ERR_DENIED,
			"the client certificate has no subject alternative name that client_allowed_sans lists");
	return 0;
}

int tls_verify_client(const struct web_tls *t, void *session, struct err *err)
{
	gnutls_x509_crt_t chain[CHAIN_MAX];
	unsigned count = 0;
	int rc = import_peers(session, chain, &count);

	if (rc < 0)
		rc = err_set(err, ERR_DENIED,
			     "cannot parse the client certificate");
	else
		rc = tls_verify_peer(t, chain, count, err);
	for (unsigned i = 0; i < count; i++)
		gnutls_x509_crt_deinit(chain[i]);
	return rc;
}
