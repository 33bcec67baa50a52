/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what threads share: pools with their groups and limits, budgets of
 * memory, and clocks that tests can stop.
 */
#include <errno.h>
#include <semaphore.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/pool.h"
#include "tests/check.h"

TestSuite(pool, .timeout = 30);

/* Tasks that wait at a gate until the test opens it. */
struct gate_keeper {
	sem_t open;    /* one post lets one task go */
	sem_t entered; /* one post for each task that has begun */
	_Atomic int ran;
	_Atomic unsigned highest; /* of the workers' numbers */
};

static void keeper_init(struct gate_keeper *k)
{
	*k = (struct gate_keeper){ 0 };
	sem_init(&k->open, 0, 0);
	sem_init(&k->entered, 0, 0);
}

static void keeper_fini(struct gate_keeper *k)
{
	sem_destroy(&k->open);
	sem_destroy(&k->entered);
}

static void sem_take(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
}

static void pass_gate(void *ctx, unsigned worker)
{
	struct gate_keeper *k = ctx;

	sem_post(&k->entered);
	sem_take(&k->open);
	k->ran++;
	(void)worker;
}

static void note_worker(void *ctx, unsigned worker)
{
	struct gate_keeper *k = ctx;
	unsigned highest = k->highest;

	while (worker > highest &&
	       !atomic_compare_exchange_weak(&k->highest, &highest, worker))
		;
	k->ran++;
}

Test(pool, tasks_that_are_queued_still_run_at_the_end)
{
	struct gate_keeper k;
	struct pool *p = pool_start("test", 3, 1000);
	struct err err;

	keeper_init(&k);
	for (int i = 0; i < 1000; i++)
		cr_expect(!pool_submit(p, NULL, note_worker, &k, &err));
	pool_stop(p);
	pool_stop(p);
	cr_expect(k.ran == 1000, "%d ran", k.ran);
	cr_expect(k.highest < 3);
	cr_expect(pool_submit(p, NULL, note_worker, &k, &err) == ERR_CLOSED);
	cr_expect(k.ran == 1000, "a refused task does not run");
	pool_free(p);
	pool_stop(NULL);
	pool_free(NULL);
	keeper_fini(&k);
}

Test(pool, a_full_queue_refuses_one_more)
{
	struct gate_keeper k;
	struct pool *p = pool_start("queue-name", 1, 2);
	struct err err;

	keeper_init(&k);
	cr_expect(!pool_submit(p, NULL, pass_gate, &k, &err));
	sem_take(&k.entered); /* the task runs, so it is not in the queue */
	cr_expect(!pool_submit(p, NULL, pass_gate, &k, &err));
	cr_expect(!pool_submit(p, NULL, pass_gate, &k, &err));
	cr_expect(pool_submit(p, NULL, pass_gate, &k, &err) == ERR_LIMIT);
	cr_assert(strstr(err.msg, "queue-name"));
	cr_expect(strstr(err.msg, "2"));
	sem_post(&k.open);
	sem_take(&k.entered); /* the second task runs, so there is room */
	cr_expect(!pool_submit(p, NULL, pass_gate, &k, &err));
	for (int i = 0; i < 3; i++)
		sem_post(&k.open);
	pool_free(p);
	cr_expect(k.ran == 4);
	keeper_fini(&k);
}

/* The order in which tasks of several groups ran, one letter each. */
struct order {
	char letters[32];
	size_t count;
};

struct lettered {
	struct order *order;
	char letter;
};

static void write_letter(void *ctx, unsigned worker)
{
	struct lettered *l = ctx;

	(void)worker; /* the pool has one worker, so nothing is locked */
	l->order->letters[l->order->count++] = l->letter;
}

