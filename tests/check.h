/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subset of Criterion that tests use, so that they also build with the
 * stand-in of tests/inproc (ThreadSanitizer).
 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <criterion/criterion.h>
#include <stdio.h>

#include "base/bytes.h"

static inline bool check_str(struct str got, const char *want)
{
	if (str_is(got, want))
		return true;
	fprintf(stderr, "got \"%.*s\", want \"%s\"\n", STR_ARG(got), want);
	return false;
}

/*
 * End a test that this machine does not permit, saying why. If no other test of
 * the program ran either, CTest reports that it was skipped (cmake/Module.cmake).
 */
#define check_skip(...)                        \
	do {                                   \
		fprintf(stderr, "SKIPPED: ");  \
		fprintf(stderr, __VA_ARGS__);  \
		fprintf(stderr, "\n");         \
		cr_skip("not permitted here"); \
	} while (0)

#endif
