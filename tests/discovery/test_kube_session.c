/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watches of a Kubernetes discovery, with an API server that the test plays:
 * which request follows which answer, and what stays when an answer is an error.
 */
#include "discovery/kubernetes/kube_watch.h"

#include "base/clock.h"
#include "discovery/core/kinds.h"
#include "tests/discovery/fake_loop.h"
#include "tests/discovery/fake_provider.h"

TestSuite(kube_session, .timeout = 60);

struct session {
	struct fake_provider f;
	struct kube_session s;
};

/* Begin a session that watches pods. */
static void session_begin(struct session *x, const char *entry)
{
	fake_provider_init(&x->f, &provider_kubernetes, entry);
	x->f.p.call_ns = INT64_MAX;
	kube_session_init(&x->s, &x->f.p);
	x->s.access =
		kube_access_new(&x->f.p, str_of("http://h"), str_of(""), NULL);
	kube_session_add(&x->s, KUBE_POD, str_of(""));
}

static void session_end(struct session *x)
{
	kube_session_fini(&x->s);
	fake_provider_fini(&x->f);
}

/* Start what is due; returns the request that waits then. */
static const char *session_run(struct session *x)
{
	(void)kube_session_run(&x->s);
	return fake_http_next();
}

/* Whether the next request begins so; starts what is due. */
static bool session_asks(struct session *x, const char *want)
{
	(void)session_run(x);
	return fake_http_is(want);
}

#define POD(name, version)                                                  \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\","         \
	"\"resourceVersion\":\"" version "\"},\"spec\":{\"containers\":[{}" \
	"]},\"status\":{\"podIP\":\"10.0.0.1\"}}"
#define LIST(version, items)                            \
	"{\"metadata\":{\"resourceVersion\":\"" version \
	"\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

#define FIRST_LIST "GET http://h/api/v1/pods?limit=500&resourceVersion=0\n"
#define WATCH      "GET http://h/api/v1/pods?watch=true&allowWatchBookmarks=true&"

/* Whether a pod is known. */
static bool has_pod(const struct session *x, const char *name)
{
	return kube_store_find(&x->s.stores, KUBE_POD, str_of("n"),
			       str_of(name)) != NULL;
}

#define ENTRY "{role: pod, api_server: 'http://h'}"

Test(kube_session, objects_are_listed_by_pages_and_then_watched)
{
	struct session x;

	session_begin(&x, ENTRY);
	cr_expect(!kube_session_is_synced(&x.s));
	cr_expect(session_asks(&x, FIRST_LIST));
	fake_http_answer(
		200, "{\"metadata\":{\"resourceVersion\":\"5\","
		     "\"continue\":\"a b\"},\"items\":[" POD("p1", "3") "]}");
	cr_expect(!kube_session_is_synced(&x.s));
	cr_expect(session_asks(
		&x, "GET http://h/api/v1/pods?limit=500&continue=a%20b\n"));
	fake_http_answer(200, LIST("5", POD("p2", "4")));
	cr_assert(kube_session_is_synced(&x.s));
	cr_expect(x.s.stores.changed);
	cr_assert(has_pod(&x, "p1"));
	cr_expect(has_pod(&x, "p2"));
	cr_expect(session_asks(&x, WATCH));
	cr_expect(strstr(fake_http_next(), "&resourceVersion=5\n"), "%s",
		  fake_http_next());
	session_end(&x);
}

/* Begin a session whose list has these pods. */
static void session_list(struct session *x, const char *list)
{
	session_begin(x, ENTRY);
	cr_assert(session_asks(x, FIRST_LIST));
	fake_http_answer(200, list);
	cr_assert(session_asks(x, WATCH));
}

Test(kube_session, events_change_the_objects_and_move_the_version)
{
	struct session x;

	session_list(&x, LIST("5", POD("p1", "3") "," POD("p2", "4")));
	fake_http_answer(
		200,
		EVENT("ADDED", POD("p3", "6")) EVENT("DELETED", POD("p1", "7"))
			EVENT("BOOKMARK", "{\"metadata\":{"
					  "\"resourceVersion\":\"9\"}}"));
	cr_assert(!has_pod(&x, "p1"));
	cr_expect(has_pod(&x, "p2"));
	cr_expect(has_pod(&x, "p3"));
	cr_expect(!*fake_provider_error(&x.f));
	/* The next watch goes on from there, but not at once. */
	cr_expect(!*session_run(&x));
	cr_expect(x.s.watches.v[0]->due_ns > clock_mono_ns());
	x.s.watches.v[0]->due_ns = 0;
	cr_expect(session_asks(&x, WATCH));
	cr_expect(strstr(fake_http_next(), "&resourceVersion=9\n"), "%s",
		  fake_http_next());
	session_end(&x);
}

