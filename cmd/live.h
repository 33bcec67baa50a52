/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live configuration: the file that a running server works by, loaded again
 * on request or when the file has changed. A file with mistakes changes
 * nothing; its mistakes are logged one by one.
 *
 * Ownership: the members of the options are borrowed.
 * Threads: live_reload(), live_job_count() and live_text() from any; the other
 * functions from one thread.
 */
#ifndef CMD_LIVE_H
#define CMD_LIVE_H

#include "base/buf.h"
#include "base/log.h"
#include "base/metrics.h"
#include "discovery/manager.h"
#include "scrape/scrape.h"

/* A loaded configuration and what runs by it. */
struct live;

/* What works by the configuration. All members are borrowed. */
struct live_options {
	const char *path;
	const struct log *log;
	struct metrics *metrics;
	struct scraper *scraper;
	struct discovery *discovery;
};

/*
 * Load the file without applying it. Returns the errors of config_load();
 * mistakes are printed on stderr. The caller owns *out.
 */
NODISCARD int live_open(const char *path, struct live **out, struct err *err);

/* Apply the configuration that live_open() has loaded. */
void live_start(struct live *l, const struct live_options *o);

/*
 * Load the file again, and apply it if it has no mistakes. Errors are those of
 * config_load(), and ERR_INVALID: the file is empty. They are also logged; the
 * old configuration stays.
 */
NODISCARD int live_reload(struct live *l, struct err *err);

/*
 * Whether the file differs from what was loaded, or tried, last and has been
 * stable since the call before.
 */
bool live_has_changed(struct live *l);

/* The number of scrape jobs. */
size_t live_job_count(struct live *l);

/* Append the configuration as YAML, without its secrets. */
void live_text(struct live *l, struct buf *out);

/*
 * Free the configuration. Scraper and discovery must have stopped. NULL is a
 * no-op.
 */
void live_free(struct live *l);

#endif
