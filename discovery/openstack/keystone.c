/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/openstack/keystone.h"

#include "base/env.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/units.h"
#include "discovery/rest/bearer.h"

struct keystone {
	const struct keystone_config *config;
	struct bearer bearer;
	/*
	 * body of the last answer, which has the catalog; valid while there is
	 * a token
	 */
	struct yaml answer;
};

static void *keystone_open(const struct rest_config *c)
{
	struct keystone *k = mem_new(struct keystone);

	k->config = (const struct keystone_config *)c;
	return k;
}

static void keystone_forget(void *data)
{
	struct keystone *k = data;

	if (!k->bearer.token)
		return;
	yaml_fini(&k->answer);
	bearer_forget(&k->bearer);
}

static void keystone_close(void *data)
{
	struct keystone *k = data;

	keystone_forget(k);
	mem_free(k);
}

/*
 * Return a variable of the environment, or the variable `other` if the first is
 * absent.
 */
static struct str stack_env(const char *name, const char *other)
{
	struct str value = env_text(name);

	return value.len || !other ? value : env_text(other);
}

/* Return the login that the variables of the environment describe. */
static struct keystone_login login_of_environment(void)
{
	return (struct keystone_login){
		.identity_endpoint = stack_env("OS_AUTH_URL", NULL),
		.username = stack_env("OS_USERNAME", NULL),
		.userid = stack_env("OS_USERID", "OS_USER_ID"),
		.password = stack_env("OS_PASSWORD", NULL),
		.domain_name =
			stack_env("OS_DOMAIN_NAME", "OS_USER_DOMAIN_NAME"),
		.domain_id = stack_env("OS_DOMAIN_ID", "OS_USER_DOMAIN_ID"),
		.project_name = stack_env("OS_PROJECT_NAME", "OS_TENANT_NAME"),
		.project_id = stack_env("OS_PROJECT_ID", "OS_TENANT_ID"),
		.application_credential_name =
			stack_env("OS_APPLICATION_CREDENTIAL_NAME", NULL),
		.application_credential_id =
			stack_env("OS_APPLICATION_CREDENTIAL_ID", NULL),
		.application_credential_secret =
			stack_env("OS_APPLICATION_CREDENTIAL_SECRET", NULL),
	};
}

/* Write a key with a text. */
static void write_text(struct json *j, const char *key, struct str text)
{
	json_key(j, key);
	json_str(j, text);
}

/* Begin the object at a key. */
static void begin_object(struct json *j, const char *key)
{
	json_key(j, key);
	json_begin(j, '{');
}

/* Write the key `domain`. */
static void write_domain(struct json *j, const struct keystone_login *l)
{
	begin_object(j, "domain");
	if (l->domain_id.len)
		write_text(j, "id", l->domain_id);
	else
		write_text(j, "name", l->domain_name);
	json_end(j, '}');
}

/* Write the members that name the user: an ID, or a name and its domain. */
static void write_user(struct json *j, const struct keystone_login *l)
{
	if (l->userid.len) {
		write_text(j, "id", l->userid);
		return;
	}
	write_text(j, "name", l->username);
	write_domain(j, l);
}

static void write_password(struct json *j, const struct keystone_login *l)
{
	begin_object(j, "password");
	begin_object(j, "user");
	write_user(j, l);
	write_text(j, "password", l->password);
	json_end(j, '}');
	json_end(j, '}');
}

static void write_credential(struct json *j, const struct keystone_login *l)
{
	begin_object(j, "application_credential");
	if (l->application_credential_id.len) {
		write_text(j, "id", l->application_credential_id);
	} else {
		write_text(j, "name", l->application_credential_name);
		begin_object(j, "user");
		write_user(j, l);
		json_end(j, '}');
	}
	write_text(j, "secret", l->application_credential_secret);
	json_end(j, '}');
}

