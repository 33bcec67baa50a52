/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live configuration: the file that a server runs by, loaded again when
 * somebody asks for it, or when it has changed.
 *
 * A file with mistakes changes nothing: they are logged, one by one.
 *
 * Ownership: what is in the options is borrowed.
 * Threads: live_reload() and live_text() from any; the rest from one.
 */
#ifndef CMD_LIVE_H
#define CMD_LIVE_H

#include "base/buf.h"
#include "base/log.h"
#include "base/metrics.h"
#include "discovery/manager.h"
#include "scrape/scrape.h"

struct live;

struct live_options {
	const char *path;
	const struct log *log;
	struct metrics *metrics;
	struct scraper *scraper;
	struct discovery *discovery;
};

/* Load the file, without running by it. The same errors as config_load(). */
NODISCARD int live_open(const char *path, struct live **out, struct err *err);

/* Run by what was loaded. */
void live_start(struct live *l, const struct live_options *o);

/* Load the file again, and run by it if it has no mistakes. */
NODISCARD int live_reload(struct live *l, struct err *err);

/* Whether the file is not what was loaded, or tried, last. */
bool live_has_changed(struct live *l);

/* The configuration as YAML, without its secrets. */
size_t live_job_count(struct live *l);

void live_text(struct live *l, struct buf *out);

/* Scraper and discovery have stopped. NULL is a no-op. */
void live_free(struct live *l);

#endif
