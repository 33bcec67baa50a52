/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Web options: what the web side serves, and its limits.
 *
 * Ownership: everything is borrowed and must outlive the web side.
 * Threads: a plain value.
 */
#ifndef WEB_HANDLER_WEB_OPTIONS_H
#define WEB_HANDLER_WEB_OPTIONS_H

#include "base/budget.h"
#include "base/log.h"
#include "base/metrics.h"
#include "scrape/scrape.h"
#include "tsdb/tsdb.h"

/* A command-line flag and its value, for /api/v1/status/flags. */
struct web_flag {
	const char *name;
	const char *value;
};

/*
 * The functions behind the endpoints that show or reload the configuration and
 * shut the process down. All may be called from any thread.
 */
struct web_lifecycle {
	void *ctx;
	bool enabled; /* whether clients may reload and quit */
	/* Writes the configuration in use, without secrets. */
	void (*config)(void *ctx, struct buf *out);
	/* Loads the configuration again. Returns the error of loading it. */
	int (*reload)(void *ctx, struct err *err);
	void (*quit)(void *ctx); /* starts the shutdown and returns at once */
};

/* All options of the web side. */
struct web_options {
	struct tsdb *db;
	struct scraper *scraper;
	struct web_lifecycle lifecycle;
	const struct web_flag *flags;
	size_t flag_count;
	const char *version;
	const char *revision; /* commit of the build; "" when unknown */
	/* Storage's retention time in ms, for display only. */
	int64_t retention_ms;
	bool admin_api;      /* whether /api/v1/admin/… is allowed */
	const char *address; /* host:port to listen on */
	/*
	 * Host names that requests may name, separated by commas. NULL: any
	 * name; but only local names if the address is a loopback address and
	 * authentication is off.
	 */
	const char *allowed_hosts;
	/*
	 * Regular expression that must match a whole origin to allow the origin
	 * by CORS. NULL: no origin is allowed.
	 */
	const char *cors_origin;
	/* The web configuration file; NULL: no authentication, no TLS. */
	const char *config_file;
	unsigned max_connections;
	int64_t rate_limit; /* requests a second per client; 0: no limit */
	/*
	 * Clients that receive an answer more slowly are disconnected, in bytes
	 * per second; 0: no minimum.
	 */
	int64_t slow_client_rate;
	unsigned max_concurrency; /* number of worker threads */
	int64_t read_timeout_ms;  /* time for a client to send a request */
	int64_t query_timeout_ms; /* time for everprof to answer a request */
	/* Requests that take longer are logged as warnings. */
	int64_t slow_ms;
	bool access_log;      /* whether all requests are logged */
	int64_t query_memory; /* memory of all queries together, in bytes */
	/* Folder of sources for report=source; NULL: none. */
	const char *source_root;
	const struct log *log;
	struct metrics *metrics;
};

#endif
