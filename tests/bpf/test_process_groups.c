/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of which series a process belongs to: by its program, and by its
 * container, systemd unit or cgroup; and what relabelling does with it.
 */
#include <sys/stat.h>

#include "base/mem.h"
#include "bpf/process/cgroup_path.h"
#include "bpf/process/container_log.h"
#include "bpf/process/process_groups.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(process_groups, .timeout = 60);

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

Test(process_groups, cgroup_of_a_process)
{
	cr_expect(check_str(cgroup_path_find(str_of("0::/a/b\n")), "/a/b"));
	/* Both versions: that of version 2 says nothing. */
	cr_expect(check_str(
		cgroup_path_find(str_of("5:memory:/m\n4:cpu,cpuacct:/c\n"
					"1:name=systemd:/s\n0::/\n")),
		"/c"));
	cr_expect(check_str(
		cgroup_path_find(str_of("4:cpu:/\n1:name=systemd:/s\n0::/\n")),
		"/s"));
	cr_expect(check_str(cgroup_path_find(str_of("nonsense")), "/"));
	cr_expect(check_str(cgroup_path_find(str_of("")), "/"));
}

/* Then it has the cgroup of its parent. */
Test(process_groups, the_cgroup_of_a_process_that_is_ending_is_not_known)
{
	static const char ending[] = "5:memory:/\n4:cpu,cpuacct:/\n";
	static const char alive[] = "5:memory:/m\n4:cpu,cpuacct:/c\n";

	cr_expect(!cgroup_path_of_process(str_of(ending), false).len);
	cr_expect(!cgroup_path_of_process(str_of(""), true).len);
	cr_expect(check_str(cgroup_path_of_process(str_of(ending), true), "/"));
	cr_expect(
		check_str(cgroup_path_of_process(str_of(alive), false), "/c"));
}

/* Check what is found in a path. */
static void check_path(const char *path, const char *unit,
		       const char *container, bool kubernetes)
{
	struct cgroup_path p = cgroup_path_of(str_of(path));

	cr_expect(check_str(p.unit, unit), "%s", path);
	cr_expect(check_str(p.container, container), "%s", path);
	cr_expect(p.kubernetes == kubernetes, "%s", path);
}

Test(process_groups, units_and_containers_of_cgroups)
{
	check_path("/system.slice/nginx.service", "nginx.service", "", false);
	check_path("/user.slice/user-1.slice/session-3.scope",
		   "session-3.scope", "", false);
	check_path("/user.slice", "", "", false);
	check_path("/docker/" ID, "", ID, false);
	check_path("/system.slice/docker-" ID ".scope", "docker-" ID ".scope",
		   ID, false);
	check_path("/kubepods/burstable/pod12-34/" ID, "", ID, true);
	check_path("/kubepods.slice/kubepods-pod12.slice/"
		   "cri-containerd-" ID ".scope",
		   "cri-containerd-" ID ".scope", ID, true);
	check_path("/a" ID "b", "", "", false);
	check_path("/0" ID, "", "", false);
	check_path("/", "", "", false);
}

Test(process_groups, containers_of_kubernetes_by_their_logs)
{
	struct container_log l;

	cr_assert(container_log_parse(str_of("web-1_shop_nginx-" ID ".log"),
				      str_of(ID), &l));
	cr_assert(!strcmp(l.pod, "web-1"));
	cr_assert(!strcmp(l.namespace, "shop"));
	cr_expect(!strcmp(l.container, "nginx"));
	cr_expect(!container_log_parse(str_of("web-1_shop_nginx-" ID ".txt"),
				       str_of(ID), &l));
	cr_expect(!container_log_parse(str_of("web-1_nginx-" ID ".log"),
				       str_of(ID), &l));
	cr_expect(!container_log_parse(str_of("__nginx-" ID ".log"), str_of(ID),
				       &l));
	cr_expect(!container_log_parse(str_of(ID ".log"), str_of(ID), &l));
	cr_expect(!container_log_find("/nowhere", str_of(ID), &l));
}

static struct process_facts facts_of(uint32_t pid, const char *exe,
				     const char *cgroup)
{
	return (struct process_facts){ .pid = pid,
				       .exe = str_of(exe),
				       .name = str_of("worker"),
				       .cgroup = str_of(cgroup),
				       .cmdline = str_of("worker -x") };
}

