/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the labels and the targets of endpoints and of endpoint slices from
 * their JSON. kube_join.c adds the labels of their services, pods and nodes.
 */
#include "discovery/kubeobject/kube_meta.h"
#include "discovery/rest/document.h"
#include "discovery/rest/field_row.h"

static const struct field_row endpoint_labels[] = {
	{ KUBE_ENDPOINT "address_target_kind", "targetRef.kind", FIELD_TEXT },
	{ KUBE_ENDPOINT "address_target_name", "targetRef.name", FIELD_TEXT },
	{ KUBE_ENDPOINT "node_name", "nodeName", FIELD_TEXT },
	{ KUBE_ENDPOINT "hostname", "hostname", FIELD_TEXT },
	{ 0 },
};

static const struct field_row endpoint_port_labels[] = {
	{ KUBE_ENDPOINT "port_name", "name", FIELD_TEXT },
	{ KUBE_ENDPOINT "port_protocol", "protocol", FIELD_TEXT },
	{ 0 },
};

/*
 * Add a target for each of `addresses` at `port`; `ready` is the value of the
 * label for readiness.
 */
static void endpoints_add_addresses(struct group_builder *b,
				    const struct yaml_node *addresses,
				    const struct yaml_node *port,
				    const char *ready)
{
	for (size_t i = 0; i < doc_count(addresses) && !group_is_over(b); i++) {
		const struct yaml_node *one = doc_item(addresses, i);

		group_target(b);
		group_address(b, doc_text(one, "ip"), doc_int(port, "port", 0));
		field_rows_add(b, endpoint_port_labels, port, str_of(""));
		group_label(b, KUBE_ENDPOINT "ready", str_of(ready));
		field_rows_add(b, endpoint_labels, one, str_of(""));
	}
}

void kube_map_endpoints(struct group_builder *b, const struct yaml_node *object)
{
	const struct yaml_node *subsets = doc_find(object, "subsets");

	kube_add_namespace(b, object);
	kube_add_meta(b, KUBE_META("endpoints"), object);
	for (size_t i = 0; i < doc_count(subsets); i++) {
		const struct yaml_node *one = doc_item(subsets, i);
		const struct yaml_node *ports = doc_find(one, "ports");

		for (size_t k = 0; k < doc_count(ports) && !group_is_over(b);
		     k++) {
			endpoints_add_addresses(b, doc_find(one, "addresses"),
						doc_item(ports, k), "true");
			endpoints_add_addresses(
				b, doc_find(one, "notReadyAddresses"),
				doc_item(ports, k), "false");
		}
	}
}

static const struct field_row slice_port_labels[] = {
	{ KUBE_SLICE "port_name", "name", FIELD_TEXT },
	{ KUBE_SLICE "port_protocol", "protocol", FIELD_TEXT },
	{ KUBE_SLICE "port", "port", FIELD_TEXT },
	{ KUBE_SLICE "port_app_protocol", "appProtocol", FIELD_TEXT },
	{ 0 },
};

static const struct field_row slice_endpoint_labels[] = {
	{ KUBE_SLICE "endpoint_conditions_ready", "conditions.ready",
	  FIELD_TEXT },
	{ KUBE_SLICE "endpoint_conditions_serving", "conditions.serving",
	  FIELD_TEXT },
	{ KUBE_SLICE "endpoint_conditions_terminating",
	  "conditions.terminating", FIELD_TEXT },
	{ KUBE_SLICE "endpoint_hostname", "hostname", FIELD_TEXT },
	{ KUBE_SLICE "address_target_kind", "targetRef.kind", FIELD_TEXT },
	{ KUBE_SLICE "address_target_name", "targetRef.name", FIELD_TEXT },
	{ KUBE_SLICE "endpoint_node_name", "nodeName", FIELD_TEXT },
	{ KUBE_SLICE "endpoint_zone", "zone", FIELD_TEXT },
	{ KUBE_SLICE "endpoint_topology_", "deprecatedTopology", FIELD_MAP },
	{ KUBE_SLICE "endpoint_topology_present_", "deprecatedTopology",
	  FIELD_PRESENT },
	{ 0 },
};

/* Add the targets of one endpoint at `port`: one for each of its addresses. */
static void slice_add_endpoint(struct group_builder *b,
			       const struct yaml_node *endpoint,
			       const struct yaml_node *port)
{
	const struct yaml_node *addresses = doc_find(endpoint, "addresses");

	for (size_t i = 0; i < doc_count(addresses) && !group_is_over(b); i++) {
		group_target(b);
		group_address(b, doc_text(doc_item(addresses, i), ""),
			      doc_int(port, "port", -1));
		field_rows_add(b, slice_port_labels, port, str_of(""));
		field_rows_add(b, slice_endpoint_labels, endpoint, str_of(""));
	}
}

void kube_map_slice(struct group_builder *b, const struct yaml_node *object)
{
	const struct yaml_node *endpoints = doc_find(object, "endpoints");
	const struct yaml_node *ports = doc_find(object, "ports");

	kube_add_namespace(b, object);
	group_label(b, KUBE_SLICE "address_type",
		    doc_text(object, "addressType"));
	kube_add_meta(b, KUBE_META("endpointslice"), object);
	for (size_t i = 0; i < doc_count(endpoints); i++) {
		for (size_t k = 0; k < doc_count(ports) && !group_is_over(b);
		     k++)
			slice_add_endpoint(b, doc_item(endpoints, i),
					   doc_item(ports, k));
	}
}
