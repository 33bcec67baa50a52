/* SPDX-License-Identifier: Apache-2.0 */
/* Where credentials for AWS come from: the order of sources, and profiles. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "discovery/aws/aws_plan.h"

TestSuite(aws_plan, .timeout = 60);

/* Returns the value of a setting in a text with one file's profiles. */
static const char *setting(struct aws_profile *p, const char *text,
			   const char *prefix, const char *name,
			   const char *key)
{
	*p = (struct aws_profile){ 0 };
	aws_profile_parse(p, str_of(text), prefix, name);
	return aws_profile_get(p, key);
}

Test(aws_plan, files_have_sections_comments_and_settings)
{
	static const struct {
		const char *text, *prefix, *name, *key, *value;
	} cases[] = {
		{ "[a]\nk=v", "", "a", "k", "v" },
		{ "[a]\r\n k2 = x\r\nK = v \r\n", "", "a", "k", "v" },
		{ "[ a ] # c\nk = v ; c\n", "", "a", "k", "v" },
		{ "[a]\nk = v#no;comment\n", "", "a", "k", "v#no;comment" },
		{ "[a]\nk = a=b==\n", "", "a", "k", "a=b==" },
		{ "[a]\n#k = 1\n;k = 2\nk = 3\nk = 4\n", "", "a", "k", "4" },
		{ "[a]\nk = 3\nk =\n", "", "a", "k", "3" },
		{ "[a]\nk =\n", "", "a", "k", NULL },
		{ "[a]\nk = v", "profile ", "a", "k", NULL },
		{ "[profile a]\nk = v", "profile ", "a", "k", "v" },
		{ "[profile\ta]\nk = v", "profile ", "a", "k", NULL },
		{ "[default]\nk = v", "profile ", "default", "k", "v" },
		{ "[profile default]\nk = v", "profile ", "default", "k", "v" },
		{ "[b]\nk = v\n[a]\n[c]\nk = v", "", "a", "k", NULL },
		{ "k = v\n[a", "", "a", "k", NULL },
		{ "[a]\nk\n=\n = v\n", "", "a", "k", NULL },
		{ "", "", "", "", NULL },
	};
	struct aws_profile p;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *value = setting(&p, cases[i].text, cases[i].prefix,
					    cases[i].name, cases[i].key);

		cr_expect((!value && !cases[i].value) ||
				  (value && cases[i].value &&
				   !strcmp(value, cases[i].value)),
			  "case %zu: %s", i, value ? value : "NULL");
		aws_profile_fini(&p);
	}
}

/* The files of a test, in a folder of its own. */
static char folder[] = "/tmp/aws-plan-XXXXXX";

static void write_file(const char *variable, const char *text)
{
	char *path = mem_printf("%s/%s", folder, variable);
	FILE *f = fopen(path, "w");

	cr_assert(f);
	cr_assert(fputs(text, f) >= 0);
	cr_assert(!fclose(f));
	setenv(variable, path, 1);
	mem_free(path);
}

/* Sets variables "A=b", and removes all others. */
static void set_environment(const char *const *variables)
{
	clearenv();
	for (; *variables; variables++) {
		char *copy = mem_strdup(*variables);
		char *sign = strchr(copy, '=');

		*sign = 0;
		setenv(copy, sign + 1, 1);
		mem_free(copy);
	}
}

static const char credentials[] =
	"[default]\naws_access_key_id=D\naws_secret_access_key=d\n"
	"[a]\naws_access_key_id=A\naws_secret_access_key=a\n"
	"aws_session_token=t\n";
static const char config[] =
	"[default]\nregion=r0\n[profile a]\nregion=r1\n"
	"[profile chain]\nsource_profile=a\nrole_arn=R1\nexternal_id=x\n"
	"[profile self]\nsource_profile=self\nrole_arn=R2\n"
	"aws_access_key_id=S\naws_secret_access_key=s\n"
	"[profile env]\ncredential_source=Environment\nrole_arn=R3\n"
	"[profile web]\nweb_identity_token_file=f\nrole_arn=R4\n"
	"[profile machine]\ncredential_source=Ec2InstanceMetadata\n"
	"role_arn=R5\n[profile empty]\n"
	"[profile above]\nsource_profile=web\nrole_arn=R6\n";

