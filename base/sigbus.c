/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sigbus.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/*
 * A copy that a thread is making: the range that it reads, and where to
 * continue after a fault.
 */
struct copying {
	const char *from;
	const char *end;
	sigjmp_buf failed;
};

/*
 * The copy that this thread is making, or NULL. Volatile, because the signal
 * handler reads the variable.
 */
static _Thread_local struct copying *volatile current;

/* The handler of SIGBUS that was installed before ours. */
static struct sigaction previous;
static pthread_once_t installed = PTHREAD_ONCE_INIT;

/*
 * Handle a fault outside of sigbus_copy(): restore the previous handler and
 * return, so that the faulting access is repeated and reaches that handler.
 */
static void pass_on(void)
{
	sigaction(SIGBUS, &previous, NULL);
}

/*
 * SIGBUS is sent to the thread that faulted. If the address lies in the range
 * that this thread is copying, jump back to sigsetjmp() in sigbus_copy(), which
 * then returns false; any other fault is a bug elsewhere and must not be
 * hidden.
 */
static void on_sigbus(int number, siginfo_t *info, void *context)
{
	struct copying *c = current;
	const char *at = info->si_addr;

	(void)number;
	(void)context;
	if (c && at >= c->from && at < c->end)
		siglongjmp(c->failed, 1);
	pass_on();
}

/* Install the handler, once for the process, at the first copy. */
static void sigbus_install(void)
{
	/*
	 * sigbus_copy() calls sigsetjmp() without saving the signal mask, which
	 * saves a system call. siglongjmp() therefore does not restore the
	 * mask, and SIGBUS would stay blocked after the jump if it were blocked
	 * in the handler. SA_NODEFER keeps it unblocked there.
	 */
	struct sigaction action = { .sa_sigaction = on_sigbus,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, &previous);
}

bool sigbus_copy(void *to, const void *from, size_t n)
{
	struct copying c = { .from = from, .end = (const char *)from + n };

	pthread_once(&installed, sigbus_install);
	if (sigsetjmp(c.failed, 0)) {
		current = NULL;
		return false;
	}
	/*
	 * The fences keep the compiler from moving memcpy() out of the section
	 * in which `current` is set.
	 */
	current = &c;
	atomic_signal_fence(memory_order_seq_cst);
	if (n) /* `to` may be NULL if n is 0 */
		memcpy(to, from, n);
	atomic_signal_fence(memory_order_seq_cst);
	current = NULL;
	return true;
}
