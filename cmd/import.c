/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof tsdb import: appends profiles of any age to a data directory. Each
 * pass over the source imports a few windows of two hours, for all series. With
 * fewer windows in a pass, a tar would be read more often; with more, more head
 * blocks would be open at once.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/url.h"
#include "cmd/cmd.h"
#include "cmd/source.h"
#include "model/selector.h"
#include "pprof/columns.h"
#include "pprof/unpack.h"
#include "tsdb/tsdb.h"

#define WINDOW_MS (2LL * 3600 * 1000)

/*
 * Number of windows that one pass over the source imports; as many head blocks
 * may be open at once.
 */
#define PASS_WINDOWS 24

/*
 * The default retention of `everprof serve`, because retention decides the size
 * of blocks. The import removes nothing.
 */
#define IMPORT_RETENTION_MS (90LL * 24 * 3600 * 1000)

/* The state of an import. */
struct import {
	/* labels given by --labels; empty if not given */
	struct selector labels;
	bool named; /* whether `labels` has __name__, the profile type */
	struct tsdb *db;
	struct unpacker *unpacker;
	struct unpacked *unpacked;

	/* The windows in which the source has profiles, in ascending order. */
	int64_t *windows; /* numbers of windows, see window_of() */
	size_t window_count;
	size_t window_cap;
	/* numbers of the first and last window of this pass */
	int64_t first_window;
	int64_t last_window;
	bool first_pass;

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

/* The number of the window that a time is in; -1: the time is unknown. */
static int64_t window_of(int64_t ms)
{
	return ms < 0 ? -1 : ms / WINDOW_MS;
}

/*
 * source_visitor.wants of the first walk, which only collects the windows:
 * records the window of the profile and returns false, so that no file is read.
 */
static bool note_window(void *ctx, int64_t ms)
{
	struct import *im = ctx;
	int64_t w = window_of(ms);

	if (im->window_count && im->windows[im->window_count - 1] == w)
		return false;
	im->windows = mem_grow(im->windows, im->window_count, &im->window_cap,
			       sizeof(*im->windows));
	im->windows[im->window_count++] = w;
	return false;
}

static int import_by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sort the windows and remove duplicates. */
static void sort_windows(struct import *im)
{
	size_t kept = 0;

	qsort(im->windows, im->window_count, sizeof(*im->windows),
	      import_by_number);
	for (size_t i = 0; i < im->window_count; i++) {
		if (!kept || im->windows[i] != im->windows[kept - 1])
			im->windows[kept++] = im->windows[i];
	}
	im->window_count = kept;
}

/*
 * source_visitor.wants of a pass: whether the time of a profile is in one of
 * the windows that this pass imports.
 */
static bool in_window(void *ctx, int64_t ms)
{
	const struct import *im = ctx;
	int64_t w = window_of(ms);

	return w >= im->first_window && w <= im->last_window;
}

/* Whether a folder's name can be a job or type: not empty, "." or "..". */
static bool import_is_name(struct str folder)
{
	return folder.len && !str_is(folder, ".") && !str_is(folder, "..");
}

/*
 * Whether the name of a folder is the escaped selector of a series, as `query
 * export` and `tsdb dump` name folders.
 */
static bool is_selector(struct str folder)
{
	return memmem(folder.ptr, folder.len, "%7B", 3) ||
	       memchr(folder.ptr, '{', folder.len);
}

/*
 * Set the labels that a folder's name, an escaped selector, contains.
 * ERR_INVALID: the name is not a selector.
 */
static int labels_of_folder(struct labels_builder *b, struct str folder,
			    struct err *err)
{
	struct arena arena = { 0 };
	struct selector s = { 0 };
	int rc = selector_parse(url_unescape_path(folder, &arena), &s, err);

	if (rc)
		rc = err_set(
			err, ERR_INVALID,
			"the folder name is not a series selector (long names are truncated): give --labels");
	for (size_t i = 0; i < s.count && !rc; i++)
		labels_set(b, s.matchers[i].name, s.matchers[i].value);
	selector_fini(&s);
	arena_fini(&arena);
	return rc;
}

/*
 * Make the labels of a profile from conprof's labels, from the name of the
 * folder if that is a selector, or else from the job and type in the path
 * (unless --labels has the type). Labels given by --labels override all of
 * these. ERR_INVALID: the type is unknown.
 */
static int import_make_labels(const struct import *im,
			      const struct source_item *it, struct labels **out,
			      struct err *err)
{
	struct labels_builder b = { 0 };
	int rc = 0;

