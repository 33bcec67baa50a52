/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells tests whether somebody holds a mutex.
 */
#ifndef TESTS_MUTEX_STATE_H
#define TESTS_MUTEX_STATE_H

#include "base/mutex.h"

/* Whether no thread holds the mutex, not even this one. */
static inline bool mutex_is_free(struct mutex *m)
{
	if (pthread_mutex_trylock(&m->pthread))
		return false;
	pthread_mutex_unlock(&m->pthread);
	return true;
}

#endif
