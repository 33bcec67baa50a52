/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tagroot: turns label values into outermost frames, so that a report separates
 * samples by these values, as pprof's tagroot does (internal/driver's
 * tagroot.go).
 *
 * Threads: one thread at a time per profile.
 */
#ifndef PPROF_FILTER_TAGROOT_H
#define PPROF_FILTER_TAGROOT_H

#include "base/limits.h"
#include "pprof/profile/profile.h"

/* Maximum number of label keys in the option tagroot. */
#define TAGROOT_KEYS_MAX 16

/*
 * Check a list of label keys separated by commas. ERR_INVALID: there are more
 * than TAGROOT_KEYS_MAX keys; `what` is the name of the option for the message.
 */
NODISCARD int pprof_tagroot_check(struct str keys, const char *what,
				  struct err *err);

/*
 * Add a frame for each key to the outer end of every stack. `keys` are label
 * keys, separated by commas; the first key becomes the outermost frame. A
 * sample that lacks a label gets a frame without a name instead. `unit` is the
 * unit in which numeric labels are shown. Sets `*found` to whether any sample
 * has one of the labels. ERR_LIMIT: the profile gets too many frames, or the
 * limits refused more memory; ERR_TIMEOUT: the deadline has passed.
 */
NODISCARD int pprof_tagroot(struct pprof *p, struct str keys, struct str unit,
			    const struct limits *limits, bool *found,
			    struct err *err);

#endif
