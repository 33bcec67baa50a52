/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/aws/aws_plan.h"

#include "base/env.h"
#include "base/mem.h"

/* The name of sessions for which no other name is configured. */
#define SESSION_NAME "everprof"

/*
 * Profiles can refer to each other; at most this many references are followed.
 */
#define PROFILES_MAX 5

void aws_keys_set(struct aws_keys *k, struct str id, struct str secret,
		  struct str token, int64_t renew_ms)
{
	aws_keys_fini(k);
	k->id = mem_strndup(id);
	k->secret = mem_strndup(secret);
	k->token = token.len ? mem_strndup(token) : NULL;
	k->renew_ms = renew_ms;
}

void aws_keys_fini(struct aws_keys *k)
{
	mem_forget(k->id);
	mem_forget(k->secret);
	mem_forget(k->token);
	*k = (struct aws_keys){ 0 };
}

/* Free the texts of a role. */
static void role_fini(struct aws_role *role)
{
	mem_free(role->arn);
	mem_free(role->session);
	mem_free(role->external_id);
}

void aws_plan_fini(struct aws_plan *plan)
{
	aws_keys_fini(&plan->keys);
	mem_free(plan->token_file);
	role_fini(&plan->web);
	for (size_t i = 0; i < plan->roles.count; i++)
		role_fini(&plan->roles.v[i]);
	vec_fini(&plan->roles);
	mem_free(plan->region);
	*plan = (struct aws_plan){ 0 };
}

