/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof report: pprof files on this machine, merged, compared and reported,
 * without a server.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cmd/cli/console.h"
#include "cmd/cli/file_reader.h"
#include "cmd/cli/output.h"
#include "cmd/cli/symbols_helper.h"
#include "cmd/query/report_flags.h"
#include "pprof/merge/merge.h"
#include "pprof/proto/encode.h"
#include "pprof/report/pgo.h"
#include "pprof/report/report.h"
#include "query/merge/symbolize.h"

#define GZIP_LEVEL 6
/* Maximum time for finding the names of addresses: a minute. */
#define SYMBOLIZE_NS (60 * INT64_C(1000000000))

/* The flags and both sides of a report. */
struct fetch {
	struct report_flags options;
	const char *base;
	const char *diff_base;
	bool normalize;
	const char *source_path;
	const char *symbols_path;
	const char *output;
	struct file_reader source;
	struct file_reader base_side;
	/* holds the difference, in its member `merge`; the rest is unused */
	struct file_reader both;
};

/* Read and merge the files, then the base if there is one. */
static int read_sides(struct fetch *j, int argc, char **argv, struct err *err)
{
	int rc = 0;

	for (int i = 0; !rc && i < argc; i++)
		rc = file_reader_read(&j->source, argv[i], err);
	if (!rc && !merge_count(j->source.merge))
		rc = err_set(err, ERR_NOTFOUND, "%s contains no profiles",
			     argv[0]);
	if (!rc && (*j->base || *j->diff_base))
		rc = file_reader_read(&j->base_side,
				      *j->base ? j->base : j->diff_base, err);
	return rc;
}

/*
 * Finish the merge of the files, and subtract the base if there is one. *out
 * points into one of the merges, which owns it.
 */
static int report_cmd_combine(struct fetch *j, struct pprof **out,
			      struct err *err)
{
	struct merge_diff_options o = { .label_base = *j->diff_base,
					.normalize = j->normalize };

	*out = merge_finish(j->source.merge);
	if (!merge_count(j->base_side.merge))
		return 0;
	return merge_diff(j->both.merge, *out, merge_finish(j->base_side.merge),
			  &o, out, err);
}

/* Name the addresses of a profile that have no function. */
static int report_cmd_symbolize(const struct fetch *j, struct pprof *p,
				struct err *err)
{
	struct arena arena = { 0 };
	const char *warnings[4];
	struct symbolize s = {
		.symbolizer = symbols_helper_new(j->symbols_path, false),
		.deadline_ns = clock_mono_ns() + SYMBOLIZE_NS,
	};
	int rc = profile_symbolize(&s, p, err);
	size_t n = rc ? 0 :
			symbolize_warnings(&s, p, &arena, warnings,
					   ARRAY_SIZE(warnings));

	for (size_t i = 0; i < n; i++)
		console_say("warning: %s", warnings[i]);
	arena_fini(&arena);
	symbolizer_free(s.symbolizer);
	return rc;
}

/*
 * Append a report to `out`. `type` has either a function that writes text, or a
 * function that writes JSON.
 */
static int report_cmd_write_report(const struct report_options *o,
				   const struct report_type *type,
				   struct pprof *p, struct buf *out,
				   struct err *err)
{
	struct report r;
	struct json json = json_init(out);
	int rc = report_init(&r, type->kind, p, o, err);

	if (rc)
		return rc;
	report_flags_warn(&r.unmatched);
	if (type->write)
		rc = type->write(&r, out, err);
	else
		rc = type->json(&r, &json, err);
	report_fini(&r);
	return rc;
}

/*
 * Append a profile to `out` instead of a report: all samples that the filters
 * keep or, if `pgo` is set, only those parts of the samples that compilers
 * need.
 */
static int report_cmd_write_profile(const struct report_options *o, bool pgo,
				    struct pprof *p, struct buf *out,
				    struct err *err)
{
	struct merge *slim = merge_new();
	struct report r;
	int rc = 0;

	if (report_options_filter(o)) {
		rc = report_init(&r, REPORT_TRACES, p, o, err);
		if (!rc) {
			report_flags_warn(&r.unmatched);
			report_fini(&r);
		}
	}
	if (!rc && pgo)
		rc = pprof_pgo(slim, p, &p, err);
	if (!rc)
		pprof_encode_gzip(p, GZIP_LEVEL, out);
	merge_free(slim);
	return rc;
}

