/* SPDX-License-Identifier: Apache-2.0 */
/* The admin API, which changes storage, and the export of all profiles. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <unistd.h>

#include "base/vec.h"
#include "tests/web/site.h"
#include "tsdb/maintain/snapshot.h"
#include "web/api/api.h"

TestSuite(api_admin, .timeout = 60);

#define DATA(json) "{\"status\":\"success\",\"data\":" json "}"
#define RANGE      "&from=1700000000000&to=1700000060000"

static struct site *site_with_admin(void)
{
	struct site *f = site_start();

	f->web.o.admin_api = true;
	site_fill(f);
	return f;
}

/* How many profiles there are. */
static size_t count_profiles(struct site *f)
{
	struct call c = { 0 };
	size_t n = 0;

	call_begin(f, &c, api_query_range, "query={job!=\"\"}" RANGE);
	for (const char *p = buf_cstr(&c.a.body); (p = strstr(p, "17000000"));
	     p++)
		n++;
	call_end(&c);
	return n;
}

Test(api_admin, without_the_flag_all_of_it_is_forbidden)
{
	static const handler_fn fns[] = { api_admin_delete, api_admin_clean,
					  api_admin_confirm_clock,
					  api_admin_snapshot };
	static const struct call_mistake forbidden[] = {
		{ "match[]=cpu", 403, "--web.enable-admin-api" },
		/*
		 * The missing flag is reported, whatever else is wrong with the
		 * request.
		 */
		{ "match[]=&skip_head=x", 403, "--web.enable-admin-api" },
	};
	struct site *f = site_start();
	CLEANUP(mem_freep)
	char *path = mem_printf("%s/snapshots", f->dir.path);

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(fns); i++)
		call_check_mistakes(f, fns[i], forbidden,
				    ARRAY_SIZE(forbidden));
	cr_assert(count_profiles(f) == 5);
	cr_expect(access(path, F_OK));
	site_stop(f);
}

Test(api_admin, profiles_of_a_selector_and_a_range_are_deleted)
{
	static const struct {
		const char *query;
		size_t left;
	} cases[] = {
		{ "match[]=cpu{pod=\"p1\"}", 2 },
		{ "match[]=cpu", 1 },
		{ "match[]=cpu&match[]=heap", 0 },
		{ "match[]={job!=\"\"}", 0 },
		{ "match[]=none", 5 },
		{ "match[]=cpu&from=1700000015000&to=1700000015000", 3 },
		{ "match[]=cpu&from=1700000015001", 4 },
		{ "match[]=cpu&to=1700000014999", 4 },
		{ "match[]=cpu&start=1700000015&end=1700000045", 2 },
		{ "match[]=cpu&from=1&to=2", 5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct site *f = site_with_admin();

		call_check(f, api_admin_delete, cases[i].query, 204, "");
		cr_expect(count_profiles(f) == cases[i].left, "%s: %zu",
			  cases[i].query, count_profiles(f));
		/* A second deletion changes nothing. */
		call_check(f, api_admin_delete, cases[i].query, 204, "");
		cr_expect(count_profiles(f) == cases[i].left, "%s",
			  cases[i].query);
		site_stop(f);
	}
}

Test(api_admin, a_mistake_deletes_nothing)
{
	static const struct call_mistake cases[] = {
		{ "", 400, "match[]" },
		{ "match=cpu", 400, "match[]" },
		{ "match[]=", 400, "bad_data" },
		{ "match[]={pod=~\".*\"}", 400, "bad_data" },
		{ "match[]=cpu&match[]=cpu{", 400, "bad_data" },
		{ "match[]=cpu&match[]=", 400, "bad_data" },
		{ "match[]=cpu&from=", 400, "from" },
		{ "match[]=cpu&to=", 400, "to" },
		{ "match[]=cpu&start=", 400, "start" },
		{ "match[]=cpu&end=", 400, "end" },
		{ "match[]=cpu&from=1&to=", 400, "to" },
		{ "match[]=cpu&from=x", 400, "from" },
		{ "match[]=cpu&from=1700000015000&to=1", 400, "bad_data" },
	};
	struct site *f = site_with_admin();

	call_check_mistakes(f, api_admin_delete, cases, ARRAY_SIZE(cases));
	cr_expect(count_profiles(f) == 5, "%zu", count_profiles(f));
	site_stop(f);
}

Test(api_admin, a_deletion_that_ends_early_says_so)
{
	struct site *f = site_with_admin();
	struct call c = { .patience_ns = 1 };

	call_begin(f, &c, api_admin_delete, "match[]={job=~\"(a|d).*\"}");
	cr_assert(c.a.status == 503, "%s", buf_cstr(&c.a.body));
	cr_assert(call_has(&c, "may be deleted already"), "%s",
		  buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "--query.timeout"), "%s", buf_cstr(&c.a.body));
	call_end(&c);
	site_stop(f);
}

