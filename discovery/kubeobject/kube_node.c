/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the labels and the target of a node from its JSON. A second group has
 * the labels that pods and endpoints get from the node.
 */
#include "base/buf.h"
#include "discovery/kubeobject/kube_meta.h"
#include "discovery/rest/document.h"

/*
 * Add a label for each condition of a node, such as Ready. The value of the
 * label is the status of the condition in lower case.
 */
static void node_add_conditions(struct group_builder *b,
				const struct yaml_node *object)
{
	const struct yaml_node *list = doc_find(object, "status.conditions");
	struct buf type = { 0 };
	struct buf status = { 0 };

	for (size_t i = 0; i < doc_count(list); i++) {
		const struct yaml_node *one = doc_item(list, i);

		buf_reset(&type);
		buf_reset(&status);
		buf_lower(&type, doc_text(one, "type"));
		buf_lower(&status, doc_text(one, "status"));
		group_label_of(b, KUBE_META("node_condition_"),
			       str_from(buf_bytes(&type)),
			       str_from(buf_bytes(&status)));
	}
	buf_fini(&type);
	buf_fini(&status);
}

/*
 * Return the address for the target of a node: the first address of the first
 * type in `paths` that the node has; empty: none.
 */
static struct str node_address(const struct yaml_node *object)
{
	static const char *const paths[] = {
		"status.addresses[type=InternalIP].address",
		"status.addresses[type=InternalDNS].address",
		"status.addresses[type=ExternalIP].address",
		"status.addresses[type=ExternalDNS].address",
		"status.addresses[type=LegacyHostIP].address",
		"status.addresses[type=Hostname].address",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct str address = doc_text(object, paths[i]);

		if (address.len)
			return address;
	}
	return str_of("");
}

/* Add a label for the first address of each type. */
static void node_add_addresses(struct group_builder *b,
			       const struct yaml_node *object)
{
	const struct yaml_node *list = doc_find(object, "status.addresses");

	/* Of labels with the same name, the first one counts. */
	for (size_t i = 0; i < doc_count(list); i++) {
		const struct yaml_node *one = doc_item(list, i);

		group_label_of(b, KUBE_META("node_address_"),
			       doc_text(one, "type"), doc_text(one, "address"));
	}
}

void kube_map_node(struct group_builder *b, const struct yaml_node *object)
{
	struct str address = node_address(object);

	kube_add_meta(b, KUBE_META("node"), object);
	group_label(b, KUBE_META("node_provider_id"),
		    doc_text(object, "spec.providerID"));
	node_add_conditions(b, object);
	if (address.len) {
		group_target(b);
		group_address(
			b, address,
			doc_int(object,
				"status.daemonEndpoints.kubeletEndpoint.Port",
				0));
		group_label(b, "instance", doc_text(object, "metadata.name"));
		node_add_addresses(b, object);
	}
	/* Pods and endpoints get only these labels of their node. */
	group_begin(b);
	kube_add_meta(b, KUBE_META("node"), object);
}
