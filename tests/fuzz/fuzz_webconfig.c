/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the web configuration. The files that an input names do not exist. */
#include "web/auth/web_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct web_config c;
	struct err err;

	if (web_config_parse(&c, "/nowhere/web.yml",
			     (struct bytes){ data, size }, &err) &&
	    !c.yaml.error_count)
		__builtin_trap();
	web_config_fini(&c);
	return 0;
}
