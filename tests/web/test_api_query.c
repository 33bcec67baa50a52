/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1/query: stored profiles, merges, differences, and their headers. */
#include "tests/web/site.h"
#include "web/api/api.h"

TestSuite(api_query, .timeout = 60);

#define RANGE "&from=1700000000000&to=1700000060000"
#define SERIES(name, job, pod) \
	"{\"__name__\":\"" name "\",\"job\":\"" job "\",\"pod\":\"" pod "\"}"

/* Returns the bytes of site_profiles[i]. */
static struct buf bytes_at(size_t i)
{
	struct buf b = { 0 };

	site_encode(&site_profiles[i], &b);
	return b;
}

static bool is_same(struct bytes a, struct bytes b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

Test(api_query, a_raw_profile_is_what_came_in)
{
	struct site *f = site_start();
	struct call c = { 0 };
	struct buf want = bytes_at(1);

	site_fill(f);
	call_begin(f, &c, api_query,
		   "query=cpu{pod=\"p1\"}&time=1700000015000&report=raw");
	cr_assert(c.a.status == 200);
	cr_expect(c.a.as_is);
	cr_expect(is_same(buf_bytes(&c.a.body), buf_bytes(&want)));
	cr_expect(!strcmp(c.a.content_type, "application/octet-stream"));
	cr_expect(check_str(str_of(call_header(&c, "X-Everprof-Labels")),
			    SERIES("cpu", "app", "p1")));
	cr_expect(check_str(str_of(call_header(&c, "X-Everprof-Timestamp")),
			    "1700000015000"));
	cr_expect(!strcmp(call_header(&c, "Accept-Ranges"), "bytes"));
	cr_expect(strlen(call_header(&c, "ETag")) == 18, "%s",
		  call_header(&c, "ETag"));
	call_end(&c);
	buf_fini(&want);
	site_stop(f);
}

Test(api_query, parts_of_a_raw_profile_are_answered_by_range)
{
	struct buf all = bytes_at(0);
	size_t n = all.len;
	const struct {
		const char *range;
		unsigned status;
		size_t first;
		size_t end; /* behind the last */
	} cases[] = {
		{ "bytes=0-3", 206, 0, 4 },
		{ "bytes=4-4", 206, 4, 5 },
		{ "bytes=5-", 206, 5, n },
		{ "bytes=-7", 206, n - 7, n },
		{ "bytes=-100000", 206, 0, n },
		{ "bytes=2-100000", 206, 2, n },
		{ "bytes=0-9223372036854775807", 206, 0, n },
		{ "bytes=100000-", 416, 0, 0 },
		{ "bytes=9223372036854775807-", 416, 0, 0 },
		/* A header that is no valid range of bytes is ignored. */
		{ "bytes=-0", 200, 0, n },
		{ "bytes=5-2", 200, 0, n },
		{ "bytes=-", 200, 0, n },
		{ "bytes=", 200, 0, n },
		{ "bytes=0-1,3-4", 200, 0, n },
		{ "bytes=a-b", 200, 0, n },
		{ "bytes=9223372036854775808-", 200, 0, n },
		{ "items=0-1", 200, 0, n },
	};
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call c = { .r = { .range = cases[i].range } };
		struct bytes want = { .ptr = all.ptr + cases[i].first,
				      .len = cases[i].end - cases[i].first };
		CLEANUP(mem_freep) char *header = NULL;

		header = cases[i].status == 416 ?
				 mem_printf("bytes */%zu", n) :
				 mem_printf("bytes %zu-%zu/%zu", cases[i].first,
					    cases[i].end - 1, n);
		call_begin(
			f, &c, api_query,
			"query=cpu{pod=\"p1\"}&time=1700000000000&report=raw");
		cr_expect(c.a.status == cases[i].status, "%s: %u",
			  cases[i].range, c.a.status);
		cr_expect(is_same(buf_bytes(&c.a.body), want), "%s",
			  cases[i].range);
		cr_expect(check_str(str_of(call_header(&c, "Content-Range")),
				    c.a.status == 200 ? "" : header),
			  "%s", cases[i].range);
		call_end(&c);
	}
	buf_fini(&all);
	site_stop(f);
}

