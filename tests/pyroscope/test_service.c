/* SPDX-License-Identifier: Apache-2.0 */
/* The service of each kind of series, and how it is found. */
#include "pyroscope/names/service.h"

#include "tests/check.h"

/* Labels of a text such as "job=a exe=b". */
static struct labels *labels_of(const char *text)
{
	struct labels_builder b = { 0 };
	struct str rest = str_of(text);
	struct labels *ls;

	while (rest.len) {
		struct str value = str_cut(rest, ' ', &rest);
		struct str name = str_cut(value, '=', &value);

		labels_set(&b, name, value);
	}
	cr_assert(!labels_build(&b, &ls, NULL));
	labels_builder_fini(&b);
	return ls;
}

static const struct {
	const char *labels;
	const char *service;
} cases[] = {
	{ "job=app instance=a:1", "app" },
	{ "job=app service_name=shop", "shop" },
	{ "job=app exe=x container=y", "app" },
	{ "job=ebpf exe=x container=y systemd_unit=z.service", "y" },
	{ "job=ebpf exe=x systemd_unit=z.service", "z" },
	{ "job=ebpf exe=x systemd_unit=z.scope", "z.scope" },
	{ "job=ebpf exe=x.service", "x.service" },
	{ "job=ebpf container=y.service", "y.service" },
	{ "job=ebpf exe=x", "x" },
	{ "job=ebpf exe=x service_name=shop", "shop" },
	{ "job=ebpf node=n", "ebpf" },
};

Test(service, each_series_has_one)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct labels *ls = labels_of(cases[i].labels);

		cr_expect(check_str(service_of(ls), cases[i].service), "%s",
			  cases[i].labels);
		labels_unref(ls);
	}
	cr_expect(service_is_label(str_of("service_name")));
	cr_expect(service_is_label(str_of("__service_name__")));
	cr_expect(!service_is_label(str_of("job")));
}

/* Else the database would not find a series that has the service. */
Test(service, one_of_the_matchers_finds_each_series)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct matcher v[SERVICE_MATCHERS_MAX];
		struct arena arena = { 0 };
		struct labels *ls = labels_of(cases[i].labels);
		size_t n =
			service_matchers(str_of(cases[i].service), &arena, v);
		bool found = false;

		for (size_t k = 0; k < n; k++)
			found |= matchers_match(&v[k], 1, ls);
		cr_expect(found, "%s", cases[i].labels);
		labels_unref(ls);
		arena_fini(&arena);
	}
}
