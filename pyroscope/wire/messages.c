/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/wire/messages.h"

#include "base/message_table.h"

static const struct enum_name formats[] = {
	{ "PROFILE_FORMAT_UNSPECIFIED", FORMAT_UNSPECIFIED },
	{ "PROFILE_FORMAT_FLAMEGRAPH", FORMAT_FLAMEGRAPH },
	{ "PROFILE_FORMAT_TREE", FORMAT_TREE },
	{ "PROFILE_FORMAT_DOT", FORMAT_DOT },
	{ "PROFILE_FORMAT_PPROF", FORMAT_PPROF },
	{ NULL, 0 },
};

static const struct enum_name aggregations[] = {
	{ "TIME_SERIES_AGGREGATION_TYPE_SUM", AGGREGATION_SUM },
	{ "TIME_SERIES_AGGREGATION_TYPE_AVERAGE", AGGREGATION_AVERAGE },
	{ NULL, 0 },
};

static const struct enum_name exemplars[] = {
	{ "EXEMPLAR_TYPE_UNSPECIFIED", EXEMPLARS_UNSPECIFIED },
	{ "EXEMPLAR_TYPE_NONE", EXEMPLARS_NONE },
	{ "EXEMPLAR_TYPE_INDIVIDUAL", EXEMPLARS_INDIVIDUAL },
	{ "EXEMPLAR_TYPE_SPAN", EXEMPLARS_SPAN },
	{ NULL, 0 },
};

static const struct enum_name heatmaps[] = {
	{ "HEATMAP_QUERY_TYPE_UNSPECIFIED", HEATMAP_UNSPECIFIED },
	{ "HEATMAP_QUERY_TYPE_INDIVIDUAL", HEATMAP_INDIVIDUAL },
	{ "HEATMAP_QUERY_TYPE_SPAN", HEATMAP_SPAN },
	{ NULL, 0 },
};

static const struct message_field fields_of_label_pair[] = {
	ONE(1, "name", STRING), ONE(2, "value", STRING), END
};

static const struct message_type message_label_pair = { "LabelPair",
							fields_of_label_pair };

static const struct message_field fields_of_labels[] = {
	MESSAGES(1, "labels", message_label_pair), END
};

static const struct message_type message_labels = { "Labels",
						    fields_of_labels };

static const struct message_field fields_of_empty[] = { END };

const struct message_type message_empty = { "Empty", fields_of_empty };

static const struct message_field fields_of_range_request[] = {
	ONE(1, "start", INT64), ONE(2, "end", INT64), END
};

const struct message_type message_range_request = { "RangeRequest",
						    fields_of_range_request };

static const struct message_field fields_of_profile_type[] = {
	ONE(1, "ID", STRING),
	ONE(2, "name", STRING),
	ONE(4, "sample_type", STRING),
	ONE(5, "sample_unit", STRING),
	ONE(6, "period_type", STRING),
	ONE(7, "period_unit", STRING),
	END
};

static const struct message_type message_profile_type = {
	"ProfileType", fields_of_profile_type
};

static const struct message_field fields_of_profile_types[] = {
	MESSAGES(1, "profile_types", message_profile_type), END
};

const struct message_type message_profile_types = { "ProfileTypes",
						    fields_of_profile_types };

static const struct message_field fields_of_label_names_request[] = {
	MANY(1, "matchers", STRING), ONE(2, "start", INT64),
	ONE(3, "end", INT64), END
};

const struct message_type message_label_names_request = {
	"LabelNamesRequest", fields_of_label_names_request
};

static const struct message_field fields_of_label_values_request[] = {
	ONE(1, "name", STRING), MANY(2, "matchers", STRING),
	ONE(3, "start", INT64), ONE(4, "end", INT64), END
};

const struct message_type message_label_values_request = {
	"LabelValuesRequest", fields_of_label_values_request
};

static const struct message_field fields_of_names[] = {
	MANY(1, "names", STRING), END
};

const struct message_type message_names = { "Names", fields_of_names };

static const struct message_field fields_of_series_request[] = {
	MANY(1, "matchers", STRING), MANY(2, "label_names", STRING),
	ONE(3, "start", INT64), ONE(4, "end", INT64), END
};

const struct message_type message_series_request = { "SeriesRequest",
						     fields_of_series_request };

static const struct message_field fields_of_series[] = {
	MESSAGES(2, "labels_set", message_labels), END
};

const struct message_type message_series = { "Series", fields_of_series };

static const struct message_field fields_of_location[] = {
	ONE(1, "name", STRING), END
};

static const struct message_type message_location = { "Location",
						      fields_of_location };

static const struct message_field fields_of_go_pgo[] = {
	ONE(1, "keep_locations", UINT32), ONE(2, "aggregate_callees", BOOL), END
};

