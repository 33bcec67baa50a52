/* SPDX-License-Identifier: Apache-2.0 */
/* Running queries: their list, and their end when the client goes away. */
#include "web/guard/running.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tests/check.h"

TestSuite(running, .timeout = 30);

static bool list_is(struct running *r, const char *want)
{
	struct buf out = { 0 };
	struct json j = json_init(&out);
	bool same;

	running_json(r, &j);
	same = check_str(str_from(buf_bytes(&out)), want);
	buf_fini(&out);
	return same;
}

#define REST(started, done, profiles, bytes)                         \
	"\"path\":\"/api/v1/query\",\"query\":\"cpu{a=\\\"b\\\"}\"," \
	"\"user\":\"\",\"started\":" started ",\"done\":" done       \
	",\"profiles\":" profiles ",\"bytes\":" bytes "}"

Test(running, queries_are_listed_until_they_end)
{
	struct running *r = running_new();
	struct running_query q[3];

	for (int i = 0; i < 3; i++)
		q[i] = (struct running_query){
			.path = str_of("/api/v1/query"),
			.query = str_of("cpu{a=\"b\"}"),
			.started_ms = 10 + i,
			.fd = -1,
		};
	cr_expect(list_is(r, "[]"));
	running_add(r, &q[0], str_of("mine-1_A"));
	running_add(r, &q[1], str_of(""));
	running_add(r, &q[2], str_of("<img>"));
	q[1].progress.profiles = 100;
	q[1].progress.done = 40;
	q[1].progress.bytes = 4096;
	cr_expect(list_is(
		r,
		"[{\"id\":\"mine-1_A\"," REST("10", "0", "0", "0") ",{\"id\":\"1\"," REST(
			"11", "40", "100",
			"4096") ",{\"id\":\"2\"," REST("12", "0", "0",
						       "0") "]"));
	running_remove(r, &q[1]);
	running_remove(r, &q[1]);
	running_remove(r, &q[0]);
	cr_expect(list_is(r, "[{\"id\":\"2\"," REST("12", "0", "0", "0") "]"));
	running_remove(r, &q[2]);
	cr_expect(list_is(r, "[]"));
	running_free(r);
}

Test(running, long_identifiers_are_replaced)
{
	char id[RUNNING_ID_SIZE + 1];
	struct running *r = running_new();
	struct running_query q = { .fd = -1 };

	memset(id, 'a', sizeof(id));
	running_add(r, &q, (struct str){ id, RUNNING_ID_SIZE - 1 });
	cr_expect(strlen(q.id) == RUNNING_ID_SIZE - 1);
	running_remove(r, &q);
	running_add(r, &q, (struct str){ id, RUNNING_ID_SIZE });
	cr_expect(!strcmp(q.id, "1"));
	running_remove(r, &q);
	running_free(r);
}

Test(running, a_query_is_cancelled_once_its_client_has_gone)
{
	/* The client closes the connection, or only stops to send. */
	for (int half = 0; half < 2; half++) {
		struct running *r = running_new();
		struct running_query q = { 0 };
		int fds[2];

		cr_assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
		q.fd = fds[0];
		running_add(r, &q, str_of("x"));
		cr_assert(running_sweep(r) == 0);
		cr_expect(!q.progress.cancelled);
		/*
		 * A further request that waits to be read does not mean that
		 * the client is gone.
		 */
		cr_assert(write(fds[1], "GET", 3) == 3);
		cr_assert(running_sweep(r) == 0);
		cr_expect(!q.progress.cancelled);
		if (half)
			cr_assert(!shutdown(fds[1], SHUT_WR));
		else
			cr_assert(!close(fds[1]));
		cr_assert(running_sweep(r) == 1);
		cr_expect(q.progress.cancelled);
		cr_expect(running_sweep(r) == 0, "it is counted once");
		running_remove(r, &q);
		running_free(r);
		close(fds[0]);
		if (half)
			close(fds[1]);
	}
}
