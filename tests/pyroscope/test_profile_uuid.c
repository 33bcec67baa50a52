/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/names/profile_uuid.h"
#include "tests/check.h"

TestSuite(profile_uuid, .timeout = 20);

Test(profile_uuid, a_profile_and_its_uuid_are_one)
{
	static const struct {
		struct profile_uuid id;
		const char *text;
	} cases[] = {
		{ { 0, 0 }, "00000000-0000-8000-8000-000000000000" },
		{ { 1, 1 }, "00000000-0001-8000-8000-000000000400" },
		{ { UINT64_MAX, (INT64_C(1) << 48) - 1 },
		  "ffffffff-ffff-8fff-bfff-fffffffffc00" },
		{ { UINT64_C(0x0123456789abcdef), 1795232802933 },
		  "01a1fc36-a875-8012-8d15-9e26af37bc00" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[PROFILE_UUID_LEN + 1];
		struct profile_uuid id;
		struct err err;

		profile_uuid_print(&cases[i].id, text);
		cr_expect(check_str(str_of(text), cases[i].text), "case %zu",
			  i);
		cr_assert(!profile_uuid_parse(str_of(text), &id, &err));
		cr_expect(id.digest == cases[i].id.digest &&
				  id.ms == cases[i].id.ms,
			  "case %zu", i);
	}
}

Test(profile_uuid, other_texts_are_no_profiles)
{
	static const char *const texts[] = {
		"",
		"no",
		"00000000-0000-8000-8000-00000000000",
		"00000000-0000-8000-8000-0000000000000",
		"00000000-0000-8000-8000-00000000000g",
		"000000000000-8000-8000-0000-00000000",
		"{0000000-0000-8000-8000-000000000000",
	};
	struct profile_uuid id;
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		cr_expect(profile_uuid_parse(str_of(texts[i]), &id, &err) ==
				  ERR_INVALID,
			  "%s", texts[i]);
	/* Of Pyroscope, in capitals, of another variant, with other bits. */
	cr_expect(!profile_uuid_parse(
		str_of("C1A5A2F1-3A6E-4B8A-9A51-8D0F2C7F9A10"), &id, &err));
	cr_expect(id.ms == -1);
	cr_expect(!profile_uuid_parse(
		str_of("00000000-0000-8000-c000-000000000000"), &id, &err));
	cr_expect(id.ms == -1);
	cr_expect(!profile_uuid_parse(
		str_of("00000000-0000-8000-8000-000000000001"), &id, &err));
	cr_expect(id.ms == -1);
}

Test(profile_uuid, lists_are_searched)
{
	const struct str texts[] = {
		str_of("00000000-0005-8000-8000-000000000800"),
		str_of("00000000-0001-8000-8000-000000000800"),
		str_of("00000000-0003-8000-8000-000000000400"),
		str_of("00000000-0001-8000-8000-000000000800"),
	};
	struct profile_uuids ids;
	struct err err;

	cr_assert(!profile_uuids_parse(texts, ARRAY_SIZE(texts), &ids, &err));
	cr_expect(profile_uuids_has_series(&ids, 1) &&
		  profile_uuids_has_series(&ids, 2));
	cr_expect(!profile_uuids_has_series(&ids, 0) &&
		  !profile_uuids_has_series(&ids, 3));
	for (int64_t ms = -1; ms < 8; ms++) {
		cr_expect(profile_uuids_has(&ids, 1, ms) == (ms == 3));
		cr_expect(profile_uuids_has(&ids, 2, ms) ==
			  (ms == 1 || ms == 5));
	}
	profile_uuids_fini(&ids);
	cr_expect(profile_uuids_parse(&(struct str){ .ptr = "x", .len = 1 }, 1,
				      &ids, &err) == ERR_INVALID);
	profile_uuids_fini(&ids);
}
