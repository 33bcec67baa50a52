/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flags of `everprof serve` and of reports: defaults, bounds, and the
 * conversions of flags that are not plain numbers.
 */
#include "base/fs.h"
#include "base/units.h"
#include "cmd/query/report_flags.h"
#include "cmd/serve/serve_flags.h"
#include "tests/check.h"

TestSuite(serve_flags, .timeout = 20);

/* Parse one argument on top of the defaults. */
static int parse_flag(struct serve_flags *f, const char *argument,
		      struct err *err)
{
	struct flag list[SERVE_FLAGS_MAX];
	static char text[256];
	char *argv[] = { text, NULL };
	int argc = *argument != 0;
	bool help;

	snprintf(text, sizeof(text), "%s", argument);
	serve_flags_init(f, COMMAND_SERVE, list);
	return flags_parse(list, &argc, argv, &help, err);
}

Test(serve_flags, defaults_are_in_their_own_bounds)
{
	struct flag list[SERVE_FLAGS_MAX];
	struct serve_flags f;
	struct err err = { .msg = "" };
	size_t n = serve_flags_init(&f, COMMAND_SERVE, list);

	cr_assert(n > 20);
	cr_assert(n < SERVE_FLAGS_MAX);
	cr_expect(!list[n].name);
	cr_expect(!serve_flags_check(&f, &err), "%s", err.msg);
	cr_expect(f.retention_ms == 90LL * 24 * 3600 * 1000);
	cr_expect(f.retention_ms == RETENTION_DEFAULT_MS);
	cr_assert(f.wal_budget == 512 * MIB);
	cr_expect(f.max_profile == 64 * MIB);
	cr_assert(!f.lifecycle, "what is dangerous is off");
	cr_assert(!f.admin_api, "what is dangerous is off");
	cr_assert(!f.access_log, "what is dangerous is off");
	cr_expect(!f.auto_reload, "what is dangerous is off");
	cr_assert(!f.web_config);
	cr_assert(!f.cors_origin);
	cr_expect(!f.allowed_hosts);
	for (size_t i = 0; i < n; i++) {
		const char *out = list[i].out;

		cr_assert(list[i].help, "%s", list[i].name);
		cr_expect(list[i].help[0], "%s", list[i].name);
		cr_assert(out >= (const char *)&f);
		cr_expect(out < (const char *)(&f + 1));
		for (size_t k = 0; k < i; k++) {
			cr_expect(strcmp(list[i].name, list[k].name) != 0);
			cr_expect(list[i].out != list[k].out, "%s and %s",
				  list[i].name, list[k].name);
		}
	}
}

