/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the access checks: rate, host, credentials, scopes and origin. */
#include "tests/web/exchanges.h"
#include "web/auth/auth.h"
#include "web/guard/hosts.h"
#include "web/http/access.h"

TestSuite(access, .timeout = 60);

#define HOST "Host: a\r\n"
#define END  "\r\n"
#define REQUEST(method, target, headers) \
	method " " target " HTTP/1.1\r\n" HOST headers END

/* The password of ann is "secret"; bcrypt at its lowest cost. */
#define USERS                                                           \
	"basic_auth_users:\n"                                           \
	"  ann: $2b$04$DvpKXycMNgIqT5G3FAqUzOdaKydkZgTbU2yCwTrRrDoRlFU" \
	"wf180O\n"                                                      \
	"basic_auth_scopes:\n  ann: [read]\n"
#define TOKENS                                                           \
	"bearer_tokens:\n"                                               \
	"- name: reader\n  token: reader-0123456789\n  scopes: [read]\n" \
	"- name: chief\n  token: chief-0123456789ab\n"                   \
	"  scopes: [read, write, admin]\n"
#define READER "Authorization: Bearer reader-0123456789\r\n"
#define CHIEF  "Authorization: Bearer chief-0123456789ab\r\n"
#define BASIC  "Authorization: Basic "

/* The time of requests, which the test sets. */
static int64_t now_ns = 1000000000000LL;

/* Does what server.c does before a body is read. */
static void admit_head(struct exchange *x, void *ctx)
{
	(void)ctx;
	x->started_ns = now_ns;
	if (x->framing == FRAMING_AMBIGUOUS)
		access_refuse_framing(x);
	else
		(void)access_refuse_body(x);
}

/* Does what all threads of server.c together do with a complete request. */
static void admit_whole(struct exchange *x, void *ctx)
{
	bool *was_unverified = ctx;

	access_check(x);
	if (was_unverified)
		*was_unverified = x->unverified;
	access_verify(x);
}

static struct bench *bench_with(const char *config)
{
	struct bench *b = bench_start(config);

	b->head = admit_head;
	b->look = admit_whole;
	return b;
}

/*
 * A request, its status, and a line of the reply's head. NULL: no line is
 * checked.
 */
struct entry_case {
	const char *request;
	int status;
	const char *line;
};

static void check_entries(struct bench *b, const struct entry_case *cases,
			  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct entry_case *c = &cases[i];

		bench_ask(b, c->request);
		cr_expect(bench_status(b) == c->status, "%s: %d %.*s",
			  c->request, bench_status(b), STR_ARG(bench_body(b)));
		cr_expect(!c->line || bench_has(b, c->line), "%s: %s",
			  c->request, buf_cstr(&b->reply));
	}
}

Test(access, routes_have_their_methods)
{
	static const struct entry_case cases[] = {
		{ REQUEST("GET", "/read", ""), 204, NULL },
		{ REQUEST("HEAD", "/read", ""), 204, NULL },
		{ REQUEST("POST", "/read", ""), 204, NULL },
		{ REQUEST("PUT", "/read", ""), 405, "Allow: GET, HEAD, POST" },
		{ REQUEST("DELETE", "/read", ""), 405,
		  "Allow: GET, HEAD, POST" },
		{ REQUEST("get", "/read", ""), 405, "Allow: GET, HEAD, POST" },
		{ REQUEST("OPTIONS", "/read", ""), 405,
		  "Allow: GET, HEAD, POST" },
		{ REQUEST("POST", "/write", ""), 204, NULL },
		{ REQUEST("PUT", "/write", ""), 204, NULL },
		{ REQUEST("GET", "/write", ""), 405, "Allow: POST, PUT" },
		{ REQUEST("HEAD", "/write", ""), 405, "Allow: POST, PUT" },
		{ REQUEST("GET", "/none", ""), 404, NULL },
		{ REQUEST("POST", "/none", ""), 404, NULL },
		{ REQUEST("DELETE", "/none", ""), 405, NULL },
	};
	struct bench *b = bench_with(NULL);

	check_entries(b, cases, ARRAY_SIZE(cases));
	bench_stop(b);
}

