/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer ad-hoc: the methods of adhocprofiles.v1, by which Grafana shows files that
 * somebody has uploaded: flame graphs as JSON, in the form of Pyroscope's older API.
 *
 * A file with several profiles, such as a recording of Java, has the profile types
 * "NAME:TYPE", any other its sample types.
 * Source: github.com/grafana/pyroscope/api, adhocprofiles/v1/adhocprofiles.proto.
 *
 * Threads: any; one thread per call.
 */
#ifndef PYROSCOPE_ANSWER_ANSWER_ADHOC_H
#define PYROSCOPE_ANSWER_ANSWER_ADHOC_H

#include "pyroscope/answer/call.h"

/* Upload: keeps a file, which is in base64, and answers as Get does. */
NODISCARD int answer_adhoc_upload(struct pyroscope_call *c, struct err *err);

/* Get: a file, and the flame graph of one of its types. */
NODISCARD int answer_adhoc_get(struct pyroscope_call *c, struct err *err);

/* List: all files. */
NODISCARD int answer_adhoc_list(struct pyroscope_call *c, struct err *err);

/* Diff: the flame graph of two files. */
NODISCARD int answer_adhoc_diff(struct pyroscope_call *c, struct err *err);

#endif
