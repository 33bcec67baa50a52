/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/graph/report_options.h"

#include <math.h>
#include <stdlib.h>

/*
 * The kind of an option: determines how the text is parsed, and the type of the
 * option's field.
 */
enum option_kind {
	OPTION_TEXT,   /* any text, stored as struct str */
	OPTION_TEXTS,  /* texts, added to the array of struct str */
	OPTION_SWITCH, /* true or false, stored as bool */
	OPTION_COUNT,  /* integer from -1 on, stored as int64_t */
	OPTION_NUMBER, /* number, stored as double */
	OPTION_GRANULARITY,
	OPTION_SORT,
	OPTION_RECURSION,
	OPTION_END,
};

#define AT(field) offsetof(struct report_options, field)

/*
 * For each option, its kind and the offset of its field in struct
 * report_options. The option's name is in help[i], so both arrays must have the
 * same order.
 */
static const struct option {
	enum option_kind kind;
	size_t at;
	size_t max; /* OPTION_TEXTS: size of the array */
} options[] = {
	{ OPTION_TEXT, AT(sample_index), 0 },
	{ OPTION_TEXTS, AT(names.focus), FILTER_TEXTS },
	{ OPTION_TEXTS, AT(names.ignore), FILTER_TEXTS },
	{ OPTION_TEXTS, AT(names.hide), FILTER_TEXTS },
	{ OPTION_TEXTS, AT(names.show), FILTER_TEXTS },
	{ OPTION_TEXT, AT(names.show_from), 0 },
	{ OPTION_TEXT, AT(prune_from), 0 },
	{ OPTION_TEXTS, AT(under), UNDER_MAX },
	{ OPTION_RECURSION, AT(recursion), 0 },
	{ OPTION_TEXT, AT(tags.focus), 0 },
	{ OPTION_TEXT, AT(tags.ignore), 0 },
	{ OPTION_TEXT, AT(tags.show), 0 },
	{ OPTION_TEXT, AT(tags.hide), 0 },
	{ OPTION_TEXT, AT(tagroot), 0 },
	{ OPTION_TEXT, AT(symbol), 0 },
	{ OPTION_GRANULARITY, AT(granularity), 0 },
	{ OPTION_SWITCH, AT(noinlines), 0 },
	{ OPTION_SWITCH, AT(ignore_versions), 0 },
	{ OPTION_SWITCH, AT(symbolize), 0 },
	{ OPTION_SORT, AT(cum), 0 },
	{ OPTION_TEXT, AT(unit), 0 },
	{ OPTION_COUNT, AT(node_count), 0 },
	{ OPTION_NUMBER, AT(node_fraction), 0 },
	{ OPTION_NUMBER, AT(edge_fraction), 0 },
	{ OPTION_SWITCH, AT(trim), 0 },
	{ OPTION_SWITCH, AT(drop_negative), 0 },
	{ OPTION_SWITCH, AT(relative), 0 },
	{ OPTION_SWITCH, AT(mean), 0 },
	{ OPTION_NUMBER, AT(divide_by), 0 },
	{ OPTION_COUNT, AT(max_nodes), 0 },
	{ OPTION_SWITCH, AT(invert), 0 },
	{ OPTION_TEXT, AT(pivot), 0 },
	{ OPTION_END, 0, 0 },
};

/*
 * Name and help text of each option, whether it is a switch, and whether it can
 * be given several times.
 */
static const struct report_option_help help[] = {
	{ "sample_index", "Sample type, by name or by number from 0.", false,
	  false },
	{ "focus",
	  "Keep samples with a frame that matches the regexp; if given several times, all must match.",
	  false, true },
	{ "ignore", "Drop samples with a frame that matches the regexp.", false,
	  true },
	{ "hide", "Hide frames that match the regexp.", false, true },
	{ "show", "Show only frames that match the regexp.", false, true },
	{ "show_from", "Drop the callers of the outermost matching frame.",
	  false, false },
	{ "prune_from", "Drop the callees of matching frames.", false, false },
	{ "under",
	  "Keep stacks whose outermost frame is this one; give the option again for the next frame inwards, and so on.",
	  false, true },
	{ "recursion",
	  "direct: show a function that calls itself as one frame; all: also remove the frames between its calls.",
	  false, false },
	{ "tagfocus",
	  "Keep samples with a matching label: regexp, key=regexp, or a range such as 1kb:64kb.",
	  false, false },
	{ "tagignore", "Drop samples with a matching label.", false, false },
	{ "tagshow", "Keep only labels whose key matches the regexp.", false,
	  false },
	{ "taghide", "Drop labels whose key matches the regexp.", false,
	  false },
	{ "tagroot", "Label keys whose values become the outermost frames.",
	  false, false },
	{ "symbol", "peek, source: regexp of the functions to show.", false,
	  false },
	{ "granularity",
	  "Aggregate by functions, filefunctions, files, lines or addresses.",
	  false, false },
	{ "noinlines", "Attribute inlined functions to their caller.", true,
	  false },
	{ "ignore_versions",
	  "Leave the major versions of Go modules, such as /v2, out of function names.",
	  true, false },
	{ "symbolize",
	  "Name addresses without a function by the files of this machine (default true).",
	  true, false },
	{ "sort", "Sort by flat or cum.", false, false },
	{ "unit",
	  "Unit of values, such as MB or ms; minimum (default): choose a suitable one.",
	  false, false },
	{ "nodecount", "Maximum number of nodes.", false, false },
	{ "nodefraction",
	  "Drop nodes below this share of the total (default 0.005).", false,
	  false },
	{ "edgefraction",
	  "Drop edges below this share of the total (default 0.001).", false,
	  false },
	{ "trim",
	  "Apply nodecount, nodefraction and edgefraction (default true).",
	  true, false },
	{ "drop_negative", "Drop nodes with negative values.", true, false },
	{ "relative_percentages",
	  "Compute percentages of the total after filters.", true, false },
	{ "mean", "Show the mean: divide by the first sample type.", true,
	  false },
	{ "divide_by", "Divide all values by this number.", false, false },
	{ "max_nodes",
	  "flamegraph: maximum number of nodes (default 8192; 0: all).", false,
	  false },
	{ "invert", "flamegraph: grow from the innermost frames outwards.",
	  true, false },
	{ "pivot",
	  "flamegraph: begin at the outermost frame that matches the regexp; the JSON also has the callers of that frame.",
	  false, false },
	{ NULL, NULL, false, false },
};
_Static_assert(ARRAY_SIZE(help) == ARRAY_SIZE(options),
	       "one help text for each option");

