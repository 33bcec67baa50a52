/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web side of everprof: API, page, health and metrics. What it answers is
 * described in docs/api.md.
 *
 * Ownership: everything in the options is borrowed and must outlive it.
 * Threads: one thread starts and stops it.
 */
#ifndef WEB_WEB_H
#define WEB_WEB_H

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

struct web;

/* ERR_INVALID, ERR_IO: the address cannot be listened on. */
NODISCARD int web_start(const struct web_options *o, struct web **out,
			struct err *err);

/* Until then /-/ready answers 503. */
void web_set_ready(struct web *w, bool is_ready);

unsigned web_port(const struct web *w);

/* What strangers on the network could do, or NULL: auth_exposure(). */
const char *web_exposure(const struct web *w);

/* Whether the address can be listened on now. ERR_INVALID, ERR_IO. */
NODISCARD int web_check_address(const char *address, struct err *err);

/* Whether host:port is of a loopback address. */
bool web_is_local(const char *address);

/* "http" or "https". */
const char *web_scheme(const struct web *w);

/* NULL is a no-op. */
void web_stop(struct web *w);
void web_free(struct web *w);

#endif
