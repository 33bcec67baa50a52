/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes folded stacks. What is converted must be a profile of pprof that the scan
 * accepts.
 */
#include <stdlib.h>

#include "convert/folded/folded_convert.h"
#include "tests/fuzz/convert_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct labels_builder none = { 0 };
	const struct folded_options o = {
		.caller = convert_input_caller(),
		.head = { .types[0] = { str_of("cpu"),
					str_of("nanoseconds") } },
		.factor = 10000000,
		.labels = &none,
	};
	struct err err = { .msg = "" };
	struct str text = { (const char *)data, size };

	if (folded_convert(text, &o, &err) && !*err.msg)
		abort();
	return 0;
}
