/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes recordings of JFR. The first byte of an input is the length of the labels that
 * come before the recording. What is converted must be a profile of pprof that the scan
 * accepts.
 */
#include <stdlib.h>

#include "convert/jfr/jfr_convert.h"
#include "tests/fuzz/convert_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct labels_builder none = { 0 };
	struct jfr_result result;
	struct jfr_options o = { .caller = convert_input_caller(),
				 .labels = &none };
	struct err err = { .msg = "" };
	size_t labels;
	int rc;

	if (!size)
		return 0;
	labels = data[0] < size - 1 ? data[0] : size - 1;
	o.snapshot = (struct bytes){ data + 1, labels };
	rc = jfr_convert((struct bytes){ data + 1 + labels, size - 1 - labels },
			 &o, &result, &err);
	if (rc && !*err.msg)
		abort();
	return 0;
}
