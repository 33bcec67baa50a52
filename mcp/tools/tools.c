/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/tools.h"

/* An argument: its name, the parameter of the API, its help, and more members. */
#define ARG(name_, param_, ...)                                         \
	{                                                               \
		.name = (name_), .param = (param_), .help = __VA_ARGS__ \
	}

/* An argument that is a number, which the tool itself reads. */
#define ARG_NUMBER(name_, help_, usual_, min_, max_)                    \
	ARG(name_, NULL, (help_), .is_number = true, .usual = (usual_), \
	    .min = (min_), .max = (max_))

/* Arguments that several tools have. */
#define SELECTOR_HELP                                                      \
	"series, as in Prometheus: NAME{label=\"value\",other=~\"regular " \
	"expression\"}; list_series lists the names and jobs"
#define ARG_TIME(name_, help_) ARG(name_, name_, help_, .is_time = true)
#define ARG_RANGE                                                          \
	ARG_TIME("from",                                                   \
		 "begin of the time range, such as now-1h (the default), " \
		 "2026-11-30T09:00:00Z or a Unix time"),                   \
		ARG_TIME("to", "end of the time range (default: now)")
#define ARG_SORT                                                             \
	ARG("sort", "sort",                                                  \
	    "flat: by what a function uses itself; cum: with what it calls", \
	    .choices = "flat cum")
#define ARG_GROUP_BY                \
	ARG("group_by", "group_by", \
	    "labels of series, separated by commas, whose values become the outermost functions")
#define ARG_TYPE                                                        \
	ARG("sample_type", "sample_index",                              \
	    "which value of the profiles, such as cpu, alloc_space or " \
	    "inuse_space; the default is that of pprof")
#define ARG_FOCUS                                                        \
	ARG("focus", "focus",                                            \
	    "only stacks with a function, or a file, that matches this " \
	    "regular expression")
#define ARG_IGNORE                                                     \
	ARG("ignore", "ignore",                                        \
	    "no stacks with a function, or a file, that matches this " \
	    "regular expression")
#define ARG_TAGFOCUS                                                    \
	ARG("tagfocus", "tagfocus",                                     \
	    "only samples with this label, as key=regular expression; " \
	    "list_labels has the keys")
#define ARG_AGGREGATE                                               \
	ARG("aggregate", "aggregate",                               \
	    "how several profiles become one; auto decides by the " \
	    "meaning of the values",                                \
	    .choices = "auto sum mean delta last")
#define ARG_FUNCTION                                                \
	ARG("function", NULL,                                       \
	    "name of a function, or a regular expression of names", \
	    .required = true)
#define ARG_LIMIT(usual_) \
	ARG_NUMBER("limit", "largest number of rows", usual_, 1, 1000)
#define ARG_OFFSET ARG_NUMBER("offset", "rows to skip", 0, 0, 1000000)
#define ARG_TOKENS                                                        \
	ARG_NUMBER("max_tokens", "how long the answer may be, in tokens", \
		   4000, 500, 20000)

/* Arguments that stand together. */
#define ARG_FILTERS ARG_FOCUS, ARG_IGNORE, ARG_TAGFOCUS
#define ARG_PAGE    ARG_OFFSET, ARG_TOKENS

static const struct tool_arg series_args[] = {
	ARG("selector", "query", SELECTOR_HELP),
	ARG_RANGE,
	ARG_LIMIT(50),
	ARG_PAGE,
	{ .name = NULL },
};

static const struct tool_arg labels_args[] = {
	ARG("selector", "query", SELECTOR_HELP),
	ARG("label", NULL,
	    "list the values of this label; without it, all labels"),
	ARG("contains", NULL, "only names or values with this text"),
	ARG_RANGE,
	ARG_LIMIT(50),
	ARG_PAGE,
	{ .name = NULL },
};

static const struct tool_arg top_args[] = {
	ARG("selector", "query", SELECTOR_HELP, .required = true),
	ARG_RANGE,
	ARG_TYPE,
	ARG_SORT,
	ARG_FILTERS,
	ARG_GROUP_BY,
	ARG_AGGREGATE,
	ARG_LIMIT(30),
	ARG_PAGE,
	{ .name = NULL },
};

