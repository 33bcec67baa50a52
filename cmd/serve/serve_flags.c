/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the flags of serve, their bounds, and conversions of flags whose
 * value is not a plain number.
 */
#include "cmd/serve/serve_flags.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/units.h"

#define DAY_MS (24LL * 3600 * 1000)

/* The offset of a flag's value in struct serve_flags. */
#define AT(member) offsetof(struct serve_flags, member)

/*
 * One flag of `everprof serve`. `fallback` is the default, as a user would type
 * it. If `max` is 0, the value has no bounds.
 */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as rows are read */
struct flag_row {
	const char *name;
	enum flag_kind kind;
	size_t offset;
	const char *fallback;
	int64_t min;
	int64_t max;
	const char *help;
	/* the commands that have the flag: enum serve_command */
	unsigned commands;
};

/*
 * A new flag needs a row here and a member of struct serve_flags. The order is
 * that of --help.
 */
static const struct flag_row flag_rows[] = {
	{ "config.file", FLAG_TEXT, AT(config_file), "everprof.yaml", 0, 0,
	  "Configuration file; see docs/configuration.md.", COMMAND_BOTH },
	{ "config.auto-reload", FLAG_BOOL, AT(auto_reload), "no", 0, 0,
	  "Reload the configuration when the file has changed.", COMMAND_BOTH },
	{ "config.auto-reload-interval", FLAG_DURATION, AT(auto_reload_ms),
	  "30s", 100, DAY_MS,
	  "How often to check the configuration file for changes.",
	  COMMAND_BOTH },
	{ "web.listen-address", FLAG_TEXT, AT(address), "127.0.0.1:10902", 0, 0,
	  "Address to listen on, for the API and the web page; port 0 means any free port.",
	  COMMAND_BOTH },
	{ "web.config.file", FLAG_TEXT, AT(web_config), NULL, 0, 0,
	  "File with users, tokens, scopes and TLS settings; see docs/security.md.",
	  COMMAND_BOTH },
	{ "web.cors.origin", FLAG_TEXT, AT(cors_origin), NULL, 0, 0,
	  "Regex of origins whose pages may send requests, such as https://(a|b)\\.example.",
	  COMMAND_BOTH },
	{ "web.max-connections", FLAG_INT, AT(max_connections), "512", 1,
	  100000, "Maximum number of simultaneous HTTP connections.",
	  COMMAND_BOTH },
	{ "web.rate-limit", FLAG_INT, AT(rate_limit), "1000", 0, 1000000,
	  "Maximum number of requests a second of one client address; 0 means no limit.",
	  COMMAND_BOTH },
	{ "web.slow-client-rate", FLAG_SIZE, AT(slow_client_rate), "4KB", 0, 0,
	  "Bytes a second that a client must read of a response, or send of a profile, over 30s; slower clients are disconnected. 0 means no limit.",
	  COMMAND_BOTH },
	{ "web.allowed-hosts", FLAG_TEXT, AT(allowed_hosts), NULL, 0, 0,
	  "Allowed host names of requests, separated by commas, in addition to IP addresses and localhost. By default any name is allowed; without authentication on a loopback address, none is.",
	  COMMAND_BOTH },
	{ "web.access-log", FLAG_BOOL, AT(access_log), "no", 0, 0,
	  "Log each request.", COMMAND_BOTH },
	{ "web.slow-request", FLAG_DURATION, AT(slow_ms), "10s", 0, 0,
	  "Log requests that take longer than this.", COMMAND_BOTH },
	{ "web.read-timeout", FLAG_DURATION, AT(read_timeout_ms), "5m", 1000,
	  DAY_MS, "Close HTTP connections that are idle for this long.",
	  COMMAND_BOTH },
	{ "storage.tsdb.path", FLAG_TEXT, AT(path), "data", 0, 0,
	  "Data directory; created if missing.", COMMAND_SERVE },
	{ "storage.agent.path", FLAG_TEXT, AT(path), "data-agent", 0, 0,
	  "Directory of the profiles that are not sent yet; created if missing.",
	  COMMAND_AGENT },
	{ "storage.agent.wal-fsync", FLAG_TEXT, AT(wal_fsync), "1s", 0, 0,
	  "Time between syncs of the WAL to disk, or always.", COMMAND_AGENT },
	{ "storage.tsdb.retention.time", FLAG_DURATION, AT(retention_ms), "90d",
	  0, 0, "Remove profiles that are older than this; 0 means no limit.",
	  COMMAND_SERVE },
	{ "storage.tsdb.retention.size", FLAG_TEXT, AT(retention_size), "80%",
	  0, 0,
	  "Size of the data directory (bytes, or a percentage of the disk) from which the oldest profiles are removed; 0 means no limit.",
	  COMMAND_SERVE },
	{ "storage.tsdb.max-series", FLAG_INT, AT(max_series), "200000", 0,
	  100000000,
	  "Number of series in head blocks from which head blocks are sealed early; each KiB of a series' labels counts as one more; 0 means no limit.",
	  COMMAND_SERVE },
	{ "storage.tsdb.wal-fsync", FLAG_TEXT, AT(wal_fsync), "1s", 0, 0,
	  "Time between syncs of the WAL to disk, or always.", COMMAND_SERVE },
	{ "storage.tsdb.wal-budget", FLAG_SIZE, AT(wal_budget), "512MB",
	  8 * MIB, 1024 * GIB,
	  "Size of the WAL from which profiles are flushed to head blocks.",
	  COMMAND_SERVE },
	{ "clock.steady-for", FLAG_DURATION, AT(clock_steady_ms), "1h", 0,
	  30 * DAY_MS,
	  "How long the system clock has to run evenly before profiles are refused or dropped because it says that they are too old or too new.",
	  COMMAND_BOTH },
	{ "web.enable-lifecycle", FLAG_BOOL, AT(lifecycle), "no", 0, 0,
	  "Enable POST /-/reload and /-/quit.", COMMAND_BOTH },
	{ "web.enable-admin-api", FLAG_BOOL, AT(admin_api), "no", 0, 0,
	  "Enable /api/v1/admin/…, which deletes profiles and creates snapshots.",
	  COMMAND_SERVE },
	{ "web.enable-remote-write-receiver", FLAG_BOOL, AT(write_receiver),
	  "no", 0, 0,
	  "Enable POST /api/v1/write, which stores the profiles of agents.",
	  COMMAND_BOTH },
	{ "web.enable-push-receiver", FLAG_BOOL, AT(push_receiver), "no", 0, 0,
	  "Enable POST /ingest, /push.v1.PusherService/Push, /v1development/profiles and /profiling/v1/input, which store the profiles of Pyroscope's SDKs, Alloy, OpenTelemetry and Datadog's libraries.",
	  COMMAND_BOTH },
	{ "otlp.grpc.listen-address", FLAG_TEXT, AT(grpc_address), NULL, 0, 0,
	  "Address to listen on for profiles of OpenTelemetry over gRPC, such as :4317; users, tokens and TLS are those of --web.config.file. By default there is none.",
	  COMMAND_BOTH },
	{ "web.mcp", FLAG_BOOL, AT(mcp), "yes", 0, 0,
	  "Answer POST /mcp, the Model Context Protocol, by which assistants ask for profiles.",
	  COMMAND_SERVE },
	{ "query.timeout", FLAG_DURATION, AT(query_timeout_ms), "30s", 1,
	  DAY_MS, "Maximum duration of a query.", COMMAND_BOTH },
	{ "query.max-concurrency", FLAG_INT, AT(max_concurrency), "20", 1, 1000,
	  "Maximum number of concurrent queries; further queries wait.",
	  COMMAND_BOTH },
	{ "query.memory", FLAG_SIZE, AT(query_memory), "256MB", 0, 0,
	  "Maximum memory of all queries together.", COMMAND_BOTH },
	{ "query.symbolize", FLAG_BOOL, AT(symbolize), "yes", 0, 0,
	  "Name addresses without a function in reports by files of this machine with the same build ID.",
	  COMMAND_SERVE },
	{ "query.source-path", FLAG_TEXT, AT(source_path), NULL, 0, 0,
	  "Folder with source files, whose text report=source shows.",
	  COMMAND_SERVE },
	{ "scrape.max-profile-size", FLAG_SIZE, AT(max_profile), "64MB", KIB,
	  1023 * MIB,
	  "Maximum size of a profile, decompressed; larger profiles are refused.",
	  COMMAND_BOTH },
	{ "scrape.refused-networks", FLAG_TEXT, AT(refused_networks), NULL, 0,
	  0,
	  "Networks, separated by commas, to which targets, redirects and discoveries must not lead, such as 169.254.0.0/16,fe80::/10.",
	  COMMAND_BOTH },
	{ "symbols.path", FLAG_TEXT, AT(symbols_path), "/usr/lib/debug", 0, 0,
	  "Folder with separate debug files, which are found by build ID; the eBPF collector and reports name functions by them.",
	  COMMAND_BOTH },
	{ "ingest.memory", FLAG_SIZE, AT(ingest_memory), "128MB", 4 * MIB,
	  1024 * GIB,
	  "Maximum memory of all profiles that are being received; further profiles wait.",
	  COMMAND_BOTH },
	{ "ingest.max-new-series", FLAG_INT, AT(max_new_series), "50000", 0,
	  1000000000,
	  "Maximum number of new series that one user, or one address without a user, may push within an hour; 0 means no limit.",
	  COMMAND_BOTH },
	{ "adhoc.size", FLAG_SIZE, AT(adhoc_size), "256MB", 0, 1024 * GIB,
	  "Maximum size of all files that were uploaded to look at; older ones go if there is no room. 0 means that no files are taken.",
	  COMMAND_SERVE },
	{ "adhoc.ttl", FLAG_DURATION, AT(adhoc_ttl_ms), "24h", 1000,
	  365 * DAY_MS,
	  "How long an uploaded file is there, unless somebody keeps it for longer.",
	  COMMAND_SERVE },
	{ "log.level", FLAG_TEXT, AT(log_level), "info", 0, 0,
	  "Minimum level of log lines: debug, info, warn or error.",
	  COMMAND_BOTH },
	{ "log.format", FLAG_TEXT, AT(log_format), "logfmt", 0, 0,
	  "Format of log lines: logfmt or json.", COMMAND_BOTH },
};