Test(access, what_is_wrong_with_a_request_is_told_with_its_status)
{
	struct bench *b = bench_with(NULL);
	struct buf large = { 0 };

	bench_ask(b, REQUEST("GET", "/read?a=%zz", ""));
	cr_expect(bench_status(b) == 400);
	cr_expect(strstr(buf_cstr(&b->reply), "%25"), "how it is written");
	bench_ask(b, "GET /read HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
	cr_assert(bench_status(b) == 400);
	cr_expect(bench_has(b, "Connection: close"));
	bench_ask(b, REQUEST("GET", "/none", "Accept: text/html\r\n"));
	cr_expect(bench_status(b) == 404);
	cr_expect(bench_has(b, "Content-Type: text/html; charset=utf-8"));
	bench_ask(b, REQUEST("GET", "/none", ""));
	cr_expect(
		bench_has(b, "Content-Type: application/json; charset=utf-8"));
	buf_printf(&large,
		   "POST /read HTTP/1.1\r\n" HOST "Content-Length: %d\r\n" END,
		   SERVER_BODY_MAX + 1);
	for (int i = 0; i <= SERVER_BODY_MAX; i++)
		buf_byte(&large, 'a');
	bench_send(b, (const char *)large.ptr, large.len, 1);
	cr_expect(bench_status(b) == 413);
	atomic_store(&b->server.forms, 32 * MIB);
	bench_ask(b, REQUEST("POST", "/read", "Content-Length: 1\r\n") "a");
	cr_expect(bench_status(b) == 429);
	atomic_store(&b->server.forms, 0);
	buf_fini(&large);
	bench_stop(b);
}

Test(access, a_host_that_is_not_ours_is_refused)
{
	static const struct entry_case cases[] = {
		{ "GET /read HTTP/1.1\r\nHost: prof.example:80\r\n\r\n", 204,
		  NULL },
		{ "GET /read HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n", 204, NULL },
		{ "GET /read HTTP/1.0\r\n\r\n", 204, NULL },
		{ "GET /read HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403,
		  NULL },
		{ "GET /none HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403,
		  NULL },
	};
	struct bench *b = bench_with(NULL);

	b->server.o.allowed_hosts = "prof.example";
	check_entries(b, cases, ARRAY_SIZE(cases));
	cr_expect(strstr(buf_cstr(&b->reply), "--web.allowed-hosts"));
	b->server.o.allowed_hosts = NULL;
	bench_ask(b, cases[3].request);
	cr_expect(bench_status(b) == 204, "without names any host is ours");
	bench_stop(b);
}

Test(access, hosts_that_look_like_ours_are_not)
{
	static const struct {
		const char *names;
		const char *host;
		bool allowed;
	} cases[] = {
		{ "a,,b", "", true },
		{ "a,,b", ":80", false },
		{ "a,,b", ".", false },
		{ "a", "a..", false },
		{ "a b", "a", false },
		{ "a, b", "b", true },
		{ "", "[evil.example]", false },
		{ "", "[]", false },
		{ "", "::1", false },
		{ "", "0x7f.1", false },
		{ "", "127.1", false },
		{ "", "127.0.0.1.", true },
		{ "", "1234567890123456789012345678901234567890123456", false },
		{ "", "localhosts", false },
		{ "", "localhos", false },
	};
	char name[256];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(hosts_allow(cases[i].names, cases[i].host) ==
				  cases[i].allowed,
			  "\"%s\" with \"%s\"", cases[i].host, cases[i].names);
	/* A name in the DNS has at most 253 bytes. */
	memset(name, 'a', sizeof(name));
	name[253] = 0;
	cr_expect(hosts_allow(name, name));
	name[253] = 'a';
	name[254] = 0;
	cr_expect(!hosts_allow(name, name));
}

Test(access, pages_of_allowed_origins_may_read_answers)
{
	static const char allow[] =
		"Access-Control-Allow-Origin: https://good.example";
#define ORIGIN "Origin: https://good.example\r\n"
	static const struct entry_case cases[] = {
		{ REQUEST("GET", "/read", ORIGIN), 204, allow },
		{ REQUEST("GET", "/read", ORIGIN), 204,
		  "Access-Control-Expose-Headers:" },
		{ REQUEST("GET", "/none", ORIGIN), 404, allow },
		{ REQUEST("PUT", "/read", ORIGIN), 405, allow },
		{ REQUEST("OPTIONS", "/read", ORIGIN), 204, allow },
		{ REQUEST("OPTIONS", "/write", ORIGIN), 204,
		  "Access-Control-Allow-Methods: GET, POST, DELETE, OPTIONS" },
		{ REQUEST("OPTIONS", "/none", ORIGIN), 204,
		  "Access-Control-Allow-Headers: Accept, Authorization, Content-Type, Origin, MCP-Protocol-Version, Mcp-Method, Mcp-Name" },
		{ REQUEST("POST", "/write", ORIGIN), 204, allow },
	};
	static const char *const strangers[] = {
		REQUEST("GET", "/read", ""),
		REQUEST("GET", "/read", "Origin: http://good.example\r\n"),
		REQUEST("GET", "/read",
			"Origin: https://good.example.evil\r\n"),
		REQUEST("GET", "/read", "Origin: https://goodxexample\r\n"),
		REQUEST("GET", "/read", "Origin: x https://good.example\r\n"),
		REQUEST("GET", "/read", "Origin: null\r\n"),
		REQUEST("GET", "/read", "Origin:\r\n"),
	};
	struct bench *b = bench_with(NULL);

	bench_allow_origins(b, "https://good\\.example");
	check_entries(b, cases, ARRAY_SIZE(cases));
	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		bench_ask(b, strangers[i]);
		cr_expect(bench_status(b) == 204, "%s", strangers[i]);
		cr_expect(!strstr(buf_cstr(&b->reply), "Access-Control"), "%s",
			  strangers[i]);
	}
	bench_ask(b, REQUEST("OPTIONS", "/read", "Origin: null\r\n"));
	cr_expect(bench_status(b) == 405);
	bench_stop(b);
}

