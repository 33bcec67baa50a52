/* SPDX-License-Identifier: Apache-2.0 */
#include "model/labels.h"
#include "tests/check.h"

TestSuite(labels, .timeout = 10);

static struct labels *make(const char *const *pairs, struct err *err)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;

	for (; *pairs; pairs += 2)
		labels_set(&b, str_of(pairs[0]), str_of(pairs[1]));
	if (labels_build(&b, &ls, err))
		ls = NULL;
	labels_builder_fini(&b);
	return ls;
}

#define MAKE(...) make((const char *const[]){ __VA_ARGS__, NULL }, NULL)

Test(labels, are_sorted_unique_and_without_empty_values)
{
	struct labels *ls = MAKE("job", "app", "__name__", "heap", "env", "x",
				 "job", "web", "env", "");
	struct buf text = { 0 };
	struct json j = json_init(&text);

	labels_text(ls, &text);
	cr_expect(check_str(str_from(buf_bytes(&text)), "heap{job=\"web\"}"));
	buf_reset(&text);
	labels_json(ls, &j);
	cr_expect(check_str(str_from(buf_bytes(&text)),
			    "{\"__name__\":\"heap\",\"job\":\"web\"}"));
	cr_expect(check_str(labels_get(ls, str_of("job")), "web"));
	cr_expect(check_str(labels_get(ls, str_of("no")), ""));
	buf_fini(&text);
	labels_unref(ls);
}

Test(labels, the_encoding_decodes_to_the_same_set)
{
	struct labels *a = MAKE("__name__", "heap", "a", "1", "b", "2");
	struct labels *b;

	cr_expect(!labels_decode(labels_bytes(a), &b, NULL));
	cr_assert(a->hash == b->hash);
	cr_expect(!labels_cmp(a, b));
	labels_unref(b);
	for (size_t n = 0; n < a->len; n++) {
		struct bytes cut = { a->data, n };

		cr_expect(labels_decode(cut, &b, NULL) == ERR_CORRUPT);
	}
	labels_unref(a);
}

Test(labels, invalid_labels_are_refused)
{
	struct err err;

	cr_expect(!make((const char *const[]){ NULL }, &err));
	cr_expect(
		!make((const char *const[]){ "__tenant__", "x", NULL }, &err));
	cr_expect(err.code == ERR_DENIED);
	cr_expect(!make((const char *const[]){ "a", "\xff", NULL }, &err));
	cr_expect(!make((const char *const[]){ "", "x", NULL }, &err));
}

Test(labels, label_sets_are_ordered_by_name_then_value)
{
	struct labels *a = MAKE("__name__", "a", "x", "1");
	struct labels *b = MAKE("__name__", "a", "x", "2");
	struct labels *c = MAKE("__name__", "a");
	struct labels *d = MAKE("__name__", "b");

	cr_assert(labels_cmp(a, b) < 0);
	cr_expect(labels_cmp(b, a) > 0);
	cr_assert(labels_cmp(c, a) < 0);
	cr_expect(labels_cmp(b, d) < 0);
	labels_unref(a);
	labels_unref(b);
	labels_unref(c);
	labels_unref(d);
}

enum {
	NAMES = 200,
	CHANGES = 20000
};

/* Sets and removes labels at random, beside an array of what is set. */
Test(labels, a_builder_with_many_labels_finds_each_label)
{
	static int values[NAMES]; /* 0: not set */
	struct labels_builder b = { 0 };
	uint32_t random = 1;
	struct labels *ls = NULL;

	for (int i = 0; i < CHANGES; i++) {
		/* At first all names, then few, then all again. */
		int range = i / (CHANGES / 3) == 1 ? 40 : NAMES;
		char name[16];
		char value[16];
		int k;

		random = random * 1664525 + 1013904223;
		k = (int)(random >> 8) % range;
		values[k] = (random >> 4) % 3 ? i + 1 : 0;
		snprintf(name, sizeof(name), "n%d", k);
		snprintf(value, sizeof(value), "%d", values[k]);
		labels_set(&b, str_of(name), str_of(values[k] ? value : ""));
		if (i == CHANGES / 3 || i == CHANGES / 2) {
			for (k = 0; k < NAMES; k++) {
				snprintf(name, sizeof(name), "n%d", k);
				if (k >= 40)
					values[k] = 0;
				if (k >= 40)
					labels_set(&b, str_of(name),
						   str_of(""));
			}
			cr_assert(!labels_build(&b, &ls, NULL));
			labels_unref(ls);
		}
		snprintf(name, sizeof(name), "n%d", (int)(random % NAMES));
		snprintf(value, sizeof(value), "%d", values[random % NAMES]);
		cr_assert(str_is(labels_builder_get(&b, str_of(name)),
				 values[random % NAMES] ? value : ""),
			  "%d", i);
	}
	labels_builder_fini(&b);
}
