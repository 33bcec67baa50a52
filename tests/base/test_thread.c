/* SPDX-License-Identifier: Apache-2.0 */
/* Threads have the names that they were started with, and get their argument. */
#include <criterion/criterion.h>

#include <string.h>

#include "base/thread.h"

TestSuite(thread, .timeout = 60);

/* Copy the name of this thread to `arg`, and return it. */
static void *thread_tell(void *arg)
{
	cr_expect(!pthread_getname_np(pthread_self(), arg, 16));
	return arg;
}

Test(thread, a_thread_has_its_name_and_its_argument)
{
	char names[2][16] = { "", "" };
	pthread_t one = thread_start("one", thread_tell, names[0]);
	pthread_t two = thread_start("fifteen-letters", thread_tell, names[1]);
	void *back;

	cr_assert(!pthread_join(one, &back));
	cr_assert(back == names[0]);
	cr_expect(!strcmp(names[0], "one"));
	cr_assert(!pthread_join(two, NULL));
	cr_expect(!strcmp(names[1], "fifteen-letters"));
}