Test(api_query, the_last_byte_is_the_last_that_a_range_can_begin_at)
{
	struct site *f = site_start();
	struct buf all = bytes_at(0);

	site_fill(f);
	for (size_t more = 0; more < 2; more++) {
		CLEANUP(mem_freep)
		char *range = mem_printf("bytes=%zu-", all.len - 1 + more);
		struct call c = { .r = { .range = range } };

		call_begin(
			f, &c, api_query,
			"query=cpu{pod=\"p1\"}&time=1700000000000&report=raw");
		cr_expect(c.a.status == (more ? 416 : 206), "%s", range);
		cr_expect(c.a.body.len == 1 - more, "%s", range);
		call_end(&c);
	}
	buf_fini(&all);
	site_stop(f);
}

Test(api_query, a_raw_profile_that_the_client_has_is_not_sent_again)
{
	static const char query[] =
		"query=cpu{pod=\"p1\"}&time=1700000000000&report=raw";
	struct site *f = site_start();
	struct call c = { 0 };
	char tags[64];

	site_fill(f);
	call_begin(f, &c, api_query, query);
	snprintf(tags, sizeof(tags), "\"x\", %s", call_header(&c, "ETag"));
	call_end(&c);
	c.r.if_none_match = tags;
	call_begin(f, &c, api_query, query);
	cr_assert(c.a.status == 304);
	cr_expect(!c.a.body.len);
	cr_expect(strstr(tags, call_header(&c, "ETag")));
	call_end(&c);
	/* Another profile has another ETag, so it is sent. */
	c.r.if_none_match = tags;
	call_begin(f, &c, api_query,
		   "query=cpu{pod=\"p1\"}&time=1700000015000&report=raw");
	cr_assert(c.a.status == 200);
	cr_expect(c.a.body.len);
	call_end(&c);
	site_stop(f);
}

Test(api_query, a_profile_is_compressed_and_has_a_file_name)
{
	struct site *f = site_start();
	struct call c = { 0 };
	struct buf want = bytes_at(1);
	struct buf got = { 0 };
	struct gzip *g = gzip_new();

	site_fill(f);
	call_begin(f, &c, api_query,
		   "query=cpu{pod=\"p1\"}&time=1700000015000");
	cr_assert(c.a.status == 200);
	cr_expect(c.a.as_is);
	cr_expect(!gzip_decompress(g, buf_bytes(&c.a.body), &got, NULL));
	cr_expect(is_same(buf_bytes(&got), buf_bytes(&want)));
	cr_expect(check_str(str_of(call_header(&c, "Content-Disposition")),
			    "attachment;filename=\"cpu-1700000015000.pb.gz\""));
	call_end(&c);
	gzip_free(g);
	buf_fini(&got);
	buf_fini(&want);
	site_stop(f);
}

Test(api_query, a_file_name_has_no_character_with_a_meaning)
{
	struct site_profile p = site_profiles[0];
	struct site *f = site_start();
	struct call c = { 0 };

	p.name = "a b\"c/d\\e;f\xc3\xa9\n../g";
	site_put(f, &p);
	call_begin(f, &c, api_query, "query={pod=\"p1\"}&time=1700000000000");
	cr_expect(check_str(str_of(call_header(&c, "Content-Disposition")),
			    "attachment;filename=\"a_b_c_d_e_f___.._g-"
			    "1700000000000.pb.gz\""));
	call_end(&c);
	site_stop(f);
}

