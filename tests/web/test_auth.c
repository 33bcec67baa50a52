/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authentication: who is let in and with which scopes, what is hashed, what is
 * remembered, and what happens when the file changes.
 */
#include <pthread.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/web/guarded.h"
#include "web/auth/auth_password.h"

TestSuite(auth, .timeout = 60);

/* The bcrypt hashes of more passwords, at the lowest cost. */
#define HASH_EMPTY SALT "byCG3zY1GIXMyxfivm.ClDiInHzxjiq"
#define HASH_UTF8  SALT "F7KK/SfP9IRGj0pPJMr8GdtCS8xpmpC"
#define HASH_72    SALT "BzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"

#define TOKEN_READER "0123456789abcdef"
#define TOKEN_WRITER "0123456789abcdefg"

/*
 * The user ann may do everything, and bob may only read. There are two tokens.
 */
#define WEB_YML                                       \
	"basic_auth_users:\n"                         \
	"  ann: " HASH_SECRET "\n"                    \
	"  bob: " HASH_HUNTER "\n"                    \
	"basic_auth_scopes:\n"                        \
	"  bob: [read]\n"                             \
	"bearer_tokens:\n"                            \
	"- {name: reader, token: " TOKEN_READER "}\n" \
	"- {name: writer, token: " TOKEN_WRITER ", scopes: [write, admin]}\n"

static enum auth_verdict check(struct auth *a, const char *user,
			       const char *password, struct identity *who)
{
	const struct credentials c = { .user = user, .password = password };

	return auth_check(a, &c, who);
}

static enum auth_verdict verify(struct auth *a, const char *user,
				const char *password, struct identity *who)
{
	const struct credentials c = { .user = user, .password = password };

	return auth_verify(a, &c, who);
}

static bool is_nobody(const struct identity *who)
{
	return !*who->name && !who->scopes;
}

Test(auth, without_a_file_everybody_may_do_everything)
{
	static const struct credentials cases[] = {
		{ NULL, NULL, NULL, NULL },
		{ "a", "b", NULL, NULL },
		{ NULL, NULL, "c", NULL },
	};
	struct auth *a;

	cr_assert(!auth_new(NULL, NULL, &a, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct identity who = { .name = "x" };

		cr_expect(auth_check(a, &cases[i], &who) == AUTH_GRANTED);
		cr_assert(who.scopes == SCOPE_ALL);
		cr_expect(!*who.name);
	}
	auth_refresh(a);
	cr_assert(auth_is_open(a));
	cr_assert(auth_is_current(a));
	cr_expect(!auth_has_tls(a));
	cr_expect(!auth_client_ca(a));
	cr_expect(strstr(auth_exposure(a), "everyone") != NULL);
	auth_free(a);
	auth_free(NULL);
}

Test(auth, credentials_are_told_apart_without_hashing)
{
	static const struct {
		const char *what;
		struct credentials c;
		enum auth_verdict verdict;
		const char *name;
		unsigned scopes;
	} cases[] = {
		{ "nothing", { NULL, NULL, NULL, NULL }, AUTH_REFUSED, "", 0 },
		{ "no password",
		  { "ann", NULL, NULL, NULL },
		  AUTH_REFUSED,
		  "",
		  0 },
		{ "no user",
		  { NULL, "secret", NULL, NULL },
		  AUTH_REFUSED,
		  "",
		  0 },
		{ "a user", { "ann", "secret", NULL, NULL }, AUTH_SLOW, "", 0 },
		{ "a wrong one", { "ann", "x", NULL, NULL }, AUTH_SLOW, "", 0 },
		{ "a stranger",
		  { "eve", "secret", NULL, NULL },
		  AUTH_SLOW,
		  "",
		  0 },
		{ "no name", { "", "", NULL, NULL }, AUTH_SLOW, "", 0 },
		{ "a token",
		  { NULL, NULL, TOKEN_READER, NULL },
		  AUTH_GRANTED,
		  "reader",
		  SCOPE_READ },
		{ "the other token",
		  { NULL, NULL, TOKEN_WRITER, NULL },
		  AUTH_GRANTED,
		  "writer",
		  SCOPE_WRITE | SCOPE_ADMIN },
		{ "a longer token",
		  { NULL, NULL, TOKEN_WRITER "h", NULL },
		  AUTH_REFUSED,
		  "",
		  0 },
		{ "a shorter token",
		  { NULL, NULL, "0123456789abcde", NULL },
		  AUTH_REFUSED,
		  "",
		  0 },
		{ "its name",
		  { NULL, NULL, "reader", NULL },
		  AUTH_REFUSED,
		  "",
		  0 },
		{ "capitals",
		  { NULL, NULL, "0123456789ABCDEF", NULL },
		  AUTH_REFUSED,
		  "",
		  0 },
		{ "a blank",
		  { NULL, NULL, " " TOKEN_READER, NULL },
		  AUTH_REFUSED,
		  "",
		  0 },
		{ "no token", { NULL, NULL, "", NULL }, AUTH_REFUSED, "", 0 },
		/* If there are a token and a user, the token counts. */
		{ "a wrong token and a user",
		  { "ann", "secret", "x", NULL },
		  AUTH_REFUSED,
		  "",
		  0 },
	};
	struct guarded g;

	guarded_begin(&g, WEB_YML);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct identity who;

		cr_expect(auth_check(g.auth, &cases[i].c, &who) ==
				  cases[i].verdict,
			  "%s", cases[i].what);
		cr_expect(check_str(str_of(who.name), cases[i].name), "%s",
			  cases[i].what);
		cr_expect(who.scopes == cases[i].scopes, "%s", cases[i].what);
	}
	guarded_end(&g);
}

