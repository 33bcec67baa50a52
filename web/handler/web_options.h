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
 * What clients may ask of the process as a whole. All functions may be called
 * from any thread.
 */
struct web_lifecycle {
	void *ctx;
	bool enabled; /* allow reload and quit */
	/* Writes the configuration in use, without secrets. */
	void (*config)(void *ctx, struct buf *out);
	/* Begins the shutdown and returns at once. */
	int (*reload)(void *ctx, struct err *err);
	void (*quit)(void *ctx); /* begins the shutdown, returns at once */
};

/* All options of the web side. */
struct web_options {
	struct tsdb *db;
	struct scraper *scraper;
	struct web_lifecycle lifecycle;
	const struct web_flag *flags;
	size_t flag_count;
	const char *version;
	const char *revision;      /* the commit; "" when unknown */
	int64_t retention_ms;      /* of storage, only to be shown */
	bool admin_api;            /* allow /api/v1/admin/… */
	const char *address;       /* host:port to listen on */
	const char *allowed_hosts; /* names of the server, by commas; NULL:
				      any name, but only localhost if there is
				      no authentication and the address is a
				      loopback address */
	/* A regex that matches whole origins; NULL: none is allowed. */
	const char *cors_origin;
	/* The web configuration file; NULL: no authentication, no TLS. */
	const char *config_file;
	unsigned max_connections;
	int64_t rate_limit; /* requests a second per client; 0: no limit */
	/*
	 * Clients that take an answer more slowly (bytes/s) are closed; 0:
	 * none.
	 */
	int64_t slow_client_rate;
	unsigned max_concurrency; /* worker threads */
	int64_t read_timeout_ms;  /* for a client to send a request */
	int64_t query_timeout_ms; /* for a request to be answered */
	int64_t slow_ms;          /* log slower requests as warnings */
	bool access_log;          /* log all requests */
	int64_t query_memory;     /* bytes that all queries may take together */
	const char *source_root;  /* folder for report=source; NULL: none */
	const struct log *log;
	struct metrics *metrics;
};

#endif