static const struct message_type message_go_pgo = { "GoPGO", fields_of_go_pgo };

static const struct message_field fields_of_frame_filter[] = {
	MANY(1, "include_function_names", STRING),
	MANY(2, "exclude_function_names", STRING),
	MANY(3, "include_function_name_regexes", STRING),
	MANY(4, "exclude_function_name_regexes", STRING), END
};

static const struct message_type message_frame_filter = {
	"FrameFilter", fields_of_frame_filter
};

static const struct message_field fields_of_stack_trace_selector[] = {
	MESSAGES(1, "call_site", message_location),
	MESSAGE(2, "go_pgo", message_go_pgo),
	MESSAGE(3, "frame_filter", message_frame_filter), END
};

static const struct message_type message_stack_trace_selector = {
	"StackTraceSelector", fields_of_stack_trace_selector
};

static const struct message_field fields_of_select_series_request[] = {
	ONE(1, "profile_typeID", STRING),
	ONE(2, "label_selector", STRING),
	ONE(3, "start", INT64),
	ONE(4, "end", INT64),
	MANY(5, "group_by", STRING),
	ONE(6, "step", DOUBLE),
	ENUM(7, "aggregation", aggregations),
	MESSAGE(8, "stack_trace_selector", message_stack_trace_selector),
	ONE(9, "limit", INT64),
	ENUM(10, "exemplar_type", exemplars),
	END
};

const struct message_type message_select_series_request = {
	"SelectSeriesRequest", fields_of_select_series_request
};

static const struct message_field fields_of_exemplar[] = {
	ONE(1, "timestamp", INT64),
	ONE(2, "profile_id", STRING),
	ONE(3, "span_id", STRING),
	ONE(4, "value", INT64),
	MESSAGES(5, "labels", message_label_pair),
	ONE(6, "trace_id", STRING),
	END
};

static const struct message_type message_exemplar = { "Exemplar",
						      fields_of_exemplar };

static const struct message_field fields_of_point[] = {
	ONE(1, "value", DOUBLE), ONE(2, "timestamp", INT64),
	MESSAGES(4, "exemplars", message_exemplar), END
};

static const struct message_type message_point = { "Point", fields_of_point };

static const struct message_field fields_of_point_series[] = {
	MESSAGES(1, "labels", message_label_pair),
	MESSAGES(2, "points", message_point), END
};

static const struct message_type message_point_series = {
	"PointSeries", fields_of_point_series
};

static const struct message_field fields_of_select_series[] = {
	MESSAGES(1, "series", message_point_series), END
};

const struct message_type message_select_series = { "SelectSeries",
						    fields_of_select_series };

static const struct message_field fields_of_heatmap_request[] = {
	ONE(1, "profile_typeID", STRING), ONE(2, "label_selector", STRING),
	ONE(3, "start", INT64),           ONE(4, "end", INT64),
	ONE(5, "step", DOUBLE),           MANY(6, "group_by", STRING),
	ENUM(7, "query_type", heatmaps),  ENUM(8, "exemplar_type", exemplars),
	ONE(9, "limit", INT64),           END
};

const struct message_type message_heatmap_request = {
	"SelectHeatmapRequest", fields_of_heatmap_request
};

static const struct message_field fields_of_heatmap_slot[] = {
	ONE(1, "timestamp", INT64), MANY(2, "y_min", DOUBLE),
	MANY(3, "counts", INT32), MESSAGES(4, "exemplars", message_exemplar),
	END
};

static const struct message_type message_heatmap_slot = {
	"HeatmapSlot", fields_of_heatmap_slot
};

static const struct message_field fields_of_heatmap_series[] = {
	MESSAGES(1, "labels", message_label_pair),
	MESSAGES(2, "slots", message_heatmap_slot), END
};

static const struct message_type message_heatmap_series = {
	"HeatmapSeries", fields_of_heatmap_series
};

static const struct message_field fields_of_heatmap[] = {
	MESSAGES(1, "series", message_heatmap_series), END
};

const struct message_type message_heatmap = { "SelectHeatmap",
					      fields_of_heatmap };

static const struct message_field fields_of_stacktraces_request[] = {
	ONE(1, "profile_typeID", STRING),
	ONE(2, "label_selector", STRING),
	ONE(3, "start", INT64),
	ONE(4, "end", INT64),
	ONE(5, "max_nodes", INT64),
	ENUM(6, "format", formats),
	MESSAGE(7, "stack_trace_selector", message_stack_trace_selector),
	MANY(8, "profile_id_selector", STRING),
	MANY(10, "trace_id_selector", STRING),
	MANY(11, "span_selector", STRING),
	END
};

const struct message_type message_stacktraces_request = {
	"StacktracesRequest", fields_of_stacktraces_request
};