Test(auth, a_password_is_hashed_once_and_then_known)
{
	struct guarded g;
	struct identity who;

	guarded_begin(&g, WEB_YML);
	cr_expect(verify(g.auth, "bob", "hunter2", &who) == AUTH_GRANTED);
	cr_expect(check_str(str_of(who.name), "bob"));
	cr_expect(who.scopes == SCOPE_READ);
	cr_expect(check(g.auth, "bob", "hunter2", &who) == AUTH_GRANTED);
	cr_expect(check_str(str_of(who.name), "bob"));
	cr_expect(who.scopes == SCOPE_READ);
	/* Other passwords and users are not known by that. */
	cr_expect(check(g.auth, "bob", "hunter", &who) == AUTH_SLOW);
	cr_expect(check(g.auth, "bob", "hunter22", &who) == AUTH_SLOW);
	cr_expect(check(g.auth, "bob", "", &who) == AUTH_SLOW);
	cr_expect(check(g.auth, "ann", "hunter2", &who) == AUTH_SLOW);
	cr_expect(check(g.auth, "Bob", "hunter2", &who) == AUTH_SLOW);
	cr_expect(is_nobody(&who));
	guarded_end(&g);
}

Test(auth, wrong_passwords_and_strangers_are_refused_and_not_remembered)
{
	static const char *const cases[][2] = {
		{ "ann", "hunter2" },
		{ "ann", "Secret" },
		{ "ann", "secret " },
		{ "ann", "" },
		{ "ann", HASH_SECRET },
		{ "bob", "secret" },
		/*
		 * The password of an unknown user is compared with the hash of
		 * another user. It is refused even if it is the password of
		 * that user.
		 */
		{ "eve", "secret" },
		{ "eve", "hunter2" },
		{ "ANN", "secret" },
		{ "", "secret" },
	};
	struct guarded g;
	struct identity who;

	guarded_begin(&g, WEB_YML);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (int k = 0; k < 2; k++) {
			cr_expect(verify(g.auth, cases[i][0], cases[i][1],
					 &who) == AUTH_REFUSED,
				  "%s, %s", cases[i][0], cases[i][1]);
			cr_expect(is_nobody(&who));
			cr_expect(check(g.auth, cases[i][0], cases[i][1],
					&who) == AUTH_SLOW,
				  "%s, %s", cases[i][0], cases[i][1]);
		}
	}
	guarded_end(&g);
}

Test(auth, without_users_a_password_is_refused_at_once)
{
	struct guarded g;
	struct identity who;

	guarded_begin(&g,
		      "bearer_tokens:\n- {name: a, token: " TOKEN_READER "}\n");
	cr_expect(check(g.auth, "ann", "secret", &who) == AUTH_REFUSED);
	cr_expect(verify(g.auth, "ann", "secret", &who) == AUTH_REFUSED);
	cr_expect(!auth_stand_in(g.auth, "ann"));
	guarded_end(&g);
}

