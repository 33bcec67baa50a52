/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof serve: starts storage, scraper, discovery and web server, waits for
 * signals, and stops everything in order.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adhoc/adhoc_store.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/mem_profile.h"
#include "client/address/networks.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/database.h"
#include "cmd/cli/symbols_helper.h"
#include "cmd/cli/version.h"
#include "cmd/serve/config_reloader.h"
#include "cmd/serve/discovery_endpoint.h"
#include "cmd/serve/ebpf_service.h"
#include "cmd/serve/notify.h"
#include "cmd/serve/push_endpoint.h"
#include "cmd/serve/self_profile.h"
#include "cmd/serve/serve_flags.h"
#include "cmd/serve/serve_rights.h"
#include "cmd/serve/serve_storage.h"
#include "cmd/serve/write_endpoint.h"
#include "discovery/manager.h"
#include "remotewrite/send/sender.h"
#include "scrape/run/scrape.h"
#include "web/web.h"

/* All parts of the running server. */
struct serve {
	struct serve_flags f;
	struct flag flags[SERVE_FLAGS_MAX];
	/* The flags as /api/v1/status/flags shows them. */
	struct web_flag shown[SERVE_FLAGS_MAX];
	char values[SERVE_FLAGS_MAX][256];
	size_t flag_count;

	struct log log;
	/* the networks that f.refused_networks lists */
	struct networks *refused;
	struct config_reloader *reloader;
	/* limits the memory of all profiles being received */
	struct ingest_limiter *limiter;
	struct metrics *metrics;
	bool agent; /* whether this is everprof agent, not everprof serve */
	struct storage storage;
	struct scraper *scraper;
	struct receiver *receiver;
	struct push_receiver *push;
	struct adhoc_store *adhoc; /* NULL: no files are taken */
	char *adhoc_dir;
	struct sender *sender;
	char *cursors; /* directory of the cursors of remote write */
	struct discovery *discovery;
	struct ebpf_service *ebpf;
	struct self_profiler *profiler;
	struct symbolizer *symbolizer; /* NULL: reports have no more names */
	struct web *web;
	char *url; /* where it listens */
};

/* Format all flags for the status API. */
static void show_flags(struct serve *s)
{
	for (size_t i = 0; i < s->flag_count; i++) {
		flag_format(&s->flags[i], s->values[i], sizeof(s->values[i]));
		s->shown[i] =
			(struct web_flag){ s->flags[i].name, s->values[i] };
	}
}

/*
 * Parse --scrape.refused-networks: the networks to which neither targets nor
 * discoveries may connect.
 */
static int parse_networks(struct serve *s, struct err *err)
{
	int rc = networks_parse(s->f.refused_networks ?: "", &s->refused, err);

	return rc ? err_wrap(err, rc, "invalid --scrape.refused-networks") : 0;
}

/* Open the storage: a database, or the log of an agent. */
static int start_storage(struct serve *s, int64_t sync_ms, struct err *err)
{
	const struct storage_options o = { .flags = &s->f,
					   .agent = s->agent,
					   .sync_ms = sync_ms,
					   .log = &s->log,
					   .metrics = s->metrics };

	return storage_open(&o, &s->storage, err);
}

/*
 * Pass discovered targets to the scraper, and containers to the eBPF collector.
 * Called in the discovery thread.
 */
static void on_discovered(void *ctx, struct str job,
			  const struct target_groups_list *groups)
{
	struct serve *s = ctx;

	if (str_is(job, EBPF_JOB))
		ebpf_service_name(s->ebpf, groups);
	else
		scrape_update(s->scraper, job, groups);
}

/*
 * Start the scraper, then discovery, which passes targets to the scraper; then
 * apply the configuration to both.
 */
