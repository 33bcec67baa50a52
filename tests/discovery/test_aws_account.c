/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an account of AWS gets its keys: which requests it sends, in which order,
 * and what it makes of the answers.
 */
#include "discovery/aws/aws_account.h"

#include "tests/discovery/fake_account.h"
#include "tests/tempdir.h"

TestSuite(aws_account, .timeout = 60);

#define KEYS(id, token)                                             \
	"{\"AccessKeyId\": \"" id "\", \"SecretAccessKey\": \"s\"," \
	" \"" token "\": \"session\", \"Expiration\": "             \
	"\"2099-01-01T00:00:00Z\"}"

/* Open an account, with nothing in the environment. */
static void open_account(struct fake_account *a, const struct aws_config *c)
{
	clearenv();
	setenv("HOME", "/nonexistent", 1);
	fake_account_open(a, &aws_account_kind, c);
}

Test(aws_account, the_domain_follows_from_the_region)
{
	cr_expect(!strcmp(aws_domain(str_of("eu-west-1")), "amazonaws.com"));
	cr_expect(
		!strcmp(aws_domain(str_of("cn-north-1")), "amazonaws.com.cn"));
	cr_expect(!strcmp(aws_domain(str_of("us-iso-east-1")), "c2s.ic.gov"));
	cr_expect(
		!strcmp(aws_domain(str_of("us-isob-east-1")), "sc2s.sgov.gov"));
}

Test(aws_account, an_endpoint_comes_from_the_environment)
{
	clearenv();
	cr_expect(!aws_env_endpoint("AWS_ENDPOINT_URL_EC2"));
	setenv("AWS_ENDPOINT_URL", "http://all", 1);
	cr_expect(!strcmp(aws_env_endpoint("AWS_ENDPOINT_URL_EC2"),
			  "http://all"));
	setenv("AWS_ENDPOINT_URL_EC2", "http://ec2", 1);
	cr_expect(!strcmp(aws_env_endpoint("AWS_ENDPOINT_URL_EC2"),
			  "http://ec2"));
	setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "TRUE", 1);
	cr_expect(!aws_env_endpoint("AWS_ENDPOINT_URL_EC2"));
}

Test(aws_account, configured_keys_need_no_request)
{
	const struct aws_config c = { .region = str_of("eu-west-1"),
				      .access_key = str_of("K"),
				      .secret_key = str_of("S") };
	struct rest_request q = { 0 };
	struct fake_account a;

	open_account(&a, &c);
	cr_expect(fake_account_asks(&a, "ready"));
	cr_expect(!strcmp(aws_account_region(a.data), "eu-west-1"));
	aws_account_sign(a.data, "ec2", &q);
	cr_expect(!strcmp(q.aws_scope, "eu-west-1:ec2"));
	cr_assert(!strcmp(q.key_id, "K"));
	cr_expect(!strcmp(q.secret_key, "S"));
	cr_expect(q.headers.count == 0, "there is no session");
	rest_request_fini(&q);
	fake_account_close(&a);
}

Test(aws_account, an_instance_tells_its_region_and_the_keys_of_its_role)
{
	const struct aws_config c = { 0 };
	struct rest_request q = { 0 };
	struct fake_account a;

	open_account(&a, &c);
	cr_expect(fake_account_asks(
		&a, "PUT http://169.254.169.254/latest/api/token\n"
		    "x-aws-ec2-metadata-token-ttl-seconds: 300\n"));
	cr_expect(a.q.is_local, "no proxy is used");
	cr_expect(fake_account_takes(&a, "T\n"));
	cr_expect(fake_account_asks(&a,
				    "GET http://169.254.169.254/latest/dynamic/"
				    "instance-identity/document\n"
				    "x-aws-ec2-metadata-token: T\n"));
	cr_expect(fake_account_takes(&a, "{\"region\": \"us-east-1\"}"));
	cr_expect(fake_account_asks(
		&a, "GET http://169.254.169.254/latest/meta-data/iam/"
		    "security-credentials/\nx-aws-ec2-metadata-token: T\n"));
	cr_expect(fake_account_takes(&a, "my role\nanother\n"));
	cr_expect(fake_account_asks(
		&a, "GET http://169.254.169.254/latest/meta-data/iam/"
		    "security-credentials/my%20role\n"
		    "x-aws-ec2-metadata-token: T\n"));
	cr_expect(fake_account_takes(&a, KEYS("I", "Token")));
	cr_expect(fake_account_asks(&a, "ready"));
	aws_account_sign(a.data, "ec2", &q);
	cr_assert(q.headers.count == 1);
	cr_expect(!strcmp(q.headers.v[0], "x-amz-security-token: session"));
	rest_request_fini(&q);
	/* Keys that were refused are looked up anew, with the region. */
	a.kind->forget(a.data);
	cr_expect(fake_account_asks(&a, "PUT http://169.254.169.254/…"));
	fake_account_close(&a);
}

