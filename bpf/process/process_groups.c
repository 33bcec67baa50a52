/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/process_groups.h"

#include <stdio.h>

#include "base/enc.h"
#include "base/hash.h"
#include "bpf/process/cgroup_path.h"
#include "bpf/process/container_log.h"
#include "bpf/process/maps_line.h"
#include "model/collected.h"

void process_groups_init(struct process_groups *g, const char *node,
			 const char *container_logs,
			 const struct relabel_rules *rules)
{
	*g = (struct process_groups){ .rules = rules,
				      .node = mem_strdup(node),
				      .container_logs = container_logs };
}

static void process_group_fini(struct process_group *g)
{
	labels_unref(g->labels);
	mem_free(g->key.ptr);
	mem_free(g->cgroup);
}

void process_groups_fini(struct process_groups *g)
{
	for (size_t i = 0; i < g->groups.count; i++) {
		if (g->groups.v[i].live)
			process_group_fini(&g->groups.v[i]);
	}
	vec_fini(&g->groups);
	vec_fini(&g->gaps);
	table_fini(&g->by_key);
	container_set_unref(g->containers);
	mem_free(g->node);
}

struct str process_exe_name(struct str path)
{
	path = maps_line_undeleted(path);
	for (size_t i = path.len; i; i--) {
		if (path.ptr[i - 1] == '/')
			return (struct str){ .ptr = path.ptr + i,
					     .len = path.len - i };
	}
	return path;
}

/*
 * Add a label, unless its value is empty. Paths and names of processes may have
 * any bytes. Each byte that is not valid UTF-8 is replaced by U+FFFD, because a
 * label must be UTF-8. The label is not left out, so that relabelling rules can
 * match every program.
 */
static void label_add(struct labels_builder *b, const char *name,
		      struct str value)
{
	struct buf text = { 0 };

	if (!value.len)
		return;
	buf_utf8(&text, value, "\xef\xbf\xbd");
	labels_set(b, str_of(name), str_from(buf_bytes(&text)));
	buf_fini(&text);
}

/*
 * Return the container `id` with its labels. NULL: `id` is empty, or service
 * discovery does not know the container.
 */
static const struct container *group_container(const struct process_groups *g,
					       struct str id)
{
	return g->containers && id.len ? container_set_find(g->containers, id) :
					 NULL;
}

/*
 * Return the value of the label `name` of a container; empty: it has no such
 * label.
 */
static struct str container_label(const struct container *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++) {
		if (str_is(c->labels[i].name, name))
			return c->labels[i].value;
	}
	return str_of("");
}

/*
 * Add all labels of a container. Names are taken from the labels of Kubernetes,
 * of a container runtime, or of Docker. From the first of these sources that
 * has a name for the container itself, also make the labels "container", "pod"
 * and "namespace" of the series, as far as the source has them. False: no
 * source has a name for the container itself.
 */
static bool label_names(struct labels_builder *b, const struct container *c)
{
	static const struct {
		const char *namespace, *pod, *container;
	} sources[] = {
		{ "__meta_kubernetes_namespace", "__meta_kubernetes_pod_name",
		  "__meta_kubernetes_pod_container_name" },
		{ "__meta_cri_pod_namespace", "__meta_cri_pod_name",
		  "__meta_cri_container_name" },
		{ "", "", "__meta_docker_container_name" },
	};

	/*
	 * If labels have the same name, the first one counts, so it is set
	 * last.
	 */
	for (size_t i = c->count; i; i--)
		labels_set(b, c->labels[i - 1].name, c->labels[i - 1].value);
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		struct str name = container_label(c, sources[i].container);

		/* Docker's names begin with a slash. */
		if (name.len && *name.ptr == '/')
			name = (struct str){ name.ptr + 1, name.len - 1 };
		if (!name.len)
			continue;
		label_add(b, "container", name);
		label_add(b, "pod", container_label(c, sources[i].pod));
		label_add(b, "namespace",
			  container_label(c, sources[i].namespace));
		return true;
	}
	return false;
}