Test(api_query, meta_is_what_a_scan_finds)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, api_query,
		   "query=heap&time=1700000030000&report=meta");
	cr_expect(c.a.status == 200);
	cr_expect(
		str_starts(
			call_body(&c),
			str_of("{\"status\":\"success\",\"data\":{\"labels\":" SERIES(
				"heap", "db",
				"p1") ","
				      "\"timestamp\":1700000030000,"
				      "\"sampleTypes\":[{\"type\":\"inuse_space\","
				      "\"unit\":\"bytes\",\"total\":4106}],"
				      "\"defaultSampleType\":\"\","
				      "\"periodType\":{\"type\":\"\",\"unit\":\"\"},"
				      "\"period\":0,"
				      "\"timeNanos\":1700000000000000000,"
				      "\"durationNanos\":1000000000,\"samples\":2,"
				      "\"bytes\":")),
		"%s", buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "\"xxh3\":\""));
	call_end(&c);
	site_stop(f);
}

Test(api_query, the_nearest_profile_is_found_on_the_side_asked_for)
{
	/* p1 has profiles at 0, 15 and 45 s. */
	static const struct {
		const char *query;
		const char *ms; /* NULL: there is none */
	} cases[] = {
		{ "time=1700000016000", "1700000015000" },
		{ "time=1700000029999", "1700000015000" },
		{ "time=1700000030001", "1700000045000" },
		{ "time=1700000016000&match=after", "1700000045000" },
		{ "time=1700000016000&match=before", "1700000015000" },
		{ "time=1700000015000&match=exact", "1700000015000" },
		{ "time=1700000015001&match=exact", NULL },
		{ "time=1700000015000&match=after", "1700000015000" },
		{ "time=1700000345000", "1700000045000" },
		{ "time=1700000345001", NULL },
		{ "time=1699999700000", "1700000000000" },
		{ "time=1699999699999", NULL },
		{ "time=1699999999999&match=before", NULL },
	};
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call c = { 0 };
		CLEANUP(mem_freep)
		char *query =
			mem_printf("query=cpu{pod=\"p1\"}&%s", cases[i].query);

		call_begin(f, &c, api_query, query);
		cr_expect(c.a.status == (cases[i].ms ? 200 : 404), "%s: %u",
			  query, c.a.status);
		cr_expect(check_str(str_of(call_header(&c,
						       "X-Everprof-Timestamp")),
				    cases[i].ms ? cases[i].ms : ""),
			  "%s", query);
		call_end(&c);
	}
	site_stop(f);
}

Test(api_query, of_two_series_at_one_time_the_first_is_answered)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, api_query, "query=cpu&time=1700000015000");
	cr_expect(check_str(str_of(call_header(&c, "X-Everprof-Labels")),
			    SERIES("cpu", "app", "p1")));
	call_end(&c);
	call_begin(f, &c, api_query,
		   "query=cpu{pod!=\"p1\"}&time=1700000015000");
	cr_expect(check_str(str_of(call_header(&c, "X-Everprof-Labels")),
			    SERIES("cpu", "app", "p2")));
	call_end(&c);
	site_stop(f);
}

