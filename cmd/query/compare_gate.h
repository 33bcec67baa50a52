/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compare gate: the rules of everprof compare --fail-on, by which a comparison
 * passes, fails, or cannot be decided.
 *
 * Ownership: a rule owns its regular expression; texts are borrowed.
 * Threads: one thread.
 */
#ifndef CMD_QUERY_COMPARE_GATE_H
#define CMD_QUERY_COMPARE_GATE_H

#include "cmd/cli/api_client.h"

#include "base/buf.h"
#include "model/regex.h"

/* A rule: "cum>2%", "flat>0.5pp of ^parse", "total>5%". */
struct gate_rule {
	const char *text;
	char what[8];        /* cum, flat or total */
	double limit;        /* as a fraction: 0.02 for 2 % */
	bool points;         /* of the total, not of the function's own value */
	struct regex *regex; /* of function names; NULL: all functions */
};

/* How a comparison ends; the values are exit codes. */
enum gate_verdict {
	GATE_PASS = 0,      /* no such change, and it would have been seen */
	GATE_CHANGE = 1,    /* there is such a change */
	GATE_UNDECIDED = 3, /* there may be one that cannot be seen */
};

/* Parse a rule. ERR_INVALID: the text is none; the message has an example. */
NODISCARD int gate_parse(const char *text, struct gate_rule *out,
			 struct err *err);

/* Free the regular expression of a rule. */
void gate_fini(struct gate_rule *r);

/*
 * Judge a comparison (data of report=compare). Appends one line to `why` that
 * tells the reason. ERR_INVALID: the rule makes no sense for it.
 */
NODISCARD int gate_judge(const struct gate_rule *r, json_t *data,
			 enum gate_verdict *out, struct buf *why,
			 struct err *err);

#endif