Test(access, a_preflight_needs_no_credentials_but_a_host_of_ours)
{
	struct bench *b = bench_with(TOKENS);

	bench_allow_origins(b, "https://good\\.example");
	bench_ask(b, REQUEST("OPTIONS", "/read", ORIGIN));
	cr_expect(bench_status(b) == 204);
	bench_ask(b, REQUEST("GET", "/read", ORIGIN));
	cr_expect(bench_status(b) == 401);
	b->server.o.allowed_hosts = "";
	bench_ask(b, REQUEST("OPTIONS", "/read", ORIGIN));
	cr_expect(bench_status(b) == 403);
	bench_stop(b);
}

Test(access, pages_of_other_origins_may_change_nothing)
{
#define PAGE(origin)    REQUEST("POST", "/write", origin)
#define PROXIED(scheme) "X-Forwarded-Proto: " scheme "\r\n"
	static const struct entry_case cases[] = {
		{ PAGE(""), 204, NULL },
		{ PAGE("Origin: http://a\r\n"), 204, NULL },
		{ PAGE("Origin: http://A\r\n"), 204, NULL },
		{ PAGE("Origin: http://evil.example\r\n"), 403, NULL },
		{ PAGE("Origin: http://a.evil.example\r\n"), 403, NULL },
		{ PAGE("Origin: http://a:81\r\n"), 403, NULL },
		{ PAGE("Origin: null\r\n"), 403, NULL },
		{ PAGE("Origin: a\r\n"), 403, NULL },
		{ PAGE("Origin: https://a\r\n"), 403, NULL },
		{ PAGE("Origin: https://a\r\n" PROXIED("https")), 204, NULL },
		{ PAGE("Origin: http://a\r\n" PROXIED("https")), 403, NULL },
		{ PAGE("Origin: http://a\r\n" PROXIED("http")), 204, NULL },
		{ REQUEST("POST", "/read", "Origin: http://evil.example\r\n"),
		  204, NULL },
		{ REQUEST("GET", "/read", "Origin: null\r\n"), 204, NULL },
	};
	struct bench *b = bench_with(NULL);

	check_entries(b, cases, ARRAY_SIZE(cases));
	bench_stop(b);
}