Test(api_query, mistakes_are_named)
{
	static const struct call_mistake cases[] = {
		{ "time=1", 400, "query" },
		{ "query=&time=1", 400, "query" },
		{ "query=cpu{&time=1", 400, "bad_data" },
		{ "query=cpu", 400, "time" },
		{ "query=cpu&time=x", 400, "time" },
		{ "query=cpu&time=1&report=none", 400, "report" },
		{ "query=cpu&time=1&match=x", 400, "match" },
		{ "query=cpu&mode=x&time=1", 400, "mode" },
		{ "query=cpu" RANGE "&report=raw", 400, "raw" },
		{ "query=cpu" RANGE "&report=meta", 400, "meta" },
		{ "query=cpu" RANGE "&aggregate=x", 400, "aggregate" },
		{ "query=cpu&from=2&to=1", 400, "bad_data" },
		{ "query=cpu" RANGE "&report=top&sample_index=heap", 400,
		  "heap" },
		{ "query=cpu" RANGE "&report=top&focus=(", 400, "focus" },
		{ "query=none" RANGE "&report=top", 404, "not_found" },
		{ "query=cpu&from=1&to=2&report=top", 404, "not_found" },
		{ "mode=diff&query_a=cpu&time_a=1700000000000&report=top", 400,
		  "side b" },
		{ "mode=diff&query_b=cpu&time_b=1700000000000&report=top", 400,
		  "side a" },
		{ "mode=diff&query_a=none&time_a=1700000000000&query_b=cpu"
		  "&time_b=1700000000000&report=top",
		  404, "side a" },
		{ "mode=diff&query_a=cpu&time_a=1700000000000&query_b=cpu"
		  "&time_b=1700000000000&report=raw",
		  400, "raw" },
	};
	struct site *f = site_start();

	site_fill(f);
	call_check_mistakes(f, api_query, cases, ARRAY_SIZE(cases));
	site_stop(f);
}

Test(api_query, go_tool_pprof_gets_text_where_it_expects_a_profile)
{
	static const struct {
		const char *query;
		bool text;
	} cases[] = {
		{ "query=none&time=1", true },
		{ "query=none&time=1&report=proto", true },
		{ "query=none&time=1&report=raw", true },
		{ "query=none&time=1&report=meta", false },
		{ "query=none&time=1&report=top", false },
	};
	struct site *f = site_start();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call c = { .r = { .is_go = true } };

		call_begin(f, &c, api_query, cases[i].query);
		cr_expect(c.a.status == 404, "%s", cases[i].query);
		cr_expect(!strcmp(call_header(&c, "X-Go-Pprof"), "1") ==
				  cases[i].text,
			  "%s", cases[i].query);
		cr_expect((c.a.body.ptr[0] != '{') == cases[i].text, "%s",
			  cases[i].query);
		call_end(&c);
	}
	site_stop(f);
}

Test(api_query, a_merge_adds_up_and_counts)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, api_query, "query=cpu" RANGE "&report=folded");
	cr_expect(c.a.status == 200, "%s", buf_cstr(&c.a.body));
	cr_expect(check_str(call_body(&c), "main;idle 40\nmain;spin 1000\n"
					   "main;work 600\n"));
	cr_expect(!strcmp(call_header(&c, "X-Everprof-Series"), "2"));
	cr_expect(!strcmp(call_header(&c, "X-Everprof-Profiles"), "4"));
	cr_expect(!*call_header(&c, "X-Everprof-Labels"), "of several");
	cr_expect(!*call_header(&c, "X-Everprof-Warning"));
	call_end(&c);
	/* The headers of a report of a single profile name its time. */
	call_begin(f, &c, api_query,
		   "query=cpu{pod=\"p1\"}&time=1700000000000&report=folded");
	cr_expect(check_str(call_body(&c), "main;idle 10\nmain;work 100\n"));
	cr_expect(!strcmp(call_header(&c, "X-Everprof-Profiles"), "1"));
	cr_expect(check_str(str_of(call_header(&c, "X-Everprof-Timestamp")),
			    "1700000000000"));
	call_end(&c);
	site_stop(f);
}

