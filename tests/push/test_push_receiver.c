/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver of pushed profiles: what becomes of the requests of both
 * protocols, at which times profiles are stored, which are refused for good, and
 * after which errors the client sends the request again.
 */
#include "push/receive/push_receiver.h"

#include "base/base64.h"
#include "base/gzip.h"
#include "tests/push/desk.h"
#include "tests/tsdb/profile.h"

TestSuite(push_receiver, .timeout = 60);

Test(push_receiver, a_body_that_is_a_profile_is_stored)
{
	struct desk d;

	desk_begin(&d);
	d.in.spy = str_of("nodespy");
	desk_add_profile(&d.body, "cpu", NOW * 1000000 - 5000000, 1);
	cr_assert(!desk_take(&d), "%s", d.err.msg);
	cr_assert(d.shelf.count == 1);
	cr_expect(d.shelf.synced == 1);
	cr_expect(d.shelf.ms[0] == NOW - 5);
	cr_expect(
		check_str(str_of(d.shelf.labels[0]),
			  "process_cpu{instance=\"10.0.0.7\",job=\"shop\","
			  "pyroscope_spy=\"nodespy\",service_name=\"shop\"}"));
	desk_end(&d);
}

Test(push_receiver, the_time_is_the_profiles_or_the_requests_or_now)
{
	static const struct {
		int64_t time_ns;
		const char *from;
		int64_t ms;
	} cases[] = {
		{ 1795996000000000000, "1795995000", 1795996000000 },
		{ 0, "1795995000", 1795995000000 },
		{ 0, "1795995000123", 1795995000123 },
		{ 0, "1795995000123456", 1795995000123 },
		{ 0, "1795995000123456789", 1795995000123 },
		{ 0, "now-10s", NOW - 10000 },
		{ 0, "", NOW },
		{ 0, "5", NOW },
		{ 1000000, "", NOW },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct desk d;

		desk_begin(&d);
		d.in.from = str_of(cases[i].from);
		desk_add_profile(&d.body, "cpu", cases[i].time_ns, 1);
		cr_assert(!desk_take(&d), "%s", d.err.msg);
		cr_expect(d.shelf.ms[0] == cases[i].ms, "%zu: %lld", i,
			  (long long)d.shelf.ms[0]);
		desk_end(&d);
	}
}

Test(push_receiver, replicas_with_one_time_are_all_stored)
{
	struct desk d;

	desk_begin(&d);
	desk_add_profile(&d.body, "cpu", NOW * 1000000, 1);
	for (int i = 0; i < 5; i++)
		cr_assert(!desk_take(&d), "%s", d.err.msg);
	cr_expect(d.shelf.count == 5);
	cr_expect(d.shelf.ms[4] == NOW + 4);
	desk_end(&d);
}

