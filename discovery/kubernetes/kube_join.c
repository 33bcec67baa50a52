/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/kube_join.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "discovery/kubeobject/kube_meta.h"
#include "discovery/kubernetes/kube_parts.h"

/* A port at which the endpoints have a target, and the pod of this target. */
struct seen_port {
	const struct target_groups *pod;
	struct str port;
};

/* The state of kube_join_all(). */
struct joining {
	struct kube_parts p; /* of the current object; see kube_parts.h */
	VEC(struct label_list) targets;
	VEC(struct seen_port) seen;
	struct arena *arena; /* of the groups that are made */
	/* number of objects that lack the labels of other objects */
	size_t lacking;
};

/*
 * Return whether the object needs joined groups. An object needs them if it has
 * parts other than the object itself. With attach_metadata.job, every pod needs
 * them, because the label with the name of the Job is only in joined groups,
 * although the name comes from the pod itself.
 */
static bool join_is_needed(const struct joining *j)
{
	for (size_t i = 1; i < j->p.v.count; i++) {
		if (j->p.v.v[i])
			return true;
	}
	return j->p.c->role == KUBE_POD && j->p.c->attach_job;
}

/* Return whether the joined groups `g` were made of the parts in j->p.v. */
static bool join_is_current(const struct joining *j,
			    const struct target_groups *g)
{
	for (size_t i = 0; i < g->part_count && i < j->p.v.count; i++) {
		if (g->parts[i] != j->p.v.v[i])
			return false;
	}
	return g->part_count == j->p.v.count;
}

/*
 * Return a list of the `count` labels at `v`, with `rest` after it. The list
 * itself is in the arena; the labels are borrowed.
 */
static const struct label_list *join_link(struct joining *j, struct label *v,
					  size_t count,
					  const struct label_list *rest)
{
	struct label_list *l = arena_new(j->arena, struct label_list);

	*l = (struct label_list){ v, count, rest };
	return l;
}

/*
 * Return the labels of group number `n` of the object `g`, with `rest` after
 * them; only `rest` if `g` is NULL.
 */
static const struct label_list *join_object(struct joining *j,
					    const struct target_groups *g,
					    size_t n,
					    const struct label_list *rest)
{
	if (!g)
		return rest;
	return join_link(j, g->v[n].labels.v, g->v[n].labels.count, rest);
}

/*
 * Return the labels that pods and endpoints get from the node `g`, with `rest`
 * after them; only `rest` if `g` is NULL. kube_map_node() puts these labels
 * into the second group of a node.
 */
static const struct label_list *join_node_labels(struct joining *j,
						 const struct target_groups *g,
						 const struct label_list *rest)
{
	return join_object(j, g, 1, rest);
}

/*
 * Add a label to `l`, unless `value` is empty. `value` is borrowed from one of
 * the parts.
 */
static void add_workload(struct label_list *l, const char *name,
			 struct str value)
{
	if (value.len)
		l->v[l->count++] = (struct label){ str_of(name), value };
}

/*
 * Return the name of the controller of the object `g`; empty: the object has no
 * controller of the kind `kind`, or `g` is NULL.
 */
static struct str controller_name(const struct target_groups *g,
				  const char *kind)
{
	if (!str_is(kube_object_label(g, KUBE_POD_CONTROLLER_KIND), kind))
		return str_of("");
	return kube_object_label(g, KUBE_POD_CONTROLLER_NAME);
}

/*
 * Return the labels that targets get from a pod and its workload, with `rest`
 * after them. `parts` are the pod's node, ReplicaSet and Job, indexed by
 * POD_NODE and so on.
 */
