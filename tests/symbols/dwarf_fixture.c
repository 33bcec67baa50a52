/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with debug information, which tests look up: an inlined function in
 * a function that calls another one. Tests know the lines of this file.
 */
int fixture_leaf(int n);
int fixture_outer(int n);

static inline __attribute__((always_inline)) int fixture_inlined(int n)
{
	return fixture_leaf(n) * 7; /* line 11 */
}

int fixture_outer(int n)
{
	return fixture_inlined(n) + 1; /* line 16 */
}

__attribute__((noinline)) int fixture_leaf(int n)
{
	return n ^ 5; /* line 21 */
}