Test(access, too_many_requests_of_one_client_are_refused)
{
	struct bench *b = bench_with(NULL);

	/*
	 * A client may send two requests at once. One with a body counts once.
	 */
	limiter_free(b->server.limiter);
	b->server.limiter = limiter_new(1);
	bench_ask(b, REQUEST("GET", "/read", ""));
	cr_expect(bench_status(b) == 204);
	bench_ask(b, REQUEST("POST", "/read", "Content-Length: 1\r\n") "a");
	cr_expect(bench_status(b) == 204);
	bench_ask(b, REQUEST("GET", "/read", ""));
	cr_assert(bench_status(b) == 429);
	cr_expect(bench_has(b, "Retry-After:"));
	cr_expect(strstr(buf_cstr(&b->reply), "--web.rate-limit"));
	/* The limit holds for requests that are wrong, too. */
	bench_ask(b, REQUEST("POST", "/none", "Content-Length: 1\r\n") "a");
	cr_expect(bench_status(b) == 429);
	b->from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	bench_ask(b, REQUEST("GET", "/read", ""));
	cr_expect(bench_status(b) == 204, "another client");
	b->from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	now_ns += 1000000000;
	bench_ask(b, REQUEST("GET", "/read", ""));
	cr_expect(bench_status(b) == 204, "a second later");
	bench_stop(b);
}

Test(access, tokens_let_in_and_have_scopes)
{
	static const char ask[] = "WWW-Authenticate: Bearer realm=\"everprof\"";
	static const struct entry_case cases[] = {
		{ REQUEST("GET", "/read", READER), 204, NULL },
		{ REQUEST("GET", "/read", CHIEF), 204, NULL },
		{ REQUEST("GET", "/read",
			  "authorization: bEARER reader-0123456789\r\n"),
		  204, NULL },
		{ REQUEST("POST", "/write", CHIEF), 204, NULL },
		{ REQUEST("POST", "/write", READER), 403, NULL },
		{ REQUEST("GET", "/write", READER), 403, NULL },
		{ REQUEST("POST", "/both", READER), 403, NULL },
		{ REQUEST("POST", "/both", CHIEF), 204, NULL },
		{ REQUEST("GET", "/none", READER), 404, NULL },
		{ REQUEST("GET", "/read", ""), 401, ask },
		{ REQUEST("GET", "/read", "Authorization:\r\n"), 401, ask },
		{ REQUEST("GET", "/read", "Authorization: Bearer \r\n"), 401,
		  ask },
		{ REQUEST("GET", "/read",
			  "Authorization: Bearer reader-0123456788\r\n"),
		  401, ask },
		{ REQUEST("GET", "/read",
			  "Authorization: Bearer reader-012345678\r\n"),
		  401, ask },
		{ REQUEST("GET", "/read",
			  "Authorization: Bearer reader-01234567890\r\n"),
		  401, ask },
		{ REQUEST("GET", "/read",
			  "Authorization: Token reader-0123456789\r\n"),
		  401, ask },
		{ REQUEST("GET", "/read", BASIC "cmVhZGVyOng=\r\n"), 401, ask },
	};
	struct bench *b = bench_with(TOKENS);

	check_entries(b, cases, ARRAY_SIZE(cases));
	cr_expect(bench_count(b, "everprof_http_unauthorized_total", NULL) ==
		  8);
	bench_stop(b);
}

Test(access, strangers_learn_nothing_of_what_there_is)
{
	static const struct entry_case cases[] = {
		{ REQUEST("GET", "/none", ""), 401, NULL },
		{ REQUEST("DELETE", "/read", ""), 401, NULL },
		{ REQUEST("GET", "/read?a=%zz", ""), 401, NULL },
		{ REQUEST("POST", "/write", "Origin: http://evil\r\n"), 401,
		  NULL },
		{ REQUEST("GET", "/read", READER READER), 400, NULL },
		{ REQUEST("GET", "/read", READER "Authorization: x\r\n"), 400,
		  NULL },
	};
	struct bench *b = bench_with(TOKENS);

	check_entries(b, cases, ARRAY_SIZE(cases));
	bench_stop(b);
}

