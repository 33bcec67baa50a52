/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the labels and the targets of a service from its JSON: one target for
 * each port. For a dual-stack service, a second target group has a label with
 * the first IP family of the service.
 */
#include "discovery/kubeobject/kube_meta.h"
#include "discovery/rest/document.h"
#include "discovery/rest/field_row.h"

static const struct field_row service_port_labels[] = {
	{ KUBE_META("service_port_name"), "name", FIELD_TEXT },
	{ KUBE_META("service_port_number"), "port", FIELD_INT },
	{ KUBE_META("service_port_protocol"), "protocol", FIELD_TEXT },
	{ 0 },
};

/*
 * Add a label with the IP addresses of a load balancer, separated by commas. If
 * the status has none, use the address that the spec asks for.
 */
static void service_add_balancer(struct group_builder *b,
				 const struct yaml_node *object)
{
	const struct yaml_node *all =
		doc_find(object, "status.loadBalancer.ingress");
	struct buf text = { 0 };

	for (size_t i = 0; i < doc_count(all); i++) {
		struct str ip = doc_text(doc_item(all, i), "ip");

		if (ip.len && text.len)
			buf_byte(&text, ',');
		buf_add(&text, ip.ptr, ip.len);
	}
	group_label(b, KUBE_META("service_loadbalancer_ip"),
		    text.len ? str_from(buf_bytes(&text)) :
			       doc_text(object, "spec.loadBalancerIP"));
	buf_fini(&text);
}

/* Add the target of a port of a service. */
static void service_add_port(struct group_builder *b,
			     const struct yaml_node *object,
			     const struct yaml_node *port)
{
	struct str type = doc_text(object, "spec.type");
	struct str name = doc_text(object, "metadata.name");
	struct str namespace = doc_text(object, "metadata.namespace");
	struct buf host = { 0 };

	buf_printf(&host, "%.*s.%.*s.svc", STR_ARG(name), STR_ARG(namespace));
	group_target(b);
	group_address(b, str_from(buf_bytes(&host)), doc_int(port, "port", 0));
	field_rows_add(b, service_port_labels, port, str_of(""));
	group_label(b, KUBE_META("service_type"), type);
	if (str_is(type, "ExternalName"))
		group_label(b, KUBE_META("service_external_name"),
			    doc_text(object, "spec.externalName"));
	else
		group_label(b, KUBE_META("service_cluster_ip"),
			    doc_text(object, "spec.clusterIP"));
	if (str_is(type, "LoadBalancer"))
		service_add_balancer(b, object);
	buf_fini(&host);
}

void kube_map_service(struct group_builder *b, const struct yaml_node *object)
{
	const struct yaml_node *ports = doc_find(object, "spec.ports");
	struct str policy = doc_text(object, "spec.ipFamilyPolicy");

	kube_add_namespace(b, object);
	kube_add_meta(b, KUBE_META("service"), object);
	for (size_t i = 0; i < doc_count(ports); i++)
		service_add_port(b, object, doc_item(ports, i));
	if (!str_ends(policy, "DualStack"))
		return;
	group_begin(b);
	group_label(b, KUBE_FIRST_FAMILY,
		    doc_text(object, "spec.ipFamilies[0]"));
}