static const struct message_field fields_of_level[] = {
	MANY(1, "values", INT64), END
};

static const struct message_type message_level = { "Level", fields_of_level };

static const struct message_field fields_of_flame_graph[] = {
	MANY(1, "names", STRING), MESSAGES(2, "levels", message_level),
	ONE(3, "total", INT64), ONE(4, "max_self", INT64), END
};

static const struct message_type message_flame_graph = {
	"FlameGraph", fields_of_flame_graph
};

static const struct message_field fields_of_value_type[] = {
	ONE(1, "type", INT64), ONE(2, "unit", INT64), END
};

static const struct message_type message_value_type = { "ValueType",
							fields_of_value_type };

static const struct message_field fields_of_label[] = {
	ONE(1, "key", INT64),      ONE(2, "str", INT64), ONE(3, "num", INT64),
	ONE(4, "num_unit", INT64), { .number = 0 },
};

static const struct message_type message_label = { "Label", fields_of_label };

static const struct message_field fields_of_sample[] = {
	MANY(1, "location_id", UINT64), MANY(2, "value", INT64),
	MESSAGES(3, "label", message_label), END
};

static const struct message_type message_sample = { "Sample",
						    fields_of_sample };

static const struct message_field fields_of_mapping[] = {
	ONE(1, "id", UINT64),
	ONE(2, "memory_start", UINT64),
	ONE(3, "memory_limit", UINT64),
	ONE(4, "file_offset", UINT64),
	ONE(5, "filename", INT64),
	ONE(6, "build_id", INT64),
	ONE(7, "has_functions", BOOL),
	ONE(8, "has_filenames", BOOL),
	ONE(9, "has_line_numbers", BOOL),
	ONE(10, "has_inline_frames", BOOL),
	END
};

static const struct message_type message_mapping = { "Mapping",
						     fields_of_mapping };

static const struct message_field fields_of_line[] = {
	ONE(1, "function_id", UINT64), ONE(2, "line", INT64), END
};

static const struct message_type message_line = { "Line", fields_of_line };

static const struct message_field fields_of_profile_location[] = {
	ONE(1, "id", UINT64),      ONE(2, "mapping_id", UINT64),
	ONE(3, "address", UINT64), MESSAGES(4, "line", message_line),
	ONE(5, "is_folded", BOOL), { .number = 0 },
};

static const struct message_type message_profile_location = {
	"ProfileLocation", fields_of_profile_location
};

static const struct message_field fields_of_function[] = {
	ONE(1, "id", UINT64),         ONE(2, "name", INT64),
	ONE(3, "system_name", INT64), ONE(4, "filename", INT64),
	ONE(5, "start_line", INT64),  { .number = 0 },
};

static const struct message_type message_function = { "Function",
						      fields_of_function };

static const struct message_field fields_of_profile[] = {
	MESSAGES(1, "sample_type", message_value_type),
	MESSAGES(2, "sample", message_sample),
	MESSAGES(3, "mapping", message_mapping),
	MESSAGES(4, "location", message_profile_location),
	MESSAGES(5, "function", message_function),
	MANY(6, "string_table", STRING),
	ONE(7, "drop_frames", INT64),
	ONE(8, "keep_frames", INT64),
	ONE(9, "time_nanos", INT64),
	ONE(10, "duration_nanos", INT64),
	MESSAGE(11, "period_type", message_value_type),
	ONE(12, "period", INT64),
	MANY(13, "comment", INT64),
	ONE(14, "default_sample_type", INT64),
	END
};

const struct message_type message_profile = { "Profile", fields_of_profile };

static const struct message_field fields_of_pprof_answer[] = {
	MESSAGE(1, "profile", message_profile), END
};

static const struct message_type message_pprof_answer = {
	"PprofAnswer", fields_of_pprof_answer
};

static const struct message_field fields_of_stacktraces[] = {
	MESSAGE(1, "flamegraph", message_flame_graph), ONE(2, "tree", BYTES),
	ONE(3, "dot", STRING), MESSAGE(5, "pprof", message_pprof_answer), END
};

const struct message_type message_stacktraces = { "Stacktraces",
						  fields_of_stacktraces };

static const struct message_field fields_of_span_profile_request[] = {
	ONE(1, "profile_typeID", STRING),
	ONE(2, "label_selector", STRING),
	MANY(3, "span_selector", STRING),
	ONE(4, "start", INT64),
	ONE(5, "end", INT64),
	ONE(6, "max_nodes", INT64),
	ENUM(7, "format", formats),
	END
};

const struct message_type message_span_profile_request = {
	"SpanProfileRequest", fields_of_span_profile_request
};

