/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sigbus.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

/* The copy that a thread is making. */
struct copying {
	const char *from;
	const char *end;
	sigjmp_buf failed;
};

static _Thread_local struct copying *volatile current;
static struct sigaction previous;
static pthread_once_t installed = PTHREAD_ONCE_INIT;

/*
 * A fault of somebody else: put the earlier handler back and return, so that
 * the access is repeated and faults for that one.
 */
static void pass_on(void)
{
	sigaction(SIGBUS, &previous, NULL);
}

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

static void sigbus_install(void)
{
	/* SA_NODEFER: siglongjmp() does not give the signal mask back. */
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
	current = &c;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(to, from, n);
	atomic_signal_fence(memory_order_seq_cst);
	current = NULL;
	return true;
}
