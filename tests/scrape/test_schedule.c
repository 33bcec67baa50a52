/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule: when scrapes begin, by a clock that a test sets. */
#include "scrape/run/type_update.h"
#include "tests/scrape/fetches.h"

TestSuite(schedule, .timeout = 60);

/* This time is not a multiple of any interval in these tests. */
#define START 1700000000123LL

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Waits until a target is due at its first due time after `ms`. */
static bool is_due_after(struct stage *t, struct target *one, int64_t ms)
{
	return is_due_at(t, one, target_next_due(one->hash, 15000, ms));
}

#define SIXTEEN                                                            \
	"['a:1', 'b:1', 'c:1', 'd:1', 'e:1', 'f:1', 'g:1', 'h:1', 'i:1', " \
	"'j:1', 'k:1', 'l:1', 'm:1', 'n:1', 'o:1', 'p:1']"

/*
 * The interval of sixteen targets is 30 ms, so that many are due at nearly the
 * same time.
 */
Test(schedule, each_target_begins_when_it_is_due_and_not_before)
{
	int64_t due[16];
	struct stage t;
	size_t count = 0;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "  scrape_interval: 30ms\n", SIXTEEN));
	for (int i = 0; i < 16; i++) {
		char name[] = { (char)('a' + i), ':', '1', 0 };
		struct target *one = find_instance(&t, name, NULL);

		cr_assert(one);
		due[i] = target_next_due(one->hash, 30, START);
		cr_expect(is_due_at(&t, one, due[i]), "%s", name);
	}
	cr_expect(count_begun() == 0);
	qsort(due, 16, sizeof(*due), by_number);
	for (int i = 0; i < 16;) {
		int64_t now = due[i];

		while (i < 16 && due[i] == now)
			i++;
		stage_set_time(&t, now);
		cr_expect(has_begun((size_t)i), "%zu, not %d", count_begun(),
			  i);
		for (; count < (size_t)i; count++) {
			cr_expect(begun_at(count).due_ms == now);
			cr_expect(begun_at(count).now_ms == now);
			cr_expect(!begun_at(count).ask);
		}
	}
	stage_end(&t);
}

Test(schedule, a_target_that_is_still_scraped_is_left_out)
{
	struct stage t;
	struct target *one;
	int64_t due;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "", "['a:1']"));
	one = find_instance(&t, "a:1", NULL);
	due = target_next_due(one->hash, 15000, START);
	cr_expect(is_due_at(&t, one, due));
	stage_set_time(&t, due);
	cr_assert(has_begun(1));
	cr_expect(is_due_at(&t, one, due + 15000));
	stage_set_time(&t, due + 15000);
	cr_expect(is_due_at(&t, one, due + 30000));
	cr_expect(count_begun() == 1, "it is running");
	cr_expect(metric_get(t.s->metrics.skipped) == 1);
	end_scrape(t.s, one);
	stage_set_time(&t, due + 30000);
	cr_assert(has_begun(2));
	cr_expect(begun_at(1).due_ms == due + 30000);
	cr_expect(metric_get(t.s->metrics.skipped) == 1);
	stage_end(&t);
}

Test(schedule, what_was_missed_is_not_made_up_for)
{
	struct stage t;
	struct target *one;
	int64_t due;
	int64_t late;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "", "['a:1']"));
	one = find_instance(&t, "a:1", NULL);
	due = target_next_due(one->hash, 15000, START);
	cr_expect(is_due_at(&t, one, due));
	/* The machine slept for ten intervals and a bit. */
	late = due + 10 * 15000 + 77;
	stage_set_time(&t, late);
	cr_expect(is_due_at(&t, one, due + 11 * 15000));
	cr_assert(has_begun(1));
	cr_expect(begun_at(0).due_ms == due);
	cr_expect(begun_at(0).now_ms == late);
	stage_end(&t);
}

Test(schedule, a_clock_that_was_set_back_does_not_stop_it)
{
	struct stage t;
	struct target *a;
	struct target *b;
	int64_t now = START - 3600000;
	int64_t due;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "", "['a:1', 'b:1']"));
	a = find_instance(&t, "a:1", NULL);
	b = find_instance(&t, "b:1", NULL);
	cr_expect(is_due_after(&t, a, START));
	stage_set_time(&t, now);
	due = target_next_due(a->hash, 15000, now);
	cr_expect(is_due_at(&t, a, due));
	cr_expect(is_due_after(&t, b, now));
	cr_expect(count_begun() == 0);
	stage_set_time(&t, now + 15000);
	cr_expect(has_begun(2));
	stage_end(&t);
}

Test(schedule, what_stays_in_the_configuration_keeps_its_time)
{
	struct stage t;
	struct target *a;
	struct target *b;
	struct target *c;
	bool kept = false;
	int64_t due;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "", "['a:1', 'b:1']"));
	a = find_instance(&t, "a:1", NULL);
	b = find_instance(&t, "b:1", NULL);
	due = target_next_due(a->hash, 15000, START);
	cr_assert(is_due_at(&t, a, due));
	cr_expect(is_due_after(&t, b, START));
	/* By now, target a is due. The new target c is due later. */
	clock_set(&t.clock, due + 1);
	stage_apply(&t, HEAP_JOB("app", "", "['a:1', 'c:1']"));
	cr_expect(find_instance(&t, "a:1", NULL) == a);
	c = find_instance(&t, "c:1", NULL);
	cr_expect(is_due_after(&t, c, due + 1));
	/* A scrape of b may have begun before b was removed. */
	cr_expect(is_due_at(&t, a, due + 15000));
	end_scrape(t.s, a);
	for (size_t i = 0; i < count_begun(); i++) {
		cr_expect(begun_at(i).target != c);
		kept |= begun_at(i).target == a && begun_at(i).due_ms == due;
	}
	cr_expect(kept, "it began by the time that it had");
	stage_set_time(&t, due + 15001);
	cr_expect(is_due_at(&t, a, due + 30000));
	cr_expect(!find_instance(&t, "b:1", NULL));
	stage_end(&t);
}

