/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubeobject/kube_resource.h"

#include "discovery/kubeobject/kube_meta.h"

/*
 * Add the labels of a namespace. It has no targets: the labels are for the
 * objects in the namespace.
 */
static void kube_map_namespace(struct group_builder *b,
			       const struct yaml_node *object)
{
	kube_add_maps(b, KUBE_META("namespace"), object);
}

const struct kube_resource kube_resources[KUBE_RESOURCES] = {
	[KUBE_NODE] = { "node", "/api/v1", "nodes", false, kube_map_node },
	[KUBE_POD] = { "pod", "/api/v1", "pods", true, kube_map_pod },
	[KUBE_SERVICE] = { "service", "/api/v1", "services", true,
			   kube_map_service },
	[KUBE_ENDPOINTS] = { "endpoints", "/api/v1", "endpoints", true,
			     kube_map_endpoints },
	[KUBE_ENDPOINTSLICE] = { "endpointslice", "/apis/discovery.k8s.io/v1",
				 "endpointslices", true, kube_map_slice },
	[KUBE_INGRESS] = { "ingress", "/apis/networking.k8s.io/v1", "ingresses",
			   true, kube_map_ingress },
	[KUBE_NAMESPACE] = { NULL, "/api/v1", "namespaces", false,
			     kube_map_namespace },
	[KUBE_REPLICASET] = { NULL, "/apis/apps/v1", "replicasets", true,
			      kube_add_controller },
	[KUBE_JOB] = { NULL, "/apis/batch/v1", "jobs", true,
		       kube_add_controller },
};
