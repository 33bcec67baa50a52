/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose stacks are known: it burns CPU at the end of a chain of calls.
 * test_ebpf.py builds it without frame pointers.
 *
 * usage: stacks WAY SECONDS, where WAY is recursion, system_calls, vdso, signal,
 * thread, fiber, plt, dlopen LIBRARY, resolver LIBRARY, sleep, sleeps, or forks
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static volatile uint64_t work;
static time_t end;
static int depth;
static const char *way;

static int time_is_left(void)
{
	return time(NULL) < end;
}

KEPT static void burn_cpu(void)
{
	while (time_is_left()) {
		for (int i = 0; i < 100000; i++)
			work += (uint64_t)i;
	}
	work++; /* so that no call is the last one */
}

KEPT static void burn_system_calls(void)
{
	while (time_is_left()) {
		for (int i = 0; i < 100; i++)
			syscall(SYS_getppid);
	}
	work++;
}

KEPT static void burn_clock(void)
{
	struct timespec t;

	while (time_is_left()) {
		for (int i = 0; i < 1000; i++)
			clock_gettime(CLOCK_MONOTONIC, &t);
	}
	work++;
}

KEPT static void burn_plt(void)
{
	char text[32] = "12";

	while (time_is_left()) {
		for (int i = 0; i < 1000; i++)
			work += (uint64_t)strtol(text, NULL, 10);
	}
	work++;
}

KEPT static void on_signal(int number)
{
	(void)number;
	burn_cpu();
	work++;
}

KEPT static void burn_signal(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	work++;
}

/* qsort() of libc and this function call each other. */
KEPT static int compare(const void *a, const void *b)
{
	int pair[2] = { 1, 2 };

	if (depth-- > 0)
		qsort(pair, 2, sizeof(*pair), compare);
	else
		burn_cpu();
	work++;
	return *(const int *)a - *(const int *)b;
}

KEPT static void burn_recursion(void)
{
	int pair[2] = { 1, 2 };

	depth = 5;
	qsort(pair, 2, sizeof(*pair), compare);
	work++;
}

KEPT static void *thread_main(void *unused)
{
	burn_cpu();
	work++;
	return unused;
}

KEPT static void burn_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL);
}

KEPT static void fiber_main(void)
{
	burn_cpu();
	work++;
}

/* A context with a stack of its own. */
KEPT static void burn_fiber(void)
{
	static char stack[64 << 10];
	static ucontext_t here;
	ucontext_t fiber;

	getcontext(&fiber);
	fiber.uc_stack.ss_sp = stack;
	fiber.uc_stack.ss_size = sizeof(stack);
	fiber.uc_link = &here;
	makecontext(&fiber, fiber_main, 0);
	swapcontext(&here, &fiber);
	work++;
}

/* Sleep most of the time. */
KEPT static void sleep_often(void)
{
	const struct timespec pause = { .tv_nsec = 5000000 };

	while (time_is_left())
		nanosleep(&pause, NULL);
	work++;
}

static _Atomic int64_t slept_ns;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

KEPT static void *sleep_once(void *unused)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int64_t began = now_ns();

	nanosleep(&pause, NULL);
	slept_ns += now_ns() - began;
	work++;
	return unused;
}

/*
 * Sleep for two seconds in a hundred threads, which end; then compute. Print how
 * long they slept in ns.
 */
KEPT static void burn_after_sleeps(void)
{
	pthread_t threads[100];

	for (int i = 0; i < 100; i++)
		pthread_create(&threads[i], NULL, sleep_once, NULL);
	for (int i = 0; i < 100; i++)
		pthread_join(threads[i], NULL);
	printf("slept %lld\n", (long long)slept_ns);
	fflush(stdout);
	burn_cpu();
	work++;
}

/* Many short children, each of which burns a little. */
KEPT static void burn_forks(void)
{
	while (time_is_left()) {
		pid_t pid = fork();

		if (!pid) {
			for (int i = 0; i < 2000000; i++)
				work += (uint64_t)i;
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	work++;
}

/*
 * The library calls back after it was loaded: from a function, or from the
 * resolver of an indirect function, which ld.so calls at the function's first
 * call.
 */
KEPT static void burn_library(const char *path, const char *function)
{
	void *library = dlopen(path, RTLD_LAZY);
	void (*call)(void (*)(void)) =
		library ? (void (*)(void (*)(void)))dlsym(library, function) :
			  NULL;

	if (!call)
		exit(3);
	call(burn_cpu);
	work++;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	way = argv[1];
	end = time(NULL) + atoi(argv[2]);
	if (!strcmp(way, "recursion"))
		burn_recursion();
	else if (!strcmp(way, "system_calls"))
		burn_system_calls();
	else if (!strcmp(way, "vdso"))
		burn_clock();
	else if (!strcmp(way, "plt"))
		burn_plt();
	else if (!strcmp(way, "signal"))
		burn_signal();
	else if (!strcmp(way, "thread"))
		burn_thread();
	else if (!strcmp(way, "fiber"))
		burn_fiber();
	else if (!strcmp(way, "sleep"))
		sleep_often();
	else if (!strcmp(way, "sleeps"))
		burn_after_sleeps();
	else if (!strcmp(way, "forks"))
		burn_forks();
	else if (!strcmp(way, "dlopen") && argc > 3)
		burn_library(argv[3], "library_call");
	else if (!strcmp(way, "resolver") && argc > 3)
		burn_library(argv[3], "library_resolve");
	else
		return 2;
	work++;
	return 0;
}
