/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample window: the samples of one interval of the collector, where equal
 * samples are added up. A window has all that is needed to make profiles of its
 * samples later, in another thread, when the processes may be gone.
 *
 * Ownership: a window owns what it has; labels are counted references.
 * Threads: one thread at a time.
 * Units: nanoseconds of the time of day, unless a comment names the monotonic
 * clock.
 */
#ifndef BPF_COLLECT_SAMPLE_WINDOW_H
#define BPF_COLLECT_SAMPLE_WINDOW_H

#include "base/table.h"
#include "base/vec.h"
#include "bpf/collect/jit_process.h"
#include "bpf/kernel/abi.h"
#include "bpf/kernel/cpu_times.h"
#include "bpf/process/file_table.h"
#include "model/labels.h"

/* The kinds of frames, by where their code is. */
enum frame_kind {
	FRAME_KERNEL, /* an address of the kernel */
	FRAME_FILE,   /* in a file; `owner` is its number in the file table */
	/*
	 * code without a file; `owner` is the index of its process in
	 * `processes` of the window
	 */
	FRAME_ANONYMOUS,
	/* no code: `address`, an enum sample_end, says why the stack ends */
	FRAME_END,
};

/* A frame of a stack. Frames are compared as bytes, so there is no padding. */
struct window_frame {
	uint32_t kind;
	uint32_t owner;
	uint64_t address; /* in memory; FRAME_FILE: position in the file */
};

/*
 * A file to which frames belong, or that is the program of a series. Copied
 * from the file table.
 */
struct window_file {
	uint32_t number; /* in the file table */
	uint32_t pid;    /* a process that has mapped the file */
	uint32_t uid;    /* the user of this process */
	uint32_t owner;  /* the user to whom the file belongs */
	int fd;          /* the open file, owned, or -1 */
	char *path;
	struct file_identity identity; /* owned */
	struct bytes build_id;
	struct elf_segment *segments;
	uint32_t segment_count; /* 0: the facts were not read */
};

/*
 * The labels of a sample; those that are not in `set` are zero. They are
 * compared as bytes, so there is no padding.
 */
struct window_labels {
	uint32_t set; /* of enum sample_labels */
	uint32_t cpu;
	uint32_t pid;
	uint32_t tid;
	char comm[SAMPLE_COMM_MAX];
	char thread[SAMPLE_COMM_MAX];
};

/* The kinds of profiles that a window has samples of. */
enum window_kind {
	WINDOW_CPU,
	WINDOW_OFF_CPU, /* of threads that wait */
	WINDOW_KINDS,
};

/*
 * Equal samples, added up: they have the same series, stack, kind and labels.
 */
struct window_sample {
	uint32_t series; /* index in `series` of the window */
	uint32_t stack;
	uint32_t kind; /* enum window_kind */
	uint32_t unused;
	struct window_labels labels;
	uint64_t count;
	uint64_t value; /* nanoseconds */
};

/* A stack: consecutive elements of `stack_frames` of the window. */
struct window_stack {
	uint32_t first;
	uint32_t count;
};

enum {
	/*
	 * Largest number of perf maps (jit_process.h) that a window keeps open.
	 */
	WINDOW_MAPS_MAX = 256,
};

#define WINDOW_ALL_SERIES UINT32_MAX

/* The total of several samples. */
struct window_total {
	uint64_t count;
	uint64_t value; /* nanoseconds */
};

/*
 * What the heartbeats of a window need besides its samples (docs/ebpf.md): how
 * many samples are in no profile, and how long the CPUs were busy.
 */
struct window_account {
	int64_t dropped; /* CPU samples of processes that rules dropped */
	int64_t lost[WINDOW_KINDS]; /* samples for which there was no room */
	/* samples of profiles that were not stored */
	struct window_total refused[WINDOW_KINDS];
	struct cpu_times
		times;   /* by the kernel's own account; zero: not known */
	bool is_sampled; /* the sampler ran during the whole window */
};

