/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push OTLP: requests of OpenTelemetry's protocol for profiles, over HTTP.
 *
 * Ownership: a pushing is borrowed.
 * Threads: one thread at a time.
 */
#ifndef PUSH_RECEIVE_PUSH_OTLP_H
#define PUSH_RECEIVE_PUSH_OTLP_H

#include "push/receive/pushing.h"

/* Store the profiles of a request. Errors as of push_receiver_take(). */
NODISCARD int push_otlp_take(struct pushing *p, struct err *err);

#endif
