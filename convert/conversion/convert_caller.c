/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/conversion/convert_caller.h"

int convert_caller_look(const struct convert_caller *c, size_t memory,
			struct err *err)
{
	int rc = c->check(c->ctx, err);

	if (rc)
		return rc;
	if (memory > c->max_memory)
		return err_set(
			err, ERR_TOOBIG,
			"the conversion takes more than %zu bytes of memory: send fewer profiles at once, or a shorter recording",
			c->max_memory);
	return c->take(c->ctx, memory, err);
}
