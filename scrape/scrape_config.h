/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scrape_config: what the configuration says of one job.
 *
 * Ownership: everything is borrowed from the struct yaml it was decoded from,
 * or lives in that one's arena; but for targets and expressions:
 * scrape_configs_fini().
 * Threads: immutable once decoded.
 */
#ifndef SCRAPE_SCRAPE_CONFIG_H
#define SCRAPE_SCRAPE_CONFIG_H

#include "base/yaml.h"
#include "client/http_options.h"
#include "discovery/discovery_config.h"
#include "discovery/target_group.h"
#include "model/labels.h"
#include "model/relabel.h"

#define SCRAPE_INTERVAL_MAX_MS (24LL * 3600 * 1000)

enum {
	SCRAPE_SECONDS_MAX = 3600
};

/* One type of profile that is asked for. */
struct profile_config {
	struct str name; /* becomes __name__ */
	struct str path;
	int64_t interval_ms; /* 0: the job's */
	int64_t seconds;     /* 0: the parameter is not sent */
	bool enabled;
};

/* One name=value of params. */
struct param {
	struct str name;
	struct str value;
};

/* What a job may say, and global: for those that do not. Limits: 0 is none. */
struct scrape_common {
	int64_t interval_ms;
	int64_t timeout_ms;
	int64_t body_size_limit;
	int64_t target_limit;
	int64_t label_limit;
	int64_t label_name_length_limit;
	int64_t label_value_length_limit;
	int64_t keep_dropped_targets;
};

#define SCRAPE_COMMON_FIELD(at, decode, field) \
	decode, (at) + offsetof(struct scrape_common, field), NULL

/* Rows of a table of fields, for a struct scrape_common at that offset. */
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

struct scrape_config {
	struct str job_name;
	struct scrape_common common;
	struct str scheme;
	struct str path_prefix;
	struct param *params;
	size_t param_count;
	struct profile_config *profiles;
	size_t profile_count;
	bool auto_profiles;            /* those that a target's index names */
	struct target_groups *statics; /* NULL: none */
	struct http_options http;
	struct discovery_configs discovery;
	struct relabel_rules relabel;
};

struct scrape_configs {
	struct scrape_config *v;
	size_t count;
};

/*
 * Decode the list scrape_configs:. Errors and warnings go to y, and *out is
 * complete only without errors.
 */
void scrape_configs_decode(struct yaml *y, const struct yaml_node *list,
			   const struct scrape_common *defaults,
			   struct scrape_configs *out);
void scrape_configs_fini(struct scrape_configs *c);

#endif
