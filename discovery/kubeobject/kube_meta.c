/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubeobject/kube_meta.h"

#include <stdio.h>

#include "discovery/rest/document.h"

enum {
	PREFIX_MAX = 96 /* bytes of a buffer for the prefix of a label */
};

/*
 * Add two labels for each key of `map`: <prefix>_<what>_<key> with the value of
 * the key, and <prefix>_<what>present_<key> with the value "true".
 */
static void kube_add_map(struct group_builder *b, const char *prefix,
			 const char *what, const struct yaml_node *map)
{
	char value[PREFIX_MAX];
	char present[PREFIX_MAX];

	snprintf(value, sizeof(value), "%s_%s_", prefix, what);
	snprintf(present, sizeof(present), "%s_%spresent_", prefix, what);
	for (size_t i = 0; i < doc_keys(map); i++) {
		const struct yaml_node *node;
		struct str key = doc_key(map, i, &node);

		group_label_of(b, value, key, doc_text(node, ""));
		group_label_of(b, present, key, str_of("true"));
	}
}

void kube_add_maps(struct group_builder *b, const char *prefix,
		   const struct yaml_node *object)
{
	kube_add_map(b, prefix, "label", doc_find(object, "metadata.labels"));
	kube_add_map(b, prefix, "annotation",
		     doc_find(object, "metadata.annotations"));
}

void kube_add_meta(struct group_builder *b, const char *prefix,
		   const struct yaml_node *object)
{
	char name[PREFIX_MAX];

	snprintf(name, sizeof(name), "%s_name", prefix);
	group_label(b, name, doc_text(object, "metadata.name"));
	kube_add_maps(b, prefix, object);
}

void kube_add_controller(struct group_builder *b,
			 const struct yaml_node *object)
{
	const struct yaml_node *owner =
		doc_find(object, "metadata.ownerReferences[controller=true]");

	group_label(b, KUBE_POD_CONTROLLER_KIND, doc_text(owner, "kind"));
	group_label(b, KUBE_POD_CONTROLLER_NAME, doc_text(owner, "name"));
}

void kube_add_namespace(struct group_builder *b, const struct yaml_node *object)
{
	group_label(b, KUBE_NAMESPACE_LABEL,
		    doc_text(object, "metadata.namespace"));
}
