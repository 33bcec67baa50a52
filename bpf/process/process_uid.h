/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process uid: the user of a process, by whom its files are opened and whose
 * share they count to. It is the owner of /proc/PID, whether or not the process
 * is dumpable; the file status, which has it, too, takes 10 ms if the user is in
 * 65 536 groups. It is asked for once for each program that a process runs, and
 * again where a file is to be opened by it: a process may change its user.
 *
 * Threads: one thread at a time for each.
 */
#ifndef BPF_PROCESS_PROCESS_UID_H
#define BPF_PROCESS_PROCESS_UID_H

#include <stdbool.h>
#include <stdint.h>

/* The user of a process that has ended before its user was asked for. */
#define PROCESS_UID_GONE UINT32_MAX

struct process_uid {
	uint32_t uid; /* else that of its parent, or before its program */
	bool is_known;
};

/* The user of a process of which nothing is known. */
static inline struct process_uid process_uid_init(void)
{
	return (struct process_uid){ .uid = PROCESS_UID_GONE };
}

/* The user of a process that was forked, or that runs another program now. */
static inline struct process_uid process_uid_guess(struct process_uid before)
{
	return (struct process_uid){ .uid = before.uid };
}

/* Return the user of a process, or the guess, if it has ended. */
uint32_t process_uid_find(struct process_uid *u, uint32_t pid);

/* The same, but it is asked for again. */
uint32_t process_uid_ask(struct process_uid *u, uint32_t pid);

#endif
