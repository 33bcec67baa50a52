/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/aws/aws_account.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/url.h"
#include "client/address/endpoint.h"
#include "discovery/rest/document.h"

/*
 * URLs of the metadata service of an instance, and of the agent of a container.
 */
#define METADATA_URL  "http://169.254.169.254"
#define METADATA_URL6 "http://[fd00:ec2::254]"
#define AGENT_URL     "http://169.254.170.2"

#define TOKEN_HEADER "x-aws-ec2-metadata-token"
#define ROLE_PATH    "/latest/meta-data/iam/security-credentials/"
#define STS_VERSION  "2011-06-15"

/* Limit on the length of the name of a region. */
#define REGION_MAX 32

/* What the request under way is for. */
enum aws_step {
	AWS_ASKS_TOKEN,     /* a session of the metadata service */
	AWS_ASKS_REGION,    /* the region of the instance */
	AWS_ASKS_ROLE_NAME, /* the role of the instance */
	AWS_ASKS_ROLE_KEYS, /* the keys of that role */
	AWS_ASKS_AGENT,     /* the keys of the container */
	AWS_ASKS_WEB,       /* the keys of a web identity */
	AWS_ASKS_ROLE       /* the keys of a role to be assumed */
};

struct aws_account {
	const struct aws_config *config;
	struct aws_plan plan;
	bool is_planned;
	enum aws_step step;
	char *token;       /* session of the metadata service */
	bool has_no_token; /* the metadata service knows no sessions */
	char *role_name;   /* role of the instance */
	struct aws_keys keys;
	size_t assumed; /* number of roles of the plan that were assumed */
	char *scope;    /* "<region>:<service>" of the request */
};

