/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof push: sends the profiles of data directories, files, folders and
 * tars to a receiver of remote write. The receiver accepts a profile twice, so
 * a push may be repeated; with --resume.file it goes on where it was
 * interrupted.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "client/address/endpoint.h"
#include "cmd/cli/api_client.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/cli/http_file.h"
#include "cmd/cli/version.h"
#include "cmd/tools/push_source.h"
#include "cmd/tools/push_state.h"
#include "remotewrite/send/pusher.h"

/* How often the progress is shown on a terminal. */
#define SHOW_NS 500000000LL

/* The flags. */
struct push_flags {
	struct query server; /* of which only the server's flags are used */
	const char *labels;
	const char *from;
	const char *to;
	const char *resume;
	int64_t rate;
	int64_t retry_ms;
	int64_t max_profile;
};

/* A push. */
struct push {
	struct push_flags flags;
	struct sample_maker maker;
	struct http_config *http; /* NULL: none */
	struct pusher *pusher;
	int64_t from;
	int64_t to;

	struct push_state state;  /* what is settled */
	struct push_state resume; /* what was settled when the push began */
	uint64_t seen;            /* profiles of this step that were read */
	/* what identifies the profiles that are not settled yet */
	VEC(uint64_t) keys;

	uint64_t sent;
	uint64_t refused;
	uint64_t bytes; /* of requests */
	int64_t ms;     /* time of the profile that was read last */
	int64_t began_ns;
	int64_t shown_ns;
	bool shown;
	bool failing; /* the last request failed */
};

/* Remove the line of progress. */
static void hide_progress(struct push *p)
{
	if (p->shown)
		fprintf(stderr, "\r\033[K");
	p->shown = false;
}

/* Show how far the push has come, if stderr is a terminal. */
static void push_show(struct push *p)
{
	int64_t now = clock_mono_ns();
	double seconds = (double)(now - p->began_ns) / 1e9;
	char at[40];

	if (!isatty(STDERR_FILENO) || now - p->shown_ns < SHOW_NS)
		return;
	p->shown_ns = now;
	time_format(p->ms, at);
	fprintf(stderr,
		"\r\033[K%" PRIu64 " profiles sent, %.1f MB, %.1f MB/s, at %s",
		p->sent, (double)p->bytes / 1e6,
		(double)p->bytes / 1e6 / (seconds + 0.001), at);
	fflush(stderr);
	p->shown = true;
}

/* pusher_options.sent */
static void push_note_bytes(void *ctx, size_t bytes)
{
	struct push *p = ctx;

	p->bytes += bytes;
}

/* pusher_options.retries: only the first of a row of failures is reported. */
static void push_note_retry(void *ctx, const char *why)
{
	struct push *p = ctx;

	if (p->failing)
		return;
	p->failing = true;
	hide_progress(p);
	console_say("%s; retrying", why);
}

/* pusher_options.settled: counts the profiles, and saves the position. */
static int push_settle(void *ctx, size_t count, size_t refused, const char *why,
		       struct err *err)
{
	struct push *p = ctx;

	p->failing = false;
	p->sent += count - refused;
	p->refused += refused;
	if (refused) {
		hide_progress(p);
		console_say("the server refused %zu of the profiles: %s",
			    refused, why);
	}
	p->state.count += count;
	p->state.last = p->keys.v[count - 1];
	vec_remove(&p->keys, 0, count);
	push_show(p);
	return *p->flags.resume ?
		       push_state_save(p->flags.resume, &p->state, err) :
		       0;
}

/*
 * A hash of the series and time of a profile, which identifies it in its step.
 */
static uint64_t push_key(const struct sample *s)
{
	const uint64_t v[] = { labels_digest(s->labels), (uint64_t)s->ms };

	return hash_bytes(
		(struct bytes){ .ptr = (const uint8_t *)v, .len = sizeof(v) });
}

/* push_visitor.begin */
static void push_begin_step(void *ctx, int64_t ms)
{
	struct push *p = ctx;

	if (p->state.source != p->resume.source || ms != p->resume.step)
		p->resume.count = 0;
	p->seen = 0;
	p->state.step = ms;
	p->state.count = p->resume.count;
}

/*
 * Whether a profile is settled already. ERR_AGAIN: the step has other profiles
 * than at that time, so that all of it has to be sent again.
 */