Test(access, a_body_of_somebody_who_is_refused_is_not_read)
{
	struct bench *b = bench_with(TOKENS);

	/* The answer comes, although the body never does. */
	bench_ask(b, REQUEST("POST", "/read", "Content-Length: 5\r\n"));
	cr_assert(bench_status(b) == 401);
	cr_expect(bench_has(b, "Connection: close"));
	cr_assert(b->heads == 1);
	cr_expect(!b->looks);
	bench_ask(b, REQUEST("POST", "/read",
			     "Expect: 100-continue\r\nContent-Length: 5\r\n"));
	cr_expect(bench_status(b) == 401, "instead of 100");
	bench_ask(b, REQUEST("POST", "/read",
			     READER "Content-Length: 5\r\n") "a=1&b");
	cr_assert(bench_status(b) == 204);
	cr_expect(b->looks == 1);
	cr_expect(!bench_has(b, "Connection: close"));
	/* A request without a body is judged once, when it is complete. */
	bench_ask(b, REQUEST("POST", "/read", "Content-Length: 0\r\n"));
	cr_assert(bench_status(b) == 401);
	cr_expect(b->looks == 2);
	bench_stop(b);
}

Test(access, a_password_is_hashed_once_and_then_known)
{
	bool unverified = false;
	struct bench *b = bench_with(USERS);

	b->ctx = &unverified;
	bench_ask(b, REQUEST("GET", "/read", BASIC "YW5uOnNlY3JldA==\r\n"));
	cr_assert(unverified);
	cr_expect(bench_status(b) == 204);
	bench_ask(b, REQUEST("GET", "/read", BASIC "YW5uOnNlY3JldA==\r\n"));
	cr_assert(!unverified);
	cr_expect(bench_status(b) == 204);
	bench_ask(b, REQUEST("GET", "/read", BASIC "YW5uOnNlY3JldB==\r\n"));
	cr_expect(bench_status(b) == 401, "base64 that is not canonical");
	bench_stop(b);
}

Test(access, passwords_that_are_wrong_let_nobody_in)
{
	static const struct entry_case cases[] = {
		{ REQUEST("GET", "/read", BASIC "YW5uOnNlY3JldA==\r\n"), 204,
		  "X-Everprof-Version:" },
		{ REQUEST("GET", "/read",
			  "Authorization: basic "
			  "YW5uOnNlY3JldA==\r\n"),
		  204, NULL },
		/* ann:secreT, bob:secret, ann:, ann, :secret */
		{ REQUEST("GET", "/read", BASIC "YW5uOnNlY3JlVA==\r\n"), 401,
		  "WWW-Authenticate: Basic realm=\"everprof\"" },
		{ REQUEST("GET", "/read", BASIC "Ym9iOnNlY3JldA==\r\n"), 401,
		  NULL },
		{ REQUEST("GET", "/read", BASIC "YW5uOg==\r\n"), 401, NULL },
		{ REQUEST("GET", "/read", BASIC "YW5u\r\n"), 401, NULL },
		{ REQUEST("GET", "/read", BASIC "OnNlY3JldA==\r\n"), 401,
		  NULL },
		/* ann:secret, a NUL, x */
		{ REQUEST("GET", "/read", BASIC "YW5uOnNlY3JldAB4\r\n"), 401,
		  NULL },
		{ REQUEST("GET", "/read", BASIC "YW5uOnNl Y3JldA==\r\n"), 401,
		  NULL },
		{ REQUEST("GET", "/read", BASIC "****\r\n"), 401, NULL },
		{ REQUEST("GET", "/read", BASIC "\r\n"), 401, NULL },
		/* The user has only one scope. */
		{ REQUEST("POST", "/write", BASIC "YW5uOnNlY3JldA==\r\n"), 403,
		  NULL },
	};
	struct bench *b = bench_with(USERS);

	check_entries(b, cases, ARRAY_SIZE(cases));
	bench_stop(b);
}

Test(access, faults_are_found_after_the_password_is_verified)
{
	static const char *const requests[] = {
		REQUEST("GET", "/none", BASIC "YW5uOnNlY3JlVA==\r\n"),
		REQUEST("GET", "/none", BASIC "YW5uOnNlY3JldA==\r\n"),
	};
	struct bench *b = bench_with(USERS);

	bench_ask(b, requests[0]);
	cr_expect(bench_status(b) == 401);
	bench_ask(b, requests[1]);
	cr_expect(bench_status(b) == 404);
	bench_stop(b);
}

