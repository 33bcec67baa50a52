/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Service discoveries that ask an HTTP API, with APIs that this file makes up:
 * the order of requests and pages, what becomes a target, what an error of the
 * API does to the targets, and which credentials a request carries.
 */
#include "discovery/rest/rest_source.h"

#include "discovery/rest/filter_list.h"
#include "discovery/rest/rest_config.h"
#include "discovery/rest/rest_page.h"
#include "discovery/rest/rest_request.h"
#include "tests/discovery/fake_provider.h"

TestSuite(rest_source, .timeout = 60);
TestSuite(rest_config, .timeout = 60);

#define AT(member) offsetof(struct rest_config, member)

static const struct field_row fields[] = {
	{ "id", "id", FIELD_TEXT },
	{ 0 },
};

/* The steps of the test that runs. */
static struct rest_step steps[REST_STEPS_MAX + 1];

static struct rest_table table = { .steps = steps,
				   .fields = fields,
				   .host = "host",
				   .port = "port" };

static const struct rest_table *const tables[] = { &table, NULL };

static const struct yaml_field keys[] = {
	REST_FIELDS,
	{ "server", yaml_text, AT(server), NULL },
	{ 0 },
};

static void init_entry(struct discovery_config *base)
{
	rest_init(base);
	((struct rest_config *)base)->table = &table;
}

static const struct provider_kind kind = {
	.name = "made_up",
	.refresh_ms = 60000,
	.config_size = sizeof(struct rest_config),
	.fields = keys,
	.init = init_entry,
	.rest = tables,
	REST_KIND,
};

/* Open a provider with these steps. */
static void open_with(struct fake_provider *f, const struct rest_step *v,
		      size_t count)
{
	memset(steps, 0, sizeof(steps));
	memcpy(steps, v, count * sizeof(*v));
	table.map = NULL;
	table.finish = NULL;
	table.needs = NULL;
	table.account = NULL;
	table.prepare = NULL;
	fake_provider_open(f, &kind, "{server: 'http://api', port: 80}");
}

#define OPEN(f, ...)                                                  \
	open_with(f, (const struct rest_step[]){ __VA_ARGS__ },       \
		  sizeof((const struct rest_step[]){ __VA_ARGS__ }) / \
			  sizeof(struct rest_step))

#define ONE       "{\"list\": [{\"id\": \"a\", \"host\": \"h\", \"port\": 7}]}"
#define ONE_FOUND "> __address__=h:7 id=a"

Test(rest_source, items_become_targets)
{
	struct fake_provider f;

	OPEN(&f, { .path = "/items", .items = "list" });
	table.needs = "tags";
	rest_refresh(&f.p);
	cr_expect(fake_http_is("GET http://api/items\n"));
	fake_http_answer(200, "{\"list\": [{\"id\": \"a\", \"host\": \"h\", "
			      "\"port\": 7, \"tags\": [1]},"
			      "{\"id\": \"b\", \"host\": \"::1\", \"port\": 8,"
			      " \"tags\": [1]},"
			      "{\"id\": \"c\", \"host\": \"i\"}]}");
	cr_expect(check_str(fake_provider_found(&f),
			    "> __address__=h:7 id=a\n"
			    "> __address__=[::1]:8 id=b"));
	cr_expect(!*fake_http_next());
	fake_provider_close(&f);
}

/* An API with several pages, and the requests that it leads to. */
struct paged {
	struct rest_step step;
	const char *answers[4]; /* ended by NULL */
	const char *urls[4];    /* of the requests for them */
};

static void follow_pages(const struct paged *c)
{
	struct fake_provider f;
	size_t i = 0;

	open_with(&f, &c->step, 1);
	rest_refresh(&f.p);
	for (; *fake_http_next() && i < 4 && c->urls[i]; i++) {
		cr_expect(fake_http_is(c->urls[i]));
		fake_http_answer(200, c->answers[i]);
	}
	cr_expect(i == 4 || !c->urls[i], "%zu pages: %s", i, c->urls[i]);
	cr_expect(!*fake_http_next(), "%s", fake_http_next());
	cr_expect(check_str(fake_provider_found(&f),
			    "> __address__=h:80 id=1\n> __address__=h:80 id=2"),
		  "%s: %s", c->urls[1], fake_provider_error(&f));
	fake_provider_close(&f);
}

