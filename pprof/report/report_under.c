/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option `under` of reports: keep the part of the profile below one box of
 * a flame graph, which is given by the names on the path to it.
 */
#include "pprof/report/report_forms.h"

/*
 * Return whether the frames of a location are next on the path, which has
 * `count` names. *at is the number of names found so far, and is advanced.
 */
static bool location_is_under(const struct report *r, uint32_t location,
			      size_t count, size_t *at)
{
	struct pprof_run run = r->nodes.locations.v[location];

	for (uint32_t k = run.count; k > 0 && *at < count; k--) {
		uint32_t node = r->nodes.of_lines.v[run.first + k - 1];

		if (!str_eq(r->nodes.v.v[node].text, r->o->under[*at]))
			return false;
		(*at)++;
	}
	return true;
}

/* Return whether a stack begins with the `count` names of the path. */
static bool stack_is_under(const struct report *r, const struct pprof_run *s,
			   size_t count)
{
	size_t at = 0;

	for (uint32_t i = s->count; i > 0 && at < count; i--) {
		uint32_t location = r->p->frames.v[s->first + i - 1];

		if (!location_is_under(r, location, count, &at))
			return false;
	}
	return at == count;
}

int report_keep_under(struct report *r, struct err *err)
{
	struct growth_meter meter = { 0 };
	size_t count = 0;
	bool *keep;
	bool any = false;
	int rc = 0;

	while (count < UNDER_MAX && r->o->under[count].len)
		count++;
	if (!count)
		return 0;
	keep = mem_zalloc(r->p->stacks.count, sizeof(*keep));
	for (size_t i = 0; i < r->p->stacks.count && !rc; i++) {
		keep[i] = stack_is_under(r, &r->p->stacks.v[i], count);
		any = any || keep[i];
		rc = limits_meter(&r->o->limits, &meter, count, 0, err);
	}
	pprof_keep(r->p, keep, NULL);
	mem_free(keep);
	if (!any)
		r->unmatched.names[r->unmatched.count++] = "under";
	return rc;
}