static int start_scraper(struct serve *s, struct err *err)
{
	struct scrape_options so = { .appender = s->storage.appender,
				     .log = &s->log,
				     .metrics = s->metrics,
				     .max_profile = (size_t)s->f.max_profile,
				     .limiter = s->limiter,
				     .user_agent = EVERPROF_USER_AGENT,
				     .refused = s->refused };
	struct discovery_options o = { .log = &s->log,
				       .metrics = s->metrics,
				       .user_agent = EVERPROF_USER_AGENT,
				       .refused = s->refused,
				       .update = on_discovered,
				       .ctx = s };
	struct config_reloader_options lo = { .log = &s->log,
					      .metrics = s->metrics };
	int rc = scrape_start(&so, &s->scraper, err);

	if (!rc)
		rc = discovery_start(&o, &s->discovery, err);
	if (rc)
		return rc;
	lo.scraper = s->scraper;
	lo.discovery = s->discovery;
	lo.sender = s->sender;
	lo.ebpf = s->ebpf;
	lo.push = s->push;
	reloader_start(s->reloader, &lo);
	return 0;
}

/* Create the sender of remote write, with no receivers yet. */
static void make_sender(struct serve *s)
{
	const struct sender_options o = { .log = s->storage.samples,
					  .dir = s->cursors,
					  .events = &s->log,
					  .metrics = s->metrics,
					  .user_agent = EVERPROF_USER_AGENT,
					  .from_begin = s->agent,
					  .clock_steady_ms =
						  s->f.clock_steady_ms ?: -1 };

	s->sender = sender_new(&o);
}

/* Create the service of the eBPF collector, which does not run yet. */
static void make_ebpf(struct serve *s)
{
	s->ebpf = ebpf_service_new(&(struct ebpf_service_options){
		.appender = s->storage.appender,
		.log = &s->log,
		.metrics = s->metrics,
		.debug_dir = s->f.symbols_path,
	});
}

/* Called for POST /-/reload, which answers with the error. */
static int on_reload(void *ctx, struct err *err)
{
	struct serve *s = ctx;

	return reloader_reload(s->reloader, err);
}

/* Append the configuration, without secrets, for the status API. */
static void on_config(void *ctx, struct buf *out)
{
	struct serve *s = ctx;

	reloader_text(s->reloader, out);
}

/* Called by the web side. */
static void on_config_state(void *ctx, struct web_config_state *out)
{
	struct serve *s = ctx;
	struct err failure;

	out->loaded_ms = reloader_state(s->reloader, &failure);
	if (failure.code)
		(void)snprintf(out->error, sizeof(out->error), "%s",
			       failure.msg);
}

/* Called for POST /-/quit: send the signal for which the main thread waits. */
static void on_quit(void *ctx UNUSED)
{
	kill(getpid(), SIGTERM);
}

/*
 * The value of a flag; NULL if it is empty, which means that it is not given.
 */
static const char *serve_is_given(const char *flag)
{
	return flag && *flag ? flag : NULL;
}

/* Create the receivers of remote write and of pushed profiles. */
static void make_receivers(struct serve *s)
{
	const struct receiver_options o = { .appender = s->storage.appender,
					    .limiter = s->limiter,
					    .max_profile =
						    (size_t)s->f.max_profile,
					    .metrics = s->metrics };

	s->receiver = receiver_new(&o);
	s->push = push_receiver_new(&(struct push_receiver_options){
		.appender = s->storage.appender,
		.limiter = s->limiter,
		.max_profile = (size_t)s->f.max_profile,
		.max_new_series = (uint64_t)s->f.max_new_series,
		.metrics = s->metrics });
}

/* Open the files that were uploaded to look at. */
static int start_adhoc(struct serve *s, struct err *err)
{
	const struct adhoc_options o = {
		.dir = s->adhoc_dir = mem_printf("%s/adhoc", s->f.path),
		.max_bytes = s->f.adhoc_size,
		.ttl_ms = s->f.adhoc_ttl_ms,
		.max_profile = (size_t)s->f.max_profile,
		.limiter = s->limiter,
		.clock_steady_ms = s->f.clock_steady_ms ?: -1,
		.log = &s->log,
		.metrics = s->metrics,
	};

	if (s->agent || !s->f.adhoc_size)
		return 0;
	return adhoc_store_open(&o, &s->adhoc, err);
}