static const struct label_list *join_pod(struct joining *j,
					 const struct target_groups *pod,
					 struct target_groups *const *parts,
					 const struct label_list *rest)
{
	struct label_list more = { .rest = join_object(j, pod, 0, rest) };

	if (!j->p.c->attach_deployment && !j->p.c->attach_job &&
	    !j->p.c->attach_cronjob)
		return more.rest;
	more.v = arena_array(j->arena, struct label, 3);
	add_workload(&more, KUBE_META("pod_deployment_name"),
		     controller_name(parts[POD_REPLICASET], "Deployment"));
	if (j->p.c->attach_job)
		add_workload(&more, KUBE_META("pod_job_name"),
			     controller_name(pod, "Job"));
	add_workload(&more, KUBE_META("pod_cronjob_name"),
		     controller_name(parts[POD_JOB], "CronJob"));
	return join_link(j, more.v, more.count, more.rest);
}

/* Return the port of a target of endpoints; empty: none. */
static struct str target_port(const struct joining *j,
			      const struct label_list *l)
{
	struct str address;
	const char *colon;

	if (j->p.names->port)
		return kube_list_label(l, j->p.names->port);
	address = kube_list_label(l, "__address__");
	colon = memrchr(address.ptr, ':', address.len);
	if (!colon)
		return str_of("");
	return (struct str){ colon + 1,
			     address.len - (size_t)(colon - address.ptr) - 1 };
}

/*
 * Return the target of `pod` at the port `port`. If several containers have the
 * port, the last container counts. If this container has several targets with
 * the port, the first target counts. NULL: no container has the port.
 */
static const struct label_list *find_container(const struct target_groups *pod,
					       struct str port)
{
	const struct label_list *found = NULL;

	for (size_t i = 0; port.len && i < pod->v[0].target_count; i++) {
		const struct label_list *t = &pod->v[0].targets[i];

		if (!str_eq(kube_list_label(t, KUBE_CONTAINER_PORT), port))
			continue;
		if (!found ||
		    !str_eq(kube_list_label(found, KUBE_CONTAINER_NAME),
			    kube_list_label(t, KUBE_CONTAINER_NAME)))
			found = t;
	}
	return found;
}

/*
 * Return the labels of `t`, a target of a pod, from number `first` on, with
 * `rest` after them. The last label is left out if it is the ID of the
 * container.
 */
static const struct label_list *join_container(struct joining *j,
					       const struct label_list *t,
					       size_t first,
					       const struct label_list *rest)
{
	size_t count = t->count;

	if (count && str_is(t->v[count - 1].name, KUBE_CONTAINER_ID))
		count--;
	return join_link(j, t->v + first, count - first, rest);
}

/*
 * Return the labels that a target of endpoints gets from its pod, with `rest`
 * after them, and add the port of the target to j->seen. `own` are the labels
 * of the target itself; parts[0] is the pod, and its POD_PARTS parts follow.
 */
static const struct label_list *
join_target_pod(struct joining *j, const struct label_list *own,
		struct target_groups *const *parts,
		const struct label_list *rest)
{
	struct str port = target_port(j, own);
	const struct label_list *container = find_container(*parts, port);
	struct label *protocol;
	struct str value;

	rest = join_pod(j, *parts, parts + 1, rest);
	if (port.len)
		*vec_add(&j->seen) = (struct seen_port){ *parts, port };
	if (!container)
		return rest;
	/* Skip the first label, the address: the endpoint has its own. */
	rest = join_container(j, container, 1, rest);
	if (!j->p.names->protocol)
		return rest;
	value = kube_list_label(own, j->p.names->protocol);
	if (!value.len)
		return rest; /* the container's protocol stays */
	protocol = arena_new(j->arena, struct label);
	*protocol = (struct label){ str_of(KUBE_CONTAINER_PROTOCOL), value };
	return join_link(j, protocol, 1, rest);
}

/*
 * Add a target of endpoints. parts[0] is the target's pod, which may be NULL;
 * its POD_PARTS parts (POD_NODE and so on) follow.
 */
static void join_target(struct joining *j, const struct label_list *own,
			struct target_groups *const *parts)
{
	const struct label_list *rest = join_link(j, own->v, own->count, NULL);

	rest = join_node_labels(j, parts[1 + POD_NODE], rest);
	if (*parts)
		rest = join_target_pod(j, own, parts, rest);
	*vec_add(&j->targets) = *rest;
}

