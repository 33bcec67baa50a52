/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/google/google_account.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/file_slurp.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/rsa.h"
#include "base/url.h"
#include "base/yaml_json.h"
#include "discovery/rest/bearer.h"

#define SCOPE         "https://www.googleapis.com/auth/compute.readonly"
#define TOKEN_URL     "https://oauth2.googleapis.com/token"
#define METADATA_HOST "169.254.169.254"
#define METADATA_PATH \
	"/computeMetadata/v1/instance/service-accounts/default/token"
#define FILE_VARIABLE "GOOGLE_APPLICATION_CREDENTIALS"
#define USER_FILE     ".config/gcloud/application_default_credentials.json"
#define JWT_GRANT     "urn:ietf:params:oauth:grant-type:jwt-bearer"

/* How long a signed request for a token (JWT) is valid. */
#define JWT_LIFE_S 3600

struct google_account {
	struct bearer bearer;
	bool asks_metadata; /* the request under way asks the metadata server */
};

static void *google_open(const struct rest_config *c UNUSED)
{
	return mem_new(struct google_account);
}

static void google_close(void *data)
{
	bearer_forget(data);
	mem_free(data);
}

/* Append the JSON object in `part` to a JWT, in base64url, and free `part`. */
static void add_jwt_part(struct buf *jwt, struct buf *part)
{
	base64_encode_url(buf_bytes(part), jwt);
	buf_fini(part);
}

static void add_jwt_header(struct buf *jwt, const struct yaml_node *key)
{
	struct str id = doc_text(key, "private_key_id");
	struct buf text = { 0 };
	struct json j = json_init(&text);

	json_begin(&j, '{');
	json_key(&j, "alg");
	json_text(&j, "RS256");
	json_key(&j, "typ");
	json_text(&j, "JWT");
	if (id.len) {
		json_key(&j, "kid");
		json_str(&j, id);
	}
	json_end(&j, '}');
	add_jwt_part(jwt, &text);
}

static void add_jwt_claims(struct buf *jwt, const struct yaml_node *key,
			   struct str audience)
{
	int64_t now_s = clock_ms(NULL) / 1000;
	struct buf text = { 0 };
	struct json j = json_init(&text);

	json_begin(&j, '{');
	json_key(&j, "iss");
	json_str(&j, doc_text(key, "client_email"));
	json_key(&j, "scope");
	json_text(&j, SCOPE);
	json_key(&j, "aud");
	json_str(&j, audience);
	json_key(&j, "iat");
	json_int(&j, now_s);
	json_key(&j, "exp");
	json_int(&j, now_s + JWT_LIFE_S);
	json_end(&j, '}');
	add_jwt_part(jwt, &text);
}

/* Write the form by which a service account asks for a token. */
static int write_jwt(const struct yaml_node *key, struct str url,
		     struct buf *form, struct err *err)
{
	struct str audience = doc_text(key, "audience");
	struct buf signature = { 0 };
	struct buf jwt = { 0 };
	int rc;

	add_jwt_header(&jwt, key);
	buf_byte(&jwt, '.');
	add_jwt_claims(&jwt, key, audience.len ? audience : url);
	rc = rsa_sign(doc_text(key, "private_key"), buf_bytes(&jwt), &signature,
		      err);
	buf_byte(&jwt, '.');
	base64_encode_url(buf_bytes(&signature), &jwt);
	url_add_field(form, "grant_type", str_of(JWT_GRANT));
	url_add_field(form, "assertion", str_from(buf_bytes(&jwt)));
	buf_forget(&jwt);
	buf_fini(&signature);
	return rc;
}

/* Write the form by which a user asks for a token. */
static void write_refresh(const struct yaml_node *key, struct buf *form)
{
	url_add_field(form, "grant_type", str_of("refresh_token"));
	url_add_field(form, "client_id", doc_text(key, "client_id"));
	url_add_field(form, "client_secret", doc_text(key, "client_secret"));
	url_add_field(form, "refresh_token", doc_text(key, "refresh_token"));
}

/*
 * Write the request for a token; `key` has the contents of a credentials file.
 */
static int write_key_request(const struct yaml_node *key,
			     struct rest_request *q, struct err *err)
{
	struct str type = doc_text(key, "type");
	struct str url = doc_text(key, "token_uri");

	if (!url.len)
		url = str_of(TOKEN_URL);
	buf_add(&q->url, url.ptr, url.len);
	if (str_is(type, "service_account"))
		return write_jwt(key, url, &q->body, err);
	if (!str_is(type, "authorized_user"))
		return err_set(
			err, ERR_UNSUPPORTED,
			"type is \"%.*s\": only service_account and authorized_user are supported",
			STR_ARG(type));
	write_refresh(key, &q->body);
	return 0;
}

/* Read a credentials file, and write the request for a token. */
static int ask_by_key_file(const char *path, struct rest_request *q,
			   struct err *err)
{
	struct buf text = buf_init(YAML_TEXT_MAX);
	struct yaml y;
	int rc = file_slurp(path, &text, err);

	if (!rc) {
		yaml_parse_json(&y, path, buf_bytes(&text));
		rc = yaml_check(&y, err);
		if (!rc) {
			rc = write_key_request(y.root, q, err);
			if (rc)
				rc = err_wrap(err, rc, "%s", path);
		}
		yaml_fini(&y);
	}
	buf_forget(&text);
	return rc;
}

/* Write the request to the metadata server of the instance. */
static void ask_metadata(struct google_account *a, struct rest_request *q)
{
	const char *host = env_find("GCE_METADATA_HOST");

	a->asks_metadata = true;
	buf_printf(&q->url, "http://%s%s", host ? host : METADATA_HOST,
		   METADATA_PATH);
	url_add_param(&q->url, "scopes", str_of(SCOPE));
	rest_header_add(q, "Metadata-Flavor", str_of("Google"));
	q->is_local = true;
}

static int google_next(void *data, struct rest_request *q, struct err *err)
{
	struct google_account *a = data;
	const char *file = env_find(FILE_VARIABLE);
	const char *home = env_find("HOME");
	char *path;
	int rc = ERR_NOTFOUND;

	if (bearer_is_fresh(&a->bearer))
		return 0;
	a->asks_metadata = false;
	if (file) {
		rc = ask_by_key_file(file, q, err);
		return rc ? err_wrap(err, rc, FILE_VARIABLE) : 0;
	}
	if (home) {
		path = mem_printf("%s/%s", home, USER_FILE);
		rc = ask_by_key_file(path, q, err);
		mem_free(path);
	}
	if (rc != ERR_NOTFOUND && rc != ERR_IO)
		return rc;
	rest_request_fini(q);
	ask_metadata(a, q);
	return 0;
}

static int google_take(void *data, const struct http_response *r,
		       struct err *err)
{
	struct google_account *a = data;
	int rc = bearer_take(&a->bearer, r, err);

	if (rc && a->asks_metadata)
		return err_wrap(
			err, rc,
			FILE_VARIABLE
			" is not set, ~/" USER_FILE
			" cannot be read, and the metadata server gives no usable token");
	return rc;
}

const struct rest_account_kind google_account_kind = {
	.open = google_open,
	.next = google_next,
	.take = google_take,
	.forget = bearer_forget,
	.close = google_close,
};
