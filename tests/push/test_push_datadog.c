/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of Datadog's profilers: which labels and names their files get. */
#include "tests/push/desk.h"

TestSuite(push_datadog, .timeout = 60);

/* A file of a form. */
struct form_file {
	const char *name; /* of the field and of the file */
	struct bytes body;
};

/* Make a form with a description and files the body. */
static void fill(struct desk *d, const char *event,
		 const struct form_file *files, size_t count)
{
	buf_reset(&d->body);
	if (event)
		buf_printf(&d->body,
			   "--b\r\nContent-Disposition: form-data; "
			   "name=\"event\"; filename=\"event.json\"\r\n\r\n"
			   "%s\r\n",
			   event);
	for (size_t i = 0; i < count; i++) {
		buf_printf(&d->body,
			   "--b\r\nContent-Disposition: form-data; "
			   "name=\"%s\"; filename=\"%s\"\r\n\r\n",
			   files[i].name, files[i].name);
		buf_add(&d->body, files[i].body.ptr, files[i].body.len);
		buf_str(&d->body, "\r\n");
	}
	buf_str(&d->body, "--b--\r\n");
	d->in.protocol = PUSH_DATADOG;
	d->in.content_type = "multipart/form-data; boundary=b";
	d->in.name = str_of("");
	d->in.format = str_of("");
}

/* Send a file with a profile of a type. */
static int send_one(struct desk *d, const char *event, const char *file,
		    const char *type)
{
	struct buf profile = { 0 };
	struct form_file one;
	int rc;

	desk_add_profile(&profile, type, 0, 0);
	one = (struct form_file){ file, buf_bytes(&profile) };
	fill(d, event, &one, 1);
	rc = desk_take(d);
	buf_fini(&profile);
	return rc;
}

#define EVENT(tags)                                 \
	"{\"version\":\"4\",\"family\":\"python\"," \
	"\"start\":\"2026-11-30T00:00:00.250Z\","   \
	"\"end\":\"2026-11-30T00:01:00Z\",\"tags_profiler\":\"" tags "\"}"
#define EVENT_MS 1795996800250