/* Check the labels of a group. */
static void check_labels(const struct process_groups *g, uint32_t number,
			 const char *want)
{
	struct labels *labels = process_groups_labels(g, number);
	struct buf text = { 0 };

	cr_assert(labels);
	labels_text(labels, &text);
	cr_expect(check_str(str_from(buf_bytes(&text)), want));
	buf_fini(&text);
}

Test(process_groups, processes_of_a_program_in_a_unit_share_a_series)
{
	struct process_groups g;
	struct process_facts p = facts_of(1, "/usr/sbin/nginx (deleted)",
					  "/system.slice/nginx.service");
	uint32_t first;

	process_groups_init(&g, "host", NULL, NULL);
	first = process_groups_find(&g, &p, PROCESS_NO_GROUP);
	check_labels(&g, first,
		     "process_cpu{exe=\"nginx\",job=\"ebpf\",node=\"host\","
		     "systemd_unit=\"nginx.service\"}");
	p.pid = 2;
	cr_expect(process_groups_find(&g, &p, PROCESS_NO_GROUP) == first);
	p = facts_of(3, "/bin/sh", "/docker/" ID);
	check_labels(&g, process_groups_find(&g, &p, PROCESS_NO_GROUP),
		     "process_cpu{container=\"0123456789ab\",exe=\"sh\","
		     "job=\"ebpf\",node=\"host\"}");
	process_groups_fini(&g);
}

