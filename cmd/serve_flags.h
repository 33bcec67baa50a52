/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flags of `everprof serve`. A flag is one row of the table in
 * serve_flags.c: parsing, --help, the man page, completion, the check of the
 * documentation and /api/v1/status/flags follow from it.
 *
 * Ownership: texts are borrowed from argv, or constants.
 * Threads: one thread, before others start.
 */
#ifndef CMD_SERVE_FLAGS_H
#define CMD_SERVE_FLAGS_H

#include "base/log.h"
#include "cmd/flags.h"

enum {
	SERVE_FLAGS_MAX = 64
};

/* The values, by flag. */
struct serve_flags {
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
};

/*
 * Set the defaults, and make the list of flags over the values; it ends with a
 * NULL name. Returns how many there are.
 */
size_t serve_flags_init(struct serve_flags *f,
			struct flag out[SERVE_FLAGS_MAX]);

/* Whether every value is within the bounds of its flag. ERR_INVALID. */
NODISCARD int serve_flags_check(const struct serve_flags *f, struct err *err);

/* What the log flags ask for. ERR_INVALID. */
NODISCARD int serve_flags_log(const struct serve_flags *f, struct log *out,
			      struct err *err);

/* The time between syncs of the WAL in ms; -1: on each append. ERR_INVALID. */
NODISCARD int serve_flags_sync(const struct serve_flags *f, int64_t *sync_ms,
			       struct err *err);

/*
 * Bytes that --storage.tsdb.retention.size stands for: a size, or a share of
 * the disk that the data directory is on. ERR_INVALID, ERR_IO.
 */
NODISCARD int serve_flags_retention(const struct serve_flags *f, int64_t *bytes,
				    struct err *err);

#endif
