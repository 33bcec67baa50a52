/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File state: what changes when the contents of a file change, so that what was
 * read of it need not be read again. Nobody can set the time of the last change of
 * an inode, which each write and each change of another time sets.
 *
 * Threads: any.
 * Source: inode(7).
 */
#ifndef BASE_FILE_STATE_H
#define BASE_FILE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* { 0 } is the state of no file: it is not known. */
struct file_state {
	uint64_t device;
	uint64_t inode;
	int64_t size;
	struct timespec changed;
};

/* Return the state of a file. */
struct file_state file_state_of(const struct stat *st);

/* Whether two states are equal. Two that are not known are. */
bool file_state_same(const struct file_state *a, const struct file_state *b);

#endif