/* A program must not take the name of the kernel's series. */
Test(process_groups, names_of_programs_have_no_mark_of_removed_files)
{
	static const char *const paths[] = { "[kernel]", "/tmp/[kernel]",
					     "/tmp/[kernel] (deleted)" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		cr_expect(check_str(process_exe_name(str_of(paths[i])),
				    "[kernel]"));
}

Test(process_groups, names_that_are_not_utf8_are_shown_with_replacements)
{
	struct process_groups g;
	struct process_facts p = facts_of(1, "/tmp/evil\xff", "/a");

	process_groups_init(&g, "host", NULL, NULL);
	check_labels(&g, process_groups_find(&g, &p, PROCESS_NO_GROUP),
		     "process_cpu{cgroup=\"/a\",exe=\"evil\xef\xbf\xbd\","
		     "job=\"ebpf\",node=\"host\"}");
	process_groups_fini(&g);
}

/* A child that has ended already has the cgroup of its parent. */
Test(process_groups, cgroups_are_inherited)
{
	struct process_groups g;
	struct process_facts p = facts_of(1, "/bin/sh", "/a");
	uint32_t parent;

	process_groups_init(&g, "host", NULL, NULL);
	parent = process_groups_find(&g, &p, PROCESS_NO_GROUP);
	p = facts_of(2, "/bin/ls", "");
	check_labels(&g, process_groups_find(&g, &p, parent),
		     "process_cpu{cgroup=\"/a\",exe=\"ls\",job=\"ebpf\","
		     "node=\"host\"}");
	check_labels(&g, process_groups_find(&g, &p, PROCESS_NO_GROUP),
		     "process_cpu{cgroup=\"/\",exe=\"ls\",job=\"ebpf\","
		     "node=\"host\"}");
	process_groups_fini(&g);
}

Test(process_groups, pods_of_a_node)
{
	struct tempdir d = tempdir_make();
	struct process_groups g;
	struct process_facts p = facts_of(1, "/bin/sh", "/kubepods/pod1/" ID);
	char path[4200];

	snprintf(path, sizeof(path), "%s/web-1_shop_nginx-" ID ".log", d.path);
	cr_assert(!mkdir(path, 0700));
	process_groups_init(&g, "host", d.path, NULL);
	check_labels(&g, process_groups_find(&g, &p, PROCESS_NO_GROUP),
		     "process_cpu{container=\"nginx\",exe=\"sh\",job=\"ebpf\","
		     "namespace=\"shop\",node=\"host\",pod=\"web-1\"}");
	process_groups_fini(&g);
	tempdir_fini(&d);
}

/* Decode rules from the configuration's language. */
static void rules_of(struct yaml *y, const char *text,
		     struct relabel_rules *out)
{
	yaml_parse(y, "rules", bytes_of(str_of(text)));
	relabel_decode(y, y->root, out);
	cr_assert(!y->error_count, "%s", buf_cstr(&y->errors));
}

Test(process_groups, rules_drop_processes_and_make_series_of_one)
{
	struct relabel_rules rules = { 0 };
	struct process_groups g;
	struct process_facts p = facts_of(7, "/bin/sh", "/a");
	struct yaml y;
	uint32_t n;

	rules_of(&y,
		 "- {source_labels: [exe], regex: ls, action: drop}\n"
		 "- {source_labels: [__meta_process_pid], target_label: pid}\n"
		 "- {source_labels: [__meta_process_cmdline], "
		 "target_label: cmd}\n",
		 &rules);
	process_groups_init(&g, "host", NULL, &rules);
	n = process_groups_find(&g, &p, PROCESS_NO_GROUP);
	check_labels(&g, n,
		     "process_cpu{cgroup=\"/a\",cmd=\"worker -x\",exe=\"sh\","
		     "job=\"ebpf\",node=\"host\",pid=\"7\"}");
	p.pid = 8;
	cr_expect(process_groups_find(&g, &p, PROCESS_NO_GROUP) != n);
	p.exe = str_of("/bin/ls");
	n = process_groups_find(&g, &p, PROCESS_NO_GROUP);
	cr_assert(n != PROCESS_NO_GROUP);
	cr_expect(!process_groups_labels(&g, n));
	process_groups_fini(&g);
	relabel_rules_fini(&rules);
	yaml_fini(&y);
}

/* Rules can make names of labels of values, which nobody can check before. */
Test(process_groups, rules_do_not_change_the_name_of_the_machine)
{
	static const char text[] =
		"- {source_labels: [exe], regex: '(.*)', target_label: '$1', "
		"replacement: other}";
	struct process_groups g;
	struct yaml y;
	struct relabel_rules rules = { 0 };
	struct labels *node;
	const struct process_facts p = facts_of(1, "/bin/node", "/a");

	yaml_parse(&y, "rules", bytes_of(str_of(text)));
	relabel_decode(&y, y.root, &rules);
	cr_assert(rules.count == 1);
	process_groups_init(&g, "host", NULL, &rules);
	check_labels(&g, process_groups_find(&g, &p, PROCESS_NO_GROUP),
		     "process_cpu{cgroup=\"/a\",exe=\"node\",job=\"ebpf\","
		     "node=\"host\"}");
	node = process_groups_node(&g);
	cr_assert(node);
	cr_expect(check_str(labels_get(node, str_of("node")), "host"));
	labels_unref(node);
	process_groups_fini(&g);
	relabel_rules_fini(&rules);
	yaml_fini(&y);
}

Test(process_groups, groups_without_processes_are_forgotten)
{
	struct process_groups g;
	struct process_facts p = facts_of(1, "/bin/a", "/");
	uint32_t a;
	uint32_t b;

	process_groups_init(&g, "host", NULL, NULL);
	a = process_groups_find(&g, &p, PROCESS_NO_GROUP);
	p.exe = str_of("/bin/b");
	b = process_groups_find(&g, &p, PROCESS_NO_GROUP);
	process_groups_count_begin(&g);
	process_groups_count(&g, b);
	process_groups_count(&g, PROCESS_NO_GROUP);
	process_groups_count_end(&g);
	cr_expect(g.by_key.count == 1);
	p.exe = str_of("/bin/c");
	cr_expect(process_groups_find(&g, &p, PROCESS_NO_GROUP) == a);
	p.exe = str_of("/bin/b");
	cr_expect(process_groups_find(&g, &p, PROCESS_NO_GROUP) == b);
	process_groups_fini(&g);
}

/* Without room, a process has no group; it gets one when others are forgotten. */
Test(process_groups, there_is_room_for_so_many)
{
	struct process_groups g;
	struct process_facts p = facts_of(1, "/bin/a", "/");
	char exe[32];
	uint32_t n;

	process_groups_init(&g, "host", NULL, NULL);
	for (uint32_t i = 0; i < PROCESS_GROUPS_MAX; i++) {
		snprintf(exe, sizeof(exe), "/bin/program%u", i);
		p.exe = str_of(exe);
		n = process_groups_find(&g, &p, PROCESS_NO_GROUP);
		cr_assert(n == i);
	}
	cr_expect(process_groups_find(&g, &p, PROCESS_NO_GROUP) == n,
		  "the last one is known");
	p.exe = str_of("/bin/one-too-many");
	cr_expect(process_groups_find(&g, &p, PROCESS_NO_GROUP) ==
		  PROCESS_NO_GROUP);
	process_groups_count_begin(&g);
	for (uint32_t i = 1; i < PROCESS_GROUPS_MAX; i++)
		process_groups_count(&g, i);
	process_groups_count_end(&g);
	cr_expect(process_groups_find(&g, &p, PROCESS_NO_GROUP) == 0);
	process_groups_fini(&g);
}
