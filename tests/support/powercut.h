/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts and faults, for tests.
 *
 * A powercut is a struct fs that lets calls through and keeps, beside the real
 * directory, a model of what a disk would hold if the power went now: file
 * contents as of their last sync, names as of their directory's last sync,
 * and what has changed since. From a chosen call on every call fails; then
 * powercut_restore() writes into a new directory one of the states that a
 * machine could wake up with:
 *
 *  - of each file's unsynced 4 KiB pages any subset is there, the size is the
 *    synced one, the last one, or one between;
 *  - of each directory's unsynced creations, links, renames and removals any
 *    prefix is there.
 *
 * It can also make single calls fail, with nothing lost.
 *
 * Threads: any.
 */
#ifndef TESTS_SUPPORT_POWERCUT_H
#define TESTS_SUPPORT_POWERCUT_H

#include "base/err.h"
#include "base/file.h"

struct powercut;

/* Watch the directory root; what it holds already counts as durable. */
struct powercut *powercut_new(const char *root, uint64_t seed);
void powercut_free(struct powercut *p);

/* Returns the struct fs that the tested code is to use. */
struct fs *powercut_fs(struct powercut *p);

/* Cut the power at the n-th call from now (1: the next). 0: never. */
void powercut_at(struct powercut *p, uint64_t n);

/* Let the n-th call from now that is not a read fail, once, with errno. */
void powercut_fail_at(struct powercut *p, uint64_t n, int number);

/*
 * Let reads, also of pages of mapped files, be among the calls that may fail.
 */
void powercut_count_reads(struct powercut *p);

/* Whether the call chosen to fail has not been made yet. */
bool powercut_is_armed(struct powercut *p);

/* Whether the power is gone. */
bool powercut_is_dead(struct powercut *p);

/* Write a surviving state into the directory `to`, which must not exist. */
NODISCARD int powercut_restore(struct powercut *p, const char *to,
			       struct err *err);

#endif
