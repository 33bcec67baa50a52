/* SPDX-License-Identifier: Apache-2.0 */
#include "push/labels/push_rules.h"

#include "base/mem.h"
#include "base/mutex.h"

struct push_rules {
	struct mutex mu;
	const struct push_config *config; /* guarded by mu */
};

struct push_rules *push_rules_new(void)
{
	static const struct push_config none;
	struct push_rules *r = mem_new(struct push_rules);

	mutex_init(&r->mu);
	r->config = &none;
	return r;
}

void push_rules_free(struct push_rules *r)
{
	if (!r)
		return;
	mutex_destroy(&r->mu);
	mem_free(r);
}

void push_rules_apply(struct push_rules *r, const struct push_config *config)
{
	mutex_lock(&r->mu);
	r->config = config;
	mutex_unlock(&r->mu);
}

size_t push_rules_resource_labels(struct push_rules *r, struct arena *arena,
				  struct str out[PUSH_RESOURCE_LABELS_MAX])
{
	static const char *const usual[] = {
		"service.*",
		"k8s.*",
		"host.name",
		"container.name",
		"cloud.region",
		"deployment.environment*",
		"process.executable.name",
	};
	size_t count = ARRAY_SIZE(usual);

	for (size_t i = 0; i < count; i++)
		out[i] = str_of(usual[i]);
	mutex_lock(&r->mu);
	if (r->config->resource_labels)
		count = r->config->resource_label_count;
	for (size_t i = 0; i < count && r->config->resource_labels; i++)
		out[i] = arena_str(arena, r->config->resource_labels[i]);
	mutex_unlock(&r->mu);
	return count;
}

/* Apply the relabelling rules. */
static int push_rules_relabel(const struct relabel_rules *rules,
			      const struct push_origin *origin,
			      struct labels_builder *b, struct err *err)
{
	int rc;

	labels_set(b, str_of("__address__"), origin->address);
	labels_set(b, str_of("__meta_push_protocol"), str_of(origin->protocol));
	labels_set(b, str_of("__meta_push_agent"), origin->agent);
	rc = relabel_run(rules, NULL, b, NULL, err);
	push_labels_filter(b);
	if (rc < 0)
		return err_wrap(err, ERR_INVALID,
				"relabel_configs of the section \"push\"");
	if (rc == RELABEL_KEPT &&
	    !labels_builder_get(b, str_of(LABEL_NAME)).len)
		return err_set(
			err, ERR_INVALID,
			"relabel_configs of the section \"push\" removed the label __name__, which every series needs");
	return rc;
}

int push_rules_run(struct push_rules *r, const struct push_origin *origin,
		   struct labels_builder *b, struct err *err)
{
	int rc = RELABEL_KEPT;

	mutex_lock(&r->mu);
	push_labels_complete(b, origin, !r->config->without_instance);
	if (r->config->relabel.count)
		rc = push_rules_relabel(&r->config->relabel, origin, b, err);
	mutex_unlock(&r->mu);
	return rc;
}
