/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of browsers: who gets one, what ends it, and how many there are.
 */
#include "base/mem.h"
#include "tests/web/guarded.h"
#include "web/auth/auth.h"
#include "web/auth/auth_password.h"

TestSuite(session, .timeout = 60);

#define TOKEN "0123456789abcdef"
#define WEB_YML                              \
	"basic_auth_users:\n"                \
	"  ann: " HASH_SECRET "\n"           \
	"  bob: " HASH_HUNTER "\n"           \
	"basic_auth_scopes: {bob: [read]}\n" \
	"bearer_tokens:\n- {name: ann, token: " TOKEN "}\n"

/* Sign in with credentials, and write the text of the session. */
static void sign_in(struct guarded *s, const struct credentials *c,
		    char text[AUTH_SESSION_LEN + 1])
{
	struct identity who;
	struct err err = { 0 };
	enum auth_verdict v = auth_check(s->auth, c, &who);

	if (v == AUTH_SLOW)
		v = auth_verify(s->auth, c, &who);
	cr_assert(v == AUTH_GRANTED);
	cr_assert(!auth_begin_session(s->auth, &who, text, &err), "%s",
		  err.msg);
	cr_expect(strlen(text) == AUTH_SESSION_LEN);
	cr_expect(strspn(text, "0123456789abcdef") == AUTH_SESSION_LEN);
}

static enum auth_verdict check_text(struct guarded *s, const char *text,
				    struct identity *who)
{
	const struct credentials c = { .session = text };

	return auth_check(s->auth, &c, who);
}

static const struct credentials bob = { .user = "bob", .password = "hunter2" };
static const struct credentials ann = { .user = "ann", .password = "secret" };
static const struct credentials token = { .token = TOKEN };

Test(session, a_session_has_the_name_and_the_scopes_of_its_user)
{
	char texts[3][AUTH_SESSION_LEN + 1];
	struct guarded s;
	struct identity who;

	guarded_begin(&s, WEB_YML);
	sign_in(&s, &ann, texts[0]);
	sign_in(&s, &bob, texts[1]);
	sign_in(&s, &token, texts[2]);
	cr_expect(check_text(&s, texts[0], &who) == AUTH_GRANTED);
	cr_assert(!strcmp(who.name, "ann"));
	cr_expect(who.scopes == SCOPE_ALL);
	cr_assert(who.in_session);
	cr_expect(!who.is_token);
	cr_expect(check_text(&s, texts[1], &who) == AUTH_GRANTED);
	cr_assert(!strcmp(who.name, "bob"));
	cr_expect(who.scopes == SCOPE_READ);
	/* A token may have the name of a user. */
	cr_expect(check_text(&s, texts[2], &who) == AUTH_GRANTED);
	cr_assert(who.scopes == SCOPE_READ);
	cr_expect(who.is_token);
	guarded_end(&s);
}

Test(session, other_texts_are_refused)
{
	static const char *const wrong[] = { "", "x", TOKEN, HASH_SECRET };
	char text[AUTH_SESSION_LEN + 1];
	char other[AUTH_SESSION_LEN + 1];
	struct guarded s;
	struct identity who;

	guarded_begin(&s, WEB_YML);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		cr_expect(check_text(&s, wrong[i], &who) == AUTH_REFUSED);
	sign_in(&s, &bob, text);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		cr_expect(check_text(&s, wrong[i], &who) == AUTH_REFUSED);
	memcpy(other, text, sizeof(other));
	other[AUTH_SESSION_LEN - 1] ^= 1;
	cr_expect(check_text(&s, other, &who) == AUTH_REFUSED);
	cr_assert(!who.scopes);
	cr_expect(!*who.name);
	cr_expect(check_text(&s, text, &who) == AUTH_GRANTED);
	guarded_end(&s);
}

Test(session, guarded_out_ends_one_session)
{
	char texts[2][AUTH_SESSION_LEN + 1];
	struct guarded s;
	struct identity who;

	guarded_begin(&s, WEB_YML);
	sign_in(&s, &bob, texts[0]);
	sign_in(&s, &bob, texts[1]);
	cr_expect(strcmp(texts[0], texts[1]) != 0);
	auth_end_session(s.auth, texts[0]);
	auth_end_session(s.auth, texts[0]);
	auth_end_session(s.auth, "");
	cr_expect(check_text(&s, texts[0], &who) == AUTH_REFUSED);
	cr_expect(check_text(&s, texts[1], &who) == AUTH_GRANTED);
	guarded_end(&s);
}

