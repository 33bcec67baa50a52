/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the web side: what it answers with, and its limits.
 *
 * Ownership: everything is borrowed, and outlives the web side.
 * Threads: a plain value.
 */
#ifndef WEB_HANDLER_WEB_OPTIONS_H
#define WEB_HANDLER_WEB_OPTIONS_H

#include "base/budget.h"
#include "base/log.h"
#include "base/metrics.h"
#include "scrape/scrape.h"
#include "tsdb/tsdb.h"

/* A flag and its value, for /api/v1/status/flags. */
struct web_flag {
	const char *name;
	const char *value;
};

/* What the server as a whole can be asked for; from any thread. */
struct web_lifecycle {
	void *ctx;
	bool enabled; /* reload and quit are answered */
	void (*config)(void *ctx, struct buf *out); /* without secrets */
	int (*reload)(void *ctx, struct err *err);
	void (*quit)(void *ctx);
};

struct web_options {
	struct tsdb *db;
	struct scraper *scraper;
	struct web_lifecycle lifecycle;
	const struct web_flag *flags;
	size_t flag_count;
	const char *version;
	const char *revision; /* the commit; "" when it is not known */
	int64_t retention_ms;
	bool admin_api; /* /api/v1/admin/… is answered */
	const char *address;
	const char *allowed_hosts; /* names of the server, by commas; NULL:
				      any, but on a loopback address without
				      authentication none but localhost */
	const char *cors_origin;   /* a regex of whole origins; NULL: none */
	const char *config_file;   /* who may ask; NULL: everybody */
	unsigned max_connections;
	int64_t rate_limit;       /* requests a second of a client; 0: none */
	int64_t slow_client_rate; /* bytes a second of an answer; 0: any */
	unsigned max_concurrency;
	int64_t read_timeout_ms;
	int64_t query_timeout_ms;
	int64_t slow_ms; /* requests that take longer are logged */
	bool access_log; /* and all of them */
	int64_t query_memory;
	const char *source_root; /* for report=source; NULL: none */
	const struct log *log;
	struct metrics *metrics;
};

#endif
