/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes configuration files: YAML, and everything that is decoded from it. */
#include "cmd/serve/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config c;
	struct err err;

	if (config_parse(&c, "fuzz.yaml",
			 (struct bytes){ .ptr = data, .len = size }, &err)) {
		/* When a file is refused, the list of errors is not empty. */
		if (!c.yaml.error_count)
			__builtin_trap();
	}
	config_fini(&c);
	return 0;
}
