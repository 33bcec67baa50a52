/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/query/compare_gate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"

enum {
	NAME_SHOWN = 200, /* longest name in a verdict, in bytes */
};

static int compare_gate_refuse(const char *text, const char *what,
			       struct err *err)
{
	return err_set(
		err, ERR_INVALID,
		"--fail-on=\"%s\": %s; write for example \"cum>2%%\", \"flat>0.5pp of ^parse\" or \"total>5%%\"",
		text, what);
}

/* Refuse a well-formed rule that does not fit the comparison. */
static int compare_gate_unfit(const char *text, const char *why,
			      struct err *err)
{
	return err_set(err, ERR_INVALID, "--fail-on=\"%s\": %s", text, why);
}

int gate_parse(const char *text, struct gate_rule *out, struct err *err)
{
	static const char *const names[] = { "cum", "flat", "total" };
	const char *at = strchr(text, '>');
	struct str what = { text, at ? (size_t)(at - text) : strlen(text) };
	bool known = false;
	char *end;
	int rc;

	*out = (struct gate_rule){ .text = text };
	what = str_trim(what);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!str_is(what, names[i]))
			continue;
		known = true;
		memcpy(out->what, names[i], strlen(names[i]) + 1);
	}
	if (!at || !known)
		return compare_gate_refuse(
			text, "the rule must begin with cum>, flat> or total>",
			err);
	out->limit = strtod(at + 1, &end) / 100;
	if (end == at + 1 || !isfinite(out->limit) || out->limit <= 0)
		return compare_gate_refuse(
			text, "a number above 0 must follow the >", err);
	out->points = !strncmp(end, "pp", 2);
	if (!out->points && *end != '%')
		return compare_gate_refuse(
			text, "% or pp must follow the number", err);
	end += out->points ? 2 : 1;
	if (!*end)
		return 0;
	if (strncmp(end, " of ", 4) != 0 || !strcmp(out->what, "total"))
		return compare_gate_refuse(
			text,
			"only \" of REGEX\" may follow % or pp, and a rule for \"total\" must end there",
			err);
	rc = regex_new_search(str_of(end + 4), &out->regex, err);
	return rc ? err_wrap(err, rc, "--fail-on=\"%s\"", text) : 0;
}

void gate_fini(struct gate_rule *r)
{
	regex_free(r->regex);
}

