/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/kube_parts.h"

#include "discovery/kubeobject/kube_meta.h"

static const struct endpoint_names endpoint_names = {
	.kind = KUBE_ENDPOINT "address_target_kind",
	.name = KUBE_ENDPOINT "address_target_name",
	.node = KUBE_ENDPOINT "node_name",
	.protocol = KUBE_ENDPOINT "port_protocol",
	.node_first = true,
};

static const struct endpoint_names slice_names = {
	.kind = KUBE_SLICE "address_target_kind",
	.name = KUBE_SLICE "address_target_name",
	.node = KUBE_SLICE "endpoint_node_name",
	.port = KUBE_SLICE "port",
};

void kube_parts_init(struct kube_parts *p, const struct kube_stores *s,
		     const struct kube_config *c)
{
	*p = (struct kube_parts){ .s = s, .c = c };
	if (c->role == KUBE_ENDPOINTS)
		p->names = &endpoint_names;
	if (c->role == KUBE_ENDPOINTSLICE)
		p->names = &slice_names;
}

struct str kube_list_label(const struct label_list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (str_is(l->v[i].name, name))
			return l->v[i].value;
	}
	return str_of("");
}

struct str kube_object_label(const struct target_groups *g, const char *name)
{
	return g ? kube_list_label(&g->v[0].labels, name) : str_of("");
}

/*
 * Find the object `name` in the namespace p->namespace; NULL: the object is not
 * known.
 */
static struct target_groups *parts_find(const struct kube_parts *p,
					enum kube_resource_id id,
					struct str name)
{
	return kube_store_find(p->s, id, p->namespace, name);
}

/*
 * Find the node `name`; NULL: the node is not known, or attach_metadata does
 * not ask for nodes.
 */
static struct target_groups *parts_node(const struct kube_parts *p,
					struct str name)
{
	if (!p->c->attach_node)
		return NULL;
	return kube_store_find(p->s, KUBE_NODE, str_of(""), name);
}

/*
 * Add the parts of `pod`: `node`, the ReplicaSet and the Job, but not the pod
 * itself. `pod` and `node` may be NULL.
 */
static void parts_add_pod(struct kube_parts *p, const struct target_groups *pod,
			  struct target_groups *node)
{
	struct str kind = kube_object_label(pod, KUBE_POD_CONTROLLER_KIND);
	struct str name = kube_object_label(pod, KUBE_POD_CONTROLLER_NAME);

	*vec_add(&p->v) = node;
	*vec_add(&p->v) = p->c->attach_deployment &&
					  str_is(kind, "ReplicaSet") ?
				  parts_find(p, KUBE_REPLICASET, name) :
				  NULL;
	*vec_add(&p->v) = p->c->attach_cronjob && str_is(kind, "Job") ?
				  parts_find(p, KUBE_JOB, name) :
				  NULL;
}

/*
 * Add the parts of a target of endpoints: its pod and its node, and the
 * ReplicaSet and the Job of the pod.
 */
static void parts_add_target(struct kube_parts *p, const struct label_list *l)
{
	struct str kind = kube_list_label(l, p->names->kind);
	struct str name = kube_list_label(l, p->names->name);
	struct str node = kube_list_label(l, p->names->node);
	struct target_groups *pod = NULL;

	if (str_is(kind, "Pod"))
		pod = parts_find(p, KUBE_POD, name);
	if (str_is(kind, "Node") && (!node.len || !p->names->node_first))
		node = name;
	*vec_add(&p->v) = pod;
	parts_add_pod(p, pod, parts_node(p, node));
}

/* Return the name of the service to which endpoints or a slice belong. */
static struct str parts_service(const struct kube_parts *p,
				const struct target_groups *own)
{
	if (p->c->role == KUBE_ENDPOINTS)
		return kube_object_label(own, KUBE_META("endpoints_name"));
	return kube_object_label(own,
				 KUBE_SLICE "label_kubernetes_io_service_name");
}

void kube_parts_find(struct kube_parts *p, struct target_groups *own)
{
	const struct target_group *g = &own->v[0];

	p->v.count = 0;
	p->namespace = kube_object_label(own, KUBE_META("namespace"));
	*vec_add(&p->v) = own;
	*vec_add(&p->v) = p->c->attach_namespace ?
				  kube_store_find(p->s, KUBE_NAMESPACE,
						  str_of(""), p->namespace) :
				  NULL;
	*vec_add(&p->v) = NULL;
	if (p->c->role == KUBE_POD) {
		parts_add_pod(
			p, own,
			parts_node(p, kube_object_label(own, KUBE_POD_NODE)));
	} else if (p->names) {
		p->v.v[PART_SERVICE] =
			parts_find(p, KUBE_SERVICE, parts_service(p, own));
		for (size_t i = 0; i < g->target_count; i++)
			parts_add_target(p, &g->targets[i]);
	}
}
