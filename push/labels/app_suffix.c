/* SPDX-License-Identifier: Apache-2.0 */
#include "push/labels/app_suffix.h"

#include <string.h>

int app_suffix_cut(struct str *app, const struct app_suffix **out,
		   struct err *err)
{
	static const struct app_suffix suffixes[] = {
		{ "cpu", "process_cpu", "cpu", "nanoseconds", true, false },
		{ "itimer", "process_cpu", "cpu", "nanoseconds", true, false },
		{ "wall", "wall", "wall", "nanoseconds", true, false },
		{ "seconds", "wall", "wall", "nanoseconds", true, false },
		{ "milliseconds", "wall", "wall", "nanoseconds", true, false },
		{ "microseconds", "wall", "wall", "nanoseconds", true, false },
		{ "nanoseconds", "wall", "wall", "nanoseconds", true, false },
		{ "inuse_objects", "memory", "inuse_objects", "count", false,
		  true },
		{ "inuse_space", "memory", "inuse_space", "bytes", false,
		  true },
		{ "alloc_objects", "memory", "alloc_objects", "count", false,
		  true },
		{ "alloc_space", "memory", "alloc_space", "bytes", false,
		  true },
		{ "bytes", "memory", "samples", "bytes", false, true },
		{ "live", "memory", "live", "count", false, true },
		{ "alloc_in_new_tlab_objects", "memory",
		  "alloc_in_new_tlab_objects", "count", false, true },
		{ "alloc_in_new_tlab_bytes", "memory",
		  "alloc_in_new_tlab_bytes", "bytes", false, true },
		{ "alloc_outside_tlab_objects", "memory",
		  "alloc_outside_tlab_objects", "count", false, true },
		{ "alloc_outside_tlab_bytes", "memory",
		  "alloc_outside_tlab_bytes", "bytes", false, true },
		{ "goroutines", "goroutine", "goroutines", "count", false,
		  false },
		{ "mutex_count", "mutex", "contentions", "count", false, true },
		{ "mutex_duration", "mutex", "delay", "nanoseconds", false,
		  true },
		{ "block_count", "block", "contentions", "count", false, true },
		{ "block_duration", "block", "delay", "nanoseconds", false,
		  true },
		{ "lock_count", "block", "contentions", "count", false, true },
		{ "lock_duration", "block", "delay", "nanoseconds", false,
		  true },
		{ "exceptions", "exceptions", "samples", "count", false,
		  false },
	};
	const char *dot = app->len ? memrchr(app->ptr, '.', app->len) : NULL;
	size_t before = dot ? (size_t)(dot - app->ptr) : app->len;
	struct str end = { app->ptr + before, app->len - before };

	*out = &suffixes[0];
	if (!dot)
		return 0;
	if (!before)
		return err_set(
			err, ERR_INVALID,
			"parameter \"name\" has no application name before the dot");
	end.ptr++;
	end.len--;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (!str_is(end, suffixes[i].suffix))
			continue;
		*out = &suffixes[i];
		app->len = before;
		return 0;
	}
	return err_set(
		err, ERR_INVALID,
		"parameter \"name\": the ending \".%.*s\" is not known: it must say what the numbers of the folded stacks count, such as .cpu, .wall, .alloc_space or .inuse_space",
		STR_ARG(str_clip(end, 60)));
}
