/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof serve: storage, scraper and web, from start to ordered stop.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/units.h"
#include "client/networks.h"
#include "cmd/cmd.h"
#include "cmd/live.h"
#include "cmd/notify.h"
#include "cmd/process.h"
#include "cmd/version.h"
#include "discovery/manager.h"
#include "pprof/columns.h"
#include "scrape/scrape.h"
#include "tsdb/stats.h"
#include "tsdb/tsdb.h"
#include "web/web.h"

#define FLAGS_MAX       40
#define SMALL_RETENTION (64 * MIB)
#define DAY_MS          (24LL * 3600 * 1000)

struct serve {
	/* Flags. */
	const char *config_file;
	int64_t auto_reload_ms;
	const char *address;
	const char *web_config;
	const char *allowed_hosts;
	const char *cors_origin;
	int64_t max_connections;
	int64_t rate_limit;
	int64_t slow_client_rate;
	int64_t slow_ms;
	int64_t read_timeout_ms;
	const char *path;
	int64_t retention_ms;
	const char *retention_size;
	int64_t max_series;
	const char *wal_fsync;
	int64_t wal_budget;
	int64_t query_timeout_ms;
	int64_t max_concurrency;
	int64_t query_memory;
	const char *source_path;
	int64_t max_profile;
	const char *refused_networks;
	int64_t ingest_memory;
	const char *log_level;
	const char *log_format;
	bool auto_reload;
	bool lifecycle;
	bool admin_api;
	bool access_log;

	struct flag flags[FLAGS_MAX];
	struct web_flag shown[FLAGS_MAX];
	char values[FLAGS_MAX][256];
	size_t flag_count;

	struct log log;
	struct networks *refused; /* of refused_networks */
	struct live *live;
	struct metrics *metrics;
	struct tsdb *db;
	struct scraper *scraper;
	struct discovery *discovery;
	struct web *web;
};

static void set_defaults(struct serve *s)
{
	s->config_file = "everprof.yaml";
	s->auto_reload_ms = 30000;
	s->address = "127.0.0.1:10902";
	s->max_connections = 512;
	s->rate_limit = 1000;
	s->slow_client_rate = 4 * KIB;
	s->slow_ms = 10000;
	s->read_timeout_ms = 5LL * 60 * 1000;
	s->path = "data";
	s->retention_ms = RETENTION_DEFAULT_MS;
	s->retention_size = "80%";
	s->max_series = 200000;
	s->wal_fsync = "1s";
	s->wal_budget = 512 * MIB;
	s->query_timeout_ms = 30000;
	s->max_concurrency = 20;
	s->query_memory = 256 * MIB;
	s->max_profile = 64 * MIB;
	s->ingest_memory = 128 * MIB;
	s->log_level = "info";
	s->log_format = "logfmt";
}

static void add_flag(struct serve *s, const char *name, enum flag_kind kind,
		     void *out, const char *otherwise, const char *help)
{
	s->flags[s->flag_count++] =
		(struct flag){ name, kind, out, otherwise, help };
}