static_assert(ARRAY_SIZE(flag_rows) < SERVE_FLAGS_MAX, "room for the end");

/* The list of flags points into `f`, so `f` must not move afterwards. */
size_t serve_flags_init(struct serve_flags *f, enum serve_command command,
			struct flag out[SERVE_FLAGS_MAX])
{
	size_t n = 0;

	*f = (struct serve_flags){ .command = command };
	for (size_t i = 0; i < ARRAY_SIZE(flag_rows); i++) {
		const struct flag_row *r = &flag_rows[i];

		if (!(r->commands & command))
			continue;
		out[n++] = (struct flag){ .name = r->name,
					  .kind = r->kind,
					  .out = (char *)f + r->offset,
					  .fallback = r->fallback,
					  .help = r->help };
	}
	out[n] = (struct flag){ 0 };
	flags_set_defaults(out);
	f->default_config_file = f->config_file;
	return n;
}

/*
 * Format the bound `v` as a user would type it: durations and sizes with a
 * unit.
 */
static void format_bound(enum flag_kind kind, int64_t v, char out[32])
{
	static const char *const units[] = { "", "KB", "MB", "GB" };
	size_t u = 0;

	if (kind == FLAG_DURATION) {
		duration_format(v, out);
		return;
	}
	while (kind == FLAG_SIZE && v && v % KIB == 0 &&
	       u + 1 < ARRAY_SIZE(units)) {
		v /= KIB;
		u++;
	}
	snprintf(out, 32, "%" PRId64 "%s", v, units[u]);
}

