/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scrape_config: what the configuration says of one job.
 *
 * Ownership: everything is borrowed from the struct yaml it was decoded from,
 * or lives in that one's arena.
 */
#ifndef SCRAPE_SCRAPE_CONFIG_H
#define SCRAPE_SCRAPE_CONFIG_H

#include "base/yaml.h"
#include "model/labels.h"

/* One type of profile that is asked for. */
struct profile_config {
	struct str name; /* becomes __name__ */
	struct str path;
	int64_t seconds; /* 0: the parameter is not sent */
	bool enabled;
};

/* static_configs: targets that share labels. */
struct static_group {
	struct str *targets;
	size_t target_count;
	struct label *labels;
	size_t label_count;
};

/* One name=value of params. */
struct param {
	struct str name;
	struct str value;
};

struct scrape_config {
	struct str job_name;
	int64_t interval_ms;
	int64_t timeout_ms;
	struct str scheme;
	int64_t body_size_limit; /* 0: none of its own */
	struct str path_prefix;
	struct param *params;
	size_t param_count;
	struct profile_config *profiles;
	size_t profile_count;
	struct static_group *groups;
	size_t group_count;
};

struct scrape_configs {
	struct scrape_config *v;
	size_t count;
};

/* What global: sets for jobs that say nothing. */
struct scrape_defaults {
	int64_t interval_ms;
	int64_t timeout_ms;
};

/*
 * Decode the list scrape_configs:. Errors and warnings go to y, and *out is
 * complete only without errors.
 */
void scrape_configs_decode(struct yaml *y, const struct yaml_node *list,
			   const struct scrape_defaults *defaults,
			   struct scrape_configs *out);

#endif