static double gate_number(json_t *object, const char *key)
{
	json_t *v = json_object_get(object, key);

	/* The answer has null in place of a number that is not known. */
	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

/* What the rows of a comparison say about a rule. */
struct gate_findings {
	double points; /* the value of one point; 0: there is no total */
	size_t matched;
	size_t changed;
	const char *change; /* the function that changed most */
	double most;        /* its difference */
	double change_base; /* its value before */
	size_t hidden;      /* functions in which a change may hide */
	const char *worst;  /* the one in which most may hide */
	double excess;      /* by how much that is more than the limit */
	size_t few;         /* functions with too few samples */
};

/*
 * Note a value in which a change may hide; `ratio` is by how much the uncertainty is
 * too large.
 */
static void note_hidden(struct gate_findings *f, const char *name, double ratio)
{
	f->hidden++;
	if (!f->worst || !(ratio <= f->excess)) {
		f->worst = name;
		f->excess = ratio;
	}
}

/*
 * Note a value with too few samples for a test. A part of the total that is within
 * the limit anyway decides. Percents of its own value could be anything: they count
 * if somebody asks for this function by name.
 */
static void note_untested(const struct gate_rule *r, struct gate_findings *f,
			  const char *name, json_t *v, double limit)
{
	f->few++;
	if (r->points ? !(gate_number(v, "b") <= limit) : r->regex != NULL)
		note_hidden(f, name, (double)INFINITY);
}

/* Note what one value says. */
static void note_value(const struct gate_rule *r, struct gate_findings *f,
		       const char *name, json_t *v)
{
	double base = gate_number(v, "a");
	double limit = r->limit * (r->points ? f->points : base);
	double delta = gate_number(v, "delta");
	double interval = gate_number(v, "interval");
	double visible = gate_number(v, "visible");

	f->matched++;
	if (!json_is_true(json_object_get(v, "tested"))) {
		note_untested(r, f, name, v, limit);
	} else if (!json_is_true(json_object_get(v, "sure"))) {
		if (!(visible <= limit))
			note_hidden(f, name, visible / limit);
	} else if (delta > limit) {
		f->changed++;
		if (delta > f->most) {
			f->most = delta;
			f->change = name;
			f->change_base = base;
		}
	} else if (!(delta + interval <= limit)) {
		note_hidden(f, name, interval / (limit - delta));
	}
}

/* Look at all functions that the rule is about. */
static void note_rows(const struct gate_rule *r, json_t *data,
		      struct gate_findings *f)
{
	json_t *row;
	size_t i;

	if (!strcmp(r->what, "total")) {
		note_value(r, f, "the total", json_object_get(data, "total"));
		return;
	}
	json_array_foreach(json_object_get(data, "rows"), i, row)
	{
		const char *name =
			json_string_value(json_object_get(row, "name"));

		if (!r->regex || regex_matches(r->regex, str_of(name)))
			note_value(r, f, name, json_object_get(row, r->what));
	}
}

/* Refuse a rule that makes no sense for this comparison. */
static int gate_check(const struct gate_rule *r, json_t *data, struct err *err)
{
	if (json_is_true(json_object_get(data, "drift")))
		return compare_gate_unfit(
			r->text,
			"values that are a state, such as memory in use, drift even if no program changes; compare files of several runs instead (--base-files)",
			err);
	if (!strcmp(r->what, "total") && !json_object_get(data, "total"))
		return compare_gate_unfit(
			r->text,
			"the total of shares is always 100 %; add --by=rate",
			err);
	return 0;
}

/* Append the name of a function, on one line. */
static void gate_append_name(struct buf *why, const char *name)
{
	struct str shown = str_clip(str_of(name ? name : ""), NAME_SHOWN);

	printable_add(why, shown);
	if (name && shown.len < strlen(name))
		buf_str(why, "…");
}

/* Why nothing can be said of any function; NULL if there is no reason. */
static const char *gate_doubt(json_t *data)
{
	if (json_is_true(json_object_get(data, "few_buckets")))
		return json_object_get(data, "bucket_seconds") ?
			       "there are too few blocks of time for a judgement: take longer time ranges" :
			       "there are too few files for a judgement: take more files";
	if (json_integer_value(json_object_get(data, "damaged")))
		return "some profiles could not be read";
	if (json_is_true(json_object_get(data, "bursty")))
		return "the load changes so slowly that these time ranges do not average it out: take longer time ranges";
	return NULL;
}

/*
 * Say why nothing can be said: for a reason that concerns all functions, or, if it
 * is NULL, because a change may hide in some of them.
 */
static void say_undecided(const struct gate_rule *r,
			  const struct gate_findings *f, const char *reason,
			  struct buf *why)
{
	buf_printf(why, "undecided: %s: ", r->text);
	if (reason)
		buf_printf(why, "%s\n", reason);
	else if (!f->hidden)
		buf_str(why, "there are too few samples\n");
	else {
		if (strcmp(r->what, "total") != 0)
			buf_printf(why, "a change may hide in %zu function%s; ",
				   f->hidden, f->hidden == 1 ? "" : "s");
		gate_append_name(why, f->worst);
		if (isfinite(f->excess))
			buf_printf(
				why,
				" needs %.3g times as many samples to show it\n",
				f->excess * f->excess);
		else
			buf_str(why, " has too few samples\n");
	}
}

int gate_judge(const struct gate_rule *r, json_t *data, enum gate_verdict *out,
	       struct buf *why, struct err *err)
{
	json_t *total = json_object_get(data, "total");
	const char *reason = gate_doubt(data);
	struct gate_findings f = { .points = total ? gate_number(total, "a") :
						     1 };
	int rc = gate_check(r, data, err);

	if (!rc)
		note_rows(r, data, &f);
	if (!rc)
		rc = regex_check_steps(r->regex, "--fail-on", err);
	if (rc)
		return rc;
	if (!f.matched)
		return compare_gate_unfit(
			r->text,
			r->regex ?
				"no function of the comparison matches the regex" :
				"the comparison has no functions",
			err);
	if (f.changed) {
		*out = GATE_CHANGE;
		buf_printf(why, "changed: %s: ", r->text);
		if (strcmp(r->what, "total") != 0)
			buf_printf(
				why,
				"%zu function%s, the largest change is that of ",
				f.changed, f.changed == 1 ? "" : "s");
		gate_append_name(why, f.change);
		buf_str(why, strcmp(r->what, "total") ? ", " : " ");
		if (f.change_base > 0)
			buf_printf(why, "by %+.1f %%\n",
				   100 * f.most / f.change_base);
		else
			buf_str(why, "(new)\n");
	} else if (reason || f.hidden || f.few == f.matched) {
		*out = GATE_UNDECIDED;
		say_undecided(r, &f, reason, why);
	} else {
		*out = GATE_PASS;
		buf_printf(
			why,
			"passed: %s: a change of that size would have been seen",
			r->text);
		if (f.few)
			buf_printf(
				why,
				"; functions with too few samples to be tested: %zu",
				f.few);
		buf_byte(why, '\n');
	}
	return 0;
}
