/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push ingest: requests of POST /ingest. Each has a profile of pprof, a recording of JFR,
 * or folded stacks, and its labels and times in parameters.
 *
 * Ownership: a pushing is borrowed.
 * Threads: one thread at a time.
 */
#ifndef PUSH_RECEIVE_PUSH_INGEST_H
#define PUSH_RECEIVE_PUSH_INGEST_H

#include "push/receive/pushing.h"

/* Store the profiles of a request. Errors as of push_receiver_take(). */
NODISCARD int push_ingest_take(struct pushing *p, struct err *err);

#endif
