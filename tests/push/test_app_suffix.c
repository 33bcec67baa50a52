/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an application's name says what folded stacks count. */
#include "push/labels/app_suffix.h"

#include "tests/check.h"

Test(app_suffix, it_is_removed_and_names_the_profile)
{
	static const struct {
		const char *name;
		const char *app;
		const char *profile;
		const char *type;
		bool is_part;
	} cases[] = {
		{ "shop", "shop", "process_cpu", "cpu", false },
		{ "shop.cpu", "shop", "process_cpu", "cpu", false },
		{ "my.shop.itimer", "my.shop", "process_cpu", "cpu", false },
		{ "shop.wall", "shop", "wall", "wall", false },
		{ "shop.alloc_space", "shop", "memory", "alloc_space", true },
		{ "shop.mutex_duration", "shop", "mutex", "delay", true },
		{ "shop.lock_count", "shop", "block", "contentions", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str app = str_of(cases[i].name);
		const struct app_suffix *s = NULL;
		struct err err;

		cr_assert(!app_suffix_cut(&app, &s, &err));
		cr_expect(check_str(app, cases[i].app));
		cr_expect(check_str(str_of(s->name), cases[i].profile));
		cr_expect(s->is_part == cases[i].is_part);
		cr_expect(check_str(str_of(s->type), cases[i].type));
	}
}

Test(app_suffix, an_unknown_one_is_refused)
{
	struct str app = str_of("my.shop");
	const struct app_suffix *s = NULL;
	struct err err;

	cr_expect(app_suffix_cut(&app, &s, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "\".shop\" is not known"), "%s", err.msg);
	app = str_of(".cpu");
	cr_expect(app_suffix_cut(&app, &s, &err) == ERR_INVALID);
}
