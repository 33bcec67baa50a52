/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory for one test, removed at its end.
 */
#ifndef TESTS_TEMPDIR_H
#define TESTS_TEMPDIR_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tempdir {
	char path[128];
};

static inline int tempdir_unlink(const char *path, const struct stat *st,
				 int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline struct tempdir tempdir_make(void)
{
	const char *base = getenv("TMPDIR");
	struct tempdir d;

	/*
	 * The directory is in memory if possible, because thousands of syncs on
	 * a disk would be slow.
	 */
	if (!base)
		base = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(d.path, sizeof(d.path), "%s/everprof-test-XXXXXX", base);
	if (!mkdtemp(d.path))
		abort();
	return d;
}

static inline void tempdir_clear(const char *path)
{
	nftw(path, tempdir_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void tempdir_fini(struct tempdir *d)
{
	tempdir_clear(d->path);
}

#endif
