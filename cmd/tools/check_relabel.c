/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof check relabel: what the relabelling rules of a job do to a target,
 * step by step. It uses the functions of the scraper, so that it shows what the
 * scraper does.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/serve/config.h"
#include "model/selector.h"
#include "scrape/target/discovered.h"

/* A copy of all labels of a target before or after a rule, sorted by name. */
struct moment {
	struct label *v;
	size_t count;
};

/*
 * Copy the current labels into an array, the member `v`, which the caller
 * frees. The texts of the labels still point into the builder's memory, which
 * stays unchanged until the builder is released.
 */
static struct moment moment_of(const struct labels_builder *b)
{
	struct moment m = { .v = mem_zalloc(b->count + 1, sizeof(*m.v)),
			    .count = b->count };

	if (b->count)
		memcpy(m.v, b->v, b->count * sizeof(*m.v));
	qsort(m.v, m.count, sizeof(*m.v), label_by_name);
	return m;
}

static void check_relabel_print_label(char sign, const struct label *l)
{
	console_line(stdout, "  %c %.*s=\"%.*s\"", sign, STR_ARG(l->name),
		     STR_ARG(l->value));
}

/*
 * Print the labels that were removed, changed or added between `a` and `b`.
 * Returns false if there are none.
 */
static bool print_changes(const struct moment *a, const struct moment *b)
{
	bool any = false;
	size_t i = 0;
	size_t k = 0;

	while (i < a->count || k < b->count) {
		int order = i == a->count ? 1 :
			    k == b->count ? -1 :
					    label_by_name(&a->v[i], &b->v[k]);

		if (!order && str_eq(a->v[i].value, b->v[k].value)) {
			i++;
			k++;
			continue;
		}
		any = true;
		if (order <= 0)
			check_relabel_print_label('-', &a->v[i++]);
		if (order >= 0)
			check_relabel_print_label('+', &b->v[k++]);
	}
	return any;
}

/*
 * Apply a rule and print its effect. Returns RELABEL_KEPT, RELABEL_DROPPED, or
 * the negative error of relabel_apply().
 */
static int show_rule(const struct config *c, const struct relabel_rule *r,
		     size_t number, struct labels_builder *b, struct err *err)
{
	struct moment before = moment_of(b);
	struct moment after;
	int rc = relabel_apply(r, b, err);

	console_line(stdout, "rule %zu, %s at %s:%u:%u", number,
		     relabel_action_name(r->action), c->path, r->node->line,
		     r->node->column);
	after = moment_of(b);
	if (rc == RELABEL_DROPPED)
		printf("    the target is dropped\n");
	else if (rc == RELABEL_KEPT && !print_changes(&before, &after))
		printf("    no change\n");
	mem_free(before.v);
	mem_free(after.v);
	return rc;
}

/*
 * Print the target that the labels make. Returns 1 if the labels do not make a
 * target, otherwise 0.
 */
static int show_result(const struct job_labels *job, size_t type,
		       struct labels_builder *b)
{
	struct target_spec spec;
	struct buf text = { 0 };
	struct err err;

	if (target_spec_make(job, type, b, &spec, &err)) {
		console_line(stdout, "no target: %s", err.msg);
		return 1;
	}
	labels_text(spec.labels, &text);
	console_line(stdout, "target: %s", buf_cstr(&text));
	console_line(stdout, "  url %s", spec.url);
	printf("  interval %lld ms, timeout %lld ms\n",
	       (long long)spec.interval_ms, (long long)spec.timeout_ms);
	buf_fini(&text);
	target_spec_fini(&spec);
	return 0;
}

/*
 * Show one target: its discovered labels, the effect of each rule, and its URL.
 * Returns the exit code.
 */
static int show_target(const struct config *c, const struct scrape_config *s,
		       const struct job_labels *job,
		       const struct target_group *g,
		       const struct label_list *target, size_t type)
{
	static const struct moment nothing;
	struct labels_builder b = { 0 };
	struct moment first;
	bool is_index = job_labels_is_index(job, type);
	struct err err;
	int rc = RELABEL_KEPT;
	int code = 0;

	discovered_labels(job, g, target, type, &b);
	first = moment_of(&b);
	printf("discovered labels\n");
	print_changes(&nothing, &first);
	mem_free(first.v);
	for (size_t i = 0; i < s->relabel.count && rc == RELABEL_KEPT; i++) {
		const struct relabel_rule *r = &s->relabel.v[i];

		if (is_index && relabel_judges_by(r, str_of(LABEL_NAME)))
			printf("rule %zu is skipped: it applies to profile types, not to the profile list\n",
			       i + 1);
		else
			rc = show_rule(c, r, i + 1, &b, &err);
	}
	if (rc < 0)
		console_line(stdout, "no target: %s", err.msg);
	if (rc < 0 || (rc == RELABEL_KEPT && show_result(job, type, &b)))
		code = 1;
	labels_builder_fini(&b);
	return code;
}

/*
 * Find the index of a profile type in job->types. ERR_NOTFOUND: the job does
 * not scrape that type.
 */