/* Jobs of storage end with their requests; nothing of them stays. */
Test(api_admin, jobs_end_with_the_time_of_their_request)
{
	struct site *f = site_with_admin();
	struct call c = { .patience_ns = 1 };
	char *path = mem_printf("%s/snapshots", f->dir.path);

	call_begin(f, &c, api_admin_snapshot, "");
	cr_assert(c.a.status == 503, "%s", buf_cstr(&c.a.body));
	cr_assert(call_has(&c, "no snapshot was made"), "%s",
		  buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "timeout=10m"), "%s", buf_cstr(&c.a.body));
	call_end(&c);
	cr_expect(rmdir(path) == 0 || errno == ENOENT, "it is empty");
	cr_assert(!tsdb_maintain(f->db, true, NULL));
	call_check(f, api_admin_delete, "match[]=cpu", 204, "");
	c.patience_ns = 1;
	call_begin(f, &c, api_admin_clean, "");
	cr_assert(c.a.status == 503, "%s", buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "repeat the request"), "%s",
		  buf_cstr(&c.a.body));
	call_end(&c);
	/* The request says that it may take longer. */
	c.patience_ns = 1;
	call_begin(f, &c, api_admin_clean, "timeout=1m");
	cr_expect(c.a.status == 204, "%s", buf_cstr(&c.a.body));
	call_end(&c);
	c.patience_ns = 1;
	call_begin(f, &c, api_admin_snapshot, "timeout=1m");
	cr_expect(c.a.status == 200, "%s", buf_cstr(&c.a.body));
	call_end(&c);
	mem_free(path);
	site_stop(f);
}

/* Limits of a job that ask, while it runs, to confirm the clock. */
static int confirm_meanwhile(void *ctx, size_t bytes UNUSED,
			     struct err *err UNUSED)
{
	struct call c = { .patience_ns = 1 };

	call_begin(ctx, &c, api_admin_confirm_clock, "");
	cr_assert(c.a.status == 503, "%s", buf_cstr(&c.a.body));
	cr_assert(call_has(&c, "other jobs of storage"), "%s",
		  buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "timeout=10m"), "%s", buf_cstr(&c.a.body));
	call_end(&c);
	return 0;
}

Test(api_admin, confirming_the_clock_says_that_it_waited_for_other_jobs)
{
	struct site *f = site_with_admin();
	const struct limits limits = { .spend = confirm_meanwhile, .ctx = f };

	cr_assert(!tsdb_maintain(f->db, true, NULL));
	cr_expect(!tsdb_snapshot(f->db, "copy", true, &limits, NULL));
	site_stop(f);
}

Test(api_admin, a_timeout_is_a_duration_of_at_most_a_day)
{
	static const struct call_mistake cases[] = {
		{ "match[]=cpu&timeout=", 400, "timeout" },
		{ "match[]=cpu&timeout=0", 400, "timeout" },
		{ "match[]=cpu&timeout=x", 400, "timeout" },
		{ "match[]=cpu&timeout=25h", 400, "at most 1d" },
	};
	struct site *f = site_with_admin();

	call_check_mistakes(f, api_admin_delete, cases, ARRAY_SIZE(cases));
	call_check_mistakes(f, api_admin_clean, cases, ARRAY_SIZE(cases));
	call_check_mistakes(f, api_admin_snapshot, cases, ARRAY_SIZE(cases));
	call_check_mistakes(f, api_admin_confirm_clock, cases,
			    ARRAY_SIZE(cases));
	cr_expect(count_profiles(f) == 5);
	site_stop(f);
}

Test(api_admin, tombstones_are_cleaned_and_the_clock_is_confirmed)
{
	struct site *f = site_with_admin();

	cr_assert(!tsdb_maintain(f->db, true, NULL));
	call_check(f, api_admin_delete, "match[]=cpu", 204, "");
	call_check(f, api_admin_clean, "", 204, "");
	cr_expect(count_profiles(f) == 1);
	call_check(f, api_admin_confirm_clock, "", 204, "");
	site_stop(f);
}

