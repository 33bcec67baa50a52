/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler in this kernel: it samples children of this process, whose stacks
 * are known, at 999 Hz. Needs root, or CAP_BPF and CAP_PERFMON; without them,
 * or on a kernel that is not sampled, it says so and tests nothing.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "bpf/kernel/sampler.h"
#include "tests/bpf/own_stack.h"
#include "tests/bpf/process_tables.h"
#include "tests/check.h"

TestSuite(sampler, .timeout = 300);

enum {
	SAMPLES_WANTED = 300,
	SLEEP_NS = 2000000,
};

/* The program that a child runs while it is sampled. */
enum activity {
	COMPUTES,
	CALLS_THE_KERNEL,
	READS_THE_CLOCK, /* in the vDSO */
	HANDLES_A_SIGNAL,
	RUNS_A_THREAD,
	SLEEPS,
};

/* The stack that a child has while it is sampled, in shared memory. */
struct expected_stack {
	volatile int ready;
	volatile uint32_t tid;
	enum activity activity;
	struct own_stack stack;
};

static struct expected_stack *expected;

/* The samples of a child. */
struct received {
	uint32_t pid;
	size_t count;
	size_t good;
	size_t in_kernel;
	size_t ends[SAMPLE_ENDS];
};

/* Do something for ever, without calls of its own but those that are named. */
__attribute__((noinline)) static void activity_run(void)
{
	const struct timespec pause = { .tv_nsec = SLEEP_NS };
	volatile uint64_t n = 0;
	struct timespec now;

	own_stack_take(&expected->stack);
	expected->tid = (uint32_t)syscall(SYS_gettid);
	expected->ready = 1;
	for (;;) {
		if (expected->activity == CALLS_THE_KERNEL)
			syscall(SYS_getppid);
		else if (expected->activity == READS_THE_CLOCK)
			clock_gettime(CLOCK_MONOTONIC, &now);
		else if (expected->activity == SLEEPS)
			syscall(SYS_nanosleep, &pause, NULL);
		else
			n++;
	}
}

static void on_signal(int number UNUSED)
{
	activity_run();
}

static int levels;

/* qsort() and this function call each other. */
static int compare_deep(const void *a, const void *b)
{
	int pair[2] = { 1, 2 };

	if (levels-- > 0)
		qsort(pair, 2, sizeof(*pair), compare_deep);
	else if (expected->activity == HANDLES_A_SIGNAL)
		raise(SIGUSR1);
	else
		activity_run();
	return *(const int *)a - *(const int *)b;
}

static void *stack_deepen(void *unused UNUSED)
{
	int pair[2] = { 1, 2 };

	levels = 8;
	qsort(pair, 2, sizeof(*pair), compare_deep);
	return NULL;
}

/* Start a child, and wait until it does what it shall. */
static pid_t child_start(enum activity activity)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;
	pid_t pid;

	expected = mmap(NULL, sizeof(*expected), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert(expected != MAP_FAILED);
	expected->activity = activity;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigaction(SIGUSR1, &action, NULL);
		if (activity == RUNS_A_THREAD &&
		    !pthread_create(&thread, NULL, stack_deepen, NULL))
			pthread_join(thread, NULL);
		else
			stack_deepen(NULL);
		_exit(1);
	}
	while (!expected->ready)
		usleep(1000);
	return pid;
}

static void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(expected, sizeof(*expected));
}

/* Visitor of samples: compare a stack of the child with that which it has. */
static void sample_check(void *ctx, const struct sample_record *r)
{
	struct received *got = ctx;
	const __u64 *user = &r->words[r->header.kernel];
	/* The callers of activity_run(), which itself is somewhere. */
	size_t outer = (size_t)expected->stack.count - 1;
	bool good = r->header.user > outer && r->header.end == SAMPLE_COMPLETE;

	if (r->header.pid != got->pid)
		return;
	cr_expect(r->header.tid == expected->tid);
	cr_expect(r->header.end < SAMPLE_ENDS);
	got->count++;
	got->ends[r->header.end % SAMPLE_ENDS]++;
	got->in_kernel += r->header.kernel != 0;
	for (size_t i = 0; i < outer && good; i++)
		good = (user[r->header.user - 1 - i] & ~SAMPLE_EXACT) ==
		       expected->stack
			       .frames[expected->stack.count - 1 - (int)i];
	got->good += good;
}

