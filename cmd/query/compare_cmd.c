/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof compare: which functions changed by more than noise, between two time
 * ranges, selectors or sets of files; with --fail-on a gate for builds.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/api_client.h"
#include "cmd/cli/console.h"
#include "cmd/cli/output.h"
#include "cmd/query/compare_files.h"
#include "cmd/query/compare_gate.h"
#include "cmd/query/compare_print.h"
#include "cmd/query/query_fetch.h"

/* Exit code of errors: 1 is a change. */
#define COMPARE_FAILED 2

/* The flags and the result of a comparison. */
struct compare_command {
	struct query_command j;
	const char *by;
	const char *alpha;
	const char *block;
	int64_t min_samples;
	const char *format;
	struct flag_texts base_files;
	struct flag_texts fail_on;
	const char *undecided;
	struct gate_rule rules[FLAG_TEXTS_MAX];
	size_t rule_count;
	double alpha_value;
	json_t *root; /* owns data */
	json_t *data;
};

/* Check the flags that have a few possible values. */
static int compare_check(struct compare_command *c, struct err *err)
{
	char *end;

	c->alpha_value = strtod(c->alpha, &end);
	if (*end || !(c->alpha_value > 0) || c->alpha_value > 0.5)
		return err_set(
			err, ERR_INVALID,
			"--alpha must be above 0 and at most 0.5, not \"%s\"",
			c->alpha);
	if (strcmp(c->format, "text") != 0 &&
	    strcmp(c->format, "markdown") != 0 &&
	    strcmp(c->format, "json") != 0)
		return err_set(
			err, ERR_INVALID,
			"--format must be text, markdown or json, not \"%s\"",
			c->format);
	if (strcmp(c->undecided, "fail") != 0 &&
	    strcmp(c->undecided, "pass") != 0)
		return err_set(err, ERR_INVALID,
			       "--undecided must be fail or pass, not \"%s\"",
			       c->undecided);
	for (size_t i = 0; i < c->fail_on.count; i++) {
		int rc = gate_parse(c->fail_on.v[i], &c->rules[i], err);

		c->rule_count += !rc;
		if (rc)
			return rc;
	}
	return 0;
}

/* Compare files of this machine. */
static int compare_read_files(struct compare_command *c, int argc, char **argv,
			      struct err *err)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct report_options options;
	struct compare_files o = {
		.paths = { c->base_files.v, (const char *const *)argv },
		.counts = { c->base_files.count, (size_t)argc },
		.by_kind = !strcmp(c->by, "auto"),
		.alpha = c->alpha_value,
		.min_samples = (double)c->min_samples,
		.options = &options,
	};
	int rc = report_flags_options(&c->j.options, &options, err);

	if (!rc && !o.by_kind)
		rc = compare_by_parse(str_of(c->by), &o.by, err);
	if (!rc)
		rc = compare_files(&o, &out, err);
	if (rc)
		return rc;
	c->root = json_loadb((char *)out.ptr, out.len, JSON_ALLOW_NUL, NULL);
	c->data = c->root;
	return c->root ?
		       0 :
		       err_set(err, ERR_INVALID,
			       "the result of the comparison is not valid JSON, which is a mistake in everprof");
}

/* report_flags_each() callback. */
static void compare_option(void *ctx, const char *name, const char *value)
{
	struct compare_command *c = ctx;

	/* A gate has to see all functions. */
	if (!c->rule_count || strcmp(name, "nodecount") != 0)
		query_param(&c->j.q, name, value);
}

/* Ask a server, or a data directory. */
static int compare_ask(struct compare_command *c, int argc, char **argv,
		       struct err *err)
{
	struct query_command *j = &c->j;
	char number[24];

	snprintf(number, sizeof(number), "%lld", (long long)c->min_samples);
	query_path(&j->q, "/api/v1/query?mode=diff");
	query_fetch_sides(j, argv[0], argc > 1 ? argv[1] : argv[0]);
	query_param(&j->q, "report", "compare");
	query_param(&j->q, "by", c->by);
	query_param(&j->q, "alpha", c->alpha);
	query_param(&j->q, "block", c->block);
	query_param(&j->q, "min_samples", number);
	query_param(&j->q, "group_by", j->group_by);
	report_flags_each(&j->options, compare_option, c);
	return query_ask(&j->q, &c->root, &c->data, err);
}

/* Judge by all rules; the worst verdict counts. */
static int compare_judge(const struct compare_command *c, int *code,
			 struct buf *why, struct err *err)
{
	bool changed = false;
	bool undecided = false;
	int rc = 0;

	for (size_t i = 0; i < c->rule_count && !rc; i++) {
		enum gate_verdict v = GATE_PASS;

		rc = gate_judge(&c->rules[i], c->data, &v, why, err);
		changed |= v == GATE_CHANGE;
		undecided |= v == GATE_UNDECIDED;
	}
	*code = changed ? GATE_CHANGE :
		undecided && strcmp(c->undecided, "pass") != 0 ?
			  GATE_UNDECIDED :
			  GATE_PASS;
	return rc;
}

