/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a thread that has a name.
 *
 * Ownership: the argument is the thread's as its function says.
 * Threads: any.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/*
 * Start a thread that runs run(arg). `name` is what ps and debuggers show, at
 * most 15 bytes of static text. If the system has no resources for a thread,
 * this ends everprof with a message, as when memory is exhausted: nothing works
 * without its threads.
 */
pthread_t thread_start(const char *name, void *(*run)(void *), void *arg);

#endif
