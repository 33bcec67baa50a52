/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of pushed profiles: the parameter `name`, the name of the profile type
 * by its sample types, which labels a client may set, and which are added.
 */
#include "push/labels/push_labels.h"

#include "push/labels/push_name.h"
#include "push/labels/push_types.h"
#include "tests/check.h"

TestSuite(push_labels, .timeout = 60);

/* The labels of a builder as text, in name order. */
static char *shown(struct labels_builder *b)
{
	struct labels *ls = NULL;
	struct buf text = { 0 };
	static char out[500];

	if (!labels_build(b, &ls, NULL))
		labels_text(ls, &text);
	snprintf(out, sizeof(out), "%s", buf_cstr(&text));
	labels_unref(ls);
	buf_fini(&text);
	return out;
}

Test(push_labels, a_name_has_an_application_and_labels)
{
	static const struct {
		const char *name;
		const char *app;
		const char *labels;
	} cases[] = {
		{ "shop", "shop", "" },
		{ "shop.cpu{}", "shop.cpu", "" },
		{ " shop { a = b , c=d } ", "shop", "{a=\"b\",c=\"d\"}" },
		{ "shop{a=b,}", "shop", "{a=\"b\"}" },
		{ "shop{a=x=y,b=say \"hi\"}", "shop",
		  "{a=\"x=y\",b=\"say \\\"hi\\\"\"}" },
		{ "shop{a=b,a=c}", "shop", "{a=\"c\"}" },
		{ "shop{otel.scope.name=x/y}", "shop",
		  "{\"otel.scope.name\"=\"x/y\"}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct labels_builder b = { 0 };
		struct str app;
		struct err err = { .msg = "" };

		cr_assert(
			!push_name_parse(str_of(cases[i].name), &app, &b, &err),
			"%s: %s", cases[i].name, err.msg);
		cr_expect(check_str(app, cases[i].app));
		cr_expect(check_str(str_of(shown(&b)), cases[i].labels));
		labels_builder_fini(&b);
	}
}

Test(push_labels, a_malformed_name_says_what_is_wrong)
{
	static const struct {
		const char *name;
		const char *why;
	} cases[] = {
		{ "", "names the application" },
		{ "{a=b}", "names the application" },
		{ "shop{a=b", "closing brace" },
		{ "shop{a}", "key=value" },
		{ "shop{=b}", "key=value" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct labels_builder b = { 0 };
		struct str app;
		struct err err = { .msg = "" };

		cr_expect(push_name_parse(str_of(cases[i].name), &app, &b,
					  &err) == ERR_INVALID);
		cr_expect(strstr(err.msg, cases[i].why), "%s: %s",
			  cases[i].name, err.msg);
		labels_builder_fini(&b);
	}
}

/* Make a type set from names such as "samples,cpu". */
static void set_types(struct typeset *t, const char *names)
{
	struct str rest = str_of(names);

	t->count = 0;
	while (rest.len)
		t->types[t->count++] = (struct value_type){
			.type = str_cut(rest, ',', &rest)
		};
}

Test(push_labels, sample_types_tell_the_type_of_the_profile)
{
	static const struct {
		const char *types;
		const char *config;
		const char *name;
	} cases[] = {
		{ "samples,cpu", NULL, "process_cpu" },
		{ "cpu", NULL, "process_cpu" },
		{ "sample,wall", NULL, "wall" },
		{ "samples,wall,cpu", NULL, "wall" },
		{ "alloc_objects,alloc_space,inuse_objects,inuse_space", NULL,
		  "memory" },
		{ "objects,space", NULL, "memory" },
		{ "goroutine", NULL, "goroutines" },
		{ "goroutine",
		  "{\"goroutine\":{\"display-name\":\"goroutine\"}}",
		  "goroutine" },
		{ "goroutine", "{\"goroutine\":{\"units\":\"x\"}}",
		  "goroutine" },
		{ "contentions,delay", NULL, "mutex" },
		{ "contentions,delay",
		  "{\"contentions\":{\"display-name\":\"block_count\"}}",
		  "block" },
		{ "exceptions", NULL, "exceptions" },
		{ "a,b", "{\"b\":{\"units\":\"x\"}}", "b" },
		{ "a", "{\"a\":5}", "a" },
		{ "", NULL, "unknown" },
		{ "a,,", NULL, "unknown" },
	};
	static struct typeset types;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct push_types t = { .is_set = false };
		struct err err = { .msg = "" };

		set_types(&types, cases[i].types);
		if (cases[i].config)
			cr_assert(!push_types_parse(
					  &t, bytes_of(str_of(cases[i].config)),
					  &err),
				  "%s", err.msg);
		cr_expect(
			check_str(push_types_name(&t, &types), cases[i].name));
		push_types_fini(&t);
	}
}

Test(push_labels, a_malformed_configuration_is_refused)
{
	static const char *const cases[] = { "", "{", "[]", "5",
					     "{\"a\":{\"b\":}}" };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct push_types t = { .is_set = false };
		struct err err = { .msg = "" };

		cr_expect(push_types_parse(&t, bytes_of(str_of(cases[i])),
					   &err) == ERR_INVALID,
			  "%s", cases[i]);
		cr_expect(*err.msg);
		push_types_fini(&t);
	}
}

