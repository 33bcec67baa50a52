/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process table: the running processes and their mappings, as the kernel's
 * reports and /proc state them. The table publishes the mappings: it copies
 * them into an array that the program in the kernel reads. When there is no
 * room, processes that are not sampled, or that have many mappings, are
 * evicted. An evicted process is read again from /proc when a sample of the
 * process is taken.
 *
 * Ownership: the table owns its processes; files and mappings are borrowed.
 * Threads: one thread at a time.
 * Units: milliseconds of a clock that never goes back.
 */
#ifndef BPF_PROCESS_PROCESS_TABLE_H
#define BPF_PROCESS_PROCESS_TABLE_H

#include "bpf/kernel/side_band_record.h"
#include "bpf/process/address_space.h"
#include "bpf/process/file_table.h"
#include "bpf/process/process_reader.h"
#include "bpf/process/process_uid.h"

enum {
	/* Largest number of processes; the kernel has room for as many. */
	PROCESS_TABLE_MAX = 16 << 10,
	/*
	 * For how long the mappings of a process stay in the kernel after its
	 * main thread has ended: other threads, and the exit itself, are still
	 * sampled.
	 */
	PROCESS_LINGER_MS = 500,
	/*
	 * For how long a process whose main thread has ended stays in the
	 * table: samples of the process may still arrive.
	 */
	PROCESS_KEPT_MS = 2000,
	/* How often processes that have ended are visited. */
	PROCESS_RETIRE_MS = 100,
	/*
	 * For how long a process that is being read (`asked`) is not evicted.
	 * This is also how long its samples wait at most.
	 */
	PROCESS_ASKED_MS = 1000,
	/*
	 * A process with more ranges than this may be evicted even while it is
	 * sampled.
	 */
	PROCESS_FAIR_RANGES = 256,
	/*
	 * How many processes process_evict() looks at to find one that it may
	 * evict.
	 */
	PROCESS_EVICTION_STEPS = 1024,
	PROCESS_NAME_MAX = 16,
};

/*
 * No group. PROCESS_NO_GROUP is not in the enum above, because in C23 it would
 * make all constants of that enum unsigned.
 */
enum {
	PROCESS_NO_GROUP = UINT32_MAX
};

/*
 * A part of the array of mappings that the kernel reads, for one process or
 * several.
 */
struct publication {
	struct extent extent;
	/* number of processes that share it; after a fork, several */
	uint32_t users;
};

/* A process. */
struct process {
	uint32_t pid;
	uint32_t parent; /* PID of the process that forked it; 0: not known */
	struct process_uid uid;
	char name[PROCESS_NAME_MAX]; /* of its first thread */
	struct address_space space;
	uint32_t publication; /* index in `publications`, or PUBLICATION_NONE */
	uint32_t program;     /* file that it runs, or FILE_NONE */
	/*
	 * `group` is the number of its group (process_groups.h), which
	 * process_table_set_group() stores. PROCESS_NO_GROUP: the group was not
	 * set since the process was made or began to run its program, or since
	 * process_table_regroup(). `old_group` is the group that the process
	 * had before or, after a fork, that of its parent; PROCESS_NO_GROUP:
	 * there was none.
	 */
	uint32_t group;
	uint32_t old_group;
	bool marked; /* see process_table_mark() */
	/*
	 * number of reads that process_table_may_scan() allowed since the
	 * process began to run its program, up to PROCESS_SCANS_SHIFT
	 */
	uint32_t scans;
	/* when process_table_may_scan() may allow the next read */
	uint64_t scan_after;
	/* it is being read, see process_table_may_scan() */
	bool asked;
	uint64_t asked_at;
	/*
	 * When the process began, or began to run its program, as the kernel
	 * reported it, in ns; 0: it was not reported.
	 */
	uint64_t began_ns;
	bool live;    /* not a gap in the array of processes */
	bool changed; /* it has changed since it was published */
	/*
	 * process_publish_less() has corrected the publication since the
	 * process changed last
	 */
	bool corrected;
	bool listed;  /* its number is in `work` of the table */
	bool sampled; /* sampled since process_evict() visited it last */
	/* the kernel takes no samples of it; see process_table_ignore() */
	bool ignored;
	bool ended;
	uint64_t ended_at;
};

/* Tells the kernel about processes. */
struct process_publisher {
	/*
	 * Publish, or replace, the mappings of a process. False: there is no
	 * room.
	 */
	bool (*set)(void *ctx, uint32_t pid, const struct sampler_process *p);
	void (*remove)(void *ctx, uint32_t pid);
	void *ctx;
};

/* All processes. */
struct process_table {
	struct file_table *files;
	struct sampler_mapping *mappings;
	struct process_publisher publisher;
	struct extents extents;   /* of the mappings */
	struct address_pool pool; /* the ranges of the processes */
	VEC(struct process) processes;
	VEC(uint32_t) gaps;
	VEC(uint32_t) work; /* for process_table_publish() */
	/* processes that have ended, in the order of their ends */
	VEC(uint32_t) ended;
	uint64_t retire_after; /* when `ended` is visited again */
	VEC(struct publication) publications;
	VEC(uint32_t) publication_gaps;
	struct table by_pid;
	uint32_t hand;    /* where process_evict() goes on */
	uint64_t evicted; /* number of processes that were evicted */
	uint64_t refused; /* how often there was no room for a process */
	/* how often there was no room to store or to publish mappings */
	uint64_t crowded_out;
};