const char *aws_domain(struct str region)
{
	static const struct {
		const char *prefix;
		const char *domain;
	} partitions[] = {
		{ "cn-", "amazonaws.com.cn" },
		{ "us-isob-", "sc2s.sgov.gov" },
		{ "us-isof-", "csp.hci.ic.gov" },
		{ "us-iso-", "c2s.ic.gov" },
		{ "eu-isoe-", "cloud.adc-e.uk" },
		{ "eusc-", "amazonaws.eu" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(partitions); i++) {
		if (str_starts(region, str_of(partitions[i].prefix)))
			return partitions[i].domain;
	}
	return "amazonaws.com";
}

const char *aws_env_endpoint(const char *variable)
{
	const char *ignore = env_find("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
	const char *url = env_find(variable);

	if (ignore && str_is_nocase(str_of(ignore), "true"))
		return NULL;
	return url ? url : env_find("AWS_ENDPOINT_URL");
}

static void *aws_open(const struct rest_config *c)
{
	struct aws_account *a = mem_new(struct aws_account);

	a->config = (const struct aws_config *)c;
	return a;
}

/*
 * Forget the plan, the region and all credentials, so that everything is looked
 * up again.
 */
static void aws_forget(void *data)
{
	struct aws_account *a = data;

	aws_plan_fini(&a->plan);
	aws_keys_fini(&a->keys);
	mem_forget(a->token);
	mem_free(a->role_name);
	a->token = NULL;
	a->role_name = NULL;
	a->has_no_token = false;
	a->is_planned = false;
	a->assumed = 0;
}

static void aws_close(void *data)
{
	struct aws_account *a = data;

	aws_forget(a);
	mem_free(a->scope);
	mem_free(a);
}

const char *aws_account_region(const struct aws_account *a)
{
	return a->plan.region;
}

void aws_account_sign(struct aws_account *a, const char *service,
		      struct rest_request *q)
{
	mem_free(a->scope);
	a->scope = mem_printf("%s:%s", a->plan.region, service);
	q->aws_scope = a->scope;
	q->key_id = a->keys.id;
	q->secret_key = a->keys.secret;
	if (a->keys.token)
		rest_header_add(q, "x-amz-security-token",
				str_of(a->keys.token));
}

/* Write a request to the metadata service. */
static int write_metadata(struct aws_account *a, const char *path,
			  struct rest_request *q, struct err *err)
{
	const char *disabled = env_find("AWS_EC2_METADATA_DISABLED");
	const char *base = env_find("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *mode = env_find("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");

	if (disabled && str_is_nocase(str_of(disabled), "true"))
		return err_set(
			err, ERR_INVALID,
			"no %s is configured, and AWS_EC2_METADATA_DISABLED forbids to ask the metadata service of the instance for one",
			a->plan.region ? "access key" : "region");
	if (!base && mode && str_is_nocase(str_of(mode), "ipv6"))
		base = METADATA_URL6;
	buf_str(&q->url, base ? base : METADATA_URL);
	if (str_ends(str_from(buf_bytes(&q->url)), "/"))
		q->url.len--;
	buf_str(&q->url, path);
	q->is_local = true;
	if (a->token)
		rest_header_add(q, TOKEN_HEADER, str_of(a->token));
	return 0;
}

/* Write a request for a session of the metadata service. */
static int ask_token(struct aws_account *a, struct rest_request *q,
		     struct err *err)
{
	a->step = AWS_ASKS_TOKEN;
	rest_header_add(q, TOKEN_HEADER "-ttl-seconds", str_of("300"));
	q->method = "PUT";
	return write_metadata(a, "/latest/api/token", q, err);
}

static int ask_region(struct aws_account *a, struct rest_request *q,
		      struct err *err)
{
	if (!a->token && !a->has_no_token)
		return ask_token(a, q, err);
	a->step = AWS_ASKS_REGION;
	return write_metadata(a, "/latest/dynamic/instance-identity/document",
			      q, err);
}

/* Write the next request for the keys of the instance's role. */
static int ask_instance(struct aws_account *a, struct rest_request *q,
			struct err *err)
{
	int rc;

	if (!a->token && !a->has_no_token)
		return ask_token(a, q, err);
	a->step = a->role_name ? AWS_ASKS_ROLE_KEYS : AWS_ASKS_ROLE_NAME;
	rc = write_metadata(a, ROLE_PATH, q, err);
	if (!rc && a->role_name)
		url_escape(str_of(a->role_name), &q->url);
	return rc;
}

/*
 * Return whether the URL of an agent is allowed: its scheme is https, or its
 * host is one on which a local agent listens.
 */
static bool is_agent_url(const char *url)
{
	static const char *const hosts[] = {
		"127.0.0.1",     "localhost",      "[::1]",
		"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"
	};
	char *host = endpoint_part(url, URL_HOST);
	bool known = str_starts(str_of(url), str_of("https:"));

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		known |= host && str_is(str_of(hosts[i]), host);
	mem_free(host);
	return known;
}

/* Write the request to the agent of the container. */
static int ask_container_agent(struct aws_account *a, struct rest_request *q,
			       struct err *err)
{
	const char *path = env_find("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *url = env_find("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	const char *file = env_find("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *fixed = env_find("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	char *token = NULL;
	int rc;

	a->step = AWS_ASKS_AGENT;
	if (path)
		buf_printf(&q->url, "%s%s", AGENT_URL, path);
	else if (url && is_agent_url(url))
		buf_str(&q->url, url);
	else if (url)
		return err_set(
			err, ERR_INVALID,
			"AWS_CONTAINER_CREDENTIALS_FULL_URI must be an https URL, or have the host of a local agent: 127.0.0.1, localhost, [::1], 169.254.170.2, 169.254.170.23 or [fd00:ec2::23]");
	else
		return err_set(
			err, ERR_INVALID,
			"credential_source is EcsContainer, but neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set");
	q->is_local = true;
	rest_header_add(q, "Accept", str_of("application/json"));
	if (file) {
		rc = rest_token_read(file, &token, err);
		if (rc)
			return rc;
	} else if (fixed) {
		token = mem_strdup(fixed);
	}
	if (token)
		rest_header_add(q, "Authorization", str_of(token));
	mem_forget(token);
	return 0;
}

/* Begin a request to the security token service. */
static void write_sts(const struct aws_account *a, const char *action,
		      struct rest_request *q)
{
	const char *url = aws_env_endpoint("AWS_ENDPOINT_URL_STS");

	if (url)
		buf_str(&q->url, url);
	else
		buf_printf(&q->url, "https://sts.%s.%s/", a->plan.region,
			   aws_domain(str_of(a->plan.region)));
	url_add_field(&q->body, "Action", str_of(action));
	url_add_field(&q->body, "Version", str_of(STS_VERSION));
}

/* Add a role to a form. */
static void write_role(const struct aws_role *role, struct buf *form)
{
	url_add_field(form, "RoleArn", str_of(role->arn));
	url_add_field(form, "RoleSessionName", str_of(role->session));
	if (role->external_id)
		url_add_field(form, "ExternalId", str_of(role->external_id));
}

static int ask_web(struct aws_account *a, struct rest_request *q,
		   struct err *err)
{
	char *token = NULL;
	int rc = rest_token_read(a->plan.token_file, &token, err);

	if (rc)
		return rc;
	a->step = AWS_ASKS_WEB;
	write_sts(a, "AssumeRoleWithWebIdentity", q);
	write_role(&a->plan.web, &q->body);
	url_add_field(&q->body, "WebIdentityToken", str_of(token));
	mem_forget(token);
	return 0;
}

/* Write the request for the next role of the plan. */
static int ask_role(struct aws_account *a, struct rest_request *q)
{
	a->step = AWS_ASKS_ROLE;
	write_sts(a, "AssumeRole", q);
	write_role(&a->plan.roles.v[a->assumed], &q->body);
	aws_account_sign(a, "sts", q);
	return 0;
}

/*
 * Write the next request for the keys from the source of the plan
 * (plan.source); with these keys, the roles of the plan are assumed later. If
 * the plan itself has the keys, copy them and write no request.
 */
static int ask_keys(struct aws_account *a, struct rest_request *q,
		    struct err *err)
{
	const struct aws_keys *k = &a->plan.keys;

	switch (a->plan.source) {
	case AWS_WEB_IDENTITY:
		return ask_web(a, q, err);
	case AWS_CONTAINER:
		return ask_container_agent(a, q, err);
	case AWS_METADATA:
		return ask_instance(a, q, err);
	case AWS_KEYS:
		break;
	}
	aws_keys_set(&a->keys, str_of(k->id), str_of(k->secret),
		     str_of(k->token ? k->token : ""), INT64_MAX);
	return 0;
}

/* Check the characters of a region, because it becomes a part of host names. */
static int check_region(const char *region, struct err *err)
{
	size_t len = strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (len && !region[len] && len <= REGION_MAX)
		return 0;
	return err_set(
		err, ERR_INVALID,
		"\"%.64s\" is not the name of an AWS region, such as eu-west-1",
		region);
}

static int aws_next(void *data, struct rest_request *q, struct err *err)
{
	struct aws_account *a = data;
	int rc = 0;

	if (a->keys.id && clock_ms(NULL) >= a->keys.renew_ms)
		aws_forget(a);
	if (!a->is_planned) {
		aws_forget(a);
		rc = aws_plan_make(&a->plan, a->config, err);
		a->is_planned = !rc;
	}
	if (!rc && !a->plan.region)
		return ask_region(a, q, err);
	if (!rc)
		rc = check_region(a->plan.region, err);
	if (!rc && !a->keys.id)
		rc = ask_keys(a, q, err);
	if (!rc && a->keys.id && a->assumed < a->plan.roles.count)
		rc = ask_role(a, q);
	return rc;
}

/*
 * Report an answer without keys. If an instance cannot take on its role, the
 * metadata service answers with status 200, and the member "Code" has the
 * reason, such as AssumeRoleUnauthorizedAccess. In an answer with keys, the
 * value of "Code" is "Success".
 */
static int aws_tell_no_keys(const struct yaml_node *answer, struct err *err)
{
	const struct str code = rest_answer_code(answer);

	if (!code.len || str_is(code, "Success"))
		return err_set(err, ERR_INVALID,
			       "the answer has no access key");
	return err_set(err, ERR_INVALID, "the answer has no access key: %.*s",
		       STR_ARG(code));
}

/*
 * Take keys from an answer. `token` is the name of the member of the answer
 * that has the session token; answers differ in that name.
 */
static int take_keys(struct aws_account *a, const struct yaml_node *n,
		     const char *token, struct err *err)
{
	struct str expires = doc_text(n, "Expiration");
	int64_t expires_ms;
	int64_t renew_ms = INT64_MAX;

	if (!doc_text(n, "AccessKeyId").len ||
	    !doc_text(n, "SecretAccessKey").len ||
	    !rest_can_send(doc_text(n, "AccessKeyId")) ||
	    !rest_can_send(doc_text(n, token)))
		return aws_tell_no_keys(n, err);
	if (expires.len && time_parse(expires, 0, &expires_ms, NULL))
		return err_set(
			err, ERR_INVALID,
			"the answer has an Expiration that is not a time of RFC 3339");
	if (expires.len && rest_renewal(expires_ms, &renew_ms, err))
		return ERR_INVALID;
	aws_keys_set(&a->keys, doc_text(n, "AccessKeyId"),
		     doc_text(n, "SecretAccessKey"), doc_text(n, token),
		     renew_ms);
	return 0;
}

/*
 * Take the session of the metadata service. If the service gives none, as old
 * services do, note that the service is to be asked without a session. But a
 * failed request is an error if its status is 400, or if
 * AWS_EC2_METADATA_V1_DISABLED forbids requests without a session.
 */
static int take_session(struct aws_account *a, const struct http_response *r,
			struct err *err)
{
	const char *strict = env_find("AWS_EC2_METADATA_V1_DISABLED");
	struct str text = str_trim(str_from(buf_bytes(&r->body)));
	int rc = rest_answer_check(r, false, err);

	if (rc && (r->status == 400 ||
		   (strict && str_is_nocase(str_of(strict), "true"))))
		return rc;
	a->has_no_token = rc || !text.len || !rest_can_send(text);
	if (!a->has_no_token)
		a->token = mem_strndup(text);
	return 0;
}

/* Take the name of the instance's role: the first line. */
static int take_role_name(struct aws_account *a, const struct http_response *r,
			  struct err *err)
{
	struct str text = str_from(buf_bytes(&r->body));
	int rc = rest_answer_check(r, false, err);

	if (!rc && !str_trim(text).len)
		rc = err_set(err, ERR_NOTFOUND, "the instance has no role");
	if (rc)
		return err_wrap(
			err, rc,
			"no access key is configured, and the metadata service of the instance gives none");
	text = str_trim(text);
	a->role_name = mem_strndup(str_trim(str_cut(text, '\n', &text)));
	return 0;
}

/* Take an answer in JSON or XML. */
static int take_document(struct aws_account *a, const struct yaml_node *root,
			 struct err *err)
{
	switch (a->step) {
	case AWS_ASKS_REGION:
		if (!doc_text(root, "region").len)
			return err_set(err, ERR_INVALID,
				       "the answer has no region");
		a->plan.region = mem_strndup(doc_text(root, "region"));
		return 0;
	case AWS_ASKS_WEB:
		root = doc_find(root, "AssumeRoleWithWebIdentityResult."
				      "Credentials");
		return take_keys(a, root, "SessionToken", err);
	case AWS_ASKS_ROLE:
		root = doc_find(root, "AssumeRoleResult.Credentials");
		a->assumed++;
		return take_keys(a, root, "SessionToken", err);
	default:
		return take_keys(a, root, "Token", err);
	}
}

/* Take the answer to the request under way, or its failure. */
static int take_answer_of_step(struct aws_account *a,
			       const struct http_response *r, struct err *err)
{
	bool is_xml = a->step == AWS_ASKS_WEB || a->step == AWS_ASKS_ROLE;
	struct yaml y;
	int rc;

	if (a->step == AWS_ASKS_TOKEN)
		return take_session(a, r, err);
	if (a->step == AWS_ASKS_ROLE_NAME)
		return take_role_name(a, r, err);
	rc = rest_answer_parse(r, is_xml, &y, err);
	if (!rc) {
		rc = take_document(a, y.root, err);
		yaml_fini(&y);
	}
	if (rc && a->step == AWS_ASKS_REGION)
		return err_wrap(
			err, rc,
			"no region is configured, and the metadata service of the instance gives none (set \"region\")");
	return rc;
}

static int aws_take(void *data, const struct http_response *r, struct err *err)
{
	struct aws_account *a = data;
	int rc = take_answer_of_step(a, r, err);

	/* The next refresh begins anew. */
	if (rc)
		aws_forget(a);
	return rc;
}

const struct rest_account_kind aws_account_kind = {
	.open = aws_open,
	.next = aws_next,
	.take = aws_take,
	.forget = aws_forget,
	.close = aws_close,
};
