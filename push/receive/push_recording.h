/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push recording: stores a recording of Java Flight Recorder that a client has pushed.
 *
 * Ownership: everything is borrowed for the call.
 * Threads: any.
 */
#ifndef PUSH_RECEIVE_PUSH_RECORDING_H
#define PUSH_RECEIVE_PUSH_RECORDING_H

#include "convert/jfr/jfr_convert.h"
#include "push/receive/pushing.h"

/*
 * Convert a recording, which may be compressed with gzip or zstd, and store its profiles.
 * `o->caller` is set. Damage behind a part that is stored is noted in p->damage. Errors of
 * pushing_inflate() and jfr_convert().
 */
NODISCARD int push_recording_take(struct pushing *p, struct bytes recording,
				  struct jfr_options *o, struct err *err);

#endif
