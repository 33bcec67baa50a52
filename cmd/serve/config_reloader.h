/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live configuration: the file that a running server uses, loaded again on
 * request or when the file has changed. A file with mistakes changes nothing;
 * its mistakes are logged one by one.
 *
 * Ownership: the members of the options are borrowed.
 * Threads: reloader_reload(), reloader_job_count(), reloader_text() and
 * reloader_state() from any thread; the other functions from one thread.
 */
#ifndef CMD_SERVE_CONFIG_RELOADER_H
#define CMD_SERVE_CONFIG_RELOADER_H

#include "base/buf.h"
#include "base/log.h"
#include "base/metrics.h"
#include "cmd/serve/ebpf_service.h"
#include "discovery/manager.h"
#include "push/receive/push_receiver.h"
#include "remotewrite/send/sender.h"
#include "scrape/run/scrape.h"

/* A loaded configuration and the parts of the server that use it. */
struct config_reloader;

/*
 * The options of reloader_start(): the path of the file, and the parts of the
 * server that use it. All members are borrowed.
 */
struct config_reloader_options {
	const char *path;
	const struct log *log;
	struct metrics *metrics;
	struct scraper *scraper;
	struct discovery *discovery;
	struct sender *sender;
	struct ebpf_service *ebpf;
	struct push_receiver *push;
};

/*
 * Load the file without applying it. `may_lack`: a file that is missing is as an
 * empty one, until it is there. Errors are those of config_load();
 * mistakes in the file are also printed on stderr. The caller owns *out.
 */
NODISCARD int reloader_open(const char *path, bool may_lack,
			    struct config_reloader **out, struct err *err);

/* Apply the configuration that reloader_open() has loaded. */
void reloader_start(struct config_reloader *l,
		    const struct config_reloader_options *o);

/*
 * Load the file again, and apply it if it has no mistakes. Errors are those of
 * config_load(), and ERR_INVALID: the file is empty. Errors are also logged,
 * and the old configuration stays in use.
 */
NODISCARD int reloader_reload(struct config_reloader *l, struct err *err);

/*
 * Whether the text of the file differs from the text that was loaded or refused
 * last, and has not changed since the previous call of this function.
 */
bool reloader_has_changed(struct config_reloader *l);

/* The number of scrape jobs. */
size_t reloader_job_count(struct config_reloader *l);

/* Whether the current configuration enables the eBPF collector. */
bool reloader_has_ebpf(struct config_reloader *l);

/* Number of receivers of remote write that are configured. */
size_t reloader_receiver_count(struct config_reloader *l);

/* Append the configuration as YAML, without its secrets. */
void reloader_text(struct config_reloader *l, struct buf *out);

/*
 * Return when the configuration in use was applied, in ms, and set *failure to
 * the error of the last reload; its code is 0 if the last reload succeeded.
 */
int64_t reloader_state(struct config_reloader *l, struct err *failure);

/*
 * Free the configuration. Scraper and discovery must have stopped. NULL is a
 * no-op.
 */
void reloader_free(struct config_reloader *l);

#endif