/* Compare by pod, then by port, for qsort() and bsearch(). */
static int by_pod_and_port(const void *a, const void *b)
{
	const struct seen_port *x = a;
	const struct seen_port *y = b;

	if (x->pod != y->pod)
		return x->pod < y->pod ? -1 : 1;
	return str_cmp(x->port, y->port);
}

/*
 * Add a target for each port of `pod` at which the endpoints have no target,
 * that is, for each port that is not in j->seen. `parts` are the parts of the
 * pod.
 */
static void join_other_ports(struct joining *j, struct target_groups *pod,
			     struct target_groups *const *parts)
{
	const struct target_group *g = &pod->v[0];

	for (size_t i = 0; i < g->target_count; i++) {
		const struct label_list *t = &g->targets[i];
		struct seen_port key = { pod, kube_list_label(
						      t, KUBE_CONTAINER_PORT) };

		if (!key.port.len)
			continue;
		if (j->seen.count && bsearch(&key, j->seen.v, j->seen.count,
					     sizeof(key), by_pod_and_port))
			continue;
		*vec_add(&j->targets) =
			*join_container(j, t, 0, join_pod(j, pod, parts, NULL));
	}
}

/* Comparison function of the table of pods. */
static bool join_same_pod(const void *ctx, uint32_t number, const void *key)
{
	struct target_groups *const *parts = ctx;

	return parts[number] == key;
}

/*
 * Return whether part number `n` is a pod that no earlier target has, and add
 * this pod to `pods`.
 */
static bool is_first_of_pod(struct table *pods,
			    struct target_groups *const *parts, uint32_t n)
{
	uint64_t hash = hash_number((uint64_t)(uintptr_t)parts[n]);

	if (!parts[n] || table_find(pods, hash, join_same_pod, parts,
				    parts[n]) != TABLE_NONE)
		return false;
	table_add(pods, hash, n);
	return true;
}

/*
 * Make the targets of endpoints or of a slice: first a target for each target
 * that the object itself has, then a target for each further port of the pods
 * of these targets.
 */
static void join_endpoints(struct joining *j, const struct target_group *own)
{
	struct target_groups *const *parts = j->p.v.v;
	struct table pods = { 0 };

	j->seen.count = 0;
	for (size_t i = 0; i < own->target_count; i++)
		join_target(j, &own->targets[i],
			    parts + PART_PODS + i * (1 + POD_PARTS));
	if (j->seen.count)
		qsort(j->seen.v, j->seen.count, sizeof(*j->seen.v),
		      by_pod_and_port);
	for (size_t i = 0; i < own->target_count; i++) {
		uint32_t at = (uint32_t)(PART_PODS + i * (1 + POD_PARTS));

		if (is_first_of_pod(&pods, parts, at))
			join_other_ports(j, parts[at], parts + at + 1);
	}
	table_fini(&pods);
}

/* Make the joined group of an object from its own group and its parts. */
static void join_group(struct joining *j, const struct target_group *own,
		       struct target_groups *out)
{
	struct target_groups *const *parts = j->p.v.v;
	const struct label_list *rest =
		join_object(j, parts[PART_NAMESPACE], 0, NULL);
	struct target_group *g = arena_new(j->arena, struct target_group);

	*g = *own;
	if (j->p.c->role == KUBE_POD) {
		rest = join_node_labels(j, parts[PART_PODS + POD_NODE], rest);
		rest = join_pod(j, parts[PART_OWN], parts + PART_PODS, rest);
		g->labels = *rest;
	} else {
		rest = join_object(j, parts[PART_SERVICE], 0, rest);
		g->labels.rest = rest;
	}
	j->targets.count = 0;
	if (j->p.names) {
		join_endpoints(j, own);
		g->target_count = j->targets.count;
		g->targets = arena_array(j->arena, struct label_list,
					 g->target_count);
		if (g->target_count)
			memcpy(g->targets, j->targets.v,
			       g->target_count * sizeof(*g->targets));
	}
	out->v = g;
	out->count = 1;
	out->targets = g->target_count;
}

