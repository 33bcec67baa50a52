/* SPDX-License-Identifier: Apache-2.0 */
/* Changes: new values of labels, and restarts. */
#include "query/history/changes.h"

#include "tests/query/store.h"

TestSuite(changes, .timeout = 60);

#define MEMORY ((int64_t)64 << 20)

/* Write texts with commas between them. */
static void tell_texts(struct buf *out, const char *before, const struct str *v,
		       size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "%s%.*s", i ? "," : before, STR_ARG(v[i]));
}

/* Write a change: "10 version of a,b: v1 > v2 in 2". Times are minutes. */
static void tell_change(struct buf *out, const struct change *c)
{
	static const char *const kinds[] = { [CHANGE_LABEL] = "label",
					     [CHANGE_BUILD_ID] = "build",
					     [CHANGE_RESTART] = "restart" };

	buf_printf(out, "%s%lld %s", out->len ? "; " : "",
		   (long long)(c->ms - store_at(0)) / 60000, kinds[c->kind]);
	tell_texts(out, " ", &c->name, c->name.len ? 1 : 0);
	tell_texts(out, " of ", c->jobs.v, c->jobs.count);
	tell_texts(out, " exe ", c->programs.v, c->programs.count);
	tell_texts(out, " on ", c->instances.v, c->instances.count);
	tell_texts(out, ": ", c->from.v, c->from.count);
	tell_texts(out, " > ", c->to.v, c->to.count);
	buf_printf(out, " in %zu", c->series);
}

/*
 * Find the changes of a query (NULL: of all series) from minute 0 to 60, in steps of a minute, and
 * compare them with a text, or with JSON.
 */
static bool changes_by(struct store *s, const char *query, const char *labels,
		       const char *want)
{
	struct budget memory = { .name = "query.memory", .max = MEMORY };
	struct query_work work = { .memory = &memory,
				   .deadline_ns = INT64_MAX };
	struct query_spec spec = { .from = store_at(0), .to = store_at(60) };
	struct changes_options o = { .spec = &spec,
				     .step_ms = 60000,
				     .labels = str_of(labels),
				     .decode_memory = (size_t)MEMORY };
	struct changes c;
	struct buf out = { 0 };
	struct json j = json_init(&out);
	struct err err = { .msg = "" };
	bool same;

	if (query)
		cr_assert(!selector_parse(str_of(query), &spec.selector, &err));
	cr_assert(!changes_find(&c, s->db, &work, &o, &err), "%s", err.msg);
	if (*want == '[')
		changes_json(&c, &j);
	for (size_t i = 0; i < c.found.count && *want != '['; i++)
		tell_change(&out, &c.found.v[i]);
	same = check_str(str_from(buf_bytes(&out)), want);
	buf_fini(&out);
	changes_fini(&c);
	query_release(&work);
	query_spec_fini(&spec);
	cr_expect(!atomic_load(&memory.used));
	return same;
}

static bool changes_are(struct store *s, const char *labels, const char *want)
{
	return changes_by(s, NULL, labels, want);
}

static bool changes_of_query(struct store *s, const char *query,
			     const char *want)
{
	return changes_by(s, query, "none", want);
}

static void put(struct store *s, const char *labels, int minute)
{
	store_put(s, labels, "cpu",
		  &(struct made)LASTING(store_at(minute), "f=1"));
}

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
	cr_expect(changes_are(s, "version",
			      "10 label version of a: v1 > v2 in 2"));
	/* It replaces what was there last, however long ago that was. */
	put(s, "cpu job=a pod=5 version=v3", 40);
	cr_expect(changes_are(s, " version ,none",
			      "10 label version of a: v1 > v2 in 2; "
			      "40 label version of a: v2 > v3 in 1"));
	cr_expect(changes_are(s, "none", ""));
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
			      "5 label version of a,b: v1 > v2,v3 in 2"));
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
		"\"jobs\":[\"a\"],\"programs\":[],\"instances\":[],\"from\":[],\"to\":[],\"series\":1}]"));
	store_close(s);
}

static void put_heap(struct store *s, const char *labels, int minute, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "f=%d", value);
	store_put(s, labels, "alloc_space",
		  &(struct made)ROW(store_at(minute), text));
}

/* Profiles of the CPU have no counters, but heap profiles of the same target. */
Test(changes, heap_profiles_show_the_restarts_of_targets_with_other_profiles)
{
	struct store *s = store_open();

	for (int m = 0; m < 6; m++) {
		put(s, "cpu job=a instance=1", m);
		put(s, "cpu job=a instance=2", m);
		put_heap(s, "heap job=a instance=1", m, m < 3 ? 10 + m : m);
		put_heap(s, "heap job=a instance=2", m, 10 + m);
		/* A target of which no CPU profile is selected. */
		put_heap(s, "heap job=b instance=3", m, m < 2 ? 10 + m : m);
		/* Other counters of a target that are selected themselves. */
		put_heap(s, "mutex job=c instance=4", m, m < 4 ? 9 + m : m);
		put_heap(s, "heap job=c instance=4", m, m < 4 ? 10 + m : m);
	}
	cr_expect(changes_of_query(s, "cpu", "3 restart of a on 1 in 1"));
	cr_expect(changes_of_query(s, "{__name__=\"cpu\",instance=\"2\"}", ""));
	cr_expect(changes_of_query(s, "mutex", "4 restart of c on 4 in 1"));
	cr_expect(changes_of_query(s, "{__name__=~\"cpu|heap\"}",
				   "2 restart of b on 3 in 1; "
				   "3 restart of a on 1 in 1; "
				   "4 restart of c on 4 in 1"));
	cr_expect(
		changes_of_query(s, "{job=\"c\"}", "4 restart of c on 4 in 2"));
	store_close(s);
}