Test(aws_account, an_old_metadata_service_has_no_sessions)
{
	const struct aws_config c = { .region = str_of("eu-west-1") };
	struct fake_account a;

	open_account(&a, &c);
	cr_expect(fake_account_asks(&a, "PUT http://169.254.169.254/…"));
	cr_expect(!*fake_account_give(&a, 404, "", ""));
	cr_expect(fake_account_asks(
		&a, "GET http://169.254.169.254/latest/meta-data/iam/"
		    "security-credentials/\n"));
	/* An instance without a role. */
	cr_expect(strstr(fake_account_give(&a, 404, "", ""),
			 "of the instance gives none"),
		  "%s", a.err.msg);
	/* If sessions are demanded, their absence is an error. */
	setenv("AWS_EC2_METADATA_V1_DISABLED", "true", 1);
	cr_expect(fake_account_asks(&a, "PUT http://169.254.169.254/…"));
	cr_expect(*fake_account_give(&a, 404, "", ""));
	fake_account_close(&a);
}

Test(aws_account, the_metadata_service_can_be_elsewhere_or_forbidden)
{
	const struct aws_config c = { .region = str_of("eu-west-1") };
	struct fake_account a;

	open_account(&a, &c);
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6", 1);
	cr_expect(fake_account_asks(&a, "PUT http://[fd00:ec2::254]/…"));
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://here/", 1);
	cr_expect(fake_account_asks(&a, "PUT http://here/latest/api/token…"));
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	cr_expect(strstr(fake_account_ask(&a), "AWS_EC2_METADATA_DISABLED"));
	fake_account_close(&a);
}

Test(aws_account, a_container_asks_its_agent_and_no_other_host)
{
	const struct aws_config c = { .region = str_of("eu-west-1") };
	struct fake_account a;

	open_account(&a, &c);
	setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x", 1);
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "tok", 1);
	cr_expect(fake_account_asks(&a, "GET http://169.254.170.2/v2/x\n"
					"Accept: application/json\n"
					"Authorization: tok\n"));
	cr_expect(fake_account_takes(&a, KEYS("C", "Token")));
	cr_expect(fake_account_asks(&a, "ready"));
	fake_account_close(&a);
	open_account(&a, &c);
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://evil/x", 1);
	cr_expect(strstr(fake_account_ask(&a), "must be an https URL"));
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost/x", 1);
	cr_expect(fake_account_asks(&a, "GET http://localhost/x\n…"));
	fake_account_close(&a);
}

