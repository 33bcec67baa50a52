/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of JSON-RPC: which are requests, and how responses repeat their ids. */
#include "mcp/wire/rpc.h"

#include "tests/check.h"

/* Read a message, and answer it with an empty result, or with the error of reading. */
static void expect_answer(const char *message, const char *want)
{
	struct buf out = { 0 };
	struct json j = json_init(&out);
	struct rpc_message m;
	struct rpc rpc;
	struct err err;

	cr_assert(!rpc_parse(&rpc, bytes_of(str_of(message)), &err), "%s",
		  err.msg);
	if (rpc_read(&rpc, 0, &m, &err)) {
		rpc_write_error(&j, &m, RPC_INVALID, err.msg, NULL, NULL);
	} else if (m.id) {
		rpc_begin_result(&j, &m);
		rpc_end_result(&j);
	}
	cr_expect(check_str(str_from(buf_bytes(&out)), want));
	buf_fini(&out);
	rpc_fini(&rpc);
}

#define INVALID(id, text)                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32600," \
	"\"message\":\"" text "\"}}"

Test(rpc, a_response_has_the_id_of_its_request)
{
	static const struct {
		const char *message;
		const char *answer;
	} cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}",
		  "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"method\":\"ping\"}",
		  "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"ping\",\"params\":{}}",
		  "{\"jsonrpc\":\"2.0\",\"id\":-1,\"result\":{}}" },
		/* A notification has no response. */
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_answer(cases[i].message, cases[i].answer);
}

Test(rpc, what_is_no_request_is_named)
{
	static const struct {
		const char *message;
		const char *answer;
	} cases[] = {
		{ "{\"id\":7,\"method\":\"ping\"}",
		  INVALID("7",
			  "the message has no \\\"jsonrpc\\\": \\\"2.0\\\"") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"a\"}",
		  INVALID("\"a\"",
			  "the message has no method: it is no request") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}",
		  INVALID("null",
			  "the id must be a text, or a whole number of 64 bits") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
		  INVALID("null",
			  "the id must be a text, or a whole number of 64 bits") },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
		  INVALID("1", "the parameters must be an object") },
		{ "5",
		  INVALID("null",
			  "the message has no \\\"jsonrpc\\\": \\\"2.0\\\"") },
		{ "[5]",
		  INVALID("null",
			  "the message has no \\\"jsonrpc\\\": \\\"2.0\\\"") },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_answer(cases[i].message, cases[i].answer);
}

Test(rpc, what_is_no_json_is_refused)
{
	static const char *const cases[] = { "", "{", "{} {}", "nul" };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rpc rpc;
		struct err err;

		cr_expect(rpc_parse(&rpc, bytes_of(str_of(cases[i])), &err) ==
				  ERR_INVALID,
			  "%s", cases[i]);
		rpc_fini(&rpc);
	}
}