Test(push_receiver, increments_are_marked)
{
	static const struct {
		const char *type;
		int64_t duration_ns;
		const char *config;
		bool marked;
	} cases[] = {
		{ "alloc_space", 0, "{}", true },
		{ "alloc_space", 5, "{}", false },
		{ "inuse_space", 0, "{}", false },
		{ "delay", 0, "{}", true },
		{ "delay", 0, "{\"delay\":{\"cumulative\":true}}", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf profile = { 0 };
		struct desk d;

		desk_begin(&d);
		desk_add_profile(&profile, cases[i].type, 0,
				 cases[i].duration_ns);
		buf_printf(&d.body,
			   "--b\r\nContent-Disposition: form-data; "
			   "name=sample_type_config\r\n\r\n%s\r\n"
			   "--b\r\nContent-Disposition: form-data; "
			   "name=profile\r\n\r\n",
			   cases[i].config);
		buf_add(&d.body, profile.ptr, profile.len);
		buf_str(&d.body, "\r\n--b--\r\n");
		d.in.content_type = "multipart/form-data; boundary=b";
		d.in.format = str_of("");
		cr_assert(!desk_take(&d), "%s", d.err.msg);
		cr_expect(!!strstr(d.shelf.labels[0], "__delta__=\"false\"") ==
				  cases[i].marked,
			  "%s", d.shelf.labels[0]);
		buf_fini(&profile);
		desk_end(&d);
	}
}

/* Add a series of push.v1 with two profiles to the body. */
static void add_series(struct buf *out, const char *name, const char *service,
		       struct bytes first, struct bytes second)
{
	struct buf series = { 0 };
	struct buf sample = { 0 };

	if (name)
		put_label(&series, "__name__", name);
	if (service)
		put_label(&series, "service_name", service);
	put_field(&sample, 1, first);
	put_field(&series, 2, buf_bytes(&sample));
	buf_reset(&sample);
	put_field(&sample, 1, second);
	put_field(&series, 2, buf_bytes(&sample));
	put_field(out, 1, buf_bytes(&series));
	buf_fini(&sample);
	buf_fini(&series);
}

static void desk_begin_v1(struct desk *d)
{
	desk_begin(d);
	d->in.protocol = PUSH_V1;
	d->in.content_type = "application/proto";
	d->in.name = d->in.format = str_of("");
}

Test(push_receiver, a_message_has_series_with_profiles)
{
	struct gzip *gzip = gzip_new();
	struct buf a = { 0 };
	struct buf b = { 0 };
	struct buf packed = { 0 };
	struct desk d;

	desk_begin_v1(&d);
	desk_add_profile(&a, "cpu", NOW * 1000000, 1);
	desk_add_profile(&b, "cpu", NOW * 1000000 + 9000000, 1);
	add_series(&d.body, "process_cpu", "shop", buf_bytes(&a),
		   buf_bytes(&b));
	add_series(&d.body, "wall", NULL, buf_bytes(&a), buf_bytes(&b));
	cr_assert(!desk_take(&d), "%s", d.err.msg);
	cr_assert(d.shelf.count == 4);
	cr_expect(d.shelf.synced == 4);
	cr_expect(check_str(str_of(d.shelf.labels[0]),
			    "process_cpu{instance=\"10.0.0.7\",job=\"shop\","
			    "service_name=\"shop\"}"));
	cr_expect(
		strstr(d.shelf.labels[2], "service_name=\"unknown_service\""));
	/* The same request, compressed; its profiles get later times. */
	gzip_compress(gzip, 6, buf_bytes(&d.body), &packed);
	buf_reset(&d.body);
	buf_add(&d.body, packed.ptr, packed.len);
	d.in.content_encoding = "gzip";
	cr_assert(!desk_take(&d), "%s", d.err.msg);
	cr_expect(d.shelf.count == 8);
	gzip_free(gzip);
	buf_fini(&packed);
	buf_fini(&a);
	buf_fini(&b);
	desk_end(&d);
}

Test(push_receiver, a_message_may_be_json)
{
	struct buf profile = { 0 };
	struct desk d;

	desk_begin_v1(&d);
	d.in.content_type = "application/json; charset=utf-8";
	desk_add_profile(&profile, "cpu", NOW * 1000000, 1);
	buf_str(&d.body, "{\"series\":[{\"labels\":[{\"name\":\"__name__\","
			 "\"value\":\"process_cpu\"},{\"name\":\"a\","
			 "\"value\":\"b\"}],\"samples\":[{\"ID\":\"5\","
			 "\"rawProfile\":\"");
	base64_encode(buf_bytes(&profile), &d.body);
	buf_str(&d.body, "\"}]}]}");
	cr_assert(!desk_take(&d), "%s", d.err.msg);
	cr_assert(d.shelf.count == 1);
	cr_expect(strstr(d.shelf.labels[0], "a=\"b\""), "%s",
		  d.shelf.labels[0]);
	buf_reset(&d.body);
	for (int i = 0; i < 3 << 20; i++)
		buf_byte(&d.body, ' ');
	cr_expect(desk_take(&d) == ERR_TOOBIG);
	cr_expect(strstr(d.err.msg, "use protocol buffers"), "%s", d.err.msg);
	buf_fini(&profile);
	desk_end(&d);
}

Test(push_receiver, good_profiles_are_durable_beside_refused_ones)
{
	struct buf good = { 0 };
	struct desk d;

	desk_begin_v1(&d);
	desk_add_profile(&good, "cpu", NOW * 1000000, 1);
	add_series(&d.body, "process_cpu", "shop", buf_bytes(&good),
		   bytes_of(str_of("hello")));
	add_series(&d.body, NULL, "shop", buf_bytes(&good), buf_bytes(&good));
	cr_expect(desk_take(&d) == ERR_CORRUPT);
	cr_expect(strstr(d.err.msg, "3 of 4 profiles were refused"), "%s",
		  d.err.msg);
	cr_expect(strstr(d.err.msg, "__name__"), "%s", d.err.msg);
	cr_expect(d.shelf.count == 1);
	cr_expect(d.shelf.synced == 1);
	buf_fini(&good);
	desk_end(&d);
}

Test(push_receiver, a_time_that_cannot_be_judged_yet_holds_up_no_other)
{
	struct buf early = { 0 };
	struct buf good = { 0 };
	struct desk d;

	desk_begin_v1(&d);
	d.shelf.again_ms = NOW + 7200000;
	desk_add_profile(&early, "cpu", (NOW + 7200000) * 1000000, 1);
	desk_add_profile(&good, "cpu", NOW * 1000000, 1);
	add_series(&d.body, "process_cpu", "shop", buf_bytes(&early),
		   buf_bytes(&good));
	cr_expect(desk_take(&d) == ERR_AGAIN);
	cr_expect(d.shelf.count == 1);
	cr_expect(d.shelf.synced == 1, "what is stored is durable");
	buf_fini(&early);
	buf_fini(&good);
	desk_end(&d);
}

Test(push_receiver, after_a_temporary_error_nothing_is_acknowledged)
{
	static const int codes[] = { ERR_LIMIT, ERR_NOSPACE, ERR_IO, ERR_AGAIN,
				     ERR_CLOSED };
	struct desk d;

	desk_begin(&d);
	desk_add_profile(&d.body, "cpu", NOW * 1000000, 1);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		d.shelf.code = codes[i];
		cr_expect(desk_take(&d) == codes[i]);
	}
	d.shelf.code = 0;
	d.shelf.sync_code = ERR_IO;
	cr_expect(desk_take(&d) == ERR_IO);
	d.in.deadline_ns = 0;
	cr_expect(desk_take(&d) == ERR_TIMEOUT);
	desk_end(&d);
}