static void make_flags(struct serve *s)
{
	add_flag(s, "config.file", FLAG_TEXT, &s->config_file, "everprof.yaml",
		 "What to scrape: docs/configuration.md.");
	add_flag(s, "config.auto-reload", FLAG_BOOL, &s->auto_reload, "no",
		 "Load the configuration again when the file has changed.");
	add_flag(s, "config.auto-reload-interval", FLAG_DURATION,
		 &s->auto_reload_ms, "30s",
		 "How often to look whether it has.");
	add_flag(s, "web.listen-address", FLAG_TEXT, &s->address,
		 "127.0.0.1:10902", "Where API and page are; port 0: any.");
	add_flag(s, "web.config.file", FLAG_TEXT, &s->web_config, NULL,
		 "Who may ask: users, tokens, scopes; docs/security.md.");
	add_flag(
		s, "web.cors.origin", FLAG_TEXT, &s->cors_origin, NULL,
		"Origins whose pages may ask: a regex, https://(a|b)\\.example.");
	add_flag(s, "web.max-connections", FLAG_INT, &s->max_connections, "512",
		 "HTTP connections at once.");
	add_flag(s, "web.rate-limit", FLAG_INT, &s->rate_limit, "1000",
		 "Requests a second of one client address; 0: no limit.");
	add_flag(
		s, "web.slow-client-rate", FLAG_SIZE, &s->slow_client_rate,
		"4KB",
		"Bytes a second that a client must take of an answer, over 30s; slower ones are closed. 0: no limit.");
	add_flag(
		s, "web.allowed-hosts", FLAG_TEXT, &s->allowed_hosts, NULL,
		"Names, separated by commas, by which the server may be asked, beside addresses and localhost. By default any; without authentication on a loopback address none.");
	add_flag(s, "web.access-log", FLAG_BOOL, &s->access_log, "no",
		 "Log each request.");
	add_flag(s, "web.slow-request", FLAG_DURATION, &s->slow_ms, "10s",
		 "Requests that take longer are logged.");
	add_flag(s, "web.read-timeout", FLAG_DURATION, &s->read_timeout_ms,
		 "5m", "Idle HTTP connections are closed after this.");
	add_flag(s, "storage.tsdb.path", FLAG_TEXT, &s->path, "data",
		 "The data directory; made when missing.");
	add_flag(s, "storage.tsdb.retention.time", FLAG_DURATION,
		 &s->retention_ms, "90d",
		 "Older profiles are removed; 0: none for its age.");
	add_flag(
		s, "storage.tsdb.retention.size", FLAG_TEXT, &s->retention_size,
		"80%",
		"Beyond it the oldest are removed: bytes, or a share of the disk; 0: no bound.");
	add_flag(
		s, "storage.tsdb.max-series", FLAG_INT, &s->max_series,
		"200000",
		"Series in memory; beyond it they are sealed into blocks early. 0: no bound.");
	add_flag(s, "storage.tsdb.wal-fsync", FLAG_TEXT, &s->wal_fsync, "1s",
		 "Time between syncs of the WAL, or always.");
	add_flag(s, "storage.tsdb.wal-budget", FLAG_SIZE, &s->wal_budget,
		 "512MB", "Size of the WAL at which it is flushed.");
	add_flag(s, "web.enable-lifecycle", FLAG_BOOL, &s->lifecycle, "no",
		 "Answer POST /-/reload and /-/quit.");
	add_flag(s, "web.enable-admin-api", FLAG_BOOL, &s->admin_api, "no",
		 "Answer /api/v1/admin/…, which deletes and takes snapshots.");
	add_flag(s, "query.timeout", FLAG_DURATION, &s->query_timeout_ms, "30s",
		 "Queries that take longer end with an error.");
	add_flag(s, "query.max-concurrency", FLAG_INT, &s->max_concurrency,
		 "20", "Queries at once; others wait.");
	add_flag(s, "query.memory", FLAG_SIZE, &s->query_memory, "256MB",
		 "Memory of all queries together.");
	add_flag(s, "query.source-path", FLAG_TEXT, &s->source_path, NULL,
		 "Folder of sources, for report=source to show their text.");
	add_flag(s, "scrape.max-profile-size", FLAG_SIZE, &s->max_profile,
		 "64MB", "Larger profiles (decompressed) are refused.");
	add_flag(
		s, "scrape.refused-networks", FLAG_TEXT, &s->refused_networks,
		NULL,
		"Networks, separated by commas, that targets, redirects and discoveries must not lead into, such as 169.254.0.0/16,fe80::/10.");
	add_flag(
		s, "ingest.memory", FLAG_SIZE, &s->ingest_memory, "128MB",
		"Memory of all profiles on their way in; beyond it they wait.");
	add_flag(s, "log.level", FLAG_TEXT, &s->log_level, "info",
		 "debug, info, warn or error.");
	add_flag(s, "log.format", FLAG_TEXT, &s->log_format, "logfmt",
		 "logfmt or json.");
	s->flags[s->flag_count] = (struct flag){ 0 };
}

static void show_flags(struct serve *s)
{
	for (size_t i = 0; i < s->flag_count; i++) {
		flag_format(&s->flags[i], s->values[i], sizeof(s->values[i]));
		s->shown[i] =
			(struct web_flag){ s->flags[i].name, s->values[i] };
	}
}

static int parse_networks(struct serve *s, struct err *err)
{
	int rc = networks_parse(s->refused_networks ?: "", &s->refused, err);

	return rc ? err_wrap(err, rc, "--scrape.refused-networks") : 0;
}

