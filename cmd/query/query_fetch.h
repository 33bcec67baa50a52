/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flags and request parameters shared by the commands that fetch profiles
 * or reports of a range.
 *
 * Ownership: texts are borrowed from argv.
 * Threads: one thread.
 */
#ifndef CMD_QUERY_QUERY_FETCH_H
#define CMD_QUERY_QUERY_FETCH_H

#include "cmd/cli/api_client.h"
#include "cmd/cli/flags.h"
#include "cmd/query/report_flags.h"

enum {
	/*
	 * Maximum number of flags of a command: report options and the flags
	 * that the functions of this file add.
	 */
	FLAGS_MAX = REPORT_FLAGS_MAX + 24
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

/*
 * Set the defaults. The texts other than `report` are empty at first, so that
 * the server applies its own defaults.
 */
void query_fetch_init(struct query_command *j);

/* Append a flag to the list of flags. FLAGS_MAX is enough for any command. */
void query_fetch_add_flag(struct query_command *j, struct flag f);

/*
 * Append the flags that all these commands have: which server to ask, and where
 * the result goes.
 */
void query_fetch_add_server(struct query_command *j);

/*
 * Append --from and --to. Their values stay empty unless they are given; the
 * defaults in the help are those that the server applies. If `one_profile` is
 * set, --from has no default.
 */
void query_fetch_add_range(struct query_command *j, bool one_profile);

/* Report two flags that exclude each other; returns the exit code. */
int query_fetch_contradiction(const char *a, const char *b);

/*
 * Add the parameters of one side of a request: a single profile near a time, or
 * all profiles of a range merged. `suffix` is "", or for a difference "_a" (the
 * base) or "_b" (what is compared with the base).
 */
void query_fetch_side(struct query_command *j, const char *suffix,
		      const char *selector, const char *time,
		      const char *const range[2]);

/*
 * Append the flags that choose the base of a difference. `ranges`: only ranges of
 * time are compared, not single profiles.
 */
void query_fetch_add_base(struct query_command *j, bool ranges);

/*
 * Reject flags that exclude each other, and a difference whose two sides would
 * be the same profiles. Returns the exit code, or 0 to go on.
 */
int query_fetch_check_base(const struct query_command *j, int selectors);

/*
 * Add the parameters of both sides of a difference. If --base-from or --base-to
 * is missing, the base uses the value of --from or --to.
 */
void query_fetch_sides(struct query_command *j, const char *selector,
		       const char *base);

#endif