static int is_settled(struct push *p, uint64_t key, bool *out, struct err *err)
{
	*out = p->seen++ < p->resume.count;
	if (p->seen == p->resume.count && key != p->resume.last)
		return err_set(err, ERR_AGAIN, "the source has changed");
	return 0;
}

/*
 * Add the server, and a hint at the usual cause, to what the server caused. If
 * the server is not everprof at all, its own words would mislead.
 */
static int name_server(const struct push *p, int rc, struct err *err)
{
	CLEANUP(mem_freep)
	char *shown = endpoint_url_shown(p->flags.server.server);
	const struct err was = *err;

	if (rc == ERR_INVALID &&
	    query_check_server(&p->flags.server, p->http, err))
		return rc;
	if (rc != ERR_CLOSED && rc != ERR_INVALID && rc != ERR_TIMEOUT)
		return rc;
	return err_set(
		err, rc, "%s: %s%s", shown, was.msg,
		strstr(was.msg, "onnect to ") &&
				!strstr(was.msg, "this is the proxy") ?
			": is an everprof server running at this address (--server)?" :
			"");
}

/* push_visitor.visit: sends a profile. */
static int push_visit(void *ctx, const struct sample *s, struct err *err)
{
	struct push *p = ctx;
	uint64_t key = push_key(s);
	bool settled = false;
	int rc = is_settled(p, key, &settled, err);

	if (rc)
		return rc;
	if (settled)
		return 0;
	p->ms = s->ms;
	*vec_add(&p->keys) = key;
	rc = pusher_add(p->pusher, s, err);
	return rc ? name_server(p, rc, err) : 0;
}

/* push_visitor.end */
static int push_end_step(void *ctx, struct err *err)
{
	struct push *p = ctx;
	int rc;

	if (p->seen < p->resume.count)
		return err_set(err, ERR_AGAIN, "the source has changed");
	rc = pusher_flush(p->pusher, err);
	return rc ? name_server(p, rc, err) : 0;
}

/* push_visitor.bad: reports what cannot be sent. */
static void push_note_bad(void *ctx, const struct err *err)
{
	struct push *p = ctx;

	hide_progress(p);
	console_say("%s", err->msg);
	p->refused++;
}

/* Send the profiles of one source. */
static int push_one_source(struct push *p, const char *path, struct err *err)
{
	int64_t skip_before = p->state.source == p->resume.source ?
				      p->resume.step :
				      INT64_MIN;
	const struct push_visitor v = { .maker = &p->maker,
					.from = p->from,
					.to = p->to,
					.skip_before = skip_before,
					.begin = push_begin_step,
					.visit = push_visit,
					.end = push_end_step,
					.bad = push_note_bad,
					.ctx = p };
	int rc = push_source_walk(path, &v, err);

	if (rc != ERR_AGAIN)
		return rc;
	/* Profiles that are sent twice do no harm. */
	p->resume.count = 0;
	return push_source_walk(path, &v, err);
}

/* The hash of everything that decides which profiles are sent, and whereto. */
static uint64_t push_id(const struct push_flags *f, int argc, char **argv)
{
	struct buf all = { 0 };
	uint64_t id;

	buf_printf(&all, "%s\n%s\n%s\n%s\n", f->server.server, f->labels,
		   f->from, f->to);
	for (int i = 0; i < argc; i++)
		buf_printf(&all, "%s\n", argv[i]);
	id = hash_bytes(buf_bytes(&all));
	buf_fini(&all);
	return id;
}

/* Parse a flag that is a time; an empty text leaves *out as it is. */
static int push_parse_time(const char *flag, const char *text, int64_t *out,
			   struct err *err)
{
	int rc;

	if (!*text || str_to_i64(str_of(text), out))
		return 0;
	rc = time_parse(str_of(text), clock_ms(NULL), out, err);
	return rc ? err_wrap(err, rc, "%s", flag) : 0;
}

/* Send the profiles of all sources, from where an earlier run has stopped. */
static int push_all(struct push *p, int argc, char **argv, struct err *err)
{
	int rc = 0;

	for (int i = (int)p->resume.source; i < argc && !rc; i++) {
		p->state.source = (uint64_t)i;
		rc = push_one_source(p, argv[i], err);
	}
	/* Another run of the command sends what came in the meantime. */
	if (!rc && *p->flags.resume && unlink(p->flags.resume) < 0 &&
	    errno != ENOENT)
		rc = err_sys(err, "remove %s", p->flags.resume);
	return rc;
}