/* Write the project that the token is for, if one is named. */
static void write_scope(struct json *j, const struct keystone_login *l)
{
	if (!l->project_id.len && !l->project_name.len)
		return;
	begin_object(j, "scope");
	begin_object(j, "project");
	if (l->project_id.len) {
		write_text(j, "id", l->project_id);
	} else {
		write_text(j, "name", l->project_name);
		write_domain(j, l);
	}
	json_end(j, '}');
	json_end(j, '}');
}

/* Write the body of the request for a token. */
static void write_auth(struct buf *out, const struct keystone_login *l)
{
	bool by_password = l->password.len > 0;
	struct json j = json_init(out);

	json_begin(&j, '{');
	begin_object(&j, "auth");
	begin_object(&j, "identity");
	json_key(&j, "methods");
	json_begin(&j, '[');
	json_text(&j, by_password ? "password" : "application_credential");
	json_end(&j, ']');
	if (by_password)
		write_password(&j, l);
	else
		write_credential(&j, l);
	json_end(&j, '}');
	/*
	 * An application credential belongs to one project, so it needs no
	 * scope.
	 */
	if (by_password)
		write_scope(&j, l);
	json_end(&j, '}');
	json_end(&j, '}');
}

/* Check that a login is complete. */
static int check_login(const struct keystone_login *l, struct err *err)
{
	bool has_user = l->username.len || l->userid.len;
	bool has_domain = l->domain_id.len || l->domain_name.len;

	if (!l->identity_endpoint.len)
		return err_set(
			err, ERR_INVALID,
			"set identity_endpoint, or the environment variable OS_AUTH_URL");
	if (!l->password.len && !l->application_credential_id.len &&
	    !l->application_credential_name.len)
		return err_set(
			err, ERR_INVALID,
			"there is neither a password nor an application credential");
	if (!l->password.len && !l->application_credential_secret.len)
		return err_set(err, ERR_INVALID,
			       "the application credential has no secret");
	if (!l->password.len && l->application_credential_id.len)
		return 0;
	if (!has_user)
		return err_set(
			err, ERR_INVALID,
			l->password.len ?
				"a password requires username or userid" :
				"application_credential_name requires username or userid; or set application_credential_id");
	if (l->username.len && l->userid.len)
		return err_set(err, ERR_INVALID,
			       "at most one of username and userid may be set");
	if (!l->userid.len && !has_domain)
		return err_set(err, ERR_INVALID,
			       "username requires domain_name or domain_id");
	if (l->password.len && l->project_name.len && !l->project_id.len &&
	    !has_domain)
		return err_set(
			err, ERR_INVALID,
			"project_name requires domain_name or domain_id; or set project_id");
	return 0;
}

/*
 * Write the URL for tokens. The endpoint may lack the version (/v3) at its end.
 */
static int write_token_url(struct str endpoint, struct buf *out,
			   struct err *err)
{
	while (str_ends(endpoint, "/"))
		endpoint.len--;
	if (str_ends(endpoint, "/v2.0"))
		return err_set(
			err, ERR_UNSUPPORTED,
			"version 2.0 of the identity API is not supported: use version 3");
	buf_add(out, endpoint.ptr, endpoint.len);
	if (!str_ends(endpoint, "/v3"))
		buf_str(out, "/v3");
	buf_str(out, "/auth/tokens");
	return 0;
}

static int keystone_next(void *data, struct rest_request *q, struct err *err)
{
	struct keystone *k = data;
	struct keystone_login l = k->config->login;
	int rc;

	if (bearer_is_fresh(&k->bearer))
		return 0;
	if (!l.identity_endpoint.len)
		l = login_of_environment();
	rc = check_login(&l, err);
	if (rc && l.identity_endpoint.len &&
	    !k->config->login.identity_endpoint.len)
		return err_wrap(
			err, rc,
			"identity_endpoint is not set, so the login comes from environment variables only (OS_USERNAME, OS_PASSWORD …)");
	if (!rc)
		rc = write_token_url(l.identity_endpoint, &q->url, err);
	if (rc)
		return rc;
	rest_header_add(q, "Content-Type", str_of("application/json"));
	rest_header_add(q, "Accept", str_of("application/json"));
	write_auth(&q->body, &l);
	return 0;
}

