/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/file/dwarf_index.h"

#include <dwarf.h>
#include <stdlib.h>

enum {
	/*
	 * Number of levels at which functions are looked for. The first level
	 * is directly in the unit; the others are in nested namespaces, types,
	 * functions and blocks.
	 */
	DWARF_DEPTH_MAX = 32,
	/* Largest number of ranges of one index; 24 bytes each. */
	DWARF_SPANS_MAX = 8 << 20,
	/*
	 * To find an address, examine at most this many ranges that begin at or
	 * before the address, the last of them first.
	 */
	DWARF_NESTED_MAX = 64,
};

/*
 * Add the ranges of the entry `die`, except those that are empty or begin at
 * address 0. At most DWARF_SPANS_MAX ranges are kept in one index.
 */
static void dwarf_index_add(struct dwarf_index *x, Dwarf_Die *die)
{
	Dwarf_Addr base;
	Dwarf_Addr start;
	Dwarf_Addr end;
	ptrdiff_t next = 0;

	while (x->spans.count < DWARF_SPANS_MAX &&
	       (next = dwarf_ranges(die, next, &base, &start, &end)) > 0) {
		/*
		 * A function that the linker has removed may have a range that
		 * begins at address 0.
		 */
		if (!start || start >= end)
			continue;
		*vec_add(&x->spans) =
			(struct dwarf_span){ .start = start,
					     .end = end,
					     .entry = dwarf_dieoffset(die) };
	}
}

/* Order of ranges: an outer range comes before the ranges inside it. */
static int dwarf_span_order(const void *a, const void *b)
{
	const struct dwarf_span *x = a;
	const struct dwarf_span *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static void dwarf_index_sort(struct dwarf_index *x)
{
	if (x->spans.count)
		qsort(x->spans.v, x->spans.count, sizeof(*x->spans.v),
		      dwarf_span_order);
}

void dwarf_index_units(struct dwarf_index *x, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	Dwarf_Half version;
	uint8_t type;

	while (!dwarf_get_units(dwarf, unit, &unit, &version, &type, &die,
				NULL)) {
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			dwarf_index_add(x, &die);
	}
	dwarf_index_sort(x);
}

/* Whether an entry with this tag may contain functions. */
static bool dwarf_has_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_module || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_lexical_block;
}

/* NOLINTNEXTLINE(misc-no-recursion): the depth is limited */
static void dwarf_index_children(struct dwarf_index *x, Dwarf_Die *parent,
				 int depth)
{
	Dwarf_Die die;

	if (depth == DWARF_DEPTH_MAX || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			dwarf_index_add(x, &die);
		if (dwarf_has_functions(tag))
			dwarf_index_children(x, &die, depth + 1);
	} while (!dwarf_siblingof(&die, &die));
}

void dwarf_index_functions(struct dwarf_index *x, Dwarf_Die *unit)
{
	dwarf_index_children(x, unit, 0);
	dwarf_index_sort(x);
}

const struct dwarf_span *dwarf_index_find(const struct dwarf_index *x,
					  uint64_t address)
{
	size_t low = vec_partition_point(&x->spans, e, e->start <= address);

	for (size_t i = 0; i < DWARF_NESTED_MAX && low; i++) {
		const struct dwarf_span *s = &x->spans.v[--low];

		if (address < s->end)
			return s;
	}
	return NULL;
}

void dwarf_index_fini(struct dwarf_index *x)
{
	vec_fini(&x->spans);
}
