/* SPDX-License-Identifier: Apache-2.0 */
/* everprof query export: writes all profiles of a time range to a tar. */
#include "cmd/query/query_fetch.h"

#include <inttypes.h>
#include <string.h>

#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/cli/output.h"

/* The output of an export while the body is received. */
struct saving {
	/* name of the file, which is opened when the first bytes arrive */
	const char *path;
	struct output output;
	bool open;
	uint64_t size;
	struct err err;
};

/*
 * Write a piece of the body to the output. The file is opened when the first
 * bytes arrive, because a failed request must not destroy its contents. Returns
 * false if writing failed, which cancels the request; the reason is in s->err
 * or, for standard output, is reported by main().
 */
static bool query_report_write_chunk(void *ctx, struct bytes b)
{
	struct saving *s = ctx;

	s->size += b.len;
	if (!strcmp(s->path, "-"))
		return !b.len || fwrite(b.ptr, 1, b.len, stdout) == b.len;
	if (!s->open && output_open(&s->output, s->path, &s->err))
		return false;
	s->open = true;
	return !output_write(&s->output, b, &s->err);
}

/*
 * Receive and write the tar, and say how large it is. If the request was
 * cancelled because writing failed, the error of writing is reported instead of
 * the error of the request.
 */
static int query_report_export(struct query_command *j, struct err *err)
{
	struct saving s = { .path = j->output };
	struct http_response r = { 0 };
	int rc;

	j->q.sink = query_report_write_chunk;
	j->q.sink_ctx = &s;
	rc = query_fetch(&j->q, &r, err);
	if (s.err.code)
		rc = err_set(err, s.err.code, "%s", s.err.msg);
	else if (ferror(stdout))
		rc = 0; /* main() reports it */
	buf_fini(&r.body);
	if (s.open && !rc)
		rc = output_close(&s.output, err);
	else if (s.open)
		(void)!output_close(&s.output, NULL);
	if (!rc && s.open)
		console_say("wrote %s: %" PRIu64 " bytes", s.path, s.size);
	return rc;
}

/* An export may take hours, so the timeout is a day. */
int cmd_query_export(int argc, char **argv)
{
	static const struct usage u = {
		"query export SELECTOR -o FILE.tar [FLAGS]",
		"Write all profiles that match a selector in a time range to a tar archive. Its files are\n"
		"named SERIES/MS.pb.gz.",
		1, 1
	};
	struct query_command j;
	struct err err;
	int code;
	int rc;

	query_fetch_init(&j);
	j.q.timeout_ms = 24LL * 3600 * 1000;
	query_fetch_add_server(&j);
	query_fetch_add_range(&j, false);
	code = cmd_begin(&u, j.flags, &argc, argv);
	if (code >= 0)
		return code;
	if (!*j.output) {
		console_say("-o FILE is missing (see --help)");
		return 2;
	}
	query_path(&j.q, "/api/v1/export");
	query_param(&j.q, "query", argv[0]);
	query_param(&j.q, "from", *j.from ? j.from : "now-1h");
	query_param(&j.q, "to", *j.to ? j.to : "now");
	rc = output_check_name(j.output, false, "a tar", &err);
	if (!rc)
		rc = query_report_export(&j, &err);
	query_fini(&j.q);
	return rc ? cmd_fail(&err) : 0;
}