Test(auth, a_name_that_is_too_long_is_cut)
{
	struct buf text = { 0 };
	struct guarded g;
	struct identity who;

	buf_str(&text, "bearer_tokens:\n- {token: " TOKEN_READER ", name: ");
	for (int i = 0; i < 200; i++)
		buf_byte(&text, 'n');
	buf_str(&text, "}\n");
	guarded_begin(&g, buf_cstr(&text));
	cr_expect(auth_check(g.auth,
			     &(struct credentials){ .token = TOKEN_READER },
			     &who) == AUTH_GRANTED);
	cr_expect(strlen(who.name) == AUTH_NAME_MAX - 1);
	guarded_end(&g);
	buf_fini(&text);
}

Test(auth, the_oldest_known_password_is_forgotten_first)
{
	struct buf text = { 0 };
	struct guarded g;
	struct identity who;
	char name[20];

	buf_str(&text, "basic_auth_users:\n");
	for (int i = 0; i <= KNOWN_MAX; i++)
		buf_printf(&text, "  u%d: " HASH_SECRET "\n", i);
	guarded_begin(&g, buf_cstr(&text));
	for (int i = 0; i < KNOWN_MAX; i++) {
		snprintf(name, sizeof(name), "u%d", i);
		cr_expect(verify(g.auth, name, "secret", &who) == AUTH_GRANTED);
	}
	cr_expect(check(g.auth, "u0", "secret", &who) == AUTH_GRANTED);
	snprintf(name, sizeof(name), "u%d", KNOWN_MAX);
	cr_expect(verify(g.auth, name, "secret", &who) == AUTH_GRANTED);
	cr_expect(check(g.auth, name, "secret", &who) == AUTH_GRANTED);
	cr_expect(check(g.auth, "u0", "secret", &who) == AUTH_SLOW);
	cr_expect(check(g.auth, "u1", "secret", &who) == AUTH_GRANTED);
	guarded_end(&g);
	buf_fini(&text);
}

/* Files that change. */

Test(auth, a_changed_file_counts_and_known_passwords_are_forgotten)
{
	struct guarded g;
	struct identity who;

	guarded_begin(&g, WEB_YML);
	cr_expect(verify(g.auth, "ann", "secret", &who) == AUTH_GRANTED);
	auth_refresh(g.auth);
	cr_expect(check(g.auth, "ann", "secret", &who) == AUTH_GRANTED,
		  "nothing has changed");
	guarded_put(&g, "basic_auth_users:\n  ann: " HASH_HUNTER
			"\n  bob: " HASH_HUNTER
			"\nbasic_auth_scopes: {bob: [read]}\n");
	cr_expect(check(g.auth, "ann", "secret", &who) == AUTH_GRANTED,
		  "not yet");
	auth_refresh(g.auth);
	cr_expect(auth_is_current(g.auth));
	cr_expect(check(g.auth, "ann", "secret", &who) == AUTH_SLOW);
	cr_expect(verify(g.auth, "ann", "secret", &who) == AUTH_REFUSED);
	cr_expect(verify(g.auth, "ann", "hunter2", &who) == AUTH_GRANTED);
	cr_expect(auth_check(g.auth,
			     &(struct credentials){ .token = TOKEN_READER },
			     &who) == AUTH_REFUSED,
		  "the tokens are gone");
	guarded_end(&g);
}

Test(auth, a_file_with_mistakes_changes_nothing)
{
	static const char *const wrong[] = {
		"basic_auth_users: [",
		"basic_auth_users: {ann: secret}",
		/* An editor may leave the file like this for a moment. */
		"",
		"basic_auth_users:",
	};
	struct guarded g;
	struct identity who;

	guarded_begin(&g, WEB_YML);
	cr_expect(verify(g.auth, "ann", "secret", &who) == AUTH_GRANTED);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		guarded_put(&g, wrong[i]);
		auth_refresh(g.auth);
		cr_expect(!auth_is_current(g.auth), "%s", wrong[i]);
		cr_expect(check(g.auth, "ann", "secret", &who) == AUTH_GRANTED,
			  "%s", wrong[i]);
		cr_expect(!auth_is_open(g.auth));
	}
	cr_assert(!unlink(g.path));
	auth_refresh(g.auth);
	cr_expect(!auth_is_current(g.auth));
	guarded_put(&g, WEB_YML);
	auth_refresh(g.auth);
	cr_expect(auth_is_current(g.auth));
	cr_expect(check(g.auth, "ann", "secret", &who) == AUTH_SLOW);
	guarded_end(&g);
}