/*
 * Add the labels of the container `id`: its ID, and those from service
 * discovery. If service discovery has no name for the container itself, also
 * add the names in the kubelet's link (container_log.h). If there is no link,
 * the short ID becomes the label "container".
 */
static void label_container(const struct process_groups *g,
			    struct labels_builder *b, struct str id)
{
	const struct container *c = group_container(g, id);
	struct container_log log;

	label_add(b, "__meta_process_container_id", id);
	if (c && label_names(b, c))
		return;
	if (container_log_find(g->container_logs, id, &log)) {
		label_add(b, "namespace", str_of(log.namespace));
		label_add(b, "pod", str_of(log.pod));
		label_add(b, "container", str_of(log.container));
		return;
	}
	label_add(b, "container",
		  (struct str){ .ptr = id.ptr, .len = CONTAINER_SHORT_LEN });
}

/*
 * Set the labels that all groups have: the profile type, the job and the
 * machine.
 */
static void label_origin(const struct process_groups *g,
			 struct labels_builder *b)
{
	label_add(b, LABEL_NAME, str_of(COLLECTED_CPU));
	label_add(b, "job", str_of(COLLECTED_JOB));
	label_add(b, COLLECTED_NODE, str_of(g->node));
}

struct labels *process_groups_node(const struct process_groups *g)
{
	struct labels_builder b = { 0 };
	struct labels *out = NULL;

	label_origin(g, &b);
	if (labels_build(&b, &out, NULL))
		out = NULL;
	labels_builder_fini(&b);
	return out;
}

/*
 * Add the labels that a process has before relabelling. `cgroup` is used in
 * place of p->cgroup, which may be empty.
 */
static void label_process(const struct process_groups *g,
			  struct labels_builder *b,
			  const struct process_facts *p, struct str cgroup)
{
	struct cgroup_path path = cgroup_path_of(cgroup);
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", p->pid);
	label_origin(g, b);
	label_add(b, "exe", process_exe_name(p->exe));
	if (path.container.len)
		label_container(g, b, path.container);
	else if (path.unit.len)
		label_add(b, "systemd_unit", path.unit);
	else
		label_add(b, "cgroup", cgroup);
	label_add(b, "__meta_process_pid", str_of(pid));
	label_add(b, "__meta_process_comm", p->name);
	label_add(b, "__meta_process_exe", p->exe);
	label_add(b, "__meta_process_cmdline", p->cmdline);
	label_add(b, "__meta_process_cgroup", cgroup);
	label_add(b, "__meta_process_systemd_unit", path.unit);
}

/*
 * Remove the labels whose names begin with "__", which serve relabelling only.
 * LABEL_NAME stays.
 */
static void label_remove_meta(struct labels_builder *b)
{
	for (size_t i = b->count; i; i--) {
		struct str name = b->v[i - 1].name;

		if (str_starts(name, str_of("__")) && !str_is(name, LABEL_NAME))
			labels_set(b, name, (struct str){ 0 });
	}
}

/* Make the labels of a process; NULL: it is dropped. */
static struct labels *process_labels(const struct process_groups *g,
				     const struct process_facts *p,
				     struct str cgroup)
{
	struct labels_builder b = { 0 };
	struct labels *out = NULL;
	int rc = RELABEL_KEPT;

	label_process(g, &b, p, cgroup);
	if (g->rules)
		rc = relabel_run(g->rules, NULL, &b, NULL, NULL);
	/*
	 * The configuration refuses rules that name the labels of
	 * label_origin(). A rule that makes the name of a label from a value
	 * may still change these labels, so they are set again.
	 */
	label_origin(g, &b);
	label_remove_meta(&b);
	/*
	 * The rules may have made labels that are not valid. The process is
	 * then dropped, too.
	 */
	if (rc == RELABEL_KEPT && labels_build(&b, &out, NULL))
		out = NULL;
	labels_builder_fini(&b);
	return out;
}

/*
 * Return the hash of the labels that service discovery has for the container of
 * a cgroup; 0: there are none.
 */
