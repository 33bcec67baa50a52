/* SPDX-License-Identifier: Apache-2.0 */
/* How an account of Google Cloud gets a token. */
#include "discovery/google/google_account.h"

#include <gnutls/x509.h>

#include "base/base64.h"
#include "base/yaml_json.h"
#include "discovery/rest/document.h"
#include "tests/discovery/fake_account.h"
#include "tests/tempdir.h"

TestSuite(google_account, .timeout = 60);

#define TOKEN "{\"access_token\": \"T\", \"expires_in\": 3600}"

static void open_account(struct fake_account *a)
{
	clearenv();
	setenv("HOME", "/nonexistent", 1);
	fake_account_open(a, &google_account_kind, NULL);
}

/* Write a credentials file, and name it in the environment. */
static void use_file(const struct tempdir *d, const char *text)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/key.json", d->path);
	f = fopen(path, "w");
	cr_assert(f);
	fputs(text, f);
	fclose(f);
	setenv("GOOGLE_APPLICATION_CREDENTIALS", path, 1);
}

Test(google_account, an_instance_asks_its_metadata_server)
{
	struct fake_account a;

	open_account(&a);
	cr_expect(fake_account_asks(
		&a, "GET http://169.254.169.254/computeMetadata/v1/instance/"
		    "service-accounts/default/token?scopes=https%3A%2F%2Fwww."
		    "googleapis.com%2Fauth%2Fcompute.readonly\n"
		    "Metadata-Flavor: Google\n"));
	cr_expect(a.q.is_local);
	cr_expect(strstr(fake_account_give(&a, 404, "", ""),
			 "gives no usable token"),
		  "%s", a.err.msg);
	cr_expect(fake_account_takes(&a, TOKEN));
	cr_expect(fake_account_asks(&a, "ready"));
	a.kind->forget(a.data);
	setenv("GCE_METADATA_HOST", "here:8", 1);
	cr_expect(fake_account_asks(&a, "GET http://here:8/…"));
	fake_account_close(&a);
}

Test(google_account, a_user_has_a_refresh_token)
{
	struct tempdir d = tempdir_make();
	struct fake_account a;

	open_account(&a);
	use_file(&d, "{\"type\": \"authorized_user\", \"client_id\": \"c\","
		     "\"client_secret\": \"s\", \"refresh_token\": \"r\"}");
	cr_expect(fake_account_asks(
		&a, "POST https://oauth2.googleapis.com/token\n\n"
		    "grant_type=refresh_token&client_id=c&client_secret=s&"
		    "refresh_token=r"));
	fake_account_close(&a);
	tempdir_fini(&d);
}

Test(google_account, files_that_cannot_be_used_are_named)
{
	struct tempdir d = tempdir_make();
	struct fake_account a;

	open_account(&a);
	use_file(&d, "{\"type\": \"external_account\"}");
	cr_expect(strstr(fake_account_ask(&a), "external_account"));
	cr_expect(strstr(fake_account_ask(&a), "key.json"));
	use_file(&d, "{");
	cr_expect(strstr(fake_account_ask(&a),
			 "error: GOOGLE_APPLICATION_CREDENTIALS"));
	use_file(&d, "{\"type\": \"service_account\", \"private_key\": \"x\"}");
	cr_expect(strstr(fake_account_ask(&a), "error: "));
	cr_expect(!strstr(fake_account_ask(&a), "\"x\""));
	setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent", 1);
	cr_expect(strstr(fake_account_ask(&a), "/nonexistent"));
	fake_account_close(&a);
	tempdir_fini(&d);
}

/* Make a private key, as a text of JSON. */
static char *make_key(void)
{
	gnutls_x509_privkey_t key;
	gnutls_datum_t pem;
	struct buf text = { 0 };
	char *out;

	cr_assert(!gnutls_x509_privkey_init(&key));
	cr_assert(!gnutls_x509_privkey_generate(key, GNUTLS_PK_RSA, 1024, 0));
	cr_assert(!gnutls_x509_privkey_export2_pkcs8(
		key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &pem));
	for (unsigned i = 0; i < pem.size; i++) {
		if (pem.data[i] == '\n')
			buf_str(&text, "\\n");
		else
			buf_byte(&text, pem.data[i]);
	}
	out = mem_strndup(str_from(buf_bytes(&text)));
	buf_fini(&text);
	gnutls_free(pem.data);
	gnutls_x509_privkey_deinit(key);
	return out;
}

/* Parse part number `i` of a JWT, as JSON. */
static void jwt_part(const char *form, size_t i, struct yaml *y)
{
	const char *at = strstr(form, "assertion=") + strlen("assertion=");
	struct buf base64 = { 0 };
	struct buf text = { 0 };
	size_t len;

	while (i--)
		at = strchr(at, '.') + 1;
	len = strcspn(at, ".");
	for (size_t k = 0; k < len; k++)
		buf_byte(&base64, (uint8_t)(at[k] == '-' ? '+' :
					    at[k] == '_' ? '/' :
							   at[k]));
	while (base64.len % 4)
		buf_byte(&base64, '=');
	cr_assert(base64_decode(str_from(buf_bytes(&base64)), &text));
	yaml_parse_json(y, "jwt", buf_bytes(&text));
	buf_fini(&base64);
	buf_fini(&text);
}

Test(google_account, a_service_account_signs_its_request)
{
	struct tempdir d = tempdir_make();
	char *key = make_key();
	char *file = mem_printf(
		"{\"type\": \"service_account\", \"token_uri\": "
		"\"http://tokens\", \"private_key_id\": \"k\", "
		"\"client_email\": \"e@x\", \"private_key\": \"%s\"}",
		key);
	struct fake_account a;
	const char *ask;
	struct yaml y;

	open_account(&a);
	use_file(&d, file);
	mem_free(file);
	mem_free(key);
	ask = fake_account_ask(&a);
	cr_assert(strstr(ask, "POST http://tokens\n\ngrant_type=urn%3Aietf%3A"
			      "params%3Aoauth%3Agrant-type%3Ajwt-bearer&"),
		  "%s", ask);
	jwt_part(ask, 0, &y);
	cr_expect(check_str(doc_text(y.root, "alg"), "RS256"));
	cr_expect(check_str(doc_text(y.root, "kid"), "k"));
	yaml_fini(&y);
	jwt_part(ask, 1, &y);
	cr_expect(check_str(doc_text(y.root, "iss"), "e@x"));
	cr_expect(check_str(doc_text(y.root, "aud"), "http://tokens"));
	cr_expect(doc_int(y.root, "exp", 0) - doc_int(y.root, "iat", 0) ==
		  3600);
	yaml_fini(&y);
	fake_account_close(&a);
	tempdir_fini(&d);
}
