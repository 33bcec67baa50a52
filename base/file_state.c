/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_state.h"

struct file_state file_state_of(const struct stat *st)
{
	return (struct file_state){ .device = st->st_dev,
				    .inode = st->st_ino,
				    .size = st->st_size,
				    .changed = st->st_ctim };
}

bool file_state_same(const struct file_state *a, const struct file_state *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->size == b->size && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}
