/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process table: the running processes and their mappings, as the kernel's
 * reports and /proc state them. The table publishes the mappings for the
 * program in the kernel. Where there is no room, processes of which no samples
 * are taken are forgotten; what is needed is read again with their next sample.
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
	 * A process with more ranges gives way to others also while it is
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

/* Where a process' mappings are published. */
struct publication {
	struct extent extent;
	uint32_t users; /* processes that share it since a fork */
};

/* A process. */
struct process {
	uint32_t pid;
	struct process_uid uid;
	char name[PROCESS_NAME_MAX]; /* of its first thread */
	struct address_space space;
	uint32_t publication; /* number, or UINT32_MAX */
	uint32_t program;     /* file that it runs, or FILE_NONE */
	/*
	 * The number that the caller gave to the group of this process, or
	 * PROCESS_NO_GROUP. It is reset when the process runs another program.
	 * `old_group` is the number before that, or the number of the parent.
	 */
	uint32_t group;
	uint32_t old_group;
	bool marked;         /* by the caller; so are its children */
	uint32_t scans;      /* how often its mappings were read */
	uint64_t scan_after; /* when they may be read again */
	bool asked;          /* it is being read, process_table_may_scan() */
	uint64_t asked_at;
	/* When it began, or ran its program, as reported; ns; 0: not reported. */
	uint64_t began_ns;
	bool live;    /* not a gap in the array of processes */
	bool changed; /* since it was published */
	/* its publication was corrected, since it changed last */
	bool corrected;
	bool listed;  /* in the list of processes that need work */
	bool sampled; /* sampled since the hand of the table reached it last */
	bool ignored; /* until it runs another program */
	bool ended;
	uint64_t ended_at;
};

/* Tells the kernel about processes. */
struct process_publisher {
	/* Publish, or replace, the mappings of a process. */
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
	VEC(uint32_t) ended;   /* in this order */
	uint64_t retire_after; /* when those are visited again */
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

/* Note that a sample of a process was taken: others give way to it. */
void process_table_sampled(struct process_table *t, uint32_t pid);

/* Apply a report of the kernel. */
void process_table_report(struct process_table *t,
			  const struct side_band_record *r, uint64_t now);

/*
 * Set the name of a process, and replace its mappings by those of `text`, which
 * was read at the time `read_ns` (bpf/process/process_reader.h). Mappings that
 * were reported after that time stay, because the text may not have them.
 * Mapped files are identified by device and inode.
 */
void process_table_scan(struct process_table *t, uint32_t pid,
			const struct process_text *text, uint64_t read_ns,
			uint64_t now);

/* Return the user of a process; PROCESS_UID_GONE: it is not known. */
uint32_t process_table_uid(struct process_table *t, uint32_t pid);

/* Set the group of a process. If the process is not known, do nothing. */
void process_table_set_group(struct process_table *t, uint32_t pid,
			     uint32_t group);

/*
 * Let the kernel take no samples of a process, until it runs another program.
 * Its children are sampled.
 */
void process_table_ignore(struct process_table *t, uint32_t pid);

/*
 * Take a process out of its group, which becomes its `old_group`, and let it be
 * sampled again if it was ignored.
 */
void process_table_regroup(struct process_table *t, struct process *p);

/* Mark a process, which becomes known. */
void process_table_mark(struct process_table *t, uint32_t pid, uint64_t now);

/*
 * Whether a process may be read again, because a sample was taken outside of
 * its mappings, or its group is not known. The first read is allowed at once,
 * further ones after ever longer times, because code may always be where no
 * mapping is reported. Counts the attempt, and notes that the process is being
 * read, until process_table_answer().
 */
bool process_table_may_scan(struct process_table *t, uint32_t pid,
			    uint64_t now);

/*
 * Note that a process was read, with success or not, at the time `read_ns`.
 * Returns the process, borrowed until the next change, if it was asked for by
 * process_table_may_scan() and has not run another program since; else NULL.
 */
const struct process *process_table_answer(struct process_table *t,
					   uint32_t pid, uint64_t read_ns);

/*
 * Publish all processes that have changed, and forget those that ended some
 * time ago.
 */
void process_table_publish(struct process_table *t, uint64_t now);

/* Say that a file was read: the processes that have it have changed. */
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
 * The older publication then stays, but its mappings lose the tables that they
 * do not have any more, and the process still counts as changed.
 */
NODISCARD bool process_publish(struct process_table *t, struct process *p,
			       uint64_t now);

/* Release the publication of a process; its last user frees it. */
void process_unpublish(struct process_table *t, struct process *p,
		       uint64_t now);

/* Remove a process from the kernel, and release its publication. */
void process_withdraw(struct process_table *t, struct process *p, uint64_t now);

#endif