/* Take the token, which is in a header, and the time when it expires. */
static int keystone_take_token(struct keystone *k,
			       const struct http_response *r,
			       const struct yaml_node *root, struct err *err)
{
	struct str token = http_response_header(r, "X-Subject-Token");
	int64_t expires_ms;

	if (!token.len)
		return err_set(err, ERR_INVALID,
			       "the answer has no header X-Subject-Token");
	if (time_parse(doc_text(root, "token.expires_at"), 0, &expires_ms,
		       NULL))
		return err_set(
			err, ERR_INVALID,
			"the answer has no expires_at with a time of RFC 3339");
	if (rest_renewal(expires_ms, &k->bearer.renew_ms, err))
		return ERR_INVALID;
	k->bearer.token = mem_strndup(token);
	return 0;
}

static int keystone_take(void *data, const struct http_response *r,
			 struct err *err)
{
	struct keystone *k = data;
	int rc;

	keystone_forget(k);
	rc = rest_answer_parse(r, false, &k->answer, err);
	if (rc)
		return rc;
	rc = keystone_take_token(k, r, k->answer.root, err);
	if (rc)
		yaml_fini(&k->answer);
	return rc;
}

/* Return whether an endpoint has the configured region and availability. */
static bool is_wanted(const struct keystone *k, const struct yaml_node *e)
{
	struct str region = k->config->region;

	return str_eq(doc_text(e, "interface"), k->config->availability) &&
	       (str_eq(doc_text(e, "region"), region) ||
		str_eq(doc_text(e, "region_id"), region));
}

/*
 * Return the URL of the first endpoint of `service` that has the configured
 * region and availability; empty: there is none.
 */
static struct str find_endpoint(const struct keystone *k,
				const struct yaml_node *service)
{
	const struct yaml_node *list = doc_find(service, "endpoints");

	for (size_t i = 0; i < doc_count(list); i++) {
		if (is_wanted(k, doc_item(list, i)))
			return doc_text(doc_item(list, i), "url");
	}
	return str_of("");
}

/*
 * Return the URL of a service such as "compute"; empty: the catalog has none
 * for the configured region and availability.
 */
static struct str keystone_service(const struct keystone *k,
				   const char *service)
{
	const struct yaml_node *catalog =
		doc_find(k->answer.root, "token.catalog");
	struct str url = str_of("");

	for (size_t i = 0; i < doc_count(catalog) && !url.len; i++) {
		const struct yaml_node *s = doc_item(catalog, i);

		if (str_is(doc_text(s, "type"), service))
			url = find_endpoint(k, s);
	}
	return url;
}

void keystone_prepare(struct rest_run *r, struct rest_request *q)
{
	const struct keystone *k = r->account;

	rest_header_add(q, "X-Auth-Token", str_of(k->bearer.token));
	rest_header_add(q, "Accept", str_of("application/json"));
}

bool keystone_write_url(struct rest_run *r, const char *service,
			const char *version, const char *path, struct buf *out)
{
	struct str url = keystone_service(r->account, service);

	while (str_ends(url, "/"))
		url.len--;
	buf_reset(out);
	buf_add(out, url.ptr, url.len);
	if (!str_ends(url, version))
		buf_str(out, version);
	buf_str(out, path);
	return true;
}

int keystone_need(const struct rest_run *r, const char *service,
		  struct err *err)
{
	const struct keystone_config *c =
		(const struct keystone_config *)r->config;

	if (keystone_service(r->account, service).len)
		return 0;
	return err_set(
		err, ERR_NOTFOUND,
		"the catalog of OpenStack has no %.*s endpoint of service %s in region %.*s: check \"region\", \"availability\", and the project of the login",
		STR_ARG(c->availability), service, STR_ARG(c->region));
}

const struct rest_account_kind keystone_kind = {
	.open = keystone_open,
	.next = keystone_next,
	.take = keystone_take,
	.forget = keystone_forget,
	.close = keystone_close,
};