/* Whether there is a report of this name. */
static bool report_cmd_has(const char *name)
{
	return report_find(str_of(name)) || !strcmp(name, "proto") ||
	       !strcmp(name, "pgo");
}

/* Report an unknown name; users of pprof give only a file. */
static int report_cmd_unknown(const char *name, struct err *err)
{
	struct stat st;

	if (stat(name, &st))
		return report_unknown(str_of(name), "proto pgo", err);
	return err_set(err, ERR_INVALID,
		       "there is no report %s: try everprof report top %s",
		       name, name);
}

/* Read, combine and write; all flags are checked before any file is read. */
static int report_cmd_run(struct fetch *j, int argc, char **argv,
			  struct err *err)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	const struct report_type *type = report_find(str_of(argv[0]));
	bool pgo = !strcmp(argv[0], "pgo");
	struct report_options o;
	struct pprof *p;
	int rc;

	if (*j->base && *j->diff_base)
		return err_set(err, ERR_INVALID,
			       "--base cannot be combined with --diff_base");
	if (!report_cmd_has(argv[0]))
		return report_cmd_unknown(argv[0], err);
	rc = report_flags_options(&j->options, &o, err);
	if (!rc)
		rc = report_flags_check_output(j->output, argv[0], err);
	if (!rc)
		rc = output_check(j->output, err);
	o.source_root = j->source_path;
	if (!rc)
		rc = read_sides(j, argc - 1, argv + 1, err);
	if (!rc)
		rc = report_cmd_combine(j, &p, err);
	if (!rc && o.symbolize)
		rc = report_cmd_symbolize(j, p, err);
	if (!rc && type)
		rc = report_cmd_write_report(&o, type, p, &out, err);
	else if (!rc)
		rc = report_cmd_write_profile(&o, pgo, p, &out, err);
	return rc ? rc :
		    output_save(j->output, type && type->for_people,
				buf_bytes(&out), err);
}

static int report_cmd_parse(struct fetch *j, int *argc, char **argv)
{
	/*
	 * The array has room for the six flags of this command, the flags of
	 * the report options, and the row that ends the list.
	 */
	struct flag flags[REPORT_FLAGS_MAX + 7] = {
		{ "output", FLAG_TEXT, &j->output, "-",
		  "Output file (also -o); - is standard output." },
		{ "base", FLAG_TEXT, &j->base, NULL,
		  "Subtract this file, or all files of this folder." },
		{ "diff_base", FLAG_TEXT, &j->diff_base, NULL,
		  "Like --base, but percentages are relative to the base." },
		{ "normalize", FLAG_BOOL, &j->normalize, NULL,
		  "Scale the profiles to the totals of the base first." },
		{ "source_path", FLAG_TEXT, &j->source_path, NULL,
		  "Folder with source files, for the report source." },
		{ "symbols.path", FLAG_TEXT, &j->symbols_path, SYMBOLS_PATH,
		  "Folder with separate debug files by build ID, to name addresses." },
	};
	static const struct usage u = {
		"report NAME FILE… [FLAGS]",
		"Merge pprof files (of a folder: all its files) and print the report NAME. The text is\n"
		"that of pprof.\n\nReports: " USAGE_REPORTS ", proto, pgo.",
		1, 1000000
	};
	struct err err;
	int code;

	report_flags_list(&j->options, flags + 6);
	code = cmd_begin(&u, flags, argc, argv);
	if (code >= 0 || *argc > 1)
		return code;
	if (report_cmd_has(argv[0]))
		err_set(&err, ERR_INVALID, "FILE is missing");
	else
		(void)!report_cmd_unknown(argv[0], &err);
	cmd_fail(&err);
	fprintf(stderr, "usage: everprof %s   (see --help)\n", u.line);
	return 2;
}

int cmd_report(int argc, char **argv)
{
	struct fetch j = { .base = "", .diff_base = "", .output = "-" };
	struct err err;
	int code = report_cmd_parse(&j, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	file_reader_init(&j.source);
	file_reader_init(&j.base_side);
	file_reader_init(&j.both);
	rc = report_cmd_run(&j, argc, argv, &err);
	file_reader_fini(&j.source);
	file_reader_fini(&j.base_side);
	file_reader_fini(&j.both);
	return rc ? cmd_fail(&err) : 0;
}