Test(serve_flags, values_outside_of_their_bounds_are_refused)
{
	static const struct {
		const char *flag;
		const char *bounds; /* NULL: it is accepted */
	} cases[] = {
		{ "--web.max-connections=1", NULL },
		{ "--web.max-connections=0", "1 and 100000" },
		{ "--web.max-connections=100000", NULL },
		{ "--web.max-connections=100001", "1 and 100000" },
		{ "--web.rate-limit=0", NULL },
		{ "--web.rate-limit=1000001", "0 and 1000000" },
		{ "--web.read-timeout=1s", NULL },
		{ "--web.read-timeout=999ms", "1s and 1d" },
		{ "--web.read-timeout=1d", NULL },
		{ "--web.read-timeout=1d1ms", "1s and 1d" },
		{ "--config.auto-reload-interval=99ms", "100ms and 1d" },
		{ "--query.timeout=1ms", NULL },
		{ "--query.timeout=0", "1ms and 1d" },
		{ "--query.max-concurrency=1001", "1 and 1000" },
		{ "--storage.tsdb.wal-budget=8MB", NULL },
		{ "--storage.tsdb.wal-budget=8388607", "8MB and 1024GB" },
		{ "--storage.tsdb.wal-budget=1TB", NULL },
		{ "--storage.tsdb.wal-budget=2TB", "8MB and 1024GB" },
		{ "--storage.tsdb.max-series=0", NULL },
		{ "--storage.tsdb.max-series=100000001", "0 and 100000000" },
		{ "--scrape.max-profile-size=1KB", NULL },
		{ "--scrape.max-profile-size=1023", "1KB and 1023MB" },
		{ "--scrape.max-profile-size=1023MB", NULL },
		{ "--scrape.max-profile-size=1GB", "1KB and 1023MB" },
		{ "--ingest.memory=4MB", NULL },
		{ "--ingest.memory=3MB", "4MB and 1024GB" },
		{ "--query.memory=0", NULL },
		{ "--storage.tsdb.retention.time=1000y", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str value;
		struct str name = str_cut(str_of(cases[i].flag), '=', &value);
		struct serve_flags f;
		struct err err = { .msg = "" };
		char want[64];
		int rc;

		cr_assert(!parse_flag(&f, cases[i].flag, &err), "%s", err.msg);
		rc = serve_flags_check(&f, &err);
		cr_expect(rc == (cases[i].bounds ? ERR_INVALID : 0), "%s: %s",
			  cases[i].flag, err.msg);
		snprintf(want, sizeof(want), "%.*s must", STR_ARG(name));
		cr_expect(!rc || (strstr(err.msg, want) &&
				  strstr(err.msg, cases[i].bounds)),
			  "%s: %s", cases[i].flag, err.msg);
	}
}

Test(serve_flags, logs_are_of_a_level_and_a_format)
{
	static const struct {
		const char *flag;
		enum log_level level;
		bool json;
		const char *why; /* NULL: it is accepted */
	} cases[] = {
		{ "", LOG_INFO, false, NULL },
		{ "--log.level=debug", LOG_DEBUG, false, NULL },
		{ "--log.level=error", LOG_ERROR, false, NULL },
		{ "--log.format=json", LOG_INFO, true, NULL },
		{ "--log.level=Debug", LOG_INFO, false, "--log.level" },
		{ "--log.level=", LOG_INFO, false, "--log.level" },
		{ "--log.format=JSON", LOG_INFO, false, "--log.format" },
		{ "--log.format=text", LOG_INFO, false, "\"text\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct serve_flags f;
		struct log log = { 0 };
		struct err err = { .msg = "" };
		int rc;

		cr_assert(!parse_flag(&f, cases[i].flag, &err));
		rc = serve_flags_log(&f, &log, &err);
		cr_expect(rc == (cases[i].why ? ERR_INVALID : 0), "%s",
			  cases[i].flag);
		cr_expect(!rc == (!cases[i].why));
		cr_expect(rc ? strstr(err.msg, cases[i].why) != NULL :
			       log.level == cases[i].level &&
					  log.json == cases[i].json &&
					  log.fd == 2,
			  "%s", cases[i].flag);
	}
}

Test(serve_flags, the_wal_is_synced_after_a_time_or_always)
{
	static const struct {
		const char *value;
		int64_t ms; /* 0: it is refused */
	} cases[] = {
		{ "1s", 1000 },    { "always", -1 }, { "1ms", 1 },
		{ "1h", 3600000 }, { "0", 0 },       { "0s", 0 },
		{ "never", 0 },    { "Always", 0 },  { "", 0 },
		{ "-1s", 0 },      { "1", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct serve_flags f = { .wal_fsync = cases[i].value };
		struct err err;
		int64_t ms = 5;
		int rc = serve_flags_sync(&f, &ms, &err);

		cr_expect(rc == (cases[i].ms ? 0 : ERR_INVALID), "%s",
			  cases[i].value);
		cr_expect(rc ? strstr(err.msg, "--storage.tsdb.wal-fsync") !=
					  NULL :
			       ms == cases[i].ms,
			  "%s", cases[i].value);
	}
}

Test(serve_flags, the_retention_is_a_size_or_a_share_of_the_disk)
{
	static const struct {
		const char *value;
		int64_t bytes; /* -1: it is refused */
		int percent;   /* -1: it is a size */
	} cases[] = {
		{ "0", 0, -1 },     { "20GB", 20 * GIB, -1 }, { "80%", 0, 80 },
		{ "100%", 0, 100 }, { "1%", 0, 1 },           { "101%", -1, 0 },
		{ "-1%", -1, 0 },   { "%", -1, 0 },           { "1.5%", -1, 0 },
		{ " 5%", -1, 0 },   { "20 GB", -1, 0 },       { "", -1, 0 },
		{ "much", -1, 0 },  { "5%%", -1, 0 },
	};
	uint64_t total = 0;
	uint64_t available = 0;

	cr_assert(!fs_space(".", &total, &available, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct serve_flags f = { .retention_size = cases[i].value,
					 .path = "." };
		struct err err;
		int64_t bytes = -5;
		int rc = serve_flags_retention(&f, &bytes, &err);

		if (cases[i].bytes < 0) {
			cr_assert(rc == ERR_INVALID, "%s", cases[i].value);
			cr_expect(strstr(err.msg,
					 "--storage.tsdb.retention.size"),
				  "%s", cases[i].value);
			continue;
		}
		cr_expect(!rc, "%s: %s", cases[i].value, err.msg);
		cr_expect(bytes == (cases[i].percent < 0 ?
					    cases[i].bytes :
					    (int64_t)(total / 100) *
						    cases[i].percent),
			  "%s: %lld", cases[i].value, (long long)bytes);
	}
}

Test(serve_flags, a_new_directory_is_on_the_disk_of_its_nearest_parent)
{
	static const struct {
		const char *path;
		const char *parent;
	} cases[] = {
		{ "data", "." },
		{ "none/data//", "." },
		{ "./none/data", "." },
		{ "/none/such/folder", "/" },
		{ "/none", "/" },
		/* It has no size, unlike the working directory. */
		{ "/proc/none/data", "/proc" },
		{ "/proc/self/../none", "/proc" },
		{ "/dev/shm/none/data", "/dev/shm" },
		{ "", "." },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct serve_flags f = { .retention_size = "50%",
					 .path = cases[i].path };
		uint64_t total = 1;
		uint64_t available = 0;
		uint64_t disk = 7;
		int64_t bytes = -5;
		struct err err = { 0 };

		cr_assert(!fs_space(cases[i].parent, &total, &available, &err));
		cr_assert(!serve_flags_disk(&f, &disk, &err), "%s: %s",
			  cases[i].path, err.msg);
		cr_expect(disk == total, "%s: %s", cases[i].path, err.msg);
		cr_expect(!serve_flags_retention(&f, &bytes, &err));
		cr_expect(bytes == (int64_t)(total / 100) * 50, "%s",
			  cases[i].path);
	}
}

/* Report flags, and their list, which ends with an empty entry. */
struct reported {
	struct report_flags values;
	struct flag list[REPORT_FLAGS_MAX + 1];
	size_t count;
};

static void reported_init(struct reported *r)
{
	*r = (struct reported){ 0 };
	r->count = (size_t)(report_flags_list(&r->values, r->list) - r->list);
}

static int parse_report(struct reported *r, const char *const *words,
			struct err *err)
{
	static char texts[8][64];
	char *argv[9] = { NULL };
	int argc = 0;
	bool help;

	reported_init(r);
	for (; words[argc]; argc++) {
		snprintf(texts[argc], sizeof(texts[0]), "%s", words[argc]);
		argv[argc] = texts[argc];
	}
	return flags_parse(r->list, &argc, argv, &help, err);
}

Test(serve_flags, every_report_option_is_a_flag)
{
	const struct report_option_help *help = report_option_list();
	struct reported r;
	size_t n = 0;

	reported_init(&r);
	for (; help[n].name; n++) {
		cr_assert(n < r.count);
		cr_assert(n < REPORT_FLAGS_MAX);
		cr_expect(!strcmp(r.list[n].name, help[n].name));
		cr_expect(!strcmp(r.list[n].help, help[n].help));
		cr_expect((r.list[n].kind == FLAG_BOOL) == help[n].is_switch);
	}
	cr_assert(r.count == n);
	cr_expect(n > 20);
}

Test(serve_flags, report_flags_become_report_options)
{
	static const char *const none[] = { NULL };
	static const char *const some[] = {
		"--focus=main", "--nodecount=5",   "--sort=cum", "--no-trim",
		"--mean",       "--divide_by=2.5", NULL
	};
	struct report_options o;
	struct reported r;
	struct err err = { .msg = "" };

	cr_assert(!parse_report(&r, none, &err));
	cr_expect(!report_flags_options(&r.values, &o, &err), "%s", err.msg);
	cr_assert(o.trim);
	cr_assert(!o.mean);
	cr_assert(!o.cum);
	cr_expect(o.node_count == -1);
	cr_assert(!o.names.focus[0].len);
	cr_expect(o.divide_by == 1);
	cr_assert(!parse_report(&r, some, &err), "%s", err.msg);
	cr_expect(!report_flags_options(&r.values, &o, &err), "%s", err.msg);
	cr_assert(check_str(o.names.focus[0], "main"));
	cr_expect(o.node_count == 5);
	cr_assert(o.cum);
	cr_assert(!o.trim);
	cr_assert(o.mean);
	cr_expect(o.divide_by == 2.5);
}

Test(serve_flags, wrong_report_options_are_named)
{
	static const char *const cases[][3] = {
		{ "--nodecount=x", NULL, "nodecount" },
		{ "--nodecount=-2", NULL, "nodecount" },
		{ "--sort=name", NULL, "sort" },
		{ "--granularity=none", NULL, "granularity" },
		{ "--divide_by=x", NULL, "divide_by" },
		{ "--nodefraction=many", NULL, "nodefraction" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report_options o;
		struct reported r;
		struct err err = { .msg = "" };

		cr_assert(!parse_report(&r, cases[i], &err), "%s", err.msg);
		cr_expect(report_flags_options(&r.values, &o, &err) ==
				  ERR_INVALID,
			  "%s", cases[i][0]);
		cr_expect(strstr(err.msg, cases[i][2]) != NULL, "%s", err.msg);
	}
}

/* Appends an option to the buffer `ctx`, as a part of a URL query. */
static void note_option(void *ctx, const char *name, const char *value)
{
	buf_printf(ctx, "%s=%s&", name, value);
}

Test(serve_flags, options_that_were_not_given_are_not_named)
{
	static const char *const words[] = { "--unit=MB", "--noinlines",
					     "--focus=", NULL };
	struct reported r;
	struct buf out = { 0 };

	cr_assert(!parse_report(&r, words, NULL));
	report_flags_each(&r.values, note_option, &out);
	cr_expect(check_str(
		str_from(buf_bytes(&out)),
		"focus=&noinlines=true&ignore_versions=false&symbolize=true&"
		"unit=MB&trim=true&"
		"drop_negative=false&relative_percentages=false&"
		"mean=false&invert=false&"));
	buf_fini(&out);
}