Test(session, a_changed_password_ends_the_sessions_of_its_user)
{
	char texts[2][AUTH_SESSION_LEN + 1];
	struct guarded s;
	struct identity who;

	guarded_begin(&s, WEB_YML);
	sign_in(&s, &ann, texts[0]);
	sign_in(&s, &bob, texts[1]);
	guarded_put(&s, "basic_auth_users:\n  ann: " HASH_HUNTER
			"\n  bob: " HASH_HUNTER
			"\nbasic_auth_scopes: {bob: [read, write]}\n");
	auth_refresh(s.auth);
	cr_expect(check_text(&s, texts[0], &who) == AUTH_REFUSED);
	/* The scopes are those of the new file. */
	cr_expect(check_text(&s, texts[1], &who) == AUTH_GRANTED);
	cr_expect(who.scopes == (SCOPE_READ | SCOPE_WRITE));
	guarded_put(&s, "basic_auth_users:\n  ann: " HASH_HUNTER "\n");
	auth_refresh(s.auth);
	cr_expect(check_text(&s, texts[1], &who) == AUTH_REFUSED,
		  "no such user");
	guarded_end(&s);
}

Test(session, a_session_begins_with_credentials_alone)
{
	char text[AUTH_SESSION_LEN + 1];
	struct auth *open = NULL;
	struct identity who;
	struct guarded s;
	struct err err;

	guarded_begin(&s, WEB_YML);
	sign_in(&s, &bob, text);
	cr_expect(check_text(&s, text, &who) == AUTH_GRANTED);
	cr_expect(auth_begin_session(s.auth, &who, text, &err) == ERR_INVALID,
		  "a session does not prolong itself");
	guarded_end(&s);
	cr_assert(!auth_new(NULL, NULL, &open, NULL));
	cr_expect(auth_check(open, &token, &who) == AUTH_GRANTED);
	cr_expect(auth_begin_session(open, &who, text, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "a session needs a user") != NULL, "%s",
		  err.msg);
	auth_free(open);
}

/* Add a session of a user or token, with this text, at a time. */
static struct session *add_of(struct sessions *s, const char *name,
			      bool is_token, const char *text, int64_t now_s)
{
	struct session *x = sessions_add(s, name, is_token, now_s);

	digest_sha256(bytes_of(str_of(text)), x->digest);
	return x;
}

/* Add a session of a user of its own. */
static struct session *add_at(struct sessions *s, const char *text,
			      int64_t now_s)
{
	return add_of(s, text, false, text, now_s);
}

Test(session, idle_and_old_sessions_end)
{
	struct sessions s = { 0 };
	int64_t t = 1000;

	(void)add_at(&s, "idle", t);
	(void)add_at(&s, "used", t);
	for (int day = 1; day <= 30; day++) {
		cr_expect(sessions_find(&s, "used", t + day * 86400) != NULL,
			  "day %d", day);
		cr_expect(!sessions_find(&s, "none", t));
	}
	cr_expect(!sessions_find(&s, "idle", t + 7 * 86400 + 1));
	cr_expect(!sessions_find(&s, "used", t + 30 * 86400 + 1), "too old");
	/* A new one takes the places of those that ended. */
	(void)add_at(&s, "new", t + 31 * 86400);
	cr_expect(s.count == 1);
	sessions_fini(&s);
}

Test(session, there_are_not_more_than_the_limit)
{
	struct sessions s = { 0 };
	char text[16];

	for (int i = 0; i < SESSIONS_MAX; i++) {
		snprintf(text, sizeof(text), "s%d", i);
		(void)add_at(&s, text, 1000 + i);
	}
	/* The first one was used last: the second one makes room. */
	cr_expect(sessions_find(&s, "s0", 5000) != NULL);
	(void)add_at(&s, "further", 5001);
	cr_expect(s.count == SESSIONS_MAX);
	cr_expect(sessions_find(&s, "s0", 5002) != NULL);
	cr_expect(!sessions_find(&s, "s1", 5002));
	cr_expect(sessions_find(&s, "further", 5002) != NULL);
	sessions_fini(&s);
}

Test(session, who_signs_in_often_ends_only_own_sessions)
{
	struct sessions s = { 0 };
	char text[16];

	(void)add_of(&s, "ann", false, "ann's", 1000);
	/* A token may have the name of a user. */
	(void)add_of(&s, "bob", false, "bob's", 1000);
	for (int i = 0; i < 2 * SESSIONS_MAX; i++) {
		snprintf(text, sizeof(text), "t%d", i);
		(void)add_of(&s, "bob", true, text, 1001 + i);
	}
	cr_expect(s.count == 2 + SESSIONS_MAX_EACH, "%zu", s.count);
	cr_expect(sessions_find(&s, "ann's", 5000) != NULL);
	cr_expect(sessions_find(&s, "bob's", 5000) != NULL);
	cr_expect(sessions_find(&s, text, 5000) != NULL, "the newest");
	snprintf(text, sizeof(text), "t%d",
		 2 * SESSIONS_MAX - SESSIONS_MAX_EACH - 1);
	cr_expect(!sessions_find(&s, text, 5000), "the last that ended");
	sessions_fini(&s);
}