static int start_web(struct serve *s, struct err *err)
{
	struct web_options o = {
		.db = s->storage.db,
		.scraper = s->scraper,
		.lifecycle = { .ctx = s,
			       .enabled = s->f.lifecycle,
			       .config = on_config,
			       .state = on_config_state,
			       .reload = on_reload,
			       .quit = on_quit },
		.writer = write_endpoint(s->receiver, s->f.write_receiver,
					 s->limiter),
		.pusher = push_endpoint(s->push, s->f.push_receiver),
		.sender = sender_endpoint(s->sender),
		.adhoc = s->adhoc,
		.discoveries = discovery_endpoint(s->discovery),
		.collector = ebpf_service_endpoint(s->ebpf),
		.profiler = self_profile_endpoint(s->profiler),
		.flags = s->shown,
		.flag_count = s->flag_count,
		.version = EVERPROF_VERSION,
		.mcp = s->f.mcp,
		.revision = EVERPROF_REVISION,
		.retention_ms = s->f.retention_ms,
		.admin_api = s->f.admin_api,
		.address = s->f.address,
		.grpc_address = serve_is_given(s->f.grpc_address),
		.allowed_hosts = serve_is_given(s->f.allowed_hosts),
		.cors_origin = serve_is_given(s->f.cors_origin),
		.config_file = serve_is_given(s->f.web_config),
		.max_connections = (unsigned)s->f.max_connections,
		.rate_limit = s->f.rate_limit,
		.slow_client_rate = s->f.slow_client_rate,
		.access_log = s->f.access_log,
		.slow_ms = s->f.slow_ms,
		.max_concurrency = (unsigned)s->f.max_concurrency,
		.read_timeout_ms = s->f.read_timeout_ms,
		.query_timeout_ms = s->f.query_timeout_ms,
		.query_memory = s->f.query_memory,
		.source_root = serve_is_given(s->f.source_path),
		.symbolizer = s->symbolizer,
		.log = &s->log,
		.metrics = s->metrics
	};

	return web_start(&o, &s->web, err);
}

/* Whether others may send profiles to this server. */
static bool serve_is_sent(const struct serve *s)
{
	return s->f.push_receiver || s->f.write_receiver ||
	       serve_is_given(s->f.grpc_address);
}

/* Log where profiles of OpenTelemetry are taken, and who could reach that address. */
static void serve_announce_grpc(struct serve *s)
{
	const char *address = serve_is_given(s->f.grpc_address);

	if (!address)
		return;
	if (web_exposure(s->web) && !web_is_local(address))
		log_event(&s->log, LOG_WARN, web_exposure(s->web),
			  LOG_FIELDS(log_text("address", address)));
	log_event(&s->log, LOG_INFO, "OTLP over gRPC is ready",
		  LOG_FIELDS(log_int("port", web_grpc_port(s->web))));
}

/*
 * Whether the server needs no configuration file: it takes what is sent, and nobody
 * has named a file.
 */
static bool serve_needs_no_config(const struct serve *s)
{
	return !s->agent && serve_is_sent(s) &&
	       !strcmp(s->f.config_file, s->f.default_config_file);
}

/* Return where the server listens; the caller frees it. */
static char *serve_url(const struct serve *s)
{
	CLEANUP(mem_freep)
	char *host = mem_strndup((struct str){
		.ptr = s->f.address,
		.len = (size_t)(strrchr(s->f.address, ':') - s->f.address) });

	return mem_printf("%s://%s:%u/", web_scheme(s->web),
			  *host ? host : "localhost", web_port(s->web));
}

