/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/serve_storage.h"

#include "base/clock.h"
#include "base/units.h"
#include "cmd/serve/process.h"
#include "pprof/columns/columns.h"
#include "tsdb/maintain/stats.h"

/* If retention by size is lower than this number of bytes, the server warns. */
#define SMALL_RETENTION (64 * MIB)

/*
 * Warn about a retention by size that is probably a mistake: so small that
 * profiles would be removed before anybody can look at them, or so large that
 * the disk is full before a profile is removed.
 */
static void warn_of_size(const struct storage_options *o, int64_t bytes)
{
	uint64_t disk = 0;
	struct err err;

	if (bytes && bytes < SMALL_RETENTION)
		log_event(
			o->log, LOG_WARN,
			"--storage.tsdb.retention.size is so small that profiles may be removed as soon as they are stored",
			LOG_FIELDS(log_int("bytes", bytes)));
	if (!serve_flags_disk(o->flags, &disk, &err) && bytes > (int64_t)disk)
		log_event(
			o->log, LOG_WARN,
			"--storage.tsdb.retention.size is larger than the file system, which may become full before everprof removes profiles because of this limit; give a percentage, such as 80%",
			LOG_FIELDS(
				log_int("bytes", bytes),
				log_int("file_system_bytes", (int64_t)disk)));
}

/* Log what a database has. */
static void storage_announce(const struct storage_options *o, struct tsdb *db,
			     int64_t started_ns)
{
	struct tsdb_stats stats;

	tsdb_stats(db, &stats);
	log_event(o->log, LOG_INFO, "storage opened",
		  LOG_FIELDS(log_text("path", o->flags->path),
			     log_int("blocks", (int64_t)stats.blocks),
			     log_int("profiles_in_blocks",
				     (int64_t)stats.block_samples),
			     log_int("series", (int64_t)stats.series),
			     log_int("ranges", (int64_t)stats.heads),
			     log_int("unflushed", (int64_t)stats.unflushed),
			     log_int("took_ms", (clock_mono_ns() - started_ns) /
							1000000)));
}

/* Open the database of everprof serve. */
static int open_database(const struct storage_options *o, struct storage *out,
			 struct err *err)
{
	const struct serve_flags *f = o->flags;
	struct tsdb_options t = { .columns = &codec_columns,
				  .path = f->path,
				  .log = o->log,
				  .metrics = o->metrics,
				  .retention_ms = f->retention_ms,
				  .max_series = f->max_series,
				  .wal_budget = f->wal_budget,
				  .sync_ms = o->sync_ms,
				  .clock_steady_ms = f->clock_steady_ms ?: -1,
				  .hold_wal = true };
	int64_t started_ns = clock_mono_ns();
	int rc = serve_flags_retention(f, &t.retention_bytes, err);

	if (!rc)
		warn_of_size(o, t.retention_bytes);
	if (!rc)
		rc = tsdb_open(&t, &out->db, err);
	if (rc)
		return rc;
	storage_announce(o, out->db, started_ns);
	out->appender = tsdb_appender(out->db);
	out->samples = tsdb_sample_log(out->db);
	return 0;
}

/* Open the log of everprof agent. */
static int open_agent(const struct storage_options *o, struct storage *out,
		      struct err *err)
{
	const struct agent_store_options a = { .path = o->flags->path,
					       .log = o->log,
					       .metrics = o->metrics,
					       .sync_ms = o->sync_ms };
	int64_t started_ns = clock_mono_ns();
	int rc = agent_store_open(&a, &out->agent, err);

	if (rc)
		return rc;
	log_event(o->log, LOG_INFO, "storage opened",
		  LOG_FIELDS(log_text("path", o->flags->path),
			     log_int("wal_bytes",
				     (int64_t)agent_store_bytes(out->agent)),
			     log_int("took_ms", (clock_mono_ns() - started_ns) /
							1000000)));
	out->appender = agent_store_appender(out->agent);
	out->samples = agent_store_log(out->agent);
	return 0;
}

int storage_open(const struct storage_options *o, struct storage *out,
		 struct err *err)
{
	int rc;

	*out = (struct storage){ 0 };
	rc = o->agent ? open_agent(o, out, err) : open_database(o, out, err);
	if (!rc)
		process_register(o->metrics, out->db);
	return rc;
}

void storage_interrupt(struct storage *s)
{
	if (s->db)
		tsdb_interrupt(s->db);
}

void storage_close(struct storage *s)
{
	tsdb_close(s->db);
	agent_store_close(s->agent);
	*s = (struct storage){ 0 };
}