/*
 * Begin with no processes. `mappings` is the array of `count` mappings that the
 * kernel reads. The array and `files` must outlive the table.
 */
void process_table_init(struct process_table *t, struct file_table *files,
			struct sampler_mapping *mappings, uint32_t count,
			const struct process_publisher *publisher);

/* Forget all processes. */
void process_table_fini(struct process_table *t);

/*
 * Note that a sample of a process was taken, so that other processes are
 * evicted first. If the mappings of the sampled process found no room before,
 * the next process_table_publish() tries to publish them again.
 */
void process_table_sampled(struct process_table *t, uint32_t pid);

/* Apply a report of the kernel. */
void process_table_report(struct process_table *t,
			  const struct side_band_record *r, uint64_t now);

/*
 * Set the name of a process, and replace its mappings by those of `text`
 * (bpf/process/process_reader.h). `read_ns` is the time at which reading `text`
 * began. A process that is not known is added. Mappings that were reported
 * after `read_ns` stay, because `text` may not have them. Nothing changes if
 * the process has ended, or if its `began_ns` (when the process was forked, or
 * began to run its program) is not before `read_ns`. Mapped files are
 * identified by device and inode.
 */
void process_table_scan(struct process_table *t, uint32_t pid,
			const struct process_text *text, uint64_t read_ns,
			uint64_t now);

/*
 * Return the user ID of a process. PROCESS_UID_GONE: the process or its user is
 * not known.
 */
uint32_t process_table_uid(struct process_table *t, uint32_t pid);

/*
 * Return the group whose cgroup is used for `p` if the cgroup of `p` itself
 * cannot be read: p->old_group or, if there is none, the group that the parent
 * has by now. PROCESS_NO_GROUP: neither is known.
 */
uint32_t process_table_inherited(const struct process_table *t,
				 const struct process *p);

/* Set the group of a process. If the process is not known, do nothing. */
void process_table_set_group(struct process_table *t, uint32_t pid,
			     uint32_t group);

/*
 * Let the kernel take no samples of a process, until it runs another program,
 * or until process_table_regroup() is called for it. Its children are sampled.
 */
void process_table_ignore(struct process_table *t, uint32_t pid);

/*
 * Take a process out of its group, which is remembered as `old_group`, and let
 * the process be sampled again if it was ignored.
 */
void process_table_regroup(struct process_table *t, struct process *p);

/*
 * Mark a process, which is added if it is not known. Marked processes are never
 * evicted, and their children are marked, too.
 */
void process_table_mark(struct process_table *t, uint32_t pid, uint64_t now);

/*
 * Whether the facts about a process may be read now. The caller wants to read
 * them because a sample was taken outside of the known mappings, or because a
 * group is not known. The first read is allowed at once. The time until each
 * further read doubles, up to some 25 seconds: some code is never in a reported
 * mapping, so each of its samples asks for a read again. If a read is allowed,
 * it is counted, and the process is noted as being read, until
 * process_table_answer(). A process that is not known is added. False is also
 * returned if the process has ended, or if there is no room for it.
 */
bool process_table_may_scan(struct process_table *t, uint32_t pid,
			    uint64_t now);

/*
 * Note that a process was read, with success or not. `read_ns` is the time at
 * which reading began. Returns the process, borrowed until the next change, if
 * the process is noted as being read, if reading did not begin before
 * process_table_may_scan() last allowed it, and if the process began its
 * program before `read_ns`; else NULL.
 */
const struct process *process_table_answer(struct process_table *t,
					   uint32_t pid, uint64_t read_ns);

/*
 * Publish the processes that have changed since the last call, and those for
 * which there was no room before, if process_table_sampled() or
 * process_table_sweep() has queued them again. Forget the processes that ended
 * PROCESS_KEPT_MS ago. If mappings of sampled processes find no room, evict
 * processes, so that there is room later.
 */
void process_table_publish(struct process_table *t, uint64_t now);

/*
 * Note that a file was read, or has lost its unwind table: the processes that
 * have the file are published again.
 */
void process_table_file_changed(struct process_table *t, uint32_t file);

/*
 * Close the files that no process maps or runs, and whose numbers are not in
 * `files`. As file_table_count_end() says, some of them are forgotten at once,
 * others later. Processes that have changed, but found no room when they were
 * to be published, are queued for process_table_publish() again.
 */
void process_table_sweep(struct process_table *t, const uint32_t *files,
			 size_t count, uint64_t now);

/* Return a process, borrowed until the next change, or NULL. */
const struct process *process_table_find(const struct process_table *t,
					 uint32_t pid);

/* Stands for no publication. */
#define PUBLICATION_NONE UINT32_MAX

/*
 * Publish the mappings of a process. False: there is no room; t->crowded_out is
 * increased, and the process still counts as changed. If the process has an
 * older publication, this publication stays. A mapping in this publication
 * loses its unwind table if the table was evicted or replaced. If no other
 * process shares the publication, the mappings that the process does not have
 * any more lose their unwind tables, too.
 */
NODISCARD bool process_publish(struct process_table *t, struct process *p,
			       uint64_t now);

/* Whether other processes use the publication of a process, too. */
bool process_publication_is_shared(const struct process_table *t,
				   const struct process *p);

/*
 * Release the publication of a process. The publication is freed if no other
 * process uses it.
 */
void process_unpublish(struct process_table *t, struct process *p,
		       uint64_t now);

/* Remove a process from the kernel, and release its publication. */
void process_withdraw(struct process_table *t, struct process *p, uint64_t now);

#endif
