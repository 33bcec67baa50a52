/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flags of `everprof serve` and `everprof agent`. A flag is one row of the
 * table in serve_flags.c: parsing, --help, the manual page, completions, the
 * check of the documentation and /api/v1/status/flags follow from it.
 *
 * Ownership: texts are borrowed from argv, or constants.
 * Threads: one thread, before others start.
 */
#ifndef CMD_SERVE_SERVE_FLAGS_H
#define CMD_SERVE_SERVE_FLAGS_H

#include "base/log.h"
#include "cmd/cli/flags.h"

/* The commands that have these flags; each flag belongs to one or both. */
enum serve_command {
	COMMAND_SERVE = 1,
	COMMAND_AGENT = 2,
	COMMAND_BOTH = COMMAND_SERVE | COMMAND_AGENT
};

enum {
	/* Maximum number of flags, including the row that ends the list. */
	SERVE_FLAGS_MAX = 64
};

/*
 * The values of the flags. Times are in ms; sizes and limits are in bytes
 * unless the help of their flag says otherwise.
 */
struct serve_flags {
	enum serve_command command;
	const char *config_file;
	const char *default_config_file; /* unless the flag names another */
	int64_t auto_reload_ms;
	const char *address;
	const char *grpc_address;
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
	int64_t clock_steady_ms;
	int64_t query_timeout_ms;
	int64_t max_concurrency;
	int64_t query_memory;
	const char *source_path;
	int64_t max_profile;
	const char *refused_networks;
	const char *symbols_path;
	bool symbolize;
	int64_t ingest_memory;
	const char *log_level;
	const char *log_format;
	bool auto_reload;
	bool lifecycle;
	bool admin_api;
	bool write_receiver;
	bool push_receiver;
	bool mcp;
	int64_t max_new_series;
	int64_t adhoc_size;
	int64_t adhoc_ttl_ms;
	bool access_log;
};

/*
 * Set the defaults in `f`, and fill `out` with the flags of a command, which
 * point to the values in `f`; a row with a NULL name ends the list. Returns the
 * number of flags.
 */
size_t serve_flags_init(struct serve_flags *f, enum serve_command command,
			struct flag out[SERVE_FLAGS_MAX]);

/*
 * Check each value against the bounds in its row. ERR_INVALID: a value is
 * outside its bounds; the message names the flag and the bounds.
 */
NODISCARD int serve_flags_check(const struct serve_flags *f, struct err *err);

/*
 * Set up logging as the log flags say. ERR_INVALID: the level or the format is
 * unknown.
 */
NODISCARD int serve_flags_log(const struct serve_flags *f, struct log *out,
			      struct err *err);

/*
 * The time between syncs of the WAL in ms; -1: sync on each append.
 * ERR_INVALID: the flag is neither a duration nor "always".
 */
NODISCARD int serve_flags_sync(const struct serve_flags *f, int64_t *sync_ms,
			       struct err *err);

/*
 * The size in bytes of the disk that holds the data directory, or will hold it.
 * Errors of fs_space() are passed on.
 */
NODISCARD int serve_flags_disk(const struct serve_flags *f, uint64_t *total,
			       struct err *err);

/*
 * The number of bytes that --storage.tsdb.retention.size stands for: a size, or
 * a percentage of the disk of serve_flags_disk(). ERR_INVALID: the flag
 * is neither; errors of fs_space() are passed on.
 */
NODISCARD int serve_flags_retention(const struct serve_flags *f, int64_t *bytes,
				    struct err *err);

#endif