Test(kube_session, a_new_list_removes_what_is_missing)
{
	struct session x;

	session_list(&x, LIST("5", POD("p1", "3") "," POD("p2", "4")));
	/* The version has expired long after the list. */
	x.s.watches.v[0]->listed_ns -= 60000000000LL;
	fake_http_answer(410, "");
	cr_expect(has_pod(&x, "p1"), "until the new list says otherwise");
	cr_expect(session_asks(&x, "GET http://h/api/v1/pods?limit=500&"
				   "resourceVersion=5\n"));
	fake_http_answer(200, LIST("8", POD("p2", "4")));
	cr_assert(!has_pod(&x, "p1"));
	cr_expect(has_pod(&x, "p2"));
	session_end(&x);
}

Test(kube_session, an_error_event_ends_a_watch_like_a_status)
{
	struct session x;

	session_list(&x, LIST("5", POD("p1", "3")));
	x.s.watches.v[0]->listed_ns -= 60000000000LL;
	fake_http_answer(200,
			 EVENT("ERROR", "{\"code\":410,\"message\":\"old\"}"));
	cr_expect(session_asks(&x, "GET http://h/api/v1/pods?limit=500&"));
	cr_expect(!*fake_provider_error(&x.f), "an expired version is none");
	session_end(&x);
	session_list(&x, LIST("5", POD("p1", "3")));
	fake_http_answer(200,
			 EVENT("ERROR", "{\"code\":503,\"message\":\"busy\"}"));
	cr_expect(strstr(fake_provider_error(&x.f), "busy"), "%s",
		  fake_provider_error(&x.f));
	cr_expect(has_pod(&x, "p1"));
	cr_expect(!*session_run(&x), "there is a pause");
	session_end(&x);
}

Test(kube_session, a_version_that_expires_at_once_is_waited_for)
{
	struct session x;

	session_list(&x, LIST("5", POD("p1", "3")));
	fake_http_answer(410, "");
	cr_expect(!*session_run(&x));
	cr_expect(x.s.watches.v[0]->wants_list);
	session_end(&x);
}

Test(kube_session, a_list_that_the_server_cannot_serve_is_asked_for_otherwise)
{
	struct session x;

	session_begin(&x, ENTRY);
	cr_expect(session_asks(&x, FIRST_LIST));
	/* It does not have the version: the newest list is wanted. */
	fake_http_answer(504, "");
	cr_expect(session_asks(&x, "GET http://h/api/v1/pods?limit=500\n"));
	fake_http_answer(200, "{\"metadata\":{\"resourceVersion\":\"5\","
			      "\"continue\":\"c\"},\"items\":[]}");
	cr_expect(session_asks(&x, "GET http://h/api/v1/pods?limit=500&"
				   "continue=c\n"));
	/* The page has expired: the list is wanted as one page. */
	fake_http_answer(410, "");
	cr_expect(session_asks(&x, "GET http://h/api/v1/pods\n"));
	fake_http_answer(200, LIST("6", POD("p1", "3")));
	cr_assert(has_pod(&x, "p1"));
	cr_expect(!*fake_provider_error(&x.f));
	session_end(&x);
}