/* Return the bytes that joined groups need at most. */
static size_t join_room(const struct joining *j)
{
	const size_t link = arena_room(sizeof(struct label_list));
	const size_t workload = arena_room(3 * sizeof(struct label)) + link;
	size_t bytes = arena_room(j->p.v.count * sizeof(void *)) +
		       arena_room(sizeof(struct target_group)) + 3 * link +
		       workload;

	for (size_t i = PART_PODS; j->p.names && i < j->p.v.count;
	     i += 1 + POD_PARTS) {
		const struct target_groups *pod = j->p.v.v[i];
		size_t more = pod ? pod->v[0].target_count : 0;

		bytes += arena_room(sizeof(struct label)) +
			 (1 + more) * (6 * link + workload);
	}
	return bytes;
}

/* Make joined groups of the parts that were found. */
static struct target_groups *join_make(struct joining *j,
				       const struct target_groups *own)
{
	struct target_groups *g = target_groups_new();

	j->arena = &g->arena;
	arena_reserve(j->arena, join_room(j));
	g->parts = arena_array(j->arena, struct target_groups *, j->p.v.count);
	for (size_t i = 0; i < j->p.v.count; i++) {
		if (j->p.v.v[i])
			g->parts[i] = target_groups_ref(j->p.v.v[i]);
	}
	g->part_count = j->p.v.count;
	join_group(j, own->v, g);
	return g;
}

/*
 * Return whether an object is a slice that is left out. A service with two IP
 * families has slices for each family, with the same pods; only the slices of
 * the first family count.
 */
static bool is_second_family(const struct joining *j)
{
	const struct target_groups *service = j->p.v.v[PART_SERVICE];
	struct str first;

	if (j->p.c->role != KUBE_ENDPOINTSLICE || !service ||
	    service->count < 2)
		return false;
	first = kube_list_label(&service->v[1].labels, KUBE_FIRST_FAMILY);
	return first.len &&
	       !str_eq(first, kube_object_label(j->p.v.v[PART_OWN],
						KUBE_SLICE "address_type"));
}

/*
 * Return whether an object is a pod that is left out, because it is not on one
 * of the selected nodes. A selector for nodes has this effect only together
 * with attach_metadata.node.
 */
static bool is_on_other_node(const struct joining *j)
{
	return j->p.c->role == KUBE_POD && j->p.c->attach_node &&
	       j->p.c->selectors[KUBE_NODE].role.len &&
	       !j->p.v.v[PART_PODS + POD_NODE];
}

/* Make the joined groups of an object again, if they are out of date. */
static void join_renew(struct joining *j, struct kube_stores *s,
		       struct kube_object *o)
{
	bool needed = join_is_needed(j);

	if (needed && o->joined && join_is_current(j, o->joined))
		return;
	kube_object_join(s, o, NULL);
	if (!needed)
		return;
	if (s->bytes + join_room(j) > s->bytes_max)
		j->lacking++;
	else
		kube_object_join(s, o, join_make(j, o->own));
}

/* Append the groups of an object, unless the object is left out. */
static void join_one(struct joining *j, struct kube_stores *s,
		     struct kube_object *o, struct target_groups_list *out)
{
	kube_parts_find(&j->p, o->own);
	if (is_second_family(j) || is_on_other_node(j))
		return;
	join_renew(j, s, o);
	*vec_add(out) = target_groups_ref(o->joined ? o->joined : o->own);
}

size_t kube_join_all(struct kube_stores *s, const struct kube_config *c,
		     struct target_groups_list *out)
{
	struct kube_store *one = &s->of[c->role];
	struct joining j = { 0 };

	kube_parts_init(&j.p, s, c);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): of pointers */
	vec_reserve(out, one->objects.count);
	for (size_t i = 0; i < one->objects.count; i++)
		join_one(&j, s, &one->objects.v[i], out);
	vec_fini(&j.p.v);
	vec_fini(&j.targets);
	vec_fini(&j.seen);
	return j.lacking;
}