/* Return an owned copy of a text; NULL for NULL. */
static char *copy_text(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

/*
 * Return a role with copies of the texts; if `session` is NULL, the name of the
 * session is SESSION_NAME.
 */
static struct aws_role role_of(const char *arn, const char *session,
			       const char *external_id)
{
	return (struct aws_role){
		.arn = mem_strdup(arn),
		.session = mem_strdup(session ? session : SESSION_NAME),
		.external_id = copy_text(external_id),
	};
}

/*
 * If the environment has keys, take them and return true. Otherwise return
 * false.
 */
static bool take_env_keys(struct aws_plan *plan)
{
	const char *id = env_find("AWS_ACCESS_KEY_ID");
	const char *secret = env_find("AWS_SECRET_ACCESS_KEY");
	const char *token = env_find("AWS_SESSION_TOKEN");

	if (!id)
		id = env_find("AWS_ACCESS_KEY");
	if (!secret)
		secret = env_find("AWS_SECRET_KEY");
	if (!id || !secret)
		return false;
	plan->source = AWS_KEYS;
	aws_keys_set(&plan->keys, str_of(id), str_of(secret),
		     str_of(token ? token : ""), INT64_MAX);
	return true;
}

/*
 * Choose as the source the agent of the container, if there is one, or else the
 * metadata service of the instance.
 */
static void take_machine(struct aws_plan *plan)
{
	plan->source =
		env_find("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
				env_find("AWS_CONTAINER_CREDENTIALS_FULL_URI") ?
			AWS_CONTAINER :
			AWS_METADATA;
}

/* Take the source that credential_source of a profile names. */
static int take_named(struct aws_plan *plan, const char *source,
		      struct err *err)
{
	struct str s = str_of(source);

	if (str_is(s, "Environment")) {
		if (take_env_keys(plan))
			return 0;
		return err_set(
			err, ERR_INVALID,
			"credential_source is Environment, but AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set");
	}
	if (str_is(s, "Ec2InstanceMetadata"))
		plan->source = AWS_METADATA;
	else if (str_is(s, "EcsContainer"))
		plan->source = AWS_CONTAINER;
	else
		return err_set(err, ERR_INVALID,
			       "credential_source is \"%s\", not Environment, "
			       "Ec2InstanceMetadata or EcsContainer",
			       source);
	return 0;
}

/* Take the token file and the role of a web identity. */
static int take_web(struct aws_plan *plan, const char *file, const char *arn,
		    const char *session, struct err *err)
{
	if (!arn)
		return err_set(
			err, ERR_INVALID,
			"a web identity needs a role: with the environment variable AWS_WEB_IDENTITY_TOKEN_FILE, set AWS_ROLE_ARN; in an AWS profile with web_identity_token_file, set role_arn");
	plan->source = AWS_WEB_IDENTITY;
	plan->token_file = mem_strdup(file);
	plan->web = role_of(arn, session, NULL);
	return 0;
}

/* Take the keys of a profile. */
static int take_profile_keys(struct aws_plan *plan, const struct aws_profile *p,
			     struct err *err)
{
	const char *id = aws_profile_get(p, "aws_access_key_id");
	const char *secret = aws_profile_get(p, "aws_secret_access_key");
	const char *token = aws_profile_get(p, "aws_session_token");

	if (!id || !secret)
		return err_set(
			err, ERR_INVALID,
			"the profile lacks aws_access_key_id or aws_secret_access_key");
	plan->source = AWS_KEYS;
	aws_keys_set(&plan->keys, str_of(id), str_of(secret),
		     str_of(token ? token : ""), INT64_MAX);
	return 0;
}

static int take_profile(struct aws_plan *plan, const char *name, bool must,
			unsigned depth, struct err *err);

/* Take the profile that the profile `p` names as its source_profile. */
static int take_source_profile(struct aws_plan *plan, const char *name,
			       const struct aws_profile *p, unsigned depth,
			       struct err *err)
{
	const char *source = aws_profile_get(p, "source_profile");

	/*
	 * A profile whose source_profile is its own name has the keys itself.
	 */
	if (str_is(str_of(source), name))
		return take_profile_keys(plan, p, err);
	if (depth == PROFILES_MAX)
		return err_set(
			err, ERR_INVALID,
			"source_profile leads from profile to profile more than %d times",
			PROFILES_MAX);
	return take_profile(plan, source, true, depth + 1, err);
}

/*
 * Take the first source of credentials that the profile `p` has. If it has
 * none, take the agent of the container or the metadata service.
 */
static int take_profile_source(struct aws_plan *plan, const char *name,
			       const struct aws_profile *p, unsigned depth,
			       struct err *err)
{
	const char *named = aws_profile_get(p, "credential_source");
	const char *web = aws_profile_get(p, "web_identity_token_file");
	static const char *const others[] = { "sso_session", "sso_start_url",
					      "login_session",
					      "credential_process" };

	if (aws_profile_get(p, "source_profile"))
		return take_source_profile(plan, name, p, depth, err);
	if (aws_profile_get(p, "aws_access_key_id") ||
	    aws_profile_get(p, "aws_secret_access_key"))
		return take_profile_keys(plan, p, err);
	if (named)
		return take_named(plan, named, err);
	if (web)
		return take_web(plan, web, aws_profile_get(p, "role_arn"),
				aws_profile_get(p, "role_session_name"), err);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (aws_profile_get(p, others[i]))
			return err_set(err, ERR_UNSUPPORTED,
				       "%s is not supported: use keys, a role "
				       "or a web identity",
				       others[i]);
	}
	take_machine(plan);
	return 0;
}

/*
 * Add the role of a profile, unless the web identity of the profile already
 * uses that role.
 */
static int add_profile_role(struct aws_plan *plan, const struct aws_profile *p,
			    struct err *err)
{
	const char *arn = aws_profile_get(p, "role_arn");

	if (!arn || (plan->source == AWS_WEB_IDENTITY && !plan->roles.count &&
		     aws_profile_get(p, "web_identity_token_file")))
		return 0;
	if (!aws_profile_get(p, "source_profile") &&
	    !aws_profile_get(p, "credential_source"))
		return err_set(
			err, ERR_INVALID,
			"role_arn needs source_profile, credential_source or, in a profile without keys, web_identity_token_file");
	if (aws_profile_get(p, "mfa_serial"))
		return err_set(err, ERR_UNSUPPORTED,
			       "mfa_serial is not supported, because nobody "
			       "is there to enter a code");
	*vec_add(&plan->roles) =
		role_of(arn, aws_profile_get(p, "role_session_name"),
			aws_profile_get(p, "external_id"));
	return 0;
}

/*
 * Take a profile: its source of credentials and its role. A profile that does
 * not exist is an error if `must` is true; otherwise it is like a profile
 * without settings.
 */
static int take_profile(struct aws_plan *plan, const char *name, bool must,
			unsigned depth, struct err *err)
{
	struct aws_profile p;
	int rc = aws_profile_read(&p, name, err);

	if (!rc && !p.exists && must)
		rc = err_set(
			err, ERR_NOTFOUND,
			"there is no such profile: no section [NAME] in ~/.aws/credentials (or AWS_SHARED_CREDENTIALS_FILE), no [profile NAME] in ~/.aws/config (or AWS_CONFIG_FILE); HOME of everprof's process says where ~ is");
	if (!rc)
		rc = take_profile_source(plan, name, &p, depth, err);
	if (!rc)
		rc = add_profile_role(plan, &p, err);
	if (rc)
		rc = err_wrap(err, rc, "AWS profile %s", name);
	aws_profile_fini(&p);
	return rc;
}

/*
 * Take keys or a web identity from the environment, or else the profile
 * `profile` (NULL: "default", which need not exist).
 */
static int take_environment(struct aws_plan *plan, const char *profile,
			    struct err *err)
{
	const char *web = env_find("AWS_WEB_IDENTITY_TOKEN_FILE");

	if (take_env_keys(plan))
		return 0;
	if (web)
		return take_web(plan, web, env_find("AWS_ROLE_ARN"),
				env_find("AWS_ROLE_SESSION_NAME"), err);
	return take_profile(plan, profile ? profile : "default",
			    profile != NULL, 0, err);
}

/*
 * Take the region from the environment, or else from the profile `profile`
 * (NULL: "default"). If neither has a region, plan->region stays NULL. The
 * profile is read for its region even if its credentials are not needed.
 */
static int find_region(struct aws_plan *plan, const char *profile,
		       struct err *err)
{
	const char *region = env_find("AWS_REGION");
	struct aws_profile p;
	int rc = 0;

	if (!region)
		region = env_find("AWS_DEFAULT_REGION");
	if (region) {
		plan->region = mem_strdup(region);
		return 0;
	}
	rc = aws_profile_read(&p, profile ? profile : "default", err);
	if (!rc)
		plan->region = copy_text(aws_profile_get(&p, "region"));
	aws_profile_fini(&p);
	return rc;
}

int aws_plan_make(struct aws_plan *plan, const struct aws_config *c,
		  struct err *err)
{
	const char *profile = env_find("AWS_PROFILE");
	int rc = 0;

	*plan = (struct aws_plan){ 0 };
	if (!profile)
		profile = env_find("AWS_DEFAULT_PROFILE");
	if (c->region.len)
		plan->region = mem_strndup(c->region);
	else
		rc = find_region(
			plan, c->profile.len ? c->profile.ptr : profile, err);
	if (rc)
		return rc;
	if (c->access_key.len && c->secret_key.len) {
		plan->source = AWS_KEYS;
		aws_keys_set(&plan->keys, c->access_key, c->secret_key,
			     str_of(""), INT64_MAX);
	} else if (c->profile.len) {
		rc = take_profile(plan, c->profile.ptr, true, 0, err);
	} else {
		rc = take_environment(plan, profile, err);
	}
	if (!rc && c->role_arn.len)
		*vec_add(&plan->roles) =
			role_of(c->role_arn.ptr, NULL,
				c->external_id.len ? c->external_id.ptr : NULL);
	return rc;
}
