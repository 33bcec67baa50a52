/* SPDX-License-Identifier: Apache-2.0 */
/* Changes: new values of labels, and restarts. */
#include "query/changes.h"

#include "tests/query/store.h"

TestSuite(changes, .timeout = 60);

#define MEMORY ((int64_t)64 << 20)

/* Find the changes of all series from minute 0 to 60, in steps of a minute. */
static bool changes_are(struct store *s, const char *labels, const char *want)
{
	struct budget memory = { .name = "query.memory", .max = MEMORY };
	struct query_work work = { .memory = &memory,
				   .deadline_ns = INT64_MAX };
	struct query_spec spec = { .from = store_at(0), .to = store_at(60) };
	struct changes_options o = { .spec = &spec,
				     .step_ms = 60000,
				     .labels = str_of(labels) };
	struct changes c;
	struct buf out = { 0 };
	struct json j = json_init(&out);
	struct err err = { .msg = "" };
	bool same;

	cr_assert(!changes_find(&c, s->db, &work, &o, &err), "%s", err.msg);
	changes_json(&c, &j);
	same = check_str(str_from(buf_bytes(&out)), want);
	buf_fini(&out);
	changes_fini(&c);
	query_release(&work);
	cr_expect(!atomic_load(&memory.used));
	return same;
}

static void put(struct store *s, const char *labels, int minute)
{
	store_put(s, labels, "cpu",
		  &(struct made)LASTING(store_at(minute), "f=1"));
}

#define LABEL(time, from, to, series)                              \
	"{\"time\":" time                                          \
	",\"kind\":\"label\",\"name\":\"version\",\"from\":[" from \
	"],\"to\":[" to "],\"series\":" series "}"

Test(changes, a_new_value_of_a_label_is_a_change)
{
	struct store *s = store_open();

	/* Two pods are replaced at minute 10, with new names. */
	for (int m = 0; m < 10; m++) {
		put(s, "cpu job=a pod=1 version=v1", m);
		put(s, "cpu job=a pod=2 version=v1", m);
	}
	for (int m = 10; m < 20; m++) {
		put(s, "cpu job=a pod=3 version=v2", m);
		put(s, "cpu job=a pod=4 version=v2", m);
	}
	/* Another job begins with its version: this is no change. */
	put(s, "cpu job=b pod=1 version=v9", 15);
	cr_expect(changes_are(
		s, "version",
		"[" LABEL("1700000600000", "\"v1\"", "\"v2\"", "2") "]"));
	/* It replaces what was there last, however long ago that was. */
	put(s, "cpu job=a pod=5 version=v3", 40);
	cr_expect(changes_are(
		s, " version ,none",
		"[" LABEL("1700000600000", "\"v1\"", "\"v2\"", "2") "," LABEL(
			"1700002400000", "\"v2\"", "\"v3\"", "1") "]"));
	cr_expect(changes_are(s, "none", "[]"));
	store_close(s);
}

Test(changes, changes_of_one_step_are_one_entry)
{
	struct store *s = store_open();

	for (int m = 0; m < 5; m++) {
		put(s, "cpu job=a version=v1", m);
		put(s, "cpu job=b version=v1", m);
	}
	put(s, "cpu job=a version=v2", 5);
	put(s, "cpu job=b version=v3", 5);
	cr_expect(changes_are(s, "version",
			      "[" LABEL("1700000300000", "\"v1\"",
					"\"v2\",\"v3\"", "2") "]"));
	store_close(s);
}

Test(changes, a_counter_that_falls_is_a_restart)
{
	struct store *s = store_open();
	const int values[] = { 10, 20, 30, 5, 8 };

	for (int m = 0; m < 5; m++) {
		char text[16];

		snprintf(text, sizeof(text), "f=%d", values[m]);
		store_put(s, "heap job=a", "alloc_space",
			  &(struct made)ROW(store_at(m), text));
		/* A state that falls says nothing. */
		store_put(s, "heap job=b", "inuse_space",
			  &(struct made)ROW(store_at(m), text));
	}
	cr_expect(changes_are(
		s, "version",
		"[{\"time\":1700000180000,\"kind\":\"restart\",\"name\":\"\","
		"\"from\":[],\"to\":[],\"series\":1}]"));
	store_close(s);
}

Test(changes, little_memory_and_a_wrong_step_are_refused)
{
	struct store *s = store_open();
	struct budget memory = { .name = "query.memory", .max = 10 };
	struct query_work work = { .memory = &memory,
				   .deadline_ns = INT64_MAX };
	struct query_spec spec = { .from = store_at(0), .to = store_at(60) };
	struct changes_options o = { .spec = &spec,
				     .labels = str_of("version") };
	struct changes c;

	put(s, "cpu job=a version=v1", 1);
	cr_expect(changes_find(&c, s->db, &work, &o, NULL) == ERR_INVALID);
	changes_fini(&c);
	o.step_ms = 1000;
	cr_expect(changes_find(&c, s->db, &work, &o, NULL) == ERR_LIMIT);
	changes_fini(&c);
	query_release(&work);
	store_close(s);
}