/* Make a snapshot, and return the labels of jobs in it. */
static char *snapshot_jobs(struct site *f, const char *query, char name[64])
{
	static const char begin[] = "{\"status\":\"success\",\"data\":"
				    "{\"name\":\"";
	struct tsdb_options o = { .metrics = metrics_new(),
				  .must_exist = true,
				  .read_only = true,
				  .clock = &f->clock };
	struct call c = { 0 };
	struct tsdb *snapshot = NULL;
	CLEANUP(mem_freep) char *path = NULL;
	struct err err = { .msg = "" };
	char *jobs;

	call_begin(f, &c, api_admin_snapshot, query);
	cr_assert(c.a.status == 200, "%s", buf_cstr(&c.a.body));
	cr_assert(str_starts(call_body(&c), str_of(begin)));
	snprintf(name, 64, "%.*s",
		 (int)strcspn(buf_cstr(&c.a.body) + strlen(begin), "\""),
		 buf_cstr(&c.a.body) + strlen(begin));
	call_end(&c);
	path = mem_printf("%s/snapshots/%s", f->dir.path, name);
	o.path = path;
	cr_assert(!tsdb_open(&o, &snapshot, &err), "%s", err.msg);
	f->web.o.db = snapshot;
	c.r.segment = str_of("job");
	call_begin(f, &c, api_label_values, "");
	jobs = mem_strdup(buf_cstr(&c.a.body));
	call_end(&c);
	f->web.o.db = f->db;
	tsdb_close(snapshot);
	metrics_free(o.metrics);
	return jobs;
}

Test(api_admin, a_snapshot_has_what_is_stored_and_is_named_by_its_time)
{
	static const char all[] = DATA("[\"app\",\"db\"]");
	static const char *const queries[] = { "", "skip_head=false" };
	struct site *f = site_with_admin();
	char names[2][64];

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		CLEANUP(mem_freep)
		char *jobs = snapshot_jobs(f, queries[i], names[i]);

		cr_expect(check_str(str_of(jobs), all), "%s", queries[i]);
		/* The name is the time SITE_NOW and a random suffix. */
		cr_expect(str_starts(str_of(names[i]),
				     str_of("20231114T222320Z-")),
			  "%s", names[i]);
		cr_assert(strspn(names[i] + 17, "0123456789abcdef") == 8, "%s",
			  names[i]);
		cr_expect(!names[i][25], "%s", names[i]);
	}
	cr_expect(strcmp(names[0], names[1]) != 0, "two of one second");
	site_stop(f);
}

Test(api_admin, a_snapshot_without_heads_has_what_is_in_blocks)
{
	struct site_profile p = site_profiles[0];
	struct site *f = site_with_admin();
	CLEANUP(mem_freep) char *with = NULL;
	CLEANUP(mem_freep) char *without = NULL;
	char name[64];

	cr_assert(!tsdb_maintain(f->db, true, NULL));
	p.job = "new";
	p.k = 20;
	site_put(f, &p);
	with = snapshot_jobs(f, "skip_head=false", name);
	without = snapshot_jobs(f, "skip_head=true", name);
	cr_expect(check_str(str_of(with), DATA("[\"app\",\"db\",\"new\"]")));
	cr_expect(check_str(str_of(without), DATA("[\"app\",\"db\"]")));
	site_stop(f);
}

Test(api_admin, skip_head_is_true_or_false)
{
	static const struct call_mistake cases[] = {
		{ "skip_head=", 400, "skip_head" },
		{ "skip_head=1", 400, "skip_head" },
		{ "skip_head=TRUE", 400, "skip_head" },
		{ "skip_head=false&skip_head=x", 200, "success" },
	};
	struct site *f = site_with_admin();

	call_check_mistakes(f, api_admin_snapshot, cases, 3);
	call_check(f, api_admin_snapshot, cases[3].query, 200, NULL);
	site_stop(f);
}

/* Take all pieces of a stream; 0, or the error at which it ended. */
static int drain(struct call *c, struct buf *out, size_t *pieces)
{
	struct err err;
	int more = 1;

	for (*pieces = 0; more > 0; (*pieces)++) {
		struct buf piece = { 0 };

		more = c->a.stream.next(c->a.stream.ctx, &piece, &err);
		buf_add(out, piece.ptr, piece.len);
		buf_fini(&piece);
	}
	return more;
}