Test(changes, instances_are_listed_unless_there_are_too_many)
{
	struct store *s = store_open();

	for (int i = 0; i <= CHANGE_INSTANCES_MAX; i++) {
		char labels[64];

		snprintf(labels, sizeof(labels), "heap job=%s instance=%02d",
			 i ? "a" : "b", i);
		for (int m = 0; m < 3; m++)
			put_heap(s, labels, m, m < 2 ? 9 + m : m);
	}
	cr_expect(changes_are(s, "none", "2 restart of b,a in 21"));
	cr_expect(changes_of_query(
		s, "{job=\"a\"}",
		"2 restart of a on "
		"01,02,03,04,05,06,07,08,09,10,11,12,13,14,15,16,17,18,19,20"
		" in 20"));
	store_close(s);
}

static void put_build(struct store *s, const char *labels, int minute,
		      const char *build)
{
	store_put(s, labels, "cpu",
		  &(struct made)BUILT(store_at(minute), "f=1", build));
}

Test(changes, a_new_build_is_a_change_of_jobs_without_a_version)
{
	struct store *s = store_open();

	for (int m = 0; m < 50; m++) {
		put_build(s, "cpu job=a pod=1", m, m < 17 ? "b1" : "b2");
		put_build(s, "cpu job=a pod=2", m, m < 19 ? "b1" : "b2");
		/* Its version says it already. */
		put_build(s, "cpu job=b version=v1", m, m < 9 ? "b1" : "b2");
		/* Two changes between two of the profiles that are compared. */
		put_build(s, "cpu job=c", m, m < 14 ? "x" : m < 18 ? "y" : "z");
		put(s, "cpu job=d", m);
	}
	/* Profiles in the WAL are decoded, those in head blocks are columns. */
	for (int i = 0; i < 2; i++) {
		cr_expect(changes_are(s, "version",
				      "14 build of c: x > y in 1; "
				      "17 build of a: b1 > b2 in 2; "
				      "18 build of c: y > z in 1"));
		cr_expect(!tsdb_flush(s->db, NULL));
	}
	store_close(s);
}

Test(changes, a_build_that_comes_back_is_no_change)
{
	struct store *s = store_open();

	for (int m = 0; m < 50; m++)
		put_build(s, "cpu job=a", m, m / 10 % 2 ? "new" : "old");
	cr_expect(changes_are(s, "version", "10 build of a: old > new in 1"));
	store_close(s);
}

/* A program that begins to run later than others was not replaced. */
Test(changes, programs_of_a_machine_are_no_builds_of_each_other)
{
	struct store *s = store_open();

	for (int m = 0; m < 50; m++) {
		put_build(s, "cpu job=ebpf exe=sh node=a", m, "b1");
		if (m >= 20 && m < 30)
			put_build(s, "cpu job=ebpf exe=make node=a", m, "b2");
		/* Two containers have programs of one name. */
		put_build(s, "cpu job=ebpf exe=app container=x pod=1", m, "b3");
		if (m >= 10)
			put_build(s, "cpu job=ebpf exe=app container=y pod=2",
				  m, "b4");
		/* A new pod of a workload with another program. */
		put_build(s,
			  m < 33 ? "cpu job=ebpf exe=db container=z pod=3" :
				   "cpu job=ebpf exe=db container=z pod=4",
			  m, m < 33 ? "b5" : "b6");
	}
	cr_expect(changes_are(s, "version",
			      "33 build of ebpf exe db: b5 > b6 in 1"));
	store_close(s);
}

/* They are other programs, each with builds of its own. */
Test(changes, all_series_of_a_machine_are_searched)
{
	struct store *s = store_open();

	for (int i = 0; i < 120; i++) {
		char labels[48];

		snprintf(labels, sizeof(labels), "cpu job=ebpf exe=e%d", i);
		for (int m = 0; m < 8; m++)
			put_build(s, labels, m,
				  i == 77 && m >= 3 ? "new" : "old");
	}
	cr_expect(changes_are(s, "version",
			      "3 build of ebpf exe e77: old > new in 1"));
	store_close(s);
}

Test(changes, few_profiles_of_many_series_are_read)
{
	struct store *s = store_open();
	struct budget memory = { .name = "query.memory", .max = MEMORY };
	struct query_work work = { .memory = &memory,
				   .deadline_ns = INT64_MAX };
	struct query_spec spec = { .from = store_at(0), .to = store_at(60) };
	struct changes_options o = { .spec = &spec,
				     .step_ms = 60000,
				     .labels = str_of("version"),
				     .decode_memory = (size_t)MEMORY };
	struct changes c;

	for (int i = 0; i < 400; i++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "cpu job=a pod=%d", i);
		for (int m = 0; m < 8; m++)
			put_build(s, labels, m, m % 2 ? "odd" : "even");
	}
	cr_assert(!changes_find(&c, s->db, &work, &o, NULL));
	cr_assert(c.builds.candidates == 400);
	cr_expect(c.builds.series > 10);
	cr_expect(c.builds.series < 400);
	cr_expect(c.builds.reads <= BUILD_READS_MAX);
	changes_fini(&c);
	query_release(&work);
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
