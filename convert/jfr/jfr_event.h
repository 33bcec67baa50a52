/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JFR event: which events become samples, of which profile, and with which values.
 * Source: github.com/grafana/jfr-parser, pprof/parser.go and pprof/pprof.go, and
 * github.com/openjdk/jdk, src/hotspot/share/jfr/metadata/metadata.xml; those of Datadog's
 * profiler, whose events have weights: recorded (testdata/datadog).
 *
 * Threads: constants.
 */
#ifndef CONVERT_JFR_JFR_EVENT_H
#define CONVERT_JFR_JFR_EVENT_H

#include "convert/conversion/stack_build.h"
#include "convert/jfr/jfr_types.h"

/* The profiles. */
enum jfr_part {
	JFR_CPU,
	JFR_WALL,
	JFR_EVENTS, /* of hardware, or calls of a method: no time */
	JFR_IN_TLAB,
	JFR_OUTSIDE_TLAB,
	JFR_ALLOCATED,
	JFR_LIVE,
	JFR_MALLOC,
	JFR_MUTEX,
	JFR_BLOCK,
	JFR_PARTS
};

/* A profile. */
struct jfr_profile {
	const char *name; /* the label __name__ */
	/* The label LABEL_PART, where several have the same name; else NULL. */
	const char *part;
	struct {
		const char *type;
		const char *unit;
	} types[STACK_VALUES_MAX], period;
};

/* How the values of a sample come from an event. */
enum jfr_values {
	JFR_VALUES_NONE,    /* the event is no sample */
	JFR_VALUES_SETTING, /* it is a setting of the recording */
	JFR_VALUES_STATE,   /* a period of CPU time, unless the thread sleeps */
	JFR_VALUES_PERIODS, /* a number of periods */
	JFR_VALUES_TICKS,   /* a time, in ticks */
	JFR_VALUES_COUNT,   /* one */
	JFR_VALUES_BYTES,   /* one, and a number of bytes */
	JFR_VALUES_WAIT,    /* one, and a time in ticks */
	JFR_VALUES_LIKE,    /* for how many objects it stands … */
	JFR_VALUES_LIKES    /* … and their bytes */
};

/* An event. */
struct jfr_event {
	const char *name; /* of its class */
	enum jfr_values values;
	enum jfr_part part;
	enum jfr_slot slot; /* of the number; JFR_SLOTS: there is none */
};

/* Return what becomes of the events of a class; a constant. */
const struct jfr_event *jfr_event_find(struct str class);

/* Return a profile; a constant. */
const struct jfr_profile *jfr_event_profile(enum jfr_part part);

#endif
