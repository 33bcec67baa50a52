/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that misbehaves on demand: calls of one kind that fail or are slow,
 * and a stretch of a file that cannot be read.
 */
#ifndef TESTS_TSDB_HOOK_H
#define TESTS_TSDB_HOOK_H

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/*
 * Calls of the kind `op`, on paths that hold `part`, fail with the errno
 * `number`, `times` times.
 */
struct hook {
	struct fs fs; /* first, because its calls cast it back */
	enum fs_op op;
	const char *part;
	int number;
	int times; /* -1: always */
	unsigned slow_us;
	_Atomic long hits;
	/* The disk cannot read the bytes from `from` to `to`, mapped or not. */
	const char *sector; /* part of the paths of these files; NULL: none */
	uint64_t from;
	uint64_t to;
	_Atomic long misses;
};

static inline int hook_before(struct fs *fs, const struct fs_call *call)
{
	struct hook *h = (struct hook *)fs;

	if (h->sector && (call->op == FS_READ || call->op == FS_PAGE) &&
	    strstr(call->path, h->sector) && call->offset < h->to &&
	    call->offset + call->len > h->from) {
		h->misses++;
		return EIO;
	}
	if (!h->times || call->op != h->op || !strstr(call->path, h->part))
		return 0;
	h->hits++;
	if (h->slow_us)
		usleep(h->slow_us);
	if (h->times > 0)
		h->times--;
	return h->number;
}

static inline void hook_after(struct fs *fs, const struct fs_call *call)
{
	(void)fs;
	(void)call;
}

/* Makes a disk that does what it should until hook_arm(). */
static inline struct hook hook_make(void)
{
	return (struct hook){ .fs = { .before = hook_before,
				      .after = hook_after } };
}

/*
 * Lets calls of the kind `op`, on paths that hold `part`, fail with the errno
 * `number`, `times` times (-1: always).
 */
static inline void hook_arm(struct hook *h, enum fs_op op, const char *part,
			    int number, int times)
{
	h->op = op;
	h->part = part;
	h->number = number;
	h->hits = 0;
	h->times = times;
}

#endif