Test(push_datadog, tags_are_labels)
{
	static const struct {
		const char *tags;
		const char *want;
	} cases[] = {
		{ "service:shop,env:prod,version:1.2",
		  "process_cpu{env=\"prod\",instance=\"10.0.0.7\",job=\"shop\","
		  "service_name=\"shop\",version=\"1.2\"}" },
		/* A host tells processes apart, so the address is not needed. */
		{ "service:shop,host:web-1, url:http://a:1 ",
		  "process_cpu{host=\"web-1\",job=\"shop\","
		  "service_name=\"shop\",url=\"http://a:1\"}" },
		/* Neither those of one process, nor those of the library. */
		{ "service:shop,runtime-id:7f,process_id:12,_dd.a:b,"
		  "library_version:4.16,empty:,:nameless,nothing,__name__:x,"
		  "env:undefined",
		  "process_cpu{instance=\"10.0.0.7\",job=\"shop\","
		  "service_name=\"shop\"}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf event = { 0 };
		struct desk d;

		desk_begin(&d);
		clock_set(&d.clock, EVENT_MS + 60000);
		buf_printf(&event, EVENT("%s"), cases[i].tags);
		cr_assert(!send_one(&d, buf_cstr(&event), "auto.pprof", "cpu"),
			  "%s", d.err.msg);
		cr_assert(d.shelf.count == 1);
		cr_expect(d.shelf.ms[0] == EVENT_MS);
		cr_expect(check_str(str_of(d.shelf.labels[0]), cases[i].want),
			  "%s", d.shelf.labels[0]);
		buf_fini(&event);
		desk_end(&d);
	}
}

Test(push_datadog, files_name_profiles)
{
	static const struct {
		const char *file;
		const char *type;
		const char *name; /* NULL: it is no profile */
		bool is_increment;
	} cases[] = {
		{ "auto.pprof", "cpu", "process_cpu{", false },
		{ "profile.pprof", "cpu", "process_cpu{", false },
		{ "cpu.pprof", "cpu", "process_cpu{", false },
		{ "space.pprof", "space", "memory{", false },
		{ "heap.pprof", "alloc_space", "memory{", false },
		{ "delta-heap.pprof", "alloc_space", "memory{", true },
		{ "delta-mutex.pprof", "delay", "mutex{", true },
		{ "goroutines.pprof", "goroutine", "goroutine{", false },
		{ "wall.pprof", "wall", "wall{", false },
		{ "metrics.json", "cpu", NULL, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *file = cases[i].file;
		struct desk d;
		int rc;

		desk_begin(&d);
		clock_set(&d.clock, EVENT_MS + 60000);
		rc = send_one(&d, EVENT("service:shop"), file, cases[i].type);
		if (!cases[i].name) {
			cr_expect(rc == ERR_INVALID && !d.shelf.count);
			cr_expect(strstr(d.err.msg, ".pprof"), "%s", d.err.msg);
			desk_end(&d);
			continue;
		}
		cr_assert(!rc, "%s: %s", file, d.err.msg);
		cr_expect(str_starts(str_of(d.shelf.labels[0]),
				     str_of(cases[i].name)),
			  "%s: %s", file, d.shelf.labels[0]);
		cr_expect(!!strstr(d.shelf.labels[0], "__delta__=\"false\"") ==
				  cases[i].is_increment,
			  "%s: %s", file, d.shelf.labels[0]);
		desk_end(&d);
	}
}

Test(push_datadog, good_files_are_stored_beside_bad_ones)
{
	static const uint8_t lz4[] = { 0x04, 0x22, 0x4d, 0x18, 0x64, 0x40 };
	const char *event = EVENT("service:shop");
	struct buf profile = { 0 };
	uint64_t refused = 0;
	struct desk d;

	desk_begin(&d);
	clock_set(&d.clock, EVENT_MS + 60000);
	d.in.refused = &refused;
	desk_add_profile(&profile, "cpu", 0, 0);
	fill(&d, event,
	     (struct form_file[]){ { "main.jfr", { lz4, sizeof(lz4) } },
				   { "wall.pprof", bytes_of(str_of("?")) },
				   { "cpu.pprof", buf_bytes(&profile) },
				   { "metrics.json", bytes_of(str_of("[]")) } },
	     4);
	cr_expect(desk_take(&d) == ERR_CORRUPT);
	cr_expect(strstr(d.err.msg, "LZ4") &&
			  strstr(d.err.msg,
				 "DD_PROFILING_DEBUG_UPLOAD_COMPRESSION"),
		  "%s", d.err.msg);
	cr_expect(refused == 2);
	cr_expect(d.shelf.count == 1);
	/* What the storage cannot take now is sent again. */
	d.shelf.code = ERR_NOSPACE;
	cr_expect(desk_take(&d) == ERR_NOSPACE);
	buf_fini(&profile);
	desk_end(&d);
}

Test(push_datadog, malformed_requests_say_what_is_wrong)
{
	static const struct {
		const char *event; /* NULL: none */
		const char *says;
	} cases[] = {
		{ NULL, "field \"event\"" },
		{ "[1]", "must be a JSON object" },
		{ "{\"a\":", "event.json" },
		{ "{\"start\":\"yesterday\"}", "start" },
		{ "{\"start\":\"2026-11-30T00:00:00Z\",\"end\":\"?\"}", "end" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct desk d;

		desk_begin(&d);
		cr_expect(send_one(&d, cases[i].event, "cpu.pprof", "cpu") ==
			  ERR_INVALID);
		cr_expect(strstr(d.err.msg, cases[i].says), "%zu: %s", i,
			  d.err.msg);
		cr_expect(!d.shelf.count);
		desk_end(&d);
	}
}
