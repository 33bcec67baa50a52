/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/names/sample_label.h"

#include "base/defs.h"
#include "pyroscope/names/service.h"

bool sample_label_is_shown(struct str name)
{
	static const char *const ids[] = { "span_id", "profile_id",
					   "trace_id" };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		if (str_is(name, ids[i]))
			return false;
	}
	return name.len && !str_starts(name, str_of("__")) &&
	       !service_is_label(name);
}

bool sample_label_is_possible(const struct sample_label_test *t,
			      struct str name)
{
	return sample_label_is_shown(name) && t->may_have(t->ctx, name);
}
