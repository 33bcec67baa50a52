#include <criterion/criterion.h>

struct inproc_test *inproc_tests;
int inproc_failures;
jmp_buf inproc_next;

/* Runs a test. Returns whether it ran to its end. */
static bool inproc_run(const struct inproc_test *t)
{
	if (setjmp(inproc_next))
		return false;
	t->run();
	return true;
}

/*
 * Runs the tests whose name contains the argument. Without one, runs all tests.
 */
int main(int argc, char **argv)
{
	int tested = 0;

	for (struct inproc_test *t = inproc_tests; t; t = t->next) {
		if (argc < 2 || strstr(t->name, argv[1]))
			tested += inproc_run(t);
	}
	fprintf(stderr, "Tested: %d | Failing: %d\n", tested, inproc_failures);
	return inproc_failures != 0;
}