Test(pool, groups_take_turns)
{
	struct pool *p = pool_start("test", 1, 100);
	struct pool_group *a = pool_group_new(p);
	struct pool_group *b = pool_group_new(p);
	struct gate_keeper k;
	struct order o = { 0 };
	struct lettered la = { &o, 'a' };
	struct lettered lb = { &o, 'b' };
	struct lettered lc = { &o, 'c' };

	keeper_init(&k);
	cr_assert(!pool_submit(p, NULL, pass_gate, &k, NULL));
	sem_take(&k.entered);
	for (int i = 0; i < 6; i++)
		cr_assert(!pool_submit(p, a, write_letter, &la, NULL));
	for (int i = 0; i < 2; i++)
		cr_assert(!pool_submit(p, b, write_letter, &lb, NULL));
	cr_assert(!pool_submit(p, NULL, write_letter, &lc, NULL));
	sem_post(&k.open);
	pool_stop(p);
	cr_expect(!strcmp(o.letters, "abcabaaaa"), "%s", o.letters);
	pool_group_free(a);
	pool_group_free(b);
	pool_free(p);
	keeper_fini(&k);
}

Test(pool, a_released_group_lives_until_its_last_task)
{
	struct pool *p = pool_start("test", 1, 100);
	struct pool_group *g = pool_group_new(p);
	struct gate_keeper k;

	keeper_init(&k);
	for (int i = 0; i < 5; i++)
		cr_assert(!pool_submit(p, g, pass_gate, &k, NULL));
	sem_take(&k.entered);
	pool_group_free(g);
	pool_group_free(NULL);
	for (int i = 0; i < 5; i++)
		sem_post(&k.open);
	pool_free(p);
	cr_expect(k.ran == 5);
	keeper_fini(&k);
}

/* How many tasks of a group run at once when all threads are free. */
static int widest(unsigned threads, bool grouped, int want)
{
	struct pool *p = pool_start("test", threads, 100);
	struct pool_group *g = grouped ? pool_group_new(p) : NULL;
	struct gate_keeper k;
	struct gate_keeper other;
	int entered = 0;

	keeper_init(&k);
	keeper_init(&other);
	for (int i = 0; i < 20; i++)
		cr_assert(!pool_submit(p, g, pass_gate, &k, NULL));
	for (int i = 0; i < want; i++)
		sem_take(&k.entered);
	/*
	 * If workers are left, one of them takes this task. When it has run,
	 * the worker has looked at the queue and has left the other tasks
	 * there.
	 */
	if ((unsigned)want < threads) {
		cr_assert(!pool_submit(p, NULL, pass_gate, &other, NULL));
		sem_take(&other.entered);
		sem_post(&other.open);
	}
	sem_getvalue(&k.entered, &entered);
	for (int i = 0; i < 20; i++)
		sem_post(&k.open);
	pool_group_free(g);
	pool_free(p);
	cr_expect(k.ran == 20);
	keeper_fini(&k);
	keeper_fini(&other);
	return want + entered;
}

Test(pool, no_group_takes_more_than_three_quarters)
{
	cr_expect(widest(1, true, 1) == 1);
	cr_expect(widest(3, true, 3) == 3, "few threads are not divided");
	cr_expect(widest(4, true, 3) == 3);
	cr_expect(widest(7, true, 6) == 6);
	cr_expect(widest(8, true, 6) == 6);
	cr_expect(widest(8, false, 8) == 8, "tasks without a group");
}

Test(pool, a_budget_is_used_up_exactly)
{
	struct budget b = { .name = "query.memory", .max = 100 };
	struct err err;

	cr_assert(!budget_take(&b, 100, &err));
	cr_expect(b.used == 100);
	cr_expect(!budget_take(&b, 0, &err));
	cr_assert(budget_take(&b, 1, &err) == ERR_LIMIT);
	cr_expect(b.used == 100);
	cr_expect(strstr(err.msg, "--query.memory") != NULL);
	cr_expect(strstr(err.msg, "100 of 100") != NULL);
	budget_give(&b, 1);
	cr_assert(!budget_take(&b, 1, NULL));
	cr_expect(b.used == 100);
	cr_expect(budget_take(&b, 1, NULL) == ERR_LIMIT);
	budget_give(&b, 100);
	cr_expect(b.used == 0);
	cr_assert(budget_take(&b, 101, &err) == ERR_LIMIT);
	cr_expect(b.used == 0);
	cr_assert(budget_take(&b, INT64_MAX, &err) == ERR_LIMIT);
	cr_expect(!b.used);
}