Test(api_query, profiles_are_merged_by_their_total)
{
	static const struct {
		const char *query;
		const char *want;
	} cases[] = {
		{ "query=cpu&total_min=300" RANGE,
		  "main;idle 20\nmain;spin 1000\nmain;work 300\n" },
		{ "query=cpu&total_max=210" RANGE,
		  "main;idle 20\nmain;work 300\n" },
		{ "query=cpu&total_min=200&total_max=1000&total_outside=1" RANGE,
		  "main;idle 20\nmain;spin 1000\nmain;work 100\n" },
		{ "query=cpu&time=1700000015000&total_min=300",
		  "main;idle 10\nmain;spin 1000\n" },
		{ "query=cpu{pod=\"p1\"}&time=1700000015000&total_min=300",
		  "main;idle 10\nmain;work 300\n" },
		/* The slow profiles against the others. */
		{ "mode=diff&diff=base&query_a=cpu&from_a=1700000000000"
		  "&to_a=1700000060000&total_min_a=300&total_outside_a=1"
		  "&query_b=cpu&from_b=1700000000000&to_b=1700000060000"
		  "&total_min_b=300",
		  "main;spin 1000\n" },
	};
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call c = { 0 };
		CLEANUP(mem_freep)
		char *query = mem_printf("%s&report=folded", cases[i].query);

		call_begin(f, &c, api_query, query);
		cr_expect(check_str(call_body(&c), cases[i].want), "%s",
			  cases[i].query);
		call_end(&c);
	}
	call_check(f, api_query, "query=cpu&total_max=1" RANGE, 404, NULL);
	site_stop(f);
}

Test(api_query, a_difference_is_the_second_side_less_the_first)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, api_query,
		   "mode=diff&report=folded"
		   "&query_a=cpu{pod=\"p1\"}&time_a=1700000000000"
		   "&query_b=cpu{pod=\"p1\"}&time_b=1700000045000");
	cr_expect(c.a.status == 200, "%s", buf_cstr(&c.a.body));
	cr_expect(check_str(call_body(&c), "main;work 200\n"));
	cr_expect(!strcmp(call_header(&c, "X-Everprof-Profiles"), "2"));
	cr_expect(!strcmp(call_header(&c, "X-Everprof-Profiles-A"), "1"));
	cr_expect(!strcmp(call_header(&c, "X-Everprof-Series"), "2"));
	cr_expect(!*call_header(&c, "X-Everprof-Timestamp"));
	call_end(&c);
	site_stop(f);
}

Test(api_query, reports_have_their_types_and_drawings_are_kept_apart)
{
	static const struct {
		const char *query;
		const char *type;
		const char *begins;
		bool drawing;
	} cases[] = {
		{ "report=top", "application/json; charset=utf-8",
		  "{\"status\":\"success\",\"data\":{", false },
		{ "report=top&format=text", "text/plain; charset=utf-8", "",
		  false },
		{ "report=flamegraph", "application/json; charset=utf-8",
		  "{\"status\":\"success\",\"data\":", false },
		{ "report=flamegraph&format=text", "image/svg+xml", "<", true },
		{ "report=folded", "text/plain; charset=utf-8", "main;",
		  false },
	};
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call c = { 0 };
		CLEANUP(mem_freep)
		char *query =
			mem_printf("query=cpu" RANGE "&%s", cases[i].query);

		call_begin(f, &c, api_query, query);
		cr_expect(c.a.status == 200, "%s", query);
		cr_expect(str_starts(str_of(c.a.content_type),
				     str_of(cases[i].type)),
			  "%s: %s", query, c.a.content_type);
		cr_expect(str_starts(call_body(&c), str_of(cases[i].begins)),
			  "%s: %.80s", query, buf_cstr(&c.a.body));
		cr_expect(!!strstr(call_header(&c, "Content-Security-Policy"),
				   "sandbox") == cases[i].drawing,
			  "%s", query);
		call_end(&c);
	}
	site_stop(f);
}

Test(api_query, a_filter_that_matches_nothing_is_a_warning)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, api_query,
		   "query=cpu" RANGE "&report=top&focus=nowhere");
	cr_assert(c.a.status == 200, "%s", buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "\"warnings\":["), "%s", buf_cstr(&c.a.body));
	cr_expect(strstr(call_header(&c, "X-Everprof-Warning"), "ocus"));
	call_end(&c);
	call_begin(f, &c, api_query, "query=cpu" RANGE "&focus=nowhere");
	cr_assert(c.a.status == 200);
	cr_expect(c.a.as_is);
	cr_expect(strstr(call_header(&c, "X-Everprof-Warning"), "ocus"));
	call_end(&c);
	site_stop(f);
}