static const struct message_field fields_of_profile_request[] = {
	ONE(1, "profile_typeID", STRING),
	ONE(2, "label_selector", STRING),
	ONE(3, "start", INT64),
	ONE(4, "end", INT64),
	ONE(5, "max_nodes", INT64),
	MESSAGE(6, "stack_trace_selector", message_stack_trace_selector),
	MANY(7, "profile_id_selector", STRING),
	MANY(8, "trace_id_selector", STRING),
	END
};

const struct message_type message_profile_request = {
	"ProfileRequest", fields_of_profile_request
};

static const struct message_field fields_of_diff_request[] = {
	MESSAGE(1, "left", message_stacktraces_request),
	MESSAGE(2, "right", message_stacktraces_request), END
};

const struct message_type message_diff_request = { "DiffRequest",
						   fields_of_diff_request };

static const struct message_field fields_of_flame_graph_diff[] = {
	MANY(1, "names", STRING),
	MESSAGES(2, "levels", message_level),
	ONE(3, "total", INT64),
	ONE(4, "max_self", INT64),
	ONE(5, "leftTicks", INT64),
	ONE(6, "rightTicks", INT64),
	END
};

static const struct message_type message_flame_graph_diff = {
	"FlameGraphDiff", fields_of_flame_graph_diff
};

static const struct message_field fields_of_diff[] = {
	MESSAGE(1, "flamegraph", message_flame_graph_diff), END
};

const struct message_type message_diff = { "Diff", fields_of_diff };

static const struct message_field fields_of_upload_request[] = {
	ONE(1, "name", STRING), ONE(2, "profile", STRING),
	ONE(3, "max_nodes", INT64), END
};

const struct message_type message_upload_request = {
	"AdHocProfilesUploadRequest", fields_of_upload_request
};

static const struct message_field fields_of_file_request[] = {
	ONE(1, "id", STRING), ONE(2, "profile_type", STRING),
	ONE(3, "max_nodes", INT64), END
};

const struct message_type message_file_request = { "AdHocProfilesGetRequest",
						   fields_of_file_request };

static const struct message_field fields_of_file[] = {
	ONE(1, "id", STRING),
	ONE(2, "name", STRING),
	ONE(3, "uploaded_at", INT64),
	ONE(4, "profile_type", STRING),
	MANY(5, "profile_types", STRING),
	ONE(6, "flamebearer_profile", STRING),
	END
};

const struct message_type message_file = { "AdHocProfilesGetResponse",
					   fields_of_file };

static const struct message_field fields_of_listed_file[] = {
	ONE(1, "id", STRING), ONE(2, "name", STRING),
	ONE(3, "uploaded_at", INT64), END
};

static const struct message_type message_listed_file = {
	"AdHocProfilesProfileMetadata", fields_of_listed_file
};

static const struct message_field fields_of_files[] = {
	MESSAGES(1, "profiles", message_listed_file), END
};

const struct message_type message_files = { "AdHocProfilesListResponse",
					    fields_of_files };

static const struct message_field fields_of_file_diff_request[] = {
	ONE(1, "left_id", STRING), ONE(2, "right_id", STRING),
	ONE(3, "profile_type", STRING), ONE(4, "max_nodes", INT64), END
};

const struct message_type message_file_diff_request = {
	"AdHocProfilesDiffRequest", fields_of_file_diff_request
};

static const struct message_field fields_of_file_diff[] = {
	MANY(1, "profile_types", STRING), ONE(2, "flamebearer_profile", STRING),
	END
};

const struct message_type message_file_diff = { "AdHocProfilesDiffResponse",
						fields_of_file_diff };

static const struct message_field fields_of_stats[] = {
	ONE(1, "data_ingested", BOOL), ONE(2, "oldest_profile_time", INT64),
	ONE(3, "newest_profile_time", INT64), END
};

const struct message_type message_stats = { "Stats", fields_of_stats };

static const struct message_field fields_of_setting[] = {
	ONE(1, "name", STRING), ONE(2, "value", STRING),
	ONE(3, "modifiedAt", INT64), END
};

static const struct message_type message_setting = { "Setting",
						     fields_of_setting };

static const struct message_field fields_of_settings[] = {
	MESSAGES(1, "settings", message_setting), END
};

const struct message_type message_settings = { "Settings", fields_of_settings };

static const struct message_field fields_of_feature_flag[] = {
	ONE(1, "name", STRING), ONE(2, "enabled", BOOL),
	ONE(3, "description", STRING), ONE(4, "documentation_url", STRING), END
};

static const struct message_type message_feature_flag = {
	"FeatureFlag", fields_of_feature_flag
};

static const struct message_field fields_of_feature_flags[] = {
	MESSAGES(1, "feature_flags", message_feature_flag), END
};

const struct message_type message_feature_flags = { "FeatureFlags",
						    fields_of_feature_flags };
