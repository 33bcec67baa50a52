/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of Pyroscope's API, as tables for the transcoder.
 *
 * Source: github.com/grafana/pyroscope, api/querier/v1/querier.proto,
 * api/types/v1/types.proto, api/settings/v1/setting.proto,
 * api/capabilities/v1/feature_flags.proto, and the proto of pprof.
 *
 * Threads: constants.
 */
#ifndef PYROSCOPE_WIRE_MESSAGES_H
#define PYROSCOPE_WIRE_MESSAGES_H

#include "base/transcode.h"

extern const struct message_type message_empty;
extern const struct message_type message_range_request;
extern const struct message_type message_profile_types;
extern const struct message_type message_label_names_request;
extern const struct message_type message_label_values_request;
extern const struct message_type message_names;
extern const struct message_type message_series_request;
extern const struct message_type message_series;
extern const struct message_type message_select_series_request;
extern const struct message_type message_select_series;
extern const struct message_type message_heatmap_request;
extern const struct message_type message_heatmap;
extern const struct message_type message_stacktraces_request;
extern const struct message_type message_stacktraces;
extern const struct message_type message_span_profile_request;
extern const struct message_type message_profile_request;
extern const struct message_type message_profile;
extern const struct message_type message_diff_request;
extern const struct message_type message_diff;
extern const struct message_type message_upload_request;
extern const struct message_type message_file_request;
extern const struct message_type message_file;
extern const struct message_type message_files;
extern const struct message_type message_file_diff_request;
extern const struct message_type message_file_diff;
extern const struct message_type message_stats;
extern const struct message_type message_settings;
extern const struct message_type message_feature_flags;

/* Values of the enum ProfileFormat. */
enum {
	FORMAT_UNSPECIFIED,
	FORMAT_FLAMEGRAPH,
	FORMAT_TREE,
	FORMAT_DOT,
	FORMAT_PPROF
};

/* Values of the enum ExemplarType. */
enum {
	EXEMPLARS_UNSPECIFIED,
	EXEMPLARS_NONE,
	EXEMPLARS_INDIVIDUAL,
	EXEMPLARS_SPAN
};

/* Values of the enum HeatmapQueryType. */
enum {
	HEATMAP_UNSPECIFIED,
	HEATMAP_INDIVIDUAL,
	HEATMAP_SPAN
};

/* Values of the enum TimeSeriesAggregationType. */
enum {
	AGGREGATION_SUM,
	AGGREGATION_AVERAGE
};

#endif
