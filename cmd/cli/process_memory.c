/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the memory figures of /proc/self/status. */
#include "cmd/cli/process_memory.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/file_slurp.h"

int64_t memory_kb(const char *field)
{
	struct buf text = buf_init(64 * KIB);
	int64_t kb = 0;
	const char *at = NULL;

	if (!file_slurp("/proc/self/status", &text, NULL))
		/*
		 * `field` ends with a colon, so it occurs only once in the
		 * text.
		 */
		at = strstr(buf_cstr(&text), field);
	if (at)
		kb = strtoll(at + strlen(field), NULL, 10);
	buf_fini(&text);
	return kb;
}