/* Log where the server listens, and what an operator may have overlooked. */
static void serve_announce(struct serve *s)
{
	const char *exposure = web_exposure(s->web);
	if (!reloader_job_count(s->reloader) &&
	    !reloader_has_ebpf(s->reloader) && !serve_is_sent(s))
		log_event(
			&s->log, LOG_WARN,
			"no scrape jobs are configured; add scrape_configs to the configuration file and send SIGHUP",
			LOG_FIELDS(log_text("file", s->f.config_file)));
	if (s->agent && !reloader_receiver_count(s->reloader))
		log_event(
			&s->log, LOG_WARN,
			"no remote_write is configured, so profiles are stored here and sent nowhere; add remote_write to the configuration file and send SIGHUP",
			LOG_FIELDS(log_text("file", s->f.config_file)));
	if (exposure && !web_is_local(s->f.address))
		log_event(&s->log, LOG_WARN, exposure,
			  LOG_FIELDS(log_text("address", s->f.address)));
	serve_announce_grpc(s);
	log_event(&s->log, LOG_INFO, "everprof is ready",
		  LOG_FIELDS(log_text("url", s->url),
			     log_text("version", EVERPROF_VERSION)));
}

/* Start everything in the order of its dependencies. */
static int serve_start(struct serve *s, int64_t sync_ms, struct err *err)
{
	/*
	 * Check the address first, because a failed startup must not leave a
	 * new data directory.
	 */
	int rc = web_check_addresses(s->f.address,
				     serve_is_given(s->f.grpc_address), err);

	s->limiter = ingest_limiter_new(s->f.ingest_memory, s->f.max_profile);
	if (!rc)
		rc = start_storage(s, sync_ms, err);
	if (!rc) {
		s->cursors = mem_printf("%s/" DATABASE_REMOTE, s->f.path);
		make_sender(s);
		make_receivers(s);
		make_ebpf(s);
		s->profiler = self_profiler_new(s->f.symbols_path);
		if (s->f.symbolize && !s->agent)
			s->symbolizer =
				symbols_helper_new(s->f.symbols_path, true);
		rc = start_scraper(s, err);
	}
	if (!rc)
		rc = start_adhoc(s, err);
	if (!rc)
		rc = start_web(s, err);
	if (!rc) {
		web_set_ready(s->web, true);
		s->url = serve_url(s);
		serve_announce(s);
		notify_ready(s->url);
	}
	return rc;
}

/*
 * Stop the parts that bring in data first; free the users of a module before
 * the module itself.
 */
static void serve_stop(struct serve *s)
{
	/* Its last profiles are stored. */
	ebpf_service_stop(s->ebpf);
	/*
	 * Appends that wait until the database can take more profiles fail now,
	 * so that the workers of the scraper can end.
	 */
	storage_interrupt(&s->storage);
	/*
	 * Web handlers may wait in scrape_now(); stopping the scraper ends the
	 * wait.
	 */
	self_profiler_interrupt(s->profiler);
	discovery_stop(s->discovery);
	scrape_stop(s->scraper);
	web_stop(s->web);
	web_free(s->web);
	adhoc_store_close(s->adhoc);
	mem_free(s->adhoc_dir);
	mem_free(s->url);
	sender_free(s->sender);
	mem_free(s->cursors);
	discovery_free(s->discovery);
	scrape_free(s->scraper);
	receiver_free(s->receiver);
	push_receiver_free(s->push);
	ebpf_service_free(s->ebpf);
	self_profiler_free(s->profiler);
	symbolizer_free(s->symbolizer);
	ingest_limiter_free(s->limiter);
	reloader_free(s->reloader);
	storage_close(&s->storage);
}

/*
 * Block the signals, which next_signal() waits for. Threads inherit the mask,
 * so it is set before any thread starts.
 */
static void block_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, set, NULL);
}

/*
 * Wait for a signal and return its number; 0: it is time to check whether the
 * configuration file has changed.
 */
