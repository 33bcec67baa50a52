/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process table: the running processes and their mappings, as the kernel's
 * reports and /proc state them. The table publishes the mappings: it copies
 * them into an array that the program in the kernel reads. When there is no
 * room, processes that are not sampled, or that have many mappings, are
 * evicted. What is needed of them is read again with their next sample.
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
	 * For how long such a process stays in the table: samples of it may
	 * still arrive.
	 */
	PROCESS_KEPT_MS = 2000,
	/* How often processes that have ended are visited. */
	PROCESS_RETIRE_MS = 100,
	/*
	 * For how long a process that is being read does not give way to
	 * others. Its samples wait for so long.
	 */
	PROCESS_ASKED_MS = 1000,
	/*
	 * A process with more ranges than this may be evicted even while it is
	 * sampled.
	 */
	PROCESS_FAIR_RANGES = 256,
	/* How many processes are looked at to find one that gives way. */
	PROCESS_EVICTION_STEPS = 1024,
	PROCESS_NAME_MAX = 16,
};

/*
 * No group. It is not in the enum above, whose constants it would make
 * unsigned.
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
	uint32_t users; /* processes that share it since a fork */
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
	 * The number of its group, which the caller has set, or
	 * PROCESS_NO_GROUP: none was set since the process began to run its
	 * program, or since process_table_regroup(). `old_group` is the group
	 * before that or, after a fork, that of the parent; PROCESS_NO_GROUP:
	 * there was none.
	 */
	uint32_t group;
	uint32_t old_group;
	bool marked; /* see process_table_mark() */
	/*
	 * number of reads that process_table_may_scan() allowed, up to a limit
	 */
	uint32_t scans;
	uint64_t scan_after; /* when they may be read again */
	bool asked;          /* it is being read, process_table_may_scan() */
	uint64_t asked_at;
	/*
	 * When the process began, or began to run its program, as the kernel
	 * reported it, in ns; 0: it was not reported.
	 */
	uint64_t began_ns;
	bool live;    /* not a gap in the array of processes */
	bool changed; /* since it was published */
	/* its publication was corrected, since it changed last */
	bool corrected;
	bool listed;  /* in the list of processes that need work */
	bool sampled; /* sampled since process_evict() visited it last */
	bool ignored; /* not sampled, until it runs another program */
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
	VEC(uint32_t) work;    /* for process_table_publish() */
	VEC(uint32_t) ended;   /* processes that have ended, in this order */
	uint64_t retire_after; /* when `ended` is visited again */
	VEC(struct publication) publications;
	VEC(uint32_t) publication_gaps;
	struct table by_pid;
	uint32_t hand;    /* where process_evict() goes on */
	uint64_t evicted; /* processes that gave way to others */
	uint64_t refused; /* processes for which there was no room */
	/* attempts to store or publish mappings that found no room */
	uint64_t crowded_out;
};

/* Begin with an array of `count` mappings, which must outlive the table. */
void process_table_init(struct process_table *t, struct file_table *files,
			struct sampler_mapping *mappings, uint32_t count,
			const struct process_publisher *publisher);

/* Forget all processes. */
void process_table_fini(struct process_table *t);

/*
 * Note that a sample of a process was taken, so that others give way to it.
 * Mappings that found no room before are published again.
 */
void process_table_sampled(struct process_table *t, uint32_t pid);

/* Apply a report of the kernel. */
void process_table_report(struct process_table *t,
			  const struct side_band_record *r, uint64_t now);

/*
 * Set the name of a process, and replace its mappings by those of `text`
 * (bpf/process/process_reader.h), which was read at the time `read_ns`.
 * Mappings that were reported after that time stay, because `text` may not have
 * them. If the process has ended, or has run another program since, nothing
 * changes. Mapped files are identified by device and inode.
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
 * Return the group whose cgroup stands for that of a process about which
 * nothing could be read: p->old_group or, if there is none, the group that the
 * parent has by now. PROCESS_NO_GROUP: neither is known.
 */
uint32_t process_table_inherited(const struct process_table *t,
				 const struct process *p);

/* Set the group of a process. If the process is not known, do nothing. */
void process_table_set_group(struct process_table *t, uint32_t pid,
			     uint32_t group);

/*
 * Let the kernel take no samples of a process, until it runs another program.
 * Its children are sampled.
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
 * Whether a process may be read, because a sample was taken outside of its
 * mappings, or its group is not known. The first read is allowed at once. The
 * time until each further one doubles, up to some 25 seconds: some code is
 * never in a reported mapping, so each of its samples asks for a read again. If
 * the process may be read, this is counted, and the process is noted as being
 * read, until process_table_answer(). A process that is not known is added.
 */
bool process_table_may_scan(struct process_table *t, uint32_t pid,
			    uint64_t now);

/*
 * Note that a process was read, with success or not, at the time `read_ns`.
 * Returns the process, borrowed until the next change, if
 * process_table_may_scan() had noted it as being read, and it began its program
 * before `read_ns`; else NULL.
 */
const struct process *process_table_answer(struct process_table *t,
					   uint32_t pid, uint64_t read_ns);

/*
 * Publish all processes that have changed, and forget those that ended some
 * time ago.
 */
void process_table_publish(struct process_table *t, uint64_t now);

/*
 * Note that a file was read, or has lost its unwind table: the processes that
 * have the file are published again.
 */
void process_table_file_changed(struct process_table *t, uint32_t file);

/* Forget files that no process has and whose numbers are not in `files`. */
void process_table_sweep(struct process_table *t, const uint32_t *files,
			 size_t count, uint64_t now);

/* Return a process, borrowed until the next change, or NULL. */
const struct process *process_table_find(const struct process_table *t,
					 uint32_t pid);

/* Stands for no publication. */
#define PUBLICATION_NONE UINT32_MAX

/*
 * Publish what a process has mapped. False: there is no room, which is counted.
 * The publication that the process has then stays, except that mappings whose
 * unwind table was evicted or replaced have no table any more. The process
 * still counts as changed.
 */
NODISCARD bool process_publish(struct process_table *t, struct process *p,
			       uint64_t now);

/* Release the publication of a process; its last user frees it. */
void process_unpublish(struct process_table *t, struct process *p,
		       uint64_t now);

/* Remove a process from the kernel, and release its publication. */
void process_withdraw(struct process_table *t, struct process *p, uint64_t now);

#endif
