/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Web options: the settings of the web side, with its limits and the parts of
 * everprof that it shows.
 *
 * Ownership: everything is borrowed and must outlive the web side.
 * Threads: a plain value.
 */
#ifndef WEB_API_WEB_OPTIONS_H
#define WEB_API_WEB_OPTIONS_H

#include "base/budget.h"
#include "base/log.h"
#include "base/metrics.h"
#include "scrape/run/scrape.h"
#include "tsdb/open/tsdb.h"

/* A command-line flag and its value, for /api/v1/status/flags. */
struct web_flag {
	const char *name;
	const char *value;
};

/* The result of the last load of the configuration. */
struct web_config_state {
	int64_t loaded_ms; /* when the configuration in use was loaded */
	char error[512];   /* why the last reload failed; "": it did not */
};

/*
 * Functions that the endpoints call to show or reload the configuration and to
 * shut the process down. Any thread may call them.
 */
struct web_lifecycle {
	void *ctx;
	bool enabled; /* whether clients may use /-/reload and /-/quit */
	/* Writes the configuration in use, without secrets. */
	void (*config)(void *ctx, struct buf *out);
	/* Fills *out, which is zeroed. */
	void (*state)(void *ctx, struct web_config_state *out);
	/*
	 * Loads the configuration again. Returns 0 or the error of loading it.
	 */
	int (*reload)(void *ctx, struct err *err);
	void (*quit)(void *ctx); /* starts the shutdown and returns at once */
};

/* A request of remote write; everything is borrowed for the call. */
struct web_write {
	const char *content_type;     /* the header; "" when it is missing */
	const char *content_encoding; /* the header; "" when it is missing */
	const char *content_digest;   /* the header; "" when it is missing */
	struct bytes body;
	struct ingest_share *share; /* accounts for the memory of the body */
	int64_t deadline_ns; /* when the answer is due, on clock_mono_ns() */
};

/* What the receiver of remote write has counted since the start. */
struct web_writer_counts {
	uint64_t stored;    /* profiles that are durable, duplicates included */
	uint64_t refused;   /* profiles that will never be accepted */
	uint64_t conflicts; /* of these: another profile has the same time */
};

/* The state of the queue that sends to one receiver, for the API. */
struct web_queue {
	const char *name;
	const char *url; /* without user and password */
	unsigned shards;
	uint64_t pending; /* profiles read, but not acknowledged yet */
	uint64_t backlog_bytes;
	int64_t sent_ms;        /* newest acknowledged profile; 0: none */
	int64_t answer_ms;      /* when a request was accepted last; 0: never */
	const char *last_error; /* "": the last request was accepted */
};

/* The sender of remote write, for the API. */
struct web_sender {
	void *ctx;
	/* Calls fn(arg, …) for each receiver. Any thread may call it. */
	void (*each)(void *ctx,
		     void (*fn)(void *arg, const struct web_queue *q),
		     void *arg);
};

/* The state of an entry of <name>_sd_configs, for the API. */
struct web_discovery {
	struct str job;   /* empty: the section ebpf */
	const char *name; /* the key is <name>_sd_configs */
	unsigned line;    /* of the configuration file */
	size_t targets;   /* found, before relabelling */
	bool is_waiting;  /* nothing was found yet, and nothing failed */
	/* the failure, while it lasts; NULL and 0: none */
	const char *source;
	const char *error;
	int64_t failed_ms;
};

/* All service discoveries, for the API. */
struct web_discoveries {
	void *ctx;
	/* Calls fn(arg, …) for each entry. Any thread may call it. */
	void (*each)(void *ctx,
		     void (*fn)(void *arg, const struct web_discovery *d),
		     void *arg);
};

/* The state of the eBPF collector of this machine, for the API. */
struct web_collector_state {
	char node[256];
	bool sampling;
	char error[512];   /* why it takes no samples; "": nothing is wrong */
	int64_t frequency; /* CPU samples a second and CPU */
	int64_t interval_ms;
	int64_t processes;
	int64_t series;
	int64_t profiles;        /* stored, since the start */
	int64_t profiles_failed; /* storage refused them */
};

/* The eBPF collector, for the API. */
struct web_collector {
	void *ctx;
	/*
	 * Fills *out, which is zeroed. False: the configuration has none. Any
	 * thread may call it.
	 */
	bool (*state)(void *ctx, struct web_collector_state *out);
};

/* The receiver of remote write, which /api/v1/write calls. */
struct web_writer {
	void *ctx;
	bool enabled; /* whether clients may use /api/v1/write */
	/*
	 * Stores the profiles of a request, and sets *stored to the number of
	 * those that are durable. Any thread may call it, several at a time.
	 */
	int (*write)(void *ctx, const struct web_write *in, size_t *stored,
		     struct err *err);
	/* Returns what was counted. Any thread may call it. */
	struct web_writer_counts (*counts)(void *ctx);
	/*
	 * memory for all bodies that are being received, and the limit of one
	 * body in bytes
	 */
	struct ingest_limiter *limiter;
	size_t max_body;
};

/* How a client pushes profiles. */
enum web_push_protocol {
	WEB_PUSH_INGEST,    /* POST /ingest */
	WEB_PUSH_V1,        /* POST /push.v1.PusherService/Push */
	WEB_PUSH_OTLP,      /* POST /v1development/profiles */
	WEB_PUSH_OTLP_GRPC, /* the listener for gRPC */
	WEB_PUSH_DATADOG    /* POST /profiling/v1/input */
};

