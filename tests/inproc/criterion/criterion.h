/*
 * A stand-in for Criterion that runs every test in one process, for builds that
 * Criterion cannot enter (ThreadSanitizer, valgrind --tool=helgrind). It has
 * the subset of Criterion that our tests use. In those builds its folder is
 * first on the include path.
 */
#ifndef INPROC_CRITERION_H
#define INPROC_CRITERION_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct inproc_test {
	const char *name;
	void (*run)(void);
	struct inproc_test *next;
};

extern struct inproc_test *inproc_tests;
extern int inproc_failures;
extern jmp_buf inproc_next; /* jumping there skips the rest of a test */

#define TestSuite(suite, ...) struct inproc_suite_##suite

#define Test(suite, test, ...)                                              \
	static void suite##_##test(void);                                   \
	__attribute__((constructor)) static void suite##_##test##_add(void) \
	{                                                                   \
		static struct inproc_test t = { #suite "." #test,           \
						suite##_##test, NULL };     \
		t.next = inproc_tests;                                      \
		inproc_tests = &t;                                          \
	}                                                                   \
	static void suite##_##test(void)

/* A message is optional, as in Criterion. Without one, the format is "". */
#define INPROC_FAILED(cond, ...)                                    \
	(inproc_failures++,                                         \
	 fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #cond), \
	 fprintf(stderr, "" __VA_ARGS__), fprintf(stderr, "\n"))

#define cr_expect(cond, ...)                                            \
	do {                                                            \
		if (!(cond))                                            \
			INPROC_FAILED(cond __VA_OPT__(, ) __VA_ARGS__); \
	} while (0)
#define cr_assert(cond, ...)                                            \
	do {                                                            \
		if (!(cond)) {                                          \
			INPROC_FAILED(cond __VA_OPT__(, ) __VA_ARGS__); \
			exit(1);                                        \
		}                                                       \
	} while (0)

#define cr_skip(...)                             \
	do {                                     \
		fprintf(stderr, "" __VA_ARGS__); \
		fprintf(stderr, "\n");           \
		longjmp(inproc_next, 1);         \
	} while (0)

#endif
