/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the names of containers that others have found out: which labels
 * processes get, and what happens when names come later or change.
 */
#include <stdio.h>

#include "base/mem.h"
#include "bpf/process/process_groups.h"
#include "tests/check.h"

TestSuite(container_names, .timeout = 60);

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Make a set with one container, whose labels are name, value, name, value. */
static struct container_set *set_of(const char *id, const char *const *texts)
{
	struct container_set *s = container_set_new();
	struct label labels[8];
	size_t count = 0;

	for (; texts[0]; texts += 2)
		labels[count++] =
			(struct label){ str_of(texts[0]), str_of(texts[1]) };
	cr_assert(!container_set_add(s, str_of(id), labels, count, NULL));
	return s;
}

static const char *const pod[] = { "__meta_kubernetes_namespace",
				   "shop",
				   "__meta_kubernetes_pod_name",
				   "web-1",
				   "__meta_kubernetes_pod_container_name",
				   "nginx",
				   "__meta_kubernetes_pod_label_team",
				   "red",
				   NULL };
static const char *const docker[] = { "__meta_docker_container_name", "/db",
				      "__meta_docker_container_label_team",
				      "blue", NULL };
static const char *const cri[] = { "__meta_cri_pod_namespace",
				   "shop",
				   "__meta_cri_pod_name",
				   "web-2",
				   "__meta_cri_container_name",
				   "main",
				   NULL };
static const char *const nameless[] = { "__meta_docker_container_id", "x",
					NULL };

/* Check the labels of a group. */
static void check_group(const struct process_groups *g, uint32_t number,
			const char *want)
{
	struct buf text = { 0 };

	cr_assert(number != PROCESS_NO_GROUP);
	cr_assert(process_groups_labels(g, number));
	labels_text(process_groups_labels(g, number), &text);
	cr_expect(check_str(str_from(buf_bytes(&text)), want));
	buf_fini(&text);
}

Test(container_names, a_set_keeps_the_first_of_equal_ids)
{
	struct container_set *s = set_of(ID, pod);
	const struct label other = { str_of("__meta_x"), str_of("y") };
	const struct container *c;

	cr_expect(!container_set_add(s, str_of(ID), &other, 1, NULL));
	cr_expect(!container_set_add(s, str_of(OTHER), &other, 1, NULL));
	cr_expect(container_set_count(s) == 2);
	c = container_set_find(s, str_of(ID));
	cr_assert(c);
	cr_assert(c->count == 4);
	cr_expect(check_str(c->labels[1].value, "web-1"));
	cr_expect(!container_set_find(s, str_of("")));
	container_set_unref(s);
}

Test(container_names, a_set_has_limits)
{
	struct container_set *s = container_set_new();
	struct buf big = { 0 };
	struct label label = { .name = str_of("__meta_x") };
	struct err err;
	char id[32];
	int rc = 0;

	for (int i = 0; i <= CONTAINERS_MAX && !rc; i++) {
		snprintf(id, sizeof(id), "%d", i);
		rc = container_set_add(s, str_of(id), NULL, 0, &err);
	}
	cr_assert(rc == ERR_LIMIT);
	cr_expect(container_set_count(s) == CONTAINERS_MAX);
	container_set_unref(s);
	s = container_set_new();
	while (big.len < CONTAINERS_BYTES_MAX / 2)
		buf_str(&big, "0123456789abcdef0123456789abcdef");
	label.value = str_from(buf_bytes(&big));
	cr_expect(!container_set_add(s, str_of("a"), &label, 1, &err));
	cr_expect(container_set_add(s, str_of("b"), &label, 1, &err) ==
		  ERR_LIMIT);
	buf_fini(&big);
	container_set_unref(s);
}

Test(container_names, processes_get_the_names_of_their_container)
{
	static const struct {
		const char *const *names;
		const char *labels;
	} cases[] = {
		{ pod, "process_cpu{container=\"nginx\",exe=\"sh\","
		       "job=\"ebpf\",namespace=\"shop\",node=\"host\","
		       "pod=\"web-1\",team=\"red\"}" },
		{ docker, "process_cpu{container=\"db\",exe=\"sh\","
			  "job=\"ebpf\",node=\"host\",team=\"blue\"}" },
		{ cri, "process_cpu{container=\"main\",exe=\"sh\","
		       "job=\"ebpf\",namespace=\"shop\",node=\"host\","
		       "pod=\"web-2\"}" },
		{ nameless, "process_cpu{container=\"0123456789ab\","
			    "exe=\"sh\",job=\"ebpf\",node=\"host\"}" },
	};
	struct relabel_rules rules = { 0 };
	struct yaml y;

	yaml_parse(&y, "rules",
		   bytes_of(str_of("- {action: labelmap, "
				   "regex: __meta_.*_label_(team)}")));
	relabel_decode(&y, y.root, &rules);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct container_names *names = container_names_new();
		const struct process_facts p = { .pid = 1,
						 .exe = str_of("/bin/sh"),
						 .cgroup = str_of(
							 "/docker/" ID) };
		struct process_groups g;

		container_names_set(names, set_of(ID, cases[i].names));
		process_groups_init(&g, "host", NULL, &rules);
		cr_expect(process_groups_take_names(&g, names));
		check_group(&g, process_groups_find(&g, &p, PROCESS_NO_GROUP),
			    cases[i].labels);
		process_groups_fini(&g);
		container_names_free(names);
	}
	relabel_rules_fini(&rules);
	yaml_fini(&y);
}

Test(container_names, names_that_come_later_make_another_group)
{
	struct container_names *names = container_names_new();
	struct process_facts p = { .pid = 1,
				   .exe = str_of("/bin/sh"),
				   .cgroup = str_of("/docker/" ID) };
	struct process_groups g;
	uint32_t first;
	uint32_t other;

	process_groups_init(&g, "host", NULL, NULL);
	cr_expect(!process_groups_take_names(&g, names));
	first = process_groups_find(&g, &p, PROCESS_NO_GROUP);
	p.cgroup = str_of("/docker/" OTHER);
	other = process_groups_find(&g, &p, PROCESS_NO_GROUP);
	container_names_set(names, set_of(ID, docker));
	cr_expect(process_groups_take_names(&g, names));
	cr_expect(!process_groups_take_names(&g, names));
	cr_expect(process_groups_is_stale(&g, first));
	cr_expect(!process_groups_is_stale(&g, other));
	p.cgroup = str_of("/docker/" ID);
	cr_expect(process_groups_find(&g, &p, first) != first);
	/* The same names again change nothing, and other names do. */
	first = process_groups_find(&g, &p, first);
	container_names_set(names, set_of(ID, docker));
	cr_expect(process_groups_take_names(&g, names));
	cr_expect(!process_groups_is_stale(&g, first));
	container_names_set(names, set_of(ID, pod));
	cr_expect(process_groups_take_names(&g, names));
	cr_expect(process_groups_is_stale(&g, first));
	process_groups_fini(&g);
	container_names_free(names);
}
