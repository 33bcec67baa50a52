/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/process_user.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Read the beginning of /proc/PID/status into `text`. *whole says whether this
 * is the whole status. If not, `text` ends behind its last blank, tab or
 * newline, so that no number is cut. False: the process has ended.
 */
static bool process_status_read(uint32_t pid,
				char text[PROCESS_USER_STATUS_MAX], bool *whole)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, PROCESS_USER_STATUS_MAX - 1);
	if (fd >= 0)
		close(fd);
	*whole = n < PROCESS_USER_STATUS_MAX - 1;
	if (!*whole) {
		while (n && !strchr(" \t\n", text[n - 1]))
			n--;
	}
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

/*
 * Append the numbers that follow `key` in a line of the status to out->groups.
 */
static void process_user_numbers(const char *status, const char *key,
				 struct process_user *out)
{
	const char *at = strstr(status, key);

	if (!at)
		return;
	at += strlen(key);
	while (*at == '\t' || *at == ' ') {
		char *end;
		unsigned long n = strtoul(at, &end, 10);

		if (end == at)
			break;
		*vec_add(&out->groups) = (uint32_t)n;
		at = end;
	}
}

/*
 * Store in *out the file system ID, which is the last of the four numbers that
 * follow `key` in a line of the status. The numbers before it are the real,
 * effective and saved ID. False: there are not four numbers.
 */
static bool process_user_last(const char *status, const char *key,
			      uint32_t *out)
{
	struct process_user ids = { 0 };
	bool found;

	process_user_numbers(status, key, &ids);
	found = ids.groups.count == 4;
	if (found)
		*out = ids.groups.v[3];
	process_user_fini(&ids);
	return found;
}

/* Whether a process is in the user namespace of everprof. */
static bool process_user_is_here(uint32_t pid)
{
	struct stat own;
	struct stat its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/ns/user", pid);
	return !stat("/proc/self/ns/user", &own) && !stat(path, &its) &&
	       own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

/*
 * Whether a process of root may read all files: it needs a capability for this,
 * in the user namespace of everprof.
 */
static bool process_user_reads_all(const char *status, uint32_t pid)
{
	static const char key[] = "\nCapEff:\t";
	const uint64_t rights = UINT64_C(1) << CAP_DAC_OVERRIDE |
				UINT64_C(1) << CAP_DAC_READ_SEARCH;
	const char *at = strstr(status, key);

	return at && strtoull(at + strlen(key), NULL, 16) & rights &&
	       process_user_is_here(pid);
}

void process_user_init(struct process_user *u)
{
	*u = (struct process_user){ .uid = PROCESS_USER_NOBODY };
	*vec_add(&u->groups) = PROCESS_USER_NOBODY;
}

void process_user_read(struct process_user *u, uint32_t pid)
{
	char status[PROCESS_USER_STATUS_MAX];
	bool whole;

	process_user_init(u);
	if (!process_status_read(pid, status, &whole) ||
	    !process_user_last(status, "\nUid:", &u->uid) ||
	    !process_user_last(status, "\nGid:", &u->groups.v[0]))
		return;
	process_user_numbers(status, "\nGroups:", u);
	u->is_whole = whole;
	u->reads_all = !u->uid && process_user_reads_all(status, pid);
}

bool process_user_same(const struct process_user *a,
		       const struct process_user *b)
{
	if (a->uid != b->uid || a->reads_all != b->reads_all ||
	    a->is_whole != b->is_whole || a->groups.count != b->groups.count)
		return false;
	for (size_t i = 0; i < a->groups.count; i++) {
		if (a->groups.v[i] != b->groups.v[i])
			return false;
	}
	return true;
}

void process_user_fini(struct process_user *u)
{
	vec_fini(&u->groups);
}

/*
 * Whether the user has the right `bit` because all other users have it. If not
 * all groups of the user are known, one of them may be the group of the file,
 * so this group must have the right, too. PROCESS_USER_NOBODY may stand for the
 * owner of the file, so for this user the owner must have the right, too.
 */
static bool process_user_may_as_other(const struct process_user *u,
				      const struct stat *st, unsigned bit)
{
	unsigned rights = st->st_mode;

	if (!u->is_whole)
		rights &= st->st_mode >> 3;
	if (u->uid == PROCESS_USER_NOBODY)
		rights &= st->st_mode >> 6;
	return rights & bit;
}

/* Whether the user has the right `bit` (4: read, 1: search) to a file. */
static bool process_user_may(const struct process_user *u,
			     const struct stat *st, unsigned bit)
{
	if (u->reads_all)
		return true;
	if (st->st_uid == u->uid)
		return st->st_mode >> 6 & bit;
	for (size_t i = 0; i < u->groups.count; i++) {
		if (st->st_gid == u->groups.v[i])
			return st->st_mode >> 3 & bit;
	}
	return process_user_may_as_other(u, st, bit);
}

bool process_user_may_read(const struct process_user *u, const struct stat *st)
{
	return process_user_may(u, st, 4);
}

bool process_user_may_search(const struct process_user *u,
			     const struct stat *st)
{
	return process_user_may(u, st, 1);
}
