/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/query_fetch.h"

#include <unistd.h>

#include "base/mem.h"
#include "cmd/cmd.h"

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
