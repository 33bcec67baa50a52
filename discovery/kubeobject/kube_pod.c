/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the labels and the targets of a pod from its JSON: one target for each
 * port of a container, and one for a container without ports.
 */
#include "discovery/kubeobject/kube_meta.h"
#include "discovery/rest/document.h"
#include "discovery/rest/field_row.h"

/* Path of the status (True, False or Unknown) of the condition Ready. */
#define POD_READY "status.conditions[type=Ready].status"

static const struct field_row pod_labels[] = {
	{ KUBE_META("pod_ip"), "status.podIP", FIELD_TEXT },
	{ KUBE_META("pod_host_ip"), "status.hostIP", FIELD_TEXT },
	{ KUBE_META("pod_phase"), "status.phase", FIELD_TEXT },
	{ KUBE_POD_NODE, "spec.nodeName", FIELD_TEXT },
	{ KUBE_META("pod_uid"), "metadata.uid", FIELD_TEXT },
	{ KUBE_META("pod_ready"), POD_READY, FIELD_LOWER },
	{ 0 },
};

/* Add the target of a container at `port`; NULL: the container has no ports. */
static void pod_add_target(struct group_builder *b,
			   const struct yaml_node *object, struct str id,
			   const struct yaml_node *container,
			   const struct yaml_node *port, bool init)
{
	struct str ip = doc_text(object, "status.podIP");

	group_target(b);
	group_address(b, ip, port ? doc_int(port, "containerPort", 0) : -1);
	group_label(b, KUBE_CONTAINER_NAME, doc_text(container, "name"));
	group_label(b, KUBE_META("pod_container_image"),
		    doc_text(container, "image"));
	group_label(b, KUBE_META("pod_container_init"),
		    str_of(init ? "true" : "false"));
	if (port) {
		group_label(b, KUBE_META("pod_container_port_name"),
			    doc_text(port, "name"));
		group_label_int(b, KUBE_CONTAINER_PORT,
				doc_int(port, "containerPort", 0));
		group_label(b, KUBE_CONTAINER_PROTOCOL,
			    doc_text(port, "protocol"));
	}
	/*
	 * The ID must be the last label: kube_join.c leaves the last label out
	 * to omit the ID for targets of endpoints.
	 */
	group_label(b, KUBE_CONTAINER_ID, id);
}

/*
 * Return the ID of the container `name`; empty: the container has not started.
 */
static struct str pod_container_id(const struct yaml_node *statuses,
				   struct str name)
{
	for (size_t i = 0; i < doc_count(statuses); i++) {
		const struct yaml_node *one = doc_item(statuses, i);

		if (str_eq(doc_text(one, "name"), name))
			return doc_text(one, "containerID");
	}
	return str_of("");
}

/*
 * Add the targets of the init containers of a pod (`init`), or of its other
 * containers.
 */
static void pod_add_containers(struct group_builder *b,
			       const struct yaml_node *object, bool init)
{
	const struct yaml_node *list = doc_find(
		object, init ? "spec.initContainers" : "spec.containers");
	const struct yaml_node *statuses =
		doc_find(object, init ? "status.initContainerStatuses" :
					"status.containerStatuses");

	for (size_t i = 0; i < doc_count(list); i++) {
		const struct yaml_node *one = doc_item(list, i);
		const struct yaml_node *ports = doc_find(one, "ports");
		struct str id =
			pod_container_id(statuses, doc_text(one, "name"));

		if (!doc_count(ports))
			pod_add_target(b, object, id, one, NULL, init);
		for (size_t k = 0; k < doc_count(ports); k++)
			pod_add_target(b, object, id, one, doc_item(ports, k),
				       init);
	}
}

/*
 * A pod has targets as soon as it has an IP address, in whatever phase it is.
 */
void kube_map_pod(struct group_builder *b, const struct yaml_node *object)
{
	kube_add_namespace(b, object);
	field_rows_add(b, pod_labels, object, str_of(""));
	if (!doc_find(object, POD_READY))
		group_label(b, KUBE_META("pod_ready"), str_of("unknown"));
	kube_add_controller(b, object);
	kube_add_meta(b, KUBE_META("pod"), object);
	if (!doc_text(object, "status.podIP").len)
		return;
	pod_add_containers(b, object, false);
	pod_add_containers(b, object, true);
}