Test(push_receiver, what_is_not_supported_is_named)
{
	static const struct {
		enum push_protocol protocol;
		const char *type;
		const char *encoding;
		const char *format;
		const char *body;
		int code;
		const char *why;
	} cases[] = {
		{ PUSH_INGEST, "", "", "tree", "x", ERR_MEDIA, "\"tree\"" },
		{ PUSH_INGEST, "", "", "jfr", "x", ERR_INVALID,
		  "no recording of JFR" },
		{ PUSH_INGEST, "", "", "", "x", ERR_INVALID, "format=pprof" },
		{ PUSH_INGEST, "multipart/form-data; boundary=b", "", "jfr",
		  "--b--", ERR_INVALID, "no field \"jfr\"" },
		{ PUSH_INGEST, "", "gzip", "pprof", "x", ERR_MEDIA, "gzip" },
		{ PUSH_INGEST, "", "", "pprof", "x", ERR_CORRUPT,
		  "the profile was refused" },
		{ PUSH_INGEST, "multipart/form-data; boundary=b", "", "",
		  "--b--", ERR_INVALID, "no field \"profile\"" },
		{ PUSH_V1, "application/grpc", "", "", "{}", ERR_MEDIA,
		  "application/proto" },
		{ PUSH_V1, "application/json", "", "", "{", ERR_INVALID, "" },
		{ PUSH_V1, "application/json", "", "",
		  "{\"series\":[{\"samples\":[{\"rawProfile\":\"a\"}]}]}",
		  ERR_INVALID, "base64" },
		{ PUSH_V1, "application/proto", "br", "", "x", ERR_MEDIA,
		  "zstd or identity" },
		{ PUSH_V1, "application/proto", "gzip", "", "x", ERR_INVALID,
		  "no gzip stream" },
		{ PUSH_V1, "application/proto", "", "", "x", ERR_INVALID,
		  "PushRequest" },
		{ PUSH_V1, "application/proto", "gzip", "",
		  "\x1f\x8b\x08xxxxxxxxxxx\xff\xff\xff\x7f", ERR_TOOBIG,
		  "--scrape.max-profile-size" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct desk d;

		desk_begin(&d);
		d.in.protocol = cases[i].protocol;
		d.in.content_type = cases[i].type;
		d.in.content_encoding = cases[i].encoding;
		d.in.format = str_of(cases[i].format);
		buf_str(&d.body, cases[i].body);
		cr_expect(desk_take(&d) == cases[i].code, "%zu: %s", i,
			  d.err.msg);
		cr_expect(strstr(d.err.msg, cases[i].why), "%zu: %s", i,
			  d.err.msg);
		cr_expect(!d.shelf.count);
		desk_end(&d);
	}
}

/* The rows of the list of senders. */
static void list_sender(void *arg, const struct push_sender *row)
{
	buf_printf(arg, "%s %s %s %d/%d/%d/%d %s\n", row->protocol,
		   row->service, row->agent, (int)row->counts[PUSH_STORED],
		   (int)row->counts[PUSH_DROPPED],
		   (int)row->counts[PUSH_REFUSED],
		   (int)row->counts[PUSH_DELAYED], row->why);
}

static void expect_senders(struct desk *d, const char *want)
{
	struct buf text = { 0 };

	push_senders_each(push_receiver_senders(d->r), list_sender, &text);
	cr_expect(check_str(str_from(buf_bytes(&text)), want));
	buf_fini(&text);
}

Test(push_receiver, senders_are_listed_with_the_last_reason)
{
	struct desk d;

	desk_begin(&d);
	d.in.agent = str_of("sdk/1");
	desk_add_profile(&d.body, "cpu", NOW * 1000000, 1);
	cr_assert(!desk_take(&d));
	expect_senders(&d, "ingest shop sdk/1 1/0/0/0 \n");
	d.shelf.code = ERR_NOSPACE;
	cr_expect(desk_take(&d) == ERR_NOSPACE);
	expect_senders(&d, "ingest shop sdk/1 1/0/0/1 storage says no\n");
	d.shelf.code = 0;
	d.in.format = str_of("tree");
	cr_expect(desk_take(&d) == ERR_MEDIA);
	expect_senders(
		&d,
		"ingest shop sdk/1 1/0/1/1 unsupported format \"tree\": send "
		"profiles in the format pprof, jfr or folded (parameter "
		"format)\n");
	d.in.format = str_of("pprof");
	d.shelf.sync_code = ERR_IO;
	cr_expect(desk_take(&d) == ERR_IO);
	expect_senders(&d, "ingest shop sdk/1 1/0/1/2 no fsync\n");
	d.shelf.sync_code = 0;
	d.in.agent = str_of("stranger");
	push_receiver_note_refused(d.r, &d.in, "no password");
	d.in.agent = str_of("sdk/1");
	d.in.format = str_of("pprof");
	buf_reset(&d.body);
	buf_str(&d.body, "x");
	clock_set(&d.clock, NOW + 1000);
	cr_expect(desk_take(&d) == ERR_CORRUPT);
	cr_expect(strstr(d.err.msg, "was refused"));
	desk_end(&d);
}

Test(push_receiver, a_sender_may_add_so_many_series_in_an_hour)
{
	struct buf profile = { 0 };
	struct desk d;

	desk_begin_v1(&d);
	d.in.user = str_of("ann");
	desk_add_profile(&profile, "cpu", NOW * 1000000, 1);
	for (int i = 0; i < 3; i++) {
		char service[8];

		snprintf(service, sizeof(service), "s%d", i);
		add_series(&d.body, "process_cpu", service, buf_bytes(&profile),
			   buf_bytes(&profile));
	}
	/* A series of the first two, behind the one too many. */
	add_series(&d.body, "process_cpu", "s0", buf_bytes(&profile),
		   buf_bytes(&profile));
	cr_expect(desk_take(&d) == ERR_LIMIT);
	cr_expect(strstr(d.err.msg, "\"ann\"") &&
			  strstr(d.err.msg, "--ingest.max-new-series"),
		  "%s", d.err.msg);
	cr_expect(d.shelf.count == 6, "what may be stored is stored");
	cr_expect(d.shelf.synced == 6);
	/* Somebody else is not held up. */
	d.in.user = str_of("bob");
	cr_expect(!desk_take(&d), "%s", d.err.msg);
	buf_fini(&profile);
	desk_end(&d);
}

Test(push_receiver, a_profile_that_a_rule_drops_is_no_error)
{
	struct push_config config = { 0 };
	struct yaml yaml;
	struct desk d;

	desk_begin(&d);
	yaml_parse(
		&yaml, "push.yml",
		bytes_of(str_of("relabel_configs:\n- {source_labels: "
				"[service_name], regex: shop, action: drop}")));
	push_config_decode(&yaml, yaml.root, &config);
	push_receiver_apply(d.r, &config);
	desk_add_profile(&d.body, "cpu", NOW * 1000000, 1);
	cr_expect(!desk_take(&d), "%s", d.err.msg);
	cr_expect(!d.shelf.count);
	expect_senders(&d, "ingest shop  0/1/0/0 dropped by relabel_configs "
			   "of the section \"push\"\n");
	d.in.name = str_of("cart");
	cr_expect(!desk_take(&d), "%s", d.err.msg);
	cr_expect(d.shelf.count == 1);
	desk_end(&d);
	push_config_fini(&config);
	yaml_fini(&yaml);
}

Test(push_receiver, an_empty_message_is_no_error)
{
	struct desk d;

	desk_begin_v1(&d);
	cr_expect(!desk_take(&d), "%s", d.err.msg);
	cr_expect(!d.shelf.synced);
	desk_end(&d);
}

Test(push_receiver, the_number_of_labels_of_a_series_is_limited)
{
	struct buf series = { 0 };
	struct desk d;

	desk_begin_v1(&d);
	for (int i = 0; i < 1001; i++)
		put_label(&series, "a", "b");
	put_field(&d.body, 1, buf_bytes(&series));
	cr_expect(desk_take(&d) == ERR_INVALID);
	cr_expect(strstr(d.err.msg, "1000 labels"), "%s", d.err.msg);
	buf_fini(&series);
	desk_end(&d);
}
