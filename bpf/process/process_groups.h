/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process groups decide which processes share one series of profiles. By
 * default, these are the processes of one program in one container, systemd
 * unit or cgroup. Relabelling rules can change the labels, and drop processes.
 *
 * Ownership: struct process_groups owns its groups; rules and the directory of
 * log links are borrowed.
 * Threads: one thread at a time.
 */
#ifndef BPF_PROCESS_PROCESS_GROUPS_H
#define BPF_PROCESS_PROCESS_GROUPS_H

#include "base/table.h"
#include "base/vec.h"
#include "bpf/process/container_names.h"
#include "bpf/process/process_table.h"
#include "model/relabel.h"

enum {
	/*
	 * Largest number of groups. If a process would need one more group, its
	 * samples are lost. Groups are made only for processes that are
	 * sampled, and for their parents. When a window of samples has ended,
	 * groups that no process in the table has are forgotten. So a user who
	 * wants to use up the groups needs many thousands of samples.
	 */
	PROCESS_GROUPS_MAX = 32 << 10,
};

/* Facts about a process. A text is empty if the fact is not known. */
struct process_facts {
	uint32_t pid;
	struct str exe;     /* path of its program, or a name in its place */
	struct str name;    /* as /proc/PID/comm has it */
	struct str cgroup;  /* path */
	struct str cmdline; /* arguments, separated by blanks */
};

/* A group. */
struct process_group {
	/* hash of the labels of its container, names_of(); 0: none */
	uint64_t names;
	struct labels *labels; /* NULL: its processes are dropped */
	struct bytes key;      /* owned; made by process_key() */
	char *cgroup;
	bool live;
	bool in_use;
};

/* All groups. */
struct process_groups {
	const struct relabel_rules *rules; /* may be NULL */
	char *node;
	/*
	 * Directory with the kubelet's links to log files. The name of a link
	 * contains the pod of its container.
	 */
	const char *container_logs;
	struct container_set *containers; /* a reference, or NULL */
	VEC(struct process_group) groups;
	VEC(uint32_t) gaps;
	struct table by_key;
};

/*
 * Return the name of a program, as the labels of its series have it: the last
 * element of its path, without the kernel's mark of a removed file. Borrowed
 * from the path.
 */
struct str process_exe_name(struct str path);

/*
 * Begin with no group. `node` is the name of the machine, and is copied. The
 * rest is borrowed.
 */
void process_groups_init(struct process_groups *g, const char *node,
			 const char *container_logs,
			 const struct relabel_rules *rules);

/* Free everything. */
void process_groups_fini(struct process_groups *g);

/*
 * Return the number of the group of a process; the group is added if it is new.
 * PROCESS_NO_GROUP: there are too many groups. `inherited` is the group that
 * the process had before, or that of its parent (process_table_inherited()). If
 * p->cgroup is empty, the cgroup of `inherited` is used, or "/" if `inherited`
 * is PROCESS_NO_GROUP.
 */
uint32_t process_groups_find(struct process_groups *g,
			     const struct process_facts *p, uint32_t inherited);

/*
 * Return the labels that all groups have in common: the profile type, the job
 * and the machine. NULL: the name of the machine cannot be the value of a
 * label. The caller owns the reference.
 */
struct labels *process_groups_node(const struct process_groups *g);

/* Return the labels of a group, or NULL if its processes are dropped. */
struct labels *process_groups_labels(const struct process_groups *g,
				     uint32_t number);

/*
 * Take over the newest set of container names. Returns false if it is the same
 * set as before. Groups keep their labels: see process_groups_is_stale().
 */
bool process_groups_take_names(struct process_groups *g,
			       struct container_names *names);

/*
 * Whether the processes of a group must be grouped again, because the names of
 * their container have changed.
 */
bool process_groups_is_stale(const struct process_groups *g, uint32_t number);

/*
 * Begin to forget the groups that no process has: mark all groups as not in use
 * …
 */
void process_groups_count_begin(struct process_groups *g);

/* … then mark as in use each group that a process has … */
void process_groups_count(struct process_groups *g, uint32_t number);

/* … then forget the groups that are not in use. */
void process_groups_count_end(struct process_groups *g);

#endif
