/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push types: what the sample types of a pushed profile mean. The field
 * sample_type_config of POST /ingest can say it; otherwise the defaults of
 * Pyroscope apply. They decide the name of the profile type, and whether the
 * values are increments.
 * Source: github.com/grafana/pyroscope, pkg/og/convert/pprof/profile.go.
 *
 * Ownership: push_types_fini() frees what push_types_parse() has made.
 * Threads: plain values.
 */
#ifndef PUSH_LABELS_PUSH_TYPES_H
#define PUSH_LABELS_PUSH_TYPES_H

#include "base/yaml.h"
#include "model/types.h"

enum {
	PUSH_TYPES_BYTES_MAX = 64 * 1024 /* of the field */
};

/* The field sample_type_config; the zero value is an absent field. */
struct push_types {
	struct yaml yaml;
	bool is_set;
};

/*
 * Parse the field, a JSON object that has an object for each sample type.
 * ERR_INVALID: it is malformed. The caller calls push_types_fini(), also after
 * an error.
 */
NODISCARD int push_types_parse(struct push_types *t, struct bytes json,
			       struct err *err);

void push_types_fini(struct push_types *t);

/*
 * Return the value of the label __name__ for a profile with these sample types.
 * The text is constant, or borrowed from `t` or `types`.
 */
struct str push_types_name(const struct push_types *t,
			   const struct typeset *types);

/*
 * Return the value of the label __name__ for a profile of OTLP with these sample types,
 * constant or borrowed from `types`.
 */
struct str push_types_otlp_name(const struct typeset *types);

/*
 * Whether the field says that the values of a sample type are counted since the
 * start of the process.
 */
bool push_types_cumulative(const struct push_types *t);

/*
 * Whether a profile without a duration has values that are increments or sums
 * since the start of the process: memory that was allocated, or time that was
 * waited for locks.
 */
bool push_types_count(const struct typeset *types);

#endif