/*
 * List a tar as "name=bytes;". If a file is gzipped, its unpacked size counts.
 */
static void list_tar(struct bytes tar, struct buf *out)
{
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	struct gzip *g = gzip_new();

	archive_read_support_format_tar(a);
	cr_assert(!archive_read_open_memory(a, tar.ptr, tar.len));
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		static char content[64 * 1024];
		ssize_t n = archive_read_data(a, content, sizeof(content));
		struct bytes packed = { (const uint8_t *)content, (size_t)n };
		struct buf plain = { 0 };

		cr_assert(n >= 0);
		if (gzip_sniff(packed) == GZIP_GZIP)
			cr_expect(!gzip_decompress(g, packed, &plain, NULL));
		else
			buf_add(&plain, content, (size_t)n);
		buf_printf(out, "%s=%zu;", archive_entry_pathname(e),
			   plain.len);
		buf_fini(&plain);
	}
	archive_read_free(a);
	gzip_free(g);
}

/*
 * Check that the export of a query has exactly these profiles of site_profiles,
 * each in its folder.
 */
static void check_export(struct site *f, const char *query,
			 const char *const *folders, const size_t *indexes,
			 size_t count)
{
	struct call c = { 0 };
	struct buf tar = { 0 };
	struct buf got = { 0 };
	struct buf want = { 0 };
	struct buf profile = { 0 };
	size_t pieces;

	call_begin(f, &c, api_export, query);
	cr_assert(c.a.status == 200, "%s", buf_cstr(&c.a.body));
	cr_assert(c.a.as_is, "%s", buf_cstr(&c.a.body));
	cr_assert(c.a.stream.next, "%s", buf_cstr(&c.a.body));
	cr_expect(!strcmp(c.a.content_type, "application/x-tar"));
	cr_expect(
		strstr(call_header(&c, "Content-Disposition"), "everprof.tar"));
	cr_assert(drain(&c, &tar, &pieces) == 0);
	cr_expect(pieces == 1);
	list_tar(buf_bytes(&tar), &got);
	for (size_t i = 0; i < count; i++) {
		const struct site_profile *p = &site_profiles[indexes[i]];

		site_encode(p, &profile);
		buf_printf(&want, "%s/%lld.pb.gz=%zu;", folders[i],
			   (long long)(SITE_T0 + p->k * SITE_STEP),
			   profile.len);
	}
	cr_expect(check_str(str_from(buf_bytes(&got)), buf_cstr(&want)), "%s",
		  query);
	call_end(&c);
	buf_fini(&tar);
	buf_fini(&got);
	buf_fini(&want);
	buf_fini(&profile);
}

#define FOLDER(name, job, pod) \
	name "%7Bjob%3D%22" job "%22%2Cpod%3D%22" pod "%22%7D"

Test(api_admin, an_export_has_all_profiles_in_folders_of_their_series)
{
	static const char *const folders[] = { FOLDER("cpu", "app", "p1"),
					       FOLDER("cpu", "app", "p1"),
					       FOLDER("cpu", "app", "p1"),
					       FOLDER("cpu", "app", "p2"),
					       FOLDER("heap", "db", "p1") };
	static const size_t all[] = { 0, 1, 2, 3, 4 };
	static const size_t some[] = { 1, 3 };
	struct site *f = site_start();

	site_fill(f);
	check_export(f, "query={job!=\"\"}" RANGE, folders, all, 5);
	check_export(f, "query=cpu&from=1700000000001&to=1700000044999",
		     folders + 2, some, 2);
	cr_assert(!tsdb_maintain(f->db, true, NULL));
	check_export(f, "query={job!=\"\"}" RANGE, folders, all, 5);
	site_stop(f);
}

