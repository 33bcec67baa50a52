/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of Pyroscope's querier: the fields of all of them, in one struct. The
 * fields that a request does not have keep their zero values.
 *
 * Ownership: texts are borrowed from the message; request_fini() frees the lists.
 * Threads: a plain value.
 */
#ifndef PYROSCOPE_WIRE_REQUEST_H
#define PYROSCOPE_WIRE_REQUEST_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/vec.h"

enum {
	/* Largest number of values of a repeated field. */
	REQUEST_LIST_MAX = 1024,
	/* Largest number of labels whose values are asked for together. */
	REQUEST_LABELS_MAX = 128
};

/* A list of texts. */
struct request_texts {
	struct str *v;
	size_t count;
	size_t cap;
};

/* Which stacks are wanted; see StackTraceSelector. */
struct stack_selector {
	struct request_texts call_site; /* from the outermost frame on */
	bool go_pgo;
	struct request_texts include_names;
	struct request_texts exclude_names;
	struct request_texts include_regexes;
	struct request_texts exclude_regexes;
};

/* The fields of the requests. */
struct profile_request {
	struct str type_id;
	struct str selector;
	struct str name; /* of a label */
	int64_t start;   /* in ms */
	int64_t end;
	struct request_texts matchers;
	struct request_texts label_names;
	struct request_texts group_by;
	double step; /* in seconds */
	int64_t max_nodes;
	bool has_max_nodes;
	int64_t limit;
	int64_t format;
	int64_t aggregation;
	int64_t exemplar_type;
	int64_t query_type; /* of a heat map */
	struct stack_selector stacks;
	struct request_texts profile_ids;
	struct request_texts trace_ids;
	struct request_texts span_ids;
	/* Of an uploaded file: its id, and what was uploaded; of two, the base is `id`. */
	struct str id;
	struct str other_id;
	struct str content;
	/* Of a difference: the requests of its sides. */
	struct bytes left;
	struct bytes right;
};

/* How the fields of a request are numbered. */
struct request_layout;

extern const struct request_layout request_range;
extern const struct request_layout request_label_names;
extern const struct request_layout request_label_values;
extern const struct request_layout request_series;
extern const struct request_layout request_select_series;
extern const struct request_layout request_heatmap;
extern const struct request_layout request_stacktraces;
extern const struct request_layout request_span_profile;
extern const struct request_layout request_profile;
extern const struct request_layout request_diff;
extern const struct request_layout request_upload;
extern const struct request_layout request_file;
extern const struct request_layout request_file_diff;

/*
 * Read a request from its wire format. ERR_INVALID: it is malformed, or a field
 * has more than REQUEST_LIST_MAX values, or there are more than REQUEST_LABELS_MAX
 * labels. A label that is asked for twice is in its list once. The caller calls
 * request_fini() in any case.
 */
NODISCARD int request_read(const struct request_layout *layout,
			   struct bytes message, struct profile_request *out,
			   struct err *err);

/* Free the lists. */
void request_fini(struct profile_request *r);

#endif