static uint64_t names_of(const struct process_groups *g, struct str cgroup)
{
	const struct container *c =
		group_container(g, cgroup_path_of(cgroup).container);

	return c ? c->hash : 0;
}

/*
 * Append the key of a process to `out`: the facts that decide about its labels.
 * Processes with equal keys have equal labels. Relabelling rules may use any
 * fact, so with rules each process has a key of its own.
 */
static void process_key(const struct process_groups *g,
			const struct process_facts *p, struct str cgroup,
			struct buf *out)
{
	enc_str(out, p->exe);
	enc_str(out, cgroup);
	enc_uvarint(out, names_of(g, cgroup));
	if (!g->rules || !g->rules->count)
		return;
	enc_uvarint(out, p->pid);
	enc_str(out, p->name);
	enc_str(out, p->cmdline);
}

/* Callback of table_find(): whether group number `number` has the key `key`. */
static bool process_group_same(const void *ctx, uint32_t number,
			       const void *key)
{
	const struct process_groups *g = ctx;

	return bytes_eq(g->groups.v[number].key, *(const struct bytes *)key);
}

static uint32_t process_groups_add(struct process_groups *g, struct bytes key,
				   const struct process_facts *p,
				   struct str cgroup)
{
	uint32_t number = g->gaps.count ? g->gaps.v[--g->gaps.count] :
					  (uint32_t)g->groups.count;

	if (number == PROCESS_GROUPS_MAX)
		return PROCESS_NO_GROUP;
	if (number == g->groups.count)
		vec_add(&g->groups);
	g->groups.v[number] = (struct process_group){
		.names = names_of(g, cgroup),
		.labels = process_labels(g, p, cgroup),
		.key = { .ptr = mem_dup(key.ptr, key.len), .len = key.len },
		.cgroup = mem_strndup(cgroup),
		.live = true,
		.in_use = true,
	};
	table_add(&g->by_key, hash_key(key), number);
	return number;
}

uint32_t process_groups_find(struct process_groups *g,
			     const struct process_facts *p, uint32_t inherited)
{
	struct str cgroup = p->cgroup;
	struct buf text = { 0 };
	struct bytes key;
	uint32_t number;

	if (!cgroup.len)
		cgroup = inherited == PROCESS_NO_GROUP ?
				 str_of("/") :
				 str_of(g->groups.v[inherited].cgroup);
	process_key(g, p, cgroup, &text);
	key = buf_bytes(&text);
	number = table_find(&g->by_key, hash_key(key), process_group_same, g,
			    &key);
	if (number == TABLE_NONE)
		number = process_groups_add(g, key, p, cgroup);
	buf_fini(&text);
	return number;
}

struct labels *process_groups_labels(const struct process_groups *g,
				     uint32_t number)
{
	return g->groups.v[number].labels;
}

bool process_groups_take_names(struct process_groups *g,
			       struct container_names *names)
{
	struct container_set *now = container_names_get(names);
	bool same = now == g->containers;

	container_set_unref(same ? now : g->containers);
	g->containers = now;
	return !same;
}

bool process_groups_is_stale(const struct process_groups *g, uint32_t number)
{
	const struct process_group *x = &g->groups.v[number];

	return x->names != names_of(g, str_of(x->cgroup));
}

void process_groups_count_begin(struct process_groups *g)
{
	for (size_t i = 0; i < g->groups.count; i++)
		g->groups.v[i].in_use = false;
}

void process_groups_count(struct process_groups *g, uint32_t number)
{
	if (number != PROCESS_NO_GROUP)
		g->groups.v[number].in_use = true;
}

void process_groups_count_end(struct process_groups *g)
{
	for (uint32_t i = 0; i < g->groups.count; i++) {
		struct process_group *x = &g->groups.v[i];

		if (!x->live || x->in_use)
			continue;
		table_remove(&g->by_key, hash_key(x->key), i);
		process_group_fini(x);
		x->live = false;
		*vec_add(&g->gaps) = i;
	}
}