Test(kube_session, a_list_with_a_mistake_keeps_the_objects)
{
	static const struct {
		const char *answer;
		const char *why;
	} cases[] = {
		{ "{\"metadata\":{},\"items\":[]}", "no resourceVersion" },
		{ "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[",
		  "not complete" },
		{ "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[}]}",
		  "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct session x;

		session_list(&x, LIST("5", POD("p1", "3")));
		x.s.watches.v[0]->listed_ns -= 60000000000LL;
		fake_http_answer(410, "");
		cr_assert(session_asks(&x, "GET http://h/api/v1/pods?limit"));
		fake_http_answer(200, cases[i].answer);
		cr_assert(*fake_provider_error(&x.f), "%s",
			  fake_provider_error(&x.f));
		cr_expect(strstr(fake_provider_error(&x.f), cases[i].why), "%s",
			  fake_provider_error(&x.f));
		cr_expect(has_pod(&x, "p1"), "%zu", i);
		cr_expect(!*session_run(&x), "there is a pause");
		session_end(&x);
	}
}

Test(kube_session, a_list_that_would_never_end_is_an_error)
{
	struct session x;

	session_begin(&x, ENTRY);
	cr_expect(session_asks(&x, FIRST_LIST));
	for (int i = 0; i < 2; i++) {
		fake_http_answer(200,
				 "{\"metadata\":{\"resourceVersion\":"
				 "\"5\",\"continue\":\"c\"},\"items\":[]}");
		(void)session_run(&x);
	}
	cr_expect(strstr(fake_provider_error(&x.f), "the same page again"),
		  "%s", fake_provider_error(&x.f));
	session_end(&x);
}

Test(kube_session, refusals_say_which_rights_are_needed)
{
	struct session x;

	session_begin(&x, ENTRY);
	cr_expect(session_asks(&x, FIRST_LIST));
	fake_http_answer(403, "");
	cr_expect(strstr(fake_provider_error(&x.f),
			 "the rights to list and to watch"),
		  "%s", fake_provider_error(&x.f));
	cr_expect(strstr(fake_provider_error(&x.f), "pods: "), "%s",
		  fake_provider_error(&x.f));
	session_end(&x);
}

Test(kube_session, the_server_says_how_long_to_wait)
{
	struct session x;
	int64_t left;

	session_begin(&x, ENTRY);
	cr_expect(session_asks(&x, FIRST_LIST));
	fake_http_answer_with(429, "Retry-After: 100", "");
	left = kube_session_run(&x.s);
	cr_assert(left > 90000, "%lld", (long long)left);
	cr_expect(left <= 100001, "%lld", (long long)left);
	session_end(&x);
}

Test(kube_session, an_error_that_ends_is_forgotten)
{
	struct session x;

	session_list(&x, LIST("5", ""));
	fake_http_break(ERR_IO, "connection refused");
	cr_expect(strstr(fake_provider_error(&x.f), "connection refused"));
	cr_expect(!*session_run(&x), "there is a pause");
	x.s.watches.v[0]->due_ns = 0;
	cr_expect(session_asks(&x, "GET http://h/api/v1/pods?"));
	fake_http_answer(200, x.s.watches.v[0]->phase == KUBE_LISTING ?
				      LIST("6", "") :
				      EVENT("ADDED", POD("p1", "6")));
	cr_expect(!*fake_provider_error(&x.f), "%s", fake_provider_error(&x.f));
	session_end(&x);
}

Test(kube_session, namespaces_and_selectors_are_a_part_of_the_request)
{
	struct session x;

	fake_provider_init(&x.f, &provider_kubernetes,
			   "{role: pod, api_server: 'http://h', selectors: "
			   "[{role: pod, label: 'a=b', field: 'c=d'}]}");
	kube_session_init(&x.s, &x.f.p);
	x.s.access =
		kube_access_new(&x.f.p, str_of("http://h"), str_of(""), NULL);
	kube_session_add(&x.s, KUBE_POD, str_of("n m"));
	kube_session_add(&x.s, KUBE_NODE, str_of("n m"));
	cr_expect(session_asks(&x,
			       "GET http://h/api/v1/namespaces/n%20m/pods?"
			       "limit=500&resourceVersion=0&"
			       "labelSelector=a%3Db&fieldSelector=c%3Dd\n"));
	fake_http_answer(200, LIST("1", ""));
	/* Nodes have no namespace. */
	cr_expect(fake_http_is("GET http://h/api/v1/nodes?limit=500&"));
	cr_expect(!kube_session_is_synced(&x.s));
	session_end(&x);
}

Test(kube_session, a_session_that_ends_cancels_its_requests)
{
	struct session x;

	session_begin(&x, ENTRY);
	cr_expect(session_asks(&x, FIRST_LIST));
	kube_session_fini(&x.s);
	cr_expect(fake_http.v.v[0].is_cancelled);
	fake_provider_fini(&x.f);
}
