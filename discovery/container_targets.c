/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/container_targets.h"

#include "base/vec.h"
#include "discovery/discovery_config.h"

/* The labels of one target. */
struct container_labels {
	VEC(struct label) v;
};

/* Return whether the label `name` describes a port of a container. */
static bool is_of_port(struct str name)
{
	static const char *const prefixes[] = {
		"__meta_kubernetes_pod_container_port_", "__meta_docker_port_"
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (str_starts(name, str_of(prefixes[i])))
			return true;
	}
	return false;
}

/*
 * Add the labels of `from`, and of the lists that are linked to `from` by
 * `rest`, to `l`. Leave out labels whose names do not begin with "__meta_", and
 * labels that describe a port.
 */
static void labels_take(struct container_labels *l,
			const struct label_list *from)
{
	for (; from; from = from->rest) {
		for (size_t i = 0; i < from->count; i++) {
			struct str name = from->v[i].name;

			if (str_starts(name, str_of("__meta_")) &&
			    !is_of_port(name))
				*vec_add(&l->v) = from->v[i];
		}
	}
}

/*
 * Return the part of a text after its last slash, such as the ID in
 * "containerd://<ID>"; without a slash, the whole text.
 */
static struct str after_slash(struct str text)
{
	const char *slash = memrchr(text.ptr, '/', text.len);

	if (!slash)
		return text;
	slash++;
	return (struct str){ slash, (size_t)(text.ptr + text.len - slash) };
}

/*
 * Return the ID of the container that the labels name; empty: they name none.
 */
static struct str labels_id(const struct container_labels *l)
{
	const char *wanted;

	for (size_t k = 0; (wanted = discovery_container_label(k)); k++) {
		for (size_t i = 0; i < l->v.count; i++) {
			if (str_is(l->v.v[i].name, wanted))
				return after_slash(l->v.v[i].value);
		}
	}
	return str_of("");
}

/*
 * Call fn() for target number `target` of `g`, if the target has a container
 * ID; `l` is scratch memory for its labels. Returns false to end the visit.
 */
static bool visit_target(struct container_labels *l,
			 const struct target_group *g, size_t target,
			 container_fn fn, void *ctx)
{
	struct str id;

	l->v.count = 0;
	labels_take(l, &g->targets[target]);
	labels_take(l, &g->labels);
	id = labels_id(l);
	return !id.len || fn(ctx, id, l->v.v, l->v.count);
}

void container_targets_visit(const struct target_groups_list *list,
			     container_fn fn, void *ctx)
{
	struct container_labels l = { 0 };
	bool more = true;

	for (size_t i = 0; i < list->count; i++) {
		const struct target_groups *all = list->v[i];

		for (size_t k = 0; k < all->count; k++) {
			const struct target_group *g = &all->v[k];

			for (size_t t = 0; more && t < g->target_count; t++)
				more = visit_target(&l, g, t, fn, ctx);
		}
	}
	vec_fini(&l.v);
}
