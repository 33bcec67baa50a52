/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/names/service.h"

#include "model/collected.h"

#define UNIT_SUFFIX ".service"

/* Return a unit of systemd without its suffix. */
static struct str service_of_unit(struct str unit)
{
	if (str_ends(unit, UNIT_SUFFIX))
		unit.len -= strlen(UNIT_SUFFIX);
	return unit;
}

struct str service_of(const struct labels *ls)
{
	static const char *const of_machine[] = { "container", "systemd_unit",
						  "exe" };
	struct str job = labels_get(ls, str_of("job"));
	struct str value = labels_get(ls, str_of(SERVICE_NAME));

	if (value.len || !str_is(job, COLLECTED_JOB))
		return value.len ? value : job;
	for (size_t i = 0; i < ARRAY_SIZE(of_machine); i++) {
		value = labels_get(ls, str_of(of_machine[i]));
		if (value.len)
			return str_is(str_of(of_machine[i]), "systemd_unit") ?
				       service_of_unit(value) :
				       value;
	}
	return job;
}

bool service_is_label(struct str name)
{
	return str_is(name, SERVICE_NAME) || str_is(name, "__service_name__");
}

size_t service_matchers(struct str service, struct arena *arena,
			struct matcher out[SERVICE_MATCHERS_MAX])
{
	static const char *const labels[SERVICE_MATCHERS_MAX] = {
		SERVICE_NAME,   "job", "container",
		"systemd_unit", "exe", "systemd_unit",
	};

	for (size_t i = 0; i < SERVICE_MATCHERS_MAX; i++)
		out[i] = (struct matcher){ .op = MATCH_EQ,
					   .name = str_of(labels[i]),
					   .value = service };
	out[SERVICE_MATCHERS_MAX - 1].value = str_of(
		arena_printf(arena, "%.*s" UNIT_SUFFIX, STR_ARG(service)));
	return SERVICE_MATCHERS_MAX;
}
