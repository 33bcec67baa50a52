/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates power cuts and failing calls, for tests.
 *
 * A powercut is a struct fs that passes calls on to the real file system. It
 * also keeps a model of what the disk would have if the power failed now: the
 * contents of files as of their last sync, the names in directories as of the
 * last sync of each directory, and the changes since then. From a chosen call
 * on, every call fails, as if the power were cut. powercut_restore() then
 * writes into a new directory one of the states in which a machine could find
 * its disk afterwards:
 *
 *  - Of the unsynced pages (4 KiB) of a file, any subset has survived. The
 *    size of the file is that of its last sync, the latest one, or any size in
 *    between.
 *  - Of the unsynced creations, links, renames and removals in a directory,
 *    the first ones have survived, from none to all of them.
 *
 * A powercut can also make a single call fail, without losing anything.
 *
 * Threads: any.
 */
#ifndef TESTS_SUPPORT_POWERCUT_H
#define TESTS_SUPPORT_POWERCUT_H

#include "base/err.h"
#include "base/file.h"

struct powercut;

/*
 * Creates a powercut for the directory `root`, whose present contents count as
 * durable. `seed` determines all random choices. The caller frees the result
 * with powercut_free().
 */
struct powercut *powercut_new(const char *root, uint64_t seed);
void powercut_free(struct powercut *p);

/* Returns the struct fs that the tested code is to use. */
struct fs *powercut_fs(struct powercut *p);

/*
 * Cuts the power at the n-th call from now (1: the next call): that call and
 * all later ones fail. 0: the power is not cut.
 */
void powercut_at(struct powercut *p, uint64_t n);

/*
 * Makes the n-th call from now fail once, with the errno value `number`. Reads
 * are not counted, unless powercut_count_reads() has been called. 0: no call
 * fails.
 */
void powercut_fail_at(struct powercut *p, uint64_t n, int number);

/*
 * Makes powercut_fail_at() count reads, too, including those of mapped files.
 */
void powercut_count_reads(struct powercut *p);

/* Returns whether the call that powercut_fail_at() chose is still to come. */
bool powercut_is_armed(struct powercut *p);

/* Returns whether the power has been cut. */
bool powercut_is_dead(struct powercut *p);

/*
 * Writes a state that may have survived the power cut into the directory `to`,
 * which must not exist. The state is chosen at random.
 */
NODISCARD int powercut_restore(struct powercut *p, const char *to,
			       struct err *err);

#endif