const struct report_option_help *report_option_list(void)
{
	return help;
}

/*
 * Set pprof's defaults. Where a number is -1, each report chooses its own
 * default.
 */
void report_options_init(struct report_options *o)
{
	*o = (struct report_options){
		.node_count = -1,
		.node_fraction = 0.005,
		.edge_fraction = 0.001,
		.divide_by = 1,
		.max_nodes = -1,
		.trim = true,
		.symbolize = true,
	};
}

bool report_option_is_on(const struct report_options *o, size_t i)
{
	return options[i].kind == OPTION_SWITCH &&
	       *(const bool *)((const char *)o + options[i].at);
}

/* Return ERR_INVALID with a message that names the option and the value. */
static int report_options_fail_expected(struct err *err, struct str name,
					const char *what, struct str value)
{
	return err_set(err, ERR_INVALID, "%.*s must be %s, not \"%.*s\"",
		       STR_ARG(name), what, STR_ARG(value));
}

/* Whether s is one of the words of a NULL-terminated list. */
static bool any_of(struct str s, const char *const *words)
{
	for (; *words; words++) {
		if (str_is(s, *words))
			return true;
	}
	return false;
}

/*
 * Parse a switch. A switch without a value is on: "?trim" means "?trim=true".
 */
static bool parse_switch(struct str s, bool *out)
{
	static const char *const on[] = {
		"1", "t", "true", "y", "yes", "", NULL
	};
	static const char *const off[] = { "0", "f", "false", "n", "no", NULL };

	*out = any_of(s, on);
	return *out || any_of(s, off);
}

/* Parse a sort order: "flat" or "cum". Returns false for other texts. */
static bool parse_sort(struct str s, bool *cum)
{
	*cum = str_is(s, "cum");
	return *cum || str_is(s, "flat");
}

/*
 * Add a value to an array, which ends at its first empty string; an empty
 * value is ignored.
 */
static int add_text(const struct option *o, struct str *texts, struct str name,
		    struct str value, struct err *err)
{
	size_t n = 0;

	while (n < o->max && texts[n].len)
		n++;
	if (n == o->max)
		return err_set(err, ERR_INVALID,
			       "%.*s can be given at most %zu times",
			       STR_ARG(name), o->max);
	texts[n] = value;
	return 0;
}

/*
 * Parse a value according to the option's kind and store it in the field `at`.
 */
static int report_options_set_flag(const struct option *o, void *at,
				   struct str name, struct str value,
				   struct err *err)
{
	switch (o->kind) {
	case OPTION_TEXT:
		*(struct str *)at = value;
		return 0;
	case OPTION_TEXTS:
		return add_text(o, at, name, value, err);
	case OPTION_RECURSION:
		return recursion_parse(value, at) ?
			       0 :
			       report_options_fail_expected(
				       err, name, "direct or all", value);
	case OPTION_SWITCH:
		return parse_switch(value, at) ?
			       0 :
			       report_options_fail_expected(
				       err, name, "true or false", value);
	case OPTION_COUNT:
		return str_to_i64(value, at) && *(int64_t *)at >= -1 ?
			       0 :
			       report_options_fail_expected(
				       err, name,
				       "a whole number of at least -1", value);
	case OPTION_NUMBER:
		return str_to_double(value, at) ?
			       0 :
			       report_options_fail_expected(err, name,
							    "a number", value);
	case OPTION_SORT:
		return parse_sort(value, at) ?
			       0 :
			       report_options_fail_expected(
				       err, name, "flat or cum", value);
	case OPTION_GRANULARITY:
	case OPTION_END:
		break;
	}
	return granularity_parse(value, at, err);
}

int report_option(struct report_options *o, struct str name, struct str value,
		  struct err *err)
{
	for (size_t i = 0; help[i].name; i++) {
		if (str_is(name, help[i].name))
			return report_options_set_flag(
				&options[i], (char *)o + options[i].at, name,
				value, err);
	}
	return err_set(err, ERR_NOTFOUND, "unknown option \"%.*s\"",
		       STR_ARG(name));
}

/*
 * Only options that select samples or frames, or change stacks or labels, count
 * as filters.
 */
bool report_options_filter(const struct report_options *o)
{
	const struct name_filter *n = &o->names;

	return n->focus[0].len || n->ignore[0].len || n->hide[0].len ||
	       n->show[0].len || n->show_from.len || o->prune_from.len ||
	       o->under[0].len || o->recursion || o->ignore_versions ||
	       o->tags.focus.len || o->tags.ignore.len || o->tags.show.len ||
	       o->tags.hide.len || o->tagroot.len;
}