/* Write the answer in the format that was asked for. */
static int compare_write(const struct compare_command *c, struct str verdicts,
			 struct err *err)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	const char *output = *c->j.output ? c->j.output : "-";
	char *json;

	if (!strcmp(c->format, "json")) {
		json = json_dumps(c->data, JSON_COMPACT);
		buf_printf(&out, "%s\n", json);
		free(json);
	} else if (!strcmp(c->format, "markdown")) {
		compare_print_markdown(c->data, verdicts, &out);
	} else {
		compare_print_text(c->data, &out);
		buf_add(&out, verdicts.ptr, verdicts.len);
	}
	return output_save(output, strcmp(c->format, "json") != 0,
			   buf_bytes(&out), err);
}

/* Compare, judge and write; *code is the exit code of a success. */
static int compare_work(struct compare_command *c, int argc, char **argv,
			int *code, struct err *err)
{
	CLEANUP(buf_fini) struct buf why = { 0 };
	int rc = compare_check(c, err);

	if (!rc && c->base_files.count)
		rc = compare_read_files(c, argc, argv, err);
	else if (!rc)
		rc = compare_ask(c, argc, argv, err);
	if (!rc)
		rc = compare_judge(c, code, &why, err);
	if (!rc)
		rc = compare_write(c, str_from(buf_bytes(&why)), err);
	return rc;
}

/* List the flags of this command alone. */
static void compare_flags(struct compare_command *c)
{
	const struct flag flags[] = {
		{ "group_by", FLAG_TEXT, &c->j.group_by, NULL,
		  "Labels that become the outermost frames, separated by commas." },
		{ "base-files", FLAG_TEXTS, &c->base_files, NULL,
		  "Compare files with this file, or with all files of this folder; each file is a run. Can be repeated." },
		{ "by", FLAG_TEXT, &c->by, "auto",
		  "What is compared: share, rate (per second) or level; auto takes the share of values that count for a time, else the level." },
		{ "fail-on", FLAG_TEXTS, &c->fail_on, NULL,
		  "Exit with 1 if a value grew by more, such as cum>2%, flat>0.5pp of REGEX or total>5%; with 3 if that could not have been seen. Can be repeated." },
		{ "undecided", FLAG_TEXT, &c->undecided, "fail",
		  "What follows if a change could not have been seen: fail (exit 3) or pass." },
		{ "alpha", FLAG_TEXT, &c->alpha, "0.01",
		  "Probability that anything is called a change by chance alone." },
		{ "min_samples", FLAG_INT, &c->min_samples, "10",
		  "Do not test functions with fewer samples." },
		{ "block", FLAG_TEXT, &c->block, "auto",
		  "Length of the blocks of time whose spread tells what noise is, such as 30s." },
		{ "format", FLAG_TEXT, &c->format, "text",
		  "text, markdown or json." },
	};

	c->by = "auto";
	c->alpha = "0.01";
	c->block = "auto";
	c->format = "text";
	c->undecided = "fail";
	c->min_samples = 10;
	query_fetch_init(&c->j);
	query_fetch_add_server(&c->j);
	query_fetch_add_range(&c->j, false);
	query_fetch_add_base(&c->j, true);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		query_fetch_add_flag(&c->j, flags[i]);
	c->j.flag_count =
		(size_t)(report_flags_list(&c->j.options,
					   c->j.flags + c->j.flag_count) -
			 c->j.flags);
}

int cmd_compare(int argc, char **argv)
{
	static const struct usage u = {
		"compare SELECTOR [BASE-SELECTOR] | FILE… --base-files=FILE [FLAGS]",
		"Say which functions changed by more than noise: since another time range, between two\n"
		"selectors, or between two sets of pprof files, of at least five runs each.\n\n"
		"Exit codes: 0; with --fail-on, 1 if there is such a change, and 3 if it could not have\n"
		"been seen; 2 for any error.",
		1, 1000000
	};
	struct compare_command *c = mem_new(struct compare_command);
	struct err err;
	int code;
	int rc = 0;

	compare_flags(c);
	code = cmd_begin(&u, c->j.flags, &argc, argv);
	if (code < 0 && !c->base_files.count && argc > 2) {
		console_say(
			"two selectors at most; to compare files, give --base-files (see --help)");
		code = COMPARE_FAILED;
	}
	if (code < 0 && !c->base_files.count)
		code = query_fetch_check_base(&c->j, argc) ?: -1;
	if (code < 0)
		rc = compare_work(c, argc, argv, &code, &err);
	if (rc) {
		(void)cmd_fail(&err);
		code = COMPARE_FAILED;
	}
	for (size_t i = 0; i < c->rule_count; i++)
		gate_fini(&c->rules[i]);
	json_decref(c->root);
	query_fini(&c->j.q);
	mem_free(c);
	return code;
}