static int check_flags(struct serve *s, int64_t *sync_ms, struct err *err)
{
	s->log.fd = STDERR_FILENO;
	if (!log_level_parse(str_of(s->log_level), &s->log.level))
		return err_set(err, ERR_INVALID,
			       "--log.level: there is no level \"%s\"",
			       s->log_level);
	s->log.json = !strcmp(s->log_format, "json");
	if (!s->log.json && strcmp(s->log_format, "logfmt") != 0)
		return err_set(err, ERR_INVALID,
			       "--log.format is logfmt or json, not \"%s\"",
			       s->log_format);
	if (s->max_concurrency < 1 || s->max_concurrency > 1000 ||
	    s->max_connections < 1 || s->max_connections > 100000)
		return err_set(
			err, ERR_INVALID,
			"--query.max-concurrency is 1 to 1000, --web.max-connections 1 to 100000");
	if (s->query_timeout_ms < 1 || s->query_timeout_ms > DAY_MS ||
	    s->read_timeout_ms < 1000 || s->read_timeout_ms > DAY_MS)
		return err_set(
			err, ERR_INVALID,
			"--query.timeout is 1ms to 1d, --web.read-timeout 1s to 1d");
	if (s->rate_limit > 1000000)
		return err_set(err, ERR_INVALID,
			       "--web.rate-limit is 0 to 1000000");
	if (s->max_series < 0 || s->max_series > 100000000)
		return err_set(err, ERR_INVALID,
			       "--storage.tsdb.max-series is 0 to 100000000");
	if (s->wal_budget < 8 * MIB)
		return err_set(err, ERR_INVALID,
			       "--storage.tsdb.wal-budget is at least 8MB");
	if (s->max_profile < KIB || s->max_profile > 1023 * MIB)
		return err_set(err, ERR_INVALID,
			       "--scrape.max-profile-size is 1KB to 1023MB");
	if (s->ingest_memory < 4 * MIB || s->ingest_memory > 1024 * GIB)
		return err_set(err, ERR_INVALID,
			       "--ingest.memory is 4MB to 1024GB");
	if (s->auto_reload_ms < 100 || s->auto_reload_ms > DAY_MS)
		return err_set(err, ERR_INVALID,
			       "--config.auto-reload-interval is 100ms to 1d");
	*sync_ms = -1;
	if (!strcmp(s->wal_fsync, "always"))
		return 0;
	if (duration_parse(str_of(s->wal_fsync), sync_ms, err) || *sync_ms < 1)
		return err_set(
			err, ERR_INVALID,
			"--storage.tsdb.wal-fsync is a duration, such as 1s, or always");
	return 0;
}

/* Bytes, or a share of the disk that the data directory is on. */
static int parse_share(struct serve *s, int64_t *bytes, struct err *err)
{
	struct str text = str_of(s->retention_size);
	uint64_t total = 0;
	uint64_t available = 0;
	int64_t percent = 0;

	if (!text.len || text.ptr[text.len - 1] != '%') {
		int rc = size_parse(text, bytes, err);

		return rc ? err_wrap(err, rc, "--storage.tsdb.retention.size") :
			    0;
	}
	text.len--;
	if (!str_to_i64(text, &percent) || percent < 0 || percent > 100)
		return err_set(
			err, ERR_INVALID,
			"--storage.tsdb.retention.size is a size, such as 20GB, or 1%% to 100%%");
	/* The directory may not be there yet: then ask where it will be. */
	if (fs_space(s->path, &total, &available, err) &&
	    fs_space(".", &total, &available, err))
		return err->code;
	*bytes = (int64_t)(total / 100) * percent;
	return 0;
}

/* What is removed before anybody can look at it was not meant to be. */
static void warn_of_size(struct serve *s, int64_t bytes)
{
	if (bytes && bytes < SMALL_RETENTION)
		log_event(
			&s->log, LOG_WARN,
			"--storage.tsdb.retention.size is so small that profiles may be removed as soon as they are stored",
			LOG_FIELDS(log_int("bytes", bytes)));
}

static int start_storage(struct serve *s, int64_t sync_ms, struct err *err)
{
	struct tsdb_options o = { .columns = &codec_columns,
				  .path = s->path,
				  .log = &s->log,
				  .metrics = s->metrics,
				  .retention_ms = s->retention_ms,
				  .max_series = s->max_series,
				  .wal_budget = s->wal_budget,
				  .sync_ms = sync_ms };
	int64_t started = clock_mono_ns();
	struct tsdb_stats stats;
	int rc = parse_share(s, &o.retention_bytes, err);

	if (!rc)
		warn_of_size(s, o.retention_bytes);
	if (!rc)
		rc = tsdb_open(&o, &s->db, err);
	if (rc)
		return rc;
	tsdb_stats(s->db, &stats);
	process_register(s->metrics, s->db);
	log_event(&s->log, LOG_INFO, "storage is open",
		  LOG_FIELDS(log_text("path", s->path),
			     log_int("blocks", (int64_t)stats.blocks),
			     log_int("profiles_in_blocks",
				     (int64_t)stats.block_samples),
			     log_int("series", (int64_t)stats.series),
			     log_int("ranges", (int64_t)stats.ranges),
			     log_int("unflushed", (int64_t)stats.pending),
			     log_int("took_ms",
				     (clock_mono_ns() - started) / 1000000)));
	return 0;
}

