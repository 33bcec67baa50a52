#include <criterion/criterion.h>

struct inproc_test *inproc_tests;
int inproc_failures;

int main(void)
{
	for (struct inproc_test *t = inproc_tests; t; t = t->next)
		t->run();
	fprintf(stderr, "%d failures\n", inproc_failures);
	return inproc_failures != 0;
}
