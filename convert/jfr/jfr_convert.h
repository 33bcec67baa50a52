/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JFR convert: a recording of Java Flight Recorder, made by Java itself or by
 * async-profiler, as profiles of pprof: CPU time, wall time, memory by the kind of
 * event, waiting for monitors, and for locks. docs/integrations.md has the table of the
 * events, and what becomes of them.
 *
 * Names, sample types and periods are those of Pyroscope:
 * github.com/grafana/jfr-parser, pprof/pprof.go and parser/symbols.go.
 *
 * Ownership: everything is borrowed for the call.
 * Threads: any; no shared state.
 */
#ifndef CONVERT_JFR_JFR_CONVERT_H
#define CONVERT_JFR_JFR_CONVERT_H

#include "convert/conversion/convert_caller.h"

enum {
	JFR_FRAMES_MAX = 2048 /* of a stack: async-profiler's largest depth */
};

/* What the conversion needs besides the recording. */
struct jfr_options {
	struct convert_caller caller;
	const struct labels_builder *labels; /* of the series */
	struct bytes snapshot; /* the labels of samples; empty: none */
	int64_t time_ns;       /* 0: that of the recording */
	int64_t duration_ns;   /* 0: that of the recording */
	int64_t period_ns; /* between samples of the CPU; 0: as it says itself */
};

/* What a recording had. */
struct jfr_result {
	size_t profiles;
	/* The recording is damaged, and what comes behind the damage was left out. */
	bool is_cut;
	struct err why; /* the damage; only set with is_cut */
};

/*
 * Convert a recording. ERR_INVALID: it is malformed, or its first chunk is not
 * complete; ERR_MEDIA: another version; ERR_TOOBIG: it takes too much memory; and
 * the errors of the callbacks.
 */
NODISCARD int jfr_convert(struct bytes recording, const struct jfr_options *o,
			  struct jfr_result *out, struct err *err);

#endif