Test(schedule, a_target_that_a_limit_refuses_is_never_due)
{
	struct stage t;
	struct target *a;
	struct target *c;

	stage_begin(&t, START);
	stage_apply(&t,
		    HEAP_JOB("over", "  target_limit: 1\n", "['a:1', 'b:1']")
			    HEAP_JOB("other", "", "['c:1']"));
	a = find_instance(&t, "a:1", NULL);
	c = find_instance(&t, "c:1", NULL);
	cr_expect(is_due_after(&t, c, START));
	stage_set_time(&t, START + 15000);
	cr_assert(is_due_after(&t, c, START + 15000));
	cr_expect(has_begun(1));
	cr_expect(begun_at(0).target == c);
	cr_assert(next_of(&t, a) == 0);
	cr_expect(a->refused);
	/* Without the limit, a and b are scraped. */
	stage_apply(&t, HEAP_JOB("over", "", "['a:1', 'b:1']"));
	a = find_instance(&t, "a:1", NULL);
	cr_assert(is_due_after(&t, a, START + 15000));
	cr_expect(!a->refused);
	stage_set_time(&t, START + 30000);
	cr_assert(is_due_after(&t, a, START + 30000));
	cr_expect(has_begun(3));
	stage_end(&t);
}

/*
 * A job may have no other targets before its profile list is read. So the list
 * is read soon, although the interval is an hour.
 */
Test(schedule, a_new_index_page_is_read_within_five_seconds)
{
	struct stage t;
	struct target *index;
	int64_t first;
	int64_t due;

	stage_begin(&t, START);
	stage_apply(&t, "- job_name: app\n"
			"  scrape_interval: 1h\n"
			"  profiling_config: {pprof_config: auto}\n"
			"  static_configs: [{targets: ['a:1']}]\n");
	index = find_instance(&t, "a:1", "index");
	cr_assert(index);
	cr_assert(index->spec.is_index);
	first = target_next_due(index->hash, 5000, START);
	due = target_next_due(index->hash, 3600000, START);
	first = first < due ? first : due;
	cr_expect(is_due_at(&t, index, first));
	stage_set_time(&t, first);
	cr_expect(has_begun(1));
	/* After the first read, the interval of the profile list counts. */
	cr_expect(is_due_at(&t, index,
			    target_next_due(index->hash, 3600000, first)));
	stage_end(&t);
}

Test(schedule, types_that_a_page_names_become_targets)
{
	static const char page[] = "<a href='heap?debug=1'> "
				   "<a href='own?debug=1'>";
	struct profile_list *types;
	struct target *heap = NULL;
	struct stage t;

	stage_begin(&t, START);
	stage_apply(&t, "- job_name: app\n"
			"  profiling_config: {pprof_config: auto}\n"
			"  static_configs: [{targets: ['a:1']}]\n");
	cr_assert(!profile_list_parse(bytes_of(str_of(page)), &types, NULL));
	type_update_add(t.s, find_instance(&t, "a:1", "index"), types);
	for (int i = 0; i < 20000 && !heap; i++) {
		heap = find_instance(&t, "a:1", "heap");
		usleep(1000);
	}
	cr_assert(heap);
	cr_expect(find_instance(&t, "a:1", "own") != NULL);
	cr_expect(
		is_due_at(&t, heap, target_next_due(heap->hash, 15000, START)));
	stage_end(&t);
}

Test(schedule, a_request_begins_at_once_or_when_its_target_is_free)
{
	struct stage t;
	struct target *one;
	struct scrape_request *a;
	struct scrape_request *b;
	const struct scrape_now_options none = { 0 };
	int64_t ms = 0;

	stage_begin(&t, START);
	stage_apply(&t, HEAP_JOB("app", "", "['a:1']"));
	one = find_instance(&t, "a:1", NULL);
	a = scrape_request_new(one, -1);
	b = scrape_request_new(one, -1);
	mutex_lock(&t.s->mu);
	t.s->asked = scrape_request_ref(a);
	a->next = scrape_request_ref(b);
	t.s->asking = 2;
	mutex_unlock(&t.s->mu);
	http_wake(t.s->client);
	cr_assert(has_begun(1));
	cr_expect(begun_at(0).ask == a);
	cr_expect(begun_at(0).due_ms == START);
	on_demand_end(t.s, a, 0, NULL, START);
	end_scrape(t.s, one);
	cr_assert(has_begun(2));
	cr_expect(begun_at(1).ask == b);
	on_demand_end(t.s, b, 0, NULL, START + 1);
	cr_expect(t.s->asking == 0);
	cr_assert(!scrape_request_wait(b, &none, &ms, NULL));
	cr_expect(ms == START + 1);
	scrape_request_unref(a);
	scrape_request_unref(b);
	stage_end(&t);
}