Test(pool, a_number_beyond_the_budget_does_not_overflow_it)
{
	struct budget b = { .name = "x", .max = 100 };

	cr_assert(!budget_take(&b, 1, NULL));
	cr_expect(budget_take(&b, INT64_MAX, NULL) == ERR_LIMIT);
	cr_expect(!budget_take(&b, 99, NULL), "nothing of it was kept");
}

Test(pool, every_parent_of_a_budget_has_its_say)
{
	struct budget top = { .name = "top", .max = 10 };
	struct budget middle = { .name = "middle", .max = 20, .parent = &top };
	struct budget low = { .name = "low", .max = 30, .parent = &middle };
	struct err err;

	cr_expect(budget_take(&low, 11, &err) == ERR_LIMIT);
	cr_assert(!low.used);
	cr_assert(!middle.used);
	cr_expect(!top.used);
	cr_assert(strstr(err.msg, "--top"));
	cr_expect(!strstr(err.msg, "share"));
	cr_expect(budget_take(&low, 25, &err) == ERR_LIMIT);
	cr_assert(!low.used);
	cr_assert(!middle.used);
	cr_expect(!top.used);
	cr_expect(strstr(err.msg, "share of --middle") != NULL);
	cr_expect(!budget_take(&low, 10, &err));
	cr_assert(low.used == 10);
	cr_assert(middle.used == 10);
	cr_expect(top.used == 10);
	budget_give(&low, 4);
	cr_assert(low.used == 6);
	cr_assert(middle.used == 6);
	cr_expect(top.used == 6);
}

/* Takes 1 of a budget and gives it back, many times. */
static void take_and_give(void *ctx, unsigned worker)
{
	struct budget *b = ctx;

	(void)worker;
	for (int i = 0; i < 20000; i++) {
		if (budget_take(b, 1, NULL))
			continue;
		cr_expect(b->used >= 0);
		budget_give(b, 1);
	}
}

Test(pool, threads_leave_a_budget_as_it_was)
{
	struct budget all = { .name = "all", .max = 3 };
	struct budget share = { .name = "all", .max = 2, .parent = &all };
	struct pool *p = pool_start("test", 4, 10);

	for (int i = 0; i < 4; i++)
		cr_assert(!pool_submit(p, NULL, take_and_give, &share, NULL));
	pool_free(p);
	cr_assert(!all.used);
	cr_expect(!share.used);
}

Test(pool, a_clock_stands_still_where_it_is_set)
{
	struct clock c = { 0 };
	int64_t before = clock_ms(NULL);
	int64_t real = clock_ms(&c);

	cr_assert(real >= before);
	cr_expect(real - before < 60000);
	clock_set(&c, 1234567);
	cr_assert(clock_ms(&c) == 1234567);
	cr_expect(clock_ms(&c) == 1234567);
	clock_set(&c, -5);
	cr_expect(clock_ms(&c) == -5);
	cr_expect(clock_ms(NULL) >= before, "others are not stopped");
	clock_set(&c, 0);
	cr_expect(clock_ms(&c) >= before);
}

Test(pool, intervals_and_cpu_time_only_grow)
{
	int64_t mono = clock_mono_ns();
	int64_t cpu = clock_cpu_ns();

	for (int i = 0; i < 1000; i++) {
		int64_t now = clock_mono_ns();

		cr_expect(now >= mono);
		mono = now;
	}
	/*
	 * Each call takes CPU time. So the loop ends, unless the clock stands
	 * still.
	 */
	while (clock_cpu_ns() <= cpu)
		;
}

Test(pool, deadlines_are_of_the_monotonic_clock)
{
	struct timespec at = clock_mono_at(12 * 1000000000LL + 345);
	pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond;

	cr_assert(at.tv_sec == 12);
	cr_expect(at.tv_nsec == 345);
	at = clock_mono_at(999999999);
	cr_assert(at.tv_sec == 0);
	cr_expect(at.tv_nsec == 999999999);
	clock_cond_init(&cond);
	pthread_mutex_lock(&mu);
	at = clock_mono_at(clock_mono_ns());
	cr_expect(pthread_cond_timedwait(&cond, &mu, &at) == ETIMEDOUT);
	pthread_mutex_unlock(&mu);
	pthread_cond_destroy(&cond);
}