/*
 * Does what admit_whole() does, while another password of the client is hashed.
 */
static void admit_busy(struct exchange *x, void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&x->client->hashing, 1);
	access_check(x);
	access_verify(x);
	atomic_fetch_sub(&x->client->hashing, 1);
}

Test(access, a_client_has_one_password_hashed_at_a_time)
{
	struct bench *b = bench_with(USERS);

	b->look = admit_busy;
	bench_ask(b, REQUEST("GET", "/read", BASIC "YW5uOnNlY3JldA==\r\n"));
	cr_assert(bench_status(b) == 429);
	cr_expect(bench_has(b, "Retry-After:"));
	b->look = admit_whole;
	bench_ask(b, REQUEST("GET", "/read", BASIC "YW5uOnNlY3JldA==\r\n"));
	cr_expect(bench_status(b) == 204);
	/* A password that is known needs no hashing, and is let in. */
	b->look = admit_busy;
	bench_ask(b, REQUEST("GET", "/read", BASIC "YW5uOnNlY3JldA==\r\n"));
	cr_expect(bench_status(b) == 204);
	bench_stop(b);
}

Test(access, files_of_the_program_need_no_credentials_and_take_no_body)
{
	static const struct entry_case cases[] = {
		{ REQUEST("GET", "/file", ""), 204, NULL },
		{ REQUEST("HEAD", "/file", ""), 204, NULL },
		{ REQUEST("GET", "/file", "Authorization: Basic !!\r\n"), 204,
		  NULL },
		{ REQUEST("POST", "/file", ""), 405, "Allow: GET, HEAD" },
		{ REQUEST("POST", "/file", "Content-Length: 3\r\n") "a=1", 400,
		  "Connection: close" },
		{ REQUEST("GET", "/read", ""), 401, NULL },
	};
	struct bench *b = bench_with(USERS);

	check_entries(b, cases, ARRAY_SIZE(cases));
	bench_stop(b);
}

Test(access, scripts_of_the_page_get_no_challenge_that_opens_a_dialog)
{
	static const struct entry_case cases[] = {
		{ REQUEST("GET", "/read", ""), 401,
		  "WWW-Authenticate: Basic realm=\"everprof\"" },
		{ REQUEST("GET", "/read", "X-Everprof-Query: ui-1\r\n"), 401,
		  "WWW-Authenticate: Session realm=\"everprof\"" },
	};
	struct bench *b = bench_with(USERS);

	check_entries(b, cases, ARRAY_SIZE(cases));
	bench_stop(b);
}

Test(access, a_cookie_takes_the_place_of_credentials)
{
	struct bench *b = bench_with(TOKENS);
	const struct credentials c = { .token = "reader-0123456789" };
	struct identity who;
	struct err err;
	char text[AUTH_SESSION_LEN + 1];
	char request[400];

	cr_assert(auth_check(b->server.o.auth, &c, &who) == AUTH_GRANTED);
	cr_assert(!auth_begin_session(b->server.o.auth, &who, text, &err));
	snprintf(request, sizeof(request),
		 REQUEST("GET", "/read",
			 "Cookie: a=b; everprof_session_1=%s\r\n"),
		 text);
	bench_ask(b, request);
	cr_expect(bench_status(b) == 204, "%d", bench_status(b));
	snprintf(request, sizeof(request),
		 REQUEST("POST", "/write", "Cookie: everprof_session_1=%s\r\n"),
		 text);
	bench_ask(b, request);
	cr_expect(bench_status(b) == 403, "it has the scopes of the token");
	/* Wrong credentials are refused, even beside a valid cookie. */
	snprintf(request, sizeof(request),
		 REQUEST("GET", "/read",
			 "Authorization: Bearer x\r\n"
			 "Cookie: everprof_session_1=%s\r\n"),
		 text);
	bench_ask(b, request);
	cr_expect(bench_status(b) == 401);
	snprintf(request, sizeof(request),
		 REQUEST("GET", "/read", "Cookie: everprof_session_2=%s\r\n"),
		 text);
	bench_ask(b, request);
	cr_expect(bench_status(b) == 401, "of another server");
	bench_stop(b);
}