static const struct tool_arg peek_args[] = {
	ARG("selector", "query", SELECTOR_HELP, .required = true),
	ARG_FUNCTION,
	ARG_RANGE,
	ARG_TYPE,
	ARG_FILTERS,
	ARG_AGGREGATE,
	ARG_LIMIT(60),
	ARG_PAGE,
	{ .name = NULL },
};

static const struct tool_arg stacks_args[] = {
	ARG("selector", "query", SELECTOR_HELP, .required = true),
	ARG_RANGE,
	ARG_TYPE,
	ARG_FILTERS,
	ARG_AGGREGATE,
	ARG_NUMBER(
		"max_depth",
		"functions of a stack that are shown; of deeper stacks, the middle is left out",
		40, 4, 1000),
	ARG_LIMIT(10),
	ARG_PAGE,
	{ .name = NULL },
};

static const struct tool_arg diff_args[] = {
	ARG("selector_a", "query_a", "the series of side a, the base",
	    .required = true),
	ARG("from_a", "from_a", "begin of the time range of side a",
	    .is_time = true, .required = true),
	ARG_TIME(
		"to_a",
		"end of the time range of side a (default: where side b begins, if that is later; else now)"),
	ARG("selector_b", "query_b",
	    "the series of side b (default: those of side a)"),
	ARG_TIME(
		"from_b",
		"begin of the time range of side b (default: that of side a if selector_b is given; else now-1h)"),
	ARG_TIME(
		"to_b",
		"end of the time range of side b (default: that of side a if selector_b is given; else where side a begins, if that is later; else now)"),
	ARG_TYPE,
	ARG("normalize", "normalize",
	    "how the sides are made comparable: none; total multiplies side b so that both totals are equal, which shows shares; rate multiplies it so that both are values of one series in the same time, which shows whether a program uses more; auto: total for CPU time, rate for counters, none for memory in use",
	    .choices = "auto none total rate"),
	ARG_SORT,
	ARG_FILTERS,
	ARG_GROUP_BY,
	ARG_AGGREGATE,
	ARG_LIMIT(30),
	ARG_PAGE,
	{ .name = NULL },
};

static const struct tool_arg source_args[] = {
	ARG("selector", "query", SELECTOR_HELP, .required = true),
	ARG_FUNCTION,
	ARG_RANGE,
	ARG_TYPE,
	ARG_FILTERS,
	ARG_AGGREGATE,
	ARG_PAGE,
	{ .name = NULL },
};

const struct tool *tools_list(void)
{
	static const struct tool tools[] = {
		{ "list_series", "List series",
		  "Which profiles are stored: their names (process_cpu, memory, goroutine …), their services, how many series, and their sample types. Only series that have profiles in the time range are listed. Begin with this tool.",
		  series_args, tool_list_series },
		{ "list_labels", "List labels",
		  "The labels of series, or the values of a label, with the number of series; and the labels of samples, for tagfocus.",
		  labels_args, tool_list_labels },
		{ "top", "Heaviest functions",
		  "The functions that use most CPU time, memory or whatever the profiles count, of all selected profiles together: flat (the function itself) and cum (with what it calls).",
		  top_args, tool_top },
		{ "peek", "Callers and callees",
		  "Who calls a function, and what it calls, with their values.",
		  peek_args, tool_peek },
		{ "stacks", "Heaviest stacks",
		  "The call stacks with the largest values, the outermost function first.",
		  stacks_args, tool_stacks },
		{ "diff", "Compare",
		  "Which functions differ between two time ranges or two sets of series, such as before and after a deployment. Small differences may be noise.",
		  diff_args, tool_diff },
		{ "source", "Lines of source",
		  "The lines of functions with their values, and their text if the server has the source.",
		  source_args, tool_source },
		{ .name = NULL },
	};

	return tools;
}

const struct tool *tools_find(struct str name)
{
	for (const struct tool *t = tools_list(); t->name; t++) {
		if (str_is(name, t->name))
			return t;
	}
	return NULL;
}
