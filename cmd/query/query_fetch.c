/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/query/query_fetch.h"

#include <unistd.h>

#include "base/mem.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"

void query_fetch_init(struct query_command *j)
{
	*j = (struct query_command){ .q = query_init(),
				     .report = "proto",
				     .time = "",
				     .match = "",
				     .from = "",
				     .to = "",
				     .base_from = "",
				     .base_to = "",
				     .base_time = "",
				     .aggregate = "",
				     .group_by = "",
				     .output = "" };
}

void query_fetch_add_flag(struct query_command *j, struct flag f)
{
	j->flags[j->flag_count++] = f;
}

void query_fetch_add_server(struct query_command *j)
{
	const struct flag flags[] = { QUERY_FLAGS(j->q) };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		query_fetch_add_flag(j, flags[i]);
	query_fetch_add_flag(
		j, (struct flag){
			   "output", FLAG_TEXT, &j->output, NULL,
			   "Output file (also -o); - is standard output." });
}

void query_fetch_add_range(struct query_command *j, bool one_profile)
{
	query_fetch_add_flag(
		j,
		(struct flag){
			"from", FLAG_TIME, &j->from,
			one_profile ? NULL : "now-1h",
			one_profile ?
				"Start of a time range whose profiles are merged: ms, RFC 3339 or now-1h." :
				"Start of the time range: ms, RFC 3339 or now-1h." });
	query_fetch_add_flag(j, (struct flag){ "to", FLAG_TIME, &j->to, "now",
					       "End of the time range." });
}

void query_fetch_side(struct query_command *j, const char *suffix,
		      const char *selector, const char *time,
		      const char *const range[2])
{
	const char *const names[] = { "query", "mode", "time",
				      "match", "from", "to" };
	const char *const values[] = {
		selector,
		*time ? "single" : "merge",
		time,
		"",
		*time     ? "" :
		*range[0] ? range[0] :
			    "now-1h",
		*time     ? "" :
		*range[1] ? range[1] :
			    "now",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s%s", names[i], suffix);
		query_param(&j->q, name, values[i]);
	}
}

int query_fetch_contradiction(const char *a, const char *b)
{
	console_say("%s cannot be combined with %s (see --help)", a, b);
	return 2;
}

/* Whether the command has the flag --base-time. */
static bool has_base_time(const struct query_command *j)
{
	for (size_t i = 0; i < j->flag_count; i++) {
		if (!strcmp(j->flags[i].name, "base-time"))
			return true;
	}
	return false;
}

int query_fetch_check_base(const struct query_command *j, int selectors)
{
	bool ranged = *j->base_from || *j->base_to;

	if (*j->time && (*j->from || *j->to))
		return query_fetch_contradiction("--time", "--from and --to");
	if (*j->time && ranged)
		return query_fetch_contradiction("--time",
						 "--base-from and --base-to");
	if (*j->base_time && ranged)
		return query_fetch_contradiction("--base-time",
						 "--base-from and --base-to");
	if (selectors > 1 || *j->base_time || ranged)
		return 0;
	console_say(
		"the base is missing: give --base-from and --base-to%s, or a second selector (see --help)",
		has_base_time(j) ? ", --base-time" : "");
	return 2;
}

void query_fetch_add_base(struct query_command *j, bool ranges)
{
	query_fetch_add_flag(
		j,
		(struct flag){
			"base-from", FLAG_TIME, &j->base_from, NULL,
			"Start of the base's time range (default: that of --from)." });
	query_fetch_add_flag(
		j,
		(struct flag){
			"base-to", FLAG_TIME, &j->base_to, NULL,
			"End of the base's time range (default: that of --to)." });
	if (ranges)
		return;
	query_fetch_add_flag(
		j,
		(struct flag){
			"base-time", FLAG_TIME, &j->base_time, NULL,
			"Use the single profile nearest to this time as the base." });
	query_fetch_add_flag(
		j,
		(struct flag){
			"normalize", FLAG_BOOL, &j->normalize, NULL,
			"Scale the profiles to the totals of the base first." });
}

void query_fetch_sides(struct query_command *j, const char *selector,
		       const char *base)
{
	query_fetch_side(j, "_b", selector, j->time,
			 (const char *const[]){ j->from, j->to });
	query_fetch_side(
		j, "_a", base, j->base_time,
		(const char *const[]){ *j->base_from ? j->base_from : j->from,
				       *j->base_to ? j->base_to : j->to });
	query_param(&j->q, "normalize", j->normalize ? "1" : "");
}
