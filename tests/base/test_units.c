/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations, sizes and times as text. They are accepted and refused as by
 * Prometheus and RFC 3339, and what is written reads back.
 */
#include "base/units.h"
#include "tests/check.h"

TestSuite(units, .timeout = 10);

#define DAY 86400000LL

Test(units, durations_are_read_as_prometheus_reads_them)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: it is refused */
	} cases[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "324ms", 324 },
		{ "3s", 3000 },
		{ "5m", 300000 },
		{ "1h", 3600000 },
		{ "4d", 4 * DAY },
		{ "4d1h", 4 * DAY + 3600000 },
		{ "14d", 14 * DAY },
		{ "3w", 21 * DAY },
		{ "3w2d1h", 23 * DAY + 3600000 },
		{ "10y", 3650 * DAY },
		{ "1y2w3d4h5m6s7ms",
		  (365 + 14 + 3) * DAY + 4 * 3600000 + 5 * 60000 + 6007 },
		{ "61m", 3660000 },
		{ "007s", 7000 },
		{ "9223372036854775807ms", INT64_MAX },
		{ "9223372036854775808ms", -1 },
		{ "292277024y", 292277024LL * 365 * DAY },
		{ "292471209y", -1 },
		{ "9223372036854775s807ms", INT64_MAX },
		{ "9223372036854775s808ms", -1 },
		{ "1", -1 },
		{ "00", -1 },
		{ "1y1m1d", -1 },
		{ "-1w", -1 },
		{ "+1w", -1 },
		{ "1.5d", -1 },
		{ "d", -1 },
		{ "294ms1s", -1 },
		{ "1s1s", -1 },
		{ "", -1 },
		{ " 1s", -1 },
		{ "1s ", -1 },
		{ "1 s", -1 },
		{ "1S", -1 },
		{ "1min", -1 },
		{ "1us", -1 },
		{ "1h5", -1 },
		{ "h1", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t v = -1;
		struct err err;
		int rc = duration_parse(str_of(cases[i].text), &v, &err);

		cr_expect(v == cases[i].ms, "%s: %lld", cases[i].text,
			  (long long)v);
		cr_expect(rc == (cases[i].ms < 0 ? ERR_INVALID : 0), "%s",
			  cases[i].text);
		cr_expect(!rc || strstr(err.msg, "1m30s") ||
				  strstr(err.msg, "add a unit, such as "),
			  "an example");
	}
	struct err err;

	cr_expect(duration_parse((struct str){ "305", 2 }, &(int64_t){ 0 },
				 &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "\"30\": add a unit, such as 30s"), "%s",
		  err.msg);
	cr_expect(duration_parse((struct str){ "1s\0", 3 }, &(int64_t){ 0 },
				 NULL) == ERR_INVALID);
	cr_expect(duration_parse((struct str){ 0 }, &(int64_t){ 0 }, NULL) ==
		  ERR_INVALID);
}

Test(units, durations_are_written_as_prometheus_writes_them)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {
		{ 0, "0s" },
		{ 1, "1ms" },
		{ 1500, "1s500ms" },
		{ 60000, "1m" },
		{ 5400000, "1h30m" },
		{ DAY, "1d" },
		{ 7 * DAY, "1w" },
		{ 8 * DAY, "8d" },
		{ 14 * DAY, "2w" },
		{ 90 * DAY, "90d" },
		{ 365 * DAY, "1y" },
		{ 366 * DAY, "366d" },
		{ 7 * DAY + 1, "7d1ms" },
		{ INT64_MAX, "106751991167d7h12m55s807ms" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t v = -1;
		char text[32];

		duration_format(cases[i].ms, text);
		cr_expect(check_str(str_of(text), cases[i].text));
		cr_assert(!duration_parse(str_of(text), &v, NULL),
			  "%s reads back", text);
		cr_expect(v == cases[i].ms, "%s reads back", text);
	}
}

Test(units, every_duration_that_is_written_reads_back)
{
	uint64_t x = 88172645463325252u;

	for (int i = 0; i < 20000; i++) {
		int64_t ms;
		int64_t v = -1;
		char text[32];

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		ms = (int64_t)(x >> (1 + i % 60));
		duration_format(ms, text);
		cr_assert(!duration_parse(str_of(text), &v, NULL), "%lld: %s",
			  (long long)ms, text);
		cr_assert(v == ms, "%lld: %s", (long long)ms, text);
	}
}