/* Open a sampler; skip the test if this machine does not permit it. */
static struct sampler *sampler_or_skip(void)
{
	struct sampler_options o = sampler_defaults;
	struct sampler *s = NULL;
	struct err err;
	int rc;

	o.hz = 999;
	o.ring = 16 << 20;
	rc = sampler_open(&o, &s, &err);
	if (rc == ERR_DENIED || rc == ERR_UNSUPPORTED)
		check_skip("%s", err.msg);
	cr_assert(!rc, "%s", err.msg);
	return s;
}

/* Publish the tables of a child. */
static void sampler_publish(struct sampler *s, pid_t pid)
{
	struct process_tables t = tables_of(pid);
	struct sampler_process p = { .count = (uint32_t)t.mappings.count };
	struct err err;

	cr_assert(t.entries.count <= sampler_defaults.entries);
	memcpy(sampler_entries(s), t.entries.v,
	       t.entries.count * sizeof(*t.entries.v));
	memcpy(sampler_mappings(s), t.mappings.v,
	       t.mappings.count * sizeof(*t.mappings.v));
	cr_assert(!sampler_process_set(s, (uint32_t)pid, &p, &err), "%s",
		  err.msg);
	tables_fini(&t);
}

/* Sample a child, and return what came. */
static struct received activity_sample(struct sampler *s,
				       enum activity activity)
{
	pid_t pid = child_start(activity);
	struct received got = { .pid = (uint32_t)pid };
	struct err err;

	sampler_publish(s, pid);
	cr_assert(!sampler_start(s, &err), "%s", err.msg);
	while (got.count < SAMPLES_WANTED) {
		usleep(10000);
		cr_assert(!sampler_drain(s, sample_check, &got, &err), "%s",
			  err.msg);
	}
	child_end(pid);
	sampler_process_remove(s, (uint32_t)pid);
	return got;
}

/* Nearly all samples of a child have the whole stack. */
static struct received activity_check(const char *name, enum activity activity)
{
	struct sampler *s = sampler_or_skip();
	struct received got = { 0 };

	got = activity_sample(s, activity);
	printf("%s: %zu samples, %zu good, %zu in the kernel; ends:", name,
	       got.count, got.good, got.in_kernel);
	for (size_t i = 0; i < SAMPLE_ENDS; i++)
		printf(" %zu", got.ends[i]);
	printf("\n");
	cr_expect(got.good * 100 >= got.count * 99, "%zu of %zu", got.good,
		  got.count);
	sampler_close(s);
	return got;
}

Test(sampler, functions_without_frame_pointers)
{
	activity_check("computes", COMPUTES);
}

Test(sampler, locked_memory_is_limited_by_the_system_alone)
{
	struct rlimit low;
	struct rlimit now;

	cr_assert(!getrlimit(RLIMIT_MEMLOCK, &low));
	low.rlim_cur = 4 << 10;
	cr_assert(!setrlimit(RLIMIT_MEMLOCK, &low));
	sampler_close(sampler_or_skip());
	cr_assert(!getrlimit(RLIMIT_MEMLOCK, &now));
	cr_expect(now.rlim_cur >= low.rlim_max);
}

Test(sampler, threads_in_the_kernel)
{
	struct received got = activity_check("system calls", CALLS_THE_KERNEL);

	cr_expect(!got.count || got.in_kernel);
}

Test(sampler, library_of_the_kernel)
{
	activity_check("vDSO", READS_THE_CLOCK);
}

Test(sampler, signal_handlers)
{
	activity_check("signal handler", HANDLES_A_SIGNAL);
}

Test(sampler, threads)
{
	activity_check("thread", RUNS_A_THREAD);
}

/* Visitor of samples: count them. */
static void sample_count(void *ctx, const struct sample_record *r UNUSED)
{
	++*(uint64_t *)ctx;
}

