/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <stdlib.h>

const char *env_find(const char *name)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes it */
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

struct str env_text(const char *name)
{
	const char *value = env_find(name);

	return str_of(value ? value : "");
}
