/* SPDX-License-Identifier: Apache-2.0 */
/* The grid of a heat map: which profile is in which cell. */
#include "pyroscope/answer/heat_cells.h"

#include "tests/pyroscope/series_view.h"

TestSuite(heat_cells, .timeout = 30);

static int spend(void *ctx, size_t bytes, struct err *err)
{
	size_t *most = ctx;

	return bytes <= *most ? 0 : err_set(err, ERR_LIMIT, "no memory");
}

static void add(struct heat_cells *h, const char *group, const char *series,
		const struct series_profile *v)
{
	struct labels *of_group = series_view_labels(group);
	struct labels *own = series_view_labels(series);
	struct series_view s;

	series_view_init(&s, "cpu", v);
	cr_assert(!heat_cells_add(h, of_group, own, &s.view, &s.type, NULL));
	series_view_fini(&s);
	labels_unref(of_group);
	labels_unref(own);
}

/* The cells of a group that are not empty, as "step/row:count=best …". */
static bool has_cells(const struct heat_cells *h, size_t group,
		      const char *want)
{
	struct buf out = { 0 };
	bool same;

	for (size_t step = 0; step < h->steps->count; step++) {
		for (size_t row = 0; row < HEAT_CELLS_ROWS; row++) {
			const struct heat_cell *c =
				heat_cells_at(h, group, step, row);

			if (c->count)
				buf_printf(&out, "%s%zu/%zu:%u=%lld",
					   out.len ? " " : "", step, row,
					   c->count,
					   (long long)h->profiles.v[c->best]
						   .value.value);
		}
	}
	same = check_str(str_of(buf_cstr(&out)), want);
	buf_fini(&out);
	return same;
}

Test(heat_cells, values_are_in_twentieths_of_the_range_of_all)
{
	const struct time_steps steps = time_steps_of(1000, 2999, 1000);
	const struct series_profile low[] = { { 1000, 100, 10 },
					      { 1001, 104, 10 },
					      { 1002, 105, 10 },
					      { 2000, 200, 10 },
					      { 0 } };
	const struct series_profile high[] = {
		{ 1500, 199, 10 }, { 1600, 195, 10 }, { 1700, 0, 10 }, { 0 }
	};
	size_t most = SIZE_MAX;
	const struct limits limits = { .spend = spend, .ctx = &most };
	struct heat_cells h;

	heat_cells_init(&h, &limits, &steps);
	add(&h, "x", "a", low);
	add(&h, "y", "b", high);
	add(&h, "x", "c", high);
	cr_assert(!heat_cells_count(&h, NULL));
	cr_assert(h.groups.count == 2);
	/* A bound belongs to the row above it; the largest value to the last. */
	cr_expect(
		has_cells(&h, 0, "0/0:2=104 0/1:1=105 0/19:2=199 1/19:1=200"));
	cr_expect(has_cells(&h, 1, "0/19:2=199"));
	cr_expect(h.groups.v[0].total == 100 + 104 + 105 + 200 + 199 + 195);
	cr_expect(heat_cells_bound(&h, 0) == 100);
	cr_expect(heat_cells_bound(&h, 1) == 105);
	cr_expect(heat_cells_bound(&h, 19) == 195);
	heat_cells_fini(&h);
}

Test(heat_cells, equal_values_are_in_the_first_row)
{
	const struct time_steps steps = time_steps_of(1000, 1999, 1000);
	const struct series_profile v[] = { { 1000, 7, 10 },
					    { 1001, 7, 10 },
					    { 0 } };
	size_t most = SIZE_MAX;
	const struct limits limits = { .spend = spend, .ctx = &most };
	struct heat_cells h;

	heat_cells_init(&h, &limits, &steps);
	add(&h, "x", "a", v);
	cr_assert(!heat_cells_count(&h, NULL));
	cr_expect(has_cells(&h, 0, "0/0:2=7"));
	cr_expect(heat_cells_bound(&h, 1) == 8);
	heat_cells_fini(&h);
}

Test(heat_cells, the_grid_asks_for_its_memory)
{
	const struct time_steps steps = time_steps_of(1000, 64999, 1000);
	const struct series_profile v[] = { { 1000, 7, 10 }, { 0 } };
	size_t most = SIZE_MAX;
	const struct limits limits = { .spend = spend, .ctx = &most };
	struct heat_cells h;

	heat_cells_init(&h, &limits, &steps);
	add(&h, "x", "a", v);
	most = 64 * HEAT_CELLS_ROWS * sizeof(struct heat_cell) - 1;
	cr_expect(heat_cells_count(&h, NULL) == ERR_LIMIT);
	heat_cells_fini(&h);
	/* Without a profile, there is no cell. */
	most = SIZE_MAX;
	heat_cells_init(&h, &limits, &steps);
	cr_expect(!heat_cells_count(&h, NULL));
	cr_expect(!h.groups.count);
	heat_cells_fini(&h);
}
