/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/core/provider.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml_json.h"

void provider_found(struct provider *p, const struct target_groups_list *groups)
{
	/*
	 * Drop the old list last, so that a group that both lists contain never
	 * loses its last reference.
	 */
	struct target_groups_list old = p->found;

	p->found = (struct target_groups_list){ 0 };
	target_groups_share(&p->found, groups);
	target_groups_list_fini(&old);
	p->asked = true;
	p->changed = true;
}

void provider_found_one(struct provider *p, struct target_groups *g)
{
	struct target_groups_list all = { 0 };

	*vec_add(&all) = g;
	provider_found(p, &all);
	target_groups_list_fini(&all);
}

void provider_failed(struct provider *p, const char *what,
		     const struct err *err)
{
	/*
	 * The first failure counts as a change: the manager reports a job only
	 * when each of its providers has had a result or a failure, so jobs may
	 * have waited for this provider.
	 */
	p->changed |= !p->asked;
	p->asked = true;
	p->failure = (struct provider_failure){ .err = *err,
						.at_ms = clock_ms(NULL),
						.at_ns = clock_mono_ns() };
	snprintf(p->failure.source, sizeof(p->failure.source), "%s", what);
	metric_add(p->failures, 1);
	log_event(
		p->log, LOG_WARN,
		"service discovery failed; targets that it found earlier are kept, unless err says that some are left out",
		LOG_FIELDS(log_text("discovery", p->kind->name),
			   log_text("source", what),
			   log_int("config_line", p->line), log_err(err)));
}

void provider_recovered(struct provider *p)
{
	p->failure = (struct provider_failure){ 0 };
}

void provider_refreshed(struct provider *p)
{
	if (p->failure.at_ns < p->begun_ns)
		provider_recovered(p);
	p->begun_ns = 0;
}

/*
 * Log at LOG_INFO: most lists of targets change rarely. Kinds whose lists
 * change often do not call this function for each change.
 */
void provider_tell(const struct provider *p, const char *what,
		   const struct target_groups *g)
{
	log_event(
		p->log, LOG_INFO,
		g ? "service discovery has a new list of targets" :
		    "service discovery source is gone; its targets are dropped",
		LOG_FIELDS(log_text("discovery", p->kind->name),
			   log_text("source", what),
			   log_int("targets", g ? (int64_t)g->targets : 0),
			   log_int("config_line", p->line)));
}

void provider_refresh_within(struct provider *p, int64_t ms)
{
	/* If a refresh is due earlier, due_ns does not change. */
	int64_t at = clock_mono_ns() + ms * 1000000;

	if (at < p->due_ns)
		p->due_ns = at;
}

void provider_call_within(struct provider *p, int64_t ms)
{
	p->call_ns = clock_mono_ns() + ms * 1000000;
}

/* Write the keys `targets` and `labels` of a target group in lower case. */
static void lower_keys(const struct yaml_node *group)
{
	for (size_t i = 0; group->kind == YAML_MAP && i < group->count;
	     i += 2) {
		struct str *key = &group->items[i]->text;

		if (str_is_nocase(*key, "targets"))
			*key = str_of("targets");
		else if (str_is_nocase(*key, "labels"))
			*key = str_of("labels");
	}
}

/*
 * Decode JSON as Go does: keys may be in any case, and the value null counts as
 * an empty list, because Go programs write null for an empty list.
 */
static struct target_groups *decode_json(struct yaml *y,
					 const struct group_meta *meta)
{
	const struct yaml_node *root = y->root;

	if (yaml_is_null(root))
		return target_groups_new();
	for (size_t i = 0; root->kind == YAML_LIST && i < root->count; i++)
		lower_keys(root->items[i]);
	return target_groups_decode(y, root, "target groups", meta);
}

int provider_parse(const char *name, struct bytes text, bool json,
		   const struct group_meta *meta, struct target_groups **out,
		   struct err *err)
{
	struct target_groups *g = NULL;
	struct yaml y;
	int rc = 0;

	if (json)
		yaml_parse_json(&y, name, text);
	else
		yaml_parse(&y, name, text);
	if (y.root && json)
		g = decode_json(&y, meta);
	else if (y.root)
		g = target_groups_decode(&y, y.root, "target groups", meta);
	/*
	 * An empty file is an error, not a list without targets, because an
	 * editor may leave a file empty for a moment (docs/decisions.md, 60).
	 */
	else if (!y.error_count)
		yaml_error(
			&y, NULL,
			"the document is empty: write [] for an empty list of targets");
	if (y.error_count) {
		struct str first = yaml_first_error(&y);

		rc = err_set(err, ERR_INVALID, "%.*s%s", STR_ARG(first),
			     y.error_count > 1 ? " (and more errors)" : "");
		target_groups_unref(g);
	} else {
		*out = g;
	}
	yaml_fini(&y);
	return rc;
}
