/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push v1: requests of the method Push of push.v1.PusherService: series with labels and
 * profiles.
 *
 * Ownership: a pushing is borrowed.
 * Threads: one thread at a time.
 */
#ifndef PUSH_RECEIVE_PUSH_V1_H
#define PUSH_RECEIVE_PUSH_V1_H

#include "push/receive/pushing.h"

/* Store the profiles of a request. Errors as of push_receiver_take(). */
NODISCARD int push_v1_take(struct pushing *p, struct err *err);

#endif