/* Make the pusher, and send everything. */
static int push_run(struct push *p, int argc, char **argv, struct err *err)
{
	struct pusher_options o = { .user_agent = EVERPROF_USER_AGENT,
				    .timeout_ms = p->flags.server.timeout_ms,
				    .retry_ms = p->flags.retry_ms,
				    .rate = p->flags.rate,
				    .settled = push_settle,
				    .retries = push_note_retry,
				    .sent = push_note_bytes,
				    .ctx = p };
	int rc = http_file_load(p->flags.server.http_config, &p->http, err);

	o.http = p->http;
	query_path(&p->flags.server, "/api/v1/write");
	o.url = buf_cstr(&p->flags.server.url);
	if (!rc)
		rc = pusher_new(&o, &p->pusher, err);
	p->began_ns = clock_mono_ns();
	if (!rc)
		rc = push_all(p, argc, argv, err);
	hide_progress(p);
	pusher_free(p->pusher);
	http_config_unref(p->http);
	return rc;
}

/* Parse the values of the flags. */
static int push_parse(struct push *p, int argc, char **argv, struct err *err)
{
	int rc = sample_maker_init(&p->maker, p->flags.labels,
				   p->flags.max_profile, err);

	p->from = INT64_MIN;
	p->to = INT64_MAX;
	if (!rc)
		rc = push_parse_time("--from", p->flags.from, &p->from, err);
	if (!rc)
		rc = push_parse_time("--to", p->flags.to, &p->to, err);
	p->resume.step = INT64_MIN;
	p->resume.id = push_id(&p->flags, argc, argv);
	if (!rc && *p->flags.resume)
		rc = push_state_load(p->flags.resume, &p->resume, err);
	p->state = p->resume;
	return rc;
}

/* Print how many profiles were sent, skipped and refused. */
static void push_report(const struct push *p)
{
	printf("%" PRIu64 " profiles sent, ", p->sent);
	if (p->resume.step != INT64_MIN)
		printf("the others were sent by an earlier push, ");
	printf("%" PRIu64 " refused\n", p->refused);
	fflush(stdout);
}

int cmd_push(int argc, char **argv)
{
	struct push p = { .flags = { .server = query_init(),
				     .labels = "",
				     .from = "",
				     .to = "",
				     .resume = "",
				     .retry_ms = 600000,
				     .max_profile = 64 * MIB } };
	const struct flag flags[] = {
		SERVER_FLAGS(p.flags.server),
		{ "labels", FLAG_TEXT, &p.flags.labels, NULL,
		  "Labels that all profiles get, such as {agent=\"a1\"}. For files, if they include the type, no labels are taken from the path." },
		{ "from", FLAG_TEXT, &p.flags.from, NULL,
		  "Only profiles from this time on: ms, RFC 3339 or now-1h." },
		{ "to", FLAG_TEXT, &p.flags.to, NULL,
		  "Only profiles up to this time." },
		{ "resume.file", FLAG_TEXT, &p.flags.resume, NULL,
		  "File that records the progress of the push. After an interruption, the same command resumes from it. The file is removed at the end." },
		{ "rate", FLAG_SIZE, &p.flags.rate, "0",
		  "Maximum bytes of requests a second; 0 means no limit." },
		{ "retry.time", FLAG_DURATION, &p.flags.retry_ms, "10m",
		  "For how long requests are retried after the last one that succeeded." },
		{ "scrape.max-profile-size", FLAG_SIZE, &p.flags.max_profile,
		  "64MB",
		  "Maximum size of a profile of a file, decompressed; larger profiles are refused." },
		{ 0 },
	};
	static const struct usage u = {
		"push SOURCE… [FLAGS]",
		"Send profiles to a server that runs with --web.enable-remote-write-receiver. SOURCE\n"
		"is a data directory of serve or of agent, which may be in use, or what tsdb import\n"
		"takes: files, folders and tars of <job>/<type>/<unix ms>.pb.gz, or a conprof data\n"
		"directory. Profiles that the server has already are not stored twice. Exit with 1\n"
		"when a profile was refused.",
		1, 1000000
	};
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	rc = push_parse(&p, argc, argv, &err);
	if (!rc) {
		rc = push_run(&p, argc, argv, &err);
		push_report(&p);
	}
	sample_maker_fini(&p.maker);
	query_fini(&p.flags.server);
	vec_fini(&p.keys);
	if (rc)
		return cmd_fail(&err);
	return p.refused ? 1 : 0;
}
