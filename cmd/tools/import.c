/* SPDX-License-Identifier: Apache-2.0 */
/* everprof tsdb import: appends profiles of any age to a data directory. */
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/cli/database.h"
#include "cmd/tools/source_passes.h"
#include "cmd/tools/source_sample.h"
#include "pprof/columns/columns.h"
#include "tsdb/open/tsdb.h"

/*
 * The default retention of `everprof serve`, because retention decides the size
 * of blocks. The import removes nothing.
 */
#define IMPORT_RETENTION_MS (90LL * 24 * 3600 * 1000)

/* The state of an import. */
struct import {
	struct sample_maker maker;
	struct tsdb *db;
	uint64_t lsn;
	/* counter of storage: profiles that were stored already */
	struct metric *duplicates;
	size_t imported;
	/* number of profiles that were stored already, with the same bytes */
	size_t known;
	size_t refused;
	int64_t ms;        /* time of the profile appended last */
	int64_t oldest_ms; /* oldest time of the imported profiles */
};

/* Check and append one profile. */
static int import_append(struct import *im, const struct source_item *it,
			 struct err *err)
{
	struct appender *a = tsdb_appender(im->db);
	struct sample s;
	int rc = sample_make(&im->maker, it, &s, err);

	if (rc)
		return rc;
	im->ms = s.ms;
	rc = a->append(a, &s, &im->lsn, err);
	labels_unref(s.labels);
	return rc;
}

/* pass_visitor.unreadable: report a file that cannot be read. */
static void import_report_unreadable(void *ctx, const struct err *err)
{
	struct import *im = ctx;

	console_line(stderr, "%s", err->msg);
	im->refused++;
}

/* Count an imported profile, and keep the oldest time of all. */
static void note_imported(struct import *im, int64_t ms)
{
	if (!im->imported++ || ms < im->oldest_ms)
		im->oldest_ms = ms;
}

/*
 * Import one profile. Errors of a single file are reported and counted. If
 * storage has the profile already, it increments its counter of duplicates, so
 * the profile is not counted as imported.
 */
static int import_one(void *ctx, const struct source_item *it, struct err *err)
{
	struct import *im = ctx;
	int rc = import_append(im, it, err);

	if (!rc && metric_get(im->duplicates) > (int64_t)im->known)
		im->known++;
	else if (!rc)
		note_imported(im, im->ms);
	/* Errors of a single file do not stop the import; other errors do. */
	if (rc && rc != ERR_INVALID && rc != ERR_EXISTS && rc != ERR_TOOBIG)
		return err_wrap(err, rc, "the import stopped at %s", it->path);
	if (!rc)
		return 0;
	console_line(stderr, "%s: %s", it->path, err->msg);
	im->refused++;
	return 0;
}

/*
 * pass_visitor.end: seal the head blocks of the pass; each becomes an immutable
 * block.
 */
static int import_seal(void *ctx, struct err *err)
{
	struct import *im = ctx;
	struct appender *a = tsdb_appender(im->db);
	int rc = a->sync(a, im->lsn, im->lsn, err);

	return rc ? rc : tsdb_maintain(im->db, true, err);
}

/* Open the data directory and import into it. */
static int import_run(struct import *im, const char *source, const char *path,
		      struct err *err)
{
	struct log log = { .fd = STDERR_FILENO, .level = LOG_WARN };
	struct metrics *metrics = metrics_new();
	struct tsdb_options o = { .columns = &codec_columns,
				  .path = path,
				  .log = &log,
				  .metrics = metrics,
				  .retention_ms = IMPORT_RETENTION_MS,
				  .max_series = 200000,
				  .ignore_retention = true,
				  .hold_wal = database_has_receivers(path) };
	const struct pass_visitor v = { .skip_before = INT64_MIN,
					.visit = import_one,
					.end = import_seal,
					.unreadable = import_report_unreadable,
					.ctx = im };
	int rc = cmd_check_owner(path, err);

	if (!rc)
		rc = tsdb_open(&o, &im->db, err);
	im->duplicates = metrics_counter(
		metrics, "everprof_tsdb_duplicate_samples_total",
		"Profiles that were skipped because the same bytes are stored already.",
		NULL);
	if (!rc)
		rc = source_walk_passes(source, &v, err);
	tsdb_close(im->db);
	metrics_free(metrics);
	return rc;
}

/*
 * Print the counts, and warn if `everprof serve` would remove the imported
 * profiles because of their age.
 */
static void import_report(const struct import *im, const char *path)
{
	char oldest[40];

	printf("%zu profiles imported, ", im->imported);
	if (im->known)
		printf("%zu already stored, ", im->known);
	printf("%zu refused\n", im->refused);
	if (!im->imported ||
	    im->oldest_ms >= clock_ms(NULL) - RETENTION_DEFAULT_MS)
		return;
	time_format(im->oldest_ms, oldest);
	console_say(
		"warning: the oldest profile is from %s, but everprof serve removes profiles older than --storage.tsdb.retention.time (default 90d); set it to 0 to keep all profiles in %s",
		oldest, path);
}

int cmd_tsdb_import(int argc, char **argv)
{
	const char *path = "data";
	const char *labels = "";
	int64_t max_profile = 64 * MIB;
	const struct flag flags[] = {
		{ "storage.tsdb.path", FLAG_TEXT, &path, "data",
		  "Data directory, which no server may be using." },
		{ "labels", FLAG_TEXT, &labels, NULL,
		  "Labels of all profiles, such as heap{job=\"app\"}. If they include the type, no labels are taken from the path." },
		{ "scrape.max-profile-size", FLAG_SIZE, &max_profile, "64MB",
		  "Maximum size of a profile, decompressed; larger profiles are refused." },
		{ 0 },
	};
	static const struct usage u = {
		"tsdb import SOURCE [FLAGS]",
		"Import pprof files into a data directory. SOURCE is a file, a folder, a tar, or a\n"
		"conprof data directory. Files are named <job>/<type>/<unix ms>.pb.gz, or as export\n"
		"and dump name them, or <unix ms>.pb.gz with --labels. Profiles of any age are imported,\n"
		"but serve removes them after 90 days by default. Profiles that are stored already are\n"
		"skipped. Exit with 1 when a file was refused\n"
		"or no profile was found.",
		1, 1
	};
	struct import im = { 0 };
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	rc = sample_maker_init(&im.maker, labels, max_profile, &err);
	if (!rc)
		rc = import_run(&im, argv[0], path, &err);
	if (!rc || im.imported)
		import_report(&im, path);
	sample_maker_fini(&im.maker);
	if (rc)
		return cmd_fail(&err);
	if (!im.imported && !im.known && !im.refused) {
		console_say(
			"no profiles found: name the files <job>/<type>/<unix ms>.pb.gz, or <unix ms>.pb.gz with --labels");
		return 1;
	}
	return im.refused ? 1 : 0;
}