/* Only flags whose values are of type int64_t have bounds. */
int serve_flags_check(const struct serve_flags *f, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(flag_rows); i++) {
		const struct flag_row *r = &flag_rows[i];
		char min[32];
		char max[32];
		int64_t v;

		if (!r->max || !(r->commands & f->command))
			continue;
		memcpy(&v, (const char *)f + r->offset, sizeof(v));
		if (v >= r->min && v <= r->max)
			continue;
		format_bound(r->kind, r->min, min);
		format_bound(r->kind, r->max, max);
		return err_set(err, ERR_INVALID,
			       "--%s must be between %s and %s", r->name, min,
			       max);
	}
	return 0;
}

int serve_flags_log(const struct serve_flags *f, struct log *out,
		    struct err *err)
{
	out->fd = STDERR_FILENO;
	if (!log_level_parse(str_of(f->log_level), &out->level))
		return err_set(
			err, ERR_INVALID,
			"--log.level must be debug, info, warn or error, not \"%s\"",
			f->log_level);
	out->json = !strcmp(f->log_format, "json");
	if (!out->json && strcmp(f->log_format, "logfmt") != 0)
		return err_set(
			err, ERR_INVALID,
			"--log.format must be logfmt or json, not \"%s\"",
			f->log_format);
	return 0;
}

