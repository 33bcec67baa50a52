/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: what a person or a program wants to see of a profile. Options,
 * numbers, order and text are those of `go tool pprof` (google/pprof's
 * internal/driver and internal/report) for the reports that it has.
 *
 * Ownership: making a report changes the profile that it is given (filters
 * cut it down); a report borrows it and the texts of the options.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_H
#define PPROF_REPORT_H

#include "base/json.h"
#include "pprof/graph.h"
#include "pprof/report_options.h"

enum report_kind {
	REPORT_TOP,
	REPORT_TREE,
	REPORT_PEEK,
	REPORT_TRACES,
	REPORT_FOLDED,
	REPORT_FLAMEGRAPH,
	REPORT_SPEEDSCOPE,
	REPORT_DOT,
	REPORT_SOURCE,
};

/* A profile made ready to be reported. */
struct report {
	struct pprof *p;
	const struct report_options *o;
	enum report_kind kind;
	size_t value; /* which sample type */
	struct str type;
	struct str unit;
	struct str out_unit;
	int64_t total;
	struct tag_units units;
	struct nodes nodes;
	struct no_match unmatched;
};

/*
 * p is a merge's result (texts and stacks stand in it once). ERR_INVALID:
 * a bad option. report_fini() on success.
 */
NODISCARD int report_init(struct report *r, enum report_kind kind,
			  struct pprof *p, const struct report_options *o,
			  struct err *err);
void report_fini(struct report *r);
size_t report_memory(const struct report *r);

/* A report by name: as a document of its own, as JSON, or both. */
struct report_type {
	const char *name;
	enum report_kind kind;
	const char *content_type; /* of the document */
	const char *file;         /* a name for it, if it is to be saved */
	int (*write)(struct report *r, struct buf *out, struct err *err);
	int (*json)(struct report *r, struct json *j, struct err *err);
};

/*
 * ERR_INVALID: there is no such report, but these; others: what the caller has
 * beside them.
 */
int report_unknown(struct str name, const char *others, struct err *err);

/* NULL: there is no such report. */
const struct report_type *report_find(struct str name);

/* What pprof -top, -tree (and -peek) and -traces print. */
int report_top_text(struct report *r, struct buf *out, struct err *err);
int report_tree_text(struct report *r, struct buf *out, struct err *err);
int report_traces_text(struct report *r, struct buf *out, struct err *err);

/* {"sample_type","unit","total","rows":[{"name","file","flat","cum"}]} */
int report_top_json(struct report *r, struct json *j, struct err *err);

/* A line "outermost;…;leaf value" for each distinct stack. */
int report_folded(struct report *r, struct buf *out, struct err *err);

/*
 * Columns, depth first: "strings", "name" and "file" (of strings), "parent",
 * "self", "total_of"; of a diff with its sides apart "self_a", "total_of_a".
 */
int report_flamegraph_json(struct report *r, struct json *j, struct err *err);

/* A file for speedscope.app. */
int report_speedscope(struct report *r, struct buf *out, struct err *err);

/* The call graph for Graphviz. */
int report_dot(struct report *r, struct buf *out, struct err *err);

/* The same, drawn. ERR_UNSUPPORTED: Graphviz is not installed. */
int report_svg(struct report *r, struct buf *out, struct err *err);

/* By function and source line; the text where source_root has the file. */
int report_source(struct report *r, struct buf *out, struct err *err);

/* For the reports themselves. */

/* Whether a sample is of a diff's base. */
bool report_is_base(const struct pprof *p, size_t sample);

/* ERR_TOOBIG when out is over its maximum. */
NODISCARD int report_size(const struct buf *out, struct err *err);

/* A value as the report prints it. */
void report_value(const struct report *r, int64_t v, struct buf *out);

/* The same to the right of a column. */
void report_value_column(const struct report *r, int64_t v, int width,
			 struct buf *out);

/* The five columns of pprof's tables; *sum: of all flat values until here. */
void report_weight_columns(const struct report *r, int64_t flat, int64_t cum,
			   int64_t *sum, struct buf *out);

/* Text to the right of a column, counted in characters. */
void report_pad(struct str s, int width, struct buf *out);

/* "sample_type", "unit", "total" */
void report_head_json(const struct report *r, struct json *j);

/* "File: …", "Type: …" and so on, a line each. */
void report_profile_labels(const struct report *r, struct buf *out);

/* The graph that the options ask for, and the unit that fits it. */
NODISCARD int report_graph(struct report *r, struct graph *g, struct err *err);

/* The lines above a graph's table. */
void report_graph_labels(const struct report *r, const struct graph *g,
			 bool full, struct buf *out);

/* What a sample weighs in this report. */
int64_t report_weight(const struct report *r, size_t sample);

#endif
