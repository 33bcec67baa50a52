/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples a request of Grafana selects by frames, spans and traces. */
#include "pyroscope/answer/sample_filter.h"

#include "tests/pprof/sketch.h"

TestSuite(sample_filter, .timeout = 30);

static const char samples[] =
	"main;web.serve;db.scan 1\n"
	"main;web.serve 2 span_id=0123456789abcdef\n"
	"main;db.scan 4 profile_id=0123456789ABCDEF\n"
	"other 8 trace_id=0123456789abcdef0123456789abcdef\n";

/* A list of texts, which "," separates. */
static struct request_texts texts_of(const char *text, struct str v[8])
{
	struct request_texts list = { .v = v };
	struct str rest = str_of(text);

	while (rest.len)
		v[list.count++] = str_cut(rest, ',', &rest);
	return list;
}

/* What of the samples a filter leaves. */
static void expect_left(struct profile_request *r, const char *want)
{
	static const struct limits limits;
	struct sketch s = sketch_init("samples/count", samples);
	struct sample_filter f;
	struct err err = { .msg = "" };

	cr_assert(!sample_filter_read(&f, r, &err), "%s", err.msg);
	cr_expect(sample_filter_is_set(&f));
	cr_assert(!sample_filter_apply(&f, s.p, &limits, &err), "%s", err.msg);
	cr_expect(sketch_is(s.p, "left", want));
	sample_filter_fini(&f);
	sketch_fini(&s);
}

Test(sample_filter, all_wanted_functions_and_no_other_must_be_in_a_stack)
{
	struct profile_request r = { .step = 0 };
	struct str v[8];

	r.stacks.include_names = texts_of("web.serve,db.scan", v);
	expect_left(&r, "main;web.serve;db.scan 1\n");
	r = (struct profile_request){ .step = 0 };
	r.stacks.exclude_names = texts_of("web.serve,other", v);
	expect_left(&r, "main;db.scan 4 profile_id=0123456789ABCDEF\n");
	r = (struct profile_request){ .step = 0 };
	r.stacks.include_regexes = texts_of("^db,scan$", v);
	expect_left(&r, "main;web.serve;db.scan 1\n"
			"main;db.scan 4 profile_id=0123456789ABCDEF\n");
	r = (struct profile_request){ .step = 0 };
	r.stacks.exclude_regexes = texts_of("e", v);
	expect_left(&r, "main;db.scan 4 profile_id=0123456789ABCDEF\n");
	r = (struct profile_request){ .step = 0 };
	r.stacks.include_names = texts_of("web", v);
	expect_left(&r, "");
}

Test(sample_filter, ids_are_those_of_spans_and_traces)
{
	struct profile_request r = { .step = 0 };
	struct str v[8];

	r.span_ids = texts_of("ffffffffffffffff,0123456789AbCdEf", v);
	expect_left(&r, "main;web.serve 2 span_id=0123456789abcdef\n"
			"main;db.scan 4 profile_id=0123456789ABCDEF\n");
	r = (struct profile_request){ .step = 0 };
	r.trace_ids = texts_of("0123456789abcdef0123456789abcdef", v);
	expect_left(&r, "other 8 trace_id=0123456789abcdef0123456789abcdef\n");
}

Test(sample_filter, what_is_wrong_is_named)
{
	struct profile_request r = { .step = 0 };
	struct str v[8];
	struct str many[SAMPLE_FRAMES_MAX + 1];
	struct sample_filter f;
	struct err err = { .msg = "" };

	cr_expect(!sample_filter_read(&f, &r, NULL));
	cr_expect(!sample_filter_is_set(&f));
	sample_filter_fini(&f);
	r.stacks.include_regexes = texts_of("a,(", v);
	cr_expect(sample_filter_read(&f, &r, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "\"(\""), "%s", err.msg);
	sample_filter_fini(&f);
	r = (struct profile_request){ .step = 0 };
	r.span_ids = texts_of("0123456789abcdeg", v);
	cr_expect(sample_filter_read(&f, &r, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "16 hexadecimal"), "%s", err.msg);
	sample_filter_fini(&f);
	r = (struct profile_request){ .step = 0 };
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = str_of("a");
	r.stacks.exclude_names =
		(struct request_texts){ .v = many, .count = ARRAY_SIZE(many) };
	cr_expect(sample_filter_read(&f, &r, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "more than 64"), "%s", err.msg);
	sample_filter_fini(&f);
}
