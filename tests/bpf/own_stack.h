/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack of this thread, as libgcc unwinds it. backtrace() would have one
 * frame more in builds with a sanitizer, which replaces it.
 */
#ifndef TESTS_BPF_OWN_STACK_H
#define TESTS_BPF_OWN_STACK_H

#include <stdint.h>
#include <unwind.h>

enum {
	OWN_STACK_MAX = 127,
};

/* Return addresses, innermost first. */
struct own_stack {
	uintptr_t frames[OWN_STACK_MAX];
	int count;
};

static inline _Unwind_Reason_Code own_stack_add(struct _Unwind_Context *c,
						void *ctx)
{
	struct own_stack *s = ctx;
	uintptr_t ip = _Unwind_GetIP(c);

	if (!ip || s->count == OWN_STACK_MAX)
		return _URC_END_OF_STACK;
	s->frames[s->count++] = ip;
	return _URC_NO_REASON;
}

/* Fill in the stack, of which the function that calls this is the first. */
#define own_stack_take(s)                              \
	do {                                           \
		(s)->count = 0;                        \
		_Unwind_Backtrace(own_stack_add, (s)); \
	} while (0)

#endif
