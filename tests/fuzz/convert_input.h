/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convert input: the caller of conversions that are fuzzed. What comes out must be a
 * profile of pprof that the scan accepts.
 *
 * Threads: one thread.
 */
#ifndef TESTS_FUZZ_CONVERT_INPUT_H
#define TESTS_FUZZ_CONVERT_INPUT_H

#include <stdlib.h>

#include "convert/conversion/convert_caller.h"
#include "pprof/proto/scan.h"

#define CONVERT_INPUT_MAX ((size_t)1 << 20)

static int convert_input_take(void *ctx UNUSED, size_t bytes, struct err *err)
{
	return bytes > 64 << 20 ? err_set(err, ERR_LIMIT, "too much") : 0;
}

static int convert_input_check(void *ctx UNUSED, struct err *err UNUSED)
{
	return 0;
}

static int convert_input_store(void *ctx UNUSED,
			       const struct labels_builder *labels UNUSED,
			       struct bytes profile, bool *refused,
			       struct err *err)
{
	static struct scanner *s;
	static struct scan scan;

	if (!s)
		s = scanner_new();
	if (scanner_run(s, profile, &scan, err))
		abort();
	*refused = false;
	return 0;
}

static inline struct convert_caller convert_input_caller(void)
{
	return (struct convert_caller){ .max_profile = CONVERT_INPUT_MAX,
					.max_memory = 4 * CONVERT_INPUT_MAX,
					.take = convert_input_take,
					.check = convert_input_check,
					.store = convert_input_store };
}

#endif
