/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scrape_config is what the configuration file says about one scrape job: its
 * targets, intervals, limits, profile types, HTTP options, service discovery
 * and relabelling rules.
 *
 * Ownership: texts and arrays are borrowed from the struct yaml they were
 * decoded from, or live in its arena. Static targets and relabelling rules are
 * owned; scrape_configs_fini() releases them.
 * Threads: immutable once decoded.
 */
#ifndef SCRAPE_TARGET_SCRAPE_CONFIG_H
#define SCRAPE_TARGET_SCRAPE_CONFIG_H

#include "base/yaml.h"
#include "client/transfer/http_options.h"
#include "discovery/core/target_group.h"
#include "discovery/discovery_config.h"
#include "model/labels.h"
#include "model/relabel.h"

/*
 * Upper bound of scrape_interval, scrape_timeout and a type's interval: a day.
 */
#define SCRAPE_INTERVAL_MAX_MS (24LL * 3600 * 1000)

enum {
	/* Upper bound of the seconds that one profile may be asked to cover. */
	SCRAPE_SECONDS_MAX = 3600
};

/* One profile type that the job asks its targets for. */
struct profile_config {
	struct str name; /* the profile type; becomes the label __name__ */
	struct str path;
	int64_t interval_ms; /* ms between scrapes; 0: the job's interval */
	/*
	 * duration of a profile in seconds; 0: the parameter "seconds" is not
	 * sent
	 */
	int64_t seconds;
	bool enabled;
};

/* One name=value pair of the job's URL parameters (params). */
struct param {
	struct str name;
	struct str value;
};

/*
 * The options that a job may set. For jobs that do not set them, the section
 * "global" sets them. A limit of 0 means no limit.
 */
struct scrape_common {
	int64_t interval_ms;
	int64_t timeout_ms;
	int64_t body_size_limit; /* limit of a response body in bytes */
	/*
	 * maximum number of targets; if a job has more, none of them is scraped
	 */
	int64_t target_limit;
	int64_t label_limit;
	int64_t label_name_length_limit;
	int64_t label_value_length_limit;
	/* maximum number of dropped targets that are listed */
	int64_t keep_dropped_targets;
};

/*
 * The last three members of a struct yaml_field that decodes one field of a
 * struct scrape_common. `at` is the offset of the struct scrape_common in the
 * struct to decode into.
 */
#define SCRAPE_COMMON_FIELD(at, decode, field) \
	decode, (at) + offsetof(struct scrape_common, field), NULL

/*
 * Elements for an array of struct yaml_field: one for each field of a struct
 * scrape_common. `at` is the offset of the struct scrape_common in the struct
 * to decode into.
 */
#define SCRAPE_COMMON_FIELDS(at)                                         \
	{ "scrape_interval",                                             \
	  SCRAPE_COMMON_FIELD(at, yaml_duration, interval_ms) },         \
		{ "scrape_timeout",                                      \
		  SCRAPE_COMMON_FIELD(at, yaml_duration, timeout_ms) },  \
		{ "body_size_limit",                                     \
		  SCRAPE_COMMON_FIELD(at, yaml_size, body_size_limit) }, \
		{ "target_limit",                                        \
		  SCRAPE_COMMON_FIELD(at, yaml_limit, target_limit) },   \
		{ "label_limit",                                         \
		  SCRAPE_COMMON_FIELD(at, yaml_limit, label_limit) },    \
		{ "label_name_length_limit",                             \
		  SCRAPE_COMMON_FIELD(at, yaml_limit,                    \
				      label_name_length_limit) },        \
		{ "label_value_length_limit",                            \
		  SCRAPE_COMMON_FIELD(at, yaml_limit,                    \
				      label_value_length_limit) },       \
	{                                                                \
		"keep_dropped_targets",                                  \
			SCRAPE_COMMON_FIELD(at, yaml_limit,              \
					    keep_dropped_targets)        \
	}

/*
 * An element for an array of struct yaml_field: an option of Prometheus that
 * makes no sense for profiles, and is accepted with a warning.
 */
#define SCRAPE_IGNORED(key)                                   \
	{                                                     \
		key, NULL, 0, "it does not apply to profiles" \
	}

/* Such elements that both a job and the section "global" can have. */
#define SCRAPE_IGNORED_FIELDS                                               \
	SCRAPE_IGNORED("sample_limit"), SCRAPE_IGNORED("scrape_protocols"), \
		SCRAPE_IGNORED("scrape_native_histograms"),                 \
		SCRAPE_IGNORED("scrape_classic_histograms"),                \
		SCRAPE_IGNORED("always_scrape_classic_histograms"),         \
		SCRAPE_IGNORED("convert_classic_histograms_to_nhcb"),       \
		SCRAPE_IGNORED("metric_name_validation_scheme"),            \
		SCRAPE_IGNORED("metric_name_escaping_scheme"),              \
		SCRAPE_IGNORED("scrape_failure_log_file"),                  \
		SCRAPE_IGNORED("extra_scrape_metrics")

/* The decoded configuration of one job. */
struct scrape_config {
	struct str job_name;
	struct scrape_common common;
	struct str scheme;
	struct str path_prefix;
	struct param *params;
	size_t param_count;
	struct profile_config *profiles;
	size_t profile_count;
	/*
	 * whether the profile types are read from each target's page
	 * /debug/pprof/
	 */
	bool auto_profiles;
	/* from static_configs, a reference; NULL: none */
	struct target_groups *statics;
	struct http_options http;
	struct discovery_configs discovery;
	struct relabel_rules relabel;
};

/* All jobs of a configuration, in the order of the file. */
struct scrape_configs {
	struct scrape_config *v;
	size_t count;
};

/*
 * Decode the list under "scrape_configs:". Errors and warnings are added to
 * `y`; *out is complete only if `y` has no errors. Call scrape_configs_fini()
 * in either case.
 */
void scrape_configs_decode(struct yaml *y, const struct yaml_node *list,
			   const struct scrape_common *defaults,
			   struct scrape_configs *out);

/*
 * Release the static targets and the relabelling rules of all jobs. All other
 * memory belongs to the struct yaml.
 */
void scrape_configs_fini(struct scrape_configs *c);

#endif