#define ITEM(id) "{\"id\": " id ", \"host\": \"h\", \"port\": 80}"

Test(rest_source, pages_follow_each_other_as_the_api_says)
{
	static const struct paged cases[] = {
		{ { .path = "/n",
		    .items = "list",
		    .next = "next",
		    .page_param = "page",
		    .paging = REST_NEXT_NUMBER },
		  { "{\"next\": 2, \"list\": [" ITEM("1") "]}",
		    "{\"next\": null, \"list\": [" ITEM("2") "]}" },
		  { "GET http://api/n\n", "GET http://api/n?page=2\n" } },
		{ { .path = "/c?x=1",
		    .items = "list",
		    .next = "pages",
		    .page_param = "page",
		    .paging = REST_PAGE_COUNT },
		  { "{\"pages\": 2, \"list\": [" ITEM("1") "]}",
		    "{\"pages\": 2, \"list\": [" ITEM("2") "]}" },
		  { "GET http://api/c?x=1\n",
		    "GET http://api/c?x=1&page=2\n" } },
		{ { .path = "/u",
		    .items = "list",
		    .next = "links.next",
		    .paging = REST_NEXT_URL },
		  { "{\"links\": {\"next\": \"http://api/other\"}, \"list\": [" ITEM(
			    "1") "]}",
		    "{\"list\": [" ITEM("2") "]}" },
		  { "GET http://api/u\n", "GET http://api/other\n" } },
		{ { .path = "/q",
		    .items = "list",
		    .next = "next",
		    .paging = REST_NEXT_QUERY },
		  { "{\"next\": \"http://elsewhere/z?at=5\", \"list\": [" ITEM(
			    "1") "]}",
		    "{\"list\": [" ITEM("2") "]}" },
		  { "GET http://api/q\n", "GET http://api/q?at=5\n" } },
		{ { .path = "/t",
		    .items = "list",
		    .next = "token",
		    .page_param = "after",
		    .paging = REST_NEXT_TOKEN },
		  { "{\"token\": \"a b\", \"list\": [" ITEM("1") "]}",
		    "{\"token\": \"\", \"list\": [" ITEM("2") "]}" },
		  { "GET http://api/t\n", "GET http://api/t?after=a%20b\n" } },
		{ { .path = "/e",
		    .items = "",
		    .page_param = "page",
		    .paging = REST_UNTIL_EMPTY },
		  { "[" ITEM("1") "]", "[" ITEM("2") "]", "[]" },
		  { "GET http://api/e\n", "GET http://api/e?page=2\n",
		    "GET http://api/e?page=3\n" } },
		/* An API that knows no pages answers with the same page. */
		{ { .path = "/s",
		    .items = "",
		    .page_param = "page",
		    .paging = REST_UNTIL_EMPTY },
		  { "[" ITEM("1") "," ITEM("2") "]",
		    "[" ITEM("1") "," ITEM("2") "]" },
		  { "GET http://api/s\n", "GET http://api/s?page=2\n" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		follow_pages(&cases[i]);
}

Test(rest_source, pages_that_lead_elsewhere_or_nowhere_are_errors)
{
	static const struct {
		struct rest_step step;
		const char *answer;
		const char *why;
	} cases[] = {
		{ { .path = "/u",
		    .items = "list",
		    .next = "next",
		    .paging = REST_NEXT_URL },
		  "{\"next\": \"http://evil/u\"}",
		  "another scheme, host or port" },
		{ { .path = "/u",
		    .items = "list",
		    .next = "next",
		    .paging = REST_NEXT_URL },
		  "{\"next\": \"http://api/u\"}",
		  "the same page again" },
		{ { .path = "/u", .items = "list" }, "[", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fake_provider f;

		open_with(&f, &cases[i].step, 1);
		rest_refresh(&f.p);
		fake_http_answer(200, cases[i].answer);
		cr_expect(*fake_provider_error(&f), "%zu", i);
		cr_expect(strstr(fake_provider_error(&f), cases[i].why), "%s",
			  fake_provider_error(&f));
		cr_expect(!*fake_http_next(), "%s", fake_http_next());
		fake_provider_close(&f);
	}
}

Test(rest_source, a_refresh_that_fails_keeps_the_targets)
{
	struct fake_provider f;

	OPEN(&f, { .path = "/items", .items = "list" });
	rest_refresh(&f.p);
	fake_http_answer(200, ONE);
	cr_expect(check_str(fake_provider_found(&f), ONE_FOUND));
	rest_refresh(&f.p);
	fake_http_answer(500, "{\"error\": {\"code\": \"Busy\"}}");
	cr_expect(check_str(str_of(fake_provider_error(&f)),
			    "server returned HTTP status 500: Busy"));
	cr_expect(check_str(fake_provider_found(&f), ONE_FOUND));
	/* What the server says besides a code could be a secret. */
	rest_refresh(&f.p);
	fake_http_answer(403, "{\"error\": \"your key is 12345\"}");
	cr_expect(!strstr(fake_provider_error(&f), "12345"), "%s",
		  fake_provider_error(&f));
	rest_refresh(&f.p);
	fake_http_break(ERR_TIMEOUT, "too slow");
	cr_expect(check_str(str_of(fake_provider_error(&f)), "too slow"));
	cr_expect(check_str(fake_provider_found(&f), ONE_FOUND));
	fake_provider_close(&f);
}

Test(rest_source, equal_answers_change_nothing)
{
	struct fake_provider f;

	OPEN(&f, { .path = "/items", .items = "list" });
	rest_refresh(&f.p);
	fake_http_answer(200, ONE);
	cr_expect(f.p.changed);
	f.p.changed = false;
	rest_refresh(&f.p);
	fake_http_answer(200, ONE);
	cr_expect(!f.p.changed);
	rest_refresh(&f.p);
	fake_http_answer(200, "{\"list\": []}");
	cr_expect(f.p.changed);
	cr_expect(check_str(fake_provider_found(&f), ""));
	fake_provider_close(&f);
}

Test(rest_source, one_refresh_runs_at_a_time_and_a_closed_one_is_cancelled)
{
	struct fake_provider f;

	OPEN(&f, { .path = "/items", .items = "list" });
	rest_refresh(&f.p);
	rest_refresh(&f.p);
	cr_expect(fake_http.v.count == 1, "%zu", fake_http.v.count);
	f.p.kind->close(&f.p);
	cr_expect(fake_http.v.v[0].is_cancelled);
	fake_provider_fini(&f);
}

Test(rest_source, some_failures_only_mean_that_there_are_no_items)
{
	struct fake_provider f;

	OPEN(&f, { .path = "/none", .items = "list", .tolerated = 404 },
	     { .path = "/maybe", .items = "list", .is_optional = true },
	     { .path = "/items", .items = "list" });
	rest_refresh(&f.p);
	fake_http_answer(404, "");
	cr_expect(fake_http_is("GET http://api/maybe\n"));
	fake_http_break(ERR_IO, "gone");
	cr_expect(fake_http_is("GET http://api/items\n"));
	fake_http_answer(200, ONE);
	cr_expect(check_str(fake_provider_found(&f), ONE_FOUND));
	/* Another status of the first step is an error. */
	rest_refresh(&f.p);
	fake_http_answer(403, "");
	cr_assert(*fake_provider_error(&f));
	cr_expect(!*fake_http_next());
	fake_provider_close(&f);
}

/* A target for each item of the second step, named by the first one. */
static void map_looked_up(struct rest_run *r, const struct yaml_node *item)
{
	const struct yaml_node *owner =
		rest_lookup(r, 0, doc_text(item, "owner"));

	group_target(&r->b);
	group_address(&r->b, doc_text(item, "host"), 1);
	group_label(&r->b, "owner", doc_text(owner, "name"));
}

Test(rest_source, items_of_earlier_steps_can_be_looked_up)
{
	struct fake_provider f;

	OPEN(&f, { .path = "/owners", .items = "", .index = "id" },
	     { .path = "/items", .items = "*.hosts" });
	table.map = map_looked_up;
	rest_refresh(&f.p);
	fake_http_answer(200, "[{\"id\": 1, \"name\": \"x\"},"
			      "{\"id\": 2, \"name\": \"y\"},"
			      "{\"id\": 2, \"name\": \"z\"}]");
	fake_http_answer(200, "[{\"hosts\": [{\"host\": \"a\", \"owner\": 2},"
			      "{\"host\": \"b\", \"owner\": 9}]},"
			      "{\"hosts\": {\"host\": \"c\", \"owner\": 1}}]");
	cr_expect(check_str(fake_provider_found(&f),
			    "> __address__=a:1 owner=y\n> __address__=b:1\n"
			    "> __address__=c:1 owner=x"));
	fake_provider_close(&f);
}

/* The second step asks for each item of the first one. */
static bool write_item_url(struct rest_run *r, size_t i, struct buf *out)
{
	const struct yaml_node *item = rest_item(r, 0, i);

	if (!item)
		return false;
	buf_printf(out, "/item/%.*s", STR_ARG(doc_text(item, "id")));
	return true;
}

/* A target for each answer of the second step. */
static int finish_all(struct rest_run *r, struct err *err)
{
	if (!rest_count(r, 1))
		return err_set(err, ERR_INVALID, "there is nothing");
	for (size_t i = 0; i < rest_count(r, 1); i++) {
		const struct yaml_node *of =
			rest_item(r, 0, rest_item_url(r, 1, i));

		group_target(&r->b);
		group_address(&r->b, doc_text(rest_item(r, 1, i), "host"), 1);
		group_label(&r->b, "id", doc_text(of, "id"));
	}
	return 0;
}

Test(rest_source, a_step_can_ask_for_each_item_of_another)
{
	struct fake_provider f;

	OPEN(&f, { .path = "/list", .items = "" },
	     { .url = write_item_url, .items = "hosts" });
	table.finish = finish_all;
	rest_refresh(&f.p);
	fake_http_answer(200, "[{\"id\": \"a\"}, {\"id\": \"b\"}]");
	cr_expect(fake_http_is("GET http://api/item/a\n"));
	fake_http_answer(200, "{\"hosts\": []}");
	cr_expect(fake_http_is("GET http://api/item/b\n"));
	fake_http_answer(200, "{\"hosts\": [{\"host\": \"h\"}]}");
	cr_expect(check_str(fake_provider_found(&f), "> __address__=h:1 id=b"));
	rest_refresh(&f.p);
	fake_http_answer(200, "[]");
	cr_expect(
		check_str(str_of(fake_provider_error(&f)), "there is nothing"));
	cr_expect(check_str(fake_provider_found(&f), "> __address__=h:1 id=b"));
	fake_provider_close(&f);
}

/* An account whose token is asked for, and forgotten when it is refused. */
struct made_account {
	char token[16]; /* empty: none */
	int forgotten;
};

static struct made_account *the_account;

static void *account_open(const struct rest_config *c UNUSED)
{
	the_account = mem_new(struct made_account);
	return the_account;
}

static int account_next(void *data, struct rest_request *q,
			struct err *err UNUSED)
{
	if (!*((struct made_account *)data)->token) {
		buf_str(&q->url, "http://login/token");
		rest_header_add(q, "X-Secret", str_of("s"));
	}
	return 0;
}

static int account_take(void *data, const struct http_response *a,
			struct err *err)
{
	struct made_account *m = data;
	int rc = rest_answer_check(a, false, err);

	if (!rc)
		snprintf(m->token, sizeof(m->token), "%.*s",
			 STR_ARG(str_from(buf_bytes(&a->body))));
	return rc;
}

static void account_forget(void *data)
{
	struct made_account *m = data;

	m->forgotten++;
	m->token[0] = 0;
}

static void account_close(void *data)
{
	mem_free(data);
}

static const struct rest_account_kind account = {
	.open = account_open,
	.next = account_next,
	.take = account_take,
	.forget = account_forget,
	.close = account_close,
};

static void prepare_token(struct rest_run *r, struct rest_request *q)
{
	const struct made_account *m = r->account;

	rest_header_add(q, "Authorization", str_of(m->token));
}

Test(rest_source, credentials_are_asked_for_once_and_again_when_refused)
{
	struct fake_provider f;

	memset(steps, 0, sizeof(steps));
	steps[0] = (struct rest_step){ .path = "/items", .items = "list" };
	table.map = NULL;
	table.finish = NULL;
	table.needs = NULL;
	table.account = &account;
	table.prepare = prepare_token;
	fake_provider_open(&f, &kind, "{server: 'http://api'}");
	rest_refresh(&f.p);
	cr_expect(fake_http_is("GET http://login/token\nX-Secret: s\n"));
	cr_expect(fake_http.v.v[0].r.has_secret);
	fake_http_answer(200, "t1");
	cr_expect(fake_http_is("GET http://api/items\nAuthorization: t1\n"));
	cr_expect(fake_http.v.v[1].r.has_secret);
	fake_http_answer(200, ONE);
	rest_refresh(&f.p);
	cr_expect(fake_http_is("GET http://api/items\nAuthorization: t1\n"));
	fake_http_answer(401, "");
	cr_expect(the_account->forgotten == 1);
	rest_refresh(&f.p);
	fake_http_answer(500, "");
	cr_expect(strstr(fake_provider_error(&f), "http://login/token"), "%s",
		  fake_provider_error(&f));
	cr_expect(check_str(fake_provider_found(&f), ONE_FOUND));
	rest_refresh(&f.p);
	fake_http_answer(200, "t2");
	cr_expect(fake_http_is("GET http://api/items\nAuthorization: t2\n"));
	/* Another error says nothing about the credentials. */
	fake_http_answer(503, "");
	cr_expect(the_account->forgotten == 1);
	fake_provider_close(&f);
}

Test(rest_source, the_first_page_is_written_from_the_step)
{
	struct rest_config c = { .server = str_of("http://x"),
				 .table = &table };
	struct rest_run r = { .config = &c, .server = c.server };
	struct rest_request q = { 0 };

	memset(steps, 0, sizeof(steps));
	steps[0].path = "/a";
	cr_expect(rest_step_of(&r) == &steps[0]);
	cr_expect(rest_page_first(&r, &q));
	cr_expect(check_str(str_from(buf_bytes(&q.url)), "http://x/a"));
	rest_request_fini(&q);
	r.url_number = 1;
	cr_expect(!rest_page_first(&r, &q), "a path is one URL");
	rest_request_fini(&q);
}

/* The first mistake of an entry; "": it has none. */
static const char *mistake_of(const char *entry)
{
	static char text[200];
	struct yaml y;

	yaml_parse(&y, "e", bytes_of(str_of(entry)));
	(void)discovery_entry_decode(&y, y.root, &kind);
	snprintf(text, sizeof(text), "%.*s", STR_ARG(yaml_first_error(&y)));
	yaml_fini(&y);
	return text;
}

Test(rest_config, ports_are_checked)
{
	cr_expect(!*mistake_of("{port: 65535}"));
	cr_expect(strstr(mistake_of("{port: 65536}"), "port"));
	cr_expect(strstr(mistake_of("{port: -1}"), "port"));
	cr_expect(strstr(mistake_of("{refresh_interval: 0s}"),
			 "refresh_interval"));
}

Test(rest_config, filters_are_names_with_lists_of_texts)
{
	static const struct {
		const char *text;
		bool ok;
	} cases[] = {
		{ "[{name: a, values: [b, c]}, {name: d}]", true },
		{ "[]", true },
		{ "{name: a}", false },
		{ "[a]", false },
		{ "[{values: [b]}]", false },
		{ "[{name: a, values: b}]", false },
		{ "[{name: a, values: [{}]}]", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct yaml y;
		bool ok;

		yaml_parse(&y, "f", bytes_of(str_of(cases[i].text)));
		ok = filter_list_check(&y, y.root);
		cr_expect(ok == cases[i].ok, "%s", cases[i].text);
		cr_expect(!y.error_count == ok, "%s", cases[i].text);
		yaml_fini(&y);
	}
}