/*
 * A file that is not yet written to its end may lack the lines that limit the
 * scopes of a user. Such a file is not used.
 */
Test(auth, a_limit_of_scopes_is_not_lifted_by_a_reload)
{
	static const char ann[] = "basic_auth_users: {ann: " HASH_SECRET "}\n";
	static const char both[] = "basic_auth_users: {ann: " HASH_SECRET
				   ", bob: " HASH_HUNTER "}\n";
	struct guarded g;
	struct identity who;

	guarded_begin(&g, WEB_YML);
	guarded_put(&g, both);
	auth_refresh(g.auth);
	cr_expect(!auth_is_current(g.auth));
	cr_expect(verify(g.auth, "bob", "hunter2", &who) == AUTH_GRANTED);
	cr_expect(who.scopes == SCOPE_READ);
	/*
	 * The limit is not lifted in two steps either: first bob is removed,
	 * then he is added without a limit.
	 */
	guarded_put(&g, ann);
	auth_refresh(g.auth);
	cr_expect(auth_is_current(g.auth));
	cr_expect(verify(g.auth, "bob", "hunter2", &who) == AUTH_REFUSED);
	guarded_put(&g, both);
	auth_refresh(g.auth);
	cr_expect(!auth_is_current(g.auth));
	cr_expect(verify(g.auth, "bob", "hunter2", &who) == AUTH_REFUSED);
	/*
	 * A file that gives bob other scopes still limits him, so it is used.
	 */
	guarded_put(&g, "basic_auth_users: {bob: " HASH_HUNTER "}\n"
			"basic_auth_scopes: {bob: [write, admin]}\n");
	auth_refresh(g.auth);
	cr_expect(auth_is_current(g.auth));
	cr_expect(verify(g.auth, "bob", "hunter2", &who) == AUTH_GRANTED);
	cr_expect(who.scopes == (SCOPE_WRITE | SCOPE_ADMIN));
	guarded_end(&g);
}

/* A request that hashes in a thread of its own. */
struct slow_request {
	struct guarded *g;
	const char *user;
	const char *password;
	pthread_t thread;
	enum auth_verdict verdict;
	struct identity who;
};

static void *run_request(void *arg)
{
	struct slow_request *r = arg;

	r->verdict = verify(r->g->auth, r->user, r->password, &r->who);
	return NULL;
}

static void start_request(struct slow_request *r, struct guarded *g,
			  const char *user, const char *password)
{
	*r = (struct slow_request){ .g = g,
				    .user = user,
				    .password = password };
	cr_assert(!pthread_create(&r->thread, NULL, run_request, r));
}

static void wait_for_requests(const struct guarded *g, int n)
{
	for (int i = 0; i < 20000 && atomic_load(&g->auth->waiting) < n; i++)
		usleep(1000);
	cr_assert(atomic_load(&g->auth->waiting) == n);
}

Test(auth, guessing_does_not_hold_more_than_four_workers)
{
	struct slow_request r[4];
	struct guarded g;
	struct identity who;

	guarded_begin(&g, WEB_YML);
	mutex_lock(&g.auth->hashing);
	for (int i = 0; i < 4; i++)
		start_request(&r[i], &g, "ann", i % 2 ? "secret" : "guess");
	wait_for_requests(&g, 4);
	cr_expect(verify(g.auth, "ann", "secret", &who) == AUTH_BUSY);
	cr_expect(is_nobody(&who));
	cr_expect(verify(g.auth, "eve", "x", &who) == AUTH_BUSY);
	/* A token needs no hashing, so it is decided meanwhile. */
	cr_expect(auth_check(g.auth,
			     &(struct credentials){ .token = TOKEN_READER },
			     &who) == AUTH_GRANTED);
	mutex_unlock(&g.auth->hashing);
	for (int i = 0; i < 4; i++) {
		pthread_join(r[i].thread, NULL);
		cr_expect(r[i].verdict ==
			  (i % 2 ? AUTH_GRANTED : AUTH_REFUSED));
	}
	cr_expect(atomic_load(&g.auth->waiting) == 0);
	cr_expect(verify(g.auth, "bob", "hunter2", &who) == AUTH_GRANTED);
	guarded_end(&g);
}