/* A request that pushes profiles; everything is borrowed for the call. */
struct web_push {
	enum web_push_protocol protocol;
	const char *content_type;     /* the header; "" when it is missing */
	const char *content_encoding; /* the header; "" when it is missing */
	struct str address;           /* IP address of the client */
	struct str agent;             /* the header User-Agent */
	struct str user; /* user or token of the credentials; may be empty */
	/* Parameters of /ingest; empty when they are missing. */
	struct str name;
	struct str from;
	struct str until;
	struct str rate;
	struct str format;
	struct str spy;
	struct bytes body;
	struct ingest_share *share; /* accounts for the memory of the body */
	int64_t deadline_ns; /* when the answer is due, on clock_mono_ns() */
	/* Set to the number of profiles that were refused for good. */
	uint64_t *refused;
};

/* A program that pushes profiles. Unknown texts are empty. */
struct web_push_sender {
	const char *protocol;
	const char *service;
	const char *agent;   /* the header User-Agent */
	const char *user;    /* of the credentials */
	const char *address; /* IP address, the latest one */
	/* Numbers of profiles since first_ms, or of whole requests. */
	uint64_t stored;
	uint64_t dropped; /* by a relabelling rule */
	uint64_t refused; /* for good */
	uint64_t delayed; /* the client may send them again */
	int64_t first_ms;
	int64_t last_ms;
	/* Why the latest one was not stored; "": all were. */
	const char *why;
	int64_t why_ms;
};

/* What stores pushed profiles. */
struct web_pusher {
	void *ctx;
	bool enabled; /* whether clients may push over HTTP */
	/*
	 * Stores the profiles of a request. ERR_CORRUPT: some were refused for
	 * good. Any thread may call it, several at a time.
	 */
	int (*take)(void *ctx, const struct web_push *in, struct err *err);
	/* Notes a request that was refused before it was taken. */
	void (*refused)(void *ctx, const struct web_push *in, const char *why);
	/*
	 * Calls fn(arg, …) for each sender, the latest first. Any thread may
	 * call it.
	 */
	void (*each)(void *ctx,
		     void (*fn)(void *arg, const struct web_push_sender *s),
		     void *arg);
};

/* Profiles of this process. */
struct web_profiler {
	void *ctx;
	/*
	 * Takes a profile of the next seconds, and appends it to `out` as
	 * gzip'd profile.proto. Any thread may call it. ERR_LIMIT: another one
	 * is being taken; ERR_UNSUPPORTED: this process may not profile itself.
	 * NULL: there is no profiler.
	 */
	int (*profile)(void *ctx, int64_t seconds, struct buf *out,
		       struct err *err);
	/*
	 * Appends a heap profile to `out` as gzip'd profile.proto, with names
	 * that are found until the deadline (ns of clock_mono_ns()). Any thread
	 * may call it.
	 */
	int (*heap)(void *ctx, int64_t deadline_ns, struct buf *out,
		    struct err *err);
};

/* All options of the web side. */
struct web_options {
	struct tsdb *db;
	struct scraper *scraper;
	struct web_lifecycle lifecycle;
	struct web_writer writer;
	struct web_pusher pusher;
	struct web_sender sender;
	struct web_discoveries discoveries;
	struct web_collector collector;
	struct web_profiler profiler;
	const struct web_flag *flags;
	size_t flag_count;
	const char *version;
	const char *revision; /* commit of the build; "" when unknown */
	/* retention time of the storage in ms, only to be shown */
	int64_t retention_ms;
	/* whether requests to /api/v1/admin/… are allowed */
	bool admin_api;
	const char *address;      /* host:port to listen on */
	const char *grpc_address; /* host:port for OTLP over gRPC; NULL: none */
	/*
	 * Host names, separated by commas, that the Host header of a request
	 * may contain. NULL: any name is allowed, except that a server on a
	 * loopback address without authentication allows only local names.
	 */
	const char *allowed_hosts;
	/*
	 * Regular expression that must match a whole origin to allow pages of
	 * this origin to use the API (CORS). NULL: no origin is allowed.
	 */
	const char *cors_origin;
	/* The web configuration file; NULL: no authentication, no TLS. */
	const char *config_file;
	unsigned max_connections;
	int64_t rate_limit; /* requests a second per client; 0: no limit */
	/*
	 * Slowest rate at which a client may receive an answer, in bytes per
	 * second; slower clients are disconnected. 0: no limit.
	 */
	int64_t slow_client_rate;
	unsigned max_concurrency; /* number of worker threads */
	int64_t read_timeout_ms;  /* time for a client to send a request */
	int64_t query_timeout_ms; /* time for everprof to answer a request */
	/* requests that take longer than this many ms are logged as warnings */
	int64_t slow_ms;
	bool access_log;      /* whether every request is logged */
	int64_t query_memory; /* memory of all queries together, in bytes */
	/* folder of source files for report=source; NULL: none */
	const char *source_root;
	/* files that were uploaded to look at; NULL: none are taken */
	struct adhoc_store *adhoc;
	bool mcp; /* whether to answer the Model Context Protocol */
	/* names addresses for reports; NULL: addresses stay without names */
	struct symbolizer *symbolizer;
	const struct log *log;
	struct metrics *metrics;
};

#endif