static void on_discovered(void *ctx, struct str job,
			  const struct target_groups_list *groups)
{
	struct serve *s = ctx;

	scrape_update(s->scraper, job, groups);
}

static int start_scraper(struct serve *s, struct err *err)
{
	struct scrape_options so = { .appender = tsdb_appender(s->db),
				     .log = &s->log,
				     .metrics = s->metrics,
				     .max_profile = (size_t)s->max_profile,
				     .ingest_memory = s->ingest_memory,
				     .user_agent = EVERPROF_USER_AGENT,
				     .refused = s->refused };
	struct discovery_options o = { .log = &s->log,
				       .metrics = s->metrics,
				       .user_agent = EVERPROF_USER_AGENT,
				       .refused = s->refused,
				       .update = on_discovered,
				       .ctx = s };
	struct live_options lo = { .log = &s->log, .metrics = s->metrics };
	int rc = scrape_start(&so, &s->scraper, err);

	if (!rc)
		rc = discovery_start(&o, &s->discovery, err);
	if (rc)
		return rc;
	lo.scraper = s->scraper;
	lo.discovery = s->discovery;
	live_start(s->live, &lo);
	return 0;
}

static int on_reload(void *ctx, struct err *err)
{
	struct serve *s = ctx;

	return live_reload(s->live, err);
}

static void on_config(void *ctx, struct buf *out)
{
	struct serve *s = ctx;

	live_text(s->live, out);
}

/* The main thread waits for the signal. */
static void on_quit(void *ctx UNUSED)
{
	kill(getpid(), SIGTERM);
}

/* A flag with an empty value is one that is not given. */
static const char *given(const char *flag)
{
	return flag && *flag ? flag : NULL;
}

static int start_web(struct serve *s, struct err *err)
{
	struct web_options o = {
		.db = s->db,
		.scraper = s->scraper,
		.lifecycle = { .ctx = s,
			       .enabled = s->lifecycle,
			       .config = on_config,
			       .reload = on_reload,
			       .quit = on_quit },
		.flags = s->shown,
		.flag_count = s->flag_count,
		.version = EVERPROF_VERSION,
		.revision = EVERPROF_REVISION,
		.retention_ms = s->retention_ms,
		.admin_api = s->admin_api,
		.address = s->address,
		.allowed_hosts = given(s->allowed_hosts),
		.cors_origin = given(s->cors_origin),
		.config_file = given(s->web_config),
		.max_connections = (unsigned)s->max_connections,
		.rate_limit = s->rate_limit,
		.slow_client_rate = s->slow_client_rate,
		.access_log = s->access_log,
		.slow_ms = s->slow_ms,
		.max_concurrency = (unsigned)s->max_concurrency,
		.read_timeout_ms = s->read_timeout_ms,
		.query_timeout_ms = s->query_timeout_ms,
		.query_memory = s->query_memory,
		.source_root = given(s->source_path),
		.log = &s->log,
		.metrics = s->metrics
	};

	return web_start(&o, &s->web, err);
}

static void announce(struct serve *s)
{
	const char *exposure = web_exposure(s->web);
	CLEANUP(mem_freep)
	char *host = mem_strndup((struct str){
		.ptr = s->address,
		.len = (size_t)(strrchr(s->address, ':') - s->address) });
	CLEANUP(mem_freep)
	char *url = mem_printf("%s://%s:%u/", web_scheme(s->web),
			       *host ? host : "localhost", web_port(s->web));

	if (!live_job_count(s->live))
		log_event(
			&s->log, LOG_WARN,
			"no targets are configured: add scrape_configs to the file, and load it again with SIGHUP",
			LOG_FIELDS(log_text("file", s->config_file)));
	if (exposure && !web_is_local(s->address))
		log_event(&s->log, LOG_WARN, exposure,
			  LOG_FIELDS(log_text("address", s->address)));
	log_event(&s->log, LOG_INFO, "everprof is ready",
		  LOG_FIELDS(log_text("url", url),
			     log_text("version", EVERPROF_VERSION)));
}

