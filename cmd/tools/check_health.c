/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof check health: ask a server, also one that only this machine can
 * reach, for probes that run a command.
 */
#include "cmd/cli/api_client.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"

int cmd_check_health(int argc, char **argv)
{
	struct query q = query_init();
	bool ready = false;
	const struct flag flags[] = {
		SERVER_FLAGS(q),
		{ "ready", FLAG_BOOL, &ready, "false",
		  "Ask whether the server has opened its storage, too." },
		{ 0 },
	};
	static const struct usage u = {
		"check health [FLAGS]",
		"Ask a server whether it is healthy: whether it answers requests. Print the answer.\n"
		"Exit with 1 if the server does not answer in time, or is not ready.",
		0, 0
	};
	struct http_response r = { 0 };
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	query_path(&q, ready ? "/-/ready" : "/-/healthy");
	rc = query_fetch(&q, &r, &err);
	if (!rc)
		console_lines(stdout, str_from(buf_bytes(&r.body)));
	buf_fini(&r.body);
	query_fini(&q);
	return rc ? cmd_fail(&err) : 0;
}