/* Samples that were not read in time are counted, and no others are missing. */
Test(sampler, taken_samples_are_received_or_counted)
{
	struct sampler_options o = sampler_defaults;
	struct sampler *s = sampler_or_skip();
	uint64_t counts[SAMPLER_COUNTERS];
	uint64_t received = 0;
	struct err err;
	pid_t pid;

	cr_expect(sampler_verified(s) < 50000, "%u instructions",
		  sampler_verified(s));
	sampler_close(s);
	o.hz = 999;
	o.ring = 64 << 10;
	cr_assert(!sampler_open(&o, &s, &err), "%s", err.msg);
	pid = child_start(COMPUTES);
	cr_assert(!sampler_start(s, &err), "%s", err.msg);
	do {
		usleep(10000);
		cr_assert(!sampler_counts(s, counts, &err), "%s", err.msg);
	} while (counts[SAMPLER_RING_FULL] < 100);
	child_end(pid);
	/* Nothing is taken any more once the clocks are gone. */
	sampler_stop(s);
	cr_assert(!sampler_counts(s, counts, &err), "%s", err.msg);
	cr_assert(!sampler_drain(s, sample_count, &received, &err), "%s",
		  err.msg);
	cr_expect(received + counts[SAMPLER_RING_FULL] == counts[SAMPLER_TAKEN],
		  "%zu received, %zu lost, %zu taken", (size_t)received,
		  (size_t)counts[SAMPLER_RING_FULL],
		  (size_t)counts[SAMPLER_TAKEN]);
	sampler_close(s);
}

/* The waits of a child, and all records of the kernel. */
struct waits {
	struct received child;
	uint64_t began; /* of the wait that has not ended; 0: none */
	size_t ended;
	size_t short_ones; /* that lasted less than the pause */
	uint64_t records;
};

/* Visitor of samples: pair the beginnings and the ends of waits. */
static void wait_check(void *ctx, const struct sample_record *r)
{
	struct waits *w = ctx;
	const struct sample_header *h = &r->header;

	w->records++;
	if (h->pid != w->child.pid)
		return;
	if (h->kind == SAMPLE_WAITS) {
		sample_check(&w->child, r);
		cr_assert(h->kernel);
		cr_expect(!h->since);
		w->began = h->time;
		return;
	}
	cr_assert(h->kind == SAMPLE_RESUMES);
	cr_expect(h->tid == expected->tid);
	cr_assert(!h->kernel);
	cr_expect(!h->user);
	if (!w->began)
		return;
	cr_assert(h->since == w->began);
	cr_expect(h->time >= h->since);
	w->ended++;
	w->short_ones += h->time - h->since < SLEEP_NS;
	w->began = 0;
}

/* Each wait has its stack, its beginning and its end. */
Test(sampler, waits_of_threads)
{
	struct sampler_options o = sampler_defaults;
	struct sampler *s = sampler_or_skip();
	uint64_t counts[SAMPLER_COUNTERS];
	struct waits w = { .records = 0 };
	struct err err;
	pid_t pid;

	sampler_close(s);
	o.hz = 0;
	o.switches = 1;
	o.ring = 16 << 20;
	cr_assert(!sampler_open(&o, &s, &err), "%s", err.msg);
	cr_expect(sampler_verified(s) < 50000, "%u instructions",
		  sampler_verified(s));
	pid = child_start(SLEEPS);
	w.child.pid = (uint32_t)pid;
	sampler_publish(s, pid);
	cr_assert(!sampler_start(s, &err), "%s", err.msg);
	while (w.ended < SAMPLES_WANTED) {
		usleep(10000);
		cr_assert(!sampler_drain(s, wait_check, &w, &err), "%s",
			  err.msg);
	}
	child_end(pid);
	sampler_stop(s);
	cr_assert(!sampler_drain(s, sample_count, &w.records, &err), "%s",
		  err.msg);
	cr_assert(!sampler_counts(s, counts, &err), "%s", err.msg);
	printf("waits: %zu ended, %zu of them short; %zu of %zu stacks good\n",
	       w.ended, w.short_ones, w.child.good, w.child.count);
	cr_expect(w.child.good * 100 >= w.child.count * 99, "%zu of %zu",
		  w.child.good, w.child.count);
	/* A thread also waits when another one takes its CPU. */
	cr_expect(w.short_ones * 2 < w.ended, "%zu", w.short_ones);
	cr_expect(w.records + counts[SAMPLER_RING_FULL] ==
		  counts[SAMPLER_TAKEN]);
	sampler_close(s);
}
