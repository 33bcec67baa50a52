/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/rest_account.h"

#include "base/clock.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "base/yaml_json.h"
#include "client/address/endpoint.h"
#include "client/transfer/http_status.h"
#include "discovery/rest/document.h"
#include "discovery/rest/xml_document.h"

/*
 * Limits on the requests for credentials: their number, the time limit of each,
 * and the time limit of each local one (see rest_request.is_local).
 */
#define ACCOUNT_REQUESTS_MAX 16
#define ACCOUNT_TIMEOUT_MS   30000
#define LOCAL_TIMEOUT_MS     5000

/* Credentials are renewed at most this many ms before they expire. */
#define RENEW_MS 300000

/* Limit on the size of tokens in files, in bytes. */
#define TOKEN_MAX ((size_t)64 << 10)

/* Limit on the length of an error code in a message. */
#define ERROR_CODE_MAX 48

struct rest_account {
	struct provider *p;
	const struct rest_account_kind *kind;
	void *data;
	struct http_config *http; /* borrowed while requests are under way */
	rest_account_fn ready;
	char *shown;   /* URL of the request under way, for messages */
	unsigned sent; /* requests since rest_account_get() */
};

struct rest_account *rest_account_new(struct provider *p,
				      const struct rest_account_kind *kind)
{
	struct rest_account *a = mem_new(struct rest_account);

	a->p = p;
	a->kind = kind;
	a->data = kind->open((const struct rest_config *)p->config);
	return a;
}

void rest_account_free(struct rest_account *a)
{
	if (!a)
		return;
	http_cancel(a->p->client, a);
	a->kind->close(a->data);
	mem_free(a->shown);
	mem_free(a);
}

void rest_account_forget(struct rest_account *a)
{
	a->kind->forget(a->data);
}

void *rest_account_data(struct rest_account *a)
{
	return a->data;
}

static void account_on_answer(void *ctx, struct http_response *r);

/*
 * Start the request `q`, and return REST_ACCOUNT_PENDING. ERR_TOOBIG:
 * ACCOUNT_REQUESTS_MAX is exceeded.
 */
static int account_start(struct rest_account *a, struct rest_request *q,
			 struct err *err)
{
	int64_t timeout_ms = q->is_local ? LOCAL_TIMEOUT_MS :
					   ACCOUNT_TIMEOUT_MS;

	if (++a->sent > ACCOUNT_REQUESTS_MAX)
		return err_set(
			err, ERR_TOOBIG,
			"no usable credentials after %d requests, because the credentials received had to be renewed at once each time: is the clock of this machine right?",
			ACCOUNT_REQUESTS_MAX);
	if (timeout_ms > a->p->config->refresh_ms)
		timeout_ms = a->p->config->refresh_ms;
	mem_free(a->shown);
	a->shown = endpoint_url_shown(buf_cstr(&q->url));
	q->has_secret = true;
	rest_request_start(q, a->p, a->http, timeout_ms, account_on_answer, a);
	return REST_ACCOUNT_PENDING;
}

/*
 * Ask the kind for the request that is needed next, and start the request.
 * Returns REST_ACCOUNT_PENDING if a request was started, and 0 if no request is
 * needed, because the credentials are there.
 */
static int account_go_on(struct rest_account *a, struct err *err)
{
	struct rest_request q = { 0 };
	int rc = a->kind->next(a->data, &q, err);

	if (rc)
		rc = err_wrap(err, rc, "credentials");
	else if (q.url.len)
		rc = account_start(a, &q, err);
	rest_request_fini(&q);
	return rc;
}

/*
 * Called at the end of a request; ERR_CLOSED only means that the provider is
 * being closed.
 */
static void account_on_answer(void *ctx, struct http_response *r)
{
	struct rest_account *a = ctx;
	struct err err;
	int rc;

	if (r->code == ERR_CLOSED)
		return;
	rc = a->kind->take(a->data, r, &err);
	if (rc)
		rc = err_wrap(&err, rc, "credentials: %s", a->shown);
	else
		rc = account_go_on(a, &err);
	if (rc != REST_ACCOUNT_PENDING)
		a->ready(a->p, rc ? &err : NULL);
}

int rest_account_get(struct rest_account *a, struct http_config *http,
		     rest_account_fn ready, struct err *err)
{
	a->http = http;
	a->ready = ready;
	a->sent = 0;
	return account_go_on(a, err);
}

int rest_token_read(const char *path, char **out, struct err *err)
{
	struct buf text = buf_init(TOKEN_MAX);
	int rc = file_slurp(path, &text, err);

	if (!rc)
		*out = mem_strndup(str_trim(str_from(buf_bytes(&text))));
	buf_forget(&text);
	return rc;
}

bool rest_can_send(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c < ' ' || c == 0x7f)
			return false;
	}
	return true;
}

int rest_renewal(int64_t expires_ms, int64_t *renew_ms, struct err *err)
{
	int64_t now_ms = clock_ms(NULL);
	int64_t left_ms;

	if (expires_ms <= now_ms)
		return err_set(
			err, ERR_INVALID,
			"the credentials have expired already: is the clock of this machine right?");
	left_ms = expires_ms - now_ms;
	*renew_ms =
		expires_ms - (left_ms / 2 < RENEW_MS ? left_ms / 2 : RENEW_MS);
	return 0;
}

/*
 * Return whether a text looks like an error code, and not like a secret: it is
 * short, and has only letters, "_" and ".".
 */
static bool is_code(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    c != '_' && c != '.')
			return false;
	}
	return s.len && s.len <= ERROR_CODE_MAX;
}

struct str rest_answer_code(const struct yaml_node *root)
{
	/*
	 * The paths of the error code in the answers of these services, in this
	 * order: STS, EC2, Azure, Google, OAuth 2.0 (RFC 6749, 5.2), Keystone,
	 * the agent of an AWS container, and the metadata service of an AWS
	 * instance.
	 */
	static const char *const paths[] = { "Error.Code", "Errors.Error.Code",
					     "error.code", "error.status",
					     "error",      "error.title",
					     "code",       "Code" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct str code = doc_text(root, paths[i]);

		if (is_code(code))
			return code;
	}
	return str_of("");
}

/* Parse an answer into *y. */
static void answer_read(const struct http_response *a, bool is_xml,
			struct yaml *y)
{
	if (is_xml)
		xml_parse(y, "answer", buf_bytes(&a->body));
	else
		yaml_parse_json(y, "answer", buf_bytes(&a->body));
}

int rest_answer_check(const struct http_response *a, bool is_xml,
		      struct err *err)
{
	struct str code;
	struct yaml y;
	int rc;

	if (!a->code && a->status / 100 == 2)
		return 0;
	rc = http_status_check(a, err);
	if (a->code || a->status < 400)
		return rc;
	answer_read(a, is_xml, &y);
	code = rest_answer_code(y.root);
	if (code.len)
		rc = err_set(err, rc, "server returned HTTP status %ld: %.*s",
			     a->status, STR_ARG(code));
	yaml_fini(&y);
	return rc;
}

int rest_answer_parse(const struct http_response *a, bool is_xml,
		      struct yaml *y, struct err *err)
{
	int rc = rest_answer_check(a, is_xml, err);

	if (rc)
		return rc;
	answer_read(a, is_xml, y);
	rc = yaml_check(y, err);
	if (rc)
		yaml_fini(y);
	return rc;
}
