/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compare files: two sets of pprof files of this machine, each file a run of its
 * own, as everprof compare does.
 *
 * Ownership: texts are borrowed.
 * Threads: one thread.
 */
#ifndef CMD_QUERY_COMPARE_FILES_H
#define CMD_QUERY_COMPARE_FILES_H

#include "cmd/cli/flags.h"
#include "pprof/compare/compare_json.h"
#include "pprof/graph/report_options.h"

/* What is compared. */
struct compare_files {
	const char *const *paths[ESTIMATE_SIDES]; /* files and folders */
	size_t counts[ESTIMATE_SIDES];
	enum compare_by by;
	bool by_kind; /* let the kind of the values decide instead */
	double alpha;
	double min_samples;
	const struct report_options *options;
};

/*
 * Read the files, compare them, and append the answer to `out`, in the form of
 * the API (docs/api.md, report=compare). Errors name the file.
 */
NODISCARD int compare_files(const struct compare_files *o, struct buf *out,
			    struct err *err);

#endif
