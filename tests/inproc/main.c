#include <criterion/criterion.h>

struct inproc_test *inproc_tests;
int inproc_failures;

/*
 * Runs the tests whose name contains the argument. Without one, runs all tests.
 */
int main(int argc, char **argv)
{
	for (struct inproc_test *t = inproc_tests; t; t = t->next) {
		if (argc < 2 || strstr(t->name, argv[1]))
			t->run();
	}
	fprintf(stderr, "%d failures\n", inproc_failures);
	return inproc_failures != 0;
}
