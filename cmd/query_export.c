/* SPDX-License-Identifier: Apache-2.0 */
/* everprof query export: writes all profiles of a time range to a tar. */
#include "cmd/query_fetch.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cmd/cmd.h"

/* The output of an export while the body is received. */
struct saving {
	/* name of the file, which is opened when the first bytes arrive */
	const char *output;
	struct file *f;
	uint64_t size;
	struct err err;
};

/*
 * Open the output. This happens when the first bytes arrive, because a failed
 * request must not destroy the contents of the file.
 */
static bool open_output(struct saving *s)
{
	return !file_open(NULL, s->output, FILE_OUTPUT, &s->f, &s->err) &&
	       !file_truncate(s->f, 0, &s->err);
}

/*
 * Write a piece of the body to the output. Returns false if writing failed,
 * which cancels the request; the reason is in s->err or, for standard output,
 * is reported by main().
 */
static bool query_report_write_chunk(void *ctx, struct bytes b)
{
	struct saving *s = ctx;

	if (!strcmp(s->output, "-"))
		return !b.len || fwrite(b.ptr, 1, b.len, stdout) == b.len;
	if (!s->f && !open_output(s))
		return false;
	if (file_write(s->f, s->size, b, &s->err))
		return false;
	s->size += b.len;
	return true;
}

/*
 * If the request was cancelled because writing failed, the error of writing is
 * reported instead of the error of the request.
 */
static int query_report_export(struct query_command *j, struct err *err)
{
	struct saving s = { .output = j->output };
	struct http_response r = { 0 };
	int rc;

	j->q.sink = query_report_write_chunk;
	j->q.sink_ctx = &s;
	rc = query_fetch(&j->q, &r, err);
	if (s.err.code)
		rc = err_set(err, s.err.code, "%s", s.err.msg);
	buf_fini(&r.body);
	file_close(s.f);
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
		fprintf(stderr, "everprof: -o FILE is missing (see --help)\n");
		return 2;
	}
	query_path(&j.q, "/api/v1/export");
	query_param(&j.q, "query", argv[0]);
	query_param(&j.q, "from", *j.from ? j.from : "now-1h");
	query_param(&j.q, "to", *j.to ? j.to : "now");
	rc = query_report_export(&j, &err);
	query_fini(&j.q);
	return rc ? cmd_fail(&err) : 0;
}
