/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/pgo.h"

/* Whether the profile has a sample type with this name and unit. */
static bool has_type(const struct pprof *p, const char *type, const char *unit)
{
	for (size_t i = 0; i < p->types.count; i++) {
		if (str_is(pprof_str(p, p->types.v[i].type), type) &&
		    str_is(pprof_str(p, p->types.v[i].unit), unit))
			return true;
	}
	return false;
}

/*
 * Whether the profile has start lines of functions: the Go compiler identifies
 * calls by their distance from the start line, and refuses profiles without
 * start lines (docs/decisions.md, 44). Returns true for a profile without
 * functions.
 */
static bool has_start_lines(const struct pprof *p)
{
	for (size_t i = 0; i < p->functions.count; i++) {
		if (p->functions.v[i].start_line)
			return true;
	}
	return !p->functions.count;
}

/*
 * Whether a function is in a source file of Go, as at least those of Go's
 * runtime are. Returns true if the profile names no source files.
 */
static bool has_go_files(const struct pprof *p)
{
	bool any = false;

	for (size_t i = 0; i < p->functions.count; i++) {
		struct str file = pprof_str(p, p->functions.v[i].file);

		if (str_ends(file, ".go"))
			return true;
		any |= file.len > 0;
	}
	return !any;
}

int pprof_pgo(struct merge *m, struct pprof *p, struct pprof **out,
	      struct err *err)
{
	int rc;

	if (!has_type(p, "samples", "count") &&
	    !has_type(p, "cpu", "nanoseconds"))
		return err_set(
			err, ERR_INVALID,
			"report pgo requires a CPU profile, with sample type samples/count or cpu/nanoseconds");
	if (!has_go_files(p))
		return err_set(
			err, ERR_INVALID,
			"report pgo requires a profile of a Go program, but no function of this profile is in a .go file");
	if (!has_start_lines(p))
		return err_set(
			err, ERR_INVALID,
			"report pgo requires the start lines of functions, which programs built by Go 1.20 or later provide");
	/*
	 * Remove everything that the compiler ignores, so that the merge adds
	 * up samples whose stacks have become equal. Without addresses and
	 * mappings, the same source line of different builds counts as equal,
	 * too.
	 */
	for (size_t i = 0; i < p->label_sets.count; i++)
		p->label_sets.v[i].count = 0;
	for (size_t i = 0; i < p->locations.count; i++) {
		p->locations.v[i].address = 0;
		p->locations.v[i].mapping = PPROF_NONE;
	}
	p->mappings.count = 0;
	p->comments.count = 0;
	rc = merge_add(m, p, NULL, err);
	if (!rc)
		*out = merge_finish(m);
	return rc;
}
