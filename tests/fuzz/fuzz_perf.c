/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the text of perf script. What is converted must be a profile of pprof that the
 * scan accepts.
 */
#include <stdlib.h>

#include "convert/perf/perf_convert.h"
#include "tests/fuzz/convert_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct convert_caller caller = convert_input_caller();
	struct err err = { .msg = "" };
	struct str text = { (const char *)data, size };

	(void)perf_convert_is(text);
	if (perf_convert(text, &caller, &err) && !*err.msg)
		abort();
	return 0;
}