Test(auth, a_user_who_changes_while_his_password_is_hashed_is_judged_anew)
{
	struct slow_request ann;
	struct slow_request bob;
	struct guarded g;

	guarded_begin(&g, WEB_YML);
	mutex_lock(&g.auth->hashing);
	start_request(&ann, &g, "ann", "secret");
	start_request(&bob, &g, "bob", "hunter2");
	wait_for_requests(&g, 2);
	guarded_put(&g, "basic_auth_users: {ann: " HASH_EMPTY
			", bob: " HASH_HUNTER "}\n"
			"basic_auth_scopes: {bob: [write]}\n");
	auth_refresh(g.auth);
	cr_expect(auth_is_current(g.auth));
	mutex_unlock(&g.auth->hashing);
	pthread_join(ann.thread, NULL);
	pthread_join(bob.thread, NULL);
	cr_assert(ann.verdict == AUTH_REFUSED);
	cr_expect(is_nobody(&ann.who));
	cr_expect(bob.verdict == AUTH_GRANTED);
	cr_expect(bob.who.scopes == SCOPE_WRITE, "those of now");
	guarded_end(&g);
}

/* Hashes and digests. */

Test(auth, hashes_are_those_of_bcrypt)
{
	char longer[80];
	char others[][sizeof(HASH_SECRET)] = { HASH_SECRET, HASH_SECRET };

	memset(longer, 'a', sizeof(longer));
	longer[72] = 0;
	others[0][2] = 'a';
	others[1][2] = 'y';
	cr_expect(auth_hash_matches("secret", HASH_SECRET));
	cr_expect(auth_hash_matches("secret", others[0]));
	cr_expect(auth_hash_matches("secret", others[1]));
	cr_expect(auth_hash_matches("", HASH_EMPTY));
	cr_expect(auth_hash_matches("p\xc3\xa4ss", HASH_UTF8));
	cr_expect(!auth_hash_matches("p\xe4ss", HASH_UTF8));
	cr_expect(auth_hash_matches(longer, HASH_72));
	longer[71] = 0;
	cr_expect(!auth_hash_matches(longer, HASH_72));
	cr_expect(!auth_hash_matches("secret", HASH_HUNTER));
	cr_expect(!auth_hash_matches("", HASH_SECRET));
}

Test(auth, what_is_no_hash_of_bcrypt_matches_nothing)
{
	static const char *const cases[] = {
		"",
		"secret",
		"*0",
		"*1",
		SALT,
		SALT "2r9OfJnfCsdneAXAGHnS4UpFFP8WIr",
		/* The password as DES and SHA-256 of crypt(3) hash it. */
		"abNANd1rDfiNc",
		"$5$abc$qsg6EHbUzHQzF1POlD7zUwBINSELQxypPaeDcZe6vH0",
		"$2z$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(!auth_hash_matches("secret", cases[i]), "\"%s\"",
			  cases[i]);
}