static int find_type(const struct scrape_config *s, struct job_labels *job,
		     struct arena *a, const char *type, size_t *out,
		     struct err *err)
{
	const struct indexed_type any = { str_of(type), str_of(type) };
	struct table known = { 0 };

	/* With "pprof_config: auto" a target may name any type. */
	if (s->auto_profiles) {
		*out = job_labels_type(job, s, a, &known, &any);
		table_fini(&known);
		return 0;
	}
	for (size_t i = 0; i < job->type_count; i++) {
		*out = i;
		if (str_is(job->types[i].v[0].value, type))
			return 0;
	}
	return err_set(
		err, ERR_NOTFOUND,
		"job %.*s does not scrape the profile type \"%s\": choose another one with --type",
		STR_ARG(s->job_name), type);
}

/*
 * Show the target given on the command line, or all static targets of the job.
 * Returns the exit code.
 */
static int show_all(const struct config *c, const struct scrape_config *s,
		    const struct job_labels *job, size_t type,
		    const struct label_list *given)
{
	static const struct target_group none;
	struct err err;
	int code = 0;

	if (given->count)
		return show_target(c, s, job, &none, given, type);
	if (!s->statics) {
		err_set(&err, ERR_INVALID,
			"job %.*s has no static_configs: pass the labels of a target, such as '{__address__=\"host:1\"}'",
			STR_ARG(s->job_name));
		return cmd_fail(&err);
	}
	for (size_t i = 0; i < s->statics->count; i++) {
		const struct target_group *g = &s->statics->v[i];

		for (size_t k = 0; k < g->target_count; k++) {
			code |= show_target(c, s, job, g, &g->targets[k], type);
			putchar('\n');
		}
	}
	return code;
}

/* The job with this name, or NULL. */
static const struct scrape_config *
check_relabel_find_job(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->scrape.count; i++) {
		if (str_is(c->scrape.v[i].job_name, name))
			return &c->scrape.v[i];
	}
	return NULL;
}

/*
 * Parse {name="value", …} as the labels of a target; they live in the arena of
 * `sel`. ERR_INVALID: the text is not a list of labels, or has no address.
 */
static int check_relabel_parse_labels(const char *text, struct selector *sel,
				      struct label_list *out, struct err *err)
{
	int rc = selector_parse(str_of(text), sel, err);
	bool has_address = false;

	if (rc)
		return err_wrap(err, rc, "the labels of the target");
	out->v = arena_array(&sel->arena, struct label, sel->count);
	for (size_t i = 0; i < sel->count; i++) {
		if (sel->matchers[i].op != MATCH_EQ)
			return err_set(
				err, ERR_INVALID,
				"the labels of the target must have the form name=\"value\"");
		has_address |= str_is(sel->matchers[i].name, "__address__");
		out->v[out->count++] = (struct label){ sel->matchers[i].name,
						       sel->matchers[i].value };
	}
	if (!has_address)
		return err_set(
			err, ERR_INVALID,
			"the label __address__ is missing: pass, for example, '{__address__=\"host:1\"}'");
	return 0;
}

/*
 * Find the job and the profile type, and show the targets. Returns the exit
 * code.
 */
static int check_relabel_check(const struct config *c, const char *name,
			       const char *type, const struct label_list *given)
{
	const struct scrape_config *s = check_relabel_find_job(c, name);
	struct arena arena = { 0 };
	struct job_labels job;
	struct err err;
	size_t at = 0;
	int code;

	if (!s) {
		err_set(&err, ERR_NOTFOUND, "%s has no job \"%s\"", c->path,
			name);
		return cmd_fail(&err);
	}
	job_labels_make(s, &arena, &job);
	if (find_type(s, &job, &arena, type, &at, &err))
		code = cmd_fail(&err);
	else
		code = show_all(c, s, &job, at, given);
	arena_fini(&arena);
	return code;
}

int cmd_check_relabel(int argc, char **argv)
{
	const char *type = "heap";
	const struct flag flags[] = {
		{ "type", FLAG_TEXT, &type, "heap",
		  "Profile type of the targets to show." },
		{ 0 },
	};
	static const struct usage u = {
		"check relabel FILE JOB ['{__address__=\"host:1\",…}'] [FLAGS]",
		"Show how the relabel_configs of a job change the labels of a target, rule by rule:\n"
		"+ marks a label that is added, - one that is removed. Without labels on the command\n"
		"line, show all targets of static_configs.",
		2, 3
	};
	struct label_list given = { 0 };
	struct selector sel = { 0 };
	struct config c;
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);

	if (code >= 0)
		return code;
	if (argc == 3 &&
	    check_relabel_parse_labels(argv[2], &sel, &given, &err)) {
		selector_fini(&sel);
		return cmd_fail(&err);
	}
	if (config_drain(&c, argv[0], &err)) {
		config_report(&c);
		code = c.yaml.error_count ? 1 : cmd_fail(&err);
	} else {
		code = check_relabel_check(&c, argv[1], type, &given);
	}
	config_fini(&c);
	selector_fini(&sel);
	return code;
}