static int start(struct serve *s, int64_t sync_ms, struct err *err)
{
	/* What would fail anyway leaves no data directory behind. */
	int rc = web_check_address(s->address, err);

	if (!rc)
		rc = start_storage(s, sync_ms, err);

	if (!rc)
		rc = start_scraper(s, err);
	if (!rc)
		rc = start_web(s, err);
	if (!rc) {
		web_set_ready(s->web, true);
		announce(s);
		notify_ready();
	}
	return rc;
}

/* What waits is let go, then what uses comes down before what is used. */
static void stop(struct serve *s)
{
	/* Appends wait for room no more: the scraper's workers can end. */
	if (s->db)
		tsdb_interrupt(s->db);
	/* Handlers may wait for a profile: the scraper ends that. */
	discovery_stop(s->discovery);
	scrape_stop(s->scraper);
	web_stop(s->web);
	web_free(s->web);
	discovery_free(s->discovery);
	scrape_free(s->scraper);
	live_free(s->live);
	tsdb_close(s->db);
}

/* A core would hold passwords and profiles, and be as large as memory. */
static void forbid_cores(void)
{
	const struct rlimit none = { 0 };

	if (prctl(PR_SET_DUMPABLE, 0) || setrlimit(RLIMIT_CORE, &none)) {
		/* Then they are what the system makes of them. */
	}
}

/* What an operator should know of how it was started. */
static void warn_of_rights(struct serve *s)
{
	struct stat st;

	if (!geteuid())
		log_event(
			&s->log, LOG_WARN,
			"everprof runs as root: it needs no rights for scraping; use a user of its own",
			NULL);
	if (given(s->web_config) && !stat(s->web_config, &st) &&
	    st.st_mode & (S_IROTH | S_IWOTH))
		log_event(
			&s->log, LOG_WARN,
			"anybody on this machine can read the file of --web.config.file: chmod o= it",
			LOG_FIELDS(log_text("file", s->web_config)));
}

/* They are waited for. Threads inherit the blocked mask. */
static void block_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, set, NULL);
}

/* The next signal; 0: it was time to look at the configuration. */
static int next_signal(struct serve *s, const sigset_t *set)
{
	const struct timespec wait = {
		.tv_sec = s->auto_reload_ms / 1000,
		.tv_nsec = s->auto_reload_ms % 1000 * 1000000,
	};
	int number;

	for (;;) {
		number = sigtimedwait(set, NULL, s->auto_reload ? &wait : NULL);
		if (number > 0)
			return number;
		if (errno == EAGAIN)
			return 0;
	}
}

/* Until somebody wants us to end. What reloading says is in the log. */
static void wait_for_signal(struct serve *s, const sigset_t *set)
{
	for (;;) {
		int number = next_signal(s, set);
		struct err err;

		if (number == SIGTERM || number == SIGINT) {
			log_event(&s->log, LOG_INFO, "stopping",
				  LOG_FIELDS(log_int("signal", number)));
			notify_stopping();
			return;
		}
		if (number != SIGHUP && !live_has_changed(s->live))
			continue;
		notify_reloading();
		(void)!live_reload(s->live, &err);
		notify_ready();
	}
}

static int run(struct serve *s, int argc, char **argv)
{
	static const struct usage u = {
		"serve [FLAGS]",
		"Scrapes the targets of the configuration, stores their "
		"profiles, and serves API and\npage. SIGHUP loads the "
		"configuration again, SIGTERM and SIGINT stop it in order.",
		0, 0
	};
	int code = cmd_begin(&u, s->flags, &argc, argv);
	int64_t sync_ms = 0;
	struct err err;
	sigset_t set;
	int rc;

	if (code >= 0)
		return code;
	rc = check_flags(s, &sync_ms, &err);
	if (!rc)
		rc = parse_networks(s, &err);
	if (rc) {
		cmd_fail(&err);
		return 2;
	}
	show_flags(s);
	forbid_cores();
	warn_of_rights(s);
	block_signals(&set);
	rc = live_open(s->config_file, &s->live, &err);
	if (!rc)
		rc = start(s, sync_ms, &err);
	if (!rc)
		wait_for_signal(s, &set);
	stop(s);
	if (rc)
		return cmd_fail(&err);
	log_event(&s->log, LOG_INFO, "stopped", NULL);
	return 0;
}

int cmd_serve(int argc, char **argv)
{
	struct serve *s = mem_new(struct serve);
	int code;

	set_defaults(s);
	make_flags(s);
	s->metrics = metrics_new();
	code = run(s, argc, argv);
	metrics_free(s->metrics);
	networks_free(s->refused);
	mem_free(s);
	return code;
}
