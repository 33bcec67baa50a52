/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes that Clang's thread-safety analysis understands (-Wthread-safety,
 * which every build by Clang enables). The analysis reports a function that
 * returns without releasing a mutex, takes a mutex twice, releases a mutex that
 * is not held, or calls a function declared with REQUIRES() without holding the
 * mutex. docs/locking.md has the order in which mutexes are taken.
 *
 * Ownership: the struct that contains a mutex initialises and destroys it.
 * Threads: any; mutexes are not recursive.
 */
#ifndef BASE_MUTEX_H
#define BASE_MUTEX_H

#include <pthread.h>

#include "base/defs.h"

/* A mutex. */
struct CAPABILITY("mutex") mutex {
	pthread_mutex_t pthread;
};

/* Initialise a mutex; it is destroyed with mutex_destroy(). */
static inline void mutex_init(struct mutex *m)
{
	pthread_mutex_init(&m->pthread, NULL);
}

/* Destroy a mutex that no thread holds. */
static inline void mutex_destroy(struct mutex *m)
{
	pthread_mutex_destroy(&m->pthread);
}

/* Take a mutex; the caller must not hold it. */
static inline void mutex_lock(struct mutex *m) ACQUIRES(*m);
static inline void mutex_lock(struct mutex *m) NO_THREAD_ANALYSIS
{
	pthread_mutex_lock(&m->pthread);
}

/* Take a mutex, unless a thread holds it. Returns whether it was taken. */
static inline bool mutex_try_lock(struct mutex *m) TRIES(true, *m);
static inline bool mutex_try_lock(struct mutex *m) NO_THREAD_ANALYSIS
{
	return !pthread_mutex_trylock(&m->pthread);
}

/* Release a mutex that the caller holds. */
static inline void mutex_unlock(struct mutex *m) RELEASES(*m);
static inline void mutex_unlock(struct mutex *m) NO_THREAD_ANALYSIS
{
	pthread_mutex_unlock(&m->pthread);
}

/*
 * Release the mutex, wait until the condition variable is signalled (spurious
 * wakeups are possible, as with pthread_cond_wait()), and take the mutex again.
 */
static inline void mutex_wait(struct mutex *m, pthread_cond_t *cond)
	REQUIRES(*m);
static inline void mutex_wait(struct mutex *m, pthread_cond_t *cond)
{
	pthread_cond_wait(cond, &m->pthread);
}

/*
 * Wait as mutex_wait() does, but at most until `at`, a time of the condition
 * variable's clock. Returns ETIMEDOUT when that time has come, else 0.
 */
static inline int mutex_wait_until(struct mutex *m, pthread_cond_t *cond,
				   const struct timespec *at) REQUIRES(*m);
static inline int mutex_wait_until(struct mutex *m, pthread_cond_t *cond,
				   const struct timespec *at)
{
	return pthread_cond_timedwait(cond, &m->pthread, at);
}

#endif