Test(units, sizes_count_in_powers_of_two)
{
	static const struct {
		const char *text;
		int64_t bytes; /* -1: it is refused */
	} cases[] = {
		{ "0", 0 },
		{ "0B", 0 },
		{ "7B", 7 },
		{ "1KB", KIB },
		{ "1KiB", KIB },
		{ "1kb", KIB },
		{ "1Kib", KIB },
		{ "512MB", 512 * MIB },
		{ "20GB", 20 * GIB },
		{ "1TB", 1024 * GIB },
		{ "2PiB", 2048 * 1024 * GIB },
		{ "1EB", 1LL << 60 },
		{ "7EiB", 7LL << 60 },
		{ "8EB", -1 },
		{ "7.999EB", (int64_t)(7.999 * 0x1p60) },
		{ "1.5GB", 1536 * MIB },
		{ ".5KB", 512 },
		{ "1.KB", KIB },
		{ "9007199254740992", 9007199254740992 },
		{ "9223372036854775808", -1 },
		{ "99999999999999999999999999999999", -1 },
		{ "1.2.3MB", -1 },
		{ ".", -1 },
		{ ".MB", -1 },
		{ "", -1 },
		{ "MB", -1 },
		{ "-1MB", -1 },
		{ "+1MB", -1 },
		{ "1 MB", -1 },
		{ "1MB ", -1 },
		{ "1M", -1 },
		{ "1Mi", -1 },
		{ "1MBB", -1 },
		{ "1ZB", -1 },
		{ "0x10", -1 },
		{ "1e3", -1 },
		{ "inf", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t v = -1;
		int rc = size_parse(str_of(cases[i].text), &v, NULL);

		cr_expect(v == cases[i].bytes, "%s: %lld", cases[i].text,
			  (long long)v);
		cr_expect(rc == (cases[i].bytes < 0 ? ERR_INVALID : 0), "%s",
			  cases[i].text);
	}
	cr_expect(size_parse((struct str){ "1MB\0", 4 }, &(int64_t){ 0 },
			     NULL) == ERR_INVALID);
	cr_expect(size_parse((struct str){ 0 }, &(int64_t){ 0 }, NULL) ==
		  ERR_INVALID);
}

/* 2001-09-09 01:46:40 UTC. */
#define NOW 1000000000000LL

Test(units, times_are_those_of_rfc_3339)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: it is refused */
	} cases[] = {
		{ "2001-09-09T01:46:40Z", NOW },
		{ "2001-09-09t01:46:40z", NOW },
		{ "2001-09-09 01:46:40Z", NOW },
		{ "2001-09-09T01:46:40.5Z", NOW + 500 },
		{ "2001-09-09T01:46:40.123456789Z", NOW + 123 },
		{ "2001-09-09T01:46:40.0009Z", NOW },
		{ "2001-09-09T03:46:40+02:00", NOW },
		{ "2001-09-08T18:16:40-07:30", NOW },
		{ "2001-09-09T03:46:40+0200", NOW },
		{ "2000-02-29T00:00:00Z", 951782400000 },
		{ "1900-02-29T00:00:00Z", -1 },
		{ "2001-04-31T00:00:00Z", -1 },
		{ "2001-00-09T01:46:40Z", -1 },
		{ "2001-09-00T01:46:40Z", -1 },
		{ "2001-09-09T24:46:40Z", -1 },
		{ "2001-09-09T01:60:40Z", -1 },
		{ "2001-09-09T01:46:61Z", -1 },
		{ "2001-09-09T01:46:40", NOW },
		{ "2001-09-09T01:46:40.Z", -1 },
		{ "2001-09-09T01:46:40,5Z", -1 },
		{ "2001-09-09T01:46:40+24:00", -1 },
		{ "2001-09-09T01:46:40+02:60", -1 },
		{ "2001-09-09T01:46:40+2:00", -1 },
		{ "2001-09-09T01:46:40 +02:00", -1 },
		{ "2001-09-09T01:46:40ZZ", -1 },
		{ "2001-09-09T01:46:40+02:00x", -1 },
		{ "2001-9-9T01:46:40Z", -1 },
		{ "20010909T014640Z", -1 },
		{ "+001-09-09T01:46:40Z", -1 },
		{ "1000000000", -1 },
		{ "1000000000.5", -1 },
		{ " 2001-09-09T01:46:40Z", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t v = -1;

		int rc = time_parse(str_of(cases[i].text), 5 * DAY, &v, NULL);

		cr_expect(rc ? rc == ERR_INVALID && cases[i].ms == -1 :
			       v == cases[i].ms,
			  "%s: %lld", cases[i].text, (long long)v);
	}
}

Test(units, relative_times_count_from_now)
{
	static const struct {
		const char *text;
		int64_t now;
		int64_t ms;
		int rc;
	} cases[] = {
		{ "now", NOW, NOW, 0 },
		{ "now-1h30m", NOW, NOW - 5400000, 0 },
		{ "now+1d", NOW, NOW + DAY, 0 },
		{ "-1h", NOW, NOW - 3600000, 0 },
		{ "+1h", NOW, NOW + 3600000, 0 },
		{ "now-0", NOW, NOW, 0 },
		{ "now-1h", INT64_MIN, INT64_MIN, 0 },
		{ "now+1h", INT64_MAX - 1, INT64_MAX, 0 },
		{ "now-9223372036854775807ms", -2, INT64_MIN, 0 },
		{ "now-", NOW, 0, ERR_INVALID },
		{ "now1h", NOW, 0, ERR_INVALID },
		{ "now -1h", NOW, 0, ERR_INVALID },
		{ "now--1h", NOW, 0, ERR_INVALID },
		{ "Now", NOW, 0, ERR_INVALID },
		{ "+", NOW, 0, ERR_INVALID },
		{ "-1", NOW, 0, ERR_INVALID },
		{ "1h", NOW, 0, ERR_INVALID },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t v = 0;

		cr_expect(time_parse(str_of(cases[i].text), cases[i].now, &v,
				     NULL) == cases[i].rc,
			  "%s", cases[i].text);
		cr_expect(cases[i].rc || v == cases[i].ms, "%s: %lld",
			  cases[i].text, (long long)v);
	}
	cr_expect(time_parse((struct str){ 0 }, NOW, &(int64_t){ 0 }, NULL) ==
		  ERR_INVALID);
}

Test(units, times_are_written_so_that_they_read_back)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ 1, "1970-01-01T00:00:00.001Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },
		{ -1000, "1969-12-31T23:59:59.000Z" },
		{ -1001, "1969-12-31T23:59:58.999Z" },
		{ NOW + 7, "2001-09-09T01:46:40.007Z" },
		{ 253402300799999, "9999-12-31T23:59:59.999Z" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t v = 5;
		char text[40];

		time_format(cases[i].ms, text);
		cr_expect(check_str(str_of(text), cases[i].text));
		cr_assert(!time_parse(str_of(text), 0, &v, NULL));
		cr_expect(v == cases[i].ms);
	}
}
