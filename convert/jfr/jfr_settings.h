/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JFR settings: what a recording says of how it was made: by what async-profiler samples
 * threads, and the intervals between samples (async-profiler, src/flightRecorder.cpp;
 * Datadog's profiler is made of it, and has an event for each kind of sample).
 *
 * Ownership: jfr_settings_fini() frees everything.
 * Threads: one thread at a time.
 */
#ifndef CONVERT_JFR_JFR_SETTINGS_H
#define CONVERT_JFR_JFR_SETTINGS_H

#include "base/buf.h"

/* The settings. The zero value has none. */
struct jfr_settings {
	struct buf event; /* by which async-profiler samples threads */
	/* Intervals in ns; 0: not said. */
	int64_t cpu_ns;
	int64_t wall_ns;
	int64_t java_ns; /* of Java itself */
	bool is_begun;   /* the chunk has settings of its own */
};

/* Begin a chunk. Without settings of its own, it has those of the chunk before. */
void jfr_settings_begin(struct jfr_settings *s);

/*
 * Whether a setting of an event of this class counts. Programs have settings of their own
 * events, with any names.
 */
bool jfr_settings_count(struct str class);

/* Take a setting of an event of a class that counts. */
void jfr_settings_take(struct jfr_settings *s, struct str class,
		       struct str name, struct str value);

/* Whether async-profiler samples by an event of this name. */
bool jfr_settings_by(const struct jfr_settings *s, const char *event);

/* Whether async-profiler samples by something that is no time: events, or calls. */
bool jfr_settings_by_events(const struct jfr_settings *s);

/* Return how many of these events are between samples. */
int64_t jfr_settings_events(const struct jfr_settings *s);

/*
 * Return the interval between samples of the CPU, or of wall time, in ns. The rate that an
 * agent sends, as an interval of `sent_ns` (0: none), is that of the CPU, unless its only
 * samples are those of wall time.
 */
int64_t jfr_settings_cpu(const struct jfr_settings *s, int64_t sent_ns);
int64_t jfr_settings_wall(const struct jfr_settings *s, int64_t sent_ns);

/* Free everything. */
void jfr_settings_fini(struct jfr_settings *s);

#endif