static int next_signal(struct serve *s, const sigset_t *set)
{
	const struct timespec wait = {
		.tv_sec = s->f.auto_reload_ms / 1000,
		.tv_nsec = s->f.auto_reload_ms % 1000 * 1000000,
	};
	int number;

	for (;;) {
		number = sigtimedwait(set, NULL,
				      s->f.auto_reload ? &wait : NULL);
		if (number > 0)
			return number;
		if (errno == EAGAIN)
			return 0;
	}
}

/* Serve until SIGTERM or SIGINT. reloader_reload() logs its own errors. */
static void wait_for_signal(struct serve *s, const sigset_t *set)
{
	for (;;) {
		int number = next_signal(s, set);
		struct err err;

		if (number == SIGTERM || number == SIGINT) {
			log_event(&s->log, LOG_INFO, "shutting down",
				  LOG_FIELDS(log_int("signal", number)));
			notify_stopping();
			return;
		}
		if (number != SIGHUP && !reloader_has_changed(s->reloader))
			continue;
		notify_reloading();
		(void)!reloader_reload(s->reloader, &err);
		notify_ready(s->url);
	}
}

/* Wrong flags end the command with exit code 2 before anything is changed. */
static int serve_run(struct serve *s, int argc, char **argv)
{
	static const struct usage serve = {
		"serve [FLAGS]",
		"Scrape the configured targets, store their profiles, and serve the API and the web\n"
		"page. SIGHUP reloads the configuration; SIGTERM and SIGINT shut the server down cleanly.",
		0, 0
	};
	static const struct usage agent = {
		"agent [FLAGS]",
		"Scrape the configured targets, and send their profiles to the receivers of remote_write.\n"
		"Profiles are kept until they are sent, and cannot be queried here. SIGHUP reloads the\n"
		"configuration; SIGTERM and SIGINT shut the agent down cleanly.",
		0, 0
	};
	int code = cmd_begin(s->agent ? &agent : &serve, s->flags, &argc, argv);
	int64_t sync_ms = 0;
	struct err err;
	sigset_t set;
	int rc;

	if (code >= 0)
		return code;
	rc = serve_flags_check(&s->f, &err);
	if (!rc)
		rc = serve_flags_log(&s->f, &s->log, &err);
	if (!rc)
		rc = serve_flags_sync(&s->f, &sync_ms, &err);
	if (!rc)
		rc = parse_networks(s, &err);
	if (rc) {
		cmd_fail(&err);
		return 2;
	}
	show_flags(s);
	rights_set_limits();
	if (rights_drop(&err))
		return cmd_fail(&err);
	rights_warn(&s->log, serve_is_given(s->f.web_config));
	block_signals(&set);
	mem_profile_start(MEM_PROFILE_RATE);
	rc = reloader_open(s->f.config_file, serve_needs_no_config(s),
			   &s->reloader, &err);
	if (!rc)
		rc = serve_start(s, sync_ms, &err);
	if (!rc)
		wait_for_signal(s, &set);
	serve_stop(s);
	if (rc)
		return cmd_fail(&err);
	log_event(&s->log, LOG_INFO, "shutdown complete", NULL);
	return 0;
}

/* Run everprof serve or everprof agent. */
static int serve_main(bool agent, int argc, char **argv)
{
	struct serve *s = mem_new(struct serve);
	int code;

	s->agent = agent;
	s->flag_count = serve_flags_init(
		&s->f, agent ? COMMAND_AGENT : COMMAND_SERVE, s->flags);
	s->metrics = metrics_new();
	code = serve_run(s, argc, argv);
	metrics_free(s->metrics);
	networks_free(s->refused);
	mem_free(s);
	return code;
}

int cmd_serve(int argc, char **argv)
{
	return serve_main(false, argc, argv);
}

int cmd_agent(int argc, char **argv)
{
	return serve_main(true, argc, argv);
}
