/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process user: which files the user of a process could open. The collector may
 * read every file, but the paths come from processes. A process must neither
 * learn what its user cannot read, nor make the collector open such a file.
 *
 * Ownership: process_user_fini() frees the groups.
 * Threads: one thread at a time for each struct process_user.
 * Source: path_resolution(7), "Permissions"; proc(5), /proc/PID/status.
 */
#ifndef BPF_PROCESS_PROCESS_USER_H
#define BPF_PROCESS_PROCESS_USER_H

#include <sys/stat.h>

#include "base/vec.h"

enum {
	/*
	 * How many bytes of /proc/PID/status are read. There is room for
	 * several hundred groups. Groups that are cut off give no rights. But a
	 * group can also take rights away, because the group of a file may have
	 * fewer rights than other users. Therefore `is_whole` says whether all
	 * groups are known.
	 */
	PROCESS_USER_STATUS_MAX = 8 << 10,
};

/*
 * The user for files of processes that have ended. This user may do only what
 * all users may do, and no file belongs to this user ID. The ID of the user
 * "nobody", 65534, is not used, because files may belong to it.
 */
#define PROCESS_USER_NOBODY UINT32_MAX

/* The user and the groups by which the kernel checks files for a process. */
struct process_user {
	uint32_t uid;
	/*
	 * The user is root, with the right to read all files, capabilities(7).
	 */
	bool reads_all;
	bool is_whole; /* all groups of the user are in `groups` */
	VEC(uint32_t) groups;
};

/* Begin with PROCESS_USER_NOBODY, who has only the rights of all users. */
void process_user_init(struct process_user *u);

/*
 * Read the user of process `pid` from /proc. If the process has ended, `u`
 * becomes PROCESS_USER_NOBODY.
 */
void process_user_read(struct process_user *u, uint32_t pid);

/* Whether two users have the same rights. */
bool process_user_same(const struct process_user *a,
		       const struct process_user *b);

/* Free the groups. */
void process_user_fini(struct process_user *u);

/* Whether the user may read a file that has no access control list. */
bool process_user_may_read(const struct process_user *u, const struct stat *st);

/* Whether the user may search a directory that has no access control list. */
bool process_user_may_search(const struct process_user *u,
			     const struct stat *st);

#endif