Test(push_labels, values_without_a_duration_may_be_increments)
{
	static struct typeset types;
	struct push_types t = { .is_set = false };

	set_types(&types, "alloc_objects,inuse_space");
	cr_expect(push_types_count(&types));
	set_types(&types, "contentions,delay");
	cr_expect(push_types_count(&types));
	set_types(&types, "inuse_objects,inuse_space");
	cr_expect(!push_types_count(&types));
	cr_expect(!push_types_cumulative(&t));
	cr_assert(!push_types_parse(
		&t,
		bytes_of(str_of("{\"a\":{\"cumulative\":false},"
				"\"b\":{\"cumulative\":true}}")),
		NULL));
	cr_expect(push_types_cumulative(&t));
	push_types_fini(&t);
}

Test(push_labels, missing_labels_are_added)
{
	static const struct {
		const char *sent; /* a parameter `name` */
		const char *labels;
	} cases[] = {
		{ "shop", "cpu{instance=\"10.0.0.7\",job=\"shop\","
			  "pyroscope_spy=\"gospy\",service_name=\"shop\"}" },
		{ "shop{service_name=cart}",
		  "cpu{app_name=\"shop\",instance=\"10.0.0.7\",job=\"cart\","
		  "pyroscope_spy=\"gospy\",service_name=\"cart\"}" },
		{ "shop{job=x,instance=y}",
		  "cpu{instance=\"y\",job=\"x\",pyroscope_spy=\"gospy\","
		  "service_name=\"shop\"}" },
		{ "shop{pod=p}", "cpu{job=\"shop\",pod=\"p\","
				 "pyroscope_spy=\"gospy\","
				 "service_name=\"shop\"}" },
		{ "shop{__session_id__=1,__a__=2,__delta__=true,host=h}",
		  "cpu{__session_id__=\"1\",host=\"h\",job=\"shop\","
		  "pyroscope_spy=\"gospy\",service_name=\"shop\"}" },
		{ "shop{__delta__=false,__tenant__=t,host=h}",
		  "cpu{__delta__=\"false\",host=\"h\",job=\"shop\","
		  "pyroscope_spy=\"gospy\",service_name=\"shop\"}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct push_origin origin = { .spy = str_of("gospy"),
					      .address = str_of("10.0.0.7") };
		struct labels_builder b = { 0 };

		cr_assert(!push_name_parse(str_of(cases[i].sent), &origin.app,
					   &b, NULL));
		labels_set(&b, str_of(LABEL_NAME), str_of("cpu"));
		push_labels_complete(&b, &origin, true);
		cr_expect(check_str(str_of(shown(&b)), cases[i].labels));
		labels_builder_fini(&b);
	}
}

Test(push_labels, without_a_name_the_service_is_unknown)
{
	struct push_origin origin = { .address = { .len = 0 } };
	struct labels_builder b = { 0 };

	labels_set(&b, str_of(LABEL_NAME), str_of("cpu"));
	push_labels_complete(&b, &origin, true);
	cr_expect(check_str(str_of(shown(&b)),
			    "cpu{job=\"unknown_service\","
			    "service_name=\"unknown_service\"}"));
	labels_builder_fini(&b);
}

Test(push_labels, the_address_becomes_an_instance_only_if_it_shall)
{
	struct push_origin origin = { .address = str_of("10.0.0.7") };
	struct labels_builder b = { 0 };

	labels_set(&b, str_of(LABEL_NAME), str_of("cpu"));
	push_labels_complete(&b, &origin, false);
	cr_expect(!labels_builder_get(&b, str_of("instance")).len);
	push_labels_complete(&b, &origin, true);
	cr_expect(
		str_is(labels_builder_get(&b, str_of("instance")), "10.0.0.7"));
	labels_builder_fini(&b);
}