Test(api_admin, a_long_folder_name_is_cut_and_stays_unique)
{
	struct site_profile p = site_profiles[0];
	struct site *f = site_start();
	struct call c = { 0 };
	struct buf tar = { 0 };
	struct buf got = { 0 };
	char pod[300];
	char *first;
	char *second;
	size_t pieces;

	memset(pod, 'x', sizeof(pod));
	pod[sizeof(pod) - 1] = 0;
	p.pod = pod;
	site_put(f, &p);
	pod[sizeof(pod) - 2] = 'y';
	site_put(f, &p);
	call_begin(f, &c, api_export, "query=cpu" RANGE);
	cr_expect(!drain(&c, &tar, &pieces));
	list_tar(buf_bytes(&tar), &got);
	first = (char *)(uintptr_t)buf_cstr(&got);
	second = strchr(first, ';') + 1;
	cr_assert(strcspn(first, "/") == 200, "%s", first);
	cr_expect(strcspn(second, "/") == 200, "%s", first);
	cr_assert(!strncmp(first, second, 184),
		  "they differ by their hashes: %s", first);
	cr_expect(strncmp(first, second, 200) != 0,
		  "they differ by their hashes: %s", first);
	cr_assert(first[183] == '-');
	cr_expect(strspn(first + 184, "0123456789abcdef") == 16);
	call_end(&c);
	buf_fini(&tar);
	buf_fini(&got);
	site_stop(f);
}

Test(api_admin, an_export_waits_for_memory_and_is_then_whole)
{
	struct site *f = site_start();
	struct call c = { 0 };
	struct buf tar = { 0 };
	struct buf got = { 0 };
	struct buf piece = { 0 };
	struct err err;
	int64_t rest;
	size_t pieces;

	site_fill(f);
	call_begin(f, &c, api_export, "query=cpu" RANGE);
	cr_assert(c.a.status == 200);
	rest = f->web.memory.max - atomic_load(&f->web.memory.used);
	cr_assert(!budget_take(&f->web.memory, rest, NULL));
	for (int i = 0; i < 3; i++) {
		cr_expect(c.a.stream.next(c.a.stream.ctx, &piece, &err) ==
			  ERR_AGAIN);
		buf_add(&tar, piece.ptr, piece.len);
		buf_fini(&piece);
	}
	budget_give(&f->web.memory, rest);
	cr_expect(!drain(&c, &tar, &pieces));
	list_tar(buf_bytes(&tar), &got);
	for (const char *p = buf_cstr(&got); (p = strstr(p, ".pb.gz=")); p++)
		rest = 0;
	cr_assert(!rest, "%s", buf_cstr(&got));
	cr_expect(!strstr(buf_cstr(&got), "LOST.txt"), "%s", buf_cstr(&got));
	cr_expect(strstr(buf_cstr(&got), "p2%22%7D/1700000015000.pb.gz="));
	call_end(&c);
	buf_fini(&tar);
	buf_fini(&got);
	site_stop(f);
}

/* No profile is exported: the work would go on until all series are read. */
Test(api_admin, an_export_ends_when_everprof_stops)
{
	struct site *f = site_start();
	struct call c = { 0 };
	struct buf tar = { 0 };
	_Atomic int64_t stop_ns = INT64_MAX;
	size_t pieces;

	site_fill(f);
	c.stop_ns = &stop_ns;
	call_begin(f, &c, api_export, "query=cpu&total_min=1000000000" RANGE);
	cr_assert(c.a.status == 200, "%s", buf_cstr(&c.a.body));
	atomic_store(&stop_ns, 1);
	cr_assert(drain(&c, &tar, &pieces) == ERR_CLOSED);
	cr_expect(pieces == 1);
	call_end(&c);
	buf_fini(&tar);
	site_stop(f);
}

Test(api_admin, an_export_that_nobody_reads_to_its_end_leaves_nothing)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, api_export, "query=cpu" RANGE);
	cr_assert(c.a.status == 200);
	cr_expect(atomic_load(&f->web.memory.used) > 0);
	call_end(&c);
	cr_expect(!atomic_load(&f->web.memory.used));
	site_stop(f);
}

Test(api_admin, mistakes_in_exports_are_told_before_anything_is_sent)
{
	static const struct call_mistake cases[] = {
		{ "from=1&to=2", 400, "query" },
		{ "query=cpu&from=1", 400, "to" },
		{ "query=cpu&to=1", 400, "from" },
		{ "query=cpu{" RANGE, 400, "bad_data" },
		{ "query=cpu&from=2&to=1", 400, "bad_data" },
		{ "query=none" RANGE, 404, "not_found" },
		{ "query=cpu&from=1&to=2", 404, "not_found" },
	};
	static const struct call_mistake poor[] = {
		{ "query=cpu" RANGE, 429, "query.memory" },
	};
	struct site *f = site_start();

	site_fill(f);
	call_check_mistakes(f, api_export, cases, ARRAY_SIZE(cases));
	f->web.memory.max = 1000;
	call_check_mistakes(f, api_export, poor, 1);
	site_stop(f);
}