	if (it->labels) {
		struct labels_iter li = labels_iter(it->labels);
		struct label l;

		while (labels_next(&li, &l))
			labels_set(&b, l.name, l.value);
	} else if (is_selector(it->type)) {
		rc = labels_of_folder(&b, it->type, err);
	} else if (!im->named && import_is_name(it->type)) {
		if (import_is_name(it->job))
			labels_set(&b, str_of("job"), it->job);
		labels_set(&b, str_of(LABEL_NAME), it->type);
	}
	for (size_t i = 0; i < im->labels.count; i++)
		labels_set(&b, im->labels.matchers[i].name,
			   im->labels.matchers[i].value);
	if (!rc && labels_builder_get(&b, str_of(LABEL_NAME)).len)
		rc = labels_build(&b, out, err);
	else if (!rc)
		rc = err_set(
			err, ERR_INVALID,
			"unknown profile type: give --labels, such as --labels='heap{job=\"app\"}'");
	labels_builder_fini(&b);
	return rc;
}

/*
 * Check and append one profile. The time is taken from the file name or, if the
 * name is not a time, from the profile itself. ERR_INVALID: neither has a time.
 */
static int import_append(struct import *im, const struct source_item *it,
			 struct labels *labels, struct err *err)
{
	struct appender *a = tsdb_appender(im->db);
	struct sample s = { .labels = labels, .ms = it->ms };
	int rc = unpacker_run(im->unpacker, it->data, im->unpacked, err);

	if (rc)
		return rc;
	if (s.ms < 0)
		s.ms = im->unpacked->scan.time_ns / 1000000;
	if (it->ms < 0 && s.ms <= 0)
		return err_set(err, ERR_INVALID,
			       "unknown time: name the file <unix ms>.pb.gz");
	unpacked_sample(im->unpacked, it->data, &s);
	im->ms = s.ms;
	return a->append(a, &s, &im->lsn, err);
}

/*
 * source_visitor.unreadable: report a file that cannot be read. Every pass
 * meets the same errors, so only the first pass reports them.
 */
static void import_report_unreadable(void *ctx, const struct err *err)
{
	struct import *im = ctx;

	if (!im->first_pass)
		return;
	fprintf(stderr, "%s\n", err->msg);
	im->refused++;
}

/*
 * source_visitor.unreadable of the first walk: reports nothing, because the
 * first pass will report the same errors.
 */
static void not_yet(void *ctx, const struct err *err)
{
	(void)ctx;
	(void)err;
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
	struct labels *labels = NULL;
	int rc = import_make_labels(im, it, &labels, err);

	if (!rc) {
		rc = import_append(im, it, labels, err);
		labels_unref(labels);
	}
	if (!rc && metric_get(im->duplicates) > (int64_t)im->known)
		im->known++;
	else if (!rc)
		note_imported(im, im->ms);
	/* Errors of a single file do not stop the import; other errors do. */
	if (rc && rc != ERR_INVALID && rc != ERR_EXISTS && rc != ERR_TOOBIG)
		return err_wrap(err, rc, "the import stopped at %s", it->path);
	if (!rc)
		return 0;
	fprintf(stderr, "%s: %s\n", it->path, err->msg);
	im->refused++;
	return 0;
}

/*
 * Collect the windows, then import them in passes of PASS_WINDOWS windows.
 * After each pass, its head blocks are sealed: each becomes an immutable block.
 */
static int import_all(struct import *im, const char *source, struct err *err)
{
	struct source_visitor v = { .wants = note_window,
				    .unreadable = not_yet,
				    .ctx = im };
	struct appender *a = tsdb_appender(im->db);
	int rc = source_walk(source, &v, err);

	if (rc)
		return rc;
	/*
	 * Only a pass reports what cannot be read. If the source has no
	 * profiles, add a window without profiles, so that there is a pass.
	 */
	if (!im->window_count)
		note_window(im, INT64_MAX);
	sort_windows(im);
	v.wants = in_window;
	v.visit = import_one;
	v.unreadable = import_report_unreadable;
	for (size_t i = 0; i < im->window_count && !rc; i += PASS_WINDOWS) {
		size_t last = i + PASS_WINDOWS < im->window_count ?
				      i + PASS_WINDOWS :
				      im->window_count;

		im->first_pass = !i;
		im->first_window = im->windows[i];
		im->last_window = im->windows[last - 1];
		rc = source_walk(source, &v, err);
		if (!rc)
			rc = a->sync(a, im->lsn, err);
		if (!rc)
			rc = tsdb_maintain(im->db, true, err);
	}
	return rc;
}

/*
 * Parse --labels: a selector with nothing but name="value". ERR_INVALID: the
 * text is something else.
 */
static int import_parse_labels(const char *text, struct import *im,
			       struct err *err)
{
	int rc;