struct sample_window {
	int64_t start_ns;
	int64_t end_ns; /* 0: the window goes on */
	struct window_account account;
	VEC(struct labels *) series;
	/*
	 * For each series: the number of its program in the file table, or
	 * FILE_NONE.
	 */
	VEC(uint32_t) programs;
	VEC(struct window_file) files;
	VEC(struct jit_process) processes;
	/* number of perf maps of `processes` that are open */
	unsigned open_maps;
	VEC(struct window_frame) frames;
	VEC(uint32_t)
	stack_frames; /* indexes of frames; each stack begins with its leaf */
	VEC(struct window_stack) stacks;
	VEC(struct window_sample) samples;
	struct table by_series;
	struct table by_file;
	struct table by_frame;
	struct table by_stack;
	struct table by_sample;
};

/* Begin an empty window. */
struct sample_window *sample_window_new(int64_t start_ns);

/* Free a window; NULL is a no-op. */
void sample_window_free(struct sample_window *w);

/*
 * Return the memory of a window in bytes. The texts and facts of its files, and
 * its processes, are not counted.
 */
size_t sample_window_memory(const struct sample_window *w);

/*
 * Return the total of a kind of samples, of one series or of all
 * (WINDOW_ALL_SERIES).
 */
struct window_total sample_window_total(const struct sample_window *w,
					enum window_kind kind, uint32_t series);

/* A sample that is added. */
struct window_input {
	/*
	 * When the sample was taken, or when the wait or a part of it ended, in
	 * ns of the monotonic clock. This time decides to which window the
	 * sample belongs.
	 */
	uint64_t time;
	struct labels *series;
	/* those that are not in `set` are ignored */
	struct window_labels labels;
	enum window_kind kind;
	/*
	 * number of samples that this sample stands for; 0: it is a part of a
	 * wait that goes on
	 */
	uint64_t samples;
	uint64_t value; /* nanoseconds that this sample stands for */
	/*
	 * The program that the process of the sample runs, by its number in the
	 * file table. NULL: the program is not known, or must not become the
	 * program of the series.
	 */
	const uint32_t *program;
	const struct window_frame *frames;
	size_t count;
};

/*
 * Add a sample. The program of a series is that of its first sample whose
 * program is known. The caller must have called sample_window_file() for this
 * program and for the files of all frames.
 */
void sample_window_add(struct sample_window *w, const struct window_input *in);

/* Copy a file of the file table into the window, unless it is there. */
void sample_window_file(struct sample_window *w, const struct file_table *files,
			uint32_t number);

/*
 * A process that compiles code when it runs (JIT), and in whose compiled code a
 * sample of the window has an address.
 */
struct window_process {
	uint32_t pid;
	/* when the process, or the program that it runs, began; 0: not known */
	uint64_t began_ns;
	/* when the sample was taken; both times are monotonic */
	uint64_t sampled_ns;
};

/*
 * Return the index in `processes` of a process with code that it has compiled.
 * If the window does not have the process yet, add it. Set *is_new to whether
 * it was added. If so, the caller asks for the facts about the process
 * (SCAN_JIT), and passes them to sample_window_take_process() when they have
 * been read. If the window already has a process with the same PID, *p counts
 * as another process only if p->began_ns is after the first sample of the
 * process that the window has.
 */
uint32_t sample_window_process(struct sample_window *w,
			       const struct window_process *p, bool *is_new);

/*
 * If the window has the process of *j, but no facts about it, take over the
 * facts *j; *j is then empty. Otherwise, *j stays as it is. The window never
 * gets the facts if it was handed over before they came, or if they are about
 * another process that has got the same PID since. frame_names_find() then
 * tries to read the process again.
 */
void sample_window_take_process(struct sample_window *w, struct jit_process *j);

/*
 * Copy into the window what has become known of its files since
 * sample_window_file() copied them: facts and descriptors.
 */
void sample_window_refresh(struct sample_window *w,
			   const struct file_table *files);

/*
 * Return the index of a file of the window by its number in the file table, or
 * TABLE_NONE.
 */
uint32_t sample_window_find_file(const struct sample_window *w,
				 uint32_t number);

#endif
