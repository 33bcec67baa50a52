/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands share that fetch profiles or reports of a range: their flags
 * and parameters.
 *
 * Ownership: texts are borrowed from argv.
 * Threads: one thread.
 */
#ifndef CMD_QUERY_FETCH_H
#define CMD_QUERY_FETCH_H

#include "cmd/api_client.h"
#include "cmd/flags.h"
#include "cmd/report_flags.h"

enum {
	/* Report options and the flags of this file. */
	FLAGS_MAX = REPORT_FLAGS_MAX + 16
};

/* The request and the flags of a command; empty texts are not sent. */
struct query_command {
	struct query q;
	struct report_flags options;
	const char *report;
	const char *time;
	const char *match;
	const char *from;
	const char *to;
	const char *base_from;
	const char *base_to;
	const char *base_time;
	const char *aggregate;
	const char *group_by;
	bool normalize;
	bool diff_base;
	const char *output;
	struct flag flags[FLAGS_MAX];
	size_t flag_count;
};

/* All text flags start empty, so that the server applies its defaults. */
void query_fetch_init(struct query_command *j);

/* Append a flag; flag_count cannot exceed FLAGS_MAX, which has room for all. */
void query_fetch_add_flag(struct query_command *j, struct flag f);

/* The flags of every command here: which server, and where the result goes. */
void query_fetch_add_server(struct query_command *j);

/*
 * Append --from and --to. The values stay empty unless they are given. The
 * defaults shown are those that requests use; with one_profile --from has none.
 */
void query_fetch_add_range(struct query_command *j, bool one_profile);

#endif