Test(api_query, a_filtered_profile_has_only_what_the_filter_leaves)
{
	struct site *f = site_start();
	struct call c = { 0 };
	struct unpacked u;
	struct err err = { .msg = "" };

	site_fill(f);
	call_begin(f, &c, api_query, "query=cpu" RANGE "&focus=spin");
	cr_assert(!unpacker_run(f->unpacker, buf_bytes(&c.a.body), &u, &err),
		  "%u %s %s", c.a.status, buf_cstr(&c.a.body), err.msg);
	cr_assert(u.scan.sample_count == 1);
	cr_expect(u.scan.totals[0] == 1000);
	cr_expect(strstr(call_header(&c, "Content-Disposition"),
			 "everprof.pb.gz"));
	call_end(&c);
	call_begin(f, &c, api_query, "query=cpu" RANGE "&report=pgo");
	cr_assert(!unpacker_run(f->unpacker, buf_bytes(&c.a.body), &u, &err),
		  "%u %s %s", c.a.status, buf_cstr(&c.a.body), err.msg);
	cr_expect(u.scan.totals[0] == 1640);
	unpacker_done(f->unpacker);
	call_end(&c);
	site_stop(f);
}

Test(api_query, limits_of_memory_and_time_end_a_query)
{
	static const char *const queries[] = {
		"query=cpu&time=1700000000000",
		"query=cpu" RANGE,
		"query=cpu" RANGE "&report=top",
		"mode=diff&query_a=cpu&time_a=1700000000000"
		"&query_b=cpu&time_b=1700000000000&report=top",
	};
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct call c = { 0 };

		f->web.memory.max = 100;
		call_begin(f, &c, api_query, queries[i]);
		cr_expect(c.a.status == 429, "%s: %u", queries[i], c.a.status);
		call_end(&c);
		f->web.memory.max = SITE_MEMORY;
		c.patience_ns = -1;
		call_begin(f, &c, api_query, queries[i]);
		cr_assert(c.a.status == 503, "%s: %u", queries[i], c.a.status);
		cr_expect(call_has(&c, "\"errorType\":\"timeout\""), "%s: %u",
			  queries[i], c.a.status);
		call_end(&c);
	}
	site_stop(f);
}

Test(api_query, a_stored_profile_takes_three_times_its_size)
{
	static const char query[] =
		"query=cpu{pod=\"p1\"}&time=1700000000000&report=raw";
	struct site *f = site_start();
	struct call c = { 0 };
	int64_t taken;

	site_fill(f);
	call_begin(f, &c, api_query, query);
	taken = c.a.work.taken;
	cr_expect(taken >= 3 * (int64_t)c.a.body.len, "%lld", (long long)taken);
	call_end(&c);
	f->web.memory.max = taken;
	call_check(f, api_query, query, 200, NULL);
	f->web.memory.max = taken - 1;
	call_check(f, api_query, query, 429, NULL);
	site_stop(f);
}

Test(api_query, a_long_name_of_a_series_leaves_room_for_other_headers)
{
	struct site *f = site_start();
	struct call c = { 0 };
	char name[5000];
	char query[sizeof(name) + 100];
	const char *header;
	struct site_profile p = site_profiles[0];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	p.name = name;
	site_put(f, &p);
	snprintf(query, sizeof(query), "query=%s&time=%lld&report=proto", name,
		 SITE_T0);
	call_begin(f, &c, api_query, query);
	cr_expect(c.a.status == 200, "%u %s", c.a.status, buf_cstr(&c.a.body));
	header = call_header(&c, "Content-Disposition");
	cr_expect(str_starts(str_of(header),
			     str_of("attachment;filename=\"nnn")));
	cr_expect(strlen(header) < 300, "%s", header);
	call_end(&c);
	site_stop(f);
}
