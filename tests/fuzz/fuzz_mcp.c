/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes messages of the Model Context Protocol: reading them, and the arguments of the
 * tools, which run on a database only in the tests of tests/integration.
 */
#include <stdlib.h>

#include "mcp/tools/tools.h"
#include "mcp/wire/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read the arguments of a call for each of the tools. */
static void fuzz_arguments(const struct rpc_message *m)
{
	struct arena arena = { 0 };

	for (const struct tool *t = tools_list(); t->name; t++) {
		struct err err = { .msg = "" };
		struct tool_call c = {
			.arena = &arena,
			.args = t->args,
			.arguments =
				m->params ? yaml_child(m->params, "arguments") :
					    NULL,
		};

		if (tool_call_read(&c, &err)) {
			if (!*err.msg)
				abort();
			continue;
		}
		for (const struct tool_arg *a = t->args; a->name; a++) {
			int64_t n = a->is_number ?
					    tool_call_number(&c, a->name) :
					    a->min;

			if (n < a->min || (a->is_number && n > a->max))
				abort();
		}
	}
	arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rpc_message m;
	struct rpc rpc;
	struct err err;

	if (!rpc_parse(&rpc, (struct bytes){ data, size }, &err)) {
		for (size_t i = 0; i < rpc.count; i++) {
			if (!rpc_read(&rpc, i, &m, &err))
				fuzz_arguments(&m);
		}
	}
	rpc_fini(&rpc);
	return 0;
}