/* Describes a plan: source, key, roles, region. */
static void describe(const struct aws_plan *plan, struct buf *out)
{
	static const char *const sources[] = { "keys", "web", "container",
					       "metadata" };

	buf_printf(out, "%s", sources[plan->source]);
	if (plan->keys.id)
		buf_printf(out, " %s/%s/%s", plan->keys.id, plan->keys.secret,
			   plan->keys.token ? plan->keys.token : "");
	if (plan->token_file)
		buf_printf(out, " %s:%s", plan->token_file, plan->web.arn);
	for (size_t i = 0; i < plan->roles.count; i++)
		buf_printf(out, " +%s", plan->roles.v[i].arn);
	buf_printf(out, " in %s", plan->region ? plan->region : "?");
}

Test(aws_plan, sources_have_the_order_of_the_libraries_of_aws)
{
#define ENV_KEYS  "AWS_ACCESS_KEY_ID=E", "AWS_SECRET_ACCESS_KEY=e"
#define ENV_WEB   "AWS_WEB_IDENTITY_TOKEN_FILE=/f", "AWS_ROLE_ARN=W"
#define ENV_AGENT "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1/"
	static const struct {
		const char *const variables[8];
		struct aws_config c;
		const char *plan;
	} cases[] = {
		{ { ENV_KEYS, ENV_WEB, "AWS_REGION=r2", NULL },
		  { .access_key = { "C", 1 },
		    .secret_key = { "c", 1 },
		    .profile = { "a", 1 } },
		  "keys C/c/ in r2" },
		{ { ENV_KEYS, ENV_WEB, NULL },
		  { .profile = { "a", 1 }, .role_arn = { "R", 1 } },
		  "keys A/a/t +R in r1" },
		{ { ENV_KEYS, ENV_WEB, "AWS_PROFILE=a", NULL },
		  { .access_key = { "C", 1 } },
		  "keys E/e/ in r1" },
		{ { ENV_WEB, "AWS_PROFILE=a", NULL }, {}, "web /f:W in r1" },
		{ { "AWS_DEFAULT_PROFILE=a", "AWS_DEFAULT_REGION=r3", NULL },
		  {},
		  "keys A/a/t in r3" },
		{ { ENV_AGENT, NULL },
		  { .region = { "r4", 2 } },
		  "keys D/d/ in r4" },
		{ { ENV_AGENT, NULL },
		  { .profile = { "empty", 5 } },
		  "container in ?" },
		{ { NULL }, { .profile = { "empty", 5 } }, "metadata in ?" },
		{ { NULL },
		  { .profile = { "chain", 5 }, .role_arn = { "R", 1 } },
		  "keys A/a/t +R1 +R in ?" },
		{ { NULL },
		  { .profile = { "self", 4 } },
		  "keys S/s/ +R2 in ?" },
		{ { ENV_KEYS, NULL },
		  { .profile = { "env", 3 } },
		  "keys E/e/ +R3 in ?" },
		{ { NULL }, { .profile = { "web", 3 } }, "web f:R4 in ?" },
		{ { NULL },
		  { .profile = { "above", 5 } },
		  "web f:R4 +R6 in ?" },
		{ { NULL },
		  { .profile = { "machine", 7 } },
		  "metadata +R5 in ?" },
	};
	struct err err;

	cr_assert(mkdtemp(folder));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct aws_plan plan;
		struct buf text = { 0 };

		set_environment(cases[i].variables);
		write_file("AWS_SHARED_CREDENTIALS_FILE", credentials);
		write_file("AWS_CONFIG_FILE", config);
		cr_expect(!aws_plan_make(&plan, &cases[i].c, &err),
			  "case %zu: %s", i, err.msg);
		describe(&plan, &text);
		cr_expect(!strcmp(buf_cstr(&text), cases[i].plan),
			  "case %zu: %s", i, buf_cstr(&text));
		aws_plan_fini(&plan);
		buf_fini(&text);
	}
}

Test(aws_plan, files_that_do_not_exist_are_like_empty_ones)
{
	const struct aws_config c = { 0 };
	struct aws_plan plan;
	struct err err;

	set_environment((const char *const[]){ "HOME=/nonexistent", NULL });
	cr_expect(!aws_plan_make(&plan, &c, &err), "%s", err.msg);
	cr_assert(plan.source == AWS_METADATA);
	cr_expect(!plan.region);
	aws_plan_fini(&plan);
	set_environment((const char *const[]){ "AWS_CONFIG_FILE=/proc", NULL });
	cr_expect(aws_plan_make(&plan, &c, &err) == ERR_INVALID);
	aws_plan_fini(&plan);
}
