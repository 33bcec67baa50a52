/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Render: the older API of Pyroscope, which Profiles Drilldown uses beside the
 * newer one: a flame graph with a timeline, or the flame graph of two sides, as
 * JSON of its own form.
 *
 * Source: github.com/grafana/pyroscope, pkg/querier/http.go and
 * pkg/og/structs/flamebearer.
 *
 * Threads: any; one thread per call.
 */
#ifndef PYROSCOPE_ANSWER_ANSWER_RENDER_H
#define PYROSCOPE_ANSWER_ANSWER_RENDER_H

#include "base/json.h"
#include "pyroscope/answer/call.h"

/* What is rendered: TYPE{SELECTOR} in a range. */
struct render_side {
	struct str query;
	int64_t from; /* in ms */
	int64_t until;
};

/* The parameters of a request. */
struct render_request {
	struct render_side side;
	struct render_side
		right; /* of a difference, whose left side is `side` */
	bool is_diff;
	struct str
		group_by;  /* label by which the timeline is split; or empty */
	int64_t max_nodes; /* 0: the default */
};

/*
 * Write the answer to c->out as JSON; c->request is not used. Errors as for
 * pyroscope_run().
 */
NODISCARD int answer_render(struct pyroscope_call *c,
			    const struct render_request *r, struct err *err);

/*
 * Append a flame graph (the message FlameGraph, or FlameGraphDiff) to c->out in the same
 * form, without a timeline. Errors of query_take().
 */
NODISCARD int answer_render_file(struct pyroscope_call *c, struct bytes flame,
				 const struct value_type *value, bool is_diff,
				 struct err *err);

/* The same as text in the language DOT, of one side. */
NODISCARD int answer_render_dot(struct pyroscope_call *c,
				const struct render_request *r,
				struct err *err);

#endif
