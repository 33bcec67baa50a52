/* SPDX-License-Identifier: Apache-2.0 */
#include "model/profile_type.h"

bool profile_type_is_meant(struct str typed, struct str name)
{
	static const struct {
		const char *typed;
		const char *name;
	} pairs[] = {
		{ "cpu", "profile" },          { "cpu", "process_cpu" },
		{ "profile", "process_cpu" },  { "process_cpu", "profile" },
		{ "memory", "heap" },          { "mem", "heap" },
		{ "alloc", "allocs" },         { "goroutines", "goroutine" },
		{ "threads", "threadcreate" }, { "lock", "mutex" },
		{ "locks", "mutex" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (str_is(typed, pairs[i].typed) &&
		    str_is(name, pairs[i].name))
			return true;
	}
	return false;
}
