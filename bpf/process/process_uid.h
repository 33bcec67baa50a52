/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process uid: the user of a process. The files of the process are opened as
 * this user, and count towards the share of this user (struct file_user). The
 * user is the owner of the directory /proc/PID, whether or not the process is
 * dumpable. /proc/PID/status has the user, too, but reading it takes 10 ms if
 * the user is in 65 536 groups. The user is read once for each program that a
 * process runs, and again before a file is to be opened as the user, because a
 * process may change its user.
 *
 * Threads: one thread at a time for each struct process_uid.
 */
#ifndef BPF_PROCESS_PROCESS_UID_H
#define BPF_PROCESS_PROCESS_UID_H

#include <stdbool.h>
#include <stdint.h>

/* The user of a process that has ended before its user was asked for. */
#define PROCESS_UID_GONE UINT32_MAX

struct process_uid {
	/*
	 * If `is_known` is false: a guess, which is the user of the parent or
	 * of the previous program, or PROCESS_UID_GONE. If the process ends
	 * before its user is read, the guess stays, and counts as known.
	 */
	uint32_t uid;
	bool is_known;
};

/* The user of a process of which nothing is known. */
static inline struct process_uid process_uid_init(void)
{
	return (struct process_uid){ .uid = PROCESS_UID_GONE };
}

/*
 * Return a guess for a process that was forked, or that runs another program
 * now: `before` is the user of its parent, or of its previous program.
 */
static inline struct process_uid process_uid_guess(struct process_uid before)
{
	return (struct process_uid){ .uid = before.uid };
}

/*
 * Return the user of process `pid`, which the first call reads from /proc. If
 * the process has ended by then, the guess is returned.
 */
uint32_t process_uid_find(struct process_uid *u, uint32_t pid);

/*
 * As process_uid_find(), but read the user from /proc even if it is known
 * already. If the process has ended, the user that was known or guessed before
 * is returned.
 */
uint32_t process_uid_ask(struct process_uid *u, uint32_t pid);

#endif
