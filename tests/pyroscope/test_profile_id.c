/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of profile types, and the names of profiles that were scraped. */
#include "pyroscope/names/profile_id.h"

#include "tests/check.h"

Test(profile_id, five_parts_make_an_id)
{
	struct profile_id id;
	struct buf text = { 0 };

	cr_assert(!profile_id_parse(
		str_of("process_cpu:cpu:nanoseconds:cpu:nanoseconds"), &id,
		NULL));
	cr_expect(str_is(id.name, "process_cpu"));
	cr_expect(str_is(id.value.type, "cpu"));
	cr_expect(str_is(id.value.unit, "nanoseconds"));
	cr_expect(str_is(id.period.type, "cpu"));
	cr_expect(str_is(id.period.unit, "nanoseconds"));
	cr_assert(!profile_id_parse(str_of("memory:alloc_space:bytes:::delta"),
				    &id, NULL));
	profile_id_print(&id, &text);
	cr_expect(check_str(str_from(buf_bytes(&text)),
			    "memory:alloc_space:bytes::"));
	buf_fini(&text);
}

Test(profile_id, other_texts_are_refused)
{
	static const char *const texts[] = {
		"", "cpu", "a:b:c:d", "a:b:c:d:e:f", ":b:c:d:e", "a::c:d:e",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct err err = { .msg = "" };
		struct profile_id id;

		cr_expect(profile_id_parse(str_of(texts[i]), &id, &err) ==
				  ERR_INVALID,
			  "%s", texts[i]);
		cr_expect(strstr(err.msg, "NAME:TYPE:UNIT"), "%s", err.msg);
	}
}

Test(profile_id, scraped_profiles_have_the_names_of_pushed_ones)
{
	struct str names[PROFILE_ALIASES_MAX];

	cr_expect(str_is(profile_id_shown(str_of("profile")), "process_cpu"));
	cr_expect(str_is(profile_id_shown(str_of("heap")), "memory"));
	cr_expect(str_is(profile_id_shown(str_of("allocs")), "allocs"));
	cr_expect(profile_id_stored(str_of("memory"), names) == 2);
	cr_expect(str_is(names[0], "memory") && str_is(names[1], "heap"));
	cr_expect(profile_id_stored(str_of("heap"), names) == 1);
	cr_expect(str_is(names[0], "heap"));
}
