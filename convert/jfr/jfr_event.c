/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/jfr/jfr_event.h"

const struct jfr_event *jfr_event_find(struct str class)
{
	static const struct jfr_event none = { "", JFR_VALUES_NONE, JFR_CPU,
					       JFR_SLOTS };
	static const struct jfr_event events[] = {
		{ "jdk.ActiveSetting", JFR_VALUES_SETTING, JFR_CPU, JFR_SLOTS },
		{ "jdk.ExecutionSample", JFR_VALUES_STATE, JFR_CPU, JFR_STATE },
		{ "jdk.CPUTimeSample", JFR_VALUES_TICKS, JFR_CPU,
		  JFR_SAMPLING_PERIOD },
		{ "profiler.WallClockSample", JFR_VALUES_PERIODS, JFR_WALL,
		  JFR_SAMPLES },
		{ "jdk.ObjectAllocationInNewTLAB", JFR_VALUES_BYTES,
		  JFR_IN_TLAB, JFR_TLAB_SIZE },
		{ "jdk.ObjectAllocationOutsideTLAB", JFR_VALUES_BYTES,
		  JFR_OUTSIDE_TLAB, JFR_ALLOCATION_SIZE },
		{ "jdk.ObjectAllocationSample", JFR_VALUES_BYTES, JFR_ALLOCATED,
		  JFR_WEIGHT },
		{ "profiler.LiveObject", JFR_VALUES_COUNT, JFR_LIVE,
		  JFR_SLOTS },
		{ "profiler.Malloc", JFR_VALUES_BYTES, JFR_MALLOC, JFR_SIZE },
		{ "jdk.JavaMonitorEnter", JFR_VALUES_WAIT, JFR_MUTEX,
		  JFR_DURATION },
		{ "profiler.NativeLock", JFR_VALUES_WAIT, JFR_MUTEX,
		  JFR_DURATION },
		{ "jdk.ThreadPark", JFR_VALUES_WAIT, JFR_BLOCK, JFR_DURATION },
		{ "datadog.ExecutionSample", JFR_VALUES_PERIODS, JFR_CPU,
		  JFR_WEIGHT },
		{ "datadog.MethodSample", JFR_VALUES_PERIODS, JFR_WALL,
		  JFR_WEIGHT },
		{ "datadog.ObjectSample", JFR_VALUES_LIKES, JFR_ALLOCATED,
		  JFR_SIZE },
		{ "datadog.HeapLiveObject", JFR_VALUES_LIKE, JFR_LIVE,
		  JFR_SIZE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (str_is(class, events[i].name))
			return &events[i];
	}
	return &none;
}

const struct jfr_profile *jfr_event_profile(enum jfr_part part)
{
	static const struct jfr_profile profiles[JFR_PARTS] = {
		[JFR_CPU] = { "process_cpu",
			      NULL,
			      { { "cpu", "nanoseconds" } },
			      { "cpu", "nanoseconds" } },
		[JFR_WALL] = { "wall",
			       NULL,
			       { { "wall", "nanoseconds" } },
			       { "wall", "nanoseconds" } },
		[JFR_EVENTS] = { "events",
				 NULL,
				 { { "events", "count" } },
				 { "events", "count" } },
		[JFR_IN_TLAB] = { "memory",
				  "alloc_in_new_tlab",
				  { { "alloc_in_new_tlab_objects", "count" },
				    { "alloc_in_new_tlab_bytes", "bytes" } },
				  { "space", "bytes" } },
		[JFR_OUTSIDE_TLAB] = { "memory",
				       "alloc_outside_tlab",
				       { { "alloc_outside_tlab_objects",
					   "count" },
					 { "alloc_outside_tlab_bytes",
					   "bytes" } },
				       { "space", "bytes" } },
		[JFR_ALLOCATED] = { "memory",
				    "alloc_sample",
				    { { "alloc_sample_objects", "count" },
				      { "alloc_sample_bytes", "bytes" } },
				    { "space", "bytes" } },
		[JFR_LIVE] = { "memory",
			       "live",
			       { { "live", "count" } },
			       { "objects", "count" } },
		[JFR_MALLOC] = { "memory",
				 "malloc",
				 { { "malloc_objects", "count" },
				   { "malloc_bytes", "bytes" } },
				 { NULL, NULL } },
		[JFR_MUTEX] = { "mutex",
				NULL,
				{ { "contentions", "count" },
				  { "delay", "nanoseconds" } },
				{ "mutex", "count" } },
		[JFR_BLOCK] = { "block",
				NULL,
				{ { "contentions", "count" },
				  { "delay", "nanoseconds" } },
				{ "block", "count" } },
	};

	return &profiles[part];
}