Test(aws_account, a_role_is_assumed_with_the_keys)
{
	const struct aws_config c = { .region = str_of("eu-west-1"),
				      .access_key = str_of("K"),
				      .secret_key = str_of("S"),
				      .role_arn = str_of("arn:r"),
				      .external_id = str_of("e") };
	struct fake_account a;
	const char *ask;

	open_account(&a, &c);
	ask = fake_account_ask(&a);
	cr_expect(strstr(ask, "POST https://sts.eu-west-1.amazonaws.com/\n"),
		  "%s", ask);
	cr_expect(strstr(ask, "signed by K for eu-west-1:sts\n"), "%s", ask);
	cr_expect(strstr(ask, "Action=AssumeRole&Version=2011-06-15&"
			      "RoleArn=arn%3Ar"),
		  "%s", ask);
	cr_expect(strstr(ask, "&ExternalId=e"), "%s", ask);
	/* The code of an error is shown, and nothing else of it. */
	cr_expect(check_str(
		str_of(fake_account_give(
			&a, 403, "",
			"<ErrorResponse><Error><Code>AccessDenied</Code>"
			"<Message>secret</Message></Error></ErrorResponse>")),
		"server returned HTTP status 403: AccessDenied"));
	cr_expect(fake_account_asks(&a, "POST https://sts…"));
	cr_expect(fake_account_takes(
		&a, "<R><AssumeRoleResult><Credentials>"
		    "<AccessKeyId>R</AccessKeyId>"
		    "<SecretAccessKey>s</SecretAccessKey>"
		    "<SessionToken>t</SessionToken>"
		    "<Expiration>2099-01-01T00:00:00Z</Expiration>"
		    "</Credentials></AssumeRoleResult></R>"));
	cr_expect(fake_account_asks(&a, "ready"));
	fake_account_close(&a);
}

Test(aws_account, a_web_identity_is_a_token_in_a_file)
{
	const struct aws_config c = { .region = str_of("cn-north-1") };
	struct tempdir d = tempdir_make();
	struct fake_account a;
	char path[300];
	const char *ask;
	FILE *f;

	snprintf(path, sizeof(path), "%s/token", d.path);
	f = fopen(path, "w");
	cr_assert(f);
	fputs("tok\n", f);
	fclose(f);
	open_account(&a, &c);
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path, 1);
	setenv("AWS_ROLE_ARN", "arn:w", 1);
	ask = fake_account_ask(&a);
	cr_expect(strstr(ask, "POST https://sts.cn-north-1.amazonaws.com.cn/"),
		  "%s", ask);
	cr_assert(strstr(ask, "WebIdentityToken=tok"), "%s", ask);
	cr_expect(!strstr(ask, "signed by"), "%s", ask);
	fake_account_close(&a);
	tempdir_fini(&d);
}

Test(aws_account, answers_without_usable_keys_are_refused)
{
	static const struct {
		const char *body;
		const char *why;
	} cases[] = {
		{ "{}", "no access key" },
		{ "{\"AccessKeyId\": \"a\"}", "no access key" },
		{ "{\"AccessKeyId\": \"a\\nb\", \"SecretAccessKey\": \"s\"}",
		  "no access key" },
		{ "{\"AccessKeyId\": \"a\", \"SecretAccessKey\": \"s\", "
		  "\"Expiration\": \"soon\"}",
		  "RFC 3339" },
		{ "{\"AccessKeyId\": \"a\", \"SecretAccessKey\": \"s\", "
		  "\"Expiration\": \"2001-01-01T00:00:00Z\"}",
		  "expired already" },
		{ "{\"Code\": \"AssumeRoleUnauthorizedAccess\"}",
		  "no access key: AssumeRoleUnauthorizedAccess" },
		{ "[", "" },
	};
	const struct aws_config c = { .region = str_of("eu-west-1") };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fake_account a;
		const char *why;

		open_account(&a, &c);
		setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x", 1);
		cr_expect(
			fake_account_asks(&a, "GET http://169.254.170.2/x\n…"));
		why = fake_account_give(&a, 200, "", cases[i].body);
		cr_assert(*why, "%s: %s", cases[i].body, why);
		cr_expect(strstr(why, cases[i].why), "%s: %s", cases[i].body,
			  why);
		fake_account_close(&a);
	}
}

Test(aws_account, a_region_is_a_part_of_a_host_and_nothing_else)
{
	const struct aws_config c = { .region = str_of("evil.com/"),
				      .access_key = str_of("K"),
				      .secret_key = str_of("S") };
	struct fake_account a;

	open_account(&a, &c);
	cr_expect(strstr(fake_account_ask(&a),
			 "is not the name of an AWS region"));
	fake_account_close(&a);
}