int serve_flags_sync(const struct serve_flags *f, int64_t *sync_ms,
		     struct err *err)
{
	*sync_ms = -1;
	if (!strcmp(f->wal_fsync, "always"))
		return 0;
	if (duration_parse(str_of(f->wal_fsync), sync_ms, err) || *sync_ms < 1)
		return err_set(
			err, ERR_INVALID,
			"--storage.%s.wal-fsync must be \"always\", or a duration above 0 such as 1s, not \"%s\"",
			f->command == COMMAND_AGENT ? "agent" : "tsdb",
			f->wal_fsync);
	return 0;
}

/*
 * A data directory that does not exist yet will be created below the nearest of
 * its parents that exists, on the same disk.
 */
int serve_flags_disk(const struct serve_flags *f, uint64_t *total,
		     struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_strdup(f->path);
	const char *at = path;
	uint64_t available;
	int rc = fs_space(at, total, &available, err);

	while (rc == ERR_NOTFOUND && strcmp(at, ".") != 0 &&
	       strcmp(at, "/") != 0) {
		char *slash = strrchr(path, '/');

		if (slash)
			*slash = 0;
		at = !slash ? "." : !*path ? "/" : path;
		rc = fs_space(at, total, &available, err);
	}
	return rc;
}

/*
 * A percentage refers to the size of the file system, not to its free space,
 * which shrinks as profiles are stored.
 */
int serve_flags_retention(const struct serve_flags *f, int64_t *bytes,
			  struct err *err)
{
	struct str text = str_of(f->retention_size);
	uint64_t total = 0;
	int64_t percent = 0;
	int rc;

	if (!text.len || text.ptr[text.len - 1] != '%') {
		rc = size_parse(text, bytes, err);
		return rc ? err_wrap(err, rc, "--storage.tsdb.retention.size") :
			    0;
	}
	text.len--;
	if (!str_to_i64(text, &percent) || percent < 0 || percent > 100)
		return err_set(
			err, ERR_INVALID,
			"--storage.tsdb.retention.size must be a size, such as 20GB, or a whole percentage of the disk from 0%% to 100%%, not \"%s\"",
			f->retention_size);
	rc = serve_flags_disk(f, &total, err);
	if (!rc)
		*bytes = (int64_t)(total / 100) * percent;
	return rc;
}