Test(auth, digests_of_other_credentials_are_others)
{
	static const struct {
		struct credentials c;
		const char *hash;
	} cases[] = {
		{ { "ab", "c", NULL, NULL }, "h" },
		{ { "a", "bc", NULL, NULL }, "h" },
		{ { "a", "b", NULL, NULL }, "ch" },
		{ { "", "ab", NULL, NULL }, "ch" },
		{ { "ab", "c", NULL, NULL }, "h2" },
		{ { "c", "ab", NULL, NULL }, "h" },
		{ { "a1:", "b", NULL, NULL }, "h" },
		{ { "a", "1:b", NULL, NULL }, "h" },
	};
	struct auth a = { .secret = { 1 } };
	struct auth b = { .secret = { 2 } };
	struct known k[ARRAY_SIZE(cases)];
	struct known other;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auth_make_known(&a, &cases[i].c, str_of(cases[i].hash), &k[i]);
		auth_make_known(&b, &cases[i].c, str_of(cases[i].hash), &other);
		cr_expect(memcmp(&k[i], &other, sizeof(other)) != 0,
			  "each server has its own");
		for (size_t n = 0; n < i; n++)
			cr_expect(memcmp(&k[n], &k[i], sizeof(other)) != 0,
				  "%zu and %zu", n, i);
		cr_expect(!auth_is_known(&a, &k[i]));
		a.known[a.known_count++] = k[i];
		cr_expect(auth_is_known(&a, &k[i]));
	}
	cr_assert(auth_is_known(&a, &k[0]));
	cr_expect(!auth_is_known(&b, &k[0]));
}

Test(auth, a_stranger_has_always_the_same_stand_in)
{
	struct web_user users[4] = { 0 };
	struct auth a = { .secret = { 7 },
			  .config = { .users = users, .user_count = 4 } };
	size_t of[4] = { 0 };

	for (int i = 0; i < 400; i++) {
		char name[20];
		const struct web_user *u;

		snprintf(name, sizeof(name), "eve%d", i);
		u = auth_stand_in(&a, name);
		cr_assert(u >= users);
		cr_assert(u < users + 4);
		cr_expect(auth_stand_in(&a, name) == u);
		of[u - users]++;
	}
	for (int i = 0; i < 4; i++)
		cr_expect(of[i] > 50, "user %d: %zu", i, of[i]);
}

/* Tests of the warnings about the server's own configuration. */

Test(auth, a_challenge_names_what_is_accepted)
{
	static const struct {
		const char *text;
		bool basic;
		bool bearer;
	} cases[] = {
		{ WEB_YML, true, true },
		{ "basic_auth_users: {a: " HASH_SECRET "}", true, false },
		{ "bearer_tokens: [{name: a, token: " TOKEN_READER "}]", false,
		  true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct guarded g;
		const char *text;

		guarded_begin(&g, cases[i].text);
		text = auth_challenge(g.auth);
		cr_expect(!!strstr(text, "Basic realm=") == cases[i].basic);
		cr_expect(!!strstr(text, "Bearer realm=") == cases[i].bearer);
		/*
		 * Without TLS others can read passwords and tokens on the way.
		 */
		cr_expect(strstr(auth_exposure(g.auth), "tls_server_config") !=
			  NULL);
		cr_expect(!auth_is_open(g.auth));
		guarded_end(&g);
	}
}

static void add_header(void *ctx, const char *name, const char *value)
{
	buf_printf(ctx, "%s=%s;", name, value);
}

Test(auth, headers_of_the_file_are_sent_in_their_order)
{
	struct buf text = { 0 };
	struct guarded g;

	guarded_begin(&g, "http_server_config:\n  headers:\n"
			  "    x-frame-options: DENY\n"
			  "    Content-Security-Policy: default-src 'self'\n"
			  "    X-XSS-Protection: ''\n");
	auth_headers(g.auth, add_header, &text);
	cr_expect(check_str(str_from(buf_bytes(&text)),
			    "X-Frame-Options=DENY;Content-Security-Policy="
			    "default-src 'self';X-XSS-Protection=;"));
	buf_fini(&text);
	guarded_end(&g);
}

Test(auth, a_start_with_a_wrong_file_fails)
{
	struct tempdir d = tempdir_make();
	struct auth *a = NULL;
	struct err err = { 0 };
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/web.yml", d.path);
	cr_expect(auth_new(path, NULL, &a, &err) == ERR_NOTFOUND);
	cr_expect(strstr(err.msg, path) != NULL, "%s", err.msg);
	f = fopen(path, "w");
	cr_assert(f);
	cr_assert(fputs("basic_auth_users: {ann: secret}", f) >= 0);
	cr_assert(!fclose(f));
	cr_expect(auth_new(path, NULL, &a, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "web.yml:1:25: ") != NULL, "%s", err.msg);
	cr_assert(!strstr(err.msg, "secret"), "%s", err.msg);
	cr_expect(!a, "%s", err.msg);
	tempdir_fini(&d);
}
