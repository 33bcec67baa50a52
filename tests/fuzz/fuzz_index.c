/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parser of profile lists. */
#include "scrape/target/profile_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile_list *types;
	struct err err;

	if (profile_list_parse((struct bytes){ data, size }, &types, &err))
		return 0;
	for (size_t i = 0; i < types->count; i++) {
		/*
		 * The path goes into a URL. It must not end the path of the
		 * URL, nor the header.
		 */
		if (!types->v[i].name.len || types->v[i].path.ptr[0] == '/' ||
		    strpbrk(types->v[i].path.ptr, " \r\n?#"))
			__builtin_trap();
	}
	profile_list_unref(types);
	return 0;
}
