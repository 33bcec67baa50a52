/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push Datadog: requests of Datadog's profilers to the path /profiling/v1/input of their
 * agent: a form with a description, event.json, and files, of which profiles of pprof and
 * recordings of Java are stored.
 * Source: recorded requests (testdata/datadog), and github.com/DataDog/libdatadog,
 * libdd-profiling/src/exporter.
 *
 * Ownership: everything is borrowed for the call.
 * Threads: any.
 */
#ifndef PUSH_RECEIVE_PUSH_DATADOG_H
#define PUSH_RECEIVE_PUSH_DATADOG_H

#include "push/receive/pushing.h"

/*
 * Store the profiles of a request. ERR_INVALID: the request is malformed, and nothing is
 * stored; errors as for pushing_store().
 */
NODISCARD int push_datadog_take(struct pushing *p, struct err *err);

#endif