	if (!*text)
		return 0;
	rc = selector_parse(str_of(text), &im->labels, err);
	if (rc)
		return err_wrap(err, rc, "--labels");
	for (size_t i = 0; i < im->labels.count; i++) {
		const struct matcher *m = &im->labels.matchers[i];

		if (m->op != MATCH_EQ)
			return err_set(
				err, ERR_INVALID,
				"--labels: labels must have the form name=\"value\"");
		for (size_t k = 0; k < i; k++) {
			if (str_eq(im->labels.matchers[k].name, m->name))
				return err_set(err, ERR_INVALID,
					       "--labels: duplicate label %.*s",
					       STR_ARG(m->name));
		}
		im->named |= str_is(m->name, LABEL_NAME);
	}
	return 0;
}

/* Open the data directory and import into it. */
static int import_run(struct import *im, const char *source, const char *path,
		      const char *labels, struct err *err)
{
	struct log log = { .fd = STDERR_FILENO, .level = LOG_WARN };
	struct metrics *metrics = metrics_new();
	struct tsdb_options o = { .columns = &codec_columns,
				  .path = path,
				  .log = &log,
				  .metrics = metrics,
				  .retention_ms = IMPORT_RETENTION_MS,
				  .max_series = 200000,
				  .ignore_retention = true };
	int rc = import_parse_labels(labels, im, err);

	if (!rc)
		rc = cmd_check_owner(path, err);
	if (!rc)
		rc = tsdb_open(&o, &im->db, err);
	im->duplicates = metrics_counter(
		metrics, "everprof_tsdb_duplicate_samples_total",
		"Profiles that were skipped because the same bytes are stored already.",
		NULL);
	if (!rc)
		rc = import_all(im, source, err);
	tsdb_close(im->db);
	metrics_free(metrics);
	return rc;
}

/*
 * Report that no profiles were found, and warn if `everprof serve` would remove
 * the imported profiles because of their age.
 */
static void import_advise(const struct import *im, const char *path)
{
	char oldest[40];

	if (!im->imported && !im->known && !im->refused)
		fprintf(stderr,
			"everprof: no profiles found: name the files <job>/<type>/<unix ms>.pb.gz, or give their labels with --labels\n");
	if (!im->imported ||
	    im->oldest_ms >= clock_ms(NULL) - RETENTION_DEFAULT_MS)
		return;
	time_format(im->oldest_ms, oldest);
	fprintf(stderr,
		"everprof: warning: the oldest profile is from %s, but everprof serve removes profiles older than --storage.tsdb.retention.time (default 90d); set it to 0 to keep all profiles in %s\n",
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
		"skipped. Exit with 1 when a file was refused.",
		1, 1
	};
	struct import im = { 0 };
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	im.unpacker = unpacker_new((size_t)max_profile);
	im.unpacked = mem_new(struct unpacked);
	rc = import_run(&im, argv[0], path, labels, &err);
	printf("%zu profiles imported, ", im.imported);
	if (im.known)
		printf("%zu already stored, ", im.known);
	printf("%zu refused\n", im.refused);
	import_advise(&im, path);
	unpacker_free(im.unpacker);
	mem_free(im.unpacked);
	mem_free(im.windows);
	selector_fini(&im.labels);
	if (rc)
		return cmd_fail(&err);
	return im.refused ? 1 : 0;
}
