/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/methods.h"

#include "base/wire_write.h"
#include "pyroscope/answer/answer_adhoc.h"
#include "pyroscope/answer/answer_lists.h"
#include "pyroscope/answer/answer_points.h"
#include "pyroscope/answer/answer_stacks.h"
#include "pyroscope/wire/messages.h"

#define QUERIER "querier.v1.QuerierService"
#define FILES   "adhocprofiles.v1.AdHocProfileService"

/* Answer with an empty message: there are no settings, and no rules. */
static int methods_nothing(struct pyroscope_call *c UNUSED,
			   struct err *err UNUSED)
{
	return 0;
}

/* Grafana asks for this before it uses tables of functions. */
static int methods_feature_flags(struct pyroscope_call *c,
				 struct err *err UNUSED)
{
	struct buf flag = { 0 };

	wire_write_str(&flag, 1, str_of("functionProjections"));
	wire_write_bytes(c->out, 1, buf_bytes(&flag));
	buf_fini(&flag);
	return 0;
}

static const struct pyroscope_method methods[] = {
	{ QUERIER, "ProfileTypes", &message_range_request,
	  &message_profile_types, &request_range, answer_profile_types },
	{ QUERIER, "LabelNames", &message_label_names_request, &message_names,
	  &request_label_names, answer_label_names },
	{ QUERIER, "LabelValues", &message_label_values_request, &message_names,
	  &request_label_values, answer_label_values },
	{ QUERIER, "Series", &message_series_request, &message_series,
	  &request_series, answer_series_list },
	{ QUERIER, "SelectSeries", &message_select_series_request,
	  &message_select_series, &request_select_series, answer_points },
	{ QUERIER, "SelectHeatmap", &message_heatmap_request, &message_heatmap,
	  &request_heatmap, answer_heatmap },
	{ QUERIER, "SelectMergeStacktraces", &message_stacktraces_request,
	  &message_stacktraces, &request_stacktraces, answer_stacktraces },
	{ QUERIER, "SelectMergeSpanProfile", &message_span_profile_request,
	  &message_stacktraces, &request_span_profile, answer_stacktraces },
	{ QUERIER, "SelectMergeProfile", &message_profile_request,
	  &message_profile, &request_profile, answer_profile },
	{ QUERIER, "Diff", &message_diff_request, &message_diff, &request_diff,
	  answer_diff },
	{ QUERIER, "GetProfileStats", &message_empty, &message_stats, NULL,
	  answer_stats },
	{ QUERIER, "AnalyzeQuery", &message_empty, &message_empty, NULL,
	  methods_nothing },
	{ FILES, "Upload", &message_upload_request, &message_file,
	  &request_upload, answer_adhoc_upload },
	{ FILES, "Get", &message_file_request, &message_file, &request_file,
	  answer_adhoc_get },
	{ FILES, "List", &message_empty, &message_files, NULL,
	  answer_adhoc_list },
	{ FILES, "Diff", &message_file_diff_request, &message_file_diff,
	  &request_file_diff, answer_adhoc_diff },
	{ "settings.v1.SettingsService", "Get", &message_empty,
	  &message_settings, NULL, methods_nothing },
	{ "settings.v1.RecordingRulesService", "ListRecordingRules",
	  &message_empty, &message_empty, NULL, methods_nothing },
	{ "capabilities.v1.FeatureFlagsService", "GetFeatureFlags",
	  &message_empty, &message_feature_flags, NULL, methods_feature_flags },
};

const struct pyroscope_method *pyroscope_method_find(struct str service,
						     struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (str_is(service, methods[i].service) &&
		    str_is(name, methods[i].name))
			return &methods[i];
	}
	return NULL;
}

int pyroscope_run(const struct pyroscope_method *m, struct pyroscope_call *c,
		  struct bytes request, struct err *err)
{
	int rc = 0;

	c->request = (struct profile_request){ .step = 0 };
	if (m->layout)
		rc = request_read(m->layout, request, &c->request, err);
	if (!rc)
		rc = m->run(c, err);
	if (!rc)
		rc = query_take(c->work, (int64_t)c->out->cap, err);
	request_fini(&c->request);
	return rc;
}
